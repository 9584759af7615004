package causes

import (
	"sort"

	"github.com/weft-trace/weft/analysis/internal/history"
	"github.com/weft-trace/weft/analysis/internal/synclog"
	"github.com/weft-trace/weft/analysis/internal/waitstate"
)

// interval adds up the time that a location spent in each path between two calls, in ticks and without
// waits.
type interval struct {
	h        *history.History
	times    []int64  // indexed by path plus 1; element 0 is the time outside of all regions
	paths    []uint32 // indexes of the elements of times that are not 0
	added    []bool   // indexed by index of times: whether paths contains the index
	location uint32
	from, to int32 // the calls [from, to) lie completely in the interval
	lock     int32 // a call that belongs to the interval up to its release of a lock, or -1
	waited   int64 // sum of the waits in the interval
	// opened is the call of the synchronisation at the begin of the interval. openWaited is the part of its waits
	// that lies in the interval, in ticks; 0 if there is none.
	opened     int32
	openWaited int64
	blocks     []*tree // indexed by location: sums over calls; nil until needed
	ends       bool    // Options.Ends, which determines the waits that count
}

// init prepares an empty interval.
func (iv *interval) init(h *history.History, ends bool) {
	iv.ends = ends
	iv.h, iv.times, iv.added = h, make([]int64, len(h.Log.Paths)+1), make([]bool, len(h.Log.Paths)+1)
	iv.blocks = make([]*tree, len(h.Locations))
}

// add adds time to a path.
func (iv *interval) add(path uint32, time int64) {
	at := path + 1
	if !iv.added[at] {
		iv.added[at] = true
		iv.paths = append(iv.paths, at)
	}
	iv.times[at] += time
}

func (iv *interval) addAll(list []synclog.PathTime) {
	for _, t := range list {
		iv.add(t.Path, t.Time)
	}
}

// sum sums the work of a location from call from, in which it last synchronised with another
// location (-1 if it never did, or if one of them has created the other), to the begin of call to.
func (iv *interval) sum(to waitstate.Place, from int32, o *history.Opening) {
	l := iv.h.Locations[to.Location]
	last := l.Call(to.Number)
	iv.opened, iv.openWaited = from, 0
	switch {
	case from < 0 && o.Created:
		iv.add(synclog.NoPath, max(0, l.First-o.Met))
	case from < 0:
		iv.add(synclog.NoPath, l.First-iv.h.Log.First)
	default:
		c := l.Call(from)
		rest := max(0, c.Leave-max(o.Met, c.Enter))
		list := l.Waits(from)
		for i := range list {
			if w := &list[i]; counts(w.Pattern, iv.ends) && rest > 0 {
				t, _ := w.Since(o.Met)
				iv.openWaited += t
			}
		}
		iv.openWaited = min(iv.openWaited, rest)
		iv.waited += iv.openWaited
		iv.add(c.Path, rest-iv.openWaited)
	}
	iv.location, iv.from, iv.to, iv.lock = to.Location, from+1, to.Number, -1
	// Calls that end after the begin of call last contain it.
	if to.Number > iv.from && l.Call(to.Number-1).Leave > last.Enter {
		iv.to = min(max(iv.from, l.FirstAfter(last.Enter)), to.Number)
	}
	iv.addCalls(l, iv.from, iv.to)
	for _, t := range l.Before(iv.to) {
		if iv.to == to.Number || t.Path != last.Path {
			iv.add(t.Path, t.Time)
		}
	}
}

// fewCalls is the number of calls that a block of the lowest level covers.
const fewCalls = 64

// addCalls adds the times in the calls [from, to), and before each of them.
func (iv *interval) addCalls(l *history.Location, from, to int32) {
	if to-from > 2*fewCalls {
		if iv.blocks[iv.location] == nil {
			iv.blocks[iv.location] = newTree(iv.h, l, iv.ends)
		}
		first, last := (from+fewCalls-1)/fewCalls, to/fewCalls
		iv.blocks[iv.location].visit(first, last, func(b *block) {
			iv.addAll(b.times)
			iv.waited += b.waited
		})
		iv.addCalls(l, from, first*fewCalls)
		iv.addCalls(l, last*fewCalls, to)
		return
	}
	for n := from; n < to; n++ {
		iv.addAll(l.Before(n))
		iv.addAll(l.Inside(n))
		iv.waited += addWaits(l, n, iv.ends, iv.add)
	}
}

