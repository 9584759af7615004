package verify

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/weft-trace/weft/analysis/internal/claims"
	"github.com/weft-trace/weft/analysis/internal/facts"
	"github.com/weft-trace/weft/trace"
)

// maxValues is the greatest number of different values of an attribute that are stored. A warning can suggest
// one of these values ("did you mean").
const maxValues = 1000

// recorder records the states of a trace at which the propositions of a specification hold, and the values of
// its signals. It needs the events in global time order. It uses 10 to 12 bytes for each state, 4 for each
// state at which a proposition holds, 6 to 40 for each piece of a signal, and about 64 for each open claim.
type recorder struct {
	spec   *Spec
	defs   *trace.Definitions
	window *trace.Window

	events  int // number of events that have become states, including those before the window
	time    []int64
	labels  []uint32 // labels of the states, as indexes into names
	whole   bool     // the whole trace is recorded before any formula is evaluated
	blocks  []stateBlock
	stored  int        // number of states that are in blocks, before those in time and labels
	names   []string   // texts that describe the events of states
	matches [][]uint32 // indexed by proposition: the states at which it holds, in ascending order

	wanted map[string]*wantedAttribute // the attributes that propositions use, by key
	// ownKeys holds the element of wanted for each attribute of the trace, or nil, indexed as Definitions.Attributes.
	ownKeys []*wantedAttribute
	// needs holds the attributes of all propositions. Those of proposition i end at needsEnd[i].
	needs      []*neededAttribute
	needsEnd   []uint32
	candidates []int32 // candidates of the attributes of the current event
	// ofClaims and ofEvents are set for the propositions whose attributes a claim or visit has, or another event,
	// regardless of their Event.
	ofClaims, ofEvents []bool

	visits map[labelKey]*visitInfo
	recent [1 << recentBits]recentVisit // entries of visits that were used last
	open   *claims.Pairs[openClaim]
	facts  *facts.Reader

	signals map[signalKey]*signalRecord
	first   int64
	last    int64
	now     int64 // time of the last event
	rows    int   // number of events so far
	any     bool

	derived derived
	// responses holds the response times of objects.
	responses []*objectTimes
	outside   bool // the current event is before the window

	growth *growth // used only if the trace grows; otherwise nil
	// matched holds the propositions that hold at some held state of a growing trace. isMatched is set for
	// these propositions.
	matched   []int32
	isMatched []bool
	latest    int64 // time of the last state
}

// wantedAttribute is an attribute that propositions use.
type wantedAttribute struct {
	values map[string]*neededAttribute // the values that propositions use
	seen   map[string]bool             // the values in the trace; nil if they are too many
}

// neededAttribute is an attribute with a value that propositions need.
type neededAttribute struct {
	propositions []int32 // all propositions that need the attribute
	// candidates holds the propositions whose other attributes are needed by at least as many propositions.
	// For an event, only the candidates of its attributes are examined. Therefore, if there is a proposition
	// for each object, the propositions of other objects are not examined.
	candidates []int32
	counted    int // number of the last event that counted the attribute; an event counts an attribute once
}

// labelKey identifies states that have the same text in explanations.
type labelKey struct {
	kind     trace.Kind
	ref      uint32
	location uint32
}

// visitInfo holds the label and the propositions of all visits of a region at a location.
type visitInfo struct {
	label   uint32
	claim   []int32 // propositions that hold for visits without attributes, regardless of their Event
	present bool    // claim has been computed
}

// recentVisit is an entry of the map visits.
type recentVisit struct {
	key labelKey
	v   *visitInfo // nil if there is none
}

// 2^recentBits is the number of entries of the map visits that are found without a look-up.
const recentBits = 8

// openClaim is a claim or visit that has begun. Its propositions also hold at its end, unless their
// Event excludes that.
type openClaim struct {
	holds []int32

	// These fields are set only for derived signals. resource is NoRef if the claim has no resource.
	start    int64
	resource uint32
	amount   float64
	objects  []claimObject
	usages   []int // for a growing trace: indexes of the usage signals that count the claim
}

// signalKey identifies a series of values.
type signalKey struct{ metric, location uint32 }

