// Package history keeps the calls and waits of a trace in a form that analyses can follow forward and
// backward. It has the calls of each location with the exclusive times between them, the waits, and the
// dependences between calls of different locations.
//
// A history is packed. It uses about 20 bytes per call, 15 bytes per wait, 10 bytes per message, and 3 bytes
// per member of an operation. A history keeps 12 MiB of packed data in memory, and the rest in temporary
// files. It unpacks the calls that are in use: 16 Ki calls or, if there are many locations, 12 KiB of packed
// calls of each location. It also uses about 130 bytes per 4 KiB of packed calls, 2 KiB per pair of locations
// that exchange messages, and 32 bytes per start of threads.
//
// Only one goroutine at a time may use a history.
package history

import (
	"cmp"
	"context"
	"slices"
	"sort"

	"github.com/weft-trace/weft/analysis"
	"github.com/weft-trace/weft/analysis/internal/synclog"
	"github.com/weft-trace/weft/analysis/internal/waitstate"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/chunks"
	"github.com/weft-trace/weft/trace"
)

// Call is a call in which a location synchronises. Times are in ticks.
type Call struct {
	Enter, Leave int64
	Path         uint32
	before       uint32 // index in calls.times after the last time before Enter
	inside       uint32 // index in calls.times after the last time between Enter and Leave
	waits        int32  // 1 + the index of its first wait in calls.waits, or 0
	source       int32  // 1 + the index of its first source in calls.sources, or 0
	operation    int32  // 1 + the index of its first part in calls.operations, or 0
	Role         trace.Role
	Begins       bool // a thread begins its work in a team with this call
	Joins        bool // a thread continues with this call after the work of its team
	Forks        bool // the location starts threads in the call
	TeamBarrier  bool // the call is a barrier of a team of threads
	Init         bool // the call initialises MPI
	Kind         CallKind
}

// CallKind is what an element of a location's calls stands for.
type CallKind uint8

// The kinds.
const (
	VisitCall CallKind = iota // a visit of a region
	EventCall                 // an event outside of such visits, such as the begin of the work in a team
	WorkCall                  // the work of a device
	LastCall                  // the times of the location after the last call
)

// kindOf returns what a call of the log stands for.
func kindOf(c *synclog.Call) CallKind {
	switch {
	case c.Last:
		return LastCall
	case c.Device && !c.Idle:
		return WorkCall
	case c.IsPoint && !c.Bounded:
		return EventCall
	}
	return VisitCall
}

// Wait is a wait of at least one tick. Times are in ticks.
type Wait struct {
	waitstate.Interval
	CauseTime int64           // begin of the call Cause, or time at which this call releases a lock
	Place     waitstate.Place // the call that waits
	Cause     waitstate.Place // the call for which Place waits
	Path      uint32          // path of the call that waits
	Pattern   waitstate.Pattern
}

// Location holds the calls of a location, which are numbered from 0 in the order of their ends.
type Location struct {
	First, Last int64 // times of its first and last event, in ticks
	// InTeams reports whether the location works in teams of threads that other locations start.
	InTeams bool
	// Created is set if the location is a thread that another location has created. Creator is the call that
	// created it.
	Created bool
	Creator waitstate.Place

	history *History
	number  uint32 // index in Definitions.Locations
	stream  bool   // the calls are the work and the idle times of a stream of a device
	count   int32  // number of calls
	pages   []page
	current int   // index of the page with the last call that was added
	begun   int64 // position of the location's first call among the calls of all locations
	left    int64 // end of the last call that was added, in ticks
	// latest is the page that was used last. former is the page that was used before latest. Both can be nil.
	latest, former *calls
}

// callSource is a Source of a call.
type callSource struct {
	call int32 // number of the call that depends on the source
	Source
}

