package picl

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/digits"
	"github.com/weft-trace/weft/trace"
)

// WriterOptions holds the settings of a [Writer].
type WriterOptions struct {
	// Digits is the minimum number of decimals of a time; 0 means 6. A time gets more decimals if its value
	// needs them.
	Digits int
	// Brackets selects how events with and without duration are written.
	Brackets Brackets
	// Statistics makes the writer append statistics records of types -101 to -103, computed from the
	// events. It leaves out values that a record after the events already states.
	Statistics bool
	// ParaGraph makes the writer produce only what ParaGraph can read: processors 0 to P-1 with one
	// process each, a tracing event (-901) around the records of each processor, no host, and no
	// records about all processors or a subset of them.
	ParaGraph bool
}

// Brackets is a way to write events: as marks, or as entries and exits (section 2.3.3 of Worley's report).
type Brackets int

// The values of Brackets. docs/formats/picl-writing.md has the exceptions ("Marks, entries and exits").
const (
	Keep      Brackets = iota // write entries, exits and marks unchanged
	EntryExit                 // write each mark as an entry and an exit
	Marks                     // write an entry and its exit as a mark at the time of the exit
)

// Writer writes PICL records. The header records must have earlier times than all others, so Close may
// have to move the text. A Writer is fastest if the earliest record is written first.
type Writer struct {
	opt    WriterOptions
	header []Record
	body   *format.Draft
	any    bool
	min    trace.Decimal
	max    trace.Decimal
	stats  *Statistics
	// counted is set if stats had all records from the start, so that the writer must not count them
	// again.
	counted bool
	// pending holds the open entries by processor, process and event type. It serves the option Marks.
	pending map[pendingKey][]pendingEntry
	// numbers holds the new number and the extent of each processor and process. It serves the option
	// ParaGraph.
	numbers map[procKey]*paragraphProcessor
	order   []*paragraphProcessor
	// byProcessor holds the first process of each processor.
	byProcessor map[int64]*paragraphProcessor
	// unknown counts the records with integers of unknown meaning, for the option ParaGraph.
	unknown int64
	// tracing makes the writer add -901 records around the records of each element of processes. The index in
	// processes is the number of the processor. All of these records have process 0.
	tracing   bool
	processes []*tracedProcess
	// defs holds the descriptors and subsets defined so far.
	defs *definitions
	// Left counts the records that an option made the writer omit, by reason.
	Left map[string]int64
}

type pendingKey struct{ processor, process, event int64 }

// pendingEntry is an entry whose exit has not been written yet, and the entry's offset in the text.
type pendingEntry struct {
	Record
	place     int64
	written   bool   // the entry was written as an entry, so its exit must be written as an exit
	text      string // the Text of the entry
	described int    // number of descriptors defined before the entry
}

// tracedProcess is a process that gets a -901 entry before its first record, and a -901 exit after its last
// one. It gets them even if the trace already has such records.
type tracedProcess struct {
	processor, process int64
	any                bool
	first, last        trace.Decimal // the earliest and the latest time of a record
	// offsets in body of the start of the first record and of the end of the last record
	from, to int64
}

// record extends the times and the offsets of the process to include a record.
func (p *tracedProcess) record(t trace.Decimal, from, to int64) {
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
	tracedProcess
	original, process int64 // processor and process in the original trace
	// exit is a -901 exit that no later record has followed so far. between holds the exits that
	// another -901 entry followed.
	exit    *tracingExit
	between []tracingExit
}

// tracingExit is a -901 exit of a process that has another -901 entry after it.
type tracingExit struct {
	time  trace.Decimal
	place int64
}

// defaultDigits is the minimum number of decimals of a time if no option sets it.
const defaultDigits = 6

