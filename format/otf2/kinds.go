package otf2

import "github.com/weft-trace/weft/trace"

// operandSource is the way in which an operand is derived from a record.
type operandSource uint8

const (
	plain     operandSource = iota // the value of a field
	constant                       // a fixed value
	reference                      // the index of the definition to which a field refers
	peer                           // the location of a rank in the communicator of another field
	target                         // the location of a rank in the communicator of a window
	// a number; an unknown number is written with all bits set, which is also a valid tag
	tag
	root     // a rank; a number with all bits set means that there is no root
	optional // a number; a number with all bits set is undefined
)

// operand describes how an operand of an event is read from a record.
type operand struct {
	source       operandSource
	field, other int // indexes of fields of the record; other is the field with the communicator or the window
	table        Table
	value        uint64
}

// eventKind describes how a record becomes an event of the common model.
type eventKind struct {
	kind  trace.Kind
	ref   int // index of the field with the event's reference; -1 for none
	table Table
	ops   []operand
}

func fieldOperand(field int) operand   { return operand{field: field} }
func constantOperand(v uint64) operand { return operand{source: constant, value: v} }
func refOperand(field int, t Table) operand {
	return operand{source: reference, field: field, table: t}
}
func sourceOperand(h operandSource, field int) operand { return operand{source: h, field: field} }

// kindWithReference returns the eventKind for a kind whose reference is the field with the number ref.
func kindWithReference(k trace.Kind, t Table, ref int, ops ...operand) eventKind {
	return eventKind{k, ref, t, ops}
}

// kindWithoutReference returns the eventKind for a kind without a reference.
func kindWithoutReference(k trace.Kind, ops ...operand) eventKind {
	return eventKind{k, -1, noTable, ops}
}

const (
	openMP = 3

	parameterString   = 32
	parameterSigned   = 33
	parameterUnsigned = 34
)

