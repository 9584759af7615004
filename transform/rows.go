package transform

import (
	"cmp"
	"context"
	"math"
	"strings"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/bylocation"
	"github.com/weft-trace/weft/internal/openset"
	"github.com/weft-trace/weft/trace"
)

// ByResource moves each claim to the location of its resource, so that a picture shows all claims
// on a resource in one row. Other events stay at their locations. Scans deliver events in time
// order.
//
// Claims get new ids. ByResource uses 64 bytes for each open claim, or, if links are selected, for
// each claim and mark of the trace.
func ByResource(d format.Events) format.Events {
	return timeOrdered{transformed{&byResource{interleaved(d)}}}
}

// ByAttribute moves visits of regions, claims and events without duration to locations that stand for the
// values of an attribute. As a result, a picture shows each value in a row of its own. Events without the
// attribute share one location, and the values after the first [MaxValues] share another location. Visits
// become claims on no resource, because visits of several locations overlap. Counters and signals stay at
// their locations. All other events are dropped, because their meaning depends on their locations. Scans
// deliver events in the order of time.
//
// A location that stands for a value has the kind [trace.ValueLocation], and the value as its name.
// ByAttribute uses about 200 bytes for each value, and as much memory as [ByResource].
func ByAttribute(d format.Events, name string) format.Events {
	own := newRewritten(d, nil) // the definitions of a copy, to which locations can be added
	return timeOrdered{transformed{&byAttribute{sameDefinitions: interleaved(transformed{own}), name: name,
		defs: own.Defs()}}}
}

// MaxValues is the greatest number of values of an attribute that get locations of their own.
const MaxValues = 1 << 12

// The names of the shared locations. noValue, followed by the name of the attribute, is the name of the
// location for events without the attribute. furtherValues is the name of the location for further values.
const (
	noValue       = "(no "
	furtherValues = "(further values)"
)

// IsSharedRow reports whether a location with this name is one of the shared locations of
// [ByAttribute].
func IsSharedRow(name string) bool { return name == furtherValues || strings.HasPrefix(name, noValue) }

// timeOrdered is a transform that must read the original events in time order.
type timeOrdered struct{ transformed }

// Scan delivers the events in the order of time, which satisfies any order.
func (t timeOrdered) Scan(ctx context.Context, sel trace.Selection, _ format.Order, sink format.Sink) error {
	return t.transformed.Scan(ctx, sel, format.GlobalOrder, sink)
}

// ScanParallel scans in one goroutine, because the events must come in the order of time.
func (t timeOrdered) ScanParallel(ctx context.Context, sel trace.Selection, begin func() func(int) format.Sink) error {
	return format.ScanInOne(ctx, t, sel, begin)
}

// byResource is a trace after [ByResource].
type byResource struct{ sameDefinitions }

func (r *byResource) begin(sel trace.Selection, _ format.Order, _ format.Sink) (stage, trace.Selection, error) {
	resources := &r.Defs().Resources
	all := everything(sel)
	all.Location = nil
	return &moveScan{defs: r.Defs(), keep: sel.Links != trace.NoLinks, row: func(c *trace.Cursor) uint32 {
		if res := c.Op(1); c.Kind() == trace.ClaimBegin && res < uint64(resources.Len()) {
			if at := resources.At(uint32(res)).Location; at != trace.NoRef {
				return at
			}
		}
		return c.Location()
	}}, all, nil
}

// byAttribute is a trace after [ByAttribute], with the locations that stand for values. All scans use
// the same locations.
type byAttribute struct {
	sameDefinitions
	name  string
	defs  *trace.Definitions
	isKey []bool // whether an attribute has the wanted name; indexed by attribute
	// location maps each value to its location.
	location map[string]uint32
	missing  uint32 // 1 + the location of events without the attribute; 0 until it is defined
	others   uint32 // 1 + the location of further values; 0 until it is defined
}

func (b *byAttribute) begin(sel trace.Selection, _ format.Order, _ format.Sink) (stage, trace.Selection, error) {
	all := everything(sel)
	all.Location = nil
	return &moveScan{defs: b.defs, keep: sel.Links != trace.NoLinks, visits: true, row: b.row}, all, nil
}

// row returns the location to which an event moves, or NoRef if it is dropped.
func (b *byAttribute) row(c *trace.Cursor) uint32 {
	switch c.Kind() {
	case trace.Enter, trace.ClaimBegin, trace.Mark, trace.Comment, trace.Marker, trace.Generic:
	case trace.Fragment, trace.Metric, trace.SampleRange:
		return c.Location()
	default:
		return trace.NoRef
	}
	keys, values := c.Attrs()
	for i, k := range keys {
		for n := len(b.isKey); n <= int(k); n++ {
			b.isKey = append(b.isKey, n < b.defs.Attributes.Len() && b.defs.Attributes.At(uint32(n)).Name == b.name)
		}
		if b.isKey[k] {
			return b.value(&values[i])
		}
	}
	return b.sharedLocation(&b.missing, noValue+b.name+")")
}

// value returns the location of a value, and defines the location if needed.
func (b *byAttribute) value(v *trace.Value) uint32 {
	s := v.String()
	if n, ok := b.location[s]; ok {
		return n
	}
	if len(b.location) >= MaxValues {
		return b.sharedLocation(&b.others, furtherValues)
	}
	if b.location == nil {
		b.location = map[string]uint32{}
	}
	s = strings.Clone(s)
	n := b.add(cmp.Or(s, "(empty)"))
	b.location[s] = n
	return n
}

