package transform

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"sort"

	"github.com/weft-trace/weft/trace"
)

// goesBeyond reports whether a row of kind k that ends at time end still has any content at time t or later. A
// range of samples still has its last sample at its end.
func goesBeyond(k trace.Kind, end, t int64) bool {
	return end > t || end == t && k == trace.SampleRange
}

// isOver reports whether a row that ends at time end extends over the end of the piece.
func (s *cutScan) isOver(x *trace.Cursor, end int64) bool {
	return s.window.To < math.MaxInt64 && goesBeyond(x.Kind(), end, s.window.To)
}

// samplesBefore returns how many of n samples are before time to. The samples are at equal intervals from
// begin to end. It also returns the time of the last of these samples, and the time of the first of the other
// samples.
func samplesBefore(begin, end int64, n int, to int64) (count int, last, next int64) {
	at := func(i int) int64 {
		if n < 2 {
			return begin
		}
		hi, lo := bits.Mul64(uint64(end-begin), uint64(i))
		q, _ := bits.Div64(hi, lo, uint64(n-1))
		return begin + int64(q)
	}
	count = sort.Search(n, func(i int) bool { return at(i) >= to })
	return count, at(max(count-1, 0)), at(min(count, n-1))
}

// clipBegin moves the begin of a row that extends into the piece to time from. For a range of samples, it
// moves the begin to the first sample at or after from. It returns false if nothing of the row remains.
func clipBegin(o *openRow, from int64, clock trace.Clock) bool {
	switch o.kind {
	case trace.Fragment, trace.SampleRange, trace.Marker:
		o.row = &row{ops: slices.Clone(o.row.ops), keys: o.row.keys, vals: o.row.vals}
	}
	began := o.time
	o.time = from
	switch ops := o.row.operands(); o.kind {
	case trace.Marker:
		ops[0] = uint64(began + int64(ops[0]) - from)
	case trace.Fragment:
		value := func(i int) float64 {
			if i < len(ops) {
				return math.Float64frombits(ops[i])
			}
			return 0
		}
		u := float64(from-began) / clock.UnitTicks()
		c, b, a := value(1), value(2), value(3)
		for i, v := range []float64{c + u*(b+u*a), b + 2*u*a} {
			if i+1 < len(ops) {
				ops[i+1] = math.Float64bits(v)
			}
		}
	case trace.SampleRange:
		n := len(ops) - 1
		before, _, next := samplesBefore(began, int64(ops[0]), n, from)
		if before == n {
			return false
		}
		o.time = next
		o.row.ops = append(ops[:1], ops[1+before:]...)
	}
	return true
}

// keepSpan keeps a row that extends into the window. Unless it is a marker, it replaces an earlier row of
// the same kind and reference.
func (b *openBegins) keepSpan(x *trace.Cursor) {
	b.spans = slices.DeleteFunc(b.spans,
		func(o openRow) bool { return o.kind == x.Kind() && o.ref == x.Ref() && o.kind != trace.Marker })
	b.spans = append(b.spans, openRow{x.Kind(), x.Ref(), x.Time(), 0, copyRow(x)})
}

// endOf returns the end time of a row. ok is false if rows of its kind have no end time.
func endOf(x *trace.Cursor) (end int64, ok bool) {
	switch x.Kind() {
	case trace.Gap, trace.BufferFlush, trace.Fragment, trace.SampleRange:
	case trace.Marker:
		if d := x.Op(0); d != trace.Undefined && int64(d) > 0 && x.Time() <= math.MaxInt64-int64(d) {
			return x.Time() + int64(d), true
		}
		return 0, false
	default:
		return 0, false
	}
	v := x.Op(0)
	return int64(v), v != trace.Undefined
}

// list returns the rows to repeat: ended operations, and then open intervals in the order in which they began. Requests
// of ended operations are in their order among open requests. Messages, ended barriers and calls for epochs are in
// the innermost open region, but outside of calls in which they were not sent.
func (b *openBegins) list(d *trace.Definitions) []openRow {
	l := slices.Clone(b.spans)
	var passed []openRow
	newer := map[int][]openRow{} // ended operations by the number of newer open requests
	open := b.state.list()
	requests := 0
	for _, o := range open {
		if o.kind == trace.CollectiveRequest {
			requests++
		}
	}
	for _, o := range b.operations {
		switch {
		case o.begin.kind == trace.Enter && !d.IsStream(o.loc):
			passed = append(passed, o.begin, o.end)
		case o.begin.kind == trace.CollectiveRequest && o.newer < requests:
			newer[o.newer] = append(newer[o.newer], o.begin, o.end)
		default:
			l = append(l, o.begin, o.end)
		}
	}
	passed = append(passed, b.messages...)
	if len(b.synchronised) > 0 {
		passed = append(passed, b.synchronised...)
		slices.SortStableFunc(passed, func(a, b openRow) int { return cmp.Compare(a.time, b.time) })
	}
	for _, o := range open {
		if o.kind == trace.Enter && len(passed) > 0 {
			n := 0
			switch r := d.RoleOf(o.ref); {
			case !maySend(r):
				n = len(passed)
			case r >= trace.SendRole && r <= trace.CommunicationRole:
				for n < len(passed) && passed[n].time < o.time {
					n++
				}
			}
			l, passed = append(l, passed[:n]...), passed[n:]
		}
		if begin, ok := b.before(&o); ok && o.kind == trace.Enter {
			l = append(l, begin)
		}
		l = append(l, o)
		if o.kind == trace.CollectiveRequest {
			requests--
			l = append(l, newer[requests]...)
		}
	}
	for _, o := range []openRow{b.transfer, b.resumed} {
		if o.kind != trace.NoKind {
			passed = append(passed, o)
		}
	}
	return append(l, passed...)
}

// maySend reports whether a message may be sent in regions of a role.
func maySend(r trace.Role) bool {
	switch r {
	case trace.ReceiveRole, trace.ProbeRole, trace.ImmediateReceiveRole, trace.BarrierRole, trace.ImplicitBarrierRole,
		trace.LaunchRole, trace.TransferRole, trace.DeviceSyncRole:
		return false
	}
	return !r.IsCollective()
}
