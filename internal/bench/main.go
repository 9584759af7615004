// Bench measures weft as its users run it: whole processes, their CPU seconds,
// wall-clock seconds and peak memory, beside other programs that read the same
// files in the same run. It writes docs/performance.md and, about OTF and Pallas,
// docs/performance-otf.md, docs/performance-pallas.md, docs/performance-otf2.md,
// docs/performance-transform.md and docs/performance-viewer.md.
//
//	go run ./internal/bench            # everything, the better part of an hour on two cores
//	go run ./internal/bench -quick     # small files, one run: does the harness work?
//	go run ./internal/bench -part text -files cps.etf -o ""
//	go run ./internal/bench -part otf  # only OTF, minutes; docs/performance.md stays
//	go run ./internal/bench -part pallas
//	go run ./internal/bench -part otf2
//	go run ./internal/bench -part transform  # cut, filter and the like
//	go run ./internal/bench -part viewer     # index, server and page
//
// Large files lie in a temporary directory (-dir says where) and are removed
// again; at most six times the size of the largest text is taken at once, and 120
// bytes for each event of the OTF trace.
package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/maphash"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// subject is a generated file that is measured.
type subject struct {
	workload, format, extension string
	other                       string   // extension of the format that it is converted to
	shuffled                    bool     // also measure it with its lines shuffled
	ordered                     []string // the command that shows what needs order, besides print
}

// name is the name of the file.
func (s subject) name() string { return s.workload + "." + s.extension }

// subjects are all files that can be measured.
var subjects = []subject{
	{"cps", "etf", "etf", "trf", true, nil},
	{"stencil", "picl", "trf", "etf", true, []string{"messages", "-q"}},
	{"stencil", "etf", "etf", "trf", false, nil},
	{"calltree", "picl", "trf", "etf", false, nil},
}

// config is what the flags say.
type config struct {
	text, otf, pal  bool   // the parts that are measured
	two             bool   // OTF2
	trans           bool   // cut, filter and what else writes a changed trace
	views           bool   // the viewer
	out             string // path of the document, "" for none
	dir             string
	program         string // weft to measure, "" to build it
	small, large    sizeFlag
	runs, smallRuns int
	files           []subject
	otfEvents       int64
	pallasEvents    int64
	otf2Events      int64
	transformEvents int64
	viewerEvents    int64
	keep, quick     bool
	convert         bool
	verbose         bool
}

