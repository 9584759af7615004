package format

import "github.com/weft-trace/weft/trace"

// Keep says how a format keeps something of the model.
type Keep string

// The ways, from best to worst.
const (
	Exact      Keep = "exact"      // has a record of its own
	Kept       Keep = "kept"       // in attributes or texts, restored when weft reads it back
	Substitute Keep = "degraded"   // represented by something else: the meaning stays, the identity is lost
	Recomputed Keep = "recomputed" // not written; follows from the events
	Lost       Keep = "dropped"    // cannot be kept
)

// Mapped says what becomes of something in one format.
type Mapped struct {
	Keep Keep
	As   string // the record or place, for people
}

// MappingRow is one row of the mapping table: something of the model and what
// becomes of it in each format, by the format's name.
type MappingRow struct {
	What  string       // for people
	Kinds []trace.Kind // the kinds of events that the row is about; none for definitions
	By    map[string]Mapped
}

func by(etf, picl, otf, pallas, otf2 Mapped) map[string]Mapped {
	return map[string]Mapped{"etf": etf, "picl": picl, "otf": otf, "pallas": pallas, "otf2": otf2}
}

func exact(as string) Mapped { return Mapped{Exact, as} }
func kept(as string) Mapped  { return Mapped{Kept, as} }

// Mapping is the table of what becomes of what. Documents and the conformance
// suite follow from it, and encoders take the reasons of their losses from it.
var Mapping = []MappingRow{
	{"clock: ticks per second", nil, by(exact("TU and decimals; rounded to 1 ns where a tick has no finite decimals"), exact("seconds with the decimals needed; rounded to 1 ns where a tick has no finite decimals"), exact("DefTimerResolution"), exact("nanoseconds; ticks that are no whole ones stay as they are, which is counted"), exact("ClockProperties; ticks that are no parts of a second kept in properties"))},
	{"clock: wall-clock start", nil, by(exact("O in ms; finer ones kept in a T attribute"), kept("event message before the first event"), kept("comment"), kept("metadata"), exact("ClockProperties"))},
	{"trace properties", nil, by(exact("T attributes"), kept("event message"), kept("definition comment"), kept("metadata"), kept("properties"))},
	{"location, its name and group", nil, by(kept("R line a location and T attributes"), exact("(processor, process) with a label; groups kept in an event message"), exact("DefProcess"), exact("Location, LocationGroup; the rest in metadata"), exact("Location, LocationGroup, SystemTreeNode; the rest in properties"))},
	{"region, group, source place", nil, by(kept("claim attribute name, group; all of it in T attributes"), exact("event type ≥ 0 with a label; the rest kept in an event message"), exact("DefFunction, DefFunctionGroup, DefScl"), kept("Region; the rest in metadata"), exact("Region; the rest in properties"))},
	{"resource", nil, by(exact("R"), kept("event message"), kept("definition comment"), kept("metadata"), kept("properties"))},
	{"signal, series, counter definition", nil, by(exact("S, TS, TSS; counters kept in T attributes"), kept("event message"), exact("DefCounter"), kept("metadata"), exact("MetricMember, MetricClass"))},
	{"communicator, set", nil, by(kept("T attribute"), exact("subset records for PICL's own; others kept in event messages"), exact("DefProcessGroup"), kept("Comm over all threads; the rest in metadata"), kept("Comm and Group; over all locations where the members are not known; the rest in properties"))},
	{"other definitions", nil, by(kept("T attribute"), kept("event message"), kept("key-values"), kept("metadata"), kept("properties"))},
	{"opaque definition of another format", nil, by(kept("T attribute, up to 4 KiB"), kept("event message, up to 4 KiB"), kept("definition comment, up to 4 KiB"), kept("metadata, up to 4 KiB"), kept("property, up to 4 KiB"))},
	{"attribute of an event", nil, by(exact("attribute; other types than text kept by a suffix of the key"), exact("data field; others kept in character data"), exact("key-value"), kept("text in an attribute of the event"), exact("attribute list; types that OTF2 has not kept as text"))},
	{"enter and leave", []trace.Kind{trace.Enter, trace.Leave}, by(kept("claim of 1 on the location's resource, with its depth; unmatched ones are E lines"), exact("-3 and -4"), exact("Enter, Leave"), exact("ENTER, LEAVE"), exact("Enter, Leave"))},
	{"leave that does not close the innermost region", nil, by(exact("claim: claims need not nest"), exact("-3 and -4"), exact("Leave"), kept("GENERIC with an attribute"), exact("Leave"))},
	{"mark", []trace.Kind{trace.Mark}, by(exact("E"), exact("-2"), kept("EventComment with a key-value"), kept("GENERIC with an attribute"), kept("ParameterString with an attribute"))},
	{"comment", []trace.Kind{trace.Comment}, by(kept("E with attributes"), exact("-7 of PICL's own; others kept as user records"), exact("EventComment"), kept("GENERIC with an attribute"), kept("ParameterString with an attribute"))},
	{"claim", []trace.Kind{trace.ClaimBegin, trace.ClaimEnd}, by(exact("C"), kept("-3 and -4 with character data under a label"), kept("visit on a lane of the resource, with a key-value"), kept("GENERIC with an attribute"), kept("ParameterString with an attribute"))},
	{"signal fragment", []trace.Kind{trace.Fragment}, by(exact("F"), kept("user record"), kept("Counter with a key-value"), kept("GENERIC with an attribute"), kept("ParameterString with an attribute"))},
	{"counter value, sample", []trace.Kind{trace.Metric, trace.SampleRange}, by(exact("TSP, TSR; counters of other formats kept as E lines"), kept("user record"), exact("Counter"), kept("GENERIC with an attribute"), exact("Metric; ranges of samples kept as ParameterString"))},
	{"send, receive", []trace.Kind{trace.Send, trace.Recv, trace.SendBegin, trace.RecvComplete}, by(kept("E with attributes"), exact("-21 … -61; marks for other formats' messages"), exact("SendMsg, RecvMsg"), exact("MPI_SEND, MPI_RECV"), exact("MpiSend, MpiRecv"))},
	{"other phases of messages", []trace.Kind{trace.SendComplete, trace.RecvBegin, trace.RequestTest, trace.RequestCancelled}, by(kept("E with attributes"), kept("marks -30 and -57; the others as user records"), kept("key-values"), exact("MPI_ISEND_COMPLETE, MPI_IRECV_REQUEST; others kept as GENERIC"), exact("MPI records"))},
	{"collective operation", []trace.Kind{trace.CollectiveBegin, trace.CollectiveEnd, trace.CollectiveRequest, trace.CollectiveComplete, trace.Collective}, by(kept("E with attributes"), kept("user record; PICL's own event types -78x as they are"), exact("BeginCollectiveOperation"), exact("MPI_COLLECTIVE_BEGIN, _END; others kept as GENERIC"), exact("MpiCollectiveBegin, MpiCollectiveEnd; those of old OTF kept as ParameterString"))},
	{"communicator events", []trace.Kind{trace.CommCreate, trace.CommDestroy}, by(kept("E with attributes"), kept("user record"), kept("key-values"), kept("GENERIC with an attribute"), exact("CommCreate, CommDestroy"))},
	{"gap, buffer flush, measurement on or off", []trace.Kind{trace.Gap, trace.BufferFlush, trace.MeasurementOnOff}, by(kept("E with attributes"), kept("user record; PICL's own -912 … -914 as they are"), kept("key-values"), kept("GENERIC with an attribute"), exact("BufferFlush, MeasurementOnOff; gaps kept as ParameterString"))},
	{"parameter, process and program events", []trace.Kind{trace.Parameter, trace.ProcessBegin, trace.ProcessEnd, trace.ProgramBegin, trace.ProgramEnd}, by(kept("E with attributes"), kept("user record"), exact("BeginProcess, EndProcess; others kept"), kept("GENERIC with an attribute"), exact("ProgramBegin, ProgramEnd; others kept as ParameterString"))},
	{"threads, tasks, locks", []trace.Kind{trace.ThreadFork, trace.ThreadJoin, trace.ThreadTeamBegin, trace.ThreadTeamEnd, trace.ThreadCreate, trace.ThreadBegin, trace.ThreadWait, trace.ThreadEnd, trace.TaskCreate, trace.TaskSwitch, trace.TaskComplete, trace.LockAcquire, trace.LockRelease}, by(kept("E with attributes"), kept("user record"), kept("key-values"), exact("THREAD_, OMP_ records"), exact("own records"))},
	{"remote memory access", []trace.Kind{trace.WindowCreate, trace.WindowDestroy, trace.RMACollectiveBegin, trace.RMACollectiveEnd, trace.RMAGroupSync, trace.RMALockRequest, trace.RMALockAcquire, trace.RMALockTry, trace.RMALockRelease, trace.RMASync, trace.RMAWaitChange, trace.RMAPut, trace.RMAPutRemoteEnd, trace.RMAGet, trace.RMAAtomic, trace.RMAEnd, trace.RMACompleteBlocking, trace.RMACompleteNonBlocking, trace.RMATest, trace.RMACompleteRemote}, by(kept("E with attributes"), kept("user record"), exact("RMAPut, RMAGet; others kept"), kept("GENERIC with an attribute"), exact("Rma records; those of OTF kept as ParameterString"))},
	{"calling contexts", []trace.Kind{trace.ContextEnter, trace.ContextLeave, trace.ContextSample}, by(kept("E with attributes"), kept("user record"), kept("key-values"), kept("GENERIC with an attribute"), exact("CallingContext records"))},
	{"input and output", []trace.Kind{trace.IOHandleCreate, trace.IOHandleDestroy, trace.IOHandleDuplicate, trace.IOSeek, trace.IOStatusFlags, trace.IOFileDelete, trace.IOBegin, trace.IOTest, trace.IOIssued, trace.IOComplete, trace.IOCancelled, trace.IOLockAcquire, trace.IOLockRelease, trace.IOLockTry, trace.FileOperation, trace.FileOperationBegin, trace.FileOperationEnd}, by(kept("E with attributes"), kept("user record"), exact("File records; others kept"), kept("GENERIC with an attribute"), exact("Io records; those of OTF kept as ParameterString"))},
	{"marker", []trace.Kind{trace.Marker}, by(kept("E with attributes"), kept("user record"), exact("Marker of OTF's own; others kept as EventComment"), kept("GENERIC with an attribute"), kept("ParameterString with an attribute"))},
	{"snapshot", []trace.Kind{trace.EnterSnapshot, trace.SendSnapshot, trace.OpenFileSnapshot, trace.CollectiveSnapshot, trace.FileOperationSnapshot, trace.CollectiveCountSnapshot, trace.MetricSnapshot}, by(kept("E with attributes"), kept("user record"), exact(".snaps of OTF's own; others kept as EventComment"), kept("GENERIC with an attribute"), kept("ParameterString with an attribute"))},
	{"statistics, summary", []trace.Kind{trace.Statistics, trace.RegionSummary, trace.RegionGroupSummary, trace.MessageSummary, trace.CollectiveSummary, trace.FileSummary, trace.FileGroupSummary}, by(kept("E with attributes"), exact("-101 … -105 of PICL's own; others kept as user records"), exact(".stats of OTF's own; others kept as EventComment"), kept("GENERIC with an attribute"), kept("ParameterString with an attribute"))},
	{"generic event, no-op, kind that the trace declares", []trace.Kind{trace.Generic, trace.NoOp}, by(kept("E with attributes"), exact("user records of PICL's own; others kept as user records"), kept("comment with key-values"), kept("GENERIC with an attribute"), kept("ParameterString with an attribute"))},
	{"dependency, link", nil, by(exact("D 0 … 8; other links kept as E lines"), kept("user record after the last event"), kept("EventComment behind the last event"), kept("metadata"), kept("properties"))},
}

