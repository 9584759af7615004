package otf2

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// Record is a definition, an event or a marker: an id, and the values of its fields as
// docs/formats/otf2.md lists them, repeated ones where they stand. References are as wide
// as there, so that all ones are undefined; signed numbers have their bits in two's
// complement, floating-point ones as IEEE has them, and texts their place in Texts.
type Record struct {
	ID     uint8
	Values []uint64
	Texts  []string
}

// cursor goes through bytes. What is read behind the end, or what is malformed, is 0, and
// bad says so from then on.
type cursor struct {
	b   []byte
	at  int
	big bool // the byte order
	bad bool
	// loose is that a number has more bytes than it needs, missing how many of its last fields
	// a record ends before.
	loose   bool
	missing int
}

func (c *cursor) fail() uint64 {
	c.bad, c.at = true, len(c.b)
	return 0
}

func (c *cursor) byte() uint64 {
	if c.at >= len(c.b) {
		return c.fail()
	}
	c.at++
	return uint64(c.b[c.at-1])
}

// fixed reads n bytes as a number.
func (c *cursor) fixed(n int) (v uint64) {
	if len(c.b)-c.at < n {
		return c.fail()
	}
	b := c.b[c.at : c.at+n]
	c.at += n
	if c.big {
		for _, x := range b {
			v = v<<8 | uint64(x)
		}
		return v
	}
	for i := n - 1; i >= 0; i-- {
		v = v<<8 | uint64(b[i])
	}
	return v
}

// compressed reads a number of up to size bytes.
func (c *cursor) compressed(size int) uint64 {
	n := int(c.byte())
	switch {
	case n == 0:
		return 0
	case n == 0xff:
		return math.MaxUint64 >> (64 - 8*size)
	case n > size:
		return c.fail()
	}
	v := c.fixed(n)
	if v>>(8*(n-1)) == 0 {
		c.loose = true
	}
	return v
}

func (c *cursor) text() string {
	for i := c.at; i < len(c.b); i++ {
		if c.b[i] == 0 {
			s := string(c.b[c.at:i])
			c.at = i + 1
			return s
		}
	}
	c.fail()
	return ""
}

// length reads that of a record.
func (c *cursor) length() uint64 {
	if n := c.byte(); n < 0xff {
		return n
	}
	return c.fixed(8)
}

// The types of values (docs/formats/otf2.md, "Enumerations").
const (
	typeUint8 = 1 + iota
	typeUint16
	typeUint32
	typeUint64
	typeInt8
	typeInt16
	typeInt32
	typeInt64
	typeFloat
	typeDouble
	typeString
	typeAttribute
	typeLocation
	typeLocationGroup = 25
)

// tableOf is the table of a reference of a type; noTable if it is none.
func tableOf(typ uint64) Table {
	switch {
	case typ == typeString:
		return Strings
	case typ >= typeAttribute && typ < typeLocationGroup:
		return [...]Table{Attributes, Locations, Regions, Groups, Metrics, Comms, Parameters, Windows, SourceLocations,
			CallingContexts, InterruptGenerators, IOFiles, IOHandles}[typ-typeAttribute]
	case typ == typeLocationGroup:
		return LocationGroups
	}
	return noTable
}

// typed reads a value of a type.
func (c *cursor) typed(typ uint64) uint64 {
	switch typ {
	case typeUint8:
		return c.byte()
	case typeInt8:
		return uint64(int64(int8(c.byte())))
	case typeUint16:
		return c.fixed(2)
	case typeInt16:
		return uint64(int64(int16(c.fixed(2))))
	case typeUint32:
		return c.compressed(4)
	case typeInt32:
		return uint64(int64(int32(c.compressed(4))))
	case typeFloat:
		return c.fixed(4)
	case typeDouble:
		return c.fixed(8)
	case typeUint64, typeInt64, typeLocation:
		return c.compressed(8)
	}
	if tableOf(typ) != noTable {
		return c.compressed(4)
	}
	return c.compressed(8)
}

// attributes goes past the bytes of a list of attributes.
func (c *cursor) attributes() {
	n := c.compressed(4)
	if n > uint64(len(c.b)-c.at)/2 {
		c.fail()
		return
	}
	for range n {
		c.compressed(4)
		c.typed(c.byte())
	}
}

