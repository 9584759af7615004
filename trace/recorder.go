package trace

import (
	"cmp"
	"math"
	"slices"
	"strconv"
)

// Recorder collects the events of a running program or simulator in memory. Afterwards format.Save
// writes them in any format. A Recorder is not safe for concurrent use. Its methods take locations,
// regions and resources as the indices that the defining methods return.
type Recorder struct {
	defs    Definitions
	rows    [][]*Batch // by location
	late    []bool     // locations that have events out of time order
	regions map[string]uint32
	attrs   map[string]uint32
	links   []Link
	claims  int64
	open    map[int64]claimed
}

type claimed struct{ resource, region uint32 }

// NewRecorder starts a trace with the given clock.
func NewRecorder(c Clock) *Recorder {
	r := &Recorder{regions: map[string]uint32{}, attrs: map[string]uint32{}, open: map[int64]claimed{}}
	r.defs.Clock = c
	return r
}

// Defs returns the definitions recorded so far. The caller may add to them.
func (r *Recorder) Defs() *Definitions { return &r.defs }

// Location defines a source of events, such as a thread or a processor.
func (r *Recorder) Location(name string) uint32 { return r.Thread(name, NoRef) }

// Machine defines a machine, the root of the tree of groups.
func (r *Recorder) Machine(name string) uint32 { return r.group(name, "machine", NoRef) }

// Process defines a process on a machine. machine may be NoRef.
func (r *Recorder) Process(name string, machine uint32) uint32 {
	return r.group(name, "process", machine)
}

func (r *Recorder) group(name, kind string, parent uint32) uint32 {
	id := strconv.Itoa(r.defs.Groups.Len())
	return r.defs.Groups.Add(LocationGroup{ID: id, Name: name, Kind: kind, Parent: parent})
}

// Thread defines a source of events in a process.
func (r *Recorder) Thread(name string, process uint32) uint32 {
	id := strconv.Itoa(r.defs.Locations.Len())
	return r.defs.Locations.Add(Location{ID: id, Name: name, Kind: ThreadLocation, Group: process})
}

// Region defines named code or an activity, and returns the same region for the same name.
func (r *Recorder) Region(name string) uint32 {
	i, ok := r.regions[name]
	if !ok {
		i = r.defs.Regions.Add(Region{ID: strconv.Itoa(r.defs.Regions.Len()), Name: name})
		r.regions[name] = i
	}
	return i
}

// Resource defines something that can be claimed, with its capacity and the unit of its amounts.
// Its claims get a location of their own.
func (r *Recorder) Resource(name string, capacity float64, unit string) uint32 {
	loc := r.defs.Locations.Add(Location{ID: strconv.Itoa(r.defs.Locations.Len()), Name: name, Kind: ResourceLocation,
		Group: NoRef})
	return r.defs.Resources.Add(Resource{ID: strconv.Itoa(r.defs.Resources.Len()), Name: name, Capacity: capacity,
		Unit: unit, Location: loc,
		Attrs: []Attr{{"name", StringValue(name)}, {"unit", StringValue(unit)}}})
}

// Counter defines something that is counted or measured, with the unit of its values.
func (r *Recorder) Counter(name, unit string) uint32 {
	return r.defs.Metrics.Add(MetricDef{ID: strconv.Itoa(r.defs.Metrics.Len()), Name: name, Unit: unit,
		Kind: CounterMetric, Mode: "ABSOLUTE_NEXT", Type: Float64, Location: NoRef})
}

// Event records an event of any kind with its operands and attributes. The methods below are
// shorter for the common kinds.
func (r *Recorder) Event(loc uint32, t int64, k Kind, ref uint32, ops []uint64, attrs ...Attr) {
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

// Enter records that a region is entered at a location.
func (r *Recorder) Enter(loc uint32, t int64, region uint32, attrs ...Attr) {
	r.Event(loc, t, Enter, region, nil, attrs...)
}

// Leave records that a region is left.
func (r *Recorder) Leave(loc uint32, t int64, region uint32) { r.Event(loc, t, Leave, region, nil) }

// Mark records an event without duration.
func (r *Recorder) Mark(loc uint32, t int64, region uint32, attrs ...Attr) {
	r.Event(loc, t, Mark, region, nil, attrs...)
}

// Value records a counter's value, which holds from time t on.
func (r *Recorder) Value(loc uint32, t int64, counter uint32, value float64) {
	r.Event(loc, t, Metric, counter, []uint64{math.Float64bits(value)})
}

// Send records that a message of length bytes leaves for another location.
func (r *Recorder) Send(loc uint32, t int64, to uint32, tag int64, length uint64) {
	r.Event(loc, t, Send, NoRef, []uint64{uint64(to), Undefined, uint64(tag), length})
}

// Recv records that a message of length bytes has arrived from another
// location.
func (r *Recorder) Recv(loc uint32, t int64, from uint32, tag int64, length uint64) {
	r.Event(loc, t, Recv, NoRef, []uint64{uint64(from), Undefined, uint64(tag), length})
}

// Claim records that an activity begins to hold an amount of a resource, and
// returns the claim's id for Release and for links.
func (r *Recorder) Claim(resource uint32, t int64, activity uint32, amount float64, attrs ...Attr) int64 {
	id := r.claims
	r.claims++
	r.open[id] = claimed{resource, activity}
	r.Event(r.defs.Resources.At(resource).Location, t, ClaimBegin, activity,
		[]uint64{uint64(id), uint64(resource), math.Float64bits(amount)}, attrs...)
	return id
}

// Release records that a claim ends. The id of a claim that is not open is ignored.
func (r *Recorder) Release(claim, t int64) {
	c, ok := r.open[claim]
	if !ok {
		return
	}
	delete(r.open, claim)
	r.Event(r.defs.Resources.At(c.resource).Location, t, ClaimEnd, c.region, []uint64{uint64(claim), uint64(c.resource)})
}

// Link records an arrow between two points of the trace.
func (r *Recorder) Link(src, dst End, attrs ...Attr) {
	r.links = append(r.links, Link{ID: int64(len(r.links)), Src: src, Dst: dst, Attrs: attrs})
}

// Links returns the links recorded so far. The caller must not change them.
func (r *Recorder) Links() []Link { return r.links }

// Batches returns the events of a location in time order. Events with equal times keep the order in
// which they were recorded. The batches belong to the recorder and are valid until the next event
// is recorded.
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

func sortBatches(loc uint32, list []*Batch) []*Batch {
	type place struct {
		time int64
		c    Cursor
	}
	var rows []place
	for _, b := range list {
		for c := b.Cursor(); c.Next(); {
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
