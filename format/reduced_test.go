package format

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/weft-trace/weft/trace"
)

// someEvents is a trace of given batches that a parallel scan delivers to a number of workers. All
// batches of a location go to the same worker. If again is set, the first scan is restarted once.
type someEvents struct {
	Events
	defs    trace.Definitions
	batches []*trace.Batch
	workers int
	again   bool
}

func (e *someEvents) Defs() *trace.Definitions { return &e.defs }

func (e *someEvents) ScanParallel(_ context.Context, _ trace.Selection, begin func() func(int) Sink) error {
	deliver := func(batches []*trace.Batch) error {
		sinks := begin()
		list := make([]Sink, e.workers)
		for w := range list {
			list[w] = sinks(w)
		}
		for _, b := range batches {
			w := 0
			if b.Loc != trace.MixedLoc {
				w = int(b.Loc) % e.workers
			}
			if err := list[w].Batch(b); err != nil {
				return err
			}
		}
		if e.workers > 1 {
			return End(list[0], 0)
		}
		return nil
	}
	if e.again {
		if err := deliver(e.batches[:len(e.batches)/2]); err != nil {
			return err
		}
	}
	return deliver(e.batches)
}

// row holds the fields of an event that a reduced scan keeps.
type row struct {
	location uint32
	time     int64
	kind     trace.Kind
	ref      uint32
	ops      []uint64
	order    int64
	derived  bool
}

// add appends the row to a batch; ordered is true if the events of the batch have order numbers.
func (r row) add(b *trace.Batch, ordered bool) {
	b.Add(r.location, r.time, r.kind, r.ref)
	if len(r.ops) > 0 {
		b.AddOps(r.ops...)
	}
	if ordered {
		b.Order = append(b.Order, r.order)
	}
	if r.derived {
		b.MarkDerived()
	}
}

// rowsOf returns the rows of a batch.
func rowsOf(b *trace.Batch) (list []row) {
	c := b.Cursor()
	for c.Next() {
		list = append(list, row{c.Location(), c.Time(), c.Kind(), c.Ref(), slices.Clone(c.Ops()), c.Order(), c.Derived()})
	}
	return list
}

// wantedRow reports whether the Reducer of the tests keeps an event.
func wantedRow(k trace.Kind, ref uint32) bool { return k == trace.Send || ref%5 == 0 && countsAsEnd(k) }

// countsAsEnd is the function Reduction.Ends of the tests.
func countsAsEnd(k trace.Kind) bool { return k != trace.Comment }

func TestScanReduced(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 60 {
		locations, mixed, ordered, ends := 1+rng.IntN(9), round%2 == 0, round%3 == 0, round%4 < 2
		e := &someEvents{workers: 1 + round%3, again: round%5 == 0}
		all := e.fill(rng, locations, mixed, ordered)
		want := keptRows(all, ends)
		reduction := Reduction{New: func() Reducer {
			return func(b *trace.Batch, rows []int32) []int32 {
				for i, k := range b.Kind {
					if wantedRow(k, b.Ref[i]) {
						rows = append(rows, int32(i))
					}
				}
				return rows
			}
		}}
		if ends {
			reduction.Ends = countsAsEnd
		}
		got := make([][]row, locations)
		last := int64(-1 << 62)
		sink := SinkFuncs{OnBatch: func(b *trace.Batch) error {
			for _, r := range rowsOf(b) {
				if r.time < last {
					t.Errorf("found time %d after %d, expected the order of time", r.time, last)
				}
				last = r.time
				got[r.location] = append(got[r.location], r)
			}
			return nil
		}}
		// with limits of 2000 bytes and 0 bytes, the scan needs a temporary file
		memory := []int64{1 << 20, 2000, 0}[round%3]
		if err := scanReduced(t.Context(), e, trace.Events(), reduction, sink, memory); err != nil {
			t.Fatal(err)
		}
		compareRows(t, round, got, want)
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "*")); len(left) > 0 {
		t.Errorf("found %v, expected no file left", left)
	}
}

