package transform

import "github.com/weft-trace/weft/trace"

// flow is the key of messages that may match.
type flow struct {
	source, destination uint32
	communicator        uint64
	tag                 int64
}

// flows finds the messages that are in transit where a scan ends. Its size is that of the different
// flows, and of the messages in transit.
type flows struct {
	wanted func(loc uint32) bool // selects locations between which messages count; nil selects all
	net    map[flow]int64        // sends minus receives
	kept   map[flow]*ring
	seq    int64
	// missing is the number of flows with messages in transit of which the other side has not come.
	missing int
}

// flowOf returns the flow of a send or receive. ok is false if it is unknown.
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

// flowOf returns the flow of a send or receive like the function of. ok is also false for flows
// that are not selected.
func (m *flows) flowOf(x *trace.Cursor) (f flow, send, ok bool) {
	f, send, ok = flowOf(x)
	return f, send, ok && (m.wanted == nil || m.wanted(f.source) && m.wanted(f.destination))
}

// count counts a row.
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

// begin prepares for the other sides of the messages in transit.
func (m *flows) begin() {
	m.kept, m.missing = map[flow]*ring{}, 0
	for f, n := range m.net {
		if n != 0 {
			m.kept[f] = &ring{}
			m.missing++
		}
	}
}

// coming reports whether the other sides of messages in transit come, and clears the kept messages. It forgets the
// flows without such messages.
func (m *flows) coming() bool {
	for f, r := range m.kept {
		if r.rows, r.next = nil, 0; r.others == 0 {
			delete(m.kept, f)
		}
	}
	return len(m.kept) > 0
}

// keep processes the rows a second time, in the same order of each location: the last ones of a
// flow are those in transit.
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
	o := open{x.Kind(), x.Ref(), x.Time(), m.seq, keep(x)}
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

// ring holds the last rows of a flow.
type ring struct {
	rows []open
	next int // the oldest one
	// others is the number of those whose other side has come, which are the oldest ones.
	others int64
}

// countOther counts a row that comes later, if it is the other side of a message in transit.
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

// eachMissing calls f for the locations where other sides of messages in transit have to come.
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

// each calls f for the messages in transit whose other side comes, those of one flow in order.
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
