package format

import (
	"cmp"
	"slices"

	"github.com/weft-trace/weft/trace"
)

// definitionCounts holds, for each subject of definitions except [OpaqueDefinitions], a function that returns
// how many definitions, or fields of definitions, it covers.
var definitionCounts = map[Subject]func(d *trace.Definitions) int{
	ClockTicks:      func(*trace.Definitions) int { return 1 },
	ClockStart:      func(d *trace.Definitions) int { return count(d.Clock.HasEpoch) },
	TraceProperties: func(d *trace.Definitions) int { return d.Properties.Len() },

	LocationDefinitions: counting(locations, func(l *trace.Location) bool { return l.Kind != trace.EventsLocation }),
	LocationIDs:         counting(locations, func(l *trace.Location) bool { return l.Kind != trace.EventsLocation }),
	LocationKinds: counting(locations, func(l *trace.Location) bool {
		return l.Kind != "" && l.Kind != trace.EventsLocation
	}),
	LocationProperties: adding(locations, func(l *trace.Location) int { return len(l.Attrs) }),
	GroupDefinitions:   func(d *trace.Definitions) int { return d.Groups.Len() },
	GroupKinds:         counting(groups, func(g *trace.LocationGroup) bool { return g.Kind != "" }),
	GroupProperties:    adding(groups, func(g *trace.LocationGroup) int { return len(g.Attrs) }),

	RegionDefinitions:    func(d *trace.Definitions) int { return d.Regions.Len() },
	RegionGroups:         counting(regions, func(r *trace.Region) bool { return r.Group != "" }),
	RegionPlaces:         counting(regions, func(r *trace.Region) bool { return r.File != "" || r.Line != 0 }),
	RegionEnds:           counting(regions, func(r *trace.Region) bool { return r.End != 0 }),
	RegionRoles:          counting(regions, func(r *trace.Region) bool { return r.Role != "" }),
	RegionDescriptions:   adding(regions, func(r *trace.Region) int { return countWithKeys(r.Attrs, Description) }),
	RegionCanonicalNames: adding(regions, func(r *trace.Region) int { return countWithKeys(r.Attrs, CanonicalName) }),
	RegionProperties: adding(regions, func(r *trace.Region) int {
		return len(r.Attrs) - countWithKeys(r.Attrs, Description) - countWithKeys(r.Attrs, CanonicalName)
	}),
	ResourceDefinitions: func(d *trace.Definitions) int { return d.Resources.Len() },

	MetricDefinitions:  func(d *trace.Definitions) int { return d.Metrics.Len() },
	MetricGroups:       counting(metrics, func(m *trace.MetricDef) bool { return m.Group != "" }),
	MetricDescriptions: adding(metrics, func(m *trace.MetricDef) int { return countWithKeys(m.Attrs, Description) }),
	MetricRecorders: counting(metrics, func(m *trace.MetricDef) bool {
		return countWithKeys(m.Attrs, Recorder, Occurrence) > 0
	}),
	MetricProperties: adding(metrics, otherProperties),

	CommunicatorDefinitions: func(d *trace.Definitions) int { return d.Communicator.Len() },
	CommunicatorParents: counting(communicators, func(c *trace.Communicator) bool {
		return c.Parent != trace.NoRef
	}),
	CommunicatorProperties: adding(communicators, func(c *trace.Communicator) int { return len(c.Attrs) }),
	SetDefinitions:         countSets,
	SetProperties:          adding(sets, func(s *trace.Set) int { return len(s.Attrs) }),

	AttributeDefinitions:  counting(attributes, func(a *trace.AttributeDef) bool { return a.ID != "" }),
	AttributeDescriptions: counting(attributes, func(a *trace.AttributeDef) bool { return a.ID != "" && a.Doc != "" }),
	KindDefinitions:       func(d *trace.Definitions) int { return d.Kinds.Len() },
	ParameterDefinitions:  func(d *trace.Definitions) int { return d.Parameters.Len() },
	WindowDefinitions:     func(d *trace.Definitions) int { return d.Windows.Len() },
	ContextDefinitions:    func(d *trace.Definitions) int { return d.Contexts.Len() },
	FileDefinitions:       func(d *trace.Definitions) int { return d.Files.Len() },
	FileProperties:        adding(files, func(f *trace.Named) int { return len(f.Attrs) }),
	HandleDefinitions:     func(d *trace.Definitions) int { return d.Handles.Len() },
	MarkerDefinitions:     func(d *trace.Definitions) int { return d.Markers.Len() },
	MarkerGroups:          adding(markers, func(m *trace.Named) int { return countWithKeys(m.Attrs, MarkerGroup) }),
	OperationDefinitions:  func(d *trace.Definitions) int { return d.Operations.Len() },
}

