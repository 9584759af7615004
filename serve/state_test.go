package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/await"
	"github.com/weft-trace/weft/serve/cache"
	"github.com/weft-trace/weft/timeline/index"
	"github.com/weft-trace/weft/trace"
)

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// heldIndexer is an indexer whose builds wait until the test lets them end.
type heldIndexer struct {
	fileIndexer
	at     chan struct{} // receives a value when a build begins
	result chan error    // receives the error with which the build ends
	builds atomic.Int32
	most   atomic.Int32
	now    atomic.Int32
}

func (h *heldIndexer) build(ctx context.Context, d format.Events, path string, opt index.Options) error {
	h.builds.Add(1)
	n := h.now.Add(1)
	defer h.now.Add(-1)
	for m := h.most.Load(); n > m && !h.most.CompareAndSwap(m, n); m = h.most.Load() {
	}
	h.at <- struct{}{}
	select {
	case err := <-h.result:
		if err != nil {
			return err
		}
	case <-ctx.Done():
		return ctx.Err()
	}
	return h.fileIndexer.build(ctx, d, path, opt)
}

func newHeldServer(t *testing.T, opt Options, h *heldIndexer, paths ...string) *Server {
	t.Helper()
	for _, p := range paths {
		opt.Traces = append(opt.Traces, ServedTrace{Source: format.FileSource(p)})
	}
	s := newServer(opt, h)
	s.detailTime = time.Hour
	t.Cleanup(s.Close)
	return s
}

// TestIndexing checks the answers of the server about a trace that is being indexed.
func TestIndexing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sample.otf2")
	writeSample(t, path)
	h := &heldIndexer{at: make(chan struct{}, 10), result: make(chan error)}
	s := newHeldServer(t, options(t), h, path)
	api := "/api/traces/" + s.traceAt(t, 0).id
	if v := get(t, s, "/api/traces"); look(v, "traces/0/state") != "new" {
		t.Errorf("before: found %v", v)
	}
	if v := get(t, s, api); v["state"] != "indexing" {
		t.Errorf("asked for: found %v", v)
	}
	await.Receive(t, "the index is being built", h.at)
	s.traceAt(t, 0).setProgress(1, 4)
	v := get(t, s, api)
	if v["state"] != "indexing" || fmt.Sprint(v["progress"]) != "0.25" || look(v, "tracks/0/name") != "rank 0" ||
		fmt.Sprint(look(v, "clock/num")) != "1000" {
		t.Errorf("while indexing: found %v", v)
	}
	if w := ask(s, "GET", api+"/profile"); w.Code != http.StatusConflict || w.Header().Get("Retry-After") == "" {
		t.Errorf("profile while indexing: status %d", w.Code)
	}
	await.Send(t, "building goes on", h.result, nil)
	waitReady(t, s, 0)
	if n := h.builds.Load(); n != 1 {
		t.Errorf("found %d builds, want 1", n)
	}
}

// TestFailed checks that a failed build is reported, and that the trace is indexed again after it
// has changed.
func TestFailed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sample.otf2")
	writeSample(t, path)
	h := &heldIndexer{at: make(chan struct{}, 10), result: make(chan error, 1)}
	await.Send(t, "building goes on", h.result, errors.New("no more room <b>"))
	s := newHeldServer(t, options(t), h, path)
	api := "/api/traces/" + s.traceAt(t, 0).id
	failed := func() bool {
		v := get(t, s, api)
		return v["state"] == "failed" && strings.Contains(v["error"].(string), "no more room")
	}
	await.Until(t, "indexing has failed", failed)
	if w := ask(s, "GET", api+"/profile"); w.Code != http.StatusConflict ||
		!strings.Contains(w.Body.String(), "no more room") {
		t.Errorf("profile: status %d: %s", w.Code, w.Body)
	}
	if !failed() || h.builds.Load() != 1 {
		t.Errorf("it was tried again without a reason")
	}
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(path, later, later); err != nil {
		t.Fatal(err)
	}
	await.Send(t, "building goes on", h.result, nil)
	waitReady(t, s, 0)
}

