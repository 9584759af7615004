package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-trace/weft/trace"
)

// TestDiffRepetitions compares two traces of the same times, in which main calls step 4 times and 6 times. All outputs
// but CSV have a table of that.
func TestDiffRepetitions(t *testing.T) {
	write := func(name string, steps int64) string {
		r := trace.NewRecorder(trace.TicksPerSecond(1000))
		loc := r.Location("p")
		r.Enter(loc, 0, r.Region("main"))
		for i := range steps {
			r.Enter(loc, 10+120/steps*i, r.Region("step"))
			r.Leave(loc, 10+120/steps*(i+1), r.Region("step"))
		}
		r.Leave(loc, 200, r.Region("main"))
		path := filepath.Join(t.TempDir(), name)
		writeRecorded(t, r, path)
		return path
	}
	a, b := write("a.otf2", 4), write("b.otf2", 6)
	for flag, expected := range map[string]string{
		"--top=0": "main > step           4        6  +50.0  4 → 6",
		"--json":  `"repetitions": [`,
		"--markdown": "| repeated differently | times A | B | % | visits |\n|---|--:|--:|--:|--:|\n" +
			"| main &gt; step | 4 | 6 | +50.0 | 4 → 6 |",
	} {
		if out, _ := mustRun(t, "diff", flag, a, b); !strings.Contains(out, expected) || strings.Contains(out, noDifference) {
			t.Errorf("%s: found %s, expected %s", flag, out, expected)
		}
	}
	if out, _ := mustRun(t, "diff", a, a); !strings.Contains(out, noDifference) {
		t.Errorf("found %s, expected no difference", out)
	}
}
