package picl

import (
	"bytes"
	"math"
	"slices"
	"strconv"

	"github.com/weft-trace/weft/internal/linetrace"
	"github.com/weft-trace/weft/trace"
)

// original is the file that a trace was read from, while the trace is written as PICL again: lines
// that nobody has changed are written as they stand (docs/formats/picl.md, "Rewriting a trace").
type original struct{ d *decoder }

// Renamable says that the encoder gives texts other names.
func (o *original) Renamable() {}

// rewriter finds the lines that events were read from.
type rewriter struct {
	d       *decoder
	lines   *linetrace.Lines
	res     scoped
	moved   bool              // the file is not in the order of time
	defined []int64           // lines of the definition records that are still to be written
	own     map[int64][]int64 // those of one processor, if moved
	out     *definitions      // those that have been written, of the writer
	outRes  scoped
	rename  func(text string, word bool) string
	mended  bool // what is wrong in a line is to be mended
	times   bool // times stay as they are spelled
	head    head
	rec     Record
	vals    []trace.Value
	buf     []byte
}

// rewrite has the encoder write the lines of a file that have not been changed since.
func (e *encoder) rewrite(o *original) {
	d := o.d
	e.from = &rewriter{d: d, lines: linetrace.NewLines(&d.Text), res: scoped{defs: d.defs}, defined: d.defined,
		moved: len(d.Runs) != 1,
		out:   e.described, rename: e.Defs.Rename, mended: e.Defs.Mended, times: e.spelled}
	e.from.outRes.defs = e.from.out
}

// read reads the record of a line; ok is false if there is none. bad says that something is wrong in it.
func (w *rewriter) read(number int64, res *scoped) (l []byte, bad, ok bool, err error) {
	if l, err = w.lines.At(number); err != nil {
		return nil, false, false, err
	}
	i, problem, skip := parseLine(l, &w.head)
	if skip {
		return nil, false, false, nil
	}
	w.rec.set(&w.head, number)
	wrong := w.rec.data(l[i:], &w.head, res)
	return l, problem.rule != "" || wrong.rule != "", true, nil
}

// definitions writes the definition records that stand ahead of a line of a processor. In a file that
// is not in the order of time those of a processor alone keep their places among its records.
func (w *rewriter) definitions(before, processor int64, to *Writer) error {
	if w.moved && w.own == nil {
		if err := w.deal(); err != nil {
			return err
		}
	}
	var err error
	if w.defined, err = w.ahead(w.defined, before, to); err != nil {
		return err
	}
	if own := w.own[processor]; len(own) > 0 {
		w.own[processor], err = w.ahead(own, before, to)
	}
	return err
}

// ahead writes the definition records of a list that stand ahead of a line, and returns the others.
func (w *rewriter) ahead(list []int64, before int64, to *Writer) ([]int64, error) {
	for len(list) > 0 && list[0] < before {
		if err := w.definition(list[0], to); err != nil {
			return nil, err
		}
		list = list[1:]
	}
	return list, nil
}

