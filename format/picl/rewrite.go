package picl

import (
	"bytes"
	"math"
	"slices"
	"strconv"

	"github.com/weft-trace/weft/internal/linetrace"
	"github.com/weft-trace/weft/trace"
)

// original is the file from which a trace was read and which is written as PICL again. Unchanged
// lines are written as they are (docs/formats/picl.md, "Rewriting a trace").
type original struct{ d *decoder }

// Renamable marks the encoder of the trace as able to rename texts.
func (o *original) Renamable() {}

// rewriter finds the lines from which events were read.
type rewriter struct {
	d         *decoder
	lines     *linetrace.Lines
	res       descriptorResolver
	moved     bool              // the file is not in order of time
	defined   []int64           // lines of the definition records that have not been written yet
	own       map[int64][]int64 // those of a single processor, if moved
	out       *definitions      // written definitions: those of the writer, and labels
	outRes    descriptorResolver
	rename    func(text string, word bool) string
	repair    bool // defects in a line are repaired
	keepTimes bool // times keep their spelling
	lostText  bool // the last line says more than the values of its record
	respelled bool // its descriptor is not the one that weft would write
	head      head
	rec       Record
	vals      []trace.Value
	buf       []byte
}

// rewrite makes the encoder write the unchanged lines of a file.
func (e *encoder) rewrite(o *original) {
	d := o.d
	e.rewriter = &rewriter{d: d, lines: linetrace.NewLines(&d.Text), res: descriptorResolver{defs: d.defs},
		defined: d.defined,
		moved:   len(d.Runs) != 1,
		out:     e.described, rename: e.Defs.Rename, repair: e.Defs.Mended, keepTimes: e.spelled}
	e.rewriter.outRes.defs = e.rewriter.out
}

// read reads the record of a line. ok is false if there is none. bad is true if the record has a
// defect.
func (w *rewriter) read(number int64, res *descriptorResolver) (l []byte, bad, ok bool, err error) {
	if l, err = w.lines.At(number); err != nil {
		return nil, false, false, err
	}
	i, problem, skip := parseLine(l, &w.head)
	if skip {
		return nil, false, false, nil
	}
	w.rec.setHead(&w.head, number)
	wrong := w.rec.decodeData(l[i:], &w.head, res)
	return l, problem.rule != "" || wrong.rule != "", true, nil
}

// writeDefinitions writes the definition records that precede a line of a processor. In a file that
// is not in order of time, the definitions of a single processor keep their positions among its
// records.
func (w *rewriter) writeDefinitions(before, processor int64, to *Writer) error {
	if w.moved && w.own == nil {
		if err := w.splitDefinitions(); err != nil {
			return err
		}
	}
	var err error
	if w.defined, err = w.writeBefore(w.defined, before, to); err != nil {
		return err
	}
	if own := w.own[processor]; len(own) > 0 {
		w.own[processor], err = w.writeBefore(own, before, to)
	}
	return err
}

// writeBefore writes the definition records in a list that precede a line and returns the others.
func (w *rewriter) writeBefore(list []int64, before int64, to *Writer) ([]int64, error) {
	for len(list) > 0 && list[0] < before {
		if err := w.writeDefinition(list[0], to); err != nil {
			return nil, err
		}
		list = list[1:]
	}
	return list, nil
}

// splitDefinitions separates the definition records of single processors from the others.
func (w *rewriter) splitDefinitions() error {
	w.own = map[int64][]int64{}
	var others []int64
	for _, number := range w.defined {
		_, _, ok, err := w.read(number, &descriptorResolver{defs: &definitions{}})
		if err != nil {
			return err
		}
		if p := w.head.f[3]; ok && p >= 0 {
			w.own[p] = append(w.own[p], number)
		} else {
			others = append(others, number)
		}
	}
	w.defined = others
	return nil
}

// writeRest writes the remaining definition records.
func (w *rewriter) writeRest(to *Writer) error {
	left := w.defined
	for _, list := range w.own {
		left = append(left, list...)
	}
	slices.Sort(left)
	_, err := w.writeBefore(left, math.MaxInt64, to)
	return err
}

// writeDefinition writes the definition record of a line.
func (w *rewriter) writeDefinition(number int64, to *Writer) error {
	l, bad, ok, err := w.read(number, &descriptorResolver{defs: &definitions{}})
	if err != nil {
		return err
	}
	r := &w.rec
	anew := w.repair && bad
	if w.rename != nil && ok {
		anew, ok = w.renameDefinition(l, bad)
	}
	if !ok || r.Type == TypeDescriptor && bad && anew {
		return nil
	}
	if r.Type == TypeLabel {
		w.out.add(r)
	}
	if anew {
		r.Text = ""
		return to.Write(r)
	}
	return to.writeLine(r, l)
}

// renameDefinition gives the current label another name. It returns ok false for a definition that
// is left out because it may reveal something.
func (w *rewriter) renameDefinition(l []byte, bad bool) (anew, ok bool) {
	r := &w.rec
	if r.Type == TypeLabel {
		text := trace.Text(joinValues(r.Values))
		name := w.rename(text, false)
		r.Values = append(r.Values[:0], trace.StringValue(name))
		return bad || name != text, true
	}
	if r.Type == TypeDescriptor && !bad {
		c, err := parseControl(joinValues(r.Values[1:]))
		return false, err == nil && !c.hasText()
	}
	return bad, !bad || r.Type != TypeDescriptor
}

