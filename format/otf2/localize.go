package otf2

import (
	"maps"
	"slices"
)

// localizer turns the events of an archive that is written again into those of the location's own
// file: its references and its clock's times, as the location's definitions say (docs/formats/otf2.md,
// "Rewriting an archive").
type localizer struct {
	local *local
	// ids are the location's references for the archive's, where there is a mapping table. They
	// grow with what the table does not have.
	ids   [mappedTables]map[uint64]uint64
	clock *clock // nil if the times of the file are those of the archive
	event Event
	last  uint64 // time of the location's clock
	// off counts times that the clock cannot show exactly.
	off int64
}

// localizer returns that of a location, nil if it has no definitions of its own that matter.
func (o *original) localizer(id uint64, retimed bool) *localizer {
	if x, ok := o.locals[id]; ok {
		return x
	}
	var x *localizer
	l, _ := o.m.a.local(id) // what is damaged has been reported, and is left out
	if retimed || !increasing(l.clocks) {
		o.clocks += int64(len(l.clocks))
		l.clocks = nil
	}
	if len(l.clocks) > 0 || l.maps != [mappedTables]*idMap{} {
		x = &localizer{local: l, clock: newClock(l.clocks)}
		for t, m := range l.maps {
			if m != nil {
				x.ids[t] = m.inverse()
			}
		}
	}
	o.locals[id] = x
	return x
}

// increasing reports whether later times of a clock with these offsets are corrected to later times.
func increasing(l []ClockOffset) bool {
	for i := 1; i < len(l); i++ {
		if x, y := l[i-1], l[i]; y.Time <= x.Time || int64(y.Time-x.Time)+(y.Offset-x.Offset) <= 0 {
			return false
		}
	}
	return true
}

// inverse is the ids of a location by those of the archive; of several the least.
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

// localize returns an event as the location's file has it, valid until the next call.
func (x *localizer) localize(e *Event) *Event {
	own := &x.event
	own.ID, own.Time, own.Texts = e.ID, x.raw(e.Time), e.Texts
	own.Values = append(own.Values[:0], e.Values...)
	own.Attributes = append(own.Attributes[:0], e.Attributes...)
	v, t := own.Values, &eventTypes[e.ID]
	for i := range t.fields {
		v[i] = x.id(t.fields[i].table, v[i])
	}
	for i := len(t.fields); len(t.each) > 0 && i < len(v); i++ {
		v[i] = x.id(t.each[(i-len(t.fields))%len(t.each)].table, v[i])
	}
	for i := range own.Attributes {
		a := &own.Attributes[i]
		a.ID, a.Value = uint32(x.id(Attributes, uint64(a.ID))), x.id(tableOf(uint64(a.Type)), a.Value)
	}
	if e.ID == bufferFlush {
		v[0] = x.raw(v[0])
	}
	return own
}

// id is the location's reference for the archive's. A mapping table that has none gets one more.
func (x *localizer) id(t Table, v uint64) uint64 {
	if t >= mappedTables || x.ids[t] == nil || t != Locations && v == undefined32 || v == undefined64 {
		return v
	}
	own, ok := x.ids[t][v]
	if ok {
		return own
	}
	m := x.local.maps[t]
	if m.global(v) == v {
		return v // the table has no such id, which means itself
	}
	if m.sparse == nil {
		own = uint64(len(m.dense))
		m.dense = append(m.dense, v)
	} else {
		for own = v; ; own++ {
			if _, used := m.sparse[own]; !used {
				break
			}
		}
		m.sparse[own] = v
	}
	x.ids[t][v] = own
	return own
}

// raw is the time of the location's clock that is corrected to t.
func (x *localizer) raw(t uint64) uint64 {
	c := x.clock
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
			own = c.offsets[i].Time + 1 // readers are in this interval only behind that
		}
		x.last = max(x.last, own)
		if c.correct(x.last) != t {
			x.off++
		}
		return x.last
	}
}

// inverse is the least time that is not corrected to one before t in an interval of offsets.
func (c *clock) inverse(i int, t uint64) uint64 {
	x, y := &c.offsets[i], &c.offsets[i+1]
	slope := float64(y.Offset-x.Offset) / float64(y.Time-x.Time)
	after := int64(t - uint64(x.Offset) - x.Time) // of the clock if it ran at the right speed
	own := t - uint64(x.Offset) - uint64(int64(slope*float64(after)/(1+slope)))
	// The division is wrong by some ticks where numbers are large.
	for n := 0; n < 1<<12 && int64(c.within(i, own)-t) < 0; n++ {
		own++
	}
	for n := 0; n < 1<<12 && own > 0 && int64(c.within(i, own-1)-t) >= 0; n++ {
		own--
	}
	return own
}

// write writes the location's definitions.
func (x *localizer) write(w *EventWriter) error {
	for t, m := range x.local.maps {
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
	for _, c := range x.local.clocks {
		if err := w.Clock(c); err != nil {
			return err
		}
	}
	return nil
}
