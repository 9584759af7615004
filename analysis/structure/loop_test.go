package structure_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/weft-trace/weft/analysis/structure"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// TestFindLoop checks the windows of iterations. Each location calls setup, then work and exchange several times, and
// then close; the calls of an iteration leave gaps of 1.
func TestFindLoop(t *testing.T) {
	record := func(times ...[]int64) format.Events {
		rec := trace.NewRecorder(trace.TicksPerSecond(1))
		call := func(loc uint32, name string, enter, leave int64) {
			rec.Enter(loc, enter, rec.Region(name))
			rec.Leave(loc, leave, rec.Region(name))
		}
		for i, begins := range times {
			loc := rec.Location(string(rune('a' + i)))
			rec.Enter(loc, 0, rec.Region("main"))
			call(loc, "setup", 1, 500) // setup takes longer than the loop, and contains no loop
			for _, t := range begins {
				call(loc, "work", t, t+5)
				call(loc, "exchange", t+6, t+8)
			}
			call(loc, "close", 900, 901)
			rec.Leave(loc, 902, rec.Region("main"))
		}
		return format.Recorded(rec)
	}
	events := record([]int64{600, 610, 630}, []int64{605, 615, 628}, nil)
	loop, err := structure.FindLoop(context.Background(), events, trace.NewRows(events.Defs()))
	if err != nil {
		t.Fatal(err)
	}
	// The earliest begins are 600 and 610 at location a, and 628 at b. The latest end is 638 at a. A window ends before
	// its To, so the last one ends at 639.
	want := []trace.Window{{From: 600, To: 610}, {From: 610, To: 628}, {From: 628, To: 639}}
	if !slices.Equal(loop.Iterations, want) || !slices.Equal(loop.Steps, []string{"work", "exchange"}) {
		t.Errorf("found %v of %q, expected %v of work and exchange", loop.Iterations, loop.Steps, want)
	}
	for _, other := range []format.Events{record(nil, nil), record([]int64{600, 610, 630}, []int64{605, 615})} {
		var none *structure.NoLoopError
		if _, err := structure.FindLoop(context.Background(), other, nil); !errors.As(err, &none) {
			t.Errorf("found the error %v, expected that there is no loop", err)
		}
	}
}

// TestChoiceOfLoop checks which of several loops is found in main: the outermost one, unless a call next to it takes
// longer and has a loop. Without such a loop, it is the longest of the loops that were passed on the way.
func TestChoiceOfLoop(t *testing.T) {
	type call struct {
		name   string
		times  int   // number of successive calls
		length int64 // ticks of each of them, with the calls inside
		inside []call
	}
	for want, main := range map[string][]call{
		"longer than the call": {{"read", 1, 10, []call{{"item", 4, 1, nil}}}, {"longer than the call", 3, 20, nil}},
		"inside":               {{"poll", 2, 5, nil}, {"solve", 1, 200, []call{{"inside", 3, 20, nil}}}},
		"the longest of loops": {{"item", 4, 5, nil}, {"the longest of loops", 3, 7, nil}, {"open", 1, 2, nil}},
		"next to the last call": {{"y", 2, 2, nil}, {"a", 1, 300,
			[]call{{"b", 1, 200, nil}, {"next to the last call", 3, 10, nil}}}},
		"next to the first": {{"next to the first", 2, 20, nil}, {"a", 1, 300,
			[]call{{"b", 1, 200, nil}, {"x", 3, 10, nil}}}},
	} {
		rec := trace.NewRecorder(trace.TicksPerSecond(1))
		loc := rec.Location("a")
		var record func(at int64, list []call) int64
		record = func(at int64, list []call) int64 {
			for _, c := range list {
				for range c.times {
					rec.Enter(loc, at, rec.Region(c.name))
					record(at, c.inside)
					at += c.length
					rec.Leave(loc, at, rec.Region(c.name))
				}
			}
			return at
		}
		rec.Enter(loc, 0, rec.Region("main"))
		rec.Leave(loc, record(0, main), rec.Region("main"))
		loop, err := structure.FindLoop(t.Context(), format.Recorded(rec), nil)
		if err != nil || !slices.Equal(loop.Steps, []string{want}) {
			t.Errorf("found %+v and the error %v, expected the loop %q", loop, err, want)
		}
	}
}

// TestFindLoopOfStraggler checks that all locations have the same loop, although a location that comes last does not
// wait in the calls of this loop, so that another one takes it longer. The locations are two times in barrier, and
// then three times in reduce: a takes 2 · 5 and 3 · 20, and b takes 2 · 10 and 3 · 1.
func TestFindLoopOfStraggler(t *testing.T) {
	rec := trace.NewRecorder(trace.TicksPerSecond(1))
	for i, lengths := range [][2]int64{{5, 20}, {10, 1}} {
		loc := rec.Location(string(rune('a' + i)))
		rec.Enter(loc, 0, rec.Region("main"))
		for n, begin := range []int64{10, 30, 100, 200, 300} {
			region, length := rec.Region("barrier"), lengths[0]
			if n >= 2 {
				region, length = rec.Region("reduce"), lengths[1]
			}
			rec.Enter(loc, begin, region)
			rec.Leave(loc, begin+length, region)
		}
		rec.Leave(loc, 400, rec.Region("main"))
	}
	loop, err := structure.FindLoop(t.Context(), format.Recorded(rec), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []trace.Window{{From: 100, To: 200}, {From: 200, To: 300}, {From: 300, To: 321}}
	if !slices.Equal(loop.Iterations, want) || !slices.Equal(loop.Steps, []string{"reduce"}) {
		t.Errorf("found %v of %q, expected %v of reduce", loop.Iterations, loop.Steps, want)
	}
}

// TestFindLoopOfWaits checks a loop whose only call is a barrier, as in a trace without calls of the program itself.
// In each iteration, which takes 50, location a computes for 10 and waits for 40, while b computes for 50.
func TestFindLoopOfWaits(t *testing.T) {
	rec := trace.NewRecorder(trace.TicksPerSecond(1))
	for i, compute := range []int64{10, 50} {
		loc := rec.Location(string(rune('a' + i)))
		for n := range int64(5) {
			rec.Enter(loc, 50*n+compute, rec.Region("MPI_Barrier"))
			rec.Leave(loc, 50*n+50, rec.Region("MPI_Barrier"))
		}
	}
	loop, err := structure.FindLoop(t.Context(), format.Recorded(rec), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []trace.Window{{From: 10, To: 60}, {From: 60, To: 110}, {From: 110, To: 160}, {From: 160, To: 210},
		{From: 210, To: 251}}
	if !slices.Equal(loop.Iterations, want) {
		t.Errorf("found %v, expected %v", loop.Iterations, want)
	}
}