// TestRecentTrace checks that a trace that was written shortly before it was indexed remains ready when the times of
// its files have become reliable, and that later changes are found.
func TestRecentTrace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sample.otf2")
	writeSample(t, path)
	s := newTestServer(t, options(t), path)
	api := waitReady(t, s, 0)
	e := s.traceAt(t, 0)
	// state returns the state in the answer to a request that checks all files.
	state := func() any {
		e.mu.Lock()
		e.changesChecked = time.Time{}
		e.mu.Unlock()
		return get(t, s, api)["state"]
	}
	changed := func() bool {
		e.mu.Lock()
		found := e.found
		e.mu.Unlock()
		return s.opt.Cache.Changed(&found, e.given.Source)
	}
	await.Until(t, "the times of the files are reliable", changed)
	await.Until(t, "the contents have been compared", func() bool {
		if got := state(); got != "ready" {
			t.Fatalf("the state is %v although no file has changed", got)
		}
		return !changed()
	})
	events, err := filepath.Glob(filepath.Join(filepath.Dir(path), "sample", "*.evt"))
	if err != nil || len(events) == 0 {
		t.Fatalf("found no files of events: %v", err)
	}
	text, err := os.ReadFile(events[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(events[0], append(text, 0), 0o666); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "the change is found", func() bool { return state() == "indexing" })
}

// TestBuildsAtOnce checks that at most two indexes are built at the same time.
func TestBuildsAtOnce(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	for i := range 5 {
		p := filepath.Join(dir, fmt.Sprint(i, ".otf2"))
		writeSample(t, p)
		paths = append(paths, p)
	}
	h := &heldIndexer{at: make(chan struct{}, 10), result: make(chan error)}
	s := newHeldServer(t, options(t), h, paths...)
	s.Start()
	for range 5 {
		await.Send(t, "building goes on", h.result, nil)
	}
	for i := range 5 {
		waitReady(t, s, i)
	}
	if h.most.Load() > 2 || h.builds.Load() != 5 {
		t.Errorf("found %d builds, %d at a time", h.builds.Load(), h.most.Load())
	}
}

// TestStop checks that a stopped server ends its builds and leaves no unfinished files.
func TestStop(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sample.otf2")
	writeSample(t, path)
	opt := options(t)
	dir := t.TempDir()
	var err error
	if opt.Cache, err = cache.Open(dir, 0); err != nil {
		t.Fatal(err)
	}
	h := &heldIndexer{at: make(chan struct{}, 10), result: make(chan error)}
	s := newHeldServer(t, opt, h, path)
	l := listen(t)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	r, err := http.Get(s.URL(l) + "&x=1")
	if err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, r.Body)
	r.Body.Close()
	s.traceAt(t, 0).startIndexing()
	await.Receive(t, "the index is being built", h.at)
	stop()
	if err := await.Receive(t, "the server has stopped", ended); err != nil {
		t.Errorf("stopped with %v", err)
	}
	if _, err := http.Get(s.URL(l)); err == nil {
		t.Error("the server still answers")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("found %v in the cache, %v", left, err)
	}
}

// TestDamaged checks that a damaged index is built again, whether the damage is found when the index is opened
// or later.
func TestDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "g.trf")
	writeGenerated(t, path, 20_000)
	opt := options(t)
	damage := func(p string, from int) {
		t.Helper()
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		for i := from; i < len(b)-len(b)/4; i++ {
			b[i] ^= 0x55
		}
		if err := os.WriteFile(p, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := newTestServer(t, opt, path)
	api := waitReady(t, s, 0)
	want := ask(s, "GET", api+"/profile?from=1000").Body.String()
	index := s.traceAt(t, 0).found.Path
	s.Close()
	if err := os.Truncate(index, 100); err != nil {
		t.Fatal(err)
	}
	s = newTestServer(t, opt, path)
	api = waitReady(t, s, 0)
	if got := ask(s, "GET", api+"/profile?from=1000").Body.String(); got != want {
		t.Errorf("of the rebuilt index: found %s, want %s", got, want)
	}
	damage(index, 8)
	w := ask(s, "GET", api+"/tiles?width=2000&tracks=0-5&from=5000")
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Fatalf("damage while it is open: status %d, want 503: %s", w.Code, w.Body)
	}
	waitReady(t, s, 0)
	if got := ask(s, "GET", api+"/profile?from=1000").Body.String(); got != want {
		t.Errorf("of the index rebuilt after damage: found %s, want %s", got, want)
	}
}

