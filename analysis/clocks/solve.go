package clocks

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/transform"
)

// Result is the correction of a trace, together with its effect.
type Result struct {
	// Clock is the clock of the trace. All times are in its ticks.
	Clock trace.Clock `json:"clock"`
	Model string      `json:"model"`
	// Latency is Options.Latency in ticks. A receive that comes less than Latency after its send is a
	// violation.
	Latency     int64 `json:"latency"`
	Messages    int64 `json:"messages"`    // number of messages with a send and a receive
	Collectives int64 `json:"collectives"` // number of collective operations that constrain clocks
	// Before holds the violations in the trace. Linear holds the violations after the linear correction. After
	// holds the violations after the whole correction.
	Before Violations `json:"before"`
	Linear Violations `json:"linear"`
	After  Violations `json:"after"`
	// Contradictions counts the constraints that no clock can meet, because they depend on themselves. These
	// constraints are ignored, and may remain violated. Worst is 0.
	Contradictions Violations `json:"contradictions"`
	// Amortised reports whether times were moved individually, because the linear correction was not
	// enough. Moved is the greatest such move in ticks.
	Amortised bool  `json:"amortised"`
	Moved     int64 `json:"moved"`
	// Shift is the number of ticks that the correction adds to all clocks that it changes. It is positive only
	// if the correction would otherwise make a time negative that was not negative before.
	Shift  int64   `json:"shift"`
	Clocks []Clock `json:"clocks"` // in the order of their first locations
	// Untied is the number of clocks that no chain of messages or operations connects to the reference. These
	// clocks are not corrected, or are corrected only relative to other clocks with such a chain between them.
	Untied int64 `json:"untied"`
	// Correction holds a curve for each location whose times change, for use by package transform.
	Correction *transform.Correction `json:"-"`
}

// Violations counts violated constraints: messages that are received too early, and collective
// operations that a member leaves too early. Worst is the greatest violation in ticks.
type Violations struct {
	Messages    int64 `json:"messages"`
	Collectives int64 `json:"collectives"`
	Worst       int64 `json:"worst"`
}

// Any reports whether there are any violations.
func (v Violations) Any() bool { return v.Messages+v.Collectives > 0 }

// Clock is a clock with its linear correction.
type Clock struct {
	Name      string   `json:"name"`      // name of its group or of its location
	Locations []string `json:"locations"` // ids of its locations in the file
	// Reference is the index in Result.Clocks of the clock to which Offset and Drift refer. For the first
	// clock of a set of connected clocks, it is the index of this clock itself.
	Reference int `json:"reference"`
	// Offset is the number of ticks that the linear correction adds at the clock's first event,
	// without Result.Shift. OffsetSeconds is the same time in seconds.
	Offset        int64   `json:"offset"`
	OffsetSeconds float64 `json:"offsetSeconds"`
	// Drift is the relative change of the clock's speed by the correction, in parts per million. It is
	// positive if the clock must run faster.
	Drift float64 `json:"driftPPM"`
	// Constraints is the number of sends and receives of messages to and from other clocks, and of
	// collective operations in which the clock takes part.
	Constraints int64 `json:"constraints"`
	// Moved is the greatest move of a time of the clock by amortisation, in ticks.
	Moved int64 `json:"moved"`
}

// maxAddedRounds limits how often the linear correction is computed again with additional pairs of
// large operations.
const maxAddedRounds = 6

// Solve computes the correction of a trace. The error is about invalid options, comes from the trace or
// the context, or is [ErrTimeRange].
func Solve(ctx context.Context, events format.Events, opt Options) (*Result, error) {
	return solveWith(ctx, events, opt, waitingNodes)
}

