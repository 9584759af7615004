package otf2

import (
	"maps"
	"slices"
)

// localizer converts events of a rewritten archive to the form in the location's own file: it maps
// references back to ids of the location, and undoes the clock correction that the location's
// definitions describe (docs/formats/otf2.md, "Rewriting an archive").
type localizer struct {
	local *localDefinitions
	// ids maps references of the archive to references of the location, for each table with a mapping table.
	// localize adds references that are missing in the mapping table.
	ids   [mappedTables]map[uint64]uint64
	clock *clock // nil if the times in the file are not corrected
	event Event
	last  uint64 // the last time that was written, on the location's clock
	// inexact is the number of times that the clock cannot represent exactly.
	inexact int64
}

// localizer returns the localizer of a location, or nil if the location has no definitions that
// require one.
func (e *encoder) localizer(loc uint32) *localizer {
	o := e.original
	if loc < uint32(len(o.localizers)) && o.localizers[loc].known {
		return o.localizers[loc].localizer
	}
	for uint32(len(o.localizers)) <= loc {
		o.localizers = append(o.localizers, foundLocalizer{})
	}
	x := e.newLocalizer(loc)
	o.localizers[loc] = foundLocalizer{x, true}
	return x
}

// foundLocalizer is the result of [encoder.localizer] for a location. known is set after the first call.
type foundLocalizer struct {
	localizer *localizer
	known     bool
}

// newLocalizer creates the localizer of a location. It returns nil if the location does not require one.
func (e *encoder) newLocalizer(loc uint32) *localizer {
	o := e.original
	p := o.part(loc)
	id := e.id(Locations, loc)
	if p.index != nil {
		own, ok := p.own[id]
		if !ok {
			return nil // the location was added to the trace
		}
		id = own
	}
	var x *localizer
	l, _ := p.m.a.localDefinitions(id) // the decoder has reported damaged records and ignores them
	// the events of several archives use the times and the ids of the written archive
	if o.shared[loc] {
		o.clocks += int64(len(l.clocks))
		l = &localDefinitions{}
	}
	if e.defs.Retimed || p.retimed || e.base > 0 || !increasing(l.clocks) {
		o.clocks += int64(len(l.clocks))
		l.clocks = nil
	}
	if len(l.clocks) > 0 || l.maps != [mappedTables]*idMap{} {
		x = &localizer{local: l, clock: newClock(l.clocks)}
		for t, m := range l.maps {
			if m != nil {
				m.replace(func(id uint64) uint64 { return p.id(Table(t), id) })
				x.ids[t] = m.inverse()
			}
		}
	}
	return x
}

// increasing reports whether a clock with these offsets corrects later times to later times.
func increasing(l []ClockOffset) bool {
	for i := 1; i < len(l); i++ {
		if x, y := l[i-1], l[i]; y.Time <= x.Time || int64(y.Time-x.Time)+(y.Offset-x.Offset) <= 0 {
			return false
		}
	}
	return true
}

// replace replaces each id of the archive in the mapping by the result of by.
func (m *idMap) replace(by func(id uint64) uint64) {
	for local, id := range m.dense {
		m.dense[local] = by(id)
	}
	for local, id := range m.sparse {
		m.sparse[local] = by(id)
	}
}

// inverse returns a map from ids of the archive to ids of the location. If several ids of the location map to
// the same id, it uses the smallest.
func (m *idMap) inverse() map[uint64]uint64 {
	ids := map[uint64]uint64{}
	add := func(local, global uint64) {
		if _, twice := ids[global]; !twice {
			ids[global] = local
		}
	}
	for local, global := range m.dense {
		add(uint64(local), global)
	}
	for _, local := range slices.Sorted(maps.Keys(m.sparse)) {
		add(local, m.sparse[local])
	}
	return ids
}

// localize returns an event as it is in the location's file. The result is valid until the next
// call.
func (l *localizer) localize(e *Event) *Event {
	own := &l.event
	own.ID, own.Time, own.Texts = e.ID, l.raw(e.Time), e.Texts
	own.Values = append(own.Values[:0], e.Values...)
	own.Attributes = append(own.Attributes[:0], e.Attributes...)
	own.replaceReferences(&eventTypes[e.ID], l.id)
	if e.ID == bufferFlush && l.clock != nil {
		if stop := own.Values[0]; stop < e.Time { // the reader's clock does not go back
			own.Values[0] = l.clock.inverse(l.clock.at, stop)
		} else {
			own.Values[0] = l.raw(stop)
		}
		l.last = own.Time // the next events can come before the end of the flush
	}
	return own
}

