package states

import (
	"cmp"
	"slices"

	"github.com/weft-trace/weft/trace"
)

// entrance holds back the changes of a location until its entry of tracing (PICL's -901). Changes
// before that entry are outside of the traced time, and only at the end of the trace it is known
// that there is no entry.
type entrance struct {
	entered []bool              // by location: its entry has come
	held    map[uint32][]change // changes of locations whose entry has not come
	queue   []change            // changes of all others
	size    int
	settled bool // nothing is held any more
}

// maxHeld is the greatest number of changes that are held back. Beyond it the locations count from
// their first event.
const maxHeld = 1 << 20

// passes reports whether changes of a location are applied at once.
func (e *entrance) passes(location uint32) bool {
	return len(e.held) == 0 && (e.settled || int(location) < len(e.entered) && e.entered[location])
}

// take processes a change, in time order, that does not pass, and returns those that can be
// applied.
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
		e.queue = append(e.queue, atEntry(e.held[c.location], c.time)...)
		delete(e.held, c.location)
	}
	e.queue = append(e.queue, c)
	if e.size++; len(e.held) == 0 || e.size >= maxHeld {
		return e.settle()
	}
	return nil
}

// hold keeps a change of a location whose entry has not come. Of events that change nothing only
// the first and the last are kept.
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

// atEntry returns the changes from before the entry of tracing, with the times at which they take
// effect after it.
func atEntry(l []change, entry int64) []change {
	l = slices.DeleteFunc(l, func(c change) bool { return c.kind != enter && c.kind != leave })
	for i := range l {
		l[i].time = entry
	}
	return l
}

// settle returns all held changes in time order.
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

// entries returns the time of the first entry of tracing of each location that has one, from their
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

// brackets reports whether a trace has regions that mark when tracing is on.
func brackets(d *trace.Definitions) bool {
	for i := range d.Regions.Len() {
		if d.RegionRole(d.Regions.At(uint32(i))) == trace.TracingRole {
			return true
		}
	}
	return false
}
