package verify

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// node is a parsed formula. Names in it are not resolved yet, and its parameters have no values.
type node struct {
	op     Op // has no meaning if ref or forall is set
	args   []*node
	bound  *Bound
	prop   *propositionNode
	comp   *comparisonNode
	times  *responsesNode
	ref    *reference
	forall *quantifier
	shared bool // the node is an argument of two nodes
}

// propositionNode is a proposition whose attributes may contain parameters.
type propositionNode struct {
	event Event
	pairs []pairNode
}

// pairNode is an attribute of a proposition.
type pairNode struct{ key, value []token }

// comparisonNode is a comparison of a signal.
type comparisonNode struct {
	signal *signalNode
	op     string
	number float64
	unit   string // a unit of time, or ""
}

// signalNode is a parsed signal expression. The names of signals and parameters in it are not resolved yet.
type signalNode struct {
	op     string
	args   []*signalNode
	name   token // name of the signal, or in quotes that of a signal of the trace; for "signal"
	number float64
	right  token // first token of the right operand; for "*"
}

// reference is a use of a definition or a check by its name.
type reference struct {
	name token
	arg  []token // the argument; empty if it has none
}

// quantifier stands for the conjunction of its body for each value of a parameter.
type quantifier struct {
	name      token // the parameter
	parameter string
	from, to  int64
	body      *node
}

// declaration is a definition, a check or a signal.
type declaration struct {
	keyword            string
	name               token
	parameter          string // "" if it has none
	bounded            bool   // the values of the parameter are limited: they go from from to to
	from, to           int64
	body               *node // nil if it must be parsed again
	signal             *signalSpec
	left, line, column int // the length of the text from the declaration on, and its position
}

// maxNesting is the greatest depth of formulas, and maxOperands the greatest number of signals and numbers in a
// comparison.
const (
	maxNesting  = 10000
	maxOperands = 1000
)

// parser reads declarations from a list of tokens.
type parser struct {
	file   string
	lexer  *lexer  // reads the tokens after rest; nil if there are none
	rest   []token // the next tokens, beginning with the current one
	buffer []token // the array behind rest, for reuse
	names  map[string]bool
	used   map[string]bool // names that formulas use
	depth  int
	// quantified is set if the current declaration has a formula with forall.
	quantified bool
	// declared is set after the first declaration.
	declared bool
	// operands is the number of signals and numbers in the current comparison so far.
	operands int
}

// Parse reads a specification. The name of the file is used only in messages. An error is a [*SyntaxError].
// The memory is proportional to the length of the text. Quantified formulas and checks count once for each
// value. A specification may have up to 4 million different formulas, and up to 8 million formulas in the
// scope of parameters. These take up to about 1 GB.
func Parse(file string, spec []byte) (*Spec, error) {
	text := string(spec)
	list, names, used, err := parseDeclarations(file, text)
	if err != nil {
		return nil, err
	}
	b := newBuilder(file, text, names, used)
	return b.spec, b.instantiate(list)
}

// parseDeclarations reads the declarations of a specification. It also returns the declared names, and the names that
// formulas use. It keeps only the formulas with parameters, because the formulas of a long text would need many times
// its size. The builder reads the other ones again, one by one.
func parseDeclarations(file, spec string) (list []*declaration, names, used map[string]bool, err error) {
	p := &parser{file: file, lexer: newLexer(file, spec), names: map[string]bool{}, used: map[string]bool{}}
	scan := *p.lexer
	for before := false; ; {
		t, err := scan.next()
		if err != nil {
			return nil, nil, nil, err
		}
		if before && t.kind == word {
			p.names[t.text] = true
		}
		if before = t.isDeclaration(); t.kind == endToken {
			break
		}
	}
	p.fill()
	for p.rest[0].kind != endToken {
		d, err := apply(p.parseDeclaration)
		if err != nil {
			return nil, nil, nil, err
		}
		if d.parameter == "" && !p.quantified {
			d.body = nil
		}
		list = append(list, d)
		p.declared = true
	}
	return list, p.names, p.used, nil
}

// apply returns the result of a rule of the grammar, which is a method of [parser]. Rules panic with the error that
// [parser.fail] returns, and apply returns that error.
func apply[T any](rule func() T) (x T, err error) {
	defer func() {
		if e := recover(); e != nil {
			wrong, ok := e.(*SyntaxError)
			if !ok {
				panic(e)
			}
			err = wrong
		}
	}()
	return rule(), nil
}

// declarations lists the keywords with which a declaration begins.
var declarations = []string{"def", "signal", "check"}

