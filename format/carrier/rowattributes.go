package carrier

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/weft-trace/weft/trace"
)

// AttributeStorage states whether a record holds an attribute of its row.
type AttributeStorage uint8

// The values of AttributeStorage. A record may hold a value that differs from the attribute, such as the
// beginning of a text.
const (
	NotStored AttributeStorage = iota
	StoredExactly
	StoredInexactly
)

// attributeList is a list of attributes of a row.
type attributeList struct {
	keys   []uint32
	values []trace.Value
}

func (l *attributeList) add(key uint32, v trace.Value) {
	l.keys, l.values = append(l.keys, key), append(l.values, v)
}

// appendAttributes appends the attributes that row c has in addition to row base. Each of them follows the number of
// attributes of base since the one before it. If base has others or none, appendAttributes appends all attributes. The
// first number is twice the number of attributes, and 1 more if they are all attributes.
func appendAttributes(b []byte, c, base *trace.Cursor) []byte {
	keys, values := c.Attrs()
	baseKeys, baseValues := base.Attrs()
	held := func(i, next int) bool {
		return next < len(baseKeys) && keys[i] == baseKeys[next] && values[i] == baseValues[next]
	}
	next := 0
	for i := range keys {
		if held(i, next) {
			next++
		}
	}
	all := next < len(baseKeys) || len(baseKeys) == 0
	if all {
		b = binary.AppendUvarint(b, uint64(2*len(keys)+1))
	} else {
		b = binary.AppendUvarint(b, uint64(2*(len(keys)-next)))
	}
	next, before := 0, 0
	for i, k := range keys {
		if !all {
			if held(i, next) {
				next++
				continue
			}
			b = binary.AppendUvarint(b, uint64(next-before))
			before = next
		}
		b = appendValue(binary.AppendUvarint(b, uint64(k)), &values[i])
	}
	return b
}

// attributes reads the attributes of a packed row for the last row of b. If the row states additional attributes, the
// result also has those of b.
func (r *Restorer) attributes(u *Unpacker, b *trace.Batch) (l attributeList) {
	n, adds := u.Uvarint(), false
	if r.adds {
		n, adds = n>>1, n&1 == 0
	}
	var rest attributeList // attributes of b that are not in the result yet
	if adds {
		from := len(b.AttrRow)
		for from > 0 && b.AttrRow[from-1] == uint32(b.Len()-1) {
			from--
		}
		rest = attributeList{b.AttrKey[from:], b.AttrVal[from:]}
	}
	take := func(n int) {
		for i := range n {
			l.add(rest.keys[i], rest.values[i])
		}
		rest = attributeList{rest.keys[n:], rest.values[n:]}
	}
	for range u.count(n) {
		if adds {
			before := u.Uvarint()
			if before > uint64(len(rest.keys)) {
				u.Err = fmt.Errorf("packed row: found an attribute after %d others, expected at most %d", before, len(rest.keys))
				return l
			}
			take(int(before))
		}
		key := u.Uvarint()
		if u.Err == nil && key >= uint64(r.defs.Attributes.Len()) {
			u.Err = fmt.Errorf("packed row: found attribute %d, expected less than %d", key, r.defs.Attributes.Len())
		}
		if u.Err != nil {
			return l
		}
		l.add(uint32(key), u.value())
	}
	take(len(rest.keys))
	return l
}

// NoteAttributes counts, for [Rows.Report], that the record of c lacks attributes. Claims also lack operands, which
// another call must count.
func (r *Rows) NoteAttributes(c *trace.Cursor) {
	if !c.Derived() {
		r.note(recordGap{kind: c.Kind(), base: trace.NoOp, field: "attributes"})
	}
}

// LacksAttributes reports whether base lacks attributes of c.
func LacksAttributes(c, base *trace.Cursor) bool {
	keys, values := c.Attrs()
	baseKeys, baseValues := base.Attrs()
	return len(keys) > 0 && (!slices.Equal(keys, baseKeys) || !slices.Equal(values, baseValues))
}
