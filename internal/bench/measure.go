package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// usage holds the resources that a process has used, according to the kernel.
type usage struct {
	cpu  time.Duration // user and system time of all its threads
	user time.Duration // user time of all its threads
	wall time.Duration
	peak int64 // peak resident memory in bytes
	read int64 // bytes read from files; 0 if the system does not count them
}

// runner runs programs one at a time, and measures them.
type runner struct {
	ctx  context.Context
	tmp  string // directory for temporary files of children
	weft string // the program under test
	self string // this program, for its child modes
	log  io.Writer
}

// droppedVariables lists environment variables that change how Go programs run.
var droppedVariables = []string{"GOGC", "GOMEMLIMIT", "GOMAXPROCS", "GODEBUG", "TMPDIR", "LC_ALL"}

// environment returns the environment for measured programs: the given variables without
// droppedVariables, the C locale, and tmp as the directory for temporary files.
func environment(env []string, tmp string) []string {
	out := slices.DeleteFunc(slices.Clone(env), func(s string) bool {
		name, _, _ := strings.Cut(s, "=")
		return slices.Contains(droppedVariables, name)
	})
	return append(out, "LC_ALL=C", "TMPDIR="+tmp)
}

// run runs a program in the directory for temporary files, and returns its usage. Its standard
// output goes to out; if out is nil, it is discarded. A program that does not exit with 0 is an
// error.
//
// The kernel counts the memory of a process that forks towards the peak of the process that it
// starts. The harness itself must therefore use little memory; everything else runs in its
// children.
func (r *runner) run(out io.Writer, name string, args ...string) (usage, error) {
	var errs errorOutput
	c := exec.CommandContext(r.ctx, name, args...)
	c.Stdout, c.Stderr = out, &errs
	c.Env = environment(os.Environ(), r.tmp)
	c.Dir = r.tmp
	c.WaitDelay = 5 * time.Second
	endWithParent(c)
	start := time.Now()
	err := c.Start()
	var u usage
	if err == nil {
		u.read = bytesRead(c.Process.Pid)
		err = c.Wait()
	}
	u.wall = time.Since(start)
	if s := c.ProcessState; s != nil {
		u.user = s.UserTime()
		u.cpu = u.user + s.SystemTime()
		u.peak = peakMemory(s)
	}
	if r.ctx.Err() != nil {
		return u, r.ctx.Err()
	}
	line := commandLine(name, args)
	if err != nil {
		return u, fmt.Errorf("%s: %w: %s", line, err, strings.TrimSpace(string(errs.b)))
	}
	fmt.Fprintf(r.log, "  %-60s cpu %8.3f s  wall %8.3f s  peak %7.1f MiB  read %7.1f MB\n", line, u.cpu.Seconds(),
		u.wall.Seconds(), mib(u.peak), float64(u.read)/1e6)
	return u, nil
}

// weftRun runs weft and returns its usage.
func (r *runner) weftRun(args ...string) (usage, error) { return r.run(nil, r.weft, args...) }

// childRun runs a child mode of this program and returns its usage.
func (r *runner) childRun(out io.Writer, args ...string) (usage, error) {
	return r.run(out, r.self, append([]string{childMode}, args...)...)
}

// childNumber runs a child mode that prints a number, and returns the number.
func (r *runner) childNumber(args ...string) (int64, error) {
	var out bytes.Buffer
	if _, err := r.childRun(&out, args...); err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(out.String()), 10, 64)
}

// decodeArgs returns the arguments for weft to decode a trace on several cores without writing
// anything.
func decodeArgs(workers int, path string) []string {
	return []string{"convert", "-q", "--to", "null", "-j", strconv.Itoa(workers), path, "-"}
}

// command is a program with arguments that is measured.
type command struct {
	to      *[]usage // list to which the measurements are appended
	program string   // path of the program; "" if the program is not installed, so that the command is skipped
	args    []string
}

// replaceWords returns arguments with placeholders replaced by their values.
func replaceWords(args []string, words map[string]string) []string {
	args = slices.Clone(args)
	for i, a := range args {
		args[i] = cmp.Or(words[a], a)
	}
	return args
}

// inTurn runs n rounds. Each round runs all commands, one after the other.
func (r *runner) inTurn(n int, list ...command) error {
	for range n {
		t := sequence{runner: r}
		for _, c := range list {
			var u usage
			if t.run(&u, c.program, c.args...); t.err == nil && c.program != "" {
				*c.to = append(*c.to, u)
			}
		}
		if t.err != nil {
			return t.err
		}
	}
	return nil
}

