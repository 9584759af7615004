package main

import (
	"fmt"
	"math/rand/v2"

	"github.com/weft-trace/weft/format/pallas"
)

// pallasPattern is a program that a Pallas trace is recorded of.
type pallasPattern struct {
	name, text string
	irregular  bool
	events     func(r *pallas.Recorder, n int) error
}

// pallasPatterns are all of them.
var pallasPatterns = []pallasPattern{
	{"regular", "a loop of six calls, which take 100 to 106 ns", false, func(r *pallas.Recorder, n int) error {
		return loopOfCalls(r, n, func(time uint64) uint64 { return 100 + time%7 })
	}},
	{"jittered", "the same, but the times between events are random", false, func(r *pallas.Recorder, n int) error {
		rng := rand.New(rand.NewPCG(1, 1))
		return loopOfCalls(r, n, func(uint64) uint64 { return 100 + rng.Uint64N(1000) })
	}},
	{"random functions", "calls of 100 functions in random order, at random times", true, func(r *pallas.Recorder, n int) error {
		rng := rand.New(rand.NewPCG(1, 1))
		time := uint64(0)
		for range n / 2 {
			f := rng.Uint32N(100)
			time += 50 + rng.Uint64N(1000)
			if err := r.Enter(time, f); err != nil {
				return err
			}
			time += 50 + rng.Uint64N(1000)
			if err := r.Leave(time, f); err != nil {
				return err
			}
		}
		return nil
	}},
	{"random calls", "random trees of calls, 12 deep at most, of 50 functions", true, func(r *pallas.Recorder, n int) error {
		rng := rand.New(rand.NewPCG(1, 1))
		time := uint64(0)
		var stack []pallas.Ref
		for range n {
			time += 50 + rng.Uint64N(1000)
			k := len(stack)
			if k > 0 && (k == 12 || rng.IntN(2) == 0) {
				if err := r.Leave(time, stack[k-1]); err != nil {
					return err
				}
				stack = stack[:k-1]
				continue
			}
			stack = append(stack, rng.Uint32N(50))
			if err := r.Enter(time, stack[k]); err != nil {
				return err
			}
		}
		return nil
	}},
}

// loopOfCalls records n events, about, of a program that calls six functions again and
// again; after is how long it takes to the next event.
func loopOfCalls(r *pallas.Recorder, n int, after func(time uint64) uint64) error {
	time := uint64(0)
	var err error
	visit := func(f func(uint64, pallas.Ref) error, region pallas.Ref) {
		time += after(time)
		if err == nil {
			err = f(time, region)
		}
	}
	visit(r.Enter, 0)
	for i := 0; i < n && err == nil; i += 12 {
		for region := range pallas.Ref(3) {
			for _, inner := range []pallas.Ref{region + 1, 4} {
				visit(r.Enter, inner)
				visit(r.Leave, inner)
			}
		}
	}
	visit(r.Leave, 0)
	return err
}

// recordPallas records a pattern, flush included.
func recordPallas(path, pattern string, events int, compatible bool) error {
	w, err := pallas.Create(path, &pallas.WriterOptions{Compatible: compatible})
	if err != nil {
		return err
	}
	w.Definitions.Strings = []pallas.String{{Ref: 0, Text: "thread"}}
	for f := range pallas.Ref(100) {
		w.Definitions.Strings = append(w.Definitions.Strings, pallas.String{Ref: f + 1, Text: fmt.Sprint("f", f)})
		w.Definitions.Regions = append(w.Definitions.Regions, pallas.Region{Ref: f, Name: f + 1})
	}
	w.LocationGroups = []pallas.LocationGroup{{ID: 0, Name: 0, Parent: pallas.NoRef}}
	r, err := w.Archive(0).Record(0, 0)
	if err != nil {
		return err
	}
	for _, p := range pallasPatterns {
		if p.name != pattern {
			continue
		}
		if err := p.events(r, events); err != nil {
			return err
		}
		return w.Close()
	}
	return fmt.Errorf("pattern %q: expected one of Pallas' patterns", pattern)
}
