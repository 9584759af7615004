package serve

import (
	"context"
	"errors"
	"io/fs"
	"net/http/httptest"
	"os"
	"path/filepath"
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
