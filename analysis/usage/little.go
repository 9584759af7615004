package usage

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/weft-trace/weft/analysis/internal/claims"
	"github.com/weft-trace/weft/trace"
)

// LittleOptions define the objects that go through a system, and the events that count as its
// steps.
type LittleOptions struct {
	// Attribute names the attribute that identifies objects: all claims and events with the same value
	// are one object, which is in the system from the earliest to the latest of their times.
	Attribute string
	// Events selects the events whose rate is the event-based throughput. Nil selects none.
	Events *EventFilter
}

// EventFilter selects events and the starts and ends of claims.
type EventFilter struct {
	// Attributes must all be present with these values, written as text. An empty map matches all. A
	// claim's start and end have the claim's attributes.
	Attributes map[string]string
	Starts     bool // starts of claims
	Ends       bool // ends of claims
	Marks      bool // events without duration
}

// Little collects the objects of a trace for Little's law: work in progress = throughput × latency.
// It needs only the events of each location in order. It uses about 100 bytes per object, 8 bytes
// per selected event, and memory for the open claims.
type Little struct {
	defs    *trace.Definitions
	opt     LittleOptions
	keys    []string // by attribute
	objects map[string]span
	open    map[claims.Key]openClaim
	times   []int64
	last    map[uint32]int64 // last event of each location
}

type span struct{ first, last int64 }

type openClaim struct {
	object   string
	has      bool
	selected bool
}

// NewLittle returns an empty part for a trace.
func NewLittle(d *trace.Definitions, opt LittleOptions) *Little {
	return &Little{defs: d, opt: opt, objects: map[string]span{}, open: map[claims.Key]openClaim{},
		last: map[uint32]int64{}}
}

// Batch processes events of one location, or a mixed batch.
func (l *Little) Batch(b *trace.Batch) error {
	c := b.Cursor() // outside of the loop, which would copy it each time
	for c.Next() {
		t := c.Time()
		switch c.Kind() {
		case trace.ClaimBegin:
			x := l.look(&c)
			if x.has {
				l.seen(x.object, t)
			}
			f := l.opt.Events
			if x.selected && f.Starts {
				l.times = append(l.times, t)
			}
			if x.selected = x.selected && f.Ends; x.has || x.selected {
				l.open[claims.Key{ID: int64(c.Op(0)), Location: c.Location()}] = x
			}
		case trace.ClaimEnd:
			k := claims.Key{ID: int64(c.Op(0)), Location: c.Location()}
			if x, ok := l.open[k]; ok {
				delete(l.open, k)
				l.end(x, t)
			}
		default:
			x := l.look(&c)
			if x.has {
				l.seen(x.object, t)
			}
			if x.selected && l.opt.Events.Marks && c.Kind() == trace.Mark {
				l.times = append(l.times, t)
			}
		}
		l.last[c.Location()] = t
	}
	return nil
}

// Links ignores links.
func (l *Little) Links([]trace.Link) error { return nil }

func (l *Little) end(x openClaim, t int64) {
	if x.has {
		l.seen(x.object, t)
	}
	if x.selected {
		l.times = append(l.times, t)
	}
}

func (l *Little) seen(object string, t int64) {
	s, ok := l.objects[object]
	if !ok {
		s = span{t, t}
	}
	l.objects[object] = span{min(s.first, t), max(s.last, t)}
}

// look reads the attributes of a row: its object, and whether it is selected.
func (l *Little) look(c *trace.Cursor) (x openClaim) {
	keys, values := c.Attrs()
	fits := 0
	for i, k := range keys {
		if int(k) >= len(l.keys) {
			for _, a := range l.defs.Attributes.All()[len(l.keys):] {
				l.keys = append(l.keys, a.Name)
			}
		}
		name := l.keys[k]
		if name == l.opt.Attribute {
			// The text must outlive the batch.
			x.object, x.has = string(values[i].Append(nil)), true
		}
		if f := l.opt.Events; f != nil {
			if want, ok := f.Attributes[name]; ok && want == values[i].String() {
				fits++
			}
		}
	}
	x.selected = l.opt.Events != nil && fits == len(l.opt.Events.Attributes)
	return x
}

