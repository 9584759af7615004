package otf2

import (
	"fmt"
	"io"
	"sort"
)

// Attribute is one that an event bears.
type Attribute struct {
	ID    uint32 // of its definition
	Type  uint8
	Value uint64 // as those of records
}

// Event is an event of a location. Its references are those of the archive, and its time
// is corrected, in ticks.
type Event struct {
	Record
	Time       uint64
	Attributes []Attribute
	Number     uint64 // among those of the location, from 1 on
	Offset     int64  // where its record begins
}

// EventOptions are the settings of an [EventReader].
type EventOptions struct {
	RawClocks bool // times are those of the location's own clock
	RawIDs    bool // references are the location's own
}

// EventReader reads the events of a location (docs/formats/otf2.md, "Event stream
// grammar"). It holds 64 KiB of the file, or a record if one is longer.
type EventReader struct {
	c      *chunkReader
	local  *local
	clock  *clock
	time   uint64 // of the location's clock
	start  int64  // the first chunk
	stop   int64  // the chunk before which to stop; 0 for the end of the file
	number uint64
	event  Event
	ended  bool
	types  []recordType // of its records: events or those of snapshots
	what   string       // that they are
	// What no writer makes: bytes behind the fields of the event in hand or of its
	// attributes, numbers with more bytes than they need, and fields that are not there.
	spare        int
	loose, short bool
	// For reading on behind what is damaged.
	later   bool   // the archive is of a later version of OTF2, whose records may be unknown and longer
	fresh   bool   // the chunk in hand has had no time
	began   uint64 // its first one
	trusted int64  // up to where records have been found to be valid
	budget  int64  // bytes that may still be looked at
	scratch Record
}

// eventReader makes a reader of records of some types.
func (a *Archive) eventReader(c *chunkReader, l *local, types []recordType, what string) *EventReader {
	later := a.Version[0] > 3 || a.Version[0] == 3 && a.Version[1] > 1
	return &EventReader{c: c, local: l, types: types, what: what, later: later, budget: resyncBudget*c.size + partSize}
}

// Events opens the events of a location. A [FileError] is one of the location's
// definitions: the reader is good all the same.
func (a *Archive) Events(location uint64, opt EventOptions) (*EventReader, error) {
	l := &local{}
	var bad error
	if !opt.RawClocks || !opt.RawIDs {
		if l, bad = a.local(location); opt.RawIDs {
			l.maps = [mappedTables]*idMap{}
		}
	}
	name := fmt.Sprintf("/%d.evt", location)
	c, err := openChunks(a.files, a.src, a.name+name, a.path+name, a.EventChunk)
	if err != nil {
		return nil, err
	}
	r := a.eventReader(c, l, eventTypes[:], "an event")
	if !opt.RawClocks {
		r.clock = newClock(l.clocks)
	}
	return r, bad
}

// Close frees the file.
func (r *EventReader) Close() { r.c.close() }

// Next is the next event, valid until the next call; io.EOF behind the last one. After
// a [FileError] reading goes on behind what is damaged: that is where valid records follow,
// and if there is no such place with the next chunk.
func (r *EventReader) Next() (*Event, error) {
	c := r.c
	e := &r.event
	e.Attributes, r.spare, r.loose, r.short = e.Attributes[:0], 0, false, false
	if r.ended {
		return nil, io.EOF
	}
	if c.end == 0 {
		if err := r.chunk(r.start); err != nil {
			return nil, err
		}
	}
	for {
		b, err := c.peek(10)
		if err != nil {
			return nil, r.skip(err)
		}
		if len(b) == 0 {
			if err := r.chunk(c.number() + 1); err != nil {
				return nil, err
			}
			continue
		}
		at := c.offset()
		switch id := b[0]; {
		case id <= endOfFile && !r.atEnd(at, b):
			if err := r.damaged(at, 0, c.bad(at, r.what, "record %d", id)); err != nil {
				return nil, err
			}
		case id == endOfFile:
			r.ended = true
			return nil, io.EOF
		case id == endOfChunk || id == endOfBuffer:
			if err := r.chunk(c.number() + 1); err != nil {
				return nil, err
			}
		case id == timestampRecord:
			cur := cursor{b: b, at: 1, big: c.big}
			t := cur.fixed(8)
			if cur.bad {
				return nil, r.skip(c.bad(at, "a time of 8 bytes", "the end of the chunk"))
			}
			if !r.fresh && oddTime(t, r.time) {
				if to := r.misread(at); to.at > 0 {
					r.goTo(to)
					return nil, goesOn(c.bad(at, fmt.Sprintf("a time near %d", r.time), "%d", t), to)
				}
				c.seek(at)
			}
			c.at += cur.at
			r.setTime(t)
		case id == attributeRecord:
			c.at++
			body, err := c.body()
			if err != nil {
				return nil, r.damagedList(at, 0, err)
			}
			cur := cursor{b: body, big: c.big}
			if r.attributes(&cur); cur.bad {
				e.Attributes = e.Attributes[:0]
				return nil, r.damagedList(at, c.offset(),
					c.bad(at, "a list of attributes", "one that does not end in its %d bytes", len(body)))
			}
			r.spare, r.loose = r.spare+len(body)-cur.at, r.loose || cur.loose
		default:
			return r.read(id, at)
		}
	}
}

