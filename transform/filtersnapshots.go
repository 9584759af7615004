package transform

import (
	"slices"
	"sort"

	"github.com/weft-trace/weft/trace"
)

// snapshotEvents lists the kinds of snapshot rows, each with the kinds of events that put the described
// thing into that state.
var snapshotEvents = map[trace.Kind][]trace.Kind{
	trace.EnterSnapshot:           {trace.Enter},
	trace.SendSnapshot:            {trace.Send, trace.SendBegin},
	trace.OpenFileSnapshot:        {trace.FileOperation, trace.FileOperationBegin, trace.IOHandleCreate},
	trace.CollectiveSnapshot:      {trace.CollectiveBegin},
	trace.CollectiveCountSnapshot: {trace.CollectiveBegin, trace.Collective},
	trace.FileOperationSnapshot:   {trace.FileOperationBegin, trace.IOBegin},
	trace.MetricSnapshot:          {trace.Metric},
}

// dropsSnapshots reports whether rows of a kind describe only events that NotKind drops.
func (s *filterScan) dropsSnapshots(k trace.Kind) bool {
	events, ok := snapshotEvents[k]
	return ok && !slices.ContainsFunc(events, func(e trace.Kind) bool { return !s.dropsKind(e) })
}

// noteDroppedStates sets [trace.Definitions.Dropped] if the filter drops all rows of a kind of states but not all
// events that they describe. Summaries describe all events.
func (w *FilterOptions) noteDroppedStates(d *trace.Definitions) {
	s := &filterScan{FilterOptions: *w, kinds: map[trace.Kind]bool{}}
	dropped := map[trace.Kind]bool{}
	for k := trace.EnterSnapshot; k.IsState(); k++ {
		events, isSnapshot := snapshotEvents[k]
		if !s.wantsKind(k) && (!isSnapshot || slices.ContainsFunc(events, s.wantsKind)) {
			dropped[k] = true
		}
	}
	if before := d.Dropped; len(dropped) > 0 {
		d.Dropped = func(k trace.Kind) bool { return dropped[k] || before != nil && before(k) }
	}
}

// wantsEnterSnapshot reports whether to keep a row that states that a visit is open. The row is kept if the visit is
// kept, or if the filter does not know the visit. wait is set if the answer depends on the end of the visit.
func (s *filterScan) wantsEnterSnapshot(l *filterState, q *queue, x *trace.Cursor) (keep, wait bool) {
	if !s.wantsKind(x.Kind()) || !s.wantsRefs(x) {
		return false, false
	}
	v, ok := l.openVisit(x.Ref(), int64(x.Op(0)), x.Time())
	if !ok || !v.kept || v.row < 0 {
		return !ok || v.kept, false
	}
	setElement(&l.snapshots, v.row, append(l.snapshots[v.row], q.count))
	return true, true
}

// snapshotVisits finds the visits that a snapshot of a location may state to be open.
type snapshotVisits struct {
	open   map[uint32][]visit // open visits by region, in the order of their begins
	closed map[uint32][]visit // visits by region that ended at the time of the snapshot, the latest begin first
	known  int                // number of visits in filterState.closed that closed has
}

// openVisit returns the visit of a region that began at a time and is open just before another time. The begin of a
// visit may be later than begin, because cut begins open visits at the border.
func (l *filterState) openVisit(region uint32, begin, at int64) (v visit, ok bool) {
	if l.states == nil { // the first snapshot of the location
		l.states = &snapshotVisits{open: map[uint32][]visit{}, closed: map[uint32][]visit{}}
		for i, o := range l.open {
			if !l.among.Gap(i) {
				l.states.begin(o)
			}
		}
	}
	s := l.states
	if l.closedAt != at {
		l.forgetClosed(at)
	}
	for ; s.known < len(l.closed); s.known++ {
		s.end(l.closed[s.known])
	}
	list := s.open[region]
	if i := sort.Search(len(list), func(i int) bool { return list[i].begin >= begin }); i < len(list) {
		v, ok = list[i], true
	}
	list = s.closed[region]
	i := sort.Search(len(list), func(i int) bool { return list[i].begin < begin }) - 1
	if i >= 0 && (!ok || list[i].begin < v.begin) {
		v, ok = list[i], true
	}
	return v, ok
}

// begin adds an open visit.
func (s *snapshotVisits) begin(v visit) {
	if v.kind == trace.Enter {
		s.open[v.ref] = append(s.open[v.ref], v)
	}
}

// end adds a visit that has ended. Of visits with the same begin, the first one counts.
func (s *snapshotVisits) end(v visit) {
	if v.kind != trace.Enter {
		return
	}
	list := s.closed[v.ref]
	i := len(list) // the latest visit usually ends first
	if i > 0 && list[i-1].begin <= v.begin {
		i = sort.Search(len(list), func(i int) bool { return list[i].begin <= v.begin })
	}
	if i == len(list) || list[i].begin != v.begin {
		s.closed[v.ref] = slices.Insert(list, i, v)
	}
}

// forgetClosed forgets the visits that ended before a time.
func (l *filterState) forgetClosed(at int64) {
	l.closed, l.closedAt = l.closed[:0], at
	if s := l.states; s != nil && s.known > 0 {
		s.closed, s.known = map[uint32][]visit{}, 0
	}
}

// close records that a visit ends at a time, and reports whether it is kept. A visit that is shorter than MinDuration
// is dropped together with its snapshots.
func (l *filterState) close(v visit, q *queue, at int64) bool {
	if l.states != nil && v.kind == trace.Enter {
		list := l.states.open[v.ref] // the latest open visit of a region ends first
		l.states.open[v.ref] = list[:len(list)-1]
	}
	if v.kept && v.row >= 0 {
		if q.drop(v.row) {
			v.kept = false
			for _, row := range l.snapshots[v.row] {
				q.drop(row)
			}
		}
		delete(l.snapshots, v.row)
	}
	if l.closedAt != at {
		l.forgetClosed(at)
	}
	l.closed = append(l.closed, v)
	return v.kept
}
