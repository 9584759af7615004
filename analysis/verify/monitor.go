package verify

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/weft-trace/weft/trace"
)

// Monitor decides the checks of a specification while a trace grows. It is a sink that receives the events in
// global time order. Its verdicts equal the verdicts of [Run]. It decides a check at the first event after
// which Run would decide the check.
//
// A monitor holds the states that open checks still need, and some thousand more. For a formula with bounds,
// these are the states of its horizon: the sum of the upper bounds of nested operators. The bound of an
// outermost globally, finally or until does not count, because such an operator is evaluated event by event.
// If an operator without a bound is inside another one, such as in "globally if A then finally B", the monitor
// holds the states since the first A without a B. For signals, it holds the pieces in the same times. Signals
// are known up to the time just before the last event. For signals of objects, see [Monitor.SetIdleTime].
//
// The memory is 12 bytes for each state that is held, 4 bytes for each state at which a proposition holds, 3
// bits for each operator and state, and the memory for open claims and signals.
type Monitor struct {
	*recorder
	opt    Options
	passed int // number of states that are no longer held
	ready  int // number of held states that the last decision used
	round  int
	ended  bool

	isDense   bool    // some check consists only of signals
	denseFrom float64 // the first time at which signals are needed, in ticks since the begin of the trace
	taken     int     // number of rows that the last decision used

	open        []int // indexes of the checks that are not decided
	obligations map[obligationKey]*obligation
	evaluated   []*obligation // obligations that have been evaluated in the current round
	comparisons []*Formula
	compared    map[*Formula]*compared // indexed by the formula of the comparison
	quietness   quietChecks
}

// isTemporal reports whether the formula is globally, finally or until.
func (f *Formula) isTemporal() bool { return f.Op == Globally || f.Op == Finally || f.Op == Until }

// isDense reports whether the formula is evaluated at all times, not only at states.
func (f *Formula) isDense() bool { return f.signal && !f.state }

// obligationKey identifies an obligation by its formula and by the number of its state. States are
// counted from the first one of the trace. The constant dense takes the place of the number for an obligation at all
// times.
type obligationKey struct {
	f  *Formula
	at int
}

// obligation is a formula together with the state at which it must be evaluated. The formula is not
// inside of globally, finally or until.
type obligation struct {
	obligationKey
	good, holds, possible bool
	round                 int     // the round of the last evaluation
	begun                 bool    // origin has been set
	from                  float64 // for a dense temporal formula: the first time that may decide it
	// for a temporal formula; the states in it are counted from the first state of the trace
	origin  origin
	reasons []Reason // set if the formula is decided, and is temporal or has no arguments
}

func (n *obligation) isDecided() bool { return n.good || !n.possible }

// isDecidedAs reports whether the formula holds or, if holds is false, whether the formula does not hold. If
// complete is set, the trace is complete. Otherwise, the answer must be the same for all continuations of the
// trace.
func (n *obligation) isDecidedAs(holds, complete bool) bool {
	switch {
	case complete:
		return n.holds == holds
	case holds:
		return n.good
	}
	return !n.possible
}

// compared holds the states at which a comparison is true, as far as its signals are known.
type compared struct {
	states []uint32
	known  int // number of held states at which the signals are known
}

// SetIdleTime sets how many ticks of a clock must pass without an event of an object until the object has left
// the system. An object with an open claim does not leave. If an object with the same name comes later,
// it counts as another object. Without a call of SetIdleTime, objects leave at the end of the trace. SetIdleTime must
// be called before the first event.
func (m *Monitor) SetIdleTime(ticks func(c trace.Clock) (int64, error)) { m.growth.idle = ticks }

// NewMonitor returns a monitor for a trace that has no events yet. The definitions may grow.
func NewMonitor(spec *Spec, d *trace.Definitions, s Semantics) *Monitor {
	m := &Monitor{recorder: newRecorder(spec, d, nil), opt: Options{Semantics: s},
		obligations: map[obligationKey]*obligation{}, compared: map[*Formula]*compared{},
		quietness: newQuietness(spec)}
	m.isMatched = make([]bool, len(spec.propositions))
	m.growth = newGrowth(m.recorder)
	for _, f := range spec.formulas {
		if f.Op == Compare {
			m.comparisons = append(m.comparisons, f)
			m.compared[f] = &compared{}
		}
	}
	for i, c := range spec.Checks {
		m.open = append(m.open, i)
		m.isDense = m.isDense || c.Formula.isDense()
	}
	return m
}

