// Package wildcard matches names with patterns in which * stands for any text and ? for any character.
package wildcard

import (
	"path"
	"strings"
)

// slash takes the place of slashes: [path.Match] treats them specially, and in names they are ordinary characters.
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
