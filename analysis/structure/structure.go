// Package structure finds the repeated parts in the events of each location: calls and loops, with the number
// and the duration of their runs.
//
// A call sequence consists of the events from an enter to its leave, including both. A leave closes the latest
// open enter of its region, and all visits entered since then. Two events are the same if they have the same
// kind and reference, such as a region; operands and attributes do not count. Regions of one row
// ([trace.Rows]) are the same. Steps that occur twice or more in succession are a loop. The result has equal
// sequences only once, even if they occur at different locations. It also has equal locations only once.
//
// A part needs only the events of each location in order. It uses 150 bytes per sequence and 4 bytes per step
// of a sequence. Programs that repeat the same calls need little memory; for other programs, the memory grows
// with the trace.
package structure

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"

	"github.com/weft-trace/weft/analysis"
	"github.com/weft-trace/weft/grammar"
	"github.com/weft-trace/weft/internal/openset"
	"github.com/weft-trace/weft/trace"
)

// MaxLoop is the largest number of steps that one iteration of a detected loop can have.
const MaxLoop = 100

// Part holds the structure of some locations of a trace.
type Part struct {
	defs      *trace.Definitions
	rows      *trace.Rows
	locations []*location // indexed by location; nil for locations without events
	wanted    []uint32    // indexed by location: the sequence whose occurrences are recorded; nil records none
}

// location builds the structure of one location.
type location struct {
	builder   *grammar.Builder // nil once the location is finished
	sequences []grammar.SequenceInfo
	loops     []grammar.LoopInfo
	events    []event // indexed by number: the tokens of the grammar
	// numbers holds the number of each event. The keys are the event with its own reference, and the event
	// with the reference of its row.
	numbers     map[event]uint32
	open        []uint32              // the regions of the open enters, outermost first
	openIndex   openset.Index[uint32] // index of open
	total       []Times               // indexed by sequence
	wanted      uint32                // the sequence whose occurrences are in iterations; 0 records none
	iterations  []trace.Window
	count       int64
	first, last int64
	orphans     int64
	unclosed    int64
}

// event holds the properties in which equal events agree.
type event struct {
	kind trace.Kind
	ref  uint32
}

// New returns an empty part for a trace. Regions with the same name and source place count as one.
func New(d *trace.Definitions) *Part { return NewRows(d, trace.NewRows(d)) }

// NewRows is like [New], but treats the regions of a row as one. If rows is nil, each region counts
// separately. Parts that are merged must have the same rows.
func NewRows(d *trace.Definitions, rows *trace.Rows) *Part { return &Part{defs: d, rows: rows} }

// Batch processes a batch, whose events may belong to one location or to several. The events of each location
// must come in the order of time.
func (p *Part) Batch(b *trace.Batch) error {
	for i, k := range b.Kind {
		if !k.IsEvent() {
			continue
		}
		l, err := p.location(b.Location(i), b.Time[i])
		if err != nil {
			return err
		}
		if err := p.add(l, event{k, b.Ref[i]}, b.Time[i]); err != nil {
			return err
		}
	}
	return nil
}

// Links ignores links.
func (p *Part) Links([]trace.Link) error { return nil }

// location returns the state of a location, which it creates if needed with t as the time of the
// first event.
func (p *Part) location(loc uint32, t int64) (*location, error) {
	if n := p.defs.Locations.Len(); int(loc) >= n {
		return nil, fmt.Errorf("structure: found an event at location %d, expected one of the %d locations of the trace",
			loc, n)
	} else if n > len(p.locations) {
		p.locations = append(p.locations, make([]*location, n-len(p.locations))...)
	}
	l := p.locations[loc]
	if l == nil {
		l = &location{numbers: map[event]uint32{}, first: t}
		l.builder = grammar.New(MaxLoop, func(e uint32) bool { return l.events[e].kind == trace.Enter }, l.countOccurrence)
		p.locations[loc] = l
		if int(loc) < len(p.wanted) {
			l.wanted = p.wanted[loc]
		}
	}
	return l, nil
}

