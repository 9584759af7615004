package picl

import (
	"fmt"
	"io"
	"slices"

	"github.com/weft-trace/weft/internal/spool"
	"github.com/weft-trace/weft/trace"
)

// WriterOptions are the settings of a [Writer].
type WriterOptions struct {
	// Digits is the least number of digits after the point of a time stamp;
	// more are written where the value needs them.
	Digits int
	// Brackets says in which form events with and without duration are written.
	Brackets Brackets
	// Statistics appends records of types -101 … -103 computed from the events.
	Statistics bool
	// ParaGraph writes what ParaGraph can read: processors 0 … P-1 with one
	// process each, tracing (-901) around each processor's records, no host, no
	// records that concern all or a subset of the processors.
	ParaGraph bool
}

// Brackets is how entries, exits and marks are written (specification section
// 2.3.3).
type Brackets int

// The forms.
const (
	Keep      Brackets = iota // as they come
	EntryExit                 // marks become an entry and an exit
	Marks                     // an entry and its exit become a mark at the exit's time
)

// Writer writes PICL records. Header records come first whenever they are
// given, with time stamps before that of every other record; therefore the text
// is kept in a temporary file until Close.
type Writer struct {
	w      io.Writer
	opt    WriterOptions
	header []Record
	body   spool.Spool
	buf    []byte
	any    bool
	min    trace.Decimal
	max    trace.Decimal
	stats  *Statistics
	// Marks: pending entries by processor, process, event type.
	pending map[pendingKey][]Record
	// ParaGraph: number and extent of each (processor, process).
	numbers map[procKey]*paragraphProcessor
	order   []*paragraphProcessor
	// Left counts records that an option left out, by reason.
	Left map[string]int64
}

type pendingKey struct{ processor, process, event int64 }

type paragraphProcessor struct {
	number int64
	open   bool // a -901 entry without an exit so far
	closed bool // the last record was a -901 exit
	last   trace.Decimal
	after  int64 // where in body its last record ends
}

// NewWriter makes a writer that writes to w when it is closed.
func NewWriter(w io.Writer, opt WriterOptions) *Writer {
	x := &Writer{w: w, opt: opt, Left: map[string]int64{}}
	if opt.Digits == 0 {
		x.opt.Digits = 6
	}
	if opt.Statistics {
		x.stats = NewStatistics()
	}
	if opt.Brackets == Marks {
		x.pending = map[pendingKey][]Record{}
	}
	if opt.ParaGraph {
		x.numbers = map[procKey]*paragraphProcessor{}
	}
	return x
}

// Header adds a record that stands before all others; its time is set by
// Close. The record is kept.
func (w *Writer) Header(r Record) {
	r.Values = slices.Clone(r.Values)
	w.header = append(w.header, r)
}

// Write adds a record. Records should come in time order. The writer keeps
// nothing of r.
func (w *Writer) Write(r *Record) error {
	switch {
	case w.opt.Brackets == EntryExit && r.Type == TypeMark:
		// From mark to entry and exit all fields go into the entry.
		e := *r
		e.Type = TypeEntry
		if err := w.bracketed(&e); err != nil {
			return err
		}
		e.Type, e.Values = TypeExit, nil
		return w.bracketed(&e)
	case w.opt.Brackets == Marks && r.Type == TypeEntry && r.Event != -901:
		k := pendingKey{r.Processor, r.Process, r.Event}
		e := *r
		e.Values = cloneValues(r.Values)
		w.pending[k] = append(w.pending[k], e)
		return nil
	case w.opt.Brackets == Marks && r.Type == TypeExit && r.Event != -901:
		k := pendingKey{r.Processor, r.Process, r.Event}
		open := w.pending[k]
		if len(open) == 0 {
			return w.bracketed(r)
		}
		e := open[len(open)-1]
		w.pending[k] = open[:len(open)-1]
		if e.Time.Cmp(r.Time) != 0 {
			w.Left["durations of events that became marks"]++
		}
		e.Type, e.Time, e.Values = TypeMark, r.Time, append(e.Values, r.Values...)
		return w.bracketed(&e)
	}
	return w.bracketed(r)
}

