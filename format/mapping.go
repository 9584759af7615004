package format

import (
	"slices"

	"github.com/weft-trace/weft/trace"
)

// Mapped describes how a format keeps a subject.
type Mapped struct {
	How Fidelity
	As  string // the record or place in the file, for display
	// Kept returns how many definitions of the subject are exact although How states something else. Nil means
	// none.
	Kept func(d *trace.Definitions) int
	// KeptOpaque is like Kept, for opaque definitions. It returns the numbers by type.
	KeptOpaque func(d *trace.Definitions) map[string]int
}

// MappingTable returns a function that looks up a subject in table. The function returns definitions or events
// for subjects that table lacks.
func MappingTable(table map[Subject]Mapped, definitions, events Mapped) func(Subject) Mapped {
	return func(s Subject) Mapped {
		if m, ok := table[s]; ok {
			return m
		}
		if subjects[s].kinds == nil && s != Links && s != EventAttributes && s != UnnestedLeaves {
			return definitions
		}
		return events
	}
}

// Subject is a part of the model that formats keep to different degrees. [Subjects] lists all.
type Subject int

// The subjects: parts of a trace that a format keeps or loses as a whole.
const (
	ClockTicks Subject = iota
	ClockStart
	TraceProperties
	LocationDefinitions
	LocationIDs
	LocationKinds
	LocationProperties
	GroupDefinitions
	GroupKinds
	GroupProperties
	RegionDefinitions
	RegionGroups
	RegionPlaces
	RegionEnds
	RegionRoles
	RegionDescriptions
	RegionCanonicalNames
	RegionProperties
	ResourceDefinitions
	MetricDefinitions
	MetricGroups
	MetricDescriptions
	MetricRecorders
	MetricProperties
	CommunicatorDefinitions
	CommunicatorParents
	CommunicatorProperties
	SetDefinitions
	SetProperties
	AttributeDefinitions
	AttributeDescriptions
	KindDefinitions
	ParameterDefinitions
	WindowDefinitions
	ContextDefinitions
	FileDefinitions
	FileProperties
	HandleDefinitions
	MarkerDefinitions
	MarkerGroups
	OperationDefinitions
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
	LocationDefinitions:     {"location and its name", nil},
	LocationIDs:             {"id of a location", nil},
	LocationKinds:           {"kind of a location", nil},
	LocationProperties:      {"property of a location", nil},
	GroupDefinitions:        {"location group, system tree node", nil},
	GroupKinds:              {"kind of a location group or system tree node", nil},
	GroupProperties:         {"property of a location group or system tree node", nil},
	RegionDefinitions:       {"region and its name", nil},
	RegionGroups:            {"group or paradigm of a region", nil},
	RegionPlaces:            {"source file and line of a region", nil},
	RegionEnds:              {"last line of a region", nil},
	RegionRoles:             {"role of a region", nil},
	RegionDescriptions:      {"description of a region", nil},
	RegionCanonicalNames:    {"canonical name of a region", nil},
	RegionProperties:        {"property of a region", nil},
	ResourceDefinitions:     {"resource", nil},
	MetricDefinitions:       {"signal, series, counter definition", nil},
	MetricGroups:            {"group or type of a counter", nil},
	MetricDescriptions:      {"description of a counter", nil},
	MetricRecorders:         {"recorder and occurrence of a counter", nil},
	MetricProperties:        {"property of a signal, series or counter", nil},
	CommunicatorDefinitions: {"communicator", nil},
	CommunicatorParents:     {"parent of a communicator", nil},
	CommunicatorProperties:  {"property of a communicator", nil},
	SetDefinitions:          {"set that is no communicator, or has a name of its own", nil},
	SetProperties:           {"property of a set", nil},
	AttributeDefinitions:    {"attribute definition", nil},
	AttributeDescriptions:   {"description of an attribute", nil},
	KindDefinitions:         {"kind of events that the trace declares", nil},
	ParameterDefinitions:    {"parameter definition", nil},
	WindowDefinitions:       {"window definition", nil},
	ContextDefinitions:      {"calling context definition", nil},
	FileDefinitions:         {"file definition", nil},
	FileProperties:          {"property of a file", nil},
	HandleDefinitions:       {"I/O handle definition", nil},
	MarkerDefinitions:       {"marker definition", nil},
	MarkerGroups:            {"group of a marker", nil},
	OperationDefinitions:    {"collective operation that the trace numbers itself", nil},
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
