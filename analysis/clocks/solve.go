package clocks

import (
	"context"
	"fmt"
	"math"
	"math/bits"

	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/transform"
)

// Result is the result of the analysis.
type Result struct {
	// Clock is the clock of all times. Its ticks are those of the trace.
	Clock trace.Clock `json:"clock"`
	Model string      `json:"model"`
	// Latency is Options.Latency in ticks: a receive less than Latency after its send is a violation.
	Latency     int64 `json:"latency"`
	Messages    int64 `json:"messages"`    // those with a send and a receive
	Collectives int64 `json:"collectives"` // collective operations that constrain clocks
	// Before, Linear and After are the violations in the trace, after the linear correction, and after
	// the whole correction.
	Before Violations `json:"before"`
	Linear Violations `json:"linear"`
	After  Violations `json:"after"`
	// Contradictions are constraints that no clock can meet, because they depend on themselves. They
	// are ignored, and may remain violated. Their Worst is 0.
	Contradictions Violations `json:"contradictions"`
	// Amortised reports whether a linear correction was not enough, so that times were moved
	// individually. Moved is the greatest such move in ticks.
	Amortised bool  `json:"amortised"`
	Moved     int64 `json:"moved"`
	// Shift is the number of ticks by which all corrected clocks were moved later, so that no time is
	// negative if the trace has no negative times.
	Shift  int64   `json:"shift"`
	Clocks []Clock `json:"clocks"` // in the order of their first locations
	// Untied is the number of clocks that are not tied to the reference. They keep their times, or
	// agree only with the other clocks that they are tied to.
	Untied int64 `json:"untied"`
	// Correction has a curve for each location whose times change.
	Correction *transform.Correction `json:"-"`
}

// Violations counts messages that are received too early and collective operations that a member
// leaves too early. Worst is the greatest violation in ticks.
type Violations struct {
	Messages    int64 `json:"messages"`
	Collectives int64 `json:"collectives"`
	Worst       int64 `json:"worst"`
}

// Any reports whether there is a violation.
func (v Violations) Any() bool { return v.Messages+v.Collectives > 0 }

// Clock is a clock and its linear correction.
type Clock struct {
	Name      string   `json:"name"`      // name of its group or location
	Locations []string `json:"locations"` // the file's own ids
	// Reference is the clock that offset and drift refer to, as an index into the clocks. It is the
	// clock itself if it is the first of those that are tied to each other.
	Reference int `json:"reference"`
	// Offset is the number of ticks by which the linear correction moves the clock's first event
	// later, without Result.Shift. OffsetSeconds is the same in seconds.
	Offset        int64   `json:"offset"`
	OffsetSeconds float64 `json:"offsetSeconds"`
	// Drift is how much faster the clock must run, in parts per million.
	Drift float64 `json:"driftPPM"`
	// Constraints is the number of sends and receives of messages to and from other clocks, and of
	// collective operations in which the clock takes part.
	Constraints int64 `json:"constraints"`
	// Moved is the greatest distance by which amortisation moved one of its times, in ticks.
	Moved int64 `json:"moved"`
}

// maxAddedRounds is the number of times that the linear correction is computed again with violated
// bounds of operations of many members.
const maxAddedRounds = 6

// Solve computes the correction. The part must not be used afterwards. An error is that of the
// options or the context, or [ErrFar].
func (p *Part) Solve(ctx context.Context) (*Result, error) {
	if p.opt.Latency < 0 || p.opt.Latency > MaxLatency {
		return nil, fmt.Errorf("clocks: found a latency of %d ticks, expected 0 to %d", p.opt.Latency, MaxLatency)
	}
	q, err := p.problem()
	if err != nil {
		return nil, err
	}
	o, err := q.sort(ctx)
	if err != nil {
		return nil, err
	}
	reference := int32(0)
	if int(p.opt.Reference) < len(q.clockOf) && q.clockOf[p.opt.Reference] != none {
		reference = q.clockOf[p.opt.Reference]
	}
	r := &Result{Clock: p.defs.Clock, Model: p.opt.Model.String(), Latency: p.opt.Latency,
		Messages: int64(len(q.messages) + len(q.inside)), Collectives: int64(len(q.groups)),
		Correction: &transform.Correction{Clock: p.defs.Clock, Locations: map[string]transform.Curve{}}}
	r.Contradictions = q.contradictions()
	r.Before, _ = q.violations(q.times)
	e := newEstimate(q, p.opt, reference)
	var linear []int64
	for round := 0; ; round++ {
		if err := e.solve(ctx); err != nil {
			return nil, err
		}
		r.Shift = e.shift()
		linear = e.times()
		if round == maxAddedRounds || !e.more(linear) {
			break
		}
	}
	var useful bool
	r.Linear, useful = q.violations(linear)
	times := linear
	if p.opt.Model == Full && useful {
		times = q.amortise(o, linear)
		r.Amortised = true
	}
	if err := p.result(r, q, e, linear, times); err != nil {
		return nil, err
	}
	return r, nil
}