// eventKinds maps record ids of OTF2 to events of the model.
var eventKinds = [len(eventTypes)]eventKind{
	10: kindWithoutReference(trace.BufferFlush, fieldOperand(0)),
	11: kindWithoutReference(trace.MeasurementOnOff, fieldOperand(0)),
	12: kindWithReference(trace.Enter, Regions, 0),
	13: kindWithReference(trace.Leave, Regions, 0),
	14: kindWithoutReference(trace.Send, operand{source: peer, field: 0, other: 1}, refOperand(1, Comms),
		sourceOperand(tag, 2), fieldOperand(3)),
	15: kindWithoutReference(trace.SendBegin, operand{source: peer, field: 0, other: 1}, refOperand(1, Comms),
		sourceOperand(tag, 2), fieldOperand(3), fieldOperand(4)),
	16: kindWithoutReference(trace.SendComplete, fieldOperand(0)),
	17: kindWithoutReference(trace.RecvBegin, fieldOperand(0)),
	18: kindWithoutReference(trace.Recv, operand{source: peer, field: 0, other: 1}, refOperand(1, Comms),
		sourceOperand(tag, 2), fieldOperand(3)),
	19: kindWithoutReference(trace.RecvComplete, operand{source: peer, field: 0, other: 1}, refOperand(1, Comms),
		sourceOperand(tag, 2), fieldOperand(3), fieldOperand(4)),
	20: kindWithoutReference(trace.RequestTest, fieldOperand(0)),
	21: kindWithoutReference(trace.RequestCancelled, fieldOperand(0)),
	22: kindWithoutReference(trace.CollectiveBegin),
	23: kindWithoutReference(trace.CollectiveEnd, fieldOperand(0), refOperand(1, Comms), sourceOperand(root, 2),
		fieldOperand(3), fieldOperand(4)),
	24: kindWithoutReference(trace.ThreadFork, fieldOperand(0), constantOperand(openMP)),
	25: kindWithoutReference(trace.ThreadJoin, constantOperand(openMP)),
	26: kindWithoutReference(trace.LockAcquire, fieldOperand(0), fieldOperand(1), constantOperand(openMP)),
	27: kindWithoutReference(trace.LockRelease, fieldOperand(0), fieldOperand(1), constantOperand(openMP)),
	28: kindWithoutReference(trace.TaskCreate, constantOperand(trace.Undefined), constantOperand(trace.Undefined),
		fieldOperand(0)),
	29: kindWithoutReference(trace.TaskSwitch, constantOperand(trace.Undefined), constantOperand(trace.Undefined),
		fieldOperand(0)),
	30: kindWithoutReference(trace.TaskComplete, constantOperand(trace.Undefined), constantOperand(trace.Undefined),
		fieldOperand(0)),
	31: kindWithReference(trace.Metric, Metrics, 0),
	32: kindWithReference(trace.Parameter, Parameters, 0),
	33: kindWithReference(trace.Parameter, Parameters, 0),
	34: kindWithReference(trace.Parameter, Parameters, 0),
	35: kindWithReference(trace.WindowCreate, Windows, 0),
	36: kindWithReference(trace.WindowDestroy, Windows, 0),
	37: kindWithoutReference(trace.RMACollectiveBegin),
	38: kindWithReference(trace.RMACollectiveEnd, Windows, 2, fieldOperand(0), fieldOperand(1), sourceOperand(root, 3),
		fieldOperand(4), fieldOperand(5)),
	39: kindWithReference(trace.RMAGroupSync, Windows, 1, fieldOperand(0), refOperand(2, Groups)),
	40: kindWithReference(trace.RMALockRequest, Windows, 0, operand{source: target, field: 1, other: 0},
		fieldOperand(2), fieldOperand(3)),
	41: kindWithReference(trace.RMALockAcquire, Windows, 0, operand{source: target, field: 1, other: 0},
		fieldOperand(2), fieldOperand(3)),
	42: kindWithReference(trace.RMALockTry, Windows, 0, operand{source: target, field: 1, other: 0}, fieldOperand(2),
		fieldOperand(3)),
	43: kindWithReference(trace.RMALockRelease, Windows, 0, operand{source: target, field: 1, other: 0},
		fieldOperand(2)),
	44: kindWithReference(trace.RMASync, Windows, 0, operand{source: target, field: 1, other: 0}, fieldOperand(2)),
	45: kindWithReference(trace.RMAWaitChange, Windows, 0),
	46: kindWithReference(trace.RMAPut, Windows, 0, operand{source: target, field: 1, other: 0}, fieldOperand(2),
		fieldOperand(3)),
	47: kindWithReference(trace.RMAGet, Windows, 0, operand{source: target, field: 1, other: 0}, fieldOperand(2),
		fieldOperand(3)),
	48: kindWithReference(trace.RMAAtomic, Windows, 0, operand{source: target, field: 1, other: 0}, fieldOperand(2),
		fieldOperand(3), fieldOperand(4), fieldOperand(5)),
	49: kindWithReference(trace.RMACompleteBlocking, Windows, 0, fieldOperand(1)),
	50: kindWithReference(trace.RMACompleteNonBlocking, Windows, 0, fieldOperand(1)),
	51: kindWithReference(trace.RMATest, Windows, 0, fieldOperand(1)),
	52: kindWithReference(trace.RMACompleteRemote, Windows, 0, fieldOperand(1)),
	53: kindWithoutReference(trace.ThreadFork, fieldOperand(1), fieldOperand(0)),
	54: kindWithoutReference(trace.ThreadJoin, fieldOperand(0)),
	55: kindWithoutReference(trace.ThreadTeamBegin, refOperand(0, Comms)),
	56: kindWithoutReference(trace.ThreadTeamEnd, refOperand(0, Comms)),
	57: kindWithoutReference(trace.LockAcquire, fieldOperand(1), fieldOperand(2), fieldOperand(0)),
	58: kindWithoutReference(trace.LockRelease, fieldOperand(1), fieldOperand(2), fieldOperand(0)),
	59: kindWithoutReference(trace.TaskCreate, refOperand(0, Comms), fieldOperand(1), fieldOperand(2)),
	60: kindWithoutReference(trace.TaskSwitch, refOperand(0, Comms), fieldOperand(1), fieldOperand(2)),
	61: kindWithoutReference(trace.TaskComplete, refOperand(0, Comms), fieldOperand(1), fieldOperand(2)),
	62: kindWithoutReference(trace.ThreadCreate, refOperand(0, Comms), fieldOperand(1)),
	63: kindWithoutReference(trace.ThreadBegin, refOperand(0, Comms), fieldOperand(1)),
	64: kindWithoutReference(trace.ThreadWait, refOperand(0, Comms), fieldOperand(1)),
	65: kindWithoutReference(trace.ThreadEnd, refOperand(0, Comms), fieldOperand(1)),
	66: kindWithReference(trace.ContextEnter, CallingContexts, 0, sourceOperand(optional, 1)),
	67: kindWithReference(trace.ContextLeave, CallingContexts, 0),

	68: kindWithReference(trace.ContextSample, CallingContexts, 0, sourceOperand(optional, 1), sourceOperand(optional, 2)),
	69: kindWithReference(trace.IOHandleCreate, IOHandles, 0, fieldOperand(1), fieldOperand(2), fieldOperand(3)),
	70: kindWithReference(trace.IOHandleDestroy, IOHandles, 0),
	71: kindWithReference(trace.IOHandleDuplicate, IOHandles, 0, refOperand(1, IOHandles), fieldOperand(2)),
	72: kindWithReference(trace.IOSeek, IOHandles, 0, fieldOperand(1), fieldOperand(2), fieldOperand(3)),
	73: kindWithReference(trace.IOStatusFlags, IOHandles, 0, fieldOperand(1)),
	74: kindWithReference(trace.IOFileDelete, IOFiles, 1, fieldOperand(0)),
	75: kindWithReference(trace.IOBegin, IOHandles, 0, fieldOperand(1), fieldOperand(2), fieldOperand(3),
		fieldOperand(4)),
	76: kindWithReference(trace.IOTest, IOHandles, 0, fieldOperand(1)),
	77: kindWithReference(trace.IOIssued, IOHandles, 0, fieldOperand(1)),
	78: kindWithReference(trace.IOComplete, IOHandles, 0, fieldOperand(1), fieldOperand(2)),
	79: kindWithReference(trace.IOCancelled, IOHandles, 0, fieldOperand(1)),
	80: kindWithReference(trace.IOLockAcquire, IOHandles, 0, fieldOperand(1)),
	81: kindWithReference(trace.IOLockRelease, IOHandles, 0, fieldOperand(1)),
	82: kindWithReference(trace.IOLockTry, IOHandles, 0, fieldOperand(1)),
	83: kindWithReference(trace.ProgramBegin, Strings, 0),
	84: kindWithoutReference(trace.ProgramEnd, fieldOperand(0)),
	85: kindWithoutReference(trace.CollectiveRequest, fieldOperand(0)),
	86: kindWithoutReference(trace.CollectiveComplete, fieldOperand(0), refOperand(1, Comms), sourceOperand(root, 2),
		fieldOperand(3), fieldOperand(4), fieldOperand(5)),
	87: kindWithReference(trace.CommCreate, Comms, 0),
	88: kindWithReference(trace.CommDestroy, Comms, 0),
}

// tableNames holds the names of tables for messages.
var tableNames = [tables]string{"string", "attribute", "location", "region", "group", "metric", "communicator",
	"parameter", "window", "source code location", "calling context", "interrupt generator", "file", "handle",
	"location group", "system tree node", "paradigm", "I/O paradigm", "callsite", "callpath", "metric member", "dimension",
	"topology"}
