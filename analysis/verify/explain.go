package verify

import (
	"context"
	"fmt"
	"strconv"
)

// maxReasons is the greatest number of reasons for a verdict.
const maxReasons = 20

// explainer collects the reasons for a verdict.
type explainer struct {
	*evaluator
	ctx      context.Context
	complete bool // assume that the trace is complete, because no continuation is known
	list     []Reason
}

// is reports whether a formula holds at a state. If holds is false, it reports whether the formula does
// not hold there. In both cases, it returns false if the trace does not decide the question.
func (x *explainer) is(v value, i int, holds bool) bool {
	switch {
	case x.complete:
		return v.holds.has(i) == holds
	case holds:
		return v.good.has(i)
	}
	return !v.possible.has(i)
}

// add adds a reason: the states from first to last decide the formula.
func (x *explainer) add(depth int, f *Formula, holds bool, first, last int, format string, args ...any) {
	x.addAt(depth, f, holds, x.time[first], x.time[last], format, args...)
}

// addAt adds a reason: the time between from and to decides the formula.
func (x *explainer) addAt(depth int, f *Formula, holds bool, from, to int64, format string, args ...any) {
	x.list = append(x.list, Reason{depth, f.String(), holds, from, to, fmt.Sprintf(format, args...)})
}

// at formats the time of a state.
func (x *explainer) at(i int) string { return x.defs.Clock.FormatSeconds(x.time[i]) + " s" }

// state returns a text with the event at a state and its time.
func (x *explainer) state(i int) string {
	return x.names[x.label(i)] + " at " + x.at(i)
}

// explain adds the reasons why a formula holds at a state. If holds is false, it adds the reasons why
// the formula does not hold there.
func (x *explainer) explain(f *Formula, i int, holds bool, depth int) error {
	if len(x.list) >= maxReasons {
		return nil
	}
	var args []value
	for _, a := range f.Args {
		if f.Op == And || f.Op == Or {
			break
		}
		v, err := x.value(x.ctx, a)
		if err != nil {
			return err
		}
		args = append(args, v)
	}
	switch f.Op {
	case Prop:
		if holds {
			x.add(depth, f, holds, i, i, "%s has %s", x.state(i), f.Prop)
		} else {
			x.add(depth, f, holds, i, i, "%s does not have %s", x.state(i), f.Prop)
		}
	case Compare:
		x.add(depth, f, holds, i, i, "%s", x.comparison(f.Comparison, i))
	case Percentile:
		x.percentileReasons(f, holds, depth)
	case Not:
		return x.explain(f.Args[0], i, !holds, depth)
	case And, Or:
		return x.junction(f, i, holds, depth)
	case Implies:
		switch {
		case !holds:
			if err := x.explain(f.Args[0], i, true, depth+1); err != nil {
				return err
			}
			return x.explain(f.Args[1], i, false, depth+1)
		case x.is(args[1], i, true):
			return x.explain(f.Args[1], i, true, depth+1)
		}
		return x.explain(f.Args[0], i, false, depth+1)
	case Next:
		if i+1 < x.n {
			return x.explain(f.Args[0], i+1, holds, depth+1)
		}
		x.add(depth, f, holds, i, i, "%s is the last event", x.state(i))
	case Globally, Finally, Until:
		return x.temporal(f, args, x.originAt(i), holds, depth)
	}
	return nil
}

// junction explains a conjunction or disjunction, by the first argument that decides it or, if each
// argument is necessary, by all.
func (x *explainer) junction(f *Formula, i int, holds bool, depth int) error {
	one := (f.Op == And) != holds // whether a single argument decides it
	for _, a := range f.Args {
		if len(x.list) >= maxReasons {
			return nil
		}
		v, err := x.value(x.ctx, a)
		if err != nil {
			return err
		}
		if !x.is(v, i, holds) {
			continue
		}
		if err := x.explain(a, i, holds, depth+1); err != nil || one {
			return err
		}
	}
	return nil
}

