package transform

import (
	"cmp"
	"context"
	"math"
	"strings"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/openset"
	"github.com/weft-trace/weft/trace"
)

// ByResource moves each claim to the location of its resource, wherever the claim was made, so
// that all claims on a resource stand in one row of a picture. Other events stay. Scans deliver
// events in the order of time.
//
// Claims get new ids. Memory is 64 bytes for each open claim, or, if links are wanted, for each
// claim and mark of the trace.
func ByResource(d format.Events) format.Events {
	return rows{transformed{&byResource{around{d}}}}
}

// ByAttribute moves visits of regions, claims and events without duration to locations that stand
// for the values of an attribute, so that each value has a row of its own in a picture. Events
// without the attribute share one more location, and so do the values behind the first [MaxValues].
// Visits become claims on no resource, because visits of several locations overlap. Counters and
// signals stay. All other events are left away: they mean something at their own locations only.
// Scans deliver events in the order of time.
//
// Locations that stand for values have the kind [trace.ValueLocation], and the value as their name.
// Memory is some 200 bytes for each value, and that of [ByResource].
func ByAttribute(d format.Events, name string) format.Events {
	own := newRewritten(d, nil) // definitions that locations can be added to
	return rows{transformed{&byAttribute{around: around{transformed{own}}, name: name, defs: own.Defs()}}}
}

// MaxValues is how many values of an attribute get locations of their own.
const MaxValues = 1 << 12

// The names of the locations that events without the attribute, and with further values, share.
const (
	noValue       = "(no "
	furtherValues = "(further values)"
)

// SharedRow reports whether [ByAttribute] gives the name to a location that stands for no value.
func SharedRow(name string) bool { return name == furtherValues || strings.HasPrefix(name, noValue) }

// rows are events that must be read in the order of time to be moved.
type rows struct{ transformed }

// Scan delivers the events in the order of time, which serves every order.
func (r rows) Scan(ctx context.Context, sel trace.Selection, _ format.Order, sink format.Sink) error {
	return r.transformed.Scan(ctx, sel, format.GlobalOrder, sink)
}

// ScanParallel scans in one goroutine.
func (r rows) ScanParallel(ctx context.Context, sel trace.Selection, begin func() func(int) format.Sink) error {
	return format.ScanInOne(ctx, r, sel, begin)
}

type byResource struct{ around }

func (r *byResource) begin(sel trace.Selection, _ format.Order, _ format.Sink) (stage, trace.Selection, error) {
	resources := &r.Defs().Resources
	all := everything(sel)
	all.Location = nil
	return &moving{keep: sel.Links != trace.NoLinks, row: func(c *trace.Cursor) uint32 {
		if res := c.Op(1); c.Kind() == trace.ClaimBegin && res < uint64(resources.Len()) {
			if at := resources.At(uint32(res)).Location; at != trace.NoRef {
				return at
			}
		}
		return c.Location()
	}}, all, nil
}

// byAttribute knows the locations that stand for values. They are the same in each scan.
type byAttribute struct {
	around
	name     string
	defs     *trace.Definitions
	isKey    []bool // of each attribute: it has the name
	location map[string]uint32
	missing  uint32 // the location of events without the attribute, and one; 0 for none yet
	others   uint32 // that of further values, and one
}

func (r *byAttribute) begin(sel trace.Selection, _ format.Order, _ format.Sink) (stage, trace.Selection, error) {
	all := everything(sel)
	all.Location = nil
	return &moving{keep: sel.Links != trace.NoLinks, visits: true, row: r.row}, all, nil
}

// row is where an event goes, NoRef for one that is left away.
func (r *byAttribute) row(c *trace.Cursor) uint32 {
	switch c.Kind() {
	case trace.Enter, trace.ClaimBegin, trace.Mark, trace.Comment, trace.Marker, trace.Generic:
	case trace.Fragment, trace.Metric, trace.SampleRange:
		return c.Location()
	default:
		return trace.NoRef
	}
	keys, values := c.Attrs()
	for i, k := range keys {
		for n := len(r.isKey); n <= int(k); n++ {
			r.isKey = append(r.isKey, n < r.defs.Attributes.Len() && r.defs.Attributes.At(uint32(n)).Name == r.name)
		}
		if r.isKey[k] {
			return r.value(&values[i])
		}
	}
	return r.shared(&r.missing, noValue+r.name+")")
}

