package index

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"slices"
	"sync"

	"github.com/weft-trace/weft/trace"
)

// pairing is what messages are paired by: the n-th send of one location to another with a
// tag, on a communicator, belongs to the n-th receive there.
type pairing struct {
	source, destination, comm uint32
	tag                       int64
	stretch                   int64 // of stretchLength messages each
}

// stretchLength is how many messages of the same kind between the same locations go to the
// same part of the spool.
const stretchLength = 1 << 18

// channel is a stretch of messages.
type channel struct {
	pairing
	part  uint8
	slot  uint32 // in its part
	sends int64  // so far; the source's worker counts them
	recvs int64  // and the destination's these
}

// numbered is the sends, or the receives, that a location has with another.
type numbered struct {
	peer, comm uint32
	tag        int64
	recv       bool
}

// channels are those of a location. Most have few, and use them one after another.
type channels struct {
	few  []numberedChannel
	next int // in few, behind the last one that was looked for
	many map[numbered]*channel
}

type numberedChannel struct {
	numbered
	channel *channel
}

// fewChannels is how many are looked through.
const fewChannels = 16

// of is the channel of a number, nil if there is none.
func (c *channels) of(k numbered) *channel {
	if c.many != nil {
		return c.many[k]
	}
	for range c.few {
		if c.next == len(c.few) {
			c.next = 0
		}
		x := &c.few[c.next]
		c.next++
		if x.numbered == k {
			return x.channel
		}
	}
	return nil
}

func (c *channels) set(k numbered, ch *channel) {
	if c.many == nil {
		for i := range c.few {
			if c.few[i].numbered == k {
				c.few[i].channel = ch
				return
			}
		}
		if len(c.few) < fewChannels {
			c.few = append(c.few, numberedChannel{k, ch})
			return
		}
		c.many = map[numbered]*channel{}
		for _, x := range c.few {
			c.many[x.numbered] = x.channel
		}
		c.few = nil
	}
	c.many[k] = ch
}

// parts is how many parts the ends of messages are divided into, so that what belongs
// together can be found in the memory of one.
const parts = 64

// linkSpool keeps the ends of messages, in memory while they are few and else in a
// temporary file, and the stored links.
type linkSpool struct {
	mu     sync.Mutex
	file   *os.File
	kept   int64 // bytes in memory
	size   int64 // of the file
	count  int64 // of sides of meetings
	pieces [parts][]spooled
	stored []link
	// Of each part all channels, by slot, and those that one side alone has asked for.
	channels [parts]struct {
		mu   sync.Mutex
		list []*channel
		of   map[pairing]*channel
	}
}

// channel is the one of a pairing.
func (s *linkSpool) channel(k pairing) *channel {
	// The messages of a pair of locations are in one part, as long as they are not too many.
	h := (uint64(k.source)*0x9e3779b97f4a7c15 ^ uint64(k.destination)*0xc2b2ae3d27d4eb4f ^ uint64(k.stretch)) * 0x9e3779b97f4a7c15
	part := uint8(h >> 58)
	p := &s.channels[part]
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.of[k]; c != nil {
		delete(p.of, k) // both sides have it now
		return c
	}
	if p.of == nil {
		p.of = map[pairing]*channel{}
	}
	c := &channel{pairing: k, part: part, slot: uint32(len(p.list))}
	p.list = append(p.list, c)
	p.of[k] = c
	return c
}

// spooled is some ends of one worker, here or in the file.
type spooled struct {
	data []byte
	at   int64
	size int
}

// spoolMemory is what is kept before a temporary file is made.
const spoolMemory = 4 << 20

func (s *linkSpool) close() {
	if s != nil && s.file != nil {
		s.file.Close()
		os.Remove(s.file.Name()) // where an open file could not be removed
		s.file = nil
	}
}

// put takes what a buffer has, and returns an empty one.
func (s *linkSpool) put(part int, data []byte) ([]byte, error) {
	p, err := s.place(part, data)
	if p.data != nil || err != nil {
		return nil, err
	}
	_, err = s.file.WriteAt(data, p.at)
	return data[:0], err
}

