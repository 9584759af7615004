package cli

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sortedTrace is a trace in seconds. main is open from 0 to 100. In it are two visits of a, of 15
// each, three of b, of 2, 20 and 8, and one of c, of 25, in which d is open for 22. The exclusive
// time is 15 for main and 3 for c. The trace begins at -10 with a record of another kind.
const sortedTrace = `-5 1 -10 -1 -1 1 0 main
-5 5 -10 -1 -1 1 0 d
-5 4 -10 -1 -1 1 0 c
-5 3 -10 -1 -1 1 0 b
-5 2 -10 -1 -1 1 0 a
-2 9 -10 0 0 0
-3 1 0 0 0 0
-3 2 1 0 0 0
-4 2 16 0 0 0
-3 2 20 0 0 0
-4 2 35 0 0 0
-3 3 40 0 0 0
-4 3 42 0 0 0
-3 3 42 0 0 0
-4 3 62 0 0 0
-3 3 62 0 0 0
-4 3 70 0 0 0
-3 4 70 0 0 0
-3 5 71 0 0 0
-4 5 93 0 0 0
-4 4 95 0 0 0
-4 1 100 0 0 0
`

// sortedFile writes sortedTrace to a file.
func sortedFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "t.trf")
	if err := os.WriteFile(path, []byte(sortedTrace), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// csvColumn returns a column of a command's CSV output; of call paths it returns the last part.
func csvColumn(t *testing.T, text, name string) string {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, r := range rows[1:] {
		for i, n := range rows[0] {
			if n == name {
				out = append(out, r[i][strings.LastIndex(r[i], ";")+1:])
			}
		}
	}
	return strings.Join(out, " ")
}

// TestSort compares the orders with those derived by hand. b is defined before a, so that equal
// lines show the order by name.
func TestSort(t *testing.T) {
	path := sortedFile(t)
	for _, test := range []struct{ key, flat, tree string }{
		{"", "a b d main c", "main a b c d"},
		{"exclusive", "a b d main c", "main a b c d"},
		{"inclusive", "main a b c d", "main a b c d"},
		{"count", "b a c d main", "main b a c d"},
		{"min", "main c d a b", "main c d a b"},
		{"mean", "main c d a b", "main c d a b"},
		{"max", "main c d b a", "main c d b a"},
		{"name", "a b c d main", "main a b c d"},
	} {
		var sort []string
		if test.key != "" {
			sort = []string{"--sort", test.key}
		}
		run := func(args ...string) string {
			return weft(t, 0, append(append([]string{"profile", "-q", path}, args...), sort...)...)
		}
		for _, by := range []string{"region", "location", "group"} {
			if got := csvColumn(t, run("--csv", "--by", by), "region"); got != test.flat {
				t.Errorf("--sort %s --by %s: found %s, expected %s", test.key, by, got, test.flat)
			}
		}
		if got := csvColumn(t, run("--tree", "--csv"), "path"); got != test.tree {
			t.Errorf("--tree --sort %s: found %s, expected %s", test.key, got, test.tree)
		}
		var flat profileResult
		var tree treeResult
		for text, to := range map[string]any{run("--json"): &flat, run("--tree", "--json"): &tree} {
			if err := json.Unmarshal([]byte(text), to); err != nil {
				t.Fatal(err)
			}
		}
		var names []string
		for _, r := range flat.Regions {
			names = append(names, r.Name)
		}
		if got := strings.Join(names, " "); got != test.flat {
			t.Errorf("--json --sort %s: found %s, expected %s", test.key, got, test.flat)
		}
		names = nil
		for i, n := range tree.Paths {
			names = append(names, n.Name)
			if around := (map[string]string{"a": "main", "b": "main", "c": "main",
				"d": "c"})[n.Name]; around == "" != (n.Parent == -1) || n.Parent >= i ||
				around != "" && tree.Paths[n.Parent].Name != around {
				t.Errorf("--tree --json --sort %s: %s is inside of path %d, expected %q", test.key, n.Name, n.Parent, around)
			}
		}
		if got := strings.Join(names, " "); got != test.tree {
			t.Errorf("--tree --json --sort %s: found %s, expected %s", test.key, got, test.tree)
		}
		for mode, want := range map[string]string{"": test.flat, "--tree": test.tree} {
			args := strings.Fields(mode)
			var got []string
			for _, l := range strings.Split(run(args...), "\n") {
				for _, f := range strings.Fields(l) {
					if strings.Contains(" a b c d main ", " "+f+" ") {
						got = append(got, f)
					}
				}
			}
			if strings.Join(got, " ") != want {
				t.Errorf("text %s --sort %s: found %s, expected %s", mode, test.key, got, want)
			}
		}
	}
	weft(t, 2, "profile", "--sort", "size", path)
	// --top keeps the first rows in the chosen order.
	if got := csvColumn(t, weft(t, 0, "profile", "-q", "--csv", "--top", "2", "--sort", "count", path),
		"region"); got != "b a" {
		t.Errorf("found %s", got)
	}
}

// TestWindow compares --window with --from and --to.
func TestWindow(t *testing.T) {
	path := sortedFile(t)
	for _, test := range []struct{ window, from, to string }{
		{"20%..30%", "20%", "30%"},
		{"20%-30%", "20%", "30%"},
		{"@41s..@70s", "@41s", "@70s"},
		{"@-5s..@7.5s", "@-5s", "@7.5s"},
		{"@-5s-@7.5s", "@-5s", "@7.5s"},
		{" 15s .. 2min ", "15s", "2min"},
		{"-5s..50s", "-5s", "50s"},
		{"-5s-50s", "-5s", "50s"},
		{"@-20s..@-5s", "@-20s", "@-5s"},
		{"@-20s-@-5s", "@-20s", "@-5s"},
		{"50%..", "50%", ""},
		{"..1min", "", "1min"},
	} {
		var bounds []string
		for flag, v := range map[string]string{"--from=": test.from, "--to=": test.to} {
			if v != "" {
				bounds = append(bounds, flag+v)
			}
		}
		for _, command := range []string{"profile --json", "profile --tree --json", "print --json", "messages --json",
			"messages --list"} {
			args := append(strings.Fields(command), path)
			got, want := weft(t, 0, append(args, "--window="+test.window)...), weft(t, 0, append(args, bounds...)...)
			if got != want {
				t.Errorf("%s --window %s: found\n%s\nexpected\n%s", command, test.window, got, want)
			}
		}
	}
	for _, bad := range []string{"..", "5s", "x..y", "-5s", "@-5s", "1s..2s..3s"} {
		weft(t, 2, "profile", "--window="+bad, path)
	}
	weft(t, 2, "profile", "--window=1s..2s", "--from=1s", path)
	// main is open for 29 ticks of the window, b for the whole window; a second is one tick.
	var x profileResult
	if err := json.Unmarshal([]byte(weft(t, 0, "profile", "--json", "--window=@41s..@70s", path)), &x); err != nil {
		t.Fatal(err)
	}
	if len(x.Regions) != 2 || x.From == nil || *x.From != 41 || *x.To != 70 ||
		fmt.Sprintf("%s %d %s %d", x.Regions[0].Name, x.Regions[0].Inclusive, x.Regions[1].Name,
			x.Regions[1].Inclusive) != "b 29 main 29" {
		t.Errorf("found %+v", x)
	}
}