// parseFlags reads the command line.
func parseFlags(args []string, errs io.Writer) (*config, error) {
	c := &config{small: 10e6, large: 1000e6}
	var names []string
	for _, s := range subjects {
		names = append(names, s.name())
	}
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(errs)
	part := f.String("part", "text,otf,pallas,otf2,transform,viewer", "what to measure: text (TRACE and PICL), otf, pallas, otf2, transform (cut, filter and the like), viewer, or several of them")
	f.StringVar(&c.out, "o", "docs/performance.md", "document to write, those about the other parts get -otf, -pallas, -otf2, -transform and -viewer in their names; \"\" only prints (as -quick does unless told)")
	f.StringVar(&c.dir, "dir", "", "where to put the temporary directory; the system's place if empty")
	f.StringVar(&c.program, "weft", "", "program to measure; ./cmd/weft is built if empty")
	f.Var(&c.small, "small", "size of the small files, about")
	f.Var(&c.large, "large", "size of the large files, about")
	f.IntVar(&c.runs, "runs", 3, "paired runs on large files")
	f.IntVar(&c.smallRuns, "small-runs", 7, "paired runs on small files")
	list := f.String("files", strings.Join(names, ","), "which files to measure")
	f.Int64Var(&c.otfEvents, "otf-events", otfEvents, "events of the OTF trace, about")
	f.Int64Var(&c.pallasEvents, "pallas-events", pallasEvents, "events of the Pallas traces, about")
	f.Int64Var(&c.otf2Events, "otf2-events", otf2Events, "events of the OTF2 archive, about")
	f.Int64Var(&c.transformEvents, "transform-events", transformEvents, "events of the trace that is cut and filtered, about")
	f.Int64Var(&c.viewerEvents, "viewer-events", viewerEvents, "events of the longest traces that the viewer opens, about")
	f.BoolVar(&c.convert, "convert", false, "measure conversions to the other format too, which takes long")
	f.BoolVar(&c.keep, "keep", false, "keep the temporary directory with all files")
	f.BoolVar(&c.quick, "quick", false, "files of 1 and 8 MB, 200000 events of OTF, 100000 of the others and one run, to try the harness; the numbers mean nothing")
	f.BoolVar(&c.verbose, "v", false, "show every process that is run on standard error")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if f.NArg() > 0 {
		return nil, fmt.Errorf("found argument %q, expected only flags", f.Arg(0))
	}
	if c.quick {
		given := map[string]bool{}
		f.Visit(func(x *flag.Flag) { given[x.Name] = true })
		set := func(name, value string) {
			if !given[name] {
				f.Set(name, value)
			}
		}
		set("small", "1MB")
		set("large", "8MB")
		set("runs", "1")
		set("small-runs", "1")
		set("otf-events", "200000")
		set("pallas-events", "100000")
		set("otf2-events", "100000")
		set("transform-events", "100000")
		set("viewer-events", "100000")
		set("o", "")
	}
	if c.runs < 1 || c.smallRuns < 1 {
		return nil, fmt.Errorf("found -runs %d -small-runs %d, expected at least one of each", c.runs, c.smallRuns)
	}
	if c.small > c.large {
		return nil, fmt.Errorf("found -small %v above -large %v", &c.small, &c.large)
	}
	if c.otfEvents < 1 {
		return nil, fmt.Errorf("found -otf-events %d, expected at least one", c.otfEvents)
	}
	for name, n := range map[string]int64{"-pallas-events": c.pallasEvents, "-otf2-events": c.otf2Events, "-transform-events": c.transformEvents, "-viewer-events": c.viewerEvents} {
		if n < 1000 {
			return nil, fmt.Errorf("found %s %d, expected 1000 at least", name, n)
		}
	}
	for _, name := range strings.Split(*part, ",") {
		switch name {
		case "text":
			c.text = true
		case "otf":
			c.otf = true
		case "pallas":
			c.pal = true
		case "otf2":
			c.two = true
		case "transform":
			c.trans = true
		case "viewer":
			c.views = true
		default:
			return nil, fmt.Errorf("-part: found %q, expected text, otf, pallas, otf2, transform and viewer, with commas", name)
		}
	}
	for _, name := range strings.Split(*list, ",") {
		i := slices.IndexFunc(subjects, func(s subject) bool { return s.name() == name })
		if i < 0 {
			return nil, fmt.Errorf("-files: found %q, expected names among %s", name, strings.Join(names, ", "))
		}
		c.files = append(c.files, subjects[i])
	}
	return c, nil
}

// otfDocument is the path of the document about OTF, which lies beside the other.
func otfDocument(out string) string { return beside(out, "otf") }

// beside is the path of the document about a part.
func beside(out, part string) string {
	if out == "" {
		return ""
	}
	ext := filepath.Ext(out)
	return strings.TrimSuffix(out, ext) + "-" + part + ext
}

