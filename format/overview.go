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
	// Names has the names of the entries if trace.Definitions has no table for them.
	Names []trace.Named
	// Moved is the number of records whose position among the events is not in [trace.Definitions].
	Moved int64
	// Dropped is the number of records that were left out of [trace.Definitions] to save memory.
	Dropped int64
	// Alone is set if only Names has the entries, and no table of trace.Definitions has them.
	Alone bool
}

// Summary has sums over all events of a trace that are stored in the trace, and need no scan. Times
// are in ticks of the trace's clock.
type Summary struct {
	Kinds     []KindSummary     // in the order of kinds
	Locations []LocationSummary // with events, in the order of the definitions
	Regions   []RegionSummary   // visited ones, in the order of the definitions
	// Changed is set if a transform has changed the times of the events but not those of the
	// summary.
	Changed bool
}

// KindSummary counts the events of a kind.
type KindSummary struct {
	Kind   trace.Kind
	Events int64
}

// LocationSummary has the number of events of a location, and the times of the first and the last
// one.
type LocationSummary struct {
	Location    uint32
	Events      int64
	First, Last int64
}

// RegionSummary sums the visits of a region. Inclusive is the time of visits that are not inside
// another visit of the region, and Sum that of all visits. Each sum of times can be too small by up
// to Missing ticks.
type RegionSummary struct {
	Region               uint32
	Count                int64 // visits
	Inclusive, Exclusive int64
	Sum                  int64
	Min, Max             int64 // shortest and longest visit
	Missing              int64
}

// Preview has sums over the first part of a trace, usually nearly all of it, that are stored in the
// trace. Times are in ticks of the trace's clock.
type Preview struct {
	To        int64          // the sums cover times before To
	Regions   []RegionSums   // visited ones, in the order of the definitions
	Locations []LocationSums // in the order of the definitions
}

// RegionSums sums the visits of a region. Unlike in RegionSummary, Inclusive includes visits inside
// another visit of the region.
type RegionSums struct {
	Region               uint32
	Count                int64
	Inclusive, Exclusive int64
}

// LocationSums has the numbers of visits that a location began, and of messages that it sent and
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
	// Spelled is the number of records whose form of spelling is lost in [trace.Definitions] and in
	// events. It counts records of events in the last scan.
	Spelled int64
	// Unread is the number of unreadable lines of events and links in the last scan.
	Unread int64
	// Damaged is the number of records in the last scan that events do not keep in full, because
	// they have defects, or data that their control string skips.
	Damaged int64
	// Recoded is the number of records whose text is not UTF-8; the definitions have it as UTF-8.
	Recoded int64
	// Rounded is the number of times in the last scan that have more digits than a tick.
	Rounded int64
}

// LostText counts in l the texts of records that definitions and events do not keep. Parameter how
// says what happens to lines that cannot be read.
func (o *Overview) LostText(l *Loss, how Fidelity) {
	l.Add("record", "spelling", Degraded, "values stay; on the way back the form of the data is chosen anew", o.Spelled)
	l.Add("line", "", how, "cannot be read", o.Unread)
	l.Add("record", "text", Degraded, "what records say beside their values is gone", o.Damaged)
	l.Add("text", "encoding", Degraded, "is not UTF-8 in the file; names are read as Latin-1 and become UTF-8", o.Recoded)
	l.Add("time", "", Degraded, "has more digits than fit and is rounded", o.Rounded)
}

// LostDefinitions counts in l the definitions of trace f that an encoded trace lacks: names for
// which [trace.Definitions] has no table, positions, spellings, and records that were left out to
// save memory. The encoded trace has the definitions written, and the format with the name to.
func LostDefinitions(ctx context.Context, f File, written *trace.Definitions, to string, l *Loss) error {
	o, err := f.Overview(ctx)
	if o == nil {
		return err
	}
	if written.Encoding == trace.Latin1 && to == written.Origin {
		o.Recoded = 0 // the encoder writes Latin-1 again
	}
	how := Lost
	if written.Mended {
		how = Degraded // repairing leaves it out on purpose
	}
	o.LostText(l, how)
	for _, x := range o.Definitions {
		l.Add(x.Type, "", Lost, "there are too many", x.Dropped)
		l.Add(x.Type, "order", Degraded, "stands before all other lines", x.Moved)
		if !x.Alone {
			continue
		}
		l.Add(x.Type, "name", Degraded, "has no place in other formats; what refers to it keeps its number",
			int64(len(x.Names)))
	}
	return err
}
