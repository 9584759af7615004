package etf

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/lines"
	"github.com/weft-trace/weft/internal/linetrace"
	"github.com/weft-trace/weft/trace"
)

// original is the file that a trace was read from. It is used when the trace is written as TRACE
// again, so that unchanged lines keep their spelling (docs/formats/etf.md, "Rewriting a trace").
type original struct{ d *decoder }

// Renamable implements the interface of originals for encoders that rename texts.
func (o *original) Renamable() {}

// rewriter finds the original lines of a file.
type rewriter struct {
	d       *decoder
	lines   *linetrace.Lines
	renamed bool    // comments are left out
	sound   bool    // lines with a defect are rewritten
	recoded int64   // lines that are written anew, in a file with two encodings
	changed unclear // counts of rewritten lines that weft does not keep exactly
	rec     Record
	text    []byte
	err     error
	// defs has the original definitions by their canonical form. trace has the lines with attributes
	// of the trace, and these attributes.
	defs  map[string]definition
	trace []Record
	props []Attr
	notes []note
	// The notes before each line that has not been written yet, as parts of notes.
	before map[int64][]note
	unread map[int64]bool // lines that cannot be read and have been written
	other  Record         // of another line
	lead   []byte
}

// definition is a line that defines something.
type definition struct {
	text   string
	number int64
}

// note is a comment or another line without effect.
type note struct {
	text   string
	line   int64
	before int64 // the line of the next record, 0 for none
	placed bool  // it is written before that line
}

// rewrite makes the encoder write unchanged lines of a file as they are.
func (e *encoder) rewrite(o *original) {
	renamed := e.Defs.Rename != nil
	w := &rewriter{d: o.d, lines: linetrace.NewLines(&o.d.Text), renamed: renamed, sound: e.Defs.Mended ||
		renamed, defs: map[string]definition{}, before: map[int64][]note{}, unread: map[int64]bool{}}
	for _, number := range o.d.lines {
		l, canonical := w.read(number)
		if canonical == nil {
			continue
		}
		if w.rec.Keyword != T {
			w.defs[trace.Text(string(canonical))] = definition{string(l), number}
			continue
		}
		attrs := slices.Clone(w.rec.Attrs)
		w.props = append(w.props, attrs...)
		w.trace = append(w.trace, Record{Keyword: T, Attrs: attrs, line: string(l), Line: number})
	}
	w.findNotes(e)
	e.from, e.w.from = w, w
}

// count counts the comments that do not keep their form or place.
func (w *rewriter) count(loss *format.Loss) {
	if w == nil {
		return
	}
	how := format.Lost
	if w.sound && !w.renamed {
		how = format.Degraded // a repair omits the comments on purpose
	}
	w.findUnread()
	o := format.Overview{Unread: w.d.unread() - int64(len(w.unread)), Damaged: w.changed.lessText,
		Spelled: w.changed.otherForm, Recoded: w.recoded}
	if w.sound {
		o.Rounded = w.d.rounded.Load() + w.d.defines.rounded
	}
	o.LostText(loss, how)
	if !w.renamed {
		loss.Add("comment", "", format.Lost, "there are too many", w.d.dropped)
		for _, x := range w.notes {
			if !x.placed && x.line > w.d.first {
				kind := "comment"
				if w.unread[x.line] {
					kind = "line"
				}
				loss.Add(kind, "order", format.Degraded, "stands before all other lines", 1)
			}
		}
	}
}

// findNotes finds the record after each comment. Comments before the first record stay there.
func (w *rewriter) findNotes(e *encoder) {
	for _, o := range e.Defs.Opaque.All() {
		if o.Format == "etf" {
			w.notes = append(w.notes, note{text: noteText(e.coded(o.Data))})
		}
	}
	at := w.d.opaqueAt
	if len(w.notes) != len(at) {
		at = nil // the comments have been changed
	}
	for i := len(at) - 1; i >= 0; i-- {
		x := &w.notes[i]
		w.original(x, at[i])
		if x.line = at[i]; x.line < w.d.first {
			continue
		}
		if x.before = w.recordBehind(x.line, at[i+1:]); x.before < 0 {
			x.before = w.notes[i+1].before
		}
		x.placed = x.before == 0
	}
	for from := 0; from < len(w.notes); {
		to := from + 1
		for to < len(w.notes) && w.notes[to].before == w.notes[from].before {
			to++
		}
		if n := w.notes[from].before; n > 0 {
			w.before[n] = w.notes[from:to]
		}
		from = to
	}
}

