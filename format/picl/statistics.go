package picl

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// Statistics computes the contents of PICL's statistics records (types -101 to -105) from the events.
// For each process and event type, it adds up the time, count and volume of the events inside events of
// that type (docs/formats/picl.md, "Statistics records"). Its memory is proportional to the number of
// event types that occur in each process, and to the number of open entries.
type Statistics struct {
	process map[procKey]*processStatistics
	order   []procKey
	defs    *definitions
	// values of event types that have no event records, by statistics record
	unrecordedValues map[statisticsKey]map[int64]float64
	pending          map[int64][]pendingSum // indexed by processor; -1 for records about several processors
	decided          []*trace.Defect        // defects of pending sums that have been decided
	complete         bool                   // defs holds all subsets of the file
	sums             statisticsSums
	// events that may lack records, by process; -1 stands for all processors or all processes
	lost        map[procKey]lostEvents
	lostSubsets []procKey           // keys of lost that name subsets of processes on several processors
	aliases     map[procKey]procKey // maps each process -1 that stands for another process to that process
	byProcessor map[int64][]procKey // processes by processor
	// the first record that is earlier than the record before it of the same process
	disorder *trace.Defect
	digits   int32 // greatest number of decimals in the time of an event
}

// lostEvents holds, for each group of events, whether some events of the group may have no records, because
// recording stopped.
type lostEvents [3]bool

// The indexes of lostEvents: PICL's own events, user events, and events about tracing. A record of event type
// -904 has its levels in the same order.
const (
	piclEvents = iota
	userEvents
	tracingEvents
)

// statisticsKey identifies a kind of statistics record: type, event type, processor and process.
type statisticsKey struct{ typ, inside, processor, process int64 }

// pendingSum is a value for all events that differs from the sum over the events so far. Later
// statistics records may explain the difference, because they may state values of event types that have
// no event records.
type pendingSum struct {
	about  statisticsKey
	events eventTotals // totals without the event types that have no event records
	stated trace.Value
	tick   trace.Decimal
	defect *trace.Defect
}

type processStatistics struct {
	last   trace.Decimal // time of the last record
	open   map[int64][]entryTime
	tables *openTable    // the tables of open entries
	opened map[int64]int // number of open entries of each table
	// inside holds a table for each event type: the totals of the events inside events of that type.
	// The key -1 holds the totals of the whole run.
	inside   map[int64]map[int64]*eventTotals
	recorded map[valueKey]bool // the values that statistics records have stated since the last event
}

// valueKey identifies a value of a statistics record: the record's type, the surrounding event type,
// and the event type of the value.
type valueKey struct{ typ, inside, event int64 }

type entryTime struct {
	time   trace.Decimal
	volume int64 // -1 if the volume is unknown
	inside *openTable
	waited eventTotals // totals of the waits inside the call
}

// eventTotals holds the time, count and volume of the events of one type.
type eventTotals struct {
	time   trace.Decimal
	timed  bool
	count  int64
	volume int64
	unsure bool // some volumes are unknown
	// waited holds the totals of the waits inside these calls. They are contained both in these totals and in the
	// totals of the wait's own event type (callOfWait). It is nil if there are no such waits.
	waited *eventTotals
}

// add adds the totals g to f.
func (f *eventTotals) add(g *eventTotals) {
	f.time, f.timed = add(f.time, g.time), f.timed || g.timed
	f.count += g.count
	f.volume += g.volume
	f.unsure = f.unsure || g.unsure
	if g.waited != nil {
		if f.waited == nil {
			f.waited = &eventTotals{}
		}
		f.waited.add(g.waited)
	}
}

// addUnrecorded adds values of event types that have no event records. typ is the type of the
// statistics record, which determines whether they are times, counts or volumes.
func (f *eventTotals) addUnrecorded(typ int64, values map[int64]float64) {
	x := 0.0
	for _, e := range slices.Sorted(maps.Keys(values)) {
		x += values[e]
	}
	switch typ {
	case TypeTimes:
		f.time = add(f.time, trace.NewDecimal(int64(math.Round(x*1e6)), 6))
	case TypeCounts:
		f.count += int64(x)
	case TypeVolumes:
		f.volume += int64(x)
	}
}

