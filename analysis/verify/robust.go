package verify

import (
	"context"
	"math"
	"strconv"
)

// Robustness states how far the signals of a check are from the bounds that decide it. If it is positive, the
// formula holds, and would still hold if all signals were worse by less than this number. If it is negative,
// the formula does not hold. A negation changes the sign. The operators "and" and "globally" take the least
// number, and "or" and "finally" the greatest one. The robustness is infinite if propositions alone decide the
// formula.
type Robustness float64

// String returns the number, inf or -inf.
func (r Robustness) String() string {
	if math.IsInf(float64(r), 0) {
		return map[bool]string{true: "inf", false: "-inf"}[r > 0]
	}
	return strconv.FormatFloat(float64(r), 'g', -1, 64)
}

// MarshalJSON returns a number, "inf" or "-inf".
func (r Robustness) MarshalJSON() ([]byte, error) {
	if math.IsInf(float64(r), 0) {
		return []byte(`"` + r.String() + `"`), nil
	}
	return []byte(r.String()), nil
}

// infinite returns the robustness of a formula that no signal decides.
func infinite(holds bool) *Robustness {
	r := Robustness(math.Inf(-1))
	if holds {
		r = -r
	}
	return &r
}

// robustness returns the robustness of a formula at the begin of the trace, and treats the trace as complete.
// The result is the greatest number that the formula reaches. It is found by bisection of the range of all
// numbers.
func (e *evaluator) robustness(ctx context.Context, f *Formula) (Robustness, error) {
	dense := f.isDense()
	var needed map[*Formula]stateSet
	if !dense {
		var err error
		if needed, err = e.neededStates(ctx, f); err != nil {
			return 0, err
		}
	}
	reaches := func(least float64) (bool, error) {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		x := threshold{evaluator: e, ctx: ctx, least: least, needed: needed,
			states: map[thresholdKey]stateSet{}, dense: map[thresholdKey]times{}}
		if dense {
			return x.timesOf(f, false).contains(0), nil
		}
		s, err := x.statesOf(f, false)
		return err == nil && s.has(0), err
	}
	low, high := ordinal(-math.MaxFloat64), ordinal(math.MaxFloat64)
	if ok, err := reaches(-math.MaxFloat64); !ok || err != nil {
		return Robustness(math.Inf(-1)), err
	}
	if ok, err := reaches(math.MaxFloat64); ok || err != nil {
		return Robustness(math.Inf(1)), err
	}
	for uint64(high)-uint64(low) > 1 {
		middle := middleOf(low, high)
		ok, err := reaches(fromOrdinal(middle))
		if err != nil {
			return 0, err
		}
		if ok {
			low = middle
		} else {
			high = middle
		}
	}
	r := fromOrdinal(low)
	// the greatest number may be a limit that the formula does not reach, and times of crossings are rounded
	if dense {
		r, _ = strconv.ParseFloat(strconv.FormatFloat(r, 'g', 14, 64), 64)
		if math.Abs(r) < 1e-300 {
			r = 0
		}
	}
	return Robustness(r + 0), nil
}

// middleOf returns a number between low and high, which differ by 2 or more.
func middleOf(low, high int64) int64 {
	return low + int64((uint64(high)-uint64(low))/2) // high-low may be too large for an int64
}

// ordinal maps floats to whole numbers that have the same order.
func ordinal(x float64) int64 {
	b := int64(math.Float64bits(x))
	if b < 0 {
		return -(b & math.MaxInt64)
	}
	return b
}

// fromOrdinal is the inverse of ordinal.
func fromOrdinal(n int64) float64 {
	if n < 0 {
		return -math.Float64frombits(uint64(-n))
	}
	return math.Float64frombits(uint64(n))
}

// threshold finds the states and times at which the robustness of formulas is at least a number.
type threshold struct {
	*evaluator
	ctx   context.Context
	least float64
	// needed holds, for each comparison and percentile, the states at which its value may decide (neededStates).
	needed map[*Formula]stateSet
	states map[thresholdKey]stateSet
	dense  map[thresholdKey]times
	bytes  int // total size of states
}

// thresholdKey identifies a question: is the robustness of f at least the number? If negated is set, the
// question is about a negation of f: is the robustness of f greater than the negative of the number?
type thresholdKey struct {
	f       *Formula
	negated bool
}

// holds answers the question for the robustness r.
func (t *threshold) holds(r float64, negated bool) bool {
	if negated {
		return r > -t.least
	}
	return r >= t.least
}

