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
	events     func(c *calls, n int)
}

// pallasPatterns are all of them.
var pallasPatterns = []pallasPattern{
	{"regular", "a loop of six calls, which take 100 to 106 ns", false, func(c *calls, n int) {
		c.loop(n, func() uint64 { return 100 + c.time%7 })
	}},
	{"jittered", "the same, but the times between events are random", false, func(c *calls, n int) {
		c.loop(n, func() uint64 { return 100 + c.Uint64N(1000) })
	}},
	{"random functions", "calls of 100 functions in random order, at random times", true, func(c *calls, n int) {
		for range n / 2 {
			f := c.Uint32N(100)
			c.enter(50+c.Uint64N(1000), f)
			c.leave(50+c.Uint64N(1000), f)
		}
	}},
	{"random calls", "random trees of calls, 12 deep at most, of 50 functions", true, func(c *calls, n int) {
		var stack []pallas.Ref
		for range n {
			after := 50 + c.Uint64N(1000)
			k := len(stack)
			if k > 0 && (k == 12 || c.IntN(2) == 0) {
				c.leave(after, stack[k-1])
				stack = stack[:k-1]
				continue
			}
			stack = append(stack, c.Uint32N(50))
			c.enter(after, stack[k])
		}
	}},
}

// calls records enters and leaves, until that fails.
type calls struct {
	*rand.Rand
	r    *pallas.Recorder
	time uint64
	err  error
}

// enter enters a region so long after the last event.
func (c *calls) enter(after uint64, region pallas.Ref) {
	if c.time += after; c.err == nil {
		c.err = c.r.Enter(c.time, region)
	}
}

// leave leaves it.
func (c *calls) leave(after uint64, region pallas.Ref) {
	if c.time += after; c.err == nil {
		c.err = c.r.Leave(c.time, region)
	}
}

// loop records n events, about, of a program that calls six functions again and again; after is
// how long it takes to the next event.
func (c *calls) loop(n int, after func() uint64) {
	c.enter(after(), 0)
	for i := 0; i < n; i += 12 {
		for region := range pallas.Ref(3) {
			for _, inner := range []pallas.Ref{region + 1, 4} {
				c.enter(after(), inner)
				c.leave(after(), inner)
			}
		}
	}
	c.leave(after(), 0)
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
		c := &calls{Rand: rand.New(rand.NewPCG(1, 1)), r: r}
		if p.events(c, events); c.err != nil {
			return c.err
		}
		return w.Close()
	}
	return fmt.Errorf("pattern %q: expected one of Pallas' patterns", pattern)
}
