// Package states computes the times in which processors were busy, in overhead and idle, as ParaGraph defines
// these states. It also computes the concurrency profile: the time in which exactly k processors were in a
// state.
//
// In traces that originate from PICL, a processor consists of all processes with the same processor number.
// The host, and locations for records about several processors, do not count as processors. In other traces
// each location that is a process, thread or stream is a processor. Only processors with events count;
// comments, statistics, markers, snapshots and summaries do not count.
//
// A processor is idle while one of its open regions means idle (see [Options]). Otherwise it is in overhead
// while an open region means overhead, and otherwise busy. With Options.Waits it is also idle while it waits
// for others in a call. It is idle before it starts and after it has finished. It starts when tracing begins
// (the entry of PICL's event type -901), and has finished when tracing ends (its exit) until the next entry.
// Without these records it starts with its first event and finishes with its last one. Events outside of this
// time do not count. Therefore a region that is never left ends at the last event of the processor. The result
// covers the time from the first to the last event of all processors.
//
// A leave closes an open enter of the same region at the same location. A leave without an enter is counted as
// an orphan and otherwise ignored. Between an entry and an exit of PICL's event type for full buffers, the
// state of a processor is unknown. The processor is then in a gap, and in none of the three states. A mark of
// full buffers has no end. After such a mark, the processor is in a gap up to its next event, and then returns
// to its previous state.
//
// A part needs batches in global time order or, with Options.Changes, each location in order. [Read] passes it
// the events that a window needs.
package states

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/trace"
)

// Part holds the states of the processors of a trace.
type Part struct {
	defs *trace.Definitions
	opt  Options

	classes   []class         // classes of regions
	numbers   []int64         // indexed by location: number of the processor; -1 if there is none
	hasEvent  []bool          // indexed by location: whether the location has had an event
	gapped    map[uint32]bool // locations in a gap
	changes   []change        // only with Options.Changes
	locations map[uint32]span
	engine    engine
	any       bool
	last      int64 // time of the last event; not set with Options.Changes
	bracketed bool  // the trace marks when tracing is on
	entrance  entrance
	waits     waitQueue // begins and ends of waits after the last event
}

// span holds the times of the first and the last event of a location, in ticks.
type span struct{ first, last int64 }

// change is an event that can change the state of a processor.
type change struct {
	time     int64
	location uint32
	region   uint32
	kind     changeKind
}

// changeKind is the effect of a change.
type changeKind uint8

const (
	sign  changeKind = iota // an event that does not change the state, but shows that the processor is active
	enter                   // the processor enters a region with a state other than busy
	leave                   // the processor leaves such a region
	gap                     // nothing was recorded from here to the next event
)

// class states how a region affects the state.
type class struct {
	state   State
	wanted  bool // Options.Regions selects the region
	bracket bool // the region marks the time in which tracing is on (PICL's -901)
	known   bool
}

// changes reports whether enters and leaves of a region of this class change the state of a
// processor.
func (c class) changes() bool { return c.bracket || c.wanted || c.state != Busy }

// none is the processor number of a location that does not belong to a processor.
const none = -1

// New returns an empty part for a trace.
func New(d *trace.Definitions, opt Options) *Part {
	p := &Part{defs: d, opt: opt, locations: map[uint32]span{}, bracketed: brackets(d)}
	p.engine.window, p.engine.limited = opt.Window, opt.Regions != nil
	if opt.Waits != nil {
		p.waits = opt.Waits.changes()
	}
	if opt.Series != nil {
		p.engine.bins = NewTimes(*opt.Series)
	}
	return p
}

