package otf2

// scanPlace is a point between the events of a location at which a scan can begin. A scan saves a scanPlace
// near its last events if the same locations will be read again. The next scan then need not start at the
// beginning of a chunk.
type scanPlace struct {
	last   int64 // the latest time of the events before the place
	chunk  int64
	reader EventReader // state of the reader, without the open file
	chunks chunkReader // state of the chunk reader, without the open file and the memory
	at     int         // index of the interval of clock offsets
}

// place returns the current place. last is the latest time of the events before it.
func (r *EventReader) place(last int64) *scanPlace {
	p := &scanPlace{last: last, chunk: r.c.chunkNumber(), reader: *r, chunks: *r.c}
	p.chunks.base, p.chunks.at, p.chunks.part, p.chunks.room, p.chunks.f = r.c.offset(), 0, nil, nil, nil
	if r.clock != nil {
		p.at = r.clock.at
	}
	// a reader of a single chunk stops at its end, the reader that resumes does not
	p.reader.event, p.reader.scratch, p.reader.stop = Event{}, Record{}, 0
	return p
}

// resume moves to a place. The reader must not have read anything.
func (r *EventReader) resume(p *scanPlace) {
	c, local, clock := r.c, r.local, r.clock
	file, room := c.f, c.room
	*r, *c = p.reader, p.chunks
	r.c, r.local, r.clock, r.start, c.f, c.room = c, local, clock, p.chunk, file, room
	if clock != nil {
		clock.at = p.at
	}
}

// leavePlace saves the current place, so that a later scan of the same locations can begin there.
func (lr *locationReader) leavePlace() {
	end := lr.sel.To
	if lr.sel.OneEventFrom != 0 {
		end = min(end, lr.sel.OneEventFrom)
	}
	if lr.sel.Repeated && lr.last < end && lr.r.c.end > 0 && !lr.mustSort {
		lr.d.places.Store(lr.id, lr.r.place(lr.last))
	}
}
