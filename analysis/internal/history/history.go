// Package history keeps the calls and waits of a trace in memory, in a form that analyses can
// follow forward and backward. It has the calls of each location with the exclusive times between
// them, the waits, and the dependences between calls of different locations.
//
// A history uses about 40 bytes per call, 16 bytes per exclusive time of a path between two calls, 56
// bytes per wait, 24 bytes per message, and 16 bytes per member of an operation.
package history

import (
	"context"
	"math"
	"slices"

	"github.com/weft-trace/weft/analysis"
	"github.com/weft-trace/weft/analysis/internal/synclog"
	"github.com/weft-trace/weft/analysis/internal/waitstate"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// Call is a call in which a location synchronises. Times are in ticks.
type Call struct {
	Enter, Leave int64
	Path         uint32
	before       uint32 // end, in Location.Times, of the times before Enter
	inside       uint32 // end, in Location.Times, of the times between Enter and Leave
	waits        int32  // index of its first wait in History.Waits plus 1, or 0
	source       int32  // index of its first source in Location.sources plus 1, or 0
	operation    int32  // index of its first part in Location.operations plus 1, or 0
	Role         trace.Role
	Begins       bool // a thread begins its work in a team with this call
	Joins        bool // a thread continues with this call after the work of its team
	Init         bool // the call initialises MPI
	Last         bool // not a call: it has the location's time after the last call
}

// Operation is an operation, such as a collective operation or a barrier, in which several
// locations take part.
type Operation struct {
	Relation waitstate.Relation
	Root     uint32 // location of the root; trace.NoRef if there is none
	// Members has the calls that complete the operation, ordered by location.
	Members []waitstate.Place
	// Arrivals has the calls that begin the operation, in the order of Members. It is nil if these
	// are the Members, in a blocking operation.
	Arrivals []waitstate.Place
	// Free reports for each member whether it waits for no other member. It is nil if all members
	// wait as Relation says.
	Free []bool
	// Ranks has the ranks of the members. It is set only if Relation is RanksWait.
	Ranks []int32
	// Last is the call with which the last member arrived.
	Last waitstate.Place
}

// Location has the calls of a location.
type Location struct {
	First, Last int64 // times of its first and last event, in ticks
	Calls       []Call
	// Times has the exclusive times of paths; see Location.Before and Location.Inside.
	Times      []synclog.PathTime
	operations []part       // in order of calls
	sources    []callSource // in order of calls
}

// callSource is a Source of a call.
type callSource struct {
	call int32 // number of the call that depends on it
	Source
}

// Source is a call on which the end of another call depends, other than as a member of an
// operation. The other call cannot end before the source begins or, if Released is set, before the
// source releases a lock. Time is the time of that begin or release, in ticks.
type Source struct {
	Place    waitstate.Place
	Time     int64
	Released bool
}

// fork is a call in which a location starts threads, with the time of that event in ticks.
type fork struct {
	time  int64
	place waitstate.Place
}

// part is the part of a location in an operation: the number of its call, and the index of the
// operation.
type part struct{ call, operation int32 }

// wait is a wait, with the link to the next wait of the same call.
type wait struct {
	waitstate.Wait
	next int32 // index of that wait plus 1, or 0
}

// pair is a pair of locations, the lower one first.
type pair struct{ a, b uint32 }

// message is a message between a pair of locations.
type message struct {
	a, b int32 // numbers of the calls at pair.a and pair.b
	// latest is the greatest time, over this message and those before it in the list, at which the
	// first of the two locations left its call, in ticks.
	latest int64
}

// History has the calls and waits of a trace.
type History struct {
	Log *synclog.Log // its calls are no longer available, since Locations has them
	// Finalize is the finalisation of MPI by all processes. It is nil if the trace does not have
	// it.
	Finalize   *Operation
	Locations  []*Location // nil for locations without events
	Operations []Operation
	// Order has all calls in the order of their ends.
	Order  []waitstate.Place
	Counts waitstate.Result

	waits []wait
	forks map[uint32][]fork // by location group, in the order of time
	// ends has, by location group, the calls in which threads have ended their work in teams since the
	// last fork.
	ends     map[uint32][]waitstate.Place
	messages map[pair][]message
}

// maxLength is the length in ticks that a trace must not reach, so that sums of the times of a
// location fit an int64.
const maxLength = 1 << 62

// Build returns the history of a trace. Function hooks, which can be nil, returns functions that
// are called while the log is evaluated. Rows maps regions to the rows that count as one. If window is
// not nil, the history has the waits that begin before its end, and what they depend on; what it has of
// later times is not complete. The error is [analysis.ErrTimeRange], or that of the scan, of the
// temporary file, or of the context.
func Build(ctx context.Context, events format.Events, rows *trace.Rows, window *trace.Window,
	hooks func(*synclog.Log) waitstate.Hooks) (*History, error) {
	log, err := synclog.Read(ctx, events, synclog.Options{Rows: rows, Times: true, Window: window})
	if err != nil {
		return nil, err
	}
	defer log.Close()
	if log.First <= log.Last && uint64(log.Last)-uint64(log.First) >= maxLength {
		return nil, analysis.ErrTimeRange
	}
	if hooks == nil {
		return read(ctx, log, waitstate.Hooks{})
	}
	return read(ctx, log, hooks(log))
}

// read returns the history of a log that has times. The functions in hooks are called while it is
// read.
func read(ctx context.Context, log *synclog.Log, hooks waitstate.Hooks) (*History, error) {
	h := &History{Log: log, messages: map[pair][]message{}, forks: map[uint32][]fork{},
		ends: map[uint32][]waitstate.Place{}}
	var err error
	h.Counts, err = waitstate.Run(ctx, log, waitstate.Hooks{
		Call: func(c *synclog.Call, p waitstate.Place) {
			h.call(c, p)
			if hooks.Call != nil {
				hooks.Call(c, p)
			}
		},
		Wait: func(w *waitstate.Wait) {
			h.wait(w)
			if hooks.Wait != nil {
				hooks.Wait(w)
			}
		},
		Message: func(m *waitstate.Message) {
			h.message(m)
			if hooks.Message != nil {
				hooks.Message(m)
			}
		},
		Rendezvous: func(r *waitstate.Rendezvous) {
			h.addSource(r.Send, Source{r.Post, r.Time, false})
			if hooks.Rendezvous != nil {
				hooks.Rendezvous(r)
			}
		},
		Operation: func(o *waitstate.Operation) {
			h.operation(o)
			if hooks.Operation != nil {
				hooks.Operation(o)
			}
		},
		Handover: func(o *waitstate.Handover) {
			h.addSource(o.To, Source{o.From, o.Released, true})
			if hooks.Handover != nil {
				hooks.Handover(o)
			}
		},
	})
	if err != nil {
		return nil, err
	}
	h.sort()
	return h, nil
}

// location returns a location, which it creates if needed.
func (h *History) location(loc uint32) *Location {
	for int64(loc) >= int64(len(h.Locations)) {
		h.Locations = append(h.Locations, nil)
	}
	if h.Locations[loc] == nil {
		first, last, _ := h.Log.Extent(loc)
		h.Locations[loc] = &Location{First: first, Last: last}
	}
	return h.Locations[loc]
}

// call adds a call of the log.
func (h *History) call(c *synclog.Call, p waitstate.Place) {
	l := h.location(c.Location)
	x := Call{Enter: c.Enter, Leave: c.Leave, Path: c.Path, Role: c.Role, Last: c.Last,
		Init: c.Init}
	for _, q := range c.Points {
		switch q.Kind {
		case synclog.TeamBegin:
			x.Begins = true
		case synclog.Fork:
			if g, ok := h.group(c.Location); ok {
				h.forks[g] = append(h.forks[g], fork{q.Time, p})
				h.ends[g] = h.ends[g][:0]
			}
		case synclog.TeamEnd:
			if g, ok := h.group(c.Location); ok && c.Bare {
				h.ends[g] = append(h.ends[g], p)
			}
		case synclog.Join:
			if g, ok := h.group(c.Location); ok && c.Bare && p.Number > 0 {
				x.Joins = true
				for _, e := range h.ends[g] {
					h.addSource(p, Source{e, h.At(e).Enter, false})
				}
				delete(h.ends, g)
			}
		}
	}
	l.Times = append(l.Times, c.Before...)
	x.before = uint32(len(l.Times))
	l.Times = append(l.Times, c.Inside...)
	x.inside = uint32(len(l.Times))
	l.Calls = append(l.Calls, x)
	h.Order = append(h.Order, p)
}

// group returns the location group of a location. ok is false if it has none.
func (h *History) group(loc uint32) (group uint32, ok bool) {
	d := h.Log.Defs
	if !d.Locations.Has(loc) || !d.Groups.Has(d.Locations.At(loc).Group) {
		return 0, false
	}
	return d.Locations.At(loc).Group, true
}

// Fork returns the last call up to time t in which another location of the same location group
// started threads, and the time at which it did so, in ticks. ok is false if there is none.
func (h *History) Fork(loc uint32, t int64) (p waitstate.Place, time int64, ok bool) {
	g, ok := h.group(loc)
	if !ok {
		return p, 0, false
	}
	list := h.forks[g]
	i, _ := slices.BinarySearchFunc(list, t, func(f fork, t int64) int {
		if f.time <= t {
			return -1
		}
		return 1
	})
	for i--; i >= 0; i-- {
		if f := list[i]; f.place.Location != loc {
			return f.place, f.time, true
		}
	}
	return p, 0, false
}

// addSource adds a call on which the end of call p depends.
func (h *History) addSource(p waitstate.Place, s Source) {
	l := h.location(p.Location)
	l.sources = append(l.sources, callSource{p.Number, s})
}

// wait adds a wait.
func (h *History) wait(w *waitstate.Wait) {
	if _, part := w.Pattern.PartOf(); part || !w.Pattern.Waits() {
		return
	}
	h.waits = append(h.waits, wait{Wait: *w})
	if w.Pattern == waitstate.LateReceiver {
		h.addMeeting(w.Cause, w.Place)
	}
}

// message adds a message.
func (h *History) message(m *waitstate.Message) {
	h.addSource(m.Recv, Source{m.Send, m.SendEnter, false})
	h.addMeeting(m.Send, m.Recv)
}

// addMeeting adds a pair of calls in which two locations synchronise by a message.
func (h *History) addMeeting(a, b waitstate.Place) {
	if a.Location > b.Location {
		a, b = b, a
	}
	k := pair{a.Location, b.Location}
	h.messages[k] = append(h.messages[k], message{a: a.Number, b: b.Number})
}

// operation adds an operation.
func (h *History) operation(o *waitstate.Operation) {
	if o.Relation == waitstate.Independent {
		return
	}
	last := waitstate.LastToArrive(o.Members)
	x := Operation{Relation: o.Relation, Root: ^uint32(0), Members: make([]waitstate.Place, len(o.Members)),
		Last: last.ArrivalPlace}
	if o.Posted {
		x.Arrivals = make([]waitstate.Place, len(o.Members))
	}
	if o.Root >= 0 {
		x.Root = o.Members[o.Root].Place.Location
	}
	if slices.ContainsFunc(o.Members, func(m waitstate.Member) bool { return m.Free }) {
		x.Free = make([]bool, len(o.Members))
	}
	if o.Relation == waitstate.RanksWait {
		x.Ranks = make([]int32, len(o.Members))
	}
	for i := range o.Members {
		m := &o.Members[i]
		x.Members[i] = m.Place
		if x.Free != nil {
			x.Free[i] = m.Free
		}
		if x.Ranks != nil {
			x.Ranks[i] = m.Rank
		}
		if o.Posted {
			x.Arrivals[i] = m.ArrivalPlace
		}
		l := h.location(m.Place.Location)
		l.operations = append(l.operations, part{m.Place.Number, int32(len(h.Operations))})
	}
	h.Operations = append(h.Operations, x)
	if o.Finalize {
		h.Finalize = &x
	}
}

// sort sorts waits, sources, operations and messages by their calls.
func (h *History) sort() {
	// The log reports a wait when the other side is known, so that later waits can come before
	// earlier ones.
	slices.SortFunc(h.waits, func(a, b wait) int { return compareWaits(h, &a.Wait, &b.Wait) })
	for i := range slices.Backward(h.waits) {
		w := &h.waits[i]
		c := &h.Locations[w.Place.Location].Calls[w.Place.Number]
		w.next, c.waits = c.waits, int32(i+1)
	}
	for _, l := range h.Locations {
		if l != nil {
			slices.SortFunc(l.operations, func(a, b part) int { return int(a.call) - int(b.call) })
			slices.SortStableFunc(l.sources, func(a, b callSource) int { return int(a.call) - int(b.call) })
			for i := range slices.Backward(l.operations) {
				l.Calls[l.operations[i].call].operation = int32(i + 1)
			}
			for i := range slices.Backward(l.sources) {
				l.Calls[l.sources[i].call].source = int32(i + 1)
			}
		}
	}
	for k, list := range h.messages {
		slices.SortFunc(list, func(x, y message) int { return int(x.a) - int(y.a) })
		latest := int64(math.MinInt64)
		for i := range list {
			m := &list[i]
			latest = max(latest, min(h.Locations[k.a].Calls[m.a].Leave, h.Locations[k.b].Calls[m.b].Leave))
			m.latest = latest
		}
	}
}

// compareWaits orders waits by the ends of their calls.
func compareWaits(h *History, a, b *waitstate.Wait) int {
	x, y := &h.Locations[a.Place.Location].Calls[a.Place.Number], &h.Locations[b.Place.Location].Calls[b.Place.Number]
	switch {
	case x.Leave != y.Leave:
		if x.Leave < y.Leave {
			return -1
		}
		return 1
	case a.Place.Location != b.Place.Location:
		return int(a.Place.Location) - int(b.Place.Location)
	case a.Place.Number != b.Place.Number:
		return int(a.Place.Number) - int(b.Place.Number)
	}
	return int(a.Pattern) - int(b.Pattern)
}

// Waits returns the number of waits. Waits are numbered in the order in which their calls end.
func (h *History) Waits() int { return len(h.waits) }

// Wait returns wait number i, from 0.
func (h *History) Wait(i int) *waitstate.Wait { return &h.waits[i].Wait }

// At returns the call at a place.
func (h *History) At(p waitstate.Place) *Call { return &h.Locations[p.Location].Calls[p.Number] }

// WaitsOf calls f with the number of each wait of a call, including waits of the pattern
// waitstate.Reduction.
func (h *History) WaitsOf(c *Call, f func(i int)) {
	for i := c.waits; i > 0; i = h.waits[i-1].next {
		f(int(i - 1))
	}
}

// Sources calls f with each source on which the end of call n depends.
func (l *Location) Sources(n int32, f func(s *Source)) {
	i := int(l.Calls[n].source) - 1
	for ; i >= 0 && i < len(l.sources) && l.sources[i].call == n; i++ {
		f(&l.sources[i].Source)
	}
}

// OperationsOf calls f with the index of each operation that call n completes.
func (l *Location) OperationsOf(n int32, f func(operation int32)) {
	i := int(l.Calls[n].operation) - 1
	for ; i >= 0 && i < len(l.operations) && l.operations[i].call == n; i++ {
		f(l.operations[i].operation)
	}
}

// Before returns the exclusive times between the end of call n-1 and the begin of call n.
func (l *Location) Before(n int32) []synclog.PathTime {
	from := uint32(0)
	if n > 0 {
		from = l.Calls[n-1].inside
	}
	return l.Times[from:l.Calls[n].before]
}

// Inside returns the exclusive times between begin and end of call n.
func (l *Location) Inside(n int32) []synclog.PathTime {
	return l.Times[l.Calls[n].before:l.Calls[n].inside]
}

// Opening is the last synchronisation of two locations before given calls of them.
type Opening struct {
	A, B int32 // numbers of the calls of the synchronisation at each location; -1 if there is none
	// Met is the time at which both calls had begun and one of them had ended, in ticks.
	Met  int64
	left int64 // time at which the first of the locations left its call
}

// mostLooks is the greatest number of operations of two locations among which Opening searches for
// the last one. The locations can leave operations in different orders only if their clocks differ.
const mostLooks = 16

// Opening returns the last synchronisation of two locations before the calls a and b: of the
// messages between them and the operations in which one waits for the other, the one that both left
// last.
func (h *History) Opening(a, b waitstate.Place) Opening {
	o := Opening{A: -1, B: -1, left: math.MinInt64}
	k, na, nb := pair{a.Location, b.Location}, a.Number, b.Number
	swap := k.a > k.b
	if swap {
		k, na, nb = pair{k.b, k.a}, nb, na
	}
	list := h.messages[k]
	i, _ := slices.BinarySearchFunc(list, na, func(m message, n int32) int { return int(m.a) - int(n) })
	for i--; i >= 0 && list[i].latest > o.left; i-- {
		if m := list[i]; m.b >= nb {
			continue
		} else if swap {
			h.consider(&o, a.Location, b.Location, m.b, m.a)
		} else {
			h.consider(&o, a.Location, b.Location, m.a, m.b)
		}
	}
	l := h.Locations[a.Location]
	j, _ := slices.BinarySearchFunc(l.operations, a.Number, func(p part, n int32) int { return int(p.call) - int(n) })
	looks := mostLooks
	for j--; j >= 0 && looks > 0 && l.Calls[l.operations[j].call].Leave > o.left; j-- {
		x := &h.Operations[l.operations[j].operation]
		if i, ok := x.Member(b.Location); ok && x.Members[i].Number < b.Number && x.relates(a.Location, b.Location) {
			h.consider(&o, a.Location, b.Location, l.operations[j].call, x.Members[i].Number)
			looks--
		}
	}
	return o
}

// consider sets o to the synchronisation in the calls a and b if the locations left these later than
// those in o.
func (h *History) consider(o *Opening, locA, locB uint32, a, b int32) {
	x, y := &h.Locations[locA].Calls[a], &h.Locations[locB].Calls[b]
	met := max(min(x.Leave, y.Leave), x.Enter, y.Enter)
	if left := min(x.Leave, y.Leave, met); left > o.left {
		*o = Opening{a, b, met, left}
	}
}

// Member returns the index of a location in Members. ok is false if it is not among them.
func (o *Operation) Member(loc uint32) (i int, ok bool) {
	return slices.BinarySearchFunc(o.Members, loc, func(p waitstate.Place, loc uint32) int {
		return int(p.Location) - int(loc)
	})
}

// Waits reports whether the member at a location waits for other members.
func (o *Operation) Waits(loc uint32) bool {
	if o.Free == nil {
		return true
	}
	i, ok := o.Member(loc)
	return ok && !o.Free[i]
}

// relates reports whether one of two members waits for the other one.
func (o *Operation) relates(a, b uint32) bool {
	switch o.Relation {
	case waitstate.RootSends, waitstate.RootWaits:
		return (o.Root == a || o.Root == b) && (o.Waits(a) || o.Waits(b))
	}
	return o.Waits(a) || o.Waits(b)
}

// PathLocation identifies a call path at a location.
type PathLocation struct{ Path, Location uint32 }

// ExclusiveTimes returns the time in ticks of each call path at each location, without waits. Waits
// of the pattern waitstate.Reduction are subtracted in place of those of EarlyReduce, which they
// include.
func (h *History) ExclusiveTimes() map[PathLocation]int64 {
	own := map[PathLocation]int64{}
	for i, l := range h.Locations {
		if l == nil {
			continue
		}
		sleeps := slices.ContainsFunc(l.Calls, func(c Call) bool { return c.Begins })
		for _, t := range l.Times {
			if t.Path == synclog.NoPath && sleeps { // the thread has no work
				continue
			}
			own[PathLocation{t.Path, uint32(i)}] += t.Time
		}
	}
	for i := range h.waits {
		if w := &h.waits[i].Wait; w.Pattern != waitstate.EarlyReduce { // waitstate.Reduction includes it
			own[PathLocation{w.Path, w.Place.Location}] -= w.Length
		}
	}
	return own
}
