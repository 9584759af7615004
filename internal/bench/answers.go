package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// answersReport holds the measurements of the part answers: the analyses that state why a run is slow.
type answersReport struct {
	result
	traces []*answersTrace
}

// answersTrace is a generated trace with the runs of each command.
type answersTrace struct {
	workload, extension string
	locations           int
	events              int64 // approximate number, as requested
	bytes               int64 // total size of its files
	commands            []commandResult
}

// wideLocations is the number of locations of the trace with many locations.
const wideLocations = 4096

// wideEvents is the default number of events of the trace with many locations.
const wideEvents = 10_000_000

// wideQuick is the number of events of the trace with many locations if -quick is set.
const wideQuick = 100_000

// Indexes of the commands in answersCommands.
const (
	answerDecode = iota
	answerWaits
	answerCauses
	answerEfficiency
	answerPath
	answerExplain
	answerDiff
	answerProfile
)

// answersCommands lists the commands that are measured. TRACE stands for the trace.
var answersCommands = []string{
	answerDecode:     "convert -q --to null -j 1 TRACE -",
	answerWaits:      "waits -q TRACE",
	answerCauses:     "waits -q --causes TRACE",
	answerEfficiency: "efficiency -q TRACE",
	answerPath:       "path -q TRACE",
	answerExplain:    "explain -q TRACE",
	answerDiff:       "diff -q TRACE -- TRACE",
	answerProfile:    "profile -q TRACE",
}

// answersTraces returns the traces without measurements. The first trace is the ring to which the project's
// limits apply. The last trace has many locations.
func answersTraces(events, wide int64) []*answersTrace {
	list := []*answersTrace{
		{workload: "ring", extension: "otf2", locations: 4, events: events},
		{workload: "ring", extension: "otf", locations: 4, events: events},
		{workload: "masterworker", extension: "otf2", locations: 4, events: events},
		{workload: "phases", extension: "otf2", locations: 4, events: events},
		{workload: "stencil", extension: "otf2", locations: 4, events: events},
		{workload: "ring", extension: "otf2", locations: wideLocations, events: wide},
	}
	for _, x := range list {
		for _, line := range answersCommands {
			x.commands = append(x.commands, commandResult{command: "weft " + line})
		}
	}
	return list
}

// name returns the name of the trace in the document.
func (x *answersTrace) name() string {
	return fmt.Sprintf("%s.%s, %d locations", x.workload, x.extension, x.locations)
}

// measure measures the commands on each trace.
func (r *answersReport) measure(b *session) error {
	r.traces = answersTraces(r.events, b.wideEvents)
	for _, x := range r.traces {
		if _, err := b.try(&r.problems, x.name(), task{"analyses", func() error { return b.answers(x) }}); err != nil {
			return err
		}
	}
	return nil
}

