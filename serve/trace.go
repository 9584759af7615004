package serve

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/serve/cache"
	"github.com/weft-trace/weft/timeline/index"
)

// state is how far a trace is.
type state string

const (
	stateNew      state = "new" // nobody has asked for it
	stateIndexing state = "indexing"
	stateReady    state = "ready"
	stateFailed   state = "failed"
)

// entry is a trace that the server shows.
type entry struct {
	s         *Server
	id        string
	name      string // of its main file
	path      string // as people know it
	given     Given
	color     string // attribute that spans are named by, "" for their region
	base      *entry // the trace that this one is in other colours; nil if it is none
	decoders  *pool
	linkTable linkShelf

	mu       sync.Mutex
	colors   map[string]*entry // the same trace in other colours
	used     time.Time         // when it was last asked for, of one in other colours
	state    state
	stamp    stamp // of the main file, when indexing began
	format   format.Format
	bytes    int64
	progress float64
	err      string
	early    *earlyFacts // what is known while it is being indexed
	failed   time.Time   // when indexing did
	again    bool        // it may not fail the next time
	found    cache.Entry // its index, when ready
	shown    *shown      // what was made of the index, when ready
	looked   time.Time   // when it was last asked whether the files of the trace have changed
}

// lookAgain is how long nobody asks that again.
const lookAgain = 5 * time.Second

// stamp tells whether a file has changed.
type stamp struct {
	size int64
	time time.Time
}

// traceID is a short name for a trace that stays the same as long as its path does.
func traceID(path string, again int) string {
	h := sha256.Sum256(fmt.Appendf(nil, "%s\n%d", path, again))
	return hex.EncodeToString(h[:6])
}

func (s *Server) newEntry(g Given, id, name string) *entry {
	e := &entry{s: s, id: id, name: name, path: g.Source.Path, given: g, color: s.opt.Reading.Color, state: stateNew, format: s.opt.Reading.Format}
	e.decoders = &pool{e: e, free: make(chan struct{}, maxDecoders)}
	if st, err := fs.Stat(g.Source.FS, g.Source.Name); err == nil {
		e.bytes = st.Size()
	}
	return e
}

// refresh forgets the index of a trace whose files have changed since, and begins to make one
// if there is none.
func (e *entry) refresh() {
	e.mu.Lock()
	fresh := e.state == stateNew || e.state == stateFailed && e.again && time.Since(e.failed) > retryFailed
	if e.state == stateReady || e.state == stateFailed {
		st, err := fs.Stat(e.given.Source.FS, e.given.Source.Name)
		fresh = fresh || err == nil && (stamp{st.Size(), st.ModTime()}) != e.stamp
	}
	// The other files, which may be many, are looked at now and then.
	look := !fresh && e.state == stateReady && time.Since(e.looked) > lookAgain
	if look {
		e.looked = time.Now()
	}
	found := e.found
	e.mu.Unlock()
	if fresh || look && e.s.opt.Cache.Changed(&found, e.given.Source) {
		e.start()
	}
}

// start begins to index a trace, unless that is going on.
func (e *entry) start() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.state == stateIndexing || e.s.ctx.Err() != nil {
		return
	}
	e.state, e.progress, e.err, e.early, e.shown = stateIndexing, 0, "", nil, nil
	e.stamp = stamp{}
	if st, err := fs.Stat(e.given.Source.FS, e.given.Source.Name); err == nil {
		e.stamp, e.bytes = stamp{st.Size(), st.ModTime()}, st.Size()
	}
	e.s.shelf.drop(e)
	e.decoders.close()
	e.linkTable.clear()
	started := e.s.background(func() {
		err := guarded(func() error { return e.index(e.s.ctx) })
		e.mu.Lock()
		e.early = nil
		if err != nil {
			e.state, e.err = stateFailed, err.Error()
			e.failed, e.again = time.Now(), outside(err)
		} else {
			e.state, e.progress = stateReady, 1
		}
		e.mu.Unlock()
		if e.s.opt.Ended != nil && e.s.ctx.Err() == nil {
			e.s.opt.Ended(e.path, err)
		}
	})
	if !started {
		e.state = stateNew
	}
}

// retryFailed is after how long it is tried again to index a trace, when somebody asks for
// it, where that failed for a reason such as a full disk.
const retryFailed = 10 * time.Second

// outside reports whether an error is one of files and the system, not of what is in a trace.
func outside(err error) bool {
	var path *fs.PathError
	var call *os.SyscallError
	var link *os.LinkError
	return errors.As(err, &path) || errors.As(err, &call) || errors.As(err, &link)
}

// guarded turns a panic into an error, which tells the place in one line: one trace must not
// end the server, or keep what others wait for.
func guarded(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("internal error: %v, in %s", p, panicked())
		}
	}()
	return f()
}