// NewWriter returns a writer that writes all text to w on Close.
func NewWriter(w io.Writer, opt WriterOptions) *Writer {
	x := &Writer{body: format.NewDraft(w), opt: opt, defs: newDefinitions(), Left: map[string]int64{}}
	if opt.Digits == 0 {
		x.opt.Digits = defaultDigits
	}
	if opt.Statistics {
		x.stats = NewStatistics()
		x.stats.sums.keeps = func(event int64) bool { return event >= 0 } // records of each user event
	}
	if opt.Brackets == Marks {
		x.pending = map[pendingKey][]pendingEntry{}
	}
	if opt.ParaGraph {
		x.numbers, x.byProcessor = map[procKey]*paragraphProcessor{}, map[int64]*paragraphProcessor{}
	}
	return x
}

// Header adds a record that precedes all others. Close sets its time. The writer retains the record.
func (w *Writer) Header(r Record) {
	r.Values = slices.Clone(r.Values)
	w.header = append(w.header, r)
}

// Write adds a record. Records should come in order of time. The writer does not retain r.
func (w *Writer) Write(r *Record) error {
	w.define(r)
	switch {
	case w.opt.Brackets == EntryExit && r.Type == TypeMark:
		// The entry gets all fields of the mark.
		e := *r
		e.Type = TypeEntry
		if err := w.writeFinal(&e); err != nil {
			return err
		}
		e.Type, e.Values, e.Text = TypeExit, nil, ""
		return w.writeFinal(&e)
	case w.opt.Brackets == Marks && r.Type == TypeEntry && r.Event != -901 && r.Event != -1:
		k := pendingKey{r.Processor, r.Process, r.Event}
		spec := specOf(r.Event)
		if r.Event >= 0 && len(r.Values) > len(spec.entry) || spec.send == sendPost && len(r.Values) <= destinationField {
			// The entry cannot become part of a mark. Its last fields would get the names of the exit's
			// fields, and a destination that it omits would become -1, which means all processors.
			w.pending[k] = append(w.pending[k], pendingEntry{written: true})
			return w.writeFinal(r)
		}
		e := pendingEntry{Record: *r, place: w.body.Size(), text: r.Text, described: len(w.defs.descriptors)}
		e.Values = cloneValues(r.Values)
		w.defs.setExplicitText(&e.Record)
		w.pending[k] = append(w.pending[k], e)
		return nil
	case w.opt.Brackets == Marks && r.Type == TypeExit && r.Event != -901 && r.Event != -1:
		k := pendingKey{r.Processor, r.Process, r.Event}
		open := w.pending[k]
		if len(open) == 0 {
			return w.writeFinal(r)
		}
		e := open[len(open)-1]
		w.pending[k] = open[:len(open)-1]
		if e.written {
			return w.writeFinal(r)
		}
		if e.Time.Cmp(r.Time) != 0 {
			w.Left["durations of events that became marks"]++
		}
		return w.writeFinal(w.mark(&e, r))
	}
	return w.writeFinal(r)
}

// mark returns the mark that replaces an entry and its exit. The mark has the fields of both. It keeps
// a Text if only one of the two has data.
func (w *Writer) mark(e *pendingEntry, exit *Record) *Record {
	m := &e.Record
	if len(exit.Values) > 0 {
		// The fields of the exit come after all fields that an entry may have.
		for range len(specOf(e.Event).entry) - len(e.Values) {
			m.Values = append(m.Values, intValue(-1))
		}
	}
	switch {
	case len(exit.Values) == 0 && exit.Text == "" && e.described == len(w.defs.descriptors):
	case len(e.Values) == 0 && e.text == "" && exit.Text != "":
		m.Values, m.Text = exit.Values, exit.Text
	default:
		m.Text = e.text
		w.countLostText(m)
		w.countLostText(exit)
		m.Values, m.Text = append(m.Values, exit.Values...), ""
	}
	m.Type, m.Time = TypeMark, exit.Time
	return m
}

// countLostText counts a record whose Text is replaced by its values, if Text contains more than the values
// or has another form.
func (w *Writer) countLostText(r *Record) {
	switch {
	case r.saysMore && r.Text != "":
		w.Left[leftText]++
	case w.defs.respells(r, math.MaxInt64):
		w.Left[leftSpelling]++
	}
}

