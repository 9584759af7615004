package synclog

import (
	"context"
	"encoding/binary"

	"github.com/weft-trace/weft/internal/chunks"
	"github.com/weft-trace/weft/internal/minheap"
	"github.com/weft-trace/weft/trace"
)

// Scan calls f with each call, in the order in which the calls end. Calls with equal ends come in the order of
// [TieRank], and then in the order of their locations. The calls have no times. A call is valid until f returns. Scan
// can be called several times.
func (l *Log) Scan(ctx context.Context, f func(*Call) error) error {
	h := make([]*reader, 0, len(l.lanes)) // a heap
	for _, x := range l.lanes {
		r := &reader{log: l, lane: x}
		ok, err := r.next()
		if err != nil {
			return err
		}
		if ok {
			h = append(h, r)
		}
	}
	minheap.Init(h, endsBefore)
	for n := 0; len(h) > 0; n++ {
		if n&0xfff == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		r := h[0]
		if err := f(&r.call); err != nil {
			return err
		}
		ok, err := r.next()
		if err != nil {
			return err
		}
		if !ok {
			minheap.Pop(&h, endsBefore)
			continue
		}
		if len(h) > 1 {
			minheap.Fix(h, 0, endsBefore)
		}
	}
	return nil
}

// TieRank orders calls of all locations that end at the same time; calls with smaller ranks come first. The work of
// devices has rank 0, because calls of threads wait for it. These calls have rank 1. Idle times of streams have rank 2,
// because they end when a call launches work. Work that takes no time also has rank 2, as it follows an idle time.
func TieRank(stream, work bool, duration int64) int8 {
	switch {
	case !stream:
		return 1
	case work && duration > 0:
		return 0
	}
	return 2
}

// tieRank returns the [TieRank] of the next call.
func (r *reader) tieRank() int8 {
	return TieRank(r.lane.stream, r.call.Device && !r.call.Idle, r.call.Leave-r.call.Enter)
}

// endsBefore orders readers by the end of their next call, then by [TieRank], then by location.
func endsBefore(x, y **reader) bool {
	a, b := &(*x).call, &(*y).call
	if a.Leave != b.Leave {
		return a.Leave < b.Leave
	}
	if r, s := (*x).tieRank(), (*y).tieRank(); r != s {
		return r < s
	}
	return a.Location < b.Location
}

// Chunk holds consecutive packed calls of a location.
type Chunk struct {
	First, Calls int32 // number of the first call in the chunk, counted from 0; and number of calls in the chunk
	Times        int32 // number of entries in Before and Inside of the calls
	Since        int64 // end of the call before the first call of the chunk, in ticks, or 0
	data         chunks.Chunk
}

// Chunks returns the chunks of a location's calls, in order. The caller must not change them.
func (l *Log) Chunks(location uint32) []Chunk {
	if x := l.lane(location); x != nil {
		return x.chunks
	}
	return nil
}

// ReadChunk calls f with each call of a chunk of a location, in order. The calls have no Points. A
// call is valid until f returns. The times of the calls are appended to times, which ReadChunk returns: those before a
// call, then those in the call, and then those before the next one. ReadChunk must not be called by several goroutines
// at the same time.
func (l *Log) ReadChunk(location uint32, chunk *Chunk, times []PathTime, f func(*Call)) ([]PathTime, error) {
	r := &l.chunkReader
	r.log, r.lane = l, l.lane(location)
	r.call.Leave = chunk.Since
	var err error
	if r.data, err = l.store.Read(chunk.data, &r.room); err != nil {
		return times, err
	}
	r.times = times
	for len(r.data) > 0 {
		r.unpack(false)
		f(&r.call)
	}
	times, r.times = r.times, nil
	return times, nil
}

// reader unpacks the calls of a location.
type reader struct {
	log   *Log
	lane  *lane
	chunk int // number of the next chunk
	data  []byte
	// room is a buffer for chunks from the file.
	room []byte
	call Call
	// times collects the times of the calls for ReadChunk.
	times []PathTime
}