// stateBlock holds the times and labels of blockStates states.
type stateBlock struct {
	first  int64
	near   []uint32 // times since first, if each fits 32 bits; otherwise far is used
	far    []int64  // times, if near cannot hold them
	labels []uint16 // labels, if each fits 16 bits; otherwise large is used
	large  []uint32 // labels, if labels cannot hold them
}

// blockStates is the number of states in a block. A single growing list would be copied repeatedly. During
// each copy, it would need twice the memory.
const blockStates = 1 << 18

// signalRecord holds the values of a signal of the trace.
type signalRecord struct {
	signals []int        // indexes of the signals of the specification that have these values
	packed  packedPieces // pieces before those in pieces, if the whole trace is recorded
	pieces  []rawPiece
	steps   bool // each value holds until the next one
}

// fewPieces is the number of pieces that are packed together.
const fewPieces = 1 << 10

// pack packs the pieces if there are many. It leaves out the last piece, because this piece may still change.
func (s *signalRecord) pack() {
	if len(s.pieces) < fewPieces {
		return
	}
	n := len(s.pieces) - 1
	for _, x := range s.pieces[:n] {
		s.packed.add(x)
	}
	s.pieces = append(s.pieces[:0], s.pieces[n])
}

// rawPiece is a piece of a signal in ticks. u counts in units of the trace's clock.
type rawPiece struct {
	from, to int64
	p        trace.Polynomial
}

func newRecorder(spec *Spec, d *trace.Definitions, window *trace.Window) *recorder {
	r := &recorder{spec: spec, defs: d, window: window, matches: make([][]uint32, len(spec.propositions)),
		needsEnd: make([]uint32, len(spec.propositions)), wanted: map[string]*wantedAttribute{},
		ofClaims: make([]bool, len(spec.propositions)), ofEvents: make([]bool, len(spec.propositions)),
		facts:  facts.New(d),
		visits: map[labelKey]*visitInfo{}, open: claims.NewPairs[openClaim](d),
		signals: map[signalKey]*signalRecord{}, derived: newDerived(spec)}
	for _, f := range spec.formulas {
		if f.Op == Percentile && f.Responses.By != "" {
			r.responses = append(r.responses, &objectTimes{f.Responses, map[string]stateSpan{}})
		}
	}
	for i, p := range spec.propositions {
		for _, a := range p.Attributes {
			w := r.wanted[a.Key]
			if w == nil {
				w = &wantedAttribute{map[string]*neededAttribute{}, map[string]bool{}}
				r.wanted[a.Key] = w
			}
			n := w.values[a.Value]
			if n == nil {
				n = &neededAttribute{}
				w.values[a.Value] = n
			}
			n.propositions = append(n.propositions, int32(i))
			r.needs = append(r.needs, n)
		}
		r.needsEnd[i] = uint32(len(r.needs))
	}
	for i := range spec.propositions {
		least := slices.MinFunc(r.needsOf(i), func(a, b *neededAttribute) int {
			return len(a.propositions) - len(b.propositions)
		})
		least.candidates = append(least.candidates, int32(i))
	}
	return r
}

// needsOf returns the attributes of a proposition.
func (r *recorder) needsOf(i int) []*neededAttribute {
	from := uint32(0)
	if i > 0 {
		from = r.needsEnd[i-1]
	}
	return r.needs[from:r.needsEnd[i]]
}

// Links ignores links.
func (r *recorder) Links([]trace.Link) error { return nil }

// Batch records events.
func (r *recorder) Batch(b *trace.Batch) error {
	c := b.Cursor()
	for c.Next() {
		k := c.Kind()
		if !k.IsEvent() {
			continue
		}
		if r.whole && len(r.time) >= blockStates {
			r.storeBlock()
		}
		t, end := c.Time(), c.End()
		if r.window != nil {
			if t < r.window.From && end <= r.window.From {
				r.addBeforeWindow(&c)
				continue
			}
			t, end = max(t, r.window.From), min(end, r.window.To)
		}
		if !r.any {
			r.first, r.last, r.any = t, t, true
			if r.growth != nil {
				r.growth.startSignals()
			}
		}
		r.rows++
		r.now, r.last = t, max(r.last, t, end)
		if r.derived.needsClaims() {
			r.derived.last[c.Location()] = lastEvent{t, max(t, end)}
		}
		switch k {
		case trace.Fragment, trace.Metric, trace.SampleRange:
			r.addSignalEvent(&c)
			r.seeObjects(&c)
		case trace.Enter, trace.ClaimBegin:
			if err := r.begin(&c); err != nil {
				return err
			}
		case trace.Leave, trace.ClaimEnd:
			r.end(&c)
		default:
			r.state(&c)
			r.event(&c)
			r.seeObjects(&c)
		}
		if r.states() > math.MaxInt32 {
			return fmt.Errorf("found more than %d events, expected fewer", math.MaxInt32)
		}
	}
	return nil
}

