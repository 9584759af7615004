package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/pallas"
)

// pallasPattern is a synthetic program that records a Pallas trace.
type pallasPattern struct {
	name, text string
	irregular  bool
	events     func(c *calls, n int)
}

// pallasPatterns lists the programs that the benchmark of Pallas records.
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

// calls records enters and leaves. After an error, it does nothing.
type calls struct {
	*rand.Rand
	r    *pallas.Recorder
	time uint64
	err  error
}

// enter records an enter of a region, after ticks later than the last event.
func (c *calls) enter(after uint64, region pallas.Ref) {
	if c.time += after; c.err == nil {
		c.err = c.r.Enter(c.time, region)
	}
}

// leave records a leave of a region, after ticks later than the last event.
func (c *calls) leave(after uint64, region pallas.Ref) {
	if c.time += after; c.err == nil {
		c.err = c.r.Leave(c.time, region)
	}
}

// loop records about n events of a program that calls six functions again and again. after returns
// the ticks until the next event.
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

// pallasRecording holds the settings with which a Pallas trace is recorded.
type pallasRecording struct {
	pattern             string
	events              int64 // number of events of all threads together
	compatible          bool
	threads, goroutines int // goroutine i records the threads i, i + goroutines, i + 2·goroutines and so on
}

// record records a trace to path, and flushes it to the disk.
func (pr pallasRecording) record(path string) error {
	i := slices.IndexFunc(pallasPatterns, func(p pallasPattern) bool { return p.name == pr.pattern })
	if i < 0 {
		return fmt.Errorf("pattern %q: expected one of Pallas' patterns", pr.pattern)
	}
	w, err := pallas.Create(path, &pallas.WriterOptions{Compatible: pr.compatible})
	if err != nil {
		return err
	}
	w.Definitions.Strings = []pallas.String{{Ref: 0, Text: "thread"}}
	for f := range pallas.Ref(100) {
		w.Definitions.Strings = append(w.Definitions.Strings, pallas.String{Ref: f + 1, Text: fmt.Sprint("f", f)})
		w.Definitions.Regions = append(w.Definitions.Regions, pallas.Region{Ref: f, Name: f + 1})
	}
	w.LocationGroups = []pallas.LocationGroup{{ID: 0, Name: 0, Parent: pallas.NoRef}}
	threads := make([]*calls, pr.threads)
	for id := range threads {
		r, err := w.Archive(0).Record(uint32(id), 0)
		if err != nil {
			return err
		}
		threads[id] = &calls{Rand: rand.New(rand.NewPCG(1, uint64(id)+1)), r: r}
	}
	var wg sync.WaitGroup
	for first := range pr.goroutines {
		wg.Go(func() {
			for id := first; id < pr.threads; id += pr.goroutines {
				pallasPatterns[i].events(threads[id], int(pr.events)/pr.threads)
			}
		})
	}
	wg.Wait()
	for _, c := range threads {
		if c.err != nil {
			return c.err
		}
	}
	return w.Close()
}

// pallasValues looks up the times of random occurrences of frequent events of the first thread. It
// returns the nanoseconds that this has taken, without opening the trace.
func pallasValues(path string, count int) (ns int64, err error) {
	t, err := pallas.Open(format.FileSource(path))
	if err != nil {
		return 0, err
	}
	a, err := t.Archive(0)
	if err != nil {
		return 0, err
	}
	thread, err := a.Thread(0)
	if err != nil {
		return 0, err
	}
	defer thread.Close()
	var usual []*pallas.Vector
	for i := range thread.Events {
		if v := &thread.Events[i].Timestamps; v.Size > thread.Count()/uint64(2*len(thread.Events)) {
			usual = append(usual, v)
		}
	}
	r := rand.New(rand.NewPCG(1, 1))
	start := time.Now()
	for range count {
		v := usual[r.IntN(len(usual))]
		if _, err := thread.Value(v, r.Uint64N(v.Size)); err != nil {
			return 0, err
		}
	}
	return time.Since(start).Nanoseconds(), nil
}
