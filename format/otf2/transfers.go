package otf2

import (
	"github.com/weft-trace/weft/trace"
)

// transfer converts a transfer to or from remote memory, or the end of such a transfer, that belongs to a
// communicator instead of a window, as in OTF. It returns OTF2's kind and operands. It notes that the
// communicator needs a window, and the operands refer to this window. The tag becomes the number by which a
// transfer and its end match. For other rows transfer returns the kind and no operands.
func (e *encoder) transfer(c *trace.Cursor) (kind trace.Kind, ops []uint64) {
	kind, e.memory = c.Kind(), trace.NoRef
	comm := uint64(trace.Undefined)
	switch {
	case c.Ref() != trace.NoRef:
	case kind == trace.RMAPut || kind == trace.RMAPutRemoteEnd || kind == trace.RMAGet:
		if comm, ops = c.Op(3), []uint64{c.Op(0), c.Op(1), c.Op(4)}; kind == trace.RMAPutRemoteEnd {
			kind = trace.RMAPut
		}
	case kind == trace.RMAEnd:
		comm, ops, kind = c.Op(1), []uint64{c.Op(2)}, trace.RMACompleteBlocking
	}
	if comm >= uint64(e.defs.Communicator.Len()) {
		return c.Kind(), nil
	}
	e.memory = uint32(comm)
	return kind, ops
}

// window returns the id of a window for the memory of a communicator's members. The ids follow the ids of the
// trace's own windows. A trace with transfers that belong to communicators has no windows of its own.
func (e *encoder) window(comm uint32) uint64 {
	id, known := e.windowIDs[comm]
	if !known {
		if e.windowIDs == nil {
			e.windowIDs = map[uint32]uint64{}
		}
		id = uint64(e.defs.Windows.Len()) + uint64(len(e.windows))
		e.windows, e.windowIDs[comm] = append(e.windows, comm), id
	}
	return id
}

// windowComm returns the id of a window's communicator.
func (e *encoder) windowComm(window uint64) uint64 {
	comm, known := e.windowComms[window]
	if !known {
		if n := uint64(e.defs.Windows.Len()); window >= n {
			comm = e.windows[window-n]
		} else {
			comm = e.defs.WindowCommunicator(uint32(window))
		}
		e.windowComms[window] = comm
	}
	if comm == trace.NoRef {
		return allComm
	}
	return uint64(comm) + firstID[Comms]
}

// setPeer turns the location of a record's peer into a rank in the record's communicator or window. member is false if
// the communicator does not have that location. Only the first operand can be a peer.
func (e *encoder) setPeer(c *trace.Cursor, k *eventKind, v []uint64) (member bool) {
	if k.ops[0].source != peer && k.ops[0].source != target {
		return true
	}
	field := &v[k.ops[0].field]
	if *field == undefined32 {
		e.stateRank(c, field)
		return true
	}
	var comm uint64
	if k.ops[0].source == peer {
		comm = v[k.ops[1].field]
	} else {
		comm = e.windowComm(v[k.ref])
	}
	location := uint32(*field)
	if comm == allComm {
		*field = e.communicating(mpiParadigm).place(location)
		return true
	}
	*field, member = e.members(uint32(comm-firstID[Comms])).rank(c.Location(), location)
	if !member {
		*field = undefined32
		e.missing |= 1
	}
	return member
}

// standIn returns the id of the communicator for a message without one, and counts that other tools see this
// communicator.
func (e *encoder) standIn(c *trace.Cursor) uint64 {
	e.countChanged(e.defs.Spec(c.Kind()).Name, "communicator",
		"ranks need a communicator; the event gets one of all locations")
	return allComm
}
