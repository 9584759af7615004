// Package history keeps what waits and dependences a trace has, in a form in which analyses can walk
// it forward and backward: the calls of each location with the exclusive times between them, the
// waits, and what calls of different locations depend on each other.
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

// Call is a call of a location.
type Call struct {
	Enter, Leave int64
	Path         uint32
	before       uint32 // end of its times before Enter in Location.times
	inside       uint32 // end of its times up to Leave
	waits        int32  // index of its first wait in History.Waits plus 1, or 0
	source       int32  // index of its first source plus 1, or 0
	operation    int32  // index of its first part in an operation plus 1, or 0
	Role         trace.Role
	Begins       bool // a thread begins to work in a team
	Joins        bool // a thread continues after the work of its team
	Init         bool // it begins MPI
	Last         bool // it is no call, but the rest of the location's time
}

// Operation is an operation of several locations.
type Operation struct {
	Relation waitstate.Relation
	Root     uint32 // location; trace.NoRef if there is none
	// Members are the calls that complete the operation, by location.
	Members []waitstate.Place
	// Arrivals are the calls that begin it, nil if they are the Members, as it blocks.
	Arrivals []waitstate.Place
	// Free are the members that wait for no other one, nil if all members wait according to the relation.
	Free []bool
	// Ranks are the ranks of the members, if RanksWait.
	Ranks []int32
	// Last is the call that arrived last.
	Last waitstate.Place
}

// Location holds the calls of a location.
type Location struct {
	First, Last int64 // times of its events
	Calls       []Call
	Times       []synclog.PathTime
	operations  []part   // in order of calls
	sources     []source // in order of calls
}

// source is a call that another one depends on.
type source struct {
	call int32 // number of the call that depends on Source
	Source
}

// Source is a call on which the end of another call depends, other than through an operation. The other
// call cannot end before the source begins or, if Released is set, before the source releases a lock.
type Source struct {
	Place    waitstate.Place
	Time     int64
	Released bool
}

// fork is an event at which a location starts threads.
type fork struct {
	time  int64
	place waitstate.Place
}

// part is the part of a location in an operation.
type part struct{ call, operation int32 }

// wait is a wait and the next one of its call.
type wait struct {
	waitstate.Wait
	next int32 // index plus 1, or 0
}

// pair is two locations, the lower one first.
type pair struct{ a, b uint32 }

// message is a message between two locations.
type message struct {
	a, b int32 // calls
	// latest is the maximum, over this message and those before it in the list, of the time at which the
	// first of the two locations continued.
	latest int64
}

// History is the history of a trace.
type History struct {
	Log *synclog.Log // closed: its calls are those of Locations
	// Finalize is the end of MPI by all processes, nil if the trace does not have it.
	Finalize   *Operation
	Locations  []*Location // by index; nil without events
	Operations []Operation
	// Order has all calls in the order in which they end.
	Order  []waitstate.Place
	Counts waitstate.Result

	waits    []wait
	forks    map[uint32][]fork            // by location group
	ends     map[uint32][]waitstate.Place // by location group: where threads ended their work in teams since the last fork
	messages map[pair][]message
}

// maxLength is the greatest length of a trace, in ticks, for which sums of times of a location fit.
const maxLength = 1 << 62

