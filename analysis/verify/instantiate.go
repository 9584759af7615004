package verify

import (
	"fmt"
	"hash/maphash"
	"slices"
	"strconv"
	"strings"
)

// maxFormulas is the greatest number of different formulas in a specification.
const maxFormulas = 4_000_000

// maxInstances limits the number of formulas in the scope of parameters. Each formula counts once for each
// value. Equal formulas count separately, because the limit also bounds the time for creating them.
const maxInstances = 2 * maxFormulas

// maxParameter is the greatest number of values of a parameter.
const maxParameter = 1_000_000

// instance is a formula together with the values of its parameters.
type instance struct {
	node *node
	env  *environment
}

// environment holds the values of parameters.
type environment struct {
	name  string
	value int64
	outer *environment
}

// lookup returns the value of a parameter.
func (e *environment) lookup(name string) (value int64, ok bool) {
	for ; e != nil; e = e.outer {
		if e.name == name {
			return e.value, true
		}
	}
	return 0, false
}

// parameters returns the names of the parameters that have values.
func (e *environment) parameters() (names []string) {
	for ; e != nil; e = e.outer {
		names = append(names, e.name)
	}
	return names
}

// builder converts declarations to formulas. Equal formulas share one value.
type builder struct {
	parser        // used for messages
	text   string // the specification
	spec   *Spec
	names  map[string]*declaration
	seed   maphash.Seed
	known  indexTable // the formulas of spec
	// applied holds the formulas of definitions and checks that formulas use, by name and argument.
	applied      map[string]*Formula
	done         map[instance]*Formula // formulas of nodes that are arguments of two other nodes
	bounds       map[*Bound]bool       // the bounds that formulas use
	sameBounds   map[string]*Bound     // the same bounds by their texts
	open         map[string]bool       // definitions whose bodies are being built, by name and argument
	propositions indexTable            // the propositions of spec
	signals      map[string]*Signal
	declared     token // name of the declaration whose formulas are being built
	instances    int   // number of formulas in the scope of parameters so far
}

// instantiate adds the formulas of declarations to the specification.
func (b *builder) instantiate(list []*declaration) error {
	for _, d := range list {
		if first := b.names[d.name.text]; first != nil {
			return b.fail(d.name, fmt.Sprintf("a name that is not defined in line %d already", first.name.line))
		}
		b.names[d.name.text] = d
	}
	if err := b.checkSize(list); err != nil {
		return err
	}
	for _, d := range list {
		if err := b.declare(d); err != nil {
			return err
		}
	}
	return nil
}

func newBuilder(file, text string, names, used map[string]bool) *builder {
	return &builder{parser: parser{file: file, names: names, used: used}, text: text, spec: &Spec{},
		names: map[string]*declaration{}, seed: maphash.MakeSeed(), applied: map[string]*Formula{},
		done: map[instance]*Formula{}, bounds: map[*Bound]bool{}, sameBounds: map[string]*Bound{},
		open: map[string]bool{}, signals: map[string]*Signal{}}
}

// body returns the formula of a declaration.
func (b *builder) body(d *declaration) (*node, error) {
	if d.body != nil {
		return d.body, nil
	}
	b.lexer = &lexer{b.file, b.text[len(b.text)-d.left:], d.line, d.column}
	b.rest = nil
	b.fill()
	again, err := apply(b.parseDeclaration)
	if err != nil {
		return nil, err
	}
	return again.body, nil
}

// declare adds a check. It also reports errors in a definition that no check uses.
func (b *builder) declare(d *declaration) error {
	b.declared = d.name
	if d.keyword == "signal" {
		_, err := b.findSignal(d.name, nil)
		return err
	}
	from, to := int64(0), int64(0)
	if d.bounded {
		from, to = d.from, d.to
	}
	if uint64(to)-uint64(from) >= maxParameter {
		return b.fail(d.name, fmt.Sprintf("a parameter with at most %d values", maxParameter))
	}
	for n := from; ; n++ {
		name := instanceName(d, n)
		f, err := b.apply(d, n, name)
		if err != nil {
			return err
		}
		if d.keyword == "check" {
			b.spec.Checks = append(b.spec.Checks, Check{name, f})
		}
		if n == to {
			return nil
		}
	}
}

// instanceName returns the name of a definition or check with its argument.
func instanceName(d *declaration, value int64) string {
	if d.parameter == "" {
		return d.name.text
	}
	return d.name.text + "(" + strconv.FormatInt(value, 10) + ")"
}

// apply returns the body of a definition or check for a value of its parameter. key is the name of the
// declaration with the argument.
func (b *builder) apply(d *declaration, value int64, key string) (*Formula, error) {
	if f := b.applied[key]; f != nil {
		return f, nil
	}
	if b.open[key] {
		return nil, b.fail(d.name, "a definition that does not use itself")
	}
	if len(b.open) > maxNesting {
		return nil, b.fail(d.name, fmt.Sprintf("definitions nested at most %d deep", maxNesting))
	}
	var env *environment
	if d.parameter != "" {
		env = &environment{name: d.parameter, value: value}
	}
	body, err := b.body(d)
	if err != nil {
		return nil, err
	}
	b.open[key] = true
	f, err := b.buildFormula(body, env)
	delete(b.open, key)
	if err == nil && d.keyword == "def" && len(f.Args) > 0 {
		named := *f // a message shows the formula itself instead of its name
		named.Name = key
		f, err = b.add(&named)
	}
	if err == nil && b.used[d.name.text] {
		b.applied[key] = f
	}
	return f, err
}

