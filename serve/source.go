package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/weft-trace/weft/analysis/info"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/serve/cache"
	"github.com/weft-trace/weft/timeline/index"
	"github.com/weft-trace/weft/transform"
)

// reader is an opened trace.
type reader struct {
	format.Events
	file   format.File // without a correction of its clocks
	format format.Format
	src    format.Source
	opt    *format.ReadOptions
	used   time.Time // when it was given back
}

// open opens a trace.
func (r *Reading) open(ctx context.Context, f format.Format, src format.Source, progress func(done, total int64)) (*reader, error) {
	x := &reader{format: f, src: src, opt: &format.ReadOptions{Strict: r.Strict, Report: format.NewReport(), Values: r.Values, Workers: r.Workers, Progress: progress}}
	d, err := f.Open(ctx, src, x.opt)
	if err != nil {
		return nil, err
	}
	x.Events, x.file = d, d
	if r.Correction == nil {
		return x, nil
	}
	if x.Events, err = transform.Correct(d, r.Correction, 0); err != nil {
		d.Close()
		return nil, err
	}
	return x, nil
}

// Close closes the file.
func (x *reader) Close() error { return x.file.Close() }

// found is what reading has reported.
func (x *reader) found() (f cache.Found) {
	for _, r := range x.opt.Report.Rules() {
		if f.Defects += r.Count; format.IsMissing(r.Rule) {
			for _, d := range r.First {
				f.Missing = append(f.Missing, d.Error())
			}
		}
	}
	return f
}

func (x *reader) info() *info.Trace {
	return &info.Trace{Events: x.Events, File: x.file, Format: x.format, Source: x.src, Report: x.opt.Report}
}

// maxDecoders is how many decoders of a trace are open at most, and idleDecoder how long
// one waits for the next question.
const (
	maxDecoders = 3
	idleDecoder = time.Minute
)

// pool keeps decoders of a trace: opening one may mean to read the trace.
type pool struct {
	e    *entry
	free chan struct{} // a place for each that is in use, or being opened
	mu   sync.Mutex
	idle []*reader
	age  int // grows when all are closed: what was opened before is not kept
}

