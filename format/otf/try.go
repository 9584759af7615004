package otf

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/pipeline"
	"github.com/weft-trace/weft/trace"
)

// try delivers the events of traces in which nothing is odd at once, without
// looking through them first, several streams at a time. It gives up, and ok is
// false, when a file turns out to be out of order or damaged, or names what
// nothing defines: what [decoder.Scan] then does depends on all that comes before.
func (d *decoder) try(ctx context.Context, sel trace.Selection, sink func(int) format.Sink) (ok bool, err error) {
	if d.indexed || d.marked || len(d.async) > 0 {
		return false, nil
	}
	return d.attempt(ctx, sel, sink, nil)
}

// attempt does so, and for resume does not begin before that time (see
// [decoder.resume]).
func (d *decoder) attempt(ctx context.Context, sel trace.Selection, sink func(int) format.Sink, resume *uint64) (ok bool, err error) {
	streams, ok := d.streamsOf(sel)
	if !ok {
		return false, nil
	}
	report := format.NewReport()
	quiet := *d.r
	quiet.opt.Read = &format.ReadOptions{Values: d.opt.Values, Report: report}
	total := int64(0)
	unlinked := sel.Links == trace.NoLinks
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
			linked := false
			if s != nil {
				total += s.t.h.Size
				linked = d.carried && !unlinked && s.t.linksBehind()
				s.t.Close()
			}
			if linked {
				return false, nil
			}
			if s == nil && part == Events {
				return false, nil
			}
			states = states || s != nil && part != Events
		}
	}
	quiet.progress = newProgress(d.opt, total)
	workers := d.opt.Cores()
	readers := make([]*bulk, workers)
	for w := range workers {
		m := *d.model
		m.frozen = true
		readers[w] = newBulk(&decoder{model: &m, r: &quiet, opt: quiet.opt.Read, trying: true, unlinked: unlinked, bare: d.metBare}, nil)
		readers[w].resume, readers[w].withStates = resume, states
	}
	defer func() {
		for _, x := range readers {
			d.metBare = d.metBare || x.d.metBare
		}
	}()
	// What a bare leave leaves depends on the pieces before.
	if workers > 1 && len(streams) < workers && resume == nil && !states && !d.metBare {
		ok, err = tryPieces(ctx, readers, streams, sel, sink(0))
		return ok && len(report.Rules()) == 0, err
	}
	for w := range min(workers, len(streams)) {
		readers[w].sink = sink(w)
	}
	var odd atomic.Bool
	next := 0
	err = pipeline.Run(ctx, min(workers, len(streams)), func() (id uint32, ok bool, err error) {
		if next == len(streams) || odd.Load() {
			return 0, false, nil
		}
		next++
		return streams[next-1], true, nil
	}, func(w int, id uint32) (struct{}, error) {
		x := readers[w]
		good, err := x.piece(ctx, piece{stream: id, to: math.MaxInt64}, sel)
		if !good || len(report.Rules()) > 0 {
			odd.Store(true)
			return struct{}{}, err
		}
		for _, l := range x.lanes {
			// A process is in one stream alone.
			if err := format.End(x.sink, l.b.Loc); err != nil {
				return struct{}{}, err
			}
		}
		return struct{}{}, nil
	}, func(struct{}) error { return nil })
	return err == nil && !odd.Load(), err
}

// piece is a part of a stream's events: the bytes from from to to of its file. What
// a piece of a compressed file says begins behind the first skip bytes of its text,
// and tail, the text that the next piece skips, belongs to it.
type piece struct {
	stream   uint32
	from, to int64
	time     uint64 // at which it begins, 0 for the beginning of the file
	skip     int
	tail     []byte
	behind   bool // it may not be needed: the pieces before it tell
}

// pieceSize is about how long pieces are. What each becomes is held until it is
// its turn.
const pieceSize = 2 << 20

// decoded is what became of a piece.
type decoded struct {
	stream      uint32
	good, any   bool
	first, last uint64 // times, if there are any
	batches     []*trace.Batch
}

// errOdd ends an attempt.
var errOdd = errors.New("otf: the trace must be looked through first")

