package synclog

import (
	"slices"

	"github.com/weft-trace/weft/internal/chunks"
	"github.com/weft-trace/weft/internal/openset"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/transform"
)

// worker is the sink of one worker of a scan. It packs calls.
type worker struct {
	defs  *trace.Definitions
	rows  *trace.Rows
	times bool
	// resting is the value of Options.Rests.
	resting bool
	part    bool // the value of Options.Part
	// launches is the value of [Log.Launches].
	launches bool
	chunk    int    // size of a chunk in bytes
	later    []bool // indexed by location: whether it is a thread that is not the first one of its process
	store    *chunks.Store
	lanes    []*lane // indexed by location
	nodes    []node  // the call paths of the worker's locations
	index    map[node]int32
	places   []uint32 // indexed by node: index into Log.Paths; set by joinPaths
	// indexed by node plus 1: the index in lane.passed at which the time of the node was last added
	passedAt []int32
	kinds    []regionKind   // indexed by region
	silences []silentVisits // indexed by region; may be shorter than kinds
	window   *trace.Window
	scratch  []uint32 // rows of the regions in a batch; reused for each batch
	// free holds openCalls for reuse.
	free  []*openCall
	flows map[flow]*ends // the ends of messages; nil without a window
	// ends is the attribute of events that end visits and teams only because the piece of a trace ends, or trace.NoRef.
	ends uint32
	// entered and sleeping are the attributes transform.EnteredAttribute and transform.AsleepAttribute, or trace.NoRef.
	entered, sleeping uint32
	// unordered is set if a lock was released with an order that differs from the order of its acquisition, or
	// acquired again with another order before its release.
	unordered bool
	// batch is the batch that the worker processes, and row is the current row of the batch. attribute is the
	// index of the first attribute that may belong to this row.
	batch          *trace.Batch
	row, attribute int
}

// node is a call path of a worker: a region below the node that is its parent. The parent of an
// outermost region is the constant outermost or, at threads that are not the first one of their
// process, outermostThread.
type node struct {
	parent int32
	region uint32
}

// The parents of outermost regions, for first threads of processes and for all other threads.
const (
	outermost       = -1
	outermostThread = -2
)

// regionKind holds the properties of a region that determine how its visits are logged.
type regionKind struct {
	known bool
	role  trace.Role
	call  bool // visits of the region are calls of the log
	// waits is set for calls that may wait for other locations, and in which recorders write events.
	waits bool
	kept  bool // visits are logged even if they have no points
	// enqueues is set for calls that launch work on a device, or transfer data to or from it.
	enqueues bool
	awaits   bool // the call transfers data to or from a device, and waits for the end of the transfer
	lock     lockCall

	init, finalize bool // the region initialises or finalises MPI
	task           bool // visits show which task of OpenMP is executed
	synchronous    bool // sends in visits of the region complete only after the receive is posted
	window         WindowCall
}

