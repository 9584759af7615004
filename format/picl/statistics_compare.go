package picl

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/weft-trace/weft/trace"
)

// Compare compares a statistics record with the totals of the events before it in the file. It returns
// a defect for each value that differs. Times may differ by a microsecond or by a tick of the file,
// because the clock was often finer than the written digits. The volume of -901 (bytes of trace data)
// cannot be computed from events, so Compare reports a note for it. Defects of sums over all events are
// returned by a later call or by Rest, because later statistics records may explain them.
func (s *Statistics) Compare(r *Record, tick trace.Decimal) []*trace.Defect {
	late := s.decided
	s.decided = nil
	if r.Type > TypeTimes || r.Type < TypeSizeVolumes {
		return late
	}
	processes := s.processOf(r)
	if processes.processor < 0 || processes.process < 0 {
		processes = procKey{r.Processor, r.Process}
	}
	stopped := s.stoppedOf(processes)
	out := late
	if n := len(r.Values); n%2 == 1 {
		out = append(out,
			&trace.Defect{Rule: "picl.statistics", Severity: trace.Warning, Position: trace.Position{Line: r.Line},
				Record: fmt.Sprintf("statistics inside %d on processor %d", r.Event, r.Processor),
				Found:  r.Values[n-1].String() + " alone", Expected: "pairs of an event type and a value"})
	}
	about := statisticsKey{r.Type, r.Event, r.Processor, r.Process}
	if r.Event == -901 {
		about.inside = -1 // -901 also stands for the whole run
	}
	for i := 0; i+1 < len(r.Values); i += 2 {
		event, ok := r.Values[i].Whole()
		if ok && (slices.Contains(unrecordedTypes, event) || r.Type == TypeVolumes && event == -901) &&
			r.Values[i+1].Float() > 0 {
			if s.unrecordedValues[about] == nil {
				s.unrecordedValues[about] = map[int64]float64{}
			}
			s.unrecordedValues[about][event] = r.Values[i+1].Float()
		}
		if !ok {
			out = append(out,
				&trace.Defect{Rule: "picl.statistics", Severity: trace.Warning, Position: trace.Position{Line: r.Line},
					Record: fmt.Sprintf("statistics inside %d on processor %d", r.Event, r.Processor),
					Found:  strconv.Quote(r.Values[i].String()), Expected: "an integer as event type"})
		}
	}
	if s.isUndefined(TypeProcessorSet, r.Processor) || s.isUndefined(TypeProcessSet, r.Process) ||
		s.isUndefined(TypeEventSet, r.Event) {
		return out
	}
	if s.sums.overflowed && about.inside != -1 {
		return append(out,
			&trace.Defect{Rule: "picl.statistics-unknown", Severity: trace.Note, Position: trace.Position{Line: r.Line},
				Record: fmt.Sprintf("statistics inside %d on processor %d", r.Event, r.Processor),
				Found:  "deeply nested events", Expected: "values that weft can compute from the events"})
	}
	// Events of the record's own type may lack records. The events inside of them are then unknown.
	partly := about.inside != -1 && (s.unrecorded(r.Event) || s.mayLack(stopped, r.Event))
	for i := 0; i+1 < len(r.Values); i += 2 {
		event, ok := r.Values[i].Whole()
		if !ok || s.isUndefined(TypeEventSet, event) {
			continue
		}
		least := partly || s.unrecorded(event) || s.mayLack(stopped, event) // some events may lack records
		f := s.total(processes, r.Event, event)
		sum := pendingSum{about: about, events: f, stated: r.Values[i+1], tick: tick}
		if event == -1 {
			f.addUnrecorded(r.Type, s.unrecordedValues[about])
		}
		stated := r.Values[i+1]
		switch r.Type {
		case TypeTimes, TypeCounts:
		case TypeVolumes:
			if event == -901 {
				out = append(out,
					&trace.Defect{Rule: "picl.statistics-unknown", Severity: trace.Note, Position: trace.Position{Line: r.Line},
						Record: fmt.Sprintf("volume of event type %d inside %d on processor %d", event, r.Event, r.Processor),
						Found:  stated.String() + " bytes of trace data", Expected: "a value that weft can compute from the events"})
				continue
			}
		default:
			continue
		}
		if f.agrees(r.Type, stated, tick, least) {
			continue
		}
		what := [3]string{"time", "count", "volume"}[TypeTimes-r.Type]
		defect := &trace.Defect{Rule: "picl.statistics", Severity: trace.Warning, Position: trace.Position{Line: r.Line},
			Record: fmt.Sprintf("%s of event type %d inside %d on processor %d", what, event, r.Event, r.Processor),
			Found:  stated.String(), Expected: f.text(r.Type) + " from the events"}
		if event == -1 {
			sum.defect = defect
			processor := max(r.Processor, -1)
			s.pending[processor] = append(s.pending[processor], sum)
		} else {
			out = append(out, defect)
		}
	}
	return out
}

// Rest returns the defects of the pending sums, which no later record can explain any more.
func (s *Statistics) Rest() []*trace.Defect {
	for _, processor := range slices.Sorted(maps.Keys(s.pending)) {
		s.settle(processor)
	}
	late := s.decided
	s.decided = nil
	return late
}

// settle compares the pending sums of a processor again.
func (s *Statistics) settle(processor int64) {
	for _, p := range s.pending[processor] {
		p.events.addUnrecorded(p.about.typ, s.unrecordedValues[p.about])
		if !p.events.agrees(p.about.typ, p.stated, p.tick, false) {
			s.decided = append(s.decided, p.defect)
		}
	}
	delete(s.pending, processor)
}

// agrees reports whether the value of a record equals the total. typ is the type of the record. If least is
// true, the total is a lower bound, and a greater value agrees as well.
func (f *eventTotals) agrees(typ int64, stated trace.Value, tick trace.Decimal, least bool) bool {
	switch typ {
	case TypeTimes:
		d := stated.Float() - f.time.Float()
		return stated.Float() == -1 || (least || d <= tolerance(tick)) && -d <= tolerance(tick)
	case TypeCounts:
		return agrees(stated, f.count, least)
	}
	return f.unsure || agrees(stated, f.volume, least)
}

// agrees reports whether a value, which may be a floating-point number, equals n. If least is true, a
// greater value agrees as well.
func agrees(stated trace.Value, n int64, least bool) bool {
	if !isInteger(stated) {
		x := stated.Float()
		return x == -1 || x == float64(n) || least && x > float64(n)
	}
	return stated.Int() == -1 || stated.Int() == n || least && stated.Int() > n
}

// isInteger reports whether a value is an integer.
func isInteger(v trace.Value) bool { return v.Type == trace.Int32 || v.Type == trace.Int64 }

// text formats the total that a type of statistics record states: time, count or volume.
func (f *eventTotals) text(typ int64) string {
	switch typ {
	case TypeTimes:
		return f.time.String() + " s"
	case TypeCounts:
		return fmt.Sprint(f.count)
	}
	return fmt.Sprint(f.volume)
}
