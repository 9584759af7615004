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
	"github.com/weft-trace/weft/internal/attrlist"
	"github.com/weft-trace/weft/internal/lines"
	"github.com/weft-trace/weft/internal/linetrace"
	"github.com/weft-trace/weft/trace"
)

// originalFile refers to the file that a trace was read from. If the trace is written as TRACE again,
// unchanged lines keep their spelling (docs/formats/etf.md, "Rewriting a trace").
type originalFile struct{ d *decoder }

// Renamable marks the original as usable by encoders that rename texts.
func (o *originalFile) Renamable() {}

// rewriter finds the lines of the original file that a trace was read from.
type rewriter struct {
	d       *decoder
	lines   *linetrace.Lines
	renamed bool              // leave comments out, because texts are renamed
	sound   bool              // rewrite lines that have a defect
	recoded int64             // number of lines that are rewritten because the file has two encodings
	changed inexactCounts     // counts for the rewritten lines
	ends    map[Keyword]int64 // number of attributes in rewritten lines whose line ends have become blanks
	rec     Record
	text    []byte
	err     error
	// defs holds the original lines of definitions by their canonical form. trace holds the T lines,
	// and props the attributes in them.
	defs  map[string]definition
	trace []Record
	props []Attr
	notes []note
	// before maps a line that has not been written yet to the notes that stand before it. Its values are
	// slices of the field notes.
	before map[int64][]note
	unread map[int64]bool // lines that cannot be read and have been written, by number
	blank  lineSet        // blank lines that have been written
	other  Record         // scratch for lines other than the current one
	lead   []byte
}

// definition is an original line that defines something.
type definition struct {
	text   string
	number int64
}

// note is a comment or another line without effect.
type note struct {
	text   string
	line   int64
	before int64 // number of the next line with a record; 0 if there is none
	placed bool  // the note is written before the line with number before
}

// rewrite makes the encoder keep the lines of the original file where they have not changed.
func (e *encoder) rewrite(o *originalFile) {
	renamed := e.Defs.Rename != nil
	w := &rewriter{d: o.d, lines: linetrace.NewLines(&o.d.Text), renamed: renamed, sound: e.Defs.Repaired ||
		renamed, defs: map[string]definition{}, before: map[int64][]note{}, unread: map[int64]bool{},
		blank: lineSet{}}
	for _, number := range o.d.lines {
		l, canonical := w.readOriginal(number)
		if canonical == nil {
			continue
		}
		if w.rec.Keyword != T {
			w.defs[trace.ToUTF8(string(canonical))] = definition{string(l), number}
			continue
		}
		attrs := slices.Clone(w.rec.Attrs)
		w.props = append(w.props, attrs...)
		w.trace = append(w.trace, Record{Keyword: T, Attrs: attrs, line: string(l), Line: number})
	}
	w.findNotes(e)
	e.from, e.w.from = w, w
}

// countComments counts comments and other lines that do not keep their form or place as losses.
func (w *rewriter) countComments(loss *format.Loss) {
	if w == nil {
		return
	}
	how := format.Lost
	if w.sound && !w.renamed {
		how = format.Degraded // a repair leaves comments out on purpose
	}
	w.findUnread()
	o := format.Overview{Unread: w.d.unread() - int64(len(w.unread)), Damaged: w.changed.lessText,
		Respelled: w.changed.otherForm, Recoded: w.recoded}
	if w.sound {
		o.Rounded = w.d.rounded.Load() + w.d.defines.rounded
	}
	o.LostText(loss, how)
	for k, kind := range map[Keyword]string{C: "claim-begin", E: "mark", D: "link"} {
		if n := w.ends[k]; n > 0 {
			loss.Add(kind, "attribute", format.Degraded, lineEndReplaced, n)
		}
	}
	if !w.renamed {
		loss.Add("comment", "", format.Lost, "left out to limit the use of memory", w.d.dropped)
		for _, x := range w.notes {
			if !x.placed && x.line > w.d.first {
				kind := "comment"
				if w.unread[x.line] {
					kind = "line"
				}
				loss.Add(kind, "order", format.Degraded, "moved to the beginning of the file", 1)
			}
		}
	}
}

