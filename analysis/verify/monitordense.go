package verify

import (
	"context"
	"math"
)

// dense takes the place of the state number in the key of an obligation that is evaluated at all times, from
// the begin of the trace on.
const dense = -1

// denseDomain returns the times at which the signals of a formula are known. At the end of the trace, the
// signals are known at all times. The result leaves out early times that no open obligation needs.
func (m *Monitor) denseDomain(e *evaluator, f *Formula) interval {
	if m.ended {
		return interval{low: m.denseFrom, high: e.offset(m.last)}
	}
	t := m.now
	seen := map[*Formula]bool{}
	var look func(f *Formula)
	look = func(f *Formula) {
		if seen[f] {
			return
		}
		if seen[f] = true; f.Op == Compare {
			t = min(t, m.growth.signalsKnown(f.Comparison.Signal))
		}
		for _, a := range f.Args {
			look(a)
		}
	}
	look(f)
	return interval{low: m.denseFrom, high: e.offset(t), highOpen: true}
}

// evaluateDense evaluates a formula of signals at the begin of the trace. The formula must not be a
// conjunction or disjunction.
func (m *Monitor) evaluateDense(ctx context.Context, e *evaluator, n *obligation) {
	if domain := m.denseDomain(e, n.f); e.dense == nil || domain != e.domain {
		e.dense, e.domain = map[*Formula]denseValue{}, domain
	}
	if e.domain.empty() {
		return
	}
	var good, holds, possible bool
	switch n.f.Op {
	case Globally, Finally, Until:
		good, holds, possible = m.evaluateDenseTemporal(e, n)
	default:
		v := e.denseValue(n.f)
		good, holds, possible = v.good.contains(0), v.holds.contains(0), v.possible.contains(0)
	}
	n.good, n.holds, n.possible = good, holds, possible
	if n.isDecided() {
		x := &explainer{evaluator: e, ctx: ctx}
		x.explainDense(n.f, n.good, 0)
		n.reasons = x.list
	}
}

// evaluateDenseTemporal evaluates globally, finally and until. It skips the times that are known not to decide the
// formula.
func (m *Monitor) evaluateDenseTemporal(e *evaluator, n *obligation) (good, holds, possible bool) {
	all := times{e.domain}
	a, b := denseValue{all, all, all}, e.denseValue(n.f.Args[len(n.f.Args)-1])
	switch n.f.Op {
	case Globally:
		b = e.denseNot(b)
	case Until:
		a = e.denseValue(n.f.Args[0])
	}
	w := e.window(n.f.Bound)
	if !interval(w).empty() {
		good = untilHolds(a.good, b.good, w, n.from, e.domain, false)
		holds = untilHolds(a.holds, b.holds, w, n.from, e.domain, false)
		possible = untilHolds(a.possible, b.possible, w, n.from, e.domain, true)
		n.from = firstUndecided(a.good, b.possible, w, n.from, e.domain)
	}
	if n.f.Op == Globally {
		good, holds, possible = !possible, !holds, !good
	}
	return good, holds, possible
}

// untilHolds reports whether "a until b" holds at time from. For this, b must hold at a time within the window,
// and a must hold up to this time. The window is relative to the begin of the trace. If pending is set, b may
// also hold after the known times.
func untilHolds(a, b times, w window, from float64, domain interval, pending bool) bool {
	goals := b.intersect(times{interval(w)})
	if goals.contains(from) {
		return true
	}
	later := w.high > domain.high || domain.highOpen && w.high == domain.high && !w.highOpen
	if from == domain.high && domain.highOpen {
		return pending && later
	}
	for _, held := range a {
		if held.intersect(interval{from, from, false, false}).empty() {
			continue
		}
		reach := interval{from, held.high, false, false} // b may begin where a ends
		if len(goals.intersect(times{reach})) > 0 {
			return true
		}
		return pending && later && held.high == domain.high && held.highOpen == domain.highOpen
	}
	return false
}

// firstUndecided returns the first time, not before from, that may decide "a until b": a time at which a may
// not hold, or at which b may hold within the window. The window is relative to the begin of the trace.
func firstUndecided(a, b times, w window, from float64, domain interval) float64 {
	for _, held := range a {
		if held.intersect(interval{from, from, false, false}).empty() {
			continue
		}
		next := min(held.high, domain.high)
		for _, x := range b.intersect(times{interval(w)}) {
			if x.high >= from {
				return max(from, min(next, x.low))
			}
		}
		return next
	}
	return from
}

// denseNeeded returns the first time that open obligations need, or +Inf if they need none.
func (m *Monitor) denseNeeded() float64 {
	from := math.Inf(1)
	for _, n := range m.evaluated {
		if n.at != dense || n.isDecided() {
			continue
		}
		switch n.f.Op {
		case Globally, Finally, Until:
			from = min(from, n.from)
		case Compare:
			from = 0
		}
	}
	return from
}
