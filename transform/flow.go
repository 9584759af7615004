package transform

import "github.com/weft-trace/weft/trace"

// flow identifies the sends and receives that can match each other: they have the same ends, tag and
// communicator.
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
	net    map[flow]int64 // number of sends minus number of receives; indexed by flow
	// recent holds numbers that are not in net yet, since most rows belong to few flows. It is indexed by the last
	// bits of the sum of peer and tag, and the side.
	recent [32]struct {
		flow flow
		net  int64
	}
	// kept holds the last rows of each flow that has messages in transit.
	kept map[flow]*ring
	seq  int64
	// missing is the number of incomplete flows. A flow is incomplete if the other end of some message in
	// transit has not been found.
	missing int
}

// flowOf returns the flow of a send or receive. ok is false for other rows, and for rows whose flow is partly
// unknown.
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
func (fl *flows) flowOf(x *trace.Cursor) (f flow, send, ok bool) {
	f, send, ok = flowOf(x)
	return f, send, ok && (fl.wanted == nil || fl.wanted(f.source) && fl.wanted(f.destination))
}

// count counts a send or receive.
func (fl *flows) count(x *trace.Cursor) {
	f, send, ok := fl.flowOf(x)
	if !ok {
		return
	}
	at, n := (f.source+uint32(f.tag))<<1, int64(-1)
	if send {
		at, n = (f.destination+uint32(f.tag))<<1|1, 1
	}
	r := &fl.recent[at%uint32(len(fl.recent))]
	if r.flow != f {
		fl.addNet(r.flow, r.net)
		r.flow, r.net = f, 0
	}
	r.net += n
}

// addNet adds n to the number of a flow.
func (fl *flows) addNet(f flow, n int64) {
	if n != 0 {
		setElement(&fl.net, f, fl.net[f]+n)
	}
}

// add adds the counts of another worker.
func (fl *flows) add(o *flows) {
	for _, r := range o.recent {
		fl.addNet(r.flow, r.net)
	}
	for f, n := range o.net {
		fl.addNet(f, n)
	}
}

// begin creates an empty ring for each flow with messages in transit. All rows must have been counted.
func (fl *flows) begin() {
	fl.kept, fl.missing = map[flow]*ring{}, 0
	for f, n := range fl.net {
		if n != 0 {
			fl.kept[f] = &ring{}
			fl.missing++
		}
	}
}

// dropUnmatched removes the flows for which findOthers found no other end of a message in transit. It
// also removes all kept rows. It reports whether a flow is left.
func (fl *flows) dropUnmatched() bool {
	for f, r := range fl.kept {
		if r.rows, r.next = nil, 0; r.others == 0 {
			delete(fl.kept, f)
		}
	}
	return len(fl.kept) > 0
}

// keep handles the rows in a second scan, which has the same order at each location as the first. It keeps the
// last rows of each flow, because these belong to the messages in transit.
func (fl *flows) keep(x *trace.Cursor) {
	f, send, ok := fl.flowOf(x)
	if !ok {
		return
	}
	r, n := fl.kept[f], fl.net[f]
	if r == nil || send != (n > 0) {
		return
	}
	fl.seq++
	o := openRow{x.Kind(), x.Ref(), x.Time(), fl.seq, copyRow(x)}
	if n = max(n, -n); int64(len(r.rows)) < n {
		r.rows = append(r.rows, o)
		return
	}
	r.rows[r.next] = o
	r.next = (r.next + 1) % len(r.rows)
}

// complete reports whether all messages in transit are kept.
func (fl *flows) complete() bool {
	for f, r := range fl.kept {
		if n := fl.net[f]; int64(len(r.rows)) < max(n, -n) {
			return false
		}
	}
	return true
}

// ring holds the last sends or receives of a flow.
type ring struct {
	rows []openRow
	next int // index of the oldest row
	// others is the number of rows whose other end has been found. These are the oldest rows.
	others int64
}

// countOther counts a later row if it is the other end of a message in transit.
func (fl *flows) countOther(x *trace.Cursor) {
	f, send, ok := fl.flowOf(x)
	if !ok {
		return
	}
	r, n := fl.kept[f], fl.net[f]
	if r == nil || send == (n > 0) {
		return
	}
	if r.others++; r.others == max(n, -n) {
		fl.missing--
	}
}

// eachMissing calls f with the locations at which other ends of messages in transit are missing.
func (fl *flows) eachMissing(f func(loc uint32)) {
	for k, r := range fl.kept {
		switch n := fl.net[k]; {
		case r.others >= max(n, -n):
		case n > 0:
			f(k.destination)
		default:
			f(k.source)
		}
	}
}

// each calls f for the rows of the messages in transit whose other end has been found. The rows of a flow are
// in order.
func (fl *flows) each(f func(loc uint32, o openRow)) {
	for k, r := range fl.kept {
		loc := k.source
		if fl.net[k] < 0 {
			loc = k.destination
		}
		for i := range min(len(r.rows), int(r.others)) {
			f(loc, r.rows[(r.next+i)%len(r.rows)])
		}
	}
}
