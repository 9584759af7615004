package otf2

import (
	"fmt"
	"maps"
	"slices"

	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
)

// sharedIDs returns the ids of groups of communicating locations that other groups have, too, as in archives of
// EZTrace. Nothing refers to a group of communicating locations by its id, but OTF2's Python bindings reject the
// archive.
func sharedIDs(groups []*Record) map[uint64]bool {
	count, shared := map[uint64]int{}, map[uint64]bool{}
	for _, r := range groups {
		count[r.Values[0]]++
	}
	for _, r := range groups {
		if id := r.Values[0]; communicatingFirst(r) == 0 && count[id] > 1 {
			shared[id] = true
		}
	}
	return shared
}

// Mended returns the defects that the encoder mends in a repaired trace (see [trace.Mendable]).
func (m *model) Mended() (defects []trace.Defect) {
	add := func(found, expected string) {
		defects = append(defects, trace.Defect{Position: trace.Position{File: m.a.path + ".def"},
			Found: found, Expected: expected})
	}
	for i, id := range m.locations {
		if n := m.events[i].Load(); n > 0 && n != m.stated[i] {
			add(fmt.Sprintf("location %d with %s", id, plural.Of(m.stated[i], "event")),
				fmt.Sprintf("%d, the actual number", n))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(m.sharedIDs)) {
		add(fmt.Sprintf("group %d of communicating locations with the id of another group", id),
			"an id of its own; repair gives it one")
	}
	for _, id := range missingStrings(m.ranks, m.eachDefinition) {
		add(fmt.Sprintf("definitions that name string %d", id), "its definition; repair adds it")
	}
	return defects
}

// mend corrects a definition of a repaired trace.
func (e *encoder) mend(r *Record) {
	switch o := e.original; {
	case r.ID == defLocation:
		r.Values[3] = e.w.Location(r.Values[0]).Count
	case r.ID == defGroup && o.records == nil && communicatingFirst(r) == 0 && o.parts[0].m.sharedIDs[r.Values[0]]:
		r.Values[0] = o.added.next[Groups]
		o.added.next[Groups]++
	}
}
