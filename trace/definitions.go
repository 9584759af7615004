package trace

import (
	"cmp"
	"fmt"
	"sync"
	"sync/atomic"
)

// Table is an append-only list that may grow while others read it. Decoders of formats that define
// entries among the events add them during a scan, always before the first batch that refers to
// them. Entries never change after Add. The zero Table is empty and ready to use.
type Table[T any] struct {
	mu   sync.Mutex
	list atomic.Pointer[[]T]
}

// Len returns the number of entries.
func (t *Table[T]) Len() int {
	if p := t.list.Load(); p != nil {
		return len(*p)
	}
	return 0
}

// Has reports whether entry i exists. No table has an entry [NoRef].
func (t *Table[T]) Has(i uint32) bool { return uint64(i) < uint64(t.Len()) }

// At returns entry i. The entry must exist, and the caller must not change it.
func (t *Table[T]) At(i uint32) *T { return &(*t.list.Load())[i] }

// All returns the current list. The caller must not change it.
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

// Renamable marks a [Definitions.Native] whose encoder supports [Definitions.Rename]. Such an
// encoder then copies no text of the file unchanged, and writes neither source lines nor the time
// of day.
type Renamable interface{ Renamable() }

// Joinable marks a [Definitions.Native] whose encoder also takes [Parts] of it, and supports
// [Definitions.Pruned].
type Joinable interface {
	// Joinable reports whether several of the traces may have events at one location.
	Joinable() (shared bool)
}

// Parts is the [Definitions.Native] of a trace that was merged from several of one format, or of one from
// which definitions were removed. All of them are [Joinable]. The encoder of that format writes the records
// of all.
type Parts struct {
	List  []Part
	First int64 // a time before or at that of the first event
}

// Part is one of the traces that another one was merged from.
type Part struct {
	Defs *Definitions // of the trace, with its Native
	// Retimed reports that events have other times than in the trace.
	Retimed bool
	// Index returns the index that entry i of a table of Defs has in the merged trace, or [NoRef] if it
	// is not in there. The table is identified by its address.
	Index func(table any, i uint32) uint32
	// Time returns the merged trace's time of a time of the trace. ok is false if it does not fit.
	Time func(t int64) (merged int64, ok bool)
	// Operation returns the number that a collective operation has in the merged trace, for traces
	// that number them themselves (Conventions.OwnOperations).
	Operation func(number uint64) uint64
}

// Definitions holds everything that a trace defines once. Each entry keeps the file's own id beside
// its dense index. The id is a text, since ids may be scoped. Events refer to the index.
type Definitions struct {
	Clock Clock
	// Format is the name of the format that the trace was read from.
	Format string
	// Origin is the name of the format that defined the ids of the entries. It differs from Format
	// when a trace was converted from another format.
	Origin string
	// Conventions are those of the format in Origin.
	Conventions Conventions
	// Roles returns the role of a region as the user defines it. It takes precedence over the trace
	// and over names. If it returns UnknownRole, or is nil, the role comes from the trace.
	Roles func(r *Region) Role
	// Native is the decoder's own form of the definitions, for the encoder of the same format. With it
	// the encoder writes unchanged records exactly as they were in the file. It relies on the ids of
	// entries. Code that builds new definitions sets it to nil or to [Parts], unless all entries keep their
	// ids and names. Entries may be added.
	Native any
	// Rename, if it is not nil, returns the replacement of a text in the file of Native. word reports
	// that the format uses the text as a keyword, such as a unit or the name of an attribute. A
	// keyword stays as it is unless it is also a name that has a replacement. Rename is set only where
	// Native is [Renamable].
	Rename func(text string, word bool) string
	// Retimed reports that events have other times than in the file of Native. Transforms that change
	// times set it.
	Retimed bool
	// Mended reports that defects in the file of Native that were repaired in reading are to be
	// written repaired. Transforms that repair a trace set it.
	Mended bool
	// Pruned reports that records of the file of Native are to be left out unless an entry, or an event,
	// refers to them. It is set only where Native is [Joinable], or [Parts].
	Pruned bool
	// Encoding is that of the texts in the file, if the decoder tells it. Here they are UTF-8 (see
	// [Text]).
	Encoding Encoding
	// CheapNext reports that reading one event more of each location costs less than another scan, since
	// the file is read in large blocks.
	CheapNext bool
	// ClaimLines reports that the begin and the end of a claim are one record of the file: their rows have
	// the same position, which no other row has.
	ClaimLines bool
	// Properties are the properties of the trace as a whole.
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
	// Operations are the collective operations that the trace numbers itself (see
	// Conventions.OwnOperations). An ID is the number that events use. The attribute "type" is the
	// type of the operation.
	Operations Table[Named]
	// Opaque holds definitions of the format for which the model has no table.
	Opaque Table[Opaque]
}