// Batch handles events. They must come in global time order or, with Options.Changes, in the order of
// time at each location.
func (p *Part) Batch(b *trace.Batch) error {
	for i, k := range b.Kind {
		if !k.IsActivity() {
			continue
		}
		loc := b.Location(i)
		if int(loc) >= len(p.numbers) || !p.hasEvent[loc] {
			if err := p.addLocation(loc); err != nil {
				return err
			}
		}
		if p.numbers[loc] == none {
			continue
		}
		c := change{time: b.Time[i], location: loc, region: b.Ref[i]}
		if k == trace.Gap {
			c.kind = gap
		}
		if k == trace.Enter || k == trace.Leave {
			if p.class(c.region).changes() {
				c.kind = enter
				if k == trace.Leave {
					c.kind = leave
				}
			}
		}
		if p.opt.Changes {
			s, ok := p.locations[loc]
			if !ok {
				s.first = c.time
			}
			s.last = c.time
			p.locations[loc] = s
			if c.kind != sign || p.gapped[loc] {
				// The first event after a gap ends the gap.
				p.changes = append(p.changes, c)
			}
			if c.kind == gap && p.gapped == nil {
				p.gapped = map[uint32]bool{}
			}
			if c.kind == gap || p.gapped[loc] {
				p.gapped[loc] = c.kind == gap
			}
			continue
		}
		if p.any && c.time < p.last {
			return fmt.Errorf("states: found an event at %d after one at %d, expected global time order", c.time, p.last)
		}
		p.any, p.last = true, c.time
		if len(p.waits) > 0 && p.waits[0].time <= c.time {
			if err := p.waitsUpTo(c.time); err != nil {
				return err
			}
		}
		if !p.bracketed || p.entrance.passes(loc) {
			p.engine.take(c, p.numbers[loc], p.class(c.region))
			continue
		}
		p.follow(p.entrance.take(c, c.kind == enter && p.class(c.region).bracket))
	}
	return nil
}

// follow applies changes, which must come in the order of time.
func (p *Part) follow(changes []change) {
	for _, c := range changes {
		p.engine.take(c, p.numbers[c.location], p.class(c.region))
	}
}

// Links ignores links.
func (p *Part) Links([]trace.Link) error { return nil }

// class returns the class of a region.
func (p *Part) class(region uint32) class {
	if region == trace.NoRef {
		return class{state: Busy}
	}
	if int(region) < len(p.classes) && p.classes[region].known {
		return p.classes[region]
	}
	n := p.defs.Regions.Len()
	if int(region) >= n {
		return class{state: Busy}
	}
	if n > len(p.classes) {
		p.classes = append(p.classes, make([]class, n-len(p.classes))...)
	}
	r := p.defs.Regions.At(region)
	c := class{state: p.opt.StateIn(p.defs, r), bracket: p.defs.RegionRole(r) == trace.TracingRole, known: true,
		wanted: p.opt.Regions != nil && p.opt.Regions(region)}
	p.classes[region] = c
	return c
}

// addLocation sets the processor number of a location at its first event.
func (p *Part) addLocation(loc uint32) error {
	n := p.defs.Locations.Len()
	if int(loc) >= n {
		return fmt.Errorf("states: found an event at location %d, expected one of the %d locations of the trace", loc, n)
	}
	if n > len(p.numbers) {
		p.numbers = append(p.numbers, make([]int64, n-len(p.numbers))...)
		p.hasEvent = append(p.hasEvent, make([]bool, n-len(p.hasEvent))...)
	}
	p.hasEvent[loc], p.numbers[loc] = true, p.number(loc)
	return nil
}

// number returns the processor number of a location, or none.
func (p *Part) number(loc uint32) int64 {
	l := p.defs.Locations.At(loc)
	if !l.Kind.IsProcessor() {
		return none
	}
	if p.defs.Conventions.EventTypes {
		id, _, _ := strings.Cut(l.ID, "/")
		if n, err := strconv.ParseInt(id, 10, 64); err == nil && n >= 0 {
			return n
		}
		return none
	}
	return int64(loc)
}

// Merge adds another part of the same trace, which must have processed other locations. Both parts must have
// the same options, with Options.Changes set. The other part must not be used afterwards.
func (p *Part) Merge(o *Part) error {
	if p.defs != o.defs || p.opt.Changes != o.opt.Changes {
		return fmt.Errorf("states: found parts of different traces or options")
	}
	if !p.opt.Changes {
		switch {
		case !o.any:
		case !p.any:
			*p = *o
		default:
			return fmt.Errorf("states: parts can be merged only when they keep their changes (Options.Changes)")
		}
		return nil
	}
	for loc, s := range o.locations {
		if _, ok := p.locations[loc]; ok {
			return fmt.Errorf("states: location %d was seen by both parts; expected parts of different locations", loc)
		}
		if err := p.addLocation(loc); err != nil {
			return err
		}
		p.locations[loc] = s
	}
	p.changes = append(p.changes, o.changes...)
	return nil
}

