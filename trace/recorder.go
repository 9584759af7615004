package trace

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Recorder collects the events of a program or simulator in memory, while it runs. format.Save
// writes them in any format. The methods identify locations, regions and resources by the indexes
// that the defining methods return. A Recorder is not safe for concurrent use.
type Recorder struct {
	defs    Definitions
	rows    [][]*Batch // batches of each location
	late    []bool     // whether a location has events out of time order; indexed by location
	regions map[string]uint32
	attrs   map[string]uint32
	links   []Link
	claims  int64
	open    map[int64]openClaim
	err     error // the first event that the recorder refused
}

// openClaim is the resource that an open claim holds, and its activity.
type openClaim struct{ resource, region uint32 }

// NewRecorder returns an empty Recorder whose times are ticks of the clock c.
func NewRecorder(c Clock) *Recorder {
	r := &Recorder{regions: map[string]uint32{}, attrs: map[string]uint32{}, open: map[int64]openClaim{}}
	r.defs.Clock = c
	return r
}

// Defs returns the definitions so far. The caller may add entries.
func (r *Recorder) Defs() *Definitions { return &r.defs }

// Location defines a source of events that belongs to no process, and returns its index.
func (r *Recorder) Location(name string) uint32 { return r.Thread(name, NoRef) }

// Machine defines a machine, which is a root of the tree of groups, and returns the group's index.
func (r *Recorder) Machine(name string) uint32 { return r.group(name, "machine", NoRef) }

// Process defines a process and returns the group's index. machine is the group of its machine, or
// NoRef.
func (r *Recorder) Process(name string, machine uint32) uint32 {
	return r.group(name, "process", machine)
}

func (r *Recorder) group(name, kind string, parent uint32) uint32 {
	id := strconv.Itoa(r.defs.Groups.Len())
	return r.defs.Groups.Add(LocationGroup{ID: id, Name: name, Kind: kind, Parent: parent})
}

// Thread defines a source of events in a process and returns the location's index. process is a
// group, or NoRef.
func (r *Recorder) Thread(name string, process uint32) uint32 {
	id := strconv.Itoa(r.defs.Locations.Len())
	return r.defs.Locations.Add(Location{ID: id, Name: name, Kind: ThreadLocation, Group: process})
}

// Region returns the index of the region called name, which it defines on first use.
func (r *Recorder) Region(name string) uint32 {
	i, ok := r.regions[name]
	if !ok {
		i = r.defs.Regions.Add(Region{ID: strconv.Itoa(r.defs.Regions.Len()), Name: name})
		r.regions[name] = i
	}
	return i
}

// Resource defines a resource and returns its index. unit is the unit of its capacity and of the
// amounts of claims. The capacity must be finite; no format keeps another one, and saving the trace fails.
// The claims of the resource get a location.
func (r *Recorder) Resource(name string, capacity float64, unit string) uint32 {
	loc := r.defs.Locations.Add(Location{ID: strconv.Itoa(r.defs.Locations.Len()), Name: name, Kind: ResourceLocation,
		Group: NoRef})
	return r.defs.Resources.Add(Resource{ID: strconv.Itoa(r.defs.Resources.Len()), Name: name, Capacity: capacity,
		Unit: unit, Location: loc,
		Attrs: []Attr{{"name", StringValue(name)}, {"unit", StringValue(unit)}}})
}

// Counter defines a counter and returns its index. unit is the unit of its values.
func (r *Recorder) Counter(name, unit string) uint32 {
	return r.defs.Metrics.Add(MetricDef{ID: strconv.Itoa(r.defs.Metrics.Len()), Name: name, Unit: unit,
		Kind: CounterMetric, Mode: "ABSOLUTE_NEXT", Type: Float64, Location: NoRef})
}

