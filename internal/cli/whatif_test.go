package cli

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
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
	for _, name := range []string{"f(int, char)", "a@b", "x[0]", "a=b", "a, b", `a, "b`, " c", "latency", "f("} {
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
		if expressible := name != " c" && name != "latency"; expressible != (changes != "") {
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

// TestGainsByWhatIf checks that weft path computes the gains of all findings.
func TestGainsByWhatIf(t *testing.T) {
	dir := t.TempDir()
	traces := []string{"../../analysis/waits/testdata/hand/traces.otf2", "../../analysis/waits/testdata/p2p/traces.otf2",
		"../../analysis/waits/testdata/rma/traces.otf2"}
	for _, x := range [][2]string{{"--imbalance", "3:1"}, {"--late-sender", "50ms"}, {"--slow-node", "1.5"},
		{"--serial", "100ms"}, {"--lock", "20ms"}, {"--noise", "50%"}, {"--slowing", "2%"}} {
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
		for _, f := range x.Findings {
			if f.Gain == 0 {
				continue
			}
			if runtime, changed := runtimes(t, path, f.WhatIf); runtime-changed != f.Gain {
				t.Errorf("%s: %s gains %d, with --what-if %s %d", path, f.ID, f.Gain, f.WhatIf, runtime-changed)
			}
		}
		if len(x.Findings) == 0 {
			t.Errorf("%s: found nothing", path)
		}
	}
}

// TestLengthsInWhatIf changes times to lengths. The generator states the gain of a run without each problem.
func TestLengthsInWhatIf(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.otf2")
	for _, x := range []struct{ problem, amount, changes string }{
		{"noise", "50%", "compute=median"},
		{"noise", "50%", "compute@rank *=median"},
		{"slowing", "2%", "compute=steady"},
		{"imbalance", "3:1", "compute=mean"},
		{"slow-node", "1.5", "compute@rank 4=mean,compute@rank 5=mean"},
		{"slow-node", "1.5", "compute@rank [45]=median"},
	} {
		mustRun(t, "generate", "--workload", "phases", "--locations", "6", "--events", "1000", "--force", "--"+x.problem,
			x.amount, path)
		e, err := otf2.Format{}.Open(t.Context(), format.FileSource(path), &format.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var gain int64
		for _, a := range e.Defs().Properties.All() {
			if a.Key == "plant."+x.problem+".gain" {
				gain, _ = strconv.ParseInt(a.Value.String(), 10, 64)
			}
		}
		e.Close()
		if runtime, got := runtimes(t, path, x.changes); gain == 0 || runtime-got != gain {
			t.Errorf("--%s %s, --what-if %s: the run is %d ns shorter, expected %d", x.problem, x.amount, x.changes,
				runtime-got, gain)
		}
	}
}

// TestSubjectsOfWhatIf changes a call path, and the time outside of regions. Rank 0 begins at 0, rank 1 at 100. Each
// spends 30 in work called by a, 20 outside of regions, and 40 in work called by b; the last one ends at 190.
func TestSubjectsOfWhatIf(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	for rank := range int64(2) {
		loc, now := r.Location(fmt.Sprint("rank ", rank)), 100*rank
		for _, x := range []struct {
			name string
			time int64
		}{{"a", 30}, {"b", 40}} {
			r.Enter(loc, now, r.Region(x.name))
			r.Enter(loc, now, r.Region("work"))
			r.Leave(loc, now+x.time, r.Region("work"))
			r.Leave(loc, now+x.time, r.Region(x.name))
			now += x.time + 20
		}
	}
	path := filepath.Join(t.TempDir(), "x.otf2")
	if err := format.Save(t.Context(), path, otf2.Format{}, r); err != nil {
		t.Fatal(err)
	}
	for changes, want := range map[string]int64{
		"a > work=0":                   160,
		"b > work=0.5":                 170,
		"work=0,b > work=1":            160,
		"work@rank 1=0,a > work=1":     150, // a call path counts before a location
		"b > work@rank 1=0,b > work=3": 170, // rank 0 ends at 170, rank 1 at 150
		"outside=0":                    70,
		"outside@rank 1=0.5":           130,
		"outside@rank 0=0":             190,
		"outside@rank 1=mean":          90, // as rank 0: 20 outside of regions
	} {
		if runtime, got := runtimes(t, path, changes); runtime != 190 || got != want {
			t.Errorf("--what-if %s: the run takes %d ticks, before %d, expected %d, 190", changes, got, runtime, want)
		}
	}
	for changes, code := range map[string]int{"work=median": 1, "a > work=steady": 1, "work@rank *=mean": 1, "a > b=0": 2,
		"latency=mean": 2, "locks=mean": 2, "work=half": 2, "outside=median": 1} {
		if got, _, stderr := runWeft(t, "path", "--what-if", changes, path); got != code {
			t.Errorf("--what-if %s: exit code %d, expected %d: %s", changes, got, code, stderr)
		}
	}
}

// TestWhatIfWithoutLocations checks that a trace without locations is refused like any other one without calls.
func TestWhatIfWithoutLocations(t *testing.T) {
	for _, path := range []string{"../../format/otf/testdata/ok/defs_only/defs_only.otf",
		"../../format/pallas/testdata/ok/no_thread/trace/main.pallas"} {
		if code, _, stderr := runWeft(t, "path", "--what-if", "outside=mean", path); code != exitDefects {
			t.Errorf("%s: exit code %d, expected %d: %s", path, code, exitDefects, stderr)
		}
	}
}