// buildFormula converts a node to a formula.
func (b *builder) buildFormula(n *node, env *environment) (*Formula, error) {
	key := instance{n, env}
	if f := b.done[key]; f != nil {
		return f, nil
	}
	if env != nil {
		if b.instances++; b.instances > maxInstances {
			return nil, b.tooMany(maxInstances)
		}
	}
	f, err := b.newFormula(n, env)
	if err == nil && n.shared {
		b.done[key] = f
	}
	return f, err
}

func (b *builder) newFormula(n *node, env *environment) (*Formula, error) {
	switch {
	case n.ref != nil:
		return b.resolveReference(n.ref, env)
	case n.forall != nil:
		return b.expandQuantifier(n.forall, env)
	}
	n.bound = b.sameBound(n.bound) // found at once for the next value of a parameter
	f := &Formula{Op: n.op, Bound: n.bound, temporal: n.op >= Globally && n.op <= Until}
	switch n.op {
	case Prop:
		p, err := b.buildProposition(n.prop, env)
		if err != nil {
			return nil, err
		}
		f.Prop, f.state = p, true
	case Compare:
		s, err := b.buildExpression(n.comp.signal, env)
		if err != nil {
			return nil, err
		}
		f.Comparison, f.signal = &Comparison{s, n.comp.op, n.comp.number, n.comp.unit}, true
	case Next:
		f.state = true
	case Percentile:
		var err error
		if f.Responses, err = b.buildResponses(n.times, env); err != nil {
			return nil, err
		}
		f.state, f.signal = true, true // like a check with signals, the check treats the trace as complete by default
	}
	if len(n.args) > 0 {
		f.Args = make([]*Formula, 0, len(n.args))
	}
	for _, a := range n.args {
		x, err := b.buildFormula(a, env)
		if err != nil {
			return nil, err
		}
		f.addArgument(x)
	}
	return b.add(f)
}

// addArgument adds an argument to a formula.
func (f *Formula) addArgument(x *Formula) {
	f.Args = append(f.Args, x)
	f.signal, f.state, f.temporal = f.signal || x.signal, f.state || x.state, f.temporal || x.temporal
}

// sameBound returns a bound that equals a bound, which may be nil. Equal bounds share one value.
func (b *builder) sameBound(bound *Bound) *Bound {
	if bound == nil || b.bounds[bound] {
		return bound
	}
	text := bound.String()
	same := b.sameBounds[text]
	if same == nil {
		same = bound
		b.sameBounds[text], b.bounds[same] = same, true
	}
	return same
}

// tooMany returns an error for the current declaration, with which the number of formulas exceeds limit.
func (b *builder) tooMany(limit int) error {
	return &SyntaxError{File: b.file, Line: b.declared.line, Column: b.declared.column, Found: "more formulas",
		Expected: fmt.Sprintf("at most %d, with those of each value of a parameter", limit)}
}

// add returns the formula that equals f. If there is no earlier one, it adds f, whose arguments are added already.
func (b *builder) add(f *Formula) (*Formula, error) {
	list := b.spec.formulas
	i, ok := b.known.find(f.hash(b.seed), func(i int32) bool { return list[i].equal(f) })
	if ok {
		return list[i], nil
	}
	if len(list) >= maxFormulas {
		return nil, b.tooMany(maxFormulas)
	}
	f.index = int32(len(list))
	b.spec.formulas = append(list, f)
	b.known.add(f.index, func(i int32) uint64 { return b.spec.formulas[i].hash(b.seed) })
	return f, nil
}

// resolveReference returns the formula that a name stands for.
func (b *builder) resolveReference(r *reference, env *environment) (*Formula, error) {
	d := b.names[r.name.text]
	if d.keyword == "signal" {
		return nil, b.fail(r.name, "a comparison of the signal with a number")
	}
	if (d.parameter != "") != (len(r.arg) > 0) {
		return nil, b.fail(r.name, map[bool]string{true: "an argument in parentheses after it",
			false: "no argument after it"}[d.parameter != ""])
	}
	value := int64(0)
	if len(r.arg) > 0 {
		t := r.arg[len(r.arg)-1]
		if t.kind == word {
			n, ok := env.lookup(t.text)
			if !ok {
				return nil, b.fail(t, "a parameter or a number", env.parameters()...)
			}
			value = n
			if len(r.arg) > 1 {
				value = -n
			}
		} else {
			n, err := strconv.ParseInt(joinTexts(r.arg), 10, 64)
			if err != nil {
				return nil, b.fail(t, "a whole number")
			}
			value = n
		}
		if d.bounded && (value < d.from || value > d.to) {
			return nil, b.fail(t, fmt.Sprintf("a value of %d to %d", d.from, d.to))
		}
	}
	return b.apply(d, value, instanceName(d, value))
}

