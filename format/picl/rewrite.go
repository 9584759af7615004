package picl

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/internal/linetrace"
	"github.com/weft-trace/weft/trace"
)

// originalFile refers to the file from which a trace was read. If the trace is written as PICL again,
// unchanged lines stay as they are (docs/formats/picl-writing.md, "Rewriting a trace").
type originalFile struct{ d *decoder }

// Renamable marks the original as usable by encoders that rename texts.
func (o *originalFile) Renamable() {}

// rewriter helps an encoder to copy the unchanged lines of the original file. It finds the line of each event, and
// writes the definitions of the original file before the lines that need them.
type rewriter struct {
	d       *decoder
	lines   *linetrace.Lines
	res     descriptorResolver
	moved   bool    // the file is not in order of time
	defined []int64 // lines of definitions, and lines that cannot be read, that are still to be written
	// placed holds the definition records of a file that is not in order of time. The next three fields are
	// lists of indexes into placed. own lists, for each processor, the definitions after the first record that
	// apply only to this processor. others lists all other definitions. byTime lists all definitions, sorted
	// by time.
	placed    []definitionLine
	own       map[int64][]int
	others    []int
	byTime    []int
	out       *definitions // definitions written so far, including labels
	outRes    descriptorResolver
	rename    func(text string, word bool) string
	repair    bool // correct the defects of lines
	keepTimes bool // keep the spelling of times
	lostText  bool // the last line contained more than the values of its record
	respelled bool // weft would write another descriptor for the last line
	head      head
	rec       Record
	vals      []trace.Value
	buf       []byte
}

// rewrite makes the encoder copy the lines of the original file that have not changed.
func (e *encoder) rewrite(o *originalFile) {
	d := o.d
	e.rewriter = &rewriter{d: d, lines: linetrace.NewLines(&d.Text), res: descriptorResolver{defs: d.defs},
		defined: d.defined,
		moved:   len(d.Runs) != 1,
		out:     e.written, rename: e.Defs.Rename, repair: e.Defs.Repaired, keepTimes: e.spelled}
	e.rewriter.outRes.defs = e.rewriter.out
	for k, members := range d.defs.sets { // a subset applies to the whole file
		e.rewriter.out.define(k, members)
	}
}

// read returns the line with the given number, and parses its record into w.rec. ok is false if the
// line has no record. bad is true if the record has a defect.
func (w *rewriter) read(number int64, res *descriptorResolver) (l []byte, bad, ok bool, err error) {
	if l, err = w.lines.At(number); err != nil {
		return nil, false, false, err
	}
	i, problem, skip := parseLine(l, &w.head)
	if skip {
		return l, false, false, nil
	}
	w.rec.setHead(&w.head, number)
	wrong := w.rec.decodeData(l[i:], &w.head, res)
	return l, problem.rule != "" || wrong.rule != "", true, nil
}

// definitionLine describes the line of a definition in a file that is not in order of time.
type definitionLine struct {
	line    int64
	time    trace.Decimal
	replace int // index of the earlier definition that this one may replace, or -1
	written bool
}

// writeDefinitions writes the definition records that must precede a line of the original file. The arguments
// are the number, the processor and the time of the line. In a file in time order, these are the definitions
// that precede the line. In other files, these are the definitions with an earlier time, and the definitions
// of the line's processor that precede the line.
func (w *rewriter) writeDefinitions(before, processor int64, t trace.Decimal, to *Writer) error {
	var err error
	if !w.moved {
		w.defined, err = w.writeBefore(w.defined, before, to)
		return err
	}
	if w.own == nil {
		if err := w.splitDefinitions(); err != nil {
			return err
		}
	}
	for ; len(w.byTime) > 0 && w.placed[w.byTime[0]].time.Cmp(t) < 0; w.byTime = w.byTime[1:] {
		if err := w.writePlaced(w.byTime[0], to); err != nil {
			return err
		}
	}
	if w.others, err = w.writePlacedBefore(w.others, before, to); err != nil {
		return err
	}
	if own := w.own[processor]; len(own) > 0 {
		w.own[processor], err = w.writePlacedBefore(own, before, to)
	}
	return err
}

// writeBefore writes the lines in list that precede the line before, and returns the remaining ones.
func (w *rewriter) writeBefore(list []int64, before int64, to *Writer) ([]int64, error) {
	for len(list) > 0 && list[0] < before {
		if err := w.writeDefinition(list[0], to); err != nil {
			return nil, err
		}
		list = list[1:]
	}
	return list, nil
}

// writePlacedBefore is like writeBefore, for a list of indexes into placed.
func (w *rewriter) writePlacedBefore(list []int, before int64, to *Writer) ([]int, error) {
	for len(list) > 0 && w.placed[list[0]].line < before {
		if err := w.writePlaced(list[0], to); err != nil {
			return nil, err
		}
		list = list[1:]
	}
	return list, nil
}

// writePlaced writes the definition record with index i in placed. If the record may replace an earlier one,
// writePlaced writes the earlier one first. It does nothing if the record has been written.
func (w *rewriter) writePlaced(i int, to *Writer) error {
	d := &w.placed[i]
	if d.written {
		return nil
	}
	d.written = true
	if d.replace >= 0 {
		if err := w.writePlaced(d.replace, to); err != nil {
			return err
		}
	}
	return w.writeDefinition(d.line, to)
}

