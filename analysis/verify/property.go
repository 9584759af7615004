package verify

import (
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/weft-trace/weft/internal/nearest"
)

// propertyKinds lists the kinds of properties that [Property] supports.
var propertyKinds = []string{"always", "never", "response", "precedes", "period", "latency"}

// Property returns the declaration of a check, for a property in plain words:
//
//   - always: P holds at all events, or times
//   - never: P holds at none
//   - response: A -> B within 5ms. Each A is followed by a B.
//   - precedes: A -> B. No B comes before the first A.
//   - period: A every 10ms ± 1ms. Each A is followed by the next A after that time.
//   - latency: A..B p99 < 2ms. 99 % of the times from each A to the first B are below 2ms. With "by id" before the
//     percentage, the times are those from the first A to the last B with the same id.
//
// P, A and B are propositions of the language, such as start {'name' = 'solve'}, or names. A name stands for
// all events with that name. With start or end before it, it stands for the starts or ends of claims with that
// name. In always, never, response and precedes, P, A and B may also compare a signal with a number, such as queue <= 5
// or derivative(queue) <= 5. In these four and in period, the words not, and, or, and parentheses may join several
// propositions. The signs !, && and || mean the same as the words. The error states the expected text.
func Property(kind, check, property string) (declaration string, err error) {
	switch kind {
	case "always", "never":
		p, err := conditionText(property)
		if err != nil {
			return "", err
		}
		if kind == "never" {
			p = "not " + p
		}
		return fmt.Sprintf("check %s : globally %s", check, p), nil
	case "response", "precedes":
		a, b, ok := cutOutside(property, "->", strings.Index)
		if !ok {
			return "", fmt.Errorf("found %q, expected A -> B", property)
		}
		if strings.Contains(hideNames(b), "->") {
			return "", fmt.Errorf("found %q, expected A -> B with one arrow", strings.TrimSpace(property))
		}
		b, given, bound, err := cutBound(b)
		if err != nil {
			return "", err
		}
		first, err := conditionText(a)
		if err != nil {
			return "", err
		}
		second, err := conditionText(b)
		if err != nil {
			return "", err
		}
		if kind == "precedes" {
			if bound != "" {
				return "", fmt.Errorf("found %q after the event, expected only A -> B", given)
			}
			const pattern = "check %s : not until (%s and not %s) we have that not %s"
			return fmt.Sprintf(pattern, check, second, first, first), nil
		}
		return fmt.Sprintf("check %s : globally if %s then finally %s%s", check, first, bound, second), nil
	case "period":
		return periodDeclaration(check, property)
	case "latency":
		return latencyDeclaration(check, property)
	}
	return "", fmt.Errorf("found the kind %q, expected one of %s", kind, strings.Join(propertyKinds, ", "))
}

// periodDeclaration returns the declaration of a periodic event.
func periodDeclaration(check, property string) (string, error) {
	name, rest, ok := cutOutside(property, " every ", strings.Index)
	if !ok {
		return "", fmt.Errorf("found %q, expected A every 10ms ± 1ms", property)
	}
	every, within := rest, "0"
	for _, sign := range []string{"±", "+-", "+/-"} {
		if a, b, ok := strings.Cut(rest, sign); ok {
			every, within = a, b
			break
		}
	}
	p, err := eventsText(name)
	if err != nil {
		return "", err
	}
	d, err := parseDuration(every)
	if err != nil {
		return "", err
	}
	about, err := parseDuration(within)
	if err != nil {
		return "", err
	}
	if d.value.Sign() == 0 {
		return "", fmt.Errorf("found the time %s between two events, expected more than 0", d)
	}
	if about.Unit == "" && about.value.Sign() == 0 {
		about.Unit = d.Unit
	}
	if (d.Unit == "") != (about.Unit == "") {
		return "", fmt.Errorf("found %s ± %s, expected units at both times, or at none", d, about)
	}
	length, tolerance, unit := d.value, about.value, ""
	if d.Unit != "" {
		unit = " " + d.Unit
	}
	if d.Unit != about.Unit {
		length, tolerance, unit = d.inSeconds(), about.inSeconds(), " s"
	}
	low, high := new(big.Rat).Sub(length, tolerance), new(big.Rat).Add(length, tolerance)
	if low.Sign() <= 0 {
		return "", fmt.Errorf("found a tolerance of %s, expected less than %s", about, d)
	}
	text := func(r *big.Rat) string { // exact: a time has fewer than 100 decimals
		return strings.TrimRight(strings.TrimRight(r.FloatString(100), "0"), ".")
	}
	const pattern = "check %s : globally if %s then (finally within [%s, %s]%s %s and globally within (0, %s)%s not %s)"
	return fmt.Sprintf(pattern, check, p, text(low), text(high), unit, p, text(low), unit, p), nil
}

