package index

import (
	"slices"
	"strings"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// mostValues is how many values of an attribute get a name of their own; the last one stands
// for all others.
const mostValues = 1 << 14

const otherValues = "…"

// key is what the begin of a visit or claim is named by: its region, or the value of the
// attribute, NoRef if it has none.
func (w *worker) key(c *trace.Cursor) uint32 {
	b := w.b
	if b.color == "" {
		return w.region(c.Ref())
	}
	keys, vals := c.Attrs()
	for i, k := range keys {
		if b.isColor(&w.isColor, k) {
			return b.value(&vals[i])
		}
	}
	return trace.NoRef
}

// isColor reports whether spans are named by an attribute; known is what was found out
// before.
func (b *builder) isColor(known *[]bool, key uint32) bool {
	for n := len(*known); n <= int(key); n++ {
		*known = append(*known, n < b.defs.Attributes.Len() && b.defs.Attributes.At(uint32(n)).Name == b.color)
	}
	return (*known)[key]
}

// value is the number of a value.
func (b *builder) value(v *trace.Value) uint32 {
	s := v.String()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.colored = true
	n, ok := b.values[s]
	if !ok {
		if len(b.values) >= mostValues-1 {
			s = otherValues
			if n, ok = b.values[s]; ok {
				return n
			}
		}
		n = uint32(len(b.values))
		b.values[strings.Clone(s)] = n
	}
	return n
}

// attributes are the names of those that visits and claims begin with, sorted.
func (b *builder) attributes() (names []string) {
	for _, w := range b.workers {
		for k, has := range w.attrs {
			if has && k < b.defs.Attributes.Len() && b.defs.Attributes.At(uint32(k)).Name != "" {
				names = append(names, b.defs.Attributes.At(uint32(k)).Name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// checkColor refuses an attribute that nothing has.
func (b *builder) checkColor() error {
	if b.colored {
		return nil
	}
	have := b.attributes()
	have = have[:min(len(have), 12)]
	want := "the name of an attribute of visits or claims; the trace has none"
	if len(have) > 0 {
		want = "an attribute that visits or claims have, perhaps " + strings.Join(have, ", ")
	}
	return &format.OptionError{Option: "color", Value: b.color, Expected: want}
}
