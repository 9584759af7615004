package otf

import (
	"context"
	"math"
	"slices"
)

// Cursor reads the records of a part of a trace one after another. The caller must close it.
type Cursor struct {
	ctx     context.Context
	r       *Reader
	part    Part
	list    []streamHead // streams that have another record, as a heap; list[0] has the next record
	wait    []*stream    // streams that are read one by one after the streams in list
	all     []*stream
	cur     *stream
	err     error
	merged  bool // records are delivered in the order of time
	n       int64
	bound   uint64 // used by the method line: the next record belongs to cur if its time is less than bound
	stopped bool   // a malformed record has ended reading (only with the option AsLibrary)
}

// Cursor begins to read a part of the trace. Definitions and markers are delivered file by file, beginning
// with the file of stream 0. The other parts are merged in the order of time, and at equal times in the order
// of the streams, unless the options say otherwise. If a file does not exist, the stream has no records of the
// part. A missing file of events is reported.
func (r *Reader) Cursor(ctx context.Context, part Part) (*Cursor, error) {
	return r.cursor(ctx, part, r.master.Streams())
}

// cursor is like Cursor, for the given streams only.
func (r *Reader) cursor(ctx context.Context, part Part, ids []uint32) (*Cursor, error) {
	own := *r // a copy with the current selection
	r = &own
	c := &Cursor{ctx: ctx, r: r, part: part}
	if !part.timed() {
		ids = append([]uint32{0}, ids...)
	}
	shared := shareAhead(len(ids))
	place := 0 // index of the stream in libotf's list
	for _, id := range ids {
		if (part.timed() || r.opt.AsLibrary && id != 0) && !r.selectsAny(id) {
			continue
		}
		s, err := r.open(id, part)
		if err != nil {
			c.Close()
			return nil, err
		}
		if id != 0 || s != nil {
			place++
		}
		if s != nil {
			if r.opt.AsLibrary && !part.timed() {
				// libotf reports the position of a stream in its list instead of the number of the
				// stream. If streams are omitted, or the global file is missing, later streams have
				// lower positions.
				s.reported = ids[place-1]
			}
			s.c = c
			if s.ahead.aheadShared = shared; r.opt.Buffer == 0 {
				s.t.readSize = shared.readSize
			}
			c.all = append(c.all, s)
			continue
		}
		if err := r.reportMissing(id, part); err != nil {
			c.Close()
			return nil, err
		}
		if r.opt.AsLibrary && part == Events {
			c.stopped = true
		}
	}
	if c.stopped {
		c.finish()
		return c, nil
	}
	if !part.timed() || r.opt.OneByOne {
		c.wait = slices.Clone(c.all)
		return c, nil
	}
	c.merged = true
	for list := slices.Clone(c.all); len(list) > 0; {
		n := len(c.list)
		if err := c.advanceToFirst(list[0]); err != nil {
			c.Close()
			return nil, err
		}
		if len(c.list) > n {
			list = list[1:]
			continue
		}
		// As in libotf, the last stream takes the place of a stream without records.
		last := len(list) - 1
		list[0], list = list[last], list[:last]
	}
	if c.stopped {
		c.list = nil
	}
	for i := (len(c.list) - 1) / 2; i >= 0 && len(c.list) > 0; i-- {
		c.sift(i)
	}
	return c, nil
}

// advanceToFirst advances a stream to its first record.
func (c *Cursor) advanceToFirst(s *stream) error {
	ok, err := c.advance(s)
	if err != nil {
		return err
	}
	if ok {
		c.list = append(c.list, c.head(s))
	} else if c.r.opt.AsLibrary && !s.begun {
		c.stopped = true // libotf then reads no stream
	}
	return nil
}

// advance advances a stream to its next record in the selected times.
func (c *Cursor) advance(s *stream) (bool, error) {
	for {
		ok, err := s.next(c.ctx)
		if !ok || err != nil || !c.part.timed() || s.silent {
			return ok, err
		}
		if s.rec.Time >= c.r.opt.To {
			s.end, s.ahead.at = true, len(s.ahead.list)
			return c.merged && c.r.opt.AsLibrary, nil // libotf keeps the stream in its heap
		}
		if s.rec.Time >= c.r.opt.From {
			return true, nil
		}
	}
}

// streamHead is a stream with the sort key of its current record.
type streamHead struct {
	time uint64
	// number of the stream, which orders records of equal time; 0 if the order of libotf's heap applies
	tie uint32
	s   *stream
}

func (c *Cursor) head(s *stream) streamHead {
	h := streamHead{s.rec.Time, s.id, s}
	if c.r.opt.AsLibrary {
		h.tie = 0
	}
	return h
}

func (h *streamHead) less(o *streamHead) bool {
	return h.time < o.time || h.time == o.time && h.tie < o.tie
}

// sift restores the heap order below element i. It orders equal records as libotf does.
func (c *Cursor) sift(i int) {
	l := c.list
	x := l[i]
	for {
		k := 2*i + 1
		if k >= len(l) {
			break
		}
		if k+1 < len(l) && l[k+1].less(&l[k]) {
			k++
		}
		if x.less(&l[k]) {
			break
		}
		l[i] = l[k]
		i = k
	}
	l[i] = x
}

