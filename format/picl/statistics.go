package picl

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"

	"github.com/weft-trace/weft/trace"
)

// Statistics computes what PICL's statistics records (types -101 … -105) say
// from the events: for each process and each event type, the time spent in, the
// occurrences of and the volume moved by the events inside it
// (docs/formats/picl.md, "Statistics records"). Its size is that of the event
// types that occur in each process, and of the entries that are open.
type Statistics struct {
	process map[procKey]*processStatistics
	order   []procKey
	defs    *definitions
	silent  map[silentKey]map[int64]float64 // figures of event types that leave no records
	pending map[int64][]pendingSum          // by processor, -1 those of several
	late    []*trace.Defect                 // of sums that were pending
	own     []int64                         // subsets that statistics records have as own event types
}

// silentKey is what a record says figures about, -101, -102 or -103.
type silentKey struct{ typ, inside, processor, process int64 }

// pendingSum is a figure for all events that does not agree with those of the records before it. More
// records may tell of event types that leave none.
type pendingSum struct {
	about  silentKey
	events figures // without those that leave no records
	said   trace.Value
	tick   trace.Decimal
	defect *trace.Defect
}

type processStatistics struct {
	// stopped says that events were not recorded for a while: those of PICL, and those of the user.
	stopped [2]bool
	open    map[int64][]entryTime
	active  []int64 // event types with open entries, in order of entry
	// tables by the event type inside which they hold; -1 is the whole run.
	inside map[int64]map[int64]*figures
	told   map[toldKey]bool // by records behind the events so far
}

// toldKey is a figure: of a record type, about an event type inside another.
type toldKey struct{ typ, inside, event int64 }

type entryTime struct {
	time   trace.Decimal
	volume int64
	inside []int64
	waited figures // of the waiting inside it
}

type figures struct {
	time   trace.Decimal
	timed  bool
	count  int64
	volume int64
	// waited is how much of it is also in the figures of the waiting (waitOf).
	waited *figures
}

// add adds figures.
func (f *figures) add(g *figures) {
	f.time, f.timed = add(f.time, g.time), f.timed || g.timed
	f.count += g.count
	f.volume += g.volume
}