// fail returns an error about a token.
func (p *parser) fail(t token, expected string, words ...string) *SyntaxError {
	e := &SyntaxError{File: p.file, Line: t.line, Column: t.column, Found: t.description(), Expected: expected}
	if t.kind == word {
		e.Word, e.Words = t.text, slices.DeleteFunc(words, func(w string) bool { return w == t.text })
	}
	return e
}

// lookahead is the number of tokens, with the current one, that the parser may examine.
const lookahead = 4

// fill appends the tokens of the next declaration to the rest. The text is known to have no wrong tokens.
func (p *parser) fill() {
	list := append(p.buffer[:0], p.rest...)
	for n := len(list); len(list) < n+lookahead || list[len(list)-1].kind != word || !list[len(list)-2].isDeclaration(); {
		t, _ := p.lexer.next()
		if list = append(list, t); t.kind == endToken {
			break
		}
	}
	markExpressions(list)
	p.buffer, p.rest = list, list
}

// next removes the current token and returns it.
func (p *parser) next() token {
	t := p.rest[0]
	if t.kind == endToken {
		return t
	}
	p.rest = p.rest[1:]
	if n := len(p.rest); n < lookahead && p.lexer != nil && p.rest[n-1].kind != endToken {
		p.fill()
	}
	return t
}

// isDeclaration reports whether a token is a keyword with which a declaration begins.
func (t token) isDeclaration() bool { return t.kind == word && slices.Contains(declarations, t.text) }

// currentIs reports whether the current token is a keyword or symbol.
func (p *parser) currentIs(s string) bool { return p.rest[0].is(s) }

// is reports whether a token is a keyword or symbol.
func (t token) is(s string) bool { return (t.kind == word || t.kind == symbol) && t.text == s }

// accept removes the current token if it is a keyword or symbol.
func (p *parser) accept(s string) bool {
	if p.currentIs(s) {
		p.next()
		return true
	}
	return false
}

// expect removes the current token, which must be a keyword or symbol.
func (p *parser) expect(s string) {
	if !p.accept(s) {
		panic(p.fail(p.rest[0], fmt.Sprintf("%q", s), s))
	}
}

// parseName removes the current token, which must be a name.
func (p *parser) parseName(what string) token {
	if p.rest[0].kind != word {
		panic(p.fail(p.rest[0], what))
	}
	return p.next()
}

func (p *parser) parseDeclaration() *declaration {
	t := p.rest[0]
	if !t.isDeclaration() {
		panic(p.failDeclaration())
	}
	d := &declaration{keyword: t.text, left: t.left, line: t.line, column: t.column}
	p.quantified = false
	p.next()
	d.name = p.parseName("a name after " + d.keyword)
	if slices.Contains(confirmedWords, d.name.text) {
		panic(p.fail(d.name, "a name that is no keyword"))
	}
	if d.keyword != "signal" && p.accept("(") {
		t := p.parseName("the name of a parameter")
		d.parameter = t.text
		if d.bounded = p.accept(":"); d.bounded {
			d.from, d.to = p.parseValueRange()
		} else if d.keyword == "check" {
			panic(p.fail(p.rest[0], `":" and the values of the parameter, such as 0 .. 9`))
		}
		p.expect(")")
	}
	p.expect(":")
	if d.keyword == "signal" {
		d.signal = p.parseSignal()
	} else {
		d.body = p.parseFormula()
	}
	return d
}

// parseValueRange reads the range of values of a parameter: the first and the last value.
func (p *parser) parseValueRange() (from, to int64) {
	from = p.parseInteger()
	if !p.accept("..") && !p.accept("...") {
		panic(p.fail(p.rest[0], `".."`))
	}
	at := p.rest[0]
	to = p.parseInteger()
	if to < from {
		panic(p.fail(at, fmt.Sprintf("a number not below %d", from)))
	}
	return from, to
}

func (p *parser) parseInteger() int64 {
	t, s := p.rest[0], ""
	if p.accept("-") {
		s = "-"
	}
	n, err := strconv.ParseInt(s+p.rest[0].text, 10, 64)
	if err != nil || p.rest[0].kind != number {
		panic(p.fail(t, "a whole number"))
	}
	p.next()
	return n
}

// formulaWords lists the keywords with which a formula may begin.
var formulaWords = []string{"not", "if", "globally", "finally", "until", "next", "true", "false", "forall", "start",
	"end", "within", "during", "by", "after", "derivative", "abs", "percentile"}

