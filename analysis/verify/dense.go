package verify

import (
	"cmp"
	"iter"
	"math"
	"math/big"
	"slices"
)

// interval is an interval of time, in ticks since the begin of the trace. Each of its ends may be open or
// closed.
type interval struct {
	low, high         float64
	lowOpen, highOpen bool
}

// times is a set of times: a sorted list of intervals that neither overlap nor touch.
type times []interval

// empty reports whether no time is in the interval.
func (iv interval) empty() bool {
	return iv.low > iv.high || iv.low == iv.high && (iv.lowOpen || iv.highOpen)
}

// intersect returns the times that are in both intervals.
func (iv interval) intersect(y interval) interval {
	r := iv
	if y.low > iv.low || y.low == iv.low && y.lowOpen {
		r.low, r.lowOpen = y.low, y.lowOpen
	}
	if y.high < iv.high || y.high == iv.high && y.highOpen {
		r.high, r.highOpen = y.high, y.highOpen
	}
	return r
}

// unionTimes returns the times that are in any of the intervals. It reorders the list.
func unionTimes(list []interval) times {
	list = slices.DeleteFunc(list, interval.empty)
	slices.SortFunc(list, func(a, b interval) int {
		if c := cmp.Compare(a.low, b.low); c != 0 {
			return c
		}
		return boolCompare(a.lowOpen, b.lowOpen)
	})
	var out times
	for _, x := range list {
		out.add(x)
	}
	return out
}

// boolCompare orders false before true.
func boolCompare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// intersect returns the times that are in both sets.
func (s times) intersect(t times) times {
	var out times
	for i, j := 0, 0; i < len(s) && j < len(t); {
		if x := s[i].intersect(t[j]); !x.empty() {
			out = append(out, x)
		}
		if s[i].high < t[j].high || s[i].high == t[j].high && s[i].highOpen {
			i++
		} else {
			j++
		}
	}
	return out
}

// complement returns the times of the domain that are not in the set.
func (s times) complement(domain interval) times {
	var out times
	rest := domain
	for _, x := range s {
		before := rest.intersect(interval{math.Inf(-1), x.low, false, !x.lowOpen})
		if !before.empty() {
			out = append(out, before)
		}
		rest = rest.intersect(interval{x.high, math.Inf(1), !x.highOpen, false})
	}
	if !rest.empty() {
		out = append(out, rest)
	}
	return out
}

// contains reports whether a time is in the set.
func (s times) contains(t float64) bool {
	i, _ := slices.BinarySearchFunc(s, t, func(x interval, t float64) int {
		if x.high < t || x.high == t && x.highOpen {
			return -1
		}
		return 1
	})
	return i < len(s) && !s[i].intersect(interval{t, t, false, false}).empty()
}

// window is a bound in ticks.
type window struct {
	low, high         float64 // high is infinite if there is no upper end
	lowOpen, highOpen bool
}

// window converts a bound to ticks, for an evaluation at all times instead of at states.
func (e *evaluator) window(b *Bound) window {
	if b == nil {
		return window{0, math.Inf(1), false, true}
	}
	w := window{high: math.Inf(1), lowOpen: b.LowOpen, highOpen: true}
	w.low, _ = e.inTicks(b.Low).Float64()
	if !b.Infinite {
		w.high, _ = e.inTicks(b.High).Float64()
		w.highOpen = b.HighOpen
	}
	return w
}

// timesBefore returns the times t for which x contains a time in the window that begins at t.
func (w window) timesBefore(x interval) interval {
	r := interval{x.low - w.high, x.high - w.low, x.lowOpen || w.highOpen, x.highOpen || w.lowOpen}
	if math.IsInf(w.high, 1) {
		r.low, r.lowOpen = math.Inf(-1), true
	}
	return r
}

// untilTimes returns the times of the domain at which "a until b" holds: b holds at some time within the
// window, and a holds up to that time. If pending is set, b may also hold after the end of the domain.
func untilTimes(a, b times, w window, domain interval, pending bool) times {
	if interval(w).empty() {
		return nil
	}
	var list []interval
	if w.low == 0 && !w.lowOpen {
		list = append(list, b...)
	}
	first := 0
	for _, held := range a {
		goal := held
		goal.highOpen = false // an interval of b may begin where an interval of a ends
		for first < len(b) && (b[first].high < goal.low) {
			first++
		}
		for _, x := range b[first:] {
			if x.low > goal.high {
				break
			}
			if x = x.intersect(goal); !x.empty() {
				list = append(list, w.timesBefore(x).intersect(held))
			}
		}
		if pending && held.high == domain.high && held.highOpen == domain.highOpen {
			open := !domain.highOpen || w.highOpen // b may hold at the end of a domain that does not contain its end
			list = append(list, held.intersect(interval{domain.high - w.high, math.Inf(1), open, true}))
		}
	}
	return unionTimes(list)
}

