package web_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format/otf2"
	"github.com/weft-trace/weft/generate"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/tracetest"
)

// few has spans of few ticks, at depth 1: a from 1 to 3, b from 3 to 4, c from 5 to 9.
func few(t *testing.T, c trace.Clock) string {
	r := trace.NewRecorder(c)
	l, main := r.Location("main"), r.Region("main")
	r.Enter(l, 100, main)
	for _, s := range fewSpans {
		f := r.Region(s.name)
		r.Enter(l, 100+s.start, f)
		r.Leave(l, 100+s.end, f)
	}
	r.Leave(l, 112, main)
	return save(t, "few.otf2", r)
}

var fewSpans = []struct {
	name       string
	start, end int64
}{{"a", 1, 3}, {"b", 3, 4}, {"c", 5, 9}}

// nested has so many calls within each other.
func nested(t *testing.T, c trace.Clock, depth int) string {
	r := trace.NewRecorder(c)
	l, f := r.Location("main"), r.Region("descend")
	for i := range int64(depth) {
		r.Enter(l, i, f)
	}
	for i := range int64(depth) {
		r.Leave(l, int64(depth)+i, f)
	}
	return save(t, "nested.otf2", r)
}

// bundleSelected is what begins the details of many messages.
var bundleSelected = regexp.MustCompile(`^\d{2,} messages`)

// messages has so many of them that they are drawn in bundles.
func messages(t *testing.T) string {
	g, err := generate.New(generate.Options{Workload: "stencil", Locations: 4, Events: 100_000, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "messages.otf2")
	tracetest.Encode(t, otf2.Format, g, path)
	return path
}

// What the page shows is what is in the traces, also where that is more than can be drawn.
func TestShown(t *testing.T) {
	browser(t)
	ns := trace.Seconds(1_000_000_000)
	var names []string
	for i := range 30 {
		names = append(names, fmt.Sprint(i, " ", strings.Repeat("a long name ", 20_000/12)))
	}
	type hints struct {
		Shown                bool
		Words, Tab, Selected string
		Rows                 []string
	}
	type mark struct{ Mark, Title string }
	type picture struct{ Took, Bytes int }
	type seen struct {
		Details, Trace string
		Paths          []string
	}
	var out struct {
		Ticks struct {
			Picks []struct {
				Window                 string
				Tick                   int64
				Part                   float64
				Tip, Title, Start, End string
			}
			Errors []string
		}
		Levels         struct{ Before, After mark }
		Sound, Damaged hints
		Pictures       struct {
			PNG, SVG picture
			Errors   []string
		}
		Minimap []float64
		Again   struct {
			First, Second seen
			Errors        []string
		}
	}
	sound := few(t, ns)
	play(t, "shown.mjs", map[string]any{
		"ticks": view(t, sound), "sound": view(t, sound), "levels": view(t, nested(t, ns, 600)), "damaged": view(t, truncated(t, "../examples/ring.trf", "ring.trf")),
		"names": view(t, named(t, ns, "names.otf2", names...)), "two": serving(t, "view", "--no-open", "--quiet", nested(t, ns, 600), unbalanced(t, ns)),
		"again": serving(t, "view", "--no-open", "--quiet", messages(t), nested(t, ns, 600)),
	}, &out)

	for _, p := range out.Ticks.Picks {
		// a span holds the ticks from its start to the one before its end
		name, start, end := "", "", ""
		for _, s := range fewSpans {
			if s.start <= p.Tick && p.Tick < s.end {
				name, start, end = s.name, fmt.Sprint(s.start, " ns"), fmt.Sprint(s.end, " ns")
			}
		}
		what := fmt.Sprintf("tick %d + %v of %s", p.Tick, p.Part, p.Window)
		if p.Title != name || p.Start != start || p.End != end {
			t.Errorf("%s: a click selects %q from %q to %q, expected %q from %q to %q", what, p.Title, p.Start, p.End, name, start, end)
		}
		if tip, _, _ := strings.Cut(p.Tip, "\n"); tip != name || name != "" && (!strings.Contains(p.Tip, "from "+start) || !strings.Contains(p.Tip, fmt.Sprintf("at %d ", p.Tick))) {
			t.Errorf("%s: the tip is %q, expected %q from %s at %d ns", what, p.Tip, name, start, p.Tick)
		}
	}
	for _, e := range slices.Concat(out.Ticks.Errors, out.Pictures.Errors, out.Again.Errors) {
		t.Error(e)
	}

	// 600 levels, of which 255 can be drawn and 8 are
	if m := out.Levels.Before; m.Mark != "+247 or more" || !strings.Contains(m.Title, "247 or more levels below") {
		t.Errorf("beside a row of 600 levels stands %+v", m)
	}
	if m := out.Levels.After; m.Mark != "255+" || !strings.Contains(m.Title, "not drawn") {
		t.Errorf("beside a row of 600 levels, of which 255 are shown, stands %+v", m)
	}

	if s := out.Sound; s.Shown || s.Tab != "Defects" {
		t.Errorf("of a trace without defects the first screen says %+v", s)
	}
	d := &out.Damaged
	if !d.Shown || d.Selected != d.Tab || len(d.Rows) == 0 {
		t.Fatalf("of a damaged trace the first screen says %+v", *d)
	}
	count := map[string]int{}
	for _, severity := range d.Rows {
		count[severity]++
	}
	if d.Tab != fmt.Sprint("Defects ", len(d.Rows)) || count["error"] != 1 || count["warning"] < 2 || !strings.Contains(d.Words, fmt.Sprintf("1 error, %d warnings", count["warning"])) {
		t.Errorf("the first screen says %q and %q, of the defects %q", d.Words, d.Tab, d.Rows)
	}

	for kind, p := range map[string]picture{"PNG": out.Pictures.PNG, "SVG": out.Pictures.SVG} {
		if p.Took > 5000 || p.Bytes < 1000 {
			t.Errorf("%s of a trace with long names took %d ms and has %d bytes", kind, p.Took, p.Bytes)
		}
	}
	if p := out.Pictures.SVG; p.Bytes > 2_000_000 {
		t.Errorf("a SVG of 30 names of 20 000 letters has %d bytes", p.Bytes)
	}

	// a link shows the same: a bundle, the trace of the tables, and which call paths are open
	if a, b := out.Again.First, out.Again.Second; fmt.Sprint(a) != fmt.Sprint(b) || a.Trace != "1" || len(a.Paths) != 2 || !bundleSelected.MatchString(a.Details) {
		t.Errorf("a page shows %+v, and a new one of its address %+v", a, b)
	}

	// each trace has its half
	n := len(out.Minimap)
	for i, half := range [][]float64{out.Minimap[:n/2-1], out.Minimap[n/2+1:]} {
		most := 0.0
		for _, part := range half {
			most = max(most, part)
		}
		if most < 0.2 {
			t.Errorf("in half %d of the mini-map at most %v of a line has colours", i, most)
		}
	}
}
