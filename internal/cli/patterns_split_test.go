package cli

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestSplitNames: a comma within brackets or quotes belongs to the name (docs/commands/look.md, "print"), also beside
// names with quotes of their own.
func TestSplitNames(t *testing.T) {
	for s, want := range map[string][]string{
		"f(int, int),g":                    {"f(int, int)", "g"},
		`f(int, int),"a,b"`:                {"f(int, int)", "a,b"},
		`"a,b",f(int, int)`:                {"a,b", "f(int, int)"},
		`operator""_s(char, int)`:          {`operator""_s(char, int)`},
		`"say ""x, y""",std::map<a, b>`:    {`say "x, y"`, "std::map<a, b>"},
		`"a(",f(int, int),"b)",c`:          {"a(", "f(int, int)", "b)", "c"},
		`*solve*,re:^a[,b]c$,"re:^x{1,2}"`: {"*solve*", "re:^a[,b]c$", "re:^x{1,2}"},
	} {
		var l nameList
		if err := l.Set(s); err != nil || !slices.Equal(l, want) {
			t.Errorf("%s: found %q, error %v, expected %q", s, l, err, want)
		}
	}
	for _, s := range []string{"", "a,", `"a`, `"a"b`, `"a",`, `a,"b`} {
		if l := (nameList)(nil); l.Set(s) == nil {
			t.Errorf("%s: found %q, expected an error", s, l)
		}
	}
}

// TestReplacingNames: the first list takes the place of the default, and the others add names.
func TestReplacingNames(t *testing.T) {
	l := replacingNames{nameList: nameList{"MPI_*"}}
	for _, s := range []string{"f(int, int)", "g,h"} {
		if err := l.Set(s); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"f(int, int)", "g", "h"}; !slices.Equal(l.nameList, want) {
		t.Errorf("found %q, expected %q", l.nameList, want)
	}
}

// TestFullNamePatterns checks that patterns of --location match the full names of locations. All three threads of the
// trace have the same name.
func TestFullNamePatterns(t *testing.T) {
	const path = "../../analysis/waits/testdata/hand/traces.otf2"
	profile := func(location string) string {
		out, _ := mustRun(t, "profile", "--location", location, path)
		return out
	}
	for pattern, id := range map[string]string{
		"MPI Rank 2*": "2", "*Rank ? · Master*": "*", "re:^MPI Rank [12] ": "1,2", "MPI Rank 1 · Master thread": "1",
	} {
		if found, expected := profile(pattern), profile(id); found != expected {
			t.Errorf("%s: found\n%s\nexpected that of location %s:\n%s", pattern, found, id, expected)
		}
	}
	if _, _, errs := runWeft(t, "profile", "--region", "*)", path); !strings.Contains(errs, "no such region") {
		t.Errorf("a pattern of a region matches its place: %s", errs)
	}
}

// TestNamesInQuotes: names with commas and quotes are found by all flags that take names (docs/commands/look.md,
// "print"). In the second trace, only the name of the first claim differs.
func TestNamesInQuotes(t *testing.T) {
	text := "TU SECONDS\nR 0 9 false;name=cpu\nC 0 0 1 0 1;x\\,y=1\\,2,z \"q\"=3\nC 1 1 2 0 1;x\\,y=4,z \"q\"=5\n"
	dir := t.TempDir()
	first, second := filepath.Join(dir, "first.etf"), filepath.Join(dir, "second.etf")
	writeText(t, first, text)
	writeText(t, second, strings.Replace(text, "=3", "=4", 1))
	for _, c := range []struct {
		want string
		args []string
	}{
		{`"distance": 0`, []string{"distance", "--json", "--label", `"x,y"`, first, second}},
		{`"distance": 4`, []string{"distance", "--json", "--label", `z "q"`, first, second}},
		{`"distance": 4`, []string{"distance", "--json", "--label", `"x,y","z ""q"""`, first, second}},
		{"x,y=1,2", []string{"print", "--kind", `"claim",send`, first}},
		{"Sent", []string{"comm", "--show", `"sizes"`, first}},
		{"0 errors", []string{"check", "--rule", `"etf.*"`, first}},
	} {
		if code, out, errs := runWeft(t, c.args...); code != 0 || !strings.Contains(out, c.want) ||
			strings.Contains(errs, "no claim") {
			t.Errorf("%q: exit code %d, expected %s:\n%s%s", c.args, code, c.want, out, errs)
		}
	}
	filtered := filepath.Join(dir, "filtered.etf")
	mustRun(t, "filter", "--attribute", `x,y="1,2"`, first, filtered)
	if out, _ := mustRun(t, "print", filtered); !strings.Contains(out, "x,y=1,2") || strings.Contains(out, "x,y=4") {
		t.Errorf("found\n%s\nexpected the claim whose x,y is 1,2", out)
	}
	for _, args := range [][]string{{"print", "--kind", "claim,"}, {"comm", "--show", `"sizes`}, {"check", "--rule", ""}} {
		if code, out, errs := runWeft(t, append(args, first)...); code != exitUsage {
			t.Errorf("%q: exit code %d, expected %d:\n%s%s", args, code, exitUsage, out, errs)
		}
	}
}
