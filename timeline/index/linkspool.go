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

// channel is what messages are paired by: the n-th send of one location to another with a
// tag, on a communicator, belongs to the n-th receive there.
type channel struct {
	source, destination, comm uint32
	tag                       int64
}

// numbered is the sends or the receives of a channel.
type numbered struct {
	channel
	recv bool
}

// stretchBits is how many messages of a channel, as a power of two, go to the same part of
// the spool.
const stretchBits = 18

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
	pieces [parts][]spooled
	stored []link
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

func (s *linkSpool) put(part int, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := spooled{size: len(data)}
	if s.kept += int64(len(data)); s.kept <= spoolMemory {
		p.data = slices.Clone(data)
		s.pieces[part] = append(s.pieces[part], p)
		return nil
	}
	if s.file == nil {
		f, err := os.CreateTemp("", "weft-links-*")
		if err != nil {
			return fmt.Errorf("cannot make a temporary file: %w", err)
		}
		os.Remove(f.Name())
		s.file = f
	}
	p.at = s.size
	s.size += int64(len(data))
	s.pieces[part] = append(s.pieces[part], p)
	_, err := s.file.WriteAt(data, p.at)
	return err
}

// end is an end of a message.
type end struct {
	channel
	stretch     int64 // which of its channel
	recv        bool
	time, bytes int64
}

// endWriter writes the ends of the messages of a worker's locations.
type endWriter struct {
	spool   *linkSpool
	buffers [parts][]byte
	last    [parts]int64 // time written there
}

// bufferSize is when a buffer goes to the spool.
const bufferSize = 16 << 10

// message takes a send or receive.
func (w *endWriter) message(l *location, c *trace.Cursor) error {
	peer := c.Op(0)
	if peer >= uint64(trace.NoRef) {
		return nil // nobody knows the other side
	}
	k := numbered{channel{l.index, uint32(peer), communicator(c.Op(1)), int64(c.Op(2))}, c.Kind().IsRecv()}
	if k.recv {
		k.source, k.destination = k.destination, k.source
	}
	if l.numbers == nil {
		l.numbers = map[numbered]*int64{}
	}
	n := l.numbers[k]
	if n == nil {
		n = new(int64)
		l.numbers[k] = n
	}
	e := end{channel: k.channel, stretch: *n >> stretchBits, recv: k.recv, time: c.Time()}
	*n++
	if x := c.Op(3); x <= math.MaxInt64 {
		e.bytes = int64(x)
	}
	// The messages of a pair of locations are in one part, as long as they are not too many.
	h := (uint64(e.source)*0x9e3779b97f4a7c15 ^ uint64(e.destination)*0xc2b2ae3d27d4eb4f ^ uint64(e.stretch)) * 0x9e3779b97f4a7c15
	p := int(h >> 58)
	b := w.buffers[p]
	if len(b) == 0 {
		w.last[p] = 0
	}
	tag := binary.AppendUvarint(b, uint64(e.source)<<1)
	if e.recv {
		tag = binary.AppendUvarint(b, uint64(e.source)<<1|1)
	}
	b = binary.AppendUvarint(tag, uint64(e.destination))
	b = binary.AppendUvarint(b, uint64(e.comm+1))
	b = binary.AppendVarint(b, e.tag)
	b = binary.AppendUvarint(b, uint64(e.stretch))
	b = binary.AppendVarint(b, e.time-w.last[p])
	b = binary.AppendUvarint(b, uint64(e.bytes))
	w.last[p] = e.time
	if w.buffers[p] = b; len(b) < bufferSize {
		return nil
	}
	w.buffers[p] = b[:0]
	return w.spool.put(p, b)
}

// flush hands on what is left.
func (w *endWriter) flush() error {
	for p, b := range w.buffers {
		if len(b) > 0 {
			if err := w.spool.put(p, b); err != nil {
				return err
			}
		}
		w.buffers[p] = nil
	}
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

// waiting is the ends of a stretch of a channel.
type waiting struct {
	sends []sent
	recvs []int64 // their times
}

type sent struct{ time, bytes int64 }

// pair finds the messages of a part. The sends, and the receives, of a channel come in their
// order: those of a location come from one worker, which has put them here so.
func (s *linkSpool) pair(part int) ([]link, error) {
	type key struct {
		channel
		stretch int64
	}
	open := map[key]*waiting{}
	var order []key
	sends := 0
	err := s.each(part, func(c *columns) {
		for last := int64(0); len(c.b) > 0 && !c.bad; {
			var e end
			u := c.uint()
			e.source, e.recv = uint32(u>>1), u&1 == 1
			e.destination, e.comm, e.tag, e.stretch = uint32(c.uint()), uint32(c.uint())-1, c.int(), int64(c.uint())
			last += c.int()
			e.time, e.bytes = last, int64(c.uint())
			k := key{e.channel, e.stretch}
			w := open[k]
			if w == nil {
				w = &waiting{}
				open[k] = w
				order = append(order, k)
			}
			if e.recv {
				w.recvs = append(w.recvs, e.time)
			} else {
				w.sends = append(w.sends, sent{e.time, e.bytes})
				sends++
			}
		}
	})
	if err != nil {
		return nil, err
	}
	out := make([]link, 0, sends)
	for _, k := range order {
		w := open[k]
		for i, e := range w.sends {
			l := link{kind: Message, source: k.source, destination: k.destination, start: e.time, end: e.time, bytes: e.bytes, comm: k.comm, tag: k.tag, name: trace.NoRef, alone: true}
			if i < len(w.recvs) {
				l.end, l.alone = w.recvs[i], false
			}
			out = append(out, l)
		}
		delete(open, k)
	}
	return out, nil
}
