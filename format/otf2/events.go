package otf2

import (
	"fmt"
	"io"
	"slices"
	"sort"

	"github.com/weft-trace/weft/internal/plural"
)

// Attribute is an attribute of an event, as an archive stores it.
type Attribute struct {
	ID    uint32 // id of the attribute's definition
	Type  uint8
	Value uint64 // value, encoded in the same way as the values of a record
}

// Event is an event of a location. Its references are ids of the archive. Its time is in ticks, and has been
// corrected.
type Event struct {
	Record
	Time       uint64
	Attributes []Attribute
	Number     uint64 // position among the events of the location, from 1 on
	Offset     int64  // offset in bytes of the event's record in the file
}

// EventOptions holds the settings of an [EventReader].
type EventOptions struct {
	RawClocks bool // do not correct times
	RawIDs    bool // do not map references to ids of the archive
}

// EventReader reads the events of a location (docs/formats/otf2.md, "Event stream grammar"). It
// holds 64 KiB of the file, or a record if one is longer.
type EventReader struct {
	c      *chunkReader
	local  *localDefinitions
	clock  *clock
	time   uint64 // time of the location's clock, in ticks
	start  int64  // the first chunk to read
	stop   int64  // the chunk before which reading stops; 0 for the end of the file
	number uint64
	event  Event
	ended  bool
	types  []recordType // types of the records: of events or of snapshots
	what   string       // name of the kind of records, for messages
	// These fields describe unusual properties of the current event, which no writer produces: bytes after the
	// fields of the event or of its attributes, numbers with more bytes than needed, and missing fields.
	extraBytes                   int
	paddedNumbers, missingFields bool
	again                        bool // a defect before the current event was reported; Next continues with this event
	// The following fields are used to resume reading after damage.
	later      bool   // the archive has a later version of OTF2, with possibly unknown or longer records
	chunkStart bool   // no time has been read in the current chunk
	damaged    bool   // a record of the current chunk is damaged
	began      uint64 // first time of the current chunk
	validUntil int64  // all records before this offset are valid
	budget     int64  // number of bytes that may still be examined
	scratch    Record
}

// eventReader returns a reader of records of the given types.
func (a *Archive) eventReader(c *chunkReader, l *localDefinitions, types []recordType, what string) *EventReader {
	return &EventReader{c: c, local: l, types: types, what: what, later: a.laterVersion(),
		budget: resyncBudget*c.size + partSize}
}

// laterVersion reports whether the archive has a later version of OTF2, with possibly unknown or longer records.
func (a *Archive) laterVersion() bool {
	return a.Version[0] > 3 || a.Version[0] == 3 && a.Version[1] > 1
}