// number returns the number at the start of b, and the rest of b.
func number(b []byte) (uint64, []byte) {
	if x := b[0]; x < 0x80 {
		return uint64(x), b[1:]
	}
	x, n := binary.Uvarint(b)
	return x, b[n:]
}

// next unpacks the next call. ok is false after the last call.
func (r *reader) next() (ok bool, err error) {
	if len(r.data) == 0 {
		if r.chunk == len(r.lane.chunks) {
			return false, nil
		}
		if r.data, err = r.log.store.Read(r.lane.chunks[r.chunk].data, &r.room); err != nil {
			return false, err
		}
		r.chunk++
	}
	r.unpack(true)
	return true, nil
}

// unpack unpacks the call at the start of r.data, with its points or with its times.
func (r *reader) unpack(withPoints bool) {
	c, b, w := &r.call, r.data, r.lane.worker
	flags := b[0]
	node, b := number(b[1:])
	after, n := binary.Varint(b)
	length, b := number(b[n:])
	c.Location, c.Path, c.Region = r.lane.loc, NoPath, trace.NoRef
	c.Leave += after
	c.Enter = int64(uint64(c.Leave) - length)
	c.Device, c.Idle, c.IsPoint, c.Last = flags&device != 0, flags&idle != 0, flags&isPoint != 0, flags&last != 0
	c.InTeam, c.Unteamed = flags&inTeam != 0, flags&unteamed != 0
	var outside regionKind
	k := &outside
	if node > 0 {
		c.Path, c.Region = w.places[node-1], w.nodes[node-1].region
		k = w.kind(c.Region)
	}
	c.Role, c.Creates, c.Init, c.Finalize = k.role, k.lock == creates, k.init, k.finalize
	c.Synchronous, c.Window = k.synchronous, k.window
	if c.Bounded = flags&bounded != 0; c.Bounded {
		c.Role = trace.CollectiveRole
	}
	c.Team, c.Busy = Team{}, c.Busy[:0]
	c.Points, c.Before, c.Inside = c.Points[:0], nil, nil
	if c.InTeam || c.Unteamed {
		c.Team.Communicator, b = number(b)
		c.Team.Visit, b = number(b)
		c.Team.Barrier, b = number(b)
		var n, begin, time uint64
		n, b = number(b)
		since := c.Enter
		for range n {
			begin, b = number(b)
			time, b = number(b)
			s := Span{since + int64(begin), since + int64(begin) + int64(time)}
			c.Busy = append(c.Busy, s)
			since = s.End
		}
	}
	points, b := number(b)
	if points > 0 {
		length, b = number(b)
	}
	if !withPoints && points > 0 {
		b, points = b[length:], 0
	}
	for range points {
		kind := b[0]
		var after uint64
		after, b = number(b[1:])
		p := Point{Kind: Kind(kind & 31), Time: int64(uint64(c.Enter) + after)}
		operands := int(kind >> 5)
		for i := range p.Ops {
			p.Ops[i] = trace.Undefined
			if i < operands {
				p.Ops[i], b = number(b)
				p.Ops[i]--
			}
		}
		c.Points = append(c.Points, p)
	}
	if r.log.times {
		length, b = number(b)
		if withPoints {
			b = b[length:]
		} else {
			c.Before, b = r.unpackTimes(b)
			c.Inside, b = r.unpackTimes(b)
		}
	}
	if flags&fromBegin != 0 {
		if c.Enter = r.log.First; len(c.Inside) > 0 {
			c.Inside[0].Time += r.lane.waited // element 0 is the time outside of all regions
		}
	}
	r.data = b
}

// unpackTimes appends the exclusive times at the start of b to r.times. It returns these times and the rest of b.
func (r *reader) unpackTimes(b []byte) ([]PathTime, []byte) {
	n, b := number(b)
	from, places := len(r.times), r.lane.worker.places
	for range n {
		var node, time uint64
		node, b = number(b)
		time, b = number(b)
		x := PathTime{NoPath, int64(time)}
		if node > 0 {
			x.Path = places[node-1]
		}
		r.times = append(r.times, x)
	}
	return r.times[from:], b
}
