package cli

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/effort"
)

// TestLate runs a program under EZTrace in which ranks are late on purpose. It checks that the waits of the other
// ranks are as long as these ranks have measured. A rank can lose the processor between its measurement and its
// call, so a wait has to agree in one of several runs.
func TestLate(t *testing.T) {
	effort.Long(t)
	agreeOnce(t, runLate)
}

// runLate runs the program once and returns the differences in the lengths of waits, as agreeOnce expects them.
func runLate(t *testing.T) map[string]string {
	dir, anchor := tracedProgram(t, "late", 3)
	var came [3][12]float64 // times of arrival at the message, the broadcast, and the all-reduce operations
	for rank := range came {
		text, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("late.%d", rank)))
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range strings.Fields(string(text)) {
			if came[rank][i], err = strconv.ParseFloat(f, 64); err != nil {
				t.Fatal(err)
			}
		}
	}
	// early returns the time from the arrival of one rank to that of another.
	early := func(at, rank, last int) float64 { return came[last][at] - came[rank][at] }
	reductions := func(rank int) (sum float64) {
		for at := 2; at < 12; at++ {
			sum += early(at, rank, 1)
		}
		return sum
	}
	clocks := filepath.Join(dir, "clocks.json")
	weft(t, 0, "align", "-q", "--correction", clocks, anchor)
	out := weft(t, 0, "waits", "-q", "--json", "--worst", "20", "--clock-correction", clocks, anchor)
	var x struct {
		Clock    struct{ TicksPerSecond json.Number }
		Patterns []struct {
			Pattern string
			Worst   []struct {
				Location, Cause uint32
				Time            float64
			}
		}
		Violations struct{ Messages, Operations int64 }
	}
	if err := json.Unmarshal([]byte(out), &x); err != nil {
		t.Fatal(err)
	}
	ticks, err := x.Clock.TicksPerSecond.Float64()
	if err != nil {
		t.Fatal(err)
	}
	// The longest waits of each pattern are the planted ones.
	longest := func(pattern string, n int, location, cause uint32) (seconds float64) {
		for _, p := range x.Patterns {
			for _, w := range p.Worst {
				if p.Pattern == pattern && w.Location == location && w.Cause == cause && n > 0 {
					seconds += w.Time / ticks
					n--
				}
			}
		}
		return seconds
	}
	differences := map[string]string{}
	for _, w := range []struct {
		pattern         string
		n               int
		location, cause uint32
		planted         float64
	}{
		{"late-sender", 1, 1, 0, early(0, 1, 0)},
		{"late-broadcast", 1, 0, 2, early(1, 0, 2)}, {"late-broadcast", 1, 1, 2, early(1, 1, 2)},
		{"wait-at-nxn", 10, 0, 1, reductions(0)}, {"wait-at-nxn", 10, 2, 1, reductions(2)},
	} {
		wait := fmt.Sprintf("%s of rank %d", w.pattern, w.location)
		differences[wait] = ""
		if found := longest(w.pattern, w.n, w.location, w.cause); math.Abs(found-w.planted) > 0.05*w.planted+0.002 {
			differences[wait] = fmt.Sprintf("found %g s, rank %d was late by %g s", found, w.cause, w.planted)
		}
	}
	if v := x.Violations; v.Messages+v.Operations > 0 {
		t.Errorf("found %+v after the correction of clocks", v)
	}
	out = weft(t, 0, "explain", "-q", "--clock-correction", clocks, anchor)
	if !strings.Contains(out, "of the time is useful") {
		t.Errorf("found %s", out)
	}
	return differences
}

// TestIntercommunicatorWaits checks the waits of messages over an intercommunicator (testdata/programs/between.py),
// also after conversions. Process 3 waits from 200 µs on for the message that process 0 sends at 600 µs, and then from
// 700 µs on with its own message for the receive at 850 µs. The barrier of the two groups is counted as not judged.
func TestIntercommunicatorWaits(t *testing.T) {
	dir := t.TempDir()
	original := filepath.Join(dir, "traces", "traces.otf2")
	program := exec.Command(pythonOTF2(t), "testdata/programs/between.py", filepath.Dir(original))
	if out, err := program.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, format := range []string{"", "otf", "pallas", "etf", "trf"} {
		path := original
		if format != "" {
			path = filepath.Join(dir, "converted."+format)
			weft(t, 0, "convert", "-q", original, path)
		}
		const want = "pattern,part_of,location,cause,waits,time\n" +
			"late-sender,,rank 3,rank 0,1,0.0004\nlate-receiver,,rank 3,rank 0,1,0.00015\n"
		if found := weft(t, 0, "waits", "--by", "pair", "--csv", path); found != want {
			t.Errorf("%s: found\n%s\nexpected\n%s", path, found, want)
		}
		const unjudged = "4 collective calls with a total time of 38 µs: the communicator connects two groups of processes"
		if found := weft(t, 0, "waits", path); !strings.Contains(found, unjudged) {
			t.Errorf("%s: found\n%s\nexpected %q", path, found, unjudged)
		}
	}
}
