package transform

import (
	"slices"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// CutRunning is like [CutAt], for analyses of the whole time of processes and threads. The first event of a process or
// thread that has earlier events and later ones is at the begin of the piece, and its last event is at the end if it
// has later events. If the piece has no event there, CutRunning adds one of the kind NoOp. So the time outside of all
// regions between an end of the piece and the nearest event in it is part of the time of the location.
//
// Threads that have worked in a team before the piece get no such events, because they sleep outside of all regions.
// The first threads of processes do not sleep.
func CutRunning(d format.Events, w trace.Window, wanted func(loc uint32) bool) format.Events {
	return transformed{&cut{sameDefinitions: interleaved(d), window: w, flows: flows{wanted: wanted}, running: true}}
}

// activity holds what a location has done before a piece.
type activity struct {
	active bool // the location has events
	teamed bool // the location has worked in a team of threads
	runs   bool // the location gets a NoOp at the begin of the piece
	// ahead is set while the location works in a team and has not entered the parallel region. entered is set if it has
	// entered the region, and still works in the team.
	ahead, entered bool
	// asleep is set if the location has left a team in which another one let it work, and has begun nothing since then.
	// teams is the number of open visits of teams, and forked is set if the first of them is the location's own.
	asleep, forked bool
	teams          int
}

// EnteredAttribute is added by [CutRunning] to the begins of the work in teams that are repeated at the begin of a
// piece, if the location has entered the parallel region before. Its value is "".
const EnteredAttribute = format.CutPrefix + "entered"

// AsleepAttribute is added by [CutRunning] to the begins of visits that are repeated at the begin of a piece, if the
// location is a thread that sleeps then: it has left a team before, and has begun nothing since then. Its value is "".
const AsleepAttribute = format.CutPrefix + "asleep"

// note processes a row before the piece. entered and asleep are the indexes of EnteredAttribute and AsleepAttribute.
func (a *activity) note(d *trace.Definitions, x *trace.Cursor, entered, asleep uint32) {
	k := x.Kind()
	a.active = a.active || k.IsEvent()
	switch k {
	case trace.ThreadTeamBegin:
		keys, _ := x.Attrs()
		a.teamed, a.entered = true, slices.Contains(keys, entered)
		a.ahead = !a.entered
		a.teams, a.asleep = a.teams+1, false
	case trace.ThreadTeamEnd:
		a.ahead, a.entered = false, false
		a.teams = max(0, a.teams-1)
		a.asleep = a.teams == 0 && !a.forked && x.Op(0) != trace.Undefined
	case trace.ThreadFork:
		a.forked = a.forked || a.teams == 0
	case trace.ThreadJoin:
		a.forked = a.forked && a.teams > 0
	case trace.Enter:
		keys, _ := x.Attrs()
		a.asleep = slices.Contains(keys, asleep)
		a.teamed = a.teamed || a.asleep
		if a.ahead && d.RoleOf(x.Ref()) == trace.ForkRole {
			a.ahead, a.entered = false, true
		}
	}
}

// findRunning sets activity.runs of all locations that have events before the piece, and cut.sleepers.
func (c *cut) findRunning() {
	if !c.running {
		return
	}
	c.sleepers = c.Defs().LaterThreads()
	for i, later := range c.sleepers {
		before := c.openBegins.Get(uint32(i))
		c.sleepers[i] = later && before != nil && before.teamed
		if before != nil {
			before.runs = before.active && c.canRun(uint32(i))
		}
	}
}

// canRun reports whether a location is a process or thread that does not sleep outside of all regions.
func (c *cut) canRun(loc uint32) bool {
	d := c.Defs()
	return d.Locations.Has(loc) && d.Locations.At(loc).Kind.IsProcessor() && !d.IsStream(loc) &&
		!(int64(loc) < int64(len(c.sleepers)) && c.sleepers[loc])
}

// runsAtEnd reports whether a location gets a NoOp at the end of the piece if it has later events.
func (s *cutScan) runsAtEnd(loc uint32) bool {
	l := s.states.Get(loc)
	return s.running && l != nil && l.active && s.canRun(loc)
}
