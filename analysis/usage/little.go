package usage

import (
	"fmt"
	"slices"

	"github.com/weft-trace/weft/analysis/internal/claims"
	"github.com/weft-trace/weft/analysis/internal/facts"
	"github.com/weft-trace/weft/analysis/internal/texts"
	"github.com/weft-trace/weft/analysis/messages"
	"github.com/weft-trace/weft/trace"
)

// LittleOptions selects the attribute that identifies the objects that go through a system, and the
// events that are counted for the event-based throughput.
type LittleOptions struct {
	// Attribute is the name of the attribute that identifies objects; "" selects none. All claims and events with the
	// same value belong to one object. The object is in the system from the earliest to the latest of
	// their times. If an event does not have the attribute itself, its names, places and operands count, as in
	// package verify.
	Attribute string
	// Visits selects regions whose visits are the objects, instead of the values of Attribute. Nil selects
	// none.
	Visits func(region uint32) bool
	// Messages is set if the messages are the objects, instead of the values of Attribute. A message comes when it is
	// sent, and leaves when it is received. Begin and End have no effect then.
	Messages bool
	// Begin selects the events at which an object may come, and End the events at which it may leave. An
	// object comes at the earliest event that Begin selects, and leaves at the latest event that End selects.
	// Nil selects all events of the object.
	Begin, End *EventFilter
	// Events selects the events for the event-based throughput. Nil selects none.
	Events *EventFilter
}

// EventFilter selects events, and starts and ends of claims. Visits of regions count as claims.
type EventFilter struct {
	// Attributes holds the names and values, as text, of the attributes that an event must have. An
	// empty map matches all events. The start and the end of a claim have the attributes of the claim.
	Attributes map[string]string
	Starts     bool // starts of claims
	Ends       bool // ends of claims
	Marks      bool // events that are neither starts nor ends of claims, nor values of signals
}

// Little collects the objects of a trace for Little's law: work in progress = throughput × latency. It needs
// only the events of each location in order. It uses about 100 bytes per object, 8 bytes per selected event,
// and the memory for open claims.
type Little struct {
	defs *trace.Definitions
	opt  LittleOptions
	// filtered is set if one of the options Begin, End and Events is set.
	filtered bool
	// byAttribute is set if each claim with the attribute belongs to its object, from the claim's begin to its end.
	byAttribute bool
	facts       *facts.Reader
	matched     [3][]string    // for each filter, the names of the attributes of the current event that match it
	keys        []attributeKey // indexed by attribute
	values      texts.Set      // values of the attribute; the number of a value is the number of the object
	objects     objects
	open        claims.Table[openClaim]
	// times holds the times of the selected events, in ticks.
	times  []int64
	last   claims.LastTimes
	visits map[visitKey][]visit
	counts map[uint32]int // indexed by location: number of visits of Options.Visits
	full   []string       // full names of locations
	// messages pairs sends with receives, and pairs holds the result so far; not used without Options.Messages.
	messages *messages.Part
	pairs    []messages.Pair
}

// attributeKey is the name of an attribute.
type attributeKey struct {
	name       string
	identifies bool // whether the attribute is LittleOptions.Attribute
}

// visit is an open visit of a region.
type visit struct {
	start int64
	claim openClaim // not set with Options.Visits
}

// visitKey identifies the open visits of a region at a location.
type visitKey struct{ location, region uint32 }

// object is an object with its time from its first to its last event, in ticks.
type object struct {
	first, last int64
	// whether the object has an event that Options.Begin selects, and an event that Options.End selects
	begun, ended bool
}

// objects is a list of objects in blocks. When the list grows, no objects are copied.
type objects struct {
	blocks []*[objectBlock]object
	n      int
}

// objectBlock is the number of objects in a block.
const objectBlock = 1024

// at returns the object at an index.
func (o *objects) at(i uint32) *object { return &o.blocks[i/objectBlock][i%objectBlock] }

// extend appends objects without events until the list has n objects.
func (o *objects) extend(n int) {
	for o.n = max(o.n, n); len(o.blocks)*objectBlock < o.n; {
		o.blocks = append(o.blocks, new([objectBlock]object))
	}
}

// clone returns a copy of the list. Both share the blocks until [objects.own] copies them.
func (o *objects) clone() objects { return objects{slices.Clone(o.blocks), o.n} }