// Events opens the events of a location. If the error is a [FileError], the location's definitions are
// damaged, but the reader can be used.
func (a *Archive) Events(location uint64, opt EventOptions) (*EventReader, error) {
	l := &localDefinitions{}
	var bad error
	if !opt.RawClocks || !opt.RawIDs {
		if l, bad = a.localDefinitions(location); opt.RawIDs {
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

// Close closes the file.
func (r *EventReader) Close() { r.c.close() }

// Next returns the next event, which is valid until the next call. It returns io.EOF after the last event.
// After a [FileError], the next call resumes after the damage: where valid records follow, or at the next
// chunk if there is no such offset.
func (r *EventReader) Next() (*Event, error) {
	c := r.c
	e := &r.event
	if !r.again {
		e.Attributes, r.extraBytes, r.paddedNumbers = e.Attributes[:0], 0, false
	}
	r.again, r.missingFields = false, false
	if r.ended {
		return nil, io.EOF
	}
	if c.end == 0 {
		if err := r.moveToChunk(r.start); err != nil {
			return nil, err
		}
	}
	for timed := false; ; {
		b, err := c.peek(10)
		if err != nil {
			return nil, r.skip(err)
		}
		if len(b) == 0 {
			if err := r.moveToChunk(c.chunkNumber() + 1); err != nil {
				return nil, err
			}
			continue
		}
		at := c.offset()
		switch id := b[0]; {
		case id <= endOfFile && !r.atEnd(at, b):
			if err := r.recoverFrom(at, 0, c.errorAt(at, r.what, "record %d", id)); err != nil {
				return nil, err
			}
		case id == endOfFile && c.followed():
			return nil, r.skip(c.earlyEnd(at))
		case id == endOfFile:
			r.ended = true
			if len(e.Attributes) > 0 {
				return nil, c.errorAt(at, "an event or a record, to which the list of attributes before it belongs",
					"the end of the file")
			}
			if c.size-at > 2 && !padding(b) {
				return nil, c.bytesAfterEnd(at)
			}
			return nil, io.EOF
		case id == endOfChunk || id == endOfBuffer:
			if err := r.moveToChunk(c.chunkNumber() + 1); err != nil {
				return nil, err
			}
		case id == timestampRecord:
			cur := cursor{b: b, at: 1, big: c.big}
			t := cur.fixed(8)
			if cur.bad {
				return nil, r.skip(c.errorAt(at, "a time of 8 bytes", "the end of the chunk"))
			}
			if !r.chunkStart && unusualTime(t, r.time) {
				if to := r.misreadTime(at); to.at > 0 {
					r.resumeAt(to)
					return nil, resumeError(c.errorAt(at, fmt.Sprintf("a time near %d", r.time), "%d", t), to)
				}
				c.seek(at)
			}
			c.at += cur.at
			r.setTime(t)
			if timed {
				r.again = true
				return nil, c.errorAt(at, r.what+"; weft uses this time", "a second time")
			}
			timed = true
		case id == attributeRecord:
			timed = false
			c.at++
			body, err := c.body()
			if err != nil {
				return nil, r.recoverList(at, 0, err)
			}
			cur := cursor{b: body, big: c.big}
			if r.readAttributes(&cur); cur.bad {
				e.Attributes = e.Attributes[:0]
				return nil, r.recoverList(at, c.offset(),
					c.errorAt(at, "one that ends in them", "a list of attributes of %s", plural.Of(len(body), "byte")))
			}
			r.extraBytes, r.paddedNumbers = r.extraBytes+len(body)-cur.at, r.paddedNumbers || cur.loose
			if n := len(e.Attributes); e.dropRepeated() {
				r.again = true
				return nil, c.errorAt(at, "each attribute once; weft uses the first", "%s of one event, some of them repeated",
					plural.Of(n, "attribute"))
			}
		case r.chunkStart && !r.damaged && typeByID(r.types, id) != nil:
			r.setTime(r.time)
			r.again = true
			return nil, c.errorAt(at, fmt.Sprintf("a time, with which each chunk begins; weft uses %d", r.time), "record %d", id)
		default:
			return r.read(id, at)
		}
	}
}

// Seek moves to the last chunk that begins before a time, so that no event at or after the time is missed. It
// reads the beginnings of some chunks. If these beginnings are damaged, or if corrected times may decrease,
// Seek stays at the beginning of the file. Seek must be called before Next.
func (r *EventReader) Seek(from uint64) {
	if !r.ordered() {
		return
	}
	ok := true
	k := sort.Search(int(r.chunks()), func(k int) bool {
		t, good := r.chunkTime(int64(k))
		ok = ok && good
		return !good || t >= from
	}) - 1
	if ok && k > 0 {
		r.start = int64(k)
	}
}

// stopBefore makes reading end after the last chunk that begins before a time. It reads the beginnings of the
// chunks after that one. It has no effect if these beginnings are damaged, or if corrected times may decrease.
// It must be called before Next.
func (r *EventReader) stopBefore(to uint64) {
	if !r.ordered() {
		return
	}
	k := r.chunks()
	for k > 1 {
		t, ok := r.chunkTime(k - 1)
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

// ordered reports whether corrected times always increase when the times of the location's clock
// increase, also across skipped records.
func (r *EventReader) ordered() bool {
	return r.clock == nil || len(r.clock.offsets) == 2 && increasing(r.clock.offsets)
}

// chunks returns the number of chunks in the file.
func (r *EventReader) chunks() int64 { return (r.c.size + r.c.chunk - 1) / r.c.chunk }

// chunkTime returns the corrected time at the beginning of a chunk. ok is false if the time cannot be read.
func (r *EventReader) chunkTime(k int64) (t uint64, ok bool) {
	var b [headerSize + 9]byte
	if _, err := r.c.f.ReadAt(b[:], k*r.c.chunk); err != nil || b[0] != chunkHeader || b[headerSize] != timestampRecord {
		return 0, false
	}
	cur := cursor{b: b[headerSize+1:], big: b[1] == bigEndian}
	return r.clock.correct(cur.fixed(8)), true
}

// moveToChunk moves to a chunk. It returns io.EOF at the end of the file and for the chunk before which
// reading stops.
func (r *EventReader) moveToChunk(k int64) error {
	if r.stop > 0 && k >= r.stop {
		return io.EOF
	}
	err := r.c.begin(k)
	switch {
	case err == io.EOF:
		r.ended = true
		return r.c.missingEnd()
	case err != nil:
		return r.skip(err)
	}
	if r.c.first > 0 {
		r.number = r.c.first - 1
	}
	r.chunkStart, r.damaged, r.began = true, false, 0
	return nil
}

// skip leaves the current chunk, because it is damaged.
func (r *EventReader) skip(err error) error {
	if r.c.end >= r.c.size {
		r.ended = true
		return err
	}
	// The next read begins after the end of the chunk.
	r.c.base, r.c.at, r.c.part = r.c.end, 0, r.c.part[:0]
	return err
}

// read reads the event with the given id at an offset.
func (r *EventReader) read(id uint8, at int64) (*Event, error) {
	c, e := r.c, &r.event
	e.ID, e.Time, e.Number, e.Offset = id, r.clock.correct(r.time), r.number+1, at
	t := typeByID(r.types, id)
	c.at++
	if t != nil && t.noLength {
		b, err := c.peek(9)
		if err != nil {
			return nil, r.skip(err)
		}
		cur := cursor{b: b, big: c.big}
		f := &t.fields[0]
		size := t.maxNumberSize()
		v := cur.compressed(size)
		if cur.bad {
			return nil, r.recoverFrom(at, 0,
				c.errorAt(at, fmt.Sprintf("a number of up to %d bytes", size), "%s with %s", t.name, formatByte(b, 0)))
		}
		c.at += cur.at
		r.paddedNumbers = r.paddedNumbers || cur.loose
		e.Values, e.Texts = append(e.Values[:0], r.mapped(f.table, v)), nil
		return r.deliver(t)
	}
	body, err := c.body()
	if err != nil && id < firstEvent {
		err = c.errorAt(at, r.what, "record %d", id)
	}
	if err != nil {
		return nil, r.recoverFrom(at, 0, err)
	}
	if t == nil {
		e.Values = e.Values[:0]
		return r.deliver(nil)
	}
	cur := cursor{b: body, big: c.big}
	if cur.record(t, &e.Record); cur.bad {
		return nil, r.recoverFrom(at, c.offset(),
			c.errorAt(at, "one with all its fields", "%s of %s", t.name, plural.Of(len(body), "byte")))
	}
	r.extraBytes += len(body) - cur.at
	r.paddedNumbers, r.missingFields = r.paddedNumbers || cur.loose, cur.missing > 0
	r.globalize(t)
	if id == bufferFlush {
		// The correction may advance the clock, as in OTF2's own library.
		e.Values[0] = r.clock.correct(e.Values[0])
	}
	return r.deliver(t)
}

// mapped returns the archive's reference for a reference of the location.
func (r *EventReader) mapped(t Table, v uint64) uint64 {
	if t >= mappedTables || r.local.maps[t] == nil {
		return v
	}
	if t != Locations && v == undefined32 || v == undefined64 {
		return v
	}
	return r.local.maps[t].global(v)
}

// globalize maps the references of the current event to those of the archive.
func (r *EventReader) globalize(t *recordType) {
	v := r.event.Values
	for i := range t.fields {
		v[i] = r.mapped(t.fields[i].table, v[i])
	}
	for i := len(t.fields); len(t.each) > 0 && i < len(v); i++ {
		v[i] = r.mapped(t.each[(i-len(t.fields))%len(t.each)].table, v[i])
	}
}

// dropRepeated removes attributes whose id occurs before in the list, and reports whether there are any. OTF2's
// library stops at such an event.
func (e *Event) dropRepeated() bool {
	all := e.Attributes
	var seen map[uint32]bool // for long lists, which take too long to search
	if len(all) > 64 {
		seen = make(map[uint32]bool, len(all))
	}
	keep := all[:0]
	for _, a := range all {
		repeated := seen[a.ID]
		if seen != nil {
			seen[a.ID] = true
		} else {
			repeated = slices.ContainsFunc(keep, func(b Attribute) bool { return b.ID == a.ID })
		}
		if !repeated {
			keep = append(keep, a)
		}
	}
	e.Attributes = keep
	return len(keep) < len(all)
}

// readAttributes reads a list of attributes.
func (r *EventReader) readAttributes(c *cursor) {
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
