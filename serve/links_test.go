package serve

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weft-trace/weft/internal/await"
	"github.com/weft-trace/weft/trace"
)

// linkDetails requests the details of the links that begin in a window. The keys of the result consist of the
// begin time and the tag of a link.
func linkDetails(t *testing.T, s *Server, api, window string) map[string]map[string]any {
	t.Helper()
	out := map[string]map[string]any{}
	for _, l := range get(t, s, api+"/links?"+window)["links"].([]any) {
		v := get(t, s, fmt.Sprintf("%s/link?link=%v&track=%v&time=%v", api, look(l, "id"), look(l, "from/track"),
			look(l, "from/time")))
		out[fmt.Sprint(look(l, "from/time"), " ", look(l, "tag"), " ", look(l, "to/time"))] = v
	}
	return out
}

// TestEndsOfMessages checks the details of the send and the receive of messages, some of which are
// equal.
func TestEndsOfMessages(t *testing.T) {
	path := filepath.Join(t.TempDir(), "messages.otf2")
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	a, b, c := r.Location("a"), r.Location("b"), r.Location("c")
	main := r.Region("main")
	note := func(s string) trace.Attr { return trace.Attr{Key: "note", Value: trace.StringValue(s)} }
	for _, l := range []uint32{a, b, c} {
		r.Enter(l, 0, main)
	}
	ops := func(peer uint32, tag uint64) []uint64 { return []uint64{uint64(peer), trace.Undefined, tag, 64} }
	r.Event(a, 10, trace.Send, trace.NoRef, ops(c, 7), note("other receiver"))
	r.Event(a, 10, trace.Send, trace.NoRef, ops(b, 8), note("other tag"))
	r.Event(a, 10, trace.Send, trace.NoRef, ops(b, 7), note("first sent"))
	r.Event(a, 10, trace.Send, trace.NoRef, ops(b, 7), note("second sent"))
	r.Event(b, 20, trace.Recv, trace.NoRef, ops(a, 8), note("other received"))
	r.Event(b, 30, trace.Recv, trace.NoRef, ops(a, 7), note("first received"))
	r.Event(b, 40, trace.Recv, trace.NoRef, ops(a, 7), note("second received"))
	r.Event(a, 50, trace.Send, trace.NoRef, ops(b, 7), note("third sent"))
	r.Event(a, 55, trace.Send, trace.NoRef, ops(b, 7), note("fourth sent"))
	r.Event(b, 60, trace.Recv, trace.NoRef, ops(a, 7), note("third received"))
	r.Event(b, 60, trace.Recv, trace.NoRef, ops(a, 7), note("fourth received"))
	for _, l := range []uint32{a, b, c} {
		r.Leave(l, 100, main)
	}
	save(t, path, r)
	s := newTestServer(t, options(t), path)
	api := waitReady(t, s, 0)
	got := linkDetails(t, s, api, "")
	for key, want := range map[string]string{
		"10 8 20": "other tag, other received", "10 7 30": "first sent, first received",
		"10 7 40": "second sent, second received",
		"50 7 60": "third sent, third received", "55 7 60": "fourth sent, fourth received",
	} {
		v := got[key]
		checkAnswer(t, s, "LinkDetails", v)
		if x := fmt.Sprint(attributesOf(v["from"])["note"], ", ", attributesOf(v["to"])["note"]); x != want ||
			look(v, "from/kind") != "send" || look(v, "to/kind") != "recv" || look(v, "partial") != false {
			t.Errorf("message %s: found %s in %v, want %s", key, x, v, want)
		}
		// Operands are shown as names instead of ids.
		if from, to := attributesOf(v["from"])["receiver"], attributesOf(v["to"])["sender"]; from != "b" || to != "a" {
			t.Errorf("message %s: found the receiver %s and the sender %s, want b and a", key, from, to)
		}
	}
	if len(got) != 5 {
		t.Errorf("found %d messages, want 5", len(got))
	}
	if w := ask(s, "GET", api+"/link?link=7.7&track=0&time=10"); w.Code != 404 {
		t.Errorf("a link that is not there: status %d", w.Code)
	}
	if w := ask(s, "GET", api+"/link?link=0.0&track=0&time=11"); w.Code != 404 {
		t.Errorf("a link that begins elsewhere: status %d", w.Code)
	}
}

