package history

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/weft-trace/weft/analysis/internal/synclog"
	"github.com/weft-trace/weft/analysis/internal/waitstate"
	"github.com/weft-trace/weft/internal/chunks"
)

// page holds the calls of a chunk of the log, with their attachments.
type page struct {
	chunk  *synclog.Chunk
	number int    // index of the page in Location.pages
	calls  *calls // nil unless the calls are in memory
	// attached holds the packed waits, sources and operations of the calls, in chunks of the store. The last
	// packed data are in tail, in memory.
	attached []chunks.Chunk
	tail     []byte
	// lastUse is the position, in the order of all calls, of the last call whose end depends on a
	// call of the page, or -1.
	lastUse int64
	// waits, sources and operations are the numbers of attachments of these kinds.
	waits, sources, operations int32
}

// calls holds the unpacked calls of a page.
type calls struct {
	location *Location
	page     *page
	used     bool // the page was used since the cache last looked for pages to drop
	first    int32
	list     []Call
	times    []synclog.PathTime
	// complete is set as soon as waits, sources and operations have been unpacked. Each list is in the order
	// of calls.
	complete bool
	// unsorted is set while the lists are being unpacked, if one of them is not in the order of calls.
	unsorted   bool
	waits      []Wait
	sources    []callSource
	operations []part
}

// cache holds the unpacked calls of some pages.
type cache struct {
	list  []*calls
	hand  int // index in list at which the cache next looks for pages to drop
	size  int // number of calls in list
	limit int // number of calls in list above which the cache drops pages
	// dropped holds the calls of the pages that were dropped lately. Their memory can still be in use until
	// [History.Reuse] is called. free holds calls whose memory is not in use.
	dropped, free []*calls
}

// Limits of a cache.
const (
	// cachedCalls is the greatest number of calls in a cache if they belong to few locations.
	cachedCalls = 16 << 10
	// cachedPages is the number of pages of each location for which a cache has room if there are many
	// locations.
	cachedPages = 3
	// reusedPages is the number of dropped pages whose memory is used again.
	reusedPages = 8
)

// add adds the calls of a page. It removes the calls of other pages if there is no room.
func (c *cache) add(x *calls) {
	c.size += len(x.list)
	for c.size > c.limit && len(c.list) > 0 {
		if c.hand >= len(c.list) {
			c.hand = 0
		}
		y := c.list[c.hand]
		if y.used {
			y.used = false
			c.hand++
			continue
		}
		c.size -= len(y.list)
		if y.location.forget(y); len(c.dropped) < reusedPages {
			c.dropped = append(c.dropped, y)
		}
		c.list[c.hand] = c.list[len(c.list)-1]
		c.list = c.list[:len(c.list)-1]
	}
	c.list = append(c.list, x)
}

// Reuse lets the history use the memory of calls again that are no longer in its cache. All calls, waits, sources and
// times that its methods have returned before become invalid. [History.Forward] and [History.Backward] call Reuse
// before each call.
func (h *History) Reuse() {
	c := &h.cache
	for len(c.dropped) > 0 && len(c.free) < reusedPages {
		last := len(c.dropped) - 1
		c.free, c.dropped = append(c.free, c.dropped[last]), c.dropped[:last]
	}
}

// newCalls returns the unpacked calls of a page, without elements.
func (c *cache) newCalls(l *Location, p *page) *calls {
	x := &calls{location: l, page: p, first: p.chunk.First}
	if last := len(c.free) - 1; last >= 0 {
		y := c.free[last]
		c.free = c.free[:last]
		x.list, x.times = y.list[:0], y.times[:0]
		x.waits, x.sources, x.operations = y.waits[:0], y.sources[:0], y.operations[:0]
	}
	x.list = slices.Grow(x.list, int(p.chunk.Calls))
	x.times = slices.Grow(x.times, int(p.chunk.Times))
	return x
}

// forget drops the calls of a page from memory.
func (l *Location) forget(x *calls) {
	x.page.calls = nil
	if l.latest == x {
		l.latest = nil
	}
	if l.former == x {
		l.former = nil
	}
}

// page returns the page with call n of a location. It finds the last pages without a search.
func (l *Location) page(n int32) *page {
	for i := l.current; i >= 0 && i >= l.current-1; i-- {
		if n >= l.pages[i].chunk.First {
			return &l.pages[i]
		}
	}
	return &l.pages[l.pageNumber(n)]
}