// addBeforeWindow handles an event before the window. A claim that begins there may end in the window, and the
// value of a counter may last until the window.
func (r *recorder) addBeforeWindow(c *trace.Cursor) {
	switch c.Kind() {
	case trace.Metric, trace.SampleRange:
		r.addSignalEvent(c)
	case trace.Enter, trace.ClaimBegin, trace.Leave, trace.ClaimEnd:
		r.outside = true
		defer func() { r.outside = false }()
		states, labels := len(r.time), len(r.labels) // states before the window do not count
		if c.Kind() == trace.Enter || c.Kind() == trace.ClaimBegin {
			r.begin(c) // an error is possible only for a growing trace
		} else {
			r.end(c)
		}
		r.time, r.labels = r.time[:states], r.labels[:labels]
	}
}

// state adds the state of an event, and returns the event's visitInfo.
func (r *recorder) state(c *trace.Cursor) *visitInfo {
	v := r.eventInfo(c)
	r.events++
	r.latest = c.Time()
	r.time = append(r.time, c.Time())
	r.labels = append(r.labels, v.label)
	return v
}

// eventInfo returns the visitInfo of an event. Events with the same kind, reference and location share
// one.
func (r *recorder) eventInfo(c *trace.Cursor) *visitInfo {
	key := labelKey{c.Kind(), c.Ref(), c.Location()}
	recent := &r.recent[(key.ref*0x9e3779b1^key.location*0x85ebca6b^uint32(key.kind)*0xc2b2ae35)>>(32-recentBits)]
	if recent.v != nil && recent.key == key {
		return recent.v
	}
	v := r.visits[key]
	if v == nil {
		v = &visitInfo{label: uint32(len(r.names))}
		r.names = append(r.names, r.eventText(c))
		r.visits[key] = v
	}
	*recent = recentVisit{key, v}
	return v
}

// eventText returns a text that describes an event.
func (r *recorder) eventText(c *trace.Cursor) string {
	spec := r.defs.Spec(c.Kind())
	name, _ := r.defs.RefName(spec.Ref, c.Ref())
	what := spec.Name
	switch c.Kind() {
	case trace.Enter, trace.ClaimBegin:
		what = "start"
	case trace.Leave, trace.ClaimEnd:
		what = "end"
	case trace.Mark:
		what = "event"
	}
	if name != "" {
		what += " of " + name
	}
	if l := r.facts.LocationName(c.Location()); c.Kind() != trace.Mark && l != "" {
		what += " on " + l
	}
	return what
}

// attribute processes an attribute of the current event.
func (r *recorder) attribute(key, value string) {
	if w := r.wanted[key]; w != nil {
		r.countAttribute(w, value)
	}
}

// countAttribute processes an attribute of the current event that propositions use.
func (r *recorder) countAttribute(w *wantedAttribute, value string) {
	n := w.values[value]
	if w.seen != nil && (n == nil || n.counted == 0) && !w.seen[value] {
		w.seen[strings.Clone(value)] = true // the value may share the memory of a batch
		if len(w.seen) > maxValues {
			w.seen = nil
		}
	}
	if n == nil || n.counted == r.events {
		return
	}
	n.counted = r.events
	r.candidates = append(r.candidates, n.candidates...)
}

// wants reports whether a proposition uses an attribute.
func (r *recorder) wants(key string) bool { return r.wanted[key] != nil }

