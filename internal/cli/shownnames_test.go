package cli

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/trace"
)

// TestShownNames checks that flags for regions, locations and communicators accept the names that
// weft prints for definitions that share a name.
func TestShownNames(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("WEFT_CACHE", t.TempDir())
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	d := r.Defs()
	var ranks []uint32
	for i := range 2 {
		group := d.Groups.Add(trace.LocationGroup{ID: fmt.Sprint(i), Name: fmt.Sprint("process ", i), Kind: "process",
			Parent: trace.NoRef})
		ranks = append(ranks, d.Locations.Add(trace.Location{ID: fmt.Sprint(10 + i), Name: "main", Group: group}))
	}
	one := d.Regions.Add(trace.Region{ID: "1", Name: "init", File: "a.c", Line: 4})
	two := d.Regions.Add(trace.Region{ID: "2", Name: "init", File: "z.c", Line: 1})
	call := d.Regions.Add(trace.Region{ID: "3", Name: "f(int, int)"})
	// init in z.c has two visits, of 3 and 5 ms; init in a.c has one, of 100 ms.
	for _, v := range []struct {
		rank, region uint32
		from, to     int64
	}{{0, one, 0, 100}, {0, two, 200, 203}, {1, two, 300, 305}, {1, call, 400, 407}} {
		r.Enter(ranks[v.rank], v.from, v.region)
		r.Leave(ranks[v.rank], v.to, v.region)
	}
	writeRecorded(t, r, "in.otf2")
	profile := func(path string, more ...string) string {
		t.Helper()
		return weft(t, exitGood, append([]string{"profile", "--csv", path}, more...)...)
	}
	const kind, exclusive = "region,", ",0.008,0.008,"
	for _, c := range []struct {
		args []string
		want string // names of the regions
	}{
		{[]string{"--region", "init (z.c:1)"}, "init (z.c:1)"},
		{[]string{"--region", "init (2)"}, "init (z.c:1)"},
		{[]string{"--region", "init (z*"}, "init (z.c:1)"},
		{[]string{"--region", "re:a.c:4"}, ""},
		{[]string{"--region", `re:\(a.c:4`}, "init (a.c:4)"},
		{[]string{"--region", "init (z.c:1),f(int, int)"}, "init (z.c:1) f(int, int)"},
		{[]string{"--region", "f(int, int)"}, "f(int, int)"},
		{[]string{"--region", "init"}, "init (a.c:4) init (z.c:1)"},
		{[]string{"--location", "process 1 · main"}, "f(int, int) init (z.c:1)"},
	} {
		if got := regionNamesOfCSV(profile("in.otf2", c.args...)); !sameWords(got, c.want) {
			t.Errorf("profile %v: found %q, expected %q", c.args, got, c.want)
		}
	}
	if text := profile("in.otf2", "--region", "init (z.c:1)"); !strings.Contains(text, exclusive) {
		t.Errorf("--region 'init (z.c:1)': found %s, expected 8 ms in it", text)
	}
	weft(t, exitGood, "filter", "-q", "--not-region", "init (a.c:4)", "in.otf2", "without.otf2")
	if got := regionNamesOfCSV(profile("without.otf2")); !sameWords(got, "f(int, int) init (z.c:1)") {
		t.Errorf("filter --not-region 'init (a.c:4)': found %q", got)
	}
	weft(t, exitGood, "cut", "-q", "--occurrence", "init (z.c:1)#2", "in.otf2", "piece.otf2")
	if text := profile("piece.otf2"); !strings.Contains(text, ",0.005,0.005,") || strings.Contains(text, "f(int") {
		t.Errorf("cut --occurrence 'init (z.c:1)#2': found %s, expected a visit of 5 ms", text)
	}
	weft(t, exitGood, "merge", "-q", "--anchor", "init (z.c:1)", "in.otf2", "piece.otf2", "both.otf2")
	if text := weft(t, exitGood, "print", "both.otf2"); strings.Count(text, "\n0.2  ") != 2 {
		t.Errorf("merge --anchor 'init (z.c:1)': found %s, expected two begins at 0.2 s", text)
	}
	writeText(t, "roles", "barrier init (z.c:1)\n")
	states := weft(t, exitGood, "states", "--roles", filepath.Join(".", "roles"), "in.otf2")
	if !strings.Contains(states, " 5 ms ") {
		t.Errorf("--roles with init (z.c:1): found %s, expected 5 ms of overhead", states)
	}
	_, _, errs := runWeft(t, "profile", "--region", "init (z.c:2)", "in.otf2")
	if !strings.Contains(errs, "did you mean init (z.c:1)?\n") {
		t.Errorf("--region 'init (z.c:2)': found %q, expected a suggestion", errs)
	}
	_, _, errs = runWeft(t, "cut", "--occurrence", "init (z.c:1)#3", "in.otf2", "x.otf2")
	if !strings.Contains(errs, "--occurrence init (z.c:1)#3: found 2 visits or claims, expected 3 or more\n") {
		t.Errorf("--occurrence 'init (z.c:1)#3': found %q, expected how many there are", errs)
	}
	for _, more := range [][]string{nil, {"--index"}} {
		args := append([]string{"plot", "-o", "-", "--location", "process 1 · main", "in.otf2"}, more...)
		if text := weft(t, exitGood, args...); !strings.Contains(text, "f(int") || strings.Contains(text, "process 0") {
			t.Errorf("%v: found %s, expected process 1 alone", args, text)
		}
	}
}

// regionNamesOfCSV returns the regions of a profile in CSV.
func regionNamesOfCSV(text string) (names []string) {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, "region,"); ok {
			name, _, _ := strings.Cut(rest, ",,")
			names = append(names, strings.Trim(name, `"`))
		}
	}
	return names
}

// sameWords reports whether a list consists of the words of a text.
func sameWords(list []string, text string) bool {
	words := strings.Fields(strings.Join(list, " "))
	return slices.Equal(slices.Sorted(slices.Values(words)), slices.Sorted(slices.Values(strings.Fields(text))))
}
