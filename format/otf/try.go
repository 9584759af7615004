package otf

import (
	"context"
	"math"
	"sync/atomic"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/pipeline"
	"github.com/weft-trace/weft/trace"
)

// Try delivers the events of traces in which nothing is odd at once, without
// looking through them first, several streams at a time. It gives up, and ok is
// false, when a file turns out to be out of order or damaged, or names what
// nothing defines: what [decoder.Scan] then does depends on all that comes before.
func (d *decoder) Try(ctx context.Context, sel trace.Selection, sink func(int) format.Sink) (ok bool, err error) {
	if d.indexed || d.marked {
		return false, nil
	}
	streams := d.r.master.Streams()
	report := format.NewReport()
	quiet := *d.r
	quiet.opt.Read = &format.ReadOptions{Values: d.opt.Values, Report: report}
	total := int64(0)
	for _, id := range streams {
		for _, part := range []Part{Snapshots, Statistics, Events} {
			s, err := quiet.open(id, part)
			if err != nil {
				return false, err
			}
			if s != nil {
				total += s.t.h.size
				s.t.Close()
			}
			if (s != nil) != (part == Events) {
				return false, nil
			}
		}
	}
	workers := min(d.opt.Cores(), len(streams))
	readers := make([]*bulk, workers)
	quiet.progress = newProgress(d.opt, total)
	for w := range workers {
		m := *d.model
		m.frozen = true
		readers[w] = newBulk(&decoder{model: &m, r: &quiet, opt: quiet.opt.Read, trying: true}, sink(w))
	}
	var odd atomic.Bool
	next := 0
	err = pipeline.Run(ctx, workers, func() (id uint32, ok bool, err error) {
		if next == len(streams) || odd.Load() {
			return 0, false, nil
		}
		next++
		return streams[next-1], true, nil
	}, func(w int, id uint32) (struct{}, error) {
		good, err := readers[w].attempt(ctx, id, sel)
		if !good || len(report.Rules()) > 0 {
			odd.Store(true)
		}
		return struct{}{}, err
	}, func(struct{}) error { return nil })
	return err == nil && !odd.Load(), err
}

// attempt delivers the events of one stream; good is false when that was not
// possible.
func (x *bulk) attempt(ctx context.Context, id uint32, sel trace.Selection) (good bool, err error) {
	f, err := x.d.stream(ctx, &survey{id: id, part: Events}, sel)
	if f == nil || err != nil {
		return false, err
	}
	defer f.close()
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
