package explain_test

import (
	"math"
	"strings"
	"testing"

	"github.com/weft-trace/weft/analysis/explain"
	"github.com/weft-trace/weft/trace"
)

// TestBaselineNamesWhatChanged compares a run of one thread with an earlier one: five regions take the same time in
// both, a sixth grows from 10 to 2010 ticks, one of 500 ticks is new, and one of 100 is gone. The runtime grows from
// 5110 to 7510 ticks.
func TestBaselineNamesWhatChanged(t *testing.T) {
	type visit struct {
		region string
		ticks  int64
	}
	run := func(visits ...visit) *explain.Page {
		r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
		loc, now := r.Thread("thread", r.Process("process", r.Machine("node"))), int64(0)
		for _, v := range append(visits, visit{"a", 1000}, visit{"b", 1000}, visit{"c", 1000}, visit{"d", 1000},
			visit{"e", 1000}) {
			region := r.Region(v.region)
			r.Enter(loc, now, region)
			now += v.ticks
			r.Leave(loc, now, region)
		}
		return page(t, r)
	}
	b := explain.Compare(run(visit{"small", 10}, visit{"old", 100}), run(visit{"small", 2010}, visit{"new", 500}))
	want := []explain.RegionChange{
		{Region: "small", TimeChange: explain.TimeChange{Earlier: 10, Later: 2010, Change: 2000. / 5110}},
		{Region: "new", TimeChange: explain.TimeChange{Earlier: 0, Later: 500, Change: 500. / 5110}},
		{Region: "old", TimeChange: explain.TimeChange{Earlier: 100, Later: 0, Change: -100. / 5110}},
	}
	if len(b.Regions) != len(want) {
		t.Fatalf("regions %+v, want %+v", b.Regions, want)
	}
	for i, w := range want {
		g := b.Regions[i]
		if g.Region != w.Region || g.Earlier != w.Earlier || g.Later != w.Later || math.Abs(g.Change-w.Change) > 1e-12 {
			t.Errorf("region %d is %+v, want %+v", i, g, w)
		}
	}
}

// TestBaselineAddsUp compares four ranks of which one takes 3000 instead of 1000 ticks in each of ten rounds with a
// barrier, so that the others wait for 2000. A round takes 1001 ticks, later 3001.
func TestBaselineAddsUp(t *testing.T) {
	run := func(slow int64) *explain.Page {
		return page(t, program(4, 10, func(rank, _ int) int64 {
			if rank == 3 {
				return slow
			}
			return 1000
		}))
	}
	b := explain.Compare(run(1000), run(3000))
	if b.Waits.Earlier != 0 || b.Waits.Later != 10*3*2000 || len(b.Regions) != 1 || b.Regions[0].Region != "compute" ||
		b.Regions[0].Later-b.Regions[0].Earlier != 10*2000 {
		t.Errorf("waits %+v, regions %+v, want 60000 more of waits and 20000 more of compute", b.Waits, b.Regions)
	}
	if sum := b.Waits.Change + b.Regions[0].Change; math.Abs(sum-20000./10010) > 1e-12 || math.Abs(sum-b.Change) > 1e-12 {
		t.Errorf("the changes add up to %v, and the run changes by %v, want 20000/10010", sum, b.Change)
	}
}

// TestBaselineSentence compares runs of 10 iterations and a last call that takes 10: one of 1000 per iteration with
// itself, with one of 3000, and with one of 500.
func TestBaselineSentence(t *testing.T) {
	run := func(ticks int64) *explain.Page {
		return page(t, program(2, 10, func(_, _ int) int64 { return ticks }))
	}
	then := run(1000)
	for ticks, want := range map[int64]string{1000: "the run is as long;", 3000: "the run is 199.8 % longer;",
		500: "the run is 50.0 % shorter;"} {
		if got := explain.Compare(then, run(ticks)).Sentence(); !strings.Contains(got, want) {
			t.Errorf("%d ticks: found %q, expected %q", ticks, got, want)
		}
	}
}