// definitionCounts are the counts of the rows about definitions.
var definitionCounts = map[string]func(d *trace.Definitions) int{
	"clock: ticks per second":             func(*trace.Definitions) int { return 1 },
	"clock: wall-clock start":             func(d *trace.Definitions) int { return count(d.Clock.HasEpoch) },
	"trace properties":                    func(d *trace.Definitions) int { return d.Properties.Len() },
	"location, its name and group":        func(d *trace.Definitions) int { return d.Locations.Len() },
	"region, group, source place":         func(d *trace.Definitions) int { return d.Regions.Len() },
	"resource":                            func(d *trace.Definitions) int { return d.Resources.Len() },
	"signal, series, counter definition":  func(d *trace.Definitions) int { return d.Metrics.Len() },
	"communicator, set":                   func(d *trace.Definitions) int { return d.Communicator.Len() + d.Sets.Len() },
	"opaque definition of another format": func(d *trace.Definitions) int { return d.Opaque.Len() },
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Foresee says what of a trace's definitions a format will not keep exactly,
// before any event is read.
func Foresee(d *trace.Definitions, format string) []LossRow {
	var out []LossRow
	for i := range Mapping {
		r := &Mapping[i]
		m := r.By[format]
		n := definitionCounts[r.What]
		if n == nil || m.Keep != Substitute && m.Keep != Lost {
			continue
		}
		if c := n(d); c > 0 {
			out = append(out, LossRow{Kind: r.What, How: How(m.Keep), Reason: m.As, Count: int64(c)})
		}
	}
	return out
}

// MappingOf finds what becomes of a kind in a format; ok is false for kinds
// that no row names, which are treated like generic events.
func MappingOf(format string, k trace.Kind) (m Mapped, ok bool) {
	for i := range Mapping {
		for _, x := range Mapping[i].Kinds {
			if x == k {
				m, ok = Mapping[i].By[format]
				return m, ok
			}
		}
	}
	return Mapped{}, false
}
