package format

import (
	"context"

	"github.com/weft-trace/weft/trace"
)

// TraceFile is one of the files that a trace consists of.
type TraceFile struct {
	Path string // as a user would write it
	Size int64  // bytes in the file system
}

// DefinitionRecords counts the definition records of one type.
type DefinitionRecords struct {
	Type  string // the format's own name of the type
	Count int64
	// Names holds the names of the entries, if trace.Definitions has no table for them.
	Names []trace.Named
	// Moved is the number of records whose position among the events is not in [trace.Definitions].
	Moved int64
	// Dropped is the number of records that were left out of [trace.Definitions] to save memory.
	Dropped int64
	// Pairs is the number of key-value pairs of the records that [trace.Definitions] does not have.
	Pairs int64
}

// Summary holds sums over all events of a trace. The trace itself stores them, so they need no scan.
// Times are in ticks of the trace's clock.
type Summary struct {
	Kinds     []KindSummary     // in the order of kinds
	Locations []LocationSummary // locations with events, in the order of the definitions
	Regions   []RegionSummary   // visited regions, in the order of the definitions
	// Changed is set if a transform has changed the times of the events but not the times in the summary.
	Changed bool
}

// KindSummary counts the events of a kind.
type KindSummary struct {
	Kind   trace.Kind
	Events int64
}

// LocationSummary holds the number of events of a location, and the times of the first and the last
// one.
type LocationSummary struct {
	Location    uint32
	Events      int64
	First, Last int64
}

// RegionSummary holds sums over the visits of a region. Inclusive is the time of the visits that are
// not inside of another visit of the region, and Sum is the time of all visits. Nested is the part of
// Inclusive inside of visits of other regions of the same row ([trace.Rows]). Each time, and Inclusive
// without Nested, may be too small by up to Missing ticks.
type RegionSummary struct {
	Region               uint32
	Count                int64 // number of visits
	Inclusive, Exclusive int64
	Sum                  int64
	Nested               int64
	Min, Max             int64 // shortest and longest visit
	Missing              int64
}

// Preview holds sums over the first part of a trace, which is usually nearly all of it. The trace
// itself stores them. Times are in ticks of the trace's clock.
type Preview struct {
	To        int64          // the sums cover times before To
	Regions   []RegionSums   // visited regions, in the order of the definitions
	Locations []LocationSums // in the order of the definitions
}

// RegionSums holds sums over the visits of a region. Unlike RegionSummary.Inclusive, the field Inclusive here
// includes visits inside of another visit of the region.
type RegionSums struct {
	Region               uint32
	Count                int64
	Inclusive, Exclusive int64
}

// LocationSums holds the numbers of visits that began at a location, and of messages that it sent and
// received.
type LocationSums struct {
	Location              uint32
	Count, Sent, Received int64
}

// Overview lists what a trace consists of.
type Overview struct {
	// Files are the files that the reader reads, the main file first. Nil means only the main file.
	Files []TraceFile
	// Definitions counts the definition records by type. It is nil if the format has no definition
	// records.
	Definitions []DefinitionRecords
	// Respelled is the number of records whose spelling differs from the one in which an encoder writes
	// the same values. For records of events, it is the number of the last scan.
	Respelled int64
	// Unread is the number of lines of events and links in the last scan that could not be read.
	Unread int64
	// Damaged is the number of records in the last scan that events do not keep in full. Such a record has a
	// defect, or contains data that its own description of the data says to skip.
	Damaged int64
	// Recoded is the number of records whose text is not UTF-8. The definitions hold the text converted to
	// UTF-8.
	Recoded int64
	// Rounded is the number of time stamps in the last scan that were rounded to a tick.
	Rounded int64
	// Snapshots and Thumbnails are the numbers of snapshots and thumbnails that are not among the events, because
	// they only repeat data of the events.
	Snapshots, Thumbnails int64
}

// LostText adds to l the texts of records that definitions and events do not keep. how is the fidelity of
// lines that cannot be read.
func (o *Overview) LostText(l *Loss, how Fidelity) {
	l.Add("record", "spelling", Degraded, "values are kept, but not the spelling in the file", o.Respelled)
	l.Add("line", "", how, "cannot be read", o.Unread)
	l.Add("record", "text", Degraded, "text in records apart from the values is not kept", o.Damaged)
	l.Add("text", "encoding", Degraded, "not UTF-8 in the file; read as Latin-1 and written as UTF-8", o.Recoded)
	l.Add("time", "", Degraded, "has too many digits; rounded to a tick", o.Rounded)
}

// LostDefinitions adds to l the definitions of trace f that an encoded trace lacks: names for which
// [trace.Definitions] has no table, positions, spellings, and records that were left out to save memory.
// written holds the definitions of the encoded trace, and to is the name of its format.
func LostDefinitions(ctx context.Context, f File, written *trace.Definitions, to string, l *Loss) error {
	o, err := f.Overview(ctx)
	if o == nil {
		return err
	}
	if written.Encoding == trace.Latin1 && to == written.Origin {
		o.Recoded = 0 // the encoder writes the text in Latin-1 again
	}
	how := Lost
	if written.Repaired {
		how = Degraded // a repair leaves such text out on purpose
	}
	o.LostText(l, how)
	l.Add("snapshot", "", Recomputed, "repeats what the events hold", o.Snapshots)
	l.Add("thumbnail", "", Recomputed, "repeats what the events hold", o.Thumbnails)
	for _, x := range o.Definitions {
		l.Add(x.Type, "", Lost, "left out to limit the use of memory", x.Dropped)
		l.Add(x.Type, "order", Degraded, "moved to the beginning of the file", x.Moved)
		l.Add(x.Type, "key-value pairs", Lost, "other formats have no attributes of such definitions", x.Pairs)
	}
	return err
}
