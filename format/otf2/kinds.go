package otf2

import "github.com/weft-trace/weft/trace"

// how says how an operand comes from a record.
type how uint8

const (
	plain     how = iota
	constant      // it is always the same
	reference     // the index of what a field refers to
	peer          // the location that a rank is in the communicator of another field
	target        // the same in the communicator of a window
	tag           // a number; one that is not known is written as all ones, which is a tag as well
	root          // all ones are none
	optional      // all ones are undefined
)

// operand says where one of an event comes from.
type operand struct {
	how          how
	field, other int
	table        Table
	value        uint64
}

// eventKind says what an event is in the common model.
type eventKind struct {
	kind  trace.Kind
	ref   int // which field the reference is; -1 for none
	table Table
	ops   []operand
}

func at(field int) operand          { return operand{field: field} }
func is(v uint64) operand           { return operand{how: constant, value: v} }
func to(field int, t Table) operand { return operand{how: reference, field: field, table: t} }
func by(h how, field int) operand   { return operand{how: h, field: field} }

// on is a kind whose reference is the field with this number.
func on(k trace.Kind, t Table, ref int, ops ...operand) eventKind {
	return eventKind{k, ref, t, ops}
}

// alone is a kind that refers to nothing.
func alone(k trace.Kind, ops ...operand) eventKind { return eventKind{k, -1, noTable, ops} }

const (
	openMP = 3

	parameterString   = 32
	parameterSigned   = 33
	parameterUnsigned = 34
)

