package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weft-trace/weft/analysis/causes"
	"github.com/weft-trace/weft/analysis/constraints"
	"github.com/weft-trace/weft/analysis/counts"
	"github.com/weft-trace/weft/analysis/criticalpath"
	"github.com/weft-trace/weft/analysis/efficiency"
	"github.com/weft-trace/weft/analysis/explain"
	"github.com/weft-trace/weft/analysis/info"
	"github.com/weft-trace/weft/analysis/waits"
	"github.com/weft-trace/weft/trace"
)

// TestFindingsSection checks the findings of a run of 100 ticks, with the commands that show them.
func TestFindingsSection(t *testing.T) {
	r := handReport()
	r.Explanation = &explain.Page{Verdict: "verdict", Unjudged: []string{"u"}, Findings: []explain.Finding{
		{Title: "t", LossShare: 0.2, Gain: 25, WhatIf: "f=mean", Path: []string{"main", "f"},
			Locations: []string{"a", "b"}, Evidence: []string{"x", "y"}, Advice: "do", Confidence: "high"},
		{Title: "v", Locations: []string{"c"}, Confidence: "low"}, {Title: "w", Path: []string{"main"}}}}
	r.Explanation.Ran.Runtime = 100
	s := r.findings()
	expectLines(t, s, "1. t | 20.0 % | 25 ms | 25.0 % | high | main > f, a, b | "+
		"x; y; gain by weft path --what-if 'f=mean' | do", "2. v | 0.0 % | 0 s | 0.0 % | low | c |  | ",
		"3. w | 0.0 % | 0 s | 0.0 % |  | main |  | ", "# Not judged", "u")
	if s.Lead != "verdict" {
		t.Errorf("found %q", s.Lead)
	}
	r.Viewable = true
	if found := r.findings().Tables[0].Rows[1][6].Text; found != "shown by weft view --finding 2" {
		t.Errorf("found the evidence %q", found)
	}
	// the findings keep their evidence
	if n := len(r.Explanation.Findings[0].Evidence); n != 2 {
		t.Errorf("found %d texts of evidence after the page was made, expected 2", n)
	}
	r.Unexplained = "no calls"
	if s := r.findings(); s.Lead != "Nothing can be explained, and there are no factors of efficiency and no critical "+
		"path: no calls." || len(s.Tables) > 0 {
		t.Errorf("found %q and %v", s.Lead, lines(s))
	}
	r.NoClaimPath = "no claims"
	if s := r.findings(); !strings.Contains(s.Lead, "there are no factors of efficiency: ") {
		t.Errorf("found %q, although the page has the section about the critical path", s.Lead)
	}
	if r.Unexplained, r.Explanation = "", nil; r.findings().ID != "" {
		t.Error("found findings without an explanation")
	}
}

// TestFactorClass checks the limits of the marks of factors.
func TestFactorClass(t *testing.T) {
	for value, want := range map[float64]string{0.59: "error", 0.6: "warning", 0.79: "warning", 0.8: "", 1: ""} {
		if found := factorClass(value); found != want {
			t.Errorf("%v: found %q, expected %q", value, found, want)
		}
	}
}

// TestEfficiencySection checks the numbers above the factors, and the two decimals after the first of a factor.
func TestEfficiencySection(t *testing.T) {
	r := handReport()
	x := &efficiency.Result{Processes: 2, Threads: 4, Runtime: 100, Ideal: 80}
	x.Factors.Parallel, x.Factors.LoadBalance = 0.5, 0.625
	r.Explanation = &explain.Page{Efficiency: x}
	s := r.efficiency()
	found := lines(s)
	want := []string{"Processes: 2", "Threads: 4", "Runtime: 100 ms", "Runtime without transfers: 80 ms",
		"parallel efficiency | 0.500", "load balance | 0.625"}
	for i, l := range want {
		if i >= len(found) || found[i] != l {
			t.Fatalf("found %q, expected %q first", found, want)
		}
	}
	if c := s.Tables[0].Rows[1][1]; c.Bar != 62.5 || c.Class != "warning" {
		t.Errorf("found %+v", c)
	}
	if f := r.figures(); f[1].Value != "62.5 %" || f[1].Name != "load balance" {
		t.Errorf("found %v, expected the load balance of the explanation", f)
	}
}