// States returns the number of states so far.
func (m *Monitor) States() int64 { return int64(m.passed + len(m.time)) }

// HeldStates returns the number of states that the monitor holds.
func (m *Monitor) HeldStates() int { return len(m.time) }

// OpenChecks returns the number of checks that are not decided.
func (m *Monitor) OpenChecks() int { return len(m.open) }

// Warnings returns a warning for each word of the specification that has not occurred in the trace so far.
func (m *Monitor) Warnings() []Warning { return m.warnings() }

// ScaleTimes multiplies all times by a factor. It must be called when the clock of the definitions gets factor
// times as many ticks.
func (m *Monitor) ScaleTimes(factor int64) {
	for i := range m.time {
		m.time[i] *= factor
	}
	m.first, m.last, m.now, m.latest = m.first*factor, m.last*factor, m.now*factor, m.latest*factor
	m.quietness.last *= factor
	m.growth.scaleTimes(factor)
	for _, s := range m.signals {
		for i := range s.pieces {
			s.pieces[i].from, s.pieces[i].to = s.pieces[i].from*factor, s.pieces[i].to*factor
		}
	}
	m.denseFrom *= float64(factor)
	for _, n := range m.obligations {
		n.from *= float64(factor)
		n.origin.time, n.origin.last = n.origin.time*factor, n.origin.last*factor
		for i := range n.reasons {
			n.reasons[i].From, n.reasons[i].To = n.reasons[i].From.scaled(factor), n.reasons[i].To.scaled(factor)
		}
	}
}

// Decide returns the checks that have been decided by the events since the last decision. Unless now is set,
// Decide waits until there are many new events: a quarter of the number of held states plus a sixteenth of the
// number of open checks. Therefore the time of all calls together is proportional to the number of events.
func (m *Monitor) Decide(ctx context.Context, now bool) ([]CheckResult, error) {
	if len(m.open) == 0 {
		m.removeStates(len(m.time))
		return nil, nil
	}
	if !m.ended {
		// The open checks count only a little, because most of them are quiet (see quietCheck) and take little time.
		held := len(m.time) + len(m.open)/16
		if m.isDense {
			for _, s := range m.signals {
				held += len(s.pieces)
			}
			for _, s := range m.growth.signals {
				if s != nil {
					held += len(s.lines)
				}
			}
		}
		if added := m.rows - m.taken; added == 0 || !now && added < held/4 {
			return nil, nil
		}
	}
	m.ready, m.taken = len(m.time), m.rows
	m.round++
	m.evaluated = m.evaluated[:0]
	if m.ended {
		m.closeClaims()
	}
	if err := m.growth.extendSignals(m.ended); err != nil {
		return nil, err
	}
	e, err := m.evaluator()
	if err != nil {
		return nil, err
	}
	for _, f := range m.comparisons {
		c, known := m.compared[f], m.knownStates(f.Comparison.Signal)
		e.eachComparison(f.Comparison, c.known, known, func(i int) { c.states = append(c.states, uint32(i)) })
		c.known = max(c.known, known)
	}
	m.wake()
	var list []CheckResult
	open := m.open[:0]
	for _, i := range m.open {
		if m.quietness.checks[i].quiet {
			open = append(open, i)
			continue
		}
		c, ok, err := m.decideCheck(ctx, e, &m.spec.Checks[i])
		if err != nil {
			return nil, err
		}
		if !ok {
			open = append(open, i)
			m.makeQuiet(i)
			continue
		}
		list = append(list, c)
	}
	m.open = open
	m.removeUnneededStates()
	return list, nil
}

// End returns the verdicts of all checks that are still open, at the end of the trace.
func (m *Monitor) End(ctx context.Context) ([]CheckResult, error) {
	m.ended = true
	return m.Decide(ctx, true)
}

