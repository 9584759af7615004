package transform

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/weft-trace/weft/trace"
)

// mergedOperations finds the collective operations of a merged trace. A trace may define very many.
type mergedOperations struct {
	ids      map[string]bool    // the numbers in use
	same     map[string]string  // the first number of each definition, by operationText
	complete map[[2]string]bool // number and operationText of all operations
	next     uint64             // above all numbers
}

func (m *mergedOperations) add(o trace.Named) {
	text := operationText(o)
	if _, ok := m.same[text]; !ok {
		m.same[text] = o.ID
	}
	m.ids[o.ID], m.complete[[2]string{o.ID, text}] = true, true
	m.reserve(o)
}

// reserve ensures that new operations get numbers above the number of operation o.
func (m *mergedOperations) reserve(o trace.Named) {
	if n, err := strconv.ParseUint(o.ID, 10, 64); err == nil && n < 1<<32-1 {
		m.next = max(m.next, n+1)
	}
}

// operationText returns a text that is the same for operations that differ only in their number.
func operationText(o trace.Named) string {
	b := strconv.AppendQuote(nil, o.Name)
	for _, a := range o.Attrs {
		b = strconv.AppendQuote(b, a.Key)
		b = fmt.Appendf(b, "%d %d %q", a.Value.Type, a.Value.Num, a.Value.Str)
	}
	return string(b)
}

// copyOperations adds the collective operations of a trace that defines its own operations. If another trace
// uses the number of an operation for a different one, the operation gets the next number.
func (mt *MergedTrace) copyOperations(p *mergeInput) {
	own := p.src.Operations.All()
	if len(mt.list) == 1 {
		for _, o := range own {
			mt.defs.Operations.Add(o)
		}
		return
	}
	had := mergedOperations{ids: map[string]bool{}, same: map[string]string{}, complete: map[[2]string]bool{}}
	for _, o := range mt.defs.Operations.All() {
		had.add(o)
	}
	for _, o := range own {
		had.reserve(o)
	}
	for _, o := range own {
		number, err := strconv.ParseUint(o.ID, 10, 64)
		text := operationText(o)
		if had.complete[[2]string{o.ID, text}] {
			continue
		}
		same, known := had.same[text]
		switch used := had.ids[o.ID]; {
		case used && known:
			o.ID = same
		case used:
			o.ID = strconv.FormatUint(had.next, 10)
			mt.defs.Operations.Add(o)
			had.add(o)
		default:
			mt.defs.Operations.Add(o)
			had.add(o)
			continue
		}
		if to, e := strconv.ParseUint(o.ID, 10, 64); e == nil && err == nil {
			if p.operations == nil {
				p.operations = map[uint64]uint64{}
			}
			p.operations[number] = to
		}
	}
}

// copyProperties adds the properties of a trace that no other trace has. If another trace has different values
// for a key, the key gets a number as a suffix: the number of the trace or, if that key is in use, the next
// number with which the key is unused. A trace can have a key several times.
func (mt *MergedTrace) copyProperties(src *trace.Definitions, number int) {
	valuesOf := func(d *trace.Definitions) map[string][]string {
		values := map[string][]string{}
		for _, a := range d.Properties.All() {
			values[a.Key] = append(values[a.Key], a.Value.String())
		}
		return values
	}
	had, own := valuesOf(&mt.defs), valuesOf(src)
	equal := map[string]bool{} // the keys whose values the other traces have
	for key, values := range own {
		old := map[string]bool{}
		for _, v := range had[key] {
			old[v] = true
		}
		equal[key] = had[key] != nil && !slices.ContainsFunc(values, func(v string) bool { return !old[v] })
	}
	names := map[string]string{}
	for _, a := range src.Properties.All() {
		if equal[a.Key] {
			continue
		}
		if had[a.Key] != nil && names[a.Key] == "" {
			name := ""
			for n := number; name == "" || had[name] != nil || own[name] != nil; n++ {
				name = fmt.Sprintf("%s (%d)", a.Key, n)
			}
			names[a.Key], had[name] = name, own[a.Key]
			mt.renamed++
		}
		a.Key = cmp.Or(names[a.Key], a.Key)
		mt.defs.Properties.Add(a)
	}
}