// sharedLocation returns the location of events without a value of their own. n holds its index plus 1, or 0 if
// the location is not defined yet; sharedLocation then defines it with the given name.
func (b *byAttribute) sharedLocation(n *uint32, name string) uint32 {
	if *n == 0 {
		*n = b.add(name) + 1
	}
	return *n - 1
}

// add defines a location for the events with one value of the attribute.
func (b *byAttribute) add(name string) uint32 {
	return b.defs.Locations.Add(trace.Location{ID: name, Name: name, Kind: trace.ValueLocation, Group: trace.NoRef})
}

// moveScan is one scan of events that move to other locations.
type moveScan struct {
	passThrough
	defs *trace.Definitions
	// row returns the location to which an event moves, or NoRef if the event is dropped.
	row    func(c *trace.Cursor) uint32
	visits bool  // visits of regions become claims
	keep   bool  // remember the places of claims that have ended, because links refer to them
	next   int64 // id of the next claim
	// new places of claims, by their places in the original trace, which contain the ClaimID
	claims map[place]place
	marks  map[place]place
	stacks bylocation.List[openVisits]
	out    trace.Batch
}

// place identifies a claim or mark by its location and its id.
type place struct {
	location uint32
	id       int64
}

// openVisits holds the open visits of a location.
type openVisits struct {
	list  []openVisit
	among openset.Index[uint32] // finds open visits of a region in list
}

// openVisit is an open visit of a region, with the claim that it has become.
type openVisit struct {
	region uint32
	claim  place
}

func (m *moveScan) processBatch(b *trace.Batch, out format.Sink) error {
	if m.claims == nil {
		m.claims, m.marks = map[place]place{}, map[place]place{}
	}
	m.out.Reset(trace.MixedLoc)
	c := b.Cursor()
	for c.Next() {
		at := c.Location()
		switch k := c.Kind(); {
		case k == trace.Enter && m.visits:
			claim := place{m.row(&c), m.id()}
			stack := m.stacks.At(at)
			stack.among.Open(c.Ref(), len(stack.list))
			stack.list = append(stack.list, openVisit{c.Ref(), claim})
			m.begin(&c, claim, trace.Undefined, unitAmount, trace.Undefined)
		case k == trace.Leave && m.visits:
			stack := m.stacks.At(at)
			if i := stack.among.Find(c.Ref(), len(stack.list), func(i int) uint32 { return stack.list[i].region }); i >= 0 {
				v := stack.list[i]
				stack.list = openset.Close(&stack.among, stack.list, i, v.region)
				m.end(&c, v.claim)
			}
		case k == trace.ClaimBegin:
			claim := place{m.row(&c), m.id()}
			m.claims[place{at, m.defs.ClaimID(&c)}] = claim
			if m.visits {
				m.begin(&c, claim, trace.Undefined, unitAmount, trace.Undefined) // the new claim belongs to no resource
			} else {
				m.begin(&c, claim, c.Op(1), c.Op(2), c.Op(3))
			}
		case k == trace.ClaimEnd:
			id := place{at, m.defs.ClaimID(&c)}
			if claim, ok := m.claims[id]; ok {
				m.end(&c, claim)
				if !m.keep {
					delete(m.claims, id)
				}
			}
		default:
			row := m.row(&c)
			if row == trace.NoRef {
				continue
			}
			if m.keep && k == trace.Mark && c.Op(0) != trace.Undefined {
				m.marks[place{at, int64(c.Op(0))}] = place{row, int64(c.Op(0))}
			}
			m.add(&c, row)
		}
	}
	if m.out.Len() == 0 {
		return nil
	}
	return out.Batch(&m.out)
}

// unitAmount is the number 1 as float64 bits. It is the amount of the claims that visits become.
var unitAmount = math.Float64bits(1)

// id returns a new id for a claim.
func (m *moveScan) id() int64 {
	m.next++
	return m.next
}

// add appends an event at another location.
func (m *moveScan) add(c *trace.Cursor, location uint32) {
	m.out.AppendRow(c)
	m.out.Locs[m.out.Len()-1] = location
}

// begin appends the begin of a claim, with the region and the attributes of an event.
func (m *moveScan) begin(c *trace.Cursor, claim place, resource, amount, offset uint64) {
	m.out.Add(claim.location, c.Time(), trace.ClaimBegin, c.Ref())
	m.out.AddOps(uint64(claim.id), resource, amount, offset)
	keys, values := c.Attrs()
	for i, k := range keys {
		m.out.AddAttr(k, values[i])
	}
}

// end appends the end of a claim.
func (m *moveScan) end(c *trace.Cursor, claim place) {
	m.out.Add(claim.location, c.Time(), trace.ClaimEnd, c.Ref())
	m.out.AddOps(uint64(claim.id), trace.Undefined)
}

// links moves the ends of links to the claims and marks that have moved.
func (m *moveScan) links(l []trace.Link) []trace.Link {
	for i := range l {
		for _, e := range []*trace.End{&l[i].Src, &l[i].Dst} {
			list, id := m.claims, e.ClaimID(m.defs)
			switch e.Kind {
			case trace.AtEvent:
				list, id = m.marks, e.ID
			case trace.AtLocation:
				continue
			}
			if p, ok := list[place{e.Location, id}]; ok {
				e.Location, e.ID = p.location, p.id
			}
		}
	}
	return l
}