// Result holds the states of the processors. Times are in ticks of Clock.
type Result struct {
	Clock trace.Clock `json:"clock"`
	First int64       `json:"first"` // time of the first event of all processors, or begin of the window
	Last  int64       `json:"last"`  // time of the last event of all processors, or end of the window
	// Processors holds the processors in the order of their numbers.
	Processors []Processor `json:"processors"`
	// Profile holds an element for each number of processors from 0 to all.
	Profile []Level `json:"profile"`
	// Series is nil unless Options.Series is set.
	Series *Series `json:"series,omitempty"`
	// Unclosed is the number of enters without a leave. It counts only regions that mean overhead or idle,
	// tracing regions, and the regions of Options.Regions. It does not count enters at locations that have an
	// event after the window.
	Unclosed int64 `json:"unclosed"`
	// Orphans is the number of leaves without an enter in the window, for the same regions as Unclosed.
	Orphans int64 `json:"orphans"`
	// Violations has the violations of Options.Waits. It is nil if there are none.
	Violations *Violations `json:"violations,omitempty"`
}

// Processor holds the time of a processor in each state, in ticks. All processors have the times from
// Result.First to Result.Last, unless Options.Regions is set.
type Processor struct {
	// Number is the processor number in PICL, or the index of the location in other traces.
	Number   int64  `json:"number"`
	ID       string `json:"id"` // id in the file of the processor's first location
	Name     string `json:"name,omitempty"`
	Busy     int64  `json:"busy"`
	Overhead int64  `json:"overhead"`
	Idle     int64  `json:"idle"`
	Gap      int64  `json:"gap,omitempty"`
	// Locations holds the indices of its locations with events.
	Locations []uint32 `json:"-"`
}

// Level holds the times in ticks in which exactly Count processors were in each state. A processor in a gap,
// or outside of the regions of Options.Regions, is in none of these states.
type Level struct {
	Count    int64 `json:"count"`
	Busy     int64 `json:"busy"`
	Overhead int64 `json:"overhead"`
	Idle     int64 `json:"idle"`
}

// Missing returns the reason why a trace has no states, or "". processors is the number of processors with events.
// Metrics alone show no states. Without regions, collective operations can still show waits.
func Missing(d *trace.Definitions, processors int) string {
	switch {
	case processors > 0 && (d.Regions.Len() > 0 || d.Metrics.Len() == 0 || d.Communicator.Len() > 0):
		return ""
	case processors > 0:
		return "the trace has no calls of regions, and only these show the states of processors"
	case d.Resources.Len() > 0:
		return "the trace has no processors, and only processors have states; weft usage shows the use of resources"
	}
	return "the trace has no events of processors, which have states"
}

// NoTime is the reason why there are no states if processors have events, but none of them has time in a state or in
// a gap.
const NoTime = "found no time of processors, expected some"

// Result returns the states up to the last event. The part can handle further events after that.
func (p *Part) Result() *Result {
	e := &p.engine
	if p.opt.Changes {
		e = p.replay()
	} else {
		p.follow(p.entrance.settle())
	}
	r := e.result()
	r.Clock = p.defs.Clock
	if w := p.opt.Waits; w != nil && w.Violations != (Violations{}) {
		r.Violations = &w.Violations
	}
	at := map[int64]*Processor{}
	for i := range r.Processors {
		at[r.Processors[i].Number] = &r.Processors[i]
	}
	for loc, n := range p.numbers {
		x := at[n]
		if !p.hasEvent[loc] || x == nil {
			continue
		}
		if len(x.Locations) == 0 {
			l := p.defs.Locations.At(uint32(loc))
			x.ID, x.Name = l.ID, l.Name
		}
		x.Locations = append(x.Locations, uint32(loc))
	}
	return r
}

// replay returns an engine after applying all changes in global time order.
func (p *Part) replay() *engine {
	all := make([]change, 0, len(p.changes)+2*len(p.locations))
	entries := p.entries()
	for loc, s := range p.locations {
		if _, ok := entries[loc]; !ok {
			all = append(all, change{time: s.first, location: loc})
		}
	}
	for _, c := range p.changes {
		if entry, ok := entries[c.location]; ok && c.time < entry {
			if c.kind != enter && c.kind != leave {
				continue
			}
			c.time = entry
		}
		all = append(all, c)
	}
	for loc, s := range p.locations {
		all = append(all, change{time: s.last, location: loc})
	}
	slices.SortStableFunc(all, func(a, b change) int {
		switch {
		case a.time < b.time:
			return -1
		case a.time > b.time:
			return 1
		}
		return 0
	})
	e := &engine{window: p.opt.Window, limited: p.opt.Regions != nil}
	if p.opt.Series != nil {
		e.bins = NewTimes(*p.opt.Series)
	}
	for _, c := range all {
		e.take(c, p.numbers[c.location], p.class(c.region))
	}
	return e
}
