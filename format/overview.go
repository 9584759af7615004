package format

import (
	"context"

	"github.com/weft-trace/weft/trace"
)

// TraceFile is one of the files that a trace consists of.
type TraceFile struct {
	Path string // as the user would write it
	Size int64  // bytes, as stored
}

// DefinitionRecords are the records that define one sort of thing.
type DefinitionRecords struct {
	Type  string // the format's own name for them
	Count int64
	// Names are what they define, where trace.Definitions has no table for it.
	Names []trace.Named
	// Moved is how many of them have a place among the events that [trace.Definitions] does not tell.
	Moved int64
	// Dropped is how many of them [trace.Definitions] has not, since they would take too much memory.
	Dropped int64
	// Alone is that nothing in trace.Definitions bears these names.
	Alone bool
}

// Summary is what a trace comes to, without a look at its events. Times are ticks of its
// clock.
type Summary struct {
	Kinds     []KindSummary     // in the order of kinds
	Locations []LocationSummary // that have events, in the order of the definitions
	Regions   []RegionSummary   // that are visited, in the order of the definitions
	// Changed is that the times of the events are not what they were, as these are.
	Changed bool
}

// KindSummary counts the events of a kind.
type KindSummary struct {
	Kind   trace.Kind
	Events int64
}

// LocationSummary says how many events a location has, and when the first and the last
// were.
type LocationSummary struct {
	Location    uint32
	Events      int64
	First, Last int64
}

// RegionSummary is a region. Inclusive times are those of visits that are not inside of other visits of the region,
// Sum those of all. The sums of times may be too small, each by Missing at most.
type RegionSummary struct {
	Region               uint32
	Count                int64 // visits
	Inclusive, Exclusive int64
	Sum                  int64
	Min, Max             int64 // the shortest and the longest visit
	Missing              int64
}

// Preview is what a trace tells of its begin, most often of nearly all of it, without a
// look at its events. Times are ticks of its clock.
type Preview struct {
	To        int64          // what is earlier is in the sums
	Regions   []RegionSums   // that are visited, in the order of the definitions
	Locations []LocationSums // in the order of the definitions
}

// RegionSums adds up the visits of a region. The inclusive times of those inside of each
// other are all in the sum.
type RegionSums struct {
	Region               uint32
	Count                int64
	Inclusive, Exclusive int64
}

// LocationSums says how many visits a location has begun, and how many messages it has sent
// and received.
type LocationSums struct {
	Location              uint32
	Count, Sent, Received int64
}

// Overview lists what a trace consists of.
type Overview struct {
	// Files are the files that are read, the main file first; nil for the main file alone.
	Files []TraceFile
	// Definitions counts the records that define, by type; nil where definitions are no records
	// of their own.
	Definitions []DefinitionRecords
	// Spelled is how many records the last scan found whose form neither [trace.Definitions] nor the
	// events tell.
	Spelled int64
	// Unread is how many lines of events and links the last scan found that cannot be read.
	Unread int64
	// Damaged is how many records with defects the last scan found whose events, if they have any, do
	// not tell all that stands there.
	Damaged int64
	// Rounded is how many times the last scan found that have more digits than the clock.
	Rounded int64
}

// LostDefinitions counts what a trace defines and a trace that was encoded has not: names
// that [trace.Definitions] has no place for, places, spelling, and what it had no room for.
func LostDefinitions(ctx context.Context, f File, l *Loss) error {
	o, err := f.Overview(ctx)
	if o == nil {
		return err
	}
	l.Add("record", "spelling", Degraded, "values stay; on the way back the form of the data is chosen anew", o.Spelled)
	l.Add("line", "", Lost, "cannot be read", o.Unread)
	l.Add("record", "text", Degraded, "what records with defects say beside their values is gone", o.Damaged)
	l.Add("time", "", Degraded, "has more digits than fit and is rounded", o.Rounded)
	for _, x := range o.Definitions {
		l.Add(x.Type, "", Lost, "there are too many", x.Dropped)
		l.Add(x.Type, "order", Degraded, "stands before all other lines", x.Moved)
		if !x.Alone {
			continue
		}
		l.Add(x.Type, "name", Degraded, "has no place in other formats; what refers to it keeps its number", int64(len(x.Names)))
	}
	return err
}
