package waitstate

import (
	"cmp"
	"maps"
	"slices"

	"github.com/weft-trace/weft/analysis/internal/synclog"
	"github.com/weft-trace/weft/trace"
)

// barriers holds the incomplete barriers that the trace records only as regions: barriers of teams of
// threads, and the initialisation and finalisation of MPI.
type barriers struct {
	// teams holds the members so far of barriers of teams.
	teams  map[visitOfTeam][]Member
	visits map[team][]uint64 // the number of visits of each location, ascending
	// rounds holds the last visits of barriers whose teams are unknown, by barrier. locations holds the
	// number of locations that visit such a barrier.
	rounds    map[uint64]*round
	locations map[uint64]int
	forks     map[uint32]fork         // indexed by location: the last begin of its work in a team
	nested    map[uint64]*nestedTeams // indexed by barrier without a known team
	// starts holds the members so far of begins of work in teams.
	starts map[visitOfTeam][]Member
	begun  map[visitor]uint64 // indexed by communicator and location: number of visits of the team so far
	// joins holds the members so far of initialisations and finalisations. next holds the number of the
	// next one of each location.
	joins   map[joinKey][]Member
	next    map[visitor]int64
	regions map[regionOfWorld][]int64 // the number of visits of each location, ascending
	worlds  []uint32                  // the world of each location; nil if the trace has only one world
	threads map[uint32]int            // by process: the number of its threads; nil until it is needed
}

// team is a team of threads, which belongs to one process. Recorders may give the teams of all processes the same
// communicator. process is the location group of the process, or trace.NoRef if the trace does not define one.
type team struct {
	communicator uint64
	process      uint32
}

// visitOfTeam identifies a barrier of a team, or a begin of its work.
type visitOfTeam struct {
	team
	visit, barrier uint64
}

// teamOf returns the team with a communicator in which a location works.
func (e *engine) teamOf(communicator uint64, location uint32) team {
	return team{communicator, e.defs.ProcessOf(location)}
}

// joinKey identifies the visits with the same number of a region by all processes of a world.
type joinKey struct {
	regionOfWorld
	number int64
}

// regionOfWorld is a region row that the processes of a world visit.
type regionOfWorld struct{ region, world uint32 }

// regionAt returns a region row for the world of a location.
func (b *barriers) regionAt(region, location uint32) regionOfWorld {
	if int64(location) < int64(len(b.worlds)) {
		return regionOfWorld{region, b.worlds[location]}
	}
	return regionOfWorld{region: region}
}

// visitor identifies a region or team and a location.
type visitor struct {
	region   uint64 // region row, or communicator of a team
	location uint32
}

// round holds those visits of a barrier that overlap: each location is in the barrier when the first
// one leaves it.
type round struct {
	members []Member
	inside  map[uint32]bool // the locations of the members
	leave   int64           // end of the first visit to end, in ticks
	pattern Pattern
}

// nestedTeams has the open visits of teams that the trace does not identify, in a process. While there are visits of
// several teams, barriers may belong to any of them.
type nestedTeams struct {
	open         map[uint32]int // indexed by location
	visits       int            // sum of open
	nested       bool           // there are several teams now
	since, until int64          // the last time with several teams, in ticks; until is not valid while nested is set
}

// ambiguous reports whether a barrier at which a location arrives at time enter may belong to several teams.
func (n *nestedTeams) ambiguous(enter int64) bool {
	return n != nil && (n.nested || n.since <= enter && enter < n.until)
}

// beginTeam counts the begin of a location's work in a team. Only the first thread of each team records this, if
// firstOnly is set.
func (b *barriers) beginTeam(location uint32, p *synclog.Point, firstOnly bool) {
	n := b.nested[p.Ops[0]]
	if n == nil {
		n = &nestedTeams{open: map[uint32]int{}}
		b.nested[p.Ops[0]] = n
	}
	n.open[location]++
	n.visits++
	if !n.nested && (n.open[location] > 1 || firstOnly && n.visits > 1) {
		n.nested, n.since = true, p.Time
	}
}

// endTeam counts the end of a location's work in a team.
func (b *barriers) endTeam(location uint32, p *synclog.Point) {
	n := b.nested[p.Ops[0]]
	if n == nil || n.open[location] == 0 {
		return
	}
	n.open[location]--
	n.visits--
	if n.visits == 0 && n.nested {
		n.nested, n.until = false, p.Time
	}
}

// fork is the begin of a location's work in a team, at a time in ticks.
type fork struct {
	place Place
	time  int64
}