// countOccurrence adds an occurrence to the times of sequence s.
func (l *location) countOccurrence(s uint32, o grammar.Occurrence) error {
	for uint32(len(l.total)) <= s {
		l.total = append(l.total, Times{Min: math.MaxInt64})
	}
	x := &l.total[s]
	x.Count++
	x.Sum.Add(int64(o.Duration))
	x.Min, x.Max = min(x.Min, int64(o.Duration)), max(x.Max, int64(o.Duration))
	x.Blocks += int64(o.Blocks)
	if s == l.wanted && s > 0 {
		from := l.first + int64(o.Start)
		l.iterations = append(l.iterations, trace.Window{From: from, To: trace.Add(from, int64(o.Duration)+1)})
	}
	return nil
}

// sinceFirst returns the number of ticks from the location's first event to time t.
func (l *location) sinceFirst(t int64) uint64 { return uint64(t) - uint64(l.first) }

// representative returns the event that stands for e in the structure. It is the same for all events of a
// kind whose regions belong to one row.
func (p *Part) representative(e event) event {
	if p.defs.Spec(e.kind).Ref == trace.RefRegion {
		e.ref = p.rows.Of(e.ref)
	}
	return e
}

// add adds an event to the structure of its location.
func (p *Part) add(l *location, e event, t int64) error {
	n, ok := l.numbers[e]
	if !ok {
		same := p.representative(e)
		if n, ok = l.numbers[same]; !ok {
			n = uint32(len(l.events))
			l.numbers[same] = n
			l.events = append(l.events, same)
		}
		l.numbers[e] = n
	}
	e = l.events[n]
	l.count++
	l.last = t
	switch e.kind {
	case trace.Enter:
		l.builder.Open(l.sinceFirst(t))
		l.openIndex.Open(e.ref, len(l.open))
		l.open = append(l.open, e.ref)
	case trace.Leave:
		i := l.openIndex.Find(e.ref, len(l.open), func(i int) uint32 { return l.open[i] })
		if i < 0 {
			l.orphans++
			break
		}
		for len(l.open)-1 > i {
			if err := l.close(t); err != nil {
				return err
			}
			l.unclosed++
		}
		if err := l.builder.Add(n, l.sinceFirst(t)); err != nil {
			return err
		}
		return l.close(t)
	}
	return l.builder.Add(n, l.sinceFirst(t))
}

// close closes the innermost open call at time t.
func (l *location) close(t int64) error {
	n := len(l.open) - 1
	l.open = openset.Close(&l.openIndex, l.open, n, l.open[n])
	return l.builder.Close(l.sinceFirst(t))
}

// End finishes a location that has no further events. It frees the memory that was needed to find the
// sequences of the location.
func (p *Part) End(loc uint32) error {
	if int(loc) < len(p.locations) && p.locations[loc] != nil {
		return p.locations[loc].finish()
	}
	return nil
}

// finish closes the open calls at the last event, and takes the sequences from the builder.
func (l *location) finish() error {
	if l.builder == nil {
		return nil
	}
	for len(l.open) > 0 {
		l.unclosed++
		if err := l.close(l.last); err != nil {
			return err
		}
	}
	l.builder.Root()
	l.sequences, l.loops = l.builder.Grammar()
	l.builder, l.numbers = nil, nil
	return nil
}

// Merge adds the locations of another part. Both parts must have processed different locations. The other part
// must not be used afterwards.
func (p *Part) Merge(o *Part) (err error) {
	p.locations, err = analysis.Join("structure", p.locations, o.locations)
	return err
}

// Times holds the number of times that a sequence occurs, and the sum, the minimum and the maximum of its
// durations in ticks.
type Times struct {
	Count int64       `json:"count"`
	Sum   trace.Ticks `json:"sum"`
	Min   int64       `json:"min"`
	Max   int64       `json:"max"`
	// Blocks is, for a call, the time outside of the calls directly inside of it. For other sequences, it is
	// the time inside of calls.
	Blocks int64 `json:"blocks"`
}

func (t *Times) add(o Times) {
	if t.Count == 0 {
		*t = o
		return
	}
	t.Count, t.Sum, t.Blocks = t.Count+o.Count, t.Sum.Plus(o.Sum), t.Blocks+o.Blocks
	t.Min, t.Max = min(t.Min, o.Min), max(t.Max, o.Max)
}

