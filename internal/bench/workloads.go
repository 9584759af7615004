package main

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// workloadsReport holds the measurements of the part workloads. Its document shows whether limits
// that hold for the traces used for tuning also hold for other traces.
type workloadsReport struct {
	result
	traces []*workloadTrace
}

// workloadTrace is a trace in a format, with its measurements.
type workloadTrace struct {
	format, name string
	events       int64   // 0 for a trace of a real program
	bytes        int64   // total size of its files
	decode, peer []usage // decoding on one core by weft, and by the format's own tool
	print, text  []usage // printing by weft in the style of the format's own tool, and printing by that tool
	analyses     [][]usage
}

// workloadNames lists the workloads of `weft generate` that are measured.
var workloadNames = []string{"stencil", "ring", "masterworker", "calltree", "loops", "cps"}

// recordedTraces lists small traces of real programs, by format.
var recordedTraces = map[string][]string{
	"otf": {"format/otf/testdata/ok/mpi4/mpi4.otf", "format/otf/testdata/ok/aux_snapshots/aux_snapshots.otf"},
	"otf2": {"format/otf2/testdata/ok/heat2d-mt/traces.otf2", "format/otf2/testdata/ok/ring/eztrace_log.otf2",
		"format/otf2/testdata/ok/omp/eztrace_log.otf2"},
	"pallas": {"format/pallas/testdata/ok/abi18_mpi/trace/main.pallas"},
}

// workloadFormats lists the formats, and the endings of their files.
var workloadFormats = [][2]string{{"otf", ".otf"}, {"otf2", ".otf2"}, {"pallas", ".pallas"}, {"picl", ".trf"},
	{"etf", ".etf"}}

// workloadTools holds the formats' own tools, by format. For each tool it has the command that reads a whole
// trace, and the command that prints a trace.
var workloadTools = map[string]struct {
	name         string
	silent, text []string
}{
	"otf":  {"otfprint", []string{"-s"}, nil},
	"otf2": {"otf2-print", []string{"--silent"}, []string{"-A"}},
}

// workloadAnalyses lists commands, and the limits for the ratios of their CPU times to that of
// decoding.
var workloadAnalyses = []struct {
	command string
	limit   float64
}{{"check", 2}, {"comm", 2.5}, {"messages", 2.5}, {"states --waits=false", 2.5}}

// measure measures every workload in every format.
func (r *workloadsReport) measure(b *session) error {
	for _, f := range workloadFormats {
		format := f[0]
		for _, name := range workloadNames {
			x := &workloadTrace{format: format, name: name, events: r.events}
			r.traces = append(r.traces, x)
			if _, err := b.try(&r.problems, name, task{format, func() error { return b.workload(x, f[1]) }}); err != nil {
				return err
			}
		}
		for _, path := range recordedTraces[format] {
			path, err := filepath.Abs(path)
			if err != nil {
				return err
			}
			if _, err := os.Stat(path); err != nil {
				continue // the benchmark runs outside of the project's folder
			}
			x := &workloadTrace{format: format, name: filepath.Base(filepath.Dir(path)) + "/" + filepath.Base(path)}
			r.traces = append(r.traces, x)
			if _, err := b.try(&r.problems, x.name, task{format, func() error { return b.decoded(x, path) }}); err != nil {
				return err
			}
		}
	}
	return nil
}

