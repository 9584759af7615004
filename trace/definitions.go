package trace

import (
	"cmp"
	"fmt"
	"sync"
	"sync/atomic"
)

// Table is an append-only list that may grow while others read it: decoders of
// formats whose definitions stand among the events add entries during a scan,
// always before the first batch that needs them. Entries never change after
// Add. The zero Table is empty and ready.
type Table[T any] struct {
	mu   sync.Mutex
	list atomic.Pointer[[]T]
}

// Len is the number of entries.
func (t *Table[T]) Len() int {
	if p := t.list.Load(); p != nil {
		return len(*p)
	}
	return 0
}

// Has reports whether there is an entry i; [NoRef] is none.
func (t *Table[T]) Has(i uint32) bool { return uint64(i) < uint64(t.Len()) }

// At returns entry i, which must be there and must not be changed.
func (t *Table[T]) At(i uint32) *T { return &(*t.list.Load())[i] }

// All is the list as it is now. The caller must not change it.
func (t *Table[T]) All() []T {
	if p := t.list.Load(); p != nil {
		return *p
	}
	return nil
}

// Add appends an entry and returns its index.
func (t *Table[T]) Add(v T) uint32 {
	t.mu.Lock()
	defer t.mu.Unlock()
	var l []T
	if p := t.list.Load(); p != nil {
		l = *p
	}
	l = append(l, v)
	t.list.Store(&l)
	return uint32(len(l) - 1)
}

// Renamable is a Native of [Definitions] whose encoder heeds Rename: it writes no text of the file
// as it was, and neither lines of sources nor the time of day.
type Renamable interface{ Renamable() }

// Definitions is everything that a trace says once. Each entry keeps the
// file's own id (a text, since ids may be scoped) beside its dense index, which
// is what events refer to.
type Definitions struct {
	Clock Clock
	// Format is the name of the format that the trace was read from.
	Format string
	// Origin is the name of the format whose ids the entries bear. It differs
	// from Format when a trace went through another format.
	Origin string
	// Conventions are those of the format that Origin names.
	Conventions Conventions
	// Roles is asked first for the role of a region, for what a user knows better than names
	// tell; UnknownRole as its answer leaves that to the trace. Nil is never asked.
	Roles func(r *Region) Role
	// Native is what a decoder keeps of the definitions for the encoder of the same format, which
	// writes records that nobody has changed as they were. It relies on the ids of entries. Who
	// makes new definitions leaves it nil, unless all entries are there with their ids and names;
	// entries may be added.
	Native any
	// Rename, if it is not nil, gives the text that takes the place of a text of the file that Native
	// is of; word says that the format uses it as a word, such as a unit or the name of an
	// attribute, which stays unless it is also the name of something that has a new one. It is
	// set only where Native is [Renamable].
	Rename func(text string, word bool) string
	// Retimed says that events have other times than in the file that Native is of. What changes
	// times sets it.
	Retimed bool
	// Mended says that what was wrong in the file that Native is of, and reading has mended, is to be
	// written mended. What repairs a trace sets it.
	Mended bool
	// Properties are the trace's own attributes.
	Properties Table[Attr]

	Strings      Table[string]
	Locations    Table[Location]
	Groups       Table[LocationGroup]
	Regions      Table[Region]
	Communicator Table[Communicator]
	Sets         Table[Set]
	Metrics      Table[MetricDef]
	Resources    Table[Resource]
	Attributes   Table[AttributeDef]
	Kinds        Table[KindDef]
	Parameters   Table[Named]
	Windows      Table[Named]
	Contexts     Table[Named]
	Files        Table[Named]
	Handles      Table[Named]
	Markers      Table[Named]
	// Operations are the collective operations that the trace numbers itself, if its Conventions say
	// so: an ID is the number that events have. The attribute "type" says what sort it is.
	Operations Table[Named]
	// Opaque holds definitions of the format that the model has no table for.
	Opaque Table[Opaque]
}

// LocationKind says what sort of event source a location is.
type LocationKind string

// The sorts of locations.
const (
	ProcessLocation  LocationKind = "process"
	ThreadLocation   LocationKind = "thread"
	StreamLocation   LocationKind = "stream"
	ResourceLocation LocationKind = "resource" // claims on one resource
	SignalLocation   LocationKind = "signal"   // one signal or series
	EventsLocation   LocationKind = "events"   // events that name no location
	HostLocation     LocationKind = "host"     // PICL's host processor
	ScopeLocation    LocationKind = "scope"    // PICL records about all or a subset of the processors
	PeerLocation     LocationKind = "peer"     // named only as the other side of messages
	ValueLocation    LocationKind = "value"    // all events with one value of an attribute, wherever they were
)

// IsProcessor reports whether locations of a kind are processors, or belong to one.
func (k LocationKind) IsProcessor() bool {
	switch k {
	case ProcessLocation, ThreadLocation, StreamLocation, PeerLocation, "":
		return true
	}
	return false
}

// Location is one ordered source of events.
type Location struct {
	ID    string       `json:"id"`
	Name  string       `json:"name,omitempty"`
	Kind  LocationKind `json:"kind,omitempty"`
	Group uint32       `json:"group"` // index into Groups, or NoRef
	Attrs []Attr       `json:"attributes,omitempty"`
}

// Label is the location's name, or its id when it has no name.
func (l *Location) Label() string { return cmp.Or(l.Name, l.ID) }

