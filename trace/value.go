package trace

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/weft-trace/weft/internal/digits"
)

// Type is the type of a [Value]. The first 26 types have the same numbers as in OTF2 and Pallas, so
// that attribute lists of these formats need no translation. The types of OTF's key-value pairs are
// among them, or are Char or Bytes.
type Type uint8

// The types of attribute values.
const (
	None Type = iota
	Uint8
	Uint16
	Uint32
	Uint64
	Int8
	Int16
	Int32
	Int64
	Float32
	Float64
	String
	AttributeRef
	LocationRef
	RegionRef
	GroupRef
	MetricRef
	CommRef
	ParameterRef
	WindowRef
	SourceRef
	CallingContextRef
	InterruptGeneratorRef
	FileRef
	HandleRef
	LocationGroupRef
	Char  // a single byte (OTF)
	Bytes // a string of bytes (OTF)
	Bool
	typeCount
)

// IOParadigmRef is the type of I/O paradigms in [Definitions.ValueNames]. Attributes cannot have it.
const IOParadigmRef Type = 255

var typeNames = [typeCount]string{"none", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64",
	"float32", "float64", "string", "attribute", "location", "region", "group", "metric", "communicator", "parameter",
	"window", "source", "calling-context", "interrupt-generator", "file", "handle", "location-group", "char", "bytes",
	"bool"}

// String returns the name of the type in JSON, documents and suffixes of attributes.
func (t Type) String() string {
	if t < typeCount {
		return typeNames[t]
	}
	return "type-" + strconv.Itoa(int(t))
}

// ParseType returns the type with a name, and whether there is one. It is the inverse of
// [Type.String].
func ParseType(s string) (Type, bool) {
	i := slices.Index(typeNames[:], s)
	return Type(max(i, 0)), i >= 0
}

// Value is an attribute value with a type. Num holds numbers and references: integers extended to 64
// bits, a Float32 as its 32 bits, and a Float64 as its 64 bits. Str holds the values of the types
// String and Bytes. It may share the memory of the batch that contains the value.
type Value struct {
	Num  uint64
	Str  string
	Type Type
}

// StringValue returns a value of type String.
func StringValue(s string) Value { return Value{Str: s, Type: String} }

// ToUTF8 returns s as UTF-8. A byte that is not part of valid UTF-8 is read as Latin-1. Decoders use
// it for names of definitions; attribute values keep their bytes.
func ToUTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	b := make([]byte, 0, len(s)+8)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			r = rune(s[i])
		}
		b = utf8.AppendRune(b, r)
		i += n
	}
	return string(b)
}

// ToLatin1 converts a UTF-8 text to Latin-1. ok is false if Latin-1 lacks one of the characters.
func ToLatin1(s string) (latin string, ok bool) {
	b := make([]byte, 0, len(s))
	for _, r := range s {
		if r > 0xff {
			return s, false
		}
		b = append(b, byte(r))
	}
	return string(b), true
}

// IntValue returns a value of type Int64.
func IntValue(n int64) Value { return Value{Num: uint64(n), Type: Int64} }

// FloatValue returns a value of type Float64.
func FloatValue(f float64) Value { return Value{Num: math.Float64bits(f), Type: Float64} }

// Int returns the value of an integer type or reference as a signed integer.
func (v Value) Int() int64 { return int64(v.Num) }

// Float returns the value of a number type as a float64.
func (v Value) Float() float64 {
	switch v.Type {
	case Float32:
		return float64(math.Float32frombits(uint32(v.Num)))
	case Float64:
		return math.Float64frombits(v.Num)
	case Uint8, Uint16, Uint32, Uint64, Char, Bool:
		return float64(v.Num)
	}
	return float64(int64(v.Num))
}

// Whole returns the value as an integer. ok is false unless v has an integer type, or v has a floating-point type
// and is a whole number below 2⁵³.
func (v Value) Whole() (n int64, ok bool) {
	switch v.Type {
	case Int8, Int16, Int32, Int64, Uint8, Uint16, Uint32, Uint64:
		return int64(v.Num), v.Type != Uint64 || v.Num <= math.MaxInt64
	case Float32, Float64:
		f := v.Float()
		return int64(f), math.Abs(f) < 1<<53 && f == math.Trunc(f)
	}
	return 0, false
}

// WithWhole returns n as a Value. The value has the type of v if v is a floating-point number. Otherwise it is an
// integer of 32 bits, or of 64 bits if n needs more than 32 bits.
func (v Value) WithWhole(n int64) Value {
	switch {
	case v.Type == Float32:
		return Value{Num: uint64(math.Float32bits(float32(n))), Type: Float32}
	case v.Type == Float64:
		return FloatValue(float64(n))
	case int64(int32(n)) == n:
		return Value{Num: uint64(n), Type: Int32}
	}
	return IntValue(n)
}

