// Package waitstate finds wait states in the calls of a log: it matches messages, collective
// operations, barriers and locks, and reports each wait with its cause. The definitions are those of
// docs/analyses/waits.md.
//
// An engine holds what waits for its other side: about 200 bytes per pending message, and 60 bytes
// per member of an incomplete collective operation.
package waitstate

import (
	"context"

	"github.com/weft-trace/weft/analysis/internal/synclog"
	"github.com/weft-trace/weft/trace"
)

// Pattern is a type of wait state.
type Pattern uint8

// The patterns. WrongOrder, WrongOrderSame and WrongOrderDifferent are parts of LateSender: their
// waits are reported twice.
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
	LockContention
	Patterns // the number of patterns

	// Reduction is the wait of a member of a reduction or gather for the last one to come, as far as the
	// operation cannot end without that one. It is no wait state of its own: EarlyReduce is.
	Reduction = Patterns
)

var patterns = [Patterns + 1]struct {
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
	LockContention:      {name: "lock-contention"},
	Reduction:           {name: "reduction"},
}

// String returns the name of a pattern.
func (p Pattern) String() string { return patterns[p].name }

// PartOf returns the pattern that includes the waits of p. ok is false if there is none.
func (p Pattern) PartOf() (whole Pattern, ok bool) { return patterns[p].partOf, patterns[p].part }

// Waits reports whether the location waits for another one. In the other patterns an operation has
// begun everywhere and takes time to complete.
func (p Pattern) Waits() bool {
	return p != BarrierCompletion && p != NxNCompletion && p != InitCompletion
}

// UnjudgedKind is a kind of calls whose waits cannot be judged.
type UnjudgedKind uint8

// The kinds of events that cannot be judged.
const (
	BareReceive UnjudgedKind = iota
	UnmatchedReceive
	BareCollective
	UnmatchedCollective
	UnknownBarrier
	IncompleteBarrier
	UnjudgedKinds // the number of kinds
)

// Place is a call: the Number-th call of a location in the log, counted from 0.
type Place struct {
	Location uint32
	Number   int32
}

// Wait is a wait of at least one tick.
type Wait struct {
	Pattern       Pattern
	Place         Place  // the call that waits
	Path          uint32 // its path
	Begin, Length int64
	Cause         Place // the call that is waited for
	CauseTime     int64 // when that call begins, or the lock is released
	// Communicator is the communicator of the message, operation or team, if HasCommunicator.
	Communicator    uint64
	HasCommunicator bool
}

// Member is the part of a location in an operation of several.
type Member struct {
	Place        Place // the call that completes its part
	Path         uint32
	Arrival      int64 // begin of the call that takes part, or that posts a non-blocking operation
	ArrivalPlace Place // that call
	Enter, Leave int64 // begin and end of the call that completes its part
	Rank         int32 // rank of the member, for operations with the relation RanksWait
	Free         bool  // it waits for no other member, as it receives nothing
	sends        bool  // it sends bytes, or the trace does not tell
	receives     bool
	bare         bool
}

// Relation is the way in which the members of an operation depend on each other.
type Relation uint8

// The relations: which members of an operation wait for which others.
const (
	AllWait     Relation = iota // all wait for all
	RootSends                   // all wait for the root
	RootWaits                   // the root waits for all
	RanksWait                   // each rank waits for those before it
	Starts                      // the threads of a team begin to work
	Independent                 // none is known to wait
)

// Operation is an operation of several locations of which all parts are known.
type Operation struct {
	Relation        Relation
	Communicator    uint64
	HasCommunicator bool
	Members         []Member // by location
	Root            int      // index into Members; -1 if there is none
	Posted          bool     // non-blocking
	Collective      bool     // a collective operation of a communicator
	Init, Finalize  bool     // the calls begin or end MPI
}

// Message is a message of which both sides are known.
type Message struct {
	Send, Recv         Place // the calls that send and that complete the receive
	SendEnter          int64
	SendTime, RecvTime int64
	Communicator       uint64
}

// Rendezvous is a send that cannot complete before its receive is posted, as the call says, or as it
// was seen to wait.
type Rendezvous struct {
	Send, Post Place // the calls that complete the send and that post the receive
	Time       int64 // begin of Post
}