// panicked is the place of the panic that is being recovered from.
func panicked() string {
	pcs := make([]uintptr, 32)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)]) // behind the function that recovers
	for {
		f, more := frames.Next()
		if !strings.HasPrefix(f.Function, "runtime.") || !more {
			return fmt.Sprintf("%s (%s:%d)", path.Base(f.Function), path.Base(f.File), f.Line)
		}
	}
}

// detect finds the format of a trace.
func (e *entry) detect() (format.Format, error) {
	e.mu.Lock()
	f := e.format
	e.mu.Unlock()
	if f != nil {
		return f, nil
	}
	f, err := format.Detect(e.s.opt.Reading.Formats, e.given.Source)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	e.format = f
	e.mu.Unlock()
	return f, nil
}

// index finds or makes the index of a trace.
func (e *entry) index(ctx context.Context) error {
	f, err := e.detect()
	if err != nil {
		return err
	}
	// A folder's files have their format by name.
	if st, err := fs.Stat(e.given.Source.FS, e.given.Source.Name); err == nil && st.Size() == 0 && !f.About().EmptyMain {
		return format.EmptyError(e.given.Source)
	}
	if e.given.Index != "" {
		st, err := os.Stat(e.given.Index)
		if err != nil {
			return err
		}
		key, err := cache.Key(e.given.Source, []string{e.given.Source.Name}, e.reading().settings(f))
		if err != nil {
			return err
		}
		return e.ready(cache.Entry{Key: key, Path: e.given.Index, Size: st.Size()})
	}
	settings := e.reading().settings(f)
	found, ok, err := e.s.opt.Cache.Find(e.given.Source, settings)
	if err != nil {
		return err
	}
	if ok {
		err := e.ready(found)
		if !errors.Is(err, index.ErrDamaged) {
			return err
		}
		e.s.opt.Cache.Remove(found)
	}
	select {
	case e.s.builds <- struct{}{}:
		defer func() { <-e.s.builds }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if found, err = e.s.opt.Cache.Build(ctx, e.given.Source, settings, e.build); err != nil {
		return err
	}
	return e.ready(found)
}

// build makes an index.
func (e *entry) build(ctx context.Context, src format.Source, path string) (cache.Found, error) {
	m := &making{reading: e.reading(), format: e.format, indexes: e.s.indexes, progress: e.advance}
	m.early = func(f *earlyFacts) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.early = f
	}
	return m.make(ctx, src, path)
}

// advance notes how far indexing has come.
func (e *entry) advance(done, total int64) {
	if total <= 0 {
		return
	}
	e.mu.Lock()
	e.progress = min(1, max(0, float64(done)/float64(total)))
	e.mu.Unlock()
	if e.s.opt.Progress != nil {
		e.s.opt.Progress(e.path, done, total)
	}
}

// ready opens an index for the first time and makes of it what stays the same.
func (e *entry) ready(found cache.Entry) error {
	x, err := e.s.indexes.open(found.Path)
	if err != nil {
		return err
	}
	shown, err := newShown(e.s.ctx, x, found, e.color)
	if err != nil {
		x.Close()
		return err
	}
	e.mu.Lock()
	e.found, e.shown, e.looked = found, shown, time.Now()
	if found.TraceSize > 0 {
		e.bytes = found.TraceSize
	}
	e.mu.Unlock()
	e.s.shelf.put(e, x)
	return nil
}

// opened is an index that is in use; release must be called in the end.
type opened struct {
	Index
	*shown
	e       *entry
	release func()
}

// open opens the index of a trace that is ready.
func (e *entry) open() (*opened, error) {
	e.mu.Lock()
	state, why, found, shown := e.state, e.err, e.found, e.shown
	e.mu.Unlock()
	switch state {
	case stateNew, stateIndexing:
		if state == stateNew {
			e.start()
		}
		return nil, &problem{http.StatusConflict, e.path + " is being indexed; ask for it until its state is ready", retrySoon}
	case stateFailed:
		return nil, &problem{http.StatusConflict, e.path + " cannot be shown: " + why, 0}
	}
	x, release, err := e.s.shelf.take(e, func() (Index, error) { return e.s.indexes.open(found.Path) })
	if err != nil {
		return nil, e.lost(err)
	}
	return &opened{x, shown, e, release}, nil
}

// lost builds the index anew if an error says that it is damaged, or gone.
func (e *entry) lost(err error) error {
	if !errors.Is(err, index.ErrDamaged) && !errors.Is(err, fs.ErrNotExist) || e.given.Index != "" {
		return err
	}
	e.mu.Lock()
	ready, found := e.state == stateReady, e.found
	e.mu.Unlock()
	if !errors.Is(err, index.ErrDamaged) {
		// It may be the trace that is gone: what was made of it is all that is left then.
		if _, gone := os.Stat(found.Path); gone == nil {
			return notFound("a file of " + e.path + " is gone")
		}
	}
	if ready {
		e.s.opt.Cache.Remove(found)
		e.start()
	}
	return unavailable("the index of " + e.path + " was damaged; it is being made anew")
}