// hasText reports whether a control string contains letters as literals or discards texts.
func (c *control) hasText() bool {
	return slices.ContainsFunc(c.directives, func(d directive) bool {
		return d.verb == 0 && isLetter(d.literal) || d.skip && (d.verb == 's' || d.verb == 'c' || d.verb == '[')
	})
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80 }

// originalLine returns the line from which the record r was read if both have the same contents. at
// is the number of the line. If only the head has changed, originalLine sets the Text of r, so that
// the data keep their spelling.
func (w *rewriter) originalLine(r *Record, at int64) (l []byte, err error) {
	w.lostText, w.respelled = false, false
	if at <= 0 {
		return nil, nil
	}
	described := len(w.d.defs.descriptors) > 0
	if !described && w.keepTimes {
		// Most lines have the spelling that weft writes.
		if l, err = w.lines.At(at); err != nil {
			return nil, err
		}
		if w.buf = r.Append(w.buf[:0], defaultDigits); bytes.Equal(w.buf, l) {
			return l, nil
		}
	}
	l, bad, ok, err := w.read(at, &w.res)
	if ok && !w.repair && w.rename == nil {
		w.lostText, w.respelled = w.rec.saysMore, w.d.defs.respells(&w.rec, at)
	}
	if err != nil || !ok || bad && (w.repair || w.rename != nil) || !r.hasValues(w.rec.Values) ||
		bytes.HasSuffix(l, []byte{'\\'}) {
		return nil, err
	}
	h := &w.head
	data := w.dataOf(l)
	if w.rename != nil && w.mayHoldText(data) {
		return nil, nil
	}
	if described {
		var problem dataProblem
		w.vals, problem = parseData(data, h.f[5], h, math.MaxInt64, &w.outRes, w.vals[:0])
		if !r.hasValues(w.vals) || problem.rule != "" && !bad {
			return nil, nil
		}
	}
	t, exact, _ := h.time().Ticks(w.d.Digits)
	same := h.f[0] == r.Type && h.f[1] == r.Event && h.f[3] == r.Processor && h.f[4] == r.Process
	if same && w.keepTimes && (exact && h.exact || !w.repair) &&
		linetrace.Compare(trace.Decimal{Coef: t, Scale: w.d.Digits}, r.Time) == 0 {
		r.Text, r.saysMore = w.rec.Text, w.rec.saysMore // options may need it
		return l, nil
	}
	if data = bytes.TrimLeft(data, " \t"); len(data) > 0 {
		r.Text, r.saysMore = strconv.FormatInt(h.f[5], 10)+" "+string(data), w.rec.saysMore
	} else if h.f[5] != 0 {
		r.Text = strconv.FormatInt(h.f[5], 10)
	}
	return nil, nil
}

// dataOf returns what follows the head of a line.
func (w *rewriter) dataOf(l []byte) []byte {
	var h head
	i, bad := h.parse(l, 6)
	if bad >= 0 {
		return nil
	}
	return l[i:]
}

// mayHoldText reports whether the data of the current record may hold text beside numbers.
func (w *rewriter) mayHoldText(data []byte) bool {
	data = bytes.TrimLeft(data, " \t")
	if len(data) == 0 {
		return false
	}
	for _, v := range w.rec.Values {
		if v.Type == trace.String {
			return true
		}
	}
	if data[0] != '"' {
		i := bytes.IndexAny(data, " \t")
		n, err := strconv.ParseInt(string(data[:max(i, 0)]), 10, 64)
		c := w.res.control(n, &w.head, w.rec.Line)
		return err != nil || c == nil || c.hasText()
	}
	c, err := parseControl(string(data[1:max(1, closingQuote(data))]))
	return err != nil || c.hasText()
}

// hasValues reports whether a record has the values that were read from its line.
func (r *Record) hasValues(vals []trace.Value) bool {
	if len(r.Values) != len(vals) {
		return false
	}
	statistics := r.Type <= TypeTimes && r.Type >= TypeSizeVolumes
	for i, v := range vals {
		if v != r.Values[i] && !(statistics && i%2 == 0 && v.String() == r.Values[i].String()) {
			return false
		}
	}
	return true
}

// newName returns the name of a label in the written file.
func (w *rewriter) newName(text string) string {
	if text == "" || w.rename == nil {
		return text
	}
	return w.rename(text, false)
}

// hasLabel reports whether a label of the file gives an event type its name in all records.
func (w *rewriter) hasLabel(event int64, name string) bool {
	text, ok := w.d.defs.labelOf(event, -1, -1, math.MaxInt64)
	return ok && w.newName(text) == name
}

// hasName reports whether a label of the file gives a processor and process its name.
func (w *rewriter) hasName(k procKey, name string) bool {
	return w.newName(w.d.defs.nameOf(k.processor, k.process)) == name
}
