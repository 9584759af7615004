package explain

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/weft-trace/weft/analysis/internal/history"
	"github.com/weft-trace/weft/analysis/internal/retime"
	"github.com/weft-trace/weft/analysis/internal/synclog"
	"github.com/weft-trace/weft/analysis/internal/waitstate"
	"github.com/weft-trace/weft/trace"
)

// delay holds the waiting time that a call path causes at other locations.
type delay struct {
	path      uint32
	names     []string
	cost      float64
	locations map[uint32]float64
	patterns  map[string]float64
}

// delays sums up the costs of all patterns by call path, the greatest first.
func (x *explainer) delays() []*delay {
	byPath := map[uint32]*delay{}
	for _, p := range x.causes.Patterns {
		for _, c := range p.Costs {
			d := byPath[c.Number]
			if d == nil {
				d = &delay{path: c.Number, names: c.Path, locations: map[uint32]float64{}, patterns: map[string]float64{}}
				byPath[c.Number] = d
			}
			cost := c.ShortTerm + c.LongTerm
			d.cost += cost
			d.locations[c.Location] += cost
			d.patterns[p.Pattern] += cost
		}
	}
	list := make([]*delay, 0, len(byPath))
	for _, d := range byPath {
		list = append(list, d)
	}
	slices.SortFunc(list, func(a, b *delay) int {
		return cmp.Or(cmp.Compare(b.cost, a.cost), cmp.Compare(a.path, b.path))
	})
	return list
}

// greatest returns the keys of a map by descending value.
func greatest[K cmp.Ordered](m map[K]float64) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b K) int { return cmp.Or(cmp.Compare(m[b], m[a]), cmp.Compare(a, b)) })
	return keys
}

// late finds call paths in which locations are late, so that others wait.
func (x *explainer) late(ctx context.Context) {
	for _, d := range x.delays() {
		if d.cost < least*x.core || ctx.Err() != nil {
			return
		}
		path := d.path
		if x.communicates(path) {
			continue // the finding about transfer has it
		}
		late := greatest(d.locations)
		f := Finding{ID: "late", Loss: d.cost, Path: d.names, Evidence: []string{}}
		f.At = late[:min(3, len(late))]
		for _, loc := range f.At {
			f.Locations = append(f.Locations, x.location(loc))
		}
		region := "The time outside of all regions"
		if n := len(d.names); n > 0 {
			region = d.names[n-1]
		}
		alone := d.locations[late[0]] > straggler*d.cost
		mean, others := x.means(path, late[0])
		switch {
		case d.patterns[waitstate.LockContention.String()] > straggler*d.cost:
			f.ID = "lock"
			f.Title = "A lock is held in " + region + " while others wait for it"
			f.Advice = "Do less while the lock is held, or divide what it protects among several locks."
			f.Gain = x.gain(retime.Options{Transfer: 1, WithoutLocks: true})
		case alone:
			f.Title = fmt.Sprintf("%s takes longer at %s than elsewhere, and others wait for it", region, x.location(late[0]))
			f.Locations, f.At = f.Locations[:1], f.At[:1]
			f.Advice = "Look at what this location does there that others do not: its data, its node, or work that only it has."
			f.Gain = x.gain(retime.Options{Transfer: 1, At: func(p, loc uint32) float64 {
				if p == path && loc == late[0] {
					return ratio(others, float64(x.own[history.PathLocation{Path: p, Location: loc}]))
				}
				return 1
			}})
			f.Evidence = append(f.Evidence, fmt.Sprintf("%s there, %s in the mean of the others",
				x.duration(float64(x.own[history.PathLocation{Path: path, Location: late[0]}])), x.duration(others)))
		default:
			f.Title = region + " takes longer at some locations than at others, and they wait for each other"
			f.Advice = "Divide its work more evenly, or let locations go on without waiting for each other."
			f.Gain = x.gain(retime.Options{Transfer: 1, At: func(p, loc uint32) float64 {
				if p == path {
					return ratio(mean, float64(x.own[history.PathLocation{Path: p, Location: loc}]))
				}
				return 1
			}})
			most := int64(0)
			for s, t := range x.own {
				if s.Path == path {
					most = max(most, t)
				}
			}
			f.Evidence = append(f.Evidence, fmt.Sprintf("at most %s at a location, %s in the mean", x.duration(float64(most)),
				x.duration(mean)))
		}
		for _, p := range greatest(d.patterns)[:min(3, len(d.patterns))] {
			f.Evidence = append(f.Evidence, fmt.Sprintf("%s of %s", x.duration(d.patterns[p]), p))
		}
		x.add(f)
	}
}

// ratio returns the factor that makes a longer time as long as another one.
func ratio(wanted, time float64) float64 {
	if time <= wanted || time == 0 {
		return 1
	}
	return wanted / time
}