// evaluator returns an evaluator of the held states.
func (m *Monitor) evaluator() (*evaluator, error) {
	e := &evaluator{recorder: m.recorder, n: m.ready, all: wholeRun(m.ready), unit: m.defs.Clock.UnitTicks(),
		base: m.first, values: map[*Formula]value{}, bounds: map[*Bound]boundTicks{}, compared: m.compared,
		signals: make([][]piece, len(m.spec.signals)), growing: !m.ended}
	known := make([]bool, len(m.spec.signals))
	for _, s := range m.signals {
		for _, i := range s.signals {
			if known[i] {
				text := attributesString(m.spec.signals[i].Attributes)
				return nil, fmt.Errorf("found two signals that have %s, expected one, because weft does not read the "+
					"trace as a whole", text)
			}
			known[i], e.signals[i] = true, e.signalPieces(s)
		}
	}
	for i, s := range m.growth.signals {
		if s != nil && m.any {
			e.signals[i] = m.growth.signalPieces(e, s, m.ended)
		}
	}
	return e, nil
}

// decideCheck decides a check. ok is false if the check stays open.
func (m *Monitor) decideCheck(ctx context.Context, e *evaluator, c *Check) (r CheckResult, ok bool, err error) {
	f := c.Formula
	r = CheckResult{Name: c.Name, Reasons: []Reason{}}
	at := 0
	if f.isDense() {
		at = dense
	}
	if !m.any || at == 0 && m.passed+m.ready == 0 {
		r.setVerdictWithoutEvents(f, m.opt.Semantics)
		return r, m.ended, nil
	}
	n, err := m.evaluate(ctx, e, obligationKey{f, at})
	if err != nil || !n.isDecided() && !m.ended {
		return r, false, err
	}
	r.Formula = f.String()
	if r.Holds = n.holds; n.isDecided() {
		r.Holds = n.good
	}
	r.setVerdict(n.good, n.possible, m.opt.Semantics, f.signal)
	x := &explainer{evaluator: e, ctx: ctx, complete: !r.Decided, list: r.Reasons}
	err = m.explain(x, n, r.Holds, 0)
	r.Reasons = x.list
	return r, true, err
}

// evaluate evaluates a formula at a state.
func (m *Monitor) evaluate(ctx context.Context, e *evaluator, k obligationKey) (*obligation, error) {
	n := m.obligations[k]
	if n == nil {
		n = &obligation{obligationKey: k, possible: true}
		m.obligations[k] = n
	}
	if n.isDecided() || n.round == m.round {
		return n, nil
	}
	n.round = m.round
	m.evaluated = append(m.evaluated, n)
	switch k.f.Op {
	case Not, And, Or, Implies:
		return n, m.evaluateJunction(ctx, e, n)
	// All states have the same result, so take it from the counts. The first state may no longer be held.
	case Percentile:
		holds, impossible := m.growth.responses[k.f.Responses].holds()
		n.good, n.holds, n.possible = false, holds, !impossible
		if impossible {
			x := &explainer{evaluator: e, ctx: ctx}
			x.explainPercentile(k.f, false, 0)
			n.reasons = x.list
		}
		return n, nil
	case Next:
		if n.good, n.holds, n.possible = false, false, true; k.at+1 < m.passed+m.ready {
			a, err := m.evaluate(ctx, e, obligationKey{k.f.Args[0], k.at + 1})
			if err != nil {
				return n, err
			}
			n.good, n.holds, n.possible = a.good, a.holds, a.possible
		}
		return n, nil
	}
	switch {
	case k.at == dense:
		m.evaluateDense(ctx, e, n)
		return n, nil
	case k.f.isTemporal():
		return n, m.evaluateTemporal(ctx, e, n)
	}
	v, err := e.value(ctx, k.f)
	if err != nil {
		return n, err
	}
	i := k.at - m.passed
	n.good, n.holds, n.possible = v.good.has(i), v.holds.has(i), v.possible.has(i)
	if !n.isDecided() {
		return n, nil
	}
	x := &explainer{evaluator: e, ctx: ctx}
	err = x.explain(k.f, i, n.good, 0)
	n.reasons = x.list
	return n, err
}

// evaluateJunction evaluates not, and, or and implication.
func (m *Monitor) evaluateJunction(ctx context.Context, e *evaluator, n *obligation) error {
	isAnd := n.f.Op == And
	good, holds, possible := isAnd, isAnd, isAnd
	for i, f := range n.f.Args {
		a, err := m.evaluate(ctx, e, obligationKey{f, n.at})
		if err != nil {
			return err
		}
		g, h, p := a.good, a.holds, a.possible
		if n.f.Op == Not || n.f.Op == Implies && i == 0 {
			g, h, p = !p, !h, !g
		}
		if isAnd {
			good, holds, possible = good && g, holds && h, possible && p
		} else {
			good, holds, possible = good || g, holds || h, possible || p
		}
	}
	n.good, n.holds, n.possible = good, holds, possible
	return nil
}