// result sets the fields about the clocks, and the correction.
func (p *Part) result(r *Result, q *problem, e *estimate, linear, times []int64) error {
	// The times that the curves produce are the ones that count.
	final := make([]int64, len(times))
	r.Clocks = make([]Clock, len(q.clocks))
	tied := map[int32]int32{} // the first clock of each component
	for _, l := range e.byComponent() {
		for _, c := range l {
			tied[c] = l[0]
		}
	}
	for c := range q.clocks {
		x, l := &q.clocks[c], &e.lines[c]
		y := &r.Clocks[c]
		*y = Clock{Name: p.name(x), Reference: int(tied[int32(c)]), Constraints: x.ties, Drift: l.drift * 1e6}
		y.Offset = linear[x.from] - q.times[x.from] - l.shift
		y.OffsetSeconds = r.Clock.Float(y.Offset)
		if tied[int32(c)] != tied[e.reference] {
			r.Untied++
		}
		for v := x.from; v < x.to; v++ {
			y.Moved = max(y.Moved, times[v]-linear[v])
		}
		r.Moved = max(r.Moved, y.Moved)
		curve := l.curve(q.times[x.from], q.times[x.to-1])
		if r.Amortised {
			curve = fitCurve(q.times[x.from:x.to], times[x.from:x.to])
		}
		for i := range curve {
			t := &curve[i]
			if t.True > 0 && q.origin > math.MaxInt64-t.True || t.True < 0 && q.origin < math.MinInt64-t.True {
				return ErrFar
			}
			t.Read, t.True = t.Read+q.origin, t.True+q.origin
		}
		if err := curve.Check(); err != nil {
			return fmt.Errorf("clocks: %w", err)
		}
		for v := x.from; v < x.to; v++ {
			final[v] = curve.At(q.times[v]+q.origin) - q.origin
		}
		for _, loc := range x.locations {
			id := p.defs.Locations.At(loc).ID
			y.Locations = append(y.Locations, id)
			if len(curve) > 0 {
				r.Correction.Locations[id] = curve
			}
		}
	}
	var useful bool
	if r.After, useful = q.violations(final); useful && r.Amortised {
		return fmt.Errorf("clocks: found violations of %d messages and %d collective operations after correction, expected "+
			"none", r.After.Messages, r.After.Collectives)
	}
	return nil
}

func (p *Part) name(c *clock) string {
	loc := c.locations[0]
	k := p.keyOf(loc)
	if k < 0 {
		return p.defs.Locations.At(loc).Label()
	}
	g := p.defs.Groups.At(uint32(k))
	if g.Name != "" {
		return g.Name
	}
	return g.ID
}

// contradictions counts the ignored constraints.
func (q *problem) contradictions() Violations {
	var v Violations
	for _, l := range [][]edge{q.messages, q.inside} {
		for _, m := range l {
			if m.ignored {
				v.Messages++
			}
		}
	}
	for _, g := range q.groups {
		if g.ignored {
			v.Collectives++
		}
	}
	return v
}

// violations counts the violated constraints if nodes have the given times. useful reports whether
// any constraint is no contradiction.
func (q *problem) violations(times []int64) (v Violations, useful bool) {
	for _, m := range q.messages {
		if early := times[m.from] + q.latency - times[m.to]; early > 0 {
			v.Messages++
			v.Worst = max(v.Worst, early)
			useful = useful || !m.ignored
		}
	}
	for _, m := range q.inside {
		if early := times[m.from] - times[m.to]; early > 0 {
			v.Messages++
			v.Worst = max(v.Worst, early)
		}
	}
	for i := range q.groups {
		g := &q.groups[i]
		u, w := g.critical(times)
		if early := times[u] - times[w]; early > 0 {
			v.Collectives++
			v.Worst = max(v.Worst, early)
			useful = useful || !g.ignored
		}
	}
	return v, useful
}

