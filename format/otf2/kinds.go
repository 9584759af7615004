package otf2

import "github.com/weft-trace/weft/trace"

// operandSource is the way in which an operand is derived from a record.
type operandSource uint8

const (
	plain     operandSource = iota // the value of a field
	constant                       // a fixed value
	reference                      // the index of the definition that a field refers to
	peer                           // the location of a rank in the communicator of another field
	target                         // the location of a rank in the communicator of a window
	// a number; if it is unknown, all ones are written, which is a valid tag, too
	tag
	root     // a rank; all ones mean none
	optional // a number; all ones mean undefined
)

// operand describes how an operand of an event is read from a record.
type operand struct {
	source       operandSource
	field, other int // fields of the record; other holds the communicator or the window
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

// kindWithRef returns the eventKind for a kind whose reference is the field with the number ref.
func kindWithRef(k trace.Kind, t Table, ref int, ops ...operand) eventKind {
	return eventKind{k, ref, t, ops}
}

// kindWithoutRef returns the eventKind for a kind without a reference.
func kindWithoutRef(k trace.Kind, ops ...operand) eventKind { return eventKind{k, -1, noTable, ops} }

const (
	openMP = 3

	parameterString   = 32
	parameterSigned   = 33
	parameterUnsigned = 34
)

// eventKinds maps record ids of OTF2 to events of the model.
var eventKinds = [len(eventTypes)]eventKind{
	10: kindWithoutRef(trace.BufferFlush, fieldOperand(0)),
	11: kindWithoutRef(trace.MeasurementOnOff, fieldOperand(0)),
	12: kindWithRef(trace.Enter, Regions, 0),
	13: kindWithRef(trace.Leave, Regions, 0),
	14: kindWithoutRef(trace.Send, operand{source: peer, field: 0, other: 1}, refOperand(1, Comms), sourceOperand(tag, 2),
		fieldOperand(3)),
	15: kindWithoutRef(trace.SendBegin, operand{source: peer, field: 0, other: 1}, refOperand(1, Comms),
		sourceOperand(tag, 2), fieldOperand(3), fieldOperand(4)),
	16: kindWithoutRef(trace.SendComplete, fieldOperand(0)),
	17: kindWithoutRef(trace.RecvBegin, fieldOperand(0)),
	18: kindWithoutRef(trace.Recv, operand{source: peer, field: 0, other: 1}, refOperand(1, Comms), sourceOperand(tag, 2),
		fieldOperand(3)),
	19: kindWithoutRef(trace.RecvComplete, operand{source: peer, field: 0, other: 1}, refOperand(1, Comms),
		sourceOperand(tag, 2), fieldOperand(3), fieldOperand(4)),
	20: kindWithoutRef(trace.RequestTest, fieldOperand(0)),
	21: kindWithoutRef(trace.RequestCancelled, fieldOperand(0)),
	22: kindWithoutRef(trace.CollectiveBegin),
	23: kindWithoutRef(trace.CollectiveEnd, fieldOperand(0), refOperand(1, Comms), sourceOperand(root, 2), fieldOperand(3),
		fieldOperand(4)),
	24: kindWithoutRef(trace.ThreadFork, fieldOperand(0), constantOperand(openMP)),
	25: kindWithoutRef(trace.ThreadJoin, constantOperand(openMP)),
	26: kindWithoutRef(trace.LockAcquire, fieldOperand(0), fieldOperand(1), constantOperand(openMP)),
	27: kindWithoutRef(trace.LockRelease, fieldOperand(0), fieldOperand(1), constantOperand(openMP)),
	28: kindWithoutRef(trace.TaskCreate, constantOperand(trace.Undefined), constantOperand(trace.Undefined),
		fieldOperand(0)),
	29: kindWithoutRef(trace.TaskSwitch, constantOperand(trace.Undefined), constantOperand(trace.Undefined),
		fieldOperand(0)),
	30: kindWithoutRef(trace.TaskComplete, constantOperand(trace.Undefined), constantOperand(trace.Undefined),
		fieldOperand(0)),
	31: kindWithRef(trace.Metric, Metrics, 0),
	32: kindWithRef(trace.Parameter, Parameters, 0),
	33: kindWithRef(trace.Parameter, Parameters, 0),
	34: kindWithRef(trace.Parameter, Parameters, 0),
	35: kindWithRef(trace.WindowCreate, Windows, 0),
	36: kindWithRef(trace.WindowDestroy, Windows, 0),
	37: kindWithoutRef(trace.RMACollectiveBegin),
	38: kindWithRef(trace.RMACollectiveEnd, Windows, 2, fieldOperand(0), fieldOperand(1), sourceOperand(root, 3),
		fieldOperand(4), fieldOperand(5)),
	39: kindWithRef(trace.RMAGroupSync, Windows, 1, fieldOperand(0), refOperand(2, Groups)),
	40: kindWithRef(trace.RMALockRequest, Windows, 0, operand{source: target, field: 1, other: 0}, fieldOperand(2),
		fieldOperand(3)),
	41: kindWithRef(trace.RMALockAcquire, Windows, 0, operand{source: target, field: 1, other: 0}, fieldOperand(2),
		fieldOperand(3)),
	42: kindWithRef(trace.RMALockTry, Windows, 0, operand{source: target, field: 1, other: 0}, fieldOperand(2),
		fieldOperand(3)),
	43: kindWithRef(trace.RMALockRelease, Windows, 0, operand{source: target, field: 1, other: 0}, fieldOperand(2)),
	44: kindWithRef(trace.RMASync, Windows, 0, operand{source: target, field: 1, other: 0}, fieldOperand(2)),
	45: kindWithRef(trace.RMAWaitChange, Windows, 0),
	46: kindWithRef(trace.RMAPut, Windows, 0, operand{source: target, field: 1, other: 0}, fieldOperand(2),
		fieldOperand(3)),
	47: kindWithRef(trace.RMAGet, Windows, 0, operand{source: target, field: 1, other: 0}, fieldOperand(2),
		fieldOperand(3)),
	48: kindWithRef(trace.RMAAtomic, Windows, 0, operand{source: target, field: 1, other: 0}, fieldOperand(2),
		fieldOperand(3), fieldOperand(4), fieldOperand(5)),
	49: kindWithRef(trace.RMACompleteBlocking, Windows, 0, fieldOperand(1)),
	50: kindWithRef(trace.RMACompleteNonBlocking, Windows, 0, fieldOperand(1)),
	51: kindWithRef(trace.RMATest, Windows, 0, fieldOperand(1)),
	52: kindWithRef(trace.RMACompleteRemote, Windows, 0, fieldOperand(1)),
	53: kindWithoutRef(trace.ThreadFork, fieldOperand(1), fieldOperand(0)),
	54: kindWithoutRef(trace.ThreadJoin, fieldOperand(0)),
	55: kindWithoutRef(trace.ThreadTeamBegin, refOperand(0, Comms)),
	56: kindWithoutRef(trace.ThreadTeamEnd, refOperand(0, Comms)),
	57: kindWithoutRef(trace.LockAcquire, fieldOperand(1), fieldOperand(2), fieldOperand(0)),
	58: kindWithoutRef(trace.LockRelease, fieldOperand(1), fieldOperand(2), fieldOperand(0)),
	59: kindWithoutRef(trace.TaskCreate, refOperand(0, Comms), fieldOperand(1), fieldOperand(2)),
	60: kindWithoutRef(trace.TaskSwitch, refOperand(0, Comms), fieldOperand(1), fieldOperand(2)),
	61: kindWithoutRef(trace.TaskComplete, refOperand(0, Comms), fieldOperand(1), fieldOperand(2)),
	62: kindWithoutRef(trace.ThreadCreate, refOperand(0, Comms), fieldOperand(1)),
	63: kindWithoutRef(trace.ThreadBegin, refOperand(0, Comms), fieldOperand(1)),
	64: kindWithoutRef(trace.ThreadWait, refOperand(0, Comms), fieldOperand(1)),
	65: kindWithoutRef(trace.ThreadEnd, refOperand(0, Comms), fieldOperand(1)),
	66: kindWithRef(trace.ContextEnter, CallingContexts, 0, sourceOperand(optional, 1)),
	67: kindWithRef(trace.ContextLeave, CallingContexts, 0),
	68: kindWithRef(trace.ContextSample, CallingContexts, 0, sourceOperand(optional, 1), sourceOperand(optional, 2)),
	69: kindWithRef(trace.IOHandleCreate, IOHandles, 0, fieldOperand(1), fieldOperand(2), fieldOperand(3)),
	70: kindWithRef(trace.IOHandleDestroy, IOHandles, 0),
	71: kindWithRef(trace.IOHandleDuplicate, IOHandles, 0, refOperand(1, IOHandles), fieldOperand(2)),
	72: kindWithRef(trace.IOSeek, IOHandles, 0, fieldOperand(1), fieldOperand(2), fieldOperand(3)),
	73: kindWithRef(trace.IOStatusFlags, IOHandles, 0, fieldOperand(1)),
	74: kindWithRef(trace.IOFileDelete, IOFiles, 1, fieldOperand(0)),
	75: kindWithRef(trace.IOBegin, IOHandles, 0, fieldOperand(1), fieldOperand(2), fieldOperand(3), fieldOperand(4)),
	76: kindWithRef(trace.IOTest, IOHandles, 0, fieldOperand(1)),
	77: kindWithRef(trace.IOIssued, IOHandles, 0, fieldOperand(1)),
	78: kindWithRef(trace.IOComplete, IOHandles, 0, fieldOperand(1), fieldOperand(2)),
	79: kindWithRef(trace.IOCancelled, IOHandles, 0, fieldOperand(1)),
	80: kindWithRef(trace.IOLockAcquire, IOHandles, 0, fieldOperand(1)),
	81: kindWithRef(trace.IOLockRelease, IOHandles, 0, fieldOperand(1)),
	82: kindWithRef(trace.IOLockTry, IOHandles, 0, fieldOperand(1)),
	83: kindWithRef(trace.ProgramBegin, Strings, 0),
	84: kindWithoutRef(trace.ProgramEnd, fieldOperand(0)),
	85: kindWithoutRef(trace.CollectiveRequest, fieldOperand(0)),
	86: kindWithoutRef(trace.CollectiveComplete, fieldOperand(0), refOperand(1, Comms), sourceOperand(root, 2),
		fieldOperand(3), fieldOperand(4), fieldOperand(5)),
	87: kindWithRef(trace.CommCreate, Comms, 0),
	88: kindWithRef(trace.CommDestroy, Comms, 0),
}

// tableNames holds the names of tables for messages.
var tableNames = [tables]string{"string", "attribute", "location", "region", "group", "metric", "communicator",
	"parameter", "window", "source code location", "calling context", "interrupt generator", "file", "handle",
	"location group", "system tree node", "paradigm", "I/O paradigm", "callsite", "callpath", "metric member", "dimension",
	"topology"}
