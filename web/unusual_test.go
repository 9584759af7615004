package web_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// unusualResult is the result of unusual.mjs for a trace.
type unusualResult struct {
	Name, Failure, Text string
	Errors              []string
	Images              int
	Drawn               bool
	View                struct {
		Length string
		Rows   int
	}
}

// TestUnusualTraces checks that the page shows any trace, or the reason why it cannot, without an
// error.
func TestUnusualTraces(t *testing.T) {
	needBrowser(t)
	cases := []struct {
		name string // of the trace
		rows int    // expected, if not 0
		span uint64 // the expected length, if not 0
		text string // text that the page must show
	}{
		{name: "empty-etf", text: "no events"},
		{name: "empty-otf2", text: "no events"},
		{name: "one", rows: 1},
		{name: "many", rows: 10_000, span: 10_000 + 60},
		{name: "deep", rows: 1, span: 2*levels - 1},
		{name: "unbalanced", rows: 2},
		{name: "short", rows: 1},
		{name: "instant"},
		{name: "unix", rows: 2, span: 1000},
		{name: "long", rows: 2, span: 1 << 60},
		{name: "longest", span: math.MaxInt64},
		{name: "overflow"},
		{name: "names", rows: 4, text: "计算矩阵乘法"},
		{name: "script", rows: 3, text: script},
		{name: "records"},
		{name: "cut-etf"},
		{name: "cut-picl"},
		{name: "cut-otf"},
		{name: "cut-otf2"},
		{name: "cut-otf2-definitions"},
		{name: "cut-pallas"},
	}
	var list []map[string]any
	for _, c := range cases {
		list = append(list, map[string]any{"name": c.name, "url": servedTrace(t, c.name).url})
	}
	var out []unusualResult
	runScript(t, "unusual", map[string]any{"traces": list}, &out)
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

// TestProgress opens a trace without an index. The server must report the progress, and the page
// must show the trace in the end. test/page.test.ts checks what the page shows meanwhile.
func TestProgress(t *testing.T) {
	needBrowser(t)
	fresh := servedTrace(t, "fresh")
	var list struct{ Traces []facts }
	ask(t, fresh.url, "traces", &list)
	for _, f := range list.Traces {
		if f.ID == fresh.id && f.State != "new" {
			t.Fatalf("before anybody asks for the trace it is %s, expected new", f.State)
		}
	}
	var out struct {
		Answers []struct {
			State    string
			Progress float64
		}
		View struct {
			Rows   int
			Traces []string
		}
		Errors []string
	}
	address, _, _ := strings.Cut(fresh.url, "#")
	runScript(t, "progress", map[string]any{"list": address, "id": fresh.id}, &out)
	for _, e := range out.Errors {
		t.Error(e)
	}
	last := 0.0
	for i, s := range out.Answers {
		want := "indexing"
		if i == len(out.Answers)-1 {
			want = "ready"
		}
		if s.Progress < last || s.Progress > 1 || s.State != want {
			t.Errorf("answer %d of %d: found %s with the progress %v after %v", i+1, len(out.Answers), s.State, s.Progress, last)
		}
		last = s.Progress
	}
	if len(out.Answers) == 0 || last != 1 {
		t.Errorf("the page got %+v, expected a complete index in the end", out.Answers)
	}
	if out.View.Rows == 0 || len(out.View.Traces) != 1 || out.View.Traces[0] != fresh.id {
		t.Errorf("found %d rows of %q, expected some of %s", out.View.Rows, out.View.Traces, fresh.id)
	}
}