// record reads the values of a record of a type into r, whose memory is used again. What
// an old file ends before has the value that its field says.
func (c *cursor) record(t *recordType, r *Record) {
	r.Values, r.Texts = r.Values[:0], r.Texts[:0]
	c.fields(t.fields, r)
	if t.each == nil {
		return
	}
	n := r.Values[len(r.Values)-1]
	if n > uint64(len(c.b)-c.at) { // each is a byte at least
		c.fail()
		return
	}
	for range n {
		c.fields(t.each, r)
	}
	c.fields(t.after, r)
}

func (c *cursor) fields(l []field, r *Record) {
	first := len(r.Values)
	for i := range l {
		f := &l[i]
		if c.at == len(c.b) && len(r.Values) > 0 && f.enc != encText && !c.bad {
			// Later versions have put fields at the end.
			r.Values = append(r.Values, f.none)
			c.missing++
			continue
		}
		v := uint64(0)
		switch f.enc {
		case encByte:
			v = c.byte()
		case enc32:
			v = c.compressed(4)
		case enc64:
			v = c.compressed(8)
		case encFixed:
			v = c.fixed(8)
		case encText:
			v = uint64(len(r.Texts))
			r.Texts = append(r.Texts, c.text())
		case encTyped:
			typ := r.Values[len(r.Values)-1]
			if f.other >= 0 {
				typ = r.Values[first+f.other]
			}
			v = c.typed(typ)
		}
		r.Values = append(r.Values, v)
	}
}

// The bytes that stand for byte orders.
const (
	littleEndian = 0x42
	bigEndian    = 0x23
)

// appendCompressed appends a number that has size bytes at most.
func appendCompressed(b []byte, v uint64, size int) []byte {
	switch {
	case v == 0:
		return append(b, 0)
	case v == math.MaxUint64>>(64-8*size):
		return append(b, 0xff)
	}
	n := (bits.Len64(v) + 7) / 8
	b = append(b, byte(n))
	return binary.LittleEndian.AppendUint64(b, v)[:len(b)+n]
}

// appendTyped appends a value of a type.
func appendTyped(b []byte, typ, v uint64) []byte {
	switch typ {
	case typeUint8, typeInt8:
		return append(b, byte(v))
	case typeUint16, typeInt16:
		return binary.LittleEndian.AppendUint16(b, uint16(v))
	case typeUint32, typeInt32:
		return appendCompressed(b, v&undefined32, 4)
	case typeFloat:
		return binary.LittleEndian.AppendUint32(b, uint32(v))
	case typeDouble:
		return binary.LittleEndian.AppendUint64(b, v)
	case typeUint64, typeInt64, typeLocation:
		return appendCompressed(b, v, 8)
	}
	if tableOf(typ) != noTable {
		return appendCompressed(b, v&undefined32, 4)
	}
	return appendCompressed(b, v, 8)
}

// appendRecord appends a record of a type: its id, its length unless it has none, and its
// fields, the values of which must be as many as it has.
func appendRecord(b []byte, t *recordType, r *Record) []byte {
	b = append(b, r.ID)
	if t.bare {
		return appendFields(b, t.fields, r.Values, r.Texts)
	}
	at := len(b)
	b = append(b, 0)
	v := r.Values
	b = appendFields(b, t.fields, v, r.Texts)
	if t.each != nil {
		for v = v[len(t.fields):]; len(v) >= len(t.each)+len(t.after); v = v[len(t.each):] {
			b = appendFields(b, t.each, v, r.Texts)
		}
		b = appendFields(b, t.after, v, r.Texts)
	}
	return withLength(b, at)
}

// withLength puts the length of what stands behind the byte at a place into it. Long
// records have it in nine bytes.
func withLength(b []byte, at int) []byte {
	n := len(b) - at - 1
	if n < 0xff {
		b[at] = byte(n)
		return b
	}
	b = append(b, make([]byte, 8)...)
	copy(b[at+9:], b[at+1:at+1+n])
	b[at] = 0xff
	binary.LittleEndian.PutUint64(b[at+1:], uint64(n))
	return b
}

func appendFields(b []byte, l []field, v []uint64, texts []string) []byte {
	for i := range l {
		switch f := &l[i]; f.enc {
		case encByte:
			b = append(b, byte(v[i]))
		case enc32:
			b = appendCompressed(b, v[i]&undefined32, 4)
		case enc64:
			b = appendCompressed(b, v[i], 8)
		case encFixed:
			b = binary.LittleEndian.AppendUint64(b, v[i])
		case encText:
			b = append(append(b, texts[v[i]]...), 0)
		case encTyped:
			typ := v[i-1]
			if f.other >= 0 {
				typ = v[f.other]
			}
			b = appendTyped(b, typ, v[i])
		}
	}
	return b
}
