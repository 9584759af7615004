package verify

import (
	"fmt"
	"slices"
)

// markExpressions marks the parentheses of signal expressions. A parenthesis begins an expression if it contains only
// operands, and if an operator of expressions or a comparison follows its end.
func markExpressions(tokens []token) {
	var open []int // the positions of parentheses that are open
	other := -1    // the position of the last token that belongs to no expression
	for i := range tokens {
		switch t := &tokens[i]; {
		case t.is("("):
			open = append(open, i)
		case t.is(")") && len(open) > 0:
			begin := open[len(open)-1]
			open = open[:len(open)-1]
			after := &tokens[i+1]
			tokens[begin].expression = begin > other && after.kind == symbol && slices.Contains(afterSignal, after.text)
		case t.kind == word && slices.Contains(joiningWords, t.text),
			t.kind == symbol && !slices.Contains(arithmetic, t.text):
			other = i
		}
	}
}

// joiningWords lists keywords that no signal expression contains.
var joiningWords = append([]string{"then"}, append(operators, confirmedWords...)...)

// parseSum reads signals and numbers that are connected by + and -.
func (p *parser) parseSum() *signalNode {
	s := p.parseProduct()
	for p.currentIs("+") || p.currentIs("-") {
		if p.isArrow() {
			panic(p.fail(p.rest[0], "one of >= > <= < == !=; if A then B is the implication"))
		}
		t := p.next()
		s = &signalNode{op: t.text, args: []*signalNode{s, p.parseProduct()}}
	}
	return s
}

// parseProduct reads a signal, numbers and parameters that are connected by *.
func (p *parser) parseProduct() *signalNode {
	s := p.parseOperand()
	for p.currentIs("*") {
		p.next()
		at := p.rest[0]
		s = &signalNode{op: "*", args: []*signalNode{s, p.parseOperand()}, right: at}
	}
	return s
}

func (p *parser) parseOperand() *signalNode {
	t := p.rest[0]
	if p.depth++; p.depth > maxNesting {
		panic(p.fail(t, fmt.Sprintf("expressions nested at most %d deep", maxNesting)))
	}
	defer func() { p.depth-- }()
	if p.operands++; p.operands > maxOperands {
		panic(p.fail(t, fmt.Sprintf("at most %d signals and numbers in a comparison", maxOperands)))
	}
	switch {
	case (t.is("derivative") || t.is("abs")) && p.rest[1].is("("):
		p.next()
		p.next()
		s := p.parseSum()
		p.expect(")")
		return &signalNode{op: t.text, args: []*signalNode{s}}
	case t.is("("):
		p.next()
		s := p.parseSum()
		p.expect(")")
		return s
	case t.kind == word && p.rest[1].is("("):
		panic(p.fail(t, `abs or derivative before "("`, "abs", "derivative"))
	case t.kind == word || t.kind == text:
		return &signalNode{op: "signal", name: p.next()}
	case t.kind == number || t.is("-") && p.rest[1].kind == number:
		return &signalNode{op: "number", number: p.parseNumber()}
	case t.is("-"):
		p.next()
		return &signalNode{op: "*", args: []*signalNode{{op: "number", number: -1}, p.parseOperand()}}
	}
	panic(p.fail(t, "a signal, a number or a parameter"))
}
