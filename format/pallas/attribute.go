package pallas

import (
	"encoding/binary"
	"fmt"

	"github.com/weft-trace/weft/internal/plural"
)

// AttributeType states how to read the bytes of an attribute's value.
type AttributeType uint32

// The types of attributes. From StringValue on, values are refs of definitions (see [Ref]).
const (
	NoValue AttributeType = iota
	Uint8Value
	Uint16Value
	Uint32Value
	Uint64Value
	Int8Value
	Int16Value
	Int32Value
	Int64Value
	Float32Value
	Float64Value
	StringValue
	AttributeValue
	LocationValue
	RegionValue
	GroupValue
	MetricValue
	CommValue
	ParameterValue
	RMAWindowValue
	SourceValue
	ContextValue
	InterruptGeneratorValue
	IOFileValue
	IOHandleValue
	LocationGroupValue
)

var attributeTypes = [...]string{"none", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64",
	"float", "double",
	"string", "attribute", "location", "region", "group", "metric", "comm", "parameter", "rma_win", "source_code_location",
	"calling_context", "interrupt_generator", "io_file", "io_handle", "location_group"}

// String returns the type's name.
func (t AttributeType) String() string { return nameOrNumber(attributeTypes[:], uint32(t)) }

// Value is the value of an attribute in one occurrence of an event. Bytes is little-endian and shares
// the memory of the thread.
type Value struct {
	Attribute Ref
	Bytes     []byte
}

// Uint returns the value's bytes as a number. It ignores bytes after the eighth.
func (v Value) Uint() (n uint64) {
	for i := min(len(v.Bytes), 8) - 1; i >= 0; i-- {
		n = n<<8 | uint64(v.Bytes[i])
	}
	return n
}

// attributeList holds the encoded attributes of one occurrence of an event.
type attributeList struct {
	occurrence int64
	body       []byte // the number of values, followed by the values
}

// nextList returns the first attribute list of b, which holds the attributes of an event, and the rest
// of b (docs/formats/pallas.md, "Attributes"). ok is false at the end, and if the attributes are
// damaged.
func nextList(b []byte) (l attributeList, rest []byte, ok bool) {
	if len(b) < 7 {
		return l, nil, false
	}
	n := int(binary.LittleEndian.Uint16(b[4:]))
	if n < 7 || n > len(b) {
		return l, nil, false
	}
	return attributeList{int64(int32(binary.LittleEndian.Uint32(b))), b[6:n]}, b[n:], true
}

// checkAttributes returns an error that describes attributes that cannot be read or belong to no occurrence.
func (e *Event) checkAttributes() error {
	before, rest := int64(-1), e.attributes
	for len(rest) > 0 {
		l, more, ok := nextList(rest)
		switch {
		case !ok:
			return fmt.Errorf("%s behind the last attribute list", plural.Of(len(rest), "byte"))
		case l.occurrence <= before:
			return fmt.Errorf("the attributes of occurrence %d behind those of occurrence %d", l.occurrence, before)
		case uint64(l.occurrence) >= e.Timestamps.Size:
			return fmt.Errorf("attributes of occurrence %d of an event with %s", l.occurrence,
				plural.Of(e.Timestamps.Size, "occurrence"))
		}
		before, rest = l.occurrence, more
	}
	return nil
}

// values appends the values in the list to dst. The error describes what it found in place of a value.
func (l attributeList) values(dst []Value) ([]Value, error) {
	n, b := int(l.body[0]), l.body[1:]
	for range n {
		if len(b) < 6 {
			return dst, fmt.Errorf("a list that ends %s into an attribute", plural.Of(len(b), "byte"))
		}
		size := int(binary.LittleEndian.Uint16(b))
		if size < 6 || size > len(b) {
			return dst, fmt.Errorf("an attribute of %s in a list with %s left", plural.Of(size, "byte"),
				plural.Of(len(b), "byte"))
		}
		dst = append(dst, Value{binary.LittleEndian.Uint32(b[2:]), b[6:size]})
		b = b[size:]
	}
	if len(b) > 0 {
		return dst, fmt.Errorf("%s behind the last attribute of a list", plural.Of(len(b), "byte"))
	}
	return dst, nil
}
