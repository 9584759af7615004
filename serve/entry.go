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

// state describes how far the server has got with a trace.
type state string

const (
	stateNew      state = "new" // no client has requested the trace so far
	stateIndexing state = "indexing"
	stateReady    state = "ready"
	stateFailed   state = "failed"
)

// entry is a trace that the server shows.
type entry struct {
	s         *Server
	id        string
	name      string // name of the main file
	path      string // path of the trace in messages
	given     ServedTrace
	config    configuration
	base      *entry // the entry of the same trace in the catalogue; nil if this entry is in the catalogue
	readers   *readerPool
	arranged  *readerPool // reads the events at the locations that are rows; usually the same pool as readers
	linkCache linkCache

	mu             sync.Mutex
	others         map[configuration]*entry // entries of the same trace with other configurations
	used           time.Time                // time of the last request; set only if base is not nil
	state          state
	stamp          fileStamp // stamp of the main file at the time when indexing began
	format         format.Format
	bytes          int64
	progress       float64
	err            string
	early          *earlyFacts // facts that are known while the trace is being indexed
	failed         time.Time   // time at which indexing failed
	retryable      bool        // the failure may have been temporary
	found          cache.Entry // the index file; set once the trace is ready
	view           *traceView  // data computed from the index; set once the trace is ready
	changesChecked time.Time   // time at which the files of the trace were last checked for changes
	comparing      bool        // compareContents runs
}

// changeCheckInterval is the shortest time between two checks of all files of a trace for changes.
const changeCheckInterval = 5 * time.Second

// fileStamp identifies the state of a file by its size and modification time.
type fileStamp struct {
	size int64
	time time.Time
}

// traceID returns a short id for the trace with a path. The parameter number distinguishes traces with
// the same path.
func traceID(path string, number int) string {
	h := sha256.Sum256(fmt.Appendf(nil, "%s\n%d", path, number))
	return hex.EncodeToString(h[:6])
}

func (s *Server) newEntry(g ServedTrace, id, name string) *entry {
	e := &entry{s: s, id: id, name: name, path: g.Source.Path, given: g,
		config: configuration{color: s.opt.Reading.Color}, state: stateNew, format: s.opt.Reading.Format}
	e.readers = &readerPool{e: e, free: make(chan struct{}, maxReaders)}
	e.arranged = e.readers
	if st, err := fs.Stat(g.Source.FS, g.Source.Name); err == nil {
		e.bytes = st.Size()
	}
	return e
}

// refresh starts indexing if the trace has not been indexed, or if its files have changed since it was
// indexed.
func (e *entry) refresh() {
	e.mu.Lock()
	fresh := e.state == stateNew || e.state == stateFailed && e.retryable && time.Since(e.failed) > retryDelay
	if e.state == stateReady || e.state == stateFailed {
		st, err := fs.Stat(e.given.Source.FS, e.given.Source.Name)
		fresh = fresh || err == nil && (fileStamp{st.Size(), st.ModTime()}) != e.stamp
	}
	// A check of all files of a trace may take long, so refresh makes it at most once in changeCheckInterval.
	checkFiles := !fresh && !e.comparing && e.state == stateReady && time.Since(e.changesChecked) > changeCheckInterval
	if checkFiles {
		e.changesChecked = time.Now()
	}
	found := e.found
	e.mu.Unlock()
	switch {
	case fresh:
		e.startIndexing()
	case !checkFiles || e.isGone() || !e.s.opt.Cache.Changed(&found, e.given.Source):
	case e.s.opt.Cache.IsSame(&found, e.given.Source):
		e.setComparing(true)
		if !e.s.runInBackground(func() { e.compareContents(found) }) {
			e.setComparing(false)
		}
	default:
		e.startIndexing()
	}
}

func (e *entry) setComparing(v bool) {
	e.mu.Lock()
	e.comparing = v
	e.mu.Unlock()
}

// compareContents starts to index the trace again if the contents of its files differ from those of found. It serves
// for a trace that was written shortly before it was indexed: the times of its files cannot tell whether they have
// changed since then. The trace remains ready if they have not.
func (e *entry) compareContents(found cache.Entry) {
	defer e.setComparing(false)
	again, ok := cache.Entry{}, false
	if f, err := e.detect(); err == nil {
		again, ok, err = e.s.opt.Cache.Find(e.given.Source, e.readSettings().cacheSettings(f))
		ok = ok && err == nil && again.Path == found.Path
	}
	e.mu.Lock()
	current := e.state == stateReady && e.found.Path == found.Path
	if current && ok {
		e.found = again
	}
	e.mu.Unlock()
	if current && !ok {
		e.startIndexing()
	}
}

// isGone reports whether the main file of the trace is missing. Such a trace is shown from its index.
func (e *entry) isGone() bool {
	_, err := fs.Stat(e.given.Source.FS, e.given.Source.Name)
	return errors.Is(err, fs.ErrNotExist)
}

// checkUnchanged returns an error for the client if the files of the trace are no longer those from whose index v
// was computed. In this case, it starts to index the trace again.
func (e *entry) checkUnchanged(v *traceView) error {
	e.mu.Lock()
	current, found := e.view == v, e.found
	e.mu.Unlock()
	switch {
	case current && e.s.opt.Cache.IsSame(&found, e.given.Source):
		return nil
	case e.isGone():
		return notFound("a file of " + e.path + " is gone")
	case current:
		e.startIndexing()
	}
	return &problem{http.StatusConflict, e.path + " has changed, and is being indexed again; ask for it until its state " +
		"is ready", retrySoon}
}

