package format

import (
	"slices"

	"github.com/weft-trace/weft/trace"
)

// Mapped describes how a format keeps a subject.
type Mapped struct {
	How Fidelity
	As  string // the record or place in the file, for display
}

// Subject is a part of the model that formats keep to different degrees. [Subjects] lists all.
type Subject int

// The subjects: parts of a trace that a format keeps or loses as a whole.
const (
	ClockTicks Subject = iota
	ClockStart
	TraceProperties
	LocationDefinitions
	RegionDefinitions
	ResourceDefinitions
	MetricDefinitions
	CommunicatorDefinitions
	OtherDefinitions
	OpaqueDefinitions
	EventAttributes
	Visits
	UnnestedLeaves
	Marks
	Comments
	Claims
	Fragments
	MetricValues
	Messages
	MessagePhases
	CollectiveOperations
	CommunicatorEvents
	Interruptions
	ProcessEvents
	ThreadEvents
	RemoteMemoryAccess
	CallingContexts
	InputOutput
	Markers
	Snapshots
	Summaries
	GenericEvents
	Links
	subjectCount
)

// subject holds the texts and kinds of a [Subject].
type subject struct {
	what  string       // text for display
	kinds []trace.Kind // kinds of events that it covers; nil for definitions
}

// subjects holds the descriptions of all subjects.
var subjects = [subjectCount]subject{
	ClockTicks:              {"clock: ticks per second", nil},
	ClockStart:              {"clock: wall-clock start", nil},
	TraceProperties:         {"trace properties", nil},
	LocationDefinitions:     {"location, its name and group", nil},
	RegionDefinitions:       {"region, group, source place", nil},
	ResourceDefinitions:     {"resource", nil},
	MetricDefinitions:       {"signal, series, counter definition", nil},
	CommunicatorDefinitions: {"communicator, set", nil},
	OtherDefinitions:        {"other definitions", nil},
	OpaqueDefinitions:       {"opaque definition of another format", nil},
	EventAttributes:         {"attribute of an event", nil},
	Visits:                  {"enter and leave", []trace.Kind{trace.Enter, trace.Leave}},
	UnnestedLeaves:          {"leave that does not close the innermost region", nil},
	Marks:                   {"mark", []trace.Kind{trace.Mark}},
	Comments:                {"comment", []trace.Kind{trace.Comment}},
	Claims:                  {"claim", []trace.Kind{trace.ClaimBegin, trace.ClaimEnd}},
	Fragments:               {"signal fragment", []trace.Kind{trace.Fragment}},
	MetricValues:            {"counter value, sample", []trace.Kind{trace.Metric, trace.SampleRange}},
	Messages:                {"send, receive", []trace.Kind{trace.Send, trace.Recv, trace.SendBegin, trace.RecvComplete}},
	MessagePhases: {"other phases of messages",
		[]trace.Kind{trace.SendComplete, trace.RecvBegin, trace.RequestTest, trace.RequestCancelled}},
	CollectiveOperations: {"collective operation",
		[]trace.Kind{trace.CollectiveBegin, trace.CollectiveEnd, trace.CollectiveRequest, trace.CollectiveComplete,
			trace.Collective}},
	CommunicatorEvents: {"communicator events", []trace.Kind{trace.CommCreate, trace.CommDestroy}},
	Interruptions: {"gap, buffer flush, measurement on or off",
		[]trace.Kind{trace.Gap, trace.BufferFlush, trace.MeasurementOnOff}},
	ProcessEvents: {"parameter, process and program events",
		[]trace.Kind{trace.Parameter, trace.ProcessBegin, trace.ProcessEnd, trace.ProgramBegin, trace.ProgramEnd}},
	ThreadEvents: {"threads, tasks, locks", []trace.Kind{trace.ThreadFork, trace.ThreadJoin,
		trace.ThreadTeamBegin, trace.ThreadTeamEnd, trace.ThreadCreate, trace.ThreadBegin, trace.ThreadWait, trace.ThreadEnd,
		trace.TaskCreate, trace.TaskSwitch, trace.TaskComplete, trace.LockAcquire, trace.LockRelease}},
	RemoteMemoryAccess: {"remote memory access",
		[]trace.Kind{trace.WindowCreate, trace.WindowDestroy, trace.RMACollectiveBegin, trace.RMACollectiveEnd,
			trace.RMAGroupSync, trace.RMALockRequest, trace.RMALockAcquire, trace.RMALockTry, trace.RMALockRelease,
			trace.RMASync, trace.RMAWaitChange, trace.RMAPut, trace.RMAPutRemoteEnd, trace.RMAGet, trace.RMAAtomic,
			trace.RMAEnd, trace.RMACompleteBlocking, trace.RMACompleteNonBlocking, trace.RMATest, trace.RMACompleteRemote}},
	CallingContexts: {"calling contexts",
		[]trace.Kind{trace.ContextEnter, trace.ContextLeave, trace.ContextSample}},
	InputOutput: {"input and output", []trace.Kind{trace.IOHandleCreate, trace.IOHandleDestroy,
		trace.IOHandleDuplicate, trace.IOSeek, trace.IOStatusFlags, trace.IOFileDelete, trace.IOBegin, trace.IOTest,
		trace.IOIssued, trace.IOComplete, trace.IOCancelled, trace.IOLockAcquire, trace.IOLockRelease, trace.IOLockTry,
		trace.FileOperation, trace.FileOperationBegin, trace.FileOperationEnd}},
	Markers: {"marker", []trace.Kind{trace.Marker}},
	Snapshots: {"snapshot", []trace.Kind{trace.EnterSnapshot, trace.SendSnapshot, trace.OpenFileSnapshot,
		trace.CollectiveSnapshot, trace.FileOperationSnapshot, trace.CollectiveCountSnapshot, trace.MetricSnapshot}},
	Summaries: {"statistics, summary", []trace.Kind{trace.Statistics, trace.RegionSummary,
		trace.RegionGroupSummary, trace.MessageSummary, trace.CollectiveSummary, trace.FileSummary, trace.FileGroupSummary}},
	GenericEvents: {"generic event, no-op, kind that the trace declares",
		[]trace.Kind{trace.Generic, trace.NoOp}},
	Links: {"dependency, link", nil},
}