// deal finds the definition records of a processor alone.
func (w *rewriter) deal() error {
	w.own = map[int64][]int64{}
	var others []int64
	for _, number := range w.defined {
		_, _, ok, err := w.read(number, &scoped{defs: &definitions{}})
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

// rest writes the definition records that are left.
func (w *rewriter) rest(to *Writer) error {
	left := w.defined
	for _, list := range w.own {
		left = append(left, list...)
	}
	slices.Sort(left)
	_, err := w.ahead(left, math.MaxInt64, to)
	return err
}

// definition writes the definition record of a line.
func (w *rewriter) definition(number int64, to *Writer) error {
	l, bad, ok, err := w.read(number, &scoped{defs: &definitions{}})
	if err != nil {
		return err
	}
	r := &w.rec
	anew := w.mended && bad
	if w.rename != nil && ok {
		anew, ok = w.renamed(l, bad)
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
	return to.line(r, l)
}

// renamed gives the label in hand another name; ok is false for records that are left out since
// they may tell something.
func (w *rewriter) renamed(l []byte, bad bool) (anew, ok bool) {
	r := &w.rec
	if r.Type == TypeLabel {
		text := trace.Text(joined(r.Values))
		name := w.rename(text, false)
		r.Values = append(r.Values[:0], trace.StringValue(name))
		return bad || name != text, true
	}
	if r.Type == TypeDescriptor && !bad {
		c, err := parseControl(joined(r.Values[1:]))
		return false, err == nil && !c.tells()
	}
	return bad, !bad || r.Type != TypeDescriptor
}

// tells reports whether a control string has letters of its own, or drops texts.
func (c *control) tells() bool {
	return slices.ContainsFunc(c.directives, func(d directive) bool {
		return d.verb == 0 && letter(d.literal) || d.skip && (d.verb == 's' || d.verb == 'c' || d.verb == '[')
	})
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80 }

// line is the line that the record r was read from, if it says the same; at is its number, and t
// the record's time in ticks of the file. If only its head has changed, r gets its data as they are spelled.
func (w *rewriter) line(r *Record, at int64) (l []byte, err error) {
	if at <= 0 {
		return nil, nil
	}
	described := len(w.d.defs.descriptors) > 0
	if !described && w.times {
		// Most lines are spelled as they would be written.
		if l, err = w.lines.At(at); err != nil {
			return nil, err
		}
		if w.buf = r.Append(w.buf[:0], defaultDigits); bytes.Equal(w.buf, l) {
			return l, nil
		}
	}
	l, bad, ok, err := w.read(at, &w.res)
	if err != nil || !ok || bad && (w.mended || w.rename != nil) || !r.same(w.rec.Values) ||
		bytes.HasSuffix(l, []byte{'\\'}) {
		return nil, err
	}
	h := &w.head
	data := w.data(l)
	if w.rename != nil && w.tells(data) {
		return nil, nil
	}
	if described {
		var problem dataProblem
		w.vals, problem = parseData(data, h.f[5], h, math.MaxInt64, &w.outRes, w.vals[:0])
		if !r.same(w.vals) || problem.rule != "" && !bad {
			return nil, nil
		}
	}
	t, exact, _ := h.time().Ticks(w.d.Digits)
	same := h.f[0] == r.Type && h.f[1] == r.Event && h.f[3] == r.Processor && h.f[4] == r.Process
	if same && w.times && (exact && h.exact || !w.mended) &&
		linetrace.Compare(trace.Decimal{Coef: t, Scale: w.d.Digits}, r.Time) == 0 {
		return l, nil
	}
	if data = bytes.TrimLeft(data, " \t"); len(data) > 0 {
		r.Text = strconv.FormatInt(h.f[5], 10) + " " + string(data)
	} else if h.f[5] != 0 {
		r.Text = strconv.FormatInt(h.f[5], 10)
	}
	return nil, nil
}

// data is what follows the head of the line that has been read.
func (w *rewriter) data(l []byte) []byte {
	var h head
	i, bad := h.parse(l, 6)
	if bad >= 0 {
		return nil
	}
	return l[i:]
}

// tells reports whether data may tell something beside the values of the record in hand.
func (w *rewriter) tells(data []byte) bool {
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
		return err != nil || c == nil || c.tells()
	}
	c, err := parseControl(string(data[1:max(1, closingQuote(data))]))
	return err != nil || c.tells()
}

// same reports whether a record has the values that were read from its line.
func (r *Record) same(vals []trace.Value) bool {
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

// name is the name that a label has in the file that is written.
func (w *rewriter) name(text string) string {
	if text == "" || w.rename == nil {
		return text
	}
	return w.rename(text, false)
}

// labelled reports whether a label of the file gives all records of an event type a name.
func (w *rewriter) labelled(event int64, name string) bool {
	text, ok := w.d.defs.labelOf(event, -1, -1, math.MaxInt64)
	return ok && w.name(text) == name
}

// named reports whether a label of the file gives a processor and process a name.
func (w *rewriter) named(k procKey, name string) bool {
	return w.name(w.d.defs.nameOf(k.processor, k.process)) == name
}