// Merge adds another part of the same trace, which must have seen other
// locations and have the same options. The other part must not be used afterwards.
func (l *Little) Merge(o *Little) error {
	if l.defs != o.defs || l.opt.Attribute != o.opt.Attribute {
		return fmt.Errorf("usage: found parts of different traces or options")
	}
	for k, s := range o.objects {
		l.seen(k, s.first)
		l.seen(k, s.last)
	}
	maps.Copy(l.open, o.open)
	maps.Copy(l.last, o.last)
	l.times = append(l.times, o.times...)
	return nil
}

// LittleResult has the three signals of Little's law, from the earliest time of
// an object to the latest.
type LittleResult struct {
	Clock trace.Clock `json:"clock"`
	// Objects are sorted by their first time, then by value.
	Objects []Object `json:"objects"`
	// Instant counts objects that were in the system for no time. They are in none of the signals.
	Instant int64 `json:"instant"`
	// Throughput is in objects per time unit: an object that stays for d adds 1/d while it is in the
	// system, so that the integral is the number of objects.
	Throughput Signal `json:"throughput"`
	// WIP is the number of objects in the system (work in progress).
	WIP Signal `json:"wip"`
	// Latency is WIP / Throughput, in time units. With a window it is exact at both ends of each piece
	// and nearly straight between.
	Latency Signal `json:"latency"`
	// Events is the event-based throughput in selected events per time unit, from the first selected
	// event to the last: 1 over the time between consecutive events. k events at one time count
	// k-fold.
	Events Signal `json:"events,omitempty"`
}

// Object is one object that went through the system.
type Object struct {
	Value string `json:"value"` // of the attribute
	First int64  `json:"first"`
	Last  int64  `json:"last"`
}

// Result returns the signals, averaged over the last window ticks, or unchanged if window is 0.
// unit is the number of ticks in the time unit of the result; 0 means one second. shorten is that
// of [Signal.Window]. Claims that never end are closed at the last event of their location. The
// part can continue.
func (l *Little) Result(window int64, unit float64, shorten bool) *LittleResult {
	if unit <= 0 {
		unit = float64(l.defs.Clock.Num) / float64(l.defs.Clock.Den)
	}
	q := &Little{objects: maps.Clone(l.objects), times: slices.Clone(l.times)}
	for k, x := range l.open {
		q.end(x, l.last[k.Location])
	}
	r := &LittleResult{Clock: l.defs.Clock, Objects: []Object{}}
	for v, s := range q.objects {
		r.Objects = append(r.Objects, Object{v, s.first, s.last})
	}
	slices.SortFunc(r.Objects, func(a,
		b Object) int {
		return cmp.Or(cmp.Compare(a.First, b.First), cmp.Compare(a.Value, b.Value))
	})
	var wip, rate sweep
	var first, last int64
	for i, o := range r.Objects {
		if i == 0 {
			first, last = o.First, o.Last
		}
		last = max(last, o.Last)
		if o.First == o.Last {
			r.Instant++
			continue
		}
		wip.add(o.First, o.Last, 1)
		rate.add(o.First, o.Last, unit/float64(o.Last-o.First))
	}
	r.WIP = wip.signal(first, last).Window(window, shorten)
	r.Throughput = rate.signal(first, last).Window(window, shorten)
	r.Latency = divide(r.WIP, r.Throughput)
	r.Events = EventThroughput(q.times, unit).Window(window, shorten)
	return r
}

// EventThroughput returns the rate of events at the given times, per unit ticks: between two
// consecutive times it is 1 over their distance, k-fold after k events at one time. So each event
// except those at the last time integrates to one.
func EventThroughput(times []int64, unit float64) Signal {
	t := slices.Sorted(slices.Values(times))
	s := Signal{}
	for i := 0; i < len(t); {
		j := i
		for j < len(t) && t[j] == t[i] {
			j++
		}
		if j < len(t) {
			s.add(t[i], t[j], float64(j-i)*unit/float64(t[j]-t[i]))
		}
		i = j
	}
	return s
}
