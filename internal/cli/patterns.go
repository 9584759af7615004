package cli

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/weft-trace/weft/internal/nearest"
	"github.com/weft-trace/weft/internal/wildcard"
	"github.com/weft-trace/weft/trace"
)

// patterns holds names that a user gave: literal names, names with the wildcards * and ?, or regular
// expressions after "re:".
type patterns struct {
	globs   []string
	regexps []*regexp.Regexp
}

// regexpPrefix begins a regular expression.
const regexpPrefix = "re:"

// nameList is the value of a flag that takes patterns separated by commas and may be repeated.
type nameList []string

// Set appends patterns.
func (l *nameList) Set(s string) error {
	list, err := wildcard.SplitNames(s)
	if err != nil {
		return err
	}
	if slices.Contains(list, "") {
		return errors.New("found an empty name, expected names, ids or patterns with commas between them")
	}
	*l = append(*l, list...)
	return nil
}

// replacingNames is a nameList with a default, which the first use of the flag replaces.
type replacingNames struct {
	nameList
	given bool
}

// Set appends patterns, or replaces the default by them.
func (l *replacingNames) Set(s string) error {
	if !l.given {
		l.given, l.nameList = true, nil
	}
	return l.nameList.Set(s)
}

// String returns the patterns, or "" without patterns, for the help text.
func (l *nameList) String() string { return strings.Join(*l, ",") }

// Type returns the name of the type for the help text.
func (l *nameList) Type() string { return "strings" }

// newPatterns compiles patterns. It returns an error for a wrong regular expression.
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
		if err := wildcard.Check(s); err != nil {
			return nil, usageError("pattern %q: %w", s, err)
		}
		p.globs = append(p.globs, s)
	}
	return p, nil
}

