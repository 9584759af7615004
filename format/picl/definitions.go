package picl

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/weft-trace/weft/trace"
)

// definitions holds the contents of records of the types -5, -6 and -201 to -203, and the scopes to which they
// apply (specification section 4).
type definitions struct {
	labels      []label
	byEvent     scopeIndex // of labels
	names       []label    // labels of processors and processes
	byProcess   scopeIndex // of names
	descriptors []redefinition
	byNumber    map[int64]*scopeIndex // definitions of descriptors, by the number of the descriptor
	subsets
	resolved atomic.Bool // whether a scopeIndex has resolved scopes
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
	return &definitions{byNumber: map[int64]*scopeIndex{}, subsets: newSubsets()}
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
		if r.Event != -1 {
			d.byEvent.add(sc, int32(len(d.labels)))
			d.labels = append(d.labels, l)
			return
		}
		if r.Processor != -1 || r.Process != -1 {
			d.byProcess.add(sc, int32(len(d.names)))
		}
		d.names = append(d.names, l)
	case TypeDescriptor:
		if len(r.Values) < 2 || r.Values[0].Type == trace.String {
			return dataProblem{"picl.descriptor", "no number and control string", "an integer and a quoted control string",
				trace.Warning}
		}
		if n, ok := r.descriptorNumber(); ok && d.controlOf(n, r.Event, r.Processor, r.Process, r.Line) == nil {
			problem = unknownDescriptor(n)
		}
		for i := 0; i+1 < len(r.Values); i += 2 {
			text := r.Values[i+1].String()
			if n := closingQuote([]byte(text)); n == len(text)-1 && text[0] == '"' {
				text = text[1:n]
			}
			c, err := parseControl(text)
			if err != nil {
				problem = dataProblem{"picl.descriptor", err.Error(), "a scanf control string", trace.Warning}
				continue
			}
			d.addDescriptor(redefinition{sc, r.Values[i].Int(), c})
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
			return dataProblem{"picl.subset", "subset id -1, which stands for all", "another id; weft ignores the record",
				trace.Warning}
		}
		if id := r.Values[0].Int(); r.Type == TypeEventSet && id < -1 && (subset(id) != nil || specIndex(id) != 0) {
			problem = dataProblem{"picl.subset", fmt.Sprintf("subset id %d, which is an event type or a predefined subset", id),
				"another id; weft uses the record nevertheless", trace.Warning}
		}
		var m []int64
		for _, v := range r.Values[1:] {
			m = append(m, v.Int())
		}
		d.define(setKey{r.Type, r.Values[0].Int()}, m)
	}
	return
}

func (d *definitions) addDescriptor(r redefinition) {
	x := d.byNumber[r.number]
	if x == nil {
		x = &scopeIndex{}
		d.byNumber[r.number] = x
	}
	x.add(r.scope, int32(len(d.descriptors)))
	d.descriptors = append(d.descriptors, r)
}

// define defines a subset, and replaces an earlier definition with the same key.
func (d *definitions) define(k setKey, members []int64) {
	if old, defined := d.sets[k]; defined && slices.Equal(old, members) {
		return // a record is defined again when it is written
	}
	d.set(k, members)
	if !d.resolved.Swap(false) {
		return
	}
	d.byEvent.resolved.Clear()
	d.byProcess.resolved.Clear()
	for _, x := range d.byNumber {
		x.resolved.Clear()
	}
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

// isUndefined reports whether a number is the id of a subset that is neither defined nor predefined.
func (d *definitions) isUndefined(k setKey) bool {
	return k.id < -1 && !d.hasSubset(k) && (k.typ != TypeEventSet || k.id < -1000 && subset(k.id) == nil)
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