// TestWaitsSection checks the patterns, with their parts below them, and the causes of waits of 1000 ticks of all
// locations.
func TestWaitsSection(t *testing.T) {
	r := handReport()
	pattern := func(name, part string, n, time, most int64, in ...waits.Share) waits.Pattern {
		return waits.Pattern{Pattern: name, PartOf: part, Count: n, Time: trace.TicksOf(time),
			Statistics: waits.Statistics{Max: most}, Regions: in}
	}
	r.WaitStates = &waits.Result{Clock: r.Clock, Judged: 9, Time: trace.TicksOf(1000), Waiting: trace.TicksOf(110),
		Patterns: []waits.Pattern{
			pattern("late-sender", "", 4, 100, 60, waits.Share{Region: "MPI_Recv", Time: trace.TicksOf(75)}),
			pattern("late-sender-wrong-order", "late-sender", 1, 20, 20),
			pattern("of-one-source", "late-sender-wrong-order", 1, 20, 20), pattern("late-receiver", "", 1, 10, 10)},
		Late: []waits.LateArrivals{{LocationName: "c", Communicator: "world", Operations: 3, AllOperations: 4,
			Lost: trace.TicksOf(7)}}}
	r.Causes = &causes.Result{Patterns: []causes.Pattern{{Pattern: "late-sender", Waiting: trace.TicksOf(100),
		Costs: []causes.Cost{{Path: []string{"main", "f"}, LocationName: "a", ShortTerm: 50, LongTerm: 25},
			{LocationName: "b", ShortTerm: 5}, {}, {}, {}, {LocationName: "sixth"}}}}}
	s := r.waits()
	none := "(outside of all regions) |  | late-sender | 0 s | 0.0 % | 0 s | 0 s"
	expectLines(t, s, "Waiting: 110 ms | 11.0 % of the time of all locations", "# Patterns",
		"late-sender | 4 | 100 ms | 10.0 % | 25 ms | 60 ms | MPI_Recv, 75.0 %",
		"late-sender-wrong-order | 1 | 20 ms | 2.0 % | 20 ms | 20 ms | ",
		"of-one-source | 1 | 20 ms | 2.0 % | 20 ms | 20 ms | ",
		"late-receiver | 1 | 10 ms | 1.0 % | 10 ms | 10 ms | ", "# Causes",
		"main > f | a | late-sender | 75 ms | 75.0 % | 50 ms | 25 ms",
		"(outside of all regions) | b | late-sender | 5 ms | 5.0 % | 5 ms | 0 s", none, none, none,
		"# Last to come to collective operations", "c | world | 3 | 4 | 7 ms")
	var depths []int
	for _, row := range s.Tables[0].Rows {
		depths = append(depths, row[0].Depth)
	}
	if fmt.Sprint(depths) != "[0 1 2 0]" {
		t.Errorf("found the depths %v", depths)
	}
	if s.Remark != "" {
		t.Errorf("found %q without violations", s.Remark)
	}
	r.WaitStates.Violations.Operations = 1
	if s := r.waits(); !strings.HasPrefix(s.Remark, "Clocks differ: 1 operation left before all had come") {
		t.Errorf("found %q", s.Remark)
	}
	if r.WaitStates = (&waits.Result{Judged: 1}); r.waits().ID != "" {
		t.Error("found a section without patterns")
	}
	if r.WaitStates = (&waits.Result{}); r.waits().Lead == "" {
		t.Error("found no reason why nothing was judged")
	}
}