// fill adds random events. It returns the rows of each location.
func (e *someEvents) fill(rng *rand.Rand, locations int, mixed, ordered bool) [][]row {
	for range locations {
		e.defs.Locations.Add(trace.Location{})
	}
	clock := make([]int64, locations)
	for i := range clock {
		clock[i] = rng.Int64N(10) - 5
	}
	if mixed {
		e.workers = 1
	}
	all := make([][]row, locations)
	for range 40 {
		loc := rng.IntN(locations)
		b := &trace.Batch{}
		if b.Reset(uint32(loc)); mixed {
			b.Reset(trace.MixedLoc)
		}
		for range rng.IntN(60) {
			if mixed {
				loc = rng.IntN(locations)
			}
			clock[loc] += rng.Int64N(3) << rng.IntN(40)
			r := row{location: uint32(loc), time: clock[loc],
				kind: []trace.Kind{trace.Send, trace.Enter, trace.Leave, trace.Comment}[rng.IntN(4)],
				ref:  uint32(rng.IntN(200)), derived: rng.IntN(6) == 0}
			for range rng.IntN(6) {
				r.ops = append(r.ops, []uint64{trace.Undefined, 0, 126, 127, 128, rng.Uint64()}[rng.IntN(6)])
			}
			if ordered && rng.IntN(3) > 0 {
				r.order = rng.Int64() - rng.Int64()
			}
			r.add(b, ordered)
			all[loc] = append(all[loc], r)
		}
		e.batches = append(e.batches, b)
	}
	return all
}

// keptRows returns the rows that a reduction must keep. If ends is true, they include the first and the last
// row for which countsAsEnd returns true. A last row that wantedRow does not choose has no operands.
func keptRows(all [][]row, ends bool) (want [][]row) {
	for _, list := range all {
		first := slices.IndexFunc(list, func(r row) bool { return countsAsEnd(r.kind) })
		var kept []row
		for i, r := range list {
			last := countsAsEnd(r.kind) && !slices.ContainsFunc(list[i+1:], func(r row) bool { return countsAsEnd(r.kind) })
			switch {
			case wantedRow(r.kind, r.ref) || ends && i == first:
				kept = append(kept, r)
			case ends && last:
				kept = append(kept, row{location: r.location, time: r.time, kind: r.kind, ref: r.ref})
			}
		}
		want = append(want, kept)
	}
	return want
}

func compareRows(t *testing.T, round int, got, want [][]row) {
	t.Helper()
	for loc := range want {
		if g, w := fmt.Sprint(got[loc]), fmt.Sprint(want[loc]); g != w {
			for i := range min(len(got[loc]), len(want[loc])) {
				if fmt.Sprint(got[loc][i]) != fmt.Sprint(want[loc][i]) {
					t.Fatalf("round %d, location %d, event %d: found %v, expected %v", round, loc, i, got[loc][i], want[loc][i])
				}
			}
			t.Fatalf("round %d, location %d: found %d events, expected %d", round, loc, len(got[loc]), len(want[loc]))
		}
	}
}

// TestScanReducedFails checks that an error of the sink ends a reduced scan.
func TestScanReducedFails(t *testing.T) {
	bad := errors.New("enough")
	e := &someEvents{workers: 1}
	e.defs.Locations.Add(trace.Location{})
	b := &trace.Batch{}
	b.Reset(0)
	b.Add(0, 1, trace.Mark, 0)
	e.batches = []*trace.Batch{b}
	all := KindReduction(func(trace.Kind) bool { return true })
	err := ScanReduced(t.Context(), e, trace.Events(), all, SinkFuncs{OnBatch: func(*trace.Batch) error { return bad }})
	if !errors.Is(err, bad) {
		t.Errorf("found %v, expected %v", err, bad)
	}
}

func TestKindReduction(t *testing.T) {
	own := trace.Declared + 3
	choose := KindReduction(func(k trace.Kind) bool { return k == trace.Send || k == own }).New()
	b := &trace.Batch{}
	b.Reset(0)
	for _, k := range []trace.Kind{trace.Enter, trace.Send, own, trace.Declared, trace.Send} {
		b.Add(0, 0, k, 0)
	}
	if rows := choose(b, nil); !slices.Equal(rows, []int32{1, 2, 4}) {
		t.Errorf("found rows %v, expected 1, 2 and 4", rows)
	}
}
