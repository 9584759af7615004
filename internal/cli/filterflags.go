package cli

import (
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/transform"
)

// filterFlags holds the flags that select the events that a filter keeps.
type filterFlags struct {
	locations, groups, regions, kinds, communicators                []string
	notLocations, notGroups, notRegions, notKinds, notCommunicators []string
	attributes, notAttributes                                       attributeList
	minDuration                                                     string
	maxDepth                                                        int
}

// wanted converts the flags of a filter. ok is false if no flag is set.
func (x *filterFlags) wanted(d *trace.Definitions) (w transform.FilterOptions, ok bool, err error) {
	n := 0
	for _, l := range [][]string{x.locations, x.groups, x.regions, x.kinds, x.communicators, x.notLocations, x.notGroups,
		x.notRegions, x.notKinds, x.notCommunicators} {
		n += len(l)
	}
	n += len(x.attributes) + len(x.notAttributes)
	if n == 0 && x.minDuration == "" && x.maxDepth == 0 {
		return w, false, nil
	}
	w.MaxDepth = x.maxDepth
	if x.minDuration != "" {
		if w.MinDuration, err = d.Clock.ParseDuration(x.minDuration); err != nil {
			return w, false, usageError("--min-duration: %w", err)
		}
	}
	both := func(yes, no []string, choose func([]string) (func(uint32) bool, error)) func(uint32) bool {
		if err != nil {
			return nil
		}
		var a, b func(uint32) bool
		if a, err = choose(yes); err != nil {
			return nil
		}
		if b, err = choose(no); err != nil || a == nil && b == nil {
			return nil
		}
		return func(i uint32) bool { return (a == nil || a(i)) && (b == nil || !b(i)) }
	}
	entries := func(what definitionKind) func([]string) (func(uint32) bool, error) {
		return func(list []string) (func(uint32) bool, error) { return choose(d, what, list) }
	}
	w.Row = chooseRows(d, x.attributes, x.notAttributes)
	w.Region = both(x.regions, x.notRegions, entries(aRegion))
	w.Communicator = both(x.communicators, x.notCommunicators, entries(aCommunicator))
	byName := both(x.locations, x.notLocations, entries(aLocation))
	byGroup := both(x.groups, x.notGroups, func(list []string) (func(uint32) bool, error) { return chooseGroups(d, list) })
	if byName != nil || byGroup != nil {
		w.Location = func(loc uint32) bool { return (byName == nil || byName(loc)) && (byGroup == nil || byGroup(loc)) }
		w.Scopes = len(x.locations) == 0
		named := both(nil, x.notLocations, entries(aLocation))
		w.Markers = func(loc uint32) bool {
			return transform.HasMarkers(d.Locations.At(loc)) && (named == nil || named(loc))
		}
	}
	if err == nil && len(x.kinds)+len(x.notKinds) > 0 {
		if len(x.kinds) > 0 {
			w.Kind, err = chooseKinds(d, "--kind", x.kinds)
		}
		if err == nil {
			w.NotKind, err = chooseKinds(d, "--not-kind", x.notKinds)
		}
	}
	return w, true, err
}

// flagNames returns the patterns of the flags of a filter.
func (x *filterFlags) flagNames() []flagNames {
	return []flagNames{
		{"--location", aLocation, x.locations}, {"--not-location", aLocation, x.notLocations},
		{"--group", aGroup, x.groups}, {"--not-group", aGroup, x.notGroups},
		{"--region", aRegion, x.regions}, {"--not-region", aRegion, x.notRegions},
		{"--communicator", aCommunicator, x.communicators}, {"--not-communicator", aCommunicator, x.notCommunicators},
		{"--attribute", anAttribute, x.attributes.names()}, {"--not-attribute", anAttribute, x.notAttributes.names()},
	}
}

// chooseGroups returns a function that reports whether a location is in a matching group, directly or
// not. A group matches if its id or name matches a pattern.
func chooseGroups(d *trace.Definitions, list []string) (func(uint32) bool, error) {
	p, err := newPatterns(list)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return func(loc uint32) bool { return p.matchGroup(d.Groups.All(), d.Locations.At(loc).Group) }, nil
}

// matchGroup reports whether a pattern matches a group or one of its ancestors.
func (p *patterns) matchGroup(groups []trace.LocationGroup, g uint32) bool {
	// at most as many steps as groups: the parents in a damaged trace may form a cycle
	for range groups {
		if int64(g) >= int64(len(groups)) {
			break
		}
		if p.match(groups[g].ID, groups[g].Name) {
			return true
		}
		g = groups[g].Parent
	}
	return false
}
