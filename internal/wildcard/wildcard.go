// Package wildcard matches names with patterns in which * stands for any text and ? for any character.
package wildcard

import (
	"fmt"
	"path"
	"strings"
)

// slash replaces slashes: [path.Match] treats slashes specially, but in names they are ordinary characters.
const slash = "\x01"

// Check returns an error if a pattern is malformed, such as one with an open bracket.
func Check(pattern string) error {
	_, err := path.Match(pattern, "")
	return err
}

// MatchAny reports whether a name equals or matches one of some patterns.
func MatchAny(patterns []string, name string) bool {
	flat := strings.ReplaceAll(name, "/", slash)
	for _, p := range patterns {
		if p == name {
			return true
		}
		if ok, _ := path.Match(strings.ReplaceAll(p, "/", slash), flat); ok {
			return true
		}
	}
	return false
}

// Split splits a list of patterns at commas, except at commas within brackets, which occur in names of
// functions. If brackets are unbalanced, it splits at all commas.
func Split(s string) (list []string) {
	var open []rune
	from := 0
	for i, c := range s {
		switch {
		case strings.ContainsRune("([{<", c):
			open = append(open, c)
		case strings.ContainsRune(")]}>", c):
			last := len(open) - 1
			if last < 0 || strings.IndexRune("([{<", open[last]) != strings.IndexRune(")]}>", c) {
				return strings.Split(s, ",")
			}
			open = open[:last]
		case c == ',' && len(open) == 0:
			list = append(list, s[from:i])
			from = i + 1
		}
	}
	if len(open) > 0 {
		return strings.Split(s, ",")
	}
	return append(list, s[from:])
}

// SplitNames splits a list like [Split]. A pattern may be in quotes, as in comma-separated values: then commas and
// single brackets belong to it, and two quotes stand for one.
func SplitNames(s string) (list []string, err error) {
	for strings.HasPrefix(s, `"`) || strings.Contains(s, `,"`) {
		if s[0] != '"' {
			before, _, _ := strings.Cut(s, `,"`)
			list = append(list, Split(before)...)
			s = s[len(before)+1:]
		}
		name, rest, closed := strings.Cut(s[1:], `"`)
		for closed && strings.HasPrefix(rest, `"`) {
			var more string
			more, rest, closed = strings.Cut(rest[1:], `"`)
			name += `"` + more
		}
		switch list = append(list, name); {
		case !closed:
			return nil, fmt.Errorf("found no quote after %s", s)
		case rest == "":
			return list, nil
		case rest[0] != ',':
			return nil, fmt.Errorf("found %s after a quote, expected a comma", rest)
		}
		s = rest[1:]
	}
	return append(list, Split(s)...), nil
}
