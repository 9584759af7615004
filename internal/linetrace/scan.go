package linetrace

import (
	"context"
	"encoding/binary"
	"math"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/lines"
	"github.com/weft-trace/weft/internal/pipeline"
	"github.com/weft-trace/weft/trace"
)

// Parser converts the lines of a format's text to events.
type Parser interface {
	// Begin begins a scan with a selection.
	Begin(sel trace.Selection) Scan
	// SortTime returns the time by which a line is sorted. last is the time of the previous line.
	SortTime(l []byte, last int64) int64
}

// Scan is the state of a scan. It collects the links.
type Scan interface {
	// Assembler returns an assembler for the whole text, or for one of its runs. If mixed is set,
	// its batches must hold the events of all locations in time order.
	Assembler(mixed bool) Assembler
	// Links delivers the links. It is called after all events have been delivered.
	Links(ctx context.Context, sink format.Sink) error
	Close()
}

// Assembler delivers the events of parsed blocks. It gets the blocks in the order of their lines.
type Assembler interface {
	// Block returns a block for parsing lines. The block may have been used before.
	Block() Block
	Take(b Block, sink format.Sink) error
	// Finish delivers the events that remain after the last block.
	Finish(sink format.Sink) error
}

// Block parses lines and holds their events until an assembler takes the events. Then the block can be used
// again.
type Block interface {
	Parse(b *lines.Block, at Place) error
}

// Deliver scans the text: it delivers the selected events in the given order, which is time order or location
// by location. sel and sink must be those that [format.ExactScan] returns. If all is set, chunks outside of
// the time window are parsed, too.
func (t *Text) Deliver(ctx context.Context, p Parser, sel trace.Selection, order format.Order, all bool,
	sink format.Sink) error {
	defer func() { t.Scanned = true }()
	s := p.Begin(sel)
	defer s.Close()
	mixed := order == format.GlobalOrder || !t.Lanes
	end := func() error { return nil }
	if mixed && order != format.GlobalOrder {
		r := format.Regroup(sink, 1<<16)
		sink, end = r, r.Flush
	}
	var err error
	switch {
	case !mixed || len(t.Runs) == 1:
		err = t.parse(ctx, t.File.Chunks(t.selected(sel, all)), s.Assembler(mixed), sink)
	case t.Runs != nil:
		streams := make([]format.Stream, len(t.Runs))
		for i, r := range t.Runs {
			run := &stream{src: t.File.Chunks(lines.Cut(t.Chunks, r.From, r.To, r.Line)), a: s.Assembler(true)}
			streams[i] = run.next
		}
		err = format.Merge(ctx, streams, sink)
	default:
		err = t.scanSorted(ctx, p, s.Assembler(true), sink)
	}
	if err == nil {
		err = s.Links(ctx, sink)
	}
	if err != nil {
		return err
	}
	return end()
}

// selected returns the chunks that may contain events in the selected times. If all is set, it returns all
// chunks.
func (t *Text) selected(sel trace.Selection, all bool) []lines.Chunk {
	if sel.From == math.MinInt64 && sel.To == math.MaxInt64 || all || t.Rescale {
		return t.Chunks
	}
	var out []lines.Chunk
	for i, c := range t.Chunks {
		s := t.spans[i]
		// chunks with s.min > s.max have only lines without a time, which may have defects
		if s.max >= sel.From && s.min < sel.To || s.min > s.max {
			out = append(out, c)
		}
	}
	return out
}

// parse parses the blocks of a source on all cores, and passes them to the assembler in order.
func (t *Text) parse(ctx context.Context, src lines.Source, a Assembler, sink format.Sink) error {
	type parsed struct {
		in  *lines.Block
		out Block
	}
	turn := pipeline.NewTurn()
	free := make(chan Block, t.Opt.Cores()+2)
	next := func() (*lines.Block, bool, error) {
		b, err := src.Next()
		return b, b != nil, err
	}
	work := func(_ int, b *lines.Block) (parsed, error) {
		var out Block
		select {
		case out = <-free:
		default:
			out = a.Block()
		}
		err := b.Load()
		if err == nil {
			err = out.Parse(b, Place{turn, b.Seq})
		}
		turn.Done(b.Seq)
		return parsed{b, out}, err
	}
	done := func(p parsed) error {
		if err := a.Take(p.out, sink); err != nil {
			return err
		}
		if t.Opt.Progress != nil && len(t.Chunks) > 0 {
			last := max(1, t.Chunks[len(t.Chunks)-1].Line)
			t.Opt.Progress(t.File.Size/2+int64(float64(t.File.Size/2)*min(1, float64(p.in.Line)/float64(last))), t.File.Size)
		}
		p.in.Release()
		select {
		case free <- p.out:
		default:
		}
		return nil
	}
	if err := pipeline.Run(ctx, t.Opt.Cores(), next, work, done); err != nil {
		return err
	}
	return a.Finish(sink)
}

// scanSorted sorts the lines by their times, and parses them in this order.
func (t *Text) scanSorted(ctx context.Context, p Parser, a Assembler, sink format.Sink) error {
	s := extsort.New(t.Opt.SortMemory(), "")
	defer s.Close()
	src := t.File.Chunks(t.Chunks)
	var buf []byte
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		b, err := lines.Next(src)
		if err != nil {
			return err
		}
		if b == nil {
			break
		}
		w := t.File.Walk(b)
		last := int64(math.MinInt64)
		for l, number, ok := w.Next(); ok; l, number, ok = w.Next() {
			last = p.SortTime(l, last)
			buf = binary.LittleEndian.AppendUint64(buf[:0], uint64(number))
			buf = append(buf, l...)
			if err := s.Add(last, number, buf); err != nil {
				return err
			}
		}
		b.Release()
	}
	it, err := s.Sort(ctx)
	if err != nil {
		return err
	}
	return t.parse(ctx, lines.Sorted(it), a, sink)
}

// stream delivers the events of one run of the file.
type stream struct {
	src      lines.Source
	a        Assembler
	b        Block
	out      []*trace.Batch // its unused capacity holds batches that can be used again
	ready    int
	finished bool
}

// Batch receives a batch of events of the run from the assembler.
func (s *stream) Batch(b *trace.Batch) error {
	if n := len(s.out); n < cap(s.out) && s.out[:n+1][n] != nil {
		s.out = s.out[:n+1]
	} else {
		s.out = append(s.out, &trace.Batch{})
	}
	s.out[len(s.out)-1].Copy(b)
	return nil
}

// Links does nothing, because links are delivered after all runs.
func (s *stream) Links([]trace.Link) error { return nil }

// next returns the next batch of the run, or nil after the last batch.
func (s *stream) next(ctx context.Context) (*trace.Batch, error) {
	for {
		if s.ready < len(s.out) {
			s.ready++
			return s.out[s.ready-1], nil
		}
		if err := ctx.Err(); err != nil || s.finished {
			return nil, err
		}
		s.out, s.ready = s.out[:0], 0
		b, err := lines.Next(s.src)
		if err != nil {
			return nil, err
		}
		if b == nil {
			s.finished = true
			if err := s.a.Finish(s); err != nil {
				return nil, err
			}
			continue
		}
		if s.b == nil {
			s.b = s.a.Block()
		}
		if err := s.b.Parse(b, Place{}); err != nil {
			return nil, err
		}
		if err := s.a.Take(s.b, s); err != nil {
			return nil, err
		}
		b.Release()
	}
}
