package cli

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestReferencesStayDefined checks that all definitions exist to which the events of an archive refer after
// --prune, and after a conversion to another format and back. otf2-print calls other references INVALID or
// UNDEFINED, and OTF2's Python bindings refuse them. OTF2's own writer has written the archive
// (testdata/programs/references.py).
func TestReferencesStayDefined(t *testing.T) {
	python, dir := pythonOTF2(t), t.TempDir()
	path := filepath.Join(dir, "in", "traces.otf2")
	out, err := exec.Command(python, "testdata/programs/references.py", filepath.Dir(path)).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	events := func(path string) string {
		out, _ := runTool(t, path, "otf2-print", "-A")
		if out == nil {
			t.Skip("otf2-print is not installed")
		}
		if !strings.Contains(string(out), "Base: DECIMAL, Exponent: 6, Unit: \"W\"") {
			t.Errorf("%s: the metric's values are no longer in millions of watts:\n%s", filepath.Base(path), out)
		}
		_, after, _ := strings.Cut(string(out), "=== Events")
		return after
	}
	attributes := `ADDITIONAL ATTRIBUTES: ("owner" <0>; LOCATION_GROUP; "process 1" <1>), ("class" <1>; METRIC; 1)`
	if !strings.Contains(events(path), attributes) {
		t.Fatalf("found\n%s\nexpected %s", events(path), attributes)
	}
	for name, count := range map[string]string{"pruned.otf2": "7", "a.otf": "9", "b.etf": "9", "c.trf": "9",
		"d/d.pallas": "9"} {
		out := filepath.Join(dir, name)
		mkdir(t, filepath.Dir(out))
		if name == "pruned.otf2" {
			weft(t, 0, "filter", "-q", "--prune", "--location", "0", path, out)
			if got := events(out); !strings.Contains(got, attributes) {
				t.Errorf("%s: found\n%s\nexpected %s", name, got, attributes)
			}
		} else {
			weft(t, 0, "convert", "-q", "--allow-loss", path, out)
			back := strings.TrimSuffix(out, filepath.Ext(out)) + "-back.otf2"
			weft(t, 0, "convert", "-q", "--allow-loss", out, back)
			out = back
		}
		if got := events(out); strings.Contains(got, "INVALID") {
			t.Errorf("%s: otf2-print finds undefined references:\n%s", name, got)
		}
		got, err := exec.Command(python, "../../testdata/readotf2.py", out).Output()
		if err != nil || strings.TrimSpace(string(got)) != count {
			t.Errorf("%s: the bindings say %s, %v, expected %s events", name, got, err, count)
		}
	}
	out, _ = runTool(t, filepath.Join(dir, "a.otf"), "otfprint")
	for _, want := range []string{`unit "10^6 W"`, `process 2, name "process 1 · main"`,
		`name "alone", procs 2` + "\n"} {
		if out != nil && !strings.Contains(string(out), want) {
			t.Errorf("otfprint: found\n%s\nexpected %s", out, want)
		}
	}
}

// TestFloatCounters checks that a counter of OTF with 4-byte floating-point values has these values for the tools of
// OTF2, which has only 8-byte ones, and again in OTF. Floating point is 105 in the properties; 40490fdb is 3.14159.
func TestFloatCounters(t *testing.T) {
	path := writeTrace(t, map[string]string{
		".otf":      "1:1\n",
		".0.def":    "DTR3e8\nDP1NM\"a\"\nDCNT1G0NM\"ratio\"P105U\"\"\n",
		".1.events": "1\n*1\nCNT1V40490fdb\n2\n*1\nCNT1Vbf000000\n3\n*1\nCNT1V7fa00001\n3\n*1\n",
	})
	there, back := filepath.Join(t.TempDir(), "x.otf2"), filepath.Join(t.TempDir(), "x.otf")
	weft(t, 0, "convert", "-q", path, there)
	if out, _ := runTool(t, there, "otf2-print", "-A"); out != nil {
		for _, want := range []string{"Value Type: DOUBLE", `("ratio" <0>; DOUBLE; 3.14159)`, `("ratio" <0>; DOUBLE; -0.5)`} {
			if !strings.Contains(string(out), want) {
				t.Errorf("otf2-print: found\n%s\nexpected %s", out, want)
			}
		}
	}
	weft(t, 0, "convert", "-q", there, back)
	events := readText(t, strings.TrimSuffix(back, ".otf")+".1.events")
	for _, want := range []string{"CNT1V40490fdb", "CNT1Vbf000000", "CNT1V7fa00001"} { // the last one is not a number
		if !strings.Contains(events, want) {
			t.Errorf("found %q, expected %s", events, want)
		}
	}
}
