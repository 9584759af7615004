package otf

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/carrier"
	"github.com/weft-trace/weft/internal/pipeline"
	"github.com/weft-trace/weft/trace"
)

// scanSpeculatively delivers the events, several streams at a time, without a survey of the trace. It assumes
// that the files are in order and undamaged, and that their definitions are complete. If one of these
// assumptions proves wrong, ok is false. The caller must then use [decoder.Scan], which takes all earlier
// records into account.
func (d *decoder) scanSpeculatively(ctx context.Context, sel trace.Selection, sink func(int) format.Sink) (ok bool,
	err error) {
	if d.indexed || d.marks.any || len(d.async) > 0 {
		return false, nil
	}
	links := newLinks(d, sel)
	if links == nil {
		return d.scanStreams(ctx, sel, sink, nil, nil)
	}
	defer links.Close()
	if sel.OneEventFrom != 0 {
		return false, nil // links follow the events, which are not all read
	}
	var first format.Sink
	ok, err = d.scanStreams(ctx, sel, func(w int) format.Sink {
		s := sink(w)
		if w == 0 {
			first = s
		}
		return s
	}, nil, links)
	if ok && err == nil {
		err = links.Deliver(ctx, d.defs.Locations.Len(), first.Links)
	}
	return ok, err
}

// scanStreams does the work of scanSpeculatively, but stores the links in links. If resume is not nil, scanStreams
// begins at the snapshots of that time (see [decoder.scanFromSnapshots]).
func (d *decoder) scanStreams(ctx context.Context, sel trace.Selection, sink func(int) format.Sink,
	resume *uint64, links *carrier.Links) (ok bool, err error) {
	streams, ok := d.streamsOf(sel)
	if !ok {
		return false, nil
	}
	report := format.NewReport()
	quiet := *d.r
	quiet.opt.Read = &format.ReadOptions{Values: d.opt.Values, Report: report}
	total := int64(0)
	parts := []Part{Snapshots, Statistics, Events}
	if sel.NoStates || resume != nil {
		parts = []Part{Events}
	}
	states := false
	for _, id := range streams {
		for _, part := range parts {
			s, err := quiet.open(id, part)
			if err != nil {
				return false, err
			}
			if s != nil {
				total += s.t.h.Size
				s.t.Close()
			}
			if s == nil && part == Events {
				return false, nil
			}
			states = states || s != nil && part != Events
		}
	}
	quiet.progress = newProgress(d.opt, total)
	workers := d.opt.Cores()
	readers := make([]*bulkReader, workers)
	for w := range workers {
		m := *d.model
		m.frozen = true
		readers[w] = newBulk(&decoder{model: &m, r: &quiet, opt: quiet.opt.Read, trying: true, links: links,
			unnamedLeaves: d.metUnnamedLeave}, nil)
		readers[w].resume, readers[w].begun, readers[w].withStates = resume, sel.LocationBegins, states
	}
	defer func() {
		for _, x := range readers {
			d.metUnnamedLeave = d.metUnnamedLeave || x.d.metUnnamedLeave
		}
	}()
	// The region that an unnamed leave closes depends on earlier pieces.
	if workers > 1 && len(streams) < workers && resume == nil && !states && !d.metUnnamedLeave {
		ok, err = scanPieces(ctx, readers, streams, sel, sink(0))
		return ok && len(report.Rules()) == 0, err
	}
	for w := range min(workers, len(streams)) {
		readers[w].sink = sink(w)
	}
	var unusual atomic.Bool
	next := 0
	err = pipeline.Run(ctx, min(workers, len(streams)), func() (p piece, ok bool, err error) {
		if next == len(streams) || unusual.Load() {
			return piece{}, false, nil
		}
		next++
		return piece{stream: streams[next-1], place: next - 1, to: math.MaxInt64}, true, nil
	}, func(w int, p piece) (struct{}, error) {
		x := readers[w]
		good, err := x.deliverPiece(ctx, p, sel)
		if !good || len(report.Rules()) > 0 {
			unusual.Store(true)
			return struct{}{}, err
		}
		for _, l := range x.lanes {
			// A process is in only one stream, so its location has no more events.
			if err := format.End(x.sink, l.b.Loc); err != nil {
				return struct{}{}, err
			}
		}
		return struct{}{}, nil
	}, func(struct{}) error { return nil })
	return err == nil && !unusual.Load(), err
}

// piece is a part of the events of a stream: the bytes from offset from to offset to of its file. In a
// compressed file the piece begins after the first skip bytes of the decompressed text. It ends with
// tail, which is the text that the next piece skips.
type piece struct {
	stream   uint32
	place    int // index of the stream among those of the scan
	from, to int64
	time     uint64 // time in ticks at the beginning of the piece; 0 for the beginning of the file
	skip     int
	tail     []byte
	optional bool // the pieces before this piece may show that it is not needed
}