// lane holds the calls of a location. Times are in ticks.
type lane struct {
	loc    uint32
	stream bool // the regions of the location are the work of a device
	// worked is set as soon as the stream has had work. idleSince is the end of the latest work. idle is the
	// path of the region that stands for the idle time since then, or -1. waited is the time from the begin of
	// the trace to the first event.
	worked        bool
	idleSince     int64
	transfer      *openCall // the open transfer of a stream outside of all regions
	idle          int32
	waited        int64
	resumed       bool // the implicit task continues, and no region has begun since then
	asleep        bool // the thread has left a team in which another thread let it work, and has begun nothing since then
	slept         bool // the thread has been asleep at the begin of the piece of the trace
	awoke         bool // the thread has begun to work after that
	stays         bool // the thread is in a barrier until it or the piece of the trace ends
	resting       bool // the thread has nothing to do since restSince; set only with Options.Rests
	restSince     int64
	rests         []trace.Window // the earlier times without anything to do
	root          int32
	worker        *worker
	thread        uint64 // see Log.Thread
	first, latest int64  // times of the first and last event, valid if any is set
	any           bool
	stack         []frame
	open          openset.Index[uint32] // finds regions in stack
	last          child
	calls         []*openCall                           // open calls; the innermost call is the last one
	collectives   openset.Stack[uint64, openCollective] // open collective operations by matching number
	operation     operation                             // the open operation outside of all calls
	unended       map[int32]int64                       // by node; see Log.EachUnended
	windowBegins  []int64                               // begins of open operations of windows, innermost last
	teams         []teamVisit                           // open visits of teams; the innermost visit is the last one
	// visits, sequences and regions hold the counts that Log.Teams, Log.Sequences and Log.Visits
	// return.
	visits    map[uint64]uint64
	sequences map[Sequence]int64
	regions   map[uint32]int64
	// barriers counts the barriers whose team is unknown, by [worker.threadBarrier].
	barriers map[uint64]int64
	held     map[[2]uint64]heldLock // the locks with orders that the location currently has, by lock and model
	// requests holds the posting times of the incomplete non-blocking operations and messages, by request. It is
	// nil without a window.
	requests map[uint64]int64
	// the location has points of one-sided communication with locations other than the members of its
	// collective operations
	accesses     bool
	openAccesses map[[2]uint64]openAccess // by window and number of the access
	changed      int64                    // time of the last enter or leave of a region
	end          int64                    // end of the last packed call
	packed       int32                    // number of packed calls
	buf          []byte
	next         Chunk // description of the chunk that buf becomes
	chunks       []Chunk
	sums         []int64       // exclusive times of the packed calls, by node plus 1; set only with Options.Times
	operations   []int64       // the part of sums in collective operations outside of calls; may be shorter
	pending      int64         // see Log.PendingTime
	passed       []nodeTime    // exclusive times since the end of the last packed call
	since        int64         // time up to which passed is complete
	forks        []openFork    // open parallel constructs and visits of teams; the innermost one is the last
	delayed      []delayedCall // calls that are packed when the path of the following parallel region is known
}

// openFork is a parallel construct that the location has begun, or a team in which it works. The location
// enters the parallel region after the begin of the construct, and leaves the region before the end of the
// construct. The times between these events count as time in the region. A thread that another thread started
// has no work outside of the region.
type openFork struct {
	depth   int   // length of the stack at the begin
	node    int32 // path of the region, or the constant pendingRegion, or -1 if it is unknown
	started bool  // another thread started this thread
	entered bool  // the location has entered the region before the piece of the trace
}

// Constants for calls whose parallel region is not known yet.
const (
	// pendingRegion stands for the node of a parallel region in the tree of call paths. It is used for times between
	// the begin of a parallel construct and the enter of its region. When the region is entered, its node
	// replaces pendingRegion.
	pendingRegion = -2
	// mostDelayed is the greatest number of calls that wait for the path of a parallel region.
	mostDelayed = 64
)

// delayedCall is a call that cannot be packed yet.
type delayedCall struct {
	node           int32
	enter, leave   int64
	flags          byte
	team           teamVisit
	busy           []Span
	points         int
	packed         []byte
	before, inside []nodeTime
}

// nodeTime is an exclusive time of a node, in ticks. The node is -1 outside of all regions.
type nodeTime struct {
	node int32
	time int64
}

// child caches the node that was entered last, and its index.
type child struct {
	node
	index int32
}

// frame is an open visit of a region.
type frame struct {
	node  int32
	enter int64
	call  *openCall // nil if the log does not contain the visits of the region
	// resumed is set if the visit only shows that the implicit task continues; its time belongs to the region around it.
	resumed bool
}

// openCall is an open visit of a region whose visits are in the log.
type openCall struct {
	node   int32
	enter  int64
	kind   regionKind
	points int
	packed []byte
	// outside is set if the call is not a visit, but a collective operation outside of all calls.
	outside bool
	begun   int // number of collective operations that have begun in the call and not ended
	// unended is set if the call goes on after the end of the trace, or of the piece of a trace.
	unended bool
	before  int // number of elements of lane.passed that belong to the time before the call

	// ownEnd is the end of the latest time in which the call was the innermost open region. For a barrier, busy holds the
	// times in other regions until ownEnd.
	ownEnd     int64
	busy       []Span
	held       []heldPoint
	locks      bool   // events in the call record the acquisition or release of a lock
	object     uint64 // the lock, condition or barrier of the call, if identified is set
	identified bool
	// mutex is the mutex that the call releases while it waits for a condition, if conditional is set.
	mutex       uint64
	conditional bool
}

