package trace

import (
	"fmt"
	"slices"
	"strconv"
)

// Kind is the kind of an event. Kinds below [Declared] are common to all formats; [Kind.Spec]
// describes them. A trace declares further kinds, from Declared on, in its [Definitions], for
// records that only its format defines.
type Kind uint16

// These are the common kinds. [Kind.Spec] describes the Ref and the operands of each, and the command
// "weft formats --kinds" prints them as a table.
const (
	NoKind Kind = iota
	Enter
	Leave
	Mark
	Comment
	Gap
	ClaimBegin
	ClaimEnd
	Fragment
	Metric
	SampleRange
	Marker
	Statistics
	Send
	Recv
	SendBegin
	SendComplete
	RecvBegin
	RecvComplete
	RequestTest
	RequestCancelled
	CollectiveBegin
	CollectiveEnd
	CollectiveRequest
	CollectiveComplete
	Collective
	CommCreate
	CommDestroy
	BufferFlush
	MeasurementOnOff
	Parameter
	ProcessBegin
	ProcessEnd
	ProgramBegin
	ProgramEnd
	ThreadFork
	ThreadJoin
	ThreadTeamBegin
	ThreadTeamEnd
	ThreadCreate
	ThreadBegin
	ThreadWait
	ThreadEnd
	TaskCreate
	TaskSwitch
	TaskComplete
	LockAcquire
	LockRelease
	WindowCreate
	WindowDestroy
	RMACollectiveBegin
	RMACollectiveEnd
	RMAGroupSync
	RMALockRequest
	RMALockAcquire
	RMALockTry
	RMALockRelease
	RMASync
	RMAWaitChange
	RMAPut
	RMAPutRemoteEnd
	RMAGet
	RMAAtomic
	RMAEnd
	RMACompleteBlocking
	RMACompleteNonBlocking
	RMATest
	RMACompleteRemote
	ContextEnter
	ContextLeave
	ContextSample
	IOHandleCreate
	IOHandleDestroy
	IOHandleDuplicate
	IOSeek
	IOStatusFlags
	IOFileDelete
	IOBegin
	IOTest
	IOIssued
	IOComplete
	IOCancelled
	IOLockAcquire
	IOLockRelease
	IOLockTry
	FileOperation
	FileOperationBegin
	FileOperationEnd
	EnterSnapshot
	SendSnapshot
	OpenFileSnapshot
	CollectiveSnapshot
	FileOperationSnapshot
	CollectiveCountSnapshot
	MetricSnapshot
	RegionSummary
	RegionGroupSummary
	MessageSummary
	CollectiveSummary
	FileSummary
	FileGroupSummary
	Generic
	NoOp
	kindCount
)

// Declared is the smallest number of a kind that a trace declares.
const Declared Kind = 1024

// OperandType is the meaning of the 64 bits of an operand.
type OperandType uint8

// The operand types. An operand with the name of a table holds an index into the table, or
// [Undefined].
const (
	OpUint OperandType = iota
	OpInt
	OpFloat
	OpTime     // ticks, on the same clock as Time
	OpDuration // ticks
	OpBits     // bits whose type is in the definition that Ref refers to
	OpEnum
	OpString
	OpLocation
	OpRegion
	OpCommunicator
	OpMetric
	OpResource
	OpGroup
	OpFile
	OpHandle
	OpWindow
	OpContext
	OpInterruptGenerator
	OpSource
)

// Undefined is the value of an operand that is unknown or refers to nothing.
const Undefined = ^uint64(0)

// NoRef is the value of a Ref that refers to nothing.
const NoRef = ^uint32(0)

// RefKind is the table into which the Ref of an event is an index.
type RefKind uint8

// The tables into which a Ref can be an index.
const (
	RefNone RefKind = iota
	RefRegion
	RefMetric
	RefCommunicator
	RefParameter
	RefWindow
	RefContext
	RefHandle
	RefFile
	RefMarker
	RefString
)

var refNames = [...]string{"", "region", "metric", "communicator", "parameter", "window", "context", "handle", "file",
	"marker", "name"}

// String returns the name of the reference in JSON.
func (r RefKind) String() string { return refNames[r] }

// Operand describes an operand of a kind.
type Operand struct {
	Name string // name of the field in JSON and documents
	Type OperandType
	Unit string // "bytes", or "" for a number without a unit
	Doc  string
}

