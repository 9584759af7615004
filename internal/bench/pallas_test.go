package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// filesOf returns the contents of all files below a folder, by path.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	list := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		list[strings.TrimPrefix(path, dir)] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestPallasRecording checks that two goroutines record the same trace as one, and that each thread
// has an equal share of the events.
func TestPallasRecording(t *testing.T) {
	var recorded []map[string]string
	for _, goroutines := range []int{1, 2} {
		dir := t.TempDir()
		k := pallasRecording{pallasThreadsPattern, 10_000, false, 3, goroutines}
		if err := k.record(filepath.Join(dir, "main.pallas")); err != nil {
			t.Fatal(err)
		}
		recorded = append(recorded, filesOf(t, dir))
	}
	if len(recorded[0]) != 2+3*3 {
		t.Errorf("found %d files, expected three of each of 3 threads and two more", len(recorded[0]))
	}
	for name, b := range recorded[0] {
		if recorded[1][name] != b {
			t.Errorf("%s: two goroutines write other bytes", name)
		}
	}
	if err := (pallasRecording{"x", 1, false, 1, 1}).record(filepath.Join(t.TempDir(), "main.pallas")); err == nil {
		t.Error("no such pattern: expected an error")
	}
}

func TestPallasChildren(t *testing.T) {
	path := filepath.Join(t.TempDir(), "main.pallas")
	if err := child(t.Context(), []string{"pallas", path, "random functions", "5000", "1", "2", "2"},
		&bytes.Buffer{}); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := child(t.Context(), []string{"values", path, "100"}, &out); err != nil {
		t.Fatal(err)
	}
	if n, err := strconv.Atoi(strings.TrimSpace(out.String())); err != nil || n <= 0 {
		t.Errorf("found %q %v, expected nanoseconds", out.String(), err)
	}
	if child(t.Context(), []string{"values", path + "x", "1"}, &out) == nil {
		t.Error("no trace: expected an error")
	}
	x := &pallasResult{}
	if x.sizes(path); x.grammar == 0 || x.data == 0 || x.bytes <= x.grammar+x.data {
		t.Errorf("found %d bytes, %d of grammars and %d of times", x.bytes, x.grammar, x.data)
	}
}

// samplePallas returns a report in which all limits are kept.
func samplePallas() *pallasReport {
	const events, ms = 1_000_000, 0.001
	used := func(cpu, wall float64, mib, read int64) []usage {
		x := testUsage(cpu, wall, mib)
		x.read = read
		return []usage{x}
	}
	result := func(name string, times float64) pallasResult {
		return pallasResult{
			pallasPattern: pallasPattern{name: name}, events: int64(times * events),
			record: used(times*0.1, times*0.1, 10, 0), one: used(times*0.02, times*0.02, 10, 0), two: used(0.02, 0.01, 10, 0),
			info: used(6*ms, 6*ms, 10, 110_000), exact: used(40*ms, 40*ms, 10, 2_000_000),
			opening: lookups{used(5*ms, 5*ms, 10, 100_000), []float64{0}},
			first:   lookups{used(5*ms, 5*ms, 10, 108_064), []float64{50_000}},
			many:    lookups{used(25*ms, 25*ms, 10, 3_100_000), []float64{20_000_000}},
			bytes:   3_100_000, grammar: 90_000, data: 3_000_000,
		}
	}
	x, long := result("regular", 1), result("regular, 10000000 events", 10)
	return &pallasReport{
		result:  resultOf(events),
		results: []*pallasResult{&x}, long: long,
		threads: []*pallasThreads{
			{2, used(0.1, 0.09, 10, 0), used(0.1, 0.06, 12, 0), used(0.02, 0.02, 9, 0), used(0.02, 0.01, 9, 0), 4e6, 1e5},
			{64, used(0.1, 0.1, 20, 0), used(0.1, 0.1, 22, 0), used(0.02, 0.02, 9, 0), used(0.02, 0.02, 9, 0), 4e6, 1 << 20},
		},
	}
}

// resultOf returns the common part of a result with a number of events.
func resultOf(events int64) result {
	return result{machine: machine{"CPU", 2, "go1.26", "0.10"}, runs: 1, events: events}
}

func TestPallasDocument(t *testing.T) {
	// Calculated by hand: 64 MiB and 64 KiB, 100 KiB for each thread, and 1 MiB for the grammar.
	limit := fmt.Sprintf("≤ %.0f MiB", 64+64/1024.+64*100/1024.+1)
	checkDocument(t, string(samplePallas().document()),
		"| Recording, regular | ≤ 200 ns per event | 100.00 | pass |",
		"| Recording an event of a trace ten times as long | ≤ 1.25 × | 1.00 × | pass |",
		"| Looking a value up in a trace ten times as long | ≤ 1.25 × | 1.00 × | pass |",
		"| Looking one value up reads its block, regular | ≤ 8064 bytes | 8064 bytes | pass |",
		"| `info` from sums, CPU beside --exact, regular | ≤ 1.00 × | 0.15 × | pass |",
		"| `info` reads no times, regular | ≤ 1.20 × the files without times | 1.10 × | pass |",
		"| Two goroutines record faster than one, 2 threads | ≥ 1.20 × | 1.50 × | pass |",
		"| Two cores read faster than one, 2 threads | ≥ 1.60 × | 2.00 × | pass |",
		"| Memory of recording, 64 threads | "+limit+" | 22 MiB | pass |",
		"| regular | 0.006 s | 0.040 s | 0.11 MB | 2.00 MB | 3.1 MB |",
		"| regular | 0.005 s | 0.10 MB | 50.00 | 8064 | 20.00 | 3000 |",
		"| 2 | 90.00 | 60.00 | 10.0 MiB | 12.0 MiB | 20.00 | 10.00 | 9.0 MiB | 9.0 MiB | 4.00 | 0.10 |",
	)
}

func TestPallasVerdicts(t *testing.T) {
	for name, test := range map[string]struct {
		change func(r *pallasReport)
		want   string
	}{
		"values": {func(r *pallasReport) { r.long.many.ns[0] = 3e7 },
			"ten times as long | ≤ 1.25 × | 1.50 × | **fail**"},
		"block":       {func(r *pallasReport) { r.results[0].first.runs[0].read = 108_065 }, "| 8065 bytes | **fail**"},
		"sums":        {func(r *pallasReport) { r.results[0].exact[0].cpu /= 10 }, "| ≤ 1.00 × | 1.50 × | **fail**"},
		"times":       {func(r *pallasReport) { r.results[0].info[0].read = 200_000 }, "without times | 2.00 × | **fail**"},
		"one by one":  {func(r *pallasReport) { r.threads[0].two = r.threads[0].one }, "| ≥ 1.60 × | 1.00 × | **fail**"},
		"hungry":      {func(r *pallasReport) { r.threads[1].both[0].peak = 80 << 20 }, "| 80 MiB | **fail**"},
		"not counted": {func(r *pallasReport) { r.results[0].info[0].read = 0 }, "without times | – | not measured"},
		"nothing": {func(r *pallasReport) {
			*r = pallasReport{result: r.result, results: []*pallasResult{{events: 1e6}}, long: pallasResult{events: 1e7}}
		}, "not measured"},
	} {
		r := samplePallas()
		test.change(r)
		doc := string(r.document())
		if !strings.Contains(doc, test.want) || strings.Contains(doc, "NaN") || strings.Contains(doc, "%!") {
			t.Errorf("%s: expected %s, found\n%s", name, test.want, doc)
		}
	}
}
