package otf2

// place is a place in the events of a location at which a scan can begin to read. A scan leaves one before its last
// events if the same locations will be read again, so that the next scan need not begin at a chunk.
type place struct {
	last   int64 // no event before the place is later
	chunk  int64
	reader EventReader // without file
	chunks chunkReader // without file and memory
	at     int         // interval of clock offsets
}

// place returns the current place. last is the time of the latest event before it.
func (r *EventReader) place(last int64) *place {
	p := &place{last: last, chunk: r.c.chunkNumber(), reader: *r, chunks: *r.c}
	p.chunks.base, p.chunks.at, p.chunks.part, p.chunks.room, p.chunks.f = r.c.offset(), 0, nil, nil, nil
	if r.clock != nil {
		p.at = r.clock.at
	}
	p.reader.event, p.reader.scratch = Event{}, Record{}
	return p
}

// resume moves to a place. The reader must not have read anything.
func (r *EventReader) resume(p *place) {
	c, local, clock := r.c, r.local, r.clock
	file, room := c.f, c.room
	*r, *c = p.reader, p.chunks
	r.c, r.local, r.clock, r.start, c.f, c.room = c, local, clock, p.chunk, file, room
	if clock != nil {
		clock.at = p.at
	}
}

// leavePlace notes where a later scan can begin, if the same locations will be read again.
func (x *locationReader) leavePlace() {
	end := x.sel.To
	if x.sel.Enough != 0 {
		end = min(end, x.sel.Enough)
	}
	if x.sel.Again && x.last < end && x.r.c.end > 0 && !x.mustSort {
		x.d.places.Store(x.id, x.r.place(x.last))
	}
}