// pageNumber returns the index of the page that has call n.
func (l *Location) pageNumber(n int32) int {
	i, ok := slices.BinarySearchFunc(l.pages, n, func(p page, n int32) int { return int(p.chunk.First) - int(n) })
	if !ok {
		i--
	}
	return i
}

// has reports whether call n is in the page. x may be nil.
func (x *calls) has(n int32) bool { return x != nil && n >= x.first && n < x.first+int32(len(x.list)) }

// load returns the calls of the page with call n of a location. After the history is built, the calls have
// their attachments.
func (l *Location) load(n int32) *calls {
	if !l.latest.has(n) {
		l.latest, l.former = l.former, l.latest
		if !l.latest.has(n) {
			p := &l.pages[l.pageNumber(n)]
			if p.calls == nil {
				l.history.unpack(l, p)
			}
			l.latest = p.calls
		}
	}
	x := l.latest
	if !x.complete && l.history.built {
		l.history.unpackAttached(l, x)
	}
	x.used = true
	return x
}

// Span is a series of consecutive calls of a location that the history stores together.
type Span struct {
	First, Calls int32 // numbers of the first call and of calls in the series
	// LastUse is the greatest position of a call whose end depends on a call of the span, or -1 if there is no such
	// call. Positions are counted from 1 in the order of [History.Forward]; those of calls that end at the same time can
	// be exchanged.
	LastUse int64
}

// Spans returns the number of spans of the location's calls.
func (l *Location) Spans() int { return len(l.pages) }

// Span returns span i.
func (l *Location) Span(i int) Span {
	p := &l.pages[i]
	return Span{p.chunk.First, p.chunk.Calls, p.lastUse}
}

// SpanOf returns the index of the span that has call n, and the number of its first call.
func (l *Location) SpanOf(n int32) (i int, first int32) {
	if x := l.latest; x.has(n) {
		return x.page.number, x.first
	}
	i = l.pageNumber(n)
	return i, l.pages[i].chunk.First
}

// unpack reads the calls of a page.
func (h *History) unpack(l *Location, p *page) {
	x := h.cache.newCalls(l, p)
	var err error
	times := uint32(0)
	x.times, err = h.Log.ReadChunk(l.number, p.chunk, x.times, func(c *synclog.Call) {
		before := times + uint32(len(c.Before))
		times = before + uint32(len(c.Inside))
		x.list = append(x.list, Call{Enter: c.Enter, Leave: c.Leave, Path: c.Path, before: before,
			inside: times, Role: c.Role, Kind: kindOf(c), Init: c.Init,
			TeamBarrier: c.InTeam || c.Unteamed && !c.Team.Identified()})
	})
	if err != nil {
		h.fail(err)
		x.list = make([]Call, p.chunk.Calls)
	}
	p.calls = x
	h.cache.add(x)
}

// The kinds of attachments of calls, in packed form.
const (
	attachedWait = iota
	attachedBusy // an element of Busy of the wait before
	attachedSource
	attachedRelease // a source that is a signal or an end
	attachedLock    // a source that releases a lock
	attachedPartial // a source with Source.Partial
	attachedOperation
	attachedBegin // the flag Begins of a call
	attachedJoin  // the flag Joins of a call
	attachedFork  // the flag Forks of a call
)

// attach adds an attachment to a call: a kind and its numbers.
func (h *History) attach(at waitstate.Place, kind byte, numbers ...int64) {
	l := h.Locations[at.Location]
	p := l.page(at.Number)
	switch kind {
	case attachedWait:
		p.waits++
	case attachedSource, attachedRelease, attachedLock, attachedPartial:
		p.sources++
	case attachedOperation:
		p.operations++
	}
	if n := len(h.spare) - 1; p.tail == nil && n >= 0 {
		p.tail, h.spare = h.spare[n], h.spare[:n]
	}
	p.tail = append(p.tail, kind)
	p.tail = binary.AppendUvarint(p.tail, uint64(at.Number-p.chunk.First))
	for _, x := range numbers {
		p.tail = binary.AppendVarint(p.tail, x)
	}
}