// init prepares the barriers of a log.
func (b *barriers) init(e *engine) {
	*b = barriers{teams: map[visitOfTeam][]Member{}, visits: map[team][]uint64{}, rounds: map[uint64]*round{},
		locations: map[uint64]int{}, forks: map[uint32]fork{}, nested: map[uint64]*nestedTeams{},
		starts: map[visitOfTeam][]Member{}, begun: map[visitor]uint64{}, joins: map[joinKey][]Member{},
		next: map[visitor]int64{}, regions: map[regionOfWorld][]int64{}, worlds: e.defs.Worlds()}
	e.log.Barriers(func(barrier uint64, _ uint32, _ int64) { b.locations[barrier]++ })
	e.log.Teams(func(c uint64, location uint32, visits uint64) {
		t := e.teamOf(c, location)
		b.visits[t] = append(b.visits[t], visits)
	})
	for _, l := range b.visits {
		slices.Sort(l)
	}
	e.log.Visits(func(region, location uint32, visits int64) {
		r := b.regionAt(region, location)
		b.regions[r] = append(b.regions[r], visits)
	})
	for _, l := range b.regions {
		slices.Sort(l)
	}
}

// processBarrier processes a call that is a barrier without a point, or initialises or finalises MPI.
func (e *engine) processBarrier(c *synclog.Call, place Place) {
	b := &e.barriers
	m := memberOf(c, place)
	switch {
	case c.Init || c.Finalize:
		at := visitor{uint64(c.Region), c.Location}
		k := joinKey{b.regionAt(c.Region, c.Location), b.next[at]}
		b.next[at]++
		list := join(b.joins, k, m, b.regions[k.regionOfWorld], k.number)
		if list == nil {
			return
		}
		if c.Init {
			e.judgeAll(&Operation{Members: list}, Patterns, InitCompletion)
		} else {
			e.judgeAll(&Operation{Members: list, Finalize: true}, Finalize, Patterns)
		}
	case c.InTeam:
		t := e.teamOf(c.Team.Communicator, c.Location)
		list := join(b.teams, visitOfTeam{t, c.Team.Visit, c.Team.Barrier}, m, b.visits[t], c.Team.Visit)
		if list == nil {
			return
		}
		e.judgeAll(&Operation{Members: list, Communicator: c.Team.Communicator,
			HasCommunicator: c.Team.Communicator < uint64(e.defs.Communicator.Len())}, threadBarrier(c), Patterns)
	case c.Unteamed:
		e.processUnteamed(c, m)
	case c.Window == synclog.WindowTest: // a test without events has found that the accesses go on
	case c.Window != 0:
		e.countUnjudged(UnrecordedWindow, []Member{m})
	default:
		e.countUnjudged(UnknownBarrier, []Member{m})
	}
}

// threadBarrier returns the pattern of the waits in a barrier of threads.
func threadBarrier(c *synclog.Call) Pattern {
	switch {
	case c.Unteamed && c.Team.Identified():
		return ThreadBarrier
	case c.Role == trace.ImplicitBarrierRole:
		return ImplicitBarrier
	}
	return ExplicitBarrier
}

// processUnteamed handles a visit of a barrier whose team the trace does not record. Calls come in the order
// of their ends. Therefore a round is complete at the first visit that begins after another one has
// ended, or when all locations that ever visit the barrier have been in it.
func (e *engine) processUnteamed(c *synclog.Call, m Member) {
	b := &e.barriers
	barrier := c.Team.Communicator
	if b.nested[barrier].ambiguous(m.Enter) {
		e.countUnjudged(UnknownBarrier, []Member{m})
		return
	}
	r := b.rounds[barrier]
	if r != nil && (m.Enter > r.leave || r.inside[m.Place.Location]) {
		e.endRound(barrier, r)
		r = nil
	}
	if r == nil {
		r = &round{inside: map[uint32]bool{}, leave: c.Leave, pattern: threadBarrier(c)}
		b.rounds[barrier] = r
	}
	r.inside[m.Place.Location] = true
	if r.members = append(r.members, m); len(r.members) == b.locations[barrier] {
		e.endRound(barrier, r)
	}
}

// endRound judges a complete round of a barrier. A round with a single visit counts as unjudged, unless the process has
// no other thread for which it could wait.
func (e *engine) endRound(barrier uint64, r *round) {
	delete(e.barriers.rounds, barrier)
	if len(r.members) == 1 {
		if !e.isOnlyThread(r.members[0].Place.Location) {
			e.countUnjudged(IncompleteBarrier, r.members)
		}
		return
	}
	if r.pattern == ImplicitBarrier {
		e.reportSleepers(r)
	}
	e.judgeAll(&Operation{Members: r.members, Communicator: barrier}, r.pattern, Patterns)
}