// Source is a call on which the end of another call depends. Dependences between the members of an operation
// are not sources. The other call cannot end before the source begins. If Released is set, the other call
// cannot end before the source releases a lock (Lock is set, too), signals or, as the work of a device or of a thread,
// ends. Time is the time of this begin, release or end, in ticks.
type Source struct {
	Place    waitstate.Place
	Time     int64
	Released bool
	Lock     bool
	// Partial is set if the other call has probably passed on data of this one to the root of a reduction.
	Partial bool
}

// fork is a call in which a location starts threads, with the time of the start in ticks.
type fork struct {
	time   int64
	place  waitstate.Place
	thread uint64 // number of the thread that the call creates, or trace.Undefined
	begun  int    // number of other threads that have begun to work in the team
}

// begin is a call with which a thread begins its work in a team.
type begin struct {
	place    waitstate.Place
	leave    int64 // end of the call in ticks
	position int64 // position among all calls
}

// part is the part of a location in an operation: the number of its call, and the number of the
// operation.
type part struct{ call, operation int32 }

// History holds the calls and waits of a trace. Close removes its temporary files.
type History struct {
	Log *synclog.Log
	// Finalize is the operation in which all processes of a world finalise MPI. If there are several, it is
	// the operation to which the last member comes latest. It is nil if the trace has no such operation.
	Finalize  *Operation
	Locations []*Location      // nil for locations without events
	Counts    waitstate.Result // counts for the window of Options.Hooks

	err    error // the first error of a temporary file
	built  bool
	cache  cache
	chunks *chunks.Store
	room   []byte   // buffer for chunks from a file
	spare  [][]byte // empty buffers for the tails of pages
	// position is the number of calls that have been added.
	position   int64
	operations operations
	ties       ties
	meetings   map[pair]*meetings
	waited     synclog.PathTable[int64] // waits by path and location, in ticks
	partial    synclog.PathTable[int64] // those of the pattern waitstate.Partial, which waited leaves out
	forks      map[uint32][]fork        // indexed by location group, in the order of time
	creations  map[uint32][]fork        // calls that create threads, by location group, with their begin
	begins     []begin                  // used while the history is built, and then empty
	// ends holds, by location group, the calls in which threads have ended their work in teams since
	// the last fork.
	ends map[uint32][]waitstate.Place
}

// maxLength is the limit in ticks for the length of a trace. Below this limit, the sums of the times of a
// location fit an int64.
const maxLength = 1 << 62

// memory is the number of bytes of packed waits, messages and operations that a history keeps in
// memory.
const memory = 4 << 20

// Options are the settings of a history. The zero value suits most uses.
type Options struct {
	// Rows maps regions to rows; all regions of a row count as one. If it is nil, each region counts
	// separately.
	Rows *trace.Rows
	// Window limits the history to the waits that begin before its end, and to the calls on which these
	// depend. For later times, the data are not complete. Nil means the whole trace.
	Window *trace.Window
	Part   bool // the value of synclog.Options.Part
	// Hooks returns functions to call while the log is evaluated, and the window of [History.Counts]. It may be nil.
	Hooks func(*synclog.Log) waitstate.Hooks
	// ChunkSize is the number of packed bytes of a chunk, and CachedCalls the number of unpacked calls in
	// memory. Memory is the number of bytes of packed waits, messages and operations in memory. 0 stands
	// for values that suit the trace.
	ChunkSize, CachedCalls, Memory int
}

// Violations returns the contradictions of causality in the trace, or nil if there are none.
func (h *History) Violations() *waitstate.Violations {
	if v := h.Counts.Violations; v != (waitstate.Violations{}) {
		return &v
	}
	return nil
}

// MuchUnknown is the least value of [History.UnknownShare] for which analyses print a sentence.
const MuchUnknown = 0.02

// UnknownShare returns the time of calls of communication libraries whose waits are unknown, as a share of the time of
// all threads.
func (h *History) UnknownShare() float64 {
	unknown := 0.0
	for _, t := range h.Counts.Unknown {
		unknown += float64(t)
	}
	for _, s := range h.Log.Silent {
		if !s.Unended && h.Log.Defs.Communicates(s.Region) {
			unknown += s.Time.Float()
		}
	}
	threads := 0.0
	for i, l := range h.Locations {
		if loc := uint32(i); l != nil && !h.Log.Defs.IsStream(loc) && !h.Log.Sleeps(loc) &&
			(!h.Log.Defs.Locations.Has(loc) || h.Log.Defs.Locations.At(loc).Kind.IsProcessor()) {
			threads++
		}
	}
	return unknown / max(1, threads*float64(h.Log.Last-h.Log.First))
}

