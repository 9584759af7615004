package fileoperation

import (
	"strconv"

	"github.com/weft-trace/weft/trace"
)

// Operation is an operation on a file, or its begin or end.
type Operation struct {
	// Kind is FileOperation, FileOperationBegin or FileOperationEnd of package trace. FileOperation stands for events
	// without a duration. For FileOperationBegin, Code and Bytes are not set.
	Kind trace.Kind
	// File is an index into Definitions.Files, or NoRef if the handle belongs to no file.
	File     uint32
	Handle   uint64 // id of the handle in the trace
	Code     uint64 // operation with flags
	Bytes    uint64 // bytes moved
	Matching uint64 // the same at the begin and the end; open operations of a location have different ones
}

// FromIO converts I/O events to operations on files. It uses about 100 bytes for each operation that has not ended,
// and for each handle. [NewFromIO] returns one.
type FromIO struct {
	defs    *trace.Definitions
	handles []Handle                  // indexed as Definitions.Handles
	open    map[openKey]openOperation // operations that have not ended
	numbers map[matchingKey]bool      // matching numbers of the open operations
	// spare is the last matching number that begin has allotted because the number in the event was in use.
	spare uint64
}

// openKey identifies an operation that has not ended.
type openKey struct {
	location, handle uint32
	matching         uint64
}

// openOperation is an operation that has not ended.
type openOperation struct{ code, matching uint64 }

// matchingKey identifies an operation by its location and its matching number.
type matchingKey struct {
	location uint32
	matching uint64
}

// NewFromIO returns a converter for the events of a trace. The events must come in the order of time at each location.
func NewFromIO(d *trace.Definitions) *FromIO {
	return &FromIO{defs: d, open: map[openKey]openOperation{}, numbers: map[matchingKey]bool{}, spare: firstOwnMatching}
}

// Convert returns the operation for an event. ok is false if there is none: for other kinds, tests of operations,
// changes of flags, and events without a handle.
func (f *FromIO) Convert(c *trace.Cursor) (x Operation, ok bool) {
	x.Kind = trace.FileOperation
	switch c.Kind() {
	case trace.IOHandleCreate:
		x.Code = Open
	case trace.IOHandleDestroy:
		x.Code = Close
	case trace.IOHandleDuplicate:
		x.Code = Dup
	case trace.IOSeek:
		x.Code = Seek
	case trace.IOFileDelete:
		x.Code, x.File = Unlink, c.Ref()
		return x, c.Ref() != trace.NoRef
	case trace.IOLockAcquire:
		x.Code = Lock
	case trace.IOLockTry:
		x.Code = Lock | Failed // a lock that was tried and not acquired
	case trace.IOLockRelease:
		x.Code = Unlock
	case trace.IOBegin:
		x.Kind = trace.FileOperationBegin
	case trace.IOComplete, trace.IOCancelled:
		x.Kind = trace.FileOperationEnd
	default:
		return x, false
	}
	if c.Ref() == trace.NoRef {
		return x, false
	}
	if x.Code&codeMask >= Lock && len(c.Ops()) > 0 && c.Op(0) == sharedLock {
		x.Code |= ReadLock
	}
	h := f.handle(c.Ref())
	x.File, x.Handle = h.File, h.Number
	switch x.Kind {
	case trace.FileOperationBegin:
		x.Matching = f.begin(c)
	case trace.FileOperationEnd:
		f.end(c, &x)
	}
	return x, true
}

// begin adds an operation to the open ones, and returns its matching number.
func (f *FromIO) begin(c *trace.Cursor) (matching uint64) {
	if len(c.Ops()) < 4 {
		return 0
	}
	code := uint64(Other)
	switch c.Op(0) {
	case readMode:
		code = Read
	case writeMode:
		code = Write
	case flushMode:
		code = Sync
	}
	if c.Op(1)&nonBlockingFlag != 0 {
		code |= Asynchronous
	}
	if c.Op(1)&collectiveFlag != 0 {
		code |= Collective
	}
	k := openKey{c.Location(), c.Ref(), c.Op(3)}
	o, again := f.open[k]
	if !again {
		o.matching = c.Op(3)
		for f.numbers[matchingKey{c.Location(), o.matching}] {
			f.spare++
			o.matching = f.spare
		}
		f.numbers[matchingKey{c.Location(), o.matching}] = true
	}
	o.code = code
	f.open[k] = o
	return o.matching
}

// end sets the fields of the end of an operation, and removes it from the open ones.
func (f *FromIO) end(c *trace.Cursor, x *Operation) {
	ops := c.Ops()
	if len(ops) == 0 {
		x.Code = Other
		return
	}
	x.Matching = ops[len(ops)-1]
	k := openKey{c.Location(), c.Ref(), x.Matching}
	if o, ok := f.open[k]; ok {
		delete(f.open, k)
		delete(f.numbers, matchingKey{c.Location(), o.matching})
		x.Code, x.Matching = o.code, o.matching
	} else {
		x.Code = Other
	}
	switch {
	case c.Kind() == trace.IOCancelled:
		x.Code |= Failed
	case c.Op(0) != trace.Undefined:
		x.Bytes = c.Op(0)
	}
}

// handle returns the file and the number of an I/O handle.
func (f *FromIO) handle(i uint32) Handle {
	for n := uint32(len(f.handles)); n <= i; n++ {
		h := Handle{f.defs.HandleFile(n), uint64(n)}
		if f.defs.Handles.Has(n) {
			if id, err := strconv.ParseUint(f.defs.Handles.At(n).ID, 10, 64); err == nil {
				h.Number = id
			}
		}
		f.handles = append(f.handles, h)
	}
	return f.handles[i]
}