// own makes the object at an index independent of the list from which o was cloned.
func (o *objects) own(from *objects, i uint32) {
	if b := &o.blocks[i/objectBlock]; *b == from.blocks[i/objectBlock] {
		c := **b
		*b = &c
	}
}

// openClaim is the result of [Little.match] for a claim: the index of its object, and the properties of the claim.
type openClaim struct {
	object uint32
	is     properties
}

// properties is a set of properties of a claim or event.
type properties uint8

const (
	hasObject  properties = 1 << iota // it names an object
	isSelected                        // Options.Events selects its attributes
	mayBegin                          // Options.Begin selects its attributes
	mayEnd                            // Options.End selects its attributes
)

// Selection returns a selection of the events that a part with these options needs: all events, with only the
// attributes that the options name.
func (o *LittleOptions) Selection() trace.Selection {
	sel := trace.Events()
	sel.NoStates = true
	if o.Messages && o.Events == nil {
		sel.Kind = messages.Needs
	}
	sel.Attribute = func(name string) bool {
		return name == o.Attribute || o.Begin.needs(name) || o.End.needs(name) || o.Events.needs(name)
	}
	sel.NoRegions = !sel.Attribute("name") // package facts uses the name of a region as the attribute "name"
	return sel
}

// Identifiers lists the attributes that events of a trace can have, and that may therefore identify objects.
func Identifiers(d *trace.Definitions) []string {
	names := facts.Names(d)
	for _, x := range d.Attributes.All() {
		names = append(names, x.Name)
	}
	return names
}

// NewLittle returns an empty part for a trace.
func NewLittle(d *trace.Definitions, opt LittleOptions) *Little {
	l := &Little{defs: d, opt: opt, filtered: opt.Events != nil || opt.Begin != nil || opt.End != nil,
		facts: facts.New(d), visits: map[visitKey][]visit{}, counts: map[uint32]int{}}
	l.byAttribute = !l.filtered && opt.Visits == nil && opt.Attribute != ""
	if opt.Messages {
		l.messages = messages.New(d, messages.Options{Pair: func(p messages.Pair) { l.pairs = append(l.pairs, p) }})
	}
	return l
}

// Batch processes a batch, whose events may belong to one location or to several.
func (l *Little) Batch(b *trace.Batch) error {
	if l.messages != nil {
		if err := l.messages.Batch(b); err != nil || l.opt.Events == nil {
			return err
		}
	}
	if len(l.keys) < l.defs.Attributes.Len() {
		l.addKeys()
	}
	// declared outside of the loop: a declaration inside of the loop would copy the cursor for each row
	c := b.Cursor()
	lines := l.defs.ClaimLines && len(b.Pos) == len(b.Time)
	attr := 0 // index of the first attribute of the row, or of a later row
	for row, kind := range b.Kind {
		// This case is the usual one. It does the same as the function row, in half the time.
		if l.byAttribute && kind != trace.Enter && kind != trace.Leave {
			key := claims.Key{Location: b.Location(row)}
			if lines && b.Pos[row] > 0 {
				key.ID = b.Pos[row]
			} else if kind == trace.ClaimBegin || kind == trace.ClaimEnd {
				c.Skip(row)
				key.ID = l.defs.ClaimID(&c)
			}
			if kind == trace.ClaimEnd {
				if x := l.open.Remove(key); x != nil {
					l.objects.at(x.object).end(b.Time[row])
				}
				continue
			}
			for attr < len(b.AttrRow) && b.AttrRow[attr] < uint32(row) {
				attr++
			}
			if n, ok := l.object(b, row, attr); ok {
				o := l.objects.at(n)
				if o.begin(b.Time[row]); kind != trace.ClaimBegin {
					o.end(b.Time[row])
					continue
				}
				open, _ := l.open.Place(key)
				*open = openClaim{n, hasObject | mayBegin | mayEnd}
				continue
			}
		}
		c.Skip(row)
		l.row(&c)
	}
	l.last.Add(b)
	return nil
}

// object returns the object that a row names by a text attribute. Otherwise ok is false. Parameter attr is the index of
// the first attribute of the row, or of a later row.
func (l *Little) object(b *trace.Batch, row, attr int) (object uint32, ok bool) {
	for ; attr < len(b.AttrRow) && b.AttrRow[attr] == uint32(row); attr++ {
		if l.keys[b.AttrKey[attr]].identifies {
			v := &b.AttrVal[attr]
			if v.Type != trace.String {
				return 0, false
			}
			object, ok = l.number(v.Str), true
		}
	}
	return object, ok
}

