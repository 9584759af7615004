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

// wanted converts the flags to the options of a filter. ok is false if no flag is set.
func (f *filterFlags) wanted(d *trace.Definitions) (w transform.FilterOptions, ok bool, err error) {
	n := 0
	for _, l := range [][]string{f.locations, f.groups, f.regions, f.kinds, f.communicators, f.notLocations, f.notGroups,
		f.notRegions, f.notKinds, f.notCommunicators} {
		n += len(l)
	}
	n += len(f.attributes) + len(f.notAttributes)
	if n == 0 && f.minDuration == "" && f.maxDepth == 0 {
		return w, false, nil
	}
	w.MaxDepth = f.maxDepth
	if f.minDuration != "" {
		if w.MinDuration, err = d.Clock.ParseDuration(f.minDuration); err != nil {
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
	w.Row = chooseRows(d, f.attributes, f.notAttributes)
	w.Region = both(f.regions, f.notRegions, entries(aRegion))
	w.Communicator = both(f.communicators, f.notCommunicators, entries(aCommunicator))
	byName := both(f.locations, f.notLocations, entries(aLocation))
	byGroup := both(f.groups, f.notGroups, func(list []string) (func(uint32) bool, error) { return chooseGroups(d, list) })
	if byName != nil || byGroup != nil {
		w.Location = func(loc uint32) bool { return (byName == nil || byName(loc)) && (byGroup == nil || byGroup(loc)) }
		w.Scopes = len(f.locations) == 0
		named := both(nil, f.notLocations, entries(aLocation))
		w.Markers = func(loc uint32) bool {
			return transform.HasMarkers(d.Locations.At(loc)) && (named == nil || named(loc))
		}
	}
	if err == nil && len(f.kinds)+len(f.notKinds) > 0 {
		if len(f.kinds) > 0 {
			w.Kind, err = chooseKinds(d, "--kind", f.kinds)
		}
		if err == nil {
			w.NotKind, err = chooseKinds(d, "--not-kind", f.notKinds)
		}
	}
	return w, true, err
}

// flagNames returns the patterns of the flags of a filter.
func (f *filterFlags) flagNames() []flagNames {
	return []flagNames{
		{"--location", aLocation, f.locations}, {"--not-location", aLocation, f.notLocations},
		{"--group", aGroup, f.groups}, {"--not-group", aGroup, f.notGroups},
		{"--region", aRegion, f.regions}, {"--not-region", aRegion, f.notRegions},
		{"--communicator", aCommunicator, f.communicators}, {"--not-communicator", aCommunicator, f.notCommunicators},
		{"--attribute", anAttribute, f.attributes.names()}, {"--not-attribute", anAttribute, f.notAttributes.names()},
	}
}

// chooseGroups returns a function that reports whether a location belongs to a matching group, directly or
// through other groups. A group matches if its id or name matches a pattern.
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
