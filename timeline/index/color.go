package index

import (
	"slices"
	"strings"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// maxColors is the largest number of values of an attribute that get numbers of their own. The last number
// stands for all further values.
const maxColors = 1 << 14

const otherValues = "…"

// spanName takes the place of a region if attributes name or colour spans. name is the value of the
// attribute that names spans, and group is the value of the attribute that colours them.
type spanName struct{ name, group string }

// renames reports whether attributes take the place of regions.
func (b *builder) renames() bool { return b.color != "" || b.label != "" }

// nameKey returns the number of the name of a visit or claim that begins. This is the number of the region or,
// if attributes name the spans, the number of the attributes' values. If a span has neither a value nor
// another name, it returns NoRef.
func (w *worker) nameKey(c *trace.Cursor) uint32 {
	b := w.b
	switch {
	case b.label == "" && b.color == "":
		return w.region(c.Ref())
	case b.label == "":
		if v := attributeOf(b.defs, &w.isColor, b.color, c); v != nil {
			return b.value(spanName{name: v.String()}, true)
		}
		return trace.NoRef
	}
	var x spanName
	if b.defs.Regions.Has(c.Ref()) {
		x.name = b.defs.Regions.At(c.Ref()).Name
	}
	x.group = x.name
	if b.color != "" {
		x.group = ""
		if v := attributeOf(b.defs, &w.isColor, b.color, c); v != nil {
			x.group = v.String()
		}
	}
	v := attributeOf(b.defs, &w.isLabel, b.label, c)
	if v != nil {
		x.name = v.String()
	}
	return b.value(x, v != nil)
}

// attributeOf returns the value of the attribute called name, or nil if the row does not have it. known caches
// which attributes have this name.
func attributeOf(defs *trace.Definitions, known *[]bool, name string, c *trace.Cursor) *trace.Value {
	keys, values := c.Attrs()
	for i, k := range keys {
		for n := len(*known); n <= int(k); n++ {
			*known = append(*known, n < defs.Attributes.Len() && defs.Attributes.At(uint32(n)).Name == name)
		}
		if (*known)[k] {
			return &values[i]
		}
	}
	return nil
}

// value returns the number of a name. A name that occurs for the first time gets the next number. found
// reports whether the span has a value of the attribute that names spans.
func (b *builder) value(x spanName, found bool) uint32 {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.colored = b.colored || found
	n, ok := b.values[x]
	if !ok {
		if len(b.values) >= maxColors-1 {
			x = spanName{name: otherValues}
			if n, ok = b.values[x]; ok {
				return n
			}
		}
		n = uint32(len(b.values))
		b.values[spanName{strings.Clone(x.name), strings.Clone(x.group)}] = n
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

// checkColor returns an error if no visit or claim has the attribute that names spans.
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
	if b.label != "" {
		return &format.OptionError{Option: "label", Value: b.label, Expected: want}
	}
	return &format.OptionError{Option: "color", Value: b.color, Expected: want}
}
