package verify

import (
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"

	"github.com/weft-trace/weft/analysis/internal/signals"
	"github.com/weft-trace/weft/trace"
)

// signalSpec is the parsed definition of a signal.
type signalSpec struct {
	kind   SignalKind
	event  Event
	pairs  []pairNode // empty if object is set
	object []token
	amount bool
	over   *Duration
}

// signalKinds lists the keywords with which a derived signal begins.
var signalKinds = []string{string(Usage), string(Throughput), string(WIP), string(Latency)}

// parseSignal parses the definition of a signal: either the attributes of a signal of the trace, or a
// derived signal.
func (p *parser) parseSignal() *signalSpec {
	s := &signalSpec{}
	t := p.rest[0]
	if t.is("{") {
		s.pairs = p.parseAttributes()
		return s
	}
	if t.kind != word || !slices.Contains(signalKinds, t.text) {
		panic(p.fail(t, `"{" and the attributes of a signal, usage, throughput, wip or latency`, signalKinds...))
	}
	switch s.kind = SignalKind(p.next().text); {
	case s.kind == Usage:
		s.pairs = p.parseAttributes()
		if s.amount = p.accept("amount"); !s.amount {
			p.accept("count")
		}
	case p.rest[0].kind == text:
		s.object = p.parseText()
	case s.kind != Throughput:
		panic(p.fail(p.rest[0], "the attribute that names objects, in quotes"))
	default:
		if p.accept("start") {
			s.event = StartEvent
		} else if p.accept("end") {
			s.event = EndEvent
		}
		if !p.currentIs("{") {
			expected := `"{" and the attributes of events`
			if s.event == AnyEvent {
				expected = `start, end, "{" and the attributes of events, or the attribute that names objects, in quotes`
			}
			panic(p.fail(p.rest[0], expected, "start", "end"))
		}
		s.pairs = p.parseAttributes()
	}
	if p.accept("over") {
		over := p.parseDuration()
		if over.Unit == "" {
			over.Unit = p.parseLastUnit("the next definition", declarations...)
		}
		s.over = &over
		return s
	}
	if t := p.rest[0]; t.kind != endToken && (t.kind != word || !slices.Contains(declarations, t.text)) {
		expected, words := "over, or the next definition", append([]string{"over"}, declarations...)
		if s.kind == Usage && !s.amount {
			expected, words = "amount, count, "+expected, append(words, "amount", "count")
		}
		panic(p.fail(t, expected, words...))
	}
	return s
}

// defineSignal returns the signal for a parsed definition and an index.
func (b *builder) defineSignal(name string, n *signalSpec, index int) (*Signal, error) {
	s := &Signal{Name: name, Kind: n.kind, Event: n.event, Amount: n.amount, Over: n.over, index: index}
	var err error
	if len(n.object) > 0 {
		at := n.object[0]
		if s.Object, err = b.buildText(n.object, nil); err == nil && s.Object == "" {
			err = b.fail(at, "the name of an attribute")
		}
		return s, err
	}
	if s.Attributes, err = b.buildAttributes(n.pairs, nil); err == nil && n.kind != TraceSignal {
		s.prop, err = b.buildProposition(&propositionNode{n.event, n.pairs}, nil)
	}
	return s, err
}

// derived records the claims and objects from which the derived signals are computed.
type derived struct {
	usages   []*usageRecord
	objects  []*objectRecord
	last     map[uint32]lastEvent // last event of each location
	resource map[uint32][]int     // indexed by resource: indexes in usages of the signals that count its claims
}

// lastEvent holds the time of the last event of a location, and its end.
type lastEvent struct{ at, end int64 }

// usageRecord holds the claims of a usage signal. resource holds the claims of resources that have the
// attributes of the signal. claims holds the claims that have these attributes themselves.
type usageRecord struct {
	signal   *Signal
	resource signals.Sweep
	claims   signals.Sweep
}

// objectRecord holds the objects that an attribute names.
type objectRecord struct {
	attribute string
	stays     map[string]objectStay
	any       bool // an object has occurred
}

