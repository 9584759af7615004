// Bench measures weft as users run it: it compares the CPU seconds, wall-clock seconds and peak
// memory of whole processes with those of other programs that read the same files in the same run.
// The part text writes docs/performance.md. Each other part writes a document of its own:
// docs/performance-otf.md, docs/performance-pallas.md, docs/performance-otf2.md,
// docs/performance-reads.md, docs/performance-transform.md, docs/performance-workloads.md,
// docs/performance-verify.md, docs/performance-answers.md and docs/performance-viewer.md.
//
//	go run ./internal/bench            # everything, most of an hour on two cores
//	go run ./internal/bench -quick     # small files, one run: does the harness work?
//	go run ./internal/bench -part text -files cps.etf -o ""
//	go run ./internal/bench -part otf  # only OTF, minutes; docs/performance.md stays
//	go run ./internal/bench -part pallas
//	go run ./internal/bench -part otf2
//	go run ./internal/bench -part reads      # bytes that commands read
//	go run ./internal/bench -part transform  # cut, filter and the like
//	go run ./internal/bench -part verify     # verify, flow, usage, distance and behaviour
//	go run ./internal/bench -part answers    # waits, causes, efficiency, path, explain and diff
//	go run ./internal/bench -part viewer     # index, server and page
//
// Large files are created in a temporary directory (see -dir) and removed afterwards. At any time,
// they need at most six times the size of the largest text, and 120 bytes for each event of the OTF
// trace. Shuffling a text needs memory of the size of the text.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

// subject is a kind of generated file that is measured.
type subject struct {
	workload, format, extension string
	other                       string // extension of the format to which the file is converted
	shuffled                    bool   // the file is also measured with its lines in random order
	ordered                     string // a further command that needs the events in order; "" for none
}

// name returns the name of the file.
func (s subject) name() string { return s.workload + "." + s.extension }

// subjects lists the kinds of files that can be measured.
var subjects = []subject{
	{"cps", "etf", "etf", "trf", true, ""},
	{"stencil", "picl", "trf", "etf", true, "messages -q"},
	{"stencil", "etf", "etf", "trf", false, ""},
	{"calltree", "picl", "trf", "etf", false, ""},
}

// part is a part of the benchmark, which is measured as a whole and has its own document.
type part struct {
	name           string // name in flags and in the name of the document
	about          string // help text of the flag for its number of events
	events         int64  // default number of events; 0 for a part without events
	least          int64  // smallest number of events that the flag accepts
	quick          int64  // number of events with -quick
	disk           int64  // bytes of disk per event
	newMeasurement func() measurement
}

// parts lists the parts in the order in which they are measured.
var parts = []part{
	{name: "text", newMeasurement: func() measurement { return &report{} }},
	{"otf", "events of the OTF trace, about", 8_000_000, 1, 200_000, 120, func() measurement { return &otfReport{} }},
	{"pallas", "events of the Pallas traces, about", 10_000_000, 1000, 100_000, 120,
		func() measurement { return &pallasReport{} }},
	{"otf2", "events of the OTF2 archive, about", 16_000_000, 1000, 100_000, 30,
		func() measurement { return &otf2Report{} }},
	{"reads", "events of the trace of which parts are read, about", 8_000_000, 1000, 400_000, 24,
		func() measurement { return &readsReport{} }},
	{"transform", "events of the trace that is cut and filtered, about", 66_000_000, 1000, 100_000, 0,
		func() measurement { return &transformReport{} }},
	{"workloads", "events of the trace of each workload, about", 3_000_000, 1000, 20_000, 200,
		func() measurement { return &workloadsReport{} }},
	{"verify", "events of the traces whose properties are verified, about", 10_000_000, 10_000, 100_000, 200,
		func() measurement { return &verifyReport{} }},
	{"answers", "events of the traces of 4 locations that are explained, about", 4_160_000, 1000, 100_000, 120,
		func() measurement { return &answersReport{} }},
	{"viewer", "events of the longest traces that the viewer opens, about", 100_000_000, 1000, 100_000, 0,
		func() measurement { return &viewerReport{} }},
}

