package verify

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// foreignSymbols maps symbols of other languages to the equivalent text in this language.
var foreignSymbols = map[rune]string{'&': `"and", with parentheses around both formulas`,
	'|': `"or", with parentheses around both formulas`, '!': `"not"`, '~': `"not"`, '¬': `"not"`,
	';': `the next definition, or "," between attributes or times; none has a symbol at its end`,
	'#': "// before a comment", '/': "// before a comment, or * for a part, as in 0.5 * s",
	'→': "if A then B for an implication", '≤': "<=", '≥': ">=", '≠': "!=", '−': "-", '…': "..",
	'‘': "' around strings", '’': "' around strings", '“': "' around strings", '”': "' around strings"}

// foreignWords maps words of other languages to the equivalent words of this language.
var foreignWords = map[string]string{"always": "globally", "G": "globally", "eventually": "finally",
	"sometime": "finally", "F": "finally", "never": "globally not", "X": "next", "U": "until",
	"exists": "not forall (…) not", "begin": "start"}

// foreignComparisons maps comparison operators of other languages to those of this language.
var foreignComparisons = map[string]string{"=": "==", "===": "==", "<>": "!=", "!==": "!=", "=>": ">=", "=<": "<="}

// foreignUnits maps other names of units of time to the units.
var foreignUnits = map[string]string{"nsec": "ns", "nanosecond": "ns", "nanoseconds": "ns", "usec": "us",
	"microsecond": "us", "microseconds": "us", "µs": "us", "μs": "us", "msec": "ms", "millisecond": "ms",
	"milliseconds": "ms", "sec": "s", "secs": "s", "second": "s", "seconds": "s", "mins": "min", "minute": "min",
	"minutes": "min", "hr": "h", "hrs": "h", "hour": "h", "hours": "h"}

// unitNames describes the units.
const unitNames = "a unit of time (ns, us, ms, s, min or h)"

// failUnit returns an error about a word in the place of a unit. expected describes what may be in this place besides
// units, and words lists the words that may be there.
func (p *parser) failUnit(t token, expected string, words ...string) *SyntaxError {
	expected = unitNames + ", " + expected
	if u := foreignUnits[strings.ToLower(t.text)]; u != "" {
		return p.fail(t, expected+"; the unit for it is "+u)
	}
	return p.fail(t, expected, append(slices.Sorted(maps.Keys(units)), words...)...)
}

// adjacentComparison returns the characters =, <, > and ! from the token i of the rest on that are not separated by
// blanks, and the number of their tokens.
func (p *parser) adjacentComparison(i int) (text string, n int) {
	for ; i < len(p.rest) && n < lookahead; i, n = i+1, n+1 {
		t := p.rest[i]
		if t.kind != symbol || strings.Trim(t.text, "<>=!") != "" ||
			n > 0 && (t.line != p.rest[i-1].line || t.column != p.rest[i-1].column+len(p.rest[i-1].text)) {
			break
		}
		text += t.text
	}
	return text, n
}

// failComparison returns the error that the token i of the rest begins no comparison operator.
func (p *parser) failComparison(i int) *SyntaxError {
	const operators = "one of >= > <= < == !="
	s, n := p.adjacentComparison(i)
	t := p.rest[i]
	if n == 0 {
		return p.fail(t, operators)
	}
	after := p.rest[min(i+n, len(p.rest)-1)]
	switch t.text = s; {
	case strings.HasSuffix(s, ">") && strings.Contains(s, "=") && after.kind != number && after.kind != symbol:
		return p.fail(t, operators+"; if A then B is the implication, and (A iff B) the equivalence")
	case foreignComparisons[s] != "":
		return p.fail(t, operators+"; did you mean "+foreignComparisons[s]+"?")
	}
	return p.fail(t, operators)
}

// failDeclaration returns an error about the current token, with which no declaration can begin.
func (p *parser) failDeclaration() *SyntaxError {
	t := p.rest[0]
	expected, words := "def, signal or check", slices.Clone(declarations)
	switch {
	case !p.declared:
	case t.kind == word && slices.Contains(operators, t.text):
		expected = fmt.Sprintf("the next definition; parentheses are around formulas that are joined: (A %s B)", t.text)
		words = nil
	case t.is("until"):
		expected, words = "the next definition; until B we have that A means that A holds until B", nil
	case t.kind == symbol && slices.Contains(arithmetic, t.text) && !p.rest[1].is(">"):
		expected = "the next definition; sums and products are before the comparison"
	case p.isArrow():
		expected = "the next definition; if A then B is the implication"
	}
	return p.fail(t, expected, words...)
}

// isArrow reports whether the current tokens are an arrow of another language.
func (p *parser) isArrow() bool { return p.currentIs("-") && p.rest[1].is(">") }
