// Package spans returns the visits of regions and the claims of resources in a trace as intervals. The package
// is the simplest way to examine a trace, because callers need not match the begins and ends of intervals.
package spans

import (
	"cmp"
	"context"
	"iter"
	"math"
	"slices"

	"github.com/weft-trace/weft/analysis/internal/claims"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/openset"
	"github.com/weft-trace/weft/trace"
)

// Span is a visit of a region, or a claim of a resource.
type Span struct {
	Location uint32 // index into Definitions.Locations
	// Region is the region of a visit, or the activity of a claim, or trace.NoRef if it is unknown.
	// Definitions.RefName(trace.RefRegion, Region) returns its name.
	Region uint32
	// Resource is the claimed resource as index into Definitions.Resources, or trace.NoRef for a
	// visit.
	Resource uint32
	// Parent is the innermost region that was open when a visit began. It is trace.NoRef for an outermost
	// visit and for a claim. Depth is the number of regions that were open when the visit began.
	Parent uint32
	Depth  int
	// Start and End are in ticks of the trace's clock. Open is set for a span without an end in the
	// trace; its End is the time of the last event of its location.
	Start, End int64
	Open       bool
}

// Duration returns the length of the span in ticks, clamped to the greatest int64.
func (s *Span) Duration() int64 {
	if d := s.End - s.Start; d >= 0 {
		return d
	}
	return math.MaxInt64
}

// All returns the spans of the locations that sel selects. A span must overlap the times of sel, and sel must
// select its region. The spans of a location come in the order of their ends. Spans without an end come last.
// The events need not be prepared. Leaves without an enter are ignored. All reads the events once and holds
// the open spans in memory, with 64 bytes for each. An error ends the iteration.
func All(ctx context.Context, events format.Events, sel trace.Selection) iter.Seq2[Span, error] {
	return func(yield func(Span, error) bool) {
		f := follower{defs: events.Defs(), sel: sel}
		ask := sel.Following()
		// read from the begin of the trace, because a span that overlaps the window can begin before the
		// window
		ask.From = math.MinInt64
		for b, err := range format.Batches(ctx, events, ask, format.PerLocation) {
			if err != nil {
				yield(Span{}, err)
				return
			}
			c := b.Cursor()
			for c.Next() {
				s, ok := f.take(&c)
				if ok && !yield(s, nil) {
					return
				}
			}
		}
		for _, s := range f.openSpans() {
			if !yield(s, nil) {
				return
			}
		}
	}
}

// follower keeps the open spans.
type follower struct {
	defs      *trace.Definitions
	sel       trace.Selection
	locations []location
	claims    map[claims.Key]Span // open claims
}

// location holds the open visits of a location, and the time of its last event. The innermost visit is the
// last one.
type location struct {
	stack []Span
	among openset.Index[uint32] // index of the regions of stack
	open  int                   // number of open visits
	last  int64
}

// take processes an event. If the event ends a span that is selected, it returns the span, and ok
// is true.
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
			return f.end(x, c.Time())
		}
	case trace.ClaimBegin:
		resource := trace.NoRef
		if v := c.Op(1); v < uint64(trace.NoRef) {
			resource = uint32(v)
		}
		if f.claims == nil {
			f.claims = map[claims.Key]Span{}
		}
		f.claims[claims.KeyOf(f.defs, c)] = Span{Location: c.Location(), Region: c.Ref(), Resource: resource,
			Parent: trace.NoRef, Start: c.Time()}
	case trace.ClaimEnd:
		k := claims.KeyOf(f.defs, c)
		if x, begun := f.claims[k]; begun {
			delete(f.claims, k)
			return f.end(x, c.Time())
		}
	}
	return s, false
}

// end returns the span s with its end at time t. ok is false if the span is not selected.
func (f *follower) end(s Span, t int64) (Span, bool) {
	s.End = t
	wanted := s.Start < f.sel.To && (s.End >= f.sel.From || s.Start >= f.sel.From)
	if f.sel.Region != nil {
		wanted = wanted && s.Region != trace.NoRef && f.sel.Region(s.Region)
	}
	return s, wanted
}

// openSpans returns the spans without an end, sorted by location, start and depth.
func (f *follower) openSpans() (list []Span) {
	add := func(s Span, last int64) {
		s, ok := f.end(s, last)
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
