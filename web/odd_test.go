package web_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
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

// Odd traces: whatever is in them, the page shows it or says why not, and nothing goes wrong.
func TestOddTraces(t *testing.T) {
	browser(t)
	cases := []struct {
		name string // of the trace
		rows int    // expected, if not 0
		span uint64 // the expected length, if not 0
		text string // that the page has to show
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
		list = append(list, map[string]any{"name": c.name, "url": served(t, c.name).url})
	}
	var out []odd
	play(t, "odd", map[string]any{"traces": list}, &out)
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

// A trace that has no index yet: the server tells how far it is with that, and the page shows
// the trace in the end. What the page shows meanwhile, test/page.test.ts looks at.
func TestProgress(t *testing.T) {
	browser(t)
	fresh := served(t, "fresh")
	var list struct{ Traces []facts }
	ask(t, fresh.url, "traces", &list)
	for _, f := range list.Traces {
		if f.ID == fresh.id && f.State != "new" {
			t.Fatalf("before anybody asks for the trace it is %s, expected new", f.State)
		}
	}
	var out struct {
		Told []struct {
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
	play(t, "progress", map[string]any{"list": address, "id": fresh.id}, &out)
	for _, e := range out.Errors {
		t.Error(e)
	}
	last := 0.0
	for i, s := range out.Told {
		want := "indexing"
		if i == len(out.Told)-1 {
			want = "ready"
		}
		if s.Progress < last || s.Progress > 1 || s.State != want {
			t.Errorf("answer %d of %d: found %s with the progress %v after %v", i+1, len(out.Told), s.State, s.Progress, last)
		}
		last = s.Progress
	}
	if len(out.Told) == 0 || last != 1 {
		t.Errorf("the page was told %+v, expected that all is read in the end", out.Told)
	}
	if out.View.Rows == 0 || len(out.View.Traces) != 1 || out.View.Traces[0] != fresh.id {
		t.Errorf("found %d rows of %q, expected some of %s", out.View.Rows, out.View.Traces, fresh.id)
	}
}
