package verify

import (
	"context"
	"slices"
)

// value returns the states at which a formula holds.
func (e *evaluator) value(ctx context.Context, f *Formula) (value, error) {
	if v, ok := e.values[f]; ok {
		return v, nil
	}
	if err := ctx.Err(); err != nil {
		return value{}, err
	}
	same := func(s stateSet) value { return value{s, s, s} }
	var args [2]value
	if f.Op != And && f.Op != Or {
		for i, a := range f.Args {
			v, err := e.value(ctx, a)
			if err != nil {
				return v, err
			}
			args[i] = v
		}
	}
	var v value
	switch f.Op {
	case True:
		v = same(e.all)
	case False:
		v = same(e.none)
	case Prop:
		v = same(e.propositionStates(f.Prop))
	case Compare, Percentile:
		switch {
		case e.signalsOpen:
			v = value{e.none, e.none, e.all}
		case f.Op == Compare:
			v = e.comparedStates(f)
		default:
			v = e.percentileStates(f.Responses)
		}
	case Not:
		v = e.not(args[0])
	case And, Or:
		return e.junction(ctx, f)
	case Implies:
		v = e.or(e.not(args[0]), args[1])
	case Globally:
		v = e.not(e.until(same(e.all), e.not(args[0]), f.Bound))
	case Finally:
		v = e.until(same(e.all), args[0], f.Bound)
	case Until:
		v = e.until(args[0], args[1], f.Bound)
	case Next:
		v = value{e.next(args[0].good, false), e.next(args[0].holds, false), e.next(args[0].possible, !e.signalsOpen)}
	}
	e.cacheValue(f, v)
	return v, nil
}

// propositionStates returns the states at which a proposition holds.
func (e *evaluator) propositionStates(p *Proposition) stateSet {
	list := e.matches[p.index]
	for len(list) > 0 && int(list[len(list)-1]) >= e.n {
		list = list[:len(list)-1]
	}
	if len(list) > fewRuns(e.n) {
		s := newBitset(e.n)
		for _, i := range list {
			s.set(int(i))
		}
		return s
	}
	s := make(runs, 0, len(list))
	for _, i := range list {
		s = s.add(int(i), int(i)+1)
	}
	return s
}

// comparedStates returns the states at which a comparison is true. In a growing trace, these include
// states at which the signals are not known yet and the comparison may be true.
func (e *evaluator) comparedStates(f *Formula) value {
	s := newBitset(e.n)
	if e.compared == nil {
		e.eachComparison(f.Comparison, 0, e.n, s.set)
		x := s.compact(e.n)
		return value{x, x, x}
	}
	c := e.compared[f]
	for _, i := range c.states {
		s.set(int(i))
	}
	x := s.compact(e.n)
	if c.known >= e.n {
		return value{x, x, x}
	}
	possible := slices.Clone(s)
	for i := c.known; i < e.n; i++ {
		possible.set(i)
	}
	return value{x, x, possible.compact(e.n)}
}

// cacheValue caches the value of a formula for other formulas that contain it.
func (e *evaluator) cacheValue(f *Formula, v value) {
	e.values[f] = v
	e.bytes += size(v.good) + size(v.holds) + size(v.possible)
}

// size returns the approximate number of bytes of a set in a cached value.
func size(s stateSet) int {
	// A cached value has three sets. others is a third of the bytes that it takes besides the elements of the sets.
	const others = 64
	if x, ok := s.(bitset); ok {
		return others + 8*len(x)
	}
	return others + 8*cap(s.(runs))
}

// junction returns the states at which all arguments of a conjunction hold, or at which some argument
// of a disjunction holds. cacheBytes limits how many values of arguments it keeps.
func (e *evaluator) junction(ctx context.Context, f *Formula) (value, error) {
	good, holds, possible := union{n: e.n}, union{n: e.n}, union{n: e.n}
	for _, a := range f.Args {
		x, err := e.value(ctx, a)
		if err != nil {
			return x, err
		}
		if f.Op == And {
			x = e.not(x)
		}
		good.add(x.good)
		holds.add(x.holds)
		possible.add(x.possible)
		e.limitCache()
	}
	v := value{good.set(), holds.set(), possible.set()}
	if f.Op == And {
		v = e.not(v)
	}
	e.cacheValue(f, v)
	return v, nil
}

// limitCache removes all cached values if they take more than cacheBytes. Removed values are computed again
// when needed.
func (e *evaluator) limitCache() {
	if e.bytes > cacheBytes {
		clear(e.values)
		e.bytes = 0
	}
}

func (e *evaluator) not(v value) value {
	return value{v.possible.complement(e.n), v.holds.complement(e.n), v.good.complement(e.n)}
}

func (e *evaluator) or(v, w value) value {
	join := func(a, b stateSet) stateSet {
		u := union{n: e.n}
		u.add(a)
		u.add(b)
		return u.set()
	}
	return value{join(v.good, w.good), join(v.holds, w.holds), join(v.possible, w.possible)}
}

func (e *evaluator) until(a, b value, bound *Bound) value {
	w, ok := e.ticks(bound)
	if !ok {
		return value{e.none, e.none, e.none}
	}
	return value{e.untilSet(a.good, b.good, w, false), e.untilSet(a.holds, b.holds, w, false),
		e.untilSet(a.possible, b.possible, w, !e.signalsOpen)}
}

// untilSet returns the same states as [untilStates].
func (e *evaluator) untilSet(a, b stateSet, w ticks, pending bool) stateSet {
	t := e.time[:e.n]
	x, few := a.(runs)
	y, also := b.(runs)
	if few && also {
		if s, ok := untilRuns(t, x, y, w, pending, fewRuns(e.n)); ok && len(s) <= fewRuns(e.n) {
			return s
		}
	}
	return untilStates(t, e.bits(a), e.bits(b), w, pending).compact(e.n)
}

// next returns the states whose next state is in a set.
func (e *evaluator) next(s stateSet, pending bool) stateSet {
	if x, few := s.(runs); few {
		return x.next(e.n, pending)
	}
	return nextStates(s.(bitset), e.n, pending)
}

// bits returns a set as bits. The caller must not change the bits.
func (e *evaluator) bits(s stateSet) bitset {
	x, few := s.(runs)
	if !few {
		return s.(bitset)
	}
	all := len(x) == 1 && int(x[0].end-x[0].from) == e.n
	if all && e.allBits != nil {
		return e.allBits
	}
	r := newBitset(e.n)
	for _, x := range x {
		r.setRun(x)
	}
	if all {
		e.allBits = r
	}
	return r
}
