package otf

import (
	"strings"

	"github.com/weft-trace/weft/internal/chunks"
	"github.com/weft-trace/weft/trace"
)

// modelOperations lists the collective operations by their numbers in the model, which are OTF2's numbers.
// kind is OTF's kind of the operation. otfprofile aborts if an operation has no kind.
var modelOperations = [...]struct {
	name string
	kind uint64
}{
	{"barrier", barrier}, {"broadcast", oneToAll}, {"gather", allToOne},
	{"gatherv", allToOne}, {"scatter", oneToAll}, {"scatterv", oneToAll},
	{"allgather", allToAll}, {"allgatherv", allToAll}, {"alltoall", allToAll},
	{"alltoallv", allToAll}, {"alltoallw", allToAll}, {"allreduce", allToAll},
	{"reduce", allToOne}, {"reduce-scatter", allToAll}, {"scan", allToAll},
	{"exscan", allToAll}, {"reduce-scatter-block", allToAll}, {"create-handle", allToAll},
	{"destroy-handle", allToAll}, {"allocate", allToAll}, {"deallocate", allToAll},
	{"create-handle-and-allocate", allToAll}, {"destroy-handle-and-deallocate", allToAll},
}

// operationKinds are the names of the kinds of operations, by their numbers in OTF.
var operationKinds = [...]string{"unknown", "barrier", "one-to-all", "all-to-one", "all-to-all"}

func operationKind(kind uint64) string {
	if kind > allToAll {
		kind = 0
	}
	return operationKinds[kind]
}

// maxHeldRows limits how many of the rows that are held back are in memory as they are. In OTF the record at
// the begin of a collective operation contains values that other formats store with its end. Rows are
// therefore held back until all begun operations have ended.
const maxHeldRows = 1 << 16

// heldBytes limits the memory for packed rows that are held back. More of them are in a temporary file.
const heldBytes = 16 << 20

// lookahead holds the rows that wait for the end of a collective operation. The rows have numbers in the order
// in which they came.
type lookahead struct {
	blocks     []heldBlock // the first rows, packed
	store      *chunks.Store
	rows, rest trace.Batch           // the following rows
	first      int                   // number of the first row in rows
	open       map[uint32]int        // row at which the current operation of each location has begun
	begun      map[int]*operation    // operations that have ended, by the row at which they have begun
	current    map[uint32]*operation // operation of each location, while the rows are written
	turns      map[memberKey]uint64  // number of operations at each location and communicator so far
	ranks      map[uint32][]uint32   // locations of the ranks, by communicator
}

// heldBlock is a block of packed rows.
type heldBlock struct {
	chunk chunks.Chunk
	first int // number of its first row
}

// operation is a collective operation at one location: its operands in the model, and a number that all
// members of the communicator use for this operation.
type operation struct {
	ops      []uint64
	matching uint64
}

// memberKey identifies a location in a communicator. All members take part in the operations of a
// communicator in the same order, so counting them joins the operations.
type memberKey struct {
	location     uint32
	communicator uint64
}

// holdRows takes the rows of a batch. It writes the rows that need not wait, and holds the others back.
func (e *encoder) holdRows(b *trace.Batch) error {
	h := &e.held
	if h.open == nil {
		h.rows.Reset(trace.MixedLoc)
		h.open, h.begun, h.current = map[uint32]int{}, map[int]*operation{}, map[uint32]*operation{}
		h.turns = map[memberKey]uint64{}
	}
	c := b.Cursor()
	for c.Next() {
		n, attrs := h.first+h.rows.Len(), len(h.rows.AttrVal)
		h.rows.AppendRow(&c)
		for i := attrs; i < len(h.rows.AttrVal); i++ {
			h.rows.AttrVal[i].Str = strings.Clone(h.rows.AttrVal[i].Str) // the batch belongs to the caller
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
			at := memberKey{c.Location(), ops[1]}
			h.turns[at]++
			matching := h.turns[at]<<16 | ops[1]&0xffff
			if e.defs.IsSelf(ops[1]) {
				matching |= uint64(c.Location()+1) << 48 // other locations are in other operations
			}
			h.begun[begin] = &operation{append([]uint64(nil), ops...), matching}
		}
	}
	next := h.first + h.rows.Len()
	for _, n := range h.open {
		next = min(next, n)
	}
	if err := e.releaseRows(next); err != nil || h.rows.Len() <= maxHeldRows {
		return err
	}
	return h.pack()
}

// releaseAll writes all rows that were held back.
func (e *encoder) releaseAll() error {
	clear(e.held.open)
	return e.releaseRows(e.held.first + e.held.rows.Len())
}

// releaseRows writes the rows before the row with the number next that were held back. It writes packed rows
// only if it can write all rows of a block.
func (e *encoder) releaseRows(next int) error {
	h := &e.held
	if next == h.first && len(h.blocks) == 0 {
		return nil
	}
	e.reader.model.indexTokens(e.tokens)
	for len(h.blocks) > 0 {
		end := h.first
		if len(h.blocks) > 1 {
			end = h.blocks[1].first
		}
		if end > next {
			return nil
		}
		x := &h.blocks[0]
		var room []byte
		b, err := h.store.Read(x.chunk, &room)
		if err != nil {
			return err
		}
		rows := unpackRows(b)
		if err := e.writeHeld(&rows, rows.Len(), x.first); err != nil {
			return err
		}
		h.store.Drop(&x.chunk)
		h.blocks = h.blocks[1:]
	}
	n := next - h.first
	if err := e.writeHeld(&h.rows, n, h.first); err != nil {
		return err
	}
	h.rest.Reset(trace.MixedLoc)
	h.rest.AppendRows(&h.rows, n, h.rows.Len())
	h.rows, h.rest, h.first = h.rest, h.rows, next
	return nil
}

// writeHeld writes the first n rows of a batch. first is the number of the first row.
func (e *encoder) writeHeld(b *trace.Batch, n, first int) error {
	h := &e.held
	c := b.Cursor()
	for i := range n {
		c.Next()
		if x := h.begun[first+i]; x != nil {
			h.current[c.Location()] = x
			delete(h.begun, first+i)
		}
		if err := e.writeRow(&c); err != nil {
			return err
		}
		if c.Kind() == trace.CollectiveEnd {
			delete(h.current, c.Location())
		}
	}
	return nil
}

// any reports whether rows are held back.
func (h *lookahead) any() bool { return h.rows.Len() > 0 || len(h.blocks) > 0 }

// pack moves the rows to a block of packed rows.
func (h *lookahead) pack() error {
	if h.store == nil {
		h.store = chunks.New(heldBytes)
	}
	chunk, _, err := h.store.Keep(packRows(&h.rows))
	h.blocks = append(h.blocks, heldBlock{chunk, h.first})
	h.first += h.rows.Len()
	h.rows.Reset(trace.MixedLoc)
	return err
}

// close removes the temporary file.
func (h *lookahead) close() {
	if h.store != nil {
		h.store.Close()
	}
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

// processOf returns the process that has a rank in a communicator, or 0 if there is none.
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
