// Package structure shows what repeats in the events of each location: its calls, and
// the loops that they happen in, with how often and how long.
//
// A call is what lies between an enter and its leave, with both; a leave closes the
// latest open enter of the same region, and what was entered since. Events are the same
// if kind and region (or what else they refer to) are: operands and attributes do not
// count. Regions are the same that are one row ([trace.Rows]). What comes twice in a row or more
// is a loop. Sequences that say the same are one, also at different locations, and so are locations.
//
// A part needs the order of each location only. Its memory is that of the sequences
// found, 150 bytes each and 4 for each of their steps, which is little for programs that
// repeat themselves, and grows with the trace for those that do not.
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

// MaxLoop is how many steps the longest repetition has that is found.
const MaxLoop = 100

// Part is the structure of some locations of a trace.
type Part struct {
	defs      *trace.Definitions
	rows      *trace.Rows
	locations []*location // by index, nil where there were no events
}

// location finds the structure of one location.
type location struct {
	builder     *grammar.Builder // nil once it is finished
	sequences   []grammar.SequenceInfo
	loops       []grammar.LoopInfo
	events      []event // by number
	numbers     map[event]uint32
	open        []uint32 // regions
	among       openset.Index[uint32]
	total       []Times // of each sequence
	count       int64
	first, last int64
	orphans     int64
	unclosed    int64
}

// event is what makes events the same.
type event struct {
	kind trace.Kind
	ref  uint32
}

// New makes an empty part for a trace, for which regions with the same name and place are one.
func New(d *trace.Definitions) *Part { return NewRows(d, trace.NewRows(d)) }

// NewRows is New with the rows that regions have; nil is one for each region. All parts of a trace must have the same.
func NewRows(d *trace.Definitions, rows *trace.Rows) *Part { return &Part{defs: d, rows: rows} }

// Batch takes events, of one location or mixed.
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

// Links ignores links, which are no part of the structure.
func (p *Part) Links([]trace.Link) error { return nil }

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
		l.builder = grammar.New(MaxLoop, func(e uint32) bool { return l.events[e].kind == trace.Enter }, l.occurred)
		p.locations[loc] = l
	}
	return l, nil
}

// occurred counts an occurrence of a sequence.
func (l *location) occurred(s uint32, o grammar.Occurrence) error {
	for uint32(len(l.total)) <= s {
		l.total = append(l.total, Times{Min: math.MaxInt64})
	}
	x := &l.total[s]
	x.Count++
	x.Sum.Add(int64(o.Duration))
	x.Min, x.Max = min(x.Min, int64(o.Duration)), max(x.Max, int64(o.Duration))
	x.Blocks += int64(o.Blocks)
	return nil
}

// at is a time as the grammar counts: from the location's first event.
func (l *location) at(t int64) uint64 { return uint64(t) - uint64(l.first) }

// same is an event that stands for all that are the same.
func (p *Part) same(e event) event {
	if p.defs.Spec(e.kind).Ref == trace.RefRegion {
		e.ref = p.rows.Of(e.ref)
	}
	return e
}

func (p *Part) add(l *location, e event, t int64) error {
	n, ok := l.numbers[e]
	if !ok {
		same := p.same(e)
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
		l.builder.Open(l.at(t))
		l.among.Open(e.ref, len(l.open))
		l.open = append(l.open, e.ref)
	case trace.Leave:
		i := l.among.Find(e.ref, len(l.open), func(i int) uint32 { return l.open[i] })
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
		if err := l.builder.Add(n, l.at(t)); err != nil {
			return err
		}
		return l.close(t)
	}
	return l.builder.Add(n, l.at(t))
}

func (l *location) close(t int64) error {
	n := len(l.open) - 1
	l.open = openset.Close(&l.among, l.open, n, l.open[n])
	return l.builder.Close(l.at(t))
}

// End finishes a location: it has no more events, and what finds sequences is not needed any longer.
func (p *Part) End(loc uint32) error {
	if int(loc) < len(p.locations) && p.locations[loc] != nil {
		return p.locations[loc].finish()
	}
	return nil
}

// finish closes what is open at the last event.
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

// Merge adds the locations of another part, which is not to be used any more.
func (p *Part) Merge(o *Part) (err error) {
	p.locations, err = analysis.Join("structure", p.locations, o.locations)
	return err
}

