package cli

import (
	"cmp"
	"encoding/csv"
	"errors"
	"path"
	"regexp"
	"slices"
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

// nameList is the value of a flag that takes patterns with commas between them, and may be given several times.
type nameList []string

// Set appends patterns.
func (l *nameList) Set(s string) error {
	list := splitNames(s)
	if strings.Contains(s, `"`) {
		var err error
		if list, err = csv.NewReader(strings.NewReader(s)).Read(); err != nil {
			return err
		}
	}
	if slices.Contains(list, "") {
		return errors.New("found an empty name, expected names, ids or patterns with commas between them")
	}
	*l = append(*l, list...)
	return nil
}

// String is empty where there is none, for helps.
func (l *nameList) String() string { return strings.Join(*l, ",") }

// Type is the word for such values in helps.
func (l *nameList) Type() string { return "strings" }

// splitNames splits at commas, but not at those within brackets, as names of functions have them. If brackets are not
// in pairs, all commas count.
func splitNames(s string) (list []string) {
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
	// shown are the names that weft prints where others have the same name; nil for none. The function that it
	// gives may be used while definitions are added.
	shown func(d *trace.Definitions) func(i uint32) []string
}

var (
	aLocation = nameable{"location", func(d *trace.Definitions) int { return d.Locations.Len() },
		func(d *trace.Definitions, i uint32) (string, string) { x := d.Locations.At(i); return x.ID, x.Name },
		func(d *trace.Definitions) func(uint32) []string {
			name, _ := locationNames(d)
			return func(i uint32) []string { return []string{name(i)} }
		}}
	aRegion = nameable{"region", func(d *trace.Definitions) int { return d.Regions.Len() },
		func(d *trace.Definitions, i uint32) (string, string) { x := d.Regions.At(i); return x.ID, x.Name },
		func(d *trace.Definitions) func(uint32) []string {
			return func(i uint32) []string { return shownRegion(d.Regions.At(i)) }
		}}
	aGroup = nameable{"group", func(d *trace.Definitions) int { return d.Groups.Len() },
		func(d *trace.Definitions, i uint32) (string, string) { x := d.Groups.At(i); return x.ID, x.Name }, nil}
	aCommunicator = nameable{"communicator", func(d *trace.Definitions) int { return d.Communicator.Len() },
		func(d *trace.Definitions, i uint32) (string, string) { x := d.Communicator.At(i); return x.ID, x.Name },
		func(d *trace.Definitions) func(uint32) []string {
			return func(i uint32) []string { x := d.Communicator.At(i); return []string{x.Name + " (" + x.ID + ")"} }
		}}
)

// shownRegion are the names that weft prints for a region where others have the same name: with its place, or its id.
func shownRegion(r *trace.Region) []string {
	if r.Name == "" {
		return nil
	}
	return []string{r.Name + " (" + r.Place() + ")", r.Name + " (" + r.ID + ")"}
}

// choose is whether the name or the id of an entry is among patterns; nil if there are none.
func choose(d *trace.Definitions, what nameable, list []string) (func(uint32) bool, error) {
	p, err := newPatterns(list)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	if what.shown == nil || !slices.ContainsFunc(list, looksShown) {
		return func(i uint32) bool { return p.match(what.names(d, i)) }, nil
	}
	shown := what.shown(d)
	return func(i uint32) bool { return p.match(what.names(d, i)) || p.match(shown(i)...) }, nil
}

// looksShown reports whether a pattern may mean a name as weft prints it where others have the same.
func looksShown(pattern string) bool { return strings.ContainsAny(pattern, "(·") }

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
	return n.nearest(d, pattern), true
}

// nearest names what is nearest to a name that the trace does not have.
func (n nameable) nearest(d *trace.Definitions, name string) string {
	shown := func(uint32) []string { return nil }
	if n.shown != nil && looksShown(name) {
		shown = n.shown(d)
	}
	return didYouMean(name, func(yield func(string) bool) {
		for i := range n.len(d) {
			id, own := n.names(d, uint32(i))
			for _, s := range append(shown(uint32(i)), cmp.Or(own, id)) {
				if !yield(s) {
					return
				}
			}
		}
	}, "weft info --top 0 lists them")
}