// addInside adds the times in a call up to its release of a lock.
func (iv *interval) addInside(at waitstate.Place, released int64) {
	l := iv.h.Locations[at.Location]
	c := l.Call(at.Number)
	iv.addAll(l.Inside(at.Number))
	iv.add(c.Path, released-c.Leave)
	iv.waited += addWaits(l, at.Number, iv.ends, iv.add)
	iv.lock = at.Number
}

// excludeVisited removes from the interval call p and the calls that [history.History.Backward] visits
// before call p. passed is an empty interval that the method uses as scratch. It returns the sum of the
// waits in the removed calls. There are such calls only if calls contradict causality, or if locks are
// released in calls that end later than p.
func (iv *interval) excludeVisited(p waitstate.Place, passed *interval) (waited int64) {
	l := iv.h.Locations[iv.location]
	visited := func(n int32) bool { return !iv.h.Before(waitstate.Place{Location: iv.location, Number: n}, p) }
	if iv.openWaited > 0 && visited(iv.opened) {
		waited, iv.openWaited = iv.openWaited, 0
	}
	if iv.lock >= 0 && visited(iv.lock) {
		waited += sumWaits(l, iv.lock, iv.ends)
		iv.lock = -1
	}
	if iv.to <= iv.from || !visited(iv.to-1) {
		return waited
	}
	to := iv.from + int32(sort.Search(int(iv.to-iv.from), func(i int) bool { return visited(iv.from + int32(i)) }))
	passed.location = iv.location
	passed.addCalls(l, to, iv.to)
	waited += passed.waited
	passed.clear()
	iv.to = to
	return waited
}

// excess returns the time by which the location of iv spent more in each path than that of other.
func (iv *interval) excess(other *interval) float64 {
	sum := 0.0
	for _, path := range iv.paths {
		if d := iv.times[path] - other.times[path]; d > 0 {
			sum += float64(d)
		}
	}
	return sum
}

// distribute calls add for each path in which the location of iv spent more time than that of other. The cost of a path
// is cost, times its excess, divided by whole.
func (iv *interval) distribute(other *interval, cost, whole float64, add func(path uint32, cost float64)) {
	for _, path := range iv.paths {
		if d := iv.times[path] - other.times[path]; d > 0 {
			add(path-1, cost*float64(d)/whole) // NoPath has the index 0
		}
	}
}

// addWaits subtracts the waits of call n from the times of their paths and of the paths below. It returns the sum of
// the waits.
func addWaits(l *history.Location, n int32, ends bool, add func(path uint32, time int64)) (
	waited int64) {
	if waited = sumWaits(l, n, ends); waited > 0 {
		l.RemoveWait(n, waited, func(path uint32, t int64) { add(path, -t) })
	}
	return waited
}

// sumWaits returns the sum of the waits of call n that count.
func sumWaits(l *history.Location, n int32, ends bool) (waited int64) {
	list := l.Waits(n)
	for i := range list {
		if w := &list[i]; counts(w.Pattern, ends) {
			waited += w.Length
		}
	}
	return waited
}

// clear empties the interval.
func (iv *interval) clear() {
	for _, p := range iv.paths {
		iv.times[p], iv.added[p] = 0, false
	}
	iv.paths, iv.waited = iv.paths[:0], 0
}

// block holds the sums of consecutive calls.
type block struct {
	times  []synclog.PathTime
	waited int64
}

// tree holds blocks of fewCalls calls at level 0, blocks of twice as many calls at level 1, and so on.
// With it, the sums over any number of consecutive calls need few steps.
type tree struct{ levels [][]block }

// newTree returns the tree of a location's calls.
func newTree(h *history.History, l *history.Location, ends bool) *tree {
	x := &interval{}
	x.init(h, ends)
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
	for n := int32(0); n+fewCalls <= l.Count(); n += fewCalls {
		x.addCalls(l, n, n+fewCalls)
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

// visit calls f with blocks of any level that together cover the blocks [from, to) of level 0.
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
