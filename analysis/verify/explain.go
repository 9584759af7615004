package verify

import (
	"context"
	"fmt"
	"math"
	"sort"
	"strconv"
)

// maxReasons is the greatest number of reasons for a verdict.
const maxReasons = 20

// explainer collects the reasons for a verdict.
type explainer struct {
	*evaluator
	ctx      context.Context
	complete bool // treat the trace as complete, because no continuation of it is known
	list     []Reason
	check    *Formula // the formula that check explains, or nil
	text     string   // text of the formula, which the reasons share
}

// deciding returns a set of states that decides whether a formula holds at a state (or, if holds is false,
// whether it does not hold). If in is set, the answer is yes at the states in the set; otherwise, the answer
// is yes at the states outside of the set. At all other states, the trace does not decide the question.
func (e *explainer) deciding(v value, holds bool) (s stateSet, in bool) {
	switch {
	case e.complete:
		return v.holds, holds
	case holds:
		return v.good, true
	}
	return v.possible, false
}

// holdsAt reports whether a formula holds at a state. If holds is false, it reports whether the formula does
// not hold there. In both cases, it returns false if the trace does not decide the question.
func (e *explainer) holdsAt(v value, i int, holds bool) bool {
	s, in := e.deciding(v, holds)
	return s.has(i) == in
}

// firstAt returns the first state in from <= i < to for which holdsAt is true, or to if there is none.
func (e *explainer) firstAt(v value, from, to int, holds bool) int {
	s, in := e.deciding(v, holds)
	return s.find(from, to, in)
}

// add adds a reason to the verdict: the states from first to last decide the formula.
func (e *explainer) add(depth int, f *Formula, holds bool, first, last int, format string, args ...any) {
	e.addAt(depth, f, holds, e.time[first], e.time[last], format, args...)
}

// addAt adds a reason to the verdict: the time between from and to decides the formula.
func (e *explainer) addAt(depth int, f *Formula, holds bool, from, to int64, format string, args ...any) {
	text := e.text
	if f != e.check {
		text = f.String()
	}
	e.list = append(e.list, Reason{Depth: depth, Formula: text, Holds: holds, From: Instant{Tick: from},
		To: Instant{Tick: to}, Text: fmt.Sprintf(format, args...)})
}

// addNext adds a reason for a formula with next that is evaluated at a state before the last one.
func (e *explainer) addNext(depth int, f *Formula, i int, holds bool) {
	e.add(depth, f, holds, i, i+1, "%s comes after %s", e.stateText(i+1), e.stateText(i))
}

// timeText formats the time of a state.
func (e *explainer) timeText(i int) string { return e.defs.Clock.FormatSeconds(e.time[i]) + " s" }

// stateText returns a text with the event at a state and the time of the state.
func (e *explainer) stateText(i int) string {
	return e.names[e.label(i)] + " at " + e.timeText(i)
}

// explain adds the reasons why a formula holds at a state. If holds is false, it adds the reasons why
// the formula does not hold there.
func (e *explainer) explain(f *Formula, i int, holds bool, depth int) error {
	if len(e.list) >= maxReasons {
		return nil
	}
	var args []value
	for _, a := range f.Args {
		if f.Op == And || f.Op == Or {
			break
		}
		v, err := e.value(e.ctx, a)
		if err != nil {
			return err
		}
		args = append(args, v)
	}
	switch f.Op {
	case Prop:
		if holds {
			e.add(depth, f, holds, i, i, "%s has %s", e.stateText(i), f.Prop)
		} else {
			e.add(depth, f, holds, i, i, "%s does not have %s", e.stateText(i), f.Prop)
		}
	case Compare:
		e.add(depth, f, holds, i, i, "%s", e.comparisonText(f.Comparison, i))
	case Percentile:
		e.explainPercentile(f, holds, depth)
	case Not:
		return e.explain(f.Args[0], i, !holds, depth)
	case And, Or:
		return e.explainJunction(f, i, holds, depth)
	case Implies:
		switch {
		case !holds:
			if err := e.explain(f.Args[0], i, true, depth+1); err != nil {
				return err
			}
			return e.explain(f.Args[1], i, false, depth+1)
		case e.holdsAt(args[1], i, true):
			return e.explain(f.Args[1], i, true, depth+1)
		}
		return e.explain(f.Args[0], i, false, depth+1)
	case Next:
		if i+1 < e.n {
			e.addNext(depth, f, i, holds)
			return e.explain(f.Args[0], i+1, holds, depth+1)
		}
		e.add(depth, f, holds, i, i, "%s is the last event", e.stateText(i))
	case Globally, Finally, Until:
		return e.explainTemporal(f, args, e.originAt(i), holds, depth)
	}
	return nil
}

