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

	LocationDefinitions: func(d *trace.Definitions) int {
		return sum(&d.Locations, func(l *trace.Location) int { return count(l.Kind != trace.EventsLocation) })
	},
	LocationKinds: func(d *trace.Definitions) int {
		return sum(&d.Locations, func(l *trace.Location) int {
			return count(l.Kind != "" && l.Kind != trace.EventsLocation)
		})
	},
	LocationProperties: func(d *trace.Definitions) int {
		return sum(&d.Locations, func(l *trace.Location) int { return len(l.Attrs) })
	},
	GroupDefinitions: func(d *trace.Definitions) int { return d.Groups.Len() },
	GroupKinds: func(d *trace.Definitions) int {
		return sum(&d.Groups, func(g *trace.LocationGroup) int { return count(g.Kind != "") })
	},
	GroupProperties: func(d *trace.Definitions) int {
		return sum(&d.Groups, func(g *trace.LocationGroup) int { return len(g.Attrs) })
	},

	RegionDefinitions: func(d *trace.Definitions) int { return d.Regions.Len() },
	RegionGroups: func(d *trace.Definitions) int {
		return sum(&d.Regions, func(r *trace.Region) int { return count(r.Group != "") })
	},
	RegionPlaces: func(d *trace.Definitions) int {
		return sum(&d.Regions, func(r *trace.Region) int { return count(r.File != "" || r.Line != 0) })
	},
	RegionEnds: func(d *trace.Definitions) int {
		return sum(&d.Regions, func(r *trace.Region) int { return count(r.End != 0) })
	},
	RegionRoles: func(d *trace.Definitions) int {
		return sum(&d.Regions, func(r *trace.Region) int { return count(r.Role != "") })
	},
	RegionDescriptions: func(d *trace.Definitions) int {
		return sum(&d.Regions, func(r *trace.Region) int { return countWithKeys(r.Attrs, Description) })
	},
	RegionCanonicalNames: func(d *trace.Definitions) int {
		return sum(&d.Regions, func(r *trace.Region) int { return countWithKeys(r.Attrs, CanonicalName) })
	},
	RegionProperties: func(d *trace.Definitions) int {
		return sum(&d.Regions, func(r *trace.Region) int {
			return len(r.Attrs) - countWithKeys(r.Attrs, Description) - countWithKeys(r.Attrs, CanonicalName)
		})
	},
	ResourceDefinitions: func(d *trace.Definitions) int { return d.Resources.Len() },

	MetricDefinitions: func(d *trace.Definitions) int { return d.Metrics.Len() },
	MetricGroups: func(d *trace.Definitions) int {
		return sum(&d.Metrics, func(m *trace.MetricDef) int { return count(m.Group != "") })
	},
	MetricDescriptions: func(d *trace.Definitions) int {
		return sum(&d.Metrics, func(m *trace.MetricDef) int { return countWithKeys(m.Attrs, Description) })
	},
	MetricRecorders: func(d *trace.Definitions) int {
		return sum(&d.Metrics, func(m *trace.MetricDef) int {
			return count(countWithKeys(m.Attrs, Recorder, Occurrence) > 0)
		})
	},
	MetricProperties: func(d *trace.Definitions) int { return sum(&d.Metrics, otherProperties) },

	CommunicatorDefinitions: func(d *trace.Definitions) int { return d.Communicator.Len() },
	CommunicatorParents: func(d *trace.Definitions) int {
		return sum(&d.Communicator, func(c *trace.Communicator) int { return count(c.Parent != trace.NoRef) })
	},
	CommunicatorProperties: func(d *trace.Definitions) int {
		return sum(&d.Communicator, func(c *trace.Communicator) int { return len(c.Attrs) })
	},
	SetDefinitions: countSets,
	SetProperties: func(d *trace.Definitions) int {
		return sum(&d.Sets, func(s *trace.Set) int { return len(s.Attrs) })
	},

	AttributeDefinitions: func(d *trace.Definitions) int {
		return sum(&d.Attributes, func(a *trace.AttributeDef) int { return count(a.ID != "") })
	},
	AttributeDescriptions: func(d *trace.Definitions) int {
		return sum(&d.Attributes, func(a *trace.AttributeDef) int { return count(a.ID != "" && a.Doc != "") })
	},
	KindDefinitions:      func(d *trace.Definitions) int { return d.Kinds.Len() },
	ParameterDefinitions: func(d *trace.Definitions) int { return d.Parameters.Len() },
	WindowDefinitions:    func(d *trace.Definitions) int { return d.Windows.Len() },
	ContextDefinitions:   func(d *trace.Definitions) int { return d.Contexts.Len() },
	FileDefinitions:      func(d *trace.Definitions) int { return d.Files.Len() },
	FileProperties: func(d *trace.Definitions) int {
		return sum(&d.Files, func(f *trace.Named) int { return len(f.Attrs) })
	},
	HandleDefinitions: func(d *trace.Definitions) int { return d.Handles.Len() },
	MarkerDefinitions: func(d *trace.Definitions) int { return d.Markers.Len() },
	MarkerGroups: func(d *trace.Definitions) int {
		return sum(&d.Markers, func(m *trace.Named) int { return countWithKeys(m.Attrs, MarkerGroup) })
	},
	OperationDefinitions: func(d *trace.Definitions) int { return d.Operations.Len() },
}

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
	return func(d *trace.Definitions) int {
		return sum(&d.Locations, func(l *trace.Location) int { return count(slices.Contains(kinds, l.Kind)) })
	}
}

// sum adds up f over all entries of a table.
func sum[T any](t *trace.Table[T], f func(*T) int) (n int) {
	for i := range t.Len() {
		n += f(t.At(uint32(i)))
	}
	return n
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
			for _, o := range d.Opaque.All() {
				l.Add(s.String(), cmp.Or(o.Type, o.Format), how, reason, 1)
			}
		}
	}
}
