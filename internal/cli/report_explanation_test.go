package cli

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestReportWhy checks that the findings, waits and critical path in a report are those of weft
// explain, weft waits and weft path, of a whole trace and of a part.
func TestReportWhy(t *testing.T) {
	late := filepath.Join(t.TempDir(), "late.otf2")
	runReport(t, "generate", "--workload", "phases", "--late-sender", "50ms", "--imbalance", "3:1", "--events", "5000",
		late)
	decode := func(to any, args ...string) {
		t.Helper()
		if err := json.Unmarshal(runReport(t, args...), to); err != nil {
			t.Fatal(err)
		}
	}
	for _, part := range [][]string{nil, {"--window", "20%..60%"}} {
		p := readPage(t, runReport(t, append([]string{"report", "-o", "-", late}, part...)...))
		var page struct {
			Verdict  string
			Findings []struct {
				Title, Advice string
				Gain          int64
			}
			Efficiency struct{ Factors map[string]float64 }
		}
		decode(&page, append([]string{"explain", "--json", late}, part...)...)
		found := p.tables["findings"][0].rows
		if len(found) != len(page.Findings) || len(found) < 2 {
			t.Fatalf("%v: found %d findings, expected %d", part, len(found), len(page.Findings))
		}
		for i, f := range page.Findings {
			row := found[i]
			if row[0].text != fmt.Sprintf("%d. %s", i+1, f.Title) || row[7].text != f.Advice ||
				row[2].title != nanoseconds(f.Gain) {
				t.Errorf("%v: found %+v, expected %+v", part, row, f)
			}
		}
		if !strings.Contains(string(p.text), page.Verdict) {
			t.Errorf("%v: the page lacks the verdict %q", part, page.Verdict)
		}
		for _, row := range p.tables["efficiency"][0].rows {
			name := strings.ReplaceAll(strings.TrimSuffix(strings.TrimSpace(row[0].text), " efficiency"), " ", "-")
			if expected := fmt.Sprintf("%.3f", page.Efficiency.Factors[name]); row[1].text != expected {
				t.Errorf("%v: found the factor %q %s, expected %s", part, row[0].text, row[1].text, expected)
			}
		}
		var waits struct {
			Patterns []struct {
				Pattern string
				Time    int64
			}
		}
		decode(&waits, append([]string{"waits", "--json", late}, part...)...)
		found = p.tables["waits"][0].rows
		if len(found) != len(waits.Patterns) || len(found) == 0 {
			t.Fatalf("%v: found %d patterns, expected %d", part, len(found), len(waits.Patterns))
		}
		for i, x := range waits.Patterns {
			if found[i][0].text != x.Pattern || found[i][2].title != nanoseconds(x.Time) {
				t.Errorf("%v: found the pattern %+v, expected %+v", part, found[i], x)
			}
		}
		var path struct {
			Length  int64
			Regions []struct {
				Region string
				Time   int64
			}
		}
		decode(&path, append([]string{"path", "--json", late}, part...)...)
		if title := p.facts["critical"]["Length"][0].title; title != nanoseconds(path.Length) {
			t.Errorf("%v: found the length %s, expected %d ns", part, title, path.Length)
		}
		for i, row := range p.tables["critical"][0].rows {
			if x := path.Regions[i]; row[1].title != nanoseconds(x.Time) {
				t.Errorf("%v: found the region %+v, expected %+v", part, row, x)
			}
		}
	}
	p := readPage(t, runReport(t, "report", "-o", "-", "--region", "compute", late))
	for _, s := range []string{"findings", "efficiency", "waits", "critical"} {
		if len(p.tables[s]) > 0 {
			t.Errorf("found the section %s with --region, expected none", s)
		}
	}
	if first := slices.Index([]string{"findings", "overview"}, firstSection(p)); first != 1 {
		t.Errorf("found the first section %s, expected overview", firstSection(p))
	}
}

// TestReportLoadBalance checks that the figure at the top of a report is the factor of the POP project. In the trace
// omp, the threads have useful times of 630, 295 and 405: work, main, the parallel region and the body of the critical
// section.
func TestReportLoadBalance(t *testing.T) {
	p := readPage(t, runReport(t, "report", "-o", "-", filepath.Join("..", "..", "analysis", "waits", "testdata", "omp",
		"traces.otf2")))
	_, figures, _ := strings.Cut(string(p.text), `class="figures"`)
	figures, _, _ = strings.Cut(figures, "<section")
	want := fmt.Sprintf("%.1f %%", 100*(630.+295+405)/3/630)
	if !strings.Contains(figures, "<b>"+want+"</b>") {
		t.Errorf("found the figures %s, expected the load balance %s", figures, want)
	}
}

// nanoseconds formats a time as the titles of cells do.
func nanoseconds(t int64) string {
	s := strings.TrimRight(fmt.Sprintf("%d.%09d", t/1e9, t%1e9), "0")
	return strings.TrimSuffix(s, ".") + " s"
}

// firstSection returns the id of the first section with facts or tables.
func firstSection(p *webPage) string {
	at, first := len(p.text), ""
	for _, s := range []string{"findings", "overview"} {
		if i := strings.Index(string(p.text), `<section id="`+s+`"`); i >= 0 && i < at {
			at, first = i, s
		}
	}
	return first
}