// parseDuration reads a time such as 5ms.
func parseDuration(s string) (Duration, error) {
	tokens, err := lex("", s)
	expected := "a time such as 5ms (ns, us, ms, s, min or h)"
	if err == nil {
		p := &parser{rest: tokens}
		var d Duration
		if d, err = apply(p.parseDuration); err == nil && p.rest[0].kind == endToken {
			return d, nil
		}
		var syntax *SyntaxError
		if errors.As(err, &syntax) && p.rest[0].kind == number { // the number is too large or too small
			expected = syntax.Expected
		}
	}
	unit := strings.TrimSpace(strings.TrimLeft(s, " +.0123456789"))
	if u := foreignUnits[strings.ToLower(unit)]; u != "" {
		expected += "; the unit for it is " + u
	} else {
		expected += nearest.Hint(unit, slices.Sorted(maps.Keys(units)))
	}
	return Duration{}, fmt.Errorf("found %q, expected %s", strings.TrimSpace(s), expected)
}

// cutBound splits a text into an event and the bound after it. given is the bound as written in the text.
// bound is the same bound in the syntax of the language, followed by a space. Both are "" if there is no
// bound.
func cutBound(s string) (event, given, bound string, err error) {
	visible := hideNames(s) + " "
	for _, w := range []string{"within", "by", "after"} {
		i := strings.LastIndex(visible, " "+w+" ")
		if i < 0 {
			continue
		}
		event, given = s[:i], strings.TrimSpace(s[i:])
		t := strings.TrimSpace(strings.TrimPrefix(given, w))
		if t == "" {
			expected := "a time such as 5ms"
			if w == "within" {
				expected += ", or an interval such as [1ms, 5ms]"
			}
			return "", "", "", fmt.Errorf("found nothing after %q, expected %s", w, expected)
		}
		if w == "within" && (t[0] == '[' || t[0] == '(') {
			return event, given, given + " ", nil
		}
		if _, err := parseDuration(t); err != nil {
			return "", "", "", fmt.Errorf("after %q: %w", w, err)
		}
		if w == "within" {
			w = "by"
		}
		return event, given, w + " " + t + " ", nil
	}
	return s, "", "", checkLastWord(s, []string{"within", "by", "after"}, isTime)
}

// checkLastWord returns an error if an event, which is not in quotes, ends with a misspelled word of a list and a text
// for which fits returns true: the event B withn 5ms would have a name that users hardly mean.
func checkLastWord(s string, words []string, fits func(string) bool) error {
	visible := hideNames(s)
	for i := range visible {
		if visible[i] == ' ' || i > 0 && visible[i-1] != ' ' {
			continue // no word begins here
		}
		w, _, _ := strings.Cut(visible[i:], " ")
		rest := strings.TrimSpace(s[i+len(w):])
		meant := ""
		if at := slices.IndexFunc(words, func(x string) bool {
			return nearest.Hint(w, []string{x}) != "" || slices.Contains(mistakenWords[x], w)
		}); at >= 0 {
			meant = words[at]
		}
		if meant != "" && rest != "" && fits(rest) {
			return fmt.Errorf("found %q, expected \"%s %s\"; a name that ends like this needs quotes: %s", w+" "+rest, meant,
				rest, inQuotes(s))
		}
	}
	return nil
}

