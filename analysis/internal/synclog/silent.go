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
	// Unended is set if other visits of the region have events. Then only the visits that go on after the end of the
	// trace, or of the piece of a trace, are counted.
	Unended bool
}

// silentVisits counts the visits of a region without events, if calls of the region may wait. marked is set as soon as
// a visit has an event. unended counts the visits that go on after the end of the trace.
type silentVisits struct {
	marked       bool
	all, unended visitSum
}

// visitSum is a number of visits with their time in ticks.
type visitSum struct {
	visits int64
	time   trace.Ticks
}

// add adds a visit.
func (s *visitSum) add(time int64) {
	s.visits++
	s.time.Add(time)
}

// groupCalls lists the prefixes of the names of further calls of MPI in which the members of a group wait for each
// other.
var groupCalls = []string{"comm_create", "comm_dup", "comm_split", "cart_create", "cart_sub", "graph_create",
	"dist_graph_create", "intercomm_create", "intercomm_merge"}

// accessCalls lists the names of the calls of MPI that access the memory of another location, or complete accesses.
var accessCalls = map[string]bool{"put": true, "get": true, "accumulate": true, "get_accumulate": true,
	"fetch_and_op": true, "compare_and_swap": true, "rput": true, "rget": true, "raccumulate": true,
	"rget_accumulate": true, "win_flush": true, "win_flush_all": true, "win_flush_local": true,
	"win_flush_local_all": true}

// mayWait reports whether a call with a role may wait for other locations, and recorders usually write events in it.
// name is the result of mpiCall.
func mayWait(role trace.Role, name string) bool {
	switch role {
	case trace.SendRole, trace.ReceiveRole, trace.ProbeRole, trace.CompletionRole, trace.MessageRole:
		return true
	case trace.BarrierRole:
		return name == "barrier"
	}
	return role.IsCollective() || accessCalls[name] || slices.ContainsFunc(groupCalls,
		func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// join adds the visits of another sum.
func (s *visitSum) join(x visitSum) {
	s.visits += x.visits
	s.time = s.time.Plus(x.time)
}

// countSilent counts the visit of a call that ends at time t if the call has no events. If the call has events,
// countSilent marks its region as one with events.
func (w *worker) countSilent(l *lane, c *openCall, t int64) {
	if !c.kind.waits && !c.unended && !c.locks || c.outside {
		return
	}
	region := w.nodes[c.node].region
	if int64(region) >= int64(len(w.silences)) {
		w.silences = append(w.silences, make([]silentVisits, len(w.kinds)-len(w.silences))...)
	}
	s := &w.silences[region]
	known := c.points > 0 || c.locks || c.identified
	if known {
		s.marked = true
	}
	if !w.window.Has(c.enter) {
		return
	}
	time := w.window.Clip(t) - c.enter
	if c.begun > 0 {
		l.addUnended(c.node, time)
	}
	if known && !c.unended || c.points > 0 || c.locks {
		return
	}
	if w.kind(region).waits {
		s.all.add(time)
	}
	// Barriers of a team are incomplete without this call, and an operation without an end is counted by itself.
	barrier := w.ends != trace.NoRef && IsBarrier(c.kind.role) && !l.inKnownTeam()
	if c.unended && c.begun == 0 && time > 0 && (c.kind.waits || w.acquires(region) || barrier) {
		s.unended.add(time)
		l.addUnended(c.node, time)
	}
}

// acquires reports whether a region is a call that may wait for a lock or a condition.
func (w *worker) acquires(region uint32) bool {
	k := w.kind(region)
	name := strings.ToLower(w.defs.Regions.At(region).Name)
	return (k.role == trace.LockRole || k.role == trace.ConditionRole) && k.lock != releases &&
		!strings.Contains(name, "unlock") && !strings.Contains(name, "unset")
}

// addUnended adds a call whose end is unknown.
func (l *lane) addUnended(node int32, time int64) {
	if l.unended == nil {
		l.unended = map[int32]int64{}
	}
	l.unended[node] += time
}

// attribute returns the index of the attribute with a name, or trace.NoRef.
func attribute(d *trace.Definitions, name string) uint32 {
	for i, a := range d.Attributes.All() {
		if a.Name == name {
			return uint32(i)
		}
	}
	return trace.NoRef
}

// hasAttribute reports whether the current row of the batch has an attribute.
func (w *worker) hasAttribute(key uint32) bool {
	b, row := w.batch, uint32(w.row)
	for i := w.firstAttribute(); i < len(b.AttrRow) && b.AttrRow[i] == row; i++ {
		if b.AttrKey[i] == key {
			return true
		}
	}
	return false
}

// EachUnended calls f with the time of the calls in which a blocking collective operation began that has no end, and of
// the calls without events that go on after the end of the trace, by path and location.
func (l *Log) EachUnended(f func(path, location uint32, time int64)) {
	for _, x := range l.lanes {
		for node, t := range x.unended {
			f(x.worker.places[node], x.loc, t)
		}
	}
}

// joinSilent sets Silent and Unended.
func (l *Log) joinSilent(workers []*worker) {
	sums := map[uint32]*silentVisits{}
	for _, w := range workers {
		for i, s := range w.silences {
			sum := sums[uint32(i)]
			if sum == nil {
				sum = &silentVisits{}
				sums[uint32(i)] = sum
			}
			sum.marked = sum.marked || s.marked
			sum.all.join(s.all)
			sum.unended.join(s.unended)
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
		section := kindOf(l.Defs, region).lock == section // without events, the sections themselves are judged
		switch {
		case !s.marked && s.all.visits > 0:
			l.Silent = append(l.Silent, SilentRegion{region, s.all.visits, s.all.time, false})
		case s.unended.visits > 0 && (s.marked || !section):
			l.Silent = append(l.Silent, SilentRegion{region, s.unended.visits, s.unended.time, true})
		}
	}
	slices.SortFunc(l.Silent, func(a, b SilentRegion) int {
		return cmp.Or(cmp.Compare(l.Defs.Regions.At(a.Region).Name, l.Defs.Regions.At(b.Region).Name),
			cmp.Compare(a.Region, b.Region))
	})
}