// takeMatches returns the propositions whose attributes all occur in the current event. The list is valid until the
// next call.
func (r *recorder) takeMatches() []int32 {
	list := r.candidates[:0]
	for _, p := range r.candidates {
		if !slices.ContainsFunc(r.needsOf(int(p)), func(n *neededAttribute) bool { return n.counted != r.events }) {
			list = append(list, p)
		}
	}
	r.candidates = r.candidates[:0]
	return list
}

// match stores which propositions hold at the last state. It ignores the propositions whose Event excludes e.
// objects are the objects of the state.
func (r *recorder) match(list []int32, e Event, objects []claimObject) {
	if r.outside {
		return
	}
	state := uint32(r.states() - 1)
	if r.growth != nil && r.growth.watches {
		list = slices.DeleteFunc(slices.Clone(list), func(p int32) bool {
			event := r.spec.propositions[p].Event
			return event != AnyEvent && event != e
		})
		r.growth.addState(list, objects)
	}
	for _, p := range list {
		if event := r.spec.propositions[p].Event; event == AnyEvent || event == e {
			r.matches[p] = append(r.matches[p], state)
			if r.growth != nil && !r.isMatched[p] {
				r.isMatched[p] = true
				r.matched = append(r.matched, p)
			}
			if len(objects) > 0 && r.growth == nil {
				r.addObjects(p, objects)
			}
		}
	}
}

// attributes counts the attributes of the current row.
func (r *recorder) attributes(c *trace.Cursor) {
	keys, values := c.Attrs()
	for i, k := range keys {
		if int(k) >= len(r.ownKeys) {
			for n := len(r.ownKeys); n < r.defs.Attributes.Len(); n++ {
				r.ownKeys = append(r.ownKeys, r.wanted[r.defs.Attributes.At(uint32(n)).Name])
			}
		}
		if int(k) < len(r.ownKeys) && r.ownKeys[k] != nil {
			r.countAttribute(r.ownKeys[k], values[i].String())
		}
	}
	r.facts.Each(c, r.wants, r.attribute)
}

// begin processes the begin of a claim or visit.
func (r *recorder) begin(c *trace.Cursor) error {
	holds := r.claimPropositions(c, r.state(c))
	r.match(holds, StartEvent, r.objectsOfEvent(c))
	if len(holds) > 0 || r.open.HasOpen(c) || r.derived.needsClaims() {
		x := openClaim{holds: slices.Clone(holds)}
		if r.derived.needsClaims() {
			r.beginDerivedClaim(c, &x)
			if r.growth != nil {
				if err := r.growth.beginClaim(&x); err != nil {
					return err
				}
			}
		}
		r.open.Begin(c, x)
	}
	return nil
}

// claimPropositions returns the propositions that hold for a claim or visit, regardless of their Event.
func (r *recorder) claimPropositions(c *trace.Cursor, v *visitInfo) []int32 {
	keys, _ := c.Attrs()
	if v.present && len(keys) == 0 {
		return v.claim
	}
	r.attributes(c)
	holds := r.takeMatches()
	for _, p := range holds {
		r.ofClaims[p] = true
	}
	if len(keys) == 0 {
		v.claim, v.present = slices.Clone(holds), true
	}
	return holds
}

// end processes the end of a claim or visit.
func (r *recorder) end(c *trace.Cursor) {
	r.state(c)
	if x, ok := r.open.End(c); ok {
		r.match(x.holds, EndEvent, x.objects)
		r.endDerivedClaim(&x, c.Time())
	}
}

// event processes an event that is neither the begin nor the end of a claim.
func (r *recorder) event(c *trace.Cursor) {
	r.attributes(c)
	list := r.takeMatches()
	for _, p := range list {
		r.ofEvents[p] = true
	}
	r.match(list, AnyEvent, r.objectsOfEvent(c))
}