// original gives a note the bytes of its line, of which the definitions have the text.
func (w *rewriter) original(x *note, number int64) {
	if isASCII(x.text) {
		return
	}
	l, err := w.lines.At(number)
	if err != nil {
		w.err = err
	}
	for _, s := range []string{string(l), "# " + string(l)} {
		if sameText(x.text, s) {
			x.text = s
		}
	}
}

// sameText reports whether two texts have the same characters. Bytes that are not UTF-8 are Latin-1.
func sameText[T string | []byte](a, b T) bool {
	return string(a) == string(b) || !isASCII(a) && trace.Text(string(a)) == trace.Text(string(b))
}

// recordBehind returns the first line after number that holds a record. It returns 0 if there is
// none, and -1 if a note, at one of the lines more, comes first.
func (w *rewriter) recordBehind(number int64, more []int64) int64 {
	last := int64(0)
	if n := len(w.d.Chunks); n > 0 {
		last = w.d.Chunks[n-1].Line
	}
	for number++; ; number++ {
		if len(more) > 0 && number == more[0] {
			return -1
		}
		l, err := w.lines.At(number)
		if err != nil {
			w.err = err
		}
		if l == nil && (err != nil || number >= last) {
			return 0
		}
		if k, i, _ := keyword(l); k != NoKeyword && w.rec.valid(k, l, i) {
			return number
		}
	}
}

// noteText returns the text of a comment or another line without effect. A line that would have a
// meaning as the first line of a file becomes a comment.
func noteText(s string) string {
	if strings.HasPrefix(s, lines.ByteOrderMark) || isLegacy([]byte(s)) {
		s = "# " + s
	}
	return strings.ReplaceAll(s, "\n", " ")
}

// note appends the notes before a line, and the lines there that cannot be read, each with a line end, in the order of
// the file. again is set if a line may be written again.
func (w *rewriter) note(b []byte, number int64, again bool) []byte {
	list := w.before[number]
	put := func(before int64) {
		for ; len(list) > 0 && list[0].line < before; list = list[1:] {
			list[0].placed = true
			b = append(append(b, list[0].text...), '\n')
		}
	}
	for _, n := range w.unreadBefore(number, again) {
		put(n)
		w.unread[n] = true
		l, err := w.lines.At(n)
		if err != nil {
			w.err = err
		}
		b = append(append(b, l...), '\n')
	}
	put(math.MaxInt64)
	return b
}

// unreadBefore returns the lines between a line and the record before it that cannot be read, without those that have
// been written unless again is set.
func (w *rewriter) unreadBefore(number int64, again bool) (list []int64) {
	if w.sound || w.d.unreadDefs+w.d.skipped.Load() == 0 {
		return nil
	}
	for n := number - 1; n > 0 && len(w.unread) < maxUnread; n-- {
		l, err := w.lines.At(n)
		if err != nil {
			w.err = err
		}
		bad, isRecord := w.isUnreadable(l)
		if isRecord {
			break
		}
		if bad && (again || !w.unread[n]) {
			list = append(list, n)
		}
	}
	slices.Reverse(list)
	return list
}

// maxUnread limits the number of lines that cannot be read and are written again.
const maxUnread = 1 << 16

// isUnreadable reports whether a line has a keyword but cannot be read, and whether it holds a record.
func (w *rewriter) isUnreadable(l []byte) (bad, isRecord bool) {
	k, i, isBlank := keyword(l)
	if isBlank || k == NoKeyword {
		return false, false
	}
	r := &w.other
	if r.noSamples(k, l, i) {
		return false, false
	}
	if isRecord = r.valid(k, l, i); isRecord && k == TU {
		_, _, isRecord = unitOf(r.Unit)
	}
	return !isRecord, isRecord
}

// findUnread adds the lines that cannot be read and have no place yet to the notes. Those behind the last record stay
// there.
func (w *rewriter) findUnread() {
	missing := w.d.unread() - w.d.tooLong - int64(len(w.unread))
	if w.sound || missing <= 0 || len(w.d.Chunks) == 0 {
		return
	}
	last := w.d.Chunks[len(w.d.Chunks)-1].Line
	behind := len(w.notes) // index of the first of these notes behind the last record so far
	for number := int64(1); missing > 0 && len(w.unread) < maxUnread || behind < len(w.notes); number++ {
		l, err := w.lines.At(number)
		if err != nil {
			w.err = err
		}
		if l == nil && (err != nil || number >= last) {
			break
		}
		bad, isRecord := w.isUnreadable(l)
		if isRecord {
			behind = len(w.notes)
		}
		if bad && !w.unread[number] && len(w.unread) < maxUnread {
			w.unread[number] = true
			w.notes = append(w.notes, note{text: string(l), line: number, before: -1})
			missing--
		}
	}
	for i := range w.notes[behind:] {
		w.notes[behind+i].placed, w.notes[behind+i].before = true, 0
	}
}

