package web_test

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// orderDifferences holds the differences between two orders of claims, in the output of weft behaviour
// and weft distance.
type orderDifferences struct {
	Distance int
	First    differenceSide
	Second   differenceSide
}

type differenceSide struct {
	NodeCount, EdgeCount int
	Nodes                []claimNode
	Edges                []struct{ From, To claimNode }
}

type claimNode struct {
	Label      string
	Occurrence int
}

func (n claimNode) String() string {
	if n.Occurrence == 0 {
		return n.Label
	}
	return fmt.Sprintf("%s #%d", n.Label, n.Occurrence+1)
}

// words returns the lines of a difference as the command prints them.
func (d *orderDifferences) words(first, second string) (lines []string) {
	for _, s := range []struct {
		name string
		*differenceSide
	}{{first, &d.First}, {second, &d.Second}} {
		var nodes, edges []string
		for _, n := range s.Nodes {
			nodes = append(nodes, n.String())
		}
		for _, e := range s.Edges {
			edges = append(edges, e.From.String()+" -> "+e.To.String())
		}
		if len(nodes) > 0 {
			lines = append(lines, fmt.Sprintf("only %s, claims: %s", s.name, strings.Join(nodes, "; ")))
		}
		if len(edges) > 0 {
			lines = append(lines, fmt.Sprintf("only %s, successions: %s", s.name, strings.Join(edges, "; ")))
		}
	}
	return lines
}

// window is a window of the time line, as the page has it.
type window struct{ From, To json.Number }

// behaviourPanel, distancePanel and flowPanel hold the content of the panels, as the browser reports it.
type (
	behaviourPanel struct {
		Text, None    string
		Rows          [][]string
		Words         []string
		Extras, Again []timelineResult
		View, There   window
		Removed       int
	}
	distancePanel struct {
		Rows          [][]string
		Words         []string
		Extras, Again []timelineResult
		Removed       int
	}
	flowPanel struct {
		Text, Fault                         string
		Signals, Latencies, Longest, Chosen [][]string
		Extras, Again                       []timelineResult
		Both                                []string
		Removed                             int
	}
)

// rangedPanels holds the content of the panels for a range of the trace, as the browser reports it.
type rangedPanels struct {
	Scope                                   string
	Behaviour, Flow, Verification, Distance [][]string
	Summary, All, Whole                     string
	Extras, Again                           []timelineResult
}

// TestObjects compares the panels of behaviour, distance and flow with the commands. The traces
// begin at 0.
func TestObjects(t *testing.T) {
	needBrowser(t)
	odse, one, two, hand := servedTrace(t, "odse"), servedTrace(t, "order-one"), servedTrace(t, "order-two"),
		servedTrace(t, "hand")
	var out struct {
		Behaviour behaviourPanel
		Distance  distancePanel
		Flow      flowPanel
		Ranged    rangedPanels
		Messages  [][]string
		Errors    []string
	}
	runScript(t, "objects", map[string]any{"url": odse.url, "messages": hand.url, "two": one.url + "," + two.id,
		"range": []string{"30000", "90000"}, "ordered": []string{"0", orderedEnd}, "spec": oneAtATime}, &out)
	for _, e := range out.Errors {
		// the browser reports the answer to a wrong proposition
		if !strings.Contains(e, "status of 400") || !strings.Contains(e, "/flow?") {
			t.Error(e)
		}
	}
	out.Behaviour.compare(t, odse.path)
	out.Distance.compare(t, one.path, two.path)
	out.Flow.compare(t, odse.path)
	out.Ranged.compare(t, odse.path, one.path, two.path)
	sameTable(t, string(runWeft(t, "flow", "--messages", "--per", "ms", hand.path)), "SIGNAL", out.Messages)
}

// oneAtATime specifies a property of odse.etf, in the form in which the user enters it in the panel.
const oneAtATime = "--response start A -> end G within 60ms"

// orderedEnd is the end of a range in the traces order-one and order-two. The range has 6 claims of
// 1000 ticks, in the same order in both traces.
const orderedEnd = "6000"