// means returns the mean time of a path at the locations that have processes' work, and that of all
// but one.
func (x *explainer) means(path, without uint32) (mean, others float64) {
	sum, n := 0.0, 0.0
	for _, loc := range x.h.Log.Locations() {
		if d := x.h.Log.Defs; d.Locations.Has(loc) && !d.Locations.At(loc).Kind.IsProcessor() {
			continue
		}
		sum += float64(x.own[history.PathLocation{Path: path, Location: loc}])
		n++
	}
	if n < 2 {
		return sum, sum
	}
	return sum / n, (sum - float64(x.own[history.PathLocation{Path: path, Location: without}])) / (n - 1)
}

func (x *explainer) location(loc uint32) string {
	if int64(loc) < int64(len(x.names)) {
		return x.names[loc]
	}
	return "unknown"
}

// communicates reports whether a path ends in a call of a communication library.
func (x *explainer) communicates(path uint32) bool {
	if path == synclog.NoPath {
		return false
	}
	role := x.h.Log.Defs.RoleOf(x.h.Log.Paths[path].Region)
	return role >= trace.SendRole && role <= trace.CommunicationRole
}

// beginsOrEnds reports whether a path ends in the call that begins or ends MPI.
func (x *explainer) beginsOrEnds(path uint32) bool {
	return path != synclog.NoPath && synclog.BeginsOrEndsMPI(x.h.Log.Defs, x.h.Log.Paths[path].Region)
}

// communication sums up the time of calls of communication libraries, waits left out: that of
// beginning and ending MPI, and that of all others.
func (x *explainer) communication() (startup, other float64) {
	for s, t := range x.own {
		switch {
		case !x.communicates(s.Path):
		case x.beginsOrEnds(s.Path):
			startup += float64(t)
		default:
			other += float64(t)
		}
	}
	return startup, other
}

// transfer finds the time that communication takes itself.
func (x *explainer) transfer(context.Context) {
	_, loss := x.communication()
	if loss < least*x.core {
		return
	}
	x.add(Finding{ID: "transfer", Title: "Communication itself takes " + percent(loss/x.core) +
		" of the time, waits left out",
		Loss: loss, Gain: x.gain(retime.Options{Transfer: 1, Scale: func(path uint32) float64 {
			if x.communicates(path) && !x.beginsOrEnds(path) {
				return 0
			}
			return 1
		}}),
		Evidence: []string{fmt.Sprintf("%s in calls of communication libraries", x.duration(loss))},
		Advice: "Send fewer or larger messages, or compute while they are on their way. weft comm shows sizes and " +
			"latencies."})
}

// startup finds the time that begins and ends MPI.
func (x *explainer) startup(context.Context) {
	loss, _ := x.communication()
	if loss < 0.1*x.core {
		return
	}
	x.add(Finding{ID: "startup", Title: "MPI_Init and MPI_Finalize take " + percent(loss/x.core) + " of the time",
		Loss:     loss,
		Gain:     int64(loss / float64(max(1, x.page.Ran.Threads))),
		Evidence: []string{fmt.Sprintf("%s in both", x.duration(loss))},
		Advice:   "Trace a longer run, or a window of it, to judge the rest."})
}

// serial finds the time in which one thread of a process works alone.
func (x *explainer) serial(context.Context) {
	e := x.page.Efficiency
	if e.Hybrid == nil {
		return
	}
	loss := (1 - e.Hybrid.SerialRegion) * x.core
	threads := float64(e.Threads) / float64(max(1, e.Processes))
	x.add(Finding{ID: "serial", Title: "One thread of a process works alone for " + percent(1-e.Hybrid.SerialRegion) +
		" of the time of all " +
		"threads", Loss: loss, Gain: int64(loss / x.core * float64(x.page.Ran.Runtime) * (threads - 1) / threads),
		Evidence: []string{fmt.Sprintf("the factor of serial regions is %.2f", e.Hybrid.SerialRegion)},
		Advice:   "Let the other threads take part in what lies between the parallel regions."})
}

// wrongOrder finds receives in another order than that of the sends.
func (x *explainer) wrongOrder(context.Context) {
	var all, wrong trace.Ticks
	for _, p := range x.waits.Patterns {
		switch p.Pattern {
		case waitstate.LateSender.String():
			all = p.Time
		case waitstate.WrongOrder.String():
			wrong = p.Time
		}
	}
	if wrong.Float() < 0.25*all.Float() {
		return
	}
	x.add(Finding{ID: "wrong-order", Title: "Messages are received in another order than they are sent",
		Loss: wrong.Float(),
		Evidence: []string{fmt.Sprintf("%s of the %s that wait for late senders", x.duration(wrong.Float()),
			x.duration(all.Float()))},
		Advice: "Receive in the order of arrival: MPI_ANY_SOURCE, or MPI_Waitany on posted receives."})
}
