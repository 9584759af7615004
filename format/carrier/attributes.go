package carrier

import (
	"encoding/binary"

	"github.com/weft-trace/weft/trace"
)

// AttributeTypes determines the types of attributes in a written trace whose format has one type for all values of an
// attribute. The zero value is ready to use.
type AttributeTypes struct{ first map[uint32]trace.Type }

// Of returns the type of an attribute: the type in its definition or, without such a type, that of the first value for
// which Of was called. t is the type of the next value. A value of another type than Of returns must be packed.
func (a *AttributeTypes) Of(d *trace.Definitions, attribute uint32, t trace.Type) trace.Type {
	if defined := d.Attributes.At(attribute).Type; defined != trace.None && defined <= trace.LocationGroupRef {
		return defined
	}
	if first, ok := a.first[attribute]; ok {
		return first
	}
	if a.first == nil {
		a.first = map[uint32]trace.Type{}
	}
	a.first[attribute] = t
	return t
}

// Number returns a packed row as a number whose little-endian bytes begin with the row. The other bytes are 0, which
// [Restorer.Amend] ignores. ok is false if the row has more than 8 bytes.
func Number(row []byte) (n uint64, ok bool) {
	var b [8]byte
	copy(b[:], row)
	return binary.LittleEndian.Uint64(b[:]), len(row) <= len(b)
}