// objectStay is the interval during which an object is in the system.
type objectStay struct {
	From, To int64 // in ticks
	open     int   // for a growing trace: number of open claims of the object
}

func newDerived(spec *Spec) derived {
	d := derived{last: map[uint32]lastEvent{}, resource: map[uint32][]int{}}
	for _, s := range spec.signals {
		switch {
		case s.Kind == Usage:
			d.usages = append(d.usages, &usageRecord{signal: s})
		case s.Object != "" && d.objectsBy(s.Object) == nil:
			d.objects = append(d.objects, &objectRecord{attribute: s.Object, stays: map[string]objectStay{}})
		}
	}
	for _, f := range spec.formulas {
		if f.Op == Percentile && f.Responses.By != "" && d.objectsBy(f.Responses.By) == nil {
			d.objects = append(d.objects, &objectRecord{attribute: f.Responses.By, stays: map[string]objectStay{}})
		}
	}
	return d
}

// needsClaims reports whether all claims must be recorded, even those at which no proposition holds.
func (d *derived) needsClaims() bool { return len(d.usages)+len(d.objects) > 0 }

// objectsBy returns the objects that an attribute names, or nil.
func (d *derived) objectsBy(attribute string) *objectRecord {
	for _, o := range d.objects {
		if o.attribute == attribute {
			return o
		}
	}
	return nil
}

// extendStay extends the stay of an object to a time, and adds a number to its count of open claims.
func (o *objectRecord) extendStay(object string, t int64, open int) {
	s, ok := o.stays[object]
	if !ok {
		s.From, s.To = t, t
	}
	s.From, s.To, s.open = min(s.From, t), max(s.To, t), s.open+open
	o.stays[object], o.any = s, true
}

// claimObject is an object to which a claim belongs. record holds all objects that the same attribute names.
type claimObject struct {
	record *objectRecord
	object string
}

// objectsOf returns the objects that the attributes of a row name. An attribute of the row's own has precedence.
func (r *recorder) objectsOf(c *trace.Cursor) (list []claimObject) {
	if len(r.derived.objects) == 0 {
		return nil
	}
	keys, values := c.Attrs()
	for i, k := range keys {
		if !r.defs.Attributes.Has(k) {
			continue
		}
		if o := r.derived.objectsBy(r.defs.Attributes.At(k).Name); o != nil {
			// copied, because the text must outlive the batch
			list = append(list, claimObject{o, string(values[i].Append(nil))})
		}
	}
	for _, o := range r.derived.objects {
		if slices.ContainsFunc(list, func(x claimObject) bool { return x.record == o }) {
			continue
		}
		if v, ok := r.facts.Value(c, o.attribute); ok {
			list = append(list, claimObject{o, v})
		}
	}
	return list
}

// seeObjects extends the stays of the objects of a row that is neither the begin nor the end of a
// claim.
func (r *recorder) seeObjects(c *trace.Cursor) {
	t := c.Time()
	if r.window != nil {
		t = max(t, r.window.From)
	}
	list := r.objectsOf(c)
	if r.growth != nil {
		r.growth.removeIdle(list, t)
	}
	for _, x := range list {
		x.record.extendStay(x.object, t, 0)
	}
}

// beginDerivedClaim sets the fields of x that derived signals need when a claim begins.
func (r *recorder) beginDerivedClaim(c *trace.Cursor, x *openClaim) {
	x.start, x.amount, x.resource = c.Time(), 1, trace.NoRef
	if ops := c.Ops(); c.Kind() == trace.ClaimBegin {
		if len(ops) > 1 && ops[1] < uint64(trace.NoRef) {
			x.resource = uint32(ops[1])
		}
		x.amount = 0
		if len(ops) > 2 {
			if a := math.Float64frombits(ops[2]); a-a == 0 {
				x.amount = a
			}
		}
	}
	x.objects = r.objectsOf(c)
}