// explainJunction explains a conjunction or disjunction by the first argument that decides it. If each
// argument is necessary, it explains all arguments.
func (e *explainer) explainJunction(f *Formula, i int, holds bool, depth int) error {
	one := (f.Op == And) != holds // whether a single argument decides the formula
	for _, a := range f.Args {
		if len(e.list) >= maxReasons {
			return nil
		}
		v, err := e.value(e.ctx, a)
		if err != nil {
			return err
		}
		if !e.holdsAt(v, i, holds) {
			continue
		}
		if err := e.explain(a, i, holds, depth+1); err != nil || one {
			return err
		}
	}
	return nil
}

// comparisonText returns a text with the value of a signal at a state.
func (e *explainer) comparisonText(c *Comparison, i int) string {
	value := math.NaN()
	var values []float64
	// With several checks, the values at all states are computed once, and all checks use them.
	if e.compared == nil && len(e.spec.Checks) > 1 {
		values = e.valuesAt(c.Signal)
	}
	if values != nil {
		value = values[i]
	} else {
		e.eachValue(c.Signal, i, i+1, func(_ int, v float64) { value = v })
	}
	if !math.IsNaN(value) {
		return fmt.Sprintf("%s is %s at %s", c.Signal, strconv.FormatFloat(value, 'g', 6, 64), e.timeText(i))
	}
	return fmt.Sprintf("%s has no value at %s", c.Signal, e.timeText(i))
}

// origin describes the evaluation of a temporal formula at a state. time is the time of the state. The states
// before next do not decide the formula. passed is the number of states before next within the bound of the
// formula, and last is the time of the last of these states.
type origin struct {
	time, last   int64
	next, passed int
}

// originAt returns the origin for an evaluation at a state, before any later state has been examined.
func (e *evaluator) originAt(i int) origin { return origin{time: e.time[i], last: e.time[i], next: i} }

// span returns the states within a bound that may still decide a formula: first <= i < end.
func (e *evaluator) span(o *origin, w ticks) (first, end int) {
	since := func(j int) uint64 { return uint64(e.time[j]) - uint64(o.time) }
	first = o.next + sort.Search(e.n-o.next, func(i int) bool { return since(o.next+i) >= w.low })
	return first, first + sort.Search(e.n-first, func(i int) bool { return since(first+i) > w.high })
}

// spanOf returns the states within the bound of a formula that may still decide it.
func (e *explainer) spanOf(f *Formula, o *origin) (first, end int) {
	w, ok := e.ticks(f.Bound)
	if !ok {
		return o.next, o.next
	}
	return e.span(o, w)
}

// timeBefore returns the time of the state before end. If no state is left, it returns the time of the last
// state that does not decide the formula.
func (e *explainer) timeBefore(o *origin, end int) int64 {
	if end > o.next {
		return e.time[end-1]
	}
	return o.last
}

// elapsedText formats the time that passes from an origin to a state.
func (e *explainer) elapsedText(o *origin, j int) string {
	return e.durationText(uint64(e.time[j]) - uint64(o.time))
}

// beginsLater reports whether the bound of a formula excludes the state at which the formula is evaluated.
func (e *explainer) beginsLater(f *Formula) bool {
	w, ok := e.ticks(f.Bound)
	return ok && w.low > 0
}

// boundText formats the bound of a formula, relative to an origin.
func (e *explainer) boundText(f *Formula, o *origin) string {
	at := e.defs.Clock.FormatSeconds(o.time) + " s"
	if f.Bound == nil {
		return "from " + at + " on"
	}
	return "from " + at + " " + f.Bound.String()
}

// explainTemporal explains a formula with globally, finally or until that is evaluated at an origin. args are
// the values of the arguments.
func (e *explainer) explainTemporal(f *Formula, args []value, o origin, holds bool, depth int) error {
	switch f.Op {
	case Globally:
		return e.explainGlobally(f, args[0], &o, holds, depth)
	case Finally:
		return e.explainFinally(f, args[0], &o, holds, depth)
	}
	return e.explainUntil(f, args[0], args[1], &o, holds, depth)
}

