package web_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var fewSpans = []struct {
	name       string
	start, end int64
}{{"a", 1, 3}, {"b", 3, 4}, {"c", 5, 9}}

// bundleSelected matches the begin of the details of a bundle of messages.
var bundleSelected = regexp.MustCompile(`^\d{2,} messages`)

// TestShown checks that the page shows the content of traces, even if it is more than can be drawn.
func TestShown(t *testing.T) {
	needBrowser(t)
	type mark struct{ Mark, Title string }
	type picture struct{ Letters, Bytes int }
	type seen struct {
		Details, Trace string
		Paths          []string
	}
	var out struct {
		Ticks struct {
			Picks  []pickedSpan
			Errors []string
		}
		Levels         struct{ Before, After mark }
		Sound, Damaged firstScreen
		Pictures       struct {
			PNG, SVG picture
			Errors   []string
		}
		Minimap []float64
		Steps   struct {
			Selections []string
			Errors     []string
		}
		Again struct {
			First, Second seen
			Errors        []string
		}
	}
	url := func(name string) string { return servedTrace(t, name).url }
	both := url("messages") + "," + servedTrace(t, "nested").id
	runScript(t, "shown", map[string]any{
		"ticks": url("few"), "sound": url("few"), "levels": url("nested"), "damaged": url("cut-picl"),
		"names": url("long-names"), "again": both, "steps": url("steps"),
		// This server was started with two traces, so that its page opens both.
		"two": startServing(t, "view", "--no-open", "--quiet", servedTrace(t, "nested").path,
			servedTrace(t, "unbalanced").path),
	}, &out)

	compareSpans(t, out.Ticks.Picks)
	for _, e := range slices.Concat(out.Ticks.Errors, out.Pictures.Errors, out.Again.Errors, out.Steps.Errors) {
		t.Error(e)
	}

	// stepsTrace: work has f before it and k after it. The calls of these regions at depth 2 are no neighbours of it.
	// The first callee of main in the window of the third step is k; the only callee of g is another k.
	if want := []string{"0.0.1.1000000", "0.0.1.2500200", "0.0.1.2500200", "0.0.2.3100000"}; !slices.Equal(
		out.Steps.Selections, want) {
		t.Errorf("the arrow keys select %q, expected %q", out.Steps.Selections, want)
	}

	// 600 levels; 255 of them can be drawn and 8 are drawn
	if m := out.Levels.Before; m.Mark != "+247 or more" || !strings.Contains(m.Title, "247 or more levels below") {
		t.Errorf("beside a row of 600 levels stands %+v", m)
	}
	if m := out.Levels.After; m.Mark != "255+" || !strings.Contains(m.Title, "not drawn") {
		t.Errorf("beside a row of 600 levels, of which 255 are shown, stands %+v", m)
	}

	if s := out.Sound; s.Shown || s.Tab != "Defects" {
		t.Errorf("of a trace without defects the first screen says %+v", s)
	}
	out.Damaged.checkDefects(t)

	for kind, p := range map[string]picture{"PNG": out.Pictures.PNG, "SVG": out.Pictures.SVG} {
		// The part of a name that fits is found in a few steps, not letter by letter.
		if most := longNames * nameLetters; p.Letters > most || p.Letters == 0 || p.Bytes < 1000 {
			t.Errorf("for a %s of a trace with long names %d letters were measured, expected at most %d; it has %d bytes", kind,
				p.Letters, most, p.Bytes)
		}
	}
	if p := out.Pictures.SVG; p.Bytes > 2_000_000 {
		t.Errorf("a SVG of 30 names of 20 000 letters has %d bytes", p.Bytes)
	}

	// A link restores the bundle, the trace of the tables, and the open call paths.
	if a, b := out.Again.First, out.Again.Second; fmt.Sprint(a) != fmt.Sprint(b) || a.Trace != "1" || len(a.Paths) != 2 ||
		!bundleSelected.MatchString(a.Details) {
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

// pickedSpan is the content of the page after a click on a tick: the tip, and the details of the
// selected span.
type pickedSpan struct {
	Window                 string
	Tick                   int64
	Part                   float64
	Tip, Title, Start, End string
}

// compareSpans compares spans that the page shows with fewSpans.
func compareSpans(t *testing.T, picks []pickedSpan) {
	t.Helper()
	for _, p := range picks {
		// A span contains the ticks from its start up to, but not including, its end.
		name, start, end := "", "", ""
		for _, s := range fewSpans {
			if s.start <= p.Tick && p.Tick < s.end {
				name, start, end = s.name, fmt.Sprint(s.start, " ns"), fmt.Sprint(s.end, " ns")
			}
		}
		what := fmt.Sprintf("tick %d + %v of %s", p.Tick, p.Part, p.Window)
		if p.Title != name || p.Start != start || p.End != end {
			t.Errorf("%s: a click selects %q from %q to %q, expected %q from %q to %q", what, p.Title, p.Start, p.End, name,
				start, end)
		}
		if tip, _, _ := strings.Cut(p.Tip, "\n"); tip != name ||
			name != "" && (!strings.Contains(p.Tip, "from "+start) || !strings.Contains(p.Tip, fmt.Sprintf("at %d ", p.Tick))) {
			t.Errorf("%s: the tip is %q, expected %q from %s at %d ns", what, p.Tip, name, start, p.Tick)
		}
	}
}

// firstScreen is the part of the first screen that describes the defects of a trace.
type firstScreen struct {
	Shown                bool
	Words, Tab, Selected string
	Rows                 []string
}

// checkDefects checks the first screen of a damaged trace.
func (f *firstScreen) checkDefects(t *testing.T) {
	t.Helper()
	if !f.Shown || f.Selected != f.Tab || len(f.Rows) == 0 {
		t.Fatalf("of a damaged trace the first screen says %+v", *f)
	}
	count := map[string]int{}
	for _, severity := range f.Rows {
		count[severity]++
	}
	if f.Tab != fmt.Sprint("Defects ", count["error"]+count["warning"]) || // notes do not count
		count["error"] != 1 || count["warning"] < 2 ||
		!strings.Contains(f.Words, fmt.Sprintf("1 error, %d warnings", count["warning"])) {
		t.Errorf("the first screen says %q and %q, of the defects %q", f.Words, f.Tab, f.Rows)
	}
}
