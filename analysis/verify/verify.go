package verify

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/analysis/internal/facts"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/nearest"
	"github.com/weft-trace/weft/trace"
)

// Semantics determines how the end of a trace affects verdicts.
type Semantics string

// The semantics.
const (
	// Compatible is the semantics of TRACE4CPS: ThreeValued for checks without signals, and TwoValued for
	// others.
	Compatible Semantics = "compatible"
	// TwoValued regards the trace as complete. After its end, "globally" is true, and "finally", "until" and
	// "next" are false.
	TwoValued Semantics = "2"
	// ThreeValued regards the trace as the beginning of a longer one. A verdict is good or bad if no
	// continuation can change it, and otherwise non-informative.
	ThreeValued Semantics = "3"
	// FourValued is like ThreeValued. A verdict that continuations can change is reported with the
	// value that it has now.
	FourValued Semantics = "4"
)

// Options are the settings of [Run].
type Options struct {
	Semantics Semantics // semantics of the verdicts; "" means Compatible
	// Window limits the trace to the events in the window. Nil means the whole trace. If a claim began
	// before the window, only its end counts.
	Window *trace.Window
	// Robust requests the robustness of checks. Computing the robustness takes about 70 times as long as
	// computing the verdicts, but counts only the states at which signals decide a check.
	Robust bool
	// Location selects locations. Nil selects all. The function must be safe for concurrent use.
	Location func(location uint32) bool
}

// Verdict is the answer to a check.
type Verdict string

// The verdicts.
const (
	Good           Verdict = "good"
	Bad            Verdict = "bad"
	NonInformative Verdict = "non-informative"
	IsTrue         Verdict = "true"  // the property holds; with TwoValued
	IsFalse        Verdict = "false" // the property does not hold; with TwoValued
	DecidedTrue    Verdict = "TRUE"
	DecidedFalse   Verdict = "FALSE"
	StillTrue      Verdict = "STILL_TRUE"
	StillFalse     Verdict = "STILL_FALSE"
)

// Violated reports whether the property does not hold for any continuation of the trace.
func (v Verdict) Violated() bool { return v == Bad || v == IsFalse || v == DecidedFalse }

// Result holds the verdicts for a trace.
type Result struct {
	States   int64         `json:"states"` // number of states of the trace
	Violated int           `json:"violated"`
	Checks   []CheckResult `json:"checks"`
	// Warnings holds a warning for each word of the specification that does not occur in the trace.
	Warnings []Warning `json:"warnings"`
}

// CheckResult is the verdict of a check.
type CheckResult struct {
	Name    string  `json:"check"`
	Formula string  `json:"formula"`
	Verdict Verdict `json:"verdict"`
	// Holds reports whether the property holds if the trace is complete. Decided reports whether the result is
	// the same for all continuations of the trace.
	Holds   bool `json:"holds"`
	Decided bool `json:"decided"`
	// Robustness is nil unless [Options.Robust] is set.
	Robustness *Robustness `json:"robustness,omitempty"`
	// Reasons explain the verdict, beginning with the outermost formula.
	Reasons []Reason `json:"reasons"`
}

// Reason explains why a formula holds or does not hold.
type Reason struct {
	Depth    int     `json:"depth"` // depth of the formula within the formula of the check
	Formula  string  `json:"formula"`
	Holds    bool    `json:"holds"`
	From     Instant `json:"from"` // begin of the times that decide the formula
	To       Instant `json:"to"`
	FromOpen bool    `json:"fromOpen,omitempty"` // the times do not include From
	ToOpen   bool    `json:"toOpen,omitempty"`
	Text     string  `json:"text"` // a sentence that explains the reason
}

// Instant is a time. Times at which signals reach a value can be between two ticks.
type Instant struct {
	Tick  int64  // rounded to a whole tick
	Exact string // the time in ticks as a decimal number; "" if it equals Tick
}

// newInstant returns the time of a number of ticks. The number is a decimal one.
func newInstant(ticks *big.Rat) Instant {
	if ticks.IsInt() {
		return Instant{Tick: ticks.Num().Int64()}
	}
	n, _ := floor(new(big.Rat).Add(ticks, big.NewRat(1, 2)))
	decimals, _ := ticks.FloatPrec()
	return Instant{n.Int64(), ticks.FloatString(decimals)}
}

