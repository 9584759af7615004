// Package synclog extracts from a trace the calls in which locations synchronise: they send or
// receive messages, take part in collective operations or barriers, or acquire locks. Analyses that
// follow causes from one location to another are based on it.
//
// A [Call] is a visit of a region whose role is communication or synchronisation, with its
// synchronisation points: the events in it for which other locations can wait, or which can wait
// for others. A point outside of such a region forms a call of its own that takes no time.
//
// [Read] scans a trace by location on all cores, and packs each call into 10 to 40 bytes.
// [Log.Scan] delivers the calls in the order of their ends. A log holds 32 MiB of packed calls in
// memory and more in a temporary file. It also uses 120 bytes per call path and 16 KiB per
// location.
package synclog

import (
	"context"
	"math"
	"slices"
	"sync"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/chunks"
	"github.com/weft-trace/weft/trace"
)

// Kind is the kind of a [Point].
type Kind uint8

// These are the values of Kind. The comments name kinds of events in package trace. A point has the operands
// of such an event, with one exception.
const (
	Send           Kind = iota // trace.Send
	SendPost                   // trace.SendBegin
	SendDone                   // trace.SendComplete
	RecvPost                   // trace.RecvBegin
	Recv                       // trace.Recv
	RecvDone                   // trace.RecvComplete
	Cancelled                  // trace.RequestCancelled
	CollectivePost             // trace.CollectiveRequest
	CollectiveDone             // trace.CollectiveComplete
	Collective                 // trace.CollectiveEnd
	Acquire                    // trace.LockAcquire
	Release                    // trace.LockRelease
	Fork                       // trace.ThreadFork
	Join                       // trace.ThreadJoin
	TeamBegin                  // trace.ThreadTeamBegin
	TeamEnd                    // trace.ThreadTeamEnd
	Create                     // trace.ThreadCreate; Ops[0] is the number of the thread, as Log.Thread returns it
	// The following kinds belong to one-sided communication. Ops[0] is the window.
	WindowCollective // trace.RMACollectiveEnd; Ops are window, operation, root, and bytes sent and received
	WindowGroup      // trace.RMAGroupSync; Ops[1] is the group, an index into Definitions.Sets
	WindowRequest    // trace.RMALockRequest; Ops are window, remote location, lock and type
	WindowAcquire    // trace.RMALockAcquire; Ops like those of WindowRequest
	WindowRelease    // trace.RMALockRelease; Ops are window, remote location and lock
	WindowAccess     // trace.RMAPut, trace.RMAGet and trace.RMAAtomic; Ops[1] is the remote location
	// the completion of an access of another call, such as trace.RMACompleteRemote in MPI_Win_flush; Ops[1] is the
	// remote location
	WindowDone
	WindowChange // trace.RMAWaitChange
	// The following kinds belong to devices. Their points come from visits of regions.
	Stream // an attribute of the call names a stream of a device; Ops[0] is its location
	Work   // in a call with Idle set: Ops[0] is the [trace.Role] of the work that follows
	Awaits // the call transfers data to or from a device, and waits for the end of the transfer
)

// MaxOperands is the greatest number of operands of a point.
const MaxOperands = 6

// Point is an event for which other locations can wait, or which can wait for events of other locations.
type Point struct {
	Kind Kind
	Time int64
	Ops  [MaxOperands]uint64 // trace.Undefined in place of operands that the event does not have
}

// Team identifies a barrier of a team of threads: barrier number Barrier of a location during visit
// number Visit of the team.
type Team struct {
	Communicator, Visit, Barrier uint64
}

// Call is a visit of a region in which a location synchronises. Times are in ticks.
type Call struct {
	Location     uint32
	Path         uint32 // index into Log.Paths, or NoPath outside of all regions
	Region       uint32 // the region's row, or trace.NoRef outside of all regions
	Role         trace.Role
	Enter, Leave int64
	// IsPoint is set if the call stands for a point outside of all regions whose role is communication or
	// synchronisation. In that case, Enter and Leave are the time of its event, or the begin and the end of a
	// collective operation. Path is the path of the innermost open region.
	IsPoint bool
	Bounded bool // the call is a collective operation outside of calls, whose begin and end are known
	InTeam  bool // the call is a barrier of Team
	Device  bool // the call is not a visit, but the work of a device
	// Idle is set if the call is not a visit, but the time from the end of a device stream's work to its next
	// work. For the first work, this time begins with the begin of the trace. Idle is used only if
	// Log.Launches is set.
	Idle bool
	// Unteamed is set for a barrier of threads whose team the trace does not record. In this case,
	// Team.Communicator identifies the barrier. A location that visits the barrier several times ends each
	// visit before the next one.
	Unteamed bool
	Creates  bool // the call creates a thread
	// Init and Finalize are set if the call initialises or finalises MPI.
	Init, Finalize bool
	// Synchronous is set if a send in the call completes only after its receive is posted.
	Synchronous bool
	// Window is the effect of a call of MPI on a window for one-sided communication.
	Window WindowCall
	Team   Team
	// Busy holds the times that a location spends in other regions during a barrier of threads, such as tasks, which do
	// not wait for anything. They are in the order of time.
	Busy   []Span
	Points []Point // in the order of time
	// Before and Inside hold the exclusive times of paths since the end of the location's previous call.
	// Before holds the times up to Enter, and Inside the times from Enter to Leave. Both are set only by
	// [Log.ReadChunk], with Options.Times. If the previous call is inside of this call and thus ended after
	// Enter, all times are in Inside. Last is set for the last element of a location, which is not a call:
	// its Before holds the times after the last call.
	Before, Inside []PathTime
	Last           bool
}

