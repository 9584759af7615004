package efficiency

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/weft-trace/weft/analysis"
	"github.com/weft-trace/weft/analysis/internal/history"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// Counters holds the growth of the counters of instructions and of cycles in the useful time of all threads. A value is
// 0 if the trace does not have the counter.
type Counters struct {
	Instructions float64 `json:"instructions,omitempty"`
	Cycles       float64 `json:"cycles,omitempty"`
}

// counterNames holds the names of the counters of instructions and of cycles, in lower case.
var counterNames = [2][]string{
	{"papi_tot_ins", "instructions", "perf_count_hw_instructions"},
	{"papi_tot_cyc", "cycles", "cpu-cycles", "perf_count_hw_cpu_cycles"},
}

// counterOf returns the index in counterNames of the counter that a metric is. ok is false for other metrics.
func counterOf(m *trace.MetricDef) (i int, ok bool) {
	name := strings.ToLower(m.Name)
	name = name[strings.LastIndexByte(name, ':')+1:]
	i = slices.IndexFunc(counterNames[:], func(names []string) bool { return slices.Contains(names, name) })
	return i, i >= 0 && (trace.Accumulates(m.Mode) || growths(m.Mode))
}

// growths reports whether the values of a counter with this mode are amounts since the previous value.
func growths(mode string) bool {
	return mode == "RELATIVE_LAST" || mode == "ACC/LAST"
}

// HasCounters reports whether a trace has counters of both instructions and cycles.
func HasCounters(d *trace.Definitions) bool {
	var has [2]bool
	for _, m := range d.Metrics.All() {
		if i, ok := counterOf(&m); ok {
			has[i] = true
		}
	}
	return has[0] && has[1]
}

// counterPart sums the counters of some locations.
type counterPart struct {
	defs    *trace.Definitions
	kinds   []kind // indexed by region
	sleeps  []bool // indexed by location: time outside of all regions is not useful
	skipped []bool // indexed by location: streams of devices
	lanes   []*counterLane
}

// counterLane is the state of a location. Times are in ticks.
type counterLane struct {
	location uint32
	stack    []uint32 // open regions
	mpi      int      // number of open regions of communication libraries
	now      int64    // time of the latest event
	counters [2]counterState
}

// counterState is the state of a counter at a location.
type counterState struct {
	any    bool
	last   trace.Value
	since  int64 // time of the last value in ticks
	useful int64 // useful time since then
	sum    float64
}

// findCounters sums the counters of a trace, or returns nil if the trace has no such counters.
func findCounters(ctx context.Context, events format.Events, h *history.History) (*Counters, error) {
	d := events.Defs()
	if !slices.ContainsFunc(d.Metrics.All(), func(m trace.MetricDef) bool { _, ok := counterOf(&m); return ok }) {
		return nil, nil
	}
	kinds := make([]kind, d.Regions.Len())
	for i := range kinds {
		kinds[i] = kindOf(d, uint32(i), d.RoleOf(uint32(i)), d.Communicates(uint32(i)))
	}
	later, sleeps, skipped := map[uint32]bool{}, make([]bool, d.Locations.Len()), make([]bool, d.Locations.Len())
	for i, l := range d.Locations.All() {
		skipped[i] = !l.Kind.IsProcessor() || l.Kind == trace.StreamLocation
		if !skipped[i] && i < len(h.Locations) && h.Locations[i] != nil && d.Groups.Has(l.Group) {
			sleeps[i] = later[l.Group] && h.Locations[i].InTeams
			later[l.Group] = true
		}
	}
	p, err := analysis.Run(ctx, events, trace.Everything(), func() *counterPart {
		return &counterPart{defs: d, kinds: kinds, sleeps: sleeps, skipped: skipped}
	})
	if err != nil {
		return nil, err
	}
	c := &Counters{}
	for _, l := range p.lanes {
		if l != nil {
			c.Instructions += l.counters[0].sum
			c.Cycles += l.counters[1].sum
		}
	}
	if c.Instructions <= 0 && c.Cycles <= 0 {
		return nil, nil
	}
	return c, nil
}

// Links ignores links.
func (p *counterPart) Links([]trace.Link) error { return nil }

// Batch processes a batch of events.
func (p *counterPart) Batch(b *trace.Batch) error {
	c := b.Cursor()
	for c.Next() {
		k, loc := c.Kind(), c.Location()
		if !k.IsEvent() || int64(loc) >= int64(len(p.skipped)) || p.skipped[loc] {
			continue
		}
		for int(loc) >= len(p.lanes) {
			p.lanes = append(p.lanes, nil)
		}
		l := p.lanes[loc]
		if l == nil {
			l = &counterLane{location: loc, now: c.Time()}
			p.lanes[loc] = l
		}
		if p.useful(l) {
			for i := range l.counters {
				l.counters[i].useful += c.Time() - l.now
			}
		}
		l.now = c.Time()
		switch {
		case k == trace.Enter:
			l.stack = append(l.stack, c.Ref())
			if p.kind(c.Ref()) == mpiTime {
				l.mpi++
			}
		case k == trace.Leave:
			if n := lastIndex(l.stack, c.Ref()); n >= 0 {
				l.stack = slices.Delete(l.stack, n, n+1)
				if p.kind(c.Ref()) == mpiTime {
					l.mpi--
				}
			}
		case k == trace.Metric && p.defs.Metrics.Has(c.Ref()):
			m := p.defs.Metrics.At(c.Ref())
			if i, ok := counterOf(m); ok {
				l.counters[i].add(l.now, trace.Value{Num: c.Op(0), Type: m.Type}, growths(m.Mode), p.useful(l))
			}
		}
	}
	return nil
}

// add adds a value at time t. The growth since the previous value belongs to the useful time by its share of the time.
func (s *counterState) add(t int64, v trace.Value, growth, useful bool) {
	if s.any {
		amount, share := difference(s.last, v), 0.0
		if growth {
			amount = difference(trace.Value{Type: v.Type}, v)
		}
		if t > s.since {
			share = float64(s.useful) / float64(t-s.since)
		} else if useful {
			share = 1
		}
		if amount = math.Max(0, amount); !math.IsInf(amount, 0) {
			s.sum += amount * share
		}
	}
	s.any, s.last, s.since, s.useful = true, v, t, 0
}

// difference returns b - a.
func difference(a, b trace.Value) float64 {
	if b.Type == trace.Float32 || b.Type == trace.Float64 {
		return b.Float() - a.Float()
	}
	return float64(int64(b.Num - a.Num))
}

// useful reports whether the present time of a location is useful.
func (p *counterPart) useful(l *counterLane) bool {
	n := len(l.stack)
	switch {
	case l.mpi > 0:
		return false
	case n == 0:
		return !p.sleeps[l.location]
	}
	return p.kind(l.stack[n-1]) == usefulTime
}

func (p *counterPart) kind(region uint32) kind {
	if int64(region) < int64(len(p.kinds)) {
		return p.kinds[region]
	}
	return usefulTime
}

// lastIndex returns the index of the last element of a list that equals x, or -1.
func lastIndex(list []uint32, x uint32) int {
	n := len(list) - 1
	for n >= 0 && list[n] != x {
		n--
	}
	return n
}

// Merge adds the locations of another part.
func (p *counterPart) Merge(o *counterPart) error {
	var err error
	p.lanes, err = analysis.Join("efficiency", p.lanes, o.lanes)
	return err
}

// complete reports whether the counters of both instructions and cycles are known.
func (c *Counters) complete() bool { return c != nil && c.Instructions > 0 && c.Cycles > 0 }