// Build makes the history of a trace. hooks, which may be nil, returns functions that are called while it
// is made. An error is [analysis.ErrTimeRange], or that of the scan, of the temporary file, or of the context.
func Build(ctx context.Context, events format.Events, rows *trace.Rows,
	hooks func(*synclog.Log) waitstate.Hooks) (*History,
	error) {
	log, err := synclog.Read(ctx, events, synclog.Options{Rows: rows, Times: true})
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

// read makes the history of a log with times. hooks are called while it is made.
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
			h.depends(r.Send, Source{r.Post, r.Time, false})
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
			h.depends(o.To, Source{o.From, o.Released, true})
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
					h.depends(p, Source{e, h.At(e).Enter, false})
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

// group returns the group of a location.
func (h *History) group(loc uint32) (group uint32, ok bool) {
	d := h.Log.Defs
	if !d.Locations.Has(loc) || !d.Groups.Has(d.Locations.At(loc).Group) {
		return 0, false
	}
	return d.Locations.At(loc).Group, true
}

// Fork returns the call in which another location of the group of a location started threads, the
// last one up to a time.
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

// depends adds what the end of a call depends on.
func (h *History) depends(p waitstate.Place, s Source) {
	l := h.location(p.Location)
	l.sources = append(l.sources, source{p.Number, s})
}

func (h *History) wait(w *waitstate.Wait) {
	if _, part := w.Pattern.PartOf(); part || !w.Pattern.Waits() {
		return
	}
	h.waits = append(h.waits, wait{Wait: *w})
	if w.Pattern == waitstate.LateReceiver {
		h.between(w.Cause, w.Place)
	}
}

func (h *History) message(m *waitstate.Message) {
	h.depends(m.Recv, Source{m.Send, m.SendEnter, false})
	h.between(m.Send, m.Recv)
}

// between notes that two locations met in calls.
func (h *History) between(a, b waitstate.Place) {
	if a.Location > b.Location {
		a, b = b, a
	}
	k := pair{a.Location, b.Location}
	h.messages[k] = append(h.messages[k], message{a: a.Number, b: b.Number})
}

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

// sort puts everything in the order of calls.
func (h *History) sort() {
	// Waits are found when the other side is known. Later waits are at the end.
	slices.SortFunc(h.waits, func(a, b wait) int { return compareWaits(h, &a.Wait, &b.Wait) })
	for i := range slices.Backward(h.waits) {
		w := &h.waits[i]
		c := &h.Locations[w.Place.Location].Calls[w.Place.Number]
		w.next, c.waits = c.waits, int32(i+1)
	}
	for _, l := range h.Locations {
		if l != nil {
			slices.SortFunc(l.operations, func(a, b part) int { return int(a.call) - int(b.call) })
			slices.SortStableFunc(l.sources, func(a, b source) int { return int(a.call) - int(b.call) })
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

// compareWaits orders waits by their ends.
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

// Waits returns the number of waits. They are in the order in which their calls end.
func (h *History) Waits() int { return len(h.waits) }

// Wait returns the i-th wait.
func (h *History) Wait(i int) *waitstate.Wait { return &h.waits[i].Wait }

// At returns a call.
func (h *History) At(p waitstate.Place) *Call { return &h.Locations[p.Location].Calls[p.Number] }

// WaitsOf calls f with the index of each wait of a call, those of a reduction included.
func (h *History) WaitsOf(c *Call, f func(i int)) {
	for i := c.waits; i > 0; i = h.waits[i-1].next {
		f(int(i - 1))
	}
}

// Sources calls f with what the end of the n-th call depends on, besides operations.
func (l *Location) Sources(n int32, f func(s *Source)) {
	i := int(l.Calls[n].source) - 1
	for ; i >= 0 && i < len(l.sources) && l.sources[i].call == n; i++ {
		f(&l.sources[i].Source)
	}
}

// OperationsOf calls f with the index of each operation that the n-th call completes.
func (l *Location) OperationsOf(n int32, f func(operation int32)) {
	i := int(l.Calls[n].operation) - 1
	for ; i >= 0 && i < len(l.operations) && l.operations[i].call == n; i++ {
		f(l.operations[i].operation)
	}
}

// Before returns the exclusive times between the previous call of a location and the n-th one.
func (l *Location) Before(n int32) []synclog.PathTime {
	from := uint32(0)
	if n > 0 {
		from = l.Calls[n-1].inside
	}
	return l.Times[from:l.Calls[n].before]
}

// Inside returns the exclusive times in the n-th call of a location.
func (l *Location) Inside(n int32) []synclog.PathTime {
	return l.Times[l.Calls[n].before:l.Calls[n].inside]
}

// Opening is where two locations last met before given calls.
type Opening struct {
	A, B int32 // the calls in which they met; -1 if there is none
	// Met is the time at which both calls had begun and one of them had ended.
	Met  int64
	left int64 // the time at which the first of them continued
}

// mostLooks is the number of operations of two locations among which the last one is searched. The order in
// which the two locations leave operations differs only if their clocks differ.
const mostLooks = 16

// Opening returns the last message between two locations, or operation in which one waits for the
// other, before the given calls: the one that both left last.
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
			h.meet(&o, a.Location, b.Location, m.b, m.a)
		} else {
			h.meet(&o, a.Location, b.Location, m.a, m.b)
		}
	}
	l := h.Locations[a.Location]
	j, _ := slices.BinarySearchFunc(l.operations, a.Number, func(p part, n int32) int { return int(p.call) - int(n) })
	looks := mostLooks
	for j--; j >= 0 && looks > 0 && l.Calls[l.operations[j].call].Leave > o.left; j-- {
		x := &h.Operations[l.operations[j].operation]
		if i, ok := x.Member(b.Location); ok && x.Members[i].Number < b.Number && x.relates(a.Location, b.Location) {
			h.meet(&o, a.Location, b.Location, l.operations[j].call, x.Members[i].Number)
			looks--
		}
	}
	return o
}

// meet makes two calls the opening if the locations leave them later than those found so far.
func (h *History) meet(o *Opening, locA, locB uint32, a, b int32) {
	x, y := &h.Locations[locA].Calls[a], &h.Locations[locB].Calls[b]
	met := max(min(x.Leave, y.Leave), x.Enter, y.Enter)
	if left := min(x.Leave, y.Leave, met); left > o.left {
		*o = Opening{a, b, met, left}
	}
}

// Member returns the index of a location's member.
func (o *Operation) Member(loc uint32) (i int, ok bool) {
	return slices.BinarySearchFunc(o.Members, loc, func(p waitstate.Place, loc uint32) int {
		return int(p.Location) - int(loc)
	})
}

// Waits reports whether the member of a location waits for others.
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

// PathLocation is a call path at a location.
type PathLocation struct{ Path, Location uint32 }

// ExclusiveTimes returns the time of each call path at each location, waits left out, those of reductions
// included.
func (h *History) ExclusiveTimes() map[PathLocation]int64 {
	own := map[PathLocation]int64{}
	for i, l := range h.Locations {
		if l == nil {
			continue
		}
		sleeps := slices.ContainsFunc(l.Calls, func(c Call) bool { return c.Begins })
		for _, t := range l.Times {
			if t.Path == synclog.NoPath && sleeps { // a thread that has nothing to do
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
