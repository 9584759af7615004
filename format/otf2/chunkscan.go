package otf2

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/pipeline"
	"github.com/weft-trace/weft/trace"
)

// splitLarge divides locations into large locations, with the largest first, and all others. All cores
// together read a large location, and a single core reads each of the others. Reading a location with all
// cores saves time if one core would still read it when the other cores have finished. In return, only one
// core at a time does the work of the sink. A location is therefore large only if its size is at least 1.5 times a
// core's share.
func (d *decoder) splitLarge(ids []uint64, cores int) (large, others []uint64) {
	if cores < 2 {
		return nil, ids
	}
	type location struct {
		id   uint64
		size int64
	}
	list := make([]location, len(ids))
	left := int64(0)
	for i, id := range ids {
		list[i].id = id
		// A missing file has no size; opening it later returns the error.
		if st, err := fs.Stat(d.a.src.FS, fmt.Sprintf("%s/%d.evt", d.a.name, id)); err == nil {
			list[i].size = st.Size()
		}
		left += list[i].size
	}
	slices.SortStableFunc(list, func(a, b location) int { return cmp.Compare(b.size, a.size) })
	for _, x := range list {
		if x.size <= int64(d.a.EventChunk) || float64(x.size) <= 1.5*float64(left)/float64(cores) {
			break
		}
		large = append(large, x.id)
		left -= x.size
	}
	if len(large) == 0 {
		return nil, ids
	}
	return large, slices.DeleteFunc(slices.Clone(ids), func(id uint64) bool { return slices.Contains(large, id) })
}

// errNeedsEarlier reports a chunk that cannot be read without the contents of earlier chunks.
var errNeedsEarlier = errors.New("otf2: a chunk needs the chunks before it")

// chunkScan reads the chunks of one location with several workers, and delivers them in order to one sink.
// Each worker reads its chunk as if the chunk were the first in the file. The result is correct if the chunk
// begins with a time, and if the earlier chunks end at no later time, in the same interval of clock offsets,
// and without attributes for the next event. This is checked when the chunk's turn comes.
//
// Batches that wait for their turn take at most chunkRoom bytes per worker. A worker without room waits for
// the turn of its chunk and delivers each batch immediately from then on. Together with the buffered part of
// the file and the current batch, a worker needs 4.2 MiB for events without operands. Texts are not counted,
// because nearly all of them belong to definitions.
type chunkScan struct {
	sink    format.Sink
	readers []*locationReader // one reader per worker

	mu   sync.Mutex
	room int64 // bytes left for waiting batches
	free []*trace.Batch

	// The following fields describe the chunk whose turn it is. All workers may read over; only the worker of
	// that chunk may use the other fields.
	last    int64  // time of the last delivered event
	clock   *clock // clock of the location after the delivered chunks
	stopped atomic.Bool
}

const chunkRoom = 4 << 20

// chunkJob holds a chunk and the result of reading it.
type chunkJob struct {
	number int64
	stop   int64 // index of the chunk before which the chunk's reader stops
	// turn is closed when all earlier chunks have been delivered; after is closed when this chunk has been
	// delivered
	turn, after chan struct{}
	begun       bool // delivery of this chunk has begun
	batches     []*trace.Batch

	any         bool   // the chunk has at least one event
	time        uint64 // time of the first event on the location's clock
	first, last int64  // times of the first and the last event, in ticks of the model
	interval    int    // index of the interval of clock offsets after the last event
	end         bool   // the selection has ended in this chunk
	err         error
}

// scanChunks delivers all events like scan, but several cores read the chunks.
func (lr *locationReader) scanChunks(ctx context.Context, workers int, sink format.Sink) error {
	c := lr.r.c
	next, chunks := lr.r.start, (c.size+c.chunk-1)/c.chunk
	if workers = int(min(int64(workers), chunks-next)); workers < 2 {
		return lr.scan(ctx, sink)
	}
	defer lr.r.Close()
	s := &chunkScan{sink: sink, room: int64(workers) * chunkRoom, last: math.MinInt64}
	if k := lr.r.clock; k != nil {
		s.clock = &clock{offsets: k.offsets}
	}
	for range workers {
		s.readers = append(s.readers, lr.clone())
	}
	// Cancelling this context also ends the waiting of other workers. It is a context of its own so that the
	// original error is returned.
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	after := make(chan struct{})
	close(after)
	return pipeline.Run(ctx, workers, func() (*chunkJob, bool, error) {
		if next >= chunks || s.stopped.Load() {
			return nil, false, nil
		}
		j := &chunkJob{number: next, turn: after, after: make(chan struct{})}
		next, after = next+1, j.after
		if next < chunks {
			j.stop = next
		}
		return j, true, nil
	}, func(w int, j *chunkJob) (*chunkJob, error) {
		returned := false
		defer func() {
			if !returned {
				cancel() // other workers may be waiting for this worker
			}
		}()
		// The error is returned when it is the chunk's turn, because the scan can end earlier.
		j.err = s.readChunk(waiting, s.readers[w], j)
		returned = true
		return j, nil
	}, func(j *chunkJob) error {
		delivered := false
		defer func() {
			if delivered {
				close(j.after)
			} else {
				cancel()
			}
		}()
		err := s.finish(j)
		delivered = err == nil
		return err
	})
}

// clone returns another reader of the same file.
func (lr *locationReader) clone() *locationReader {
	y, r, c := *lr, *lr.r, *lr.r.c
	y.r, r.c, y.check = &r, &c, nil
	if r.clock != nil {
		r.clock = &clock{offsets: r.clock.offsets}
	}
	return &y
}

