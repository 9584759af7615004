package causes

import (
	"cmp"
	"context"
	"slices"

	"github.com/weft-trace/weft/analysis/internal/history"
	"github.com/weft-trace/weft/analysis/internal/synclog"
	"github.com/weft-trace/weft/analysis/internal/waitstate"
	"github.com/weft-trace/weft/trace"
)

// IdleTime is the time during which other threads of a process have no work, because its first thread works in a call
// path alone, or in a team without them.
type IdleTime struct {
	Path         []string `json:"path"`     // outermost region first; empty for time outside of all regions
	Location     uint32   `json:"location"` // the first thread, as index into Definitions.Locations
	LocationName string   `json:"locationName"`
	// Time is the time of the first thread in the path, without waits, multiplied by the number of these other threads,
	// in ticks.
	Time trace.Ticks `json:"time"`
}

// idleTimes returns the times in which other threads of processes are idle: because the first thread works alone, and
// because it works in a team that does not have all threads. The first thread of a process works alone from its start,
// or from its last barrier in a team, until it starts threads or ends. If the trace does not record this start, the
// thread's begin of work in a team counts. The error comes from a temporary file, or from the context.
func (f *finder) idleTimes(ctx context.Context) (alone, limited []IdleTime, err error) {
	x := idleFinder{h: f.h, sum: &f.passed, alone: idleSums{}, limited: idleSums{}}
	for loc, others := range f.otherThreads() {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		x.location, x.others = loc, others
		x.follow()
	}
	return f.idleList(x.alone), f.idleList(x.limited), nil
}

// idleSums holds idle times of other threads.
type idleSums map[synclog.PathLocation]trace.Ticks

// idleList returns idle times in descending order.
func (f *finder) idleList(sums idleSums) []IdleTime {
	keys := make([]synclog.PathLocation, 0, len(sums))
	for k, t := range sums {
		if t.Cmp(trace.Ticks{}) > 0 {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b synclog.PathLocation) int {
		return cmp.Or(sums[b].Cmp(sums[a]), cmp.Compare(a.Location, b.Location), cmp.Compare(a.Path, b.Path))
	})
	d := f.h.Log.Defs
	names, regions := d.FullNames(), d.RegionNames(f.opt.Rows)
	list := make([]IdleTime, len(keys))
	for i, k := range keys {
		list[i] = IdleTime{f.h.Log.PathNames(k.Path, regions), k.Location, names[k.Location], sums[k]}
	}
	return list
}

// idleFinder follows the calls of first threads.
type idleFinder struct {
	h              *history.History
	alone, limited idleSums
	location       uint32 // the first thread of a process
	others         int64  // number of the other threads of the process
	// sum holds the times of the first thread since it has begun to work alone or in a team, or since its last barrier
	// in a team, without waits.
	sum   *interval
	teams []openTeam // teams in which the first thread works, the innermost one last
	joins bool       // the trace records that the first thread continues after the work of its team
	// looked is the time in ticks up to which the finder has looked for other threads that start teams.
	looked int64
}

// mostTeams is the greatest number of teams within each other that count. A trace may record starts of teams, but no
// barriers and no joins.
const mostTeams = 16

// openTeam is a team in which a first thread works.
type openTeam struct {
	started int64 // number of other threads that have begun to work in the team
	known   bool  // started is known, and no other thread has started a team meanwhile
	begun   bool  // the thread has begun its work in the team
	barrier bool  // the thread has been in a barrier of the team
}