// Next advances to the next record and reports whether one exists. When it returns false, Err returns
// the reason.
func (c *Cursor) Next() bool {
	if c.err != nil {
		return false
	}
	ok, err := c.next()
	for ok && err == nil && c.cur.silent {
		ok, err = c.next()
	}
	if err != nil {
		c.err = err
	}
	if !ok || err != nil {
		c.cur = nil
		return false
	}
	if !c.cur.cut {
		c.n++
	}
	return true
}

func (c *Cursor) next() (bool, error) {
	c.bound = 0
	if c.cur != nil && c.merged {
		// The last record came from the first stream of the heap.
		s := c.list[0].s
		ok, err := c.advance(s)
		if err != nil {
			return false, err
		}
		if !ok {
			n := len(c.list) - 1
			c.list[0] = c.list[n]
			c.list = c.list[:n]
		}
		if c.stopped {
			c.list = nil
		}
		if ok && s.cut && c.r.opt.AsLibrary {
			c.cur = s // libotf delivers a last line without line end immediately
			return true, nil
		}
		if ok && len(c.list) > 0 {
			c.list[0].time = s.rec.Time
		}
		if len(c.list) > 0 {
			c.sift(0)
		}
	}
	if c.merged {
		if len(c.list) == 0 || c.list[0].time >= c.r.opt.To && c.r.opt.AsLibrary && !c.list[0].s.silent {
			c.list = nil
			return false, nil
		}
		if c.cur = c.list[0].s; c.cur.needsFill() {
			c.cur.fill()
		}
		if c.cur.failed {
			c.stopped, c.list = true, nil // libotf reads the malformed record at this point
			return false, nil
		}
		return true, nil
	}
	for len(c.wait) > 0 && !c.stopped {
		s := c.wait[0]
		ok, err := c.advance(s)
		if ok || err != nil {
			c.cur = s
			return ok, err
		}
		s.t.Close()
		c.wait = c.wait[1:]
	}
	return false, nil
}

// line advances to the next record without filling a Record, if the line of the record is a frequent
// one. If it returns nil, the caller must call Next. It ignores the selected times.
func (c *Cursor) line() *aheadRecord {
	if s := c.cur; s != nil && s.ahead.at < len(s.ahead.list) {
		if x := &s.ahead.list[s.ahead.at]; x.time < c.bound {
			s.ahead.at++
			c.n++
			return x
		}
	}
	return c.otherLine()
}

// otherLine does the work of line when the next record may belong to another stream.
//
//go:noinline
func (c *Cursor) otherLine() *aheadRecord {
	if c.cur != nil {
		if !c.cur.advance() {
			return nil
		}
		l := c.list
		if l[0].time = c.cur.current().time; len(l) == 2 {
			if !l[0].less(&l[1]) {
				l[0], l[1] = l[1], l[0]
			}
		} else {
			c.sift(0)
		}
	}
	if len(c.list) == 0 || !c.list[0].s.stepped {
		c.cur = nil
		return nil
	}
	first := &c.list[0]
	bound := uint64(math.MaxUint64)
	for i := 1; i < min(3, len(c.list)); i++ {
		if o := &c.list[i]; o.time < bound {
			bound = o.time
			if first.tie < o.tie {
				bound++
			}
		}
	}
	c.cur, c.bound = first.s, bound
	c.n++
	return c.cur.current()
}

// Record returns the current record, which is valid until the next call of Next.
func (c *Cursor) Record() *Record { return &c.cur.rec }

// Err returns the error that ended reading, or nil at the end of the trace.
func (c *Cursor) Err() error { return c.err }

// Count returns the number of records so far. A last line without end does not count.
func (c *Cursor) Count() int64 { return c.n }

// Progress describes how far a cursor has read.
type Progress struct {
	// Read and Size are bytes of the files of the part, as stored.
	Read, Size int64
	// Time is the time of the current record in ticks; 0 before the first record.
	Time uint64
}

// Progress returns how far the cursor has read.
func (c *Cursor) Progress() Progress {
	var p Progress
	for _, s := range c.all {
		p.Read += s.t.read
		p.Size += s.t.h.Size
	}
	if c.cur != nil {
		p.Time = c.cur.rec.Time
	}
	return p
}

func (c *Cursor) finish() { c.list, c.wait = nil, nil }

// Close closes the files of the cursor.
func (c *Cursor) Close() {
	for _, s := range c.all {
		s.t.Close()
	}
	c.finish()
}

// Handlers holds a function for each record type. Types with a nil function are ignored. A record is valid
// only during the call.
type Handlers [NumTypes]func(*Record) error

// Each calls the handlers with the next records: at most limit of them, or all if limit is less than
// 1. The next call continues after them. Each returns the number of records it read, handled or not.
// It stops at the first error of a handler.
func (c *Cursor) Each(h *Handlers, limit int64) (n int64, err error) {
	for (limit < 1 || n < limit) && c.Next() {
		n++
		r := c.Record()
		if f := h[r.Type]; f != nil {
			if err := f(r); err != nil {
				return n, err
			}
		}
	}
	return n, c.Err()
}