// teamVisit is an open visit of a team of threads, with the number of its barriers so far.
type teamVisit struct{ communicator, visit, barriers uint64 }

func newWorker(log *Log, opt Options, later []bool) *worker {
	locations := max(log.Defs.Locations.Len(), 1)
	w := &worker{defs: log.Defs, rows: opt.Rows, times: opt.Times, resting: opt.Rests, part: opt.Part, window: opt.Window,
		launches: log.Launches, later: later, store: log.store, index: map[node]int32{},
		ends: attribute(log.Defs, transform.EndsAttribute), entered: attribute(log.Defs, transform.EnteredAttribute),
		sleeping: attribute(log.Defs, transform.AsleepAttribute),
		chunk:    min(max(memory/locations, 512), 16<<10)}
	if opt.Times {
		w.chunk = min(max(timesMemory/locations, 512), 4<<10)
	}
	if opt.ChunkSize > 0 {
		w.chunk = opt.ChunkSize
	}
	if opt.bounded() {
		w.flows = map[flow]*ends{}
	}
	return w
}

// Links ignores links.
func (w *worker) Links([]trace.Link) error { return nil }

// kind returns the properties of a region. It determines them when they are first needed.
func (w *worker) kind(region uint32) *regionKind {
	if int64(region) >= int64(len(w.kinds)) {
		if !w.defs.Regions.Has(region) {
			return &regionKind{}
		}
		w.kinds = append(w.kinds, make([]regionKind, w.defs.Regions.Len()-len(w.kinds))...)
	}
	k := &w.kinds[region]
	if !k.known {
		*k = kindOf(w.defs, region)
	}
	return k
}

// kindOf computes the properties of a region.
func kindOf(d *trace.Definitions, region uint32) regionKind {
	k := regionKind{known: true, role: d.RoleOf(region)}
	switch r := k.role; {
	case r >= trace.SendRole && r <= trace.CommunicationRole, r == trace.LockRole, r == trace.ConditionRole,
		r == trace.ThreadRole, r == trace.WaitingRole, r == trace.TaskWaitRole, r == trace.DeviceSyncRole:
		k.call = true
	}
	name := d.MPICall(region)
	k.init, k.finalize = name == "init" || name == "init_thread", name == "finalize"
	k.synchronous = name == "ssend" || name == "issend"
	k.waits = mayWait(k.role, name) || k.role == trace.WaitingRole && d.Communicates(region)
	if k.lock = lockCallOf(d, region, k.role); k.lock != noLockCall {
		k.call = true
	}
	k.waits = k.waits || awaitsLock(d, region, k.role, k.lock)
	k.window = windowCalls[name]
	k.task = d.IsTask(region)
	k.kept = k.window != noWindowCall || k.role == trace.BarrierRole || k.role == trace.ImplicitBarrierRole || k.init ||
		k.finalize || k.role == trace.DeviceSyncRole || k.lock == creates
	k.enqueues = k.role == trace.LaunchRole || k.role == trace.TransferRole
	k.awaits = k.role == trace.TransferRole && awaitsTransfer(d.Regions.At(region).Name)
	k.call = k.call || k.awaits
	return k
}

// HasCalls reports whether a trace defines regions whose visits are logged as calls, or calls that launch work on
// devices.
func HasCalls(d *trace.Definitions) bool {
	for i := range d.Regions.Len() {
		if k := kindOf(d, uint32(i)); k.call || k.kept || k.enqueues {
			return true
		}
	}
	return false
}

