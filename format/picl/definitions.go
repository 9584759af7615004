package picl

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/trace"
)

// definitions holds the contents of records of the types -5, -6 and -201 to -203, and the scopes to which they
// apply (specification section 4).
type definitions struct {
	labels      []label
	byEvent     map[int64][]int32 // indexes of labels by event type
	bySubset    []int32           // indexes of labels of subsets of event types
	names       []label           // labels of processors and processes
	descriptors []redefinition
	sets        map[setKey][]int64
}

type setKey struct{ typ, id int64 }

type scope struct {
	event, processor, process int64
	line                      int64
}

type label struct {
	scope
	text string
}

type redefinition struct {
	scope
	number  int64
	control *control
}

func newDefinitions() *definitions {
	return &definitions{byEvent: map[int64][]int32{}, sets: map[setKey][]int64{}}
}

// add adds a definition record. It returns a problem if the data of the record are invalid.
func (d *definitions) add(r *Record) (problem dataProblem) {
	sc := scope{r.Event, r.Processor, r.Process, r.Line}
	switch r.Type {
	case TypeLabel:
		l := label{sc, trace.ToUTF8(joinValues(r.Values))}
		if l.text == "" {
			return // the label has no event type, processor or process
		}
		if r.Event == -1 {
			d.names = append(d.names, l)
			return
		}
		i := int32(len(d.labels))
		d.labels = append(d.labels, l)
		if d.isSubset(r.Event) {
			d.bySubset = append(d.bySubset, i)
			return
		}
		d.byEvent[r.Event] = append(d.byEvent[r.Event], i)
	case TypeDescriptor:
		if len(r.Values) < 2 || r.Values[0].Type == trace.String {
			return dataProblem{"picl.descriptor", "no number and control string", "an integer and a quoted control string",
				trace.Warning}
		}
		for i := 0; i+1 < len(r.Values); i += 2 {
			text := r.Values[i+1].String()
			if n := closingQuote([]byte(text)); n == len(text)-1 {
				text = text[1:n]
			}
			c, err := parseControl(text)
			if err != nil {
				problem = dataProblem{"picl.descriptor", err.Error(), "a scanf control string", trace.Warning}
				continue
			}
			d.descriptors = append(d.descriptors, redefinition{sc, r.Values[i].Int(), c})
		}
	case TypeProcessorSet, TypeProcessSet, TypeEventSet:
		if len(r.Values) == 0 {
			return dataProblem{"picl.subset", "no subset id", "a subset id and its members", trace.Warning}
		}
		for _, v := range r.Values {
			if v.Type == trace.Float32 || v.Type == trace.Float64 {
				return dataProblem{"picl.subset", "the floating-point number " + v.String(),
					"integers, such as those of the descriptor \"%d\"", trace.Warning}
			}
			if v.Type == trace.String {
				expected := "a number"
				if _, err := strconv.ParseInt(v.Str, 10, 64); err == nil {
					expected = "integers, such as those of the descriptor \"%d\""
				}
				return dataProblem{"picl.subset", "the text " + strconv.Quote(v.Str), expected, trace.Warning}
			}
		}
		if r.Values[0].Int() == -1 {
			return dataProblem{"picl.subset", "subset id -1, which is all", "an id of its own; the record does not count",
				trace.Warning}
		}
		if id := r.Values[0].Int(); r.Type == TypeEventSet && id < -1 && (subset(id) != nil || specIndex(id) != 0) {
			problem = dataProblem{"picl.subset", fmt.Sprintf("subset id %d, which is an event type or a predefined subset", id),
				"an id of its own; the record counts", trace.Warning}
		}
		var m []int64
		for _, v := range r.Values[1:] {
			m = append(m, v.Int())
		}
		id := r.Values[0].Int()
		d.sets[setKey{r.Type, id}] = m
		if r.Type == TypeEventSet { // earlier labels of this number are labels of the subset
			d.bySubset = append(d.bySubset, d.byEvent[id]...)
			delete(d.byEvent, id)
		}
	}
	return
}

// joinValues returns the texts of all values with blanks between them.
func joinValues(vals []trace.Value) string {
	var b []byte
	for i, v := range vals {
		if i > 0 {
			b = append(b, ' ')
		}
		b = append(b, v.String()...)
	}
	return string(b)
}

// scopeRank returns how specific a scope is for a record, or 0 if it does not apply. An exact number is more
// specific than a subset, and a subset more than all. The event type has precedence over the processor, and
// the processor over the process.
func (d *definitions) scopeRank(s *scope, event, processor, process, line int64) int {
	if s.line > line {
		return 0
	}
	in, _ := d.inEventSubset(s.event, event)
	e, p := rank(s.event, event, in), d.placeRank(s, processor, process)
	if e == 0 || p == 0 {
		return 0
	}
	return e*16 + p
}

// placeRank is like scopeRank, but ranks only the processor and the process of the scope.
func (d *definitions) placeRank(s *scope, processor, process int64) int {
	p := rank(s.processor, processor, d.inSet(TypeProcessorSet, s.processor, processor))
	q := rank(s.process, process, d.inSet(TypeProcessSet, s.process, process))
	if p == 0 || q == 0 {
		return 0
	}
	return p*4 + q
}

func rank(have, want int64, member bool) int {
	switch {
	case have == want:
		return 3
	case have != -1 && member:
		return 2
	case have == -1:
		return 1
	}
	return 0
}

// hasSubset reports whether a record defines the subset.
func (d *definitions) hasSubset(k setKey) bool {
	_, ok := d.sets[k]
	return ok
}

