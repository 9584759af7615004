package format

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"

	"github.com/weft-trace/weft/internal/spool"
	"github.com/weft-trace/weft/trace"
)

// Table is a list for display and for programs. Its cells are strings, int64 integers, [trace.Real]
// numbers, and nil. The rows are packed. If there are many, they are in a temporary file.
type Table struct {
	Key     string // its key in JSON
	Title   string
	Columns []string
	rows    spool.Spool
	count   int
	// row is reused for each row.
	row []byte
}

// These bytes mark the types of the values in a packed row.
const (
	nullType = iota
	integerType
	realType
	textType
)

// Add appends a row to the table.
func (t *Table) Add(row ...any) error {
	b := t.row[:0]
	for _, v := range row {
		switch v := v.(type) {
		case nil:
			b = append(b, nullType)
		case int64:
			b = binary.AppendVarint(append(b, integerType), v)
		case trace.Real:
			b = binary.LittleEndian.AppendUint64(append(b, realType), math.Float64bits(float64(v)))
		case string:
			b = append(binary.AppendUvarint(append(b, textType), uint64(len(v))), v...)
		default:
			return fmt.Errorf("table %s: found a %T, expected an int64, a trace.Real, a string or nil", t.Key, v)
		}
	}
	t.row = b
	t.count++
	return t.rows.Done(append(binary.AppendUvarint(t.rows.Line(), uint64(len(b))), b...))
}

// Len returns the number of rows.
func (t *Table) Len() int { return t.count }

// Rows iterates over the rows. A row is valid until the next iteration. An error ends the
// iteration. No rows must be added after the first call.
func (t *Table) Rows() iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		w := &tableReader{yield: yield}
		if err := t.rows.CopyTo(w); err != nil && !errors.Is(err, errStopped) {
			yield(nil, err)
		}
	}
}

// Close removes the temporary file.
func (t *Table) Close() { t.rows.Close() }

// errStopped ends the reading of rows when the caller ends its loop.
var errStopped = errors.New("no more rows are wanted")

// tableReader unpacks rows from pieces that are written to it.
type tableReader struct {
	yield func([]any, error) bool
	rest  []byte // the incomplete row at the end of the last piece
	row   []any
}

// Write processes a piece of packed rows.
func (r *tableReader) Write(p []byte) (int, error) {
	data := append(r.rest, p...)
	for {
		size, n := binary.Uvarint(data)
		if n <= 0 || uint64(len(data)-n) < size {
			break
		}
		r.row = r.row[:0]
		for b := data[n : n+int(size)]; len(b) > 0; {
			kind := b[0]
			b = b[1:]
			switch kind {
			case nullType:
				r.row = append(r.row, nil)
			case integerType:
				v, n := binary.Varint(b)
				r.row, b = append(r.row, v), b[n:]
			case realType:
				r.row, b = append(r.row, trace.Real(math.Float64frombits(binary.LittleEndian.Uint64(b)))), b[8:]
			case textType:
				v, n := binary.Uvarint(b)
				r.row, b = append(r.row, string(b[n:n+int(v)])), b[n+int(v):]
			}
		}
		data = data[n+int(size):]
		if !r.yield(r.row, nil) {
			return 0, errStopped
		}
	}
	r.rest = append(r.rest[:0], data...)
	return len(p), nil
}
