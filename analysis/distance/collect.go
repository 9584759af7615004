package distance

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-trace/weft/analysis/internal/claims"
	"github.com/weft-trace/weft/analysis/internal/texts"
	"github.com/weft-trace/weft/internal/digits"
	"github.com/weft-trace/weft/trace"
)

// Options selects the claims of a trace, their labels, and the objects to which they belong.
type Options struct {
	// Labels lists the attributes whose values form the label of a claim. If Labels is empty, the values
	// of all attributes except By, and except those that a transform has added, form the label. A claim without
	// such attributes has the name of its activity as label.
	Labels []string
	// By is the attribute that names the object of a claim. Claims without this attribute are left out. ""
	// means that all claims belong to one object.
	By string
	// Calls selects calls instead of claims: the calls that do not call another region. The label of a call is
	// the name of its region. By has no effect.
	Calls bool
	// Locations, with Calls, makes each location an object.
	Locations bool
	// Iterations, with Calls, selects regions. Each visit of such a region is an object, and calls outside
	// of these visits are left out.
	Iterations func(region uint32) bool
}

// Part collects the claims of a trace. It needs only the events of each location in order. It keeps 32 bytes for
// each claim and the texts of different labels and objects.
type Part struct {
	defs    *trace.Definitions
	opt     Options
	labels  texts.Set
	objects texts.Set
	names   []string // names of the attributes
	open    claims.Table[Claim]
	done    []Claim
	empty   []Claim          // the visits of iterations in which no call counts
	last    map[uint32]int64 // time of the last event of each location
	calls   map[uint32]*callStack
	full    []string // full names of locations
}

// callStack holds the open visits of a location.
type callStack struct {
	open   []openVisit
	count  map[uint32]int // indexed by region: number of open visits
	visits int            // number of visits of iterations so far
	object uint32
	inside int  // 1 plus the depth of the visit that is the open iteration; 0 outside of iterations
	counts bool // a call in the open iteration counts
}

// openVisit is an open visit of a region.
type openVisit struct {
	region uint32
	start  int64
	leaf   bool // the visit has called no other region
}

// New returns an empty part for a trace.
func New(d *trace.Definitions, opt Options) *Part {
	return &Part{defs: d, opt: opt, last: map[uint32]int64{}, calls: map[uint32]*callStack{}}
}

// Links ignores links.
func (p *Part) Links([]trace.Link) error { return nil }

// Batch processes a batch, whose events may belong to one location or to several.
func (p *Part) Batch(b *trace.Batch) error {
	c := b.Cursor()
	for c.Next() {
		t, loc := c.Time(), c.Location()
		if !c.Kind().IsEvent() {
			continue
		}
		p.last[loc] = t
		switch k := c.Kind(); {
		case p.opt.Calls && (k == trace.Enter || k == trace.Leave):
			p.call(&c)
		case p.opt.Calls:
		case k == trace.ClaimBegin:
			key := claims.KeyOf(p.defs, &c)
			p.end(key, t)
			if x, ok := p.claim(&c); ok {
				p.open.Set(key, x)
			}
		case k == trace.ClaimEnd:
			p.end(claims.KeyOf(p.defs, &c), t)
		}
	}
	return nil
}

// end ends the claim with key k, if it is open.
func (p *Part) end(k claims.Key, t int64) {
	if x := p.open.Remove(k); x != nil {
		x.End = t
		p.done = append(p.done, *x)
	}
}

// claim returns the claim that a row begins. ok is false if the claim belongs to no object.
func (p *Part) claim(c *trace.Cursor) (x Claim, ok bool) {
	keys, values := c.Attrs()
	object, found := "", p.opt.By == ""
	var label []string
	for i, k := range keys {
		if !p.defs.Attributes.Has(k) {
			continue
		}
		name := p.attribute(k)
		switch {
		case name == p.opt.By && !found:
			object, found = values[i].String(), true
		case len(p.opt.Labels) == 0 && name != p.opt.By && !p.defs.Attributes.At(k).Reserved,
			slices.Contains(p.opt.Labels, name):
			label = append(label, name+"="+values[i].String())
		}
	}
	if !found {
		return x, false
	}
	text := ""
	slices.Sort(label) // the order of attributes has no meaning
	switch {
	case len(label) == 1 && strings.HasPrefix(label[0], "name="):
		text = strings.TrimPrefix(label[0], "name=")
	case len(label) > 0:
		text = strings.Join(label, ", ")
	case len(p.opt.Labels) == 0 && p.defs.Regions.Has(c.Ref()):
		text = p.defs.Regions.At(c.Ref()).Name
	}
	at := trace.NoRef
	if ops := c.Ops(); len(ops) > 1 && ops[1] < uint64(trace.NoRef) {
		at = uint32(ops[1])
	}
	return Claim{Label: p.labels.Number(text), Object: p.objects.Number(object), At: at,
		Start: c.Time()}, true
}

// attribute returns the name of an attribute.
func (p *Part) attribute(k uint32) string {
	for int(k) >= len(p.names) {
		p.names = append(p.names, p.defs.Attributes.At(uint32(len(p.names))).Name)
	}
	return p.names[k]
}