// startIndexing starts to index a trace in the background. It does nothing if the trace is already
// being indexed.
func (e *entry) startIndexing() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.state == stateIndexing || e.s.ctx.Err() != nil {
		return
	}
	e.state, e.progress, e.err, e.early, e.view = stateIndexing, 0, "", nil, nil
	e.stamp = fileStamp{}
	if st, err := fs.Stat(e.given.Source.FS, e.given.Source.Name); err == nil {
		e.stamp, e.bytes = fileStamp{st.Size(), st.ModTime()}, st.Size()
	}
	e.s.open.drop(e)
	e.readers.close()
	e.arranged.close()
	e.linkCache.clear()
	started := e.s.runInBackground(func() {
		err := recoverPanic(func() error { return e.ensureIndex(e.s.ctx) })
		e.mu.Lock()
		e.early = nil
		if err != nil {
			e.state, e.err = stateFailed, err.Error()
			e.failed, e.retryable = time.Now(), isSystemError(err)
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

// retryDelay is the shortest time between a temporary failure, such as a full disk, and the next
// attempt to index on request.
const retryDelay = 10 * time.Second

// isSystemError reports whether the cause of an error is the file system or another part of the system, and
// not the content of a trace.
func isSystemError(err error) bool {
	var path *fs.PathError
	var call *os.SyscallError
	var link *os.LinkError
	return errors.As(err, &path) || errors.As(err, &call) || errors.As(err, &link)
}

// recoverPanic calls f. If f panics, it returns an error in one line that includes the place of the panic.
// Therefore a single trace cannot end the server or block other requests.
func recoverPanic(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("internal error: %v, in %s", p, panicLocation())
		}
	}()
	return f()
}

// panicLocation returns the function and line of the panic that is being recovered.
func panicLocation() string {
	pcs := make([]uintptr, 32)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)]) // skip the deferred function
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

// ensureIndex finds or builds the index of a trace.
func (e *entry) ensureIndex(ctx context.Context) error {
	f, err := e.detect()
	if err != nil {
		return err
	}
	// In a folder, even an empty file gets a format from its name.
	if !f.About().EmptyMain && format.IsEmpty(e.given.Source) {
		return format.EmptyError(e.given.Source)
	}
	if e.given.Index != "" {
		st, err := os.Stat(e.given.Index)
		if err != nil {
			return err
		}
		key, err := cache.Key(e.given.Source, []string{e.given.Source.Name}, e.readSettings().cacheSettings(f))
		if err != nil {
			return err
		}
		return e.openBuilt(cache.Entry{Key: key, Path: e.given.Index, Size: st.Size()})
	}
	settings := e.readSettings().cacheSettings(f)
	found, ok, err := e.s.opt.Cache.Find(e.given.Source, settings)
	if err != nil {
		return err
	}
	if ok {
		err := e.openBuilt(found)
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
	return e.openBuilt(found)
}

// build builds the index of the trace and writes it to path.
func (e *entry) build(ctx context.Context, src format.Source, path string) (cache.ReadDefects, error) {
	m := &indexBuild{settings: e.readSettings(), format: e.format, indexes: e.s.indexes, progress: e.setProgress}
	m.early = func(f *earlyFacts) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.early = f
	}
	return m.run(ctx, src, path)
}

// setProgress records the progress of indexing.
func (e *entry) setProgress(done, total int64) {
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

// openBuilt opens a new index and computes the traceView from it.
func (e *entry) openBuilt(found cache.Entry) error {
	x, err := e.s.indexes.open(found.Path)
	if err != nil {
		return err
	}
	shown, err := newTraceView(e.s.ctx, x, found, e.config)
	if err != nil {
		x.Close()
		return err
	}
	e.mu.Lock()
	e.found, e.view, e.changesChecked = found, shown, time.Now()
	if found.TraceSize > 0 {
		e.bytes = found.TraceSize
	}
	e.mu.Unlock()
	e.s.open.add(e, x)
	return nil
}

// traceIndex is the open index of a ready trace, with constant data about the trace. The method open of an
// entry returns a traceIndex. Its caller must call release when it no longer needs the index.
type traceIndex struct {
	Index
	*traceView
	e       *entry
	release func()
}

// open opens the index of a ready trace, or returns an error for the client.
func (e *entry) open() (*traceIndex, error) {
	e.mu.Lock()
	state, why, found, shown := e.state, e.err, e.found, e.view
	e.mu.Unlock()
	switch state {
	case stateNew, stateIndexing:
		if state == stateNew {
			e.startIndexing()
		}
		return nil, &problem{http.StatusConflict, e.path + " is being indexed; ask for it until its state is ready",
			retrySoon}
	case stateFailed:
		return nil, &problem{http.StatusConflict, e.path + " cannot be shown: " + why, 0}
	}
	x, release, err := e.s.open.acquire(e, func() (Index, error) { return e.s.indexes.open(found.Path) })
	if err != nil {
		return nil, e.recoverIndex(err)
	}
	return &traceIndex{x, shown, e, release}, nil
}

// recoverIndex returns the error to send to the client in place of err. If err states that the index is
// damaged or missing, it also starts to build the index again.
func (e *entry) recoverIndex(err error) error {
	if !errors.Is(err, index.ErrDamaged) && !errors.Is(err, fs.ErrNotExist) || e.given.Index != "" {
		return err
	}
	e.mu.Lock()
	ready, found := e.state == stateReady, e.found
	e.mu.Unlock()
	if !errors.Is(err, index.ErrDamaged) {
		// If the index file still exists, a file of the trace must be missing.
		if _, gone := os.Stat(found.Path); gone == nil {
			return notFound("a file of " + e.path + " is gone")
		}
	}
	if ready {
		e.s.opt.Cache.Remove(found)
		e.startIndexing()
	}
	return unavailable("the index of " + e.path + " was damaged; it is being rebuilt")
}