// minPiece and maxPiece are the limits of the approximate size of a piece in bytes. The decoded piece stays in
// memory until it can be delivered.
const (
	minPiece = 256 << 10
	maxPiece = 2 << 20
)

// pieceSize returns the approximate size of the pieces of a file. A small piece is still in the cache of a core
// when it is delivered. But each piece should contain many rows of each of the locations, a compressed piece
// also costs a decompression to find its beginning, and the list of pieces must not become long.
func (t *lineReader) pieceSize(locations int) int64 {
	size := max(minPiece, t.h.Size>>13, int64(locations)<<10)
	if t.zip != nil {
		size = max(size, 2*minPiece)
	}
	return min(size, maxPiece)
}

// decodedPiece is the result of decoding a piece.
type decodedPiece struct {
	stream        uint32
	good, hasRows bool
	first, last   uint64 // times of the first and last row, if there are rows
	batches       []*trace.Batch
}

// errNeedsSurvey ends a speculative scan if the trace must be surveyed.
var errNeedsSurvey = errors.New("otf: the trace must be surveyed first")

// scanPieces serves traces with few large streams. It decodes the pieces of a stream at the same time,
// and delivers them in order.
func scanPieces(ctx context.Context, readers []*bulkReader, streams []uint32, sel trace.Selection,
	sink format.Sink) (bool, error) {
	r := readers[0].d.r
	var list []piece
	for place, id := range streams {
		s, err := r.open(id, Events)
		if err != nil || s == nil {
			return false, err
		}
		x, err := s.pieces(readers[0].d.defs.Locations.Len())
		for i := range x {
			x[i].place = place
		}
		if enough, ok := readers[0].d.clock.toFile(sel.OneEventFrom); err == nil && ok && sel.OneEventFrom != 0 {
			x, err = s.splitAfter(x, enough)
		}
		s.t.Close()
		if err != nil {
			return false, err
		}
		list = append(list, readers[0].d.selected(x, sel)...)
	}
	next, end := 0, 0
	var before decodedPiece
	beyond := newContinuation(sel)
	// Batches are reused after their delivery, because copying costs less than allocating.
	var delivered sync.Pool
	decode := func(w int, p piece) (decodedPiece, error) {
		x := decodedPiece{stream: p.stream}
		readers[w].sink = format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
			c, ok := delivered.Get().(*trace.Batch)
			if !ok {
				c = &trace.Batch{}
			}
			c.Copy(b)
			x.batches = append(x.batches, c)
			return nil
		}}
		var err error
		x.good, err = readers[w].deliverPiece(ctx, p, sel)
		x.hasRows, x.first, x.last = readers[w].hasRows, readers[w].first, readers[w].last
		return x, err
	}
	take := func(x decodedPiece) error {
		if x.stream != before.stream {
			before = decodedPiece{stream: x.stream}
		}
		if !x.good || x.hasRows && x.first < before.last {
			return errNeedsSurvey
		}
		before.last = max(before.last, x.last)
		beyond.addPiece(x)
		for _, b := range x.batches {
			if err := sink.Batch(b); err != nil {
				return err
			}
			delivered.Put(b)
		}
		return nil
	}
	run := func() error {
		return pipeline.Run(ctx, len(readers), func() (piece, bool, error) {
			for next < end && beyond.hasEnough(list[next].stream) {
				next++
			}
			if next == end {
				return piece{}, false, nil
			}
			next++
			return list[next-1], true, nil
		}, decode, take)
	}
	var err error
	for more := 1; next < len(list) && err == nil; {
		// Pieces after the selected times are optional. They are read only if the pieces before them are not
		// enough. The first round reads one piece, and each further round reads twice as many as the round
		// before.
		if more *= 2; !list[next].optional {
			more = 1
		}
		for end = next + 1; end < len(list) && (!list[end].optional || end < next+more/2); {
			end++
		}
		err = run()
	}
	if errors.Is(err, errNeedsSurvey) {
		return false, nil
	}
	return err == nil, err
}

// continuation determines for which streams enough events after the selected times have been read. This is the
// case when each location with events before the end of the selected times also has an event after it. A nil
// *continuation requires all events.
type continuation struct {
	sel    trace.Selection
	stream uint32
	ends   map[uint32]bool // locations for which an event after the selected times is still missing
	done   atomic.Int64    // number of the last stream with enough events; −1 if there is none
}

func newContinuation(sel trace.Selection) *continuation {
	if sel.OneEventFrom == 0 {
		return nil
	}
	g := &continuation{sel: sel, ends: map[uint32]bool{}}
	g.done.Store(-1)
	return g
}

// hasEnough reports whether enough events of the stream have been read. It may be called while pieces
// are decoded.
func (g *continuation) hasEnough(stream uint32) bool {
	return g != nil && g.done.Load() == int64(stream)
}