// KindSpec describes the Ref and the operands of a kind. A row may have fewer operands than are
// listed; the others are unknown.
type KindSpec struct {
	Name     string
	Doc      string
	Ref      RefKind
	Operands []Operand
	// Variadic is set if the last operand may be repeated.
	Variadic bool
}

var (
	peerOps = func(peer string) []Operand {
		return []Operand{
			{peer, OpLocation, "", "the other side; undefined when the trace does not tell"},
			{"communicator", OpCommunicator, "", "communicator, undefined when there is none"},
			{"tag", OpInt, "", "message tag (PICL: message type), -1 when not known"},
			{"length", OpUint, "bytes", "message size"},
		}
	}
	requestOp = Operand{"request", OpUint, "", "request id, unique among the open requests of the location"}
	matchOp   = Operand{"matching", OpUint, "", "id that ties the parts of one operation together"}
	reqOps    = []Operand{requestOp}
	collOps   = []Operand{
		{"operation", OpEnum, "", "collective operation, numbered as in OTF2"},
		{"communicator", OpCommunicator, "", "communicator"},
		{"root", OpUint, "", "rank of the root, undefined when there is none"},
		{"sent", OpUint, "bytes", "bytes sent by this location"},
		{"received", OpUint, "bytes", "bytes received by this location"},
	}
	teamOps = []Operand{{"team", OpCommunicator, "", "thread team or contingent"},
		{"sequence", OpUint, "", "sequence count"}}
	taskOps = []Operand{{"team", OpCommunicator, "", "thread team, undefined for old OpenMP records"},
		{"creator", OpUint, "", "creating thread's rank"}, {"task", OpUint, "", "task id or generation number"}}
	lockOps = []Operand{{"lock", OpUint, "", "lock id"}, {"order", OpUint, "", "acquisition order"},
		{"model", OpEnum, "", "threading paradigm, numbered as in OTF2"}}
	modelOp = Operand{"model", OpEnum, "", "threading paradigm, numbered as in OTF2"}
	rmaLock = []Operand{{"remote", OpLocation, "", "whose memory is locked"}, {"lock", OpUint, "", "lock id"},
		{"type", OpEnum, "", "0 exclusive, 1 shared"}}
	rmaData = []Operand{{"remote", OpLocation, "", "whose memory is read or written"},
		{"length", OpUint, "bytes", "bytes moved"}, matchOp, {"communicator", OpCommunicator, "", "communicator (OTF)"},
		{"tag", OpInt, "", "tag (OTF)"}, {"origin", OpLocation, "", "origin, undefined when it is this location (OTF)"}}
	ioMatch = []Operand{matchOp}
	ioLock  = []Operand{{"type", OpEnum, "", "0 exclusive, 1 shared"}}
	fileOps = []Operand{{"handle", OpUint, "", "file handle id"},
		{"operation", OpEnum, "", "operation and flags, numbered as in OTF"}, {"length", OpUint, "bytes", "bytes moved"}}
	originalTime = Operand{"original", OpTime, "", "time of the event that is still open"}
	countTime    = []Operand{{"count", OpUint, "", "occurrences so far"},
		{"exclusive", OpDuration, "", "exclusive time so far"}, {"inclusive", OpDuration, "", "inclusive time so far"}}
	fileSum = []Operand{{"opens", OpUint, "", ""}, {"closes", OpUint, "", ""}, {"reads", OpUint, "", ""},
		{"writes", OpUint, "", ""}, {"seeks", OpUint, "", ""}, {"read", OpUint, "bytes", ""},
		{"written", OpUint, "bytes", ""}}
)

func concat(a []Operand, b ...Operand) []Operand { return append(append([]Operand{}, a...), b...) }

// Kinds returns the common kinds in ascending order.
func Kinds() []Kind {
	l := make([]Kind, 0, kindCount-1)
	for k := NoKind + 1; k < kindCount; k++ {
		l = append(l, k)
	}
	return l
}

// Spec returns the description of a common kind. For other kinds, it is empty; [Definitions.Spec]
// describes them.
func (k Kind) Spec() KindSpec {
	if k >= kindCount {
		return KindSpec{}
	}
	return kindTable[k]
}

// String returns the name of a common kind. [Definitions.Spec] returns the names of other kinds.
func (k Kind) String() string {
	if s := k.Spec().Name; s != "" {
		return s
	}
	return "kind " + strconv.Itoa(int(k))
}