// tryPieces is try for few big streams: their pieces are read at the same time and
// delivered in order.
func tryPieces(ctx context.Context, readers []*bulk, streams []uint32, sel trace.Selection, sink format.Sink) (bool, error) {
	r := readers[0].d.r
	var list []piece
	for _, id := range streams {
		s, err := r.open(id, Events)
		if err != nil || s == nil {
			return false, err
		}
		x, err := s.pieces()
		if enough, ok := readers[0].d.clock.file(sel.Enough); err == nil && ok && sel.Enough != 0 {
			x, err = s.upTo(x, enough)
		}
		s.t.Close()
		if err != nil {
			return false, err
		}
		list = append(list, readers[0].d.selected(x, sel)...)
	}
	next, end := 0, 0
	var before decoded
	beyond := newGoingOn(sel)
	// Batches that have been delivered are used again: new memory costs more than copies.
	var delivered sync.Pool
	decode := func(w int, p piece) (decoded, error) {
		x := decoded{stream: p.stream}
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
		x.good, err = readers[w].piece(ctx, p, sel)
		x.any, x.first, x.last = readers[w].any, readers[w].first, readers[w].last
		return x, err
	}
	take := func(x decoded) error {
		if x.stream != before.stream {
			before = decoded{stream: x.stream}
		}
		if !x.good || x.any && x.first < before.last {
			return errOdd
		}
		before.last = max(before.last, x.last)
		beyond.take(x)
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
			for next < end && beyond.all(list[next].stream) {
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
		// What is behind the wanted times is read when it is known that it must be, first a piece.
		if more *= 2; !list[next].behind {
			more = 1
		}
		for end = next + 1; end < len(list) && (!list[end].behind || end < next+more/2); {
			end++
		}
		err = run()
	}
	if errors.Is(err, errOdd) {
		return false, nil
	}
	return err == nil, err
}

// goingOn tells for which streams the events behind the wanted times suffice: those in which each
// location has one that had events before. A nil one wants all.
type goingOn struct {
	sel    trace.Selection
	stream uint32
	ends   map[uint32]bool // locations so far, and whether an event behind is still missing
	done   atomic.Int64    // the latest stream that suffices, −1 for none
}

func newGoingOn(sel trace.Selection) *goingOn {
	if sel.Enough == 0 {
		return nil
	}
	g := &goingOn{sel: sel, ends: map[uint32]bool{}}
	g.done.Store(-1)
	return g
}

// all reports whether all locations of a stream go on; pieces are taken at the same time.
func (g *goingOn) all(stream uint32) bool { return g != nil && g.done.Load() == int64(stream) }

// take adds a piece, the next one of its stream or the first one of another.
func (g *goingOn) take(x decoded) {
	if g == nil {
		return
	}
	if x.stream != g.stream {
		g.stream = x.stream
		clear(g.ends)
	}
	past := false
	for _, b := range x.batches {
		last := g.sel.Suffices(b)
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

// pieces cuts a file before time lines that a process line follows, a compressed
// one behind its restart points.
func (s *stream) pieces() (list []piece, err error) {
	t := s.t
	buf := make([]byte, window)
	next := piece{stream: s.id, to: t.h.Size}
	for t.h.Size-next.from > 2*pieceSize {
		var at int64
		var skip []byte
		var time uint64
		if t.zip == nil {
			at, time, err = t.timeAfter(next.from+pieceSize, t.h.Size, buf)
		} else {
			at, skip, time, err = t.restartAfter(next.from+pieceSize, t.h.Size)
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

// upTo cuts the pieces of a file that is not compressed a little behind the first record of a time,
// which may be enough of it.
func (s *stream) upTo(list []piece, enough uint64) ([]piece, error) {
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
			rest := piece{stream: p.stream, from: at, to: p.to, time: time}
			p.to = at
			list = slices.Insert(list, i+1, rest)
			break
		}
	}
	for i := range list {
		list[i].behind = list[i].from >= at
	}
	return list, nil
}

// selected are the pieces of a stream, which are in the order of time, that have selected times.
func (d *decoder) selected(list []piece, sel trace.Selection) []piece {
	if from, ok := d.clock.file(sel.From); ok {
		for len(list) > 1 && list[1].time < from {
			list = list[1:]
		}
	}
	to, bounded := d.clock.file(sel.To)
	for i := range list {
		if bounded && list[i].time >= to {
			return list[:max(i, 1)]
		}
	}
	return list
}

// piece delivers the events of a piece; good is false when that was not possible.
func (x *bulk) piece(ctx context.Context, p piece, sel trace.Selection) (good bool, err error) {
	if p.from > 0 || p.to < math.MaxInt64 {
		sel.From = math.MinInt64 // the place is not to be searched
	}
	if x.resume != nil {
		if found, err := x.open(ctx, p.stream, *x.resume); !found || err != nil {
			return false, err
		}
		sel.From = x.d.clock.from(*x.resume)
	}
	f, err := x.d.stream(ctx, &survey{id: p.stream, part: Events}, sel)
	if f == nil || err != nil {
		return false, err
	}
	defer f.close()
	if t := f.s.t; p.from > 0 || p.to < t.stop {
		if err := t.part(p); err != nil {
			return false, err
		}
	}
	if x.withStates {
		if good, err := x.openStates(ctx, p.stream, sel); !good || err != nil {
			return false, err
		}
		defer x.states.close()
	}
	if err := x.run(ctx, f); err != nil {
		return false, err
	}
	// The ticks of the model are signed, and their differences must fit.
	return !x.odd() && f.s.begun && x.last <= math.MaxInt64/4, nil
}

// progress tells how many bytes have been read. Nil tells nobody.
type progress struct {
	tell  func(done, total int64)
	total int64
	done  atomic.Int64
}

func newProgress(opt *format.ReadOptions, total int64) *progress {
	if opt.Progress == nil {
		return nil
	}
	return &progress{tell: opt.Progress, total: total}
}

// add counts bytes that were read.
func (p *progress) add(n int64) {
	if p != nil && n > 0 {
		p.tell(p.done.Add(n), p.total)
	}
}