// solveWith is like [Solve]. The parameter waiting is the number of waiting nodes at which the first search
// for contradictions starts.
func solveWith(ctx context.Context, events format.Events, opt Options, waiting int) (*Result, error) {
	if opt.Latency < 0 || opt.Latency > MaxLatency {
		return nil, fmt.Errorf("clocks: found a latency of %s, expected 0 to %d", plural.Of(opt.Latency, "tick"), MaxLatency)
	}
	found, err := collect(ctx, events)
	if err != nil {
		return nil, err
	}
	defer found.log.close()
	d := events.Defs()
	q, err := newProblem(d, opt, found)
	if err != nil {
		return nil, err
	}
	s := &solution{q: q, opt: opt, waiting: waiting, reference: 0}
	if int(opt.Reference) < len(q.clockOf) && q.clockOf[opt.Reference] != none {
		s.reference = q.clockOf[opt.Reference]
	}
	s.Result = &Result{Clock: d.Clock, Model: opt.Model.String(), Latency: opt.Latency,
		Correction: &transform.Correction{Clock: d.Clock, Locations: map[string]transform.Curve{}}}
	defer s.close()
	if err := s.run(ctx); err != nil {
		return nil, err
	}
	return s.Result, nil
}

// solution is the state of the computation of a correction.
type solution struct {
	*Result
	q         *problem
	opt       Options
	reference int32
	waiting   int
	e         *estimate
	linear    []transform.Curve // indexed by clock
	moves     *moves            // nil without amortisation
}

// close removes the temporary files.
func (s *solution) close() {
	if s.moves != nil {
		s.moves.close()
	}
}

// run computes the correction. Every correction violates contradictions, so run searches for them only
// if violations remain.
func (s *solution) run(ctx context.Context) error {
	s.e = newEstimate(s.q, s.opt, s.reference)
	correctable, err := s.q.countConstraints(ctx, s.Result, s.e)
	if err == nil {
		correctable, err = s.correctLinearly(ctx, correctable)
	}
	if err != nil {
		return err
	}
	if correctable {
		m, contradictions, err := s.move(ctx)
		if err != nil {
			return err
		}
		s.moves = m
		if contradictions.Any() {
			s.Contradictions.Messages += contradictions.Messages
			s.Contradictions.Collectives += contradictions.Collectives
			if err = s.solveWithoutContradictions(ctx); err != nil {
				return err
			}
		}
	}
	s.Amortised = s.moves != nil
	return s.setResult(ctx)
}

// solveWithoutContradictions computes the correction again, without the constraints that are
// contradictions.
func (s *solution) solveWithoutContradictions(ctx context.Context) error {
	s.e = newEstimate(s.q, s.opt, s.reference)
	err := s.q.each(ctx, func(c *constraint) error {
		if !c.inside && !s.q.ignored.Has(c.number) {
			s.e.add(c)
		}
		return nil
	})
	if err != nil {
		return err
	}
	correctable, err := s.correctLinearly(ctx, true)
	if err != nil || !correctable || s.opt.Model != Full {
		return err
	}
	m, more, err := s.move(ctx)
	if err == nil && more.Any() {
		err = errNoOrder
	}
	s.moves = m
	return err
}

// correctLinearly computes the linear correction, and counts the constraints that it violates. correctable
// reports whether another correction could remove one of these violations (see countEarly). before states the
// same for the trace without correction.
func (s *solution) correctLinearly(ctx context.Context, before bool) (correctable bool, err error) {
	for round := 0; ; round++ {
		if err := s.e.solve(ctx); err != nil {
			return false, err
		}
		s.Shift = s.e.shift()
		s.linear = s.e.curves()
		if !before && !slices.ContainsFunc(s.linear, func(c transform.Curve) bool { return len(c) > 0 }) {
			s.Linear = s.Before
			return false, nil
		}
		added := false
		at := func(n node) int64 { return s.linear[n.clock].At(n.time) }
		s.Linear, correctable = Violations{}, false
		err := s.q.each(ctx, func(c *constraint) error {
			correctable = s.q.countEarly(&s.Linear, c, at) || correctable
			// At the start, the estimate has all pairs of a begin and an end of small operations, but only some pairs
			// of an operation with more than fewPairs pairs. Of such an operation, add the latest begin and the
			// earliest end if the correction violates their order, and compute the correction again.
			if round < maxAddedRounds && !c.message && !c.inside && len(c.from)*len(c.to) > fewPairs &&
				!s.q.ignored.Has(c.number) {
				if u, v := c.critical(at); at(u) > at(v) {
					added = s.e.bound(u, v, 0) || added
				}
			}
			return nil
		})
		if err != nil || !added {
			return correctable, err
		}
	}
}

