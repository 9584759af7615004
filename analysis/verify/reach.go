package verify

import (
	"cmp"
	"slices"
	"sort"
)

// explainAll explains a formula, which has the same value at all states in first <= i < end, at the state whose
// explanation extends to the latest state. A formula of events alone needs no explanation there.
func (e *explainer) explainAll(f *Formula, first, end int, holds bool, depth int) error {
	if first >= end || !f.temporal {
		return nil
	}
	at, err := e.farthest(f, first, end, holds)
	if err != nil {
		return err
	}
	return e.explain(f, at, holds, depth)
}

// farthest returns the last state in first <= i < end at which the explanation of a formula extends to the latest
// state.
func (e *explainer) farthest(f *Formula, first, end int, holds bool) (int, error) {
	if end == e.n { // the last state of the trace
		return end - 1, nil
	}
	latest, err := e.reach(f, first, end, holds)
	if err != nil {
		return 0, err
	}
	// Later states usually have later explanations. So the last state often is the result.
	reaches := func(k int) bool {
		t, e := e.reach(f, end-1-k, end, holds)
		err = cmp.Or(err, e)
		return t == latest
	}
	if reaches(0) {
		return end - 1, err
	}
	return end - 1 - sort.Search(end-1-first, reaches), err
}

// reach returns the latest state that decides whether a formula holds at the states first <= i < end. It has the same
// value at all of them. The time is proportional to the number of these states and the states that decide the formula,
// times the number of operators. For an operator with arguments of events alone, one state is enough.
func (e *explainer) reach(f *Formula, first, end int, holds bool) (int, error) {
	r := reachSearch{explainer: e, latest: end - 1, states: map[*Formula]*decidedStates{}}
	r.add(f, holds, runs{}.add(first, end))
	// The arguments of a formula come before it, so all states of a formula are known when its turn comes.
	formulas := parts(f)
	slices.SortFunc(formulas, func(a, b *Formula) int { return cmp.Compare(b.index, a.index) })
	for _, g := range formulas {
		s := r.states[g]
		if s == nil {
			continue
		}
		delete(r.states, g)
		for _, holds := range []bool{false, true} {
			list := &s.fails
			if holds {
				list = &s.holds
			}
			if len(*list) == 0 {
				continue
			}
			if err := r.visit(g, joined(*list), holds); err != nil {
				return 0, err
			}
		}
	}
	return r.latest, nil
}

// parts returns a formula and all formulas in it, each of them once.
func parts(f *Formula) []*Formula {
	seen := map[*Formula]bool{f: true}
	list := []*Formula{f}
	for i := 0; i < len(list); i++ {
		for _, a := range list[i].Args {
			if !seen[a] && a.temporal {
				seen[a] = true
				list = append(list, a)
			}
		}
	}
	return list
}

// reachSearch finds the states that decide a formula.
type reachSearch struct {
	*explainer
	latest int // the latest state so far
	states map[*Formula]*decidedStates
}

// decidedStates holds the states at which a formula is explained: those at which it holds and those at which it does
// not hold. The runs may overlap.
type decidedStates struct{ holds, fails []run }

// add adds states at which a formula is explained. Formulas of events alone refer to no later states.
func (r *reachSearch) add(f *Formula, holds bool, s runs) {
	if len(s) == 0 {
		return
	}
	r.latest = max(r.latest, int(s[len(s)-1].end)-1)
	if !f.temporal {
		return
	}
	x := r.states[f]
	if x == nil {
		x = &decidedStates{}
		r.states[f] = x
	}
	if holds {
		x.holds = append(x.holds, s...)
	} else {
		x.fails = append(x.fails, s...)
	}
}

// visit adds the states at which the arguments of a formula explain it at the states in s. It chooses the same states
// as [explainer.explain].
func (r *reachSearch) visit(f *Formula, s runs, holds bool) error {
	var args [2]value
	if f.Op != And && f.Op != Or {
		for i, a := range f.Args {
			v, err := r.value(r.ctx, a)
			if err != nil {
				return err
			}
			args[i] = v
		}
	}
	switch f.Op {
	case Not:
		r.add(f.Args[0], !holds, s)
	case And, Or:
		return r.visitJunction(f, s, holds)
	case Implies:
		if !holds {
			r.add(f.Args[0], true, s)
			r.add(f.Args[1], false, s)
			return nil
		}
		yes, no := r.split(args[1], s, true)
		r.add(f.Args[1], true, yes)
		r.add(f.Args[0], false, no)
	case Next:
		var next runs
		for _, x := range s {
			next = next.add(int(x.from)+1, min(int(x.end)+1, r.n))
		}
		r.add(f.Args[0], holds, next)
	case Globally:
		r.visitUntil(f, value{r.all, r.all, r.all}, r.not(args[0]), s, !holds)
	case Finally:
		r.visitUntil(f, value{r.all, r.all, r.all}, args[0], s, holds)
	case Until:
		r.visitUntil(f, args[0], args[1], s, holds)
	}
	return nil
}