// inQuotes returns a name in quotes, as a hint in one line.
func inQuotes(name string) string {
	return strings.ReplaceAll(quote(strings.TrimSpace(name)), "\n", "\\n")
}

// mistakenWords lists other words that users write in place of a word.
var mistakenWords = map[string][]string{"within": {"in", "before", "under", "inside", "during", "<", "<="}}

// isTime reports whether a text is a time with a unit, or an interval.
func isTime(s string) bool {
	d, err := parseDuration(s)
	return err == nil && d.Unit != "" || s[0] == '[' && strings.ContainsRune("])", rune(s[len(s)-1]))
}

// operandText returns a proposition, or the comparison of a signal.
func operandText(s string) (string, error) {
	if w, rest, _ := strings.Cut(strings.TrimSpace(s), " "); slices.Contains(derivedSignals, w) {
		if rest = strings.TrimSpace(rest); rest != "" && strings.ContainsRune("{'", rune(rest[0])) {
			return "", fmt.Errorf("found %q, expected a proposition or a signal of the trace; a specification can define "+
				"derived signals, as in signal s : usage {'name' = 'CPU'}", strings.TrimSpace(s))
		}
	}
	visible := strings.ReplaceAll(hideNames(s), "!=", "==") // a "!" without "=" belongs to a name
	i := strings.IndexAny(visible, "<>=}")
	if j := strings.IndexAny(visible, "≤≥≠"); i < 0 && j >= 0 {
		r, n := utf8.DecodeRuneInString(s[j:])
		if limit := strings.TrimSpace(s[j+n:]); limit != "" && strings.ContainsRune("+-.0123456789", rune(limit[0])) {
			return "", fmt.Errorf("found \"%c\", expected %s; a name that contains %c needs quotes: %s", r, foreignSymbols[r],
				r, inQuotes(s))
		}
	}
	if i < 0 || s[i] == '}' {
		return propositionText(s)
	}
	if strings.TrimSpace(s[:i]) == "" {
		return "", fmt.Errorf("found %q, expected the name of a signal before the comparison", s)
	}
	signal, err := signalText(s[:i])
	if err != nil {
		return "", err
	}
	rest := strings.TrimSpace(s[i:])
	if limit := strings.TrimLeft(rest, "<>=! "); limit != "" && !strings.ContainsRune("+-.0123456789", rune(limit[0])) {
		return "", fmt.Errorf("found %q, expected a number; a name that contains %c needs quotes: %s",
			limit, rest[0], inQuotes(s))
	}
	if len(rest) > 1 && rest[0] == '=' && !strings.ContainsRune("=<>", rune(rest[1])) {
		rest = "=" + rest
	}
	return signal + " " + rest, nil
}

// derivedSignals lists the words with which the definitions of derived signals begin.
var derivedSignals = []string{"usage", "throughput", "wip", "latency"}

// signalText returns the signal of a comparison: a name in quotes, or an expression, with quotes around its names. A
// text is an expression if it has the syntax of one, and has functions, names in quotes, or operators between blanks.
func signalText(s string) (string, error) {
	s = strings.TrimSpace(s)
	if n, name, ok := quoted(s); ok && s[0] == '\'' && n == len(s) {
		return quote(name), nil
	}
	visible := hideNames(s)
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(x string) bool { return strings.Contains(visible, x) })
	}
	before, _, call := strings.Cut(s, "(")
	before = strings.TrimSpace(before)
	function := has("\x00") || call && (before == "abs" || before == "derivative" ||
		nearest.Hint(before, []string{"derivative"}) != "")
	if !function && !has("derivative(", "abs(", " + ", " - ", " * ") {
		return quote(unquote(s)), nil
	}
	tokens, err := lex("", s)
	if err == nil {
		p := &parser{rest: tokens}
		if _, err = apply(p.parseSum); err == nil && p.rest[0].kind != endToken {
			err = p.fail(p.rest[0], "an operator, or a comparison with a number")
		}
	}
	var syntax *SyntaxError
	switch {
	case errors.As(err, &syntax) && function:
		return "", fmt.Errorf("in %q: found %s, expected %s%s; a name that contains blanks or symbols needs quotes",
			s, syntax.Found, syntax.Expected, nearest.Hint(syntax.Word, syntax.Words))
	case err != nil:
		return quote(unquote(s)), nil
	}
	var b strings.Builder
	from := 0
	for i, t := range tokens {
		if t.kind == word && !tokens[i+1].is("(") {
			begin := len(s) - t.left
			b.WriteString(s[from:begin] + quote(t.text))
			from = begin + len(t.text)
		}
	}
	return b.String() + s[from:], nil
}