// compare compares the panels with the commands for the same window. Ticks of the page are those of
// the traces, which begin at 0.
func (r *rangedPanels) compare(t *testing.T, odse, one, two string) {
	t.Helper()
	const window = "@30000..@90000"
	expectSame(t, "scope", strings.HasPrefix(r.Scope, "selected range"), true)
	var classes struct {
		Classes []struct {
			Objects, Claims, Usual int
			Representative         string
		}
	}
	runJSON(t, &classes, "behaviour", "--json", "--by", "id", "--top", "100", "--window", window, odse)
	expectSame(t, "classes of the range", len(r.Behaviour), len(classes.Classes))
	for i, c := range classes.Classes[:min(len(classes.Classes), len(r.Behaviour))] {
		row := r.Behaviour[i]
		expectSame(t, "class of the range", append(row[:4:4], row[5]), []string{fmt.Sprint(i + 1), fmt.Sprint(c.Objects),
			fmt.Sprint(c.Claims), fmt.Sprint(c.Usual), c.Representative})
	}
	sameTable(t, string(runWeft(t, "flow", "--by", "id", "--per", "ms", "--window", window, odse)), "SIGNAL", r.Flow)
	verify := func(args ...string) (v verdicts, summary string) {
		args = append([]string{"verify", "--json", "--response", "start A -> end G within 60ms"}, args...)
		runJSON(t, &v, append(args, odse)...)
		return v, fmt.Sprintf("%d of %d checks violated; %d events.", v.Violated, len(v.Checks), v.States)
	}
	v, summary := verify("--window", window)
	expectSame(t, "verdicts of the range", r.Summary, summary)
	expectSame(t, "verdict of the range", strings.HasSuffix(r.Verification[0][0], v.Checks[0].Verdict), true)
	_, whole := verify()
	expectSame(t, "verdicts of the window, which is the whole trace", r.All, whole)
	expectSame(t, "verdicts of the whole trace", r.Whole, whole)
	expectSame(t, "what a link shows is the same", reflect.DeepEqual(r.Again, r.Extras), true)
	expectSame(t, "results on the time line", len(r.Extras), 2)
	var distances struct {
		Traces []struct {
			Claims int
			orderDifferences
		}
	}
	runJSON(t, &distances, "distance", "--json", "--window", "@0..@"+orderedEnd, one, two)
	d := &distances.Traces[0]
	expectSame(t, "distance in the range of the command", fmt.Sprint(d.Claims, d.Distance), "6 0")
	expectSame(t, "distance in the range", r.Distance[0][1:3], []string{fmt.Sprint(d.Claims), fmt.Sprint(d.Distance)})
}

// runJSON runs weft and decodes its output to v.
func runJSON(t *testing.T, v any, args ...string) {
	t.Helper()
	if err := json.Unmarshal(runWeft(t, args...), v); err != nil {
		t.Fatal(err)
	}
}

// expectSame compares two values by their text.
func expectSame(t *testing.T, what string, got, want any) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: found %v, expected %v", what, got, want)
	}
}

// compare compares the panel with weft behaviour for a trace.
func (b *behaviourPanel) compare(t *testing.T, path string) {
	t.Helper()
	var classes struct {
		Objects, Claims int
		Classes         []struct {
			Objects, Claims, Usual, Nearest, Distance int
			Representative                            string
			Difference                                orderDifferences
		}
	}
	runJSON(t, &classes, "behaviour", "--json", "--by", "id", "--top", "100", path)
	expectSame(t, "objects", b.Text, fmt.Sprintf("%d objects, %d claims, %d classes", classes.Objects, classes.Claims,
		len(classes.Classes)))
	for i, c := range classes.Classes {
		if i < len(b.Rows) {
			expectSame(t, "class", b.Rows[i][:6], []string{fmt.Sprint(i + 1), fmt.Sprint(c.Objects), fmt.Sprint(c.Claims),
				fmt.Sprint(c.Usual), fmt.Sprintf("%d (%d)", c.Nearest+1, c.Distance), c.Representative})
		}
	}
	expectSame(t, "classes", len(b.Rows), len(classes.Classes))
	rare := &classes.Classes[0]
	expectSame(t, "differences of the rare class", b.Words, rare.Difference.words("usual", "here"))
	if len(b.Extras) != 1 || len(b.Extras[0].Rows) != 4 {
		t.Fatalf("found %+v, expected 4 rows", b.Extras)
	}
	x := b.Extras[0]
	expectSame(t, "claims of the rare object", len(x.Rows[2].Bars), rare.Claims)
	expectSame(t, "differences on the time line", len(x.Rows[3].Bars), rare.Difference.Second.NodeCount+
		rare.Difference.Second.EdgeCount)
	// The two claims of G of object 7 differ: one in itself, and the other one in its successor.
	expectSame(t, "marks", len(x.Marks), 2)
	bar := x.Rows[3].Bars[len(x.Rows[3].Bars)-1]
	for _, v := range []window{b.View, b.There} {
		if !isWithin(bar.From, v.From, v.To) || !isWithin(bar.To, v.From, v.To) {
			t.Errorf("found a window from %s to %s, expected it around %s to %s", v.From, v.To, bar.From, bar.To)
		}
	}
	expectSame(t, "what a link shows", b.Again, b.Extras)
	expectSame(t, "rows after their removal", b.Removed, 0)
	expectSame(t, "of locations without calls", strings.Contains(b.None, "found no calls of regions"), true)
}

