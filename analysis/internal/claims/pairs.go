package claims

import (
	"cmp"
	"maps"
	"slices"

	"github.com/weft-trace/weft/internal/openset"
	"github.com/weft-trace/weft/trace"
)

// Pairs finds the begin of a claim or visit at its end. A claim ends at the location at which it began. Its
// end has the same id and, in formats with a line for each claim, the same line. A visit ends the last open
// visit of its region at its location. Events must be in the order of time.
type Pairs[T any] struct {
	byLine bool
	open   map[pairKey]*openPairs[T]
}

// openPairs holds the open claims or visits with the same key, in the order of their begins.
type openPairs[T any] struct {
	list  []begun[T]
	index openset.Index[int64]
}

// pairKey identifies the open claims or visits among which End searches for a begin.
type pairKey struct {
	Key
	visit bool
}

// begun is a claim or visit that has begun, with the value that the caller has stored for it.
type begun[T any] struct {
	id    int64 // of those with the same key, the end has the same one
	value T
}

// NewPairs returns the pairs of a trace without events.
func NewPairs[T any](d *trace.Definitions) *Pairs[T] {
	return &Pairs[T]{byLine: d.ClaimLines, open: map[pairKey]*openPairs[T]{}}
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
	o := p.open[key]
	if o == nil {
		o = &openPairs[T]{}
		p.open[key] = o
	}
	id := p.id(c, key)
	o.index.Open(id, len(o.list))
	o.list = append(o.list, begun[T]{id, what})
}

// id returns the number that the begin and the end of a claim or visit have in common besides the key.
func (p *Pairs[T]) id(c *trace.Cursor, key pairKey) int64 {
	switch {
	case key.visit:
		return int64(c.Ref())
	case p.byLine:
		return c.Pos()
	}
	return 0
}

// HasOpen reports whether claims or visits are open among which End would search for the begin of an event's
// claim or visit. If there are none, the caller need not store a begin that it does not need itself.
func (p *Pairs[T]) HasOpen(c *trace.Cursor) bool { return p.open[keyOf(c)] != nil }

// End closes the claim or visit that an event ends, and returns the value that was stored at its begin. ok is
// false if there is no open one.
func (p *Pairs[T]) End(c *trace.Cursor) (what T, ok bool) {
	key := keyOf(c)
	o := p.open[key]
	if o == nil {
		return what, false
	}
	id := p.id(c, key)
	i := o.index.Find(id, len(o.list), func(i int) int64 { return o.list[i].id })
	if i < 0 {
		return what, false
	}
	what = o.list[i].value
	if o.list = openset.Close(&o.index, o.list, i, id); len(o.list) == 0 {
		delete(p.open, key)
	}
	return what, true
}

// Each calls f for all open claims and visits, ordered by their locations and ids.
func (p *Pairs[T]) Each(f func(location uint32, what *T)) {
	for _, key := range slices.SortedFunc(maps.Keys(p.open), func(a, b pairKey) int {
		return cmp.Or(cmp.Compare(a.Location, b.Location), cmp.Compare(a.ID, b.ID))
	}) {
		o := p.open[key]
		for i := range o.list {
			if !o.index.Gap(i) {
				f(key.Location, &o.list[i].value)
			}
		}
	}
}
