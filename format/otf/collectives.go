package otf

import (
	"github.com/weft-trace/weft/internal/lookahead"
	"github.com/weft-trace/weft/trace"
)

// operationKinds are the names of the kinds of operations, by their numbers in OTF.
var operationKinds = [...]string{"unknown", "barrier", "one-to-all", "all-to-one", "all-to-all"}

func operationKind(kind uint64) string {
	if kind > allToAll {
		kind = 0
	}
	return operationKinds[kind]
}

// operationOperands returns the operands of the record at the begin or end of a collective operation at a location:
// those of the model, and a matching number that all members use for this operation.
func (e *encoder) operationOperands(x *lookahead.Operation, location uint32) []uint64 {
	communicator := x.Operands[1]
	matching := x.Turn<<16 | communicator&0xffff
	if e.defs.IsSelf(communicator) {
		// Each location has its own communicator, and thus its own operation with its own matching number.
		matching |= uint64(location+1) << 48
	}
	return append(x.Operands[:5:5], matching)
}

// rootProcess returns the process of the root of a collective operation. rank is the root's rank in the
// communicator. It returns 0 and counts a loss if the location of the root is not known.
func (e *encoder) rootProcess(c *trace.Cursor, rank, communicator uint64) uint64 {
	if e.defs.IsSelf(communicator) && rank == 0 {
		return e.places[c.Location()].process
	}
	p := e.processOf(rank, communicator)
	if p == 0 {
		kind := c.Kind()
		if kind == trace.CollectiveBegin {
			kind = trace.CollectiveEnd // the root is an operand of the end event
		}
		e.loss.Add(e.defs.Spec(kind).Name, "root", e.restored(), "the location of the root is unknown", 1)
	}
	return p
}

// rootRank returns the rank of a location in a communicator, or [trace.Undefined] if the location is no member. It is
// the inverse of rootProcess. Several goroutines may call it.
func (m *model) rootRank(loc uint32, communicator uint64) uint64 {
	if m.defs.IsSelf(communicator) {
		return 0
	}
	ranks, ok := m.roots.Load(communicator)
	if !ok {
		x := map[uint32]uint64{}
		for rank, l := range m.defs.Memberships().Ranks(uint32(communicator)) {
			x[l] = uint64(rank)
		}
		ranks, _ = m.roots.LoadOrStore(communicator, x)
	}
	if rank, ok := ranks.(map[uint32]uint64)[loc]; ok {
		return rank
	}
	return trace.Undefined
}

// processOf returns the process that has a rank in a communicator, or 0 if there is none.
func (e *encoder) processOf(rank, communicator uint64) uint64 {
	list, ok := e.ranks[uint32(communicator)]
	if !ok && communicator < uint64(e.defs.Communicator.Len()) {
		if e.ranks == nil {
			e.members, e.ranks = e.defs.Memberships(), map[uint32][]uint32{}
		}
		list = e.members.Ranks(uint32(communicator))
		e.ranks[uint32(communicator)] = list
	}
	if rank >= uint64(len(list)) || list[rank] == trace.NoRef {
		return 0
	}
	return uint64(e.tokens.locations.at(int(list[rank])))
}
