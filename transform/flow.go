package transform

import "github.com/weft-trace/weft/trace"

// flow identifies sends and receives that can match: those with the same ends, tag and communicator.
type flow struct {
	source, destination uint32
	communicator        uint64
	tag                 int64
}

// flows finds the messages that are in transit at the end of a scan. Its memory grows with the number
// of different flows and with the number of messages in transit.
type flows struct {
	// wanted reports whether messages of a location count. A message counts if both of its ends are at
	// such locations. A nil function means that all messages count.
	wanted func(loc uint32) bool
	net    map[flow]int64 // by flow: number of sends minus number of receives
	// kept holds the last rows of each flow that has messages in transit.
	kept map[flow]*ring
	seq  int64
	// missing is the number of incomplete flows. In an incomplete flow, the other end of some message
	// in transit has not been found.
	missing int
}

// flowOf returns the flow of a send or receive. ok is false for other rows, and if a part of the
// flow is unknown.
func flowOf(x *trace.Cursor) (f flow, send, ok bool) {
	k := x.Kind()
	send = k.IsSend()
	if !send && !k.IsRecv() {
		return f, false, false
	}
	peer := x.Op(0)
	if peer >= uint64(trace.NoRef) {
		return f, send, false
	}
	f = flow{x.Location(), uint32(peer), x.Op(1), int64(x.Op(2))}
	if !send {
		f.source, f.destination = f.destination, f.source
	}
	return f, send, true
}

// flowOf is like the function flowOf, but ok is also false for flows between locations that are not
// selected.
func (m *flows) flowOf(x *trace.Cursor) (f flow, send, ok bool) {
	f, send, ok = flowOf(x)
	return f, send, ok && (m.wanted == nil || m.wanted(f.source) && m.wanted(f.destination))
}

// count counts a send or receive.
func (m *flows) count(x *trace.Cursor) {
	f, send, ok := m.flowOf(x)
	if !ok {
		return
	}
	if m.net == nil {
		m.net = map[flow]int64{}
	}
	if send {
		m.net[f]++
	} else {
		m.net[f]--
	}
}

// add adds the counts of another worker.
func (m *flows) add(o *flows) {
	if m.net == nil {
		m.net = map[flow]int64{}
	}
	for f, n := range o.net {
		m.net[f] += n
	}
}

// begin creates an empty ring for each flow with messages in transit. All rows must have been counted.
func (m *flows) begin() {
	m.kept, m.missing = map[flow]*ring{}, 0
	for f, n := range m.net {
		if n != 0 {
			m.kept[f] = &ring{}
			m.missing++
		}
	}
}

// dropUnmatched removes the flows for which findOthers found no other end of a message in transit. It
// also removes all kept rows. It reports whether a flow is left.
func (m *flows) dropUnmatched() bool {
	for f, r := range m.kept {
		if r.rows, r.next = nil, 0; r.others == 0 {
			delete(m.kept, f)
		}
	}
	return len(m.kept) > 0
}

// keep handles the rows in a second scan, which has the same order at each location. It keeps the last
// rows of each flow, because their messages are in transit.
func (m *flows) keep(x *trace.Cursor) {
	f, send, ok := m.flowOf(x)
	if !ok {
		return
	}
	r, n := m.kept[f], m.net[f]
	if r == nil || send != (n > 0) {
		return
	}
	m.seq++
	o := open{x.Kind(), x.Ref(), x.Time(), m.seq, copyRow(x)}
	if n = max(n, -n); int64(len(r.rows)) < n {
		r.rows = append(r.rows, o)
		return
	}
	r.rows[r.next] = o
	r.next = (r.next + 1) % len(r.rows)
}

// complete reports whether all messages in transit are kept.
func (m *flows) complete() bool {
	for f, r := range m.kept {
		if n := m.net[f]; int64(len(r.rows)) < max(n, -n) {
			return false
		}
	}
	return true
}

// ring holds the last sends or receives of a flow.
type ring struct {
	rows []open
	next int // index of the oldest row
	// others is the number of rows whose other end has been found. These are the oldest rows.
	others int64
}

// countOther counts a later row if it is the other end of a message in transit.
func (m *flows) countOther(x *trace.Cursor) {
	f, send, ok := m.flowOf(x)
	if !ok {
		return
	}
	r, n := m.kept[f], m.net[f]
	if r == nil || send == (n > 0) {
		return
	}
	if r.others++; r.others == max(n, -n) {
		m.missing--
	}
}

// eachMissing calls f with the locations at which other ends of messages in transit are missing.
func (m *flows) eachMissing(f func(loc uint32)) {
	for k, r := range m.kept {
		switch n := m.net[k]; {
		case r.others >= max(n, -n):
		case n > 0:
			f(k.destination)
		default:
			f(k.source)
		}
	}
}

// each calls f for the rows of the messages in transit whose other end has been found. Those of a flow
// are in order.
func (m *flows) each(f func(loc uint32, o open)) {
	for k, r := range m.kept {
		loc := k.source
		if m.net[k] < 0 {
			loc = k.destination
		}
		for i := range min(len(r.rows), int(r.others)) {
			f(loc, r.rows[(r.next+i)%len(r.rows)])
		}
	}
}