// NewStatistics returns statistics without events.
func NewStatistics() *Statistics {
	return &Statistics{process: map[procKey]*processStatistics{}, defs: newDefinitions(),
		unrecordedValues: map[statisticsKey]map[int64]float64{},
		pending:          map[int64][]pendingSum{}, lost: map[procKey]lostEvents{}, byProcessor: map[int64][]procKey{},
		sums: newStatisticsSums()}
}

// Add adds an event record to the totals. For a statistics record, it notes which values the record
// states. It ignores other records.
func (s *Statistics) Add(r *Record) {
	k := s.processOf(r)
	p := s.process[k]
	if r.Type > TypeMark || r.Type < TypeExit {
		if isDefinition(r.Type) {
			if !s.complete {
				s.defs.add(r)
			}
		} else if p != nil {
			p.noteRecorded(r)
		}
		return
	}
	s.noteStop(r, k)
	if r.Processor < 0 {
		return
	}
	s.sums.records++
	s.digits = max(s.digits, r.Time.Scale)
	if len(s.pending) > 0 {
		s.settle(-1)
		s.settle(r.Processor)
	}
	if p != nil {
		clear(p.recorded)
	} else {
		p = &processStatistics{open: map[int64][]entryTime{}, opened: map[int64]int{},
			inside: map[int64]map[int64]*eventTotals{}}
		s.process[k] = p
		s.order = append(s.order, k)
		s.byProcessor[k.processor] = append(s.byProcessor[k.processor], k)
		p.last = r.Time
	}
	if r.Time.Cmp(p.last) < 0 && s.disorder == nil {
		s.disorder = &trace.Defect{Rule: "picl.unsorted", Severity: trace.Error, Position: trace.Position{Line: r.Line},
			Found:    fmt.Sprintf("a record of processor %d at %v s after one at %v s", r.Processor, r.Time, p.last),
			Expected: "the records of a process in order of time, for picl.statistics; weft sort sorts them"}
	}
	p.last = r.Time
	spec := specOf(r.Event)
	switch r.Type {
	case TypeMark:
		v := volume(spec, r.Values, true, true)
		s.addTotals(k, p, p.tables, r.Event, &eventTotals{count: 1, volume: max(0, v), unsure: v < 0})
	case TypeEntry:
		p.open[r.Event] = append(p.open[r.Event],
			entryTime{time: r.Time, volume: volume(spec, r.Values, true, false), inside: p.tables})
		for _, t := range s.tablesWith(r.Event) {
			s.openTable(p, t)
		}
	case TypeExit:
		open := p.open[r.Event]
		if len(open) == 0 {
			return
		}
		e := open[len(open)-1]
		open = open[:len(open)-1]
		p.open[r.Event] = open
		for _, t := range slices.Backward(s.tablesWith(r.Event)) {
			s.closeTable(p, t)
		}
		v := max(e.volume, volume(spec, r.Values, false, true)) // the exit may repeat the volume
		own := eventTotals{time: subtract(r.Time, e.time), timed: true, count: 1, volume: max(0, v), unsure: v < 0}
		if call := p.open[callOfWait[r.Event]]; len(call) > 0 && callOfWait[r.Event] != 0 {
			call[len(call)-1].waited.add(&own)
		}
		e.waited.count, e.waited.volume = min(e.waited.count, 1), min(e.waited.volume, own.volume)
		if e.waited.count > 0 {
			waited := e.waited
			own.waited = &waited
		}
		s.addTotals(k, p, e.inside, r.Event, &own)
	}
}

// noteRecorded notes which values a statistics record states.
func (p *processStatistics) noteRecorded(r *Record) {
	if r.Type > TypeTimes || r.Type < TypeVolumes {
		return
	}
	if p.recorded == nil {
		p.recorded = map[valueKey]bool{}
	}
	for i := 0; i+1 < len(r.Values); i += 2 {
		if event, ok := r.Values[i].Whole(); ok {
			p.recorded[valueKey{r.Type, r.Event, event}] = true
		}
	}
}

