package clocks

import (
	"context"
	"fmt"
	"math"
	"math/bits"

	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/transform"
)

// Result is what a trace says of its clocks.
type Result struct {
	// Clock is that of all times; its ticks are those of the trace.
	Clock trace.Clock `json:"clock"`
	Model string      `json:"model"`
	// Latency is the least time of a message between two clocks that was asked for, in
	// ticks: a receive that is earlier is a violation.
	Latency     int64 `json:"latency"`
	Messages    int64 `json:"messages"`    // those with a send and a receive
	Collectives int64 `json:"collectives"` // collective operations that say something
	// Before, Linear and After are what is violated as the trace is, after the linear
	// correction, and after the whole one.
	Before Violations `json:"before"`
	Linear Violations `json:"linear"`
	After  Violations `json:"after"`
	// Contradictions are those that no clock can put right, because they depend on
	// themselves; they are not used, and may remain violated. Worst is 0.
	Contradictions Violations `json:"contradictions"`
	// Amortised tells whether a linear correction did not do, so that times were moved
	// one by one, and Moved how far at most, in ticks.
	Amortised bool  `json:"amortised"`
	Moved     int64 `json:"moved"`
	// Shift is by how many ticks all clocks that were corrected were moved later, so that
	// none of them is before 0 in a trace that has no such times.
	Shift  int64   `json:"shift"`
	Clocks []Clock `json:"clocks"` // in the order of their first locations
	// Untied is the number of clocks that nothing ties to the reference: they keep their
	// times, or, if there are others that they are tied to, only agree with those.
	Untied int64 `json:"untied"`
	// Correction has a curve for each location whose times change.
	Correction *transform.Correction `json:"-"`
}

// Violations counts messages that are received too early, and collective operations that
// somebody leaves too early, and says by how many ticks the worst is too early.
type Violations struct {
	Messages    int64 `json:"messages"`
	Collectives int64 `json:"collectives"`
	Worst       int64 `json:"worst"`
}

// Any tells whether there is a violation.
func (v Violations) Any() bool { return v.Messages+v.Collectives > 0 }

// Clock is a clock and its linear correction.
type Clock struct {
	Name      string   `json:"name"`      // of its group, or its location
	Locations []string `json:"locations"` // the file's own ids
	// Reference is the clock that offset and drift refer to, an index into the clocks: the
	// clock itself if it is the first of those that are tied to each other.
	Reference int `json:"reference"`
	// Offset is by how many ticks the linear correction makes its first event later,
	// Result.Shift not counted, and OffsetSeconds the same in seconds.
	Offset        int64   `json:"offset"`
	OffsetSeconds float64 `json:"offsetSeconds"`
	// Drift is by how much faster it must run, in millionths.
	Drift float64 `json:"driftPPM"`
	// Constraints is how many sends and receives of messages to and from other clocks it
	// has, and collective operations in which it takes part.
	Constraints int64 `json:"constraints"`
	// Moved is how far amortisation moved one of its times at most, in ticks.
	Moved int64 `json:"moved"`
}

// addedRounds is how often the linear correction is found again with what operations of
// many members turn out to ask for.
const addedRounds = 6

// Solve finds the correction. The part must not be used any more. An error is that of the
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
		if round == addedRounds || !e.more(linear) {
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

// result fills what concerns the clocks, and the correction.
func (p *Part) result(r *Result, q *problem, e *estimate, linear, times []int64) error {
	// What counts is what the curves make of the times.
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
			curve = through(q.times[x.from:x.to], times[x.from:x.to])
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
		return fmt.Errorf("clocks: found violations of %d messages and %d collective operations after correction, expected none", r.After.Messages, r.After.Collectives)
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

// contradictions counts what is ignored.
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

// violations counts those that remain if nodes have these times. useful tells whether
// there are any beside what contradicts itself.
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

// critical is the latest begin and the earliest end.
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

// more adds bounds of operations that are violated. It tells whether there are any.
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

// shift moves what is corrected later if that is needed for no time to be before 0.
func (e *estimate) shift() int64 {
	then := int64(math.MaxInt64)
	for c := range e.lines {
		then = min(then, e.lines[c].at(e.q.times[e.q.clocks[c].from]))
	}
	// The first event of all is at the origin.
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

// changed tells whether clocks are corrected at all.
func (e *estimate) changed(clocks []int32) bool {
	for _, c := range clocks {
		if l := &e.lines[c]; float64(l.base)+l.offset != 0 || l.drift != 0 {
			return true
		}
	}
	return false
}

// times are those of the nodes after the linear correction.
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

// curve is the line between the times of the first and last event.
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

// farApart is how many times a piece of a curve is made longer without a point that it can
// end at.
const farApart = 64

// through is a curve that makes exactly the times to of the times from, which both
// ascend, with few points.
func through(from, to []int64) transform.Curve {
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
		// Slopes of a line through the last point that give every time up to here.
		lo, hi := fraction{0, 1}, fraction{1, 0}
		good := at + 1
		for i := at + 1; i < len(from) && i-good <= farApart; i++ {
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

// fraction is a over b; b may be 0.
type fraction struct{ a, b uint64 }

func (f fraction) less(g fraction) bool {
	h1, l1 := bits.Mul64(f.a, g.b)
	h2, l2 := bits.Mul64(g.a, f.b)
	return h1 < h2 || h1 == h2 && l1 < l2
}
