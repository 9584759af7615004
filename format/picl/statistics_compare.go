package picl

import (
	"fmt"
	"maps"
	"slices"

	"github.com/weft-trace/weft/trace"
)

// Compare compares a statistics record with the counts up to its position in the file. It returns a
// defect for each figure that differs. Times may differ by a microsecond or by a tick of the file,
// because the clock was often finer than the written digits. The volume of -901 (bytes of trace
// data) cannot be computed from events and gets a note. Defects of sums over all events are
// returned by a later call or by Rest, because the statistics records that follow may explain them.
func (s *Statistics) Compare(r *Record, tick trace.Decimal) []*trace.Defect {
	late := s.late
	s.late = nil
	if r.Type > TypeTimes || r.Type < TypeSizeVolumes {
		return late
	}
	of, stopped := s.covered(r)
	out := late
	if n := len(r.Values); n%2 == 1 {
		out = append(out,
			&trace.Defect{Rule: "picl.statistics", Severity: trace.Warning, Position: trace.Position{Line: r.Line},
				Record: fmt.Sprintf("statistics inside %d on processor %d", r.Event, r.Processor),
				Found:  r.Values[n-1].String() + " alone", Expected: "pairs of an event type and a figure"})
	}
	about := silentKey{r.Type, r.Event, r.Processor, r.Process}
	if r.Event == -901 {
		about.inside = -1 // the whole run as well
	}
	for i := 0; i+1 < len(r.Values); i += 2 {
		event, ok := r.Values[i].Whole()
		if ok && (slices.Contains(unrecordedTypes, event) || r.Type == TypeVolumes && event == -901) &&
			r.Values[i+1].Float() > 0 {
			if s.silent[about] == nil {
				s.silent[about] = map[int64]float64{}
			}
			s.silent[about][event] = r.Values[i+1].Float()
		}
	}
	if s.isUndefined(TypeProcessorSet, r.Processor) || s.isUndefined(TypeProcessSet, r.Process) ||
		s.isUndefined(TypeEventSet, r.Event) {
		return out
	}
	for i := 0; i+1 < len(r.Values); i += 2 {
		event, ok := r.Values[i].Whole()
		if !ok || s.isUndefined(TypeEventSet, event) {
			continue // not an event type
		}
		var f eventFigures
		least := s.unrecorded(event) || stopped.of(event, s.defs) // there may be more events than records
		for _, p := range of {
			for _, inside := range s.tablesOf(p, r.Event) {
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

// Rest returns the remaining defects, which no later record explains.
func (s *Statistics) Rest() []*trace.Defect {
	for _, of := range slices.Sorted(maps.Keys(s.pending)) {
		s.settle(of)
	}
	late := s.late
	s.late = nil
	return late
}

// settle compares the pending sums of a processor again.
func (s *Statistics) settle(of int64) {
	for _, p := range s.pending[of] {
		p.events.addSilent(p.about.typ, s.silent[p.about])
		if !p.events.agrees(p.about.typ, p.said, p.tick, false) {
			s.late = append(s.late, p.defect)
		}
	}
	delete(s.pending, of)
}

// agrees reports whether a figure of a record type equals the count. If least is true, a larger
// figure agrees as well.
func (f *eventFigures) agrees(typ int64, said trace.Value, tick trace.Decimal, least bool) bool {
	switch typ {
	case TypeTimes:
		d := said.Float() - f.time.Float()
		return said.Float() == -1 || (least || d <= tolerance(tick)) && -d <= tolerance(tick)
	case TypeCounts:
		return agrees(said, f.count, least)
	}
	return f.unsure || agrees(said, f.volume, least)
}

// agrees reports whether a figure, which may be a floating-point number, equals a number. If least is true, a
// larger figure agrees as well.
func agrees(said trace.Value, n int64, least bool) bool {
	if !isInteger(said) {
		x := said.Float()
		return x == -1 || x == float64(n) || least && x > float64(n)
	}
	return said.Int() == -1 || said.Int() == n || least && said.Int() > n
}

// isInteger reports whether a value is an integer.
func isInteger(v trace.Value) bool { return v.Type == trace.Int32 || v.Type == trace.Int64 }

// text returns the figure of a record type as text.
func (f *eventFigures) text(typ int64) string {
	switch typ {
	case TypeTimes:
		return f.time.String() + " s"
	case TypeCounts:
		return fmt.Sprint(f.count)
	}
	return fmt.Sprint(f.volume)
}