// reportSleepers reports the waits of threads that stay in the barrier at the end of a parallel region until the next
// region begins. They wait for the thread that has left first, which then works alone and begins the region.
func (e *engine) reportSleepers(r *round) {
	first := slices.MinFunc(r.members, func(a, b Member) int { return cmp.Compare(a.Leave, b.Leave) })
	f, ok := e.barriers.forks[first.Place.Location]
	if !ok || f.time <= first.Leave {
		return
	}
	for i := range r.members {
		m := &r.members[i]
		if m.asleep = m.Leave >= f.time; m.asleep {
			e.reportWait(Wait{r.pattern, m.Place, m.Path, m.interval(f.time), f.place, f.time, 0, false})
			if e.hooks.Handover != nil {
				e.hooks.Handover(&Handover{f.place, m.Place, f.time, m.Leave, false})
			}
		}
	}
}

// processTeamBegin processes the begin of a thread's work in a team.
func (e *engine) processTeamBegin(c *synclog.Call, place Place, p *synclog.Point) {
	b := &e.barriers
	b.forks[c.Location] = fork{place, p.Time}
	t := e.teamOf(p.Ops[0], c.Location)
	if b.locations[p.Ops[0]] > 0 {
		b.beginTeam(c.Location, p, len(b.visits[t]) < b.locations[p.Ops[0]])
	}
	at := visitor{p.Ops[0], c.Location}
	visit := b.begun[at]
	b.begun[at]++
	m := memberOf(c, place)
	m.Arrival = p.Time
	list := join(b.starts, visitOfTeam{team: t, visit: visit}, m, b.visits[t], visit)
	if list == nil {
		return
	}
	slices.SortFunc(list, func(a, b Member) int { return int(a.Place.Location) - int(b.Place.Location) })
	e.reportOperation(&Operation{Relation: Starts, Members: list, Root: -1})
}

// join adds a member to those that have come to an operation. If all have come, it removes and returns them. Otherwise,
// it returns nil. counts holds the number of operations of each member in ascending order; those with more than
// number take part.
func join[K comparable, N int64 | uint64](open map[K][]Member, k K, m Member, counts []N, number N) []Member {
	list := append(open[k], m)
	if i, _ := slices.BinarySearch(counts, number+1); len(list) < len(counts)-i {
		open[k] = list
		return nil
	}
	delete(open, k)
	return list
}

// judgeAll reports the waits in an operation in which all members wait for all others. waiting and
// completion are the patterns of these waits. If one of them equals Patterns, the waits of that kind
// are not reported.
func (e *engine) judgeAll(o *Operation, waiting, completion Pattern) {
	o.Root = -1
	if len(o.Members) < 2 {
		// The critical path may end here: the world may be the last one to finalise MPI, or the process the only one.
		if o.Finalize && (e.barriers.worlds != nil || e.isOnlyProcess(o.Members[0].Place.Location)) {
			e.reportOperation(o)
		}
		return
	}
	e.Judged += e.countedMembers(o.Members)
	slices.SortFunc(o.Members, func(a, b Member) int { return int(a.Place.Location) - int(b.Place.Location) })
	last, first := LastToArrive(o.Members), FirstLeave(o.Members)
	for i := range o.Members {
		m := &o.Members[i]
		if waiting != Patterns && !m.asleep {
			e.reportWait(o.waitFor(waiting, m, last))
		}
		if completion != Patterns {
			e.reportWait(o.completion(completion, m, last, first))
		}
	}
	e.reportOperation(o)
}

// isOnlyProcess reports whether all threads with events belong to the process of a location.
func (e *engine) isOnlyProcess(location uint32) bool {
	process := e.defs.ProcessOf(location)
	return !slices.ContainsFunc(e.log.Locations(), func(l uint32) bool {
		return l != location && !e.defs.IsStream(l) && (process == trace.NoRef || e.defs.ProcessOf(l) != process)
	})
}

// isOnlyThread reports whether the trace defines no other thread in the process of a location.
func (e *engine) isOnlyThread(location uint32) bool {
	if e.barriers.threads == nil {
		e.barriers.threads = map[uint32]int{}
		for l := range uint32(e.defs.Locations.Len()) {
			if !e.defs.IsStream(l) {
				e.barriers.threads[e.defs.ProcessOf(l)]++
			}
		}
	}
	process := e.defs.ProcessOf(location)
	return process != trace.NoRef && e.barriers.threads[process] == 1
}

// finishBarriers judges the last rounds of barriers whose teams are unknown, and counts the calls of incomplete
// barriers as unjudged.
func (e *engine) finishBarriers() {
	for _, barrier := range slices.Sorted(maps.Keys(e.barriers.rounds)) {
		e.endRound(barrier, e.barriers.rounds[barrier])
	}
	for _, l := range e.barriers.teams {
		e.countUnjudged(IncompleteBarrier, l)
	}
}