// Build returns the history of a trace. The error is [analysis.ErrTimeRange], or comes from the scan, a
// temporary file or the context.
func Build(ctx context.Context, events format.Events, opt Options) (*History, error) {
	log, err := synclog.Read(ctx, events, synclog.Options{Rows: opt.Rows, Times: true, ChunkSize: opt.ChunkSize,
		Window: opt.Window, Part: opt.Part})
	if err != nil {
		return nil, err
	}
	if opt.Memory == 0 {
		opt.Memory = memory
	}
	h := &History{Log: log, chunks: chunks.New(int64(opt.Memory)), cache: cache{limit: opt.CachedCalls},
		meetings: map[pair]*meetings{},
		forks:    map[uint32][]fork{}, creations: map[uint32][]fork{},
		ends: map[uint32][]waitstate.Place{}}
	if log.First <= log.Last && uint64(log.Last)-uint64(log.First) >= maxLength {
		h.Close()
		return nil, analysis.ErrTimeRange
	}
	var hooks waitstate.Hooks
	if opt.Hooks != nil {
		hooks = opt.Hooks(log)
	}
	if err := h.read(ctx, hooks); err != nil {
		h.Close()
		return nil, err
	}
	return h, nil
}

// Close frees the memory of the history and removes its temporary files. Calls and waits cannot be
// used afterwards.
func (h *History) Close() {
	h.Log.Close()
	h.chunks.Close()
	for _, l := range h.Locations {
		if l != nil {
			l.pages, l.latest, l.former = nil, nil, nil
		}
	}
	h.cache, h.meetings, h.operations = cache{}, nil, operations{}
}

// Err returns the first error of a temporary file, or nil. After an error, calls are incomplete.
func (h *History) Err() error { return h.err }

// fail stores the first error.
func (h *History) fail(err error) {
	if h.err == nil {
		h.err = err
	}
}

// read reads the calls of the log, and calls the functions in hooks.
func (h *History) read(ctx context.Context, hooks waitstate.Hooks) (err error) {
	h.addLocations()
	h.Counts, err = waitstate.Run(ctx, h.Log, waitstate.Hooks{
		Window: hooks.Window,
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
			h.addMessage(m)
			if hooks.Message != nil {
				hooks.Message(m)
			}
		},
		Rendezvous: func(r *waitstate.Rendezvous) {
			h.addSource(r.Send, Source{Place: r.Post, Time: r.Time})
			if hooks.Rendezvous != nil {
				hooks.Rendezvous(r)
			}
		},
		Dependence: func(d *waitstate.Dependence) {
			h.addSource(d.Place, Source{Place: d.Cause, Time: d.Time})
			a, b := h.At(d.Cause), h.At(d.Place)
			h.addMeeting(d.Cause, d.Place, a.Enter, a.Leave, b.Enter, b.Leave)
			if hooks.Dependence != nil {
				hooks.Dependence(d)
			}
		},
		Operation: func(o *waitstate.Operation) {
			h.recordOperation(o)
			if hooks.Operation != nil {
				hooks.Operation(o)
			}
		},
		Handover: func(o *waitstate.Handover) {
			h.addSource(o.To, Source{Place: o.From, Time: o.Released, Released: true, Lock: o.Lock})
			if hooks.Handover != nil {
				hooks.Handover(o)
			}
		},
	})
	if err != nil {
		return err
	}
	h.finish()
	return h.err
}