// workload generates a trace with the given ending and measures it.
func (b *session) workload(x *workloadTrace, ending string) error {
	dir, err := os.MkdirTemp(b.dir, x.name+"-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "trace"+ending)
	if _, err := b.weftRun("generate", "--workload", x.name, "--events", strconv.FormatInt(x.events, 10),
		path); err != nil {
		return err
	}
	x.bytes = bytesIn(dir)
	if err := b.decoded(x, path); err != nil {
		return err
	}
	x.analyses = make([][]usage, len(workloadAnalyses))
	var list []command
	for i, a := range workloadAnalyses {
		if strings.HasPrefix(a.command, "states") && x.name == "cps" {
			continue // resources have no states
		}
		list = append(list, command{&x.analyses[i], b.weft, append(strings.Fields(a.command), "-q", path)})
	}
	return b.inTurn(b.runs, list...)
}

// decoded measures reading and printing a trace.
func (b *session) decoded(x *workloadTrace, path string) error {
	list := []command{{&x.decode, b.weft, decodeArgs(1, path)}}
	t := workloadTools[x.format]
	// otf2-print takes many minutes for an archive with more than 100000 texts.
	endless := x.format == "otf2" && x.name == "cps"
	if tool, err := exec.LookPath(t.name); err == nil && t.name != "" && !endless {
		list = append(list, command{&x.peer, tool, append(slices.Clone(t.silent), path)},
			command{&x.print, b.weft, []string{"print", "-q", "--compat", path}},
			command{&x.text, tool, append(slices.Clone(t.text), path)})
	}
	return b.inTurn(pairs*b.runs, list...)
}

// namedValue is a measurement with the name of the trace that was measured.
type namedValue struct {
	name  string
	value float64
}

// values returns the values of f for the generated traces of a format, or of all formats if format is "", in
// ascending order. The second result of f reports whether f has a value for a trace.
func (r *workloadsReport) values(format string, f func(x *workloadTrace) (float64, bool)) (list []namedValue) {
	for _, x := range r.traces {
		if v, ok := f(x); ok && x.events > 0 && (format == "" || x.format == format) {
			list = append(list, namedValue{x.format + " " + x.name, v})
		}
	}
	slices.SortFunc(list, func(a, b namedValue) int { return cmp.Compare(a.value, b.value) })
	return list
}

// cpuRatio returns the ratio of the median CPU times of a and b. ok is false if one of them was not
// measured.
func cpuRatio(a, b []usage) (times float64, ok bool) {
	if len(a) == 0 || len(b) == 0 {
		return 0, false
	}
	return statOver(a, cpu).median / statOver(b, cpu).median, true
}

// acceptances compares the measurement of the worst trace with each of the project's limits.
func (r *workloadsReport) acceptances() (out []acceptance) {
	add := func(text, limit string, list []namedValue, unit string, pass func(v float64) bool, worst int) {
		if len(list) == 0 {
			out = append(out, verdict(text, limit, "", false, false))
			return
		}
		w, m := list[0], list[len(list)/2]
		if worst > 0 {
			w = list[len(list)-1]
		}
		out = append(out, verdict(text, limit,
			fmt.Sprintf("%.2f%s (%s); median %.2f%s", w.value, unit, w.name, m.value, unit), true, pass(w.value)))
	}
	times := func(text string, limit float64, format string, theirs, ours func(*workloadTrace) []usage) {
		list := r.values(format, func(x *workloadTrace) (float64, bool) { return cpuRatio(theirs(x), ours(x)) })
		add(text, fmt.Sprintf("≥ %.2f ×", limit), list, " ×", func(v float64) bool { return v >= limit }, 0)
	}
	decode, peer := func(x *workloadTrace) []usage { return x.decode }, func(x *workloadTrace) []usage { return x.peer }
	print, text := func(x *workloadTrace) []usage { return x.print }, func(x *workloadTrace) []usage { return x.text }
	times("OTF, decoding: less CPU time than `otfprint -s`", 5, "otf", peer, decode)
	times("OTF, text: less CPU time than `otfprint`", 2, "otf", text, print)
	times("OTF2, decoding: less CPU time than `otf2-print --silent`", 2, "otf2", peer, decode)
	times("OTF2, text: less CPU time than `otf2-print -A`", 2, "otf2", text, print)
	add("Pallas, decoding", "≤ 60 ns per event", r.values("pallas", func(x *workloadTrace) (float64, bool) {
		return perEventOf(x.decode, x.events, cpu).median, len(x.decode) > 0
	}), " ns", func(v float64) bool { return v <= 60 }, 1)
	for i, a := range workloadAnalyses {
		add("`"+a.command+"`, CPU compared with decoding", fmt.Sprintf("≤ %.1f ×", a.limit),
			r.values("", func(x *workloadTrace) (float64, bool) {
				if len(x.analyses) == 0 {
					return 0, false
				}
				return cpuRatio(x.analyses[i], x.decode)
			}), " ×", func(v float64) bool { return v <= a.limit }, 1)
	}
	return out
}

// document returns the report as Markdown.
func (r *workloadsReport) document() []byte {
	r.begin("workloads", "every workload", "small traces",
		"It measures whole processes, as [performance.md](performance.md) does, on every workload\n"+
			"of `weft generate` and on traces of real programs, and the format's own tool in the same\n"+
			"run. The worst generated trace decides.")
	r.printf("\n- Runs: %d, of analyses %d\n\n", pairs*r.runs, r.runs)
	r.verdicts("", "Worst; median of the traces", r.acceptances())
	r.printf("## Reading\n\nThe table compares the CPU time of `weft convert --to null -j 1` with `otfprint -s` and\n"+
		"`otf2-print --silent`, and of `weft print --compat` with `otfprint` and `otf2-print -A`.\n"+
		"The ratio is the time of the tool divided by the time of weft. Generated traces have\n"+
		"about %d events. Traces of real programs are so small that most of the time is the start\n"+
		"of the program; they are shown, but have no limit. In OTF2, cps has more than 100000\n"+
		"texts, for which otf2-print takes many minutes; cps is left out there.\n\n", r.events)
	var rows [][]string
	seconds := func(l []usage) string {
		if len(l) == 0 {
			return "–"
		}
		return fmt.Sprintf("%.3f s", statOver(l, cpu).median)
	}
	less := func(theirs, ours []usage) string {
		if v, ok := cpuRatio(theirs, ours); ok {
			return fmt.Sprintf("%.2f ×", v)
		}
		return "–"
	}
	for _, x := range r.traces {
		ns := "–"
		if x.events > 0 && len(x.decode) > 0 {
			ns = fmt.Sprintf("%.1f", perEventOf(x.decode, x.events, cpu).median)
		}
		rows = append(rows, []string{x.format + " " + x.name, seconds(x.decode), ns, seconds(x.peer), less(x.peer, x.decode),
			seconds(x.print), seconds(x.text), less(x.text, x.print)})
	}
	r.table([]string{"Trace", "decoding", "ns per event", "tool", "times less", "text", "tool", "times less"}, rows)
	r.printf("## Analyses\n\nCPU time divided by the CPU time of decoding on one core, and wall-clock time with all\n" +
		"cores.\n\n")
	header := []string{"Trace"}
	for _, a := range workloadAnalyses {
		header = append(header, a.command, "wall")
	}
	rows = nil
	for _, x := range r.traces {
		if x.analyses == nil {
			continue
		}
		row := []string{x.format + " " + x.name}
		for _, runs := range x.analyses {
			v, ok := cpuRatio(runs, x.decode)
			if !ok {
				row = append(row, "–", "–")
				continue
			}
			row = append(row, fmt.Sprintf("%.2f ×", v), fmt.Sprintf("%.3f s", statOver(runs, wall).median))
		}
		rows = append(rows, row)
	}
	r.table(header, rows)
	r.sizes()
	return r.text.Bytes()
}

// sizes writes the section about the sizes of traces.
func (r *workloadsReport) sizes() {
	r.printf("## Size\n\nBytes per event of the traces that `weft generate` writes.\n\n")
	var formats []string
	for _, f := range workloadFormats {
		formats = append(formats, f[0])
	}
	var rows [][]string
	for _, name := range workloadNames {
		row := []string{name}
		for _, format := range formats {
			cell := "–"
			for _, x := range r.traces {
				if x.name == name && x.format == format && x.bytes > 0 {
					cell = fmt.Sprintf("%.2f", float64(x.bytes)/float64(x.events))
				}
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	r.table(append([]string{"Workload"}, formats...), rows)
}