// propositionText returns the proposition for an event. The text of the event is either a proposition of
// the language, or a name that "start" or "end" may precede.
func propositionText(s string) (string, error) {
	s = strings.TrimSpace(s)
	prefix := ""
	for _, w := range []string{"start", "end"} {
		rest, ok := strings.CutPrefix(s, w)
		if event := strings.TrimSpace(rest); ok && (event != rest || strings.HasPrefix(event, "{")) {
			prefix, s = w+" ", event
			break
		}
	}
	if s == "" {
		return "", fmt.Errorf("found no event, expected a name or {'name' = 'solve'}")
	}
	if c := newCondition(s); prefix != "" {
		if _, ok := c.group(); ok || c.operator(0, "not") > 0 {
			return "", fmt.Errorf("found %q after %q, expected a name or {'name' = 'solve'}; not and parentheses are before %s",
				s, strings.TrimSpace(prefix), prefix+"A")
		}
	}
	if strings.HasPrefix(s, "{") {
		return prefix + s, nil
	}
	return prefix + "{'name' = " + quote(unquote(s)) + "}", nil
}

// unquote returns a name without the quotes and escapes that it may have.
func unquote(s string) string {
	s = strings.TrimSpace(s)
	if len(s) < 2 || s[0] != '\'' || s[len(s)-1] != '\'' {
		return s
	}
	if n, name, ok := quoted(s); ok && n == len(s) {
		return name
	}
	return s[1 : len(s)-1]
}

// hideNames returns the text with zero bytes in place of texts in quotes or braces. The last brace stays.
// An apostrophe within or after a word is no quote.
func hideNames(s string) string {
	visible := []byte(s)
	depth := 0
	for i := 0; i < len(s); i++ {
		n := 0
		switch s[i] {
		case '\'':
			if before, _ := utf8.DecodeLastRuneInString(s[:i]); !isWord(before) {
				n, _, _ = quoted(s[i:])
			}
		case '{':
			depth++
		case '}':
			depth--
		}
		n = max(n, 1)
		if n > 1 || depth > 0 {
			clear(visible[i : i+n])
		}
		i += n - 1
	}
	return string(visible)
}

// cutOutside splits a text at a separator that is not within quotes or braces. index finds the first or
// the last such separator.
func cutOutside(s, separator string, index func(s, separator string) int) (before, after string, ok bool) {
	i := index(hideNames(s), separator)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(separator):], true
}

// ParseProposition reads the text of an event as in [Property]: a proposition of the language, or a
// name.
func ParseProposition(s string) (*Proposition, error) {
	text, err := eventText(s)
	if err != nil {
		return nil, err
	}
	spec, err := Parse("", []byte("check c : "+text))
	var syntax *SyntaxError
	switch {
	case errors.As(err, &syntax):
		return nil, fmt.Errorf("found %s, expected %s", syntax.Found, syntax.Expected)
	case err != nil:
		return nil, err
	case len(spec.Checks) != 1 || spec.Checks[0].Formula.Op != Prop:
		return nil, fmt.Errorf("found %q, expected a name or {'name' = 'solve'}", s)
	}
	return spec.Checks[0].Formula.Prop, nil
}
