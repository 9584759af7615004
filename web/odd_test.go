package web_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/all"
	"github.com/weft-trace/weft/trace"
)

// odd is what odd.mjs saw of a trace.
type odd struct {
	Name, Failure, Text string
	Errors              []string
	Images              int
	Drawn               bool
	View                struct {
		Length string
		Rows   int
	}
}

// save writes what was recorded to a file whose name tells the format.
func save(t *testing.T, name string, r *trace.Recorder) string {
	t.Helper()
	f, ok := format.ByExtension(all.Formats(), name)
	if !ok {
		t.Fatalf("%s: no such format", name)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := format.Save(t.Context(), path, f, r); err != nil {
		t.Fatal(err)
	}
	return path
}

// truncated copies the folder of a trace, of one file of which two thirds are left.
func truncated(t *testing.T, main, file string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Dir(main))); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, file)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, info.Size()*2/3); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, filepath.Base(main))
}

const script = `<img src=x onerror=alert(1)>`

// Odd traces: whatever is in them, the page shows it or says why not, and nothing goes wrong.
func TestOddTraces(t *testing.T) {
	browser(t)
	ns := trace.Seconds(1_000_000_000)
	const unix = 1_700_000_000_123_456_789
	cases := []struct {
		name string
		path string
		rows int    // expected, if not 0
		span uint64 // the expected length, if not 0
		text string // that the page has to show
	}{
		{name: "empty-etf", path: save(t, "empty.etf", trace.NewRecorder(ns)), text: "no events"},
		{name: "empty-otf2", path: save(t, "empty.otf2", trace.NewRecorder(ns)), text: "no events"},
		{name: "one", path: one(t, ns), rows: 1},
		{name: "many", path: many(t, ns), rows: 10_000, span: 10_000 + 60},
		{name: "deep", path: deep(t, ns), rows: 1, span: 2*million - 1},
		{name: "unbalanced", path: unbalanced(t, ns), rows: 2},
		{name: "short", path: short(t, ns), rows: 1},
		{name: "instant", path: "../format/pallas/testdata/ok/samets/trace/main.pallas"},
		{name: "unix", path: long(t, ns, unix, unix+1000), rows: 2, span: 1000},
		{name: "long", path: long(t, ns, 0, 1<<60), rows: 2, span: 1 << 60},
		{name: "longest", path: "../format/otf/testdata/ok/bigtime/bigtime.otf", span: math.MaxInt64},
		{name: "overflow", path: "../format/otf/testdata/ok/hand_overflow/hand_overflow.otf"},
		{name: "names", path: named(t, ns, "names.otf2", "مرحبا بالعالم", "计算矩阵乘法", "🧵🪡🧶", "e\u0301\u202egnirts"), rows: 4, text: "计算矩阵乘法"},
		{name: "script", path: named(t, ns, "<b onclick=alert(2)>.otf2", script, script+"\x00\x1b[31m", `"><svg/onload=alert(3)>`), rows: 3, text: script},
		{name: "records", path: "../format/otf2/testdata/ok/snapshots/all.otf2"},
		{name: "cut-etf", path: truncated(t, "../examples/odse.etf", "odse.etf")},
		{name: "cut-picl", path: truncated(t, "../examples/ring.trf", "ring.trf")},
		{name: "cut-otf", path: truncated(t, "../format/otf/testdata/ok/mpi4/mpi4.otf", "mpi4.2.events")},
		{name: "cut-otf2", path: truncated(t, "../format/otf2/testdata/ok/heat2d-mt/traces.otf2", "traces/1.evt")},
		{name: "cut-otf2-definitions", path: truncated(t, "../format/otf2/testdata/ok/heat2d-mt/traces.otf2", "traces.def")},
		{name: "cut-pallas", path: truncated(t, "../format/pallas/testdata/ok/abi18_mpi/trace/main.pallas", "archive_0/thread_0/thread.pallas")},
	}
	var list []map[string]any
	for _, c := range cases {
		list = append(list, map[string]any{"name": c.name, "url": view(t, c.path)})
	}
	var out []odd
	play(t, "odd.mjs", map[string]any{"traces": list}, &out)
	if len(out) != len(cases) {
		t.Fatalf("found %d traces seen, expected %d", len(out), len(cases))
	}
	for i, s := range out {
		c := cases[i]
		t.Run(s.Name, func(t *testing.T) {
			for _, e := range s.Errors {
				t.Error(e)
			}
			if s.Failure != "" {
				t.Error(s.Failure)
			}
			if s.Images != 0 {
				t.Errorf("found %d elements that names may have made, expected none", s.Images)
			}
			if !s.Drawn && strings.TrimSpace(s.Text) == "" {
				t.Error("found neither a picture nor a word")
			}
			if c.rows != 0 && s.View.Rows != c.rows {
				t.Errorf("found %d rows, expected %d", s.View.Rows, c.rows)
			}
			if c.span != 0 && s.View.Length != fmt.Sprint(c.span) {
				t.Errorf("found a length of %s, expected %d", s.View.Length, c.span)
			}
			if !strings.Contains(s.Text, c.text) {
				t.Errorf("found %q, expected %q in it", s.Text, c.text)
			}
		})
	}
}