// scaled returns the time in ticks that are shorter by a factor.
func (t Instant) scaled(factor int64) Instant {
	r, ok := new(big.Rat).SetString(t.Exact)
	if !ok {
		return Instant{Tick: t.Tick * factor}
	}
	return newInstant(r.Mul(r, new(big.Rat).SetInt64(factor)))
}

// MarshalJSON returns the exact time in ticks as a number.
func (t Instant) MarshalJSON() ([]byte, error) {
	return []byte(cmp.Or(t.Exact, strconv.FormatInt(t.Tick, 10))), nil
}

// UnmarshalJSON reads the text that MarshalJSON writes.
func (t *Instant) UnmarshalJSON(b []byte) error {
	if !bytes.ContainsAny(b, "eE/") { // a number with an exponent may need much memory
		if r, ok := new(big.Rat).SetString(string(b)); ok {
			*t = newInstant(r)
			return nil
		}
	}
	return fmt.Errorf("found %q, expected a time in ticks", b)
}

// Warning reports a word of a specification that does not occur in the trace.
type Warning struct {
	Text  string   `json:"text"` // a sentence that explains the warning
	Word  string   `json:"-"`
	Words []string `json:"-"` // similar words that occur in the trace, as suggestions for Word
}

// Run reads a trace and decides the checks of a specification. The error comes from the scan or from the
// context. The time is linear in the number of events and in the number of operators of the specification. If
// the propositions of each check hold at few events, as with a check for each object, the time is proportional
// to the sum of these numbers, and not to their product.
//
// The memory in bytes is 10 to 12 for each event, with 4 more temporarily; 4 for each state at which a
// proposition of the specification holds; 6 to 40 for each piece of a signal in use, fewer if its values have
// few decimals; 24 for each interval in which comparisons of signals are true; about 100 for each claim and
// object if there are derived signals; and up to about 64 MiB for intermediate results.
func Run(ctx context.Context, events format.Events, spec *Spec, opt Options) (*Result, error) {
	checks := make([]CheckResult, 0, len(spec.Checks))
	x, err := RunEach(ctx, events, spec, opt, func(c *CheckResult) error {
		checks = append(checks, *c)
		return nil
	})
	if err != nil {
		return nil, err
	}
	x.Checks = checks
	return x, nil
}