// String returns a description for display.
func (s Subject) String() string { return subjects[s].what }

// Kinds returns the kinds of events that the subject covers, and none for definitions.
func (s Subject) Kinds() []trace.Kind { return slices.Clone(subjects[s].kinds) }

// Subjects returns all subjects, in the order of the documents.
func Subjects() []Subject {
	l := make([]Subject, subjectCount)
	for i := range l {
		l[i] = Subject(i)
	}
	return l
}

// SubjectOf returns the subject that covers a kind of events. ok is false for kinds without a
// subject, which are handled like generic events.
func SubjectOf(k trace.Kind) (s Subject, ok bool) {
	for i := range subjects {
		if slices.Contains(subjects[i].kinds, k) {
			return Subject(i), true
		}
	}
	return 0, false
}

// definitionCounts holds, for each subject of definitions, a function that returns how many definitions
// it covers.
var definitionCounts = map[Subject]func(d *trace.Definitions) int{
	ClockTicks:              func(*trace.Definitions) int { return 1 },
	ClockStart:              func(d *trace.Definitions) int { return count(d.Clock.HasEpoch) },
	TraceProperties:         func(d *trace.Definitions) int { return d.Properties.Len() },
	LocationDefinitions:     func(d *trace.Definitions) int { return d.Locations.Len() },
	RegionDefinitions:       func(d *trace.Definitions) int { return d.Regions.Len() },
	ResourceDefinitions:     func(d *trace.Definitions) int { return d.Resources.Len() },
	MetricDefinitions:       func(d *trace.Definitions) int { return d.Metrics.Len() },
	CommunicatorDefinitions: func(d *trace.Definitions) int { return d.Communicator.Len() + d.Sets.Len() },
	OpaqueDefinitions:       func(d *trace.Definitions) int { return d.Opaque.Len() },
}

// count returns 1 if b is set, otherwise 0.
func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// AddDefinitions counts the definitions of a trace that the format does not keep exactly according to mapping.
// If plain is set, definitions that only weft restores count as lost.
func (l *Loss) AddDefinitions(d *trace.Definitions, mapping func(Subject) Mapped, plain bool) {
	for s := range subjectCount {
		n := definitionCounts[s]
		if n == nil {
			continue
		}
		m := mapping(s)
		switch {
		case m.How == WeftOnly && plain:
			l.Add(s.String(), "", Lost, "the format has no place for it", int64(n(d)))
		case m.How == WeftOnly || m.How == Degraded || m.How == Lost:
			l.Add(s.String(), "", m.How, m.As, int64(n(d)))
		}
	}
}