// Event records an event of any kind with its operands, in the order of [Kind.Spec], and
// attributes. Enter, Leave, Mark, Value, Send and Recv are shorter for common kinds. The location must be defined, see
// [Recorder.Err].
func (r *Recorder) Event(loc uint32, t int64, k Kind, ref uint32, ops []uint64, attrs ...Attr) {
	if !r.defs.Locations.Has(loc) {
		r.refuse("an event at location %d, expected one of the %d defined locations", loc, r.defs.Locations.Len())
		return
	}
	for int(loc) >= len(r.rows) {
		r.rows = append(r.rows, nil)
		r.late = append(r.late, false)
	}
	list := r.rows[loc]
	if n := len(list); n == 0 || list[n-1].Len() == BatchRows {
		list = append(list, &Batch{Loc: loc})
		r.rows[loc] = list
	}
	b := list[len(list)-1]
	if n := b.Len(); n > 0 && b.Time[n-1] > t ||
		n == 0 && len(list) > 1 && slices.Max(list[len(list)-2].Time[BatchRows-1:]) > t {
		r.late[loc] = true
	}
	b.Add(loc, t, k, ref)
	if len(ops) > 0 {
		b.AddOps(ops...)
	}
	for _, a := range attrs {
		key, ok := r.attrs[a.Key]
		if !ok {
			key = r.defs.Attributes.Add(AttributeDef{Name: a.Key, Type: a.Value.Type})
			r.attrs[a.Key] = key
		}
		b.AddAttr(key, a.Value)
	}
}

// refuse keeps the text about the first event that is refused.
func (r *Recorder) refuse(text string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("found "+text, args...)
	}
}

// Err returns an error about the first event that the recorder refused, because its location or resource was not
// defined, or else about the first definition, event or link that refers to an entry of a table that is not defined.
// [NoRef] and [Undefined] refer to nothing, and are no errors. A trace with an error cannot be saved.
func (r *Recorder) Err() error {
	if r.err != nil {
		return r.err
	}
	d := &r.defs
	for i, g := range d.Groups.All() {
		if g.Parent != NoRef && !d.Groups.Has(g.Parent) {
			return fmt.Errorf("group %d: found the undefined parent %d, expected a defined group or NoRef", i, g.Parent)
		}
	}
	for i, l := range d.Locations.All() {
		if l.Group != NoRef && !d.Groups.Has(l.Group) {
			return fmt.Errorf("location %d: found the undefined group %d, expected a defined group or NoRef", i, l.Group)
		}
	}
	for loc, list := range r.rows {
		for _, b := range list {
			c := b.Cursor()
			for c.Next() {
				if what := r.undefined(&c); what != "" {
					return fmt.Errorf("location %d, tick %d: found %s with the undefined %s, expected a defined one", loc, c.Time(),
						d.Spec(c.Kind()).Name, what)
				}
			}
		}
	}
	for _, l := range r.links {
		for _, e := range []End{l.Src, l.Dst} {
			if e.Location != NoRef && !d.Locations.Has(e.Location) || e.Kind > AtLocation {
				return fmt.Errorf("link %d: found an end of kind %d at location %d, expected a defined kind and location", l.ID,
					e.Kind, e.Location)
			}
		}
	}
	return nil
}

// undefined returns the name and the number of a reference of an event whose entry is not defined, or "".
func (r *Recorder) undefined(c *Cursor) string {
	k := c.Kind()
	if i := int64(k) - int64(Declared); k >= kindCount && (i < 0 || i >= int64(r.defs.Kinds.Len())) {
		return fmt.Sprintf("kind %d", k)
	}
	spec := r.defs.Spec(k)
	if ref := c.Ref(); ref != NoRef && spec.Ref != RefNone {
		if _, ok := r.defs.RefName(spec.Ref, ref); !ok {
			return fmt.Sprintf("%s %d", spec.Ref, ref)
		}
	}
	for i, v := range c.Ops() {
		if i >= len(spec.Operands) || v == Undefined {
			continue
		}
		switch o := spec.Operands[i]; o.Type {
		case OpString, OpLocation, OpRegion, OpCommunicator, OpMetric, OpResource, OpGroup, OpFile, OpHandle:
			if _, ok := r.defs.OperandName(o.Type, v); !ok {
				return fmt.Sprintf("%s %d", o.Name, v)
			}
		}
	}
	return ""
}

