package states

import (
	"cmp"
	"slices"

	"github.com/weft-trace/weft/trace"
)

// entrance holds changes back while a location has not been met by its entry of tracing (PICL's
// -901): what comes before that entry happens outside, and only at the end of the trace it is
// known that there is none.
type entrance struct {
	entered []bool              // by location: its entry has come
	held    map[uint32][]change // of locations whose entry has not come
	queue   []change            // of all others
	size    int
	settled bool // nothing is held any more
}

// maxHeld bounds the changes that are held back; with more the locations count from their first
// event.
const maxHeld = 1 << 20

// passes reports whether changes of a location go on at once.
func (e *entrance) passes(location uint32) bool {
	return len(e.held) == 0 && (e.settled || int(location) < len(e.entered) && e.entered[location])
}

// take takes a change in the order of time that does not pass, and gives those that can go on.
func (e *entrance) take(c change, entry bool) (ready []change) {
	for int(c.location) >= len(e.entered) {
		e.entered = append(e.entered, false)
	}
	if !e.entered[c.location] {
		e.entered[c.location] = entry
		if !entry {
			e.hold(c)
			if e.size < maxHeld {
				return nil
			}
			return e.settle()
		}
		e.queue = append(e.queue, inside(e.held[c.location], c.time)...)
		delete(e.held, c.location)
	}
	e.queue = append(e.queue, c)
	if e.size++; len(e.held) == 0 || e.size >= maxHeld {
		return e.settle()
	}
	return nil
}

// hold keeps a change of a location whose entry has not come. Of events that change nothing the
// first and the last are enough.
func (e *entrance) hold(c change) {
	if e.held == nil {
		e.held = map[uint32][]change{}
	}
	l := e.held[c.location]
	if n := len(l); n > 1 && c.kind == sign && l[n-1].kind == sign && l[n-2].kind == sign {
		l[n-1] = c
		return
	}
	e.held[c.location] = append(l, c)
	e.size++
}

// inside are changes from before the entry of tracing, as they hold from then on.
func inside(l []change, entry int64) []change {
	l = slices.DeleteFunc(l, func(c change) bool { return c.kind != enter && c.kind != leave })
	for i := range l {
		l[i].time = entry
	}
	return l
}

// settle gives all that is held, in the order of time.
func (e *entrance) settle() []change {
	all := e.queue
	if len(e.held) > 0 {
		e.settled = true
		for _, l := range e.held {
			all = append(all, l...)
		}
		slices.SortStableFunc(all, func(a, b change) int { return cmp.Compare(a.time, b.time) })
	}
	e.held, e.queue, e.size = nil, nil, 0
	return all
}

// entries are the times of the first entry of tracing of locations that have one, from their
// changes.
func (p *Part) entries() map[uint32]int64 {
	m := map[uint32]int64{}
	for _, c := range p.changes {
		if _, ok := m[c.location]; !ok && c.kind == enter && p.class(c.region).bracket {
			m[c.location] = c.time
		}
	}
	return m
}

// brackets reports whether a trace has regions that say when tracing is on.
func brackets(d *trace.Definitions) bool {
	for i := range d.Regions.Len() {
		if d.RegionRole(d.Regions.At(uint32(i))) == trace.TracingRole {
			return true
		}
	}
	return false
}
