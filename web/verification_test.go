package web_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// timelineResult is a result that a panel shows on the time line.
type timelineResult struct {
	Lane  int
	Title string
	Rows  []struct {
		Label string
		Bars  []struct{ From, To, Tone, Text string }
		Curve *struct{ Min, Max []*json.Number }
	}
	Marks []struct {
		Track    int
		From, To string
		Tone     string
	}
}

// verdicts is the JSON of weft verify.
type verdicts struct {
	States   int
	Violated int
	Checks   []struct {
		Check, Formula, Verdict string
		Robustness              any
		Reasons                 []struct {
			Formula, Text string
			Holds         bool
			From, To      json.Number
		}
	}
}

// verificationPanel holds the content of the panel of verification, as the browser reports it.
type verificationPanel struct {
	Whole, Near              window
	Fault, Selected, Example string
	Summary, Colour, Address string
	Rows                     [][]string
	Robust                   []string
	Reasons, Four            []string
	Extras, Again            []timelineResult
	Picture                  string
	Removed                  int
	Small                    []bool // at three heights of the window: the list, the reasons and the field are in view
	Errors                   []string
}

// TestVerification types, opens and verifies a specification, and compares the panel with
// weft verify. The trace begins at 0, so that its times are those of the command line.
func TestVerification(t *testing.T) {
	needBrowser(t)
	odse := servedTrace(t, "odse")
	text, err := os.ReadFile("../examples/odse.etl")
	if err != nil {
		t.Fatal(err)
	}
	const property = "start A -> end G within 60ms"
	file := filepath.Join(t.TempDir(), "spec.etl")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	var out verificationPanel
	runScript(t, "verification", map[string]any{"url": odse.url, "spec": string(text)}, &out)
	for _, e := range out.Errors {
		t.Error(e)
	}
	verify := func(more ...string) (v verdicts) {
		args := append([]string{"verify", "--json", "--response", property}, more...)
		if err := json.Unmarshal(runWeft(t, append(args, file, odse.path)...), &v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	want := verify()
	violated := out.compareRows(t, want)
	bad := want.Checks[violated]
	out.compareFour(t, verify("--semantics", "4"))
	out.compareRobustness(t, verify("--robust"))
	if len(out.Extras) != 1 || len(out.Extras[0].Rows) != len(bad.Reasons) {
		t.Fatalf("found %+v, expected the explanation of one check with %d rows", out.Extras, len(bad.Reasons))
	}
	for i, r := range bad.Reasons {
		row := out.Extras[0].Rows[i]
		tone := map[bool]string{true: "good", false: "bad"}[r.Holds]
		if got, want := fmt.Sprint(row.Label, row.Bars), fmt.Sprintf("%s[{%s %s %s %s}]", r.Formula, r.From, r.To, tone,
			r.Text); got != want {
			t.Errorf("row %d: found %s, expected %s", i, got, want)
		}
		if !strings.HasSuffix(out.Reasons[i], r.Text) {
			t.Errorf("reason %d: found %q, expected %q at its end", i, out.Reasons[i], r.Text)
		}
	}
	first := bad.Reasons[0]
	number := func(n json.Number) int64 { x, _ := n.Int64(); return x }
	for _, x := range []struct {
		what      string
		got, want any
	}{
		{"the place of the error", strings.HasPrefix(out.Fault, "line 2, column 3: found "), true},
		{"what a click on it selects", out.Selected, "2:22"},
		{"the example of a property", out.Example, "--response " + property},
		{"the summary", out.Summary, fmt.Sprintf("%d of %d checks violated; %d events.", want.Violated, len(want.Checks),
			want.States)},
		{"title", out.Extras[0].Title, bad.Check + ": bad"},
		{"colour of what does not hold", out.Colour, "#d55e00"},
		{"the window has the reason", number(out.Near.From) <= number(first.From) && number(first.To) <= number(out.Near.To),
			true},
		{"the window is narrower", number(out.Near.To)-number(out.Near.From) < number(out.Whole.To)/2, true},
		{"marks", len(out.Extras[0].Marks) > 0, true},
		{"what a link shows", fmt.Sprint(out.Again), fmt.Sprint(out.Extras)},
		{"title in the picture", strings.Contains(out.Picture, ">"+bad.Check+": bad</text>"), true},
		{"bars in the picture", strings.Contains(out.Picture, `fill="#d55e00"`), true},
		{"results left after their removal", out.Removed, 0},
		{"what is in view in small windows", fmt.Sprint(out.Small), "[true true true]"},
	} {
		if x.got != x.want {
			t.Errorf("%s: found %v, expected %v", x.what, x.got, x.want)
		}
	}
}

// compareRows compares the rows of the panel with the checks of the command. It returns the index of the first
// violated check.
func (p *verificationPanel) compareRows(t *testing.T, want verdicts) (violated int) {
	t.Helper()
	if len(p.Rows) != len(want.Checks) {
		t.Fatalf("found %d rows, expected %d", len(p.Rows), len(want.Checks))
	}
	sign := map[string]string{"good": "✓ good", "bad": "✗ bad", "non-informative": "? non-informative"}
	found := map[string][]string{}
	for _, r := range p.Rows {
		found[r[1]] = r
	}
	violated = -1
	for i, c := range want.Checks {
		row := []string{sign[c.Verdict], c.Check, c.Formula}
		for k := range row { // the browser shows several blanks as one
			row[k] = strings.Join(strings.Fields(row[k]), " ")
		}
		if got := found[c.Check]; !reflect.DeepEqual(got, row) {
			t.Errorf("%s: found %q, expected %q", c.Check, got, row)
		}
		if c.Verdict == "bad" && violated < 0 {
			violated = i
		}
	}
	return violated
}

// compareRobustness compares the robustness of the checks in the panel with that of the command. The order may differ.
func (p *verificationPanel) compareRobustness(t *testing.T, want verdicts) {
	t.Helper()
	var command []string
	for _, c := range want.Checks {
		command = append(command, fmt.Sprint(c.Robustness))
	}
	slices.Sort(command)
	if found := slices.Sorted(slices.Values(p.Robust)); !slices.Equal(found, command) {
		t.Errorf("found the robustness %q, expected %q", found, command)
	}
}

// compareFour compares the verdicts in the panel with those of the command, for verdicts with four
// values. The order may differ.
func (p *verificationPanel) compareFour(t *testing.T, want verdicts) {
	t.Helper()
	four := map[string]int{}
	for _, c := range want.Checks {
		four[c.Verdict]++
	}
	for _, v := range p.Four {
		four[v[strings.Index(v, " ")+1:]]--
	}
	for v, n := range four {
		if n != 0 {
			t.Errorf("the panel and the command differ by %d verdicts %s with 4 values", n, v)
		}
	}
}