// parseFormula reads a formula.
func (p *parser) parseFormula() *node {
	t := p.rest[0]
	if p.depth++; p.depth > maxNesting {
		panic(p.fail(t, fmt.Sprintf("formulas nested at most %d deep", maxNesting)))
	}
	defer func() { p.depth-- }()
	switch {
	case t.is("{"):
		return p.parseProposition(AnyEvent)
	case t.kind == number || t.kind == text || t.is("-") || t.expression:
		return p.parseComparison()
	case t.is("("):
		return p.parseParenthesis()
	case t.is("["):
		panic(p.fail(t, `a formula, or "within" before an interval of times`))
	case t.kind != word:
		panic(p.fail(t, "a formula"))
	case (t.text == "start" || t.text == "end") && p.rest[1].is("{"):
		p.next()
		return p.parseProposition(map[string]Event{"start": StartEvent, "end": EndEvent}[t.text])
	case (t.text == "derivative" || t.text == "abs") && p.rest[1].is("("):
		return p.parseComparison()
	case t.text == "percentile" && p.rest[1].kind == number:
		return p.parsePercentile()
	case p.names[t.text] && !slices.Contains(confirmedWords, t.text), !slices.Contains(formulaWords, t.text):
		return p.parseUse()
	}
	if slices.Contains(boundWords, t.text) { // a bound without an operator before it
		return p.parseTemporal(Finally)
	}
	p.next()
	switch t.text {
	case "during":
		bound := p.parseInterval("")
		f := p.parseOperator(Globally)
		f.bound = bound
		return f
	case "true":
		return &node{op: True}
	case "false":
		return &node{op: False}
	case "not":
		return p.parseOperator(Not)
	case "next":
		return p.parseOperator(Next)
	case "if":
		return p.parseImplication()
	case "globally", "finally":
		return p.parseTemporal(map[string]Op{"globally": Globally, "finally": Finally}[t.text])
	case "until":
		return p.parseUntil()
	case "forall":
		return p.parseForall()
	}
	// The keyword requires a certain token after it, and this token is missing.
	after := map[string]string{"start": `"{" and the attributes of claims`, "end": `"{" and the attributes of claims`,
		"percentile": "a percentage, such as 99", "abs": `"(" and a signal`, "derivative": `"(" and a signal`}
	panic(p.fail(p.rest[0], after[t.text]+", after "+t.text))
}

// boundWords lists the keywords of bounds with which a formula may begin.
var boundWords = []string{"within", "by", "after"}

// confirmedWords lists keywords that the original ETL tool does not accept as names.
var confirmedWords = []string{"not", "if", "globally", "finally", "until", "start", "end"}

// parseOperator reads the argument of a unary operator.
func (p *parser) parseOperator(op Op) *node {
	return &node{op: op, args: []*node{p.parseFormula()}}
}

func (p *parser) parseImplication() *node {
	a := p.parseFormula()
	p.expect("then")
	return &node{op: Implies, args: []*node{a, p.parseFormula()}}
}

func (p *parser) parseTemporal(op Op) *node {
	bound := p.parseBound()
	f := p.parseOperator(op)
	f.bound = bound
	return f
}

func (p *parser) parseUntil() *node {
	bound := p.parseBound()
	goal := p.parseFormula()
	for _, w := range []string{"we", "have", "that"} {
		if !p.accept(w) {
			panic(p.fail(p.rest[0], `"we have that", and what holds until then`, w))
		}
	}
	return &node{op: Until, args: []*node{p.parseFormula(), goal}, bound: bound}
}

func (p *parser) parseForall() *node {
	p.expect("(")
	t := p.parseName("the name of a parameter")
	if !p.accept(":") && !p.accept("in") {
		panic(p.fail(p.rest[0], `":"`))
	}
	p.quantified = true
	q := &quantifier{name: t, parameter: t.text}
	q.from, q.to = p.parseValueRange()
	p.expect(")")
	q.body = p.parseFormula()
	return &node{forall: q}
}

// operators lists the keywords that join formulas in parentheses.
var operators = []string{"and", "or", "implies", "iff"}

// parseParenthesis reads a formula in parentheses, or several formulas that are joined by the same operator.
func (p *parser) parseParenthesis() *node {
	p.next()
	f := p.parseFormula()
	t := p.rest[0]
	if !p.currentIs(")") && (t.kind != word || !slices.Contains(operators, t.text)) {
		panic(p.fail(t, `"and", "or", "implies", "iff" or ")"`, slices.Clone(operators)...))
	}
	args := []*node{f}
	for !p.accept(")") {
		if !p.accept(t.text) {
			expected := fmt.Sprintf(`%q or ")"`, t.text)
			if slices.Contains(operators, p.rest[0].text) {
				expected += "; different operators need parentheses"
			}
			panic(p.fail(p.rest[0], expected, t.text))
		}
		f = p.parseFormula()
		args = append(args, f)
		if t.text == "implies" || t.text == "iff" {
			p.expect(")")
			break
		}
	}
	switch {
	case len(args) == 1:
		return f
	case t.text == "and":
		return &node{op: And, args: args}
	case t.text == "or":
		return &node{op: Or, args: args}
	}
	f = &node{op: Implies, args: args}
	if t.text == "iff" {
		args[0].shared, args[1].shared = true, true
		back := &node{op: Implies, args: []*node{args[1], args[0]}}
		f = &node{op: And, args: []*node{f, back}}
	}
	return f
}