// measurement is a part whose measurements are being taken.
type measurement interface {
	base() *result
	// measure takes all measurements. If a single measurement fails, that is recorded as a problem.
	// An error ends the benchmark.
	measure(b *session) error
	// document returns the report as a Markdown document.
	document() []byte
}

// result holds the fields that the measurements of all parts have in common.
type result struct {
	page
	machine
	quick, few bool // quick: a trial run; few: fewer events than by default
	runs       int
	events     int64
	floor      int64 // peak memory of the harness itself in bytes; a lower peak of a program cannot be measured
	problems   []problem
}

func (r *result) base() *result { return r }

// config holds the settings of the command line.
type config struct {
	parts           []part // the parts to measure
	events          map[string]*int64
	wideEvents      int64  // number of events of the trace with many locations of the part answers
	out             string // path of the document of the part text; "" for none
	dir             string
	program         string // path of the weft to measure; "" to build it
	small, large    sizeFlag
	runs, smallRuns int
	files           []subject
	keep, quick     bool
	convert         bool
	verbose         bool
}

// parseFlags returns the settings in the arguments of the command line. It writes usage errors to errs.
func parseFlags(args []string, errs io.Writer) (*config, error) {
	c := &config{small: 10e6, large: 1000e6, events: map[string]*int64{}}
	var names, partNames []string
	for _, s := range subjects {
		names = append(names, s.name())
	}
	for _, p := range parts {
		partNames = append(partNames, p.name)
	}
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(errs)
	list := f.String("part", strings.Join(partNames, ","),
		"what to measure: text (TRACE and PICL), otf, pallas, otf2, reads (bytes that commands read), transform (cut, "+
			"filter and the like), workloads (each of weft generate), verify (and flow, usage, distance, behaviour), "+
			"answers (waits, efficiency, path, explain, diff), viewer, or several of them")
	f.StringVar(&c.out, "o", "docs/performance.md",
		"document to write for the part text; the documents of the other parts have -otf, -pallas and so on in their "+
			"names; \"\" writes none, and is the default with -quick")
	f.StringVar(&c.dir, "dir", "", "folder for the temporary directory; that of the system if empty")
	f.StringVar(&c.program, "weft", "", "program to measure; ./cmd/weft is built if empty")
	f.Var(&c.small, "small", "approximate size of the small files")
	f.Var(&c.large, "large", "approximate size of the large files")
	f.IntVar(&c.runs, "runs", 3, "paired runs on large files")
	f.IntVar(&c.smallRuns, "small-runs", 7, "paired runs on small files")
	files := f.String("files", strings.Join(names, ","), "which files to measure")
	for _, p := range parts {
		if p.events > 0 {
			c.events[p.name] = f.Int64(p.name+"-events", p.events, p.about)
		}
	}
	f.Int64Var(&c.wideEvents, "answers-wide-events", wideEvents,
		fmt.Sprintf("approximate number of events of the trace with %d locations for explain", wideLocations))
	f.BoolVar(&c.convert, "convert", false, "also measure conversions to the other format, which takes long")
	f.BoolVar(&c.keep, "keep", false, "keep the temporary directory with all files")
	f.BoolVar(&c.quick, "quick", false,
		"measure small files once, to try the benchmark itself; the figures mean nothing")
	f.BoolVar(&c.verbose, "v", false, "show every process that is run on standard error")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if f.NArg() > 0 {
		return nil, fmt.Errorf("found argument %q, expected only flags", f.Arg(0))
	}
	if c.quick {
		values := map[string]string{"small": "1MB", "large": "8MB", "runs": "1", "small-runs": "1", "o": "",
			"answers-wide-events": fmt.Sprint(wideQuick)}
		for _, p := range parts {
			if p.events > 0 {
				values[p.name+"-events"] = fmt.Sprint(p.quick)
			}
		}
		f.Visit(func(given *flag.Flag) { delete(values, given.Name) })
		for name, value := range values {
			f.Set(name, value)
		}
	}
	if c.runs < 1 || c.smallRuns < 1 {
		return nil, fmt.Errorf("found -runs %d -small-runs %d, expected at least one of each", c.runs, c.smallRuns)
	}
	if c.wideEvents < wideLocations {
		return nil, fmt.Errorf("found -answers-wide-events %d, expected %d at least", c.wideEvents, wideLocations)
	}
	if c.small > c.large {
		return nil, fmt.Errorf("found -small %v above -large %v", &c.small, &c.large)
	}
	for _, p := range parts {
		if n := c.events[p.name]; n != nil && *n < p.least {
			return nil, fmt.Errorf("found -%s-events %d, expected %d at least", p.name, *n, p.least)
		}
	}
	chosen := strings.Split(*list, ",")
	for _, name := range chosen {
		if !slices.Contains(partNames, name) {
			return nil,
				fmt.Errorf("-part: found %q, expected %s and %s, with commas", name,
					strings.Join(partNames[:len(partNames)-1], ", "), partNames[len(partNames)-1])
		}
	}
	for _, p := range parts {
		if slices.Contains(chosen, p.name) {
			c.parts = append(c.parts, p)
		}
	}
	for _, name := range strings.Split(*files, ",") {
		i := slices.IndexFunc(subjects, func(s subject) bool { return s.name() == name })
		if i < 0 {
			return nil, fmt.Errorf("-files: found %q, expected names among %s", name, strings.Join(names, ", "))
		}
		c.files = append(c.files, subjects[i])
	}
	return c, nil
}