// Step is a step of a sequence: an event, or a number of consecutive iterations of another
// sequence.
type Step struct {
	// Kind is the kind of an event, and Name the name of its region, metric or string. Both are empty for
	// sequences. Name is also empty for events without a region, metric or string.
	Kind string `json:"kind,omitempty"`
	Name string `json:"name,omitempty"`
	// Sequence is the index of a sequence in Result.Sequences. It is -1 for an event, which is null
	// in JSON.
	Sequence   int    `json:"sequence"`
	Iterations uint32 `json:"iterations,omitempty"`
}

// MarshalJSON writes null for the sequence of an event.
func (s Step) MarshalJSON() ([]byte, error) {
	x := struct {
		Kind       string `json:"kind,omitempty"`
		Name       string `json:"name,omitempty"`
		Sequence   *int   `json:"sequence"`
		Iterations uint32 `json:"iterations,omitempty"`
	}{s.Kind, s.Name, nil, s.Iterations}
	if s.Sequence >= 0 {
		x.Sequence = &s.Sequence
	}
	return json.Marshal(x)
}

// Sequence is a call, or the steps of a loop's iteration.
type Sequence struct {
	// Name is the name of a call's region. It is empty for other sequences.
	Name  string `json:"name,omitempty"`
	Call  bool   `json:"call"`
	Steps []Step `json:"steps"`
	Times
	// Contention is the share of the time of all locations, from 0 to 1, that the program would save if each
	// occurrence of the sequence took as long as the shortest one.
	Contention float64 `json:"contention"`
	// Locations is the number of locations at which the sequence occurs.
	Locations int `json:"locations"`
}

// Shape is a list of steps with the locations that have exactly these steps.
type Shape struct {
	Locations []uint32 `json:"locations"`
	IDs       []string `json:"ids"`
	Names     []string `json:"names"`
	Events    int64    `json:"events"` // number of events of all locations with the shape
	Span      int64    `json:"span"`   // longest time of one location from its first to its last event, in ticks
	Steps     []Step   `json:"steps"`
}

// Result is the structure of a trace.
type Result struct {
	Shapes    []Shape    `json:"shapes"`    // in the order of the first location of each shape
	Sequences []Sequence `json:"sequences"` // each sequence comes after the sequences to which its steps refer
	Orphans   int64      `json:"orphans"`   // leave events without an enter event
	Unclosed  int64      `json:"unclosed"`  // enter events without a leave event
}

// Result returns the structure of the locations of the part. The part must not be used afterwards.
func (p *Part) Result() (*Result, error) {
	r := &Result{Shapes: []Shape{}, Sequences: []Sequence{}}
	m := merger{p: p, r: r, names: p.defs.FullNames(), regions: p.defs.RegionNames(p.rows),
		known: map[string]int{}, shapes: map[string]int{}}
	total := trace.Ticks{}
	for i, l := range p.locations {
		if l == nil {
			continue
		}
		if err := l.finish(); err != nil {
			return nil, err
		}
		r.Orphans, r.Unclosed = r.Orphans+l.orphans, r.Unclosed+l.unclosed
		total.Add(l.last - l.first)
		m.addLocation(uint32(i), l)
		p.locations[i] = nil // free its memory; the result has copies
	}
	for i := range r.Sequences {
		x := &r.Sequences[i]
		if total != (trace.Ticks{}) {
			x.Contention = x.Sum.Minus(trace.TicksOf(x.Min).Times(x.Count)).Float() / total.Float()
		}
	}
	return r, nil
}

// merger adds the structure of one location after the other to a result. The result has equal sequences only
// once.
type merger struct {
	p     *Part
	r     *Result
	known map[string]int // maps the key of the steps to the index in Result.Sequences
	// shapes maps the key of the steps to the index in Result.Shapes.
	shapes  map[string]int
	names   []string // indexed by location
	regions []string // names of regions
	key     []byte   // reused for the key of each list of steps
}