// addPiece adds the next piece of a stream, or the first piece of another stream.
func (g *continuation) addPiece(x decodedPiece) {
	if g == nil {
		return
	}
	if x.stream != g.stream {
		g.stream = x.stream
		clear(g.ends)
	}
	past := false
	for _, b := range x.batches {
		last := g.sel.ReachesOneEvent(b)
		past = past || last
		if missing, known := g.ends[b.Loc]; missing || !known {
			g.ends[b.Loc] = !last
		}
	}
	for _, missing := range g.ends {
		past = past && !missing
	}
	if past {
		g.done.Store(int64(x.stream))
	}
}

// pieces divides a file into pieces. A plain file is divided before time lines that are followed by a process
// line. A compressed file is divided after its restart points.
func (s *stream) pieces(locations int) (list []piece, err error) {
	t := s.t
	size := t.pieceSize(locations)
	buf := make([]byte, window/4)
	next := piece{stream: s.id, to: t.h.Size}
	for t.h.Size-next.from > 2*size {
		var at int64
		var skip []byte
		var time uint64
		if t.zip == nil {
			at, time, err = t.timeAfter(next.from+size, t.h.Size, buf)
		} else {
			at, skip, time, err = t.restartAfter(next.from+size, t.h.Size)
		}
		if err != nil {
			return nil, err
		}
		if at < 0 {
			break
		}
		p := next
		p.to, p.tail = at, skip
		list = append(list, p)
		next.from, next.skip, next.time = at, len(skip), time
	}
	return append(list, next), nil
}

// splitAfter splits a plain file shortly after the first record at time enough, because the part up to that
// record may be sufficient. It marks the later pieces as optional.
func (s *stream) splitAfter(list []piece, enough uint64) ([]piece, error) {
	if s.t.zip != nil {
		return list, nil
	}
	if err := s.t.search(enough); err != nil {
		return nil, err
	}
	at, time, err := s.t.timeAfter(s.t.base+nearWindow, s.t.h.Size, make([]byte, window))
	if at < 0 || err != nil {
		return list, err
	}
	for i := range list {
		if p := &list[i]; p.from < at && at < p.to {
			rest := piece{stream: p.stream, place: p.place, from: at, to: p.to, time: time}
			p.to = at
			list = slices.Insert(list, i+1, rest)
			break
		}
	}
	for i := range list {
		list[i].optional = list[i].from >= at
	}
	return list, nil
}

// selected returns the pieces of a stream that contain selected times. The pieces are in the order of
// time.
func (d *decoder) selected(list []piece, sel trace.Selection) []piece {
	if from, ok := d.clock.toFile(sel.From); ok {
		for len(list) > 1 && list[1].time < from {
			list = list[1:]
		}
	}
	to, bounded := d.clock.toFile(sel.To)
	for i := range list {
		if bounded && list[i].time >= to {
			return list[:max(i, 1)]
		}
	}
	return list
}

// deliverPiece delivers the events of a piece. good is false if the trace must be surveyed first.
func (br *bulkReader) deliverPiece(ctx context.Context, p piece, sel trace.Selection) (good bool, err error) {
	if p.from > 0 || p.to < math.MaxInt64 {
		sel.From = math.MinInt64 // the scan begins at the position of the piece, without a search
	}
	if br.resume != nil {
		if found, err := br.deliverOpen(ctx, p.stream, *br.resume); !found || err != nil {
			return false, err
		}
		sel.From = br.d.clock.firstFrom(*br.resume)
	}
	// No file has more links than bytes, so links keep their order.
	br.d.linkPlace = int64(p.place)<<44 + p.from
	f, err := br.d.stream(ctx, &survey{id: p.stream, part: Events}, sel, br.d.opt.SortMemory())
	if f == nil || err != nil {
		return false, err
	}
	defer f.close()
	if t := f.s.t; p.from > 0 || p.to < t.stop {
		if err := t.limitToPiece(p); err != nil {
			return false, err
		}
	}
	if br.withStates {
		if good, err := br.openStates(ctx, p.stream, sel); !good || err != nil {
			return false, err
		}
		defer br.states.close()
	}
	if err := br.run(ctx, f); err != nil {
		return false, err
	}
	// Times in the model are signed, and the difference of two times must fit as well.
	return !br.needsSurvey() && f.s.begun && br.last <= math.MaxInt64/4, nil
}

// progress counts the bytes that have been read, and reports them. A nil *progress reports nothing.
type progress struct {
	report func(done, total int64)
	total  int64
	done   atomic.Int64
}

func newProgress(opt *format.ReadOptions, total int64) *progress {
	if opt.Progress == nil {
		return nil
	}
	return &progress{report: opt.Progress, total: total}
}

// add counts n bytes as read.
func (p *progress) add(n int64) {
	if p != nil && n > 0 {
		p.report(p.done.Add(n), p.total)
	}
}
