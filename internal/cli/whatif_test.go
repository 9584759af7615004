package cli

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/otf2"
	"github.com/weft-trace/weft/trace"
)

// runtimes returns the runtime of a trace in ticks, and the one that weft path --what-if computes.
func runtimes(t *testing.T, trace, changes string) (runtime, changed int64) {
	t.Helper()
	out, _ := mustRun(t, "path", "--json", "--what-if", changes, trace)
	var x struct{ Runtime, WhatIf int64 }
	if err := json.Unmarshal([]byte(out), &x); err != nil {
		t.Fatal(err)
	}
	return x.Runtime, x.WhatIf
}

// TestWhatIfAtLocations changes a region at single locations. In each iteration, ranks 4 and 5 compute for 200 ms and
// the other ranks for 100 ms, and then all meet: an iteration takes as long as the longest computation and 40 µs.
func TestWhatIfAtLocations(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.otf2")
	mustRun(t, "generate", "--workload", "phases", "--slow-node", "2", "--locations", "6", "--events", "500", path)
	runtime, _ := runtimes(t, path, "compute=1")
	iterations := runtime / 200_000_000
	for _, x := range []struct {
		changes string
		longest int64 // the longest computation in ms
	}{
		{"compute@rank 4=0.5", 200},
		{"compute@rank 4=0.5,compute@rank 5=0.5", 100},
		{"compute@rank [45]=0.75", 150},
		{"compute=0.5", 100},
		{"compute=0.5,compute@rank 5=1", 200},
		{"compute@rank 5=0,compute=0.25", 50},
		{"compute@rank 0=3", 300},
		{"compute@rank *=0", 0},
	} {
		_, got := runtimes(t, path, x.changes)
		if want := runtime - iterations*(200-x.longest)*1_000_000; got != want {
			t.Errorf("--what-if %s: the run takes %d ns, expected %d", x.changes, got, want)
		}
	}
}

// TestNamesInWhatIf checks names of regions that contain separators of the argument. Rank 0 computes for 300 ms and
// rank 1 for 100 ms; then rank 1 has ended early.
func TestNamesInWhatIf(t *testing.T) {
	for _, name := range []string{"f(int, char)", "a@b", "x[0]", "a=b", "a, b", " c", "latency", "f("} {
		r := trace.NewRecorder(trace.TicksPerSecond(1000))
		region := r.Region(name)
		for rank, end := range []int64{300, 100} {
			loc := r.Location(fmt.Sprint("rank ", rank))
			r.Enter(loc, 0, region)
			r.Leave(loc, end, region)
		}
		path := filepath.Join(t.TempDir(), "x.otf2")
		if err := format.Save(t.Context(), path, otf2.Format{}, r); err != nil {
			t.Fatal(err)
		}
		out, _ := mustRun(t, "explain", "--json", path)
		var x struct {
			Findings []struct{ WhatIf string }
		}
		if err := json.Unmarshal([]byte(out), &x); err != nil || len(x.Findings) != 1 {
			t.Fatalf("%s: found %d findings, expected 1; %v", name, len(x.Findings), err)
		}
		changes := x.Findings[0].WhatIf
		if expressible := name != "a, b" && name != " c" && name != "latency"; expressible != (changes != "") {
			t.Errorf("%q: found the changes %q", name, changes)
		}
		if changes == "" {
			continue
		}
		if runtime, changed := runtimes(t, path, changes); runtime != 300 || changed != 100 { // as rank 1
			t.Errorf("%s: the run takes %d ticks, after changes %d, expected 300 and 100", changes, runtime, changed)
		}
	}
}

// TestGainsByWhatIf checks that weft path computes the gains of findings.
func TestGainsByWhatIf(t *testing.T) {
	dir := t.TempDir()
	traces := []string{"../../analysis/waits/testdata/hand/traces.otf2", "../../analysis/waits/testdata/p2p/traces.otf2",
		"../../analysis/waits/testdata/rma/traces.otf2"}
	for _, x := range [][2]string{{"--imbalance", "3:1"}, {"--late-sender", "50ms"}, {"--slow-node", "1.5"},
		{"--serial", "100ms"}, {"--lock", "20ms"}} {
		path := filepath.Join(dir, x[0]+".otf2")
		args := []string{"generate", "--workload", "phases", "--locations", "6", "--events", "1000", x[0], x[1], path}
		if x[0] == "--lock" {
			args = append(args, "--threads", "4")
		}
		mustRun(t, args...)
		traces = append(traces, path)
	}
	for _, path := range traces {
		out, _ := mustRun(t, "explain", "--json", path)
		var x struct {
			Findings []struct {
				ID, WhatIf string
				Gain       int64
			}
		}
		if err := json.Unmarshal([]byte(out), &x); err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, f := range x.Findings {
			if f.WhatIf == "" {
				continue
			}
			found++
			if runtime, changed := runtimes(t, path, f.WhatIf); runtime-changed != f.Gain {
				t.Errorf("%s: %s gains %d, with --what-if %s %d", path, f.ID, f.Gain, f.WhatIf, runtime-changed)
			}
		}
		if found == 0 {
			t.Errorf("%s: no finding has changes for --what-if", path)
		}
	}
}
