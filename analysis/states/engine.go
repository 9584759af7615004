package states

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/weft-trace/weft/internal/openset"
	"github.com/weft-trace/weft/trace"
)

// engine follows the states of the processors in the order of time.
//
// A processor that has no more events is idle from its last event on, but only the end of the trace shows
// which event is the last one. Therefore the times for each number of busy processors are not added up over
// the whole trace, but in sections. The working processors form a list in the order of their last event so
// far. Each element holds the times from this event to the last event of the next processor in the list. When
// an event of a processor comes, its times move to the previous element of the list, and the processor moves
// to the end of the list. At the end of the trace, the list determines which times have one more idle
// processor. The list is at most as long as the number of processors.
type engine struct {
	now, start int64
	any        bool
	processors []processor
	byNumber   map[int64]int32
	places     []*locationState   // indexed by location; nil before its first change
	at         [outside + 1]int64 // number of processors in each state
	// settled holds the times before the last events of all working processors. The first histogram is indexed
	// by the number of busy processors, and the second one by the number of processors in overhead.
	settled [2]histogram
	// working holds the same times, indexed by the number of processors that are busy, in overhead or in a
	// gap. If only time in wanted regions counts, it is indexed by the number of idle processors.
	working     histogram
	first, last int32 // first and last processor of the list
	orphans     int64
	table       []int32       // memory for pack
	bins        *Times        // nil unless a series is requested
	window      *trace.Window // nil if all time counts
	limited     bool          // only time in visits of wanted regions counts
}

// histogram holds, at index k, the time in ticks during which k processors were in a state.
type histogram []int64

func (h *histogram) add(k, ticks int64) {
	if k >= int64(len(*h)) {
		*h = append(*h, make([]int64, k+1-int64(len(*h)))...)
	}
	(*h)[k] += ticks
}

// processor is the state of a processor. Times are in ticks.
type processor struct {
	number int64
	state  State
	since  int64 // the time in the current state has been counted up to this time
	ticks  [outside + 1]int64
	open   [outside + 1]int64 // number of open regions by state
	alive  int64              // number of the processor's locations that have started and have not finished
	gaps   int64              // number of the processor's locations that are in a gap of the recording
	inside int64              // number of open visits of wanted regions
	// prev and next are the neighbours of the processor in the list. They are valid if listed is set.
	prev, next int32
	listed     bool
	lastEvent  int64   // time of the processor's latest event; valid if listed is set
	times      []share // times since the processor's latest event; valid if listed is set
	packed     int     // len(times) after the last call of pack
}

// share is a time in ticks during which busy processors were busy and overhead processors were in overhead. rest
// is the number of processors in a gap or, if only time in wanted regions counts, the number of idle processors.
type share struct {
	busy, overhead, rest int32
	ticks                int64
}

// locationState is the state of a location of a processor.
type locationState struct {
	processor int32
	open      []uint32              // the open regions, in the order of their enters
	openIndex openset.Index[uint32] // finds regions in open
	// brackets is the number of open tracing regions.
	brackets int
	latest   int64 // time of the latest change
	entered  bool  // the location has had an entry of tracing
	alive    bool
	gap      bool
}

// take advances the time to a change, and applies the change. number is the number of the processor to which the
// location of the change belongs. x is the class of the region that changes.
func (e *engine) take(c change, number int64, x class) {
	if !e.any {
		e.any, e.start, e.now, e.first, e.last = true, c.time, c.time, none, none
		e.byNumber = map[int64]int32{}
	}
	for int64(c.location) >= int64(len(e.places)) {
		e.places = append(e.places, nil)
	}
	pl := e.places[c.location]
	if pl != nil && pl.entered && !pl.alive && e.processors[pl.processor].alive == 0 && (c.kind != enter || !x.bracket) {
		e.change(pl, c, x) // time after the end of tracing does not count
		return
	}
	if c.time > e.now {
		e.advance(c.time)
	}
	if pl == nil {
		i := e.processor(number)
		e.processors[i].alive++
		pl = &locationState{processor: i, alive: true}
		e.places[c.location] = pl
	}
	p := &e.processors[pl.processor]
	if (c.kind == gap) != pl.gap {
		if pl.gap = c.kind == gap; pl.gap {
			p.gaps++
		} else {
			p.gaps--
		}
	}
	e.change(pl, c, x)
	e.unlist(pl.processor)
	if s := e.currentState(p); s != p.state {
		p.ticks[p.state] += clippedLength(e.window, p.since, e.now)
		if e.bins != nil {
			e.bins.Add(p.state, p.since, e.now)
		}
		e.at[p.state]--
		e.at[s]++
		p.state, p.since = s, e.now
	}
	if p.state != e.inactiveState() {
		e.list(pl.processor)
	}
}