// Span is a time from Begin to End, in ticks.
type Span struct{ Begin, End int64 }

// PathTime is an exclusive time of a path, in ticks. Path is NoPath for time outside of all
// regions.
type PathTime struct {
	Path uint32
	Time int64
}

// NoPath is the path of times and calls outside of all regions.
const NoPath = ^uint32(0)

// Path is a call path: a region below the path that is its parent.
type Path struct {
	Parent uint32 // index into Log.Paths, less than the index of the path itself; or NoPath
	Region uint32 // the row of the region
}

// Options are the settings of [Read].
type Options struct {
	// Rows maps regions to rows; all regions of a row count as one. If it is nil, each region counts
	// separately.
	Rows *trace.Rows
	// Times requests the exclusive times of paths between and inside of calls. These times take about 4 bytes
	// for each path of each call.
	Times bool
	// ChunkSize is the number of packed bytes after which a chunk ends. 0 stands for a size that depends
	// on the number of locations.
	ChunkSize int
	// Window limits the log to the calls that determine the waits in the window: the calls up to the end of
	// the window, and the later calls on which the waits depend. Nil means the whole trace.
	Window *trace.Window
	// Part is set if the events are those of a part of a trace. A collective operation outside of calls that has no end
	// there lasts until the end of the part, in [Log.OperationTimes].
	Part bool
	// Rests requests [Log.Rests].
	Rests bool
}

// bounded reports whether there is a window that ends before the trace may end.
func (o *Options) bounded() bool { return o.Window != nil && o.Window.To < math.MaxInt64 }

// Log holds the calls of a trace. Close frees its memory and removes its temporary file.
type Log struct {
	Defs  *trace.Definitions
	Paths []Path
	// First and Last are the times of the first and last event of the trace, in ticks. Without
	// events First is greater than Last.
	First, Last int64
	// Unordered is set if a location releases a lock with an order that differs from the order of its
	// acquisition, or acquires it again with another order before it has released it. In this case, the orders
	// of acquisition have no meaning.
	Unordered bool
	// Launches is set if the trace has streams of devices, and regions that launch work on these streams. In
	// this case, visits of these regions, transfers to and from devices, and the idle times of streams also
	// count as calls.
	Launches bool
	// Silent lists regions for which the recorder writes no events, in the order of names. A location may wait
	// for others in visits of these regions, but no event shows for which.
	Silent []SilentRegion
	// Unended is the number of blocking collective operations that begin and do not end.
	Unended int64

	lanes []*lane
	times bool
	roles []regionRole // indexed by region; set for the regions of Paths
	// depths holds the depth of each path. For each path deeper than mostNames/2 - 1, upper holds the ancestor
	// at that depth. The method depth computes both lists when they are first needed.
	depths []int32
	upper  []uint32
	store  *chunks.Store

	chunkReader reader // used by ReadChunk
}

// Sequence identifies the collective operations of a communicator: the blocking operations or, if Posted is
// set, the non-blocking operations. If Windows is set, the operations belong to the window with the index
// Communicator.
type Sequence struct {
	Communicator uint64
	Posted       bool
	Windows      bool
}

// memory is the number of bytes of packed calls that a log keeps in memory. timesMemory is this number if
// Options.Times is set.
const (
	memory      = 32 << 20
	timesMemory = 8 << 20
)

// Close frees the packed calls. Scan, Chunks and ReadChunk must not be used
// afterwards.
func (l *Log) Close() {
	l.store.Close()
	for _, x := range l.lanes {
		x.chunks, x.worker = nil, nil
	}
}

