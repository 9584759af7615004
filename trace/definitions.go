package trace

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/weft-trace/weft/internal/forest"
)

// Table is a list of definitions that only grows, also while other goroutines read it. If a format
// has definitions among its events, decoders add them during a scan, before the first batch that
// refers to them is delivered. An entry is not changed after Add. The zero Table is empty and ready
// to use.
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

// Has reports whether entry i exists. It never does for [NoRef].
func (t *Table[T]) Has(i uint32) bool { return uint64(i) < uint64(t.Len()) }

// At returns entry i, which must exist. The caller must not change it.
func (t *Table[T]) At(i uint32) *T { return &(*t.list.Load())[i] }

// All returns all entries so far. The caller must not change them.
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

// ByNumber returns the indexes of the entries whose id is a decimal number of 64 bits, by this number. The function id
// returns the id of an entry. Numbers without sign from 2^63 on have the negative key with the same bits. If several
// entries have the same number, the map has the last one.
func (t *Table[T]) ByNumber(id func(*T) string) map[int64]uint32 {
	m := map[int64]uint32{}
	for i := range uint32(t.Len()) {
		text := id(t.At(i))
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			m[n] = i
		} else if n, err := strconv.ParseUint(text, 10, 64); err == nil {
			m[int64(n)] = i
		}
	}
	return m
}

// Renamable marks a value of [Definitions.Native] whose encoder supports [Definitions.Rename]. The
// encoder then copies no text of the file unchanged, and writes neither lines of source code nor
// the time of day.
type Renamable interface{ Renamable() }

// Restored marks the value of [Definitions.Native] of a trace that weft had converted to this format from another one.
// The encoder writes its definitions as for any conversion, and takes only the trace's id and the codes of kinds from
// the value.
type Restored interface{ Restored() }

// Joinable marks a value of [Definitions.Native] whose encoder also accepts [SourceTraces] of such
// values, and supports [Definitions.Pruned].
type Joinable interface {
	// Joinable returns whether several joined traces may have events of the same location.
	Joinable() (shared bool)
}

// Mendable is implemented by a value of [Definitions.Native] whose file may have defects that its encoder mends if
// [Definitions.Repaired] is set.
type Mendable interface {
	// Mended returns these defects, without their rules. It must be called after all events have been read.
	Mended() []Defect
}

// SourceTraces is the [Definitions.Native] of a trace that was merged from traces of one format, or
// from which definitions were removed. The Native of each trace in List is [Joinable]. The encoder
// of the format writes the records of all of them.
type SourceTraces struct {
	List  []SourceTrace
	First int64 // a time in ticks at or before the first event
}

// SourceTrace is one of the traces from which a trace was merged.
type SourceTrace struct {
	Defs *Definitions // definitions of the trace, with its Native
	// Retimed is set if the events have other times than in the trace's file.
	Retimed bool
	// Index returns the index in the merged trace of entry i of a table of Defs. It returns [NoRef] if
	// the merged trace does not have the entry. table is a pointer to the table.
	Index func(table any, i uint32) uint32
	// Time converts a time of the trace to the merged trace. ok is false if it does not fit an
	// int64.
	Time func(t int64) (merged int64, ok bool)
	// Operation converts the number of a collective operation to the merged trace. It is used for
	// traces that number operations themselves (Conventions.OwnOperations).
	Operation func(number uint64) uint64
}