// enterChunk moves to a chunk as if the chunk were the first in the file, and reads its first event. It
// returns nil if the chunk has no events.
func (lr *locationReader) enterChunk(j *chunkJob) (*Event, error) {
	r := lr.r
	r.time, r.number, r.stop, r.ended = 0, 0, j.stop, false
	if r.clock != nil {
		r.clock.at = 0
	}
	lr.last, lr.end, lr.sufficient = math.MinInt64, false, false
	err := r.moveToChunk(j.number)
	var b []byte
	if err == nil {
		b, err = r.c.peek(1)
	}
	if err == nil && len(b) > 0 && b[0] != timestampRecord && b[0] != endOfFile && b[0] != endOfChunk &&
		b[0] != endOfBuffer {
		return nil, errNeedsEarlier
	}
	var e *Event
	if err == nil {
		e, err = r.Next()
	}
	if err == io.EOF {
		return nil, nil
	}
	if err != nil {
		return nil, cmp.Or(reportDefect(lr.d.opt, err), errNeedsEarlier)
	}
	return e, nil
}

// readChunk reads the events of a chunk.
func (s *chunkScan) readChunk(ctx context.Context, x *locationReader, j *chunkJob) error {
	e, err := x.enterChunk(j)
	if err != nil {
		return err
	}
	if e != nil {
		j.any, j.time = true, x.r.time
		x.b.Reset(x.loc)
		if err := x.add(e); err != nil {
			return err
		}
		j.first = x.last
		for b, err := x.fill(ctx); b != nil || err != nil; b, err = x.Next(ctx) {
			if err != nil {
				return err
			}
			if err := s.takeBatch(ctx, x, j); err != nil {
				return err
			}
		}
		j.last = x.last
		if x.r.clock != nil {
			j.interval = x.r.clock.at
		}
	}
	j.end = x.r.ended || j.any && (x.pastSelection() || x.sufficient)
	if !j.end && len(x.r.event.Attributes) > 0 {
		return errNeedsEarlier // the attributes belong to the first event of the next chunk
	}
	return nil
}

// takeBatch delivers the current batch of x, or keeps it until it is the chunk's turn.
func (s *chunkScan) takeBatch(ctx context.Context, x *locationReader, j *chunkJob) error {
	if !j.begun {
		select {
		case <-j.turn:
		default:
			if s.holdBatch(x, j) {
				return nil
			}
			select {
			case <-j.turn:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if err := s.beginDelivery(j); err != nil {
			return err
		}
	}
	return s.sink.Batch(&x.b)
}

// holdBatch keeps a batch until it is the chunk's turn and gives the reader another one. It returns false if
// the worker has no room left.
func (s *chunkScan) holdBatch(x *locationReader, j *chunkJob) bool {
	n := batchBytes(&x.b)
	s.mu.Lock()
	defer s.mu.Unlock()
	if n > s.room {
		return false
	}
	s.room -= n
	var b *trace.Batch
	if last := len(s.free) - 1; last >= 0 {
		b, s.free = s.free[last], s.free[:last]
	} else {
		b = &trace.Batch{Time: make([]int64, 0, x.rows), Kind: make([]trace.Kind, 0, x.rows), Ref: make([]uint32, 0, x.rows)}
	}
	*b, x.b = x.b, *b
	j.batches = append(j.batches, b)
	return true
}

// batchBytes returns the memory of a batch's columns in bytes.
func batchBytes(b *trace.Batch) int64 {
	const value = 32 // size of a trace.Value in bytes
	return int64(8*(cap(b.Time)+cap(b.Op)) + 4*(cap(b.Ref)+cap(b.OpRow)+cap(b.OpEnd)+cap(b.AttrRow)+cap(b.AttrKey)) +
		2*cap(b.Kind) + value*cap(b.AttrVal))
}

// beginDelivery delivers the waiting batches of the chunk whose turn it is. It returns io.EOF if
// the selection has ended.
func (s *chunkScan) beginDelivery(j *chunkJob) error {
	j.begun = true
	if s.stopped.Load() {
		return io.EOF
	}
	if j.any && (j.first < s.last || !s.sameInterval(j.time)) {
		return errNeedsEarlier
	}
	for _, b := range j.batches {
		if err := s.sink.Batch(b); err != nil {
			return err
		}
		s.mu.Lock()
		s.room += batchBytes(b)
		s.free = append(s.free, b)
		s.mu.Unlock()
	}
	return nil
}

// sameInterval reports whether the first time of a chunk belongs to the interval of clock offsets in which the
// chunk's reader, which does not know the earlier chunks, has started. If so, all later times are corrected
// equally. A buffer flush in an earlier chunk may have advanced the clock farther.
func (s *chunkScan) sameInterval(first uint64) bool {
	if s.clock == nil {
		return true
	}
	alone := clock{offsets: s.clock.offsets}
	alone.advance(first)
	s.clock.advance(first)
	return s.clock.at == alone.at
}

// finish delivers the rest of a chunk when it is the chunk's turn.
func (s *chunkScan) finish(j *chunkJob) error {
	if s.stopped.Load() {
		return nil
	}
	if j.err == nil && !j.begun {
		j.err = s.beginDelivery(j)
	}
	if j.err != nil {
		return j.err
	}
	if j.any {
		s.last = j.last
		if s.clock != nil {
			s.clock.at = j.interval
		}
	}
	if j.end {
		s.stopped.Store(true)
	}
	return nil
}
