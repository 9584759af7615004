package serve

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/weft-trace/weft/check"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/unpack"
	"github.com/weft-trace/weft/serve/cache"
	"github.com/weft-trace/weft/transform"
)

// reader is an open trace and its settings.
type reader struct {
	format.Events
	file   format.File // the open file; its times are not corrected
	format format.Format
	src    format.Source
	opt    *format.ReadOptions
	used   time.Time // time at which the reader was last used
	// contents is the temporary copy of the contents of a compressed trace, or nil.
	contents *unpack.Copy
}

// open opens the trace src, whose format is f. If the trace is compressed, the reader reads a temporary copy of its
// contents. progress is called while the trace is read.
func (r *ReadSettings) open(ctx context.Context, f format.Format, src format.Source,
	progress func(done, total int64)) (x *reader, err error) {
	x = &reader{format: f, src: src, opt: &format.ReadOptions{Strict: r.Strict, Report: format.NewReport(),
		Values: r.Values, Workers: r.Workers, Progress: progress}}
	defer func() {
		if err != nil {
			x.Close()
			x = nil
		}
	}()
	if unpack.IsCompressed(src) {
		if err = x.unpack(ctx); err != nil {
			return x, err
		}
	}
	d, err := f.Open(ctx, x.src, x.opt)
	if err != nil {
		return x, err
	}
	x.Events, x.file = d, d
	if r.Correction != nil {
		x.Events, err = transform.Correct(d, r.Correction, 0)
	}
	return x, err
}

// unpack makes the reader read a temporary copy of the contents of the trace, which is compressed.
func (rd *reader) unpack(ctx context.Context) error {
	src := rd.src
	c, err := unpack.Stream(ctx, src.Path, func() (io.ReadCloser, error) { return src.FS.Open(src.Name) },
		func(format.Source) error { return nil })
	if err != nil {
		return err
	}
	rd.contents, rd.src = c, c.Source
	if c.Damage != nil {
		return rd.opt.Defect(check.DamagedCompression(src.Path, c.Name, c.Size, c.Damage))
	}
	return nil
}

// Close closes the file of the trace, and removes the copy of its contents.
func (rd *reader) Close() (err error) {
	if rd.file != nil {
		err = rd.file.Close()
	}
	if rd.contents != nil {
		err = errors.Join(err, rd.contents.Close())
	}
	return err
}

// defects returns the defects that reading the trace has found so far.
func (rd *reader) defects() (f cache.ReadDefects) {
	for _, r := range rd.opt.Report.Rules() {
		if f.Defects += r.Count; format.IsMissing(r.Rule) {
			for _, d := range r.First {
				f.Missing = append(f.Missing, d.Error())
			}
		}
	}
	return f
}

// maxReaders is the largest number of open readers of a trace. readerIdleTime is the time after which a reader
// that is not used is closed.
const (
	maxReaders     = 3
	readerIdleTime = time.Minute
)

// readerPool keeps readers of a trace open, because opening a trace may require reading it.
type readerPool struct {
	e          *entry
	free       chan struct{} // contains an element for each reader that is in use or being opened
	mu         sync.Mutex
	idle       []*reader
	generation int // close increases this number; readers with a lower number are closed instead of kept
}

// useReader calls f with a reader. If the context ends while a reader is being opened, opening continues, so
// that later requests can use the reader.
func (p *readerPool) useReader(ctx context.Context, f func(*reader) error) error {
	select {
	case p.free <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	p.mu.Lock()
	age := p.generation
	if n := len(p.idle); n > 0 {
		x := p.idle[n-1]
		p.idle = p.idle[:n-1]
		p.mu.Unlock()
		err := recoverPanic(func() error { return f(x) })
		p.giveBack(x, age, err)
		return err
	}
	p.mu.Unlock()
	type result struct {
		x   *reader
		err error
	}
	done := make(chan result)
	s := p.e.s
	started := s.runInBackground(func() {
		var x *reader
		err := recoverPanic(func() (err error) {
			x, err = p.open(s.ctx)
			return err
		})
		select {
		case done <- result{x, err}:
		case <-ctx.Done():
			p.giveBack(x, age, err)
		}
	})
	if !started {
		p.giveBack(nil, age, context.Canceled)
		return context.Canceled
	}
	select {
	case r := <-done:
		if r.err != nil {
			p.giveBack(nil, age, r.err)
			return r.err
		}
		err := recoverPanic(func() error { return f(r.x) })
		p.giveBack(r.x, age, err)
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// open opens the trace and prepares its events.
func (p *readerPool) open(ctx context.Context) (*reader, error) {
	e := p.e
	f, err := e.detect()
	if err != nil {
		return nil, err
	}
	x, err := e.s.opt.Reading.open(ctx, f, e.given.Source, nil)
	if err != nil {
		return nil, err
	}
	if p != e.readers {
		x.Events = e.config.arrangeEvents(x.Events)
	}
	if err := x.Events.Prepare(ctx); err != nil {
		x.Close()
		return nil, err
	}
	return x, nil
}

// errFound ends a scan as soon as it has found the event for which it searches.
var errFound = errors.New("found")

// giveBack returns a reader to the pool. It closes the reader if reading has failed with err, or if the
// reader is of an older generation.
func (p *readerPool) giveBack(x *reader, age int, err error) {
	if x != nil {
		p.mu.Lock()
		if p.generation == age && (err == nil || errors.Is(err, errFound) || errors.Is(err, context.Canceled) ||
			errors.Is(err, context.DeadlineExceeded)) && p.e.s.ctx.Err() == nil {
			p.idle, x.used = append(p.idle, x), time.Now()
			old := x
			time.AfterFunc(readerIdleTime, func() { p.expire(old) })
			x = nil
		}
		p.mu.Unlock()
	}
	if x != nil {
		x.Close()
	}
	<-p.free
}

// expire closes a reader if it has not been used for readerIdleTime.
func (p *readerPool) expire(x *reader) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, y := range p.idle {
		if x == y && time.Since(x.used) >= readerIdleTime {
			p.idle = append(p.idle[:i], p.idle[i+1:]...)
			x.Close()
			return
		}
	}
}

// close closes the idle readers. A reader in use is closed when it is given back.
func (p *readerPool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.generation++
	for _, x := range p.idle {
		x.Close()
	}
	p.idle = nil
}