// each runs each command line of weft n times, with more arguments appended, and appends the
// results to to.
func (r *runner) each(to *[]commandResult, n int, lines []string, more ...string) error {
	for _, line := range lines {
		m := commandResult{command: "weft " + line}
		if err := r.inTurn(n, command{&m.runs, r.weft, append(strings.Fields(line), more...)}); err != nil {
			return err
		}
		*to = append(*to, m)
	}
	return nil
}

// sequence runs programs one after the other until one of them fails.
type sequence struct {
	*runner
	err error
}

// run runs a program and stores its usage. It skips a program whose path is "".
func (s *sequence) run(u *usage, program string, args ...string) {
	if s.err == nil && program != "" {
		*u, s.err = s.runner.run(nil, program, args...)
	}
}

// measureWarm calls once n+1 times. It returns all results except the first one, which cold caches may have
// slowed down.
func measureWarm[T any](n int, once func() (T, error)) (list []T, err error) {
	for i := range 1 + n {
		x, err := once()
		if err != nil {
			return list, err
		}
		if i > 0 {
			list = append(list, x)
		}
	}
	return list, nil
}

// commandLine formats a command. Paths are reduced to file names.
func commandLine(name string, args []string) string {
	words := []string{filepath.Base(name)}
	for _, a := range args {
		if filepath.IsAbs(a) {
			a = filepath.Base(a)
		}
		words = append(words, a)
	}
	return strings.Join(words, " ")
}

// errorOutput keeps the first 2 KiB of a program's standard error.
type errorOutput struct{ b []byte }

// Write implements [io.Writer].
func (e *errorOutput) Write(p []byte) (int, error) {
	e.b = append(e.b, p[:min(len(p), 2048-len(e.b))]...)
	return len(p), nil
}

// stat holds statistics of repeated measurements. The zero value stands for no measurements.
type stat struct {
	median, min, max float64
	n                int
}

// statOf returns the median, the minimum and the maximum of values.
func statOf(values []float64) stat {
	if len(values) == 0 {
		return stat{}
	}
	v := slices.Sorted(slices.Values(values))
	m := v[len(v)/2]
	if len(v)%2 == 0 {
		m = (m + v[len(v)/2-1]) / 2
	}
	return stat{m, v[0], v[len(v)-1], len(v)}
}

// statOver returns the statistics of the values that f returns for a list.
func statOver[T any](list []T, f func(T) float64) stat {
	var v []float64
	for _, x := range list {
		if y := f(x); !math.IsNaN(y) && !math.IsInf(y, 0) {
			v = append(v, y)
		}
	}
	return statOf(v)
}

// mib converts bytes to MiB.
func mib(n int64) float64 { return float64(n) / (1 << 20) }

// units lists the units of sizes on the command line. Units with longer names come first.
var units = []struct {
	name string
	size float64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30},
	{"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1}, {"", 1},
}

// parseSize reads a size such as 10MB, 1.5GB, 64MiB or 4096, and returns it in bytes.
func parseSize(s string) (int64, error) {
	for _, u := range units {
		digits, ok := strings.CutSuffix(s, u.name)
		if !ok {
			continue
		}
		f, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
		if err != nil || !(f*u.size >= 1 && f*u.size < 1<<50) {
			break
		}
		return int64(f * u.size), nil
	}
	return 0, fmt.Errorf("size %q: expected a number of bytes such as 10MB, 1GB or 64MiB", s)
}

// sizeFlag is the value of a flag for a size in bytes.
type sizeFlag int64

// String formats the size.
func (f *sizeFlag) String() string {
	n := int64(*f)
	if n >= 1e6 && n%1e6 == 0 {
		return fmt.Sprintf("%dMB", n/1e6)
	}
	return fmt.Sprint(n)
}

// Set parses the size.
func (f *sizeFlag) Set(s string) error {
	n, err := parseSize(s)
	*f = sizeFlag(n)
	return err
}

// firstLine returns the first line that a program prints, such as its version.
func firstLine(ctx context.Context, name string, args ...string) string {
	c := exec.CommandContext(ctx, name, args...)
	c.WaitDelay = time.Second
	b, _ := c.CombinedOutput()
	line, _, _ := bytes.Cut(b, []byte{'\n'})
	return strings.TrimSpace(string(line))
}

// directories matches the directories in absolute paths.
var directories = regexp.MustCompile(`/(?:[^/\s:"]+/)+`)

// withoutDirectories reduces the absolute paths in a text to file names, because documents must not
// show directories of this machine.
func withoutDirectories(s string) string { return directories.ReplaceAllString(s, "") }
