package usage

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/weft-trace/weft/analysis/internal/claims"
	"github.com/weft-trace/weft/trace"
)

// LittleOptions selects the attribute that identifies the objects that go through a system, and the
// events that are counted for the event-based throughput.
type LittleOptions struct {
	// Attribute is the name of the attribute that identifies objects. All claims and events with
	// the same value belong to one object, which is in the system from the earliest to the latest
	// of their times.
	Attribute string
	// Events selects the events for the event-based throughput. Nil selects none.
	Events *EventFilter
}

// EventFilter selects events and the starts and ends of claims.
type EventFilter struct {
	// Attributes are the names and values, as text, of attributes that an event must have. An empty
	// map matches all events. The start and end of a claim have the claim's attributes.
	Attributes map[string]string
	Starts     bool // starts of claims
	Ends       bool // ends of claims
	Marks      bool // events that are no claims
}

// Little collects the objects of a trace for Little's law: work in progress = throughput × latency.
// It needs only the events of each location in order. It uses about 100 bytes per object and 8
// bytes per selected event, besides memory for open claims.
type Little struct {
	defs *trace.Definitions
	opt  LittleOptions
	keys []string // names of attributes, by attribute
	// objects is by value of the attribute.
	objects map[string]span
	open    map[claims.Key]openClaim
	// times are the times of the selected events, in ticks.
	times []int64
	last  map[uint32]int64 // time of the last event of each location, in ticks
}

// span is the time of an object from its first to its last event, in ticks.
type span struct{ first, last int64 }

// openClaim has the results of [Little.match] for a claim: its object, if has is set, and whether
// Options.Events selects its attributes.
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
			x := l.match(&c)
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
			x := l.match(&c)
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

// end counts the end, at time t, of a claim with the attributes x.
func (l *Little) end(x openClaim, t int64) {
	if x.has {
		l.seen(x.object, t)
	}
	if x.selected {
		l.times = append(l.times, t)
	}
}

// seen extends the time of an object to include t.
func (l *Little) seen(object string, t int64) {
	s, ok := l.objects[object]
	if !ok {
		s = span{t, t}
	}
	l.objects[object] = span{min(s.first, t), max(s.last, t)}
}

// match returns the object that the attributes of a row name, and whether Options.Events matches
// them.
func (l *Little) match(c *trace.Cursor) (x openClaim) {
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

// Merge adds another part of the same trace. Both must have the same options and have processed
// different locations. The other part must not be used afterwards.
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

// LittleResult has the signals of Little's law, from the earliest time of an object to the latest.
type LittleResult struct {
	Clock trace.Clock `json:"clock"`
	// Objects has all objects, sorted by their first time, then by value.
	Objects []Object `json:"objects"`
	// Instant is the number of objects with one time only. They contribute to none of the signals.
	Instant int64 `json:"instant"`
	// Throughput is in objects per time unit. An object that stays for a time d contributes 1/d
	// while it is in the system, so that the integral of the signal is the number of objects.
	Throughput Signal `json:"throughput"`
	// WIP is the number of objects in the system (work in progress).
	WIP Signal `json:"wip"`
	// Latency is WIP / Throughput, in time units. If it is averaged, it is exact at both ends of
	// each piece and approximate between them.
	Latency Signal `json:"latency"`
	// Events is the event-based throughput in selected events per time unit, from the first
	// selected event to the last. Its value is 1 divided by the time between two consecutive
	// events, times k after k events at one time.
	Events Signal `json:"events,omitempty"`
}

// Object is an object that went through the system, with the times in ticks at which it came and
// left.
type Object struct {
	Value string `json:"value"` // value of the attribute
	First int64  `json:"first"`
	Last  int64  `json:"last"`
}

// Result returns the signals. If window is positive, they are averages over the last window ticks,
// as [Signal.Window] with shorten computes them. Parameter unit is the time unit of the result in
// ticks; 0 means one second. Claims without an end are closed at the last event of their location.
// The part can process further events.
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

// EventThroughput returns the rate of events at the given times in ticks, per unit ticks. Between
// two consecutive times it is unit divided by their distance, times k after k events at one time.
// So each event but those at the last time contributes 1 to the integral.
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
