package main

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// readsLocations is the number of locations of the traces. readsLocation is the location that
// questions about a single location select.
const (
	readsLocations = 4
	readsLocation  = 1
)

// readsFormat is a format with the options for writing a trace.
type readsFormat struct {
	name string
	// options of weft generate, so that each location has its own stream, file or folder
	options []string
	tools   [][]string
}

var readsFormats = []readsFormat{
	{"otf", []string{"--option", "otf.streams=0"}, [][]string{{"otfprint", "-V"}, {"otfprofile", "-V"}}},
	{"otf2", nil, [][]string{{"otf2-print", "--version"}}},
	{"pallas", nil, [][]string{{"pallas_print", "--help"}}},
}

// commands maps a format's name to the command line for this format.
type commands map[string]string

// question is a question about a trace, as a command of weft and as commands of the formats' own
// tools.
type question struct {
	command  string   // command of weft, without the path of the trace
	from, to int      // window of the question, in thousandths of the trace's time
	location bool     // only events of readsLocation are needed
	tools    commands // commands of the formats' own tools
}

// wholeTrace reports whether the question is about the whole trace.
func (q question) wholeTrace() bool { return q.from == 0 && q.to == 1000 && !q.location }

// printTools holds commands that print a whole trace. windowTools holds commands that print a window of a
// trace.
var (
	printTools  = commands{"otf": "otfprint TRACE", "otf2": "otf2-print TRACE", "pallas": "pallas_print TRACE"}
	windowTools = commands{"otf": "otfprint --time FROM TO TRACE", "otf2": "otf2-print --time FROM TO TRACE"}
)

// questions lists the questions that are measured. The commands profile and cut need the regions that
// are open at the begin of a window. These traces do not store the open regions, so the windows of
// these commands begin with the trace.
var questions = []question{
	{"print", 0, 1000, false, printTools},
	{"print --window 50%..50.1%", 500, 501, false, windowTools},
	{"print --window 50%..60%", 500, 600, false, windowTools},
	{"print --location 1", 0, 1000, true, commands{"otf": "otfprint --procs 1 TRACE", "otf2": "otf2-print -L 1 TRACE"}},
	{"profile", 0, 1000, false, commands{"otf": "otfprofile -i TRACE --csv --notex -o OUT"}},
	{"profile --window 50%..50.1%", 0, 501, false, nil},
	{"profile --location 1", 0, 1000, true, nil},
	{"comm", 0, 1000, false, nil},
	{"states --waits=false", 0, 1000, false, nil},
	{"convert --to null", 0, 1000, false, commands{"otf": "otfprint -s TRACE", "otf2": "otf2-print --silent TRACE"}},
	{"cut --window 50%..51%", 0, 510, false, nil},
}

// answer holds the measurements of a question.
type answer struct {
	question
	blocks       int64  // number of bytes that must be read (see "Bytes" in the document)
	tool         string // name of the format's own tool; "" if it is missing
	ours, theirs []usage
}

// readsTrace holds the measurements of a trace in one format.
type readsTrace struct {
	format string
	bytes  int64
	start  []usage // runs of `weft version`, which read no trace
	// runs of the formats' own tools that read no trace, by name
	tools   map[string][]usage
	answers []*answer
}

// readsReport holds the measurements of the part reads, and writes its document.
type readsReport struct {
	result
	traces []*readsTrace
}

// measure measures the questions in each format.
func (r *readsReport) measure(b *session) error {
	for _, f := range readsFormats {
		x := &readsTrace{format: f.name, tools: map[string][]usage{}}
		r.traces = append(r.traces, x)
		if _, err := b.try(&r.problems, f.name, task{"reads", func() error { return b.reads(x, f, r.events) }}); err != nil {
			return err
		}
	}
	return nil
}

