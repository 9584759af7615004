package synclog

import (
	"cmp"
	"slices"
	"strings"

	"github.com/weft-trace/weft/trace"
)

// SilentRegion counts the visits of a region without events.
type SilentRegion struct {
	Region uint32 // the row of the region
	Visits int64  // number of visits that begin in the window
	Time   trace.Ticks
}

// silentVisits counts the visits of a region without events, if calls of the region may wait. marked is set as soon as
// a visit has an event.
type silentVisits struct {
	marked bool
	visits int64
	time   trace.Ticks
}

// groupCalls lists the prefixes of the names of further calls of MPI in which the members of a group wait for each
// other.
var groupCalls = []string{"comm_create", "comm_dup", "comm_split", "cart_create", "cart_sub", "graph_create",
	"dist_graph_create", "intercomm_create", "intercomm_merge"}

// mayWait reports whether a call with a role may wait for other locations, and recorders usually write events in it.
// name is the result of mpiCall.
func mayWait(role trace.Role, name string) bool {
	switch role {
	case trace.SendRole, trace.ReceiveRole, trace.ProbeRole, trace.CompletionRole, trace.MessageRole:
		return true
	case trace.BarrierRole:
		return name == "barrier"
	}
	return role.IsCollective() || slices.ContainsFunc(groupCalls,
		func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// countSilent counts the visit of a call that ends at time t if the call has no events. If the call has events,
// countSilent marks its region as one with events.
func (w *worker) countSilent(c *openCall, t int64) {
	region := w.nodes[c.node].region
	if int64(region) >= int64(len(w.silences)) {
		w.silences = append(w.silences, make([]silentVisits, len(w.kinds)-len(w.silences))...)
	}
	s := &w.silences[region]
	if c.points > 0 {
		s.marked = true
	} else if w.window.Has(c.enter) {
		s.visits++
		s.time.Add(w.window.Clip(t) - c.enter)
	}
}

// EachUnended calls f with the time of the calls in which a blocking collective operation began that has no end, by
// path and location.
func (l *Log) EachUnended(f func(path, location uint32, time int64)) {
	for _, x := range l.lanes {
		for node, t := range x.unended {
			f(x.worker.places[node], x.loc, t)
		}
	}
}

// joinSilent sets Silent and Unended.
func (l *Log) joinSilent(workers []*worker) {
	marked := map[uint32]bool{}
	sums := map[uint32]*SilentRegion{}
	for _, w := range workers {
		for i, s := range w.silences {
			region := uint32(i)
			marked[region] = marked[region] || s.marked
			if s.visits == 0 {
				continue
			}
			if sums[region] == nil {
				sums[region] = &SilentRegion{Region: region}
			}
			sums[region].Visits += s.visits
			sums[region].Time = sums[region].Time.Plus(s.time)
		}
		for _, x := range w.lanes {
			if x == nil {
				continue
			}
			for c := range x.collectives.All {
				if w.window.Has(c.time) {
					l.Unended++
				}
			}
		}
	}
	for region, s := range sums {
		if !marked[region] {
			l.Silent = append(l.Silent, *s)
		}
	}
	slices.SortFunc(l.Silent, func(a, b SilentRegion) int {
		return cmp.Or(cmp.Compare(l.Defs.Regions.At(a.Region).Name, l.Defs.Regions.At(b.Region).Name),
			cmp.Compare(a.Region, b.Region))
	})
}
