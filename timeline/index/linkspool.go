package index

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"slices"
	"sync"

	"github.com/weft-trace/weft/internal/postorder"
	"github.com/weft-trace/weft/trace"
)

// pairing identifies messages that are paired in order: the n-th send from one location to another with
// the same tag and communicator belongs to the n-th receive that is posted.
type pairing struct {
	source, destination, comm uint32
	tag                       int64
	// number of the stretch, which is a series of stretchLength messages of the pairing
	stretch int64
}

// stretchLength is the number of messages of a pairing that go to the same part of the spool.
const stretchLength = 1 << 18

// channel holds the state of one stretch of the messages of a pairing.
type channel struct {
	pairing
	part  uint8
	slot  uint32 // index in the channels of its part
	sends int64  // number of sends so far, counted by the source's worker
	recvs int64  // number of receives so far, counted by the destination's worker
	// cancelled holds the numbers of the sends, counted from 0, that were cancelled. Nothing receives them.
	cancelled []int64
}

// uncancelledSends returns the number of sends that were not cancelled.
func (c *channel) uncancelledSends() int64 { return c.sends - int64(len(c.cancelled)) }

// channelEnd identifies one end of channels at a location: its sends to another location, or its
// receives from it, with the same tag and communicator.
type channelEnd struct {
	peer, comm uint32
	tag        int64
	recv       bool
}

// spoolParts is the number of parts into which the ends of messages are divided. The two ends of a
// message are in the same part, so that one part at a time can be paired in memory.
const spoolParts = 64

// linkSpool stores the ends of messages, in memory if there are few and otherwise in a temporary file. It also
// stores the links that the trace itself contains.
type linkSpool struct {
	mu     sync.Mutex
	file   *os.File
	kept   int64 // number of bytes in memory
	size   int64 // size of the file in bytes
	count  int64 // number of sides of meetings
	pieces [spoolParts][]spooledPiece
	stored []link
	// channels holds all channels of each part, by slot. In each part, requested holds the channels that only
	// one of the two ends has requested so far.
	channels [spoolParts]struct {
		mu        sync.Mutex
		list      []*channel
		requested map[pairing]*channel
	}
}

// channel returns the channel of a pairing. It creates the channel when the first of the two ends
// asks for it.
func (s *linkSpool) channel(k pairing) *channel {
	// The messages between two locations are in the same part, unless there are many of them.
	h := uint64(k.source)*0x9e3779b97f4a7c15 ^ uint64(k.destination)*0xc2b2ae3d27d4eb4f ^ uint64(k.stretch)
	h *= 0x9e3779b97f4a7c15
	part := uint8(h >> 58)
	p := &s.channels[part]
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.requested[k]; c != nil {
		delete(p.requested, k) // both workers now have the channel
		return c
	}
	if p.requested == nil {
		p.requested = map[pairing]*channel{}
	}
	c := &channel{pairing: k, part: part, slot: uint32(len(p.list))}
	p.list = append(p.list, c)
	p.requested[k] = c
	return c
}

// spooledPiece is a part of the message ends that a worker has written. Its size bytes are in data or,
// if data is nil, at offset at in the file.
type spooledPiece struct {
	data []byte
	at   int64
	size int
}

// spoolMemory is the number of bytes that are held in memory before a temporary file is used.
const spoolMemory = 4 << 20

func (s *linkSpool) close() {
	if s != nil && s.file != nil {
		s.file.Close()
		os.Remove(s.file.Name()) // remove the file on systems that cannot remove an open file
		s.file = nil
	}
}

// put stores the contents of a buffer. It returns the emptied buffer, or nil if the spool now owns the buffer.
func (s *linkSpool) put(part int, data []byte) ([]byte, error) {
	p, err := s.place(part, data)
	if p.data != nil || err != nil {
		return nil, err
	}
	_, err = s.file.WriteAt(data, p.at)
	return data[:0], err
}

// place reserves a place for a buffer: it takes over the buffer, or reserves a part of the file.
func (s *linkSpool) place(part int, data []byte) (p spooledPiece, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.size = len(data)
	if s.kept+int64(len(data)) <= spoolMemory {
		p.data = data
		s.kept += int64(len(data))
	} else {
		if s.file == nil {
			f, err := os.CreateTemp("", "weft-links-*")
			if err != nil {
				return p, fmt.Errorf("cannot make a temporary file: %w", err)
			}
			os.Remove(f.Name())
			s.file = f
		}
		p.at = s.size
		s.size += int64(len(data))
	}
	s.pieces[part] = append(s.pieces[part], p)
	return p, nil
}