// TestCriticalPathSection checks a path of 80 of 100 ticks, and one of claims.
func TestCriticalPathSection(t *testing.T) {
	r := handReport()
	x := &criticalpath.Result{Length: 80, Runtime: 100,
		Regions:   []criticalpath.Region{{Region: "f", Time: 60, Imbalance: 7.5}, {Time: 20}},
		Locations: []criticalpath.Location{{LocationName: "a", Time: 80}},
		Gains:     []criticalpath.Gain{{Region: "f", Half: 30}}}
	r.Explanation = &explain.Page{CriticalPath: x}
	expectLines(t, r.criticalPath(), "Length: 80 ms", "Pieces: 0", "# Regions", "f | 60 ms | 75.0 % | 8 ms",
		"(outside of all regions) | 20 ms | 25.0 % | 0 s", "# Locations", "a | 80 ms | 100.0 %",
		"# If a region took half of its time", "f | 30 ms | 30.0 %")
	x.Regions = x.Regions[1:]
	if s := r.criticalPath(); s.Lead == "" || len(lines(s)) > 0 {
		t.Errorf("found %q and %v, expected that there is no path", s.Lead, lines(s))
	}
	if r.Unexplained = "why"; r.criticalPath().ID != "" {
		t.Error("found a section, although the findings state the reason")
	}
	r.ClaimPath = &constraints.Result{Length: 50, Claims: 9, Dependencies: 4, Inferred: 2,
		Critical: make([]constraints.Claim, 3),
		Regions:  []constraints.Region{{Region: "A", Claims: 3, Time: trace.TicksOf(40)}}}
	expectLines(t, r.criticalPath(), "Length: 50 ms", "Critical claims: 3 | of 9 claims",
		"Dependencies: 4 | and 2 inferred", "# Activities", "A | 3 | 40 ms | 80.0 %")
}

// TestOverviewSection checks the facts about a trace, without those that are 0.
func TestOverviewSection(t *testing.T) {
	r := handReport()
	expectLines(t, r.overview(), "Format: f", "Size: 1 byte", "Duration: 100 ms", "First event: 1 s",
		"Last event: 1.1 s", "Events: 0", "Locations: 0", "Clock: 1000 ticks a second, resolution 1 ms",
		"Found while reading: none")
	x := r.Info
	x.Files = []info.File{{Path: "p", Size: 1000}, {Path: "q", Size: 1048}}
	x.Origin, x.Start, x.Events, x.Derived, x.Links = "picl", "2026-01-02", 5000, 1, 2
	x.Unclosed, x.Orphans, x.Errors, x.Warnings = 1, 2, 1, 3
	x.Kinds = []counts.Kind{{Name: "send", Events: 3, Derived: 1}}
	x.Properties = map[string]any{}
	for i := range 25 {
		x.Properties[fmt.Sprintf("p%02d", i)] = i
	}
	found := lines(r.overview())
	want := strings.Split("Format: f, written from another format\nSize: 2.0 KiB in 2 files\nDuration: 100 ms\n"+
		"First event: 1 s\nLast event: 1.1 s\nStarted: 2026-01-02\nEvents: 5\u202f000\nDerived from them: 1\n"+
		"Locations: 0\nDependencies: 2\nClock: 1000 ticks a second, resolution 1 ms\n"+
		"Never left: 1 visit of regions; they count until their location's last event\n"+
		"Never entered: 2 leaves of regions\nFound while reading: 1 error, 3 warnings\np00: 0", "\n")
	for i, l := range want {
		if i >= len(found) || found[i] != l {
			t.Fatalf("found\n%s\nexpected first\n%s", strings.Join(found, "\n"), strings.Join(want, "\n"))
		}
	}
	rest := strings.Join(found[len(want)+22:], "\n")
	if rest != "p23: 23\n…: 1 more property\n# Events by kind\nsend | 4\n# Files\np | 1\u202f000\nq | 1\u202f048" {
		t.Errorf("found at the end\n%s", rest)
	}
}

// TestShorten checks the lengths of texts: 160 characters stay, of 161 the last two become an ellipsis.
func TestShorten(t *testing.T) {
	for n, want := range map[int]string{160: strings.Repeat("é", 160), 161: strings.Repeat("é", 159) + "…"} {
		if found := name(strings.Repeat("é", n)); found != want {
			t.Errorf("%d: found %d characters", n, len([]rune(found)))
		}
	}
	if found := name("a\tb\x7f\xffc"); found != "a b \uFFFDc" {
		t.Errorf("found %q", found)
	}
}