func (p *parser) parseProposition(e Event) *node {
	return &node{op: Prop, prop: &propositionNode{e, p.parseAttributes()}}
}

// parseAttributes reads the attributes of a proposition or signal.
func (p *parser) parseAttributes() []pairNode {
	if !p.accept("{") {
		panic(p.fail(p.rest[0], `"{" and attributes, as in {'name' = 'A'}`))
	}
	var list []pairNode
	for {
		key := p.parseText()
		p.expect("=")
		value := p.parseText()
		list = append(list, pairNode{key, value})
		if p.accept("}") {
			return list
		}
		if !p.accept(",") {
			panic(p.fail(p.rest[0], `"," or "}"`))
		}
	}
}

// parseText reads strings and parameters that are connected by +.
func (p *parser) parseText() []token {
	var list []token
	for {
		if k := p.rest[0].kind; k != text && k != word {
			panic(p.failText(p.rest[0], nil))
		}
		list = append(list, p.next())
		if !p.accept("+") {
			return list
		}
	}
}

// failText returns an error about a token in place of a string. env holds the parameters.
func (p *parser) failText(t token, env *environment) *SyntaxError {
	expected := "a string in quotes, or a parameter"
	if t.kind == word || t.kind == number {
		expected = fmt.Sprintf("a string in quotes, as %s, or a parameter", quote(shorten(t.text)))
	}
	return p.fail(t, expected, env.parameters()...)
}

// parseUse reads the name of a definition with its argument, or a comparison that begins with the name of a
// signal.
func (p *parser) parseUse() *node {
	if n := p.rest[1]; n.kind == symbol && slices.Contains(afterSignal, n.text) {
		return p.parseComparison()
	}
	if t := p.rest[0]; !p.names[t.text] {
		if slices.Contains(afterFormula, t.text) {
			panic(p.fail(t, "a formula", "if")) // iff is the misspelled word
		}
		if w := foreignWords[t.text]; w != "" {
			panic(p.fail(t, fmt.Sprintf("a formula; the word for it is %s", w)))
		}
		words := append(slices.Sorted(maps.Keys(p.names)), formulaWords...)
		panic(p.fail(t, "a formula, or the name of a definition or check", words...))
	}
	if p.rest[1].is("=") {
		panic(p.failComparison(1))
	}
	r := &reference{name: p.next()}
	p.used[r.name.text] = true
	if p.currentIs("(") && (p.rest[1].kind == word || p.rest[1].kind == number || p.rest[1].is("-")) {
		p.next()
		if p.currentIs("-") {
			r.arg = append(r.arg, p.next())
		}
		r.arg = append(r.arg, p.next())
		p.expect(")")
	}
	return &node{ref: r}
}

// comparisons lists the comparison operators, and arithmetic the operators of signal expressions. afterSignal lists
// the symbols that may follow a signal.
var (
	comparisons = []string{">=", ">", "<=", "<", "==", "!="}
	arithmetic  = []string{"+", "-", "*"}
	afterSignal = slices.Concat(arithmetic, comparisons)
)

func (p *parser) parseComparison() *node {
	p.operands = 0
	s := p.parseSum()
	t := p.rest[0]
	if op, n := p.adjacentComparison(0); n != 1 || !slices.Contains(comparisons, op) {
		panic(p.failComparison(0))
	}
	p.next()
	c := &comparisonNode{signal: s, op: t.text}
	if t := p.rest[0]; t.kind == word {
		panic(p.fail(t, "a number; signals and parameters are before the comparison"))
	}
	c.number = p.parseNumber()
	c.unit = p.parseLastUnit("the end of the formula", afterFormula...)
	return &node{op: Compare, comp: c}
}

// afterFormula lists the keywords that may follow a formula. It also lists keywords that users often write
// there by mistake, for which other messages exist.
var afterFormula = append([]string{"then", "we", "until"}, append(operators, declarations...)...)

// parseNumber reads a number with its sign.
func (p *parser) parseNumber() float64 {
	s := ""
	if p.accept("-") {
		s = "-"
	} else {
		p.accept("+")
	}
	t := p.rest[0]
	if t.kind != number {
		panic(p.fail(t, "a number"))
	}
	n, err := strconv.ParseFloat(s+t.text, 64)
	if err != nil {
		panic(p.fail(t, "a number of at most 1.8e308"))
	}
	if n == 0 && !isZero(t.text) {
		panic(p.fail(t, "0, or a number of at least 5e-324"))
	}
	p.next()
	return n
}
