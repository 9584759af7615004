package verify

import (
	"fmt"
	"math"
	"math/big"
	"strings"
)

// secondsText formats a time in ticks since the begin of the trace in seconds. A time between two ticks is rounded to
// decimals of at most a thousandth of a tick.
func (e *explainer) secondsText(u float64) string {
	clock, t := e.defs.Clock, e.tick(math.Floor(u))
	part := new(big.Rat).SetFloat64(u - math.Floor(u))
	if part == nil || part.Sign() == 0 || clock.Base != 0 {
		return clock.FormatSeconds(e.tick(u))
	}
	digits := 0
	for n := clock.Den; digits < 18 && n/1000 < clock.Num; digits++ {
		n *= 10
	}
	seconds := part.Add(part, new(big.Rat).SetInt64(t))
	text := seconds.Mul(seconds, big.NewRat(clock.Den, clock.Num)).FloatString(digits)
	if digits > 0 {
		text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// hasValue reports whether an expression may have a value at a time. A monitor does not hold earlier values.
func (e *evaluator) hasValue(x *SignalExpr, u float64) bool {
	if e.compared != nil || e.growth != nil {
		return true
	}
	for p := range x.evaluate(e.signal, e.unit) {
		if p.from <= u && (u < p.to || u == p.to && p.last) {
			return true
		}
	}
	return false
}

// decidedTimes returns the times at which a formula holds or, if holds is false, the times at which it does not
// hold. If the verdict is valid for all continuations of the trace, these are the times that no continuation can
// change.
func (e *explainer) decidedTimes(f *Formula, holds bool) times {
	v := e.denseValue(f)
	switch continues := e.domain.highOpen || !e.complete; {
	case holds && continues:
		return v.good
	case holds:
		return v.holds
	case continues:
		return v.possible.complement(e.domain)
	}
	return v.holds.complement(e.domain)
}

// addDense adds a reason about a part of a formula that consists only of signals: the times within limits at which
// the part holds or, if holds is false, the times at which it does not hold. For the first of these times, or for all
// times in limits if there are none, addDense adds the parts of the formula that decide it.
func (e *explainer) addDense(f *Formula, holds bool, depth int, limits interval) {
	if len(e.list) >= maxReasons {
		return
	}
	set := e.decidedTimes(f, holds).intersect(times{limits})
	if len(set) == 0 {
		when := "at any time"
		switch {
		case limits.low == limits.high:
			when = e.intervalText(limits)
		case limits != e.domain:
			when += " " + e.intervalText(limits)
		}
		e.addTimes(depth, f, !holds, limits, fmt.Sprintf("%s %s %s", f, verb(!holds), when))
		e.explainAllTimes(f, !holds, depth, times{limits})
		return
	}
	text := fmt.Sprintf("%s %s %s", f, verb(holds), e.intervalText(set[0]))
	switch len(set) {
	case 1:
	case 2:
		text += ", and at 1 other time"
	default:
		text += fmt.Sprintf(", and at %d other times", len(set)-1)
	}
	e.addTimes(depth, f, holds, set[0], text+e.noValueText(f, holds, set[0]))
	for ; f.Op == Not; f, holds = f.Args[0], !holds {
	}
	if set[0] == limits { // the formula has the same value at all times
		e.explainAllTimes(f, holds, depth, set)
		return
	}
	e.explainBegin(f, holds, depth, set[0])
}

// noValueText returns a text that states that the signal of a comparison has no value at the begin of r, where the
// comparison does not hold, or "".
func (e *explainer) noValueText(f *Formula, holds bool, r interval) string {
	if holds || f.Op != Compare || r.lowOpen || e.hasValue(f.Comparison.Signal, r.low) {
		return ""
	}
	return fmt.Sprintf("; %s has no value at %s s", f.Comparison.Signal, e.secondsText(r.low))
}

// verb returns the verb for a formula that holds or does not hold.
func verb(holds bool) string {
	if holds {
		return "holds"
	}
	return "does not hold"
}

// intervalText formats an interval of times.
func (e *explainer) intervalText(r interval) string {
	if r.low == r.high {
		return "at " + e.secondsText(r.low) + " s"
	}
	return "from " + e.secondsText(r.low) + " s to " + e.secondsText(r.high) + " s"
}

// addTimes adds a reason to the explanation: f holds, or does not hold, at all times in the interval r.
func (e *explainer) addTimes(depth int, f *Formula, holds bool, r interval, text string) {
	e.list = append(e.list, Reason{depth, f.String(), holds, e.instant(r.low), e.instant(r.high), r.lowOpen, r.highOpen,
		text})
}

// explainBegin explains a formula that has the same value at all times in the interval r, by the parts that decide it
// at the begin of r.
func (e *explainer) explainBegin(f *Formula, holds bool, depth int, r interval) {
	switch f.Op {
	case Globally, Finally, Until:
		begin := interval{low: r.low, high: r.low}
		if r.lowOpen { // no time is the first one
			begin = interval{low: r.low, lowOpen: true, high: (r.low + r.high) / 2}
		}
		e.explainTimes(f, holds, depth+1, begin)
	case And, Or, Implies:
		e.eachDecidingPart(f, holds, r, func(part *Formula, holds bool) { e.addDense(part, holds, depth+1, r) })
	}
}

// eachDecidingPart calls do for the parts of a junction that decide it at the begin of r: the first part that decides
// it alone, or all parts. Other formulas have no such parts.
func (e *explainer) eachDecidingPart(f *Formula, holds bool, r interval, do func(part *Formula, holds bool)) {
	if f.Op != And && f.Op != Or && f.Op != Implies {
		return
	}
	for i, a := range f.Args {
		h := holds != (f.Op == Implies && i == 0)
		set := e.decidedTimes(a, h).intersect(times{r})
		if len(set) == 0 || set[0].low != r.low || set[0].lowOpen && !r.lowOpen {
			continue
		}
		if do(a, h); (f.Op == And) != holds {
			return
		}
	}
}

// explainDense explains a formula that consists only of signals, by the times at which its parts hold or
// do not hold.
func (e *explainer) explainDense(f *Formula, holds bool, depth int) {
	for ; f.Op == Not; depth++ {
		f, holds = f.Args[0], !holds
	}
	begin := interval{}
	switch f.Op {
	case Globally, Finally, Until:
		e.explainTimes(f, holds, depth, begin)
	case And, Or, Implies:
		e.eachDecidingPart(f, holds, begin, func(part *Formula, holds bool) { e.explainDense(part, holds, depth+1) })
	default:
		e.addDense(f, holds, depth, e.domain)
	}
}

// explainAllTimes explains a formula, which has the same value at all times in a set, by its parts that refer to other
// times. Comparisons need no explanation: the set names the signals.
func (e *explainer) explainAllTimes(f *Formula, holds bool, depth int, set times) {
	for ; f.Op == Not; f, holds = f.Args[0], !holds {
	}
	switch {
	case len(set) == 0 || len(e.list) >= maxReasons:
	case f.Op == Globally || f.Op == Finally || f.Op == Until:
		for _, r := range set {
			e.explainTimes(f, holds, depth+1, r)
		}
	case !f.temporal:
		e.explainBegin(f, holds, depth, set[0])
	case f.Op == And || f.Op == Or || f.Op == Implies:
		for i, a := range f.Args {
			h := holds != (f.Op == Implies && i == 0)
			decided := e.decidedTimes(a, h).intersect(set)
			e.addEach(a, h, depth+1, decided)
			if (f.Op == And) != holds { // a single part decides the formula
				set = set.intersect(decided.complement(e.domain))
			}
		}
	}
}

// addEach adds a reason for each interval of a set, in which a formula has the same value, and explains the formula.
func (e *explainer) addEach(f *Formula, holds bool, depth int, set times) {
	for _, r := range set {
		if len(e.list) >= maxReasons {
			return
		}
		e.addTimes(depth, f, holds, r, fmt.Sprintf("%s %s %s%s", f, verb(holds), e.intervalText(r),
			e.noValueText(f, holds, r)))
	}
	e.explainAllTimes(f, holds, depth, set)
}

// explainTimes explains a formula with globally, finally or until, which has the same value at all times in the
// interval r, by the times of its arguments.
func (e *explainer) explainTimes(f *Formula, holds bool, depth int, r interval) {
	w := e.window(f.Bound)
	limits := interval{r.low + w.low, r.high + w.high, r.lowOpen || w.lowOpen, r.highOpen || w.highOpen}
	limits = e.domain.intersect(limits)
	goal := f.Args[len(f.Args)-1]
	switch {
	case limits.empty() || interval(w).empty():
		none := e.domain.intersect(r)
		if depth == 0 {
			none = e.domain
		}
		e.addTimes(depth, f, holds, none, fmt.Sprintf("no time of the trace is %s from %s s", f.Bound,
			e.secondsText(r.low)))
		// If the trace can continue up to the bound, only the first argument of until can have decided the formula.
		rest := interval{r.low, e.domain.high, r.lowOpen, e.domain.highOpen}
		if f.Op == Until && !e.complete && !interval(w).empty() &&
			len(e.decidedTimes(f.Args[0], false).intersect(times{rest})) > 0 {
			e.addDense(f.Args[0], false, depth, rest)
		}
	case f.Op == Globally && holds, f.Op == Finally && !holds:
		e.addDense(goal, f.Op == Finally || holds, depth, limits)
	case r.low == r.high && f.Op == Until:
		e.explainUntilAt(f, holds, depth, r.low, limits)
	case r.low == r.high:
		e.addDense(goal, holds, depth, limits)
	case f.Op == Until && !holds:
		before := e.domain.intersect(interval{r.low, limits.high, r.lowOpen, limits.highOpen})
		e.addEach(f.Args[0], false, depth, e.decidedTimes(f.Args[0], false).intersect(times{before}))
		e.addEach(goal, false, depth, e.decidedTimes(goal, false).intersect(times{limits}))
	default:
		set := e.decidedTimes(goal, holds).intersect(times{limits})
		e.addEach(goal, holds, depth, set)
		if f.Op == Until && len(set) > 0 {
			before := interval{r.low, set[len(set)-1].high, r.lowOpen, false}
			e.addEach(f.Args[0], true, depth, e.decidedTimes(f.Args[0], true).intersect(times{before}))
		}
	}
}

// explainUntilAt explains a formula with until at a time: by the first time within limits, the bound, at which the
// second argument holds, or by the first time at which the first argument does not hold and the times before it.
func (e *explainer) explainUntilAt(f *Formula, holds bool, depth int, at float64, limits interval) {
	arg, goal := f.Args[0], f.Args[1]
	before := interval{low: at}
	if !holds {
		before.high, before.highOpen = limits.high, limits.highOpen
		if fails := e.decidedTimes(arg, false).intersect(times{before}); len(fails) > 0 {
			e.addDense(arg, false, depth, before)
			limits = limits.intersect(interval{low: before.low, high: fails[0].low})
		}
		if !limits.empty() {
			e.addDense(goal, true, depth, limits)
		}
		return
	}
	set := e.decidedTimes(goal, true).intersect(times{limits})
	if len(set) == 0 {
		return
	}
	before.high, before.highOpen = set[0].low, true
	if set[0].lowOpen { // no time is the first one at which the second argument holds
		held := e.decidedTimes(arg, true).intersect(times{{low: at, high: set[0].high}})
		if len(held) > 0 {
			limits.high = min(limits.high, held[0].high)
		}
		before.high = (set[0].low + limits.high) / 2
	}
	e.addDense(goal, true, depth, limits)
	if before.high > at {
		e.addDense(arg, true, depth, before)
	}
}
