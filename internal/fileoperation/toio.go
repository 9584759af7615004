package fileoperation

import "github.com/weft-trace/weft/trace"

// The operands of [trace.FileOperation] and [trace.FileOperationEnd], as indices.
const (
	handleOperand   = 0
	codeOperand     = 1
	bytesOperand    = 2
	matchingOperand = 3 // of FileOperationEnd
	durationOperand = 3 // of FileOperation
	operands        = 4
)

// unknownAccess is the access mode of a handle for reading and writing. Operations on files state no mode.
const unknownAccess = 2

// Event is an event of I/O.
type Event struct {
	Kind     trace.Kind
	Ref      uint32   // the handle; for trace.IOFileDelete the file, as an index into Definitions.Files
	Operands []uint64 // operands of an event of this kind; valid until the next call of Convert
	// Complete holds the operands of the [trace.IOComplete] that follows after Duration ticks. It is nil if none follows.
	Complete []uint64
	Duration uint64
}

// ToIO converts operations on files to I/O events. It uses about 50 bytes for each handle. [NewToIO] returns one.
type ToIO struct {
	first    int
	handles  []Handle
	refs     map[Handle]uint32 // references to handles
	matching uint64            // matching number of the latest operation with a duration
	room     [2][operands]uint64
}

// NewToIO returns a converter. The references to handles begin with first.
func NewToIO(first int) *ToIO {
	return &ToIO{first: first, refs: map[Handle]uint32{}, matching: firstOwnMatching}
}

// Handles returns the handles of all operations so far, in the order of their references.
func (t *ToIO) Handles() []Handle { return t.handles }

// Convert returns the event for an operation on a file, or for its begin or end. For [trace.FileOperationBegin], file
// and end are the reference and the operands of the operation's end; nil means that the operation does not end. ok is
// false if there is no such event: for other kinds, rows with too few operands, begins of operations other than Read,
// Write and Sync or without an end, Seek, Dup and Other, Unlink of an unknown file, and failed Open, Close, Unlink and
// Unlock. A failed Lock becomes [trace.IOLockTry].
func (t *ToIO) Convert(c *trace.Cursor, file uint32, end []uint64) (x Event, ok bool) {
	ops := c.Ops()
	switch c.Kind() {
	case trace.FileOperationBegin:
		ops = end
	case trace.FileOperationEnd, trace.FileOperation:
		file = c.Ref()
	default:
		return x, false
	}
	if len(ops) < operands {
		return x, false
	}
	var mode uint64
	switch ops[codeOperand] & codeMask {
	case Read:
		mode = readMode
	case Write:
		mode = writeMode
	case Sync:
		mode = flushMode
	default:
		if c.Kind() == trace.FileOperationBegin {
			return x, false
		}
		return t.convertInstant(Handle{file, ops[handleOperand]}, ops[codeOperand])
	}
	x.Ref = t.ref(Handle{file, ops[handleOperand]})
	matching := ops[matchingOperand]
	switch c.Kind() {
	case trace.FileOperationEnd:
		x.Kind, x.Operands = trace.IOComplete, append(t.room[0][:0], ops[bytesOperand], matching)
		return x, true
	case trace.FileOperation:
		t.matching++
		matching = t.matching
		x.Complete, x.Duration = append(t.room[1][:0], ops[bytesOperand], matching), ops[durationOperand]
	}
	x.Kind = trace.IOBegin
	x.Operands = append(t.room[0][:0], mode, flagsOf(ops[codeOperand]), ops[bytesOperand], matching)
	return x, true
}

// flagsOf returns the flags of [trace.IOBegin] for an operation.
func flagsOf(code uint64) (flags uint64) {
	if code&Asynchronous != 0 {
		flags |= nonBlockingFlag
	}
	if code&Collective != 0 {
		flags |= collectiveFlag
	}
	return flags
}

// convertInstant returns the event for an operation other than reading, writing and synchronization. Such an operation
// becomes a single event.
func (t *ToIO) convertInstant(h Handle, code uint64) (x Event, ok bool) {
	lock := uint64(0)
	if code&ReadLock != 0 {
		lock = sharedLock
	}
	failed := code&Failed != 0
	switch operation := code & codeMask; {
	case operation == Lock && failed:
		x.Kind, x.Operands = trace.IOLockTry, append(t.room[0][:0], lock)
	case failed:
		return x, false
	case operation == Lock:
		x.Kind, x.Operands = trace.IOLockAcquire, append(t.room[0][:0], lock)
	case operation == Unlock:
		x.Kind, x.Operands = trace.IOLockRelease, append(t.room[0][:0], lock)
	case operation == Open:
		x.Kind, x.Operands = trace.IOHandleCreate, append(t.room[0][:0], unknownAccess, 0, 0)
	case operation == Close:
		x.Kind = trace.IOHandleDestroy
	case operation == Unlink && h.File != trace.NoRef:
		return Event{Kind: trace.IOFileDelete, Ref: h.File, Operands: append(t.room[0][:0], 0)}, true
	default:
		return x, false
	}
	x.Ref = t.ref(h)
	return x, true
}

// ref returns the reference to a handle.
func (t *ToIO) ref(h Handle) uint32 {
	i, known := t.refs[h]
	if !known {
		i = uint32(t.first + len(t.handles))
		t.handles, t.refs[h] = append(t.handles, h), i
	}
	return i
}
