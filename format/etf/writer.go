package etf

import (
	"bufio"
	"cmp"
	"io"
	"slices"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/spool"
)

// Writer writes the records of a TRACE file in the canonical order: TU, O, T, R, C, E, D, then each signal
// with its fragments, and each group with its series. Records may come in any order. Records that must wait
// for others are stored in temporary files. A Writer needs the fewest temporary files if the definitions come
// first.
type Writer struct {
	w       io.Writer
	unit    string
	off     int64
	offSeen bool
	notes   []byte // comments and lines with an unknown keyword
	head    []byte // T lines
	res     []byte
	first   *format.Draft  // text of the C lines
	begun   bool           // first contains at least one line
	rest    [2]spool.Spool // text of the E lines and of the D lines
	joined  bool           // first also has the E lines, from claimsEnd on, and the D lines, from eventsEnd on

	claimsEnd, eventsEnd int64
	// curves holds the signals and series with their lines, in the order of their definition.
	curves []*curve
	byID   map[seriesKey]*curve
	buf    []byte
	from   *rewriter // finds the lines of the original file, or nil
}

type curve struct {
	key   seriesKey
	place int // position among the curves of the writer, in the order of definition
	def   []byte
	lines spool.Spool
	open  Record // samples that will be written as one TSP line
	again pendingSamples
}

// rank returns 0 for signals and 1 for time series. Curves with a lower rank come first in the file.
func (c *curve) rank() int {
	if c.key.kind == S {
		return 0
	}
	return 1
}

// compare orders curves as they are ordered in the file.
func (c *curve) compare(o *curve) int {
	return cmp.Or(cmp.Compare(c.rank(), o.rank()), c.compareSeries(o), cmp.Compare(c.place, o.place))
}

// compareSeries orders time series by their group. The line that defines the group comes first.
func (c *curve) compareSeries(o *curve) int {
	if c.rank() == 0 {
		return 0
	}
	return cmp.Or(cmp.Compare(c.key.group, o.key.group), cmp.Compare(c.key.kind, o.key.kind),
		cmp.Compare(c.key.series, o.key.series))
}

// samplesPerLine is the greatest number of samples in a TSP line.
const samplesPerLine = 64

// NewWriter returns a writer that writes all text to w on Close.
func NewWriter(w io.Writer) *Writer {
	return &Writer{w: w, byID: map[seriesKey]*curve{}, first: format.NewDraft(w)}
}

// Write adds a record. It does not retain r.
func (w *Writer) Write(r *Record) error {
	switch r.Keyword {
	case TU:
		if w.unit == "" {
			w.unit = r.Unit
		}
		return nil
	case O:
		if !w.offSeen {
			w.off, w.offSeen = r.ID, true
		}
		return nil
	case T:
		if len(r.Attrs) > 0 || r.line != "" {
			w.head = append(r.Append(w.head), '\n')
		}
		return nil
	case R:
		w.res = append(r.Append(w.res), '\n')
		return nil
	case S, TS, TSS:
		k := seriesKey{kind: r.Keyword, group: r.ID}
		if r.Keyword == TSS {
			k.series = r.Series
		}
		c := w.curve(k)
		if c.def == nil {
			c.def = append(r.Append(nil), '\n')
		}
		return nil
	case F, TSP, TSR:
		k := seriesKey{TSS, r.ID, r.Series}
		if r.Keyword == F {
			k = seriesKey{kind: S, group: r.ID}
		}
		c := w.curve(k)
		if r.Keyword == TSP {
			return w.addSamples(c, r)
		}
		if err := w.endSamples(c); err != nil {
			return err
		}
		w.buf = append(r.Append(w.buf[:0]), '\n')
		_, err := c.lines.Write(w.buf)
		return err
	}
	return w.addSectionLine(r.Keyword, func(b []byte) []byte { return append(r.Append(b), '\n') })
}

// addComment adds a comment line ([noteText]). The comments are written before all records.
func (w *Writer) addComment(text string) { w.notes = append(append(w.notes, text...), '\n') }

// addSectionLine adds a line to the claims, events or dependencies. The function line appends its text.
func (w *Writer) addSectionLine(k Keyword, line func([]byte) []byte) error {
	s := w.events()
	switch k {
	case E:
	case D:
		s = w.dependencies()
	default:
		return w.addClaimLine(line)
	}
	return s.Done(line(s.Line()))
}

// addClaimLine adds a line to the claims. The function line appends its text.
func (w *Writer) addClaimLine(line func([]byte) []byte) error {
	if w.joined {
		w.buf = line(w.buf[:0])
		return w.first.Insert(w.claimsEnd, w.buf)
	}
	if err := w.begin(); err != nil {
		return err
	}
	return w.first.Done(line(w.first.Line()))
}

// events and dependencies return the spools with the text of the E lines and the D lines.
func (w *Writer) events() *spool.Spool { return &w.rest[0] }

