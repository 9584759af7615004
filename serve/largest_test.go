package serve

import (
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"github.com/weft-trace/weft/trace"
)

// TestLargestTime uses a trace with a visit, a mark and a message at the largest possible time. The page
// requests windows that end one tick after this time.
func TestLargestTime(t *testing.T) {
	const last = math.MaxInt64
	for _, first := range []int64{0, last - 1000} {
		path := filepath.Join(t.TempDir(), "a.otf2")
		r := trace.NewRecorder(trace.TicksPerSecond(1_000_000_000))
		a, b := r.Location("a"), r.Location("b")
		main, late := r.Region("main"), r.Region("late")
		r.Enter(a, first, main)
		r.Enter(b, first, main)
		r.Send(a, last-5, b, 1, 64)
		r.Recv(b, last, a, 1, 64)
		r.Enter(a, last, late)
		r.Leave(a, last, late)
		r.Mark(a, last, late)
		r.Leave(a, last, main)
		r.Leave(b, last, main)
		save(t, path, r)
		s := newTestServer(t, options(t), path)
		api := waitReady(t, s, 0)
		length := uint64(last - first)
		window := fmt.Sprintf("?from=%d&to=%d", length-9, length+1)
		for _, x := range []struct{ question, at, want string }{
			{"/profile" + window, "rows/0/count", "2"},
			{"/profile" + window, "rows/0/inclusive", "18"},
			{"/profile" + window, "rows/1/name", "late"},
			{"/profile" + window, "rows/1/count", "1"},
			{"/calltree" + window, "roots/0/children/0/count", "1"},
			{"/calls" + window + "&regions=1", "calls/0/start", fmt.Sprint(length)},
			{"/hit?regions=1&time=0&direction=next", "number", "1"},
			{"/hit?regions=1&time=0&direction=next", "total", "1"},
			{"/hit?regions=0&time=0&direction=previous&track=1", "total", "2"},
			{fmt.Sprintf("/instant?track=0&time=%d", length), "name", "late"},
			{"/links" + window + "&tracks=0,1", "links/0/to/time", fmt.Sprint(length)},
			{fmt.Sprintf("/links?from=%d&to=%d&tracks=0,1", length, length+1), "total", "1"},
			{"/matrix" + window, "rows/0/count", "1"},
		} {
			if got := fmt.Sprint(look(get(t, s, api+x.question), x.at)); got != x.want {
				t.Errorf("from %d: %s: %s is %s, expected %s", first, x.question, x.at, got, x.want)
			}
		}
		// With 10 columns for 10 ticks, the largest time is in the last column.
		w := ask(s, "GET", api+"/tiles"+window+"&width=10&tracks=0&depths=2")
		// The answer begins with 24 bytes of head, 16 bytes for each strip, and the regions. Then follow the
		// first columns and the numbers of columns of the runs.
		body := w.Body.Bytes()
		if w.Code != 200 || len(body) < 24 {
			t.Fatalf("tile: status %d: %s", w.Code, w.Body)
		}
		strips, runs := int(body[8]), int(body[12])
		x := 24 + 16*strips + 4*runs
		if got := fmt.Sprint(body[x], body[x+2], body[x+2*runs]); strips < 2 || runs < 2 || got != "0 9 9" {
			t.Errorf("from %d: main, late: found %d strips and %d runs, first columns and length %s; expected 0, 9, and 9",
				first, strips, runs, got)
		}
	}
}

// TestReceivedInWindow checks that a message counts for its receiver in the window in which it is
// received.
func TestReceivedInWindow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.otf2")
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	a, b, main := r.Location("a"), r.Location("b"), r.Region("main")
	r.Enter(a, 0, main)
	r.Enter(b, 0, main)
	r.Send(a, 10, b, 1, 64)
	r.Recv(b, 30, a, 1, 64)
	r.Leave(a, 50, main)
	r.Leave(b, 50, main)
	save(t, path, r)
	s := newTestServer(t, options(t), path)
	api := waitReady(t, s, 0)
	for window, want := range map[string]string{
		"from=0&to=20": "1 0 0 0 1", "from=20&to=40": "0 1 64 0 0", "from=40&to=51": "0 0 0 0 0",
	} {
		d := get(t, s, api+"/locations?"+window)
		m := get(t, s, api+"/matrix?"+window)
		got := fmt.Sprint(look(d, "rows/0/sent"), " ", look(d, "rows/1/received"), " ",
			look(d, "rows/1/receivedBytes"), " ", look(d, "rows/0/received"), " ", look(m, "rows/len"))
		if got != want {
			t.Errorf("%s: found %s sent, received, bytes, received by the sender, and pairs; expected %s", window, got, want)
		}
	}
}
