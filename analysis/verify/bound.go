package verify

import (
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// units maps the units of time to their lengths in seconds.
var units = map[string]*big.Rat{"ns": big.NewRat(1, 1e9), "us": big.NewRat(1, 1e6), "ms": big.NewRat(1, 1e3),
	"s": big.NewRat(1, 1), "min": big.NewRat(60, 1), "h": big.NewRat(3600, 1)}

// parseBound reads a bound if the text has one.
func (p *parser) parseBound() *Bound {
	b := &Bound{}
	first, second := p.rest[0], p.rest[min(1, len(p.rest)-1)]
	switch {
	case p.names[first.text] && second.kind != number && !second.is("+") && !second.is("["):
		return nil // in this place, the keyword is the name of a definition
	case p.accept("by"):
		b.Low = Duration{Number: "0", value: new(big.Rat)}
		if b.High = p.parseDuration(); b.High.Unit == "" {
			p.refuseUnit()
		}
		return b
	case p.accept("after"):
		b.Infinite = true
		if b.Low = p.parseDuration(); b.Low.Unit == "" {
			p.refuseUnit()
		}
		return b
	case p.accept("within"):
		return p.parseInterval(`, or "by" in place of "within"`)
	}
	return nil
}

// parseInterval reads an interval of times. A unit after the interval applies to both ends. The parameter instead names
// the alternatives to an interval, for the error message.
func (p *parser) parseInterval(instead string) *Bound {
	b := &Bound{}
	if b.LowOpen = p.currentIs("("); !b.LowOpen && !p.currentIs("[") {
		panic(p.fail(p.rest[0], `"[" or "(" and an interval of times`+instead))
	}
	p.next()
	b.Low = p.parseDuration()
	if !p.accept(",") {
		panic(p.failAfterTime(`"," and the end of the interval`))
	}
	high := p.rest[0]
	if b.Infinite = p.accept("inf"); !b.Infinite && high.kind == word {
		panic(p.fail(high, "a time, such as 5 or 5 ms, or inf", "inf"))
	} else if !b.Infinite {
		b.High = p.parseDuration()
	}
	if b.HighOpen = p.currentIs(")"); !b.HighOpen && !p.currentIs("]") {
		panic(p.failAfterTime(`"]" or ")"`))
	}
	p.next()
	if t := p.rest[0]; p.isUnit() {
		if b.Low.Unit == "" && b.High.Unit == "" {
			p.next()
			b.Low.Unit, b.High.Unit = t.text, t.text
		}
	} else {
		p.refuseUnit()
	}
	if !b.Infinite && (b.Low.Unit == "") == (b.High.Unit == "") && b.Low.inSeconds().Cmp(b.High.inSeconds()) > 0 {
		panic(p.fail(high, "a time not before the begin of the interval"))
	}
	return b
}

// refuseUnit fails if the current token, which is no unit, does not begin a formula either.
func (p *parser) refuseUnit() {
	t := p.rest[0]
	if t.kind != word || p.names[t.text] || slices.Contains(formulaWords, t.text) ||
		p.rest[1].kind == symbol && slices.Contains(afterSignal, p.rest[1].text) {
		return
	}
	panic(p.failUnit(t, "or a formula", append(slices.Sorted(maps.Keys(p.names)), formulaWords...)...))
}

// failAfterTime returns an error about the token after a time in an interval.
func (p *parser) failAfterTime(expected string) *SyntaxError {
	if t := p.rest[0]; t.kind == word {
		return p.failUnit(t, expected)
	}
	return p.fail(p.rest[0], expected)
}

// inSeconds returns the duration in seconds. Without a unit, the result is in time units of the trace.
func (d Duration) inSeconds() *big.Rat {
	if u := units[d.Unit]; u != nil {
		return new(big.Rat).Mul(d.value, u)
	}
	return d.value
}

// parseDuration reads a time.
func (p *parser) parseDuration() Duration {
	t := p.rest[0]
	p.accept("+")
	if p.rest[0].kind != number {
		panic(p.fail(t, "a time, such as 5 or 5 ms"))
	}
	d := Duration{Number: p.rest[0].text}
	if len(d.Number) > 40 {
		panic(p.fail(t, "a time of at most 40 characters"))
	}
	if d.value = exactNumber(d.Number); d.value == nil {
		panic(p.fail(t, "a time of 1e-30 to 1e30"))
	}
	p.next()
	if p.isUnit() {
		d.Unit = p.next().text
	}
	return d
}

// exactNumber returns the exact value of a decimal number, or nil if it is neither 0 nor from 1e-30 to 1e30. Larger
// exponents would need much memory.
func exactNumber(s string) *big.Rat {
	if isZero(s) {
		return new(big.Rat)
	}
	if f, err := strconv.ParseFloat(s, 64); err != nil || f > 1e30 || f < 1e-30 {
		return nil
	}
	r, _ := new(big.Rat).SetString(s)
	return r
}

// isZero reports whether a decimal number is 0, with any exponent.
func isZero(s string) bool {
	digits, _, _ := strings.Cut(strings.ToLower(s), "e")
	return !strings.ContainsAny(digits, "123456789")
}

// parseLastUnit reads the unit, if there is one, of a number that no formula follows, so that a name of a unit is
// always a unit. expected describes what may follow the number in place of a unit, and words lists the words that may.
func (p *parser) parseLastUnit(expected string, words ...string) string {
	t := p.rest[0]
	switch {
	case t.kind != word || units[t.text] == nil && slices.Contains(afterFormula, t.text):
		return ""
	case units[t.text] == nil:
		panic(p.failUnit(t, "or "+expected, words...))
	}
	return p.next().text
}

// isUnit reports whether the current token is a unit. A definition may have the same name as a unit. The token
// is the name of a definition if the next token belongs to neither a formula nor an interval.
func (p *parser) isUnit() bool {
	u := p.rest[0]
	if u.kind != word || units[u.text] == nil {
		return false
	}
	if !p.names[u.text] {
		return true
	}
	n := p.rest[1]
	return n.kind == word && !slices.Contains(declarations, n.text) || n.kind == number || n.kind == text ||
		n.is("{") || n.is("(") || n.is(",") || n.is("]") ||
		n.is(")") && p.rest[2].kind != endToken && !slices.Contains(declarations, p.rest[2].text)
}
