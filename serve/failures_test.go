package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/weft-trace/weft/internal/await"
	"github.com/weft-trace/weft/trace"
)

// TestTraceIsGone checks that a trace which is deleted while the server shows it is still shown from its
// index. Only the data that the index lacks is missing.
func TestTraceIsGone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sample.otf2")
	writeSample(t, path)
	s := newTestServer(t, options(t), path)
	api := waitReady(t, s, 0)
	e := s.traceAt(t, 0)
	files, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if err := os.RemoveAll(f); err != nil {
			t.Fatal(err)
		}
	}
	if w := ask(s, "GET", api+"/calltree"); w.Code != 404 {
		t.Errorf("call tree: status %d: %s", w.Code, w.Body)
	}
	v := get(t, s, api+"/span?track=0&depth=1&time=20")
	if v["partial"] != true || look(v, "span/end") != "50" {
		t.Errorf("span: found %v", v)
	}
	if v := get(t, s, api); v["state"] != "ready" {
		t.Errorf("found the state %v: %v", v["state"], v["error"])
	}
	if _, err := os.Stat(e.found.Path); err != nil {
		t.Errorf("the index is gone: %v", err)
	}
}

// TestAnswersAfterChange checks that an analysis of files that have changed since they were indexed is no answer,
// and that it is not kept as the answer for the earlier files. The trace has 6 locations.
func TestAnswersAfterChange(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the machine does not tell when files were changed")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "g.otf2")
	writeGenerated(t, path, 3000)
	s := newTestServer(t, options(t), path)
	api := waitReady(t, s, 0)
	events, away := filepath.Join(dir, "g", "3.evt"), filepath.Join(dir, "3.evt")
	for _, x := range []struct {
		from, to, locations string
		defects             int64
	}{{events, away, "5", 1}, {away, events, "6", 0}} {
		if err := os.Rename(x.from, x.to); err != nil {
			t.Fatal(err)
		}
		if w := ask(s, "GET", api+"/calltree"); w.Code != 409 {
			t.Errorf("for %s locations: status %d: %s", x.locations, w.Code, w.Body)
		}
		waitReady(t, s, 0)
		if n := fmt.Sprint(look(get(t, s, api+"/waits"), "locations")); n != x.locations {
			t.Errorf("found %s locations, want %s", n, x.locations)
		}
		if n := s.traceAt(t, 0).found.Defects; n != x.defects {
			t.Errorf("found %d defects for %s locations, want %d", n, x.locations, x.defects)
		}
	}
}

// TestFailureAfterChange checks that an analysis that fails because an open file has become shorter since the
// trace was indexed asks to wait for the new index (409), as docs/viewer.md says.
func TestFailureAfterChange(t *testing.T) {
	path := filepath.Join(t.TempDir(), "g.etf")
	writeGenerated(t, path, 3000)
	s := newTestServer(t, options(t), path)
	api := waitReady(t, s, 0)
	get(t, s, api+"/calltree") // opens the file
	if err := os.Truncate(path, 20_000); err != nil {
		t.Fatal(err)
	}
	if w := ask(s, "GET", api+"/structure"); w.Code != 409 || w.Header().Get("Retry-After") == "" {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
}

// TestFailedForNow checks that the server indexes a trace again after a failure because of a full disk, but
// not after a failure because of a defect of the trace.
func TestFailedForNow(t *testing.T) {
	for _, c := range []struct {
		err   error
		again bool
	}{
		{&fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}, true},
		{&trace.Defect{Rule: "x", Found: "a", Expected: "b"}, false}, {errors.New("odd"), false}} {
		path := filepath.Join(t.TempDir(), "sample.otf2")
		writeSample(t, path)
		h := &heldIndexer{at: make(chan struct{}, 10), result: make(chan error)}
		s := newHeldServer(t, options(t), h, path)
		e := s.traceAt(t, 0)
		api := "/api/traces/" + e.id
		get(t, s, api)
		await.Receive(t, "the index is being built", h.at)
		await.Send(t, "building goes on", h.result, c.err)
		if v := waitIndexed(t, s, api); v["state"] != "failed" {
			t.Fatalf("%v: found %v", c.err, v)
		}
		e.mu.Lock()
		e.failed = e.failed.Add(-retryDelay)
		e.mu.Unlock()
		if state := get(t, s, api)["state"]; (state == "indexing") != c.again {
			t.Errorf("%v: found the state %v later", c.err, state)
		}
		if c.again {
			await.Receive(t, "the index is being built", h.at)
			await.Send(t, "building goes on", h.result, nil)
			waitReady(t, s, 0)
		}
	}
}

// TestLargeAnswers checks the limits for large answers that are being sent or computed.
func TestLargeAnswers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sample.otf2")
	writeSample(t, path)
	s := newTestServer(t, options(t), path)
	api := waitReady(t, s, 0)
	send := func(n int) int {
		w := httptest.NewRecorder()
		s.sendAnswer(w, httptest.NewRequest("GET", "/", nil), 200, "text/plain", make([]byte, n))
		return w.Code
	}
	if c := send(largeAnswer); c != 200 {
		t.Errorf("a large one: status %d", c)
	}
	s.sending.Store(maxSending)
	if c := send(largeAnswer); c != 503 {
		t.Errorf("too much: status %d", c)
	}
	if c := send(largeAnswer - 1); c != 200 {
		t.Errorf("a small one: status %d", c)
	}
	if n := s.sending.Load(); n != maxSending {
		t.Errorf("found %d bytes that are sent, want %d", n, maxSending)
	}
	for range cap(s.heavyAnswers) {
		s.heavyAnswers <- struct{}{}
	}
	ctx, leave := context.WithCancel(t.Context())
	leave() // the request gives up before its turn
	r := httptest.NewRequest("GET", api+"/profile", nil).WithContext(ctx)
	r.Host = "localhost"
	r.Header.Set("Authorization", "Bearer "+secret)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if w.Code != 503 {
		t.Errorf("a profile too many: status %d", w.Code)
	}
	if w := ask(s, "GET", api+"/span?track=0&depth=1&time=20"); w.Code != 200 {
		t.Errorf("a span meanwhile: status %d", w.Code)
	}
	<-s.heavyAnswers
	if w := ask(s, "GET", api+"/profile"); w.Code != 200 {
		t.Errorf("a profile with room for it: status %d", w.Code)
	}
}
