package claims

import (
	"cmp"
	"maps"
	"slices"

	"github.com/weft-trace/weft/trace"
)

// Pairs finds the begin of a claim or visit at its end. A claim ends at the location at which it began. Its
// end has the same id and, in formats with a line for each claim, the same line. A visit ends the last open
// visit of its region at its location. Events must be in the order of time.
type Pairs[T any] struct {
	byLine bool
	open   map[pairKey][]begun[T]
}

// pairKey identifies the open claims or visits among which End searches for a begin.
type pairKey struct {
	Key
	visit bool
}

// begun is a claim or visit that has begun, with the value that the caller has stored for it.
type begun[T any] struct {
	pos  int64
	ref  uint32
	what T
}

// NewPairs returns the pairs of a trace without events.
func NewPairs[T any](d *trace.Definitions) *Pairs[T] {
	return &Pairs[T]{byLine: d.ClaimLines, open: map[pairKey][]begun[T]{}}
}

func keyOf(c *trace.Cursor) pairKey {
	if c.Kind() == trace.Enter || c.Kind() == trace.Leave {
		return pairKey{Key{0, c.Location()}, true}
	}
	return pairKey{Key{int64(c.Op(0)), c.Location()}, false}
}

// Begin opens the claim or visit that an event begins.
func (p *Pairs[T]) Begin(c *trace.Cursor, what T) {
	key := keyOf(c)
	p.open[key] = append(p.open[key], begun[T]{c.Pos(), c.Ref(), what})
}

// HasOpen reports whether claims or visits are open among which End would search for the begin of an event's
// claim or visit. If there are none, the caller need not store a begin that it does not need itself.
func (p *Pairs[T]) HasOpen(c *trace.Cursor) bool { return len(p.open[keyOf(c)]) > 0 }

// End closes the claim or visit that an event ends, and returns the value that was stored at its begin. ok is
// false if there is no open one.
func (p *Pairs[T]) End(c *trace.Cursor) (what T, ok bool) {
	key := keyOf(c)
	list := p.open[key]
	i := len(list) - 1
	for i >= 0 && (key.visit && list[i].ref != c.Ref() || !key.visit && p.byLine && list[i].pos != c.Pos()) {
		i--
	}
	if i < 0 {
		return what, false
	}
	what = list[i].what
	if list = slices.Delete(list, i, i+1); len(list) == 0 {
		delete(p.open, key)
	} else {
		p.open[key] = list
	}
	return what, true
}

// Each calls f for all open claims and visits, ordered by their locations and ids.
func (p *Pairs[T]) Each(f func(location uint32, what *T)) {
	for _, key := range slices.SortedFunc(maps.Keys(p.open), func(a, b pairKey) int {
		return cmp.Or(cmp.Compare(a.Location, b.Location), cmp.Compare(a.ID, b.ID))
	}) {
		list := p.open[key]
		for i := range list {
			f(key.Location, &list[i].what)
		}
	}
}
