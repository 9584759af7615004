package otf

import (
	"math"
	"strings"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// ValueType is the type of the value of a key-value pair. The numbers are defined by the format
// (docs/formats/otf.md, "Key-value lists").
type ValueType uint32

// These are the types that a value of a key-value pair may have.
const (
	Char    ValueType = 0
	Int8    ValueType = 1
	Uint8   ValueType = 2
	Int16   ValueType = 3
	Uint16  ValueType = 4
	Int32   ValueType = 5
	Uint32  ValueType = 6
	Int64   ValueType = 7
	Uint64  ValueType = 8
	Float32 ValueType = 9
	Float64 ValueType = 10
	Bytes   ValueType = 11
	// UnknownValue may be the type in a DefKeyValue record. No pair has this type.
	UnknownValue ValueType = math.MaxUint32
)

// bits returns the size of a value in bits, 0 for Bytes.
func (t ValueType) bits() uint8 {
	switch t {
	case Char, Int8, Uint8:
		return 8
	case Int16, Uint16:
		return 16
	case Int32, Uint32, Float32:
		return 32
	case Int64, Uint64, Float64:
		return 64
	}
	return 0
}

// KeyValue is a key-value pair of a record.
type KeyValue struct {
	Key  uint32 // token of a DefKeyValue
	Type ValueType
	// Bits is the value of all types but Bytes, in as many bits as the type has:
	// signed numbers as two's complement, floats as their IEEE 754 pattern.
	Bits uint64
	// Bytes is the value of a pair of type Bytes.
	Bytes []byte
}

// Pair returns a key-value pair. Its type follows from that of v: int8 becomes Int8, uint64 Uint64,
// float32 Float32, float64 Float64, and so on. A []byte becomes Bytes and is not copied. [CharPair]
// returns a pair of type Char.
func Pair[T int8 | uint8 | int16 | uint16 | int32 | uint32 | int64 | uint64 | float32 | float64 | []byte](
	key uint32, v T,
) KeyValue {
	number := func(t ValueType, bits uint64) KeyValue {
		return KeyValue{Key: key, Type: t, Bits: bits & (^uint64(0) >> (64 - t.bits()))}
	}
	switch v := any(v).(type) {
	case int8:
		return number(Int8, uint64(v))
	case uint8:
		return number(Uint8, uint64(v))
	case int16:
		return number(Int16, uint64(v))
	case uint16:
		return number(Uint16, uint64(v))
	case int32:
		return number(Int32, uint64(v))
	case uint32:
		return number(Uint32, uint64(v))
	case int64:
		return number(Int64, uint64(v))
	case uint64:
		return number(Uint64, v)
	case float32:
		return number(Float32, uint64(math.Float32bits(v)))
	case float64:
		return number(Float64, math.Float64bits(v))
	case []byte:
		return KeyValue{Key: key, Type: Bytes, Bytes: v}
	}
	panic("unreachable")
}

// CharPair returns a pair of type Char.
func CharPair(key uint32, c byte) KeyValue { return KeyValue{Key: key, Type: Char, Bits: uint64(c)} }

// Int returns the value of an integer type, with its sign.
func (v *KeyValue) Int() int64 {
	switch v.Type {
	case Char, Int8:
		return int64(int8(v.Bits))
	case Int16:
		return int64(int16(v.Bits))
	case Int32:
		return int64(int32(v.Bits))
	}
	return int64(v.Bits)
}

// Float returns the value of any numeric type as a float64.
func (v *KeyValue) Float() float64 {
	switch v.Type {
	case Float32:
		return float64(math.Float32frombits(uint32(v.Bits)))
	case Float64:
		return math.Float64frombits(v.Bits)
	case Char, Int8, Int16, Int32, Int64:
		return float64(v.Int())
	}
	return float64(v.Bits)
}

// Find returns the pair of a record that has the key.
func (r *Record) Find(key uint32) (*KeyValue, bool) {
	for i := range r.KeyValues {
		if r.KeyValues[i].Key == key {
			return &r.KeyValues[i], true
		}
	}
	return nil, false
}

// arrayLine is the number of bytes of an array that one line holds.
const arrayLine = 100

const hexDigits = "0123456789abcdef"

// append appends the lines of a pair to b. An empty array has no line.
func (v *KeyValue) append(b []byte, long bool) []byte {
	head := func(b []byte) []byte {
		if long {
			b = appendHex(append(b, "KEY "...), uint64(v.Key))
			b = appendHex(append(b, " TYPE "...), uint64(v.Type))
			return append(b, " VALUE "...)
		}
		b = appendHex(append(b, 'K'), uint64(v.Key))
		b = appendHex(append(b, 'Y'), uint64(v.Type))
		return append(b, 'V')
	}
	if v.Type != Bytes {
		b = head(b)
		if v.Type == Char && v.Bits&0xff < 16 {
			b = append(b, '0') // libotf misreads a single digit
		}
		return append(appendHex(b, v.Bits&(^uint64(0)>>(64-v.Type.bits()))), '\n')
	}
	for rest := v.Bytes; len(rest) > 0; {
		b = head(b)
		n := min(len(rest), arrayLine)
		for _, c := range rest[:n] {
			b = append(b, hexDigits[c>>4], hexDigits[c&15])
		}
		if long {
			b = append(b, "LEN"...)
		} else {
			b = append(b, 'L')
		}
		b = append(appendHex(b, uint64(len(rest))), '\n')
		rest = rest[n:]
	}
	return b
}

// pairTypes maps types of the model to types of pairs.
var pairTypes = func() map[trace.Type]ValueType {
	m := map[trace.Type]ValueType{}
	for v, t := range valueTypes {
		if t != trace.Bytes {
			m[t] = ValueType(v)
		}
	}
	return m
}()

// definedType returns the type in the model of the values of a defined key. OTF has no type for texts, but the values
// of the attributes of a cut piece are texts.
func definedType(r *Record) trace.Type {
	switch {
	case r.Kind >= uint64(len(valueTypes)):
		return trace.None
	case r.Kind == uint64(Bytes) && strings.HasPrefix(r.Name, format.CutPrefix):
		return trace.String
	}
	return valueTypes[r.Kind]
}

// keyType returns the type in the definition of the key of an attribute. The pairs of the attribute have the same type.
func keyType(t trace.Type) ValueType {
	if t == trace.SourceRef || t == trace.InterruptGeneratorRef {
		return Uint64 // the model has no table for them, and their values are numbers
	}
	if v, ok := pairTypes[t]; ok {
		return v
	}
	return Bytes
}