func (w *Writer) dependencies() *spool.Spool {
	if w.joined {
		return &w.first.Spool
	}
	return &w.rest[1]
}

// begin writes the definitions known so far before the first line. Close replaces them.
func (w *Writer) begin() error {
	if w.begun {
		return nil
	}
	w.begun = true
	return w.first.Guess(w.definitions())
}

// join makes the writer append events directly to the claims, and dependencies to both, without
// temporary files. Encoders call it when they expect no more claims and events. Later ones are still
// written in the right place, at a higher cost.
func (w *Writer) join() error {
	if w.joined {
		return nil
	}
	if err := w.begin(); err != nil {
		return err
	}
	w.joined, w.claimsEnd = true, w.first.Size()
	for i := range w.rest {
		if i == 1 {
			w.eventsEnd = w.first.Size()
		}
		if err := w.rest[i].CopyTo(&w.first.Spool); err != nil {
			return err
		}
		w.rest[i].Close()
	}
	return nil
}

// claimsSize returns the size of the claims' text. Encoders use it to insert claims later.
func (w *Writer) claimsSize() int64 {
	if w.joined {
		return w.claimsEnd
	}
	return w.first.Size()
}

// definitions returns the text of all lines before the claims.
func (w *Writer) definitions() []byte {
	unit := w.unit
	if unit == "" {
		unit = "SECONDS"
	}
	units := [2]Record{{Keyword: TU, Unit: unit}, {Keyword: O, ID: w.off}}
	b := slices.Clone(w.notes)
	for i := range units {
		w.from.restoreSpelling(&units[i])
		if units[i].Keyword == TU || w.off != 0 || units[i].line != "" {
			b = append(units[i].Append(b), '\n')
		}
	}
	return append(append(b, w.head...), w.res...)
}

// discardDefinitions removes all definitions that the writer has received, so that new ones can be written in
// their place.
func (w *Writer) discardDefinitions() {
	w.unit, w.off, w.offSeen, w.notes, w.head, w.res = "", 0, false, nil, nil, nil
	for _, c := range w.curves {
		c.def = nil
	}
}

func (w *Writer) curve(k seriesKey) *curve {
	c := w.byID[k]
	if c == nil {
		c = &curve{key: k, place: len(w.curves)}
		w.byID[k] = c
		w.curves = append(w.curves, c)
	}
	return c
}

// addSamples adds the samples of a record to the open TSP line of a curve. It writes the line when the line has
// samplesPerLine samples.
func (w *Writer) addSamples(c *curve, r *Record) error {
	o := &c.open
	o.Keyword, o.ID, o.Series = TSP, r.ID, r.Series
	for i, t := range r.Times {
		o.Times = append(o.Times, t)
		o.Values = append(o.Values, r.Values[i])
		if len(o.Times) == samplesPerLine {
			if err := w.endSamples(c); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *Writer) endSamples(c *curve) error {
	if len(c.again.waiting()) > 0 {
		return w.writeSamples(c, true)
	}
	if len(c.open.Times) == 0 {
		return nil
	}
	w.buf = append(c.open.Append(w.buf[:0]), '\n')
	c.open.Times, c.open.Values = c.open.Times[:0], c.open.Values[:0]
	_, err := c.lines.Write(w.buf)
	return err
}

// Close writes the whole file. It does not close the underlying writer.
func (w *Writer) Close() error {
	defer w.Discard()
	if w.joined {
		// These are the E lines that came after the call of join.
		if err := w.rest[0].CopyTo(inserter{&w.first.Spool, w.eventsEnd}); err != nil {
			return err
		}
		w.rest[0].Close()
	}
	if err := w.first.Finish(w.definitions()); err != nil {
		return err
	}
	for i := range w.rest {
		if err := w.rest[i].CopyTo(w.w); err != nil {
			return err
		}
	}
	out := bufio.NewWriterSize(w.w, 64<<10) // copies large parts of files directly
	// Signals come before time series, and each group before its series.
	slices.SortFunc(w.curves, (*curve).compare)
	for _, c := range w.curves {
		if err := w.endSamples(c); err != nil {
			return err
		}
		out.Write(c.def)
		if err := c.lines.CopyTo(out); err != nil {
			return err
		}
	}
	if w.from != nil {
		for _, x := range w.from.inOrder() {
			if x.placed && x.before == 0 { // no record comes after the note
				out.WriteString(x.text + "\n")
			}
		}
	}
	return out.Flush()
}

// inserter inserts the text that is written to it at a position of a spool.
type inserter struct {
	spool *spool.Spool
	at    int64
}

func (i inserter) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	return len(p), i.spool.Insert(i.at, p)
}

// Discard deletes the writer's temporary files.
func (w *Writer) Discard() {
	w.first.Close()
	for i := range w.rest {
		w.rest[i].Close()
	}
	for _, c := range w.curves {
		c.lines.Close()
	}
}