// Any returns the value in the form for JSON: numbers as numbers, NaN and infinities as texts, Bytes in
// hexadecimal, and references as indexes.
func (v Value) Any() any {
	switch v.Type {
	case None:
		return nil
	case String:
		return v.Str
	case Bytes:
		return hex.EncodeToString([]byte(v.Str))
	case Bool:
		return v.Num != 0
	case Int8, Int16, Int32, Int64:
		return int64(v.Num)
	case Float32, Float64:
		f := v.Float()
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return strconv.FormatFloat(f, 'g', -1, 64)
		}
		return f
	}
	return v.Num
}

// Append appends the value to b as text: numbers in decimal, floating-point numbers with the fewest
// digits that identify them, and Bytes in hexadecimal.
func (v Value) Append(b []byte) []byte {
	switch v.Type {
	case None:
		return b
	case String:
		return append(b, v.Str...)
	case Bytes:
		return hex.AppendEncode(b, []byte(v.Str))
	case Bool:
		return strconv.AppendBool(b, v.Num != 0)
	case Int8, Int16, Int32, Int64:
		return digits.AppendInt(b, int64(v.Num))
	case Float32:
		return strconv.AppendFloat(b, v.Float(), 'g', -1, 32)
	case Float64:
		return strconv.AppendFloat(b, v.Float(), 'g', -1, 64)
	}
	return digits.AppendUint(b, v.Num)
}

// String returns the text of [Value.Append].
func (v Value) String() string {
	if v.Type == String {
		return v.Str
	}
	return string(v.Append(nil))
}

// ParseValue reads a value of type t in the form in which [Value.Append] writes it.
func ParseValue(t Type, s string) (Value, error) {
	v := Value{Type: t}
	var err error
	switch t {
	case None:
	case String:
		v.Str = s
	case Bytes:
		var b []byte
		b, err = hex.DecodeString(s)
		v.Str = string(b)
	case Bool:
		var x bool
		x, err = strconv.ParseBool(s)
		if x {
			v.Num = 1
		}
	case Int8, Int16, Int32, Int64:
		var x int64
		x, err = strconv.ParseInt(s, 10, 64)
		v.Num = uint64(x)
	case Float32:
		var x float64
		x, err = strconv.ParseFloat(s, 32)
		v.Num = uint64(math.Float32bits(float32(x)))
	case Float64:
		var x float64
		x, err = strconv.ParseFloat(s, 64)
		v.Num = math.Float64bits(x)
	default:
		v.Num, err = strconv.ParseUint(s, 10, 64)
	}
	if err != nil {
		return v, fmt.Errorf("%q is not a %s", s, t)
	}
	return v, nil
}

// jsonValue is the JSON of a value: its text or, if that is not valid UTF-8, its bytes in
// hexadecimal.
type jsonValue struct {
	Type string `json:"type"`
	Text string `json:"text,omitempty"`
	Hex  string `json:"hex,omitempty"`
}

// MarshalJSON returns the type and the text of the value, from which UnmarshalJSON restores it
// exactly.
func (v Value) MarshalJSON() ([]byte, error) {
	j := jsonValue{Type: v.Type.String(), Text: v.String()}
	if !utf8.ValidString(j.Text) {
		j.Hex, j.Text = hex.EncodeToString([]byte(j.Text)), ""
	}
	return json.Marshal(j)
}

// UnmarshalJSON reads a value that MarshalJSON has written.
func (v *Value) UnmarshalJSON(b []byte) error {
	var j jsonValue
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	t, ok := ParseType(j.Type)
	if !ok {
		return fmt.Errorf("value type %q", j.Type)
	}
	if j.Hex != "" {
		text, err := hex.DecodeString(j.Hex)
		if err != nil {
			return err
		}
		j.Text = string(text)
	}
	x, err := ParseValue(t, j.Text)
	*v = x
	return err
}

// Equal reports whether two values have the same type and bits.
func (v Value) Equal(o Value) bool { return v == o }

// Attr is an attribute: a name and a value, of a definition, a link or a trace.
type Attr struct {
	Key   string
	Value Value
}

// Real is a floating-point number for JSON. Infinities and NaN, which JSON does not have, become
// the texts "+Inf", "-Inf" and "NaN".
type Real float64

// MarshalJSON implements [json.Marshaler].
func (r Real) MarshalJSON() ([]byte, error) {
	f := float64(r)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return strconv.AppendQuote(nil, strconv.FormatFloat(f, 'g', -1, 64)), nil
	}
	return json.Marshal(f)
}