// Enter records that a region is entered at a location at time t.
func (r *Recorder) Enter(loc uint32, t int64, region uint32, attrs ...Attr) {
	r.Event(loc, t, Enter, region, nil, attrs...)
}

// Leave records that a region is left at a location at time t.
func (r *Recorder) Leave(loc uint32, t int64, region uint32) { r.Event(loc, t, Leave, region, nil) }

// Mark records an event without duration, which is named by a region.
func (r *Recorder) Mark(loc uint32, t int64, region uint32, attrs ...Attr) {
	r.Event(loc, t, Mark, region, nil, attrs...)
}

// Value records a value of a counter, which applies from time t on.
func (r *Recorder) Value(loc uint32, t int64, counter uint32, value float64) {
	r.Event(loc, t, Metric, counter, []uint64{math.Float64bits(value)})
}

// Send records that a message of length bytes is sent from loc to the location to, which is NoRef if it is unknown.
func (r *Recorder) Send(loc uint32, t int64, to uint32, tag int64, length uint64) {
	r.Event(loc, t, Send, NoRef, []uint64{peer(to), Undefined, uint64(tag), length})
}

// Recv records that a message of length bytes, sent by the location from, is received at loc. from is NoRef if it is
// unknown.
func (r *Recorder) Recv(loc uint32, t int64, from uint32, tag int64, length uint64) {
	r.Event(loc, t, Recv, NoRef, []uint64{peer(from), Undefined, uint64(tag), length})
}

// peer returns the operand for a location.
func peer(loc uint32) uint64 {
	if loc == NoRef {
		return Undefined
	}
	return uint64(loc)
}

// Claim records that an activity, which is a region, begins to hold an amount of a resource. It
// returns the id of the claim, for Release and for links.
func (r *Recorder) Claim(resource uint32, t int64, activity uint32, amount float64, attrs ...Attr) int64 {
	id := r.claims
	r.claims++
	if !r.defs.Resources.Has(resource) {
		r.refuse("a claim of resource %d, expected one of the %d defined resources", resource, r.defs.Resources.Len())
		return id
	}
	r.open[id] = openClaim{resource, activity}
	r.Event(r.defs.Resources.At(resource).Location, t, ClaimBegin, activity,
		[]uint64{uint64(id), uint64(resource), math.Float64bits(amount)}, attrs...)
	return id
}

// Release records that a claim ends at time t. It does nothing if the claim is not open.
func (r *Recorder) Release(claim, t int64) {
	c, ok := r.open[claim]
	if !ok {
		return
	}
	delete(r.open, claim)
	r.Event(r.defs.Resources.At(c.resource).Location, t, ClaimEnd, c.region, []uint64{uint64(claim), uint64(c.resource)})
}

// Link records a link between two points of the trace.
func (r *Recorder) Link(src, dst End, attrs ...Attr) {
	r.links = append(r.links, Link{ID: int64(len(r.links)), Src: src, Dst: dst, Attrs: attrs})
}

// Links returns the links so far. The caller must not change them.
func (r *Recorder) Links() []Link { return r.links }

// Batches returns the events of a location in time order. Events of the same time are in the order
// in which they were recorded. The batches belong to the Recorder, and are valid until another
// event is recorded.
func (r *Recorder) Batches(loc uint32) []*Batch {
	if int(loc) >= len(r.rows) {
		return nil
	}
	if r.late[loc] {
		r.rows[loc] = sortBatches(loc, r.rows[loc])
		r.late[loc] = false
	}
	return r.rows[loc]
}

// sortBatches returns the rows of batches in time order. Rows of the same time keep their order.
func sortBatches(loc uint32, list []*Batch) []*Batch {
	type place struct {
		time int64
		c    Cursor
	}
	var rows []place
	for _, b := range list {
		c := b.Cursor()
		for c.Next() {
			rows = append(rows, place{c.Time(), c})
		}
	}
	slices.SortStableFunc(rows, func(a, b place) int { return cmp.Compare(a.time, b.time) })
	var out []*Batch
	for i := range rows {
		if i%BatchRows == 0 {
			out = append(out, &Batch{Loc: loc})
		}
		out[len(out)-1].AppendRow(&rows[i].c)
	}
	return out
}
