// Package wildcard matches names with patterns in which * stands for any text and ? for any character.
package wildcard

import (
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