// match reports whether a pattern matches any of the names. It ignores empty names.
func (p *patterns) match(names ...string) bool {
	for _, s := range names {
		if s == "" {
			continue
		}
		if wildcard.MatchAny(p.globs, s) {
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

// definitionKind describes the definitions that a flag names: locations, groups, regions, communicators or
// attributes.
type definitionKind struct {
	word string
	flag string // the flag of weft info that lists them
	len  func(d *trace.Definitions) int
	// names returns the id and the name of an entry.
	names func(d *trace.Definitions, i uint32) (string, string)
	// shownNames returns a function that returns the names under which weft prints an entry whose name is not
	// unique. It may be used while definitions are added. The field is nil for definitions whose names are
	// printed as they are.
	shownNames func(d *trace.Definitions) func(i uint32) []string
	// wild is set if wildcards and regular expressions match the shown names, too. Shown names of regions contain
	// places and ids, which such patterns should not match.
	wild bool
}

var (
	aLocation = definitionKind{"location", "--top 0", func(d *trace.Definitions) int { return d.Locations.Len() },
		func(d *trace.Definitions, i uint32) (string, string) { x := d.Locations.At(i); return x.ID, x.Name },
		func(d *trace.Definitions) func(uint32) []string {
			name, _ := locationNames(d)
			return func(i uint32) []string { return []string{name(i)} }
		}, true}
	aRegion = definitionKind{"region", "--top 0", func(d *trace.Definitions) int { return d.Regions.Len() },
		func(d *trace.Definitions, i uint32) (string, string) { x := d.Regions.At(i); return x.ID, x.Name },
		func(d *trace.Definitions) func(uint32) []string {
			return func(i uint32) []string { return shownRegionNames(d.Regions.At(i)) }
		}, false}
	aGroup = definitionKind{"group", "--definitions", func(d *trace.Definitions) int { return d.Groups.Len() },
		func(d *trace.Definitions, i uint32) (string, string) { x := d.Groups.At(i); return x.ID, x.Name }, nil, false}
	anAttribute = definitionKind{"attribute", "--definitions",
		func(d *trace.Definitions) int { return d.Attributes.Len() },
		func(d *trace.Definitions, i uint32) (string, string) { return "", d.Attributes.At(i).Name }, nil, false}
	aCommunicator = definitionKind{"communicator", "--definitions",
		func(d *trace.Definitions) int { return d.Communicator.Len() },
		func(d *trace.Definitions, i uint32) (string, string) { x := d.Communicator.At(i); return x.ID, x.Name },
		func(d *trace.Definitions) func(uint32) []string {
			return func(i uint32) []string { x := d.Communicator.At(i); return []string{x.Name + " (" + x.ID + ")"} }
		}, false}
)

// shownRegionNames returns the names under which weft prints a region if other regions have the same
// name: with its source place or its id.
func shownRegionNames(r *trace.Region) []string {
	if r.Name == "" {
		return nil
	}
	return []string{r.Name + " (" + r.Place() + ")", r.Name + " (" + r.ID + ")"}
}

// choose returns a function that reports whether the name or the id of an entry matches a pattern.
// It returns nil without patterns.
func choose(d *trace.Definitions, what definitionKind, list []string) (func(uint32) bool, error) {
	p, err := newPatterns(list)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	var shown func(uint32) []string
	if slices.ContainsFunc(list, what.mayBeShown) {
		shown = what.shownNames(d)
	}
	return matchOnce(d, what, p, shown), nil
}

// matchOnce returns a function that reports whether the name or the id of an entry matches the patterns, or one of
// its shown names if the function shown is not nil. It matches the entries that exist now only once, since a scan asks
// for each event. An entry whose names have changed since then, and a later entry, are matched at each call.
func matchOnce(d *trace.Definitions, what definitionKind, p *patterns, shown func(uint32) []string) func(uint32) bool {
	match := func(i uint32, id, name string) bool {
		return p.match(id, name) || shown != nil && p.match(shown(i)...)
	}
	type entry struct {
		id, name string
		matches  bool
	}
	entries := make([]entry, what.len(d))
	for i := range entries {
		x := &entries[i]
		x.id, x.name = what.names(d, uint32(i))
		x.matches = match(uint32(i), x.id, x.name)
	}
	return func(i uint32) bool {
		id, name := what.names(d, i)
		if i < uint32(len(entries)) && entries[i].id == id && entries[i].name == name {
			return entries[i].matches
		}
		return match(i, id, name)
	}
}

// mayBeShown reports whether a pattern can match one of the shown names that is no name.
func (n definitionKind) mayBeShown(pattern string) bool {
	return n.shownNames != nil && (strings.ContainsAny(pattern, "(·") ||
		n.wild && (strings.ContainsAny(pattern, "*?") || strings.HasPrefix(pattern, regexpPrefix)))
}

// flagNames holds the patterns of a flag.
type flagNames struct {
	flag     string
	what     definitionKind
	patterns []string
}

// reportUnknownNames prints the patterns that match no definition, each only once in a command. where
// describes the object in which definitions were searched, such as the trace. Since events may add
// definitions, it must be called after the events have been read.
func (a *app) reportUnknownNames(where string, d *trace.Definitions, list []flagNames) {
	for _, n := range list {
		for _, s := range n.patterns {
			if near, missing := n.what.isMissing(d, s); missing {
				a.printOnce(fmt.Sprintf("%s %s: %s has no such %s; %s", n.flag, s, where, n.what.word, near))
			}
		}
	}
}

// isMissing reports whether a pattern matches nothing. near is a hint about the nearest name.
func (n definitionKind) isMissing(d *trace.Definitions, pattern string) (near string, missing bool) {
	matches, err := choose(d, n, []string{pattern})
	if err != nil {
		return "", false
	}
	for i := range n.len(d) {
		if matches(uint32(i)) {
			return "", false
		}
	}
	return n.nearestHint(d, pattern), true
}

// nearestHint returns a hint about the name that is nearest to an unknown name.
func (n definitionKind) nearestHint(d *trace.Definitions, name string) string {
	shown := func(uint32) []string { return nil }
	if n.mayBeShown(name) {
		shown = n.shownNames(d)
	}
	return nearest.DidYouMean(name, func(yield func(string) bool) {
		for i := range n.len(d) {
			id, own := n.names(d, uint32(i))
			for _, s := range append(shown(uint32(i)), cmp.Or(own, id)) {
				if !yield(s) {
					return
				}
			}
		}
	}, "weft info "+n.flag+" lists them")
}
