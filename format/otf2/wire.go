package otf2

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// Record is a definition, an event or a marker. It holds an id and the values of the fields, in the order of
// docs/formats/otf2.md. The values of repeated fields follow their count. A reference has the width that the
// list states. All bits of an undefined reference are set. Signed numbers are in two's complement,
// floating-point numbers in IEEE 754 encoding. The value of a text is its index in Texts.
type Record struct {
	ID     uint8
	Values []uint64
	Texts  []string
}

// cursor decodes bytes. A read after the end or of malformed bytes returns 0 and sets bad.
type cursor struct {
	b   []byte
	at  int
	big bool // the byte order is big-endian
	bad bool
	// loose is set if a number has more bytes than needed. missing is the number of fields at the end
	// that a record does not contain.
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
	if !c.big && cap(b) >= 8 { // eight bytes can be read at once, because b is followed by other bytes
		return binary.LittleEndian.Uint64(b[:8]) & (math.MaxUint64 >> (64 - 8*n))
	}
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

// compressed reads a compressed number of up to size bytes.
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

// length reads the length of a record.
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
	typeMetric        = 16
	typeLocationGroup = 25
)

// tableOf returns the table to which references of a type refer, or noTable if the type is not a reference
// type.
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

// typed reads a value of the given type.
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

// skipAttributes skips a list of attributes.
func (c *cursor) skipAttributes() {
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

// record reads the values of a record of type t into r. It reuses the memory of r. A field that an old file
// does not contain gets the default value of the field.
func (c *cursor) record(t *recordType, r *Record) {
	r.Values, r.Texts = r.Values[:0], r.Texts[:0]
	c.readFields(t.fields, r)
	if t.each == nil {
		return
	}
	n := r.Values[len(r.Values)-1]
	if n > uint64(len(c.b)-c.at) { // each element takes at least one byte
		c.fail()
		return
	}
	for range n {
		c.readFields(t.each, r)
	}
	c.readFields(t.after, r)
}

func (c *cursor) readFields(l []field, r *Record) {
	first := len(r.Values)
	for i := range l {
		f := &l[i]
		if c.at == len(c.b) && len(r.Values) > 0 && f.enc != encText && !c.bad {
			// Later versions have added fields at the end of records.
			r.Values = append(r.Values, f.absentValue)
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

// The bytes that mark the byte order.
const (
	littleEndian = 0x42
	bigEndian    = 0x23
)

// appendCompressed appends a number of at most size bytes in compressed form.
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

// appendTyped appends a value of the given type.
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

// appendRecord appends a record of type t: its id, its length unless the type has none, and its
// fields. r must have a value for each field.
func appendRecord(b []byte, t *recordType, r *Record) []byte {
	b = append(b, r.ID)
	if t.noLength {
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

// withLength inserts the length of the bytes from offset at on before these bytes. The length of a long
// record takes nine bytes.
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