// visitJunction adds the states of the arguments of a conjunction or disjunction.
func (r *reachSearch) visitJunction(f *Formula, s runs, holds bool) error {
	one := (f.Op == And) != holds // whether a single argument decides the formula
	for _, a := range f.Args {
		v, err := r.value(r.ctx, a)
		if err != nil {
			return err
		}
		yes, no := r.split(v, s, holds)
		r.add(a, holds, yes)
		if one {
			s = no
		}
	}
	return nil
}

// split separates the states at which holdsAt is true from the others.
func (r *reachSearch) split(v value, s runs, holds bool) (yes, no runs) {
	set, in := r.deciding(v, holds)
	for _, x := range s {
		for from, end := int(x.from), int(x.end); from < end; {
			next := set.find(from, end, in)
			no = no.add(from, next)
			from = set.find(next, end, !in)
			yes = yes.add(next, from)
		}
	}
	return yes, no
}

// visitUntil adds the states of the arguments of globally, finally and until. The first two are forms of until.
func (r *reachSearch) visitUntil(f *Formula, arg, goal value, s runs, holds bool) {
	w, ok := r.ticks(f.Bound)
	if !ok {
		return
	}
	if !slices.ContainsFunc(f.Args, func(a *Formula) bool { return a.temporal }) {
		i := int(s[len(s)-1].end) - 1 // no earlier state needs later states than this one
		s = runs{}.add(i, i+1)
	}
	goalHolds := f.Op != Globally // whether the last argument holds at states at which the goal does
	last := f.Args[len(f.Args)-1]
	var before, reached, stopped, missed runs
	first, end, stop, found := 0, 0, -1, -1
	since := func(i, j int) uint64 { return uint64(r.time[j]) - uint64(r.time[i]) }
	// beginsAfter reports whether the bound at state i begins after state j.
	beginsAfter := func(i, j int) bool { return j < r.n && (j < i || since(i, j) < w.low) }
	for _, x := range s {
		// Each round handles several states that the same states decide.
		for i := int(x.from); i < int(x.end); {
			first = searchFrom(max(first, i), r.n, func(j int) bool { return since(i, j) >= w.low })
			if stop < i {
				stop = r.firstAt(arg, i, r.n, false)
			}
			if holds {
				if found < first {
					found = r.firstAt(goal, first, r.n, true)
				}
				before = before.add(i, min(found, r.n))
				reached = reached.add(found, min(found+1, r.n))
				i = searchFrom(i+1, int(x.end), func(k int) bool { return beginsAfter(k, found) })
				continue
			}
			end = searchFrom(max(end, first), r.n, func(j int) bool { return since(i, j) > w.high })
			next := min(int(x.end), stop+1)
			if w.low > 0 { // the states in the bounds of these states are consecutive
				next = searchFrom(i+1, next, func(k int) bool { return beginsAfter(k, end) })
			}
			i = next
			end = searchFrom(end, r.n, func(j int) bool { return j >= i && since(i-1, j) > w.high })
			missed = missed.add(first, min(end, stop+1))
			if stop < end {
				stopped = stopped.add(stop, stop+1)
			}
		}
	}
	r.add(last, goalHolds, reached)
	r.add(last, !goalHolds, missed)
	if f.Op == Until {
		r.add(f.Args[0], true, before)
		r.add(f.Args[0], false, stopped)
	}
}

// searchFrom returns the first state i with from <= i < n at which a condition becomes true, or n. The time is
// proportional to the logarithm of the distance to this state.
func searchFrom(from, n int, condition func(int) bool) int {
	step := 1
	for from+step <= n && !condition(from+step-1) {
		from += step
		step *= 2
	}
	return from + sort.Search(min(step, n-from), func(k int) bool { return condition(from + k) })
}
