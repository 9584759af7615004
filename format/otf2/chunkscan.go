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

// large divides locations into those that all cores read together, largest first, and the
// others, of which each core reads one at a time. Together pays where one core would still
// be reading a location when the other cores have read the rest; but then the sink's work
// is done by one core at a time, so that it takes half a core's share more than that.
func (d *decoder) large(ids []uint64, cores int) (large, others []uint64) {
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
		// What is not there has no size; opening it will say so.
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

// errBefore is that a chunk needs what stands before it.
var errBefore = errors.New("otf2: a chunk needs what stands before it")

// chunkScan delivers the chunks of one location, which several workers read at a time, in
// their order to one sink. Each is read as if it were the first one: that is as good if it
// begins with a time, and when its turn comes it shows whether the chunks before have left
// a later time, another interval of clock offsets, or attributes.
//
// Batches that wait for their turn take chunkRoom bytes a worker at most. A worker that
// has no room waits until it is its chunk's turn, and from then on delivers each batch at
// once. With the part of the file, and the batch in hand, that is 4.2 MiB a worker for
// events without operands. Texts are not counted: nearly all are those of definitions.
type chunkScan struct {
	sink    format.Sink
	readers []*locationReader // a worker's own

	mu   sync.Mutex
	room int64 // left for batches that wait
	free []*trace.Batch

	// These belong to the chunk whose turn it is, but all may look at over.
	last  int64  // time so far
	clock *clock // of the location, as what came before leaves it
	over  atomic.Bool
}

const chunkRoom = 4 << 20

// chunkJob is a chunk, and what has been read of it.
type chunkJob struct {
	number      int64
	stop        int64         // of its reader
	turn, after chan struct{} // closed when all before it has been delivered, and it itself
	begun       bool          // delivering
	batches     []*trace.Batch

	any         bool   // events
	time        uint64 // of the first one, of the location's clock
	first, last int64  // in the model
	interval    int    // of clock offsets behind the last one
	end         bool   // of what is wanted
	err         error
}

// scanChunks delivers all like scan, on several cores.
func (x *locationReader) scanChunks(ctx context.Context, workers int, sink format.Sink) error {
	c := x.r.c
	next, chunks := x.r.start, (c.size+c.chunk-1)/c.chunk
	if workers = int(min(int64(workers), chunks-next)); workers < 2 {
		return x.scan(ctx, sink)
	}
	defer x.r.Close()
	s := &chunkScan{sink: sink, room: int64(workers) * chunkRoom, last: math.MinInt64}
	if k := x.r.clock; k != nil {
		s.clock = &clock{offsets: k.offsets}
	}
	for range workers {
		s.readers = append(s.readers, x.another())
	}
	// What ends the scan ends waiting too, and must not take the place of its reason.
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	after := make(chan struct{})
	close(after)
	return pipeline.Run(ctx, workers, func() (*chunkJob, bool, error) {
		if next >= chunks || s.over.Load() {
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
				cancel() // others may wait for this one
			}
		}()
		// The error counts when it is the chunk's turn: the end may come before.
		j.err = s.read(waiting, s.readers[w], j)
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

// another is a reader of the same file.
func (x *locationReader) another() *locationReader {
	y, r, c := *x, *x.r, *x.r.c
	y.r, r.c = &r, &c
	if r.clock != nil {
		r.clock = &clock{offsets: r.clock.offsets}
	}
	return &y
}

// enter goes to a chunk as if nothing stood before it, and reads its first event; nil if
// it has none.
func (x *locationReader) enter(j *chunkJob) (*Event, error) {
	r := x.r
	r.time, r.number, r.stop, r.ended = 0, 0, j.stop, false
	if r.clock != nil {
		r.clock.at = 0
	}
	x.last, x.end, x.goesOn = math.MinInt64, false, false
	err := r.chunk(j.number)
	var b []byte
	if err == nil {
		b, err = r.c.peek(1)
	}
	if err == nil && len(b) > 0 && b[0] != timestampRecord && b[0] != endOfFile && b[0] != endOfChunk &&
		b[0] != endOfBuffer {
		return nil, errBefore
	}
	var e *Event
	if err == nil {
		e, err = r.Next()
	}
	if err == io.EOF {
		return nil, nil
	}
	if err != nil {
		return nil, cmp.Or(fail(x.d.opt, err), errBefore)
	}
	return e, nil
}

// read reads a chunk.
func (s *chunkScan) read(ctx context.Context, x *locationReader, j *chunkJob) error {
	e, err := x.enter(j)
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
			if err := s.batch(ctx, x, j); err != nil {
				return err
			}
		}
		j.last = x.last
		if x.r.clock != nil {
			j.interval = x.r.clock.at
		}
	}
	j.end = x.r.ended || j.any && (x.behind() || x.goesOn)
	if !j.end && len(x.r.event.Attributes) > 0 {
		return errBefore // the next chunk does, for its first event
	}
	return nil
}

// batch takes the batch that x has made.
func (s *chunkScan) batch(ctx context.Context, x *locationReader, j *chunkJob) error {
	if !j.begun {
		select {
		case <-j.turn:
		default:
			if s.keep(x, j) {
				return nil
			}
			select {
			case <-j.turn:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if err := s.begin(j); err != nil {
			return err
		}
	}
	return s.sink.Batch(&x.b)
}

// keep puts a batch by until it is the chunk's turn; false if there is no room. The reader
// gets another one.
func (s *chunkScan) keep(x *locationReader, j *chunkJob) bool {
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

// batchBytes is the memory of a batch's columns.
func batchBytes(b *trace.Batch) int64 {
	const value = 32 // bytes of a trace.Value
	return int64(8*(cap(b.Time)+cap(b.Op)) + 4*(cap(b.Ref)+cap(b.OpRow)+cap(b.OpEnd)+cap(b.AttrRow)+cap(b.AttrKey)) +
		2*cap(b.Kind) + value*cap(b.AttrVal))
}

// begin delivers what has been put by, since it is the chunk's turn; io.EOF if nothing more
// is wanted.
func (s *chunkScan) begin(j *chunkJob) error {
	j.begun = true
	if s.over.Load() {
		return io.EOF
	}
	if j.any && (j.first < s.last || !s.sameInterval(j.time)) {
		return errBefore
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

// sameInterval tells whether the first time of a chunk has the same interval of clock
// offsets as if nothing stood before it: from there on all is the same. A buffer flush
// may have moved the clock farther.
func (s *chunkScan) sameInterval(first uint64) bool {
	if s.clock == nil {
		return true
	}
	alone := clock{offsets: s.clock.offsets}
	alone.moveOn(first)
	s.clock.moveOn(first)
	return s.clock.at == alone.at
}

// finish delivers what is left of a chunk, in its turn.
func (s *chunkScan) finish(j *chunkJob) error {
	if s.over.Load() {
		return nil
	}
	if j.err == nil && !j.begun {
		j.err = s.begin(j)
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
		s.over.Store(true)
	}
	return nil
}