// evaluateTemporal evaluates globally, finally and until. It skips the states that are known not to decide the
// formula.
func (m *Monitor) evaluateTemporal(ctx context.Context, e *evaluator, n *obligation) error {
	if !n.begun {
		n.origin, n.begun = e.originAt(n.at-m.passed), true
		n.origin.next = n.at
	}
	var args []value
	for _, f := range n.f.Args {
		v, err := e.value(ctx, f)
		if err != nil {
			return err
		}
		args = append(args, v)
	}
	holds, goal := value{e.all, e.all, e.all}, args[len(args)-1]
	switch n.f.Op {
	case Globally:
		goal = e.not(goal)
	case Until:
		holds = args[0]
	}
	o := n.origin
	o.next -= m.passed
	w, ok := e.ticks(n.f.Bound)
	if !ok {
		n.good, n.holds, n.possible = false, false, false
	} else {
		first, _ := e.span(&o, w)
		_, end := e.span(&o, ticks{0, w.high}) // the result is before first if the bound contains no whole tick
		stop := holds.good.find(o.next, end, false)
		if stop = goal.possible.find(min(first, stop), stop, true); stop > o.next {
			o.next, o.last, o.passed = stop, e.time[stop-1], o.passed+max(0, stop-first)
		}
		n.good, n.holds, n.possible = e.untilFrom(holds, goal, w, &o)
	}
	if n.f.Op == Globally {
		n.good, n.holds, n.possible = !n.possible, !n.holds, !n.good
	}
	if n.isDecided() {
		x := &explainer{evaluator: e, ctx: ctx}
		if err := x.explainTemporal(n.f, args, o, n.good, 0); err != nil {
			return err
		}
		n.reasons = x.list
	}
	o.next += m.passed
	n.origin = o
	return nil
}

// untilFrom evaluates until at an origin.
func (e *evaluator) untilFrom(a, b value, w ticks, o *origin) (good, holds, possible bool) {
	aGood, aHolds, aPossible := true, true, true
	for i := o.next; i < e.n; i++ {
		since := uint64(e.time[i]) - uint64(o.time)
		if since > w.high {
			return good, holds, possible
		}
		if since >= w.low {
			good = good || aGood && b.good.has(i)
			holds = holds || aHolds && b.holds.has(i)
			possible = possible || aPossible && b.possible.has(i)
		}
		aGood, aHolds, aPossible = aGood && a.good.has(i), aHolds && a.holds.has(i), aPossible && a.possible.has(i)
		if good || !aPossible {
			return good, holds, possible
		}
	}
	return good, holds, true // b may hold at a later state
}

// explain adds reasons why an obligation holds to the reasons of x. If holds is false, it adds reasons why the
// obligation does not hold.
func (m *Monitor) explain(x *explainer, n *obligation, holds bool, depth int) error {
	if len(x.list) >= maxReasons {
		return nil
	}
	// arguments that are not evaluated any more do not decide the obligation
	complete := x.complete && !n.isDecided()
	arg := func(i, at int) *obligation { return m.obligations[obligationKey{n.f.Args[i], at}] }
	switch n.f.Op {
	case Not:
		return m.explain(x, arg(0, n.at), !holds, depth)
	case And, Or:
		one := (n.f.Op == And) != holds // whether a single argument decides the obligation
		for i := range n.f.Args {
			if a := arg(i, n.at); a.isDecidedAs(holds, complete) {
				if err := m.explain(x, a, holds, depth+1); err != nil || one {
					return err
				}
			}
		}
		return nil
	case Implies:
		switch {
		case !holds:
			if err := m.explain(x, arg(0, n.at), true, depth+1); err != nil {
				return err
			}
			return m.explain(x, arg(1, n.at), false, depth+1)
		case arg(1, n.at).isDecidedAs(true, complete):
			return m.explain(x, arg(1, n.at), true, depth+1)
		}
		return m.explain(x, arg(0, n.at), false, depth+1)
	case Next:
		if a := arg(0, n.at+1); a != nil {
			if i := n.at - m.passed; i >= 0 { // the monitor still holds the state
				x.addNext(depth, n.f, i, holds)
			}
			return m.explain(x, a, holds, depth+1)
		}
		x.add(depth, n.f, holds, n.at-m.passed, n.at-m.passed, "%s is the last event", x.stateText(n.at-m.passed))
		return nil
	}
	if n.isDecided() {
		for _, r := range n.reasons[:min(len(n.reasons), maxReasons-len(x.list))] {
			r.Depth += depth
			x.list = append(x.list, r)
		}
		return nil
	}
	if n.f.Op == Percentile {
		x.explainPercentile(n.f, holds, depth)
		return nil
	}
	if n.at == dense {
		y := *x
		y.list = nil
		y.explainDense(n.f, holds, 0)
		for _, r := range y.list[:min(len(y.list), maxReasons-len(x.list))] {
			r.Depth += depth
			x.list = append(x.list, r)
		}
		return nil
	}
	var args []value
	for _, f := range n.f.Args {
		v, err := x.value(x.ctx, f)
		if err != nil {
			return err
		}
		args = append(args, v)
	}
	o := n.origin
	o.next -= m.passed
	return x.explainTemporal(n.f, args, o, holds, depth)
}

