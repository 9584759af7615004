package verify

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxGroups is the greatest number of parentheses within each other in a condition of a property.
const maxGroups = 100

// condition is a part of a property in plain words: an event, the comparison of a signal, or several of them that are
// joined by not, and, or and parentheses.
type condition struct {
	text, visible string // visible is the result of hideNames
	groups        int    // parentheses around it
}

func newCondition(s string) condition {
	return condition{text: s, visible: hideNames(s)}.part(0, len(s))
}

// part returns a part of a condition, without white space around it.
func (c condition) part(from, to int) condition {
	c.text, c.visible = c.text[from:to], c.visible[from:to]
	left := len(c.text) - len(strings.TrimLeft(c.text, " \t\r\n"))
	right := max(left, len(strings.TrimRight(c.text, " \t\r\n")))
	c.text, c.visible = c.text[left:right], c.visible[left:right]
	return c
}

// formula returns the formula of a condition: a unary one, so that operators can precede it. operand returns the
// formula of an event or a comparison.
func (c condition) formula(operand func(string) (string, error)) (string, error) {
	for _, w := range []string{"or", "and"} { // "and" binds more tightly
		parts := c.split(w)
		if len(parts) == 1 {
			continue
		}
		for i, p := range parts {
			if p.text == "" {
				return "", fmt.Errorf("found no event %s %q, expected one; a name with the word %s needs quotes: %s",
					[]string{"before", "after"}[min(i, 1)], w, w, inQuotes(c.text))
			}
		}
		formulas := make([]string, len(parts))
		for i, p := range parts {
			f, err := p.formula(operand)
			if err != nil {
				return "", err
			}
			formulas[i] = f
		}
		return "(" + strings.Join(formulas, " "+w+" ") + ")", nil
	}
	not := ""
	for n := c.operator(0, "not"); n > 0; n = c.operator(0, "not") {
		if c = c.part(n, len(c.text)); c.text == "" {
			return "", fmt.Errorf(`found no event after "not", expected one; the name not needs quotes: 'not'`)
		}
		not += "not "
	}
	inner, ok := c.group()
	if !ok {
		if err := c.checkForeignWords(); err != nil {
			return "", err
		}
		f, err := operand(c.text)
		return not + f, err
	}
	if inner.groups > maxGroups {
		return "", fmt.Errorf("found more than %d parentheses within each other, expected fewer", maxGroups)
	}
	f, err := inner.formula(operand)
	return not + f, err
}

// split splits a condition at an operator outside of parentheses.
func (c condition) split(word string) []condition {
	var parts []condition
	from, depth := 0, 0
	for i := range len(c.visible) {
		depth = max(depth+nesting(c.visible[i]), 0)
		if n := c.operator(i, word); depth == 0 && n > 0 {
			parts = append(parts, c.part(from, i))
			from = i + n
		}
	}
	return append(parts, c.part(from, len(c.text)))
}

// nesting returns the change of the depth of parentheses at a character.
func nesting(character byte) int {
	switch character {
	case '(':
		return 1
	case ')':
		return -1
	}
	return 0
}

// hasWord reports whether a word is at a position: not as part of a name such as a-or-b.
func (c condition) hasWord(i int, word string) bool {
	const around = " \t\r\n()}\x00"
	end := i + len(word)
	return strings.HasPrefix(c.visible[i:], word) && (i == 0 || strings.IndexByte(around, c.visible[i-1]) >= 0) &&
		(end == len(c.visible) || strings.IndexByte(around, c.visible[end]) >= 0)
}

// operatorSymbols maps operators to the symbols that may take their place.
var operatorSymbols = map[string]string{"and": "&&", "or": "||", "not": "!"}

// operator returns the length of an operator at a position, which is a word or its symbol, or 0 if there is none.
func (c condition) operator(i int, word string) int {
	if c.hasWord(i, word) {
		return len(word)
	}
	symbol := operatorSymbols[word]
	if !strings.HasPrefix(c.visible[i:], symbol) || word == "not" && i > 0 {
		return 0
	}
	// In names such as operator&&(a, b), f(T &&) and !$omp barrier, symbols are no operators.
	before, after := c.visible[:i], c.visible[i+len(symbol):]
	r, _ := utf8.DecodeRuneInString(after)
	if strings.HasSuffix(before, "operator") || after != "" && !isWord(r) && !strings.ContainsRune(" \t\r\n({\x00!", r) {
		return 0
	}
	return len(symbol)
}

// foreignOperators maps operators of other languages to those of properties.
var foreignOperators = []struct{ symbol, operator string }{{"AND", "and"}, {"OR", "or"}, {"NOT", "not"}, {"∧", "and"},
	{"∨", "or"}, {"¬", "not"}}

// checkForeignWords returns an error if the text of an event has an operator of another language.
func (c condition) checkForeignWords() error {
	for _, x := range foreignOperators {
		i := strings.Index(c.visible, x.symbol)
		if i < 0 || x.operator == "not" && i > 0 || x.symbol[0] < utf8.RuneSelf && !c.hasWord(i, x.symbol) {
			continue
		}
		return fmt.Errorf("found %q, expected %q; a name that contains %s needs quotes: %s", x.symbol, x.operator, x.symbol,
			inQuotes(c.text))
	}
	return nil
}

// group returns the condition in the parentheses around the whole condition.
func (c condition) group() (inner condition, ok bool) {
	depth := 0
	for i := range len(c.visible) {
		depth += nesting(c.visible[i])
		if depth == 0 && i < len(c.visible)-1 {
			return c, false
		}
	}
	if depth != 0 || !strings.HasPrefix(c.visible, "(") {
		return c, false
	}
	inner = c.part(1, len(c.text)-1)
	inner.groups++
	return inner, true
}

// hasOperator reports whether a condition has the operators not, and or or, even in parentheses.
func (c condition) hasOperator() bool {
	for i := range len(c.visible) {
		if slices.ContainsFunc([]string{"not", "and", "or"}, func(w string) bool { return c.operator(i, w) > 0 }) {
			return true
		}
	}
	return false
}

// checkParentheses returns an error if a condition with operators has an unbalanced parenthesis.
func (c condition) checkParentheses() error {
	found, depth := "", 0
	for i := range len(c.visible) {
		depth += nesting(c.visible[i])
		if depth < 0 {
			found, depth = `")" without "("`, 0
		}
	}
	if depth > 0 {
		found = `"(" without ")"`
	}
	if found == "" || !c.hasOperator() {
		return nil
	}
	return fmt.Errorf("found %s in %q, expected both; a name with such a parenthesis needs quotes", found, c.text)
}

// conditionText returns the formula of events and comparisons of signals, joined by not, and, or and parentheses.
func conditionText(s string) (string, error) { return formulaText(s, operandText) }

// eventsText returns the formula of events, joined by not, and, or and parentheses.
func eventsText(s string) (string, error) { return formulaText(s, propositionText) }

func formulaText(s string, operand func(string) (string, error)) (string, error) {
	c := newCondition(s)
	if err := c.checkParentheses(); err != nil {
		return "", err
	}
	return c.formula(operand)
}

// eventText returns the proposition of a single event.
func eventText(s string) (string, error) {
	f, err := eventsText(s)
	if err == nil && (f[0] == '(' || strings.HasPrefix(f, "not ")) {
		return "", fmt.Errorf("found %q, expected a single event; a name with the words and, or, not needs quotes: %s",
			strings.TrimSpace(s), inQuotes(s))
	}
	return f, err
}
