// Package waitstate finds wait states in the calls of a log. It matches messages, collective
// operations, barriers and locks, and reports each wait with its cause. docs/analyses/waits.md has
// the definitions.
//
// An engine keeps the calls that wait for their other side in memory: about 200 bytes per pending
// message, 60 bytes per member of an incomplete collective operation, and 150 bytes per non-blocking
// operation of a location after one that is not complete. It also keeps up to 256 late messages of each
// location, with 100 bytes each, and 500 bytes per epoch of one-sided communication that is not complete.
package waitstate

import (
	"context"
	"strings"

	"github.com/weft-trace/weft/analysis/internal/matching"
	"github.com/weft-trace/weft/analysis/internal/synclog"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
)

// Pattern is a type of wait state, or of time in which an operation completes.
type Pattern uint8

// The values of Pattern. WrongOrder is a part of LateSender, WrongOrderSame and WrongOrderDifferent are
// parts of WrongOrder, EarlyFence is a part of WindowFence, and LateComplete is one of EarlyWait. A
// wait of one of these is reported under the enclosing patterns too.
const (
	LateSender Pattern = iota
	WrongOrder
	WrongOrderSame
	WrongOrderDifferent
	LateReceiver
	Barrier
	BarrierCompletion
	NxN
	NxNCompletion
	LateBroadcast
	EarlyReduce
	EarlyScan
	InitCompletion
	Finalize
	ImplicitBarrier
	ExplicitBarrier
	ThreadBarrier
	LockContention
	ThreadJoin
	WindowCreate
	WindowFree
	WindowFence
	EarlyFence
	LatePost
	EarlyWait
	LateComplete
	WindowLock
	Progress
	Device
	Launch
	Patterns // number of patterns

	// Reduction is the wait of a member of a reduction or gather for the last member to arrive, as far
	// as the operation cannot end before that. Only the results of package explain have this pattern; others
	// have EarlyReduce instead.
	Reduction = Patterns
	// Partial is the wait of a member of a reduction or gather for another one whose part it has probably passed on to
	// the root. Like Reduction, it is only for package explain.
	Partial = Patterns + 1
	// EarlyEnd is the time from the last event of a process to the end of the process that ends last. It is no wait,
	// and only the results of package explain use it.
	EarlyEnd = Patterns + 2
)

// patterns holds the names of the patterns, and for each one the pattern of which it is a part.
var patterns = [Patterns + 3]struct {
	name   string
	partOf Pattern
	part   bool
}{
	LateSender:          {name: "late-sender"},
	WrongOrder:          {name: "late-sender-wrong-order", partOf: LateSender, part: true},
	WrongOrderSame:      {name: "late-sender-wrong-order-same-source", partOf: WrongOrder, part: true},
	WrongOrderDifferent: {name: "late-sender-wrong-order-different-source", partOf: WrongOrder, part: true},
	LateReceiver:        {name: "late-receiver"},
	Barrier:             {name: "wait-at-barrier"},
	BarrierCompletion:   {name: "barrier-completion"},
	NxN:                 {name: "wait-at-nxn"},
	NxNCompletion:       {name: "nxn-completion"},
	LateBroadcast:       {name: "late-broadcast"},
	EarlyReduce:         {name: "early-reduce"},
	EarlyScan:           {name: "early-scan"},
	InitCompletion:      {name: "init-completion"},
	Finalize:            {name: "wait-at-finalize"},
	ImplicitBarrier:     {name: "wait-at-implicit-omp-barrier"},
	ExplicitBarrier:     {name: "wait-at-explicit-omp-barrier"},
	ThreadBarrier:       {name: "wait-at-thread-barrier"},
	LockContention:      {name: "lock-contention"},
	ThreadJoin:          {name: "wait-at-join"},
	WindowCreate:        {name: "wait-at-rma-create"},
	WindowFree:          {name: "wait-at-rma-free"},
	WindowFence:         {name: "wait-at-rma-fence"},
	EarlyFence:          {name: "early-rma-fence", partOf: WindowFence, part: true},
	LatePost:            {name: "late-post"},
	EarlyWait:           {name: "early-wait"},
	LateComplete:        {name: "late-complete", partOf: EarlyWait, part: true},
	WindowLock:          {name: "rma-lock-contention"},
	Progress:            {name: "wait-for-progress"},
	Device:              {name: "wait-for-device"},
	Launch:              {name: "wait-for-launch"},
	Reduction:           {name: "wait-at-reduction"},
	Partial:             {name: "wait-at-reduction"},
	EarlyEnd:            {name: "early-end"},
}

// String returns the name of a pattern.
func (p Pattern) String() string { return patterns[p].name }