// TestDependenciesOfLargeTrace checks that the attributes of a dependency and of its ends are found in a large
// trace. The test adds comments to make the file large.
func TestDependenciesOfLargeTrace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "large.etf")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	write := func(text string) {
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	write("TU SECONDS\nR 0 9 false ; name=disk\nR 1 9 false ; name=cpu\n")
	write("C 0 1 5 0 1 ; name=read, n=first\nC 1 2 5 0 1 ; name=read, n=second\n" +
		"C 2 5 9 1 1 ; name=work, n=third\nC 3 5 8 1 1 ; name=work, n=fourth\nE 0 6 ; name=tick, n=fifth\n")
	// The types of dependencies are: 2 from end to start, 0 from start to start, 6 from the end of a claim to
	// an event.
	write("D 7 2 1 2 ; type=data, size=4\nD 8 2 0 3 ; type=data, size=5\nD 9 0 0 1 ; why=order\nD 10 6 1 0\n")
	comment := "# " + strings.Repeat("x", 1<<16) + "\n"
	for range 300 {
		write(comment)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	s := newTestServer(t, options(t), path)
	api := waitReady(t, s, 0)
	got := linkDetails(t, s, api, "")
	for key, want := range map[string]string{
		"4 7 4": "map[size:4 type:data] claim-begin second, claim-begin third",
		"4 8 4": "map[size:5 type:data] claim-begin first, claim-begin fourth",
		"0 9 1": "map[why:order] claim-begin first, claim-begin second", "4 10 5": "map[] claim-begin second, mark fifth",
	} {
		v := got[key]
		x := fmt.Sprintf("%v %v %s, %v %s", attributesOf(v["link"]), look(v, "from/kind"), attributesOf(v["from"])["n"],
			look(v, "to/kind"), attributesOf(v["to"])["n"])
		if x != want || look(v, "partial") != false {
			t.Errorf("dependency %s: found %s, partial %v, want %s", key, x, look(v, "partial"), want)
		}
	}
	if len(got) != 4 {
		t.Errorf("found the dependencies %v, want 4", got)
	}
	// The answer about a span includes the attributes of its links.
	v := get(t, s, api+"/span?track=0&depth=0&time=0")
	found := 0
	for _, l := range v["links"].([]any) {
		if len(attributesOf(l)) > 0 {
			found++
		}
	}
	if found != 3 {
		t.Errorf("found attributes of %d links of a claim, want those of 3", found)
	}
}

// TestLinkTable checks that a table contains all links at each time that it covers, for several
// memory limits.
func TestLinkTable(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	defs := &trace.Definitions{}
	var links []trace.Link
	for id := range int64(5000) {
		at := rnd.Int64N(10_000) - 5000
		links = append(links, trace.Link{ID: id, Src: trace.End{Kind: trace.AtClaimEnd, ID: id + 1, Time: at},
			Dst:   trace.End{ID: id + 2, Time: at + 3},
			Attrs: []trace.Attr{{Key: "a\"", Value: trace.IntValue(id % 50)}, {Key: "", Value: trace.StringValue("\x00")}}})
	}
	for _, limit := range []int{1 << 30, 100_000, 20_000, 1} {
		const center = 2000
		table := newLinkTable(center, limit)
		for i := range links {
			table.add(&links[i], defs)
		}
		table.finish()
		if n := len(table.rows)*rowBytes + table.bytes; n > limit {
			t.Errorf("limit %d: found %d bytes", limit, n)
		}
		has := 0
		for i := range links {
			l := &links[i]
			d := table.find(l.ID, l.Src.Time, l.Dst.Time)
			if (d != nil) != table.covers(l.Src.Time) {
				t.Fatalf("limit %d: the table covers %d: %v; found %v", limit, l.Src.Time, table.covers(l.Src.Time), d)
			}
			if d == nil {
				continue
			}
			has++
			if want := []attribute{{"a\"", fmt.Sprint(l.ID % 50)}, {"", trace.ToUTF8("\x00")}}; fmt.Sprint(d.attributes) !=
				fmt.Sprint(want) || d.from != (dependencyPoint{trace.AtClaimEnd, l.ID + 1}) || d.to.id != l.ID+2 {
				t.Fatalf("limit %d: found %v of link %d, want %v", limit, d, l.ID, want)
			}
			if table.find(l.ID, l.Src.Time, l.Dst.Time+1) != nil {
				t.Fatalf("limit %d: found a link that is not there", limit)
			}
		}
		if least := min(len(links), limit/rowBytes/8); has < least {
			t.Errorf("limit %d: found %d links, want at least %d", limit, has, least)
		}
	}
}

// TestPartial checks that clients must not cache an incomplete answer.
func TestPartial(t *testing.T) {
	d := &summaryFile{}
	s := newSlowServer(t, d)
	get(t, s, "/api/traces/"+s.traceAt(t, 0).id)
	await.Send(t, "the scan goes on", d.release, struct{}{})
	api := waitReady(t, s, 0)
	const question = "/span?track=0&depth=1&time=20"
	s.detailTime = 10 * time.Millisecond
	w := ask(s, "GET", api+question) // no context ends before the scan is cancelled by the time limit
	if v := decoded(t, w); v["partial"] != true || w.Header().Get("ETag") != "" ||
		w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("found partial %v and the header %v", v["partial"], w.Header())
	}
	close(d.release)
	s.detailTime = time.Hour
	w = ask(s, "GET", api+question)
	if v := decoded(t, w); v["partial"] != false || w.Header().Get("ETag") == "" || attributesOf(v)["step"] != "5" {
		t.Errorf("found %v and the header %v", v, w.Header())
	}
}