func cloneValues(vals []trace.Value) []trace.Value {
	out := slices.Clone(vals)
	for i := range out {
		out[i].Str = string([]byte(out[i].Str))
	}
	return out
}

// bracketed takes a record in its final form.
func (w *Writer) bracketed(r *Record) error {
	if w.opt.ParaGraph {
		return w.paragraph(r)
	}
	if w.stats != nil {
		w.stats.Add(r)
	}
	return w.emit(r)
}

func (w *Writer) emit(r *Record) error {
	if !w.any || r.Time.Cmp(w.min) < 0 {
		w.min = r.Time
	}
	if !w.any || r.Time.Cmp(w.max) > 0 {
		w.max = r.Time
	}
	w.any = true
	w.buf = append(r.Append(w.buf[:0], w.opt.Digits), '\n')
	_, err := w.body.Write(w.buf)
	return err
}

// paragraph renumbers the processors and puts tracing around their records.
func (w *Writer) paragraph(r *Record) error {
	if r.Processor < 0 || r.Processor == Host || r.Type == TypeDescriptor {
		w.Left["records of the host, of all processors or of subsets"]++
		return nil
	}
	k := procKey{r.Processor, r.Process}
	p := w.numbers[k]
	if p == nil {
		p = &paragraphProcessor{number: int64(len(w.order))}
		w.numbers[k] = p
		w.order = append(w.order, p)
	}
	x := *r
	x.Processor, x.Process = p.number, 0
	isTracing := x.Event == -901 && (x.Type == TypeEntry || x.Type == TypeExit)
	if !p.open && !(isTracing && x.Type == TypeEntry) && !p.closed {
		// Records that come after the -901 exit, such as statistics, are left as
		// they are.
		e := Record{Type: TypeEntry, Event: -901, Time: x.Time, Processor: p.number}
		if err := w.number(&e); err != nil {
			return err
		}
		p.open = true
	}
	if isTracing {
		p.open, p.closed = x.Type == TypeEntry, x.Type == TypeExit
	}
	if err := w.number(&x); err != nil {
		return err
	}
	p.last, p.after = x.Time, w.body.Size()
	return nil
}

func (w *Writer) number(r *Record) error {
	if w.stats != nil {
		w.stats.Add(r)
	}
	return w.emit(r)
}

// Close writes everything. It does not close the underlying writer.
func (w *Writer) Close() error {
	defer w.body.Close()
	for k, open := range w.pending {
		for i := range open {
			// An entry without exit stays an entry.
			if err := w.bracketed(&open[i]); err != nil {
				return err
			}
		}
		delete(w.pending, k)
	}
	for _, p := range w.order {
		if p.open {
			e := Record{Type: TypeExit, Event: -901, Time: p.last, Processor: p.number}
			if w.stats != nil {
				w.stats.Add(&e)
			}
			if err := w.body.Insert(p.after, append(e.Append(nil, w.opt.Digits), '\n')); err != nil {
				return err
			}
		}
	}
	if w.stats != nil {
		for _, r := range w.stats.Records(w.max) {
			if err := w.emit(&r); err != nil {
				return err
			}
		}
	}
	if len(w.header) > 0 {
		before, _, _ := w.min.Ticks(0)
		t := trace.NewDecimal(before-1, 0)
		var b []byte
		for i := range w.header {
			if w.opt.ParaGraph && w.header[i].Type != TypeLabel {
				continue
			}
			w.header[i].Time = t
			b = append(w.header[i].Append(b, w.opt.Digits), '\n')
		}
		if _, err := w.w.Write(b); err != nil {
			return err
		}
	}
	return w.body.CopyTo(w.w)
}

// Discard frees what the writer holds without writing it.
func (w *Writer) Discard() { w.body.Close() }

// ParseBrackets reads the option picl.brackets.
func ParseBrackets(s string) (Brackets, error) {
	i := slices.Index([]string{"keep", "entry-exit", "mark"}, s)
	if i < 0 {
		return 0, fmt.Errorf("option picl.brackets=%s: expected keep, entry-exit or mark", s)
	}
	return Brackets(i), nil
}