// PartOf returns the pattern that includes the waits of p. ok is false if p is not a part of
// another pattern.
func (p Pattern) PartOf() (whole Pattern, ok bool) { return patterns[p].partOf, patterns[p].part }

// Waits reports whether in this pattern a location waits for another one. In the other patterns, an
// operation in which all members have arrived takes time to complete.
func (p Pattern) Waits() bool {
	return p != BarrierCompletion && p != NxNCompletion && p != InitCompletion
}

// Explains reports whether only the results of package explain have the pattern.
func (p Pattern) Explains() bool { return p >= Patterns }

// AllForAll reports whether in this pattern the members of a collective operation wait for the last one.
func (p Pattern) AllForAll() bool {
	return p == Barrier || p == NxN || p >= WindowCreate && p <= WindowFence
}

// Released reports whether a location waits in this pattern for the release of a lock during the call
// of its cause, or for the end of work.
func (p Pattern) Released() bool { return p == LockContention || p == WindowLock || p == Device }

// UnjudgedKind is a reason for which the waits of calls cannot be computed.
type UnjudgedKind uint8

// The values of UnjudgedKind.
const (
	BareReceive UnjudgedKind = iota
	UnmatchedReceive
	UnmatchedSend
	UncompletedRequest
	BareCollective
	UnmatchedCollective
	UnendedCollective
	GroupsCollective // in a communicator that connects two groups
	OtherCollective  // an operation of which it is not known which members wait
	UnknownBarrier
	IncompleteBarrier
	UnrecordedWindow
	UnmatchedWindow
	UnknownChange // of the memory of a window
	UnknownDevice
	UnknownLaunch
	UnjudgedKinds // number of reasons
)

// Place identifies a call in the log: its location, and its number, counted from 0 at the location.
type Place struct {
	Location uint32
	Number   int32
}

// Wait is a wait of at least one tick. Times are in ticks.
type Wait struct {
	Pattern Pattern
	Place   Place  // the call that waits
	Path    uint32 // path of that call
	Interval
	Cause     Place // call for which the location waits
	CauseTime int64 // begin of that call, release of the lock, or end of the work
	// Communicator is the communicator of the message, operation or team, valid only if HasCommunicator
	// is set.
	Communicator    uint64
	HasCommunicator bool
}

// Member is the part of a location in an operation. Times are in ticks.
type Member struct {
	Place        Place // call that completes its part
	Path         uint32
	Arrival      int64 // begin of the call that takes part, or that posts a non-blocking operation
	ArrivalPlace Place // place of that call
	Enter, Leave int64 // begin and end of the call that completes its part
	Rank         int32 // rank of the member; set only for the relation RanksWait
	Free         bool  // the member waits for no other one, because it receives nothing
	// Awaited is the member for which a free member of an operation with the relation RootWaits has probably waited, or
	// nil.
	Awaited *Member
	sends   bool // the member sends bytes, or the trace does not state whether it does
	// receives is like sends, for receiving. isPoint is set if the call is a point without begin and end.
	receives bool
	isPoint  bool
	busy     []synclog.Span // Call.Busy of its call
	asleep   bool           // the member waits for the next parallel region, not for the other members
	call     *call          // the call that completes the non-blocking operation; nil if the operation is blocking
}

// Relation determines which members of an operation wait for which others.
type Relation uint8

// The values of Relation.
const (
	AllWait     Relation = iota // all members wait for all others
	RootSends                   // all members wait for the root
	RootWaits                   // the root waits for all other members
	RanksWait                   // each rank waits for the ranks before it
	Starts                      // the threads of a team begin to work
	Independent                 // no member is known to wait
)

// Operation is an operation of several locations with all members.
type Operation struct {
	Relation        Relation
	Communicator    uint64
	HasCommunicator bool
	Members         []Member // ordered by location
	Root            int      // index into Members; -1 if there is none
	Posted          bool     // non-blocking
	Collective      bool     // collective operation on a communicator
	Finalize        bool     // finalisation of MPI
}

// Message is a message with both ends. Times are in ticks.
type Message struct {
	Send, Recv Place // the call that sends, and the call that completes the receive
	// SendEnter and SendLeave are the begin and end of the call Send, and RecvEnter and RecvLeave those
	// of Recv.
	SendEnter, SendLeave int64
	RecvEnter, RecvLeave int64
}

// Rendezvous is a send that completes only after its receive is posted. Either the definition of the call
// requires this, or the send has waited for the receive in the trace.
type Rendezvous struct {
	Send, Post Place // the call that completes the send, and the call that posts the receive
	Time       int64 // begin of the call Post in ticks
}

// Dependence is a call that ended only after the call Cause of another location had begun: in one-sided
// communication, or as the idle time of a stream, whose next work the call Cause launches.
type Dependence struct {
	Place, Cause Place
	Time         int64 // begin of the call Cause in ticks
}