// Tables of definitions, for counting and adding.
func locations(d *trace.Definitions) *trace.Table[trace.Location]         { return &d.Locations }
func groups(d *trace.Definitions) *trace.Table[trace.LocationGroup]       { return &d.Groups }
func regions(d *trace.Definitions) *trace.Table[trace.Region]             { return &d.Regions }
func metrics(d *trace.Definitions) *trace.Table[trace.MetricDef]          { return &d.Metrics }
func communicators(d *trace.Definitions) *trace.Table[trace.Communicator] { return &d.Communicator }
func sets(d *trace.Definitions) *trace.Table[trace.Set]                   { return &d.Sets }
func attributes(d *trace.Definitions) *trace.Table[trace.AttributeDef]    { return &d.Attributes }
func files(d *trace.Definitions) *trace.Table[trace.Named]                { return &d.Files }
func markers(d *trace.Definitions) *trace.Table[trace.Named]              { return &d.Markers }

// The attributes of definitions that have a [Subject] of their own.
const (
	Description   = "description" // text about a region or a counter
	CanonicalName = "canonical"   // name of a region in object code, if it differs from the displayed name
	Recorder      = "recorder"    // location that records a counter
	Occurrence    = "occurrence"  // whether a counter has values at events or at times of its own
	RecorderKind  = "recorder kind"
	Scale         = "scale" // power by which the values of a counter are multiplied
	MarkerGroup   = "group" // group of a marker
)

// LocationsOfKind returns a function for [Mapped.Kept] that counts the locations of some kinds.
func LocationsOfKind(kinds ...trace.LocationKind) func(*trace.Definitions) int {
	return counting(locations, func(l *trace.Location) bool { return slices.Contains(kinds, l.Kind) })
}

// LocationsWithID returns a function for [Mapped.Kept] that counts the locations whose id is the number by which the
// format writes them. The function number returns this number for location i.
func LocationsWithID(number func(i int) string) func(*trace.Definitions) int {
	return func(d *trace.Definitions) (n int) {
		for i, l := range d.Locations.All() {
			n += count(l.Kind != trace.EventsLocation && l.ID == number(i))
		}
		return n
	}
}

// counting returns a function that counts the entries of a table for which f returns true.
func counting[T any](table func(*trace.Definitions) *trace.Table[T], f func(*T) bool) func(*trace.Definitions) int {
	return adding(table, func(x *T) int { return count(f(x)) })
}

// adding returns a function that adds up f over all entries of a table.
func adding[T any](table func(*trace.Definitions) *trace.Table[T], f func(*T) int) func(*trace.Definitions) int {
	return func(d *trace.Definitions) (n int) {
		for i := range table(d).Len() {
			n += f(table(d).At(uint32(i)))
		}
		return n
	}
}

// otherProperties returns the number of attributes of a metric that no other subject covers, and that do not repeat its
// name or unit.
func otherProperties(m *trace.MetricDef) (n int) {
	for _, a := range m.Attrs {
		text := a.Value.String()
		n += count(!slices.Contains([]string{Description, Recorder, Occurrence, RecorderKind, Scale}, a.Key) &&
			text != m.Name && text != m.Unit)
	}
	return n
}

// countWithKeys returns how many attributes have one of the given keys.
func countWithKeys(list []trace.Attr, keys ...string) (n int) {
	for i := range list {
		n += count(slices.Contains(keys, list[i].Key))
	}
	return n
}

// count returns 1 if b is set, otherwise 0.
func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// countSets returns the number of sets that a definition of a communicator does not replace: those of no
// communicator, and those with a name that no communicator of the set has.
func countSets(d *trace.Definitions) (n int) {
	names := map[uint32][]string{}
	for _, c := range d.Communicator.All() {
		names[c.Set] = append(names[c.Set], c.Name)
	}
	for i, s := range d.Sets.All() {
		own, ok := names[uint32(i)]
		n += count(!ok || s.Name != "" && !slices.Contains(own, s.Name))
	}
	return n
}

// AddDefinitions counts the definitions of a trace that the format does not keep exactly according to mapping.
// If plain is set, definitions that only weft restores count as lost.
func (l *Loss) AddDefinitions(d *trace.Definitions, mapping func(Subject) Mapped, plain bool) {
	for s := range subjectCount {
		m := mapping(s)
		how, reason := m.How, m.As
		if how == WeftOnly && plain {
			how, reason = Lost, "the format has no record or field for it"
			if s == LocationIDs {
				how, reason = Degraded, "the format numbers locations anew"
			}
		}
		if how != WeftOnly && how != Degraded && how != Lost {
			continue
		}
		if n := definitionCounts[s]; n != nil {
			kept := 0
			if m.Kept != nil {
				kept = m.Kept(d)
			}
			l.Add(s.String(), "", how, reason, int64(n(d)-kept))
		}
		if s == OpaqueDefinitions {
			kept := map[string]int{}
			if m.KeptOpaque != nil {
				kept = m.KeptOpaque(d)
			}
			for _, o := range d.Opaque.All() {
				if kept[o.Type]--; kept[o.Type] < 0 {
					l.Add(s.String(), cmp.Or(o.Type, o.Format), how, reason, 1)
				}
			}
		}
	}
}