// addFile adds the records of a file in order of time. If the file is in that order and no process -1
// stands for another process, it does nothing and returns false.
func (s *Statistics) addFile(ctx context.Context, src format.Source, ro *format.ReadOptions) (bool, error) {
	f, err := (Format{}).Open(ctx, src, &format.ReadOptions{Values: ro.Values})
	if err != nil {
		return false, err
	}
	defer f.Close()
	d := f.(*decoder)
	if s.aliases = d.aliases(); len(d.Runs) == 1 && len(s.aliases) == 0 || d.File.Numbered {
		return false, nil
	}
	return true, d.eachRecord(ctx, func(r *Record) error {
		s.Add(r)
		return nil
	})
}

// processOf returns the process that a record is about. A process -1 may stand for the only process of
// its processor.
func (s *Statistics) processOf(r *Record) procKey {
	k := procKey{r.Processor, r.Process}
	if one, ok := s.aliases[k]; ok {
		return one
	}
	return k
}

// noteStop handles records after which events may lack records: a full buffer (-913), overwritten
// records (-914), or a tracing level (-904) of 0. It applies to the process k, or to the processes that
// k stands for.
func (s *Statistics) noteStop(r *Record, k procKey) {
	var stop lostEvents
	switch r.Event {
	case -913, -914:
		stop = lostEvents{true, true, true}
	case -904:
		for i, v := range r.Values[:min(len(r.Values), len(stop))] {
			level, ok := v.Whole()
			stop[i] = ok && level == 0
		}
	}
	have := s.lost[k]
	if have.add(stop); have == s.lost[k] {
		return
	}
	s.sums.stops++
	s.lost[k] = have
	note := func(k procKey) {
		have := s.lost[k]
		have.add(stop)
		s.lost[k] = have
	}
	processes := []int64{k.process}
	switch {
	case k.process >= -1:
	case k.processor < 0:
		s.lostSubsets = append(s.lostSubsets, k)
		return
	default:
		processes = s.defs.members(setKey{TypeProcessSet, k.process})
	}
	processors := []int64{k.processor}
	if k.processor < -1 {
		processors = s.defs.members(setKey{TypeProcessorSet, k.processor})
	}
	for _, p := range processors {
		for _, q := range processes {
			note(procKey{p, q})
		}
	}
}

func (s *lostEvents) add(o lostEvents) {
	for i := range s {
		s[i] = s[i] || o[i]
	}
}

// lostOf returns the events of the process k that may lack records so far.
func (s *Statistics) lostOf(k procKey) (stop lostEvents) {
	if len(s.lost) == 0 {
		return stop
	}
	for _, key := range [4]procKey{k, {k.processor, -1}, {-1, k.process}, {-1, -1}} {
		stop.add(s.lost[key])
	}
	for _, some := range s.lostSubsets {
		if s.covers(some, k) {
			stop.add(s.lost[some])
		}
	}
	return stop
}

// volume returns the volume that a record adds to its event, or -1 if the record does not state it. The
// volume is a number of bytes, except for load0, where it is a number of processes.
func volume(spec *eventSpec, vals []trace.Value, entry, exit bool) int64 {
	names := spec.entry
	switch {
	case !entry:
		names = spec.exit
	case exit || spec.event < 0 && len(vals) > len(spec.entry): // an entry may have all fields of a mark
		names = append(slices.Clone(spec.entry), spec.exit...)
	}
	if spec.event == -503 && exit {
		return 1
	}
	if i := slices.Index(names, "length"); i >= 0 && i < len(vals) {
		if n, ok := vals[i].Whole(); ok && n >= 0 {
			return n
		}
		return -1
	}
	if slices.Contains(spec.entry, "length") || slices.Contains(spec.exit, "length") {
		return -1
	}
	return 0
}

func subtract(a, b trace.Decimal) trace.Decimal { b.Coef = -b.Coef; return add(a, b) }

func add(a, b trace.Decimal) trace.Decimal {
	s := max(a.Scale, b.Scale)
	x, _, _ := a.Ticks(s)
	y, _, _ := b.Ticks(s)
	return trace.Decimal{Coef: x + y, Scale: s}
}