// place says where a buffer is to be: in memory, or in the file.
func (s *linkSpool) place(part int, data []byte) (p spooled, err error) {
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

// endWriter writes the ends of the messages of a worker's locations.
type endWriter struct {
	spool   *linkSpool
	buffers [parts][]byte
	last    [parts]int64 // time written there
	count   int64        // of sides of meetings
}

// bufferSize is when a buffer goes to the spool.
const bufferSize = 8 << 10

// buffer is that of a part, with room for what an event comes to.
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

// keep puts what a buffer has become where it belongs.
func (w *endWriter) keep(part int, b []byte) (err error) {
	if len(b) >= bufferSize {
		b, err = w.spool.put(part, b)
	}
	w.buffers[part] = b
	return err
}

// message takes a send or receive.
func (w *endWriter) message(l *location, c *trace.Cursor) error {
	// A send that does not say where to is one that nobody received, and so with receives.
	k := numbered{communicator(c.Op(0)), communicator(c.Op(1)), int64(c.Op(2)), c.Kind().IsRecv()}
	ch := l.channels.of(k)
	n := int64(0)
	switch { // each side reads its own number alone
	case ch == nil:
	case k.recv:
		n = ch.recvs
	default:
		n = ch.sends
	}
	if ch == nil || n == stretchLength {
		pair := pairing{source: l.index, destination: k.peer, comm: k.comm, tag: k.tag}
		if k.recv {
			pair.source, pair.destination = k.peer, l.index
		}
		if ch != nil {
			pair.stretch = ch.stretch + 1
		}
		ch = w.spool.channel(pair)
		l.channels.set(k, ch)
	}
	p := ch.part
	b := w.buffer(int(p))
	at := c.Time()
	if k.recv {
		ch.recvs++
		b = appendUvarint(b, uint64(ch.slot)<<1|1)
		b = appendVarint(b, at-w.last[p])
	} else {
		ch.sends++
		b = appendUvarint(b, uint64(ch.slot)<<1)
		b = appendVarint(b, at-w.last[p])
		bytes := c.Op(3)
		if bytes > math.MaxInt64 {
			bytes = 0
		}
		b = appendUvarint(b, bytes)
	}
	w.last[p] = at
	return w.keep(int(p), b)
}

// flush hands on what is left.
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

// stored takes stored links.
func (w *endWriter) stored(b *builder, list []trace.Link) error {
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
		l := link{kind: Dependency, source: x.Src.Location, destination: x.Dst.Location, start: x.Src.Time, end: x.Dst.Time, name: b.name(name), comm: trace.NoRef, tag: x.ID}
		w.spool.mu.Lock()
		w.spool.stored = append(w.spool.stored, l)
		w.spool.mu.Unlock()
	}
	return nil
}

// pair finds the messages of a part. The sends, and the receives, of a channel come in their
// order: those of a location come from one worker, which has put them here so. The memory of
// out is used again.
func (s *linkSpool) pair(part int, out []link) ([]link, error) {
	list := s.channels[part].list
	// at is where the messages of a channel are in the result, and how many ends came.
	type place struct{ base, sends, recvs int64 }
	at := make([]place, len(list))
	n := int64(0)
	for i, c := range list {
		at[i].base = n
		n += max(c.sends, c.recvs)
	}
	out = slices.Grow(out[:0], int(n))[:n]
	clear(out)
	for i, c := range list {
		for k := range max(c.sends, c.recvs) {
			l := &out[at[i].base+k]
			l.kind, l.alone, l.unsent, l.source, l.destination = Message, k >= min(c.sends, c.recvs), k >= c.sends, c.source, c.destination
			l.tag, l.comm, l.name = c.tag, c.comm, trace.NoRef
		}
	}
	err := s.each(part, func(c *columns) {
		for last := int64(0); len(c.b) > 0 && !c.bad; {
			u := c.uint()
			last += c.int()
			slot := u >> 1
			p := &at[slot]
			if u&1 == 0 {
				l := &out[p.base+p.sends]
				p.sends++
				if l.start, l.bytes = last, int64(c.uint()); l.alone {
					l.end = last
				}
			} else {
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