// joinTexts returns the concatenated texts of tokens.
func joinTexts(list []token) string {
	s := ""
	for _, t := range list {
		s += t.text
	}
	return s
}

// expandQuantifier returns the conjunction of the formulas for each value.
func (b *builder) expandQuantifier(q *quantifier, env *environment) (*Formula, error) {
	f := &Formula{Op: And}
	if uint64(q.to)-uint64(q.from) >= maxParameter {
		return nil, b.fail(q.name, fmt.Sprintf("a parameter with at most %d values", maxParameter))
	}
	for n := q.from; ; n++ {
		x, err := b.buildFormula(q.body, &environment{q.parameter, n, env})
		if err != nil {
			return nil, err
		}
		f.addArgument(x)
		if n == q.to {
			break
		}
	}
	if len(f.Args) == 1 {
		return f.Args[0], nil
	}
	return b.add(f)
}

// buildText returns the text of strings and parameters.
func (b *builder) buildText(list []token, env *environment) (string, error) {
	if len(list) == 1 && list[0].kind == text {
		return list[0].text, nil
	}
	var s strings.Builder
	for _, t := range list {
		if t.kind == word {
			n, ok := env.lookup(t.text)
			if !ok {
				return "", b.failText(t, env)
			}
			s.WriteString(strconv.FormatInt(n, 10))
			continue
		}
		s.WriteString(t.text)
	}
	return s.String(), nil
}

// buildAttributes returns the attributes of a proposition or signal.
func (b *builder) buildAttributes(pairs []pairNode, env *environment) ([]Attribute, error) {
	var list []Attribute
	for _, p := range pairs {
		key, err := b.buildText(p.key, env)
		if err != nil {
			return nil, err
		}
		value, err := b.buildText(p.value, env)
		if err != nil {
			return nil, err
		}
		list = append(list, Attribute{key, value})
	}
	return sortAttributes(list), nil
}

func (b *builder) buildProposition(n *propositionNode, env *environment) (*Proposition, error) {
	list, err := b.buildAttributes(n.pairs, env)
	if err != nil {
		return nil, err
	}
	p := &Proposition{Event: n.event, Attributes: list, index: len(b.spec.propositions)}
	all := b.spec.propositions
	i, ok := b.propositions.find(p.hash(b.seed), func(i int32) bool {
		return all[i].Event == p.Event && slices.Equal(all[i].Attributes, list)
	})
	if ok {
		return all[i], nil
	}
	b.spec.propositions = append(all, p)
	b.propositions.add(int32(p.index), func(i int32) uint64 { return b.spec.propositions[i].hash(b.seed) })
	return p, nil
}

func (b *builder) buildExpression(n *signalNode, env *environment) (*SignalExpr, error) {
	e := &SignalExpr{Op: n.op, Number: n.number}
	if n.op == "signal" {
		if value, ok := env.lookup(n.name.text); ok && n.name.kind == word {
			return &SignalExpr{Op: "number", Number: float64(value)}, nil
		}
		s, err := b.findSignal(n.name, env)
		e.Signal = s
		return e, err
	}
	for _, a := range n.args {
		x, err := b.buildExpression(a, env)
		if err != nil {
			return nil, err
		}
		e.Args = append(e.Args, x)
	}
	if e.Op == "*" && !e.Args[0].isConstant() && !e.Args[1].isConstant() {
		return nil, b.fail(n.right, "a number; signals cannot be multiplied with each other")
	}
	return e, nil
}

// nameToken is the key of the name of a signal.
var nameToken = token{kind: text, text: "name"}

// isConstant reports whether an expression has no signals.
func (e *SignalExpr) isConstant() bool {
	return e.Op != "signal" && !slices.ContainsFunc(e.Args, func(a *SignalExpr) bool { return !a.isConstant() })
}

// findSignal returns the signal with a name. A name in quotes is that of a signal of the trace. env holds the
// parameters, which could have been in the place of the name.
func (b *builder) findSignal(name token, env *environment) (*Signal, error) {
	d := b.names[name.text]
	if name.kind == text {
		d = &declaration{keyword: "signal", signal: &signalSpec{pairs: []pairNode{{[]token{nameToken}, []token{name}}}}}
		name.text = quote(name.text)
	}
	if s := b.signals[name.text]; s != nil {
		return s, nil
	}
	if d == nil || d.keyword != "signal" {
		names := env.parameters()
		for name, d := range b.names {
			if d.keyword == "signal" {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		return nil, b.fail(name, "the name of a signal", names...)
	}
	s, err := b.defineSignal(name.text, d.signal, len(b.spec.signals))
	if err != nil {
		return nil, err
	}
	b.signals[name.text] = s
	b.spec.signals = append(b.spec.signals, s)
	return s, nil
}
