package causes

import (
	"slices"

	"github.com/weft-trace/weft/analysis/internal/history"
	"github.com/weft-trace/weft/analysis/internal/synclog"
	"github.com/weft-trace/weft/analysis/internal/waitstate"
)

// interval sums what a location did between two calls.
type interval struct {
	h        *history.History
	times    []int64  // by path plus 1; 0 outside of all regions
	paths    []uint32 // indices into times that were added to
	added    []bool   // by index: it is in paths
	location uint32
	from, to int32   // the calls that lie in the interval as a whole
	lock     int32   // a call of which the part up to the release of a lock lies in it, or -1
	waited   int64   // the sum of the waits in it
	blocks   []*tree // by location; nil until they are needed
}

func (x *interval) init(h *history.History) {
	x.h, x.times, x.added = h, make([]int64, len(h.Log.Paths)+1), make([]bool, len(h.Log.Paths)+1)
	x.blocks = make([]*tree, len(h.Locations))
}

func (x *interval) add(path uint32, time int64) {
	at := path + 1
	if !x.added[at] {
		x.added[at] = true
		x.paths = append(x.paths, at)
	}
	x.times[at] += time
}

func (x *interval) addAll(list []synclog.PathTime) {
	for _, t := range list {
		x.add(t.Path, t.Time)
	}
}

// sum adds up what a location did from the call at which it met another one, -1 without, to the begin
// of a call. Its waits are left out.
func (x *interval) sum(to waitstate.Place, from int32, o *history.Opening) {
	l := x.h.Locations[to.Location]
	last := &l.Calls[to.Number]
	if from < 0 {
		x.add(synclog.NoPath, l.First-x.h.Log.First)
	} else {
		c := &l.Calls[from]
		x.add(c.Path, max(0, c.Leave-max(o.Met, c.Enter)))
	}
	x.location, x.from, x.to, x.lock = to.Location, from+1, to.Number, -1
	// Calls that end after the last one begins are part of it.
	n, _ := slices.BinarySearchFunc(l.Calls[x.from:to.Number], last.Enter, func(c history.Call, t int64) int {
		if c.Leave <= t {
			return -1
		}
		return 1
	})
	x.to = x.from + int32(n)
	x.calls(l, x.from, x.to)
	for _, t := range l.Before(x.to) {
		if x.to == to.Number || t.Path != last.Path {
			x.add(t.Path, t.Time)
		}
	}
}

// fewCalls is the number of calls that are added up one by one.
const fewCalls = 64

// calls adds up what lies in the calls [from, to) and before each of them.
func (x *interval) calls(l *history.Location, from, to int32) {
	if to-from > 2*fewCalls {
		if x.blocks[x.location] == nil {
			x.blocks[x.location] = newTree(x.h, l)
		}
		first, last := (from+fewCalls-1)/fewCalls, to/fewCalls
		x.blocks[x.location].visit(first, last, func(b *block) {
			x.addAll(b.times)
			x.waited += b.waited
		})
		x.calls(l, from, first*fewCalls)
		x.calls(l, last*fewCalls, to)
		return
	}
	for n := from; n < to; n++ {
		x.addAll(l.Before(n))
		x.addAll(l.Inside(n))
		x.waited += addWaits(x.h, &l.Calls[n], x.add)
	}
}

// inside adds up what a location did in a call until it released a lock.
func (x *interval) inside(at waitstate.Place, released int64) {
	c := x.h.At(at)
	x.addAll(x.h.Locations[at.Location].Inside(at.Number))
	x.add(c.Path, released-c.Leave)
	x.waited += addWaits(x.h, c, x.add)
	x.lock = at.Number
}

// addWaits takes the waits of a call off its time, and returns their sum.
func addWaits(h *history.History, c *history.Call, add func(path uint32, time int64)) (waited int64) {
	h.WaitsOf(c, func(i int) {
		if w := h.Wait(i); w.Pattern != waitstate.Reduction {
			waited += w.Length
			add(w.Path, -w.Length)
		}
	})
	return waited
}

func (x *interval) clear() {
	for _, p := range x.paths {
		x.times[p], x.added[p] = 0, false
	}
	x.paths, x.waited = x.paths[:0], 0
}

// block sums up several calls in a row.
type block struct {
	times  []synclog.PathTime
	waited int64
}

// tree holds the sums of fewCalls calls, twice as many, and so on, so that those of any number of
// calls are found in a few steps.
type tree struct{ levels [][]block }

func newTree(h *history.History, l *history.Location) *tree {
	x := &interval{}
	x.init(h)
	t := &tree{}
	take := func() block {
		b := block{waited: x.waited}
		for _, p := range x.paths {
			if x.times[p] != 0 {
				b.times = append(b.times, synclog.PathTime{Path: p - 1, Time: x.times[p]})
			}
		}
		x.clear()
		return b
	}
	var level []block
	for n := int32(0); int(n)+fewCalls <= len(l.Calls); n += fewCalls {
		x.calls(l, n, n+fewCalls)
		level = append(level, take())
	}
	for len(level) > 0 {
		t.levels = append(t.levels, level)
		var above []block
		for i := 0; i+1 < len(level); i += 2 {
			x.addAll(level[i].times)
			x.addAll(level[i+1].times)
			x.waited = level[i].waited + level[i+1].waited
			above = append(above, take())
		}
		level = above
	}
	return t
}

// visit calls f with blocks that together are [from, to) of the lowest level.
func (t *tree) visit(from, to int32, f func(*block)) {
	for level := 0; from < to; level++ {
		if from&1 == 1 {
			f(&t.levels[level][from])
			from++
		}
		if to&1 == 1 {
			to--
			f(&t.levels[level][to])
		}
		from, to = from/2, to/2
	}
}

// ranges adds numbers to ranges of calls, and returns the sum of those of a call.
type ranges []float64

// add adds a number to the calls [from, to).
func (r ranges) add(from, to int32, x float64) {
	for i := int(from) + 1; i < len(r); i += i & -i {
		r[i] += x
	}
	for i := int(to) + 1; i < len(r); i += i & -i {
		r[i] -= x
	}
}

// at returns the sum of a call.
func (r ranges) at(call int32) (sum float64) {
	for i := int(call) + 1; i > 0; i -= i & -i {
		sum += r[i]
	}
	return sum
}
