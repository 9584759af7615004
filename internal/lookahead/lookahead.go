// Package lookahead holds rows back until later rows are known. It serves formats whose record at the begin of an
// operation contains values that other formats store with its end.
package lookahead

import (
	"slices"
	"strings"

	"github.com/weft-trace/weft/internal/chunks"
	"github.com/weft-trace/weft/trace"
)

// maxHeldRows limits the number of unpacked rows that are held back in memory.
const maxHeldRows = 1 << 16

// heldBytes limits the memory for packed rows that are held back. More of them are in a temporary file.
const heldBytes = 16 << 20

// Operations states which operations rows wait for.
type Operations int

const (
	// CollectiveOperations have an event without operands or without a matching number at their begin, and
	// [trace.CollectiveEnd] with operands. A location takes part in one of them at a time.
	CollectiveOperations Operations = iota
	// FileOperations have [trace.FileOperationBegin], and [trace.FileOperationEnd] with the same matching number.
	FileOperations
)

// Rows passes rows on, and holds them back while an operation is open. The rows have numbers in the order in which they
// came. Rows uses memory for 65 536 unpacked rows, 16 MiB of packed rows, and about 150 bytes for each operation that
// has begun. All further rows are in a temporary file.
type Rows struct {
	write      func(*trace.Cursor) error
	operations Operations
	blocks     []heldBlock // the first rows, packed
	store      *chunks.Store
	rows       trace.Batch          // the rows after the blocks, not packed
	spare      trace.Batch          // release swaps it with rows
	first      int                  // number of the first row in rows
	open       map[operationKey]int // rows at which the open operations have begun
	// waiting holds begins of operations. The first one is open; later ones may have ended.
	waiting []opening
	begun   map[int]*Operation          // operations that have ended, by the row at which they have begun
	current map[operationKey]*Operation // operations that end, while the rows from begin to end are written
	turns   map[memberKey]uint64        // number of operations at each location and communicator so far
}

// heldBlock is a block of packed rows.
type heldBlock struct {
	chunk chunks.Chunk
	first int // number of its first row
}

// Operation is an operation at one location.
type Operation struct {
	// Ref and Operands are the reference and the operands of the event at the end of the operation.
	Ref      uint32
	Operands []uint64
	// Turn is the number of a collective operation among those of the location on the same communicator. It counts from
	// 1, and is 0 for operations on files. All members take part in the operations of a communicator in the same order,
	// so that an operation has the same Turn at each member.
	Turn uint64
}

// operationKey identifies an open operation.
type operationKey struct {
	location uint32
	matching uint64 // 0 for collective operations
}

// opening is the begin of an operation.
type opening struct {
	key operationKey
	row int
}

// memberKey identifies a location in a communicator.
type memberKey struct {
	location     uint32
	communicator uint64
}

// The operands that identify an operation, as indices.
const (
	communicatorOperand = 1 // of trace.CollectiveEnd
	// of trace.CollectiveBegin and trace.CollectiveEnd
	collectiveMatchingOperand = 5
	beginMatchingOperand      = 0 // of trace.FileOperationBegin
	endMatchingOperand        = 3 // of trace.FileOperationEnd
)

// endOperands is the least number of operands of the end of a collective operation.
const endOperands = 5

// New returns rows that wait for operations. It passes each row to write, in the order of the rows. The cursor is valid
// during the call.
func New(operations Operations, write func(*trace.Cursor) error) *Rows {
	h := &Rows{write: write, operations: operations, open: map[operationKey]int{}, begun: map[int]*Operation{},
		current: map[operationKey]*Operation{}, turns: map[memberKey]uint64{}}
	h.rows.Reset(trace.MixedLoc)
	return h
}

// beginKind returns the kind of the events that begin operations.
func (h *Rows) beginKind() trace.Kind {
	if h.operations == FileOperations {
		return trace.FileOperationBegin
	}
	return trace.CollectiveBegin
}

// begins returns the key of the operation that begins in a row. ok is false if none begins that rows wait for.
func (h *Rows) begins(c *trace.Cursor) (k operationKey, ok bool) {
	ops := c.Ops()
	switch {
	case c.Kind() != h.beginKind():
	case h.operations == CollectiveOperations:
		return operationKey{c.Location(), 0}, len(ops) == 0 || c.Op(collectiveMatchingOperand) == trace.Undefined
	case len(ops) > beginMatchingOperand:
		return operationKey{c.Location(), ops[beginMatchingOperand]}, true
	}
	return k, false
}