// Handover is the release of a lock by one location and its acquisition by the next one; the signal of a condition; or
// the end of a thread or of the work of a device, and the end of the call that waits for it.
type Handover struct {
	From, To       Place
	Released, Time int64 // times of the release and of the acquisition, or of these ends, in ticks
	Lock           bool  // the location From had a lock that it released
}

// Hooks holds functions that an engine calls with its results. Each may be nil. Their arguments are
// valid during the call.
type Hooks struct {
	// Window limits a [Result] to calls that begin in it. Nil means the whole trace.
	Window     *trace.Window
	Call       func(c *synclog.Call, p Place)
	Wait       func(w *Wait)
	Message    func(m *Message)
	Rendezvous func(r *Rendezvous)
	Dependence func(d *Dependence)
	Operation  func(o *Operation)
	Handover   func(h *Handover)
}

// Violations counts what contradicts causality, because the clocks differ.
type Violations struct {
	Messages   int64 `json:"messages"`   // messages that were received before they were sent
	Operations int64 `json:"operations"` // collective operations that a member left before all had come
	// Calls counts the synchronous sends and the calls of one-sided synchronisation that ended before the call of the
	// other location had begun. Package clocks does not know them, so weft align corrects the clocks only with --always.
	Calls int64 `json:"calls"`
	Worst int64 `json:"worst"` // the greatest contradiction in ticks
}

// Text describes the violations: how many there are of each kind, and the worst, in seconds of clock.
func (v *Violations) Text(clock trace.Clock) string {
	var list []string
	add := func(n int64, what, how string) {
		if n > 0 {
			list = append(list, plural.Of(n, what)+" "+how)
		}
	}
	add(v.Messages, "message", "received before being sent")
	add(v.Operations, "operation", "left before all had come")
	add(v.Calls, "call", "ended before that of the partner had begun")
	return strings.Join(list, ", ") + ", by up to " + clock.FormatDuration(v.Worst)
}

// Remedy returns the command that corrects the clocks.
func (v *Violations) Remedy() string {
	if v.Messages+v.Operations == 0 {
		return "weft align --always"
	}
	return "weft align"
}

// Result holds the counts of an engine.
type Result struct {
	Judged   int64 // number of calls whose waits could be computed, including waits of length 0
	Unjudged [UnjudgedKinds]int64
	// UnjudgedTime holds the time in ticks of the calls in Unjudged, for blocking collective operations, barriers and
	// one-sided synchronisation.
	UnjudgedTime [UnjudgedKinds]trace.Ticks
	Violations   Violations
	// Unknown holds the time in ticks of calls of messages and collective operations that are counted in Unjudged, by
	// path and location.
	Unknown map[synclog.PathLocation]int64
	// Signals is the time in ticks of the waits of the pattern LockContention in which the other location did not
	// have a lock, but signalled a condition or posted a semaphore.
	Signals trace.Ticks
}

// engine finds the waits in the calls of a log.
type engine struct {
	Result
	log         *synclog.Log
	defs        *trace.Definitions
	members     *trace.Memberships
	hooks       Hooks
	numbers     []int32  // indexed by location: number of the next call
	ranks       []uint32 // result of RankLocations
	messages    messages
	collectives map[synclog.Sequence]*sequence
	postings    map[uint32]*postings // indexed by location
	barriers    barriers
	locks       map[lockKey]*lock
	regained    regained
	windows     windows
	devices     devices
	// wait and message are the arguments of hooks. Variables would be allocated for each call.
	wait    Wait
	message Message
}

// Run calls the hooks with the waits in a log. The error comes from the log or the context.
func Run(ctx context.Context, log *synclog.Log, hooks Hooks) (Result, error) {
	e := &engine{log: log, defs: log.Defs, members: log.Defs.Memberships(), hooks: hooks,
		collectives: map[synclog.Sequence]*sequence{},
		postings:    map[uint32]*postings{}, locks: map[lockKey]*lock{}, windows: newWindows(log.Defs),
		devices: newDevices(log.Defs), ranks: log.Defs.RankLocations()}
	e.messages = messages{e: e, matcher: matching.New[*message, struct{}]()}
	e.countMembers()
	e.Unjudged[UnendedCollective] = log.Unended
	log.EachUnended(func(path, location uint32, time int64) {
		at := synclog.PathLocation{Path: path, Location: location}
		put(&e.Unknown, at, e.Unknown[at]+time)
	})
	if err := log.Scan(ctx, e.processCall); err != nil {
		return Result{}, err
	}
	e.messages.finish()
	e.joinRemaining()
	e.countUnfinishedCollectives()
	e.finishBarriers()
	e.countUnfinishedWindows()
	e.endSyncs()
	e.countUnfinishedWork()
	return e.Result, nil
}