func main() {
	// Children are told to die with the thread that started them.
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

// bench measures everything and writes the document.
func bench(ctx context.Context, c *config) (err error) {
	if err := checkSpace(c); err != nil {
		return err
	}
	if c.out != "" { // not to find out after an hour
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
	b := &session{config: c, runner: r, dir: dir, seed: maphash.MakeSeed()}
	if c.text {
		err = b.texts(here)
	}
	if c.otf && ctx.Err() == nil {
		err = errors.Join(err, b.otfTrace(here))
	}
	if c.pal && ctx.Err() == nil {
		err = errors.Join(err, b.pallasTraces(here))
	}
	if c.two && ctx.Err() == nil {
		err = errors.Join(err, b.otf2Archive(here))
	}
	if c.trans && ctx.Err() == nil {
		err = errors.Join(err, b.transforms(here))
	}
	if c.views && ctx.Err() == nil {
		err = errors.Join(err, b.viewer(here))
	}
	return err
}

// texts measures TRACE and PICL and writes their document.
func (b *session) texts(here machine) (err error) {
	c := b.config
	rep := &report{machine: here, quick: c.quick, small: int64(c.small), large: int64(c.large), runs: c.runs, smallRuns: c.smallRuns,
		otfPage: filepath.Base(otfDocument(cmp.Or(c.out, "performance.md")))}
	b.rep = rep
	if b.mawk, err = exec.LookPath("mawk"); err == nil {
		rep.mawk = firstLine(b.ctx, b.mawk, "-W", "version")
	}
	if b.wc, err = exec.LookPath("wc"); err == nil {
		rep.wc = firstLine(b.ctx, b.wc, "--version")
	}
	if err := b.startUp(); err != nil {
		return err
	}
	for _, s := range c.files {
		if err := b.file(s); err != nil {
			return err
		}
	}
	rep.floor = ownPeak()
	return writeDocument(c.out, rep.document(), rep.problems)
}

// otfTrace measures OTF and writes its document.
func (b *session) otfTrace(here machine) error {
	rep := &otfReport{machine: here, quick: b.quick, runs: b.runs, few: b.otfEvents < otfEvents}
	if err := b.otf(rep); err != nil {
		return err
	}
	rep.floor = ownPeak()
	return writeDocument(otfDocument(b.out), rep.document(), rep.problems)
}

// pallasTraces measures Pallas and writes its document.
func (b *session) pallasTraces(here machine) error {
	rep := &pallasReport{machine: here, quick: b.quick, runs: b.runs, few: b.pallasEvents < pallasEvents}
	if err := b.pallas(rep); err != nil {
		return err
	}
	rep.floor = ownPeak()
	return writeDocument(beside(b.out, "pallas"), rep.document(), rep.problems)
}

// writeDocument writes a document, or prints it if there is no path for it. It
// fails if there are problems.
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

// checkSpace fails when the disk is too small.
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
	if c.text {
		need = 6 * int64(c.large)
		if c.keep {
			need *= int64(len(c.files))
		}
	}
	if c.otf {
		need = max(need, 120*c.otfEvents)
	}
	if c.pal {
		need = max(need, 120*c.pallasEvents)
	}
	if c.two {
		need = max(need, 30*c.otf2Events)
	}
	if free < need {
		return fmt.Errorf("%s: found %d MB free, expected %d MB; -dir names another place, -large and -otf-events smaller files", dir, free/1e6, need/1e6)
	}
	return nil
}

// build builds weft as it is released.
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
	rep      *report
	dir      string
	mawk, wc string // paths, "" when missing
	seed     maphash.Seed
}

// path is the path of a file in the temporary directory.
func (b *session) path(name string) string { return filepath.Join(b.dir, name) }

// remove removes a file that is not needed any more.
func (b *session) remove(name string) {
	if !b.keep {
		os.Remove(b.path(name))
	}
}

// startUp measures a weft that does nothing.
func (b *session) startUp() error {
	var list []usage
	for range 10 {
		u, err := b.weftRun("version")
		if err != nil {
			return err
		}
		list = append(list, u)
	}
	b.rep.startUp = over(list, func(u usage) float64 { return u.cpu.Seconds() })
	return nil
}

// try runs one part of the measurements. A failure is noted among the problems
// and does not keep the other parts from running; only the end of the harness
// is an error.
func (b *session) try(problems *[]problem, file, part string, run func() error) error {
	fmt.Fprintf(os.Stderr, "bench: %s: %s\n", file, part)
	err := run()
	if b.ctx.Err() != nil {
		return errors.New("interrupted")
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench: %s: %s: %v\n", file, part, err)
		*problems = append(*problems, problem{file, part, withoutDirectories(err.Error())})
	}
	return nil
}

// The parts of the measurements of one file.
const (
	partGenerate = "generating"
	partDecode   = "decoding"
	partMemory   = "check and info"
	partEncode   = "encoding"
	partShuffled = "shuffled"
)

// directories matches the directories of an absolute path.
var directories = regexp.MustCompile(`/(?:[^/\s:"]+/)+`)