// row processes the current row of a cursor.
func (l *Little) row(c *trace.Cursor) {
	switch c.Kind() {
	case trace.ClaimBegin:
		if x := l.begin(c); x.is&(hasObject|isSelected) != 0 {
			open, _ := l.open.Place(claims.KeyOf(l.defs, c))
			*open = x
		}
	case trace.ClaimEnd:
		if x := l.open.Remove(claims.KeyOf(l.defs, c)); x != nil {
			l.end(*x, c.Time())
		}
	case trace.Enter, trace.Leave:
		l.visit(c)
	default:
		x := l.match(c)
		l.extendObject(x, atMark, c.Time())
		if x.is&isSelected != 0 && l.opt.Events.Marks && isMark(c.Kind()) {
			l.times = append(l.times, c.Time())
		}
	}
}

// Links ignores links.
func (l *Little) Links([]trace.Link) error { return nil }

// moment states whether an event is the start of a claim, the end of a claim, or neither.
type moment uint8

const (
	atStart moment = iota // the start of a claim
	atEnd                 // the end of a claim
	atMark                // an event that neither starts nor ends a claim
)

// needs reports whether the filter depends on an attribute. A nil filter depends on none.
func (f *EventFilter) needs(name string) bool {
	if f == nil {
		return false
	}
	_, ok := f.Attributes[name]
	return ok
}

// isMark reports whether a kind of event, which neither starts nor ends a claim, is no value of a signal.
func isMark(k trace.Kind) bool {
	return k.IsEvent() && k != trace.Fragment && k != trace.Metric && k != trace.SampleRange
}

// takes reports whether the filter selects events of the given moment. A nil filter selects all events.
func (f *EventFilter) takes(m moment) bool {
	return f == nil || [...]bool{atStart: f.Starts, atEnd: f.Ends, atMark: f.Marks}[m]
}

// begin counts the begin of a claim or visit. It returns its object and the filters that select it.
func (l *Little) begin(c *trace.Cursor) openClaim {
	x := l.match(c)
	l.extendObject(x, atStart, c.Time())
	if x.is&isSelected != 0 && l.opt.Events.Starts {
		l.times = append(l.times, c.Time())
	}
	return x
}

// visit handles the enter or leave of a region. If LittleOptions.Visits selects the visit, it counts as
// an object, otherwise as a claim.
func (l *Little) visit(c *trace.Cursor) {
	loc := c.Location()
	if l.opt.Visits != nil && (c.Ref() == trace.NoRef || !l.opt.Visits(c.Ref())) {
		return
	}
	key := visitKey{loc, c.Ref()}
	open := l.visits[key]
	if c.Kind() == trace.Enter {
		v := visit{start: c.Time()}
		if l.opt.Visits == nil {
			v.claim = l.begin(c)
		}
		l.visits[key] = append(open, v)
		return
	}
	i := len(open) - 1
	if i < 0 {
		return
	}
	v := open[i]
	if l.visits[key] = open[:i]; i == 0 {
		delete(l.visits, key)
	}
	if l.opt.Visits == nil {
		l.end(v.claim, c.Time())
		return
	}
	l.counts[loc]++
	name := fmt.Sprintf("%s, visit %d", l.nameOf(loc), l.counts[loc])
	*l.objects.at(l.number(name)) = object{v.start, c.Time(), true, true}
}

// nameOf returns the full name of a location.
func (l *Little) nameOf(location uint32) string {
	if l.full == nil {
		l.full = l.defs.FullNames()
	}
	if location < uint32(len(l.full)) {
		return l.full[location]
	}
	return fmt.Sprint(location)
}

// end counts the end, at time t, of a claim with the attributes x.
func (l *Little) end(x openClaim, t int64) {
	l.extendObject(x, atEnd, t)
	if x.is&isSelected != 0 && l.opt.Events.Ends {
		l.times = append(l.times, t)
	}
}

// extendObject extends the object of x to the time t of an event, if LittleOptions.Begin or LittleOptions.End
// selects this event.
func (l *Little) extendObject(x openClaim, m moment, t int64) {
	if x.is&hasObject == 0 {
		return
	}
	o := l.objects.at(x.object)
	if x.is&mayBegin != 0 && l.opt.Begin.takes(m) {
		o.begin(t)
	}
	if x.is&mayEnd != 0 && l.opt.End.takes(m) {
		o.end(t)
	}
}

