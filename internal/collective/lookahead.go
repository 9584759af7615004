package collective

import (
	"slices"
	"strings"

	"github.com/weft-trace/weft/internal/chunks"
	"github.com/weft-trace/weft/trace"
)

// maxHeldRows limits how many of the rows that are held back are in memory as they are.
const maxHeldRows = 1 << 16

// heldBytes limits the memory for packed rows that are held back. More of them are in a temporary file.
const heldBytes = 16 << 20

// Lookahead passes rows on, and holds them back while a collective operation is open. It serves formats whose record
// at the begin of an operation contains values that other formats store with its end. The rows have numbers in the
// order in which they came. The memory is that of 65 536 rows, of 16 MiB packed rows, and of about 100 bytes for each
// operation that has begun. All further rows are in a temporary file.
type Lookahead struct {
	write      func(*trace.Cursor) error
	blocks     []heldBlock // the first rows, packed
	store      *chunks.Store
	rows, rest trace.Batch           // the following rows
	first      int                   // number of the first row in rows
	open       map[uint32]int        // row at which the current operation of each location has begun
	begun      map[int]*Operation    // operations that have ended, by the row at which they have begun
	current    map[uint32]*Operation // operation of each location, while the rows are written
	turns      map[memberKey]uint64  // number of operations at each location and communicator so far
}

// heldBlock is a block of packed rows.
type heldBlock struct {
	chunk chunks.Chunk
	first int // number of its first row
}

// Operation is a collective operation at one location.
type Operation struct {
	// Operands are those of the event at the end of the operation ([trace.CollectiveEnd]).
	Operands []uint64
	// Turn is the number, from 1, of the operation among those of the location on the same communicator. All members
	// take part in the operations of a communicator in the same order, so that it joins their operations.
	Turn uint64
}

// memberKey identifies a location in a communicator.
type memberKey struct {
	location     uint32
	communicator uint64
}

// NewLookahead returns a Lookahead that passes each row to a function, in the order of the rows. The cursor is valid
// during the call.
func NewLookahead(write func(*trace.Cursor) error) *Lookahead {
	h := &Lookahead{write: write, open: map[uint32]int{}, begun: map[int]*Operation{}, current: map[uint32]*Operation{},
		turns: map[memberKey]uint64{}}
	h.rows.Reset(trace.MixedLoc)
	return h
}

// Needs reports whether the rows of a batch must go through Batch, because rows are held back or because an operation
// begins in the batch. Without operations, it is faster to write rows directly.
func (h *Lookahead) Needs(b *trace.Batch) bool {
	return h.rows.Len() > 0 || len(h.blocks) > 0 || slices.Contains(b.Kind, trace.CollectiveBegin)
}

// Operation returns the operation that is open at a location while the rows from its begin to its end are written. It
// returns nil if there is none, or if the operation does not end.
func (h *Lookahead) Operation(location uint32) *Operation { return h.current[location] }

// Batch takes the rows of a batch. It writes the rows that need not wait, and copies the others.
func (h *Lookahead) Batch(b *trace.Batch) error {
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
			if !ok || len(ops) < endOperands {
				continue
			}
			delete(h.open, c.Location())
			at := memberKey{c.Location(), ops[1]}
			h.turns[at]++
			h.begun[begin] = &Operation{slices.Clone(ops), h.turns[at]}
		}
	}
	next := h.first + h.rows.Len()
	for _, n := range h.open {
		next = min(next, n)
	}
	if err := h.release(next); err != nil || h.rows.Len() <= maxHeldRows {
		return err
	}
	return h.pack()
}

// Flush writes all rows that were held back.
func (h *Lookahead) Flush() error {
	clear(h.open)
	return h.release(h.first + h.rows.Len())
}

// release writes the rows before the row with the number next that were held back. It writes packed rows only if it
// can write all rows of a block.
func (h *Lookahead) release(next int) error {
	if next == h.first && len(h.blocks) == 0 {
		return nil
	}
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
		if err := h.writeRows(&rows, rows.Len(), x.first); err != nil {
			return err
		}
		h.store.Drop(&x.chunk)
		h.blocks = h.blocks[1:]
	}
	n := next - h.first
	if err := h.writeRows(&h.rows, n, h.first); err != nil {
		return err
	}
	h.rest.Reset(trace.MixedLoc)
	h.rest.AppendRows(&h.rows, n, h.rows.Len())
	h.rows, h.rest, h.first = h.rest, h.rows, next
	return nil
}

// writeRows writes the first n rows of a batch. first is the number of the first row.
func (h *Lookahead) writeRows(b *trace.Batch, n, first int) error {
	c := b.Cursor()
	for i := range n {
		c.Next()
		if x := h.begun[first+i]; x != nil {
			h.current[c.Location()] = x
			delete(h.begun, first+i)
		}
		if err := h.write(&c); err != nil {
			return err
		}
		if c.Kind() == trace.CollectiveEnd {
			delete(h.current, c.Location())
		}
	}
	return nil
}

// pack moves the rows to a block of packed rows.
func (h *Lookahead) pack() error {
	if h.store == nil {
		h.store = chunks.New(heldBytes)
	}
	chunk, _, err := h.store.Keep(packRows(&h.rows))
	h.blocks = append(h.blocks, heldBlock{chunk, h.first})
	h.first += h.rows.Len()
	h.rows.Reset(trace.MixedLoc)
	return err
}

// Close removes the temporary file. The rows that are held back are lost.
func (h *Lookahead) Close() {
	if h.store != nil {
		h.store.Close()
	}
}