// LocationKind is the type of source that a location's events come from.
type LocationKind string

// The kinds of locations.
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
	ValueLocation    LocationKind = "value"    // all events with one value of an attribute, at any location
)

// IsProcessor reports whether locations of this kind are processors or belong to one.
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

// Label returns the location's name, or its id when it has no name.
func (l *Location) Label() string { return cmp.Or(l.Name, l.ID) }

// LocationGroup is a process, node or machine. Groups form a tree above the locations.
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

// MetricKind is the way in which the values of a metric are recorded.
type MetricKind string

// The kinds of metrics.
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
	Mode  string     `json:"mode,omitempty"` // OTF2's metric mode, such as "ABSOLUTE_POINT"
	Group string     `json:"group,omitempty"`
	Type  Type       `json:"type"` // the type of the value's bits, see [Batch.AddOps]
	// Location is the location of the metric's events, or NoRef if they may be at any. The zero value
	// is the first location.
	Location uint32 `json:"location"`
	Attrs    []Attr `json:"attributes,omitempty"`
	// Undefined marks a stand-in: events refer to the metric, but the trace does not define it.
	Undefined bool `json:"undefined,omitempty"`
}

// Resource is something that has a capacity, of which claims hold amounts.
type Resource struct {
	ID         string  `json:"id"`
	Name       string  `json:"name,omitempty"`
	Unit       string  `json:"unit,omitempty"`
	Capacity   float64 `json:"capacity"`
	UsesOffset bool    `json:"usesOffset"`
	Location   uint32  `json:"location"` // the location of its claims
	Attrs      []Attr  `json:"attributes,omitempty"`
	// Undefined marks a stand-in: claims refer to the resource, but the trace does not define it.
	Undefined bool `json:"undefined,omitempty"`
}

// Label returns the resource's name, or its id when it has no name.
func (r *Resource) Label() string { return cmp.Or(r.Name, r.ID) }

// AttributeDef names an attribute of events.
type AttributeDef struct {
	ID   string `json:"id,omitempty"`
	Name string `json:"name"`
	Type Type   `json:"type,omitempty"`
	Doc  string `json:"doc,omitempty"`
	// Reserved reports that a transform defined the attribute before knowing whether any event gets
	// it. If no event has it, an encoder may leave out the definition.
	Reserved bool `json:"-"`
}

// KindDef is a kind that the trace declares itself. Two kinds are equal if format, name and
// operands are equal.
type KindDef struct {
	Format string
	KindSpec
}

// Named is a definition that has only an id, a name and attributes.
type Named struct {
	ID    string `json:"id"`
	Name  string `json:"name,omitempty"`
	Attrs []Attr `json:"attributes,omitempty"`
}

// Encoding is an encoding of texts.
type Encoding uint8

// The encodings.
const (
	UnknownEncoding Encoding = iota // or ASCII, which is part of both others
	UTF8
	Latin1
)

// Opaque is a record that only its own format can interpret.
type Opaque struct {
	Format string
	Data   string
}

// CheckTree returns an error for the first location group or communicator that is its own ancestor.
// Such a trace cannot be written. Note that a Parent left 0 is the first entry; an entry without
// parent has NoRef.
func (d *Definitions) CheckTree() error {
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
	if err := ring("location group", d.Groups.Len(),
		func(i int) uint32 { return d.Groups.At(uint32(i)).Parent }); err != nil {
		return err
	}
	return ring("communicator", d.Communicator.Len(), func(i int) uint32 { return d.Communicator.At(uint32(i)).Parent })
}

// Property returns the value of the trace's property with the given name.
func (d *Definitions) Property(key string) (Value, bool) {
	for _, a := range d.Properties.All() {
		if a.Key == key {
			return a.Value, true
		}
	}
	return Value{}, false
}
