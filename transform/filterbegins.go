package transform

import (
	"context"
	"sync"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/bylocation"
	"github.com/weft-trace/weft/internal/numberset"
	"github.com/weft-trace/weft/internal/openset"
	"github.com/weft-trace/weft/trace"
)

// unwantedBegins holds the begins at a location that have no communicator themselves, but whose end has an
// unwanted communicator. These are posted receives, posted collective operations and others. Each is identified by
// its number, and stored as a bit.
type unwantedBegins struct {
	receives, posts, collectives         numberset.Set
	posted                               openset.Map[uint64, postedRequest] // by request
	open                                 []uint32                           // numbers of the open collective operations
	nextReceive, nextPost, nextOperation uint32
}

// postedRequest is an open request: the set that has it if its communicator is unwanted, and its number.
type postedRequest struct {
	in     *numberset.Set
	number uint32
}

// Prepare prepares the trace. With Communicator it reads the trace to find the begins whose ends
// have an unwanted communicator.
func (f *filter) Prepare(ctx context.Context) error {
	if err := f.inner.Prepare(ctx); err != nil || f.prepared || f.wanted.Communicator == nil {
		return err
	}
	s := &filterScan{FilterOptions: FilterOptions{Communicator: f.wanted.Communicator}, defs: f.Defs()}
	sel := trace.Events()
	sel.Location = f.wanted.Location
	var mu sync.Mutex
	var workers []*bylocation.List[unwantedBegins]
	err := f.inner.ScanParallel(ctx, sel, func() func(int) format.Sink {
		workers = nil
		return func(int) format.Sink {
			mu.Lock()
			defer mu.Unlock()
			begins := &bylocation.List[unwantedBegins]{}
			workers = append(workers, begins)
			return format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
				x := b.Cursor()
				for x.Next() {
					begins.At(x.Location()).update(s, &x)
				}
				return nil
			}}
		}
	})
	if err != nil {
		return err
	}
	f.begins, f.prepared = nil, true
	for _, begins := range workers {
		for loc, u := range *begins {
			if u != nil {
				*f.begins.At(uint32(loc)) = *u
			}
		}
	}
	return nil
}

// update updates the result with a row.
func (u *unwantedBegins) update(s *filterScan, x *trace.Cursor) {
	switch x.Kind() {
	case trace.RecvBegin:
		u.posted.Put(x.Op(0), postedRequest{&u.receives, u.nextReceive})
		u.nextReceive++
	case trace.CollectiveRequest:
		u.posted.Put(x.Op(0), postedRequest{&u.posts, u.nextPost})
		u.nextPost++
	case trace.RecvComplete, trace.CollectiveComplete, trace.RequestCancelled:
		id := x.Op(0)
		switch x.Kind() {
		case trace.RecvComplete:
			id = x.Op(4)
		case trace.CollectiveComplete:
			id = x.Op(5)
		}
		if r, ok := u.posted.Take(id); ok && !s.wantsRefs(x) {
			r.in.Add(int64(r.number))
		}
	case trace.CollectiveBegin, trace.RMACollectiveBegin:
		u.open = append(u.open, u.nextOperation)
		u.nextOperation++
	case trace.CollectiveEnd, trace.RMACollectiveEnd:
		if n := len(u.open); n > 0 {
			if !s.wantsRefs(x) {
				u.collectives.Add(int64(u.open[n-1]))
			}
			u.open = u.open[:n-1]
		}
	}
}