// documentPath returns the path of the document of a part. The document is in the folder of out, the document
// of the part text.
func documentPath(out, part string) string {
	if out == "" || part == "text" {
		return out
	}
	ext := filepath.Ext(out)
	return strings.TrimSuffix(out, ext) + "-" + part + ext
}

func main() {
	// The kernel kills children when the thread that started them ends.
	runtime.LockOSThread()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) > 1 && os.Args[1] == childMode {
		if err := child(ctx, os.Args[2:], os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	c, err := parseFlags(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
	if err := bench(ctx, c); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// bench measures everything and writes the documents.
func bench(ctx context.Context, c *config) (err error) {
	if err := checkSpace(c); err != nil {
		return err
	}
	if c.out != "" { // report a bad path now, not after an hour of measuring
		if _, err := os.Stat(filepath.Dir(c.out)); err != nil {
			return fmt.Errorf("-o: %w", err)
		}
	}
	dir, err := os.MkdirTemp(c.dir, "weft-bench-")
	if err != nil {
		return err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	if c.keep {
		fmt.Fprintln(os.Stderr, "bench: files are kept in", dir)
	} else {
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	r := &runner{ctx: ctx, tmp: dir, weft: c.program, log: io.Discard}
	if c.verbose {
		r.log = os.Stderr
	}
	if r.self, err = os.Executable(); err != nil {
		return err
	}
	// The machine's load is read before the benchmark itself causes any.
	here := thisMachine()
	if r.weft == "" {
		r.weft = filepath.Join(dir, "weft")
		if err := build(ctx, r.weft); err != nil {
			return err
		}
	} else if r.weft, err = exec.LookPath(r.weft); err != nil {
		return err
	} else if r.weft, err = filepath.Abs(r.weft); err != nil {
		return err
	}
	b := &session{config: c, runner: r, dir: dir}
	for _, p := range c.parts {
		if ctx.Err() == nil {
			err = errors.Join(err, b.part(p, here))
		}
	}
	return err
}

// part measures a part and writes its document.
func (b *session) part(p part, here machine) error {
	m := p.newMeasurement()
	r := m.base()
	*r = result{machine: here, quick: b.quick, runs: b.runs}
	if n := b.events[p.name]; n != nil {
		r.events, r.few = *n, *n < p.events
	}
	if err := m.measure(b); err != nil {
		return err
	}
	r.floor = ownPeak()
	return writeDocument(documentPath(b.out, p.name), m.document(), r.problems)
}

// writeDocument writes a document to path, or prints it if path is "". It returns an error if there
// are problems.
func writeDocument(path string, text []byte, problems []problem) (err error) {
	if path != "" {
		if err = os.WriteFile(path, text, 0o666); err == nil {
			fmt.Fprintln(os.Stderr, "bench: wrote", path)
		}
	}
	if path == "" || err != nil {
		os.Stdout.Write(text)
	}
	if err == nil && len(problems) > 0 {
		err = fmt.Errorf("%d measurements failed; the document names them", len(problems))
	}
	return err
}

// checkSpace returns an error if the disk has too little free space for the temporary files.
func checkSpace(c *config) error {
	dir := c.dir
	if dir == "" {
		dir = os.TempDir()
	}
	free, err := freeSpace(dir)
	if err != nil {
		return err
	}
	var need int64
	for _, p := range c.parts {
		if p.name == "text" {
			need = 6 * int64(c.large)
			if c.keep {
				need *= int64(len(c.files))
			}
			continue
		}
		need = max(need, p.disk**c.events[p.name])
		if p.name == "answers" {
			need = max(need, p.disk*c.wideEvents)
		}
	}
	if free < need {
		return fmt.Errorf("%s: found %d MB free, expected %d MB; -dir names another place, -large and -otf-events smaller "+
			"files", dir, free/1e6, need/1e6)
	}
	return nil
}

// build builds weft with the options of a release.
func build(ctx context.Context, path string) error {
	c := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", path, "github.com/weft-trace/weft/cmd/weft")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if b, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w: %s", err, bytes.TrimSpace(b))
	}
	return nil
}

// session is a run of the benchmark.
type session struct {
	*config
	*runner
	dir string
}

// path returns the path of a file in the session's temporary directory.
func (b *session) path(name string) string { return filepath.Join(b.dir, name) }

// remove removes files that are no longer needed.
func (b *session) remove(paths ...string) {
	for _, path := range paths {
		if !b.keep {
			os.Remove(path)
		}
	}
}

// task is a named step of the measurements.
type task struct {
	name string
	run  func() error
}

// try runs tasks in order. It records a failed task as a problem of file, and continues with the next task. ok
// reports whether all tasks succeeded. try returns an error only if the user or the system ends the benchmark.
func (b *session) try(problems *[]problem, file string, steps ...task) (ok bool, err error) {
	ok = true
	for _, s := range steps {
		fmt.Fprintf(os.Stderr, "bench: %s: %s\n", file, s.name)
		err := s.run()
		if b.ctx.Err() != nil {
			return false, errors.New("interrupted")
		}
		if err != nil {
			ok = false
			fmt.Fprintf(os.Stderr, "bench: %s: %s: %v\n", file, s.name, err)
			*problems = append(*problems, problem{file, s.name, withoutDirectories(err.Error())})
		}
	}
	return ok, nil
}

// ownPeak returns the peak resident memory of this process in bytes, or 0 if it is unknown. It does
// not use getrusage, which includes the memory of the parent process.
func ownPeak() int64 {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		var kib int64
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kib); n == 1 {
			return kib << 10
		}
	}
	return 0
}

// thisMachine describes the machine, without its host name.
func thisMachine() machine {
	m := machine{cores: runtime.NumCPU(), goVersion: runtime.Version(), cpu: runtime.GOARCH}
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(b)) {
			if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
				m.cpu = strings.TrimSpace(value)
				break
			}
		}
	}
	if b, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.load, _, _ = strings.Cut(string(b), " ")
	}
	return m
}