// Records returns the statistics records of all processes, with the time t. It leaves out values that
// statistics records after the last event of a process already state. Like PICL, it writes separate
// records for system events and user events of the whole run, followed by a record for each user event.
// If a processor has a single process besides -1, both are the same process, and the record has the
// totals of both.
func (s *Statistics) Records(t trace.Decimal) []Record {
	others := map[int64][]procKey{} // processes by processor, without -1
	for _, k := range s.order {
		if k.process != -1 {
			others[k.processor] = append(others[k.processor], k)
		}
	}
	var out []Record
	for _, k := range s.order {
		same := others[k.processor]
		list := []*processStatistics{s.process[k]}
		if all := s.process[procKey{k.processor, -1}]; k.process >= 0 && len(same) == 1 && all != nil {
			list = append(list, all)
		} else if k.process == -1 {
			if len(same) == 1 && same[0].process >= 0 {
				continue
			}
			for _, o := range same {
				list = append(list, s.process[o])
			}
		}
		out = appendStatistics(out, Record{Time: t, Processor: k.processor, Process: k.process}, list)
	}
	return out
}

// appendStatistics appends the statistics records of a process. The process may have several elements in list.
// Each record has the head of r.
func appendStatistics(out []Record, r Record, list []*processStatistics) []Record {
	emit := func(inside int64, keep func(int64) bool) {
		sums := map[int64]*eventTotals{}
		for _, p := range list {
			for e, f := range p.inside[inside] {
				if !keep(e) {
					continue
				}
				if sums[e] == nil {
					sums[e] = &eventTotals{}
				}
				sums[e].add(f)
			}
		}
		recorded := func(typ, event int64) bool {
			return slices.ContainsFunc(list, func(p *processStatistics) bool { return p.recorded[valueKey{typ, inside, event}] })
		}
		var times, counts, volumes []trace.Value
		for _, e := range slices.SortedFunc(maps.Keys(sums), compareEvents) {
			f := sums[e]
			id := trace.Value{Num: uint64(e), Type: trace.Int32}
			if f.time.Coef > 0 && !recorded(TypeTimes, e) {
				times = append(times, id, trace.FloatValue(f.time.Float()))
			}
			if f.count > 0 && !recorded(TypeCounts, e) {
				counts = append(counts, id, intValue(f.count))
			}
			if f.volume > 0 && !f.unsure && !recorded(TypeVolumes, e) {
				volumes = append(volumes, id, intValue(f.volume))
			}
		}
		for i, v := range [3][]trace.Value{times, counts, volumes} {
			if len(v) > 0 {
				r.Type, r.Event, r.Values = TypeTimes-int64(i), inside, v
				out = append(out, r)
			}
		}
	}
	emit(-1, func(e int64) bool { return e < -1 }) // in a pair, -1 stands for the sum over all events
	emit(-1, func(e int64) bool { return e >= 0 })
	tables := map[int64]bool{}
	for _, p := range list {
		for e := range p.inside {
			tables[e] = e >= 0
		}
	}
	for _, e := range slices.Sorted(maps.Keys(tables)) {
		if tables[e] {
			emit(e, func(e int64) bool { return e != -1 })
		}
	}
	return out
}

func intValue(n int64) trace.Value {
	if int64(int32(n)) == n {
		return trace.Value{Num: uint64(n), Type: trace.Int32}
	}
	return trace.IntValue(n)
}

// isUndefined reports whether a number is the id of a subset that no record of the file defines.
func (s *Statistics) isUndefined(typ, id int64) bool {
	return s.complete && s.defs.isUndefined(setKey{typ, id})
}

// covers reports whether the processor and process of a record include the process k. Both may be
// exact, -1 for all, or a subset.
func (s *Statistics) covers(about, k procKey) bool {
	processor := about.processor == k.processor || about.processor == -1 ||
		s.defs.inSet(TypeProcessorSet, about.processor, k.processor)
	process := about.process == k.process || about.process == -1 || s.defs.inSet(TypeProcessSet, about.process, k.process)
	return processor && process
}

// unrecordedTypes lists the event types for which PICL writes statistics but no event records.
var unrecordedTypes = []int64{-13, -14, -29, -53, -54, -55, -59, -905}

// unrecorded reports whether an event type, or a member of a subset, has no event records. It returns
// false for -1, because the values of such types are added to the sum over all events.
func (s *Statistics) unrecorded(event int64) bool {
	return event != -1 && slices.ContainsFunc(unrecordedTypes, func(e int64) bool {
		return e == event || s.defs.inEventSubset(event, e)
	})
}

func tolerance(tick trace.Decimal) float64 {
	return max(1e-6, tick.Float()) * 1.001
}
