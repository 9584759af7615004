// Bench measures weft as its users run it: it compares whole processes, with their CPU seconds,
// wall-clock seconds and peak memory, with other programs that read the same files in the same run.
// It writes docs/performance.md and, for the other parts, docs/performance-otf.md,
// docs/performance-pallas.md, docs/performance-otf2.md, docs/performance-reads.md,
// docs/performance-transform.md, docs/performance-workloads.md and docs/performance-viewer.md.
//
//	go run ./internal/bench            # everything, most of an hour on two cores
//	go run ./internal/bench -quick     # small files, one run: does the harness work?
//	go run ./internal/bench -part text -files cps.etf -o ""
//	go run ./internal/bench -part otf  # only OTF, minutes; docs/performance.md stays
//	go run ./internal/bench -part pallas
//	go run ./internal/bench -part otf2
//	go run ./internal/bench -part reads      # bytes that commands read
//	go run ./internal/bench -part transform  # cut, filter and the like
//	go run ./internal/bench -part viewer     # index, server and page
//
// Large files are created in a temporary directory (see -dir) and removed afterwards. They take at
// most six times the size of the largest text at once, and 120 bytes for each event of the OTF
// trace. Shuffling holds one text in memory.
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

// subject is a generated file to measure.
type subject struct {
	workload, format, extension string
	other                       string // extension of the format to which it is converted
	shuffled                    bool   // also measure it with shuffled lines
	ordered                     string // the command, besides print, that shows the cost of ordering
}

// name returns the name of the file.
func (s subject) name() string { return s.workload + "." + s.extension }

// subjects are all files that can be measured.
var subjects = []subject{
	{"cps", "etf", "etf", "trf", true, ""},
	{"stencil", "picl", "trf", "etf", true, "messages -q"},
	{"stencil", "etf", "etf", "trf", false, ""},
	{"calltree", "picl", "trf", "etf", false, ""},
}

// part is a part of the benchmark. Each part has its own document.
type part struct {
	name   string // in flags and in the document's name
	about  string // help text of the flag for its number of events
	events int64  // default number of events; 0 for a part without events
	least  int64  // smallest allowed number of events
	quick  int64  // events with -quick
	disk   int64  // bytes of disk per event
	fresh  func() measured
}

// parts are all parts, in the order in which they are measured.
var parts = []part{
	{name: "text", fresh: func() measured { return &report{} }},
	{"otf", "events of the OTF trace, about", 8_000_000, 1, 200_000, 120, func() measured { return &otfReport{} }},
	{"pallas", "events of the Pallas traces, about", 10_000_000, 1000, 100_000, 120,
		func() measured { return &pallasReport{} }},
	{"otf2", "events of the OTF2 archive, about", 16_000_000, 1000, 100_000, 30, func() measured { return &otf2Report{} }},
	{"reads", "events of the trace of which parts are read, about", 8_000_000, 1000, 400_000, 24,
		func() measured { return &readsReport{} }},
	{"transform", "events of the trace that is cut and filtered, about", 66_000_000, 1000, 100_000, 0,
		func() measured { return &transformReport{} }},
	{"workloads", "events of the trace of each workload, about", 3_000_000, 1000, 20_000, 200,
		func() measured { return &workloadsReport{} }},
	{"viewer", "events of the longest traces that the viewer opens, about", 100_000_000, 1000, 100_000, 0,
		func() measured { return &viewerReport{} }},
}

// measured holds the measurements of a part.
type measured interface {
	base() *result
	// measure takes the measurements. An error ends the benchmark. A failure of only some measurements
	// is a problem.
	measure(b *session) error
	// document returns them as Markdown.
	document() []byte
}

// result holds the common fields of all parts.
type result struct {
	page
	machine
	quick, few bool // a trial run; fewer events than by default
	runs       int
	events     int64
	floor      int64 // the harness's own peak
	problems   []problem
}

func (r *result) base() *result { return r }

