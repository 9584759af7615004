package clocks

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"github.com/weft-trace/weft/internal/numberset"
	"github.com/weft-trace/weft/trace"
)

// maxLength is the length in ticks that a trace must not reach, so that sums of times fit an int64.
const maxLength = 1 << 60

// ErrTimeRange is the error for a trace whose times span 2^60 ticks or more, or are too late to be
// corrected.
var ErrTimeRange = errors.New("clocks: found times that are 2^60 ticks or more apart, " +
	"expected those of clocks that can be compared")

// none is the index that stands for no clock, no node or no pair.
const none = -1

// problem holds the clocks of a trace, and reads their constraints from the log.
type problem struct {
	defs    *trace.Definitions
	latency int64
	origin  int64   // first time of the trace; times of nodes are relative to it
	clockOf []int32 // indexed by location; none for locations that have no clock
	clocks  []clock
	log     *constraintLog
	ignored numberset.Set // numbers of the constraints that no clock can meet
}

// clock is one clock with its locations.
type clock struct {
	locations   []uint32
	first, last int64 // times of the first and last event, relative to the origin
	// number of messages to and from other clocks, and of collective operations in which it takes part
	ties int64
}

// node stands for all events of a clock at the same time, relative to the origin. These events have the same
// corrected time.
type node struct {
	clock int32
	time  int64
}

func compareNodes(a, b node) int {
	return cmp.Or(cmp.Compare(a.clock, b.clock), cmp.Compare(a.time, b.time))
}

// constraint is a message or collective operation. No node in to may be earlier than any node in from. The
// nodes on each side are sorted, and each occurs once.
type constraint struct {
	number   int64
	message  bool
	inside   bool // both sides are on the same clock, so no linear correction can help
	together bool // all members of the operation leave at nearly the same time
	from, to []node
}

// hasManyPairs reports whether an operation has more than fewPairs pairs of a begin and an end. Only some
// pairs of such an operation are added at the start.
func (c *constraint) hasManyPairs() bool {
	return len(c.from)*len(c.to) > fewPairs && len(c.from) > 1 && len(c.to) > 1
}

// keyOf returns a key that is the same for all locations with the same clock.
func keyOf(d *trace.Definitions, level Level, loc uint32) int64 {
	l := d.Locations.At(loc)
	alone := -1 - int64(loc)
	g := l.Group
	if level == LocationClocks || !d.Groups.Has(g) {
		return alone
	}
	x := d.Groups.At(g)
	// A location that is a process may belong to a group of processes.
	below := l.Kind == trace.ProcessLocation && x.Kind != "process"
	switch {
	case level == ProcessClocks && below:
		return alone
	case level == NodeClocks && !below && d.Groups.Has(x.Parent):
		return int64(x.Parent)
	}
	return int64(g)
}

// newProblem returns the clocks of a trace, without constraints that were found to be
// contradictions.
func newProblem(d *trace.Definitions, opt Options, found *collection) (*problem, error) {
	q := &problem{defs: d, latency: opt.Latency, clockOf: make([]int32, len(found.spans)), log: found.log}
	clocks := map[int64]int32{}
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	for loc, s := range found.spans {
		q.clockOf[loc] = none
		if !s.any {
			continue
		}
		first, last = min(first, s.first), max(last, s.last)
		if !found.tied[loc] && !d.Locations.At(uint32(loc)).Kind.IsProcessor() {
			continue
		}
		k := keyOf(d, opt.Level, uint32(loc))
		c, ok := clocks[k]
		if !ok {
			c = int32(len(q.clocks))
			clocks[k] = c
			q.clocks = append(q.clocks, clock{first: s.first, last: s.last})
		}
		q.clockOf[loc] = c
		x := &q.clocks[c]
		x.locations = append(x.locations, uint32(loc))
		x.first, x.last = min(x.first, s.first), max(x.last, s.last)
	}
	if q.log.count == 0 {
		for c := range q.clocks {
			q.clocks[c].first, q.clocks[c].last = 0, 0
		}
		return q, nil
	}
	if uint64(last)-uint64(first) >= maxLength {
		return nil, ErrTimeRange
	}
	q.origin = first
	for c := range q.clocks {
		q.clocks[c].first -= first
		q.clocks[c].last -= first
	}
	return q, nil
}

// each calls f for each constraint. The constraint is valid during the call.
func (q *problem) each(ctx context.Context, f func(c *constraint) error) error {
	var c constraint
	return q.log.each(ctx, func(r *record) error {
		c.number, c.message, c.together = r.number, r.message, r.together
		c.from, c.to = q.appendNodes(c.from[:0], r.begins), q.appendNodes(c.to[:0], r.ends)
		if !c.message {
			c.from, c.to = distinct(c.from), distinct(c.to)
		}
		first := c.from[0].clock
		c.inside = first == c.to[0].clock && first == c.from[len(c.from)-1].clock && first == c.to[len(c.to)-1].clock
		return f(&c)
	})
}

// appendNodes appends the nodes of ends to l.
func (q *problem) appendNodes(l []node, ends []end) []node {
	for _, e := range ends {
		l = append(l, node{q.clockOf[e.loc], e.time - q.origin})
	}
	return l
}

// distinct sorts nodes and removes duplicates.
func distinct(l []node) []node {
	slices.SortFunc(l, compareNodes)
	return slices.Compact(l)
}

// countConstraints counts the constraints of the trace and of each clock, and the violations without a
// correction. It adds the constraints to an estimate. correctable reports whether a correction can
// remove any violation. This is possible only for constraints between different clocks.
func (q *problem) countConstraints(ctx context.Context, r *Result, e *estimate) (correctable bool, err error) {
	at := func(n node) int64 { return n.time }
	return correctable, q.each(ctx, func(c *constraint) error {
		if c.inside && !c.message {
			return nil
		}
		correctable = q.countEarly(&r.Before, c, at) || correctable
		if c.message {
			r.Messages++
		} else {
			r.Collectives++
		}
		if c.inside {
			if c.from[0].time > c.to[0].time {
				r.Contradictions.Messages++
			}
			return nil
		}
		for _, n := range c.from {
			q.clocks[n.clock].ties++
		}
		for _, n := range c.to {
			q.clocks[n.clock].ties++
		}
		e.add(c)
		return nil
	})
}

// countEarly counts a constraint in v if the times from at violate the constraint. It returns whether a
// correction should remove the violation. The result is false for constraints within a clock, and for ignored
// constraints.
func (q *problem) countEarly(v *Violations, c *constraint, at func(node) int64) bool {
	if c.inside && !c.message {
		return false
	}
	latency := q.latency
	if !c.message || c.inside {
		latency = 0
	}
	u, w := c.critical(at)
	early := at(u) + latency - at(w)
	if early <= 0 {
		return false
	}
	if c.message {
		v.Messages++
	} else {
		v.Collectives++
	}
	v.Worst = max(v.Worst, early)
	return !c.inside && !q.ignored.Has(c.number)
}

// critical returns the node of the latest begin and the node of the earliest end, by the times from at.
func (c *constraint) critical(at func(node) int64) (from, to node) {
	from, to = c.from[0], c.to[0]
	if c.message {
		return from, to
	}
	t := at(from)
	for _, n := range c.from[1:] {
		if x := at(n); x > t {
			from, t = n, x
		}
	}
	t = at(to)
	for _, n := range c.to[1:] {
		if x := at(n); x < t {
			to, t = n, x
		}
	}
	return from, to
}
