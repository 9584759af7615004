// Package counts counts the events of a trace: by kind, by region, by location and by attribute.
//
// Derived rows repeat information of another row of the same record. Only the fields Derived count them. A
// metric event of several members has a row for each member, and counts once. Therefore the fields Events are
// numbers of records. Definition records are not counted.
//
// A part does not need an order across locations. Its memory is proportional to the definitions.
package counts

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weft-trace/weft/trace"
)

// Part counts the events of some locations of a trace.
type Part struct {
	defs  *trace.Definitions
	kinds []kind // indexed by trace.Kind
	// regions holds the number of events of each region, indexed by the region's index plus 1. Element 0 counts
	// events of unknown regions.
	regions   []int64
	locations []location
	attrs     []int64
	links     int64
}

// kind counts the rows of a kind, and has the properties of the kind that Batch needs.
type kind struct {
	events, derived int64
	region          bool // Ref is a region in events of the kind
	// hasEnd is set if events of the kind have an end time. known is set as soon as the other fields are set.
	hasEnd bool
	known  bool
}

// location counts the rows of a location. Times are in ticks.
type location struct {
	rows, derived int64
	members       int64 // rows of metric events except for the first row of each event
	first, last   int64
}

// New returns an empty part for a trace.
func New(d *trace.Definitions) *Part { return &Part{defs: d} }

// Batch counts the events of a batch, which may belong to one location or to several.
func (p *Part) Batch(b *trace.Batch) error {
	if b.Len() == 0 {
		return nil
	}
	if b.Loc == trace.MixedLoc {
		for i, loc := range b.Locs[:b.Len()] {
			if err := p.countRows(loc, b.Time[i], b.Time[i], 1); err != nil {
				return err
			}
		}
	} else if err := p.countRows(b.Loc, b.Time[0], b.Time[b.Len()-1], b.Len()); err != nil {
		return err
	}
	next, lasts, values := 0, false, p.metricEvents()
	for i, k := range b.Kind {
		if int(k) >= len(p.kinds) || !p.kinds[k].known {
			p.register(k)
		}
		x := &p.kinds[k]
		lasts = lasts || x.hasEnd
		if next < len(b.Derived) && b.Derived[next] == uint32(i) {
			next++
			x.derived++
			p.locations[b.Location(i)].derived++
			continue
		}
		x.events++
		if x.region {
			// Adding one turns NoRef into index 0.
			r := b.Ref[i] + 1
			if int(r) >= len(p.regions) {
				r = p.grow(r)
			}
			p.regions[r]++
		}
	}
	if lasts {
		c := b.Cursor()
		for c.Next() {
			l := &p.locations[c.Location()]
			l.last = max(l.last, c.End())
		}
	}
	if p.metricEvents() > values {
		p.mergeMembers(b)
	}
	for _, k := range b.AttrKey {
		if int(k) >= len(p.attrs) {
			n := p.defs.Attributes.Len()
			if int(k) >= n {
				return fmt.Errorf("counts: found attribute %d, expected one of the %d attributes of the trace", k, n)
			}
			p.attrs = append(p.attrs, make([]int64, n-len(p.attrs))...)
		}
		p.attrs[k]++
	}
	return nil
}

// metricEvents returns the number of metric events counted so far.
func (p *Part) metricEvents() int64 {
	if int(trace.Metric) >= len(p.kinds) {
		return 0
	}
	return p.kinds[trace.Metric].events
}

// mergeMembers corrects the counts for metric events of several members: each of them has several rows,
// but only the first row counts.
func (p *Part) mergeMembers(b *trace.Batch) {
	from := uint32(0)
	for i, row := range b.OpRow {
		ops := b.Op[from:b.OpEnd[i]]
		from = b.OpEnd[i]
		if b.Kind[row] != trace.Metric || len(ops) < 2 || ops[1] == 0 {
			continue
		}
		if _, derived := slices.BinarySearch(b.Derived, row); derived {
			continue
		}
		p.kinds[trace.Metric].events--
		p.locations[b.Location(int(row))].members++
	}
}

// countRows counts n rows of a location, between the times first and last.
func (p *Part) countRows(loc uint32, first, last int64, n int) error {
	if int(loc) >= len(p.locations) {
		n := p.defs.Locations.Len()
		if int(loc) >= n {
			return fmt.Errorf("counts: found an event at location %d, expected one of the %d locations of the trace", loc, n)
		}
		p.locations = append(p.locations, make([]location, n-len(p.locations))...)
	}
	l := &p.locations[loc]
	if l.rows == 0 {
		l.first, l.last = first, last
	}
	l.first, l.last = min(l.first, first), max(l.last, last)
	l.rows += int64(n)
	return nil
}

// register determines the properties of kind k.
func (p *Part) register(k trace.Kind) {
	if n := int(k) + 1; n > len(p.kinds) {
		p.kinds = append(p.kinds, make([]kind, n-len(p.kinds))...)
	}
	p.kinds[k].known, p.kinds[k].hasEnd = true, k.HasEndTime()
	p.kinds[k].region = p.defs.Spec(k).Ref == trace.RefRegion
}