// call processes the enter or leave of a region.
func (p *Part) call(c *trace.Cursor) {
	loc := c.Location()
	s := p.calls[loc]
	if s == nil {
		s = &callStack{count: map[uint32]int{}}
		p.calls[loc] = s
		if p.opt.Locations || p.opt.Iterations == nil {
			name := ""
			if p.opt.Locations {
				name = p.location(loc)
			}
			s.object = p.objects.Number(name)
		}
	}
	if c.Kind() == trace.Enter {
		if n := len(s.open); n > 0 {
			s.open[n-1].leaf = false
		}
		s.open = append(s.open, openVisit{c.Ref(), c.Time(), true})
		s.count[c.Ref()]++
		if p.opt.Iterations != nil && s.inside == 0 && p.opt.Iterations(c.Ref()) {
			s.inside, s.counts = len(s.open), false
			s.visits++
			s.object = p.objects.Number(fmt.Sprintf("%s, visit %d", p.location(loc), s.visits))
		}
		return
	}
	if s.count[c.Ref()] == 0 {
		return
	}
	p.endCall(s, loc, c.Time())
	i := len(s.open) - 1
	for s.count[c.Ref()]--; s.open[i].region != c.Ref(); i-- {
		s.count[s.open[i].region]--
	}
	if s.inside > i {
		p.endIteration(s, loc, c.Time())
	}
	s.open = s.open[:i]
}

// endCall ends the innermost open visit of a location at the time t. It adds a claim if the visit has called no other
// region. All visits around it have, so that the visits that end at the same time need no call of endCall.
func (p *Part) endCall(s *callStack, loc uint32, t int64) {
	i := len(s.open) - 1
	v := s.open[i]
	if !v.leaf || p.opt.Iterations != nil && (s.inside == 0 || i < s.inside) {
		return
	}
	name := ""
	if p.defs.Regions.Has(v.region) {
		name = p.defs.Regions.At(v.region).Name
	}
	p.done = append(p.done, Claim{p.labels.Number(name), s.object, loc, v.start, t})
	s.counts = true
}

// endIteration ends the open iteration of a location at the time t.
func (p *Part) endIteration(s *callStack, loc uint32, t int64) {
	if !s.counts {
		p.empty = append(p.empty, Claim{0, s.object, loc, s.open[s.inside-1].start, t})
	}
	s.inside = 0
}

// location returns the full name of a location.
func (p *Part) location(loc uint32) string {
	if p.full == nil {
		p.full = p.defs.FullNames()
	}
	if loc < uint32(len(p.full)) {
		return p.full[loc]
	}
	return fmt.Sprint(loc)
}

// Merge adds another part of the same trace. Both must have the same options and have processed
// different locations. The other part must not be used afterwards.
func (p *Part) Merge(o *Part) error {
	if p.defs != o.defs {
		return fmt.Errorf("distance: found parts of different traces")
	}
	labels, objects := p.labels.Merge(&o.labels), p.objects.Merge(&o.objects)
	take := func(x Claim) Claim {
		x.Label, x.Object = labels[x.Label], objects[x.Object]
		return x
	}
	for _, x := range o.done {
		p.done = append(p.done, take(x))
	}
	for _, x := range o.empty {
		x.Object = objects[x.Object]
		p.empty = append(p.empty, x)
	}
	for k, x := range o.open.All() {
		p.open.Set(k, take(x))
	}
	for l, t := range o.last {
		p.last[l] = t
	}
	for l, x := range o.calls {
		if p.opt.Iterations == nil || x.inside > 0 { // else the location has no object now
			x.object = objects[x.object]
		}
		p.calls[l] = x
	}
	return nil
}

// Result returns the claims so far. Claims and calls without an end are closed at the last event of their location.
// Labels and objects are sorted as texts, but with numbers by value. The part must not be used afterwards.
func (p *Part) Result() *Set {
	for k, x := range p.open.All() {
		x.End = p.last[k.Location]
		p.done = append(p.done, x)
	}
	for loc, x := range p.calls {
		if len(x.open) > 0 {
			p.endCall(x, loc, p.last[loc])
		}
		if x.inside > 0 {
			p.endIteration(x, loc, p.last[loc])
		}
	}
	s := &Set{Claims: p.done, Empty: p.empty}
	var labels, objects []uint32
	s.Labels, labels = sorted(slices.Collect(p.labels.All()))
	s.Objects, objects = sorted(slices.Collect(p.objects.All()))
	for i := range s.Claims {
		c := &s.Claims[i]
		c.Label, c.Object = labels[c.Label], objects[c.Object]
	}
	for i := range s.Empty {
		s.Empty[i].Object = objects[s.Empty[i].Object]
	}
	slices.SortFunc(s.Claims, func(a, b Claim) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End), cmp.Compare(a.Object, b.Object),
			cmp.Compare(a.Label, b.Label), cmp.Compare(a.At, b.At))
	})
	return s
}

// sorted returns the texts in the order of [digits.CompareNatural], and the new index of each text by its old one.
func sorted(list []string) (texts []string, index []uint32) {
	order := make([]uint32, len(list))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(a, b uint32) int { return digits.CompareNatural(list[a], list[b]) })
	index = make([]uint32, len(list))
	for i, o := range order {
		texts = append(texts, list[o])
		index[o] = uint32(i)
	}
	return texts, index
}