// endDerivedClaim adds a claim that ends at time t to the signals.
func (r *recorder) endDerivedClaim(x *openClaim, t int64) {
	if r.growth != nil {
		r.growth.endClaim(x, t)
		return
	}
	from := x.start
	if w := r.window; w != nil {
		if t <= w.From && from < w.From {
			return
		}
		from = max(from, w.From)
	}
	for _, o := range x.objects {
		o.record.extendStay(o.object, from, 0)
		o.record.extendStay(o.object, t, 0)
	}
	if len(r.derived.usages) == 0 || from >= t {
		return
	}
	on, ok := r.derived.resource[x.resource]
	if !ok {
		on = r.usagesOf(x.resource)
		r.derived.resource[x.resource] = on
	}
	for i, u := range r.derived.usages {
		v := 1.0
		if u.signal.Amount {
			v = x.amount
		}
		if slices.Contains(on, i) {
			u.resource.Add(from, t, v)
		} else if slices.Contains(x.holds, int32(u.signal.prop.index)) {
			u.claims.Add(from, t, v)
		}
	}
}

// usagesOf returns the usage signals whose attributes a resource has.
func (r *recorder) usagesOf(resource uint32) (list []int) {
	if !r.defs.Resources.Has(resource) {
		return nil
	}
	for i, u := range r.derived.usages {
		if hasAll(r.defs.Resources.At(resource), u.signal.Attributes) {
			list = append(list, i)
		}
	}
	return list
}

// hasAll reports whether a resource has all the attributes.
func hasAll(res *trace.Resource, list []Attribute) bool {
	return !slices.ContainsFunc(list, func(a Attribute) bool {
		return !(a.Key == "name" && res.Name == a.Value || slices.ContainsFunc(res.Attrs, func(x trace.Attr) bool {
			return x.Key == a.Key && x.Value.String() == a.Value
		}))
	})
}

// countsByResource reports whether a usage signal counts the claims of the resources that have its attributes.
// If not, it counts the claims and calls that have its attributes.
func (r *recorder) countsByResource(s *Signal) bool {
	for _, res := range r.defs.Resources.All() {
		if s.Kind == Usage && hasAll(&res, s.Attributes) {
			return true
		}
	}
	return false
}

// closeClaims ends the claims that are open at the end of the trace. Such a claim ends at the last event of
// its location, or at the end of the window.
func (r *recorder) closeClaims() {
	if !r.derived.needsClaims() {
		return
	}
	r.open.Each(func(location uint32, x *openClaim) {
		end := r.last
		if r.window == nil {
			end = r.derived.last[location].end
		}
		r.endDerivedClaim(x, end)
	})
}

// newGrowing returns the computation of a derived signal. The caller adds claims and objects to it.
func (r *recorder) newGrowing(s *Signal) *signals.Growing {
	over, _ := r.averagingTicks(s)
	return signals.NewGrowing(map[SignalKind]signals.Result{WIP: signals.OpenCount, Latency: signals.Quotient}[s.Kind],
		r.first, over)
}

// averagingTicks returns the duration over which a signal is averaged, in ticks. exact is false if the
// duration is not a whole number of ticks.
func (r *recorder) averagingTicks(s *Signal) (over int64, exact bool) {
	if s.Over == nil {
		return 0, true
	}
	t := inTicks(*s.Over, r.defs.Clock)
	n, _ := floor(new(big.Rat).Add(t, big.NewRat(1, 2)))
	if !n.IsInt64() {
		return math.MaxInt64, true
	}
	return n.Int64(), t.IsInt()
}

// finerTicks returns the duration over which a signal is averaged as a whole number of shorter ticks. A tick of the
// trace has factor of these. If times would not fit, the factor is 1, and the duration is rounded.
func (r *recorder) finerTicks(s *Signal) (factor, over int64) {
	over, exact := r.averagingTicks(s)
	if exact {
		return 1, over
	}
	t := inTicks(*s.Over, r.defs.Clock)
	const most = math.MaxInt64 / 4
	times := new(big.Int).Mul(t.Denom(), big.NewInt(max(r.last, -max(r.first, -most), 1)))
	if !t.Num().IsInt64() || !times.IsInt64() || times.Int64() > most {
		return 1, over
	}
	return t.Denom().Int64(), t.Num().Int64()
}