// splitDefinitions fills placed, own, others and byTime.
func (w *rewriter) splitDefinitions() error {
	w.own = map[int64][]int{}
	type key struct {
		head [4]int64 // type, event type, processor and process
		id   string
	}
	last := map[key]int{}
	for i, number := range w.defined {
		_, _, ok, err := w.read(number, &w.res)
		if err != nil {
			return err
		}
		if !ok {
			w.placed, w.others = append(w.placed, definitionLine{line: number, replace: -1}), append(w.others, i)
			continue
		}
		h, r := &w.head, &w.rec
		k := key{head: [4]int64{r.Type, r.Event, r.Processor, r.Process}}
		if r.Type != TypeLabel && len(r.Values) > 0 {
			k.id = strings.Clone(r.Values[0].String())
		}
		if r.Type <= TypeProcessorSet {
			k.head = [4]int64{r.Type}
		}
		d := definitionLine{line: number, time: h.time(), replace: -1}
		if before, found := last[k]; found {
			d.replace = before
		}
		last[k] = i
		w.placed, w.byTime = append(w.placed, d), append(w.byTime, i)
		if p := h.f[3]; p >= 0 && number > w.d.firstRecord {
			w.own[p] = append(w.own[p], i)
		} else {
			w.others = append(w.others, i)
		}
	}
	slices.SortStableFunc(w.byTime, func(a, b int) int { return w.placed[a].time.Cmp(w.placed[b].time) })
	w.defined = nil
	return nil
}

// writeRest writes the remaining definition records.
func (w *rewriter) writeRest(to *Writer) error {
	if w.moved && w.own == nil {
		if err := w.splitDefinitions(); err != nil {
			return err
		}
	}
	for i := range w.placed {
		if err := w.writePlaced(i, to); err != nil {
			return err
		}
	}
	_, err := w.writeBefore(w.defined, math.MaxInt64, to)
	return err
}

// writeDefinition writes the definition record of a line. It copies a line that cannot be read.
func (w *rewriter) writeDefinition(number int64, to *Writer) error {
	l, bad, ok, err := w.read(number, &w.res)
	if err != nil {
		return err
	}
	r := &w.rec
	changed := w.repair && bad
	if w.rename != nil && ok {
		changed, ok = w.renameDefinition(bad)
	}
	if !ok && !w.repair && w.rename == nil {
		return to.writeUnread(l)
	}
	if !ok || r.Type == TypeDescriptor && bad && changed {
		return nil
	}
	if r.Type == TypeLabel {
		w.out.add(r)
	}
	if changed {
		r.Text = ""
		return to.Write(r)
	}
	return to.writeLine(r, l)
}

// renameDefinition gives the current label another name. ok is false for a definition that must be left out,
// because it may contain a text that renaming must hide. changed is set if the line must be rewritten.
func (w *rewriter) renameDefinition(bad bool) (changed, ok bool) {
	r := &w.rec
	if r.Type == TypeLabel {
		text := trace.ToUTF8(joinValues(r.Values))
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

// hasText reports whether a control string contains letters as literals, or discards texts.
func (c *control) hasText() bool {
	return slices.ContainsFunc(c.directives, func(d directive) bool {
		return d.verb == 0 && isLetter(d.literal) || d.skip && (d.verb == 's' || d.verb == 'c' || d.verb == '[')
	})
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80 }

// originalLine returns the original line with number at, if the record r has the same contents. If only
// the head has changed, originalLine sets the Text of r, so that the data keep their spelling.
func (w *rewriter) originalLine(r *Record, at int64) (l []byte, err error) {
	w.lostText, w.respelled = false, false
	if at <= 0 {
		return nil, nil
	}
	described := len(w.d.defs.descriptors) > 0
	if !described && w.keepTimes {
		// Most lines already have the spelling that weft writes.
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
		r.Text, r.saysMore = w.rec.Text, w.rec.saysMore // options of the writer may need the text
		return l, nil
	}
	if data = bytes.TrimLeft(data, " \t"); len(data) > 0 {
		r.Text, r.saysMore = strconv.FormatInt(h.f[5], 10)+" "+string(data), w.rec.saysMore
	} else if h.f[5] != 0 {
		r.Text = strconv.FormatInt(h.f[5], 10)
	}
	return nil, nil
}

// dataOf returns the text after the head of a line.
func (w *rewriter) dataOf(l []byte) []byte {
	var h head
	i, bad := h.parse(l, 6)
	if bad >= 0 {
		return nil
	}
	return l[i:]
}

// mayHoldText reports whether the data of the current record may contain text that its values do not
// show.
func (w *rewriter) mayHoldText(data []byte) bool {
	data = bytes.TrimLeft(data, " \t")
	if len(data) == 0 {
		return false
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

// hasValues reports whether a record still has the values that were read from its line.
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

// newName returns the name that replaces a label.
func (w *rewriter) newName(text string) string {
	if text == "" || w.rename == nil {
		return text
	}
	return w.rename(text, false)
}

// hasLabel reports whether a label of the original file gives an event type the name in all records.
func (w *rewriter) hasLabel(event int64, name string) bool {
	text, ok := w.d.defs.labelOf(event, -1, -1, math.MaxInt64)
	return ok && w.newName(text) == name
}

// hasName reports whether a label of the original file gives a processor and process the name.
func (w *rewriter) hasName(k procKey, name string) bool {
	return w.newName(w.d.defs.nameOf(k.processor, k.process)) == name
}