// inOrder returns the notes in the order of their lines.
func (w *rewriter) inOrder() []note {
	return slices.SortedStableFunc(slices.Values(w.notes), func(a, b note) int { return cmp.Compare(a.line, b.line) })
}

// read returns an original line and its canonical form, which is nil if the line holds no record
// that can be written in this form.
func (w *rewriter) read(number int64) (l, canonical []byte) {
	l, err := w.lines.At(number)
	if err != nil {
		w.err = err
	}
	if len(l) == 0 || err != nil {
		return nil, nil
	}
	defective := false
	usable, err := w.rec.read(l, number, func(problem) error {
		defective = true
		return nil
	})
	if !usable || err != nil || defective && w.sound {
		return l, nil
	}
	w.text = w.rec.Append(w.text[:0])
	return l, w.text
}

// line replaces the line at the end of b, from n on, by the original line with the given number if
// they differ only in spelling. It records errors.
func (w *rewriter) line(number int64, b []byte, n int) []byte {
	if w == nil || number <= 0 {
		return b
	}
	if w.lead = w.note(w.lead[:0], number, false); len(w.lead) > 0 {
		text := string(b[n:])
		b = append(b[:n], w.lead...)
		delete(w.before, number) // write the notes once, even if several new lines come from this original line
		n = len(b)
		b = append(b, text...)
	}
	l, err := w.lines.At(number)
	if err != nil {
		w.err = err
	}
	if bytes.Equal(l, b[n:]) {
		return b
	}
	l, canonical := w.read(number)
	if canonical != nil && !sameText(canonical, b[n:]) {
		canonical = w.canonicalLine()
	}
	if canonical != nil && sameText(canonical, b[n:]) {
		return append(b[:n], l...)
	}
	if !w.sound {
		w.changed.addLine(l)
	}
	if w.d.coded.utf8 > 0 && !isASCII(l) && !utf8.Valid(l) {
		w.recoded++
	}
	return b
}

// samples returns the number of samples in a TSP line.
func (w *rewriter) samples(number int64) int {
	if number <= 0 {
		return 1 // there is no such line
	}
	l, err := w.lines.At(number)
	if err != nil {
		w.err = err
	}
	fields, blank := 0, true
	for _, c := range l {
		before := blank
		if blank = c == ' ' || c == '\t' || c == ',' || c == '(' || c == ')'; before && !blank {
			fields++
		}
	}
	return max(1, (fields-3)/2) // TSP and two ids come first
}

// pendingSamples are lines of samples that are rewritten.
type pendingSamples struct {
	lines []sampleLine // from index first on, those that wait for their samples, in the order of their first samples
	first int
	older map[int64]int64 // by line, except for the last one: the value of begun
	held  int             // samples in lines
	begun int64           // lines so far
	// Time and line of the last sample.
	time, last int64
}

// waiting returns the lines that have not been written.
func (a *pendingSamples) waiting() []sampleLine { return a.lines[a.first:] }

// find returns the waiting line that continues a line of the file, or nil.
func (a *pendingSamples) find(number int64) *sampleLine {
	list := a.waiting()
	if n := len(list); n > 0 && list[n-1].number == number {
		return &list[n-1]
	}
	begun, ok := a.older[number]
	if !ok {
		return nil
	}
	return &list[begun-list[0].begun]
}

// begin adds a line that begins with r.
func (a *pendingSamples) begin(number int64, r *Record) *sampleLine {
	n := len(a.lines)
	a.lines = slices.Grow(a.lines, 1)[:n+1]
	x := &a.lines[n]
	a.begun++
	*x = sampleLine{Record: Record{Keyword: r.Keyword, ID: r.ID, Series: r.Series, Start: r.Start, End: r.End,
		Times: x.Times[:0], Values: x.Values[:0]}, number: number, begun: a.begun}
	return x
}

// forget removes the lines that have been written. Their memory is reused.
func (a *pendingSamples) forget() {
	list := a.waiting()
	if a.first == 0 || a.first < len(list) {
		return
	}
	for i := range list {
		a.lines[i], list[i] = list[i], a.lines[i]
	}
	a.lines, a.first = a.lines[:len(list)], 0
}