// derivedPieces returns the pieces of a derived signal, from the first event of the trace to the last one.
func (e *evaluator) derivedPieces(s *Signal) (list []piece) {
	g := e.newGrowing(s)
	switch {
	case s.Kind == Usage:
		for _, u := range e.derived.usages {
			if u.signal == s {
				sweep := u.claims
				if e.countsByResource(s) {
					sweep = u.resource
				}
				g.Sweep(sweep)
			}
		}
	case s.Object == "":
		x := eventRate{unit: e.unit}
		for _, i := range e.matches[s.prop.index] {
			x.addEvent(g, e.time[i])
		}
		x.addLastRate(g)
	default:
		for _, name := range slices.Sorted(maps.Keys(e.derived.objectsBy(s.Object).stays)) {
			addStay(g, e.derived.objectsBy(s.Object).stays[name], e.unit)
		}
	}
	factor, over := e.finerTicks(s)
	if factor > 1 {
		g.ScaleTimes(factor, over)
	}
	list = make([]piece, 0, g.Lines())
	g.Until(e.recorder.last*factor, true, func(x signals.Line) { list = append(list, e.linePiece(x, factor)) })
	if len(list) == 0 { // all events have the same time
		return []piece{{last: true}}
	}
	list[len(list)-1].last = true
	return list
}

// linePiece returns a line as a piece of a signal. The times of the line are in ticks of which a tick of the trace has
// factor.
func (e *evaluator) linePiece(x signals.Line, factor int64) piece {
	if factor > 1 {
		offset := func(t int64) float64 { return float64(t-e.base*factor) / float64(factor) }
		return piece{from: offset(x.From), to: offset(x.To), c: x.Start, b: x.Rise / float64(x.Per) * float64(factor)}
	}
	return piece{from: e.offset(x.From), to: e.offset(x.To), c: x.Start, b: x.Rise / float64(x.Per)}
}

// addStay adds the stay of an object to a signal. During the stay, the object contributes 1 divided by the
// length of the stay to the throughput.
func addStay(g *signals.Growing, s objectStay, unit float64) {
	if s.From < s.To {
		v := unit / float64(s.To-s.From)
		g.Begin(s.From, v)
		g.End(s.From, s.To, v)
	}
}

// eventRate computes the throughput of events. The rate between two events is known as soon as the second
// event is known.
type eventRate struct {
	unit  float64
	t     int64 // time of the last event
	count int   // number of events at time t
}

// addEvent adds an event that is not earlier than the events before it.
func (e *eventRate) addEvent(g *signals.Growing, t int64) {
	if e.count > 0 && t > e.t {
		g.Set(e.t, float64(e.count)*e.unit/float64(t-e.t))
		e.count = 0
	}
	e.t = t
	e.count++
}

// addLastRate adds the rate after the last event.
func (e *eventRate) addLastRate(g *signals.Growing) {
	if e.count > 0 {
		g.Set(e.t, 0)
	}
}

// derivedWarnings returns a warning for each attribute that derived signals need and that no event has.
func (r *recorder) derivedWarnings() (list []Warning) {
	for _, o := range r.derived.objects {
		if !o.any {
			list = append(list, Warning{Text: fmt.Sprintf("no event has the attribute %s", quote(o.attribute)),
				Word: o.attribute, Words: r.attributeNames()})
		}
	}
	return list
}

// resourcePropositions returns the propositions whose attributes only select resources. Events need not
// have these attributes.
func (r *recorder) resourcePropositions() map[int32]bool {
	list := map[int32]bool{}
	for _, s := range r.spec.signals {
		if r.countsByResource(s) {
			list[int32(s.prop.index)] = true
		}
	}
	for _, f := range r.spec.formulas {
		if f.Prop != nil {
			delete(list, int32(f.Prop.index))
		}
		if f.Responses != nil {
			delete(list, int32(f.Responses.From.index))
			delete(list, int32(f.Responses.To.index))
		}
	}
	for _, s := range r.spec.signals {
		if s.Kind == Throughput && s.prop != nil {
			delete(list, int32(s.prop.index))
		}
	}
	return list
}