// replaceReferences replaces each reference of an event of type t, and of its attributes, by the result of by.
func (e *Event) replaceReferences(t *recordType, by func(t Table, id uint64) uint64) {
	v := e.Values
	for i := range t.fields {
		v[i] = by(t.fields[i].table, v[i])
	}
	for i := len(t.fields); len(t.each) > 0 && i < len(v); i++ {
		v[i] = by(t.each[(i-len(t.fields))%len(t.each)].table, v[i])
	}
	for i := range e.Attributes {
		a := &e.Attributes[i]
		a.ID, a.Value = uint32(by(Attributes, uint64(a.ID))), by(tableOf(uint64(a.Type)), a.Value)
	}
}

// id returns the location's reference for a reference of the archive. If a mapping table lacks the
// reference, id adds an entry.
func (l *localizer) id(t Table, v uint64) uint64 {
	if t >= mappedTables || l.ids[t] == nil || t != Locations && v == undefined32 || v == undefined64 {
		return v
	}
	own, ok := l.ids[t][v]
	if ok {
		return own
	}
	m := l.local.maps[t]
	// taken reports whether earlier events have an id that maps to itself.
	taken := func(id uint64) bool { own, ok := l.ids[t][id]; return ok && own == id }
	switch own = v; {
	case m.global(v) == v: // an id without an entry maps to itself
	case m.sparse == nil:
		for taken(uint64(len(m.dense))) {
			m.dense = append(m.dense, uint64(len(m.dense)))
		}
		own = uint64(len(m.dense))
		m.dense = append(m.dense, v)
	default:
		for used := true; used || taken(own); {
			own++
			_, used = m.sparse[own]
		}
		m.sparse[own] = v
	}
	l.ids[t][v] = own
	return own
}

// raw returns the time of the location's clock whose corrected time is t.
func (l *localizer) raw(t uint64) uint64 {
	c := l.clock
	if c == nil {
		return t
	}
	last := len(c.offsets) - 2
	for i := c.at; ; i++ {
		own := c.inverse(i, t)
		if i < last && own > c.offsets[i+1].Time {
			continue
		}
		if i > c.at && own <= c.offsets[i].Time {
			own = c.offsets[i].Time + 1 // a reader enters this interval only after this time
		}
		l.last = max(l.last, own)
		if c.correct(l.last) != t {
			l.inexact++
		}
		return l.last
	}
}

// inverse returns the smallest time of the location's clock that interval i of clock offsets corrects to t or
// a later time.
func (c *clock) inverse(i int, t uint64) uint64 {
	x, y := &c.offsets[i], &c.offsets[i+1]
	slope := float64(y.Offset-x.Offset) / float64(y.Time-x.Time)
	after := int64(t - uint64(x.Offset) - x.Time) // time since the offset, by the corrected clock
	own := t - uint64(x.Offset) - uint64(int64(slope*float64(after)/(1+slope)))
	// The division is inexact by some ticks for large numbers.
	for n := 0; n < 1<<12 && int64(c.correctIn(i, own)-t) < 0; n++ {
		own++
	}
	for n := 0; n < 1<<12 && own > 0 && int64(c.correctIn(i, own-1)-t) >= 0; n++ {
		own--
	}
	return own
}

// write writes the file of definitions of a location.
func (l *localizer) write(w *EventWriter) error {
	for t, m := range l.local.maps {
		var err error
		switch {
		case m == nil:
		case m.sparse != nil:
			var pairs [][2]uint64
			for _, id := range slices.Sorted(maps.Keys(m.sparse)) {
				pairs = append(pairs, [2]uint64{id, m.sparse[id]})
			}
			err = w.MapSome(Table(t), pairs)
		default:
			err = w.Map(Table(t), m.dense)
		}
		if err != nil {
			return err
		}
	}
	for _, c := range l.local.clocks {
		if err := w.Clock(c); err != nil {
			return err
		}
	}
	return nil
}