// config holds the settings from the flags.
type config struct {
	parts           []part // parts to measure
	events          map[string]*int64
	out             string // path of the document, or "" for none
	dir             string
	program         string // the weft to measure, or "" to build it
	small, large    sizeFlag
	runs, smallRuns int
	files           []subject
	keep, quick     bool
	convert         bool
	verbose         bool
}

// parseFlags reads the command line.
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
			"filter and the like), workloads (each of weft generate), viewer, or several of them")
	f.StringVar(&c.out, "o", "docs/performance.md",
		"document to write, those about the other parts get -otf, -pallas, -otf2, -reads, -transform, -workloads and "+
			"-viewer in their names; \"\" only prints (as -quick does unless told)")
	f.StringVar(&c.dir, "dir", "", "where to put the temporary directory; the system's place if empty")
	f.StringVar(&c.program, "weft", "", "program to measure; ./cmd/weft is built if empty")
	f.Var(&c.small, "small", "size of the small files, about")
	f.Var(&c.large, "large", "size of the large files, about")
	f.IntVar(&c.runs, "runs", 3, "paired runs on large files")
	f.IntVar(&c.smallRuns, "small-runs", 7, "paired runs on small files")
	files := f.String("files", strings.Join(names, ","), "which files to measure")
	for _, p := range parts {
		if p.events > 0 {
			c.events[p.name] = f.Int64(p.name+"-events", p.events, p.about)
		}
	}
	f.BoolVar(&c.convert, "convert", false, "measure conversions to the other format too, which takes long")
	f.BoolVar(&c.keep, "keep", false, "keep the temporary directory with all files")
	f.BoolVar(&c.quick, "quick", false,
		"files of 1 and 8 MB, some 100000 events of the others and one run, to try the harness; the numbers mean nothing")
	f.BoolVar(&c.verbose, "v", false, "show every process that is run on standard error")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if f.NArg() > 0 {
		return nil, fmt.Errorf("found argument %q, expected only flags", f.Arg(0))
	}
	if c.quick {
		values := map[string]string{"small": "1MB", "large": "8MB", "runs": "1", "small-runs": "1", "o": ""}
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
				fmt.Errorf("-part: found %q, expected text, otf, pallas, otf2, reads, transform, workloads and viewer, with commas",
					name)
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

// documentPath returns the path of a part's document, which is in the folder of the text part's
// document.
func documentPath(out, part string) string {
	if out == "" || part == "text" {
		return out
	}
	ext := filepath.Ext(out)
	return strings.TrimSuffix(out, ext) + "-" + part + ext
}

func main() {
	// Children are killed with the thread that started them.
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
	if c.out != "" { // fail now rather than after an hour
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
	// The load is that before the start.
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
	m := p.fresh()
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

// writeDocument writes a document, or prints it if it has no path. It returns an error if there are
// problems.
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

// checkSpace returns an error when the disk is too small.
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
		} else {
			need = max(need, p.disk**c.events[p.name])
		}
	}
	if free < need {
		return fmt.Errorf("%s: found %d MB free, expected %d MB; -dir names another place, -large and -otf-events smaller "+
			"files", dir, free/1e6, need/1e6)
	}
	return nil
}

// build builds weft as in a release.
func build(ctx context.Context, path string) error {
	c := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", path, "github.com/weft-trace/weft/cmd/weft")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if b, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w: %s", err, bytes.TrimSpace(b))
	}
	return nil
}

// session is the state of a benchmark.
type session struct {
	*config
	*runner
	dir string
}

// path returns the path of a file in the temporary directory.
func (b *session) path(name string) string { return filepath.Join(b.dir, name) }

// remove removes files that are no longer needed.
func (b *session) remove(paths ...string) {
	for _, path := range paths {
		if !b.keep {
			os.Remove(path)
		}
	}
}

// task is a step of the measurements.
type task struct {
	name string
	run  func() error
}

// try runs steps. It records a failure among the problems and continues with the other steps. ok
// reports that no step failed. Only the end of the harness is an error.
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

// ownPeak returns the peak resident memory of this process, or 0 if it is unknown. It does not use
// getrusage, whose value includes that of the parent process.
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

// thisMachine describes the machine without its name.
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