// comparison returns a text with the value of a signal at a state.
func (x *explainer) comparison(c *Comparison, i int) string {
	u := x.offset(x.time[i])
	for p := range c.Signal.evaluate(x.signal, x.unit) {
		if p.from <= u && (u < p.to || u == p.to && p.last) {
			return fmt.Sprintf("%s is %s at %s", c.Signal, strconv.FormatFloat(p.value(u), 'g', 6, 64), x.at(i))
		}
	}
	return fmt.Sprintf("%s has no value at %s", c.Signal, x.at(i))
}

// origin describes the evaluation of a temporal formula at a state. time is the time of that state. The
// states before next do not decide the formula. passed is the number of these within the bound of the
// formula, and last is the time of the last of them.
type origin struct {
	time, last   int64
	next, passed int
}

// originAt returns the origin at a state, before any later state has been examined.
func (e *evaluator) originAt(i int) origin { return origin{time: e.time[i], last: e.time[i], next: i} }

// span returns the states within the bound of a formula that may still decide it: first <= i < end.
func (x *explainer) span(f *Formula, o *origin) (first, end int) {
	w, ok := x.ticks(f.Bound)
	if !ok {
		return o.next, o.next
	}
	since := func(j int) uint64 { return uint64(x.time[j]) - uint64(o.time) }
	for first = o.next; first < x.n && since(first) < w.low; {
		first++
	}
	for end = first; end < x.n && since(end) <= w.high; {
		end++
	}
	return first, end
}

// timeBefore returns the time of the state before end. If no state is left, it returns the time of the last
// state that does not decide the formula.
func (x *explainer) timeBefore(o *origin, end int) int64 {
	if end > o.next {
		return x.time[end-1]
	}
	return o.last
}

// elapsed formats the time that passes from an origin to a state.
func (x *explainer) elapsed(o *origin, j int) string {
	return x.duration(uint64(x.time[j]) - uint64(o.time))
}

// boundText formats the bound of a formula, relative to an origin.
func (x *explainer) boundText(f *Formula, o *origin) string {
	at := x.defs.Clock.FormatSeconds(o.time) + " s"
	if f.Bound == nil {
		return "from " + at + " on"
	}
	return "from " + at + " " + f.Bound.String()
}

// temporal explains globally, finally and until, evaluated at an origin. args are the values of their
// arguments.
func (x *explainer) temporal(f *Formula, args []value, o origin, holds bool, depth int) error {
	switch f.Op {
	case Globally:
		return x.everywhere(f, args[0], &o, holds, depth)
	case Finally:
		return x.somewhere(f, args[0], &o, holds, depth)
	}
	return x.reaches(f, args[0], args[1], &o, holds, depth)
}

// everywhere explains globally.
func (x *explainer) everywhere(f *Formula, arg value, o *origin, holds bool, depth int) error {
	first, end := x.span(f, o)
	if !holds {
		for j := first; j < end; j++ {
			if x.is(arg, j, false) {
				x.addAt(depth, f, holds, o.time, x.time[j], "%s does not hold at %s", f.Args[0], x.state(j))
				return x.explain(f.Args[0], j, false, depth+1)
			}
		}
	}
	x.addAt(depth, f, holds, o.time, x.timeBefore(o, end), "%s holds at all %d events %s", f.Args[0], o.passed+end-first,
		x.boundText(f, o))
	return nil
}

// somewhere explains finally.
func (x *explainer) somewhere(f *Formula, arg value, o *origin, holds bool, depth int) error {
	first, end := x.span(f, o)
	if holds {
		for j := first; j < end; j++ {
			if x.is(arg, j, true) {
				x.addAt(depth, f, holds, o.time, x.time[j], "%s holds at %s, %s later", f.Args[0], x.state(j), x.elapsed(o, j))
				return x.explain(f.Args[0], j, true, depth+1)
			}
		}
	}
	next := end
	for next < x.n && !x.is(arg, next, true) {
		next++
	}
	text := fmt.Sprintf("%s holds at none of the %d events %s", f.Args[0], o.passed+end-first, x.boundText(f, o))
	switch {
	case f.Bound == nil:
	case next < x.n:
		text += fmt.Sprintf("; only at %s, %s later", x.state(next), x.elapsed(o, next))
	default:
		text += ", nor later"
	}
	x.addAt(depth, f, holds, o.time, x.timeBefore(o, end), "%s", text)
	return nil
}