// ends returns the key of the operation that ends in a row. ok is false if none ends with operands.
func (h *Rows) ends(c *trace.Cursor) (k operationKey, ok bool) {
	ops := c.Ops()
	switch {
	case h.operations == CollectiveOperations:
		return operationKey{c.Location(), 0}, c.Kind() == trace.CollectiveEnd && len(ops) >= endOperands
	case c.Kind() == trace.FileOperationEnd && len(ops) > endMatchingOperand:
		return operationKey{c.Location(), ops[endMatchingOperand]}, true
	}
	return k, false
}

// Needs reports whether the rows of a batch must go through Batch, because rows are held back or because an operation
// begins in the batch. Without operations, it is faster to write rows directly.
func (h *Rows) Needs(b *trace.Batch) bool {
	return h.rows.Len() > 0 || len(h.blocks) > 0 || slices.Contains(b.Kind, h.beginKind())
}

// Collective returns the collective operation that is open at a location while the rows from its begin to its end are
// written. It returns nil if there is none, or if the operation does not end.
func (h *Rows) Collective(location uint32) *Operation { return h.current[operationKey{location, 0}] }

// Begun returns the operation that begins in row c, while this row is written. It returns nil if there is none, or if
// the operation does not end.
func (h *Rows) Begun(c *trace.Cursor) *Operation {
	if k, ok := h.begins(c); ok {
		return h.current[k]
	}
	return nil
}

// Batch takes the rows of a batch. It writes the rows that need not wait, and copies the others.
func (h *Rows) Batch(b *trace.Batch) error {
	c := b.Cursor()
	for c.Next() {
		n, attrs := h.first+h.rows.Len(), len(h.rows.AttrVal)
		h.rows.AppendRow(&c)
		for i := attrs; i < len(h.rows.AttrVal); i++ {
			h.rows.AttrVal[i].Str = strings.Clone(h.rows.AttrVal[i].Str) // the batch belongs to the caller
		}
		if k, ok := h.begins(&c); ok {
			h.open[k] = n
			h.waiting = append(h.waiting, opening{k, n})
		} else if k, ok = h.ends(&c); ok {
			begin, ok := h.open[k]
			if !ok {
				continue
			}
			delete(h.open, k)
			x := &Operation{Ref: c.Ref(), Operands: slices.Clone(c.Ops())}
			if h.operations == CollectiveOperations {
				at := memberKey{c.Location(), c.Op(communicatorOperand)}
				h.turns[at]++
				x.Turn = h.turns[at]
			}
			h.begun[begin] = x
		}
	}
	next := h.first + h.rows.Len()
	for ; len(h.waiting) > 0; h.waiting = h.waiting[1:] {
		if x := h.waiting[0]; h.isOpen(x) {
			next = x.row
			break
		}
	}
	if err := h.release(next); err != nil || h.rows.Len() <= maxHeldRows {
		return err
	}
	return h.pack()
}

// isOpen reports whether an operation has not ended.
func (h *Rows) isOpen(x opening) bool {
	row, ok := h.open[x.key]
	return ok && row == x.row
}

// Flush writes all rows that were held back.
func (h *Rows) Flush() error {
	clear(h.open)
	h.waiting = nil
	return h.release(h.first + h.rows.Len())
}

// release writes the rows that are held back and whose number is less than next. It writes packed rows only if it can
// write all rows of a block.
func (h *Rows) release(next int) error {
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
	h.spare.Reset(trace.MixedLoc)
	h.spare.AppendRows(&h.rows, n, h.rows.Len())
	h.rows, h.spare, h.first = h.spare, h.rows, next
	return nil
}

// writeRows writes the first n rows of a batch. first is the number of the first row.
func (h *Rows) writeRows(b *trace.Batch, n, first int) error {
	c := b.Cursor()
	for i := range n {
		c.Next()
		if x := h.begun[first+i]; x != nil {
			k, _ := h.begins(&c)
			h.current[k] = x
			delete(h.begun, first+i)
		}
		if err := h.write(&c); err != nil {
			return err
		}
		if k, ok := h.ends(&c); ok {
			delete(h.current, k)
		}
	}
	return nil
}

// pack moves the rows to a block of packed rows.
func (h *Rows) pack() error {
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
func (h *Rows) Close() {
	if h.store != nil {
		h.store.Close()
	}
}