// processCall processes the next call of the log.
func (e *engine) processCall(c *synclog.Call) error {
	for int64(c.Location) >= int64(len(e.numbers)) {
		e.numbers = append(e.numbers, 0)
	}
	at := Place{c.Location, e.numbers[c.Location]}
	e.numbers[c.Location]++
	if e.hooks.Call != nil {
		e.hooks.Call(c, at)
	}
	if list := e.devices.syncs; len(list) > 0 && c.Leave > list[0].leave {
		e.endSyncs()
	}
	if e.processDevice(c, at) {
		return nil
	}
	e.windows.progress.add(e, c, at)
	if c.Role == trace.CompletionRole {
		e.messages.inboxes.At(c.Location).last = completionCall{path: c.Path, enter: c.Enter, leave: c.Leave}
	}
	switch {
	case c.Last, c.Creates && len(c.Points) == 0:
		return nil
	case len(c.Points) == 0:
		e.processBarrier(c, at)
		return nil
	}
	var own *call
	changed := false
	for i := range c.Points {
		switch p := &c.Points[i]; p.Kind {
		case synclog.Send, synclog.SendPost, synclog.SendDone, synclog.RecvPost, synclog.Recv, synclog.RecvDone,
			synclog.Cancelled:
			own = e.processMessage(c, at, p, own)
		case synclog.CollectivePost, synclog.CollectiveDone, synclog.Collective, synclog.WindowCollective:
			own = e.processCollective(c, at, p, own)
		case synclog.Acquire, synclog.Release:
			e.processLock(c, at, p)
		case synclog.TeamBegin:
			e.processTeamBegin(c, at, p)
		case synclog.TeamEnd:
			e.barriers.endTeam(c.Location, p)
		case synclog.WindowGroup, synclog.WindowRequest, synclog.WindowAcquire, synclog.WindowRelease,
			synclog.WindowAccess, synclog.WindowDone:
			e.processWindow(c, at, p)
		case synclog.WindowChange:
			changed = true
		}
	}
	if changed {
		e.unjudgeMembers(UnknownChange, []Member{memberOf(c, at)})
	}
	if own != nil {
		e.completeOne(own)
	}
	if c.Init || c.Finalize {
		e.processBarrier(c, at)
	}
	return nil
}

// reportWait reports a wait, unless its length is 0 or negative.
func (e *engine) reportWait(w Wait) {
	if w.Length > 0 && e.hooks.Wait != nil {
		e.wait = w
		e.hooks.Wait(&e.wait)
	}
}

// reportOperation reports an operation.
func (e *engine) reportOperation(o *Operation) {
	if e.hooks.Operation != nil {
		e.hooks.Operation(o)
	}
}

// rankOf returns the location with the rank of a location's process in MPI.
func (e *engine) rankOf(location uint32) uint32 {
	if int64(location) < int64(len(e.ranks)) {
		return e.ranks[location]
	}
	return location
}

// counts reports whether the result counts a call that begins at time enter.
func (e *engine) counts(enter int64) bool { return e.hooks.Window.Has(enter) }

// addUnknown adds a call to the calls whose waits are unknown.
func (e *engine) addUnknown(path, location uint32, enter, leave int64) {
	if e.counts(enter) {
		at := synclog.PathLocation{Path: path, Location: location}
		put(&e.Unknown, at, e.Unknown[at]+leave-enter)
	}
}

// unjudgeMembers counts members whose waits are unknown.
func (e *engine) unjudgeMembers(kind UnjudgedKind, list []Member) {
	e.countUnjudged(kind, list)
	for i := range list {
		if m := &list[i]; m.call == nil || !m.call.test {
			e.addUnknown(m.Path, m.Place.Location, m.Enter, m.Leave)
		}
	}
}

// countUnjudged counts members whose waits are unknown, and adds the times of their blocking calls.
func (e *engine) countUnjudged(kind UnjudgedKind, list []Member) {
	e.Unjudged[kind] += e.countedMembers(list)
	for i := range list {
		if m := &list[i]; m.call == nil && e.counts(m.Enter) {
			e.UnjudgedTime[kind].Add(e.hooks.Window.Clip(m.Leave) - m.Enter)
		}
	}
}

// countedMembers returns the number of members that the result counts.
func (e *engine) countedMembers(list []Member) (n int64) {
	for i := range list {
		if e.counts(list[i].Enter) {
			n++
		}
	}
	return n
}

// countViolation counts a message or operation that ends `early` ticks too early. It does so only if
// early is positive and the result counts the call, which begins at time enter.
func (e *engine) countViolation(count *int64, early, enter int64) {
	if early > 0 && e.counts(enter) {
		*count++
		e.Violations.Worst = max(e.Violations.Worst, early)
	}
}