// findNotes finds the record that follows each comment, and the blank lines at the start and the end of the file.
// Comments before the first event or dependency stay at the start of the file.
func (w *rewriter) findNotes(e *encoder) {
	for _, o := range e.Defs.Opaque.All() {
		if o.Format == "etf" {
			w.notes = append(w.notes, note{text: noteText(e.encodeText(o.Data))})
		}
	}
	at := w.d.opaqueAt
	if len(w.notes) != len(at) {
		at = nil // the comments of the trace have been changed
	}
	for i := len(at) - 1; i >= 0; i-- {
		x := &w.notes[i]
		w.restoreBytes(x, at[i])
		if x.line = at[i]; x.line < w.d.first {
			continue
		}
		if x.before = w.recordAfter(x.line, at[i+1:]); x.before < 0 {
			x.before = w.notes[i+1].before
		}
		x.placed = x.before == 0
	}
	w.addBlankNotes()
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

// restoreBytes gives a note the bytes of its original line. The definitions have only the text in
// UTF-8.
func (w *rewriter) restoreBytes(x *note, number int64) {
	if linetrace.IsASCII(x.text) {
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

// sameText reports whether two texts have the same characters. It reads texts that are not valid UTF-8 as
// Latin-1.
func sameText[T string | []byte](a, b T) bool {
	return string(a) == string(b) || !linetrace.IsASCII(a) && trace.ToUTF8(string(a)) == trace.ToUTF8(string(b))
}

// recordAfter returns the number of the first line after number that holds a record, or 0 if there is none. It
// returns -1 if another note comes before that line. more holds the line numbers of the following notes.
func (w *rewriter) recordAfter(number int64, more []int64) int64 {
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
		if k, i, _ := parseKeyword(l); k != NoKeyword && w.rec.valid(k, l, i) {
			return number
		}
	}
}

// noteText returns the text of a comment or another line without effect. It makes a comment of a line
// that would have a meaning as the first line of a file.
func noteText(s string) string {
	if strings.HasPrefix(s, lines.ByteOrderMark) || isLegacy([]byte(s)) {
		s = "# " + s
	}
	return strings.ReplaceAll(s, "\n", " ")
}

// appendNotes appends the notes that stand before a line, and the blank lines and the lines that cannot be read there,
// in the order of the file. If again is set, appendNotes also appends blank lines and lines that cannot be read that
// have been written before.
func (w *rewriter) appendNotes(b []byte, number int64, again bool) []byte {
	list := w.before[number]
	put := func(before int64) {
		for ; len(list) > 0 && list[0].line < before; list = list[1:] {
			list[0].placed = true
			b = append(append(b, list[0].text...), '\n')
		}
	}
	for _, n := range w.linesBefore(number, again) {
		put(n)
		l := w.line(n)
		if !isBlankLine(l) {
			w.unread[n] = true
		}
		b = append(append(b, l...), '\n')
	}
	put(math.MaxInt64)
	return b
}

// maxUnread limits the number of lines that are kept although they cannot be read, and the number of successive blank
// lines.
const maxUnread = 1 << 16

// isUnreadable reports whether a line has a keyword but cannot be read, and whether it holds a record.
func (w *rewriter) isUnreadable(l []byte) (bad, isRecord bool) {
	k, i, isBlank := parseKeyword(l)
	if isBlank || k == NoKeyword {
		return false, false
	}
	r := &w.other
	if r.hasNoSamples(k, l, i) {
		return false, false
	}
	if isRecord = r.valid(k, l, i); isRecord && k == TU {
		_, _, isRecord = unitOf(r.Unit)
	}
	return !isRecord, isRecord
}

// findUnread adds the lines that cannot be read and have not been written to the notes. Lines after the
// last record stay at the end.
func (w *rewriter) findUnread() {
	missing := w.d.unread() - w.d.tooLong - int64(len(w.unread))
	if w.sound || missing <= 0 || len(w.d.Chunks) == 0 {
		return
	}
	last := w.d.Chunks[len(w.d.Chunks)-1].Line
	trailing := len(w.notes) // index of the first note after the last record found so far
	for number := int64(1); missing > 0 && len(w.unread) < maxUnread || trailing < len(w.notes); number++ {
		l, err := w.lines.At(number)
		if err != nil {
			w.err = err
		}
		if l == nil && (err != nil || number >= last) {
			break
		}
		bad, isRecord := w.isUnreadable(l)
		if isRecord {
			trailing = len(w.notes)
		}
		if bad && !w.unread[number] && len(w.unread) < maxUnread {
			w.unread[number] = true
			w.notes = append(w.notes, note{text: string(l), line: number, before: -1})
			missing--
		}
	}
	for i := range w.notes[trailing:] {
		w.notes[trailing+i].placed, w.notes[trailing+i].before = true, 0
	}
}

// inOrder returns the notes, sorted by line.
func (w *rewriter) inOrder() []note {
	return slices.SortedStableFunc(slices.Values(w.notes), func(a, b note) int { return cmp.Compare(a.line, b.line) })
}

// readOriginal returns an original line and its canonical form. The latter is nil if the line holds no
// record or must be rewritten.
func (w *rewriter) readOriginal(number int64) (l, canonical []byte) {
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

// countLineEnds counts the attributes of the current original line whose line ends are blanks in the new line l.
func (w *rewriter) countLineEnds(l []byte) {
	if w.ends == nil {
		w.ends = map[Keyword]int64{}
	}
	for _, a := range w.rec.Attrs {
		if text, replaced := attrlist.Append(nil, a.Key, a.Value); replaced && bytes.Contains(l, text) {
			w.ends[w.rec.Keyword]++
		}
	}
}

// restoreLine replaces the line in b[n:] by the original line with the given number if the two differ
// only in spelling. It stores errors in w.err.
func (w *rewriter) restoreLine(number int64, b []byte, n int) []byte {
	if w == nil || number <= 0 {
		return b
	}
	if w.lead = w.appendNotes(w.lead[:0], number, false); len(w.lead) > 0 {
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
	l, canonical := w.readOriginal(number)
	if canonical != nil && !sameText(canonical, b[n:]) {
		canonical = w.canonicalLine()
	}
	if canonical != nil && sameText(canonical, b[n:]) {
		return append(b[:n], l...)
	}
	if !w.sound {
		w.changed.addLine(l)
	}
	if hasLineEnd(string(l)) {
		w.countLineEnds(b[n:])
	}
	if w.d.encodings.UTF8 > 0 && !linetrace.IsASCII(l) && !utf8.Valid(l) {
		w.recoded++
	}
	return b
}

// sampleCount returns the number of samples in an original TSP line.
func (w *rewriter) sampleCount(number int64) int {
	if number <= 0 {
		return 1 // the original has no such line
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
	return max(1, (fields-3)/2) // the keyword TSP and two ids come first
}

// pendingSamples holds the TSP and TSR lines of a series while they are rewritten.
type pendingSamples struct {
	lines []sampleLine // the lines from index first on are not written yet; they are ordered by their first samples
	first int
	// maps the line's number in the file to sampleLine.begun, for all waiting lines but the last
	older map[int64]int64
	held  int   // number of samples in lines
	begun int64 // number of lines begun so far
	// time is the time of the last sample. last is the field begun of that sample's line.
	time, last int64
}

// waiting returns the lines that have not been written yet.
func (a *pendingSamples) waiting() []sampleLine { return a.lines[a.first:] }

// find returns the waiting line that has samples of the given line of the original file, or nil.
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

// begin adds a line whose first sample is in r.
func (a *pendingSamples) begin(number int64, r *Record) *sampleLine {
	n := len(a.lines)
	a.lines = slices.Grow(a.lines, 1)[:n+1]
	x := &a.lines[n]
	a.begun++
	*x = sampleLine{Record: Record{Keyword: r.Keyword, ID: r.ID, Series: r.Series, Start: r.Start, End: r.End,
		Times: x.Times[:0], Values: x.Values[:0]}, number: number, begun: a.begun}
	return x
}

// dropWritten removes the lines that have been written, and keeps their memory for new lines.
func (a *pendingSamples) dropWritten() {
	list := a.waiting()
	if a.first == 0 || a.first < len(list) {
		return
	}
	for i := range list {
		a.lines[i], list[i] = list[i], a.lines[i]
	}
	a.lines, a.first = a.lines[:len(list)], 0
}

// sampleLine is a TSP or TSR line that is being rewritten.
type sampleLine struct {
	Record
	number  int64 // number in the original file, 0 if it has none
	begun   int64 // number of the line in the order in which the lines of the series begin, from 1
	samples int   // number of samples in the original line; 0 until it is needed
}

// maxPendingSamples limits how many samples of a series wait for other samples of their lines.
const maxPendingSamples = 1 << 16

// rewriteSample adds a sample or a range of samples at time t to the line that has it in the original
// file. A line waits until it has as many samples as the original line, and lines that begin later wait
// for it. So the samples of a line stay together, even if samples of other lines are between them in
// time. changed is set if the sample changes places with another one at the same time.
func (w *Writer) rewriteSample(c *curve, number, t int64, r *Record) (changed bool, err error) {
	a := &c.again
	x := a.find(number)
	if x == nil || r.Keyword == TSR || x.Keyword == TSR || number <= 0 {
		if err := w.endLine(c); err != nil {
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

// endLine ends the last line before another one begins: it writes the line, or keeps it until the rest of its
// samples arrive.
func (w *Writer) endLine(c *curve) error {
	a := &c.again
	list := a.waiting()
	if len(list) == 0 {
		return nil
	}
	last := &list[len(list)-1]
	if last.samples = 1; last.Keyword == TSP {
		last.samples = w.from.sampleCount(last.number)
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

// writeSamples writes the lines that are complete, up to the first one that is not. If all is set, it
// writes all lines.
func (w *Writer) writeSamples(c *curve, all bool) error {
	a := &c.again
	for ; a.first < len(a.lines); a.first++ {
		x := &a.lines[a.first]
		if !all && (x.samples == 0 || x.Keyword == TSP && len(x.Times) < x.samples) {
			break
		}
		w.buf = append(w.from.restoreLine(x.number, x.Append(w.buf[:0]), 0), '\n')
		if _, err := c.lines.Write(w.buf); err != nil {
			return err
		}
		a.held -= len(x.Values)
		if len(a.older) > 0 {
			delete(a.older, x.number)
		}
	}
	a.dropWritten()
	return nil
}

// canonicalLine returns the canonical form of the last line that was read, with its samples in the order of
// time. It rounds the times in the same way as the times of events, unless lines with a defect are rewritten.
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
		sort.Stable(samplesByTime{r})
	}
	w.text = r.Append(w.text[:0])
	return w.text
}

// samplesByTime sorts the samples of a record by time.
type samplesByTime struct{ *Record }

func (r samplesByTime) Len() int { return len(r.Times) }

func (r samplesByTime) Less(i, j int) bool { return linetrace.Compare(r.Times[i], r.Times[j]) < 0 }

func (r samplesByTime) Swap(i, j int) {
	r.Times[i], r.Times[j] = r.Times[j], r.Times[i]
	r.Values[i], r.Values[j] = r.Values[j], r.Values[i]
}

// restoreSpelling gives a record the spelling of its original line.
func (w *rewriter) restoreSpelling(r *Record) {
	if w != nil {
		w.text = r.Append(w.text[:0])
		if x, ok := w.defs[trace.ToUTF8(string(w.text))]; ok {
			r.line = string(w.appendNotes(nil, x.number, true)) + x.text
		}
	}
}

// properties returns the original T lines. ok is false if the attributes of the trace have changed.
func (w *rewriter) properties(attrs []Attr) (lines []Record, ok bool) {
	if w == nil || !slices.EqualFunc(attrs, w.props, func(a, b Attr) bool {
		return sameText(a.Key, b.Key) && sameText(a.Value, b.Value)
	}) {
		return nil, false
	}
	lines = slices.Clone(w.trace)
	for i := range lines {
		lines[i].line = string(w.appendNotes(nil, lines[i].Line, true)) + lines[i].line
	}
	return lines, true
}