// sampleLine is a TSP or TSR line.
type sampleLine struct {
	Record
	number  int64 // in the file, 0 for none
	begun   int64 // among those of the series
	samples int   // number of samples in the original line, 0 if unknown yet
}

// maxPendingSamples limits the samples of a series that wait for others of their lines.
const maxPendingSamples = 1 << 16

// rewriteSample adds a sample or a range of samples at time t to its line in the file. Samples of
// one line stay together, even if samples of other lines are in between: a line waits until it has
// all samples of the original line, and lines begun later wait for it. changed is set if the sample
// changes places with a simultaneous one.
func (w *Writer) rewriteSample(c *curve, number, t int64, r *Record) (changed bool, err error) {
	a := &c.again
	x := a.find(number)
	if x == nil || r.Keyword == TSR || x.Keyword == TSR || number <= 0 {
		if err := w.older(c); err != nil {
			return false, err
		}
		x = a.begin(number, r)
	}
	x.Times, x.Values = append(x.Times, r.Times...), append(x.Values, r.Values...)
	changed = t == a.time && x.begun < a.last
	a.time, a.last = t, x.begun
	a.held += len(r.Values)
	return changed, w.writeSamples(c, a.held > maxPendingSamples)
}

// older is called before another line begins: the last line is written, or waits.
func (w *Writer) older(c *curve) error {
	a := &c.again
	list := a.waiting()
	if len(list) == 0 {
		return nil
	}
	last := &list[len(list)-1]
	if last.samples = 1; last.Keyword == TSP {
		last.samples = w.from.samples(last.number)
	}
	number, begun := last.number, last.begun
	err := w.writeSamples(c, false)
	if len(a.waiting()) > 0 {
		if a.older == nil {
			a.older = map[int64]int64{}
		}
		a.older[number] = begun
	}
	return err
}

// writeSamples writes the lines that are complete and wait for no other line, or all lines.
func (w *Writer) writeSamples(c *curve, all bool) error {
	a := &c.again
	for ; a.first < len(a.lines); a.first++ {
		x := &a.lines[a.first]
		if !all && (x.samples == 0 || x.Keyword == TSP && len(x.Times) < x.samples) {
			break
		}
		w.buf = append(w.from.line(x.number, x.Append(w.buf[:0]), 0), '\n')
		if _, err := c.lines.Write(w.buf); err != nil {
			return err
		}
		a.held -= len(x.Values)
		if len(a.older) > 0 {
			delete(a.older, x.number)
		}
	}
	a.forget()
	return nil
}

// canonicalLine returns the canonical form of the last line that was read, with its samples in the order
// of time. Its times are rounded like those of events unless lines with a defect are rewritten.
func (w *rewriter) canonicalLine() []byte {
	r := &w.rec
	round := func(t *trace.Decimal) {
		if v, exact, _ := t.Ticks(w.d.Digits); exact || !w.sound {
			*t = trace.Decimal{Coef: v, Scale: w.d.Digits}
		}
	}
	round(&r.Start)
	round(&r.End)
	if r.Keyword == TSP {
		for i := range r.Times {
			round(&r.Times[i])
		}
		sort.Stable(byTime{r})
	}
	w.text = r.Append(w.text[:0])
	return w.text
}

// byTime sorts samples.
type byTime struct{ *Record }

func (r byTime) Len() int { return len(r.Times) }

func (r byTime) Less(i, j int) bool { return linetrace.Compare(r.Times[i], r.Times[j]) < 0 }

func (r byTime) Swap(i, j int) {
	r.Times[i], r.Times[j] = r.Times[j], r.Times[i]
	r.Values[i], r.Values[j] = r.Values[j], r.Values[i]
}

// definition makes a record be written like its original line.
func (w *rewriter) definition(r *Record) {
	if w != nil {
		w.text = r.Append(w.text[:0])
		if x, ok := w.defs[trace.Text(string(w.text))]; ok {
			r.line = string(w.note(nil, x.number, true)) + x.text
		}
	}
}

// properties returns the original lines with the trace's attributes. ok is false if the attributes
// differ.
func (w *rewriter) properties(attrs []Attr) (lines []Record, ok bool) {
	if w == nil || !slices.EqualFunc(attrs, w.props, func(a, b Attr) bool {
		return sameText(a.Key, b.Key) && sameText(a.Value, b.Value)
	}) {
		return nil, false
	}
	lines = slices.Clone(w.trace)
	for i := range lines {
		lines[i].line = string(w.note(nil, lines[i].Line, true)) + lines[i].line
	}
	return lines, true
}