// Handover is a lock that one location releases and the next one acquires.
type Handover struct {
	From, To       Place
	Released, Time int64 // times of the release and of the acquisition
}

// Hooks receives what an engine finds. Functions may be nil. What they get is valid until they
// return.
type Hooks struct {
	// Window restricts what a [Result] counts: calls that begin in it. Nil counts all.
	Window     *trace.Window
	Call       func(c *synclog.Call, p Place)
	Wait       func(w *Wait)
	Message    func(m *Message)
	Rendezvous func(r *Rendezvous)
	Operation  func(o *Operation)
	Handover   func(h *Handover)
}

// Result holds the counts of an engine.
type Result struct {
	Judged   int64 // calls whose waits are known, those of no length included
	Unjudged [UnjudgedKinds]int64
	// Messages and operations that contradict causality, and by how many ticks at most.
	EarlyMessages, EarlyOperations, Worst int64
}

// engine finds the waits of a log.
type engine struct {
	Result
	log         *synclog.Log
	defs        *trace.Definitions
	hooks       Hooks
	numbers     []int32 // of the next call, by location
	messages    messages
	collectives map[synclog.Sequence]*sequence
	barriers    barriers
	locks       map[lockKey]*lock
}

// Run finds the waits of a log. An error is that of the log or of the context.
func Run(ctx context.Context, log *synclog.Log, hooks Hooks) (Result, error) {
	e := &engine{log: log, defs: log.Defs, hooks: hooks, collectives: map[synclog.Sequence]*sequence{},
		locks: map[lockKey]*lock{}}
	e.messages.init(e)
	e.countMembers()
	if err := log.Scan(ctx, e.call); err != nil {
		return Result{}, err
	}
	e.messages.finish()
	e.unfinishedCollectives()
	e.unfinishedBarriers()
	return e.Result, nil
}

// call takes the next call of the log.
func (e *engine) call(c *synclog.Call) error {
	for int64(c.Location) >= int64(len(e.numbers)) {
		e.numbers = append(e.numbers, 0)
	}
	at := Place{c.Location, e.numbers[c.Location]}
	e.numbers[c.Location]++
	if e.hooks.Call != nil {
		e.hooks.Call(c, at)
	}
	switch {
	case c.Last:
		return nil
	case len(c.Points) == 0:
		e.barrier(c, at)
		return nil
	}
	var own *call
	for i := range c.Points {
		switch p := &c.Points[i]; p.Kind {
		case synclog.Send, synclog.SendPost, synclog.SendDone, synclog.RecvPost, synclog.Recv, synclog.RecvDone,
			synclog.Cancelled:
			own = e.message(c, at, p, own)
		case synclog.CollectivePost, synclog.CollectiveDone, synclog.Collective:
			e.collective(c, at, p)
		case synclog.Acquire, synclog.Release:
			e.lock(c, at, p)
		case synclog.TeamBegin:
			e.teamBegins(c, at, p)
		}
	}
	if own != nil {
		e.ended(own)
	}
	if c.Init || c.Finalize {
		e.barrier(c, at)
	}
	return nil
}

// wait reports a wait, if it has a length.
func (e *engine) wait(w Wait) {
	if w.Length > 0 && e.hooks.Wait != nil {
		e.hooks.Wait(&w)
	}
}

// operation reports an operation.
func (e *engine) operation(o *Operation) {
	if e.hooks.Operation != nil {
		e.hooks.Operation(o)
	}
}

// counts reports whether a call that begins at a time counts.
func (e *engine) counts(enter int64) bool { return e.hooks.Window.Has(enter) }

// members returns the number of members that count.
func (e *engine) members(list []Member) (n int64) {
	for i := range list {
		if e.counts(list[i].Enter) {
			n++
		}
	}
	return n
}

// violated counts a message or operation that ends before it can, in a call that begins at a time, if early is
// positive.
func (e *engine) violated(count *int64, early, enter int64) {
	if early > 0 && e.counts(enter) {
		*count++
		e.Worst = max(e.Worst, early)
	}
}