// BeginsOrEndsMPI reports whether a region is a call that initialises or finalises MPI.
func BeginsOrEndsMPI(d *trace.Definitions, region uint32) bool {
	k := kindOf(d, region)
	return k.init || k.finalize
}

// lane returns the calls of a location. It creates an empty list if needed.
func (w *worker) lane(loc uint32) *lane {
	for int64(loc) >= int64(len(w.lanes)) {
		w.lanes = append(w.lanes, make([]*lane, max(1, w.defs.Locations.Len()-len(w.lanes)))...)
	}
	l := w.lanes[loc]
	if l == nil {
		l = &lane{loc: loc, root: outermost, thread: trace.Undefined, worker: w, visits: map[uint64]uint64{},
			sequences: map[Sequence]int64{}, regions: map[uint32]int64{}}
		if w.flows != nil {
			l.requests = map[uint64]int64{}
		}
		l.idle = -1
		l.stream = w.defs.IsStream(loc)
		if int64(loc) < int64(len(w.later)) && w.later[loc] {
			l.root = outermostThread
		}
		w.lanes[loc] = l
	}
	return l
}

// Batch packs the calls that end in a batch of events.
func (w *worker) Batch(b *trace.Batch) error {
	if b.Len() == 0 {
		return nil
	}
	refs := w.rows.Map(&w.scratch, b.Ref)
	w.batch, w.attribute = b, 0
	var l *lane
	op := 0
	for i, k := range b.Kind {
		if l == nil || b.Loc == trace.MixedLoc {
			l = w.lane(b.Location(i))
		}
		t := b.Time[i]
		if l.operation.whole && t >= l.operation.end {
			if err := w.endWhole(l, t); err != nil {
				return err
			}
		}
		if !l.any {
			l.any, l.first, l.latest, l.since = true, t, t, t
			l.rest(t)
		}
		switch k {
		case trace.Enter:
			l.latest = max(l.latest, t)
			w.row = i
			if err := w.enter(l, t, refs[i]); err != nil {
				return err
			}
			continue
		case trace.Leave:
			l.latest = max(l.latest, t)
			w.row = i
			if err := w.leave(l, t, refs[i]); err != nil {
				return err
			}
			continue
		}
		if k.IsEvent() {
			l.latest = max(l.latest, t)
		}
		if k < trace.Send || k > trace.RMACompleteRemote {
			continue
		}
		w.row = i
		for op < len(b.OpRow) && b.OpRow[op] < uint32(i) {
			op++
		}
		var ops []uint64
		if op < len(b.OpRow) && b.OpRow[op] == uint32(i) {
			from := uint32(0)
			if op > 0 {
				from = b.OpEnd[op-1]
			}
			ops = b.Op[from:b.OpEnd[op]]
		}
		var err error
		if k <= trace.LockRelease {
			err = w.point(l, t, k, ops)
		} else {
			err = w.windowPoint(l, t, k, b.Ref[i], ops)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// addTime adds the time since the previous event to the innermost open region.
func (l *lane) addTime(t int64) {
	d := t - l.since
	if d <= 0 {
		return
	}
	l.since = t
	node := l.innermost()
	from := 0 // index of the first time that belongs to the innermost open call
	if k := len(l.calls); k > 0 {
		from = l.calls[k-1].before
	}
	if n := len(l.forks); n > 0 && len(l.stack) == l.forks[n-1].depth && l.forks[n-1].node != -1 {
		if f := &l.forks[n-1]; !f.started || f.node == pendingRegion {
			node = f.node
		}
	}
	if l.asleep {
		node = -1
	}
	if node != pendingRegion {
		w := l.worker
		for int(node)+1 >= len(w.passedAt) {
			w.passedAt = append(w.passedAt, 0)
		}
		at := &w.passedAt[node+1]
		if i := int(*at); i >= from && i < len(l.passed) && l.passed[i].node == node {
			l.passed[i].time += d
			return
		}
		*at = int32(len(l.passed))
	}
	l.passed = append(l.passed, nodeTime{node, d})
}

// innermost returns the node of the innermost open region, or -1 if none is open.
func (l *lane) innermost() int32 {
	if f := l.top(); f != nil {
		return f.node
	}
	return -1
}

// enter begins a visit of a region.
func (w *worker) enter(l *lane, t int64, region uint32) error {
	if w.times {
		l.addTime(t)
	}
	l.passOwn(t)
	l.endRest(t)
	if l.asleep = w.sleeping != trace.NoRef && w.hasAttribute(w.sleeping); l.asleep {
		l.rest(t)
	}
	l.slept, l.awoke = l.slept || l.asleep, l.awoke || !l.asleep
	n := node{l.root, region}
	if top := l.top(); top != nil {
		n.parent = top.node
	}
	if l.last.node != n || l.last.index == 0 {
		i, ok := w.index[n]
		if !ok {
			w.nodes = append(w.nodes, n)
			i = int32(len(w.nodes))
			w.index[n] = i
		}
		l.last = child{n, i}
	}
	f := frame{node: l.last.index - 1, enter: t}
	if l.resumed {
		f.resumed, l.resumed = w.kind(region).task, false
	}
	for n := len(l.forks) - 1; n >= 0 && len(l.stack) == l.forks[n].depth && l.forks[n].node == pendingRegion &&
		w.kind(region).role == trace.ForkRole; n-- {
		l.forks[n].node = f.node
		if err := w.setAhead(l, f.node); err != nil {
			return err
		}
	}
	k := w.kind(region)
	if n := len(l.calls); n > 0 && k.role == trace.DeviceSyncRole {
		l.calls[n-1].kind.awaits = false // the inner call waits
	}
	if w.isCall(l, k) {
		if err := w.endWhole(l, t); err != nil {
			return err
		}
		if k.lock == releases {
			if err := w.beginLock(l, t, k.role); err != nil {
				return err
			}
		}
		mutex, conditional := uint64(0), false
		if k.lock == shares && k.role == trace.ConditionRole {
			var err error
			if mutex, conditional, err = w.beginCondition(l, t); err != nil {
				return err
			}
		}
		if err := w.endTransfer(l, t); err != nil {
			return err
		}
		if l.stream && w.launches && len(l.stack) == 0 {
			if err := w.endIdle(l, t, k.role); err != nil {
				return err
			}
		}
		f.call = w.begin(l, f.node, t, *k)
		f.call.mutex, f.call.conditional = mutex, conditional
		switch {
		case k.lock == acquires || k.lock == shares || k.lock == reads || k.role == trace.BarrierRole:
			f.call.object, f.call.identified = w.objectOf(k.role)
		case (k.enqueues || k.role == trace.DeviceSyncRole) && !l.stream:
			if stream, ok := w.streamNamed(); ok {
				f.call.points++
				f.call.packed = appendPoint(f.call.packed, Stream, 0, []uint64{stream})
			}
		}
	}
	if l.stream && len(l.stack) == 0 && w.kind(region).role == trace.WaitingRole {
		l.idle = f.node
	}
	l.open.Open(region, len(l.stack))
	l.stack = append(l.stack, f)
	return nil
}

// begin opens a call.
func (w *worker) begin(l *lane, node int32, t int64, k regionKind) *openCall {
	var c *openCall
	if n := len(w.free); n > 0 {
		c, w.free = w.free[n-1], w.free[:n-1]
		*c = openCall{packed: c.packed[:0], held: c.held[:0], busy: c.busy[:0]}
	} else {
		c = &openCall{}
	}
	c.node, c.enter, c.ownEnd, c.kind, c.before = node, t, t, k, len(l.passed)
	l.calls = append(l.calls, c)
	return c
}

// leave ends a visit of a region.
func (w *worker) leave(l *lane, t int64, region uint32) error {
	i := len(l.stack) - 1
	if i < 0 || w.nodes[l.stack[i].node].region != region {
		i = l.open.Find(region, len(l.stack), func(i int) uint32 { return w.nodes[l.stack[i].node].region })
	}
	if i < 0 {
		return nil // the region is not open
	}
	l.passOwn(t)
	if w.times {
		l.addTime(t)
	}
	call := l.stack[i].call
	if i == len(l.stack)-1 && !l.open.Mapped() {
		l.stack = l.stack[:i]
	} else {
		l.stack = openset.Close(&l.open, l.stack, i, region)
	}
	if len(l.stack) == 0 && len(l.forks) == 0 {
		l.rest(t)
	}
	if call == nil {
		return nil
	}
	if w.ends != trace.NoRef && w.hasAttribute(w.ends) {
		if call.unended = true; call.kind.lock != section {
			call.goesOn()
		}
	}
	return w.end(l, call, t)
}

// goesOn sets that the call goes on after the end of the trace. It does not get the lock for which it waits.
func (c *openCall) goesOn() {
	c.flushHeld(trace.Undefined)
	c.unended = true
	c.kind.waits = c.kind.waits || c.kind.lock >= acquires && c.kind.lock <= reads || c.kind.lock == joins
	c.kind.lock = noLockCall
}

// end ends a call. If the call is logged, it packs the call.
func (w *worker) end(l *lane, c *openCall, t int64) error {
	if top := len(l.calls) - 1; l.calls[top] == c {
		l.calls = l.calls[:top]
	} else {
		i := slices.Index(l.calls, c)
		l.calls = slices.Delete(l.calls, i, i+1)
	}
	w.free = append(w.free, c)
	l.stays = l.stays || c.unended && IsBarrier(c.kind.role)
	w.countSilent(l, c, t)
	w.endLock(l, c, t)
	if c.kind.awaits && !l.stream {
		c.points++
		c.packed = appendPoint(c.packed, Awaits, 0, nil)
	}
	if c.points == 0 && (c.outside || !c.kind.kept && !c.kind.enqueues && !l.stream) {
		return nil
	}
	barrier := IsBarrier(c.kind.role)
	if c.kind.kept && (c.points == 0 || !barrier) {
		l.regions[w.nodes[c.node].region]++
	}
	if barrier && c.points == 0 && (c.identified || !l.inKnownTeam()) {
		if id, ok := w.threadBarrier(l, c); ok {
			if l.barriers == nil {
				l.barriers = map[uint64]int64{}
			}
			l.barriers[id]++
			return w.packBarrier(l, c, t, unteamed, &teamVisit{communicator: id, barriers: 1})
		}
	}
	if c.points > 0 || !barrier || len(l.teams) == 0 {
		flags := byte(0)
		switch {
		case c.outside:
			flags = isPoint | bounded
		case l.stream:
			flags, l.idleSince = device, t
		}
		return w.pack(l, delayedCall{node: c.node, enter: c.enter, leave: t, flags: flags, points: c.points,
			packed: c.packed}, c.before)
	}
	team := &l.teams[len(l.teams)-1]
	team.barriers++
	return w.packBarrier(l, c, t, inTeam, team)
}

// finish ends the open calls of all locations, and stores their packed calls.
func (w *worker) finish() error {
	for _, l := range w.lanes {
		if l == nil {
			continue
		}
		if err := w.endWhole(l, l.latest); err != nil {
			return err
		}
		if w.times {
			l.addTime(l.latest)
		}
		for len(l.forks) > 0 {
			if err := w.endFork(l); err != nil {
				return err
			}
		}
		l.passOwn(l.latest)
		l.endRest(l.latest)
		for len(l.calls) > 0 {
			c := l.calls[len(l.calls)-1]
			c.goesOn()
			if w.part && c == l.operation.call {
				l.addOperation(l.passed[c.before:])
			}
			if err := w.end(l, c, l.latest); err != nil {
				return err
			}
		}
		if w.times {
			end := delayedCall{node: -1, enter: l.latest, leave: l.latest, flags: last}
			if err := w.pack(l, end, len(l.passed)); err != nil {
				return err
			}
		}
		if err := w.flush(l); err != nil {
			return err
		}
		l.stack, l.passed, l.buf = nil, nil, nil
	}
	return nil
}