// processor returns the index of the processor with the given number, and adds an idle processor if needed.
func (e *engine) processor(number int64) int32 {
	i, ok := e.byNumber[number]
	if !ok {
		i = int32(len(e.processors))
		e.processors = append(e.processors, processor{number: number, state: e.inactiveState(), since: e.start})
		e.byNumber[number] = i
		e.at[e.inactiveState()]++
	}
	return i
}

// change applies the enter or leave of a region at a location.
func (e *engine) change(pl *locationState, c change, x class) {
	p := &e.processors[pl.processor]
	pl.latest = c.time
	switch c.kind {
	case enter:
		pl.openIndex.Open(c.region, len(pl.open))
		pl.open = append(pl.open, c.region)
		if x.bracket {
			pl.brackets++
			pl.entered = true
			p.setAlive(pl, true)
		}
		p.open[x.state]++
		if x.wanted {
			p.inside++
		}
	case leave:
		i := pl.openIndex.Find(c.region, len(pl.open), func(i int) uint32 { return pl.open[i] })
		if i < 0 {
			if e.window.Has(c.time) {
				e.orphans++
			}
		} else {
			pl.open = openset.Close(&pl.openIndex, pl.open, i, c.region)
			p.open[x.state]--
			if x.wanted {
				p.inside--
			}
		}
		if x.bracket {
			if i >= 0 {
				pl.brackets--
			}
			p.setAlive(pl, pl.brackets > 0)
		}
	}
}

// setAlive sets whether a location has started and not finished, and updates the count of its processor.
func (p *processor) setAlive(pl *locationState, alive bool) {
	if alive != pl.alive {
		pl.alive = alive
		if alive {
			p.alive++
		} else {
			p.alive--
		}
	}
}

// inactiveState returns the state of a processor before its first event and after its last event.
func (e *engine) inactiveState() State {
	if e.limited {
		return outside
	}
	return Idle
}

// restState returns the state of the processors that the field rest of a share counts.
func (e *engine) restState() State {
	if e.limited {
		return Idle
	}
	return Gap
}

// currentState returns the state of a processor that follows from its open regions and gaps.
func (e *engine) currentState(p *processor) State {
	switch {
	case e.limited && (p.inside == 0 || p.alive == 0):
		return outside
	case p.open[Gap] > 0 && p.alive > 0:
		return Gap
	case p.open[Idle] > 0 && p.gaps == 0 || p.alive == 0:
		// The state in a gap is unknown, so that an open wait does not make the processor idle.
		return Idle
	case p.open[Overhead] > 0:
		return Overhead
	}
	return Busy
}

// advance counts the time up to t in the current states.
func (e *engine) advance(t int64) {
	s := share{int32(e.at[Busy]), int32(e.at[Overhead]), int32(e.at[e.restState()]), clippedLength(e.window, e.now, t)}
	if e.last == none {
		e.settle(s)
	} else {
		p := &e.processors[e.last]
		p.times = append(p.times, s)
		e.pack(p)
	}
	e.now = t
}

// settle counts time that no later event can change.
func (e *engine) settle(s share) {
	e.settled[0].add(int64(s.busy), s.ticks)
	e.settled[1].add(int64(s.overhead), s.ticks)
	if e.limited {
		e.working.add(int64(s.rest), s.ticks)
		return
	}
	e.working.add(int64(s.busy)+int64(s.overhead)+int64(s.rest), s.ticks)
}

// pack combines equal shares. It does so only if there are at least 64 shares, and twice as many as after its
// last call.
func (e *engine) pack(p *processor) {
	if len(p.times) < 64 || len(p.times) < 2*p.packed {
		return
	}
	// table is a hash table of the shares before n. It holds their indexes plus 1.
	size := 1 << bits.Len(uint(2*len(p.times)))
	if len(e.table) < size {
		e.table = make([]int32, size)
	}
	table, n := e.table[:size], 0
	clear(table)
	for _, s := range p.times {
		h := (uint32(s.busy)*0x9e3779b1 ^ uint32(s.overhead)*0x85ebca6b ^ uint32(s.rest)*0xc2b2ae35) >> 7
		for ; ; h++ {
			k := &table[h&uint32(size-1)]
			if *k == 0 {
				p.times[n] = s
				n++
				*k = int32(n)
				break
			}
			if t := &p.times[*k-1]; t.busy == s.busy && t.overhead == s.overhead && t.rest == s.rest {
				t.ticks += s.ticks
				break
			}
		}
	}
	p.times = p.times[:n]
	p.packed = n
}

