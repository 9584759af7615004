package serve

import (
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/weft-trace/weft/trace"
)

// TestCalls checks the calls of a region in a window, by duration and above a minimal duration. The
// expected numbers were counted by hand.
func TestCalls(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sample.otf2")
	writeSample(t, path)
	s := newTestServer(t, options(t), path)
	api := waitReady(t, s, 0)
	for _, x := range []struct{ query, path, want string }{
		{"/calls?regions=1", "calls/len", "2"}, {"/calls?regions=1", "calls/0/start", "10"},
		{"/calls?regions=1", "calls/0/end", "50"}, {"/calls?regions=1", "calls/1/start", "60"},
		{"/calls?regions=1", "more", "false"},
		{"/calls?regions=1&least=6", "calls/len", "1"}, {"/calls?regions=1&limit=1", "more", "true"},
		{"/calls?regions=1&limit=1", "calls/0/start", "10"},
		// In the window are 2 of the 40 ticks of the first call, and 5 ticks of the second call.
		{"/calls?regions=1&from=48&to=100&by=part", "calls/0/start", "60"},
		{"/calls?regions=1&from=48&to=100&by=part", "calls/1/start", "10"},
		{"/calls?regions=1&from=48&to=100&by=part&least=3", "calls/len", "1"},
		{"/calls?regions=1&from=48&to=100&least=40", "calls/len", "1"},
		{"/calls?regions=1&from=48&to=100", "calls/0/start", "10"},
		{"/calls?regions=1&from=48&to=100&limit=1", "calls/0/start", "10"},
		{"/calls?regions=1&from=51&to=59", "calls/len", "0"},
		// main is open beyond both ends of the window, and the answer has the actual end of the call.
		{"/calls?regions=0&from=20&to=30&tracks=0", "calls/0/end", "100"}, {"/calls?regions=0,1", "calls/len", "4"},
		{"/hit?regions=1&time=-1", "span/start", "10"}, {"/hit?regions=1&time=-1", "number", "1"},
		{"/hit?regions=1&time=-1", "total", "2"},
		{"/hit?regions=1&time=10", "number", "2"}, {"/hit?regions=1&time=60&direction=previous", "number", "1"},
		// main begins at 0 on one track, and at 5 on the other track.
		{"/hit?regions=0&time=0", "number", "2"}, {"/hit?regions=0&time=0", "span/track", "1"},
	} {
		if got := fmt.Sprint(look(get(t, s, api+x.query), x.path)); got != x.want {
			t.Errorf("%s: %s is %s, want %s", x.query, x.path, got, x.want)
		}
	}
	for _, query := range []string{"/calls", "/calls?regions=99", "/calls?regions=1&least=-1", "/calls?regions=1&by=x",
		"/hit?regions=x&time=0", "/hit?regions=1"} {
		if w := ask(s, "GET", api+query); w.Code != 400 {
			t.Errorf("%s: status %d, want 400", query, w.Code)
		}
	}
	if w := ask(s, "GET", api+"/hit?regions=1&time=60"); w.Code != 204 {
		t.Errorf("after the last: status %d, want 204", w.Code)
	}
}

