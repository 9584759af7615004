package pallas

import (
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// communicator returns the communicator to write in place of a communicator of the trace. Without a
// communicator, the ranks of an event are numbers of processes, but the file needs numbers of threads.
// Therefore a plain trace needs a communicator of all threads.
func (e *encoder) communicator(k trace.Kind, comm uint64) uint64 {
	if comm != trace.Undefined || !e.plain || e.from != nil {
		return comm
	}
	e.ofAll = true
	e.loss.Add(e.defs.Spec(k).Name, "communicator", format.Degraded,
		"ranks need a communicator; the event gets one of all threads", 1)
	return uint64(e.defs.Communicator.Len())
}

// root returns the root to write for a collective operation of a communicator. The ranks of all communicators of a
// plain trace are numbers of threads.
func (e *encoder) root(comm, root uint64) uint64 {
	if comm >= uint64(e.defs.Communicator.Len()) || !e.plain || e.from != nil {
		return root
	}
	ranks, ok := e.ranks[comm]
	if !ok {
		ranks = e.defs.Memberships().Ranks(uint32(comm))
		if e.ranks == nil {
			e.ranks = map[uint64][]uint32{}
		}
		e.ranks[comm] = ranks
	}
	if root < uint64(len(ranks)) && ranks[root] != trace.NoRef {
		return uint64(ranks[root])
	}
	return root
}

// undefinedComm returns the rank and the number of the communicator that an event of a trace from Pallas had, if the
// trace does not define the communicator. ok is false if there is no such number, the written trace uses it, or it
// is plain.
func (e *encoder) undefinedComm(c *trace.Cursor, comm uint64) (rank, number uint32, ok bool) {
	if comm != trace.Undefined || e.defs.Origin != "pallas" || e.plain {
		return NoRef, NoRef, false
	}
	rank = NoRef
	keys, values := c.Attrs()
	for i, k := range keys {
		switch e.defs.Attributes.At(k).Name {
		case rankName:
			rank = uint32(values[i].Num)
		case commName:
			number, ok = uint32(values[i].Num), values[i].Num >= uint64(e.defs.Communicator.Len())
		}
	}
	return rank, number, ok
}