// eventKinds are the events of the model, by the ids of OTF2.
var eventKinds = [len(eventTypes)]eventKind{
	10: alone(trace.BufferFlush, at(0)),
	11: alone(trace.MeasurementOnOff, at(0)),
	12: on(trace.Enter, Regions, 0),
	13: on(trace.Leave, Regions, 0),
	14: alone(trace.Send, operand{how: peer, field: 0, other: 1}, to(1, Comms), by(tag, 2), at(3)),
	15: alone(trace.SendBegin, operand{how: peer, field: 0, other: 1}, to(1, Comms), by(tag, 2), at(3), at(4)),
	16: alone(trace.SendComplete, at(0)),
	17: alone(trace.RecvBegin, at(0)),
	18: alone(trace.Recv, operand{how: peer, field: 0, other: 1}, to(1, Comms), by(tag, 2), at(3)),
	19: alone(trace.RecvComplete, operand{how: peer, field: 0, other: 1}, to(1, Comms), by(tag, 2), at(3), at(4)),
	20: alone(trace.RequestTest, at(0)),
	21: alone(trace.RequestCancelled, at(0)),
	22: alone(trace.CollectiveBegin),
	23: alone(trace.CollectiveEnd, at(0), to(1, Comms), by(root, 2), at(3), at(4)),
	24: alone(trace.ThreadFork, at(0), is(openMP)),
	25: alone(trace.ThreadJoin, is(openMP)),
	26: alone(trace.LockAcquire, at(0), at(1), is(openMP)),
	27: alone(trace.LockRelease, at(0), at(1), is(openMP)),
	28: alone(trace.TaskCreate, is(trace.Undefined), is(trace.Undefined), at(0)),
	29: alone(trace.TaskSwitch, is(trace.Undefined), is(trace.Undefined), at(0)),
	30: alone(trace.TaskComplete, is(trace.Undefined), is(trace.Undefined), at(0)),
	31: on(trace.Metric, Metrics, 0),
	32: on(trace.Parameter, Parameters, 0),
	33: on(trace.Parameter, Parameters, 0),
	34: on(trace.Parameter, Parameters, 0),
	35: on(trace.WindowCreate, Windows, 0),
	36: on(trace.WindowDestroy, Windows, 0),
	37: alone(trace.RMACollectiveBegin),
	38: on(trace.RMACollectiveEnd, Windows, 2, at(0), at(1), by(root, 3), at(4), at(5)),
	39: on(trace.RMAGroupSync, Windows, 1, at(0), to(2, Groups)),
	40: on(trace.RMALockRequest, Windows, 0, operand{how: target, field: 1, other: 0}, at(2), at(3)),
	41: on(trace.RMALockAcquire, Windows, 0, operand{how: target, field: 1, other: 0}, at(2), at(3)),
	42: on(trace.RMALockTry, Windows, 0, operand{how: target, field: 1, other: 0}, at(2), at(3)),
	43: on(trace.RMALockRelease, Windows, 0, operand{how: target, field: 1, other: 0}, at(2)),
	44: on(trace.RMASync, Windows, 0, operand{how: target, field: 1, other: 0}, at(2)),
	45: on(trace.RMAWaitChange, Windows, 0),
	46: on(trace.RMAPut, Windows, 0, operand{how: target, field: 1, other: 0}, at(2), at(3)),
	47: on(trace.RMAGet, Windows, 0, operand{how: target, field: 1, other: 0}, at(2), at(3)),
	48: on(trace.RMAAtomic, Windows, 0, operand{how: target, field: 1, other: 0}, at(2), at(3), at(4), at(5)),
	49: on(trace.RMACompleteBlocking, Windows, 0, at(1)),
	50: on(trace.RMACompleteNonBlocking, Windows, 0, at(1)),
	51: on(trace.RMATest, Windows, 0, at(1)),
	52: on(trace.RMACompleteRemote, Windows, 0, at(1)),
	53: alone(trace.ThreadFork, at(1), at(0)),
	54: alone(trace.ThreadJoin, at(0)),
	55: alone(trace.ThreadTeamBegin, to(0, Comms)),
	56: alone(trace.ThreadTeamEnd, to(0, Comms)),
	57: alone(trace.LockAcquire, at(1), at(2), at(0)),
	58: alone(trace.LockRelease, at(1), at(2), at(0)),
	59: alone(trace.TaskCreate, to(0, Comms), at(1), at(2)),
	60: alone(trace.TaskSwitch, to(0, Comms), at(1), at(2)),
	61: alone(trace.TaskComplete, to(0, Comms), at(1), at(2)),
	62: alone(trace.ThreadCreate, to(0, Comms), at(1)),
	63: alone(trace.ThreadBegin, to(0, Comms), at(1)),
	64: alone(trace.ThreadWait, to(0, Comms), at(1)),
	65: alone(trace.ThreadEnd, to(0, Comms), at(1)),
	66: on(trace.ContextEnter, CallingContexts, 0, by(optional, 1)),
	67: on(trace.ContextLeave, CallingContexts, 0),
	68: on(trace.ContextSample, CallingContexts, 0, by(optional, 1), by(optional, 2)),
	69: on(trace.IOHandleCreate, IOHandles, 0, at(1), at(2), at(3)),
	70: on(trace.IOHandleDestroy, IOHandles, 0),
	71: on(trace.IOHandleDuplicate, IOHandles, 0, to(1, IOHandles), at(2)),
	72: on(trace.IOSeek, IOHandles, 0, at(1), at(2), at(3)),
	73: on(trace.IOStatusFlags, IOHandles, 0, at(1)),
	74: on(trace.IOFileDelete, IOFiles, 1, at(0)),
	75: on(trace.IOBegin, IOHandles, 0, at(1), at(2), at(3), at(4)),
	76: on(trace.IOTest, IOHandles, 0, at(1)),
	77: on(trace.IOIssued, IOHandles, 0, at(1)),
	78: on(trace.IOComplete, IOHandles, 0, at(1), at(2)),
	79: on(trace.IOCancelled, IOHandles, 0, at(1)),
	80: on(trace.IOLockAcquire, IOHandles, 0, at(1)),
	81: on(trace.IOLockRelease, IOHandles, 0, at(1)),
	82: on(trace.IOLockTry, IOHandles, 0, at(1)),
	83: on(trace.ProgramBegin, Strings, 0),
	84: alone(trace.ProgramEnd, at(0)),
	85: alone(trace.CollectiveRequest, at(0)),
	86: alone(trace.CollectiveComplete, at(0), to(1, Comms), by(root, 2), at(3), at(4), at(5)),
	87: on(trace.CommCreate, Comms, 0),
	88: on(trace.CommDestroy, Comms, 0),
}

// tableNames are what tables are called in messages.
var tableNames = [tables]string{"string", "attribute", "location", "region", "group", "metric", "communicator",
	"parameter", "window", "source code location", "calling context", "interrupt generator", "file", "handle",
	"location group", "system tree node", "paradigm", "I/O paradigm", "callsite", "callpath", "metric member", "dimension",
	"topology"}
