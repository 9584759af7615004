package causes

import (
	"cmp"
	"context"
	"slices"

	"github.com/weft-trace/weft/analysis/internal/synclog"
	"github.com/weft-trace/weft/trace"
)

// IdleTime is the time during which the other threads of a process have no work, because its first
// thread works alone in a call path.
type IdleTime struct {
	Path         []string `json:"path"`     // outermost region first; empty for time outside of all regions
	Location     uint32   `json:"location"` // the first thread, as index into Definitions.Locations
	LocationName string   `json:"locationName"`
	// Time is the time of the first thread in the path, without waits, multiplied by the number of the
	// other threads, in ticks.
	Time trace.Ticks `json:"time"`
}

// idleTimes returns the times in which the threads of processes are idle. The first thread of a process
// works alone from its start, or from its last barrier in a team, until it starts threads or ends. If the trace does
// not record this start, the thread's begin of work in a team counts. The error comes from a temporary file, or from
// the context.
func (f *finder) idleTimes(ctx context.Context) ([]IdleTime, error) {
	sums := map[synclog.PathLocation]trace.Ticks{}
	d := f.h.Log.Defs
	for loc, others := range f.otherThreads() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		l := f.h.Locations[loc]
		alone := map[uint32]int64{} // times since the thread began to work alone, by path
		add := func(list []synclog.PathTime) {
			for _, t := range list {
				alone[t.Path] += t.Time
			}
		}
		flush := func() {
			for path, t := range alone {
				k := synclog.PathLocation{Path: path, Location: loc}
				sums[k] = sums[k].Plus(trace.TicksOf(t).Times(others))
			}
			alone = nil
		}
		for n := range l.Count() {
			c := l.Call(n)
			if alone != nil {
				add(l.Before(n))
			}
			if (c.Forks || c.Begins) && alone != nil {
				flush()
			}
			if alone != nil {
				add(l.Inside(n))
				addWaits(l, n, func(path uint32, t int64) { alone[path] += t })
			}
			if c.TeamBarrier {
				alone = map[uint32]int64{}
			}
		}
		if alone != nil {
			flush()
		}
	}
	keys := make([]synclog.PathLocation, 0, len(sums))
	for k, t := range sums {
		if t.Cmp(trace.Ticks{}) > 0 {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b synclog.PathLocation) int {
		return cmp.Or(sums[b].Cmp(sums[a]), cmp.Compare(a.Location, b.Location), cmp.Compare(a.Path, b.Path))
	})
	names, regions := d.FullNames(), d.RegionNames(f.opt.Rows)
	list := make([]IdleTime, len(keys))
	for i, k := range keys {
		list[i] = IdleTime{f.h.Log.PathNames(k.Path, regions), k.Location, names[k.Location], sums[k]}
	}
	return list, nil
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