// define stores a definition that the data of later records may need.
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

// writeFinal writes a record that needs no further change.
func (w *Writer) writeFinal(r *Record) error {
	if w.opt.ParaGraph {
		return w.writeParaGraph(r)
	}
	return w.writeCounted(r)
}

// writeCounted writes a record and adds it to the statistics.
func (w *Writer) writeCounted(r *Record) error {
	w.count(r)
	return w.emit(r)
}

// count adds a record to the statistics.
func (w *Writer) count(r *Record) {
	if w.stats != nil && !w.counted {
		w.stats.Add(r)
	}
}

// writeLine writes the line l of a record without changes, unless an option requires another form.
func (w *Writer) writeLine(r *Record, l []byte) error {
	if w.opt.Brackets != Keep || w.opt.ParaGraph {
		return w.Write(r)
	}
	w.count(r)
	w.define(r)
	if err := w.noteTime(r.Time); err != nil {
		return err
	}
	return w.body.Done(append(append(w.body.Line(), l...), '\n'))
}

// writeUnread writes a line that cannot be read. It omits the line if it comes first and would make the
// file look like the old format. With the option ParaGraph, it omits all such lines.
func (w *Writer) writeUnread(l []byte) error {
	if w.opt.ParaGraph || w.body.Size() == 0 && len(w.header) == 0 && probeOld(l) > 0 {
		w.Left[leftUnread]++
		return nil
	}
	return w.body.Done(append(append(w.body.Line(), l...), '\n'))
}

func (w *Writer) emit(r *Record) error {
	if err := w.noteTime(r.Time); err != nil {
		return err
	}
	if len(w.defs.descriptors) > 0 && !w.opt.ParaGraph {
		x := *r
		w.defs.setExplicitText(&x)
		r = &x
	}
	from := w.body.Size()
	if err := w.body.Done(append(r.Append(w.body.Line(), w.opt.Digits), '\n')); err != nil {
		return err
	}
	if w.tracing && r.Processor >= 0 && (r.Type >= 0 || r.Type >= TypeExit && r.Type <= TypeMark) {
		w.noteTraced(r.Processor, r.Time, from)
	}
	return nil
}

// noteTraced extends the times and offsets of a processor that gets -901 records to include a record.
func (w *Writer) noteTraced(processor int64, t trace.Decimal, from int64) {
	for int64(len(w.processes)) <= processor {
		w.processes = append(w.processes, nil)
	}
	p := w.processes[processor]
	if p == nil {
		p = &tracedProcess{processor: processor}
		w.processes[processor] = p
	}
	p.record(t, from, w.body.Size())
}

// noteTime extends the time range of the records to include t.
func (w *Writer) noteTime(t trace.Decimal) error {
	if w.any && t.Scale == w.max.Scale && t.Coef >= w.max.Coef {
		w.max = t
		return nil
	}
	if !w.any {
		w.min, w.max, w.any = t, t, true
		return w.body.Guess(w.headerText())
	}
	if t.Cmp(w.min) < 0 {
		w.min = t
	}
	if t.Cmp(w.max) > 0 {
		w.max = t
	}
	return nil
}

// headerText returns the text of the header records.
func (w *Writer) headerText() (b []byte) {
	before, _, _ := w.min.Ticks(0)
	t := trace.NewDecimal(before-1, 0)
	for i := range w.header {
		w.header[i].Time = t
		b = append(w.header[i].Append(b, w.opt.Digits), '\n')
	}
	return b
}

