package index

import (
	"slices"
	"strings"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// maxColors is the largest number of values of an attribute that get a number of their own. The
// last number stands for all further values.
const maxColors = 1 << 14

const otherValues = "…"

// nameKey returns the number of the name of a visit or claim that begins: the number of its region
// or, if an attribute names the spans, of the attribute's value. It returns NoRef for a span
// without the attribute.
func (w *worker) nameKey(c *trace.Cursor) uint32 {
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

// isColor reports whether the attribute with the number key names the spans. It caches its results
// in known.
func (b *builder) isColor(known *[]bool, key uint32) bool {
	for n := len(*known); n <= int(key); n++ {
		*known = append(*known, n < b.defs.Attributes.Len() && b.defs.Attributes.At(uint32(n)).Name == b.color)
	}
	return (*known)[key]
}

// value returns the number of a value of the attribute. A value that occurs for the first time gets
// the next number.
func (b *builder) value(v *trace.Value) uint32 {
	s := v.String()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.colored = true
	n, ok := b.values[s]
	if !ok {
		if len(b.values) >= maxColors-1 {
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

// attributes returns the sorted names of the attributes of the begins of visits and claims.
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

// checkColor returns an error if no visit or claim has the attribute.
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
