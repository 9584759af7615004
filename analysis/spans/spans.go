// Package spans returns the visits of regions and the claims of resources of a trace as intervals.
// It is the simplest way to analyse a trace.
package spans

import (
	"cmp"
	"context"
	"iter"
	"math"
	"slices"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/openset"
	"github.com/weft-trace/weft/trace"
)

// Span is a visit of a region, or a claim of a resource.
type Span struct {
	Location uint32 // index into Definitions.Locations
	// Region is the visited region, or the activity that claims, or trace.NoRef.
	// Definitions.RefName(trace.RefRegion, Region) returns its name.
	Region uint32
	// Resource is the claimed resource, an index into Definitions.Resources, or trace.NoRef for
	// visits.
	Resource uint32
	// Parent is the region that encloses a visit, or trace.NoRef for an outermost visit and for
	// claims. Depth is the number of enclosing regions.
	Parent uint32
	Depth  int
	// Start and End are in ticks of the trace's clock. A span that never ends has Open set, and ends
	// at the last event of its location.
	Start, End int64
	Open       bool
}

// Duration returns the length in ticks, clamped to the greatest int64.
func (s *Span) Duration() int64 {
	if d := s.End - s.Start; d >= 0 {
		return d
	}
	return math.MaxInt64
}

// All returns the spans of the locations that sel selects, limited to those that overlap its times
// and whose region it selects. At each location the spans come in the order of their ends, and
// those that never end come last. The events need not be prepared. Leaves without an enter give no
// span. All reads the events once and holds the open spans, 64 bytes each. An error ends the
// iteration.
func All(ctx context.Context, events format.Events, sel trace.Selection) iter.Seq2[Span, error] {
	return func(yield func(Span, error) bool) {
		f := follower{sel: sel}
		ask := sel.Following()
		ask.From = math.MinInt64 // a span begins at its enter, not at the window
		for b, err := range format.Batches(ctx, events, ask, format.PerLocation) {
			if err != nil {
				yield(Span{}, err)
				return
			}
			for c := b.Cursor(); c.Next(); {
				s, ok := f.take(&c)
				if ok && !yield(s, nil) {
					return
				}
			}
		}
		for _, s := range f.open() {
			if !yield(s, nil) {
				return
			}
		}
	}
}

// follower tracks the open spans.
type follower struct {
	sel       trace.Selection
	locations []location
	claims    map[int64]Span
}

// location has the open spans of a location, innermost last, and the time of its last event.
type location struct {
	stack []Span
	among openset.Index[uint32] // the regions of stack
	open  int                   // number of open ones
	last  int64
}

// take processes an event and returns the span that it ends.
func (f *follower) take(c *trace.Cursor) (s Span, ok bool) {
	at := int(c.Location())
	for at >= len(f.locations) {
		f.locations = append(f.locations, location{})
	}
	l := &f.locations[at]
	l.last = c.Time()
	switch c.Kind() {
	case trace.Enter:
		s = Span{Location: c.Location(), Region: c.Ref(), Resource: trace.NoRef, Parent: trace.NoRef, Depth: l.open,
			Start: c.Time()}
		if n := len(l.stack); n > 0 {
			s.Parent = l.stack[n-1].Region
		}
		l.among.Open(s.Region, len(l.stack))
		l.stack = append(l.stack, s)
		l.open++
		return s, false
	case trace.Leave:
		if i := l.among.Find(c.Ref(), len(l.stack), func(i int) uint32 { return l.stack[i].Region }); i >= 0 {
			x := l.stack[i]
			l.stack = openset.Close(&l.among, l.stack, i, x.Region)
			l.open--
			return f.ended(x, c.Time())
		}
	case trace.ClaimBegin:
		resource := trace.NoRef
		if v := c.Op(1); v < uint64(trace.NoRef) {
			resource = uint32(v)
		}
		if f.claims == nil {
			f.claims = map[int64]Span{}
		}
		f.claims[int64(c.Op(0))] = Span{Location: c.Location(), Region: c.Ref(), Resource: resource, Parent: trace.NoRef,
			Start: c.Time()}
	case trace.ClaimEnd:
		id := int64(c.Op(0))
		if x, begun := f.claims[id]; begun {
			delete(f.claims, id)
			return f.ended(x, c.Time())
		}
	}
	return s, false
}

// ended ends a span. ok is false if it is not selected.
func (f *follower) ended(s Span, t int64) (Span, bool) {
	s.End = t
	wanted := s.Start < f.sel.To && (s.End >= f.sel.From || s.Start >= f.sel.From)
	if f.sel.Region != nil {
		wanted = wanted && s.Region != trace.NoRef && f.sel.Region(s.Region)
	}
	return s, wanted
}

// open ends and returns the spans that are still open.
func (f *follower) open() (list []Span) {
	add := func(s Span, last int64) {
		s, ok := f.ended(s, last)
		if s.Open = true; ok {
			list = append(list, s)
		}
	}
	for _, l := range f.locations {
		for i, s := range l.stack {
			if !l.among.Gap(i) {
				add(s, l.last)
			}
		}
	}
	for _, s := range f.claims {
		add(s, f.locations[s.Location].last)
	}
	slices.SortStableFunc(list, func(a, b Span) int {
		return cmp.Or(cmp.Compare(a.Location, b.Location), cmp.Compare(a.Start, b.Start), cmp.Compare(a.Depth, b.Depth),
			cmp.Compare(a.Region, b.Region))
	})
	return list
}