// follow adds the idle times in the calls of the first thread.
func (x *idleFinder) follow() {
	l := x.h.Locations[x.location]
	x.teams, x.joins, x.looked = x.teams[:0], false, l.First
	for n := range l.Count() {
		c := l.Call(n)
		x.sum.addAll(l.Before(n))
		if c.Joins {
			x.join(n)
		}
		if c.Forks {
			started, ok := x.h.Started(waitstate.Place{Location: x.location, Number: n})
			x.open(n, openTeam{started: int64(started), known: ok})
		}
		if c.Begins {
			if k := len(x.teams) - 1; k >= 0 && !x.teams[k].begun && !x.teams[k].barrier {
				x.teams[k].begun = true
			} else {
				x.open(n, openTeam{begun: true})
			}
		}
		x.sum.addAll(l.Inside(n))
		addWaits(l, n, false, x.sum.add)
		if k := len(x.teams) - 1; c.TeamBarrier && k >= 0 {
			x.inTeam(n)
			x.teams[k].barrier = true
		} else if c.TeamBarrier {
			x.sum.clear()
		}
	}
	x.leaveUnjoined()
	if len(x.teams) == 0 {
		x.add(x.alone, x.others)
	} else {
		x.inTeam(l.Count() - 1)
	}
}

// leaveUnjoined leaves the teams of the first thread whose last barrier may have been, if the trace does not record
// where they end.
func (x *idleFinder) leaveUnjoined() {
	if k := len(x.teams) - 1; k >= 0 && x.teams[k].barrier && !x.joins {
		x.teams = x.teams[:0]
	}
}

// open begins the work in a team at call n.
func (x *idleFinder) open(n int32, t openTeam) {
	x.leaveUnjoined()
	if len(x.teams) == 0 {
		x.add(x.alone, x.others)
	} else {
		x.inTeam(n)
	}
	if len(x.teams) == mostTeams {
		x.teams = slices.Delete(x.teams, 0, 1)
	}
	x.teams = append(x.teams, t)
	x.looked = max(x.looked, x.h.Locations[x.location].Call(n).Enter)
}

// join ends the work in the innermost team at call n.
func (x *idleFinder) join(n int32) {
	x.joins = true
	if k := len(x.teams) - 1; k >= 0 {
		if !x.teams[k].barrier {
			x.inTeam(n)
		}
		x.teams = x.teams[:k]
	}
}

// inTeam adds the idle times of the threads that do not work in the innermost team, up to call n.
func (x *idleFinder) inTeam(n int32) {
	end := x.h.Locations[x.location].Call(n).Leave
	elsewhere := x.h.StartedElsewhere(x.location, x.looked, end)
	x.looked = max(x.looked, end)
	idle, known := x.others, true
	for i := range x.teams {
		t := &x.teams[i]
		t.known = t.known && !elsewhere
		known = known && t.known
		idle -= t.started
	}
	if !known {
		idle = 0
	}
	x.add(x.limited, max(0, idle))
}

// add adds the times in sum to idle times, for a number of idle threads, and clears sum.
func (x *idleFinder) add(sums idleSums, threads int64) {
	if threads > 0 {
		for _, p := range x.sum.paths {
			k := synclog.PathLocation{Path: p - 1, Location: x.location} // NoPath has the index 0
			sums[k] = sums[k].Plus(trace.TicksOf(x.sum.times[p]).Times(threads))
		}
	}
	x.sum.clear()
}

// otherThreads returns the number of other threads of each process whose threads work in teams, by its
// first thread.
func (f *finder) otherThreads() map[uint32]int64 {
	d := f.h.Log.Defs
	first, number := map[uint32]uint32{}, map[uint32]int64{} // indexed by location group
	teams := map[uint32]bool{}
	for loc, l := range d.Locations.All() {
		if !l.Kind.IsProcessor() || !d.Groups.Has(l.Group) || d.Groups.At(l.Group).Kind != "process" {
			continue
		}
		if _, ok := first[l.Group]; !ok {
			first[l.Group] = uint32(loc)
		}
		number[l.Group]++
		if loc < len(f.h.Locations) && f.h.Locations[loc] != nil && f.h.Locations[loc].InTeams {
			teams[l.Group] = true
		}
	}
	out := map[uint32]int64{}
	for g, loc := range first {
		counts := f.opt.Locations == nil || f.opt.Locations(loc)
		if teams[g] && number[g] > 1 && counts && int64(loc) < int64(len(f.h.Locations)) && f.h.Locations[loc] != nil {
			out[loc] = number[g] - 1
		}
	}
	return out
}