// addLocations adds the locations of the log.
func (h *History) addLocations() {
	limit := 0
	for _, loc := range h.Log.Locations() {
		for int64(loc) >= int64(len(h.Locations)) {
			h.Locations = append(h.Locations, nil)
		}
		chunks := h.Log.Chunks(loc)
		l := &Location{history: h, number: loc, pages: make([]page, len(chunks)), InTeams: h.Log.InTeams(loc)}
		l.stream = h.Log.Defs.IsStream(loc)
		l.First, l.Last, _ = h.Log.Extent(loc)
		calls := 0
		for i := range chunks {
			l.pages[i] = page{chunk: &chunks[i], number: i, lastUse: -1}
			l.count += chunks[i].Calls
			calls = max(calls, int(chunks[i].Calls))
		}
		limit += min(calls*cachedPages, int(l.count))
		h.Locations[loc] = l
	}
	if h.cache.limit == 0 {
		h.cache.limit = max(limit, cachedCalls)
	}
}

// finish completes the history after the last call.
func (h *History) finish() {
	h.findCreators()
	for _, l := range h.Locations {
		if l != nil {
			for i := range l.pages {
				h.store(&l.pages[i])
			}
		}
	}
	h.packOperations()
	for _, b := range h.begins {
		if f, ok := h.forkOf(b.place, b.leave); ok {
			h.recordUse(f.place, b.position)
			f.begun++
		}
	}
	h.begins, h.ends, h.creations = nil, nil, nil
	h.built, h.spare = true, nil
}

// call adds a call of the log.
func (h *History) call(c *synclog.Call, p waitstate.Place) {
	h.position++
	l := h.Locations[c.Location]
	if x := l.pages[l.current].chunk; p.Number >= x.First+x.Calls {
		l.current++
		if l.current >= 2 {
			h.store(&l.pages[l.current-2])
		}
	}
	if p.Number == 0 {
		l.begun = h.position
	} else if l.left > c.Enter {
		if n, ok := l.FirstInside(p.Number); ok && n < p.Number {
			h.recordUse(waitstate.Place{Location: c.Location, Number: n}, h.position)
		}
	}
	l.left = c.Leave
	if c.Creates {
		if g, ok := h.group(c.Location); ok {
			x := fork{time: c.Enter, place: p, thread: trace.Undefined}
			if i := slices.IndexFunc(c.Points, func(q synclog.Point) bool { return q.Kind == synclog.Create }); i >= 0 {
				x.thread = c.Points[i].Ops[0]
			}
			h.creations[g] = append(h.creations[g], x)
		}
	}
	for _, q := range c.Points {
		switch q.Kind {
		case synclog.TeamBegin:
			h.attach(p, attachedBegin)
			h.begins = append(h.begins, begin{p, c.Leave, h.position})
		case synclog.Fork:
			if g, ok := h.group(c.Location); ok {
				h.attach(p, attachedFork)
				h.forks[g] = append(h.forks[g], fork{time: q.Time, place: p, thread: trace.Undefined})
				h.ends[g] = h.ends[g][:0]
			}
		case synclog.TeamEnd:
			if g, ok := h.group(c.Location); ok && c.IsPoint {
				h.ends[g] = append(h.ends[g], p)
			}
		case synclog.Join:
			if g, ok := h.group(c.Location); ok && c.IsPoint && p.Number > 0 {
				h.attach(p, attachedJoin)
				for _, e := range h.ends[g] {
					h.addSource(p, Source{Place: e, Time: h.At(e).Enter})
				}
				delete(h.ends, g)
			}
		}
	}
}

