package otf

import (
	"strings"

	"github.com/weft-trace/weft/trace"
)

// modelOperations are the collective operations that the model numbers as OTF2 does: their
// names, and what kind OTF says that they are. otfprofile aborts on one of no kind.
var modelOperations = [...]struct {
	name string
	kind uint64
}{
	{"barrier", barrier}, {"broadcast", oneToAll}, {"gather", allToOne}, {"gatherv", allToOne}, {"scatter", oneToAll}, {"scatterv", oneToAll},
	{"allgather", allToAll}, {"allgatherv", allToAll}, {"alltoall", allToAll}, {"alltoallv", allToAll}, {"alltoallw", allToAll}, {"allreduce", allToAll},
	{"reduce", allToOne}, {"reduce-scatter", allToAll}, {"scan", allToAll}, {"exscan", allToAll}, {"reduce-scatter-block", allToAll},
	{"create-handle", allToAll}, {"destroy-handle", allToAll}, {"allocate", allToAll}, {"deallocate", allToAll},
	{"create-handle-and-allocate", allToAll}, {"destroy-handle-and-deallocate", allToAll},
}

// operationKinds are the words for what sort an operation is, by their numbers in OTF.
var operationKinds = [...]string{"unknown", "barrier", "one-to-all", "all-to-one", "all-to-all"}

func operationKind(kind uint64) string {
	if kind > allToAll {
		kind = 0
	}
	return operationKinds[kind]
}

// A BeginCollective says what the operation is, which in other formats its end says. Rows are held
// back until the ends of all operations that have begun are there, but no more than mostHeld rows:
// what is behind them then is not known.
const mostHeld = 1 << 16

// lookahead are the rows that are held back.
type lookahead struct {
	rows, rest trace.Batch
	open       map[uint32]int // the row with which the operation of a location has begun
	begun      map[int]*operation
	current    map[uint32]*operation // of the locations, when their rows are written
	turns      map[turn]uint64       // how many operations there were
	ranks      map[uint32][]uint32   // locations, by communicator
}

// operation is a collective operation of one location: the operands of the model, and the number
// that it has at all members.
type operation struct {
	ops      []uint64
	matching uint64
}

// turn is a location in a communicator: the operations there come in the same order for all.
type turn struct {
	location     uint32
	communicator uint64
}

// hold takes the rows of a batch, and writes those that wait for nothing.
func (e *encoder) hold(b *trace.Batch) error {
	h := &e.held
	if h.open == nil {
		h.rows.Reset(trace.MixedLoc)
		h.open, h.begun, h.current = map[uint32]int{}, map[int]*operation{}, map[uint32]*operation{}
		h.turns = map[turn]uint64{}
	}
	c := b.Cursor()
	for c.Next() {
		n, attrs := h.rows.Len(), len(h.rows.AttrVal)
		h.rows.AppendRow(&c)
		for i := attrs; i < len(h.rows.AttrVal); i++ {
			h.rows.AttrVal[i].Str = strings.Clone(h.rows.AttrVal[i].Str) // b belongs to its maker
		}
		switch ops := c.Ops(); c.Kind() {
		case trace.CollectiveBegin:
			if len(ops) == 0 {
				h.open[c.Location()] = n
			}
		case trace.CollectiveEnd:
			begin, ok := h.open[c.Location()]
			if !ok || len(ops) < 5 {
				continue
			}
			delete(h.open, c.Location())
			at := turn{c.Location(), ops[1]}
			h.turns[at]++
			h.begun[begin] = &operation{append([]uint64(nil), ops...), h.turns[at]<<16 | ops[1]&0xffff}
		}
	}
	if h.rows.Len() > mostHeld {
		return e.release(h.rows.Len())
	}
	first := h.rows.Len()
	for _, n := range h.open {
		first = min(first, n)
	}
	return e.release(first)
}

// release writes the first n rows that are held back.
func (e *encoder) release(n int) error {
	h := &e.held
	if n == 0 {
		return nil
	}
	e.reader.model.learn(e.tokens)
	c := h.rows.Cursor()
	for i := range n {
		c.Next()
		if x := h.begun[i]; x != nil {
			h.current[c.Location()] = x
		}
		if err := e.event(&c); err != nil {
			return err
		}
		if c.Kind() == trace.CollectiveEnd {
			delete(h.current, c.Location())
		}
	}
	h.rest.Reset(trace.MixedLoc)
	h.rest.AppendRows(&h.rows, n, h.rows.Len())
	h.rows, h.rest = h.rest, h.rows
	for loc, i := range h.open {
		if h.open[loc] = i - n; i < n {
			delete(h.open, loc)
		}
	}
	begun := map[int]*operation{}
	for i, x := range h.begun {
		if i >= n {
			begun[i-n] = x
		}
	}
	h.begun = begun
	return nil
}

// processOf is the process of a rank of a communicator, 0 if there is none.
func (e *encoder) processOf(rank, communicator uint64) uint64 {
	h := &e.held
	list, ok := h.ranks[uint32(communicator)]
	if !ok && communicator < uint64(e.defs.Communicator.Len()) {
		if list = e.defs.Ranks(uint32(communicator)); h.ranks == nil {
			h.ranks = map[uint32][]uint32{}
		}
		h.ranks[uint32(communicator)] = list
	}
	if rank >= uint64(len(list)) || list[rank] == trace.NoRef {
		return 0
	}
	return uint64(e.tokens.locations.at(int(list[rank])))
}
