package serve

import (
	"context"
	"slices"
	"sync"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/timeline/index"
	"github.com/weft-trace/weft/trace"
)

// Index is the part of [index.Index] that the server uses.
type Index interface {
	Close() error
	Clock() trace.Clock
	Extent() (first, last, events int64)
	Counts() index.Counts
	Groups() []trace.LocationGroup
	Attributes() []string
	Tracks() []index.Track
	Regions() []index.Region
	Tile(ctx context.Context, q index.TileRequest) (*index.Tile, error)
	Summary(ctx context.Context, q index.TileRequest) (*index.Tile, error)
	SpanAt(track, depth int, at int64) (index.Span, bool, error)
	Edge(ctx context.Context, track, depth, depths int, at, within int64) (int64, bool, error)
	Enclosing(track int, s index.Span) ([]index.Span, error)
	Spans(ctx context.Context, track int, from, to int64, regions []uint32, least int64,
		f func(index.Span) (least int64)) error
	Find(ctx context.Context, track int, region uint32, at int64, forward bool) (index.Span, bool, error)
	InstantAt(track int, at, radius int64) (index.Instant, bool, error)
	Links(ctx context.Context, q index.LinkRequest) (*index.LinkSet, error)
	LinksOf(track int, from, to int64, limit int) ([]index.Link, error)
	Matrix(ctx context.Context, from, to int64) ([]index.Cell, error)
	Busy(ctx context.Context, track int, from, to int64) (int64, error)
	Ranks(ctx context.Context, track int, from, to int64, ranks int, rank func(region uint32) int) ([]int64, error)
	EachRankInterval(ctx context.Context, track int, from, to int64, ranks int, rank func(region uint32) int,
		f func(rank int, begin, end int64)) error
	Values(ctx context.Context, track int, from, to int64) (*index.Values, error)
	EachInstant(track int, from, to int64, f func(index.Instant)) error
	Profile(track int, from, to int64) ([]index.Sum, error)
	Totals() (visits, claims []index.Sum)
}

// indexer builds and opens indexes.
type indexer interface {
	build(ctx context.Context, d format.Events, path string, opt index.Options) error
	open(path string) (Index, error)
	// verify reads the whole index. It returns an error if the index is damaged.
	verify(ctx context.Context, path string) error
}

// fileIndexer is the indexer that uses package timeline/index.
type fileIndexer struct{}

func (fileIndexer) build(ctx context.Context, d format.Events, path string, opt index.Options) error {
	return index.Build(ctx, d, path, opt)
}

func (fileIndexer) open(path string) (Index, error) {
	x, err := index.Open(path)
	if err != nil {
		return nil, err // return nil, because an interface that holds a nil pointer is not nil
	}
	return x, nil
}

func (fileIndexer) verify(ctx context.Context, path string) error {
	x, err := index.Open(path)
	if err != nil {
		return err
	}
	defer x.Close()
	return x.Verify(ctx)
}

// openIndexes keeps indexes open: the indexes in use, and the indexes that were used last.
type openIndexes struct {
	mu     sync.Mutex
	limit  int
	list   []*openIndex // in the order of their last use
	closed bool
}

// openIndex is an open index, together with the number of its users.
type openIndex struct {
	e       *entry
	x       Index
	readers int
	dropped bool // the last user must close the index
}

// acquire returns the index of a trace and a function that releases it. It opens the index if
// necessary.
func (o *openIndexes) acquire(e *entry, open func() (Index, error)) (Index, func(), error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return nil, nil, context.Canceled
	}
	i := slices.IndexFunc(o.list, func(b *openIndex) bool { return b.e == e })
	var b *openIndex
	if i >= 0 {
		b = o.list[i]
		o.list = slices.Delete(o.list, i, i+1)
	} else {
		x, err := open()
		if err != nil {
			return nil, nil, err
		}
		b = &openIndex{e: e, x: x}
	}
	b.readers++
	o.list = append(o.list, b)
	o.trim()
	return b.x, sync.OnceFunc(func() { o.release(b) }), nil
}

// add adds an open index to the list, and may close others.
func (o *openIndexes) add(e *entry, x Index) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		x.Close()
		return
	}
	o.remove(e)
	o.list = append(o.list, &openIndex{e: e, x: x})
	o.trim()
}

// drop removes the index of a trace from the list, because a new index has replaced it.
func (o *openIndexes) drop(e *entry) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.remove(e)
}

func (o *openIndexes) remove(e *entry) {
	if i := slices.IndexFunc(o.list, func(b *openIndex) bool { return b.e == e }); i >= 0 {
		o.closeAt(i)
	}
}

// trim closes indexes that are not in use until the number of indexes is within the limit. It begins with the
// index that has not been used for the longest time.
func (o *openIndexes) trim() {
	for i := 0; i < len(o.list) && len(o.list) > o.limit; {
		if o.list[i].readers > 0 {
			i++
			continue
		}
		o.closeAt(i)
	}
}

func (o *openIndexes) closeAt(i int) {
	b := o.list[i]
	o.list = slices.Delete(o.list, i, i+1)
	b.dropped = true
	if b.readers == 0 {
		b.x.Close()
	}
}

func (o *openIndexes) release(b *openIndex) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if b.readers--; b.readers == 0 && b.dropped {
		b.x.Close()
	}
	o.trim()
}

// close closes all indexes. If an index is in use, its last user closes it.
func (o *openIndexes) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	for len(o.list) > 0 {
		o.closeAt(0)
	}
}