// critical returns the latest begin and the earliest end.
func (g *group) critical(times []int64) (from, to int32) {
	from, to = g.from[0], g.to[0]
	for _, v := range g.from {
		if times[v] > times[from] {
			from = v
		}
	}
	for _, v := range g.to {
		if times[v] < times[to] {
			to = v
		}
	}
	return from, to
}

// more adds violated bounds of operations. It reports whether there are any.
func (e *estimate) more(times []int64) bool {
	before := len(e.bounds)
	for i := range e.q.groups {
		g := &e.q.groups[i]
		if g.ignored || len(g.from)*len(g.to) <= fewPairs {
			continue
		}
		if u, v := g.critical(times); times[u] > times[v] {
			e.add(u, v, 0)
		}
	}
	return len(e.bounds) > before
}

// shift moves corrected clocks later if a time would otherwise become negative.
func (e *estimate) shift() int64 {
	then := int64(math.MaxInt64)
	for c := range e.lines {
		then = min(then, e.lines[c].at(e.q.times[e.q.clocks[c].from]))
	}
	// The first event of the trace is at the origin.
	if len(e.lines) == 0 || e.q.origin < 0 || then >= -e.q.origin {
		return 0
	}
	then += e.q.origin
	for _, l := range e.byComponent() {
		if len(l) > 1 && e.changed(l) {
			for _, c := range l {
				e.lines[c].shift = -then
			}
		}
	}
	return -then
}

// changed reports whether any of the clocks is corrected.
func (e *estimate) changed(clocks []int32) bool {
	for _, c := range clocks {
		if l := &e.lines[c]; float64(l.base)+l.offset != 0 || l.drift != 0 {
			return true
		}
	}
	return false
}

// times returns the times of the nodes after the linear correction.
func (e *estimate) times() []int64 {
	out := make([]int64, len(e.q.times))
	for c := range e.q.clocks {
		x := &e.q.clocks[c]
		curve := e.lines[c].curve(e.q.times[x.from], e.q.times[x.to-1])
		for v := x.from; v < x.to; v++ {
			out[v] = curve.At(e.q.times[v])
		}
	}
	return out
}

// curve returns the line between the times of the first and last event.
func (l *line) curve(first, last int64) transform.Curve {
	a := transform.Point{Read: first, True: l.at(first)}
	b := transform.Point{Read: last, True: l.at(last)}
	switch {
	case a.True-a.Read != b.True-b.Read:
		return transform.Curve{a, b}
	case a.True != a.Read:
		return transform.Curve{a}
	}
	return nil
}

// maxExtensions is the number of times that a piece of a curve is extended without finding a point at
// which it can end.
const maxExtensions = 64

// fitCurve returns a curve with few points that maps exactly the times from to the times to. Both
// ascend.
func fitCurve(from, to []int64) transform.Curve {
	same := true
	for i := range from {
		same = same && to[i]-from[i] == to[0]-from[0]
	}
	if same && to[0] == from[0] {
		return nil
	}
	out := transform.Curve{{Read: from[0], True: to[0]}}
	if same {
		return out
	}
	for at := 0; at+1 < len(from); {
		// Slopes of a line through the last point that map every time up to here.
		lo, hi := fraction{0, 1}, fraction{1, 0}
		good := at + 1
		for i := at + 1; i < len(from) && i-good <= maxExtensions; i++ {
			x, y := uint64(from[i]-from[at]), uint64(to[i]-to[at])
			s := fraction{y, x}
			if !s.less(lo) && s.less(hi) {
				good = i
			}
			if lo.less(s) {
				lo = s
			}
			if s = (fraction{y + 1, x}); s.less(hi) {
				hi = s
			}
			if !lo.less(hi) {
				break
			}
		}
		at = good
		out = append(out, transform.Point{Read: from[at], True: to[at]})
	}
	return out
}

// fraction is a / b. b may be 0.
type fraction struct{ a, b uint64 }

func (f fraction) less(g fraction) bool {
	h1, l1 := bits.Mul64(f.a, g.b)
	h2, l2 := bits.Mul64(g.a, f.b)
	return h1 < h2 || h1 == h2 && l1 < l2
}