// setResult sets the fields about clocks, and the correction.
func (s *solution) setResult(ctx context.Context) error {
	curves := make([]transform.Curve, len(s.linear))
	for c := range curves {
		curves[c] = slices.Clone(s.linear[c])
	}
	if s.Amortised {
		var err error
		if curves, err = s.moves.curves(ctx); err != nil {
			return err
		}
	}
	q := s.q
	s.Clocks = make([]Clock, len(q.clocks))
	tied := map[int32]int32{} // indexed by component: its first clock in the result
	for _, l := range s.e.byComponent() {
		for _, c := range l {
			tied[c] = l[0]
		}
	}
	for c := range q.clocks {
		x, l := &q.clocks[c], &s.e.lines[c]
		y := &s.Clocks[c]
		*y = Clock{Name: q.name(s.opt.Level, x), Reference: int(tied[int32(c)]), Constraints: x.ties, Drift: l.drift * 1e6}
		y.Offset = s.linear[c].At(x.first) - x.first - l.shift
		y.OffsetSeconds = s.Clock.Float(y.Offset)
		if tied[int32(c)] != tied[s.e.reference] {
			s.Untied++
		}
		if s.Amortised {
			y.Moved = s.moves.moved[c]
		}
		s.Moved = max(s.Moved, y.Moved)
		curve := curves[c]
		for i := range curve {
			t := &curve[i]
			if t.True > 0 && q.origin > math.MaxInt64-t.True || t.True < 0 && q.origin < math.MinInt64-t.True {
				return ErrTimeRange
			}
			t.Read, t.True = t.Read+q.origin, t.True+q.origin
		}
		if err := curve.Check(); err != nil {
			return fmt.Errorf("clocks: %w", err)
		}
		for _, loc := range x.locations {
			id := q.defs.Locations.At(loc).ID
			y.Locations = append(y.Locations, id)
			if len(curve) > 0 {
				s.Correction.Locations[id] = curve
			}
		}
	}
	if !s.Amortised {
		s.After = s.Linear
		return nil
	}
	// Count the violations with the final curves, because rounding may change the computed times.
	correctable := false
	err := q.each(ctx, func(c *constraint) error {
		at := func(n node) int64 { return curves[n.clock].At(n.time+q.origin) - q.origin }
		correctable = q.countEarly(&s.After, c, at) || correctable
		return nil
	})
	if err == nil && correctable {
		err = fmt.Errorf("clocks: found violations of %s and %s after correction, expected "+
			"none", plural.Of(s.After.Messages, "message"), plural.Of(s.After.Collectives, "collective operation"))
	}
	return err
}

// name returns the name of a clock's group, or of its location.
func (q *problem) name(level Level, c *clock) string {
	loc := c.locations[0]
	k := keyOf(q.defs, level, loc)
	if k < 0 {
		return q.defs.Locations.At(loc).Label()
	}
	g := q.defs.Groups.At(uint32(k))
	if g.Name != "" {
		return g.Name
	}
	return g.ID
}

// shift sets and returns the number of ticks to add to all corrected clocks. With this shift, no time becomes
// negative, unless the trace already has negative times.
func (e *estimate) shift() int64 {
	then := int64(math.MaxInt64)
	for c := range e.lines {
		then = min(then, e.lines[c].at(e.q.clocks[c].first))
	}
	// The first event of the trace is at the origin.
	if len(e.lines) == 0 || e.q.origin < 0 || then >= -e.q.origin {
		return 0
	}
	then += e.q.origin
	for _, l := range e.byComponent() {
		if len(l) > 1 && e.isCorrected(l) {
			for _, c := range l {
				e.lines[c].shift = -then
			}
		}
	}
	return -then
}

// isCorrected reports whether the linear correction changes any of the clocks.
func (e *estimate) isCorrected(clocks []int32) bool {
	for _, c := range clocks {
		if l := &e.lines[c]; float64(l.base)+l.offset != 0 || l.drift != 0 {
			return true
		}
	}
	return false
}

// curves returns the linear corrections of all clocks. Times are relative to the origin.
func (e *estimate) curves() []transform.Curve {
	out := make([]transform.Curve, len(e.lines))
	for c := range out {
		out[c] = e.lines[c].curve(e.q.clocks[c].first, e.q.clocks[c].last)
	}
	return out
}

// curve returns the curve of a line, with the times of the clock's first and last event as points.
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