// addSilent adds the figures of event types that leave no records, in the terms of a type of records.
func (f *figures) addSilent(typ int64, of map[int64]float64) {
	x := 0.0
	for _, e := range slices.Sorted(maps.Keys(of)) {
		x += of[e]
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

// NewStatistics starts with nothing counted.
func NewStatistics() *Statistics {
	return &Statistics{process: map[procKey]*processStatistics{}, defs: newDefinitions(),
		silent:  map[silentKey]map[int64]float64{},
		pending: map[int64][]pendingSum{}}
}

// expect has the definitions of a whole file, and keeps figures of what is inside the subsets among event types.
func (s *Statistics) expect(d *definitions, events iter.Seq[int64]) {
	s.defs.sets = maps.Clone(d.sets)
	for e := range events {
		if s.defs.isSubset(e) && !slices.Contains(s.own, e) {
			s.own = append(s.own, e)
		}
	}
	slices.Sort(s.own)
}

// Add counts a record, and notes what statistics records tell; other records are ignored.
func (s *Statistics) Add(r *Record) {
	k := procKey{r.Processor, r.Process}
	p := s.process[k]
	if r.Type > TypeMark || r.Type < TypeExit || r.Processor < 0 {
		if isDefinition(r.Type) {
			s.defs.add(r)
		} else if p != nil {
			p.tell(r)
		}
		return
	}
	if len(s.pending) > 0 {
		s.settle(-1)
		s.settle(r.Processor)
	}
	if p != nil {
		clear(p.told)
	} else {
		p = &processStatistics{open: map[int64][]entryTime{}, inside: map[int64]map[int64]*figures{}}
		s.process[k] = p
		s.order = append(s.order, k)
	}
	p.stop(r)
	spec := specOf(r.Event)
	switch r.Type {
	case TypeMark:
		for _, in := range s.inside(p.active) {
			f := p.figure(in, r.Event)
			f.count++
			f.volume += volume(spec, r.Values, true, true)
		}
	case TypeEntry:
		p.open[r.Event] = append(p.open[r.Event],
			entryTime{time: r.Time, volume: volume(spec, r.Values, true, false), inside: slices.Clone(p.active)})
		if !slices.Contains(p.active, r.Event) {
			p.active = append(p.active, r.Event)
		}
	case TypeExit:
		open := p.open[r.Event]
		if len(open) == 0 {
			return
		}
		e := open[len(open)-1]
		open = open[:len(open)-1]
		p.open[r.Event] = open
		if len(open) == 0 {
			i := slices.Index(p.active, r.Event)
			p.active = slices.Delete(p.active, i, i+1)
		}
		own := figures{time: subtract(r.Time, e.time), timed: true, count: 1,
			volume: e.volume + volume(spec, r.Values, false, true)}
		if call := p.open[waitOf[r.Event]]; len(call) > 0 && waitOf[r.Event] != 0 {
			call[len(call)-1].waited.add(&own)
		}
		e.waited.count, e.waited.volume = min(e.waited.count, 1), min(e.waited.volume, own.volume)
		for _, in := range s.inside(e.inside) {
			f := p.figure(in, r.Event)
			f.add(&own)
			if e.waited.count > 0 {
				if f.waited == nil {
					f.waited = &figures{}
				}
				f.waited.add(&e.waited)
			}
		}
	}
}

// tell notes the figures of a statistics record.
func (p *processStatistics) tell(r *Record) {
	if r.Type > TypeTimes || r.Type < TypeVolumes {
		return
	}
	if p.told == nil {
		p.told = map[toldKey]bool{}
	}
	for i := 0; i+1 < len(r.Values); i += 2 {
		if v := r.Values[i]; v.Type != trace.String {
			p.told[toldKey{r.Type, r.Event, v.Int()}] = true
		}
	}
}

// inside are the event types that an event counts for: -1, the whole run, those that are
// open, and the subsets that have one of them, each once.
func (s *Statistics) inside(open []int64) []int64 {
	list := append([]int64{-1}, slices.DeleteFunc(slices.Clone(open), func(e int64) bool { return e == -1 })...)
	for _, own := range s.own {
		in := func(e int64) bool {
			in, _ := s.defs.inEventSubset(own, e)
			return in && e != -1
		}
		if !slices.Contains(open, own) && slices.ContainsFunc(open, in) {
			list = append(list, own)
		}
	}
	return list
}

// stop notes a full buffer (-913), records that are gone (-914), or a level of tracing (-904) at which events
// leave no records.
func (p *processStatistics) stop(r *Record) {
	for i := range p.stopped {
		p.stopped[i] = p.stopped[i] || r.Event == -913 || r.Event == -914 || r.Event == -904 && i < len(r.Values) &&
			r.Values[i].Type != trace.String && r.Values[i].Int() == 0 ||
			r.Event == -904 && len(r.Values) > 2 && r.Values[2].Type != trace.String && r.Values[2].Int() == 0 && i == 0
	}
}

func (p *processStatistics) figure(inside, event int64) *figures {
	t := p.inside[inside]
	if t == nil {
		t = map[int64]*figures{}
		p.inside[inside] = t
	}
	f := t[event]
	if f == nil {
		f = &figures{}
		t[event] = f
	}
	return f
}

// volume is what a record adds to its event's volume: bytes, except for load0,
// which counts processes.
func volume(spec *eventSpec, vals []trace.Value, entry, exit bool) int64 {
	names, at := spec.entry, 0
	if !entry {
		names = spec.exit
	} else if exit {
		names = append(slices.Clone(spec.entry), spec.exit...)
	}
	if spec.event == -503 && exit {
		return 1
	}
	for i, n := range names {
		if n == "length" && spec.send != probeRole && i < len(vals) && vals[i].Type != trace.String {
			at = i
			return max(0, vals[at].Int())
		}
	}
	if spec.event == -56 && exit && !entry && len(vals) > 0 {
		return max(0, vals[0].Int())
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

// Records are the statistics records for all processes, with time stamp t, but for the figures that
// records behind the events of a process tell: for
// the whole run those of system events and those of user events apart, as PICL
// writes them, then for each user event.
func (s *Statistics) Records(t trace.Decimal) []Record {
	var out []Record
	for _, k := range s.order {
		p := s.process[k]
		emit := func(inside int64, keep func(int64) bool) {
			var events []int64
			for e := range p.inside[inside] {
				if keep(e) {
					events = append(events, e)
				}
			}
			slices.SortFunc(events, compareEvents)
			var times, counts, volumes []trace.Value
			for _, e := range events {
				f := p.inside[inside][e]
				id := trace.Value{Num: uint64(e), Type: trace.Int32}
				if f.time.Coef > 0 && !p.told[toldKey{TypeTimes, inside, e}] {
					times = append(times, id, trace.FloatValue(f.time.Float()))
				}
				if f.count > 0 && !p.told[toldKey{TypeCounts, inside, e}] {
					counts = append(counts, id, intValue(f.count))
				}
				if f.volume > 0 && !p.told[toldKey{TypeVolumes, inside, e}] {
					volumes = append(volumes, id, intValue(f.volume))
				}
			}
			for i, v := range [3][]trace.Value{times, counts, volumes} {
				if len(v) > 0 {
					out = append(out,
						Record{Type: TypeTimes - int64(i), Event: inside, Time: t, Processor: k.processor, Process: k.process, Values: v})
				}
			}
		}
		emit(-1, func(e int64) bool { return e < 0 })
		emit(-1, func(e int64) bool { return e >= 0 })
		for _, e := range slices.Sorted(maps.Keys(p.inside)) {
			if e >= 0 {
				emit(e, func(int64) bool { return true })
			}
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

// Compare holds a statistics record against what was counted up to its place
// in the file. It returns one defect for each figure that disagrees; times may
// differ by a microsecond or one tick of the file, since the recording clock was
// often finer than the printed digits. The volume of -901 (bytes of trace data)
// cannot be known from the events: it gets a note. Defects of sums over all events come with
// a later record, or with Rest: the statistics records that follow may explain them.
func (s *Statistics) Compare(r *Record, tick trace.Decimal) []*trace.Defect {
	late := s.late
	s.late = nil
	if r.Type > TypeTimes || r.Type < TypeSizeVolumes {
		return late
	}
	var of []*processStatistics
	for _, k := range s.order {
		if s.covers(r, k) {
			of = append(of, s.process[k])
		}
	}
	out := late
	if n := len(r.Values); n%2 == 1 {
		out = append(out,
			&trace.Defect{Rule: "picl.statistics", Severity: trace.Warning, Position: trace.Position{Line: r.Line},
				Record: fmt.Sprintf("statistics inside %d on processor %d", r.Event, r.Processor),
				Found:  r.Values[n-1].String() + " alone", Expected: "pairs of an event type and a figure"})
	}
	about := silentKey{r.Type, r.Event, r.Processor, r.Process}
	if r.Event == -901 {
		about.inside = -1 // the whole run, too
	}
	for i := 0; i+1 < len(r.Values); i += 2 {
		v := r.Values[i]
		if v.Type != trace.String && (slices.Contains(noEvents, v.Int()) || r.Type == TypeVolumes && v.Int() == -901) &&
			r.Values[i+1].Float() > 0 {
			if s.silent[about] == nil {
				s.silent[about] = map[int64]float64{}
			}
			s.silent[about][v.Int()] = r.Values[i+1].Float()
		}
	}
	for i := 0; i+1 < len(r.Values); i += 2 {
		if r.Values[i].Type == trace.String {
			continue // no event type
		}
		event := r.Values[i].Int()
		var f figures
		least := s.unrecorded(event) // the events may be more than the records tell
		for _, p := range of {
			least = least || p.stopped[0] && event < 0 || p.stopped[1] && (event >= 0 || event < -1000 || event == -1)
			for _, inside := range s.insides(p, r.Event) {
				g := s.sum(p, inside, event)
				f.add(&g)
			}
		}
		sum := pendingSum{about: about, events: f, said: r.Values[i+1], tick: tick}
		if event == -1 {
			f.addSilent(r.Type, s.silent[about])
		}
		said := r.Values[i+1]
		switch r.Type {
		case TypeTimes, TypeCounts:
		case TypeVolumes:
			if event == -901 {
				out = append(out,
					&trace.Defect{Rule: "picl.statistics-unknown", Severity: trace.Note, Position: trace.Position{Line: r.Line},
						Record: fmt.Sprintf("volume of event type %d inside %d on processor %d", event, r.Event, r.Processor),
						Found:  said.String() + " bytes of trace data", Expected: "a figure that the events tell"})
				continue
			}
		default:
			continue
		}
		if f.agrees(r.Type, said, tick, least) {
			continue
		}
		what := [3]string{"time", "count", "volume"}[TypeTimes-r.Type]
		defect := &trace.Defect{Rule: "picl.statistics", Severity: trace.Warning, Position: trace.Position{Line: r.Line},
			Record: fmt.Sprintf("%s of event type %d inside %d on processor %d", what, event, r.Event, r.Processor),
			Found:  said.String(), Expected: f.text(r.Type) + " from the events"}
		if event == -1 {
			sum.defect = defect
			of := max(r.Processor, -1)
			s.pending[of] = append(s.pending[of], sum)
		} else {
			out = append(out, defect)
		}
	}
	return out
}

// Rest are the defects that no later record explains.
func (s *Statistics) Rest() []*trace.Defect {
	for _, of := range slices.Sorted(maps.Keys(s.pending)) {
		s.settle(of)
	}
	late := s.late
	s.late = nil
	return late
}

// settle decides what is pending of a processor.
func (s *Statistics) settle(of int64) {
	for _, p := range s.pending[of] {
		p.events.addSilent(p.about.typ, s.silent[p.about])
		if !p.events.agrees(p.about.typ, p.said, p.tick, false) {
			s.late = append(s.late, p.defect)
		}
	}
	delete(s.pending, of)
}

// agrees reports whether a figure of a type of records is the one that was counted, or more if it is at least that.
func (f *figures) agrees(typ int64, said trace.Value, tick trace.Decimal, least bool) bool {
	switch typ {
	case TypeTimes:
		d := said.Float() - f.time.Float()
		return said.Float() == -1 || (least || d <= tolerance(tick)) && -d <= tolerance(tick)
	case TypeCounts:
		return said.Int() == -1 || said.Int() == f.count || least && said.Int() > f.count
	}
	return said.Int() == -1 || said.Int() == f.volume || least && said.Int() > f.volume
}

// text is a figure in the terms of a type of records.
func (f *figures) text(typ int64) string {
	switch typ {
	case TypeTimes:
		return f.time.String() + " s"
	case TypeCounts:
		return fmt.Sprint(f.count)
	}
	return fmt.Sprint(f.volume)
}

// covers reports whether a statistics record is about a process: its processor
// and process may be exact, -1 for all, or a subset.
func (s *Statistics) covers(r *Record, k procKey) bool {
	processor := r.Processor == k.processor || r.Processor == -1 ||
		s.defs.inSet(TypeProcessorSet, r.Processor, k.processor)
	process := r.Process == k.process || r.Process == -1 || s.defs.inSet(TypeProcessSet, r.Process, k.process)
	return processor && process
}

// insides are the event types that the own type of a statistics record stands
// for: the whole run for -1 and -901, several for a subset.
func (s *Statistics) insides(p *processStatistics, own int64) []int64 {
	if own == -1 || own == -901 {
		return []int64{-1}
	}
	if _, exact := p.inside[own]; exact || !s.defs.isSubset(own) {
		return []int64{own}
	}
	var out []int64
	for _, e := range slices.Sorted(maps.Keys(p.inside)) {
		if in, _ := s.defs.inEventSubset(own, e); in && e != -1 {
			out = append(out, e)
		}
	}
	return out
}

// sum adds the figures of all event types that belong to a subset.
func (s *Statistics) sum(p *processStatistics, inside, event int64) figures {
	t := p.inside[inside]
	if f := t[event]; f != nil && event != -1 {
		return *f
	}
	var sum figures
	if event != -1 && !s.defs.isSubset(event) {
		return sum
	}
	for _, e := range slices.SortedFunc(maps.Keys(t), func(a, b int64) int { return cmp.Compare(a, b) }) {
		if in, _ := s.defs.inEventSubset(event, e); in && e != -1 {
			f := t[e]
			sum.add(f)
			if f.waited != nil { // the waiting is in the subset, too
				sum.time = subtract(sum.time, f.waited.time)
				sum.count -= f.waited.count
				sum.volume -= f.waited.volume
			}
		}
	}
	return sum
}

// noEvents are the event types that have statistics and no records of events.
var noEvents = []int64{-13, -14, -29, -53, -54, -55, -59, -905}

// unrecorded reports whether an event type, or one of a subset, has no records of events. Of all
// events, those that have none are known by their own figures.
func (s *Statistics) unrecorded(event int64) bool {
	return event != -1 && slices.ContainsFunc(noEvents, func(e int64) bool {
		in, _ := s.defs.inEventSubset(event, e)
		return e == event || in
	})
}

func tolerance(tick trace.Decimal) float64 {
	return max(1e-6, tick.Float()) * 1.001
}
