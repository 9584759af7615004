package trace

import "math"

// Selection says which events are wanted. The zero Selection of
// [Everything] wants all. A decoder may deliver more than asked for, never
// less; format.Trim cuts exactly.
type Selection struct {
	From, To int64 // ticks, [From, To)
	// Locations, Kinds and Regions are asked for each candidate; nil means all.
	// They must be safe for concurrent use.
	Location func(loc uint32) bool
	Kind     func(k Kind) bool
	// Region is asked for events whose Ref is a region; events of other kinds
	// are not wanted when it is set.
	Region func(ref uint32) bool
	// Links asks for links too. A link is selected if either end is.
	Links bool
}

// Everything selects all events and links.
func Everything() Selection {
	return Selection{From: math.MinInt64, To: math.MaxInt64, Links: true}
}

// All reports whether every event is wanted.
func (s *Selection) All() bool {
	return s.From == math.MinInt64 && s.To == math.MaxInt64 && s.Location == nil && s.Kind == nil && s.Region == nil
}

// Wants reports whether an event is wanted.
func (s *Selection) Wants(d *Definitions, loc uint32, t int64, k Kind, ref uint32) bool {
	if t < s.From || t >= s.To && s.To != math.MaxInt64 {
		return false
	}
	if s.Location != nil && !s.Location(loc) || s.Kind != nil && !s.Kind(k) {
		return false
	}
	return s.Region == nil || d.Spec(k).Ref == RefRegion && ref != NoRef && s.Region(ref)
}