func one(t *testing.T, c trace.Clock) string {
	r := trace.NewRecorder(c)
	r.Enter(r.Location("only"), 5, r.Region("main"))
	return save(t, "one.otf2", r)
}

func many(t *testing.T, c trace.Clock) string {
	r := trace.NewRecorder(c)
	a, b := r.Region("a"), r.Region("b")
	for i := range int64(10_000) {
		l := r.Location(fmt.Sprint("p", i))
		r.Enter(l, i, a)
		r.Enter(l, i+20, b)
		r.Leave(l, i+40, b)
		r.Leave(l, i+61, a)
	}
	return save(t, "many.trf", r)
}

const million = 1_000_000

func deep(t *testing.T, c trace.Clock) string {
	r := trace.NewRecorder(c)
	l, f := r.Location("main"), r.Region("descend")
	for i := range int64(million) {
		r.Enter(l, i, f)
	}
	for i := range int64(million) {
		r.Leave(l, million+i, f)
	}
	return save(t, "deep.otf2", r)
}

// unbalanced has visits that never end, ends of what never began, and ends in the wrong order.
func unbalanced(t *testing.T, c trace.Clock) string {
	r := trace.NewRecorder(c)
	l, m := r.Location("one"), r.Location("two")
	f, g := r.Region("f"), r.Region("g")
	for i := range int64(50) {
		r.Leave(l, 10*i, f)
		r.Enter(l, 10*i+1, g)
		r.Enter(l, 10*i+4, f)
		r.Leave(l, 10*i+7, g)
		r.Enter(m, 10*i+2, f)
	}
	return save(t, "unbalanced.otf2", r)
}

// short has spans of no length, alone and many at one time.
func short(t *testing.T, c trace.Clock) string {
	r := trace.NewRecorder(c)
	l, f, g := r.Location("main"), r.Region("f"), r.Region("g")
	for i := range int64(100) {
		for range i {
			r.Enter(l, 100*i, f)
			r.Enter(l, 100*i, g)
			r.Leave(l, 100*i, g)
			r.Leave(l, 100*i, f)
		}
	}
	return save(t, "short.otf2", r)
}

// long has a few spans of all lengths between two times.
func long(t *testing.T, c trace.Clock, from, to int64) string {
	r := trace.NewRecorder(c)
	a, b, f := r.Location("one"), r.Location("two"), r.Region("f")
	r.Enter(a, from, f)
	r.Send(a, from+1, b, 7, 1<<40)
	for d := to - from; d > 2; d /= 2 {
		r.Enter(b, to-d, f)
		r.Leave(b, to-d+d/4, f)
	}
	r.Recv(b, to-1, a, 7, 1<<40)
	r.Leave(a, to, f)
	return save(t, "long.otf2", r)
}

// named has locations and regions of some names, which attributes have too.
func named(t *testing.T, c trace.Clock, file string, names ...string) string {
	r := trace.NewRecorder(c)
	for i, n := range names {
		l, f := r.Location(n), r.Region(n)
		for k := range int64(20) {
			r.Enter(l, 100*k+int64(i), f, trace.Attr{Key: n, Value: trace.StringValue(n)})
			r.Mark(l, 100*k+20, f, trace.Attr{Key: n, Value: trace.StringValue(n)})
			r.Leave(l, 100*k+80, f)
		}
	}
	return save(t, file, r)
}

// A trace that is still being read: the page says how far that is, and then shows it.
func TestProgress(t *testing.T) {
	browser(t)
	path := filepath.Join(t.TempDir(), "large.trf")
	say(t, "generate", "--events", "5000000", "--workload", "stencil", path)
	var out struct {
		Seen []struct {
			Value       float64
			Text, Title string
		}
		View   struct{ Rows int }
		Errors []string
	}
	// Indexing begins when the page asks for the trace, however long the browser took until then.
	c := program(t, "serve", "--quiet", filepath.Dir(path))
	play(t, "progress.mjs", map[string]any{"command": c.Args, "env": map[string]string{"WEFT_CACHE": cacheDir()}}, &out)
	for _, e := range out.Errors {
		t.Error(e)
	}
	if len(out.Seen) == 0 {
		t.Error("the page did not tell of its progress")
	}
	last := 0.0
	for _, s := range out.Seen {
		if s.Value < last || s.Value > 1 || !strings.Contains(s.Text, "large.trf") || !strings.Contains(s.Text, "%") {
			t.Errorf("found the progress %v after %v, and %q", s.Value, last, s.Text)
		}
		last = s.Value
	}
	if out.View.Rows == 0 {
		t.Error("found no rows")
	}
}