// Definitions holds the definitions of a trace. Events refer to entries by their
// index in a table. Each entry also has the id by which the file identifies it. Ids are texts,
// because they may consist of several numbers.
type Definitions struct {
	Clock Clock
	// Format is the name of the format of the file from which the trace was read.
	Format string
	// Origin is the name of the format that defined the ids of entries. It differs from Format if
	// the trace was converted.
	Origin string
	// Conventions holds the conventions of the format called Origin.
	Conventions Conventions
	// Roles returns the role that the user assigns to a region. It takes precedence over the trace
	// and over names. If Roles is nil or returns UnknownRole, the role comes from the trace.
	Roles func(r *Region) Role
	// Native is the decoder's own representation of the definitions, for the encoder of the same
	// format. With it, the encoder writes unchanged records exactly as they are in the file. It
	// relies on the ids of entries: code that builds new definitions must set it to nil or to
	// [SourceTraces], unless all entries keep their ids and names. Entries may be added.
	Native any
	// Rename returns the replacement of a text in the file of Native; nil means no replacement.
	// word is set if the format uses the text as a keyword, such as a unit or the name of an
	// attribute. A keyword must stay unless it is also a name that is replaced. Rename is only set
	// if Native is [Renamable].
	Rename func(text string, word bool) string
	// Retimed is set if events have other times than in the file of Native. Transforms that change
	// times set it.
	Retimed bool
	// Repaired is set if defects of Native's file that were repaired during reading must be written
	// in their repaired form. Transforms that repair a trace set it.
	Repaired bool
	// Pruned is set if the encoder must leave out the records of Native's file to which no entry and no
	// event refers. It is set only if Native is [Joinable] or is a [SourceTraces].
	Pruned bool
	// Dropped reports whether a transform drops all rows of a kind of states but not all events that they describe. A
	// record that announces such rows is then wrong. Transforms that drop states set it; nil means that none does.
	Dropped func(k Kind) bool
	// Layout is the name of the layout of the file, if its format has several and a trace that is encoded as a whole
	// keeps it. Only the encoder of the same format uses it.
	Layout string
	// Encoding is the encoding of texts in the file, if the decoder has determined it. The texts in
	// Definitions are UTF-8 (see [ToUTF8]).
	Encoding Encoding
	// CheapNext is set if it costs less to read one more event of each location than to scan once more,
	// because the file is read in large blocks.
	CheapNext bool
	// ClaimLines is set if the begin and the end of a claim are in one record. Their rows have the
	// same position, and no other rows have it.
	ClaimLines bool
	// ByLocation is set if no time is negative, simultaneous events of different locations come in the order of their
	// locations, and the trace has no markers, which formats store in the order of time. An encoder that stores each
	// location separately then need not merge the locations in the order of time. A transform that breaks this promise
	// sets ByLocation to false.
	ByLocation bool
	// Contiguous is set if a scan of each location in time order delivers all events of a location before those of the
	// next one. A transform sets it only if it keeps this order.
	Contiguous bool
	// ValueNames holds the names of what values refer to, for types of references without a table. They are for display
	// only: transforms and encoders need not keep them. A value with several names has the name "".
	ValueNames map[Value]string
	// Properties holds the properties of the trace as a whole.
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
	// Operations holds the collective operations that the trace numbers itself (see
	// Conventions.OwnOperations). The number in events is the ID. The attribute "type" is the type
	// of the operation.
	Operations     Table[Named]
	operationNames operationNames
	// Opaque holds definitions of the format for which Definitions has no table.
	Opaque Table[Opaque]
}

// LocationKind is the kind of source that the events of a location come from.
type LocationKind string

// A location is one of these kinds of event sources.
const (
	ProcessLocation  LocationKind = "process"
	ThreadLocation   LocationKind = "thread"
	StreamLocation   LocationKind = "stream"
	ResourceLocation LocationKind = "resource" // claims on a resource
	SignalLocation   LocationKind = "signal"   // values of a signal or series
	EventsLocation   LocationKind = "events"   // events whose location the trace does not name
	HostLocation     LocationKind = "host"     // the processor of the host in PICL
	ScopeLocation    LocationKind = "scope"    // records of PICL about all processors or a subset of them
	PeerLocation     LocationKind = "peer"     // occurs only as the other side of messages
	ValueLocation    LocationKind = "value"    // events with one value of an attribute, from all locations
)

// IsProcessor reports whether locations of this kind are processors, or processes and threads on
// one.
func (k LocationKind) IsProcessor() bool {
	switch k {
	case ProcessLocation, ThreadLocation, StreamLocation, PeerLocation, "":
		return true
	}
	return false
}

// Location is a source of events, such as a thread. Its events are in time order. Several locations may have the same
// name; [Definitions.FullNames] returns names that differ.
type Location struct {
	ID    string       `json:"id"`
	Name  string       `json:"name,omitempty"`
	Kind  LocationKind `json:"kind,omitempty"`
	Group uint32       `json:"group"` // index into Definitions.Groups, or NoRef
	Attrs []Attr       `json:"attributes,omitempty"`
}