// TestAnswersAreShared checks that requests for the same answer share one computation, that the
// computation is cancelled when no request waits for it, and that requests beyond the limit are
// refused.
func TestAnswersAreShared(t *testing.T) {
	a := &answerCache{ctx: context.Background(), start: func(f func()) bool { go f(); return true },
		slots: make(chan struct{}, 1), limit: 1000, running: map[string]*pendingAnswer{}, kept: map[string]*cachedAnswer{},
		queueTime: time.Hour}
	begun, end := make(chan struct{}, 10), make(chan struct{})
	var stopped atomic.Bool
	work := func(ctx context.Context) ([]byte, error) {
		begun <- struct{}{}
		select {
		case <-end:
			return []byte("done"), nil
		case <-ctx.Done():
			stopped.Store(true)
			return nil, ctx.Err()
		}
	}
	got := make(chan string, 3)
	one, leave := context.WithCancel(context.Background())
	for _, ctx := range []context.Context{one, context.Background()} {
		go func() {
			b, err := a.get(ctx, "x", work)
			got <- fmt.Sprint(string(b), err)
		}()
	}
	await.Receive(t, "work begins", begun)
	await.Until(t, "both wait", func() bool { return a.waiting("x") == 2 })
	leave() // the other request still waits for the answer
	if s := await.Receive(t, "who asked is answered", got); s != "context canceled" {
		t.Errorf("who went away got %q", s)
	}
	await.Send(t, "work ends", end, struct{}{})
	if s := await.Receive(t, "who asked is answered", got); s != "done<nil>" {
		t.Errorf("who waited got %q", s)
	}
	if b, err := a.get(context.Background(), "x", work); string(b) != "done" || err != nil || len(begun) > 0 {
		t.Errorf("asked again: found %q, %v", b, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		b, err := a.get(ctx, "y", work)
		got <- fmt.Sprint(string(b), err)
	}()
	await.Receive(t, "work begins", begun)
	cancel()
	await.Receive(t, "who asked is answered", got)
	await.Until(t, "work that nobody waits for has ended", stopped.Load)
	// A panic becomes an error.
	if _, err := a.get(context.Background(), "z", func(context.Context) ([]byte, error) { panic("oops") }); err == nil ||
		!strings.Contains(err.Error(), "oops") {
		t.Errorf("a panic gives %v", err)
	}
	// The size of the kept answers is limited.
	for i := range 50 {
		if _, err := a.get(context.Background(), fmt.Sprint(i),
			func(context.Context) ([]byte, error) { return make([]byte, 100), nil }); err != nil {
			t.Fatal(err)
		}
	}
	if a.bytes > a.limit || len(a.kept) > 10 {
		t.Errorf("found %d bytes in %d answers, the limit is %d", a.bytes, len(a.kept), a.limit)
	}
}

func (a *answerCache) waiting(name string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r := a.running[name]; r != nil {
		return r.waiting
	}
	return 0
}

// TestBusy checks that analyses beyond the limit are refused, with a time after which to retry.
func TestBusy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sample.otf2")
	writeSample(t, path)
	opt := options(t)
	opt.Analyses = 1
	s := newTestServer(t, opt, path)
	api := waitReady(t, s, 0)
	s.answers.slots <- struct{}{}
	s.answers.queueTime = 0
	w := ask(s, "GET", api+"/calltree")
	if w.Code != 503 || w.Header().Get("Retry-After") == "" {
		t.Errorf("status %d, Retry-After %q", w.Code, w.Header().Get("Retry-After"))
	}
	<-s.answers.slots
	s.answers.queueTime = time.Hour
	get(t, s, api+"/calltree")
}

// TestOpenIndexes checks that indexes in use stay open, and that the least recently used of the other indexes
// are closed.
func TestOpenIndexes(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	for i := range 3 {
		p := filepath.Join(dir, fmt.Sprint(i, ".otf2"))
		writeSample(t, p)
		paths = append(paths, p)
	}
	opt := options(t)
	opt.Indexes = 1
	s := newTestServer(t, opt, paths...)
	for i := range 3 {
		waitReady(t, s, i)
	}
	if n := len(s.open.list); n != 1 {
		t.Errorf("found %d open indexes, want 1", n)
	}
	a, err := s.traceAt(t, 0).open()
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.traceAt(t, 1).open()
	if err != nil {
		t.Fatal(err)
	}
	if n := len(s.open.list); n != 2 {
		t.Errorf("found %d open indexes, want the 2 in use", n)
	}
	b.release()
	if _, err := a.Profile(0, 0, 1000); err != nil {
		t.Errorf("the index in use was closed: %v", err)
	}
	if _, err := b.Profile(0, 0, 1000); err == nil && len(s.open.list) > 1 {
		t.Error("an index that is not in use takes a place too many")
	}
	s.traceAt(t, 0).s.open.drop(a.e)
	if _, err := a.Profile(0, 0, 1000); err != nil {
		t.Errorf("the index in use was closed: %v", err)
	}
	a.release()
	if _, err := a.Profile(0, 0, 1000); err == nil {
		t.Error("the index is still open")
	}
}

