package verify

import (
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// Op is the operator of a formula.
type Op uint8

// The operators.
const (
	True Op = iota
	False
	Prop     // a proposition about a state
	Compare  // a comparison of a signal with a number
	Not      // negation of one argument
	And      // conjunction of two or more arguments
	Or       // disjunction of two or more arguments
	Implies  // the first argument implies the second
	Globally // the argument holds at all states within the bound
	Finally  // the argument holds at a state within the bound
	Next     // the argument holds at the next state
	// the second argument holds at a state within the bound, and the first argument holds up to that state
	Until
	// Percentile compares a percentile of response times with a time. The result is the same at all
	// states.
	Percentile
)

// Formula is a formula of a specification. Formulas share their parts: if a definition is used twice,
// both uses refer to the same Formula.
type Formula struct {
	Op     Op
	signal bool // the formula contains a comparison
	state  bool // the formula contains a proposition or Next
	// the formula contains an operator that refers to other states: Globally, Finally, Until or Next
	temporal bool
	index    int32 // position in Spec.formulas, where arguments come before the formulas that use them
	Args     []*Formula
	// Bound limits the times of Globally, Finally and Until. Nil means all later times.
	Bound *Bound
	// Prop is the proposition of a formula with the operator Prop.
	Prop *Proposition
	// Comparison is the comparison of a formula with the operator Compare.
	Comparison *Comparison
	// Responses holds the response times of a formula with the operator Percentile.
	Responses *Responses
	// Name is the name of the definition, with its argument, if the formula is the body of a
	// definition. Otherwise it is "".
	Name string
}

// Bound is an interval of time, counted from the state at which a formula is evaluated.
type Bound struct {
	Low, High         Duration
	LowOpen, HighOpen bool
	Infinite          bool // the interval has no upper end
}

// Duration is a duration in a specification. Without a unit, it is in the time unit of the trace.
type Duration struct {
	Number string // as written in the specification
	Unit   string // "ns", "us", "ms", "s", "min", "h" or ""
	value  *big.Rat
}

// Event selects the states of a claim to which a proposition applies.
type Event uint8

// The events of a proposition.
const (
	AnyEvent   Event = iota // all events, and both ends of claims
	StartEvent              // begins of claims
	EndEvent                // ends of claims
)

// Proposition holds at a state if the event or claim of the state has all of its attributes.
type Proposition struct {
	Event      Event
	Attributes []Attribute // sorted, without duplicates
	index      int         // position in Spec.propositions
}

// Attribute is an attribute that a proposition requires.
type Attribute struct{ Key, Value string }

// Comparison compares a signal with a number. It is false at times at which the signal has no value.
type Comparison struct {
	Signal *SignalExpr
	Op     string // ">=", ">", "<=", "<", "==" or "!="
	Number float64
	// Unit is a unit of time, or "". If there is a unit, the number is a time. Signals have times in
	// the time unit of the trace.
	Unit string
}

// SignalExpr is a signal or a combination of signals.
type SignalExpr struct {
	Op     string // "signal", "derivative", "abs", "number", "+", "-" or "*"
	Args   []*SignalExpr
	Signal *Signal // the signal; for Op "signal"
	Number float64 // the number; for Op "number"
}

// SignalKind states how a signal is derived.
type SignalKind string

// The kinds of signals.
const (
	TraceSignal SignalKind = ""           // a signal, series or counter of the trace
	Usage       SignalKind = "usage"      // the number of open claims or calls, or the sum of their amounts
	Throughput  SignalKind = "throughput" // events, or objects, per time unit
	WIP         SignalKind = "wip"        // the number of objects in the system (work in progress)
	Latency     SignalKind = "latency"    // WIP / Throughput of objects
)

// Signal is a definition of a signal.
type Signal struct {
	Name string
	Kind SignalKind
	// Attributes are the attributes of the signal in the trace. For Usage, they are attributes of resources,
	// claims or calls. For Throughput, they are attributes of events.
	Attributes []Attribute
	Event      Event  // the events to count; for Throughput of events
	Object     string // the attribute that names objects; "" for Throughput of events
	Amount     bool   // for Usage: sum up amounts instead of counting claims
	// the duration, up to the present, over which the signal is averaged; nil for a signal without averaging
	Over *Duration

	index int
	prop  *Proposition // the attributes as a proposition, for Usage and for Throughput of events
}

// String returns the definition in the syntax of a specification, without the name.
func (s *Signal) String() string {
	var b strings.Builder
	if s.Kind != TraceSignal {
		b.WriteString(string(s.Kind) + " ")
	}
	switch {
	case s.Object != "":
		b.WriteString(quote(s.Object))
	case s.Kind == Throughput:
		b.WriteString(s.prop.String())
	default:
		b.WriteString(attributesString(s.Attributes))
	}
	if s.Amount {
		b.WriteString(" amount")
	}
	if s.Over != nil {
		b.WriteString(" over " + s.Over.String())
	}
	return b.String()
}

// Check is a property that is checked for a trace.
type Check struct {
	// Name is the name of the check. If the check has a parameter, the name ends with the parameter's value in
	// parentheses.
	Name    string
	Formula *Formula
}

// Spec is a specification. It must not be changed, and may be used by several goroutines.
type Spec struct {
	Checks []Check

	formulas     []*Formula
	propositions []*Proposition
	signals      []*Signal
}

// attributesString returns the attributes in the syntax of a specification.
func attributesString(l []Attribute) string {
	var b strings.Builder
	writeAttributes(&b, l)
	return b.String()
}

// writeAttributes appends the text of attributesString to b.
func writeAttributes(b *strings.Builder, l []Attribute) {
	b.WriteByte('{')
	for i, a := range l {
		if i > 0 {
			b.WriteString(", ")
		}
		writeQuoted(b, a.Key)
		b.WriteString(" = ")
		writeQuoted(b, a.Value)
	}
	b.WriteByte('}')
}

// quote returns a string in the syntax of a specification.
func quote(s string) string {
	var b strings.Builder
	writeQuoted(&b, s)
	return b.String()
}

// writeQuoted appends the text of quote to b.
func writeQuoted(b *strings.Builder, s string) {
	b.WriteByte('\'')
	for i := strings.IndexAny(s, `\'`); i >= 0; i = strings.IndexAny(s, `\'`) {
		b.WriteString(s[:i] + `\` + s[i:i+1])
		s = s[i+1:]
	}
	b.WriteString(s + "'")
}

// String returns the proposition in the syntax of a specification.
func (p *Proposition) String() string {
	var b strings.Builder
	p.write(&b)
	return b.String()
}

// write appends the text of String to b.
func (p *Proposition) write(b *strings.Builder) {
	b.WriteString([...]string{AnyEvent: "", StartEvent: "start ", EndEvent: "end "}[p.Event])
	writeAttributes(b, p.Attributes)
}

// String returns the duration in the syntax of a specification.
func (d Duration) String() string {
	if d.Unit == "" {
		return d.Number
	}
	return d.Number + " " + d.Unit
}

// String returns the bound in the syntax of a specification.
func (b *Bound) String() string {
	left, right := "[", "]"
	if b.LowOpen {
		left = "("
	}
	if b.HighOpen {
		right = ")"
	}
	if b.Infinite {
		return "within " + left + b.Low.String() + ", inf)"
	}
	return "within " + left + b.Low.String() + ", " + b.High.String() + right
}

// String returns the comparison in the syntax of a specification.
func (c *Comparison) String() string {
	s := c.Signal.String() + " " + c.Op + " " + strconv.FormatFloat(c.Number, 'g', -1, 64)
	if c.Unit != "" {
		s += " " + c.Unit
	}
	return s
}

// String returns the expression in the syntax of a specification.
func (e *SignalExpr) String() string {
	switch e.Op {
	case "signal":
		return e.Signal.Name
	case "number":
		return strconv.FormatFloat(e.Number, 'g', -1, 64)
	case "derivative", "abs":
		return e.Op + "(" + e.Args[0].String() + ")"
	}
	left, right := e.Args[0].String(), e.Args[1].String()
	isSum := func(x *SignalExpr) bool { return x.Op == "+" || x.Op == "-" }
	if e.Op == "*" && isSum(e.Args[0]) {
		left = "(" + left + ")"
	}
	if e.Op != "+" && isSum(e.Args[1]) {
		right = "(" + right + ")"
	}
	return left + " " + e.Op + " " + right
}

// maxText is the number of characters after which String shortens a formula.
const maxText = 200

// String returns the formula in the syntax of a specification. It writes the names of definitions
// instead of their bodies. It leaves out the middle of a long formula.
func (f *Formula) String() string {
	var b strings.Builder
	f.write(&b, true)
	s := b.String()
	if len(s) <= maxText {
		return s
	}
	if r := []rune(s); len(r) > maxText {
		return string(r[:maxText/2]) + " … " + string(r[len(r)-maxText/2:])
	}
	return s
}

// write appends the formula to b. It stops some characters after the number that String shows. whole is
// set for the outermost formula. Other formulas appear as their names if they have one.
func (f *Formula) write(b *strings.Builder, whole bool) {
	if b.Len() > 64*maxText {
		b.WriteString("…")
		return
	}
	if f.Name != "" && !whole {
		b.WriteString(f.Name)
		return
	}
	arg := func(i int) { f.Args[i].write(b, false) }
	bound := func() {
		if f.Bound != nil {
			b.WriteString(f.Bound.String() + " ")
		}
	}
	switch f.Op {
	case True, False:
		b.WriteString(strconv.FormatBool(f.Op == True))
	case Prop:
		f.Prop.write(b)
	case Compare:
		b.WriteString(f.Comparison.String())
	case Not:
		b.WriteString("not ")
		arg(0)
	case And, Or:
		word := " and "
		if f.Op == Or {
			word = " or "
		}
		b.WriteString("(")
		for i := range f.Args {
			if i > 0 {
				b.WriteString(word)
			}
			arg(i)
		}
		b.WriteString(")")
	case Implies:
		b.WriteString("if ")
		arg(0)
		b.WriteString(" then ")
		arg(1)
	case Globally, Finally:
		b.WriteString([...]string{Globally: "globally ", Finally: "finally "}[f.Op])
		bound()
		arg(0)
	case Percentile:
		b.WriteString(f.Responses.String())
	case Next:
		b.WriteString("next ")
		arg(0)
	case Until:
		b.WriteString("until ")
		bound()
		arg(1)
		b.WriteString(" we have that ")
		arg(0)
	}
}

// sortAttributes sorts attributes and removes repeated ones.
func sortAttributes(l []Attribute) []Attribute {
	slices.SortFunc(l, func(a, b Attribute) int {
		if a.Key != b.Key {
			return strings.Compare(a.Key, b.Key)
		}
		return strings.Compare(a.Value, b.Value)
	})
	return slices.Compact(l)
}