// addLocation adds the structure of a location to the result.
func (m *merger) addLocation(loc uint32, l *location) {
	// indexed by sequence: 1 plus the index in the result; 0 if the result does not have the sequence yet
	places := make([]int, len(l.sequences))
	steps, key := m.steps(l, 0, places)
	d := m.p.defs.Locations.At(loc)
	i, ok := m.shapes[key]
	if !ok {
		i = len(m.r.Shapes)
		m.shapes[key] = i
		m.r.Shapes = append(m.r.Shapes, Shape{Steps: steps})
	}
	x := &m.r.Shapes[i]
	x.Locations, x.IDs, x.Names = append(x.Locations, loc), append(x.IDs, d.ID), append(x.Names, m.names[loc])
	x.Events += l.count
	x.Span = max(x.Span, l.last-l.first)
	for s, at := range places {
		if at > 0 && s > 0 {
			y := &m.r.Sequences[at-1]
			y.Locations++
			if s < len(l.total) {
				y.add(l.total[s])
			}
		}
	}
}

// steps returns the steps of sequence s, and a key that equal steps share. It adds the sequences
// inside of s to the result first, and sets their places.
func (m *merger) steps(l *location, s int, places []int) ([]Step, string) {
	// The stack holds the sequences to translate, outermost first. It replaces recursion, since
	// calls may be deep.
	type frame struct{ s, next int }
	stack := []frame{{s: s}}
	for {
		f := &stack[len(stack)-1]
		tokens := l.sequences[f.s].Tokens
		if f.next < len(tokens) {
			k := tokens[f.next]
			f.next++
			if inner := m.sequenceOf(l, k); inner > 0 && places[inner] == 0 {
				stack = append(stack, frame{s: inner})
			}
			continue
		}
		steps, key := m.translate(l, tokens, places)
		if len(stack) == 1 {
			return steps, key
		}
		places[f.s] = m.addSequence(l, f.s, steps, key) + 1
		stack = stack[:len(stack)-1]
	}
}

// sequenceOf returns the index of the sequence that token k stands for or repeats. It returns 0 if k stands
// for an event.
func (m *merger) sequenceOf(l *location, k grammar.Token) int {
	switch k.Type() {
	case grammar.Sequence:
		return int(k.ID())
	case grammar.Loop:
		return int(l.loops[k.ID()].Sequence)
	}
	return 0
}

// translate returns the steps of tokens, and a key that equal lists of steps share. places holds 1 plus the
// index in the result of each sequence. It must be set for the sequences to which the tokens refer.
func (m *merger) translate(l *location, tokens []grammar.Token, places []int) ([]Step, string) {
	steps := make([]Step, 0, len(tokens))
	m.key = m.key[:0]
	for _, k := range tokens {
		if inner := m.sequenceOf(l, k); inner > 0 {
			step := Step{Sequence: places[inner] - 1, Iterations: 1}
			if k.Type() == grammar.Loop {
				step.Iterations = l.loops[k.ID()].Iterations
			}
			steps = append(steps, step)
			m.key = binary.AppendUvarint(append(m.key, 's'), uint64(step.Sequence))
			m.key = binary.AppendUvarint(m.key, uint64(step.Iterations))
			continue
		}
		e := l.events[k.ID()]
		steps = append(steps, Step{Kind: m.p.defs.Spec(e.kind).Name, Name: m.name(e), Sequence: -1})
		m.key = binary.AppendUvarint(append(m.key, 'e'), uint64(e.kind))
		m.key = binary.AppendUvarint(m.key, uint64(e.ref))
	}
	return steps, string(m.key)
}

// addSequence returns the index in the result of sequence s with the given steps and key. It adds
// the sequence if it is new.
func (m *merger) addSequence(l *location, s int, steps []Step, key string) int {
	if i, ok := m.known[key]; ok {
		return i
	}
	i := len(m.r.Sequences)
	m.known[key] = i
	x := Sequence{Call: l.sequences[s].Block, Steps: steps}
	if x.Call {
		x.Name = steps[0].Name
	}
	m.r.Sequences = append(m.r.Sequences, x)
	return i
}

// name returns the name of the region, metric or string that an event refers to, or "" if it has
// none.
func (m *merger) name(e event) string {
	d := m.p.defs
	if e.ref == trace.NoRef {
		return ""
	}
	switch d.Spec(e.kind).Ref {
	case trace.RefRegion:
		if d.Regions.Has(e.ref) {
			return m.regions[e.ref]
		}
	case trace.RefMetric:
		if d.Metrics.Has(e.ref) {
			return d.Metrics.At(e.ref).Name
		}
	case trace.RefString:
		if d.Strings.Has(e.ref) {
			return *d.Strings.At(e.ref)
		}
	}
	return ""
}