// addSignalEvent processes an event with values of a signal.
func (r *recorder) addSignalEvent(c *trace.Cursor) {
	if len(r.spec.signals) == 0 || !r.defs.Metrics.Has(c.Ref()) {
		return
	}
	key := signalKey{c.Ref(), c.Location()}
	s := r.signals[key]
	if s == nil {
		s = &signalRecord{signals: r.signalsOf(key)}
		r.signals[key] = s
	}
	if len(s.signals) == 0 {
		return
	}
	ops := c.Ops()
	add := func(from, to int64, v float64) {
		if n := len(s.pieces); n > 0 {
			s.pieces[n-1].to = from
		}
		s.pieces = append(s.pieces, rawPiece{from, to, trace.Polynomial{C: v}})
		s.steps = true
	}
	switch {
	case c.Kind() == trace.Fragment && len(ops) > 3:
		s.pieces = append(s.pieces, rawPiece{c.Time(), c.End(), trace.Polynomial{C: math.Float64frombits(ops[1]),
			B: math.Float64frombits(ops[2]), A: math.Float64frombits(ops[3])}})
	case c.Kind() == trace.Metric && len(ops) > 0:
		add(c.Time(), c.Time(), trace.Value{Num: ops[0], Type: r.defs.Metrics.At(c.Ref()).Type}.Float())
	case c.Kind() == trace.SampleRange && len(ops) > 1:
		n := len(ops) - 1
		length := float64(c.End()) - float64(c.Time())
		for i, v := range ops[1:] {
			t := c.Time()
			if n > 1 {
				t += int64(length * float64(i) / float64(n-1))
			}
			add(t, t, math.Float64frombits(v))
		}
	}
	if r.whole {
		s.pack()
	}
}

// signalsOf returns the indexes of the signals of the specification that match a signal of the trace. A signal
// of the trace matches if it has all attributes that the specification states.
func (r *recorder) signalsOf(key signalKey) (list []int) {
	m := r.defs.Metrics.At(key.metric)
	has := func(a Attribute) bool {
		for _, x := range m.Attrs {
			if x.Key == a.Key && x.Value.String() == a.Value {
				return true
			}
		}
		switch a.Key {
		case "name":
			return m.Name == a.Value
		case "id":
			return m.ID == a.Value
		case "unit":
			return m.Unit == a.Value
		case "location":
			if !r.defs.Locations.Has(key.location) {
				return false
			}
			l := r.defs.Locations.At(key.location)
			return l.ID == a.Value || l.Name == a.Value || r.facts.LocationName(key.location) == a.Value
		}
		return false
	}
	for i, s := range r.spec.signals {
		if s.Kind == TraceSignal && !slices.ContainsFunc(s.Attributes, func(a Attribute) bool { return !has(a) }) {
			list = append(list, i)
		}
	}
	return list
}

// states returns the number of states so far.
func (r *recorder) states() int { return r.stored + len(r.time) }

// storeBlock moves the states into a block.
func (r *recorder) storeBlock() {
	first, last := r.time[0], r.time[len(r.time)-1]
	b := stateBlock{first: first}
	if uint64(last)-uint64(first) <= math.MaxUint32 {
		b.near = make([]uint32, len(r.time))
		for i, t := range r.time {
			b.near[i] = uint32(t - first)
		}
		r.time = r.time[:0]
	} else {
		b.far, r.time = r.time, nil
	}
	if slices.Max(r.labels) <= math.MaxUint16 {
		b.labels = make([]uint16, len(r.labels))
		for i, l := range r.labels {
			b.labels[i] = uint16(l)
		}
		r.labels = r.labels[:0]
	} else {
		b.large, r.labels = r.labels, nil
	}
	r.blocks = append(r.blocks, b)
	r.stored += blockStates
}

// join copies the times of all blocks to one list.
func (r *recorder) join() {
	if len(r.blocks) == 0 {
		return
	}
	last := r.time
	r.time = make([]int64, 0, r.stored+len(last))
	for i := range r.blocks {
		b := &r.blocks[i]
		r.time = append(r.time, b.far...)
		for _, t := range b.near {
			r.time = append(r.time, b.first+int64(t))
		}
		b.near, b.far = nil, nil
	}
	r.time = append(r.time, last...)
	r.stored = 0
}

// label returns the label of a state, even if the state is in a block.
func (r *recorder) label(i int) uint32 {
	if k := i / blockStates; k < len(r.blocks) {
		if b := &r.blocks[k]; b.large == nil {
			return uint32(b.labels[i%blockStates])
		}
		return r.blocks[k].large[i%blockStates]
	}
	return r.labels[i-len(r.blocks)*blockStates]
}