// findCreators finds the calls that have created the threads of each process. A recorder may number the threads. If it
// does not, findCreators assumes that the calls, and the threads without the first one, have the same order.
func (h *History) findCreators() {
	threads := map[uint32][]*Location{}
	for _, l := range h.Locations {
		if l == nil {
			continue
		}
		if g, ok := h.group(l.number); ok && len(h.creations[g]) > 0 {
			threads[g] = append(threads[g], l)
		}
	}
	for g, list := range threads {
		calls := h.creations[g]
		slices.SortStableFunc(calls, func(a, b fork) int { return cmp.Compare(a.time, b.time) })
		slices.SortStableFunc(list, func(a, b *Location) int { return cmp.Compare(a.First, b.First) })
		numbered := map[uint64]*Location{}
		for _, l := range list[1:] {
			if n := h.Log.Thread(l.number); n != trace.Undefined {
				numbered[n] = l
			}
		}
		calls = slices.DeleteFunc(calls, func(c fork) bool {
			l := numbered[c.thread]
			return l != nil && c.thread != trace.Undefined && !l.Created && h.setCreator(l, c)
		})
		list = slices.DeleteFunc(list[1:], func(l *Location) bool { return l.Created })
		for i, l := range list {
			if i < len(calls) {
				h.setCreator(l, calls[i])
			}
		}
	}
}

// setCreator stores that a call has created a thread, and reports whether this is possible. A thread begins after its
// creation has begun. Therefore no thread creates itself, not even indirectly.
func (h *History) setCreator(l *Location, c fork) bool {
	if c.time >= l.First || c.place.Location == l.number {
		return false
	}
	l.Created, l.Creator = true, c.place
	h.recordUse(l.Creator, l.begun)
	return true
}

// recordUse stores that a call depends on call p. position is the position of the dependent call among all
// calls.
func (h *History) recordUse(p waitstate.Place, position int64) {
	x := h.Locations[p.Location].page(p.Number)
	x.lastUse = max(x.lastUse, position)
}

// group returns the location group of a location. ok is false if the location belongs to no group.
func (h *History) group(loc uint32) (group uint32, ok bool) {
	d := h.Log.Defs
	if !d.Locations.Has(loc) || !d.Groups.Has(d.Locations.At(loc).Group) {
		return 0, false
	}
	return d.Locations.At(loc).Group, true
}

// addSource adds a call on which the end of call p depends.
func (h *History) addSource(p waitstate.Place, s Source) {
	kind := byte(attachedSource)
	if s.Released {
		kind = attachedRelease
	}
	if s.Lock {
		kind = attachedLock
	}
	if s.Partial {
		kind = attachedPartial
	}
	h.attach(p, kind, int64(s.Place.Location), int64(s.Place.Number), s.Time-h.baseTime(p))
	h.recordUse(s.Place, h.position)
}

// baseTime returns the time to which the packed times in a call's page are relative, in ticks.
func (h *History) baseTime(p waitstate.Place) int64 {
	return h.Locations[p.Location].page(p.Number).chunk.Since
}

// wait adds a wait.
func (h *History) wait(w *waitstate.Wait) {
	if _, part := w.Pattern.PartOf(); part || !w.Pattern.Waits() {
		return
	}
	h.attach(w.Place, attachedWait, int64(w.Pattern), w.Begin-h.baseTime(w.Place), w.Length, int64(w.Cause.Location),
		int64(w.Cause.Number), w.CauseTime-(w.Begin+w.Length))
	for _, s := range w.Busy {
		h.attach(w.Place, attachedBusy, s.Begin-w.Begin, s.End-s.Begin)
	}
	// The time of an EarlyReduce wait is counted once: hooks report it a second time with the pattern Reduction.
	switch w.Pattern {
	case waitstate.EarlyReduce:
	case waitstate.Partial:
		*h.partial.At(w.Path, w.Place.Location) += w.Length
	default:
		*h.waited.At(w.Path, w.Place.Location) += w.Length
	}
	if w.Pattern == waitstate.LateReceiver || w.Pattern == waitstate.Device {
		a, b := h.At(w.Cause), h.At(w.Place)
		h.addMeeting(w.Cause, w.Place, a.Enter, a.Leave, b.Enter, b.Leave)
	}
}

// addMessage adds a message.
func (h *History) addMessage(m *waitstate.Message) {
	h.addSource(m.Recv, Source{Place: m.Send, Time: m.SendEnter})
	h.addMeeting(m.Send, m.Recv, m.SendEnter, m.SendLeave, m.RecvEnter, m.RecvLeave)
}