// Label returns the name of the location, or its id if it has no name.
func (l *Location) Label() string { return cmp.Or(l.Name, l.ID) }

// LocationGroup is a process, node or machine. Groups form a tree with locations below them.
type LocationGroup struct {
	ID     string `json:"id"`
	Name   string `json:"name,omitempty"`
	Kind   string `json:"kind,omitempty"`
	Parent uint32 `json:"parent"` // index into Definitions.Groups, or NoRef
	Attrs  []Attr `json:"attributes,omitempty"`
}

// CreatorAttribute names the attribute of a location group whose text names the process that has created the group, as
// a process that uses a device does: its name in quotes, and its id, as in "rank 3" <7>.
const CreatorAttribute = "creator"

// Region is a named piece of code, such as a function, or a named activity.
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

// Communicator is a set of locations that communicate with each other by ranks.
type Communicator struct {
	ID     string `json:"id"`
	Name   string `json:"name,omitempty"`
	Set    uint32 `json:"set"`    // index into Definitions.Sets, or NoRef
	Parent uint32 `json:"parent"` // index into Definitions.Communicator, or NoRef
	Attrs  []Attr `json:"attributes,omitempty"`
}

// Set is a named list of ids, such as the members of a communicator, a subset in PICL, or a group
// of regions.
type Set struct {
	ID      string  `json:"id"`
	Name    string  `json:"name,omitempty"`
	Kind    string  `json:"kind,omitempty"`
	Members []int64 `json:"members"`
	Attrs   []Attr  `json:"attributes,omitempty"`
}

// MetricKind is the form in which the values of a metric are recorded.
type MetricKind string

// The kinds of metrics.
const (
	CounterMetric MetricKind = "counter"
	SignalMetric  MetricKind = "signal" // piecewise polynomial
	SeriesMetric  MetricKind = "series" // samples
)

// MetricDef is a counter, a signal or a series. The values are in events of the kind [Metric].
type MetricDef struct {
	ID    string     `json:"id"`
	Name  string     `json:"name,omitempty"`
	Unit  string     `json:"unit,omitempty"`
	Kind  MetricKind `json:"kind,omitempty"`
	Mode  string     `json:"mode,omitempty"` // such as "ABSOLUTE_POINT", in the words of the trace's format
	Group string     `json:"group,omitempty"`
	Type  Type       `json:"type"` // type of the values (see [Batch.AddOps])
	// Location is the location of the metric's events, or NoRef if any location may have them. The
	// zero value is location 0.
	Location uint32 `json:"location"`
	Attrs    []Attr `json:"attributes,omitempty"`
	// Undefined marks a stand-in for a metric to which events refer and that the trace does not define.
	Undefined bool `json:"undefined,omitempty"`
}

// Accumulates reports whether a counter with this mode holds totals that only grow: the difference of
// two values is the amount counted between them. A mode that names a property and a time in two
// words ("ACC/LAST") restarts at each value, unless the time is the start.
func Accumulates(mode string) bool {
	return strings.HasPrefix(mode, "ACC/START") || strings.HasPrefix(mode, "ACCUMULATED_")
}

// Resource has a capacity, such as a processor or a memory. Each claim on it holds an amount of the capacity.
type Resource struct {
	ID         string  `json:"id"`
	Name       string  `json:"name,omitempty"`
	Unit       string  `json:"unit,omitempty"`
	Capacity   float64 `json:"capacity"`
	UsesOffset bool    `json:"usesOffset"`
	Location   uint32  `json:"location"` // location of the claims
	Attrs      []Attr  `json:"attributes,omitempty"`
	// Undefined marks a stand-in for a resource to which claims refer and that the trace does not
	// define.
	Undefined bool `json:"undefined,omitempty"`
}

// Label returns the name of the resource, or its id if it has no name.
func (r *Resource) Label() string { return cmp.Or(r.Name, r.ID) }