// piece is a part of a signal: the polynomial c + b·u + a·u², with u in ticks since the begin of the piece.
// The begin belongs to the piece. The end belongs to it only if last is set.
type piece struct {
	from, to float64 // ticks since the begin of the trace
	c, b, a  float64
	last     bool // whether no other piece follows directly
}

// at returns the value u ticks after the begin.
func (p *piece) at(u float64) float64 { return p.c + u*(p.b+u*p.a) }

// clip returns the part of the piece from one time to another.
func (p *piece) clip(from, to float64) piece {
	u := from - p.from
	return piece{from: from, to: to, c: p.at(u), b: p.b + 2*p.a*u, a: p.a, last: p.last && to == p.to}
}

// roots returns the times at which the piece equals k, in ascending order, as the first n elements of
// list. They are in ticks since the begin of the piece, and lie between its begin and its end.
func (p *piece) roots(k float64) (list [2]float64, n int) {
	length := p.to - p.from
	add := func(u float64) {
		if u > 0 && u < length {
			list[n] = u
			n++
		}
	}
	switch c := p.c - k; {
	case p.a == 0 && p.b != 0:
		add(-c / p.b)
	case p.a != 0:
		d := p.b*p.b - 4*p.a*c
		if d < 0 {
			return list, 0
		}
		q := -(p.b + math.Copysign(math.Sqrt(d), p.b)) / 2
		add(q / p.a)
		if q != 0 && d > 0 {
			add(c / q)
		}
	}
	if n == 2 && list[0] > list[1] {
		list[0], list[1] = list[1], list[0]
	}
	if n == 2 && list[0] == list[1] {
		n = 1
	}
	return list, n
}

// holds reports whether the comparison "x op k" is true.
func holds(x float64, op string, k float64) bool {
	switch op {
	case ">=":
		return x >= k
	case ">":
		return x > k
	case "<=":
		return x <= k
	case "<":
		return x < k
	case "==":
		return x == k
	}
	return x != k
}

// add appends an interval that begins no earlier than all others. It combines intervals that overlap or touch.
func (s *times) add(x interval) {
	if x.empty() {
		return
	}
	last := len(*s) - 1
	if last < 0 || x.low > (*s)[last].high || x.low == (*s)[last].high && x.lowOpen && (*s)[last].highOpen {
		*s = append(*s, x)
		return
	}
	l := &(*s)[last]
	if x.high > l.high {
		l.high, l.highOpen = x.high, x.highOpen
	} else if x.high == l.high {
		l.highOpen = l.highOpen && x.highOpen
	}
}

// number returns the number with which a signal is compared. A time is converted to the time unit of
// the trace.
func (e *evaluator) number(c *Comparison) float64 {
	if c.Unit == "" {
		return c.Number
	}
	r := new(big.Rat).SetFloat64(c.Number)
	one := e.inTicks(Duration{value: big.NewRat(1, 1)})
	n, _ := r.Quo(e.inTicks(Duration{Unit: c.Unit, value: r}), one).Float64()
	return n
}

// comparisonTimes returns the times of the domain at which the comparison of a signal with k is true.
func comparisonTimes(signal iter.Seq[piece], domain interval, op string, k float64) (out times) {
	for p := range signal {
		p = p.within(domain)
		if holds(p.c, op, k) {
			out.add(interval{p.from, p.from, false, false})
		}
		last := 0.0
		roots, n := p.roots(k)
		for i := range n + 1 {
			u := p.to - p.from
			if i < n {
				u = roots[i]
			}
			if holds(p.at((last+u)/2), op, k) {
				out.add(interval{p.from + last, p.from + u, true, true})
			}
			if i < n && holds(k, op, k) || i == n && p.last && holds(p.at(u), op, k) {
				out.add(interval{p.from + u, p.from + u, false, false})
			}
			last = u
		}
	}
	return out
}

// value returns the value at a time of the piece.
func (p *piece) value(t float64) float64 {
	if math.IsInf(p.from, 0) {
		return p.c // the piece is a constant
	}
	return p.at(t - p.from)
}

// within returns the piece. If the piece is a constant without ends, the result has the ends of the domain.
func (p *piece) within(domain interval) piece {
	if math.IsInf(p.from, 0) {
		return piece{from: domain.low, to: domain.high, c: p.c, last: true}
	}
	return *p
}

// evaluate returns the pieces of an expression. signal returns the pieces of the signal with a given
// index. Derivatives are per time unit of the trace, which has unit ticks. A constant is a single piece
// without ends.
func (e *SignalExpr) evaluate(signal func(i int) iter.Seq[piece], unit float64) iter.Seq[piece] {
	switch e.Op {
	case "signal":
		return signal(e.Signal.index)
	case "number":
		return func(yield func(piece) bool) {
			yield(piece{from: math.Inf(-1), to: math.Inf(1), c: e.Number, last: true})
		}
	case "derivative":
		arg := e.Args[0].evaluate(signal, unit)
		return func(yield func(piece) bool) {
			for p := range arg {
				p.c, p.b, p.a = p.b*unit, 2*p.a*unit, 0
				if !yield(p) {
					return
				}
			}
		}
	case "abs":
		return absoluteValue(e.Args[0].evaluate(signal, unit))
	}
	return combine(e.Args[0].evaluate(signal, unit), e.Args[1].evaluate(signal, unit), e.Op)
}

