package trace

import "math"

// Selection says which events are wanted; [Everything] wants all, [Events] all but links.
type Selection struct {
	From, To int64 // ticks, [From, To)
	// Stacks asks for what tells which regions are open at From, too: the events before From,
	// or, of each location, enters of the regions that are open at some time not after From, at
	// the times when they were entered, and the events behind that time.
	Stacks bool
	// Enough, if it is not 0, is a time from which on one event ([Kind.IsEvent]) of each location
	// suffices: which of the others come is not said. It serves those who ask whether a location
	// goes on.
	Enough int64
	// Few says that whoever asks mostly stops after the first events, in the order of time.
	Few bool
	// NoStates says that states ([Kind.IsState]) need not come. A format that keeps them apart
	// does not read them.
	NoStates bool
	// NoEvents asks for links alone.
	NoEvents bool
	// Locations, Kinds and Regions are asked for each candidate; nil means all.
	// They must be safe for concurrent use.
	Location func(loc uint32) bool
	Kind     func(k Kind) bool
	// Region is asked for events whose Ref is a region; events of other kinds
	// are not wanted when it is set.
	Region func(ref uint32) bool
	// Links are the links that are wanted.
	Links LinkSelection
}

// LinkSelection says which links are wanted.
type LinkSelection uint8

// The selections of links.
const (
	NoLinks       LinkSelection = iota
	SelectedLinks               // those of which either end is in the times and at the locations that are wanted
	AllLinks
)

// Everything selects all events and links.
func Everything() Selection {
	return Selection{From: math.MinInt64, To: math.MaxInt64, Links: SelectedLinks}
}

// Events selects all events and no links.
func Events() Selection { return Selection{From: math.MinInt64, To: math.MaxInt64} }

// Following selects, for the locations of s, what tells which regions are open in its window and
// how they go on: stacks, and all events from there to the end of the trace.
func (s *Selection) Following() Selection {
	return Selection{From: s.From, To: math.MaxInt64, Stacks: true, Location: s.Location}
}

// Surrounding selects, for the locations of s, what tells which regions are open in its window and
// whether they go on behind it: stacks, the events of the window, and of each location that has
// more at least one event behind it. States need not come.
func (s *Selection) Surrounding() Selection {
	x := s.Following()
	x.NoStates = true
	if s.To < math.MaxInt64 {
		x.Enough = s.To
	}
	return x
}

// Suffices reports whether the last rows of b, which are in the order of time, hold an event that
// makes the later ones of its location unnecessary.
func (s *Selection) Suffices(b *Batch) bool {
	if s.Enough == 0 {
		return false
	}
	for i := b.Len() - 1; i >= 0 && b.Time[i] >= s.Enough; i-- {
		if b.Kind[i].IsEvent() {
			return true
		}
	}
	return false
}

// All reports whether every event is wanted.
func (s *Selection) All() bool {
	return s.From == math.MinInt64 && s.To == math.MaxInt64 && s.Location == nil && s.Kind == nil && s.Region == nil && !s.NoEvents
}

// Wants reports whether an event is wanted.
func (s *Selection) Wants(d *Definitions, loc uint32, t int64, k Kind, ref uint32) bool {
	if s.NoEvents || t < s.From && !s.Stacks || t >= s.To && s.To != math.MaxInt64 {
		return false
	}
	if s.Location != nil && !s.Location(loc) || s.Kind != nil && !s.Kind(k) {
		return false
	}
	return s.Region == nil || d.Spec(k).Ref == RefRegion && ref != NoRef && s.Region(ref)
}
