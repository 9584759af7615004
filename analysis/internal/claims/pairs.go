package claims

import (
	"maps"
	"math"
	"slices"

	"github.com/weft-trace/weft/internal/openset"
	"github.com/weft-trace/weft/trace"
)

// Pairs finds the begin of a claim or visit at its end. A claim ends at the location at which it began. Its
// end has the same id and, in formats with a line for each claim, the same line. A visit ends the last open
// visit of its region at its location. Events must be in the order of time.
type Pairs[T any] struct {
	byLine bool
	claims Table[openClaims[T]]
	visits map[uint32]*openPairs[T] // by location
}

// openClaims holds the open claims with the same id at a location. Nearly always, this is a single claim.
type openClaims[T any] struct {
	single  begun[T]
	several *openPairs[T] // used instead of single as soon as a second claim is open; nil before
}

// openPairs holds open claims or visits, in the order of their begins.
type openPairs[T any] struct {
	list  []begun[T]
	index openset.Index[int64]
}

// begun is a claim or visit that has begun, with the value that the caller has stored for it.
type begun[T any] struct {
	id    int64 // number that a begin and its end have in common, besides the key of a claim and the location of a visit
	value T
}

// NewPairs returns the pairs of a trace without events.
func NewPairs[T any](d *trace.Definitions) *Pairs[T] {
	return &Pairs[T]{byLine: d.ClaimLines, visits: map[uint32]*openPairs[T]{}}
}

// isVisit reports whether an event begins or ends a visit.
func isVisit(c *trace.Cursor) bool { return c.Kind() == trace.Enter || c.Kind() == trace.Leave }

// keyOf returns the key of the claim that an event begins or ends.
func keyOf(c *trace.Cursor) Key { return Key{int64(c.Op(0)), c.Location()} }

// Begin opens the claim or visit that an event begins.
func (p *Pairs[T]) Begin(c *trace.Cursor, what T) {
	if isVisit(c) {
		o := p.visits[c.Location()]
		if o == nil {
			o = &openPairs[T]{}
			p.visits[c.Location()] = o
		}
		o.begin(begun[T]{int64(c.Ref()), what})
		return
	}
	x := begun[T]{p.claimID(c), what}
	o, found := p.claims.Place(keyOf(c))
	switch {
	case !found:
		*o = openClaims[T]{single: x}
		return
	case o.several == nil:
		o.several = &openPairs[T]{}
		o.several.begin(o.single)
	}
	o.several.begin(x)
}

// claimID returns the number that the begin and the end of a claim have in common besides the key.
func (p *Pairs[T]) claimID(c *trace.Cursor) int64 {
	if p.byLine {
		return c.Pos()
	}
	return 0
}

// begin adds a claim or visit.
func (o *openPairs[T]) begin(x begun[T]) {
	o.index.Open(x.id, len(o.list))
	o.list = append(o.list, x)
}

// end removes the latest claim or visit with the given number, and returns its value. ok is false if there is none.
func (o *openPairs[T]) end(id int64) (what T, ok bool) {
	i := o.index.Find(id, len(o.list), func(i int) int64 { return o.list[i].id })
	if i < 0 {
		return what, false
	}
	what = o.list[i].value
	o.list = openset.Close(&o.index, o.list, i, id)
	return what, true
}

// HasOpen reports whether claims or visits are open among which End would search for the begin of an event's
// claim or visit. If there are none, the caller need not store a begin that it does not need itself.
func (p *Pairs[T]) HasOpen(c *trace.Cursor) bool {
	if isVisit(c) {
		return p.visits[c.Location()] != nil
	}
	return p.claims.Lookup(keyOf(c)) != nil
}

// End closes the claim or visit that an event ends, and returns the value that was stored at its begin. ok is
// false if there is no open one.
func (p *Pairs[T]) End(c *trace.Cursor) (what T, ok bool) {
	if isVisit(c) {
		o := p.visits[c.Location()]
		if o == nil {
			return what, false
		}
		if what, ok = o.end(int64(c.Ref())); len(o.list) == 0 {
			delete(p.visits, c.Location())
		}
		return what, ok
	}
	key := keyOf(c)
	o := p.claims.Lookup(key)
	switch {
	case o == nil, o.several == nil && o.single.id != p.claimID(c):
		return what, false
	case o.several == nil:
		what = o.single.value
		p.claims.Remove(key)
		return what, true
	}
	if what, ok = o.several.end(p.claimID(c)); len(o.several.list) == 0 {
		p.claims.Remove(key)
	}
	return what, ok
}

// Each calls f for all open claims and visits, ordered by their locations and ids. The visits of a location come first.
func (p *Pairs[T]) Each(f func(location uint32, what *T)) {
	each := func(location uint32, o *openPairs[T]) {
		for i := range o.list {
			if !o.index.Gap(i) {
				f(location, &o.list[i].value)
			}
		}
	}
	visits := slices.Sorted(maps.Keys(p.visits))
	visitsUntil := func(location uint32) {
		for ; len(visits) > 0 && visits[0] <= location; visits = visits[1:] {
			each(visits[0], p.visits[visits[0]])
		}
	}
	for _, key := range p.claims.Keys() {
		visitsUntil(key.Location)
		if o := p.claims.Lookup(key); o.several != nil {
			each(key.Location, o.several)
		} else {
			f(key.Location, &o.single.value)
		}
	}
	visitsUntil(math.MaxUint32)
}