// statesOf returns the states for which [threshold.holds] is true of the robustness of a formula. States at which the
// formula cannot decide the check may be wrong.
func (t *threshold) statesOf(f *Formula, negated bool) (s stateSet, err error) {
	if !f.signal {
		v, err := t.value(t.ctx, f)
		return v.holds, err
	}
	key := thresholdKey{f, negated}
	if s, ok := t.states[key]; ok {
		return s, nil
	}
	if err := t.ctx.Err(); err != nil {
		return nil, err
	}
	switch f.Op {
	case Compare:
		s = t.comparedStates(f, negated)
	case Percentile:
		if s = t.none; t.holds(t.percentileDistance(f.Responses), negated) {
			s = t.all
		}
	case And, Or, Implies:
		s, err = t.junctionStates(f, negated)
	default:
		s, err = t.temporalStates(f, negated)
	}
	if err != nil {
		return nil, err
	}
	if t.bytes += size(s); t.bytes > cacheBytes {
		clear(t.states)
		t.bytes = 0
	}
	t.states[key] = s
	return s, nil
}

// junctionStates is statesOf for conjunctions, disjunctions and implications.
func (t *threshold) junctionStates(f *Formula, negated bool) (stateSet, error) {
	u := union{n: t.n}
	for i, a := range f.Args {
		premise := f.Op == Implies && i == 0
		s, err := t.statesOf(a, negated != premise)
		if err != nil {
			return nil, err
		}
		if premise || f.Op == And {
			s = s.complement(t.n)
		}
		u.add(s)
	}
	if f.Op == And {
		return u.set().complement(t.n), nil
	}
	return u.set(), nil
}

// temporalStates is statesOf for negations and temporal formulas.
func (t *threshold) temporalStates(f *Formula, negated bool) (stateSet, error) {
	var args []stateSet
	for _, a := range f.Args {
		s, err := t.statesOf(a, negated != (f.Op == Not))
		if err != nil {
			return nil, err
		}
		args = append(args, s)
	}
	until := func(a, b stateSet) stateSet {
		w, ok := t.ticks(f.Bound)
		if !ok {
			return t.none
		}
		return t.untilSet(a, b, w, false)
	}
	switch f.Op {
	case Globally:
		return until(t.all, args[0].complement(t.n)).complement(t.n), nil
	case Finally:
		return until(t.all, args[0]), nil
	case Until:
		return until(args[0], args[1]), nil
	case Next:
		return t.next(args[0], false), nil
	}
	return args[0].complement(t.n), nil
}

// timesOf returns the times at which a formula of signals reaches the robustness.
func (t *threshold) timesOf(f *Formula, negated bool) times {
	key := thresholdKey{f, negated}
	if s, ok := t.dense[key]; ok {
		return s
	}
	var args []times
	for i, a := range f.Args {
		flips := f.Op == Not || f.Op == Implies && i == 0
		s := t.timesOf(a, negated != flips)
		if flips {
			s = s.complement(t.domain)
		}
		args = append(args, s)
	}
	all := times{t.domain}
	var s times
	switch f.Op {
	case True:
		s = all
	case Compare:
		s = t.comparedTimes(f.Comparison, negated).intersect(all)
	case Not:
		s = args[0]
	case And:
		s = args[0]
		for _, a := range args[1:] {
			s = s.intersect(a)
		}
	case Or, Implies:
		var list []interval
		for _, a := range args {
			list = append(list, a...)
		}
		s = unionTimes(list)
	case Globally:
		s = untilTimes(all, args[0].complement(t.domain), t.window(f.Bound), t.domain, false).complement(t.domain)
	case Finally:
		s = untilTimes(all, args[0], t.window(f.Bound), t.domain, false)
	case Until:
		s = untilTimes(args[0], args[1], t.window(f.Bound), t.domain, false)
	}
	t.dense[key] = s
	return s
}

// signedDistance returns how far a value is from the bound of a comparison. It is negative if the value
// violates the comparison.
func signedDistance(v float64, op string, k float64) float64 {
	switch op {
	case ">=", ">":
		return v - k
	case "<=", "<":
		return k - v
	case "==":
		return -math.Abs(v - k)
	}
	return math.Abs(v - k)
}

// comparedTimes returns the times at which a comparison reaches the robustness.
func (t *threshold) comparedTimes(c *Comparison, negated bool) times {
	k, least, more, less := t.number(c), t.least, ">=", "<="
	if negated {
		least, more, less = -least, ">", "<"
	}
	// Compare the distance from the bound, because the sum of the bound and a small number may be
	// rounded to the bound.
	signal := func(yield func(piece) bool) {
		for p := range c.Signal.evaluate(t.signal, t.unit) {
			if p.c -= k; !yield(p) {
				return
			}
		}
	}
	above, below := func() times { return comparisonTimes(signal, t.domain, more, least) },
		func() times { return comparisonTimes(signal, t.domain, less, -least) }
	switch c.Op {
	case ">=", ">":
		return above()
	case "<=", "<":
		return below()
	case "==":
		return above().intersect(below())
	}
	return unionTimes(append([]interval(above()), below()...))
}

// percentileDistance returns how far a percentile of response times is from its limit, in the time unit of the trace.
func (e *evaluator) percentileDistance(r *Responses) float64 {
	x := e.responseTimes(r)
	if len(x.list) == 0 {
		return math.Inf(1)
	}
	limit, _ := e.inTicks(r.Limit).Float64()
	return (limit - float64(x.value)) / e.unit
}
