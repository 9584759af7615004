package index

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

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
		*known = append(*known, n < b.defs.Attributes.Len() && b.defs.Attributes.At(n).Name == b.color)
	}
	return (*known)[key]
}

// value is the number of a value.
func (b *builder) value(v *trace.Value) uint32 {
	s := valueName(v)
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

func valueName(v *trace.Value) string {
	if v.Type == trace.String {
		return v.Str
	}
	return v.String()
}

// findValues numbers the values by where they come first. Decoders that deliver several
// locations at a time would number them by chance, so they deliver all twice.
func (b *builder) findValues(ctx context.Context, d format.Decoder) error {
	if _, ok := d.(format.Trier); !ok || b.color == "" {
		return nil
	}
	var mu sync.Mutex
	var finders []*finder
	sel := trace.Everything()
	sel.Links = false
	err := format.ScanAnew(ctx, d, sel, func() func(int) format.Sink {
		finders = nil
		return func(int) format.Sink {
			mu.Lock()
			defer mu.Unlock()
			f := newFinder(b)
			finders = append(finders, f)
			return f
		}
	})
	all := newFinder(b)
	for _, f := range finders {
		for v, p := range f.first {
			all.found(v, p)
		}
	}
	b.numbered = map[string]uint32{}
	for i, v := range all.order()[:min(len(all.first), mostValues-1)] {
		b.numbered[v] = uint32(i)
	}
	return err
}

// place is an event: of which location, and behind how many others of the same worker.
type place struct {
	location uint32
	event    int64
}

// finder looks for the values in the events of a worker.
type finder struct {
	b       *builder
	isColor []bool
	events  int64 // so far
	first   map[string]place
}

func newFinder(b *builder) *finder { return &finder{b: b, first: map[string]place{}} }

// Batch looks at the begins of visits and claims.
func (f *finder) Batch(b *trace.Batch) error {
	last := -1
	for i, key := range b.AttrKey {
		row := int(b.AttrRow[i])
		if k := b.Kind[row]; row == last || k != trace.Enter && k != trace.ClaimBegin || !f.b.isColor(&f.isColor, key) {
			continue
		}
		last = row // its first value counts
		f.found(valueName(&b.AttrVal[i]), place{b.Location(row), f.events + int64(row)})
	}
	f.events += int64(len(b.Time))
	return nil
}

// Links has nothing to do with it.
func (f *finder) Links([]trace.Link) error { return nil }

// found notes a value. Of more than are needed it forgets the latter half.
func (f *finder) found(v string, at place) {
	before, ok := f.first[v]
	if ok && before.compare(at) <= 0 {
		return
	}
	if !ok {
		v = strings.Clone(v)
	}
	f.first[v] = at
	if len(f.first) >= 2*mostValues {
		for _, v := range f.order()[mostValues:] {
			delete(f.first, v)
		}
	}
}

// order is the values in the order of their places.
func (f *finder) order() []string {
	return slices.SortedFunc(maps.Keys(f.first), func(a, b string) int { return f.first[a].compare(f.first[b]) })
}

func (p place) compare(o place) int {
	return cmp.Or(cmp.Compare(p.location, o.location), cmp.Compare(p.event, o.event))
}

// attributes are the names of those that visits and claims begin with, sorted.
func (b *builder) attributes() (names []string) {
	for _, w := range b.workers {
		for k, has := range w.attrs {
			if has && k < b.defs.Attributes.Len() && b.defs.Attributes.At(k).Name != "" {
				names = append(names, b.defs.Attributes.At(k).Name)
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