// RunEach is like [Run], but passes the result of each check to a function instead of storing it in the Result. So a
// specification may have very many checks. The results have the order of the checks. The function must not keep the
// CheckResult. RunEach returns the function's first error.
func RunEach(ctx context.Context, events format.Events, spec *Spec, opt Options,
	do func(*CheckResult) error) (*Result, error) {
	r, err := record(ctx, events, spec, opt)
	if err != nil {
		return nil, err
	}
	x := &Result{States: int64(len(r.time)), Warnings: r.warnings()}
	r.wanted, r.ownKeys, r.needs, r.needsEnd = nil, nil, nil, nil // they may be large
	e := newEvaluator(r)
	for _, c := range spec.Checks {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		one, err := e.check(ctx, c, opt)
		if err != nil {
			return nil, err
		}
		if one.Verdict.Violated() {
			x.Violated++
		}
		if err := do(&one); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// maxRegionWords is the greatest number of regions whose names a warning compares with a name of the specification.
const maxRegionWords = 1 << 16

// warnings returns a warning for each word of the specification that does not occur in the trace.
func (r *recorder) warnings() []Warning {
	list := []Warning{}
	ofResources := r.resourcePropositions()
	needed := func(n *neededAttribute) bool {
		return slices.ContainsFunc(n.propositions, func(p int32) bool { return !ofResources[p] })
	}
	for _, key := range slices.Sorted(maps.Keys(r.wanted)) {
		if !slices.ContainsFunc(slices.Collect(maps.Values(r.wanted[key].values)), needed) {
			continue
		}
		values := r.wanted[key].seen
		if values != nil && len(values) == 0 {
			list = append(list, Warning{Text: fmt.Sprintf("no event has the attribute %s", quote(key)), Word: key,
				Words: slices.DeleteFunc(r.attributeNames(), func(name string) bool { return name == key })})
			continue
		}
		words := slices.Sorted(maps.Keys(values))
		if values == nil && key == "name" && r.defs.Regions.Len() <= maxRegionWords {
			for _, x := range r.defs.Regions.All() {
				words = append(words, x.Name)
			}
		}
		for _, value := range slices.Sorted(maps.Keys(r.wanted[key].values)) {
			if n := r.wanted[key].values[value]; n.counted == 0 && needed(n) {
				list = append(list, Warning{Text: fmt.Sprintf("no event has %s = %s", quote(key), quote(value)),
					Word: value, Words: withKeywords(key, value, words)})
			}
		}
	}
	for i, p := range r.spec.propositions {
		if p.Event != AnyEvent && r.ofEvents[i] && !r.ofClaims[i] {
			list = append(list, Warning{Text: p.String() + " never holds: no claim has these attributes, only other events"})
		}
	}
	found := map[int]int{}
	for _, s := range r.signals {
		for _, i := range s.signals {
			found[i]++
		}
	}
	list = append(list, r.derivedWarnings()...)
	for i, s := range r.spec.signals {
		if s.Kind != TraceSignal {
			continue
		}
		text := attributesString(s.Attributes)
		switch n := found[i]; {
		case n == 0:
			list = append(list, r.signalWarning(s))
		case n > 1:
			list = append(list, Warning{Text: fmt.Sprintf("%d signals have %s; %s is the first of them", n, text, s.Name)})
		}
	}
	return list
}

// signalWarning returns the warning about a signal of the specification that no signal of the trace matches.
func (r *recorder) signalWarning(s *Signal) Warning {
	text := attributesString(s.Attributes)
	keys := []string{"name", "id", "unit", "location"}
	var names []string
	for _, m := range r.defs.Metrics.All() {
		names = append(names, m.Name)
		for _, a := range m.Attrs {
			keys = append(keys, a.Key)
		}
	}
	for _, a := range s.Attributes {
		switch {
		case !slices.Contains(keys, a.Key):
			return Warning{Text: fmt.Sprintf("no signal has the attribute %s", quote(a.Key)), Word: a.Key, Words: keys}
		case a.Key == "name" && !slices.Contains(names, a.Value):
			return Warning{Text: fmt.Sprintf("no signal has %s", text), Word: a.Value, Words: names}
		}
	}
	return Warning{Text: fmt.Sprintf("no signal with %s has a value", text)}
}

// withKeywords returns the words that may be meant by the value of an attribute that no event has. Of a name with a
// blank, the first part may be a misspelled keyword: in --never 'strat A', the name is "strat A".
func withKeywords(key, value string, words []string) []string {
	first, _, ok := strings.Cut(value, " ")
	if !ok || key != "name" {
		return words
	}
	for _, keyword := range []string{"start", "end"} {
		if nearest.Hint(first, []string{keyword}) == "" {
			continue
		}
		for _, w := range slices.Clone(words) {
			words = append(words, keyword+" "+w)
		}
	}
	return words
}

// attributeNames returns the names of the attributes that events of the trace can have.
func (r *recorder) attributeNames() []string {
	names := facts.Names(r.defs)
	for _, a := range r.defs.Attributes.All() {
		names = append(names, a.Name)
	}
	return names
}

// evaluator decides formulas on a recorded trace.
type evaluator struct {
	*recorder
	n       int    // number of states
	all     runs   // all states
	allBits bitset // all states, as bits
	none    runs
	base    int64 // the time of the first event; the times of dense formulas are relative to it
	domain  interval
	unit    float64 // ticks in the time unit of the trace
	signals [][]piece
	packed  []*signalRecord // signals whose pieces are not in signals yet
	// compared holds the states at which comparisons are true, by the comparison's formula. If
	// it is nil, comparisons are evaluated from the signals.
	compared map[*Formula]*compared

	growing bool // the trace may have further states
	// signalsOpen states that formulas of signals have no value yet, and that the trace is complete. It is set in
	// the evaluator open, which is nil until the robustness of a check is requested.
	signalsOpen bool
	open        *evaluator
	known       map[*SignalExpr][]float64 // results of valuesAt

	values map[*Formula]value
	dense  map[*Formula]denseValue
	bytes  int // approximate size of values
	bounds map[*Bound]boundTicks
}

// boundTicks is the cached result of evaluator.ticks.
type boundTicks struct {
	ticks
	ok bool
}

// value holds the states at which a formula holds. At the states in good, the formula holds for each
// continuation of the trace. At the states in holds, it holds if the trace is complete. At the states in
// possible, it holds for some continuation. Each of these sets is a subset of the next one.
type value struct{ good, holds, possible stateSet }

// denseValue holds the times at which a formula of signals holds, in the same three sets as value.
type denseValue struct{ good, holds, possible times }

// cacheBytes limits the total size in bytes of the cached values of formulas.
const cacheBytes = 64 << 20

func newEvaluator(r *recorder) *evaluator {
	n := len(r.time)
	e := &evaluator{recorder: r, n: n, all: wholeRun(n), unit: r.defs.Clock.UnitTicks(), base: r.first,
		values: map[*Formula]value{}, dense: map[*Formula]denseValue{}, bounds: map[*Bound]boundTicks{}}
	e.domain = interval{low: 0, high: e.offset(r.last)}
	e.signals = make([][]piece, len(r.spec.signals))
	e.packed = make([]*signalRecord, len(r.spec.signals))
	for i, s := range r.spec.signals {
		if s.Kind != TraceSignal && r.any {
			e.signals[i] = e.derivedPieces(s)
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(r.signals), func(a, b signalKey) int {
		return cmp.Or(cmp.Compare(a.metric, b.metric), cmp.Compare(a.location, b.location))
	}) {
		s := r.signals[key]
		for _, i := range s.signals {
			switch {
			case e.signals[i] != nil || e.packed[i] != nil:
			case s.inOrder():
				e.packed[i] = s
			default:
				s.unpack()
				e.signals[i] = e.signalPieces(s)
			}
		}
	}
	return e
}

// offset returns a time in ticks since the begin of the trace.
func (e *evaluator) offset(t int64) float64 {
	if t < e.base {
		return -float64(uint64(e.base) - uint64(t))
	}
	return float64(uint64(t) - uint64(e.base))
}

// tick returns the tick of a time since the begin of the trace.
func (e *evaluator) tick(u float64) int64 {
	return e.base + int64(math.Round(min(max(u, e.domain.low), e.domain.high)))
}

// instant returns the time that is u ticks after the begin of the trace.
func (e *evaluator) instant(u float64) Instant {
	if u = min(max(u, e.domain.low), e.domain.high); u == math.Trunc(u) {
		return Instant{Tick: e.tick(u)}
	}
	r, _ := new(big.Rat).SetString(strconv.FormatFloat(u, 'f', -1, 64))
	return newInstant(r.Add(r, new(big.Rat).SetInt64(e.base)))
}

// signalPieces returns the pieces of a signal, in time order.
func (e *evaluator) signalPieces(s *signalRecord) []piece {
	slices.SortStableFunc(s.pieces, func(a, b rawPiece) int { return cmp.Compare(a.from, b.from) })
	list := make([]piece, 0, len(s.pieces))
	for i, x := range s.pieces {
		var next *rawPiece
		if i+1 < len(s.pieces) {
			next = &s.pieces[i+1]
		}
		if p, ok := e.signalPiece(s, x, next); ok {
			list = append(list, p)
		}
	}
	return list
}

// signalPiece returns the part of a piece of a signal before the begin of the next piece. next is nil for the
// last piece. ok is false if this part is empty.
func (e *evaluator) signalPiece(s *signalRecord, x rawPiece, next *rawPiece) (p piece, ok bool) {
	last := next == nil
	if s.steps && last {
		x.to = max(x.to, e.recorder.last)
	}
	if next != nil {
		x.to = min(x.to, next.from)
		last = next.from > x.to
	}
	if x.to < x.from || x.to == x.from && !last {
		return p, false
	}
	return piece{from: e.offset(x.from), to: e.offset(x.to), c: x.p.C, b: x.p.B / e.unit, a: x.p.A / e.unit / e.unit,
		last: last}, true
}

// signal returns the pieces of a signal of the specification, in time order.
func (e *evaluator) signal(i int) iter.Seq[piece] {
	if e.packed == nil || e.packed[i] == nil {
		return slices.Values(e.signals[i])
	}
	s := e.packed[i]
	return func(yield func(piece) bool) {
		var before rawPiece
		known := false
		for x := range s.all() {
			if known {
				if p, ok := e.signalPiece(s, before, &x); ok && !yield(p) {
					return
				}
			}
			before, known = x, true
		}
		if p, ok := e.signalPiece(s, before, nil); known && ok {
			yield(p)
		}
	}
}

// inTicks returns a duration in ticks.
func (e *evaluator) inTicks(d Duration) *big.Rat { return inTicks(d, e.defs.Clock) }

// inTicks returns a duration in ticks of a clock.
func inTicks(d Duration, c trace.Clock) *big.Rat {
	perSecond := big.NewRat(c.Num, c.Den)
	if d.Unit != "" {
		return new(big.Rat).Mul(d.inSeconds(), perSecond)
	}
	if c.Unit > 0 {
		perSecond = new(big.Rat).SetInt64(c.Unit)
	}
	return new(big.Rat).Mul(d.value, perSecond)
}

// ticks converts a bound to whole ticks. ok is false if no time is within the bound. If a time but no whole
// tick is within the bound, low is greater than high. Such a bound still matters, because a trace that grows
// can get shorter ticks.
func (e *evaluator) ticks(b *Bound) (w ticks, ok bool) {
	if b == nil {
		return noLimits, true
	}
	known, ok := e.bounds[b]
	if !ok {
		known.ticks, known.ok = e.newTicks(b)
		e.bounds[b] = known
	}
	return known.ticks, known.ok
}

// newTicks computes the result of ticks, without a cache.
func (e *evaluator) newTicks(b *Bound) (w ticks, ok bool) {
	from := e.inTicks(b.Low)
	low, exact := floor(from)
	if !exact || b.LowOpen {
		low.Add(low, big.NewInt(1))
	}
	if !low.IsUint64() {
		return w, false
	}
	w = ticks{low.Uint64(), math.MaxUint64}
	if b.Infinite {
		return w, true
	}
	to := e.inTicks(b.High)
	if c := from.Cmp(to); c > 0 || c == 0 && (b.LowOpen || b.HighOpen) || to.Sign() < 0 {
		return w, false
	}
	high, exact := floor(to)
	if exact && b.HighOpen {
		high.Sub(high, big.NewInt(1))
	}
	if high.IsUint64() {
		w.high = high.Uint64()
	}
	return w, true
}

// floor returns the greatest whole number that is not above x. exact reports whether x equals this number.
func floor(x *big.Rat) (n *big.Int, exact bool) {
	n, rest := new(big.Int).DivMod(x.Num(), x.Denom(), new(big.Int))
	return n, rest.Sign() == 0
}

// check decides a check and explains the verdict.
func (e *evaluator) check(ctx context.Context, c Check, opt Options) (CheckResult, error) {
	e.limitCache()
	f := c.Formula
	r := CheckResult{Name: c.Name, Formula: f.String(), Reasons: []Reason{}}
	var good, possible bool
	isDense := f.isDense()
	switch {
	case !e.any || !isDense && e.n == 0:
		r.setVerdictWithoutEvents(f, opt.Semantics)
		if opt.Robust { // infinite, if no signal decides the check
			r.Robustness = infinite(r.Holds)
		}
		return r, nil
	case isDense:
		v := e.denseValue(f)
		good, r.Holds, possible = v.good.contains(0), v.holds.contains(0), v.possible.contains(0)
	default:
		v, err := e.value(ctx, f)
		if err != nil {
			return r, err
		}
		good, r.Holds, possible = v.good.has(0), v.holds.has(0), v.possible.has(0)
	}
	s := r.setVerdict(good, possible, opt.Semantics, f.signal)
	if opt.Robust && !f.signal {
		r.Robustness = infinite(r.Holds)
	} else if opt.Robust {
		distance, err := e.robustness(ctx, f)
		if err != nil {
			return r, err
		}
		// The verdict and the distance are rounded in different ways. If the distance therefore contradicts
		// the verdict, the signal equals the bound within the precision of floats.
		if r.Holds && distance < 0 || !r.Holds && distance > 0 {
			distance = 0
		}
		r.Robustness = &distance
	}
	x := &explainer{evaluator: e, ctx: ctx, complete: s == TwoValued || !r.Decided, list: r.Reasons, check: f,
		text: r.Formula}
	if isDense {
		x.explainDense(f, r.Holds, 0)
	} else if err := x.explain(f, 0, r.Holds, 0); err != nil {
		return r, err
	}
	r.Reasons = x.list
	return r, nil
}

// setVerdictWithoutEvents sets the verdict of a check for a trace without events.
func (r *CheckResult) setVerdictWithoutEvents(f *Formula, chosen Semantics) {
	r.Formula, r.Holds = f.String(), holdsAtEnd(f)
	r.Reasons = []Reason{{Formula: r.Formula, Holds: r.Holds, Text: "there is no event"}}
	r.setVerdict(false, true, chosen, f.signal)
}

// setVerdict sets the verdict of a check, and returns the semantics of the verdict. good reports whether the
// check holds for each continuation of the trace, and possible whether it holds for some continuation. signal
// is set if the check has signals.
func (r *CheckResult) setVerdict(good, possible bool, chosen Semantics, signal bool) Semantics {
	r.Decided = good || !possible
	s := chosen
	if s == "" || s == Compatible {
		if s = ThreeValued; signal {
			s = TwoValued
		}
	}
	choose := func(yes, no Verdict) Verdict {
		if r.Holds {
			return yes
		}
		return no
	}
	switch {
	case s == TwoValued && chosen == TwoValued:
		r.Verdict = choose(IsTrue, IsFalse)
	case s == TwoValued:
		r.Verdict = choose(Good, Bad)
	case s == FourValued && r.Decided:
		r.Verdict = choose(DecidedTrue, DecidedFalse)
	case s == FourValued:
		r.Verdict = choose(StillTrue, StillFalse)
	case r.Decided:
		r.Verdict = choose(Good, Bad)
	default:
		r.Verdict = NonInformative
	}
	return s
}

// holdsAtEnd reports whether a formula holds after the last state of a complete trace.
func holdsAtEnd(f *Formula) bool {
	known := map[*Formula]bool{}
	var at func(f *Formula) bool
	at = func(f *Formula) (r bool) {
		if r, ok := known[f]; ok {
			return r
		}
		defer func() { known[f] = r }()
		switch f.Op {
		case True, Globally, Percentile:
			return true
		case Not:
			return !at(f.Args[0])
		case And:
			return !slices.ContainsFunc(f.Args, func(a *Formula) bool { return !at(a) })
		case Or:
			return slices.ContainsFunc(f.Args, at)
		case Implies:
			return !at(f.Args[0]) || at(f.Args[1])
		}
		return false
	}
	return at(f)
}

// eachComparison calls f for each state i with from <= i < to at which a comparison is true.
func (e *evaluator) eachComparison(c *Comparison, from, to int, f func(i int)) {
	number := e.number(c)
	e.eachValue(c.Signal, from, to, func(i int, v float64) {
		if holds(v, c.Op, number) {
			f(i)
		}
	})
}

// eachValue calls f for each state i with from <= i < to at which an expression has a value.
func (e *evaluator) eachValue(x *SignalExpr, from, to int, f func(i int, v float64)) {
	i := from
	for p := range x.evaluate(e.signal, e.unit) {
		for ; i < to; i++ {
			u := e.offset(e.time[i])
			if p.to < u || p.to == u && !p.last {
				break
			}
			if p.from <= u {
				f(i, p.value(u))
			}
		}
		if i == to {
			break
		}
	}
}

// record reads a trace.
func record(ctx context.Context, events format.Events, spec *Spec, opt Options) (*recorder, error) {
	r := newRecorder(spec, events.Defs(), opt.Window)
	r.whole = true
	sel := trace.Events()
	sel.NoStates, sel.Location = true, opt.Location
	if opt.Window != nil {
		sel.To = opt.Window.To
	}
	if err := events.Scan(ctx, sel, format.GlobalOrder, r); err != nil {
		return r, err
	}
	r.join()
	r.closeClaims()
	return r, nil
}