// endWriter writes the ends of the messages of a worker's locations to a spool.
type endWriter struct {
	spool   *linkSpool
	buffers [spoolParts][]byte
	last    [spoolParts]int64 // the last time that was written to each part
	count   int64             // number of sides of meetings
}

// bufferSize is the size at which a buffer is stored in the spool.
const bufferSize = 8 << 10

// buffer returns the encoded events of a part that are not yet in the spool. Each time is encoded as the
// difference from the previous one. The first time in an empty buffer is encoded in full.
func (w *endWriter) buffer(part int) []byte {
	b := w.buffers[part]
	if len(b) > 0 {
		return b
	}
	w.last[part] = 0
	if b == nil {
		b = make([]byte, 0, bufferSize+8*binary.MaxVarintLen64)
	}
	return b
}

// keep takes back the buffer of a part after an event has been added. It stores the buffer in the spool
// if it is full.
func (w *endWriter) keep(part int, b []byte) (err error) {
	if len(b) >= bufferSize {
		b, err = w.spool.put(part, b)
	}
	w.buffers[part] = b
	return err
}

// messageEnd is a send or receive at time at, in ticks. bytes is valid for a send.
type messageEnd struct {
	channelEnd
	at    int64
	bytes uint64
}

// receives holds the receives of a location that wait for those that were posted before them.
type receives = postorder.Receives[messageEnd]

// request is a non-blocking send or receive that has not completed.
type request struct {
	receive uint64   // number of the posted receive, counted from 1; 0 for a send
	channel *channel // of a send
	send    int64    // number of the send in its channel, counted from 0
}

// open adds a request. An open request with the same number never completes.
func (w *endWriter) open(l *location, id uint64, r request) error {
	if id == trace.Undefined {
		return nil
	}
	earlier, _ := l.requests.Take(id)
	l.requests.Put(id, r)
	if earlier.receive > 0 {
		return w.putAll(l, l.receives.Close(earlier.receive))
	}
	return nil
}

// processRequest handles the post of a receive, the completion of a send, or a cancellation.
func (w *endWriter) processRequest(l *location, c *trace.Cursor) error {
	id := c.Op(0)
	if c.Kind() == trace.RecvBegin {
		return w.open(l, id, request{receive: l.receives.Post(id != trace.Undefined)})
	}
	r, ok := l.requests.Take(id)
	switch {
	case !ok:
	case r.receive > 0:
		return w.putAll(l, l.receives.Close(r.receive))
	case c.Kind() == trace.RequestCancelled:
		r.channel.cancelled = append(r.channel.cancelled, r.send)
	}
	return nil
}

// processMessage handles a send or receive. It writes the receives in the order of their posts.
func (w *endWriter) processMessage(l *location, c *trace.Cursor) error {
	// A send without a destination counts as one without a receive, and a receive without a source
	// as one without a send.
	e := messageEnd{channelEnd{commRef(c.Op(0)), commRef(c.Op(1)), int64(c.Op(2)), c.Kind().IsRecv()}, c.Time(), c.Op(3)}
	if !e.recv || !l.receives.Open() {
		ch, err := w.putEnd(l, &e)
		if err != nil || c.Kind() != trace.SendBegin {
			return err
		}
		return w.open(l, c.Op(4), request{channel: ch, send: ch.sends - 1})
	}
	if r, ok := l.requests.Get(c.Op(4)); ok && r.receive > 0 {
		l.requests.Take(c.Op(4))
		return w.putAll(l, l.receives.Complete(r.receive, e))
	}
	return w.putAll(l, l.receives.Complete(l.receives.Post(false), e))
}

// putAll writes ends of messages of a location.
func (w *endWriter) putAll(l *location, list []messageEnd) error {
	for i := range list {
		if _, err := w.putEnd(l, &list[i]); err != nil {
			return err
		}
	}
	return nil
}

