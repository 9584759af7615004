package waits_test

import (
	"context"
	"testing"

	"github.com/weft-trace/weft/analysis/waits"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/transform"
)

// merged returns the runs of testdata/hand and testdata/p2p on one time line, and each of them alone. The second run
// begins while the first one goes on.
func merged(t *testing.T) (both format.Events, runs []format.Events) {
	t.Helper()
	ctx := context.Background()
	runs = []format.Events{open(t, "testdata/hand/traces.otf2"), open(t, "testdata/p2p/traces.otf2")}
	var zero []int64
	for i, d := range runs {
		first, _, _, err := format.Extent(ctx, d)
		if err != nil {
			t.Fatal(err)
		}
		zero = append(zero, first-100*int64(i))
	}
	both, err := transform.Merge(ctx, runs, transform.MergeOptions{Zero: zero})
	if err == nil {
		err = both.Prepare(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	return both, runs
}

// TestRunsDoNotWaitForEachOther checks that each pattern of a trace of two runs has the waits of both. TestScout
// compares those of each run with Scalasca. Processes of different runs never wait for each other, also not in
// MPI_Init and MPI_Finalize.
func TestRunsDoNotWaitForEachOther(t *testing.T) {
	both, runs := merged(t)
	count, sum := map[string]int64{}, map[string]trace.Ticks{}
	var factor []int64 // ticks of the merged trace in a tick of the run
	for _, d := range runs {
		factor = append(factor, int64(both.Defs().Clock.PerSecond()/d.Defs().Clock.PerSecond()))
	}
	for i, d := range runs {
		for _, p := range find(t, d, waits.Options{}).Patterns {
			count[p.Pattern] += p.Count
			sum[p.Pattern] = sum[p.Pattern].Plus(p.Time.Times(factor[i]))
		}
	}
	whole := find(t, both, waits.Options{})
	if count["wait-at-finalize"] == 0 {
		t.Fatal("found no wait in MPI_Finalize, expected some")
	}
	for _, p := range whole.Patterns {
		if p.Count != count[p.Pattern] || p.Time != sum[p.Pattern] {
			t.Errorf("%s: found %d waits of %v ticks, expected %d of %v", p.Pattern, p.Count, p.Time, count[p.Pattern],
				sum[p.Pattern])
		}
	}
	if len(whole.Patterns) != len(count) {
		t.Errorf("found %d patterns, expected %d", len(whole.Patterns), len(count))
	}
}

// TestWindowOfRuns checks that a window of a trace of two runs has the waits that begin in it.
func TestWindowOfRuns(t *testing.T) {
	both, _ := merged(t)
	first, last, _, err := format.Extent(context.Background(), both)
	if err != nil {
		t.Fatal(err)
	}
	const parts = 7
	total := int64(0)
	for i := range int64(parts) {
		w := &trace.Window{From: first + (last-first)*i/parts, To: first + (last-first)*(i+1)/parts}
		if i == parts-1 {
			w.To = last + 1
		}
		for _, p := range find(t, both, waits.Options{Window: w}).Patterns {
			total += p.Count
		}
	}
	want := int64(0)
	for _, p := range find(t, both, waits.Options{}).Patterns {
		want += p.Count
	}
	if total != want {
		t.Errorf("found %d waits in %d windows, expected %d as in the whole trace", total, parts, want)
	}
}
