package picl

import (
	"cmp"
	"io"
	"maps"
	"slices"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/digits"
	"github.com/weft-trace/weft/trace"
)

// WriterOptions are the settings of a [Writer].
type WriterOptions struct {
	// Digits is the least number of digits after the point of a time stamp;
	// more are written where the value needs them.
	Digits int
	// Brackets says in which form events with and without duration are written.
	Brackets Brackets
	// Statistics appends records of types -101 … -103 computed from the events, of what no record behind
	// the events tells.
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

// Writer writes PICL records. The header has time stamps before that of every other
// record; therefore the text may have to be moved at Close, and so a Writer costs
// least if the earliest record comes first.
type Writer struct {
	w      io.Writer
	opt    WriterOptions
	header []Record
	body   *format.Draft
	any    bool
	min    trace.Decimal
	max    trace.Decimal
	stats  *Statistics
	// Marks: pending entries by processor, process, event type.
	pending map[pendingKey][]pendingEntry
	// ParaGraph: number and extent of each (processor, process).
	numbers map[procKey]*paragraphProcessor
	order   []*paragraphProcessor
	// byProcessor is the first process of each processor.
	byProcessor map[int64]*paragraphProcessor
	// tracing adds -901 to each of these, by processor, whose process is 0.
	tracing   bool
	processes []*traced
	// defs are the descriptors and subsets so far.
	defs *definitions
	// Left counts records that an option left out, by reason.
	Left map[string]int64
}

type pendingKey struct{ processor, process, event int64 }

// pendingEntry is an entry that waits for its exit, with its place in the text.
type pendingEntry struct {
	Record
	place   int64
	written bool // it stays an entry, which has been written, and its exit an exit
}

// traced is a process that gets its -901 entry ahead of its first record and its exit behind
// the last one, wherever those of the trace stand.
type traced struct {
	processor, process int64
	any                bool
	first, last        trace.Decimal // the earliest and the latest time
	from, to           int64         // where in body its first record begins and its last one ends
}

// record takes a record of the process that stands in body from one place to another.
func (p *traced) record(t trace.Decimal, from, to int64) {
	if !p.any {
		p.first, p.last, p.from, p.any = t, t, from, true
	}
	if t.Cmp(p.first) < 0 {
		p.first = t
	}
	if t.Cmp(p.last) > 0 {
		p.last = t
	}
	p.to = to
}

type paragraphProcessor struct {
	traced
	of, process int64 // in the trace
	// exit is a -901 exit that no record has followed so far, between are those that
	// another -901 entry has.
	exit    *pause
	between []pause
}

// pause is a -901 exit of a process that is not its last one.
type pause struct {
	time  trace.Decimal
	place int64
}

// defaultDigits is the least number of digits behind the point of a time, if nobody asks for another.
const defaultDigits = 6

// NewWriter makes a writer that writes to w when it is closed.
func NewWriter(w io.Writer, opt WriterOptions) *Writer {
	x := &Writer{w: w, body: format.NewDraft(w), opt: opt, defs: newDefinitions(), Left: map[string]int64{}}
	if opt.Digits == 0 {
		x.opt.Digits = defaultDigits
	}
	if opt.Statistics {
		x.stats = NewStatistics()
	}
	if opt.Brackets == Marks {
		x.pending = map[pendingKey][]pendingEntry{}
	}
	if opt.ParaGraph {
		x.numbers, x.byProcessor = map[procKey]*paragraphProcessor{}, map[int64]*paragraphProcessor{}
	}
	return x
}

// Header adds a record that stands before all others. Close sets its time. The writer keeps the
// record.
func (w *Writer) Header(r Record) {
	r.Values = slices.Clone(r.Values)
	w.header = append(w.header, r)
}

// Write adds a record. Records should come in time order. The writer keeps
// nothing of r.
func (w *Writer) Write(r *Record) error {
	w.define(r)
	switch {
	case w.opt.Brackets == EntryExit && r.Type == TypeMark:
		// From mark to entry and exit all fields go into the entry.
		e := *r
		e.Type = TypeEntry
		if err := w.bracketed(&e); err != nil {
			return err
		}
		e.Type, e.Values, e.Text = TypeExit, nil, ""
		return w.bracketed(&e)
	case w.opt.Brackets == Marks && r.Type == TypeEntry && r.Event != -901 && r.Event != -1:
		k := pendingKey{r.Processor, r.Process, r.Event}
		if r.Event >= 0 && len(r.Values) > len(specOf(r.Event).entry) {
			// In a mark its last fields would have the names of the exit's.
			w.pending[k] = append(w.pending[k], pendingEntry{written: true})
			return w.bracketed(r)
		}
		e := pendingEntry{Record: *r, place: w.body.Size()}
		e.Values = cloneValues(r.Values)
		w.defs.explicit(&e.Record)
		w.pending[k] = append(w.pending[k], e)
		return nil
	case w.opt.Brackets == Marks && r.Type == TypeExit && r.Event != -901 && r.Event != -1:
		k := pendingKey{r.Processor, r.Process, r.Event}
		open := w.pending[k]
		if len(open) == 0 {
			return w.bracketed(r)
		}
		e := open[len(open)-1]
		w.pending[k] = open[:len(open)-1]
		if e.written {
			return w.bracketed(r)
		}
		if e.Time.Cmp(r.Time) != 0 {
			w.Left["durations of events that became marks"]++
		}
		if len(r.Values) > 0 {
			// The exit's fields come behind all of the entry's.
			for range len(specOf(e.Event).entry) - len(e.Values) {
				e.Values = append(e.Values, intValue(-1))
			}
		}
		w.textGone(&e.Record)
		w.textGone(r)
		e.Type, e.Time, e.Values, e.Text = TypeMark, r.Time, append(e.Values, r.Values...), ""
		return w.bracketed(&e.Record)
	}
	return w.bracketed(r)
}

// textGone counts a record whose Text is left out for other values.
func (w *Writer) textGone(r *Record) {
	if r.defect && r.Text != "" {
		w.Left["what records with defects say beside their values"]++
	}
}

// define takes what the data of later records may need.
func (w *Writer) define(r *Record) {
	if isDefinition(r.Type) && r.Type != TypeLabel {
		k := *r
		k.Values = cloneValues(r.Values)
		w.defs.add(&k)
	}
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
	return w.counted(r)
}

// counted writes a record that is in the statistics too.
func (w *Writer) counted(r *Record) error {
	if w.stats != nil {
		w.stats.Add(r)
	}
	return w.emit(r)
}

// line writes a record as the line l, if no option asks for another form.
func (w *Writer) line(r *Record, l []byte) error {
	if w.opt.Brackets != Keep || w.opt.ParaGraph {
		return w.Write(r)
	}
	if w.stats != nil {
		w.stats.Add(r)
	}
	w.define(r)
	if err := w.seen(r.Time); err != nil {
		return err
	}
	return w.body.Done(append(append(w.body.Line(), l...), '\n'))
}

func (w *Writer) emit(r *Record) error {
	if err := w.seen(r.Time); err != nil {
		return err
	}
	if len(w.defs.descriptors) > 0 && !w.opt.ParaGraph {
		x := *r
		w.defs.explicit(&x)
		r = &x
	}
	from := w.body.Size()
	if err := w.body.Done(append(r.Append(w.body.Line(), w.opt.Digits), '\n')); err != nil {
		return err
	}
	if w.tracing && r.Processor >= 0 && (r.Type >= 0 || r.Type >= TypeExit && r.Type <= TypeMark) {
		w.trace(r.Processor, r.Time, from)
	}
	return nil
}

// trace notes a record of a processor that -901 is added to.
func (w *Writer) trace(processor int64, t trace.Decimal, from int64) {
	for int64(len(w.processes)) <= processor {
		w.processes = append(w.processes, nil)
	}
	p := w.processes[processor]
	if p == nil {
		p = &traced{processor: processor}
		w.processes[processor] = p
	}
	p.record(t, from, w.body.Size())
}

// seen widens the span of the records.
func (w *Writer) seen(t trace.Decimal) error {
	if w.any && t.Scale == w.max.Scale && t.Coef >= w.max.Coef {
		w.max = t
		return nil
	}
	if !w.any {
		w.min, w.max, w.any = t, t, true
		return w.body.Guess(w.head())
	}
	if t.Cmp(w.min) < 0 {
		w.min = t
	}
	if t.Cmp(w.max) > 0 {
		w.max = t
	}
	return nil
}

// head is the text of the header records.
func (w *Writer) head() (b []byte) {
	before, _, _ := w.min.Ticks(0)
	t := trace.NewDecimal(before-1, 0)
	for i := range w.header {
		w.header[i].Time = t
		b = append(w.header[i].Append(b, w.opt.Digits), '\n')
	}
	return b
}

// paragraphHeader are the header records that ParaGraph's traces have: labels of the processors
// that have records, by their new numbers, and subsets of them, under the first of their processors.
func (w *Writer) paragraphHeader() (kept []Record) {
	for i := range w.header {
		r := &w.header[i]
		p := w.numbers[procKey{r.Processor, r.Process}]
		switch {
		case r.Type == TypeProcessorSet:
			w.define(r)
			continue
		case r.Processor < 0 || r.Processor == Host:
			w.Left[leftScope]++
			continue
		case r.Type != TypeLabel || p == nil || !p.any:
			w.Left[leftIgnored]++
			continue
		}
		r.Processor, r.Process = p.processor, 0
		kept = append(kept, *r)
	}
	for _, k := range slices.SortedFunc(maps.Keys(w.defs.sets), func(a, b setKey) int { return cmp.Compare(b.id, a.id) }) {
		if k.typ != TypeProcessorSet {
			continue
		}
		r := Record{Type: k.typ, Event: -1, Values: []trace.Value{intValue(k.id)}}
		var members []int64
		for _, p := range w.order {
			if p.any && slices.Contains(w.defs.sets[k], p.of) {
				members = append(members, p.processor)
			}
		}
		if len(members) == 0 {
			w.Left[leftScope]++
			continue
		}
		for _, m := range members {
			r.Values = append(r.Values, intValue(m))
		}
		r.Processor = members[0]
		kept = append(kept, r)
	}
	return kept
}

// Reasons for which ParaGraph's traces leave records out.
const (
	leftScope   = "records of the host, of all processors or of subsets"
	leftIgnored = "labels, messages and other records that ParaGraph ignores"
)

// plain reports whether records are written as they come.
func (w *Writer) plain() bool {
	return w.opt.Brackets == Keep && !w.opt.ParaGraph && w.stats == nil
}

// short writes a record of integers, or of none, without the detour over a
// Record; the writer must be plain.
func (w *Writer) short(typ, event int64, t trace.Decimal, processor int64, ints ...int64) error {
	if err := w.seen(t); err != nil {
		return err
	}
	from := w.body.Size()
	b := digits.AppendInt(w.body.Line(), typ)
	b = digits.AppendInt(append(b, ' '), event)
	b = t.AppendLeast(append(b, ' '), w.opt.Digits)
	b = digits.AppendInt(append(b, ' '), processor)
	b = append(b, " 0 "...)
	b = digits.AppendInt(b, int64(len(ints)))
	if len(ints) > 0 {
		b = append(b, " 2"...)
		for _, v := range ints {
			b = digits.AppendInt(append(b, ' '), v)
		}
	}
	if err := w.body.Done(append(b, '\n')); err != nil {
		return err
	}
	if w.tracing {
		w.trace(processor, t, from)
	}
	return nil
}

// paragraph renumbers the processors and puts tracing around their records.
func (w *Writer) paragraph(r *Record) error {
	switch {
	case r.Type == TypeProcessorSet:
		return nil // Close writes it
	case r.Processor < 0 || r.Processor == Host:
		w.Left[leftScope]++
		return nil
	case r.Type < TypeExit || r.Type == -1:
		w.Left[leftIgnored]++
		return nil
	}
	p := w.processor(r.Processor, r.Process)
	x := *r
	if x.Values = w.renumber(r); !slices.Equal(x.Values, r.Values) {
		w.textGone(r)
		x.Text = ""
	}
	x.Text = w.defs.spelledOut(&x)
	x.Processor, x.Process = p.processor, 0
	from := w.body.Size()
	switch {
	case x.Event == -901 && x.Type == TypeEntry:
		if p.exit == nil {
			p.record(x.Time, from, from)
			return w.seen(x.Time) // Close writes it
		}
		p.between, p.exit = append(p.between, *p.exit), nil
	case x.Event == -901 && x.Type == TypeExit:
		p.record(x.Time, from, from)
		p.exit = &pause{x.Time, from}
		return w.seen(x.Time)
	default:
		p.exit = nil // not the last
	}
	if err := w.counted(&x); err != nil {
		return err
	}
	p.record(x.Time, from, w.body.Size())
	return nil
}

// bracket writes the -901 entry and exit of a process, and the exits that entries follow.
func (w *Writer) bracket(p *traced, between ...pause) error {
	if err := w.tracingRecord(p, TypeEntry, p.first, p.from); err != nil {
		return err
	}
	for _, e := range between {
		if err := w.tracingRecord(p, TypeExit, e.time, e.place); err != nil {
			return err
		}
	}
	return w.tracingRecord(p, TypeExit, p.last, p.to)
}

// traceAll adds -901 to all processors; of those at one place of the text the earlier ones come first.
func (w *Writer) traceAll() error {
	type record struct {
		p     *traced
		typ   int64
		time  trace.Decimal
		place int64
	}
	var list []record
	for _, p := range w.processes {
		if p != nil {
			list = append(list, record{p, TypeEntry, p.first, p.from}, record{p, TypeExit, p.last, p.to})
		}
	}
	slices.SortStableFunc(list, func(a, b record) int { return cmp.Or(cmp.Compare(a.place, b.place), a.time.Cmp(b.time)) })
	for _, r := range list {
		if err := w.tracingRecord(r.p, r.typ, r.time, r.place); err != nil {
			return err
		}
	}
	return nil
}

// tracingRecord inserts a -901 record in the text.
func (w *Writer) tracingRecord(p *traced, typ int64, t trace.Decimal, place int64) error {
	r := Record{Type: typ, Event: -901, Time: t, Processor: p.processor, Process: p.process}
	if w.stats != nil {
		w.stats.Add(&r)
	}
	return w.body.Insert(place, append(r.Append(nil, w.opt.Digits), '\n'))
}

// processor finds or makes the number of a processor and process. Process -1 is
// the processor's first one.
func (w *Writer) processor(processor, process int64) *paragraphProcessor {
	k := procKey{processor, process}
	p := w.numbers[k]
	if first := w.byProcessor[processor]; p == nil && first != nil && (process == -1 || first.process == -1) {
		p = first
		p.process = max(p.process, process)
	}
	if p == nil {
		p = &paragraphProcessor{traced: traced{processor: int64(len(w.order))}, of: processor, process: process}
		w.order = append(w.order, p)
		if w.byProcessor[processor] == nil {
			w.byProcessor[processor] = p
			if process != -1 {
				w.numbers[procKey{processor, -1}] = p
			}
		}
	}
	w.numbers[k] = p
	return p
}

// renumber gives the processors that data fields name their new numbers, and
// process 0. Subsets of processes are gone.
func (w *Writer) renumber(r *Record) []trace.Value {
	var names []string
	spec := specOf(r.Event)
	switch r.Type {
	case TypeEntry, TypeMark:
		if names = spec.entry; r.Type == TypeMark || r.Event < 0 && len(r.Values) > len(names) {
			names = append(slices.Clone(names), spec.exit...)
		}
	case TypeExit:
		names = spec.exit
	}
	out := slices.Clone(r.Values)
	for i, n := range names[:min(len(names), len(out))] {
		v := out[i].Int()
		switch typ := subsetFields[n]; {
		case out[i].Type == trace.String:
		case typ == TypeProcessSet && v < -1:
			out[i] = intValue(-1)
		case n != "processor" && typ != TypeProcessorSet || v < 0 || v == Host || w.defs.has(setKey{TypeProcessorSet, v}):
		default:
			process := int64(-1)
			with := i+1 < len(out) && i+1 < len(names) && (n == "processor" || subsetFields[names[i+1]] == TypeProcessSet)
			if with && out[i+1].Type != trace.String {
				process = max(-1, out[i+1].Int())
			}
			out[i] = intValue(w.processor(v, process).processor)
			if process >= 0 {
				out[i+1] = intValue(0)
			}
		}
	}
	return out
}

// Close writes everything. It does not close the underlying writer.
func (w *Writer) Close() error {
	defer w.body.Close()
	// Entries without exit stay entries, where they stood.
	var open []pendingEntry
	for _, l := range w.pending {
		open = append(open, l...)
	}
	slices.SortFunc(open, func(a, b pendingEntry) int {
		return cmp.Or(cmp.Compare(a.place, b.place), a.Time.Cmp(b.Time), cmp.Compare(a.Processor, b.Processor),
			cmp.Compare(a.Process, b.Process), cmp.Compare(a.Event, b.Event))
	})
	for i := range open {
		if open[i].written {
			continue
		}
		if err := w.body.Insert(open[i].place, append(open[i].Append(nil, w.opt.Digits), '\n')); err != nil {
			return err
		}
	}
	for _, p := range w.order {
		if !p.any {
			continue
		}
		if err := w.bracket(&p.traced, p.between...); err != nil {
			return err
		}
	}
	if err := w.traceAll(); err != nil {
		return err
	}
	if w.stats != nil {
		for _, r := range w.stats.Records(w.max) {
			if err := w.emit(&r); err != nil {
				return err
			}
		}
	}
	if w.opt.ParaGraph {
		w.header = w.paragraphHeader()
	}
	return w.body.Finish(w.head())
}

// Discard frees what the writer holds without writing it.
func (w *Writer) Discard() { w.body.Close() }

// ParseBrackets reads the option picl.brackets.
func ParseBrackets(s string) (Brackets, error) {
	i := slices.Index([]string{"keep", "entry-exit", "mark"}, s)
	if i < 0 {
		return 0, &format.OptionError{Option: "picl.brackets", Value: s, Expected: "keep, entry-exit or mark"}
	}
	return Brackets(i), nil
}
