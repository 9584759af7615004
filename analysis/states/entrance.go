package states

import (
	"cmp"
	"slices"

	"github.com/weft-trace/weft/trace"
)

// entrance holds back the changes of a location until the location's entry of tracing (PICL's -901), because
// changes before this entry lie outside of the traced time. Only the end of the trace shows that a location
// has no such entry.
type entrance struct {
	entered []bool              // indexed by location: whether it has had its entry of tracing
	held    map[uint32][]change // indexed by location: changes before the location's entry of tracing
	queue   []change            // changes of all other locations
	// size is the number of changes in held and queue.
	size    int
	settled bool // changes are not held back any more
}

// maxHeld is the greatest number of changes that are held back. If there are more, locations that have had no
// entry so far count from their first event.
const maxHeld = 1 << 20

// passes reports whether a change of a location can be applied without [entrance.take].
func (e *entrance) passes(location uint32) bool {
	return len(e.held) == 0 && (e.settled || int(location) < len(e.entered) && e.entered[location])
}

// take handles a change for which passes is false. Changes must come in the order of time. entry is set
// for an entry of tracing. take returns the changes that can now be applied.
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

// hold keeps a change of a location that has had no entry so far. Of consecutive changes of the kind sign, it
// keeps only the first and the last one.
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

// atEntry returns the enters and leaves among the changes before an entry of tracing, with the time of the
// entry, because they take effect at the entry.
func atEntry(l []change, entry int64) []change {
	l = slices.DeleteFunc(l, func(c change) bool { return c.kind != enter && c.kind != leave })
	for i := range l {
		l[i].time = entry
	}
	return l
}

// settle returns all changes that are held back, in the order of time. After this call, no changes are held
// back.
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

// entries returns the time of the first entry of tracing for each location that has one.
func (p *Part) entries() map[uint32]int64 {
	m := map[uint32]int64{}
	for _, c := range p.changes {
		if _, ok := m[c.location]; !ok && c.kind == enter && p.class(c.region).bracket {
			m[c.location] = c.time
		}
	}
	return m
}

// brackets reports whether a trace defines regions that mark when tracing is on.
func brackets(d *trace.Definitions) bool {
	for i := range d.Regions.Len() {
		if d.RegionRole(d.Regions.At(uint32(i))) == trace.TracingRole {
			return true
		}
	}
	return false
}
