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
	if p.src.Conventions.OwnOperations && !mt.defs.Conventions.OwnOperations {
		return // the merged trace has the numbers of the model
	}
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
	if p.src.Conventions.OwnOperations || p.src.Operations.Len() > 0 {
		p.operations = map[uint64]uint64{}
	}
	for _, o := range own {
		number, err := strconv.ParseUint(o.ID, 10, 64)
		if _, twice := p.operations[number]; err == nil && !twice {
			p.operations[number] = number
		}
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
			p.operations[number] = to
		}
	}
}

// changeOperations translates the collective operations of a batch to the numbers of the model. b is the batch of
// the trace, and o is the batch of the merged trace.
func (m *mergeInput) changeOperations(b, o *trace.Batch) {
	at, end := 0, uint32(0) // index of the next row with operands, and the end of those before
	c := b.Cursor()
	for row := uint32(0); c.Next(); row++ {
		ops := m.calls.Standard(&c)
		if at == len(b.OpRow) || b.OpRow[at] != row {
			continue
		}
		to := o.Op[end:o.OpEnd[at]]
		end, at = o.OpEnd[at], at+1
		switch c.Kind() {
		case trace.CollectiveSummary:
			to[0] = ops[0]
		case trace.CollectiveBegin, trace.CollectiveEnd, trace.Collective, trace.CollectiveSnapshot:
			for i := range min(len(to), len(ops)) {
				const communicator = 1
				if to[i] = ops[i]; i == communicator && ops[i] != trace.Undefined {
					to[i] = uint64(m.mappedIndex(&m.src.Communicator, uint32(ops[i])))
				}
			}
		}
	}
}

// keepUndefinedOperations finds numbers for operations that one trace uses without a definition, and that other
// traces define: the operations stay undefined.
func (mt *MergedTrace) keepUndefinedOperations() {
	defined := mergedOperations{}
	for _, o := range mt.defs.Operations.All() {
		defined.reserve(o)
	}
	numbers := map[uint64]uint64{}
	for _, o := range mt.defs.Operations.All() {
		if n, err := strconv.ParseUint(o.ID, 10, 64); err == nil {
			numbers[n] = defined.next + n
		}
	}
	for _, p := range mt.list {
		if p.operations != nil {
			p.undefined = numbers
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