// value is the location of a value.
func (r *byAttribute) value(v *trace.Value) uint32 {
	s := v.String()
	if n, ok := r.location[s]; ok {
		return n
	}
	if len(r.location) >= MaxValues {
		return r.shared(&r.others, furtherValues)
	}
	if r.location == nil {
		r.location = map[string]uint32{}
	}
	s = strings.Clone(s)
	n := r.add(cmp.Or(s, "(empty)"))
	r.location[s] = n
	return n
}

// shared is a location that is made when it is first needed.
func (r *byAttribute) shared(n *uint32, name string) uint32 {
	if *n == 0 {
		*n = r.add(name) + 1
	}
	return *n - 1
}

func (r *byAttribute) add(name string) uint32 {
	return r.defs.Locations.Add(trace.Location{ID: name, Name: name, Kind: trace.ValueLocation, Group: trace.NoRef})
}

// moving is one scan of events that go to other locations.
type moving struct {
	unheld
	row    func(c *trace.Cursor) uint32 // where an event goes, NoRef for nowhere
	visits bool                         // visits of regions become claims
	keep   bool                         // links need the places of what is over
	next   int64                        // id of the next claim
	claims map[place]place              // by what the trace calls them
	marks  map[place]place
	stacks byLocation[openVisits]
	out    trace.Batch
}

// place is a claim or mark: its location and its id there.
type place struct {
	location uint32
	id       int64
}

// openVisits are those of a location.
type openVisits struct {
	list  []openVisit
	among openset.Index[uint32] // their regions
}

// openVisit is a region that is open, and the claim that it has become.
type openVisit struct {
	region uint32
	claim  place
}

func (m *moving) batch(b *trace.Batch, out format.Sink) error {
	if m.claims == nil {
		m.claims, m.marks = map[place]place{}, map[place]place{}
	}
	m.out.Reset(trace.MixedLoc)
	for c := b.Cursor(); c.Next(); {
		at := c.Location()
		switch k := c.Kind(); {
		case k == trace.Enter && m.visits:
			claim := place{m.row(&c), m.id()}
			stack := m.stacks.at(at)
			stack.among.Open(c.Ref(), len(stack.list))
			stack.list = append(stack.list, openVisit{c.Ref(), claim})
			m.begin(&c, claim, trace.Undefined, one, trace.Undefined)
		case k == trace.Leave && m.visits:
			stack := m.stacks.at(at)
			if i := stack.among.Find(c.Ref(), len(stack.list), func(i int) uint32 { return stack.list[i].region }); i >= 0 {
				v := stack.list[i]
				stack.list = openset.Close(&stack.among, stack.list, i, v.region)
				m.end(&c, v.claim)
			}
		case k == trace.ClaimBegin:
			claim := place{m.row(&c), m.id()}
			m.claims[place{at, int64(c.Op(0))}] = claim
			if m.visits {
				m.begin(&c, claim, trace.Undefined, one, trace.Undefined) // the row is no resource's
			} else {
				m.begin(&c, claim, c.Op(1), c.Op(2), c.Op(3))
			}
		case k == trace.ClaimEnd:
			id := place{at, int64(c.Op(0))}
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

// one is the amount of claims that are counted only.
var one = math.Float64bits(1)

func (m *moving) id() int64 {
	m.next++
	return m.next
}

// add takes an event to a location.
func (m *moving) add(c *trace.Cursor, location uint32) {
	m.out.AppendRow(c)
	m.out.Locs[m.out.Len()-1] = location
}

// begin begins a claim with the region and the attributes of an event.
func (m *moving) begin(c *trace.Cursor, claim place, resource, amount, offset uint64) {
	m.out.Add(claim.location, c.Time(), trace.ClaimBegin, c.Ref())
	m.out.AddOps(uint64(claim.id), resource, amount, offset)
	keys, values := c.Attrs()
	for i, k := range keys {
		m.out.AddAttr(k, values[i])
	}
}

func (m *moving) end(c *trace.Cursor, claim place) {
	m.out.Add(claim.location, c.Time(), trace.ClaimEnd, c.Ref())
	m.out.AddOps(uint64(claim.id), trace.Undefined)
}

// links lets links end at the claims and marks that have moved.
func (m *moving) links(l []trace.Link) []trace.Link {
	for i := range l {
		for _, e := range []*trace.End{&l[i].Src, &l[i].Dst} {
			list := m.claims
			switch e.Kind {
			case trace.AtEvent:
				list = m.marks
			case trace.AtLocation:
				continue
			}
			if p, ok := list[place{e.Location, e.ID}]; ok {
				e.Location, e.ID = p.location, p.id
			}
		}
	}
	return l
}