// Read returns the log of a trace. The error comes from the scan, or from the temporary file.
func Read(ctx context.Context, events format.Events, opt Options) (*Log, error) {
	l := &Log{Defs: events.Defs(), times: opt.Times, store: chunks.New(memory)}
	l.Launches = launches(l.Defs)
	if opt.Times {
		l.store = chunks.New(timesMemory)
	}
	sel := trace.Everything()
	sel.Links = trace.NoLinks
	later := l.Defs.LaterThreads()
	var mu sync.Mutex
	var workers []*worker
	scan := func(sel trace.Selection) error {
		return events.ScanParallel(ctx, sel, func() func(int) format.Sink {
			workers = nil
			l.store.Clear()
			return func(int) format.Sink {
				w := newWorker(l, opt, later)
				mu.Lock()
				defer mu.Unlock()
				workers = append(workers, w)
				return w
			}
		})
	}
	var err error
	if opt.bounded() {
		var h *horizon
		read := int64(math.MaxInt64)
		err = format.ScanExtended(l.Defs, opt.Window, sel, func(sel trace.Selection) (bool, error) {
			if h != nil {
				err = events.Scan(ctx, sel, format.PerLocation, h)
			} else if err = scan(sel); err == nil && len(workers) > 0 {
				h = newHorizon(l.Defs, opt.Window.To, workers)
			}
			read = sel.To
			return err == nil && h != nil && h.reached(sel.To), err
		})
		if err == nil && h != nil && read < math.MaxInt64 {
			err = h.findLater(ctx, events, read)
		}
	} else {
		err = scan(sel)
	}
	if err == nil {
		for _, w := range workers {
			if err = w.finish(); err != nil {
				break
			}
		}
	}
	if err != nil {
		l.Close()
		return nil, err
	}
	l.join(workers)
	return l, nil
}

// join merges the packed calls of all workers.
func (l *Log) join(workers []*worker) {
	l.Paths = joinPaths(l.Defs, workers)
	l.findRoles()
	l.First, l.Last = 1, 0
	for _, w := range workers {
		l.Unordered = l.Unordered || w.unordered
		for _, x := range w.lanes {
			if x == nil {
				continue
			}
			if l.First > l.Last {
				l.First, l.Last = x.first, x.latest
			}
			l.First, l.Last = min(l.First, x.first), max(l.Last, x.latest)
			l.lanes = append(l.lanes, x)
		}
	}
	for _, x := range l.lanes {
		if x.worked {
			x.beginIdle(l)
		}
	}
	l.joinSilent(workers)
	slices.SortFunc(l.lanes, func(a, b *lane) int { return int(a.loc) - int(b.loc) })
}

// Sequences calls f, in no particular order, with the number of calls of each location in each
// sequence of collective operations.
func (l *Log) Sequences(f func(s Sequence, location uint32, calls int64)) {
	for _, x := range l.lanes {
		for s, n := range x.sequences {
			f(s, x.loc, n)
		}
	}
}

// Teams calls f, in no particular order, with the number of times that each location begins to work
// in each team.
func (l *Log) Teams(f func(communicator uint64, location uint32, visits uint64)) {
	for _, x := range l.lanes {
		for c, n := range x.visits {
			f(c, x.loc, n)
		}
	}
}

// Barriers calls f, in no particular order, with the number of visits by each location of each barrier that
// [Call.Unteamed] marks.
func (l *Log) Barriers(f func(barrier uint64, location uint32, visits int64)) {
	for _, x := range l.lanes {
		for b, n := range x.barriers {
			f(b, x.loc, n)
		}
	}
}

// Visits calls f, in no particular order, with the number of visits by each location of each region
// row that initialises or finalises MPI, or is a barrier without a point.
func (l *Log) Visits(f func(region, location uint32, visits int64)) {
	for _, x := range l.lanes {
		for r, n := range x.regions {
			f(r, x.loc, n)
		}
	}
}

// Locations returns the locations with events, in the order of the definitions.
func (l *Log) Locations() []uint32 {
	list := make([]uint32, len(l.lanes))
	for i, x := range l.lanes {
		list[i] = x.loc
	}
	return list
}

// Extent returns the times of the first and the last event of a location, in ticks. ok is false if the
// location has no events.
func (l *Log) Extent(location uint32) (first, last int64, ok bool) {
	x := l.lane(location)
	if x == nil {
		return 0, 0, false
	}
	return x.first, x.latest, true
}

// Thread returns the number that the recorder has given to the thread of a location, or trace.Undefined if the trace
// does not have it. The point of the kind Create in the call that creates the thread has the same number.
func (l *Log) Thread(location uint32) uint64 {
	x := l.lane(location)
	if x == nil {
		return trace.Undefined
	}
	return x.thread
}

