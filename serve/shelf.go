package serve

import (
	"context"
	"slices"
	"sync"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/timeline/index"
	"github.com/weft-trace/weft/trace"
)

// Index is what the server needs of the index of a trace; *index.Index is one.
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
	Around(track int, s index.Span) ([]index.Span, error)
	Spans(ctx context.Context, track int, from, to int64, regions []uint32, least int64, f func(index.Span) (least int64)) error
	Find(ctx context.Context, track int, region uint32, at int64, forward bool) (index.Span, bool, error)
	InstantAt(track int, at, radius int64) (index.Instant, bool, error)
	Links(ctx context.Context, q index.LinkRequest) (*index.LinkSet, error)
	LinksOf(track int, from, to int64, limit int) ([]index.Link, error)
	Matrix(ctx context.Context, from, to int64) ([]index.Cell, error)
	Busy(ctx context.Context, track int, from, to int64) (int64, error)
	Ranks(ctx context.Context, track int, from, to int64, ranks int, rank func(region uint32) int) ([]int64, error)
	Ranked(ctx context.Context, track int, from, to int64, ranks int, rank func(region uint32) int, f func(rank int, begin, end int64)) error
	Values(ctx context.Context, track int, from, to int64) (*index.Values, error)
	EachInstant(track int, from, to int64, f func(index.Instant)) error
	Profile(track int, from, to int64) ([]index.Sum, error)
	Totals() (visits, claims []index.Sum)
}

// indexer makes and opens indexes.
type indexer interface {
	build(ctx context.Context, d format.Events, path string, opt index.Options) error
	open(path string) (Index, error)
	// verify reads all of an index; an error says what is wrong with it.
	verify(ctx context.Context, path string) error
}

// files are the indexes of package timeline/index.
type files struct{}

func (files) build(ctx context.Context, d format.Events, path string, opt index.Options) error {
	return index.Build(ctx, d, path, opt)
}

func (files) open(path string) (Index, error) {
	x, err := index.Open(path)
	if err != nil {
		return nil, err // not an interface that holds nothing
	}
	return x, nil
}

func (files) verify(ctx context.Context, path string) error {
	x, err := index.Open(path)
	if err != nil {
		return err
	}
	defer x.Close()
	return x.Verify(ctx)
}

// shelf holds the open indexes, the last used ones. Those in use stay open.
type shelf struct {
	mu     sync.Mutex
	limit  int
	books  []*book // the one that was not used for longest first
	closed bool
}

// book is an open index.
type book struct {
	e       *entry
	x       Index
	readers int
	dropped bool // to be closed by its last reader
}

// take finds the index of a trace, or opens it.
func (s *shelf) take(e *entry, open func() (Index, error)) (Index, func(), error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil, context.Canceled
	}
	i := slices.IndexFunc(s.books, func(b *book) bool { return b.e == e })
	var b *book
	if i >= 0 {
		b = s.books[i]
		s.books = slices.Delete(s.books, i, i+1)
	} else {
		x, err := open()
		if err != nil {
			return nil, nil, err
		}
		b = &book{e: e, x: x}
	}
	b.readers++
	s.books = append(s.books, b)
	s.trim()
	return b.x, sync.OnceFunc(func() { s.back(b) }), nil
}

// put adds an open index.
func (s *shelf) put(e *entry, x Index) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		x.Close()
		return
	}
	s.remove(e)
	s.books = append(s.books, &book{e: e, x: x})
	s.trim()
}

// drop takes the index of a trace away.
func (s *shelf) drop(e *entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(e)
}

func (s *shelf) remove(e *entry) {
	if i := slices.IndexFunc(s.books, func(b *book) bool { return b.e == e }); i >= 0 {
		s.end(i)
	}
}

// trim closes those that are too many and not in use.
func (s *shelf) trim() {
	for i := 0; i < len(s.books) && len(s.books) > s.limit; {
		if s.books[i].readers > 0 {
			i++
			continue
		}
		s.end(i)
	}
}

func (s *shelf) end(i int) {
	b := s.books[i]
	s.books = slices.Delete(s.books, i, i+1)
	b.dropped = true
	if b.readers == 0 {
		b.x.Close()
	}
}

func (s *shelf) back(b *book) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b.readers--; b.readers == 0 && b.dropped {
		b.x.Close()
	}
	s.trim()
}

// close closes all, those in use behind their last reader.
func (s *shelf) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for len(s.books) > 0 {
		s.end(0)
	}
}