// reaches explains until.
func (x *explainer) reaches(f *Formula, arg, goal value, o *origin, holds bool, depth int) error {
	first, end := x.span(f, o)
	stop := o.next // the first state at which the first argument does not hold
	for stop < x.n && !x.is(arg, stop, false) {
		stop++
	}
	for j := first; j < end; j++ {
		if x.is(goal, j, true) {
			if holds && j <= stop {
				x.addAt(depth, f, holds, o.time, x.time[j], "%s holds at %s, %s later, and %s before it", f.Args[1], x.state(j),
					x.elapsed(o, j), f.Args[0])
				return x.explain(f.Args[1], j, true, depth+1)
			}
			if !holds && stop < j {
				x.addAt(depth, f, holds, o.time, x.time[j], "%s does not hold at %s, before %s does at %s", f.Args[0],
					x.state(stop), f.Args[1], x.state(j))
				return x.explain(f.Args[0], stop, false, depth+1)
			}
			break
		}
	}
	if stop < x.n && stop < end {
		x.addAt(depth, f, holds, o.time, x.time[stop], "%s does not hold at %s, before %s does", f.Args[0], x.state(stop),
			f.Args[1])
		return x.explain(f.Args[0], stop, false, depth+1)
	}
	x.addAt(depth, f, holds, o.time, x.timeBefore(o, end), "%s holds at none of the %d events %s", f.Args[1],
		o.passed+end-first, x.boundText(f, o))
	return nil
}

// denseReason explains a formula that consists only of signals, by the times at which its parts hold or
// do not hold.
func (x *explainer) denseReason(f *Formula, holds bool) {
	add := func(f *Formula, depth int, holds bool, r interval, text string) {
		x.list = append(x.list, Reason{depth, f.String(), holds, x.tick(r.low), x.tick(r.high), text})
	}
	seconds := func(u float64) string { return x.defs.Clock.FormatSeconds(x.tick(u)) + " s" }
	words := func(r interval) string {
		if r.low == r.high {
			return "at " + seconds(r.low)
		}
		return "from " + seconds(r.low) + " to " + seconds(r.high)
	}
	// part adds a reason about a part f of the formula: the times at which f holds or, if holds is
	// false, the times at which f does not hold.
	part := func(f *Formula, holds bool, depth int) {
		v := x.denseValue(f)
		set := v.holds
		if !holds {
			set = set.complement(x.domain)
		}
		if x.domain.highOpen { // the trace continues after the domain
			if set = v.good; !holds {
				set = v.possible.complement(x.domain)
			}
		}
		verb := map[bool]string{true: "holds", false: "does not hold"}[holds]
		switch {
		case len(set) == 0:
			add(f, depth, !holds, x.domain, fmt.Sprintf("%s %s at any time", f, map[bool]string{true: "does not hold",
				false: "holds"}[holds]))
		case len(set) == 1:
			add(f, depth, holds, set[0], fmt.Sprintf("%s %s %s", f, verb, words(set[0])))
		default:
			add(f, depth, holds, set[0], fmt.Sprintf("%s %s %s, and at %d other times", f, verb, words(set[0]), len(set)-1))
		}
	}
	for depth := 0; len(x.list) < maxReasons; depth++ {
		switch f.Op {
		case Not:
			f, holds = f.Args[0], !holds
			continue
		case Globally, Finally:
			part(f.Args[0], f.Op == Finally || holds, depth)
			return
		case And, Or, Implies, Until:
			for _, a := range f.Args {
				if len(x.list) < maxReasons {
					part(a, x.denseValue(a).holds.contains(x.domain.low), depth)
				}
			}
			return
		}
		part(f, holds, depth)
		return
	}
}