// lane returns the calls of a location, or nil if the location has no events.
func (l *Log) lane(location uint32) *lane {
	i, ok := slices.BinarySearchFunc(l.lanes, location, func(x *lane, loc uint32) int { return int(x.loc) - int(loc) })
	if !ok {
		return nil
	}
	return l.lanes[i]
}

// Times calls f, in no particular order, with the exclusive time in ticks of each path at a
// location. A path can occur several times. The log must have been read with Options.Times.
func (l *Log) Times(location uint32, f func(path uint32, time int64)) {
	if x := l.lane(location); x != nil {
		x.each(x.sums, f)
	}
}

// OperationTimes calls f like [Log.Times], with the part of each time that lies in collective operations outside of
// calls.
func (l *Log) OperationTimes(location uint32, f func(path uint32, time int64)) {
	if x := l.lane(location); x != nil {
		x.each(x.operations, f)
	}
}

// PendingTime returns the time in ticks outside of all regions at a location that belongs to a parallel region: the
// piece of a trace ends after a thread begins to work in a team, and before it enters the region.
func (l *Log) PendingTime(location uint32) int64 {
	if x := l.lane(location); x != nil {
		return x.pending
	}
	return 0
}

// each calls f with the path of each node and its time. The list of times is indexed by node plus 1.
func (l *lane) each(times []int64, f func(path uint32, time int64)) {
	for node, t := range times {
		if t != 0 {
			f(l.path(node), t)
		}
	}
}

// InTeams reports whether a location works in teams of threads: in the trace, or before this piece of a trace.
func (l *Log) InTeams(location uint32) bool {
	x := l.lane(location)
	return x != nil && (len(x.visits) > 0 || x.slept)
}

// Sleeps reports whether a location is a thread that sleeps in this whole piece of a trace, after it has worked in a
// team.
func (l *Log) Sleeps(location uint32) bool {
	x := l.lane(location)
	return x != nil && x.slept && !x.awoke
}

// EndsAsleep reports whether a location is a thread that sleeps at the end of the trace, after its work in teams or in
// the barrier of a team.
func (l *Log) EndsAsleep(location uint32) bool {
	x := l.lane(location)
	return x != nil && (x.asleep || x.stays)
}

// Rests returns the times in which a location is a thread without anything to do: it sleeps between teams, or is
// outside of all regions. It returns nil for the first thread of a process, for threads that do not work in teams, and
// without Options.Rests.
func (l *Log) Rests(location uint32) []trace.Window {
	if x := l.lane(location); x != nil && l.InTeams(location) {
		return x.rests
	}
	return nil
}

// path returns 1 plus the index of the path of a node. 0 stands for the time outside of all regions.
func (l *lane) path(node int) uint32 {
	if node == 0 {
		return NoPath
	}
	return l.worker.places[node-1]
}

// mostNames is the greatest number of names that PathNames returns for a path.
const mostNames = 100

// PathNames returns the names of a path's regions, beginning with the outermost one. If there are more than
// 100 names, "…" stands for the names in the middle. regions holds the names by region row.
func (l *Log) PathNames(path uint32, regions []string) []string {
	names := []string{}
	for path < uint32(len(l.Paths)) {
		p := &l.Paths[path]
		if len(names) == mostNames/2 && l.depth(path) > mostNames/2 {
			names = append(names, "…")
			path = l.upper[path]
			p = &l.Paths[path]
		}
		name, ok := l.RegionName(path, regions)
		if !ok {
			name = "unknown"
		}
		names = append(names, name)
		path = p.Parent
	}
	slices.Reverse(names)
	return names
}

// RegionName returns the name of a path's innermost region. regions holds the names by region row. ok is false outside
// of all regions, and for a region that the trace does not define.
func (l *Log) RegionName(path uint32, regions []string) (name string, ok bool) {
	if path < uint32(len(l.Paths)) && int64(l.Paths[path].Region) < int64(len(regions)) {
		return regions[l.Paths[path].Region], true
	}
	return "", false
}

// depth returns the number of regions of a path.
func (l *Log) depth(path uint32) int32 {
	if len(l.depths) < len(l.Paths) {
		l.depths, l.upper = make([]int32, len(l.Paths)), make([]uint32, len(l.Paths))
		for i, p := range l.Paths { // a parent has a lower index than its children
			l.depths[i], l.upper[i] = 1, uint32(i)
			if p.Parent != NoPath {
				l.depths[i] = l.depths[p.Parent] + 1
				if l.depths[i] >= mostNames/2 {
					l.upper[i] = l.upper[p.Parent]
				}
			}
		}
	}
	return l.depths[path]
}
