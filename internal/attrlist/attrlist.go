// Package attrlist reads and writes lists of the form
//
//	key = value, key = value
//
// as TRACE files contain them. A backslash precedes a comma or an equals sign in a key or value.
// Blanks around keys and values are ignored.
package attrlist

import (
	"bytes"
	"slices"
	"unsafe"
)

// Problem is a defect of a pair in a list.
type Problem uint8

// These are the problems that an attribute list may have.
const (
	NoProblem Problem = iota
	NoEquals          // a pair without "=", which is read as a key with an empty value
	EmptyKey
	SecondEquals  // a "=" in the value without a backslash
	LostBackslash // a backslash before a character that needs no backslash; it is dropped
	LastComma     // a "," with no pair after it
)

// Next returns the first pair of the list and the rest of the list. more is false at the end of the list. If
// the pair has a problem, text is the offending text. key and value share the memory of list, unless they
// contain escapes; in that case they are copies.
func Next(list []byte) (key, value string, rest []byte, problem Problem, more bool) {
	for len(list) > 0 && (list[0] == ' ' || list[0] == '\t' || list[0] == '\r') {
		list = list[1:]
	}
	if len(list) == 0 {
		return "", "", nil, NoProblem, false
	}
	eq, escaped := -1, false
	minor := NoProblem // the problem to report unless the pair has a more severe problem
	i := 0
scan:
	for ; i < len(list); i++ {
		switch list[i] {
		case '\\':
			escaped = true
			if i++; i >= len(list) || !escapes[list[i]] {
				minor = LostBackslash
			}
		case '=':
			if eq < 0 {
				eq = i
			} else if minor == NoProblem {
				minor = SecondEquals
			}
		case ',':
			break scan
		}
	}
	i = min(i, len(list))
	pair := list[:i]
	if i < len(list) {
		rest = list[i+1:]
	}
	k, v := pair, []byte(nil)
	if eq >= 0 && eq < i {
		k, v = pair[:eq], pair[eq+1:]
	} else {
		problem = NoEquals
	}
	k, v = trim(k), trim(v)
	if escaped {
		if minor == NoProblem && (lostBlank(k) || lostBlank(v)) {
			minor = LostBackslash
		}
		k, v = unescape(k), unescape(v)
	}
	if len(k) == 0 && problem == NoProblem {
		problem = EmptyKey
	}
	if problem == NoProblem {
		problem = minor
	}
	if problem == NoProblem && i < len(list) && len(trim(rest)) == 0 {
		problem = LastComma
	}
	return str(k), str(v), rest, problem, true
}

// escapes marks the characters before which a backslash may stand.
var escapes = [256]bool{',': true, '=': true, '\\': true, ' ': true, '\t': true}

func str(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

func trim(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	for n := len(b); n > 0 && (b[n-1] == ' ' || b[n-1] == '\t' || b[n-1] == '\r'); n = len(b) {
		// A blank at the end with a backslash before it belongs to the value.
		if n > 1 && b[n-2] == '\\' && endsEscaped(b[:n-1]) {
			break
		}
		b = b[:n-1]
	}
	return b
}

// lostBlank reports whether b contains a backslash before a blank that is not at either end. Such a
// blank needs no backslash.
func lostBlank(b []byte) bool {
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' {
			continue
		}
		if i++; i > 1 && i < len(b)-1 && (b[i] == ' ' || b[i] == '\t') {
			return true
		}
	}
	return false
}

// endsEscaped reports whether b ends in an odd number of backslashes.
func endsEscaped(b []byte) bool {
	n := 0
	for len(b) > 0 && b[len(b)-1] == '\\' {
		b = b[:len(b)-1]
		n++
	}
	return n%2 == 1
}

func unescape(b []byte) []byte {
	if bytes.IndexByte(b, '\\') < 0 {
		return b
	}
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		if b[i] == '\\' && i+1 < len(b) {
			i++
		}
		out = append(out, b[i])
	}
	return out
}

// Append appends key=value to b, with the needed escapes. Line ends cannot be represented: they
// become blanks, and replaced is set.
func Append(b []byte, key, value string) (out []byte, replaced bool) {
	b, r1 := AppendText(b, key)
	b = append(b, '=')
	b, r2 := AppendText(b, value)
	return b, r1 || r2
}

// special marks the bytes that may need an escape or a replacement.
var special = [256]bool{'\n': true, '\r': true, ',': true, '=': true, '\\': true, ' ': true, '\t': true}

// AppendText appends a single key or value to b. It handles escapes and line ends like [Append].
func AppendText(b []byte, s string) (out []byte, replaced bool) {
	n := len(b)
	if cap(b)-n < len(s) {
		b = slices.Grow(b, len(s))
	}
	to := b[n : n+len(s)]
	i := 0
	for i < len(to) && !special[s[i]] {
		to[i] = s[i]
		i++
	}
	if i == len(s) {
		return b[:n+i], false
	}
	for i := range len(s) {
		c := s[i]
		switch c {
		case '\n', '\r':
			c, replaced = ' ', true
		case ',', '=', '\\':
			b = append(b, '\\')
		case ' ', '\t':
			if i == 0 || i == len(s)-1 {
				b = append(b, '\\')
			}
		}
		b = append(b, c)
	}
	return b, replaced
}