// explainGlobally explains a formula with globally.
func (e *explainer) explainGlobally(f *Formula, arg value, o *origin, holds bool, depth int) error {
	first, end := e.spanOf(f, o)
	if !holds {
		if j := e.firstAt(arg, first, end, false); j < end {
			e.addAt(depth, f, holds, o.time, e.time[j], "%s does not hold at %s", f.Args[0], e.stateText(j))
			return e.explain(f.Args[0], j, false, depth+1)
		}
	}
	e.addAt(depth, f, holds, o.time, e.timeBefore(o, end), "%s %s", holdsAtAll(f.Args[0], o.passed+end-first),
		e.boundText(f, o))
	return e.explainAll(f.Args[0], first, end, true, depth+1)
}

// explainFinally explains a formula with finally.
func (e *explainer) explainFinally(f *Formula, arg value, o *origin, holds bool, depth int) error {
	first, end := e.spanOf(f, o)
	if holds {
		if j := e.firstAt(arg, first, end, true); j < end {
			e.addAt(depth, f, holds, o.time, e.time[j], "%s holds at %s, %s later", f.Args[0], e.stateText(j),
				e.elapsedText(o, j))
			return e.explain(f.Args[0], j, true, depth+1)
		}
	}
	next := e.firstAt(arg, end, e.n, true)
	_, ok := e.ticks(f.Bound)
	text := fmt.Sprintf("%s %s", holdsAtNone(f.Args[0], o.passed+end-first), e.boundText(f, o))
	switch {
	case f.Bound == nil || !ok: // no time is later than the bound, or no time is in it
	case next < e.n && e.beginsLater(f):
		text += fmt.Sprintf("; next at %s, %s later", e.stateText(next), e.elapsedText(o, next))
	case next < e.n:
		text += fmt.Sprintf("; only at %s, %s later", e.stateText(next), e.elapsedText(o, next))
	case e.growing:
		text += ", nor up to " + e.timeText(e.n-1)
	default:
		text += ", nor later"
	}
	e.addAt(depth, f, holds, o.time, e.timeBefore(o, end), "%s", text)
	return e.explainAll(f.Args[0], first, end, false, depth+1)
}

// explainUntil explains a formula with until.
func (e *explainer) explainUntil(f *Formula, arg, goal value, o *origin, holds bool, depth int) error {
	first, end := e.spanOf(f, o)
	stop := e.firstAt(arg, o.next, e.n, false) // the first state at which the first argument does not hold
	j := e.firstAt(goal, first, end, true)
	if holds && j < end && j <= stop {
		e.addAt(depth, f, holds, o.time, e.time[j], "%s holds at %s, %s later, and %s before it", f.Args[1], e.stateText(j),
			e.elapsedText(o, j), f.Args[0])
		if err := e.explain(f.Args[1], j, true, depth+1); err != nil {
			return err
		}
		return e.explainAll(f.Args[0], o.next, j, true, depth+1)
	}
	if stop >= end {
		e.addAt(depth, f, holds, o.time, e.timeBefore(o, end), "%s %s", holdsAtNone(f.Args[1], o.passed+end-first),
			e.boundText(f, o))
		return e.explainAll(f.Args[1], first, end, false, depth+1)
	}
	when := ""
	switch {
	case j < end:
		when = " at " + e.stateText(j)
	case e.beginsLater(f):
		when = " " + f.Bound.String()
	}
	e.addAt(depth, f, holds, o.time, e.time[stop], "%s does not hold at %s, before %s does%s", f.Args[0],
		e.stateText(stop), f.Args[1], when)
	if err := e.explain(f.Args[0], stop, false, depth+1); err != nil {
		return err
	}
	return e.explainAll(f.Args[1], first, stop+1, false, depth+1)
}

// holdsAtAll states that a formula holds at each of n events.
func holdsAtAll(f *Formula, n int) string {
	switch n {
	case 0:
		return fmt.Sprintf("there is no event for %s", f)
	case 1:
		return fmt.Sprintf("%s holds at the only event", f)
	}
	return fmt.Sprintf("%s holds at all %d events", f, n)
}

// holdsAtNone states that a formula holds at none of n events.
func holdsAtNone(f *Formula, n int) string {
	switch n {
	case 0:
		return fmt.Sprintf("there is no event for %s", f)
	case 1:
		return fmt.Sprintf("%s does not hold at the only event", f)
	}
	return fmt.Sprintf("%s holds at none of the %d events", f, n)
}