// store stores the attachments of the calls of a page.
func (h *History) store(p *page) {
	if len(p.tail) == 0 {
		return
	}
	c, _, err := h.chunks.Keep(slices.Clone(p.tail))
	if err != nil {
		h.fail(err)
		return
	}
	h.spare = append(h.spare, p.tail[:0])
	p.attached, p.tail = append(p.attached, c), nil
}

// unpackAttached reads the attachments of the calls of a page.
func (h *History) unpackAttached(l *Location, x *calls) {
	x.complete = true // even if there is an error
	p := x.page
	x.waits, x.sources = slices.Grow(x.waits, int(p.waits)), slices.Grow(x.sources, int(p.sources))
	x.operations = slices.Grow(x.operations, int(p.operations))
	for i := range p.attached {
		b, err := h.chunks.Read(p.attached[i], &h.room)
		if err != nil {
			h.fail(err)
			return
		}
		h.unpackFrom(l, x, b)
	}
	h.unpackFrom(l, x, p.tail)
	if x.unsorted { // sorting takes time even if nothing moves
		x.sortAttached()
	}
	for i := range slices.Backward(x.waits) {
		x.list[x.waits[i].Place.Number-x.first].waits = int32(i + 1)
	}
	for i := range slices.Backward(x.sources) {
		x.list[x.sources[i].call-x.first].source = int32(i + 1)
	}
	for i := range slices.Backward(x.operations) {
		x.list[x.operations[i].call-x.first].operation = int32(i + 1)
	}
}

// sortAttached sorts the attachments by call. The waits of a call are in the order of patterns.
func (x *calls) sortAttached() {
	slices.SortStableFunc(x.waits, func(a, b Wait) int {
		return cmp.Or(cmp.Compare(a.Place.Number, b.Place.Number), cmp.Compare(a.Pattern, b.Pattern))
	})
	slices.SortStableFunc(x.sources, func(a, b callSource) int { return cmp.Compare(a.call, b.call) })
	slices.SortStableFunc(x.operations, func(a, b part) int { return cmp.Compare(a.call, b.call) })
}

// unpackFrom unpacks the attachments in b and appends them to x.
func (h *History) unpackFrom(l *Location, x *calls, b []byte) {
	number := func() int64 {
		v, n := binary.Varint(b)
		b = b[n:]
		return v
	}
	since := x.page.chunk.Since
	for len(b) > 0 {
		kind := b[0]
		k, n := binary.Uvarint(b[1:])
		b = b[1+n:]
		call := x.first + int32(k)
		switch kind {
		case attachedWait:
			w := Wait{Pattern: waitstate.Pattern(number()), Place: waitstate.Place{Location: l.number, Number: call},
				Path: x.list[k].Path}
			w.Begin = since + number()
			w.Length = number()
			w.Cause = waitstate.Place{Location: uint32(number()), Number: int32(number())}
			w.CauseTime = w.Begin + w.Length + number()
			if n := len(x.waits); n > 0 {
				last := &x.waits[n-1]
				x.unsorted = x.unsorted || call < last.Place.Number || call == last.Place.Number && w.Pattern < last.Pattern
			}
			x.waits = append(x.waits, w)
		case attachedBusy:
			w := &x.waits[len(x.waits)-1]
			begin := w.Begin + number()
			w.Busy = append(w.Busy, synclog.Span{Begin: begin, End: begin + number()})
		case attachedSource, attachedRelease, attachedLock, attachedPartial:
			s := Source{Released: kind == attachedRelease || kind == attachedLock, Lock: kind == attachedLock,
				Partial: kind == attachedPartial}
			s.Place = waitstate.Place{Location: uint32(number()), Number: int32(number())}
			s.Time = since + number()
			if n := len(x.sources); n > 0 && call < x.sources[n-1].call {
				x.unsorted = true
			}
			x.sources = append(x.sources, callSource{call, s})
		case attachedOperation:
			if n := len(x.operations); n > 0 && call < x.operations[n-1].call {
				x.unsorted = true
			}
			x.operations = append(x.operations, part{call, int32(number())})
		case attachedBegin:
			x.list[k].Begins = true
		case attachedJoin:
			x.list[k].Joins = true
		case attachedFork:
			x.list[k].Forks = true
		}
	}
}
