package web_test

import (
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-trace/weft/trace"
)

// change, diffRow and differences describe the parts of the output of weft diff --json that the panel
// shows.
type (
	change struct {
		A, B, Difference float64
		Ratio            *float64
	}
	diffRow struct {
		Kind, Region                 string
		Path                         []string
		Exclusive, Inclusive, Visits change
		Test                         *struct {
			Q, Shift    float64
			Significant bool
		}
	}
	differences struct {
		Regions, Paths                 []diffRow
		Runtime                        change
		ComparedRegions, ComparedPaths int
	}
)

// diffTime formats a number of nanoseconds, as the page does.
func diffTime(ns float64) string {
	return strings.Replace(trace.FormatFloatSeconds(ns/1e9), "-", "−", 1)
}

// cells returns the cells of the row of a table on the page, without the bar. key selects the times that are
// shown.
func (r *diffRow) cells(key string) []string {
	c, name := r.Exclusive, r.Region
	if key == "inclusive" {
		c = r.Inclusive
	}
	if r.Path != nil {
		name = strings.Join(r.Path, " > ")
	}
	kind, q, shift, ratio, difference := r.Kind, "–", "–", "–", diffTime(c.Difference)
	if c.Difference > 0 {
		difference = "+" + difference
	}
	if c.Ratio != nil {
		ratio = strconv.FormatFloat(*c.Ratio, 'f', 3, 64)
	}
	if t := r.Test; t != nil {
		q, shift = strconv.FormatFloat(t.Q, 'g', 2, 64), diffTime(t.Shift)
		if !t.Significant {
			kind = "not significant"
		}
	}
	return []string{name, kind, diffTime(c.A), diffTime(c.B), difference, "", ratio, q, shift, fmt.Sprint(r.Visits.A),
		fmt.Sprint(r.Visits.B)}
}

// checkRows checks that the rows of a table on the page are those of the command, in any order. With more, the
// table may have rows that the command does not report.
func checkRows(t *testing.T, what string, found [][]string, wanted []diffRow, key string, more bool) {
	t.Helper()
	if len(wanted) == 0 || len(found) != len(wanted) && !more {
		t.Errorf("%s: found %d rows, expected %d, at least 1", what, len(found), len(wanted))
	}
	byName := map[string][]string{}
	for _, r := range found {
		byName[r[0]] = r
	}
	for i := range wanted {
		want := wanted[i].cells(key)
		if got := byName[want[0]]; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: found %q, expected %q", what, got, want)
		}
	}
}

// TestDiff compares the panel of differences with weft diff, for two traces, for a range of both, and
// for two ranges of one trace. The clocks of the traces have nanoseconds.
func TestDiff(t *testing.T) {
	needBrowser(t)
	before, after, nothing := servedTrace(t, "before"), servedTrace(t, "after"), servedTrace(t, "empty-etf")
	var out struct {
		Summary                                      string
		Regions, All, Paths, Reported, Ranged, Times [][]string
		Boxes                                        []flameBox
		None                                         string
		Errors                                       []string
	}
	const panel = "&p=diff"
	runScript(t, "diff", map[string]any{"url": before.url + "," + after.id + panel, "one": before.url + panel,
		"range": []string{"100000000", "400000000"}, "later": []string{"400000000", "1000000000"},
		"none": nothing.url + "," + before.id + panel}, &out)
	for _, e := range out.Errors {
		t.Error(e)
	}
	var d, inclusive, ranged, times differences
	runJSON(t, &d, "diff", "--json", before.path, after.path)
	checkRows(t, "regions", out.Regions, d.Regions, "exclusive", false)
	checkRows(t, "all regions", out.All, d.Regions, "exclusive", true)
	expectSame(t, "number of all regions", len(out.All), d.ComparedRegions)
	expectSame(t, "runtimes", strings.Contains(out.Summary, fmt.Sprintf("Runtime %s → %s, ", diffTime(d.Runtime.A),
		diffTime(d.Runtime.B))), true)
	expectSame(t, "number of regions that differ", strings.Contains(out.Summary, fmt.Sprintf(" %d of %d regions ",
		len(d.Regions), d.ComparedRegions)), true)
	runJSON(t, &inclusive, "diff", "--json", "--metric", "inclusive", before.path, after.path)
	checkRows(t, "call paths", out.Paths, inclusive.Paths, "inclusive", true)
	expectSame(t, "number of call paths", len(out.Paths), inclusive.ComparedPaths)
	checkRows(t, "call paths that differ", out.Reported, inclusive.Paths, "inclusive", false)
	runJSON(t, &ranged, "diff", "--json", "--window", "100ms..400ms", before.path, after.path)
	checkRows(t, "range", out.Ranged, ranged.Regions, "exclusive", false)
	var parts [2]string
	for i, window := range []string{"100ms..400ms", "400ms..1s"} {
		parts[i] = filepath.Join(t.TempDir(), "part.otf2")
		runWeft(t, "cut", "--window", window, before.path, parts[i])
	}
	runJSON(t, &times, "diff", "--json", parts[0], parts[1])
	checkRows(t, "two times", out.Times, times.Regions, "exclusive", true)
	expectSame(t, "a trace without calls",
		strings.Contains(out.None, "found no calls of regions and no claims in A, empty.etf"), true)
	checkFlame(t, out.Boxes, inclusive.Paths)
}

// flameBox is a box of the flame graph. Its width is in percent.
type flameBox struct {
	Title, Color string
	Width        float64
}

// checkFlame checks that the flame graph has a box for each call path, as wide as the time of the path
// in both traces, and orange if the path takes longer in B. The programs begin with the region main.
func checkFlame(t *testing.T, boxes []flameBox, paths []diffRow) {
	t.Helper()
	byName := map[string]flameBox{}
	for _, b := range boxes {
		name, _, _ := strings.Cut(b.Title, ":")
		byName[name] = b
	}
	var whole float64
	for i := range paths {
		if p := &paths[i]; len(p.Path) == 1 {
			whole += p.Inclusive.A + p.Inclusive.B
		}
	}
	for i := range paths {
		p := &paths[i]
		b, ok := byName[p.Region]
		want := fmt.Sprintf("A %s, B %s inclusive", diffTime(p.Inclusive.A), diffTime(p.Inclusive.B))
		if !ok || !strings.Contains(b.Title, want) {
			t.Errorf("%s: found %q, expected %q", p.Region, b.Title, want)
		}
		if width := 100 * (p.Inclusive.A + p.Inclusive.B) / whole; math.Abs(b.Width-width) > 0.01 {
			t.Errorf("%s: found the width %g %%, expected %g %%", p.Region, b.Width, width)
		}
		var red, green, blue int
		if _, err := fmt.Sscanf(b.Color, "rgb(%d, %d, %d)", &red, &green, &blue); err != nil || p.Inclusive.Difference > 0 !=
			(red > blue) {
			t.Errorf("%s: found the colour %s with the difference %g", p.Region, b.Color, p.Inclusive.Difference)
		}
	}
}