// reads writes a trace in a format, and measures the questions about it.
func (b *session) reads(x *readsTrace, f readsFormat, events int64) error {
	dir, err := os.MkdirTemp(b.dir, "reads-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	trace, out := filepath.Join(dir, "in", "ring."+f.name), filepath.Join(dir, "out", "ring."+f.name)
	fresh := func(path string) error {
		os.RemoveAll(filepath.Dir(path))
		return os.Mkdir(filepath.Dir(path), 0o777)
	}
	if err := fresh(trace); err != nil {
		return err
	}
	args := []string{"generate", "--workload", "ring", "--locations", fmt.Sprint(readsLocations), "--events",
		fmt.Sprint(events), trace}
	if _, err := b.weftRun(append(args, f.options...)...); err != nil {
		return err
	}
	x.bytes = bytesIn(filepath.Dir(trace))
	if err := b.inTurn(b.runs, command{&x.start, b.weft, []string{"version"}}); err != nil {
		return err
	}
	for _, t := range f.tools {
		if path, err := exec.LookPath(t[0]); err == nil {
			var start []usage
			if err := b.inTurn(b.runs, command{&start, path, t[1:]}); err != nil {
				return err
			}
			x.tools[t[0]] = start
		}
	}
	for _, q := range questions {
		a := &answer{question: q}
		x.answers = append(x.answers, a)
		from, to, err := b.mustRead(a, trace)
		if err != nil {
			return err
		}
		words := map[string]string{"TRACE": trace, "OUT": out, "FROM": fmt.Sprint(from), "TO": fmt.Sprint(to - 1)}
		list := []command{{&a.ours, b.weft, weftArgs(q, trace, out)}}
		if theirs := strings.Fields(q.tools[f.name]); len(theirs) > 0 && x.tools[theirs[0]] != nil {
			a.tool = theirs[0]
			list = append(list, command{&a.theirs, a.tool, replaceWords(theirs[1:], words)})
		}
		for range pairs * b.runs {
			if err := fresh(out); err != nil {
				return err
			}
			if err := b.inTurn(1, list...); err != nil {
				return err
			}
		}
	}
	return nil
}

// weftArgs returns the arguments with which weft answers a question. out is the path of a written
// trace.
func weftArgs(q question, trace, out string) []string {
	args := append(strings.Fields(q.command), "-q", trace)
	switch {
	case args[0] == "cut":
		args = append(args, out)
	case args[0] == "convert":
		args = append(args, "-")
	}
	return args
}

// mustRead sets the number of bytes that must be read for an answer, which a child computes. It
// returns the window of the question, on the clock of the trace.
func (b *session) mustRead(a *answer, trace string) (from, to int64, err error) {
	location := -1
	if a.location {
		location = readsLocation
	}
	var out bytes.Buffer
	args := []string{"blocks", trace, strconv.Itoa(a.from), strconv.Itoa(a.to), strconv.Itoa(location)}
	if _, err := b.childRun(&out, args...); err != nil {
		return 0, 0, err
	}
	_, err = fmt.Sscan(out.String(), &a.blocks, &from, &to)
	return from, to, err
}

// bytesOf returns statistics of the bytes that runs have read. Bytes that the program reads at its start do
// not count. The statistics are empty if the system does not count bytes.
func bytesOf(list, start []usage) stat {
	counted := func(u usage) float64 {
		if u.read == 0 {
			return math.NaN()
		}
		return float64(u.read)
	}
	s := statOver(start, counted).median
	return statOver(list, func(u usage) float64 { return max(counted(u)-s, 0) })
}

// perBlocks returns the number of bytes that weft reads, divided by the number of bytes that any reader must
// read. The second result reports whether this ratio is known.
func (r *readsTrace) perBlocks(a *answer) (float64, bool) {
	s := bytesOf(a.ours, r.start)
	return s.median / float64(a.blocks), s.n > 0 && a.blocks > 0
}

// readsLimit is the largest allowed ratio of bytes read to bytes that must be read, for a question
// about a window or a location.
const readsLimit = 1.2

// acceptances compares the worst measurement with each of the project's limits.
func (r *readsReport) acceptances() (list []acceptance) {
	for _, x := range r.traces {
		var most, least struct {
			value   float64
			command string
		}
		for _, a := range x.answers {
			if v, ok := x.perBlocks(a); ok && !a.wholeTrace() && v > most.value {
				most.value, most.command = v, a.command
			}
			if v, ok := cpuRatio(a.theirs, a.ours); ok && (least.command == "" || v < least.value) {
				least.value, least.command = v, a.command
			}
		}
		show := func(v float64, command string) string { return fmt.Sprintf("%.2f × (`%s`)", v, command) }
		limit := fmt.Sprintf("≤ %.2f × its blocks", readsLimit)
		list = append(list,
			verdict(x.format+": a window or a location reads what it holds", limit,
				show(most.value, most.command), most.command != "", most.value <= readsLimit),
			verdict(x.format+": the format's own tool is never faster, CPU", "≥ 1.00 ×",
				show(least.value, least.command), least.command != "", least.value >= 1))
	}
	return list
}

// document returns the report as Markdown.
func (r *readsReport) document() []byte {
	r.begin("reads", "bytes read", "small traces",
		`It measures whole processes, as [performance.md](performance.md) does: the bytes that
they read, and their CPU time. If the format's own tool answers the same question, it is
measured, too.`)
	r.printf("\n- Runs: %d\n\n", pairs*r.runs)
	r.verdicts("The worst question decides.\n\n", "Worst", r.acceptances())
	r.printf("## Bytes\n\n")
	if r.counted() {
		r.printf("Bytes are the bytes that system calls such as read return (`rchar` of Linux), from the\n" +
			"cache or the disk, without the bytes that the program reads at its start.\n")
	} else {
		r.printf("This system does not count the bytes that a process reads, so these figures are missing.\n")
	}
	r.printf(`The other column is the number of bytes that must be read: for a window, the data in the
window, and, if the command needs the state at its begin (profile, cut), the data before
the window; for a location, the data of the location.

- OTF: the part of the time of each stream, with one read of 256 KiB, and 16 KiB at both
  ends of each file of events; all other files.
- OTF2: the chunks, of 1 MiB, in which the events of the window are; all files of
  definitions.
- Pallas: the blocks in which the times of the window's events are; the main file and the
  grammars. A block has up to 1000 times of one event.

The trace is a ring of %d locations with about %d events. Figures of whole traces are
shown, but have no limit. CPU times include the start of the program.

`, readsLocations, r.events)
	for _, x := range r.traces {
		r.printf("## %s\n\n%s. `weft version` takes %s.\n\n", x.format, size(x.bytes), smallSeconds(x.start, cpu))
		var rows [][]string
		for _, a := range x.answers {
			rows = append(rows, x.cells(a))
		}
		r.table([]string{"Question", "must be read", "read", "of the trace", "times",
			" Tool", "read", "CPU", "tool", "times less"}, rows)
	}
	return r.text.Bytes()
}

// counted reports whether the system counts the bytes that a program reads.
func (r *readsReport) counted() bool {
	for _, x := range r.traces {
		if bytesOf(x.start, nil).n > 0 {
			return true
		}
	}
	return len(r.traces) == 0
}

// cells returns the cells of the table row of an answer.
func (r *readsTrace) cells(a *answer) []string {
	known := func(ok bool, format string, args ...any) string {
		if !ok {
			return "–"
		}
		return fmt.Sprintf(format, args...)
	}
	megabytes := func(s stat) string { return known(s.n > 0, "%.2f MB", s.median/1e6) }
	own, tool := bytesOf(a.ours, r.start), bytesOf(a.theirs, r.tools[a.tool])
	times, judged := r.perBlocks(a)
	less, both := cpuRatio(a.theirs, a.ours)
	return []string{
		"`" + a.command + "`", fmt.Sprintf("%.2f MB", float64(a.blocks)/1e6),
		megabytes(own), known(own.n > 0, "%.1f %%", 100*own.median/float64(r.bytes)), known(judged, "%.2f ×", times),
		cmp.Or(a.tool, "–"), megabytes(tool), smallSeconds(a.ours, cpu), smallSeconds(a.theirs, cpu),
		known(both, "%.2f ×", less),
	}
}