// answers generates the trace x, and measures the commands on it.
func (b *session) answers(x *answersTrace) error {
	dir, err := os.MkdirTemp(b.dir, "answers-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "trace."+x.extension)
	if _, err := b.weftRun("generate", "--workload", x.workload, "--locations", strconv.Itoa(x.locations), "--events",
		strconv.FormatInt(x.events, 10), path); err != nil {
		return err
	}
	x.bytes = bytesIn(dir)
	var list []command
	for i, line := range answersCommands {
		list = append(list, command{&x.commands[i].runs, b.weft,
			replaceWords(strings.Fields(line), map[string]string{"TRACE": path})})
	}
	return b.inTurn(b.runs, list...)
}

// diffRatio returns the ratios of the CPU time of weft diff to the CPU time of two runs of weft profile, one
// run for each side.
func (x *answersTrace) diffRatio() stat {
	diff, profile := x.commands[answerDiff].runs, x.commands[answerProfile].runs
	var list []float64
	for i := range min(len(diff), len(profile)) {
		if both := 2 * cpu(profile[i]); both > 0 {
			list = append(list, cpu(diff[i])/both)
		}
	}
	return statOf(list)
}

// acceptances evaluates the project's limits.
func (r *answersReport) acceptances() (list []acceptance) {
	if len(r.traces) == 0 {
		return nil
	}
	ring, wide := r.traces[0], r.traces[len(r.traces)-1]
	memory := func(what string, x *answersTrace, command int, limit int64) {
		runs := x.commands[command].runs
		list = append(list, verdict(fmt.Sprintf("%s, %s, %d events: memory", what, x.name(), x.events),
			fmt.Sprintf("≤ %d MiB", limit), peak(runs), len(runs) > 0, highest(runs) <= limit<<20))
	}
	both := func(what string, command int, limit float64, most int64) {
		s := statOver(ring.commands[command].runs, cpu)
		list = append(list, verdict(fmt.Sprintf("%s, %s, %d events: CPU", what, ring.name(), ring.events),
			fmt.Sprintf("≤ %.1f s", limit), ratio(s)+" s", s.n > 0, s.median <= limit))
		memory(what, ring, command, most)
	}
	both("`explain`", answerExplain, 1.5, 96)
	both("`waits --causes`", answerCauses, 1, 64)
	both("`efficiency`", answerEfficiency, 1, 64)
	both("`path`", answerPath, 1, 64)
	memory("`explain`", wide, answerExplain, 1024)
	var worst stat
	name, missing := "", false
	for _, x := range r.traces {
		s := x.diffRatio()
		missing = missing || s.n == 0
		if s.n > 0 && (worst.n == 0 || s.median > worst.median) {
			worst, name = s, x.name()
		}
	}
	a := verdict("`diff` of the trace and itself, CPU, compared with `profile` of both; the worst trace", "≤ 2.0 ×",
		fmt.Sprintf("%s × (%s)", ratio(worst), name), worst.n > 0, worst.median <= 2)
	a.partial = missing
	return append(list, a)
}

// medianWorst formats the median and the greatest value of measurements.
func medianWorst(s stat, format string) string {
	if s.n == 0 {
		return "–"
	}
	return fmt.Sprintf(format+" ("+format+")", s.median, s.max)
}

// document returns the report as Markdown.
func (r *answersReport) document() []byte {
	r.begin("answers", "waits, efficiency, path, explain, diff", "small traces",
		"It measures whole processes, as [performance.md](performance.md) does: the analyses that\n"+
			"explain why a run is slow, on traces of `weft generate`.")
	r.printf("\n- Runs: %d\n\n", r.runs)
	r.verdicts("CPU times and ratios are medians, with the least and the greatest in brackets. The\n"+
		"median decides. Memory is the greatest peak of all runs. `waits --causes`, `efficiency`\n"+
		"and `path` may each take 1.0 s and 64 MiB. `explain` may take 1.5 times as much: it scans\n"+
		"the trace once for the waits, their causes, the efficiency and the gains of its findings.\n"+
		"It computes no critical path. The limit for 4096 locations applies to 10⁸ events, which\n"+
		"`-answers-wide-events 100000000` measures. `diff` compares a trace with itself, so its\n"+
		"limit is a multiple of twice the time of `profile`.\n\n", "Measured",
		r.acceptances())
	r.printf("## Commands\n\nCPU is user and system time of all threads together. Each cell shows the median of the\n" +
		"runs and, in brackets, the worst run. Decoding (`convert --to null -j 1`) uses one core,\n" +
		"and the other commands use as many as they choose. Each round runs all commands on a\n" +
		"trace, one after the other. The processes of ring pass on a token with blocking\n" +
		"messages, without collective operations. In masterworker, one process distributes tasks.\n" +
		"phases and stencil also have collective operations.\n\n")
	for _, x := range r.traces {
		if x.bytes == 0 {
			continue // the trace could not be generated; the list of problems contains its name
		}
		r.printf("### %s\n\nAbout %d events, %.1f MB.\n\n", x.name(), x.events, float64(x.bytes)/1e6)
		var rows [][]string
		for _, c := range x.commands {
			rows = append(rows, []string{"`" + c.command + "`", medianWorst(statOver(c.runs, cpu), "%.2f"),
				medianWorst(statOver(c.runs, wall), "%.2f"),
				medianWorst(statOver(c.runs, func(u usage) float64 { return mib(u.peak) }), "%.1f"),
				medianWorst(perEventOf(c.runs, x.events, cpu), "%.0f")})
		}
		r.table([]string{"Command", "CPU, s", "Wall, s", "Peak, MiB", "CPU, ns per event"}, rows)
	}
	return r.text.Bytes()
}