// withoutDirectories cuts absolute paths down to names: where the files lay on
// this machine is nobody's business.
func withoutDirectories(s string) string { return directories.ReplaceAllString(s, "") }

// file measures everything about one file, then removes it.
func (b *session) file(s subject) error {
	name := s.name()
	small, large := "small."+name, "large."+name
	x := &fileResult{subject: s}
	made := false
	if err := b.try(&b.rep.problems, name, partGenerate, func() error {
		err := b.generate(s, x, small, large)
		made = err == nil
		return err
	}); err != nil || !made {
		return err
	}
	b.rep.files = append(b.rep.files, x)
	parts := []struct {
		name string
		run  func() error
	}{
		{partDecode, func() error { return b.decode(x, small, large) }},
		{partMemory, func() error { return b.memory(x, large) }},
		{partEncode, func() error { return b.encode(x, small, large) }},
		{partShuffled, func() error { return b.shuffled(x, large) }},
	}
	for _, p := range parts {
		if p.name == partShuffled && !s.shuffled {
			continue
		}
		if err := b.try(&b.rep.problems, name, p.name, p.run); err != nil {
			return err
		}
	}
	b.remove(small)
	b.remove(large)
	return nil
}

// generate writes the small and the large file. Each step's bytes an event say
// how many events the next step needs.
func (b *session) generate(s subject, x *fileResult, small, large string) error {
	events := int64(10_000)
	for _, step := range []struct {
		name   string
		size   int64
		file   *sized
		events int64
	}{
		{"probe." + s.name(), int64(b.small), nil, 0},
		{small, int64(b.large), &x.small, 0},
		{large, 0, &x.large, 0},
	} {
		path := b.path(step.name)
		if _, err := b.weftRun("generate", "--workload", s.workload, "--events", strconv.FormatInt(events, 10), "--to", s.format, path); err != nil {
			return err
		}
		st, err := os.Stat(path)
		if err != nil {
			return err
		}
		if st.Size() == 0 {
			return fmt.Errorf("%s is empty", step.name)
		}
		if step.file != nil {
			*step.file = sized{st.Size(), events}
		} else {
			os.Remove(path)
		}
		events = max(1, int64(float64(step.size)*float64(events)/float64(st.Size())))
	}
	var out bytes.Buffer
	if _, err := b.childRun(&out, "open", s.workload, strconv.FormatInt(x.large.events, 10)); err != nil {
		return err
	}
	n, err := strconv.ParseInt(strings.TrimSpace(out.String()), 10, 64)
	x.open = n
	return err
}

// round measures a file once with each program, one after the other.
func (b *session) round(path string) (q round, err error) {
	step := func(u *usage, name string, args ...string) {
		if err == nil && name != "" {
			*u, err = b.run(nil, name, args...)
		}
	}
	step(&q.one, b.weft, "convert", "-q", "--to", "null", "-j", "1", path, "-")
	step(&q.mawk, b.mawk, "{n+=NF} END{print n}", path)
	step(&q.wc, b.wc, "-l", path)
	step(&q.two, b.weft, "convert", "-q", "--to", "null", "-j", "2", path, "-")
	return q, err
}

// decode compares reading with mawk and wc, one core with two, and the small
// file with the large one.
func (b *session) decode(x *fileResult, small, large string) error {
	for i := range 1 + b.smallRuns {
		q, err := b.round(b.path(small))
		if err != nil {
			return err
		}
		if i > 0 { // the first warms up
			x.smallRounds = append(x.smallRounds, q)
		}
	}
	for i := range 1 + pairs*b.runs {
		var near time.Duration
		for range b.smallRuns {
			u, err := b.weftRun("convert", "-q", "--to", "null", "-j", "1", b.path(small), "-")
			if err != nil {
				return err
			}
			near += u.cpu
		}
		q, err := b.round(b.path(large))
		if err != nil {
			return err
		}
		q.near = near / time.Duration(b.smallRuns)
		if i > 0 {
			x.rounds = append(x.rounds, q)
		}
	}
	return nil
}

