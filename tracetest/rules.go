package tracetest

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// RuleTest is a text that breaks one rule of its format. It is an alias of a struct type, so that composite
// literals in tables need no type name.
type RuleTest = struct {
	Rule   string
	Text   string
	Line   int64 // line of the defect; 0 if the file as a whole is defective
	Events int   // number of events that can be read in spite of the defect
}

// Rules checks that each text causes exactly its defect. The defect must have the severity in the format's
// table of rules, the right line, and texts for what was found and expected. It also checks that the other
// events of the text can be read, that strict reading ends with the defect, and that each rule of the format
// has a test. values holds the format's options.
func Rules(t *testing.T, f format.Format, tests []RuleTest, values map[string]string) {
	tested := map[string]bool{}
	known := map[string]format.Rule{}
	for _, r := range f.About().Rules {
		known[r.ID] = r
	}
	name := "x" + f.About().Extensions[0]
	for i, x := range tests {
		tested[x.Rule] = true
		t.Run(fmt.Sprintf("%s/%d", x.Rule, i), func(t *testing.T) {
			rep := format.NewReport()
			n, err := Read(f, name, []byte(x.Text), &format.ReadOptions{Report: rep, Workers: 1, Values: values})
			if err != nil {
				t.Fatal(err)
			}
			if n != x.Events {
				t.Errorf("%d events, want %d", n, x.Events)
			}
			found := false
			for _, r := range rep.Rules() {
				if k, ok := known[r.Rule]; !ok || k.Severity != r.Severity {
					t.Errorf("rule %s with severity %s, the table says %s (known: %t)", r.Rule, r.Severity, k.Severity, ok)
				}
				for _, d := range r.First {
					if d.Position.File != name || d.Found == "" || d.Expected == "" {
						t.Errorf("defect without file, found or expected: %v", d)
					}
					found = found || r.Rule == x.Rule && d.Position.Line == x.Line
				}
			}
			if !found {
				t.Errorf("no %s in line %d; found %v", x.Rule, x.Line, rep.Rules())
			}
			if known[x.Rule].Severity >= trace.Warning {
				if _, err := Read(f, name, []byte(x.Text),
					&format.ReadOptions{Strict: true, Workers: 1, Values: values}); err == nil {
					t.Error("strict reading found nothing")
				}
			}
		})
	}
	for _, r := range f.About().Rules {
		if !tested[r.ID] {
			t.Errorf("no test of rule %s", r.ID)
		}
	}
}

// BenchmarkDecode decodes the file whose path is in an environment variable, on one core, without
// looking up the ends of links. It is skipped if the variable is not set.
func BenchmarkDecode(b *testing.B, f format.Format, variable string) {
	path := os.Getenv(variable)
	if path == "" {
		b.Skip(variable + " names no file")
	}
	st, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(st.Size())
	sel := trace.Everything()
	sel.Links = trace.NoLinks
	for b.Loop() {
		rows := 0
		d, err := f.Open(context.Background(), format.FileSource(path), &format.ReadOptions{Workers: 1})
		if err != nil {
			b.Fatal(err)
		}
		err = d.Scan(context.Background(), sel, format.PerLocation,
			format.SinkFuncs{OnBatch: func(x *trace.Batch) error { rows += x.Len(); return nil }})
		if err != nil {
			b.Fatal(err)
		}
		d.Close()
		b.ReportMetric(float64(rows), "rows")
	}
}
