package lookahead

import (
	"encoding/binary"

	"github.com/weft-trace/weft/trace"
)

// number is an element of a column of a batch.
type number interface {
	~uint16 | ~uint32 | ~uint64 | ~int64
}

// packRows returns the rows of a batch of several locations in a compact form, without their positions.
func packRows(b *trace.Batch) []byte {
	p := appendColumn(nil, b.Locs)
	p = appendColumn(p, b.Time)
	p = appendColumn(p, b.Kind)
	p = appendColumn(p, b.Ref)
	p = appendColumn(p, b.OpRow)
	p = appendColumn(p, b.OpEnd)
	p = appendColumn(p, b.Op)
	p = appendColumn(p, b.AttrRow)
	p = appendColumn(p, b.AttrKey)
	p = appendColumn(p, b.Derived)
	for _, v := range b.AttrVal {
		p = binary.AppendUvarint(append(p, byte(v.Type)), v.Num)
		p = append(binary.AppendUvarint(p, uint64(len(v.Str))), v.Str...)
	}
	return p
}

// unpackRows returns the rows that packRows has packed.
func unpackRows(p []byte) trace.Batch {
	b := trace.Batch{Loc: trace.MixedLoc, Locs: column[uint32](&p), Time: column[int64](&p), Kind: column[trace.Kind](&p),
		Ref: column[uint32](&p), OpRow: column[uint32](&p), OpEnd: column[uint32](&p), Op: column[uint64](&p),
		AttrRow: column[uint32](&p), AttrKey: column[uint32](&p), Derived: column[uint32](&p)}
	for range b.AttrKey {
		v := trace.Value{Type: trace.Type(p[0])}
		p = p[1:]
		v.Num = uvarint(&p)
		n := uvarint(&p)
		v.Str, p = string(p[:n]), p[n:]
		b.AttrVal = append(b.AttrVal, v)
	}
	return b
}

// appendColumn appends the number of elements of a column, and the differences of successive elements.
func appendColumn[T number](p []byte, list []T) []byte {
	p = binary.AppendUvarint(p, uint64(len(list)))
	last := uint64(0)
	for _, x := range list {
		p = binary.AppendVarint(p, int64(uint64(x)-last))
		last = uint64(x)
	}
	return p
}

// column returns the column at the begin of the packed bytes, and removes it from them.
func column[T number](p *[]byte) []T {
	list := make([]T, uvarint(p))
	last := uint64(0)
	for i := range list {
		x, n := binary.Varint(*p)
		*p = (*p)[n:]
		last += uint64(x)
		list[i] = T(last)
	}
	return list
}

func uvarint(p *[]byte) uint64 {
	x, n := binary.Uvarint(*p)
	*p = (*p)[n:]
	return x
}
