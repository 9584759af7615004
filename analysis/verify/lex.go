package verify

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// SyntaxError reports a syntax error in a specification.
type SyntaxError struct {
	File            string
	Line, Column    int // counted from 1; columns count characters
	Found, Expected string
	// Word is the word that was found. It may be empty. Words lists the words that would be valid in its
	// place. A hint names the valid word that is nearest to Word.
	Word  string
	Words []string
}

// Error returns a message in one line: the position, what was found and what was expected.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s:%d:%d: found %s, expected %s", e.File, e.Line, e.Column, e.Found, e.Expected)
}

// tokenKind is the kind of a token.
type tokenKind uint8

const (
	endToken tokenKind = iota
	word               // a name or keyword
	text               // a quoted string, without the quotes
	number             // without a sign
	symbol
)

// token is a token of a specification.
type token struct {
	kind         tokenKind
	expression   bool // the token is the parenthesis at the begin of a signal expression
	text         string
	line, column int
	left         int // length of the text from the token on
}

// description formats the token for messages.
func (t token) description() string {
	switch t.kind {
	case endToken:
		return "the end of the file"
	case text:
		return quote(shorten(t.text))
	}
	return fmt.Sprintf("%q", shorten(t.text))
}

// shorten cuts off a text after 40 characters.
func shorten(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:40]) + "…"
	}
	return s
}

// symbols lists the symbols of the language. A symbol comes before the symbols that are prefixes of it.
var symbols = [...]string{"...", "..", ">=", "<=", "==", "!=", ">", "<", "{", "}", "[", "]", "(", ")", ",", ":", "=",
	"+", "-", "*"}

// lexer splits a specification into tokens.
type lexer struct {
	file, rest   string
	line, column int
}

func newLexer(file, s string) *lexer {
	return &lexer{file: file, rest: strings.TrimPrefix(s, "\ufeff"), line: 1, column: 1}
}

// lex returns all tokens of a text. The last one is an endToken.
func lex(file, s string) ([]token, error) {
	var list []token
	for l := newLexer(file, s); ; {
		t, err := l.next()
		if err != nil {
			return nil, err
		}
		if list = append(list, t); t.kind == endToken {
			return list, nil
		}
	}
}

// take removes n bytes from the rest of the text, and counts lines and columns.
func (l *lexer) take(n int) string {
	part := l.rest[:n]
	for _, r := range part {
		l.column++
		if r == '\n' {
			l.line, l.column = l.line+1, 1
		}
	}
	l.rest = l.rest[n:]
	return part
}

// fail returns an error about the begin of the rest.
func (l *lexer) fail(found, expected string) error {
	return &SyntaxError{File: l.file, Line: l.line, Column: l.column, Found: found, Expected: expected}
}

// skip removes white space and comments.
func (l *lexer) skip() error {
	for {
		n := strings.IndexFunc(l.rest, func(r rune) bool { return !unicode.IsSpace(r) })
		if n < 0 {
			n = len(l.rest)
		}
		l.take(n)
		switch {
		case strings.HasPrefix(l.rest, "//"):
			if n = strings.IndexByte(l.rest, '\n'); n < 0 {
				n = len(l.rest)
			}
			l.take(n)
		case strings.HasPrefix(l.rest, "/*"):
			if n = strings.Index(l.rest[2:], "*/"); n < 0 {
				return l.fail("a comment without end", "*/ after it")
			}
			l.take(n + 4)
		default:
			return nil
		}
	}
}

// next returns the next token. At the end of the text it is an endToken.
func (l *lexer) next() (token, error) {
	if err := l.skip(); err != nil {
		return token{}, err
	}
	t := token{line: l.line, column: l.column, left: len(l.rest)}
	if l.rest == "" {
		return t, nil
	}
	s := l.rest
	r, _ := utf8.DecodeRuneInString(s)
	switch {
	case r == '_' || unicode.IsLetter(r):
		t.kind = word
		n := strings.IndexFunc(s, func(r rune) bool { return !isWord(r) })
		if n < 0 {
			n = len(s)
		}
		t.text = l.take(n)
	case r >= '0' && r <= '9', r == '.' && len(s) > 1 && s[1] >= '0' && s[1] <= '9':
		t.kind, t.text = number, l.take(numberLength(s))
	case r == '\'' || r == '"':
		n, value, ok := quoted(s)
		if !ok {
			return t, l.fail("a string without end", string(r)+" after it on the same line")
		}
		l.take(n)
		t.kind, t.text = text, value
	default:
		t.kind = symbol
		for _, x := range symbols {
			if strings.HasPrefix(s, x) {
				t.text = l.take(len(x))
				return t, nil
			}
		}
		expected := foreignSymbols[r]
		if expected == "" {
			expected = "a name, a number, a string in quotes or a symbol of the language"
		}
		return t, l.fail(fmt.Sprintf("%q", r), expected)
	}
	return t, nil
}

// isWord reports whether a character may be part of a name.
func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// numberLength returns the length of the decimal number at the start of s. Two points end the number,
// as in 0..9.
func numberLength(s string) int {
	digits := func(i int) int {
		for i < len(s) && s[i] >= '0' && s[i] <= '9' {
			i++
		}
		return i
	}
	n := digits(0)
	if n < len(s) && s[n] == '.' && !strings.HasPrefix(s[n:], "..") {
		n = digits(n + 1)
	}
	if n < len(s) && (s[n] == 'e' || s[n] == 'E') {
		i := n + 1
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		if end := digits(i); end > i {
			n = end
		}
	}
	return n
}

// quoted returns the length and the value of the quoted string at the start of s. The value shares the memory of s,
// unless it has escapes.
func quoted(s string) (n int, value string, ok bool) {
	var b strings.Builder
	from := 1 // begin of the characters that are not in b
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == s[0] && from == 1:
			return i + 1, s[1:i], true
		case s[i] == s[0]:
			return i + 1, b.String() + s[from:i], true
		case s[i] == '\n':
			return 0, "", false
		case s[i] == '\\' && i+1 < len(s) && (s[i+1] == '\\' || s[i+1] == s[0]):
			b.WriteString(s[from:i])
			i++
			from = i
		}
	}
	return 0, "", false
}
