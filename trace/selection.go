package trace

import "math"

// Selection selects the events of a trace that a scan delivers. [Everything] selects all of them, and
// [Events] all except links.
type Selection struct {
	From, To int64 // times in ticks; To is exclusive
	// Stacks also selects the events that determine which regions are open at From. For each location,
	// these are all events before From. Alternatively, a format may deliver enters for the regions that
	// are open at some time at or before From, with their original times, and all later events.
	Stacks bool
	// LocationBegins also requires, with Stacks, an event of each location that has events before From, at the time
	// of the first of them. A format that leaves out these events delivers NoOp and Comment there.
	LocationBegins bool
	// OneEventFrom is a time from which on a scan needs only one event ([Kind.IsActivity]) of each
	// location, or 0. The format may leave out all events after that one. Callers use it to find out
	// whether a location has later events.
	OneEventFrom int64
	// FirstEvents is set if the caller usually ends the scan after the first events in time order.
	FirstEvents bool
	// Repeated is set if the caller scans the same locations several times. A format may then keep
	// data that it would have to read again.
	Repeated bool
	// NoStates is set if states ([Kind.IsState]) are not needed. A format that stores them
	// separately does not read them then.
	NoStates bool
	// NoEvents is set if only links are selected.
	NoEvents bool
	// Location and Kind report whether a location or kind is selected; nil selects all. They must
	// be safe for concurrent use.
	Location func(loc uint32) bool
	Kind     func(k Kind) bool
	// Region reports whether events whose Ref is a region are selected. It must be safe for
	// concurrent use. If it is not nil, events without a region are not selected.
	Region func(ref uint32) bool
	// Attribute reports whether attributes with a name are needed; nil asks for all. A format may leave out the
	// other attributes of events, and may also deliver them. It must be safe for concurrent use.
	Attribute func(name string) bool
	// NoRegions is set if the regions of claims and marks are not needed, and Region is nil. A format that finds these
	// regions by their names may then deliver NoRef instead.
	NoRegions bool
	// Links chooses which links a scan delivers.
	Links LinkSelection
}

// LinkSelection is a choice of links.
type LinkSelection uint8

// These values choose which links a scan delivers.
const (
	NoLinks       LinkSelection = iota
	SelectedLinks               // links with at least one end at a selected time and location
	AllLinks
)

// Everything selects all events and links.
func Everything() Selection {
	return Selection{From: math.MinInt64, To: math.MaxInt64, Links: SelectedLinks}
}

// Events selects all events and no links.
func Events() Selection { return Selection{From: math.MinInt64, To: math.MaxInt64} }

// NoAttributes is a [Selection.Attribute] for callers that need no attributes.
func NoAttributes(string) bool { return false }

// Following returns a selection of the events at the locations of s that determine which regions are
// open in the window of s, and how these continue. It consists of the events that Stacks selects, and
// all later events up to the end of the trace.
func (s *Selection) Following() Selection {
	return Selection{From: s.From, To: math.MaxInt64, Stacks: true, LocationBegins: s.LocationBegins, Location: s.Location,
		Attribute: s.Attribute}
}

// Surrounding returns a selection of the events at the locations of s that determine which regions are
// open in the window of s, and whether they are still open after it. It consists of the events that
// Stacks selects, the events in the window, and at least one later event of each location that has one.
// It does not select states.
func (s *Selection) Surrounding() Selection {
	x := s.Following()
	x.NoStates = true
	if s.To < math.MaxInt64 {
		x.OneEventFrom = s.To
	}
	return x
}

// ReachesOneEvent reports whether the rows of b contain the event that OneEventFrom asks for, so that
// later events of the location are not needed. The rows must be in time order.
func (s *Selection) ReachesOneEvent(b *Batch) bool {
	if s.OneEventFrom == 0 {
		return false
	}
	for i := b.Len() - 1; i >= 0 && b.Time[i] >= s.OneEventFrom; i-- {
		if b.Kind[i].IsActivity() {
			return true
		}
	}
	return false
}

// All reports whether the selection contains all events.
func (s *Selection) All() bool {
	return s.From == math.MinInt64 && s.To == math.MaxInt64 && s.Location == nil && s.Kind == nil && s.Region == nil &&
		!s.NoEvents
}

// Wants reports whether the selection contains an event.
func (s *Selection) Wants(d *Definitions, loc uint32, t int64, k Kind, ref uint32) bool {
	if s.NoEvents || t < s.From && !s.Stacks || !Before(t, s.To) {
		return false
	}
	if s.Location != nil && !s.Location(loc) || s.Kind != nil && !s.Kind(k) {
		return false
	}
	return s.Region == nil || d.Spec(k).Ref == RefRegion && ref != NoRef && s.Region(ref)
}
