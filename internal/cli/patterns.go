package cli

import (
	"path"
	"regexp"
	"strings"
)

// patterns are names as users write them: as they are, with * and ? for anything, or,
// behind "re:", as a regular expression.
type patterns struct {
	globs   []string
	regexps []*regexp.Regexp
}

const regexpPrefix = "re:"

// newPatterns checks patterns.
func newPatterns(list []string) (*patterns, error) {
	p := &patterns{}
	for _, s := range list {
		if x, ok := strings.CutPrefix(s, regexpPrefix); ok {
			r, err := regexp.Compile(x)
			if err != nil {
				return nil, usageError("pattern %q: %w", s, err)
			}
			p.regexps = append(p.regexps, r)
			continue
		}
		if _, err := path.Match(s, ""); err != nil {
			return nil, usageError("pattern %q: %w", s, err)
		}
		p.globs = append(p.globs, s)
	}
	return p, nil
}

// match reports whether any of some names, of which empty ones do not count, is meant.
func (p *patterns) match(names ...string) bool {
	for _, s := range names {
		if s == "" {
			continue
		}
		if matches(p.globs, s) {
			return true
		}
		for _, r := range p.regexps {
			if r.MatchString(s) {
				return true
			}
		}
	}
	return false
}

func matches(patterns []string, s string) bool {
	// In names a slash is a character like any other.
	flat := strings.ReplaceAll(s, "/", "\x01")
	for _, p := range patterns {
		if p == s {
			return true
		}
		if ok, _ := path.Match(strings.ReplaceAll(p, "/", "\x01"), flat); ok {
			return true
		}
	}
	return false
}
