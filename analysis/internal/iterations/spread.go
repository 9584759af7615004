package iterations

import (
	"cmp"
	"slices"

	"github.com/weft-trace/weft/analysis/internal/synclog"
	"github.com/weft-trace/weft/trace"
)

// Spread is a list of the times of a call path at locations, in ascending order of the time.
type Spread []LocationTime

// LocationTime is the time in ticks of a call path at a location.
type LocationTime struct {
	Location uint32
	Time     int64
}

// Spread returns the times of a path at the locations that could do the work of the path. The time outside of all
// regions includes the time before a location begins, see Start. The locations are the first threads of processes. If a
// later thread spends at least leastLater of the mean time of the first ones in the path, or if there is only one
// process, they are all threads. If only streams of devices spend time in the path, they are these streams, and the
// first stream of each process without one of them.
func (x *Times) Spread(path uint32) Spread {
	spread := x.threads(path)
	if path != synclog.NoPath && (len(spread) == 0 || spread[len(spread)-1].Time == 0) {
		if s := x.streams(path); len(s) > 0 {
			spread = s
		}
	}
	if len(spread) == 0 { // no location is a processor
		spread = Spread{{}}
	}
	return spread
}

// leastLater is the least ratio of the time of a later thread in a path to the mean of the first threads for which both
// do the same work. Otherwise the first threads work there alone: a recorder may open the region in all threads.
const leastLater = 0.05

// threads returns the times of a path at threads, as Spread does.
func (x *Times) threads(path uint32) Spread {
	var first, later Spread
	most := int64(0) // the greatest time of a later thread
	for _, loc := range x.h.Log.Locations() {
		if d := x.h.Log.Defs; d.Locations.Has(loc) {
			if k := d.Locations.At(loc).Kind; !k.IsProcessor() || k == trace.StreamLocation {
				continue
			}
		}
		t := LocationTime{loc, x.own[synclog.PathLocation{Path: path, Location: loc}]}
		if path == synclog.NoPath {
			t.Time += x.Start(loc)
		}
		if int64(loc) < int64(len(x.later)) && x.later[loc] {
			later, most = append(later, t), max(most, t.Time)
		} else {
			first = append(first, t)
		}
	}
	if len(first) == 1 || most > 0 && float64(most) >= leastLater*first.Mean() {
		first = append(first, later...)
	}
	return first.sort()
}

// streams returns the times of a path at streams of devices, as Spread does. It returns none if no stream spends time
// in the path.
func (x *Times) streams(path uint32) (list Spread) {
	visited := false
	for _, streams := range x.streamsByProcess {
		var idle, visiting Spread
		for _, loc := range streams {
			if t := x.own[synclog.PathLocation{Path: path, Location: loc}]; t > 0 {
				visiting = append(visiting, LocationTime{loc, t})
			} else if _, _, runs := x.h.Log.Extent(loc); runs && idle == nil {
				idle = Spread{{loc, 0}}
			}
		}
		if visiting != nil {
			visited, idle = true, visiting
		}
		list = append(list, idle...)
	}
	if !visited {
		return nil
	}
	return list.sort()
}

// sort sorts the times in ascending order, and returns them.
func (s Spread) sort() Spread {
	slices.SortFunc(s, func(a, b LocationTime) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Location, b.Location))
	})
	return s
}

// Mean returns the mean of the times, or 0 for an empty list.
func (s Spread) Mean() float64 {
	sum := 0.0
	for _, t := range s {
		sum += float64(t.Time)
	}
	return sum / float64(max(1, len(s)))
}

// Slowest returns the locations that are clearly slower than the others, or none. These are at most half of
// all locations. The gap between both groups is at least twice as large as the differences within each group, and more
// than LeastShare of the greatest time of the others.
func (s Spread) Slowest() (slow Spread) {
	widest := int64(0)
	for i := (len(s) + 1) / 2; i < len(s); i++ {
		gap := s[i].Time - s[i-1].Time
		apart := float64(gap) > LeastShare*float64(s[i-1].Time) &&
			gap/2 >= max(s[i-1].Time-s[0].Time, s[len(s)-1].Time-s[i].Time)
		if apart && gap > widest {
			widest, slow = gap, s[i:]
		}
	}
	return slow
}

// Split returns the times of the locations of a list, and those of the others.
func (s Spread) Split(list []uint32) (inside, others Spread) {
	for _, t := range s {
		if slices.Contains(list, t.Location) {
			inside = append(inside, t)
		} else {
			others = append(others, t)
		}
	}
	return inside, others
}

// Locations returns the locations of a list.
func (s Spread) Locations() (list []uint32) {
	for _, t := range s {
		list = append(list, t.Location)
	}
	return list
}

// shorteningFactor returns the factor by which time must be multiplied to get wanted, but at most 1.
func shorteningFactor(wanted, time float64) float64 {
	if time <= wanted || time == 0 {
		return 1
	}
	return wanted / time
}

// Start returns the time in ticks between the first event of the trace and that of a location. It is 0 for a thread
// that another one creates, or lets work in teams: the other one determines when the thread begins.
func (x *Times) Start(loc uint32) int64 {
	if int64(loc) >= int64(len(x.h.Locations)) || x.h.Locations[loc] == nil {
		return 0
	}
	l := x.h.Locations[loc]
	if later := int64(loc) < int64(len(x.later)) && x.later[loc]; l.Created || later && l.InTeams {
		return 0
	}
	return l.First - x.h.Log.First
}

// Communicates reports whether a path ends in a call of a communication library, or inside of one.
func (x *Times) Communicates(path uint32) bool {
	return path != synclog.NoPath && x.communicating[path]
}

// communicatingPaths returns, for each call path of a log, whether it ends in a call of a communication library, or
// inside of one.
func communicatingPaths(log *synclog.Log) []bool {
	list := make([]bool, len(log.Paths))
	for i, p := range log.Paths { // a path follows the path above it
		list[i] = log.Communicates(uint32(i)) || p.Parent != synclog.NoPath && list[p.Parent]
	}
	return list
}

// Synchronises reports whether a path ends in or inside of a call of a communication library, or in a barrier of
// threads. Threads may wait for work in a barrier of their runtime system.
func (x *Times) Synchronises(path uint32) bool {
	if path == synclog.NoPath {
		return false
	}
	role := x.h.Log.Role(path)
	return role >= trace.SendRole && role <= trace.CommunicationRole || x.Communicates(path)
}
