// Package fileoperation converts between the two ways in which formats state input and output. OTF2 has events of I/O
// handles, such as [trace.IOBegin] and [trace.IOComplete]. OTF has operations on files: [trace.FileOperation],
// [trace.FileOperationBegin] and [trace.FileOperationEnd].
package fileoperation

// Handle is an I/O handle.
type Handle struct {
	File   uint32 // index into Definitions.Files, or NoRef
	Number uint64 // number of the handle in the trace
}

// The codes of operations on files, in the low 5 bits of the operand "operation" of [trace.FileOperation].
const (
	Open   = 0
	Close  = 1
	Read   = 2
	Write  = 3
	Seek   = 4
	Unlink = 5
	Dup    = 7
	Sync   = 8
	Lock   = 9
	Unlock = 10
	Other  = 31

	codeMask = 0x1f
)

// Flags of operations on files, in the bits above the code.
const (
	Failed       = 0x20
	Asynchronous = 0x40
	Collective   = 0x80
	ReadLock     = 0x400
)

// The modes of [trace.IOBegin].
const (
	readMode  = 0
	writeMode = 1
	flushMode = 2
)

// The flags of [trace.IOBegin].
const (
	nonBlockingFlag = 1
	collectiveFlag  = 2
)

// sharedLock is the type of a lock that several owners can have, of [trace.IOLockAcquire].
const sharedLock = 1

// firstOwnMatching is less than all matching numbers that this package allots. Recorders use small numbers.
const firstOwnMatching = 1 << 32
