package verify

// A specification may have a check for each of many objects. Most of the time, no event concerns the object of a
// check: the check is quiet. A monitor does not evaluate quiet checks.
//
// A state is quiet for a formula if none of its propositions holds there. Suppose that the formula is globally, finally
// or until, without a bound and without signals, and that the monitor has evaluated it up to the last state so far,
// which is quiet, and has found that no state decides it. So at the last state, with no later state known, the
// arguments have values with which the formula depends on the next state, for all continuations. Formulas only refer to
// the present and to later states, and to the times between them. At any later quiet state, with no later state
// known, the arguments therefore have the same values. When later states become known, values that were good or
// impossible stay so. Hence the formula stays undecided at each quiet state, up to the next state that is not
// quiet. A negation of the formula decides nothing more.

// quietCheck describes a check that may be quiet.
type quietCheck struct {
	// the temporal formula that is the formula of the check, or that the check negates; nil if there is none
	formula      *Formula
	propositions []int32 // propositions of the formula
	quiet        bool
}

// quietChecks holds the checks of a monitor, and whether each of them is quiet.
type quietChecks struct {
	checks []quietCheck // indexed by check, in the order of the specification
	users  [][]int32    // indexed by proposition: indexes of the checks that use the proposition
	last   int64        // the time of the last state that is no longer held
}

// newQuietness examines the checks of a specification.
func newQuietness(spec *Spec) quietChecks {
	q := quietChecks{checks: make([]quietCheck, len(spec.Checks)), users: make([][]int32, len(spec.propositions))}
	for i, c := range spec.Checks {
		f := c.Formula
		for f.Op == Not {
			f = f.Args[0]
		}
		if !f.isTemporal() || f.Bound != nil || f.signal {
			continue
		}
		x := quietCheck{formula: f}
		seen := map[*Formula]bool{}
		var add func(f *Formula)
		add = func(f *Formula) {
			if seen[f] {
				return
			}
			seen[f] = true
			if f.Op == Prop {
				x.propositions = append(x.propositions, int32(f.Prop.index))
				q.users[f.Prop.index] = append(q.users[f.Prop.index], int32(i))
			}
			for _, a := range f.Args {
				add(a)
			}
		}
		add(f)
		q.checks[i] = x
	}
	return q
}

// wake ends the quiet time of the checks that new states concern. At the end of the trace, it ends the quiet
// time of all checks.
func (m *Monitor) wake() {
	if m.ended {
		for i := range m.quietness.checks {
			m.wakeCheck(int32(i))
		}
		return
	}
	for _, p := range m.matched {
		for _, i := range m.quietness.users[p] {
			m.wakeCheck(i)
		}
	}
}

// wakeCheck skips the quiet states of a check. If there are no other new states, the check stays quiet, unless
// the trace has ended.
func (m *Monitor) wakeCheck(i int32) {
	x := &m.quietness.checks[i]
	if !x.quiet {
		return
	}
	o := &m.obligations[obligationKey{x.formula, 0}].origin
	// the first held state at which a proposition of the check holds and that is not evaluated; m.ready if there is none
	next := m.ready
	for _, p := range x.propositions {
		list := m.matches[p]
		for k := len(list); k > 0 && int(list[k-1])+m.passed >= o.next; k-- {
			next = min(next, int(list[k-1]))
		}
	}
	if next == m.ready && !m.ended {
		return
	}
	x.quiet = false
	if n := next + m.passed - o.next; n > 0 {
		o.passed, o.next = o.passed+n, o.next+n
		if o.last = m.quietness.last; next > 0 {
			o.last = m.time[next-1]
		}
	}
}

// makeQuiet makes a check quiet if the check has been evaluated up to the last state, and this state is quiet.
func (m *Monitor) makeQuiet(i int) {
	x := &m.quietness.checks[i]
	if x.formula == nil || m.ready == 0 {
		return
	}
	n := m.obligations[obligationKey{x.formula, 0}]
	if n == nil || !n.begun || n.origin.next != m.passed+m.ready {
		return
	}
	for _, p := range x.propositions {
		if list := m.matches[p]; len(list) > 0 && int(list[len(list)-1]) == m.ready-1 {
			return
		}
	}
	x.quiet = true
}
