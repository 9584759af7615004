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

// openVisit returns the visit of a region that began at a time and is open just before another time. The begin of a
// visit may be later than begin, because cut begins open visits at the border.
func (l *filterState) openVisit(region uint32, begin, at int64) (v visit, ok bool) {
	// Open visits are in the order of their begins.
	i := sort.Search(len(l.open), func(i int) bool { return l.open[i].begin >= begin })
	for _, o := range l.open[i:] {
		if o.kind == trace.Enter && o.ref == region {
			return o, true
		}
	}
	if l.closedAt != at {
		return v, false
	}
	for _, o := range l.closed {
		if o.kind == trace.Enter && o.ref == region && o.begin >= begin && (!ok || o.begin < v.begin) {
			v, ok = o, true
		}
	}
	return v, ok
}

// close records that a visit ends at a time, and reports whether it is kept. A visit that is shorter than MinDuration
// is dropped together with its snapshots.
func (l *filterState) close(v visit, q *queue, at int64) bool {
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
		l.closed, l.closedAt = l.closed[:0], at
	}
	l.closed = append(l.closed, v)
	return v.kept
}
