package causes

import (
	"math"

	"github.com/weft-trace/weft/analysis/internal/history"
	"github.com/weft-trace/weft/analysis/internal/waitstate"
)

// share is the part of the costs of later waits for which an earlier wait is responsible, per tick of the earlier
// wait. The pattern is the pattern of the later waits.
type share struct {
	pattern waitstate.Pattern
	perTick float64
}

// carried holds the shares of the waits of all locations. A share belongs to all waits in a range of calls. The finder
// visits the calls of a location from the last to the first, so carried keeps the sums of the shares at the current
// call of each location, and the changes of these sums at the calls before it.
type carried struct {
	locations []carriedAt // indexed by location
	changes   []change    // nodes of lists
	free      int32       // the first unused node, or 0; node 0 is in no list
	shares    []share     // the result of visit
}

// carriedAt holds the shares at the current call of a location.
type carriedAt struct {
	sums []sum
	// changes holds for a call, by its number, the first node of the list of changes when that call is visited.
	changes map[int32]int32
}

// sum is the sum of the shares of a pattern: value + correction. The correction holds the rounding errors, so that
// large shares leave no trace in the sum of small ones after they have been subtracted again.
type sum struct {
	pattern           waitstate.Pattern
	open              int32 // number of shares in the sum
	value, correction float64
}

// change is the begin or end of a share.
type change struct {
	share
	open int32 // 1, or -1 for the end, of which perTick is negative
	next int32 // the next node of the list, or 0
}

func newCarried(h *history.History) carried {
	return carried{locations: make([]carriedAt, len(h.Locations)), changes: make([]change, 1)}
}

// add adds a share to the waits in the calls [from, to) of a location, which have not been visited.
func (c *carried) add(location uint32, from, to int32, s share) {
	if from >= to {
		return
	}
	l := &c.locations[location]
	if l.changes == nil {
		l.changes = map[int32]int32{}
	}
	c.put(l, to-1, change{share: s, open: 1})
	if from > 0 {
		c.put(l, from-1, change{share: share{s.pattern, -s.perTick}, open: -1})
	}
}

// put adds a change when a call is visited.
func (c *carried) put(l *carriedAt, call int32, x change) {
	x.next = l.changes[call]
	i := c.free
	if i != 0 {
		c.free = c.changes[i].next
		c.changes[i] = x
	} else {
		i = int32(len(c.changes))
		c.changes = append(c.changes, x)
	}
	l.changes[call] = i
}

// rounding is the greatest share that counts as a rounding error.
const rounding = 1e-9

// visit returns the shares of the waits in a call. The result is valid until the next call of visit.
func (c *carried) visit(p waitstate.Place) []share {
	l := &c.locations[p.Location]
	if len(l.changes) > 0 {
		if i, ok := l.changes[p.Number]; ok {
			delete(l.changes, p.Number)
			for i != 0 {
				x := &c.changes[i]
				l.apply(x)
				x.next, c.free, i = c.free, i, x.next
			}
		}
	}
	c.shares = c.shares[:0]
	for i := range l.sums {
		if k := &l.sums[i]; k.open > 0 && k.value+k.correction > rounding {
			c.shares = append(c.shares, share{k.pattern, k.value + k.correction})
		}
	}
	return c.shares
}

// apply adds a change to the sum of its pattern.
func (l *carriedAt) apply(x *change) {
	i := 0
	for i < len(l.sums) && l.sums[i].pattern != x.pattern {
		i++
	}
	if i == len(l.sums) {
		l.sums = append(l.sums, sum{pattern: x.pattern})
	}
	k := &l.sums[i]
	if k.open += x.open; k.open == 0 {
		k.value, k.correction = 0, 0
		return
	}
	// The summation of Kahan and Neumaier.
	t := k.value + x.perTick
	if math.Abs(k.value) >= math.Abs(x.perTick) {
		k.correction += k.value - t + x.perTick
	} else {
		k.correction += x.perTick - t + k.value
	}
	k.value = t
}
