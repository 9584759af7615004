package verify

import (
	"context"
	"math"
	"slices"
	"sort"
)

// The robustness of a check is found from the states at which its comparisons decide it. In a check for each of
// many objects, most states do not matter: propositions alone decide the formulas there, or no formula refers to
// them. The comparisons are evaluated only at the other states.

// withoutSignals returns an evaluator that leaves comparisons and percentiles open: no state is in the sets good
// and holds of these formulas, and all states are in the set possible. It treats the trace as complete.
func (e *evaluator) withoutSignals() *evaluator {
	x := *e
	x.signalsOpen = true
	x.values, x.bytes = map[*Formula]value{}, 0
	return &x
}

// neededStates returns, for each comparison and percentile of the formula f, the states at which its value may decide
// f at the first state.
func (e *evaluator) neededStates(ctx context.Context, f *Formula) (map[*Formula]stateSet, error) {
	if e.open == nil {
		e.open = e.withoutSignals()
	}
	needed := map[*Formula]*union{}
	need := func(f *Formula, s stateSet) {
		if !f.signal {
			return
		}
		if needed[f] == nil {
			needed[f] = &union{n: e.n}
		}
		needed[f].add(s)
	}
	need(f, runs{}.add(0, 1))
	result := map[*Formula]stateSet{}
	for _, f := range signalFormulas(f) {
		if needed[f] == nil {
			continue
		}
		v, err := e.open.value(ctx, f)
		if err != nil {
			return nil, err
		}
		s := e.except(needed[f].set(), v)
		e.open.limitCache()
		switch f.Op {
		case Compare, Percentile:
			result[f] = s
		case Next:
			for _, a := range f.Args {
				need(a, e.within(s, ticks{}, 1))
			}
		case Globally, Finally, Until:
			w, ok := e.ticks(f.Bound)
			if !ok {
				continue
			}
			for _, a := range f.Args {
				need(a, e.within(s, w, 0))
			}
		default:
			for _, a := range f.Args {
				need(a, s)
			}
		}
		delete(needed, f)
	}
	return result, nil
}

// signalFormulas returns the formula f and the formulas with signals in it. Each comes before its arguments.
func signalFormulas(f *Formula) []*Formula {
	var list []*Formula
	seen := map[*Formula]bool{}
	var add func(f *Formula)
	add = func(f *Formula) {
		if seen[f] || !f.signal {
			return
		}
		seen[f] = true
		for _, a := range f.Args {
			add(a)
		}
		list = append(list, f)
	}
	add(f)
	slices.Reverse(list)
	return list
}

// except returns the states of s at which a formula with value v is open.
func (e *evaluator) except(s stateSet, v value) stateSet {
	u := union{n: e.n}
	u.add(s.complement(e.n))
	u.add(v.good)
	u.add(v.possible.complement(e.n))
	return u.set().complement(e.n)
}

// within returns the states from each state of s up to the last one within a bound, but at least a number of states
// further. The result may also have states before the begin of the bound.
func (e *evaluator) within(s stateSet, w ticks, further int) stateSet {
	u := union{n: e.n}
	done := 0 // end of the states that have been added
	for from := s.find(0, e.n, true); from < e.n && done < e.n; {
		end := s.find(from, e.n, false)
		last := e.time[end-1]
		to := end + sort.Search(e.n-end, func(i int) bool { return uint64(e.time[end+i])-uint64(last) > w.high })
		to = min(max(to, end+further), e.n)
		if from = max(from, done); from < to {
			u.addRun(run{uint32(from), uint32(to)})
		}
		done = to
		from = s.find(end, e.n, true)
	}
	return u.set()
}

// valuesAt returns the value of an expression at each state, and NaN where it has none. The result is nil if it would
// take too much memory.
func (e *evaluator) valuesAt(x *SignalExpr) []float64 {
	if v := e.known[x]; v != nil || 8*e.n > cacheBytes {
		return v
	}
	if len(e.known) == 0 || 8*e.n*(len(e.known)+1) > cacheBytes {
		e.known = map[*SignalExpr][]float64{}
	}
	values := make([]float64, e.n)
	for i := range values {
		values[i] = math.NaN()
	}
	e.eachValue(x, 0, e.n, func(i int, v float64) { values[i] = v })
	e.known[x] = values
	return values
}

// comparedStates returns the needed states at which a comparison reaches the robustness.
func (t *threshold) comparedStates(f *Formula, negated bool) stateSet {
	needed := t.needed[f]
	if needed == nil {
		return t.none
	}
	number := t.number(f.Comparison)
	reaches := func(v float64) bool { return t.holds(signedDistance(v, f.Comparison.Op, number), negated) }
	values := t.valuesAt(f.Comparison.Signal)
	if values == nil {
		s := newBitset(t.n)
		t.eachValue(f.Comparison.Signal, 0, t.n, func(i int, v float64) {
			if needed.has(i) && reaches(v) {
				s.set(i)
			}
		})
		return s.compact(t.n)
	}
	u := union{n: t.n}
	begin := -1 // begin of the current run of states, or -1
	for from := needed.find(0, t.n, true); from < t.n; {
		end := needed.find(from, t.n, false)
		for i := from; i < end; i++ {
			switch reached := reaches(values[i]); {
			case reached && begin < 0:
				begin = i
			case !reached && begin >= 0:
				u.addRun(run{uint32(begin), uint32(i)})
				begin = -1
			}
		}
		if begin >= 0 {
			u.addRun(run{uint32(begin), uint32(end)})
			begin = -1
		}
		from = needed.find(end, t.n, true)
	}
	return u.set()
}