// paraGraphHeader returns the header records for ParaGraph: labels of the processors that have records,
// with their new numbers, and subsets of processors. The record of a subset names its first member as
// the processor.
func (w *Writer) paraGraphHeader() (kept []Record) {
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
			if p.any && w.defs.isMember(k.typ, k.id, p.original) {
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

// The reasons by which Writer.Left counts omitted records.
const (
	leftScope   = "records of the host, of all processors or of subsets"
	leftIgnored = "labels, messages and other records that ParaGraph ignores"
	leftUnread  = "cannot be read"
	leftText    = "text in records apart from the values is not kept"
	// leftSpelling counts data with a descriptor that weft would not write.
	leftSpelling = "values are kept, but not the spelling in the file"
	leftData     = "the meaning of the data is unknown; it may contain a number that was changed elsewhere"
)

// degradedFields maps a reason in Writer.Left to the part of records that is kept in part. Records with
// other reasons are lost.
var degradedFields = map[string]string{leftText: "text", leftSpelling: "spelling", leftData: "data"}

// writesUnchanged reports whether the options let the writer write records without change.
func (w *Writer) writesUnchanged() bool {
	return w.opt.Brackets == Keep && !w.opt.ParaGraph && w.stats == nil
}

// writeIntegers writes a record whose values are integers, or that has none. It is faster than Write,
// and may be called only if writesUnchanged reports true.
func (w *Writer) writeIntegers(typ, event int64, t trace.Decimal, processor int64, ints ...int64) error {
	if err := w.noteTime(t); err != nil {
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
		w.noteTraced(processor, t, from)
	}
	return nil
}

// writeParaGraph renumbers the processor of a record and writes it. It keeps track of the tracing
// records (-901).
func (w *Writer) writeParaGraph(r *Record) error {
	switch {
	case r.Type == TypeProcessorSet:
		return nil // Close writes this record
	case r.Processor < 0 || r.Processor == Host || r.Process < -1:
		w.Left[leftScope]++
		return nil
	case r.Type < TypeExit || r.Type == -1:
		w.Left[leftIgnored]++
		return nil
	}
	p := w.processor(r.Processor, r.Process)
	x := *r
	if x.Values = w.renumber(r); !slices.Equal(x.Values, r.Values) {
		x.Text = ""
	}
	if x.Text = w.defs.explicitText(&x); x.Text == "" {
		w.countLostText(r)
	}
	x.Processor, x.Process = p.processor, 0
	from := w.body.Size()
	switch {
	case x.Event == -901 && x.Type == TypeEntry:
		if p.exit == nil {
			p.record(x.Time, from, from)
			return w.noteTime(x.Time) // Close writes this record
		}
		p.between, p.exit = append(p.between, *p.exit), nil
	case x.Event == -901 && x.Type == TypeExit:
		p.record(x.Time, from, from)
		p.exit = &tracingExit{x.Time, from}
		return w.noteTime(x.Time)
	default:
		p.exit = nil // the exit was not the last record
	}
	if err := w.writeCounted(&x); err != nil {
		return err
	}
	p.record(x.Time, from, w.body.Size())
	return nil
}

// insertTracing inserts the -901 records of a process: an entry at its first record, an exit at each place in between,
// and an exit at its last record. The body already has the entries that follow the exits in between.
func (w *Writer) insertTracing(p *tracedProcess, between []tracingExit) error {
	if err := w.insertTracingRecord(p, TypeEntry, p.first, p.from); err != nil {
		return err
	}
	for _, e := range between {
		if err := w.insertTracingRecord(p, TypeExit, e.time, e.place); err != nil {
			return err
		}
	}
	return w.insertTracingRecord(p, TypeExit, p.last, p.to)
}

// insertAllTracing inserts the -901 records of all processors. Records at the same offset are in order
// of time.
func (w *Writer) insertAllTracing() error {
	type record struct {
		p     *tracedProcess
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
		if err := w.insertTracingRecord(r.p, r.typ, r.time, r.place); err != nil {
			return err
		}
	}
	return nil
}

// insertTracingRecord inserts a -901 record into the text at offset place.
func (w *Writer) insertTracingRecord(p *tracedProcess, typ int64, t trace.Decimal, place int64) error {
	r := Record{Type: typ, Event: -901, Time: t, Processor: p.processor, Process: p.process}
	if w.stats != nil {
		before := w.stats.disorder
		w.count(&r)
		w.stats.disorder = before // the record is inserted at its place in time order
	}
	return w.body.Insert(place, append(r.Append(nil, w.opt.Digits), '\n'))
}

// processor returns the entry of numbers for a processor and process, and creates it if necessary. The
// process -1 stands for the first process of the processor.
func (w *Writer) processor(processor, process int64) *paragraphProcessor {
	k := procKey{processor, process}
	p := w.numbers[k]
	if first := w.byProcessor[processor]; p == nil && first != nil && (process == -1 || first.process == -1) {
		p = first
		p.process = max(p.process, process)
	}
	if p == nil {
		p = &paragraphProcessor{tracedProcess: tracedProcess{processor: int64(len(w.order))}, original: processor,
			process: process}
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

// dataNames returns the names of the data fields of a record.
func (r *Record) dataNames() (names []string) {
	spec := specOf(r.Event)
	switch r.Type {
	case TypeEntry, TypeMark:
		if names = spec.entry; r.Type == TypeMark || r.Event < 0 && len(r.Values) > len(names) {
			names = append(slices.Clone(names), spec.exit...)
		}
	case TypeExit:
		names = spec.exit
	}
	return names
}

// renumber returns the data fields of a record with the new numbers of processors. It replaces their
// processes by 0, and subsets of processes by -1.
func (w *Writer) renumber(r *Record) []trace.Value {
	names := r.dataNames()
	if slices.ContainsFunc(r.Values[min(len(names), len(r.Values)):], isInteger) {
		w.unknown++
	}
	out := slices.Clone(r.Values)
	for i, n := range names[:min(len(names), len(out))] {
		v, whole := out[i].Whole()
		switch typ := subsetFields[n]; {
		case !whole:
		case typ == TypeProcessSet && v < -1:
			out[i] = out[i].WithWhole(-1)
		case n != "processor" && typ != TypeProcessorSet || v < 0 || v == Host ||
			w.defs.hasSubset(setKey{TypeProcessorSet, v}):
		default:
			process := int64(-1)
			with := i+1 < len(out) && i+1 < len(names) && (n == "processor" || subsetFields[names[i+1]] == TypeProcessSet)
			if with {
				if q, whole := out[i+1].Whole(); whole {
					process = max(-1, q)
				}
			}
			out[i] = out[i].WithWhole(w.processor(v, process).processor)
			if process >= 0 {
				out[i+1] = out[i+1].WithWhole(0)
			}
		}
	}
	return out
}

// Close writes the whole file. It does not close the underlying writer.
func (w *Writer) Close() error {
	defer w.body.Close()
	// Entries without an exit cannot become marks. They are written as entries at their positions.
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
		if err := w.insertTracing(&p.tracedProcess, p.between); err != nil {
			return err
		}
	}
	if err := w.insertAllTracing(); err != nil {
		return err
	}
	if w.stats != nil {
		if w.stats.disorder != nil {
			return w.stats.disorder
		}
		for _, r := range w.stats.Records(w.max) {
			if err := w.emit(&r); err != nil {
				return err
			}
		}
	}
	if w.opt.ParaGraph {
		if !slices.ContainsFunc(w.order, func(p *paragraphProcessor) bool { return p.any }) {
			return fmt.Errorf("picl.paragraph: %w: found no event of a processor, expected at least one, because ParaGraph "+
				"reads nothing else", format.ErrEventsLost)
		}
		w.header = w.paraGraphHeader()
		renumbered := func(p *paragraphProcessor) bool { return p.processor != p.original || p.process > 0 }
		if slices.ContainsFunc(w.order, renumbered) {
			w.Left[leftData] = w.unknown
		}
	}
	return w.body.Finish(w.headerText())
}

// Discard frees the writer's resources and writes nothing.
func (w *Writer) Discard() { w.body.Close() }

// ParseBrackets parses the value of the option picl.brackets.
func ParseBrackets(s string) (Brackets, error) {
	i := slices.Index([]string{"keep", "entry-exit", "mark"}, s)
	if i < 0 {
		return 0, &format.OptionError{Option: "picl.brackets", Value: s, Expected: "keep, entry-exit or mark"}
	}
	return Brackets(i), nil
}