// memory measures commands that need no order.
func (b *session) memory(x *fileResult, large string) error {
	for _, cmd := range []string{"check", "info"} {
		m := commandResult{command: "weft " + cmd + " -q"}
		for range b.runs {
			u, err := b.weftRun(cmd, "-q", b.path(large))
			if err != nil {
				return err
			}
			m.runs = append(m.runs, u)
		}
		x.memory = append(x.memory, m)
	}
	return nil
}

// pairs is how many times as many pairs decoding and encoding get as the other
// measurements: their verdicts are ratios near their limits.
const pairs = 3

// encode measures writing: generated in this format, and converted to another.
func (b *session) encode(x *fileResult, small, large string) error {
	for i := range 1 + b.smallRuns {
		var q encodeRound
		if err := b.generateRound(&q, x, x.small.events, small); err != nil {
			return err
		}
		if i > 0 { // the first warms up
			x.smallEncodeRounds = append(x.smallEncodeRounds, q)
		}
	}
	other := "converted." + x.other
	defer b.remove(other)
	for i := range pairs * b.runs {
		var q encodeRound
		if err := b.generateRound(&q, x, x.large.events, large); err != nil {
			return err
		}
		if b.convert && i < b.runs {
			var err error
			if q.convert, err = b.weftRun("convert", "-q", "--allow-loss", "-j", "1", b.path(large), b.path(other)); err != nil {
				return err
			}
			if q.decodeOther, err = b.weftRun("convert", "-q", "--to", "null", "-j", "1", b.path(other), "-"); err != nil {
				return err
			}
			st, err := os.Stat(b.path(other))
			if err != nil {
				return err
			}
			x.otherSize = st.Size()
		}
		x.encodeRounds = append(x.encodeRounds, q)
	}
	return nil
}

// generateRound measures the same events generated to a file, to nobody, and
// decoded from a file that has them already.
func (b *session) generateRound(q *encodeRound, x *fileResult, events int64, file string) error {
	same := "encoded." + x.extension
	defer b.remove(same)
	workload := []string{"generate", "--workload", x.workload, "--events", strconv.FormatInt(events, 10), "-j", "1"}
	// Freeing the space of a file that is replaced is not the encoder's work.
	os.Remove(b.path(same))
	var err error
	if q.generate, err = b.weftRun(append(workload, b.path(same))...); err != nil {
		return err
	}
	if q.generator, err = b.weftRun(append(workload, "--to", "null", "-")...); err != nil {
		return err
	}
	q.decode, err = b.weftRun("convert", "-q", "--to", "null", "-j", "1", b.path(file), "-")
	return err
}

// shuffled measures commands on a file in random order.
func (b *session) shuffled(x *fileResult, large string) error {
	name := "shuffled." + x.extension
	path := b.path(name)
	defer b.remove(name)
	if _, err := b.childRun(nil, "shuffle", b.path(large), path, b.dir); err != nil {
		return err
	}
	commands := [][]string{{"print", "-q", "--json", "--limit", "1"}, {"print", "-q"}}
	if x.ordered != nil {
		commands = append(commands, x.ordered)
	}
	for _, c := range commands {
		u, err := b.weftRun(append(slices.Clone(c), path)...)
		if err != nil {
			return err
		}
		x.shuffledRuns = append(x.shuffledRuns, commandResult{"weft " + strings.Join(c, " "), []usage{u}})
	}
	check := func(path string) (*orderChecker, usage, error) {
		o := &orderChecker{seed: b.seed}
		u, err := b.run(o, b.weft, "print", "-q", "--json", path)
		if err == nil {
			err = o.finish()
		}
		return o, u, err
	}
	got, u, err := check(path)
	if err != nil {
		return err
	}
	x.shuffledRuns = append(x.shuffledRuns, commandResult{"weft print -q --json", []usage{u}})
	want, _, err := check(b.path(large))
	if err != nil {
		return err
	}
	x.order = &orderResult{events: got.events, late: got.late, lateSorted: want.late, same: got.same(want)}
	return nil
}

// ownPeak is the peak of this process's resident memory, 0 if not known. It is
// not what getrusage says of it, which has that of whoever started it, too.
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

// thisMachine describes the machine, without its name.
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