// LocationGroup is a process, node or machine: the tree above locations.
type LocationGroup struct {
	ID     string `json:"id"`
	Name   string `json:"name,omitempty"`
	Kind   string `json:"kind,omitempty"`
	Parent uint32 `json:"parent"` // index into Groups, or NoRef
	Attrs  []Attr `json:"attributes,omitempty"`
}

// Region is named code or an activity.
type Region struct {
	ID    string `json:"id,omitempty"`
	Name  string `json:"name"`
	Group string `json:"group,omitempty"` // function group or paradigm
	Role  string `json:"role,omitempty"`
	File  string `json:"file,omitempty"`
	Line  int64  `json:"line,omitempty"`
	End   int64  `json:"endLine,omitempty"`
	Attrs []Attr `json:"attributes,omitempty"`
}

// Communicator is a set of locations that exchange messages by rank.
type Communicator struct {
	ID     string `json:"id"`
	Name   string `json:"name,omitempty"`
	Set    uint32 `json:"set"`    // index into Sets, or NoRef
	Parent uint32 `json:"parent"` // index into Communicator, or NoRef
	Attrs  []Attr `json:"attributes,omitempty"`
}

// Set is a named list of ids: ranks of a communicator, PICL subsets, groups of
// regions.
type Set struct {
	ID      string  `json:"id"`
	Name    string  `json:"name,omitempty"`
	Kind    string  `json:"kind,omitempty"`
	Members []int64 `json:"members"`
	Attrs   []Attr  `json:"attributes,omitempty"`
}

// MetricKind says how a metric's values arrive.
type MetricKind string

// The sorts of metrics.
const (
	CounterMetric MetricKind = "counter"
	SignalMetric  MetricKind = "signal" // piecewise polynomial
	SeriesMetric  MetricKind = "series" // samples
)

// MetricDef is a counter, a signal or a sampled series. An event of kind [Metric] sets its value.
type MetricDef struct {
	ID    string     `json:"id"`
	Name  string     `json:"name,omitempty"`
	Unit  string     `json:"unit,omitempty"`
	Kind  MetricKind `json:"kind,omitempty"`
	Mode  string     `json:"mode,omitempty"` // what a value says, in the words of OTF2: "ABSOLUTE_POINT"
	Group string     `json:"group,omitempty"`
	Type  Type       `json:"type"` // how the bits of a value are read, see [Batch.AddOps]
	// Location is the location on which the metric's events live, NoRef if they may be on any. The
	// zero value is the first location.
	Location uint32 `json:"location"`
	Attrs    []Attr `json:"attributes,omitempty"`
	// Undefined marks a stand-in: events refer to it, nothing defines it.
	Undefined bool `json:"undefined,omitempty"`
}

// Resource is something that claims hold amounts of.
type Resource struct {
	ID         string  `json:"id"`
	Name       string  `json:"name,omitempty"`
	Unit       string  `json:"unit,omitempty"`
	Capacity   float64 `json:"capacity"`
	UsesOffset bool    `json:"usesOffset"`
	Location   uint32  `json:"location"` // where its claims live
	Attrs      []Attr  `json:"attributes,omitempty"`
	// Undefined marks a stand-in: claims refer to it, nothing defines it.
	Undefined bool `json:"undefined,omitempty"`
}

// Label is the resource's name, or its id when it has no name.
func (r *Resource) Label() string { return cmp.Or(r.Name, r.ID) }

// AttributeDef names an attribute of events.
type AttributeDef struct {
	ID   string `json:"id,omitempty"`
	Name string `json:"name"`
	Type Type   `json:"type,omitempty"`
	Doc  string `json:"doc,omitempty"`
	// Reserved says that an operation has defined the attribute before it knows whether an event
	// gets it. Where no event has it, a format may leave out the definition.
	Reserved bool `json:"-"`
}

// KindDef is a kind that the trace declares itself. Two kinds are the same if
// format, name and operands agree.
type KindDef struct {
	Format string
	KindSpec
}

// Named is a definition that has no more than an id, a name and attributes.
type Named struct {
	ID    string `json:"id"`
	Name  string `json:"name,omitempty"`
	Attrs []Attr `json:"attributes,omitempty"`
}

// Opaque is a record that only its own format understands.
type Opaque struct {
	Format string
	Data   string
}

// Rings reports, as an error, the first group of locations or communicator that is above itself:
// such a trace cannot be written. A parent that is left 0 means the first entry; none is NoRef.
func (d *Definitions) Rings() error {
	ring := func(what string, n int, parent func(i int) uint32) error {
		for i := range n {
			steps := 0
			for p := parent(i); p != NoRef && int(p) < n; p = parent(int(p)) {
				if steps++; int(p) == i || steps > n {
					return fmt.Errorf("%s %d: found it above itself, expected a tree; the parent of what has none is NoRef", what, i)
				}
			}
		}
		return nil
	}
	if err := ring("location group", d.Groups.Len(), func(i int) uint32 { return d.Groups.At(uint32(i)).Parent }); err != nil {
		return err
	}
	return ring("communicator", d.Communicator.Len(), func(i int) uint32 { return d.Communicator.At(uint32(i)).Parent })
}

// Property finds a property of the trace by name.
func (d *Definitions) Property(key string) (Value, bool) {
	for _, a := range d.Properties.All() {
		if a.Key == key {
			return a.Value, true
		}
	}
	return Value{}, false
}