// summaryFile is a file with a given summary. Its scans wait until the test lets them continue.
type summaryFile struct {
	format.File
	summary *format.Summary
	err     error
	at      chan struct{} // receives a value when a scan begins
	release chan struct{}
}

func (s *summaryFile) Summary(context.Context) (*format.Summary, error) { return s.summary, s.err }

func (s *summaryFile) Scan(ctx context.Context, sel trace.Selection, order format.Order, sink format.Sink) error {
	if err := s.wait(ctx); err != nil {
		return err
	}
	return s.File.Scan(ctx, sel, order, sink)
}

func (s *summaryFile) ScanParallel(ctx context.Context, sel trace.Selection, begin func() func(int) format.Sink) error {
	if err := s.wait(ctx); err != nil {
		return err
	}
	return s.File.ScanParallel(ctx, sel, begin)
}

func (s *summaryFile) wait(ctx context.Context) error {
	s.at <- struct{}{}
	select {
	case <-s.release:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// wrappingFormat is a format whose files are wrapped by a function of the test.
type wrappingFormat struct {
	format.Format
	around func(format.File) format.File
}

func (f *wrappingFormat) Open(ctx context.Context, src format.Source, opt *format.ReadOptions) (format.File, error) {
	x, err := f.Format.Open(ctx, src, opt)
	if err != nil {
		return nil, err
	}
	return f.around(x), nil
}

// newSlowServer returns a server that reads the sample through a copy of d.
func newSlowServer(t *testing.T, d *summaryFile) *Server {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sample.otf2")
	writeSample(t, path)
	d.at, d.release = make(chan struct{}, 10), make(chan struct{})
	f := &wrappingFormat{mustFormat(t, "otf2"), func(f format.File) format.File {
		own := *d // a reader that was given up and its successor may be open at the same time
		own.File = f
		return &own
	}}
	opt := options(t)
	opt.Reading.Format = f
	return newTestServer(t, opt, path)
}

// TestOverview checks that the sums that a trace stores are shown while the trace is being indexed, and not
// afterwards.
func TestOverview(t *testing.T) {
	d := &summaryFile{summary: &format.Summary{
		Kinds:     []format.KindSummary{{Kind: trace.Enter, Events: 40}, {Kind: trace.Leave, Events: 39}},
		Locations: []format.LocationSummary{{Location: 0, Events: 19}, {Location: 1, Events: 60}},
		Regions: []format.RegionSummary{{Region: 0, Count: 7, Inclusive: 100, Exclusive: 30},
			{Region: 1, Count: 33, Inclusive: 70, Exclusive: 70}},
	}}
	s := newSlowServer(t, d)
	api := "/api/traces/" + s.traceAt(t, 0).id
	get(t, s, api)
	await.Receive(t, "a scan begins", d.at)
	v := get(t, s, api)
	for path, want := range map[string]string{
		"state": "indexing", "tracks/1/name": "rank 1", "clock/num": "1000", "overview/events": "79",
		"overview/locations/len": "2", "overview/locations/0/name": "rank 1", "overview/locations/0/events": "60",
		"overview/regions/0/name": `work<b>&"x"`, "overview/regions/0/count": "33", "overview/regions/0/exclusive": "70",
		"overview/regions/1/name": "main", "overview/regions/1/inclusive": "100",
	} {
		if got := fmt.Sprint(look(v, path)); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
	checkAnswer(t, s, "Trace", v)
	close(d.release)
	waitReady(t, s, 0)
	if v := get(t, s, api); v["overview"] != nil {
		t.Errorf("with the index there is an overview: %v", v["overview"])
	}
}

// TestNoOverview checks that a trace is indexed even if it stores no sums, or if these are damaged.
func TestNoOverview(t *testing.T) {
	for _, d := range []*summaryFile{{}, {summary: &format.Summary{}, err: errors.New("damaged")}} {
		s := newSlowServer(t, d)
		api := "/api/traces/" + s.traceAt(t, 0).id
		get(t, s, api)
		await.Receive(t, "a scan begins", d.at)
		if v := get(t, s, api); v["overview"] != nil || look(v, "tracks/0/name") != "rank 0" {
			t.Errorf("while indexing: found %v", v)
		}
		close(d.release)
		waitReady(t, s, 0)
	}
}

// TestOverviewOfPallas checks that the sums stored in a real trace agree with its events.
func TestOverviewOfPallas(t *testing.T) {
	const path = "../format/pallas/testdata/ok/nested/trace/main.pallas"
	h := &heldIndexer{at: make(chan struct{}, 10), result: make(chan error)}
	s := newHeldServer(t, options(t), h, path)
	api := "/api/traces/" + s.traceAt(t, 0).id
	get(t, s, api)
	await.Receive(t, "the index is being built", h.at)
	early := get(t, s, api)
	await.Send(t, "building goes on", h.result, nil)
	waitReady(t, s, 0)
	v := get(t, s, api)
	if got, want := fmt.Sprint(look(early, "overview/events")), fmt.Sprint(v["events"]); got != want {
		t.Errorf("found %s events, want %s", got, want)
	}
	byName := map[any]any{}
	for _, x := range look(early, "overview/regions").([]any) {
		byName[look(x, "name")] = x
	}
	// The trace stores means that are rounded down. Therefore each sum may be too small by up to a tick for
	// each visit.
	var missing, visits int64
	fmt.Sscan(fmt.Sprint(look(early, "overview/missing")), &missing)
	rows := get(t, s, api+"/profile")["rows"].([]any)
	for _, x := range rows {
		o := byName[look(x, "name")]
		var n [6]int64
		fmt.Sscan(fmt.Sprint(look(o, "count"), " ", look(x, "count"), " ", look(o, "inclusive"), " ", look(x, "inclusive"),
			" ", look(o, "exclusive"), " ", look(x, "exclusive")), &n[0], &n[1], &n[2], &n[3], &n[4], &n[5])
		if n[0] != n[1] || n[2] > n[3] || n[2] < n[3]-missing || n[4] > n[5] || n[4] < n[5]-missing {
			t.Errorf("found %v, want %v less %d ticks at most", o, x, missing)
		}
		visits += n[1]
	}
	if len(byName) != len(rows) || len(rows) == 0 || missing > visits {
		t.Errorf("found %d regions of %d, with %d ticks missing in %d visits", len(byName), len(rows), missing, visits)
	}
}

// TestOverviewOfOTF checks that the statistics stored in a trace of libotf are shown while it is
// being indexed.
func TestOverviewOfOTF(t *testing.T) {
	h := &heldIndexer{at: make(chan struct{}, 10), result: make(chan error)}
	s := newHeldServer(t, options(t), h, "../format/otf/testdata/ok/all_short/all_short.otf")
	api := "/api/traces/" + s.traceAt(t, 0).id
	get(t, s, api)
	await.Receive(t, "the index is being built", h.at)
	v := get(t, s, api)
	await.Send(t, "building goes on", h.result, nil)
	// The expected sums are in the files' own summary records. SF1NaE200000000I10000000000 has the number of
	// calls and the times of a function; SM2...NS100000000NR2 and SM0...NS1NR2 have the numbers of messages.
	for path, want := range map[string]string{
		"overview/to": "2001", "overview/regions/len": "1", "overview/regions/0/count": "10",
		"overview/regions/0/exclusive": fmt.Sprint(0x200000000), "overview/regions/0/inclusive": fmt.Sprint(0x10000000000),
		"overview/locations/len": "1", "overview/events": fmt.Sprint(10 + 0x100000000 + 2),
	} {
		if got := fmt.Sprint(look(v, path)); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
	checkAnswer(t, s, "Trace", v)
	waitReady(t, s, 0)
}

// TestOverviewOfWritten checks a trace with attributes that weft has written as Pallas: its visits and
// messages are shown while the trace is being indexed. The expected numbers follow from writeSample.
func TestOverviewOfWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sample.pallas")
	writeSample(t, path)
	h := &heldIndexer{at: make(chan struct{}, 10), result: make(chan error)}
	s := newHeldServer(t, options(t), h, path)
	api := "/api/traces/" + s.traceAt(t, 0).id
	get(t, s, api)
	await.Receive(t, "the index is being built", h.at)
	v := get(t, s, api)
	for path, want := range map[string]string{
		"state": "indexing", "overview/to": "200", "overview/events": "7", "overview/locations/len": "2",
		"overview/locations/0/events": "4",
		// The visit of stuck has no leave event.
		"overview/regions/0/name": "main", "overview/regions/0/count": "2", "overview/regions/0/inclusive": "190",
		"overview/regions/0/exclusive": "145",
		"overview/regions/1/name":      `work<b>&"x"`, "overview/regions/1/count": "2", "overview/regions/1/inclusive": "45",
		"overview/regions/1/exclusive": "45",
	} {
		if got := fmt.Sprint(look(v, path)); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
	checkAnswer(t, s, "Trace", v)
	await.Send(t, "building goes on", h.result, nil)
	waitReady(t, s, 0)
}

// panickingFile is a file whose scans panic if the test requests this.
type panickingFile struct {
	format.File
	armed *atomic.Bool
}

func (p *panickingFile) ScanParallel(ctx context.Context, sel trace.Selection,
	begin func() func(int) format.Sink) error {
	if p.armed.Load() {
		panic("burst")
	}
	return p.File.ScanParallel(ctx, sel, begin)
}

// TestPanic checks that the answer to a request that panics is one line, and that the request's
// slots are free again.
func TestPanic(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sample.otf2")
	writeSample(t, path)
	armed := &atomic.Bool{}
	f := &wrappingFormat{mustFormat(t, "otf2"), func(f format.File) format.File { return &panickingFile{f, armed} }}
	opt := options(t)
	opt.Reading.Format = f
	s := newTestServer(t, opt, path)
	api := waitReady(t, s, 0)
	armed.Store(true)
	for i := range 3 * maxReaders {
		w := ask(s, "GET", fmt.Sprint(api, "/calltree?from=", i))
		var a struct{ Error string }
		if err := json.Unmarshal(w.Body.Bytes(), &a); w.Code != 500 || err != nil ||
			!strings.HasPrefix(a.Error, "internal error: burst, in serve.(*panickingFile).ScanParallel") ||
			strings.Contains(a.Error, "\n") {
			t.Fatalf("%d: status %d: %q, %v", i, w.Code, a.Error, err)
		}
	}
	armed.Store(false)
	get(t, s, api+"/calltree?from=1")
	s.mux.HandleFunc("/api/burst", s.handler(map[string]func(http.ResponseWriter, *http.Request) error{
		"GET": func(http.ResponseWriter, *http.Request) error { panic("burst") }}))
	if w := ask(s, "GET", "/api/burst"); w.Code != 500 || !strings.Contains(w.Body.String(), "internal error: burst") {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
}

// TestOverviewOfOneName checks that a region that each process defines has a single row, and that the names of
// different regions with the same name include their source places.
func TestOverviewOfOneName(t *testing.T) {
	d := &trace.Definitions{Clock: trace.TicksPerSecond(1)}
	a := d.Regions.Add(trace.Region{ID: "1", Name: "send"})
	b := d.Regions.Add(trace.Region{ID: "2", Name: "wait"})
	c := d.Regions.Add(trace.Region{ID: "3", Name: "send"})
	e := d.Regions.Add(trace.Region{ID: "4", Name: "wait", File: "w.c", Line: 4})
	o := newOverview(d, &format.Summary{Regions: []format.RegionSummary{
		{Region: a, Count: 2, Inclusive: 30, Exclusive: 20, Missing: 3}, {Region: b, Count: 1, Inclusive: 25, Exclusive: 25},
		{Region: c, Count: 3, Inclusive: 10, Exclusive: 10, Nested: 4, Missing: 2},
		{Region: e, Count: 1, Inclusive: 5, Exclusive: 5, Missing: 4}}})
	// of the 10 ticks of the second send, 4 are inside of the first one; the error of a row is the sum of the errors
	want := []overviewRegion{{"send", 5, 36, 30}, {"wait (no place)", 1, 25, 25}, {"wait (w.c:4)", 1, 5, 5}}
	if o.Missing != 5 {
		t.Errorf("found times that are too small by up to %d, expected 5", o.Missing)
	}
	if !slices.Equal(o.Regions, want) {
		t.Errorf("found %+v, expected %+v", o.Regions, want)
	}
}