// recordOperation adds an operation if its members depend on each other, and attaches it to the calls of the members.
func (h *History) recordOperation(o *waitstate.Operation) {
	if o.Relation == waitstate.Independent {
		return
	}
	last := waitstate.LastToArrive(o.Members)
	x := Operation{Relation: o.Relation, Root: trace.NoRef, Members: make([]waitstate.Place, len(o.Members)),
		Last: last.ArrivalPlace, LastEnter: last.Arrival}
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
		h.recordUse(m.ArrivalPlace, h.position)
		h.attach(m.Place, attachedOperation, int64(h.operations.count))
		if a := m.Awaited; a != nil {
			h.addSource(m.Place, Source{Place: a.ArrivalPlace, Time: a.Arrival, Partial: true})
		}
	}
	h.addOperation(&x)
	if o.Finalize && (h.Finalize == nil || x.LastEnter > h.Finalize.LastEnter) {
		h.Finalize = &x
	}
}

// Count returns the number of calls, including the element after the last call.
func (l *Location) Count() int32 { return l.count }

// Call returns call n. The caller must not change it.
func (l *Location) Call(n int32) *Call {
	x := l.load(n)
	return &x.list[n-x.first]
}

// At returns the call at a place. The caller must not change it.
func (h *History) At(p waitstate.Place) *Call { return h.Locations[p.Location].Call(p.Number) }

// Waits returns the waits of call n, including those of the patterns waitstate.Reduction and waitstate.Partial. The
// caller must not change them.
func (l *Location) Waits(n int32) []Wait {
	x := l.load(n)
	i := int(x.list[n-x.first].waits) - 1
	if i < 0 {
		return nil
	}
	to := i + 1
	for to < len(x.waits) && x.waits[to].Place.Number == n {
		to++
	}
	return x.waits[i:to]
}

// EachSource calls f with each source on which the end of call n depends.
func (l *Location) EachSource(n int32, f func(s *Source)) {
	x := l.load(n)
	i := int(x.list[n-x.first].source) - 1
	for ; i >= 0 && i < len(x.sources) && x.sources[i].call == n; i++ {
		f(&x.sources[i].Source)
	}
}

// EachOperation calls f with the number of each operation that call n completes.
func (l *Location) EachOperation(n int32, f func(operation int32)) {
	x := l.load(n)
	i := int(x.list[n-x.first].operation) - 1
	for ; i >= 0 && i < len(x.operations) && x.operations[i].call == n; i++ {
		f(x.operations[i].operation)
	}
}

// Before returns the exclusive times between the end of call n-1 and the begin of call n.
func (l *Location) Before(n int32) []synclog.PathTime {
	x := l.load(n)
	from := uint32(0)
	if n > x.first {
		from = x.list[n-x.first-1].inside
	}
	return x.times[from:x.list[n-x.first].before]
}

// Inside returns the exclusive times between begin and end of call n.
func (l *Location) Inside(n int32) []synclog.PathTime {
	x := l.load(n)
	c := &x.list[n-x.first]
	return x.times[c.before:c.inside]
}

// mostInside is the greatest number of calls in which FirstInside searches.
const mostInside = 16

// FirstInside returns the number of the first call that is inside of call n, or n if there is none. ok is
// false if more than 16 calls are inside of call n.
func (l *Location) FirstInside(n int32) (first int32, ok bool) {
	enter := l.Call(n).Enter
	for first = n; first > 0 && l.Call(first-1).Leave > enter; first-- {
		if n-first == mostInside {
			return n, false
		}
	}
	return first, true
}

// FirstAfter returns the number of the first call that ends after time t, or Count if there is none.
func (l *Location) FirstAfter(t int64) int32 {
	i := sort.Search(len(l.pages), func(i int) bool { return i > 0 && l.pages[i].chunk.Since > t }) - 1
	if i < 0 {
		return 0
	}
	x := l.load(l.pages[i].chunk.First)
	return x.first + int32(sort.Search(len(x.list), func(i int) bool { return x.list[i].Leave > t }))
}