// Seek goes to the last chunk that begins before a time, so that the events that follow
// have all that are not before it. It looks at the beginnings of some chunks; where these
// are damaged, or corrected times may go back, it stays at the beginning. It must be called
// before Next.
func (r *EventReader) Seek(from uint64) {
	if !r.ordered() {
		return
	}
	ok := true
	k := sort.Search(int(r.chunks()), func(k int) bool {
		t, good := r.begins(int64(k))
		ok = ok && good
		return !good || t >= from
	}) - 1
	if ok && k > 0 {
		r.start = int64(k)
	}
}

// until ends reading behind the last chunk that begins before a time. It looks at the beginnings of
// the chunks behind that one; where these are damaged, or corrected times may go back, it changes
// nothing. It must be called before Next.
func (r *EventReader) until(to uint64) {
	if !r.ordered() {
		return
	}
	k := r.chunks()
	for k > 1 {
		t, ok := r.begins(k - 1)
		if !ok {
			return
		}
		if t < to {
			break
		}
		k--
	}
	r.stop = k
}

// ordered reports whether later times of the location's clock are corrected to later ones, whatever
// stands between them.
func (r *EventReader) ordered() bool {
	return r.clock == nil || len(r.clock.offsets) == 2 && increasing(r.clock.offsets)
}

// chunks is how many chunks the file has.
func (r *EventReader) chunks() int64 { return (r.c.size + r.c.chunk - 1) / r.c.chunk }

// begins is the corrected time that a chunk begins with; ok is false if it cannot be read.
func (r *EventReader) begins(k int64) (t uint64, ok bool) {
	var b [headerSize + 9]byte
	if _, err := r.c.f.ReadAt(b[:], k*r.c.chunk); err != nil || b[0] != chunkHeader || b[headerSize] != timestampRecord {
		return 0, false
	}
	cur := cursor{b: b[headerSize+1:], big: b[1] == bigEndian}
	return r.clock.correct(cur.fixed(8)), true
}

// chunk goes to a chunk; io.EOF for the one before which to stop.
func (r *EventReader) chunk(k int64) error {
	if r.stop > 0 && k >= r.stop {
		return io.EOF
	}
	err := r.c.begin(k)
	switch {
	case err == io.EOF:
		r.ended = true
		return r.c.lacking()
	case err != nil:
		return r.skip(err)
	}
	if r.c.first > 0 {
		r.number = r.c.first - 1
	}
	r.fresh, r.began = true, 0
	return nil
}

// skip leaves the chunk in hand, in which something is damaged.
func (r *EventReader) skip(err error) error {
	if r.c.end >= r.c.size {
		r.ended = true
		return err
	}
	// Whatever is read next is behind its end.
	r.c.base, r.c.at, r.c.part = r.c.end, 0, r.c.part[:0]
	return err
}

// read reads an event.
func (r *EventReader) read(id uint8, at int64) (*Event, error) {
	c, e := r.c, &r.event
	e.ID, e.Time, e.Number, e.Offset = id, r.clock.correct(r.time), r.number+1, at
	t := known(r.types, id)
	c.at++
	if t != nil && t.bare {
		b, err := c.peek(9)
		if err != nil {
			return nil, r.skip(err)
		}
		cur := cursor{b: b, big: c.big}
		f := &t.fields[0]
		size := t.size()
		v := cur.compressed(size)
		if cur.bad {
			return nil, r.damaged(at, 0,
				c.bad(at, fmt.Sprintf("a number of up to %d bytes", size), "%s with %s", t.name, show1(b, 0)))
		}
		c.at += cur.at
		r.loose = r.loose || cur.loose
		e.Values, e.Texts = append(e.Values[:0], r.mapped(f.table, v)), nil
		return r.deliver(t)
	}
	body, err := c.body()
	if err != nil && id < firstEvent {
		err = c.bad(at, r.what, "record %d", id)
	}
	if err != nil {
		return nil, r.damaged(at, 0, err)
	}
	if t == nil {
		e.Values = e.Values[:0]
		return r.deliver(nil)
	}
	cur := cursor{b: body, big: c.big}
	if cur.record(t, &e.Record); cur.bad {
		return nil, r.damaged(at, c.offset(), c.bad(at, "one with all its fields", "%s of %d bytes", t.name, len(body)))
	}
	r.spare, r.loose, r.short = r.spare+len(body)-cur.at, r.loose || cur.loose, cur.missing > 0
	r.globalize(t)
	if id == bufferFlush {
		// It may move the clock on, as in OTF2's own library.
		e.Values[0] = r.clock.correct(e.Values[0])
	}
	return r.deliver(t)
}

// mapped is the archive's reference for the location's own.
func (r *EventReader) mapped(t Table, v uint64) uint64 {
	if t >= mappedTables || r.local.maps[t] == nil {
		return v
	}
	if t != Locations && v == undefined32 || v == undefined64 {
		return v
	}
	return r.local.maps[t].global(v)
}

// globalize maps the references of the event in hand.
func (r *EventReader) globalize(t *recordType) {
	v := r.event.Values
	for i := range t.fields {
		v[i] = r.mapped(t.fields[i].table, v[i])
	}
	for i := len(t.fields); len(t.each) > 0 && i < len(v); i++ {
		v[i] = r.mapped(t.each[(i-len(t.fields))%len(t.each)].table, v[i])
	}
}

// attributes reads a list.
func (r *EventReader) attributes(c *cursor) {
	n := c.compressed(4)
	if n > uint64(len(c.b)-c.at)/2 {
		c.fail()
		return
	}
	for range n {
		id, typ := c.compressed(4), c.byte()
		v := c.typed(typ)
		r.event.Attributes = append(r.event.Attributes,
			Attribute{uint32(r.mapped(Attributes, id)), uint8(typ), r.mapped(tableOf(typ), v)})
	}
}