// unlist removes a processor from the list, and adds its times to the times of the previous processor in the
// list.
func (e *engine) unlist(i int32) {
	p := &e.processors[i]
	if !p.listed {
		return
	}
	p.listed = false
	if p.next != none {
		e.processors[p.next].prev = p.prev
	} else {
		e.last = p.prev
	}
	if p.prev == none {
		e.first = p.next
		for _, s := range p.times {
			e.settle(s)
		}
	} else {
		q := &e.processors[p.prev]
		q.next = p.next
		// Append the shorter list to the longer one.
		if len(q.times) < len(p.times) {
			q.times, p.times = p.times, q.times
			q.packed = p.packed
		}
		q.times = append(q.times, p.times...)
		e.pack(q)
	}
	p.times, p.packed = p.times[:0], 0
}

// list appends a processor to the list.
func (e *engine) list(i int32) {
	p := &e.processors[i]
	p.listed, p.lastEvent, p.prev, p.next = true, e.now, e.last, none
	if e.last != none {
		e.processors[e.last].next = i
	} else {
		e.first = i
	}
	e.last = i
}

// result returns the times up to the last event. In the result, open regions end at the last event of their
// processor; the engine itself does not change.
func (e *engine) result() *Result {
	r := &Result{Processors: []Processor{}, Profile: []Level{}, Orphans: e.orphans}
	if e.bins != nil {
		r.Series = e.series()
	}
	if !e.any {
		return r
	}
	r.First, r.Last = e.start, e.now
	if w := e.window; w != nil {
		r.First = min(max(r.First, w.From), r.Last)
		r.Last = max(r.First, min(r.Last, w.To))
	}
	for _, pl := range e.places {
		if pl == nil {
			continue
		}
		for i := range pl.open {
			if e.window != nil && !trace.Before(pl.latest, e.window.To) {
				break // the regions continue after the window
			}
			if !pl.openIndex.Gap(i) {
				r.Unclosed++
			}
		}
	}
	ticks := make([][outside + 1]int64, len(e.processors))
	for i := range e.processors {
		p := &e.processors[i]
		ticks[i] = p.ticks
		ticks[i][p.state] += clippedLength(e.window, p.since, e.now)
	}
	end := engine{
		limited: e.limited,
		settled: [2]histogram{slices.Clone(e.settled[0]), slices.Clone(e.settled[1])},
		working: slices.Clone(e.working),
	}
	// The listed processors may have had their last event. If so, each of them is idle, or outside,
	// from that event on, instead of being in its state.
	var ended [outside + 1]int32
	for i := e.first; i != none; i = e.processors[i].next {
		p := &e.processors[i]
		ended[p.state]++
		rest := clippedLength(e.window, p.lastEvent, e.now)
		ticks[i][p.state] -= rest
		ticks[i][e.inactiveState()] += rest
		for _, s := range p.times {
			rest := s.rest - ended[e.restState()]
			end.settle(share{s.busy - ended[Busy], s.overhead - ended[Overhead], rest, s.ticks})
		}
	}
	n := int64(len(e.processors))
	r.Profile = make([]Level, n+1)
	for k := range r.Profile {
		r.Profile[k].Count = int64(k)
	}
	for k, t := range end.settled[0] {
		r.Profile[k].Busy = t
	}
	for k, t := range end.settled[1] {
		r.Profile[k].Overhead = t
	}
	for k, t := range end.working {
		if e.limited {
			r.Profile[k].Idle = t
		} else {
			r.Profile[n-int64(k)].Idle = t
		}
	}
	for i := range e.processors {
		r.Processors = append(r.Processors, Processor{
			Number: e.processors[i].number, Busy: ticks[i][Busy], Overhead: ticks[i][Overhead], Idle: ticks[i][Idle],
			Gap: ticks[i][Gap],
		})
	}
	slices.SortFunc(r.Processors, func(a, b Processor) int { return cmp.Compare(a.Number, b.Number) })
	return r
}

// series returns the shares over time up to the last event. Open regions end as in result.
func (e *engine) series() *Series {
	b := e.bins.clone()
	for i := range e.processors {
		p := &e.processors[i]
		if p.listed {
			b.Add(p.state, p.since, p.lastEvent)
			b.Add(Idle, p.lastEvent, e.now)
			continue
		}
		b.Add(p.state, p.since, e.now)
	}
	return b.Series(len(e.processors))
}
