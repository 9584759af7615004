package trace

import "math"

// Selection selects events of a trace. [Everything] selects all, [Events] all but links.
type Selection struct {
	From, To int64 // ticks, [From, To)
	// Stacks also requests the events that determine which regions are open at From. These are the
	// events before From, or, for each location, enters of the regions that are open at some time not
	// after From, with their original times, and the events after that time.
	Stacks bool
	// Enough, if it is not 0, is a time from which on one event ([Kind.IsEvent]) of each location
	// suffices. Which of the others are delivered is unspecified. It serves callers that need to know
	// only whether a location has later events.
	Enough int64
	// Few reports that the caller usually stops after the first events in time order.
	Few bool
	// Again reports that the caller scans the same locations again, so that a format may keep what it
	// would otherwise have to read twice.
	Again bool
	// NoStates reports that states ([Kind.IsState]) are not needed. A format that stores them
	// separately does not read them.
	NoStates bool
	// NoEvents selects links only.
	NoEvents bool
	// Location and Kind are called for each candidate; nil selects all. The functions must be safe for
	// concurrent use.
	Location func(loc uint32) bool
	Kind     func(k Kind) bool
	// Region is called for events whose Ref is a region, and must be safe for concurrent use. If it is
	// set, events of other kinds are not selected.
	Region func(ref uint32) bool
	// Links selects links.
	Links LinkSelection
}

// LinkSelection selects links.
type LinkSelection uint8

// The selections of links.
const (
	NoLinks       LinkSelection = iota
	SelectedLinks               // links of which either end is at a selected time and location
	AllLinks
)

// Everything selects all events and links.
func Everything() Selection {
	return Selection{From: math.MinInt64, To: math.MaxInt64, Links: SelectedLinks}
}

// Events selects all events and no links.
func Events() Selection { return Selection{From: math.MinInt64, To: math.MaxInt64} }

// Following returns a selection, for the locations of s, of all that determines which regions are
// open in the window of s and how they continue: stacks, and all events from there to the end of
// the trace.
func (s *Selection) Following() Selection {
	return Selection{From: s.From, To: math.MaxInt64, Stacks: true, Location: s.Location}
}

// Surrounding returns a selection, for the locations of s, of all that determines which regions are
// open in the window of s and whether they continue after it: stacks, the events of the window, and
// at least one event after the window of each location that has one. States are not needed.
func (s *Selection) Surrounding() Selection {
	x := s.Following()
	x.NoStates = true
	if s.To < math.MaxInt64 {
		x.Enough = s.To
	}
	return x
}

// ReachesEnough reports whether the rows of b, which must be in time order, contain an event that makes
// later events of its location unnecessary (see Enough).
func (s *Selection) ReachesEnough(b *Batch) bool {
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

// All reports whether every event is selected.
func (s *Selection) All() bool {
	return s.From == math.MinInt64 && s.To == math.MaxInt64 && s.Location == nil && s.Kind == nil && s.Region == nil &&
		!s.NoEvents
}

// Wants reports whether an event is selected.
func (s *Selection) Wants(d *Definitions, loc uint32, t int64, k Kind, ref uint32) bool {
	if s.NoEvents || t < s.From && !s.Stacks || !Before(t, s.To) {
		return false
	}
	if s.Location != nil && !s.Location(loc) || s.Kind != nil && !s.Kind(k) {
		return false
	}
	return s.Region == nil || d.Spec(k).Ref == RefRegion && ref != NoRef && s.Region(ref)
}