// isUndefined reports whether a number is the id of a subset that is neither defined nor predefined.
func (d *definitions) isUndefined(k setKey) bool {
	return k.id < -1 && !d.hasSubset(k) && (k.typ != TypeEventSet || k.id < -1000 && subset(k.id) == nil)
}

func (d *definitions) inSet(typ, id, x int64) bool {
	return id < -1 && slices.Contains(d.sets[setKey{typ, id}], x)
}

// labelOf returns the label that applies to an event type in a record.
func (d *definitions) labelOf(event, processor, process, line int64) (string, bool) {
	best, text := 0, ""
	for _, list := range [2][]int32{d.byEvent[event], d.bySubset} {
		for _, i := range list {
			l := &d.labels[i]
			if r := d.scopeRank(&l.scope, event, processor, process, line); r > 0 && r >= best {
				best, text = r, l.text
			}
		}
	}
	return text, best > 0
}

// nameOf returns the label of a processor or process. The record of such a label has the event type -1,
// and a processor or process other than -1.
func (d *definitions) nameOf(processor, process int64) string {
	best, text := 0, ""
	for i := range d.names {
		l := &d.names[i]
		if l.processor == -1 && l.process == -1 {
			continue
		}
		if r := d.placeRank(&l.scope, processor, process); r > 0 && r >= best {
			best, text = r, l.text
		}
	}
	return text
}

// controlOf returns the control string that an integer descriptor stands for in a record.
func (d *definitions) controlOf(n int64, event, processor, process, line int64) *control {
	best := 0
	var c *control
	for i := range d.descriptors {
		a := &d.descriptors[i]
		if a.number != n {
			continue
		}
		if r := d.scopeRank(&a.scope, event, processor, process, line); r > 0 && r >= best {
			best, c = r, a.control
		}
	}
	if c == nil && n >= 0 && n < int64(len(predefined)) {
		c = predefined[n]
	}
	return c
}

// setExplicitText sets the Text of a record to use a control string, if a definition has changed the
// meaning of the integer descriptor that would be written.
func (d *definitions) setExplicitText(r *Record) {
	if len(d.descriptors) == 0 || r.Text != "" || r.Type <= TypeTimes && r.Type >= TypeSizeVolumes &&
		len(r.Values)%2 == 0 {
		return
	}
	b := appendData(nil, r.Values)
	i := 2 + bytes.IndexByte(b[1:], ' ')
	if len(r.Values) == 0 || i < 2 || b[i]-'0' >= byte(len(predefined)) {
		return
	}
	n := int64(b[i] - '0')
	if usual := predefined[n]; d.controlOf(n, r.Event, r.Processor, r.Process, math.MaxInt64) != usual {
		r.Text = string(b[1:i]) + strconv.Quote(usual.text) + string(b[i+1:])
	}
}

// respells reports whether weft would write another descriptor for the values than the Text of the
// record has. line is the line of the record.
func (d *definitions) respells(r *Record, line int64) bool {
	_, data, _ := strings.Cut(r.Text, " ")
	if data == "" {
		return false
	}
	if usualDescriptor([]byte(data)) {
		n := int64(data[0] - '0')
		return d.controlOf(n, r.Event, r.Processor, r.Process, line) != predefined[n]
	}
	_, written, _ := bytes.Cut(r.appendData(nil, defaultDigits)[1:], []byte{' '})
	n := closingQuote([]byte(data))
	return data[0] != '"' || n < 0 || !bytes.HasPrefix(written, []byte(data[:n+1]))
}

// explicitText returns the Text of a record with a control string in place of an integer descriptor
// whose meaning has changed.
func (d *definitions) explicitText(r *Record) string {
	fields, data, _ := strings.Cut(r.Text, " ")
	number, data, _ := strings.Cut(data, " ")
	n, err := strconv.ParseInt(number, 10, 64)
	if len(d.descriptors) == 0 || err != nil {
		return r.Text
	}
	c := d.controlOf(n, r.Event, r.Processor, r.Process, math.MaxInt64)
	if c == nil || n >= 0 && n < int64(len(predefined)) && c == predefined[n] {
		return r.Text
	}
	quoted := `"` + c.text + `"`
	if closingQuote([]byte(quoted)) != len(quoted)-1 {
		return ""
	}
	return fields + " " + quoted + " " + data
}

// descriptorResolver finds the control strings of descriptors for one goroutine.
type descriptorResolver struct {
	defs   *definitions
	inputs map[string]*control
}

func (s *descriptorResolver) control(n int64, h *head, line int64) *control {
	if len(s.defs.descriptors) == 0 {
		if n >= 0 && n < int64(len(predefined)) {
			return predefined[n]
		}
		return nil
	}
	return s.defs.controlOf(n, h.f[1], h.f[3], h.f[4], line)
}

func (s *descriptorResolver) inline(text string) (*control, error) {
	if c := s.inputs[text]; c != nil {
		return c, nil
	}
	c, err := parseControl(text)
	if err != nil {
		return nil, err
	}
	// A file with more control strings than this limit is unlikely to repeat them.
	if s.inputs == nil || len(s.inputs) > 1000 {
		s.inputs = map[string]*control{}
	}
	s.inputs[text] = c
	return c, nil
}

func isDefinition(typ int64) bool {
	return typ == TypeLabel || typ == TypeDescriptor || typ <= TypeProcessorSet && typ >= TypeEventSet
}

// definitionTypes holds the names of the types of definition records.
var definitionTypes = map[int64]string{TypeLabel: "label", TypeDescriptor: "descriptor",
	TypeProcessorSet: "subset of processors", TypeProcessSet: "subset of processes",
	TypeEventSet: "subset of event types"}