// compare compares the panel with weft distance for two traces.
func (d *distancePanel) compare(t *testing.T, one, two string) {
	t.Helper()
	var distances struct {
		Traces []struct {
			Claims int
			orderDifferences
		}
	}
	runJSON(t, &distances, "distance", "--json", "--top", "100", one, two)
	want := &distances.Traces[0]
	if want.Distance == 0 || len(d.Rows) != 1 || len(d.Extras) != 2 {
		t.Fatalf("found %+v, expected a distance", d)
	}
	expectSame(t, "distance", d.Rows[0][1:], []string{fmt.Sprint(want.Claims), fmt.Sprint(want.Distance),
		fmt.Sprint(want.Second.NodeCount), fmt.Sprint(want.First.NodeCount), fmt.Sprint(want.Second.EdgeCount),
		fmt.Sprint(want.First.EdgeCount)})
	expectSame(t, "differences", d.Words, want.words("reference", "here"))
	expectSame(t, "differences in the reference", len(d.Extras[0].Rows[0].Bars), want.First.NodeCount+want.First.EdgeCount)
	expectSame(t, "differences in the other trace", len(d.Extras[1].Rows[0].Bars),
		want.Second.NodeCount+want.Second.EdgeCount)
	expectSame(t, "lanes", fmt.Sprint(d.Extras[0].Lane, d.Extras[1].Lane), "0 1")
	expectSame(t, "what a link shows", d.Again, d.Extras)
	expectSame(t, "rows after their removal", d.Removed, 0)
}

// compare compares the panel with weft flow for a trace.
func (f *flowPanel) compare(t *testing.T, path string) {
	t.Helper()
	text := string(runWeft(t, "flow", "--by", "id", "--per", "ms", "--top", "3", path))
	sameTable(t, text, "SIGNAL", f.Signals)
	for _, cell := range f.Latencies[0] {
		if !strings.Contains(text, cell) {
			t.Errorf("found the latency %s, expected one of\n%s", cell, text)
		}
	}
	for _, r := range f.Longest[:3] {
		if !strings.Contains(text, r[0]+" ") || !strings.Contains(text, r[1]) {
			t.Errorf("found the object %s with %s, expected it in\n%s", r[0], r[1], text)
		}
	}
	expectSame(t, "what flows", strings.HasPrefix(f.Text, "17 objects, from 0"), true)
	if len(f.Extras) != 1 || len(f.Extras[0].Rows) != 1 || f.Extras[0].Rows[0].Curve == nil {
		t.Fatalf("found %+v, expected a row with a curve", f.Extras)
	}
	curve := f.Extras[0].Rows[0].Curve
	most := 0.0
	for _, v := range curve.Max {
		if v != nil {
			n, _ := v.Float64()
			most = math.Max(most, n)
		}
	}
	expectSame(t, "greatest work in progress of the row", fmt.Sprint(most), f.Signals[1][3])
	expectSame(t, "what a link shows", f.Again[0].Rows[0].Label, "work in progress")
	expectSame(t, "both rows", f.Both, "[throughput work in progress]")
	expectSame(t, "rows after their removal", f.Removed, 0)
	expectSame(t, "error", strings.HasPrefix(f.Fault, "begin: found "), true)
	text = string(runWeft(t, "flow", "--by", "id", "--per", "ms", "--begin", "start A", "--end", "end G", path))
	sameTable(t, text, "SIGNAL", f.Chosen)
}

// isWithin reports whether a time is in a window.
func isWithin(at string, from, to json.Number) bool {
	t, _ := strconv.ParseInt(at, 10, 64)
	a, _ := from.Int64()
	b, _ := to.Int64()
	return a <= t && t <= b
}

// sameTable compares the rows of a table on the page with the rows below a heading in a command's text.
// Numbers may have another notation.
func sameTable(t *testing.T, text, heading string, rows [][]string) {
	t.Helper()
	_, below, _ := strings.Cut(text, heading)
	lines := strings.Split(below, "\n")[1:]
	for i, r := range rows {
		got, want := strings.Fields(strings.Join(r, " ")), strings.Fields(lines[i])
		ok := len(got) == len(want)
		for k := 0; ok && k < len(got); k++ {
			a, err1 := strconv.ParseFloat(got[k], 64)
			b, err2 := strconv.ParseFloat(want[k], 64)
			ok = got[k] == want[k] || err1 == nil && err2 == nil && a == b
		}
		if !ok {
			t.Errorf("row %d: found %q, expected %q", i, got, want)
		}
	}
	if len(rows) == 0 {
		t.Error("found no rows")
	}
}