// TestLastTick checks the answers about the end of a trace that ends at the largest time.
func TestLastTick(t *testing.T) {
	const end, length = math.MaxInt64, "1000"
	path := filepath.Join(t.TempDir(), "late.otf2")
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	p, q := r.Location("p"), r.Location("q")
	all, last, m := r.Region("all"), r.Region("last"), r.Counter("queue", "")
	r.Enter(p, end-1000, all)
	r.Value(p, end-1000, m, 1)
	r.Enter(q, end-1, last)
	r.Leave(q, end, last)
	r.Value(p, end, m, 7)
	r.Enter(p, end, last)
	r.Leave(p, end, last)
	r.Leave(p, end, all)
	save(t, path, r)
	s := newTestServer(t, options(t), path)
	api := waitReady(t, s, 0)
	// int64 cannot represent an exclusive end after the last tick.
	for _, x := range []struct{ query, path, want string }{
		{"", "length", length},
		{"/profile?from=960&to=1001", "rows/1/count", "2"}, {"/profile", "rows/1/count", "2"},
		{"/profile?from=1000&to=1001", "rows/len", "1"}, {"/profile?from=1000&to=1001", "rows/0/count", "1"},
		{"/calltree?from=960&to=1001", "roots/0/children/0/count", "1"},
		{"/calls?regions=1&from=960&to=1041", "calls/len", "2"}, {"/calls?regions=1", "calls/1/start", length},
		{"/counters?from=1000&to=1001", "rows/0/first", "7"}, {"/counters", "rows/0/samples", "2"},
		{"/span?track=0&depth=1&time=1000", "span/start", length},
		{"/hit?regions=1&time=0", "number", "1"}, {"/hit?regions=1&time=0", "span/start", "999"},
		{"/hit?regions=1&time=999&track=2", "number", "2"}, {"/hit?regions=1&time=999&track=2", "total", "2"},
	} {
		if got := fmt.Sprint(look(get(t, s, api+x.query), x.path)); got != x.want {
			t.Errorf("%s: %s is %s, want %s", x.query, x.path, got, x.want)
		}
	}
	// With 82 columns for 82 ticks, the last span of one track is at column 40, and the last span of the other
	// track ends before that column.
	tile := ask(s, "GET", api+"/tiles?tracks=0-2&width=82&depths=2&from=960&to=1042").Body.Bytes()
	if n := binary.LittleEndian.Uint32(tile[8:]); n != 4 {
		t.Fatalf("found %d strips, want 4", n)
	}
	runs := int(binary.LittleEndian.Uint32(tile[12:]))
	if x := binary.LittleEndian.Uint16(tile[24+16*4+4*runs+2:]); runs != 3 || x != 40 {
		t.Errorf("found %d runs, the second at column %d, want 3 and 40", runs, x)
	}
}

// TestCallsProfile checks windows of a larger trace: the longest call and the number of calls must equal the
// values in the profile, and adjacentCall must visit each call once in either direction.
func TestCallsProfile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "g.otf2")
	writeGenerated(t, path, 3000)
	s := newTestServer(t, options(t), path)
	api := waitReady(t, s, 0)
	length, _ := strconv.ParseInt(fmt.Sprint(get(t, s, api)["length"]), 10, 64)
	integer := func(v any) (n int64) { n, _ = strconv.ParseInt(fmt.Sprint(v), 10, 64); return n }
	for _, w := range [][2]int64{{0, length + 1}, {length / 3, length / 2}, {length / 2, length/2 + 9}} {
		window := fmt.Sprintf("from=%d&to=%d", w[0], w[1])
		for _, row := range get(t, s, api+"/profile?"+window)["rows"].([]any) {
			if fmt.Sprint(look(row, "kind")) != visitRows {
				continue
			}
			v := get(t, s, fmt.Sprintf("%s/calls?%s&by=part&limit=10000&regions=%v", api, window, look(row, "region")))
			first := look(v, "calls/0")
			most := min(integer(look(first, "end")), w[1]) - max(integer(look(first, "start")), w[0])
			if n := fmt.Sprint(look(v, "calls/len")); n != fmt.Sprint(look(row, "count")) || most != integer(look(row, "max")) {
				t.Errorf("%s: %s calls, the longest %d, the profile has %v", window, n, most, row)
			}
		}
	}
	row := look(get(t, s, api+"/profile"), "rows/0")
	total := integer(look(row, "count"))
	step := func(at, track int64, direction string) (start, of, number int64, ok bool) {
		w := ask(s, "GET", fmt.Sprintf("%s/hit?regions=%v&time=%d&track=%d&direction=%s", api, look(row, "region"), at, track,
			direction))
		if w.Code == 204 {
			return 0, 0, 0, false
		}
		v := decoded(t, w)
		if integer(v["total"]) != total {
			t.Fatalf("found %v, want a total of %d", v, total)
		}
		return integer(look(v, "span/start")), integer(look(v, "span/track")), integer(v["number"]), true
	}
	at, track := int64(-1), int64(-1)
	for want := int64(1); want <= min(total, 50); want++ {
		var number int64
		var ok bool
		if at, track, number, ok = step(at, track, "next"); !ok || number != want {
			t.Fatalf("found number %d, %v, want %d", number, ok, want)
		}
	}
	if _, _, number, _ := step(at, track, "previous"); number != min(total, 50)-1 {
		t.Errorf("back: found number %d, want %d", number, min(total, 50)-1)
	}
}