// number returns the index of the object with a value of the attribute.
func (l *Little) number(value string) uint32 {
	i := l.values.Number(value)
	if int(i) == l.objects.n {
		l.objects.extend(l.objects.n + 1)
	}
	return i
}

// begin adds an event that may be the first one of an object, at time t.
func (s *object) begin(t int64) {
	if !s.begun || t < s.first {
		s.first, s.begun = t, true
	}
}

// end adds an event that may be the last one of an object, at time t.
func (s *object) end(t int64) {
	if !s.ended || t > s.last {
		s.last, s.ended = t, true
	}
}

// match returns the object that the attributes of a row name, and the filters that select these attributes.
func (l *Little) match(c *trace.Cursor) openClaim {
	keys, values := c.Attrs()
	x := openClaim{is: mayBegin | mayEnd}
	for i, k := range keys {
		if int(k) >= len(l.keys) {
			l.addKeys()
		}
		if !l.keys[k].identifies {
			continue
		}
		if v := &values[i]; v.Type == trace.String {
			x.object = l.number(v.Str)
		} else {
			x.object = l.number(v.String())
		}
		x.is |= hasObject
	}
	if x.is&hasObject == 0 && l.opt.Visits == nil && l.opt.Attribute != "" {
		if v, ok := l.facts.Value(c, l.opt.Attribute); ok {
			x.object = l.number(v)
			x.is |= hasObject
		}
	}
	if l.filtered {
		l.filter(c, &x)
	}
	return x
}

// addKeys appends the attributes that the trace has defined since the last call.
func (l *Little) addKeys() {
	for _, a := range l.defs.Attributes.All()[len(l.keys):] {
		l.keys = append(l.keys, attributeKey{a.Name,
			l.opt.Visits == nil && l.opt.Attribute != "" && a.Name == l.opt.Attribute})
	}
}

// filter sets the filters that select the attributes of a row.
func (l *Little) filter(c *trace.Cursor, x *openClaim) {
	filters := [...]*EventFilter{l.opt.Events, l.opt.Begin, l.opt.End}
	for n := range l.matched {
		l.matched[n] = l.matched[n][:0]
	}
	fit := func(name, value string) {
		for n, f := range filters {
			if f == nil || slices.Contains(l.matched[n], name) {
				continue
			}
			if want, ok := f.Attributes[name]; ok && want == value {
				l.matched[n] = append(l.matched[n], name)
			}
		}
	}
	keys, values := c.Attrs()
	for i, k := range keys {
		fit(l.keys[k].name, values[i].String())
	}
	l.facts.Each(c, func(name string) bool {
		return slices.ContainsFunc(filters[:], func(f *EventFilter) bool { return f.needs(name) })
	}, fit)
	selects := func(n int) bool { return filters[n] != nil && len(l.matched[n]) == len(filters[n].Attributes) }
	x.is &= hasObject
	if selects(0) {
		x.is |= isSelected
	}
	if filters[1] == nil || selects(1) {
		x.is |= mayBegin
	}
	if filters[2] == nil || selects(2) {
		x.is |= mayEnd
	}
}

// Merge adds another part of the same trace. Both parts must have the same options, and must have processed
// different locations. The other part must not be used afterwards.
func (l *Little) Merge(o *Little) error {
	if l.defs != o.defs || l.opt.Attribute != o.opt.Attribute || l.opt.Messages != o.opt.Messages {
		return fmt.Errorf("usage: found parts of different traces or options")
	}
	if l.messages != nil {
		l.pairs = append(l.pairs, o.pairs...)
		if err := l.messages.Merge(o.messages); err != nil {
			return fmt.Errorf("usage: %w", err)
		}
	}
	numbers := l.values.Merge(&o.values)
	l.objects.extend(l.values.Len())
	for i, n := range numbers {
		x, to := o.objects.at(uint32(i)), l.objects.at(n)
		if x.begun {
			to.begin(x.first)
		}
		if x.ended {
			to.end(x.last)
		}
	}
	for k, x := range o.open.All() {
		if x.is&hasObject != 0 {
			x.object = numbers[x.object]
		}
		l.open.Set(k, x)
	}
	for loc, open := range o.visits {
		for i := range open {
			if x := &open[i].claim; x.is&hasObject != 0 {
				x.object = numbers[x.object]
			}
		}
		l.visits[loc] = open
	}
	l.last.Merge(o.last)
	l.times = append(l.times, o.times...)
	return nil
}