// putEnd writes an end of a message of a location, and returns its channel.
func (w *endWriter) putEnd(l *location, e *messageEnd) (*channel, error) {
	ch, _ := l.channels.Get(e.channelEnd)
	n := int64(0)
	switch { // each end reads only the count that its own worker changes
	case ch == nil:
	case e.recv:
		n = ch.recvs
	default:
		n = ch.uncancelledSends()
	}
	if ch == nil || n == stretchLength {
		pair := pairing{source: l.index, destination: e.peer, comm: e.comm, tag: e.tag}
		if e.recv {
			pair.source, pair.destination = e.peer, l.index
		}
		if ch != nil {
			pair.stretch = ch.stretch + 1
		}
		ch = w.spool.channel(pair)
		l.channels.Put(e.channelEnd, ch)
	}
	p := ch.part
	b := w.buffer(int(p))
	if e.recv {
		ch.recvs++
		b = appendUvarint(b, uint64(ch.slot)<<1|1)
		b = appendVarint(b, e.at-w.last[p])
	} else {
		ch.sends++
		b = appendUvarint(b, uint64(ch.slot)<<1)
		b = appendVarint(b, e.at-w.last[p])
		bytes := e.bytes
		if bytes > math.MaxInt64 {
			bytes = 0
		}
		b = appendUvarint(b, bytes)
	}
	w.last[p] = e.at
	return ch, w.keep(int(p), b)
}

// flush stores the remaining contents of the buffers in the spool.
func (w *endWriter) flush() error {
	for p, b := range w.buffers {
		if len(b) > 0 {
			if _, err := w.spool.put(p, b); err != nil {
				return err
			}
		}
		w.buffers[p] = nil
	}
	w.spool.count, w.count = w.spool.count+w.count, 0
	return nil
}

// addStored adds the stored links of the trace.
func (w *endWriter) addStored(b *builder, list []trace.Link) error {
	for i := range list {
		x := &list[i]
		if x.Src.Location == trace.NoRef || x.Dst.Location == trace.NoRef {
			continue
		}
		name := ""
		for _, key := range []string{"type", "name"} {
			for _, a := range x.Attrs {
				if a.Key == key && name == "" {
					name = a.Value.String()
				}
			}
		}
		l := link{kind: Dependency, source: x.Src.Location, destination: x.Dst.Location, start: x.Src.Time, end: x.Dst.Time,
			name: b.name(name), comm: trace.NoRef, tag: x.ID}
		w.spool.mu.Lock()
		w.spool.stored = append(w.spool.stored, l)
		w.spool.mu.Unlock()
	}
	return nil
}

// pair returns the messages of a part. The n-th send of a channel that was not cancelled belongs to its n-th receive.
// The spool has both in order, because one worker stores all events of a location. The result reuses the
// memory of out.
func (s *linkSpool) pair(part int, out []link) ([]link, error) {
	list := s.channels[part].list
	// place holds the index of a channel's first message in the result, the numbers of ends that have been read,
	// counting cancelled sends as received, and the cancelled sends after these receives.
	type place struct {
		base, sends, recvs int64
		cancelled          []int64
	}
	at := make([]place, len(list))
	n := int64(0)
	for i, c := range list {
		slices.Sort(c.cancelled)
		at[i].base, at[i].cancelled = n, c.cancelled
		n += max(c.sends, c.recvs+int64(len(c.cancelled)))
	}
	out = slices.Grow(out[:0], int(n))[:n]
	clear(out)
	for i, c := range list {
		cancelled, pairs := c.cancelled, min(c.uncancelledSends(), c.recvs)
		for k := range max(c.sends, c.recvs+int64(len(c.cancelled))) {
			l := &out[at[i].base+k]
			l.kind, l.unsent, l.source, l.destination = Message, k >= c.sends, c.source, c.destination
			l.tag, l.comm, l.name = c.tag, c.comm, trace.NoRef
			if len(cancelled) > 0 && cancelled[0] == k {
				l.unpaired, cancelled = true, cancelled[1:]
				continue
			}
			l.unpaired = pairs <= 0
			pairs--
		}
	}
	err := s.eachSpooled(part, func(c *columns) {
		for last := int64(0); len(c.b) > 0 && !c.bad; {
			u := c.uint()
			last += c.int()
			slot := u >> 1
			p := &at[slot]
			if u&1 == 0 {
				l := &out[p.base+p.sends]
				p.sends++
				if l.start, l.bytes = last, int64(c.uint()); l.unpaired {
					l.end = last
				}
			} else {
				for len(p.cancelled) > 0 && p.cancelled[0] == p.recvs {
					p.cancelled = p.cancelled[1:]
					p.recvs++
				}
				l := &out[p.base+p.recvs]
				p.recvs++
				if l.end = last; l.unsent {
					l.start = last
				}
			}
		}
	})
	return out, err
}
