package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sampleAnswers returns a report in which all limits are just kept.
func sampleAnswers() *answersReport {
	r := &answersReport{result: result{machine: machine{"CPU", 2, "go1.26", "0.10"}, runs: 2}}
	r.traces = answersTraces(4_160_000, wideEvents)
	for _, x := range r.traces {
		x.bytes = 8e6
		for i := range x.commands {
			x.commands[i].runs = []usage{testUsage(0.5, 0.25, 20), testUsage(0.5, 0.25, 20)}
		}
		x.commands[answerDiff].runs = []usage{testUsage(2, 1, 20), testUsage(2, 1, 20)}
	}
	ring := r.traces[0].commands
	ring[answerExplain].runs = []usage{testUsage(1, 0.5, 96), testUsage(2, 1, 90)}
	ring[answerCauses].runs = []usage{testUsage(1, 0.5, 64), testUsage(1, 0.5, 64)}
	r.traces[5].commands[answerExplain].runs = []usage{testUsage(9, 5, 1024), testUsage(9, 5, 1000)}
	return r
}

// TestAnswersDocument checks the document. 0.5 s for each side are 1 s for the profile of both, and 0.5 s for
// 4.16 million events are 120 ns for each.
func TestAnswersDocument(t *testing.T) {
	checkDocument(t, string(sampleAnswers().document()),
		"| `explain`, ring.otf2, 4 locations, 4160000 events: CPU | ≤ 1.5 s | 1.50 (1.00–2.00) s | pass |",
		"| `explain`, ring.otf2, 4 locations, 4160000 events: memory | ≤ 96 MiB | 96.0 MiB | pass |",
		"| `waits --causes`, ring.otf2, 4 locations, 4160000 events: CPU | ≤ 1.0 s | 1.00 (1.00–1.00) s | pass |",
		"| `waits --causes`, ring.otf2, 4 locations, 4160000 events: memory | ≤ 64 MiB | 64.0 MiB | pass |",
		"| `explain`, ring.otf2, 4096 locations, 10000000 events: memory | ≤ 1024 MiB | 1024.0 MiB | pass |",
		"| ≤ 2.0 × | 2.00 (2.00–2.00) × (ring.otf2, 4 locations) | pass |",
		"### phases.otf2, 4 locations\n\nAbout 4160000 events, 8.0 MB.\n",
		"| `weft explain -q TRACE` | 1.50 (2.00) | 0.75 (1.00) | 93.0 (96.0) | 361 (481) |",
		"| `weft profile -q TRACE` | 0.50 (0.50) | 0.25 (0.25) | 20.0 (20.0) | 120 (120) |",
	)
}

// TestAnswersVerdicts checks the verdict on each limit, in the order of the document.
func TestAnswersVerdicts(t *testing.T) {
	for name, test := range map[string]struct {
		change func(r *answersReport)
		want   string
	}{
		"good": {func(*answersReport) {}, "pass"},
		"slow": {func(r *answersReport) { r.traces[0].commands[answerExplain].runs[0] = testUsage(1.01, 1, 9) }, "fail"},
		"much": {func(r *answersReport) { r.traces[0].commands[answerExplain].runs[1].peak = 97 << 20 }, "pass fail"},
		"causes": {func(r *answersReport) { r.traces[0].commands[answerCauses].runs[0] = testUsage(1.1, 1, 65) },
			"pass pass fail fail"},
		"locations": {func(r *answersReport) { r.traces[5].commands[answerExplain].runs[0].peak = 1025 << 20 },
			"pass pass pass pass pass pass pass pass fail"},
		"path": {func(r *answersReport) { r.traces[0].commands[answerPath].runs[1].peak = 65 << 20 },
			"pass pass pass pass pass pass pass fail"},
		"diff": {func(r *answersReport) { r.traces[3].commands[answerDiff].runs = []usage{testUsage(2.1, 1, 9)} },
			"pass pass pass pass pass pass pass pass pass fail"},
		"a trace failed": {func(r *answersReport) { r.traces[2] = answersTraces(1, 1)[2] },
			"pass pass pass pass pass pass pass pass pass inco"},
		"nothing": {func(r *answersReport) { r.traces = answersTraces(4_160_000, wideEvents) },
			"not  not  not  not  not  not  not  not  not  not "},
	} {
		r := sampleAnswers()
		test.change(r)
		doc := string(r.document())
		if strings.Contains(doc, "NaN") || strings.Contains(doc, "Inf") || strings.Contains(doc, "%!") {
			t.Errorf("%s: found\n%s", name, doc)
		}
		var got []string
		for line := range strings.Lines(doc) {
			for _, v := range []string{"pass", "**fail**", "**incomplete**", "not measured"} {
				if strings.HasSuffix(line, "| "+v+" |\n") {
					got = append(got, strings.Trim(v, "*")[:4])
				}
			}
		}
		want := (test.want + strings.Repeat(" pass", 10))[:10*len("pass ")-1] // kept where it ends
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: found %s, expected %s", name, s, want)
		}
	}
}

// TestAnswersMeasure runs the part with a program that does nothing, and compares the lines of commands.
func TestAnswersMeasure(t *testing.T) {
	var log bytes.Buffer
	dir := t.TempDir()
	b := &session{config: &config{runs: 1, wideEvents: 5000},
		runner: &runner{ctx: t.Context(), tmp: dir, weft: "true", log: &log}, dir: dir}
	r := &answersReport{result: result{events: 1000}}
	if err := r.measure(b); err != nil || len(r.problems) != 0 {
		t.Fatalf("found %v %v", err, r.problems)
	}
	var got []string
	for line := range strings.Lines(log.String()) {
		command, _, _ := strings.Cut(line, " cpu ")
		got = append(got, strings.TrimSpace(command))
	}
	each := len(answersCommands) + 1
	if len(got) != 6*each {
		t.Fatalf("found %d processes, expected %d", len(got), 6*each)
	}
	for i, want := range map[int]string{
		0: "true generate --workload ring --locations 4 --events 1000 trace.otf2",
		1: "true convert -q --to null -j 1 trace.otf2 -",
		3: "true waits -q --causes trace.otf2",
		7: "true diff -q trace.otf2 -- trace.otf2",
		8: "true profile -q trace.otf2",

		each:     "true generate --workload ring --locations 4 --events 1000 trace.otf",
		5 * each: "true generate --workload ring --locations 4096 --events 5000 trace.otf2",
	} {
		if got[i] != want {
			t.Errorf("process %d: found %s, expected %s", i, got[i], want)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("found %s, expected no file", filepath.Join(dir, left[0].Name()))
	}
}

// TestAnswersFlags checks the number of events of the trace with many locations.
func TestAnswersFlags(t *testing.T) {
	for args, want := range map[string]int64{
		"-part answers": 10_000_000, "-quick": 100_000, "-answers-wide-events 100000000": 100_000_000,
		"-quick -answers-wide-events 5000": 5000, "-answers-wide-events 4095": 0,
	} {
		c, err := parseFlags(strings.Fields(args), io.Discard)
		if (err != nil) != (want == 0) || err == nil && c.wideEvents != want {
			t.Errorf("%s: found %+v %v, expected %d", args, c, err, want)
		}
	}
}