// kindTable holds the descriptions of the common kinds, indexed by kind.
var kindTable = [kindCount]KindSpec{
	NoKind: {"none", "no event", RefNone, nil, false},
	Enter:  {"enter", "a region is entered", RefRegion, nil, false},
	Leave: {"leave",
		"a region is left; it closes the latest open enter of the same region at the location", RefRegion, nil, false},
	Mark: {"mark", "an event without duration (TRACE event, PICL mark)", RefRegion,
		[]Operand{{"id", OpInt, "", "the event's id in a TRACE file"}}, false},
	Comment: {"comment", "a text message, in the attribute `text`", RefRegion, nil, false},
	Gap: {"gap",
		"from here to the end time, or where there is none to the next event of the location, nothing was recorded; not " +
			"idle time", RefNone, []Operand{{"end", OpTime, "", "end of the gap"}}, false},
	ClaimBegin: {"claim-begin", "an activity (region) begins to hold an amount of a resource", RefRegion,
		[]Operand{{"claim", OpInt, "", "claim id"}, {"resource", OpResource, "", "resource"},
			{"amount", OpFloat, "", "amount held, in the resource's unit"},
			{"offset", OpFloat, "", "where the amount begins, for resources with offsets"}}, false},
	ClaimEnd: {"claim-end", "the claim with this id ends", RefRegion,
		[]Operand{{"claim", OpInt, "", "claim id"}, {"resource", OpResource, "", "resource"}}, false},
	Fragment: {"fragment",
		"a signal is c + b·u + a·u² from here to the end time, u counted in the file's time unit", RefMetric,
		[]Operand{{"end", OpTime, "", "end of the fragment (exclusive)"}, {"c", OpFloat, "", "constant coefficient"},
			{"b", OpFloat, "", "linear coefficient"}, {"a", OpFloat, "", "quadratic coefficient"}}, false},
	Metric: {"metric", "a counter or series has this value", RefMetric,
		[]Operand{{"value", OpBits, "", "value; its type is the metric's"},
			{"member", OpUint, "", "position in a group of metrics that were read together; all of a group are one event"}},
		false},
	SampleRange: {"sample-range", "values at equal distances from here to the end time", RefMetric,
		[]Operand{{"end", OpTime, "", "time of the last value"}, {"value", OpFloat, "", "value; repeated"}}, true},
	Marker: {"marker", "a user's or tool's mark with a text, in the attribute `text`", RefMarker,
		[]Operand{{"duration", OpDuration, "", "length of the marked interval"},
			{"scope", OpEnum, "", "0 global, 1 location, 2 group …, as in OTF2"},
			{"scopeRef", OpUint, "", "what the scope names"}}, false},
	Statistics: {"statistics",
		"cumulated figures about other regions inside this region; one attribute a region, named by the region's id",
		RefRegion, []Operand{{"statistic", OpEnum, "", "0 seconds, 1 count, 2 volume sent, 3 volume received, 4 volume"}},
		false},
	Send: {"send", "a blocking message is sent", RefNone, peerOps("receiver"), false},
	Recv: {"recv", "a blocking message has been received", RefNone, peerOps("sender"), false},
	SendBegin: {"send-begin", "a non-blocking send is posted", RefNone,
		concat(peerOps("receiver"), requestOp), false},
	SendComplete: {"send-complete", "a non-blocking send is complete", RefNone, reqOps, false},
	RecvBegin:    {"recv-begin", "a non-blocking receive is posted", RefNone, reqOps, false},
	RecvComplete: {"recv-complete", "a non-blocking receive is complete", RefNone,
		concat(peerOps("sender"), requestOp), false},
	RequestTest:      {"request-test", "a request was tested and is not complete", RefNone, reqOps, false},
	RequestCancelled: {"request-cancelled", "a request was cancelled", RefNone, reqOps, false},
	CollectiveBegin: {"collective-begin", "a collective operation begins", RefNone, concat(collOps, matchOp),
		false},
	CollectiveEnd:     {"collective-end", "a collective operation ends", RefNone, concat(collOps, matchOp), false},
	CollectiveRequest: {"collective-request", "a non-blocking collective is posted", RefNone, reqOps, false},
	CollectiveComplete: {"collective-complete", "a non-blocking collective is complete", RefNone,
		concat(collOps, requestOp), false},
	Collective: {"collective", "a collective operation with a known duration (old OTF)", RefNone,
		concat(collOps, Operand{"duration", OpDuration, "", "its length"}), false},
	CommCreate:  {"communicator-create", "a communicator is created", RefCommunicator, nil, false},
	CommDestroy: {"communicator-destroy", "a communicator is freed", RefCommunicator, nil, false},
	BufferFlush: {"buffer-flush", "the measurement system flushes its buffer", RefNone,
		[]Operand{{"end", OpTime, "", "end of the flush"}}, false},
	MeasurementOnOff: {"measurement", "recording is switched", RefNone,
		[]Operand{{"mode", OpEnum, "", "1 on, 2 off"}}, false},
	Parameter:    {"parameter", "a parameter has a value, in the attribute `value`", RefParameter, nil, false},
	ProcessBegin: {"process-begin", "a process begins", RefNone, nil, false},
	ProcessEnd:   {"process-end", "a process ends", RefNone, nil, false},
	ProgramBegin: {"program-begin", "a program begins; the operands are its arguments", RefString,
		[]Operand{{"argument", OpString, "", "argument; repeated"}}, true},
	ProgramEnd: {"program-end", "a program ends", RefNone, []Operand{{"status", OpInt, "", "exit status"}},
		false},
	ThreadFork: {"thread-fork", "threads are forked", RefNone,
		[]Operand{{"threads", OpUint, "", "number of threads asked for"}, modelOp}, false},
	ThreadJoin:         {"thread-join", "threads are joined", RefNone, []Operand{modelOp}, false},
	ThreadTeamBegin:    {"thread-team-begin", "a thread joins a team", RefNone, teamOps[:1], false},
	ThreadTeamEnd:      {"thread-team-end", "a thread leaves a team", RefNone, teamOps[:1], false},
	ThreadCreate:       {"thread-create", "a thread is created", RefNone, teamOps, false},
	ThreadBegin:        {"thread-begin", "a thread begins", RefNone, teamOps, false},
	ThreadWait:         {"thread-wait", "a thread is waited for", RefNone, teamOps, false},
	ThreadEnd:          {"thread-end", "a thread ends", RefNone, teamOps, false},
	TaskCreate:         {"task-create", "a task is created", RefNone, taskOps, false},
	TaskSwitch:         {"task-switch", "a task is resumed", RefNone, taskOps, false},
	TaskComplete:       {"task-complete", "a task is complete", RefNone, taskOps, false},
	LockAcquire:        {"lock-acquire", "a lock is acquired", RefNone, lockOps, false},
	LockRelease:        {"lock-release", "a lock is released", RefNone, lockOps, false},
	WindowCreate:       {"window-create", "an RMA window is created", RefWindow, nil, false},
	WindowDestroy:      {"window-destroy", "an RMA window is freed", RefWindow, nil, false},
	RMACollectiveBegin: {"rma-collective-begin", "a collective RMA operation begins", RefNone, nil, false},
	RMACollectiveEnd: {"rma-collective-end", "a collective RMA operation ends", RefWindow,
		[]Operand{{"operation", OpEnum, "", ""}, {"level", OpUint, "", "synchronisation level"}, {"root", OpUint, "", ""},
			{"sent", OpUint, "bytes", ""}, {"received", OpUint, "bytes", ""}}, false},
	RMAGroupSync: {"rma-group-sync", "a group synchronises", RefWindow,
		[]Operand{{"level", OpUint, "", "synchronisation level"}, {"group", OpGroup, "", ""}}, false},
	RMALockRequest: {"rma-lock-request", "a window lock is requested", RefWindow, rmaLock, false},
	RMALockAcquire: {"rma-lock-acquire", "a window lock is acquired", RefWindow, rmaLock, false},
	RMALockTry:     {"rma-lock-try", "a window lock is tried", RefWindow, rmaLock, false},
	RMALockRelease: {"rma-lock-release", "a window lock is released", RefWindow, rmaLock[:2], false},
	RMASync: {"rma-sync", "an RMA synchronisation", RefWindow,
		[]Operand{{"remote", OpLocation, "", ""}, {"type", OpEnum, "", ""}}, false},
	RMAWaitChange: {"rma-wait-change", "waited for a change of the window", RefWindow, nil, false},
	RMAPut:        {"rma-put", "data is put into remote memory", RefWindow, rmaData, false},
	RMAPutRemoteEnd: {"rma-put-remote-end", "data is put; the end is recorded at the target (OTF)", RefWindow,
		rmaData, false},
	RMAGet: {"rma-get", "data is fetched from remote memory", RefWindow, rmaData, false},
	RMAAtomic: {"rma-atomic", "an atomic remote operation", RefWindow,
		[]Operand{{"remote", OpLocation, "", "whose memory is changed"}, {"type", OpEnum, "", ""},
			{"sent", OpUint, "bytes", ""}, {"received", OpUint, "bytes", ""}, matchOp}, false},
	RMAEnd: {"rma-end", "an RMA operation ends (OTF)", RefWindow,
		[]Operand{{"remote", OpLocation, "", "remote process"}, {"communicator", OpCommunicator, "", ""},
			{"tag", OpInt, "", ""}}, false},
	RMACompleteBlocking:    {"rma-complete-blocking", "an RMA operation is complete", RefWindow, ioMatch, false},
	RMACompleteNonBlocking: {"rma-complete-nonblocking", "an RMA operation is complete", RefWindow, ioMatch, false},
	RMATest:                {"rma-test", "an RMA operation was tested", RefWindow, ioMatch, false},
	RMACompleteRemote: {"rma-complete-remote", "an RMA operation is complete at the target", RefWindow, ioMatch,
		false},
	ContextEnter: {"context-enter", "a calling context is entered", RefContext,
		[]Operand{{"unwind", OpUint, "", "unwind distance"}}, false},
	ContextLeave: {"context-leave", "a calling context is left", RefContext, nil, false},
	ContextSample: {"context-sample", "a sample of the call stack", RefContext,
		[]Operand{{"unwind", OpUint, "", "unwind distance"}, {"generator", OpInterruptGenerator, "", "what interrupted"}},
		false},
	IOHandleCreate: {"io-handle-create", "an I/O handle is opened", RefHandle,
		[]Operand{{"mode", OpEnum, "", "0 read, 1 write, 2 both …"}, {"creation", OpUint, "", "creation flags"},
			{"status", OpUint, "", "status flags"}}, false},
	IOHandleDestroy: {"io-handle-destroy", "an I/O handle is closed", RefHandle, nil, false},
	IOHandleDuplicate: {"io-handle-duplicate", "an I/O handle is duplicated", RefHandle,
		[]Operand{{"copy", OpHandle, "", "the new handle"}, {"status", OpUint, "", "status flags"}}, false},
	IOSeek: {"io-seek", "a file position is set", RefHandle,
		[]Operand{{"request", OpInt, "bytes", ""}, {"whence", OpEnum, "", ""}, {"result", OpUint, "bytes", ""}}, false},
	IOStatusFlags: {"io-status-flags", "status flags of a handle change", RefHandle,
		[]Operand{{"status", OpUint, "", "status flags"}}, false},
	IOFileDelete: {"io-file-delete", "a file is deleted", RefFile, []Operand{{"paradigm", OpEnum, "", ""}},
		false},
	IOBegin: {"io-begin", "an I/O operation begins", RefHandle,
		[]Operand{{"mode", OpEnum, "", "0 read, 1 write, 2 flush"}, {"flags", OpUint, "", ""},
			{"length", OpUint, "bytes", "bytes asked for"}, matchOp}, false},
	IOTest:   {"io-test", "an I/O operation was tested", RefHandle, ioMatch, false},
	IOIssued: {"io-issued", "an asynchronous I/O operation was issued", RefHandle, ioMatch, false},
	IOComplete: {"io-complete", "an I/O operation is complete", RefHandle,
		[]Operand{{"length", OpUint, "bytes", "bytes moved"}, matchOp}, false},
	IOCancelled:   {"io-cancelled", "an I/O operation was cancelled", RefHandle, ioMatch, false},
	IOLockAcquire: {"io-lock-acquire", "a file lock is acquired", RefHandle, ioLock, false},
	IOLockRelease: {"io-lock-release", "a file lock is released", RefHandle, ioLock, false},
	IOLockTry:     {"io-lock-try", "a file lock is tried", RefHandle, ioLock, false},
	FileOperation: {"file-operation", "a file operation with a known duration (OTF)", RefFile,
		concat(fileOps, Operand{"duration", OpDuration, "", "its length"}), false},
	FileOperationBegin: {"file-operation-begin", "a file operation begins (OTF)", RefNone, ioMatch, false},
	FileOperationEnd: {"file-operation-end", "a file operation ends (OTF)", RefFile, concat(fileOps, matchOp),
		false},
	EnterSnapshot: {"enter-snapshot", "state: this region is open", RefRegion, []Operand{originalTime}, false},
	SendSnapshot: {"send-snapshot", "state: this message is on its way", RefNone,
		concat(peerOps("receiver"), originalTime), false},
	OpenFileSnapshot: {"open-file-snapshot", "state: this file is open", RefFile,
		[]Operand{{"handle", OpUint, "", ""}, originalTime}, false},
	CollectiveSnapshot: {"collective-snapshot", "state: this collective operation is open", RefNone,
		concat(collOps, matchOp, originalTime), false},
	FileOperationSnapshot: {"file-operation-snapshot", "state: this file operation is open", RefNone,
		[]Operand{matchOp, originalTime}, false},
	CollectiveCountSnapshot: {"collective-count-snapshot", "state: collective operations so far on a communicator",
		RefCommunicator, []Operand{{"count", OpUint, "", ""}}, false},
	MetricSnapshot: {"metric-snapshot", "state: last value of a counter", RefMetric,
		[]Operand{{"value", OpBits, "", "its type is the metric's"}, originalTime}, false},
	RegionSummary: {"region-summary", "cumulated figures of a region", RefRegion, countTime, false},
	RegionGroupSummary: {"region-group-summary", "cumulated figures of a group of regions", RefString, countTime,
		false},
	MessageSummary: {"message-summary", "cumulated figures of messages", RefNone,
		[]Operand{{"peer", OpLocation, "", "undefined: all"}, {"communicator", OpCommunicator, "", ""},
			{"tag", OpInt, "", ""}, {"sends", OpUint, "", ""}, {"recvs", OpUint, "", ""}, {"sent", OpUint, "bytes", ""},
			{"received", OpUint, "bytes", ""}}, false},
	CollectiveSummary: {"collective-summary", "cumulated figures of collective operations", RefCommunicator,
		[]Operand{{"operation", OpEnum, "", ""}, {"sends", OpUint, "", ""}, {"recvs", OpUint, "", ""},
			{"sent", OpUint, "bytes", ""}, {"received", OpUint, "bytes", ""}}, false},
	FileSummary:      {"file-summary", "cumulated figures of a file", RefFile, fileSum, false},
	FileGroupSummary: {"file-group-summary", "cumulated figures of a group of files", RefString, fileSum, false},
	Generic:          {"generic", "a named event of the application", RefString, nil, false},
	NoOp:             {"no-op", "a record that only carries attributes (OTF)", RefNone, nil, false},
}