// absoluteValue returns the absolute value of a signal.
func absoluteValue(arg iter.Seq[piece]) iter.Seq[piece] {
	return func(yield func(piece) bool) {
		for p := range arg {
			from := p.from
			roots, n := p.roots(0)
			for i := range n + 1 {
				u := p.to - p.from
				if i < n {
					u = roots[i]
				}
				to := p.from + u
				part := p
				if !math.IsInf(p.from, 0) {
					part = p.clip(from, to)
				}
				middle := part.at((part.to - part.from) / 2)
				if math.IsInf(part.from, 0) {
					middle = part.c
				}
				if middle < 0 {
					part.c, part.b, part.a = -part.c, -part.b, -part.a
				}
				if !yield(part) {
					return
				}
				from = to
			}
		}
	}
}

// combine returns the sum, the difference or the product of two signals, at the times at which both
// have values. In a product, one factor is a number.
func combine(left, right iter.Seq[piece], op string) iter.Seq[piece] {
	return func(yield func(piece) bool) {
		nextX, stopX := iter.Pull(left)
		defer stopX()
		nextY, stopY := iter.Pull(right)
		defer stopY()
		x, more := nextX()
		y, also := nextY()
		for more && also {
			if r, ok := combinePieces(x, y, op); ok && !yield(r) {
				return
			}
			if x.to < y.to || x.to == y.to && !x.last {
				x, more = nextX()
			} else {
				y, also = nextY()
			}
		}
	}
}

// combinePieces returns the sum, the difference or the product of two pieces. ok is false if the pieces have
// no time in common.
func combinePieces(x, y piece, op string) (r piece, ok bool) {
	from, to := max(x.from, y.from), min(x.to, y.to)
	ends := func(p *piece) bool { return p.to > to || p.last } // whether the piece has a value at the end of the result
	last := ends(&x) && ends(&y)
	if from > to || from == to && !last {
		return r, false
	}
	part := func(p *piece) piece {
		if math.IsInf(p.from, 0) {
			return piece{c: p.c}
		}
		return p.clip(from, to)
	}
	p, q := part(&x), part(&y)
	r = piece{from: from, to: to, last: last}
	switch op {
	case "+":
		r.c, r.b, r.a = p.c+q.c, p.b+q.b, p.a+q.a
	case "-":
		r.c, r.b, r.a = p.c-q.c, p.b-q.b, p.a-q.a
	case "*":
		if q.b != 0 || q.a != 0 {
			p, q = q, p
		}
		r.c, r.b, r.a = p.c*q.c, p.b*q.c, p.a*q.c
	}
	return r, true
}

// denseValue returns the times at which a formula that consists of signals holds.
func (e *evaluator) denseValue(f *Formula) denseValue {
	if v, ok := e.dense[f]; ok {
		return v
	}
	var args []denseValue
	for _, a := range f.Args {
		args = append(args, e.denseValue(a))
	}
	same := func(s times) denseValue { return denseValue{s, s, s} }
	all := times{e.domain}
	var v denseValue
	switch f.Op {
	case True:
		v = same(all)
	case Compare:
		signal := f.Comparison.Signal.evaluate(e.signal, e.unit)
		v = same(comparisonTimes(signal, e.domain, f.Comparison.Op, e.number(f.Comparison)).intersect(all))
	case Not:
		v = e.denseNot(args[0])
	case And:
		v = args[0]
		for _, x := range args[1:] {
			v = denseValue{v.good.intersect(x.good), v.holds.intersect(x.holds), v.possible.intersect(x.possible)}
		}
	case Or:
		for _, x := range args {
			v = denseOr(v, x)
		}
	case Implies:
		v = denseOr(e.denseNot(args[0]), args[1])
	case Globally:
		v = e.denseNot(e.denseUntil(same(all), e.denseNot(args[0]), f.Bound))
	case Finally:
		v = e.denseUntil(same(all), args[0], f.Bound)
	case Until:
		v = e.denseUntil(args[0], args[1], f.Bound)
	}
	e.dense[f] = v
	return v
}

func (e *evaluator) denseNot(v denseValue) denseValue {
	return denseValue{v.possible.complement(e.domain), v.holds.complement(e.domain), v.good.complement(e.domain)}
}

func denseOr(v, w denseValue) denseValue {
	join := func(a, b times) times { return unionTimes(slices.Concat([]interval(a), []interval(b))) }
	return denseValue{join(v.good, w.good), join(v.holds, w.holds), join(v.possible, w.possible)}
}

func (e *evaluator) denseUntil(a, b denseValue, bound *Bound) denseValue {
	w := e.window(bound)
	return denseValue{untilTimes(a.good, b.good, w, e.domain, false), untilTimes(a.holds, b.holds, w, e.domain, false),
		untilTimes(a.possible, b.possible, w, e.domain, true)}
}