// Times sums up occurrences; times are in ticks.
type Times struct {
	Count int64       `json:"count"`
	Sum   trace.Ticks `json:"sum"`
	Min   int64       `json:"min"`
	Max   int64       `json:"max"`
	// Blocks is the time outside of inner calls if the sequence is a call, or else the time inside of calls.
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

// Step is one of a sequence: an event, or so many iterations of another sequence.
type Step struct {
	// Kind and Name are an event's: the name of what it refers to, "" without.
	Kind string `json:"kind,omitempty"`
	Name string `json:"name,omitempty"`
	// Sequence is the place of a sequence in the list of all; -1 for events, null in JSON.
	Sequence   int    `json:"sequence"`
	Iterations uint32 `json:"iterations,omitempty"`
}

// MarshalJSON has null for the sequence of an event.
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

// Sequence is what repeats, or a call.
type Sequence struct {
	// Name is that of the region of a call, "" for other sequences.
	Name  string `json:"name,omitempty"`
	Call  bool   `json:"call"`
	Steps []Step `json:"steps"`
	Times
	// Contention is the share of the time of all locations that would be saved if each
	// occurrence took no longer than the shortest one.
	Contention float64 `json:"contention"`
	// Locations is at how many locations it occurs.
	Locations int `json:"locations"`
}

// Shape is what locations do that do the same.
type Shape struct {
	Locations []uint32 `json:"locations"`
	IDs       []string `json:"ids"`
	Names     []string `json:"names"`
	Events    int64    `json:"events"` // of all
	Span      int64    `json:"span"`   // from first to last event, the longest, in ticks
	Steps     []Step   `json:"steps"`
}

// Result is the structure of a trace.
type Result struct {
	Shapes    []Shape    `json:"shapes"`    // in the order of their first locations
	Sequences []Sequence `json:"sequences"` // in the order in which shapes need them
	Orphans   int64      `json:"orphans"`   // leaves without enter
	Unclosed  int64      `json:"unclosed"`  // enters without leave
}

// Result is the structure of what the part has seen, which is not to be used any more.
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
		m.location(uint32(i), l)
		p.locations[i] = nil // free its memory: the result has all of it
	}
	for i := range r.Sequences {
		x := &r.Sequences[i]
		if total != (trace.Ticks{}) {
			x.Contention = x.Sum.Minus(trace.TicksOf(x.Min).Times(x.Count)).Float() / total.Float()
		}
	}
	return r, nil
}

// merger finds what is the same at several locations.
type merger struct {
	p       *Part
	r       *Result
	known   map[string]int // sequences by their steps
	shapes  map[string]int
	names   []string // of locations
	regions []string // names
	key     []byte
}

// location adds a location.
func (m *merger) location(loc uint32, l *location) {
	places := make([]int, len(l.sequences)) // of its sequences in the result, +1
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

// steps translates the steps of a sequence, those of the sequences in it first, and
// makes a key of them.
func (m *merger) steps(l *location, s int, places []int) ([]Step, string) {
	// The sequences that are needed, innermost first: a stack, since calls may be deep.
	type frame struct{ s, next int }
	stack := []frame{{s: s}}
	for {
		f := &stack[len(stack)-1]
		tokens := l.sequences[f.s].Tokens
		if f.next < len(tokens) {
			k := tokens[f.next]
			f.next++
			if inner := m.inner(l, k); inner > 0 && places[inner] == 0 {
				stack = append(stack, frame{s: inner})
			}
			continue
		}
		steps, key := m.translate(l, tokens, places)
		if len(stack) == 1 {
			return steps, key
		}
		places[f.s] = m.place(l, f.s, steps, key) + 1
		stack = stack[:len(stack)-1]
	}
}

// inner is the sequence that a token leads to, 0 for events.
func (m *merger) inner(l *location, k grammar.Token) int {
	switch k.Type() {
	case grammar.Sequence:
		return int(k.ID())
	case grammar.Loop:
		return int(l.loops[k.ID()].Sequence)
	}
	return 0
}

func (m *merger) translate(l *location, tokens []grammar.Token, places []int) ([]Step, string) {
	steps := make([]Step, 0, len(tokens))
	m.key = m.key[:0]
	for _, k := range tokens {
		if inner := m.inner(l, k); inner > 0 {
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

// place is where a sequence is in the result.
func (m *merger) place(l *location, s int, steps []Step, key string) int {
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

// name is that of what an event refers to.
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