// with calls f with a decoder. When the context ends while one is being opened that goes
// on, for the next question.
func (p *pool) with(ctx context.Context, f func(*reader) error) error {
	select {
	case p.free <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	p.mu.Lock()
	age := p.age
	if n := len(p.idle); n > 0 {
		x := p.idle[n-1]
		p.idle = p.idle[:n-1]
		p.mu.Unlock()
		err := guarded(func() error { return f(x) })
		p.back(x, age, err)
		return err
	}
	p.mu.Unlock()
	type result struct {
		x   *reader
		err error
	}
	done := make(chan result)
	s := p.e.s
	started := s.background(func() {
		var x *reader
		err := guarded(func() (err error) {
			x, err = p.e.openReader(s.ctx)
			return err
		})
		select {
		case done <- result{x, err}:
		case <-ctx.Done():
			p.back(x, age, err)
		}
	})
	if !started {
		p.back(nil, age, context.Canceled)
		return context.Canceled
	}
	select {
	case r := <-done:
		if r.err != nil {
			p.back(nil, age, r.err)
			return r.err
		}
		err := guarded(func() error { return f(r.x) })
		p.back(r.x, age, err)
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// openReader opens a decoder and prepares it.
func (e *entry) openReader(ctx context.Context) (*reader, error) {
	f, err := e.detect()
	if err != nil {
		return nil, err
	}
	x, err := e.s.opt.Reading.open(ctx, f, e.given.Source, nil)
	if err != nil {
		return nil, err
	}
	if err := x.Events.Prepare(ctx); err != nil {
		x.Close()
		return nil, err
	}
	return x, nil
}

// errFound ends a scan that has found what it was for.
var errFound = errors.New("found")

// back takes a decoder back. One that has failed is not used again.
func (p *pool) back(x *reader, age int, err error) {
	if x != nil {
		p.mu.Lock()
		if p.age == age && (err == nil || errors.Is(err, errFound) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) && p.e.s.ctx.Err() == nil {
			p.idle, x.used = append(p.idle, x), time.Now()
			old := x
			time.AfterFunc(idleDecoder, func() { p.expire(old) })
			x = nil
		}
		p.mu.Unlock()
	}
	if x != nil {
		x.Close()
	}
	<-p.free
}

// expire closes a decoder that nobody has used for a while.
func (p *pool) expire(x *reader) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, y := range p.idle {
		if x == y && time.Since(x.used) >= idleDecoder {
			p.idle = append(p.idle[:i], p.idle[i+1:]...)
			x.Close()
			return
		}
	}
}

// close closes those that are idle; those in use are closed when they come back.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.age++
	for _, x := range p.idle {
		x.Close()
	}
	p.idle = nil
}

// making is what is to be known to make an index.
type making struct {
	reading  *Reading
	format   format.Format
	indexes  indexer
	progress func(done, total int64)
	// early is told what is known before the events are read; may be nil.
	early func(*earlyFacts)
}

// make writes an index to a file.
func (m *making) make(ctx context.Context, src format.Source, path string) (f cache.Found, err error) {
	d, err := m.reading.open(ctx, m.format, src, m.progress)
	if err != nil {
		return f, err
	}
	defer d.Close()
	var told *earlyFacts
	if m.early != nil {
		if told, err = m.tell(ctx, d); err != nil {
			return f, err
		}
	}
	if err := d.Events.Prepare(ctx); err != nil {
		return f, err
	}
	if told != nil && len(told.Tracks) < d.Defs().Locations.Len() {
		more := newEarly(d.Defs())
		more.Overview = told.Overview
		m.early(more)
	}
	if err := m.indexes.build(ctx, d.Events, path, index.Options{Workers: m.reading.Workers, Color: m.reading.Color}); err != nil {
		return f, err
	}
	return d.found(), nil
}

// tell tells what is known before the events are read. What is wrong with it reading the
// events finds.
func (m *making) tell(ctx context.Context, d *reader) (*earlyFacts, error) {
	f := newEarly(d.Defs())
	m.early(f)
	var o *overview
	if d.Events == format.Events(d.file) { // times are the file's
		if s, err := d.file.Summary(ctx); s != nil && err == nil {
			o = newOverview(d.Defs(), s)
		} else if p, err := d.file.Preview(ctx); p != nil && err == nil {
			o = newPreview(d.Defs(), p)
		}
	}
	if o != nil {
		told := *f
		told.Overview = o
		f = &told
		m.early(f)
	}
	return f, ctx.Err()
}

// settings are those that an index of a format depends on.
func (r *Reading) settings(f format.Format) *cache.Settings {
	return &cache.Settings{Version: index.Version, Format: f.About().Name, Strict: r.Strict, Values: r.Values, Correction: r.CorrectionText, Color: r.Color}
}

// IndexOptions are the settings of [MakeIndex].
type IndexOptions struct {
	Path     string // file to write; "" is one in the cache
	Force    bool   // make it anew even if there is one
	Verify   bool   // read all of one that is there, and make it anew if it is damaged
	Progress func(done, total int64)
}

// Made is an index that there is now.
type Made struct {
	Path  string
	Size  int64
	Built bool // just now; it was there before otherwise
	// Damage is what was wrong with the index that was there, nil if nothing was.
	Damage error
	Format format.Format
	cache.Found
}

// MakeIndex makes the index of a trace, in the cache or in a file of its own, unless it
// is there.
func MakeIndex(ctx context.Context, r Reading, c *cache.Cache, src format.Source, o IndexOptions) (*Made, error) {
	f := r.Format
	if f == nil {
		var err error
		if f, err = format.Detect(r.Formats, src); err != nil {
			return nil, err
		}
	}
	m := &making{reading: &r, format: f, indexes: files{}, progress: o.Progress}
	if o.Path != "" {
		if same(src, o.Path) {
			return nil, fmt.Errorf("%s: found the trace itself, expected another file for its index", o.Path)
		}
		if !o.Force {
			if _, err := os.Lstat(o.Path); err == nil && !index.Is(o.Path) {
				return nil, fmt.Errorf("%s: found a file that is no index; expected none, or an index (--force replaces it)", o.Path)
			}
		}
		found, err := m.makeFile(ctx, src, o.Path)
		if err != nil {
			return nil, err
		}
		st, err := os.Stat(o.Path)
		if err != nil {
			return nil, err
		}
		return &Made{Path: o.Path, Size: st.Size(), Built: true, Format: f, Found: found}, nil
	}
	settings := r.settings(f)
	var damage error
	if !o.Force {
		e, ok, err := c.Find(src, settings)
		if err != nil {
			return nil, err
		}
		if ok {
			if damage = m.check(ctx, e.Path, o.Verify); damage == nil {
				return &Made{Path: e.Path, Size: e.Size, Format: f, Found: e.Found}, nil
			}
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			c.Remove(e)
		}
	}
	e, err := c.Build(ctx, src, settings, m.make)
	if err != nil {
		return nil, err
	}
	return &Made{Path: e.Path, Size: e.Size, Built: true, Damage: damage, Format: f, Found: e.Found}, nil
}

// makeFile makes an index in a file of its own, which appears whole or not at all.
func (m *making) makeFile(ctx context.Context, src format.Source, path string) (f cache.Found, err error) {
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		return f, fmt.Errorf("%s: found a folder, expected a file for the index", path)
	}
	cache.Sweep(filepath.Dir(path))
	room, err := cache.NewRoom(filepath.Dir(path))
	if err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return f, fmt.Errorf("%s: cannot create: %w", path, err)
	}
	defer room.Close()
	made := room.Path("index")
	if f, err = m.make(ctx, src, made); err != nil {
		return f, err
	}
	return f, os.Rename(made, path)
}

// check opens an index, or reads the whole of it.
func (m *making) check(ctx context.Context, path string, whole bool) error {
	if whole {
		return m.indexes.verify(ctx, path)
	}
	x, err := m.indexes.open(path)
	if err != nil {
		return err
	}
	return x.Close()
}

// same reports whether a path is the main file of a trace.
func same(src format.Source, path string) bool {
	a, err := fs.Stat(src.FS, src.Name)
	if err != nil {
		return false
	}
	b, err := os.Stat(path)
	return err == nil && os.SameFile(a, b)
}