// grow extends regions to all regions defined so far. It returns r, or 0 if region r is undefined.
func (p *Part) grow(r uint32) uint32 {
	n := p.defs.Regions.Len() + 1
	p.regions = append(p.regions, make([]int64, n-len(p.regions))...)
	if int(r) >= n {
		return 0
	}
	return r
}

// Links counts links.
func (p *Part) Links(l []trace.Link) error {
	p.links += int64(len(l))
	return nil
}

// Merge adds another part of the same trace, which must have processed other events. Both can have
// events of the same locations. The other part must not be used afterwards.
func (p *Part) Merge(o *Part) error {
	if p.defs != o.defs {
		return fmt.Errorf("counts: found parts of different traces")
	}
	for k, x := range o.kinds {
		if x.known {
			p.register(trace.Kind(k))
			p.kinds[k].events += x.events
			p.kinds[k].derived += x.derived
		}
	}
	p.regions = add(p.regions, o.regions)
	p.attrs = add(p.attrs, o.attrs)
	for i, x := range o.locations {
		if x.rows == 0 {
			continue
		}
		if err := p.countRows(uint32(i), x.first, x.last, int(x.rows)); err != nil {
			return err
		}
		p.locations[i].derived += x.derived
		p.locations[i].members += x.members
	}
	p.links += o.links
	return nil
}

// add returns the element-wise sum of two lists of counts. It may change a.
func add(a, b []int64) []int64 {
	if len(b) > len(a) {
		a = append(a, make([]int64, len(b)-len(a))...)
	}
	for i, n := range b {
		a[i] += n
	}
	return a
}

// Result holds the counts of a trace. Times are in ticks of Clock.
type Result struct {
	Clock   trace.Clock `json:"clock"`
	Events  int64       `json:"events"`  // records, without derived rows
	Derived int64       `json:"derived"` // rows that repeat information of another row
	Links   int64       `json:"links"`   // dependencies and other links
	// First is the time of the first event. Last is the latest end of an event ([trace.Cursor.End]). Both are
	// valid only if there are events.
	First int64 `json:"first"`
	Last  int64 `json:"last"`

	Kinds      []Kind      `json:"kinds"`                // kinds that occur, in ascending order of Kind
	Regions    []Region    `json:"regions,omitempty"`    // regions with events, in the order of the definitions
	Locations  []Location  `json:"locations"`            // locations with events
	Attributes []Attribute `json:"attributes,omitempty"` // attributes of events
}

// Kind counts the events of one kind.
type Kind struct {
	Kind    trace.Kind `json:"kind"`
	Name    string     `json:"name"`
	Events  int64      `json:"events"`
	Derived int64      `json:"derived"`
}

// Region counts the events that refer to a region.
type Region struct {
	Region uint32 `json:"region"` // index into Definitions.Regions, NoRef for events without a region
	ID     string `json:"id,omitempty"`
	Name   string `json:"name,omitempty"`
	Events int64  `json:"events"`
}

// Location counts the events of one location.
type Location struct {
	Location uint32 `json:"location"` // index into Definitions.Locations
	ID       string `json:"id"`
	Name     string `json:"name,omitempty"`
	Events   int64  `json:"events"`
	Derived  int64  `json:"derived"`
	First    int64  `json:"first"` // time of its first event
	Last     int64  `json:"last"`  // latest end of its events
}

// Attribute counts the events with an attribute.
type Attribute struct {
	Attribute uint32 `json:"attribute"` // index into Definitions.Attributes
	Name      string `json:"name"`
	Uses      int64  `json:"uses"` // events and derived rows with the attribute
}

// Result returns the counts so far. The part can process further events.
func (p *Part) Result() *Result {
	r := &Result{Clock: p.defs.Clock, Kinds: []Kind{}, Locations: []Location{}, Links: p.links}
	for k, x := range p.kinds {
		if x.events+x.derived > 0 {
			r.Kinds = append(r.Kinds, Kind{trace.Kind(k), p.defs.Spec(trace.Kind(k)).Name, x.events, x.derived})
		}
		r.Events += x.events
		r.Derived += x.derived
	}
	for i, n := range p.regions {
		if n == 0 {
			continue
		}
		x := Region{Region: uint32(i) - 1, Events: n}
		if i > 0 {
			d := p.defs.Regions.At(uint32(i - 1))
			x.ID, x.Name = d.ID, d.Name
		}
		r.Regions = append(r.Regions, x)
	}
	for i, x := range p.locations {
		if x.rows == 0 {
			continue
		}
		d := p.defs.Locations.At(uint32(i))
		if len(r.Locations) == 0 {
			r.First, r.Last = x.first, x.last
		}
		r.First, r.Last = min(r.First, x.first), max(r.Last, x.last)
		r.Locations = append(r.Locations,
			Location{uint32(i), d.ID, d.Name, x.rows - x.derived - x.members, x.derived, x.first, x.last})
	}
	for i, n := range p.attrs {
		if n > 0 {
			r.Attributes = append(r.Attributes, Attribute{uint32(i), p.defs.Attributes.At(uint32(i)).Name, n})
		}
	}
	slices.SortStableFunc(r.Attributes, func(a, b Attribute) int { return cmp.Compare(a.Name, b.Name) })
	return r
}
