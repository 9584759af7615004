package cli

import (
	"cmp"
	"path"
	"regexp"
	"strings"

	"github.com/weft-trace/weft/trace"
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

// nameable is a sort of definitions whose entries flags name.
type nameable struct {
	word string
	len  func(d *trace.Definitions) int
	// names are the id and the name of an entry.
	names func(d *trace.Definitions, i uint32) (string, string)
}

var (
	aLocation = nameable{"location", func(d *trace.Definitions) int { return d.Locations.Len() },
		func(d *trace.Definitions, i uint32) (string, string) { x := d.Locations.At(i); return x.ID, x.Name }}
	aRegion = nameable{"region", func(d *trace.Definitions) int { return d.Regions.Len() },
		func(d *trace.Definitions, i uint32) (string, string) { x := d.Regions.At(i); return x.ID, x.Name }}
	aGroup = nameable{"group", func(d *trace.Definitions) int { return d.Groups.Len() },
		func(d *trace.Definitions, i uint32) (string, string) { x := d.Groups.At(i); return x.ID, x.Name }}
	aCommunicator = nameable{"communicator", func(d *trace.Definitions) int { return d.Communicator.Len() },
		func(d *trace.Definitions, i uint32) (string, string) { x := d.Communicator.At(i); return x.ID, x.Name }}
)

// choose is whether the name or the id of an entry is among patterns; nil if there are none.
func choose(d *trace.Definitions, what nameable, list []string) (func(uint32) bool, error) {
	p, err := newPatterns(list)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return func(i uint32) bool { return p.match(what.names(d, i)) }, nil
}

// named is what a flag names.
type named struct {
	flag     string
	what     nameable
	patterns []string
}

// tellMissing says which patterns match nothing in a trace, or another thing that has such definitions. They may be
// among the events, so those are to have been read.
func (a *app) tellMissing(where string, d *trace.Definitions, list []named) {
	for _, n := range list {
		for _, s := range n.patterns {
			if near, missing := n.what.missing(d, s); missing {
				printf(a.err, "%s %s: %s has no such %s; %s\n", n.flag, s, where, n.what.word, near)
			}
		}
	}
}

// missing reports whether a pattern matches nothing, and names what is nearest to it.
func (n nameable) missing(d *trace.Definitions, pattern string) (near string, missing bool) {
	matches, err := choose(d, n, []string{pattern})
	if err != nil {
		return "", false
	}
	for i := range n.len(d) {
		if matches(uint32(i)) {
			return "", false
		}
	}
	return didYouMean(pattern, func(yield func(string) bool) {
		for i := range n.len(d) {
			id, name := n.names(d, uint32(i))
			if !yield(cmp.Or(name, id)) {
				return
			}
		}
	}, "weft info --top 0 lists them"), true
}