// KindByName returns the common kind with a name, and whether there is one.
func KindByName(name string) (Kind, bool) {
	k := slices.IndexFunc(kindTable[:], func(s KindSpec) bool { return s.Name == name })
	return Kind(max(k, 0)), k >= 0
}

// Spec returns the description of a kind, whether it is common or declared by the trace.
func (d *Definitions) Spec(k Kind) *KindSpec {
	if k < kindCount {
		return &kindTable[k]
	}
	if i := int(k) - int(Declared); i >= 0 && i < d.Kinds.Len() {
		return &d.Kinds.At(uint32(i)).KindSpec
	}
	return &KindSpec{Name: fmt.Sprintf("kind-%d", k)}
}

// IsState reports whether rows of kind k describe the state at a time, or sums up to a time,
// instead of an event. These are snapshots and summaries.
func (k Kind) IsState() bool { return k >= EnterSnapshot && k <= FileGroupSummary }

// HasEndTime reports whether rows of kind k state values up to an end time, which is an operand. A
// trace lasts at least until that time.
func (k Kind) HasEndTime() bool { return k == Fragment || k == SampleRange }

// IsEvent reports whether rows of kind k are something that happened in the program. States are not,
// and markers, which are added to a trace later, are not either.
func (k Kind) IsEvent() bool { return !k.IsState() && k != Marker }

// IsActivity reports whether rows of kind k are events that show that a location is active. Comments and
// statistics do not.
func (k Kind) IsActivity() bool { return k.IsEvent() && k != Comment && k != Statistics }

// IsSend reports whether kind k begins a message: a send, or the begin of one.
func (k Kind) IsSend() bool { return k == Send || k == SendBegin }

// IsRecv reports whether kind k completes a message: a receive, or the completion of one.
func (k Kind) IsRecv() bool { return k == Recv || k == RecvComplete }