// AttributeDef is the name and type of an attribute of events.
type AttributeDef struct {
	ID   string `json:"id,omitempty"`
	Name string `json:"name"`
	Type Type   `json:"type,omitempty"`
	Doc  string `json:"doc,omitempty"`
	// Reserved is set if a transform has defined the attribute in advance. If no event has it in
	// the end, an encoder may leave out the definition.
	Reserved bool `json:"-"`
}

// KindDef is a kind of events that the trace itself declares. Two such kinds are equal if their
// format, name and operands are equal.
type KindDef struct {
	Format string
	KindSpec
}

// Named is a definition that consists of an id, a name and attributes.
type Named struct {
	ID    string `json:"id"`
	Name  string `json:"name,omitempty"`
	Attrs []Attr `json:"attributes,omitempty"`
}

// Encoding is the encoding of the texts in a file.
type Encoding uint8

// These are the ways in which a text may be encoded.
const (
	UnknownEncoding Encoding = iota // also for ASCII texts, which are the same in both other encodings
	UTF8
	Latin1
)

// Opaque is a definition that only code for its format can interpret.
type Opaque struct {
	Format string
	Type   string `json:",omitempty"` // the format's own name of the record's type
	Data   string
}

// opaqueJSON is the form of an [Opaque] in JSON, whose texts are UTF-8. Bytes holds data that are not.
type opaqueJSON struct {
	Format string
	Type   string `json:",omitempty"`
	Data   string `json:",omitempty"`
	Bytes  []byte `json:",omitempty"`
}

// MarshalJSON implements [json.Marshaler].
func (o Opaque) MarshalJSON() ([]byte, error) {
	x := opaqueJSON{Format: o.Format, Type: o.Type}
	if utf8.ValidString(o.Data) {
		x.Data = o.Data
	} else {
		x.Bytes = []byte(o.Data)
	}
	return json.Marshal(x)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (o *Opaque) UnmarshalJSON(b []byte) error {
	var x opaqueJSON
	if err := json.Unmarshal(b, &x); err != nil {
		return err
	}
	*o = Opaque{x.Format, x.Type, x.Data + string(x.Bytes)}
	return nil
}

// NameValue adds a name to ValueNames. Values that have several names get none.
func (d *Definitions) NameValue(v Value, name string) {
	if d.ValueNames == nil {
		d.ValueNames = map[Value]string{}
	}
	if other, known := d.ValueNames[v]; known && name != other {
		name = ""
	}
	d.ValueNames[v] = name
}

// CheckTree returns an error if a location group or communicator is its own ancestor. Such a trace cannot be
// written. The Parent of an entry without a parent must be NoRef: a Parent that was left at zero refers to
// entry 0.
func (d *Definitions) CheckTree() error {
	ring := func(what string, n int, parent func(i int) uint32) error {
		var f forest.Forest
		for i := range n {
			if p := parent(i); int64(p) < int64(n) && !f.Add(uint32(i), p) {
				return fmt.Errorf("%s %d: found a cycle of parents, expected a tree; the parent of a root is NoRef", what, i)
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

// Property returns the value of the property of the trace with the given name, and whether the
// trace has it.
func (d *Definitions) Property(key string) (Value, bool) {
	for _, a := range d.Properties.All() {
		if a.Key == key {
			return a.Value, true
		}
	}
	return Value{}, false
}

// ClaimID returns a number that the begin and the end of a claim share, and that no other open claim at
// the location has. Usually this is the id of the claim. If begin and end are in one record
// (ClaimLines), it is the position of that record, because a damaged trace may use an id twice.
func (d *Definitions) ClaimID(c *Cursor) int64 {
	if d.ClaimLines {
		if pos := c.Pos(); pos > 0 {
			return pos
		}
	}
	return int64(c.Op(0))
}

// ClaimID returns the [Definitions.ClaimID] of the claim at which a link begins or ends.
func (e *End) ClaimID(d *Definitions) int64 {
	if d.ClaimLines && e.Pos > 0 {
		return e.Pos
	}
	return e.ID
}

// AttributesAlone reports whether all names and places of claims and events are in their attributes.
// This is not the case for a trace that was converted from another format, even if it is stored as
// lines of claims.
func (d *Definitions) AttributesAlone() bool { return d.ClaimLines && d.Origin == d.Format }