// knownStates returns the number of held states at which the signals of an expression are known. Signals of
// the trace are known before the time of the last event, because further events may have the same time.
func (m *Monitor) knownStates(x *SignalExpr) int {
	if m.ended {
		return len(m.time)
	}
	t := m.growth.signalsKnown(x)
	return sort.Search(len(m.time), func(i int) bool { return m.time[i] >= t })
}

// removeUnneededStates removes the states that no open check needs.
func (m *Monitor) removeUnneededStates() {
	needed := m.passed + m.ready
	for _, n := range m.evaluated {
		if n.isDecided() || n.at == dense {
			continue
		}
		switch n.f.Op {
		case Globally, Finally, Until:
			needed = min(needed, n.origin.next)
		case Compare:
			needed = min(needed, n.at)
		case Next:
			if n.at+1 >= m.passed+m.ready {
				needed = min(needed, n.at)
			}
		}
	}
	if n := needed - m.passed; 2*n >= len(m.time) {
		m.removeStates(n)
	}
	t := m.now
	if len(m.time) > 0 {
		t = min(t, m.time[0])
	}
	if from := m.denseNeeded(); !math.IsInf(from, 1) {
		m.denseFrom = from
		t = min(t, m.first+int64(from))
	}
	m.removePieces(t)
}

// removePieces removes the pieces of signals before a time. It keeps the last of these pieces of each signal,
// because later states need this piece.
func (m *Monitor) removePieces(t int64) {
	for _, s := range m.signals {
		n := sort.Search(len(s.pieces), func(i int) bool { return s.pieces[i].from > t })
		if n > 1 {
			s.pieces = slices.Delete(s.pieces, 0, n-1)
		}
	}
	for _, s := range m.growth.signals {
		if s != nil {
			n := sort.Search(len(s.lines), func(i int) bool { return s.lines[i].From > t })
			s.lines = slices.Delete(s.lines, 0, max(0, n-1))
		}
	}
}

// removeStates removes the first n held states.
func (m *Monitor) removeStates(n int) {
	if n == 0 {
		return
	}
	m.quietness.last = m.time[n-1]
	m.time = m.time[:copy(m.time, m.time[n:])]
	m.labels = m.labels[:copy(m.labels, m.labels[n:])]
	left := m.matched[:0]
	for _, p := range m.matched {
		if m.matches[p] = withoutStates(m.matches[p], n); len(m.matches[p]) > 0 {
			left = append(left, p)
		} else {
			m.isMatched[p] = false
		}
	}
	m.matched = left
	for _, c := range m.compared {
		c.states, c.known = withoutStates(c.states, n), max(0, c.known-n)
	}
	m.passed += n
	m.ready = max(0, m.ready-n)
}

// withoutStates returns a list without the first n states, and renumbers the others. It reuses the memory of the list.
func withoutStates(list []uint32, n int) []uint32 {
	i, _ := slices.BinarySearch(list, uint32(n))
	list = list[:copy(list, list[i:])]
	for k := range list {
		list[k] -= uint32(n)
	}
	return list
}
