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

// usage is the resource usage of one process, from the kernel.
type usage struct {
	cpu  time.Duration // user and system time of all its threads
	user time.Duration // only the user time
	wall time.Duration
	peak int64 // peak resident memory in bytes
	read int64 // bytes read from files, 0 if the system does not count them
}

// runner runs the measured processes, one at a time.
type runner struct {
	ctx  context.Context
	tmp  string // directory for temporary files of children
	weft string // the program under test
	self string // this program, for its child modes
	log  io.Writer
}

// droppedVariables are the environment variables that would change how a Go program runs.
var droppedVariables = []string{"GOGC", "GOMEMLIMIT", "GOMAXPROCS", "GODEBUG", "TMPDIR", "LC_ALL"}

// environment returns the environment of children: the caller's variables without those that tune
// the Go runtime, in the C locale, with temporary files in tmp.
func environment(env []string, tmp string) []string {
	out := slices.DeleteFunc(slices.Clone(env), func(s string) bool {
		name, _, _ := strings.Cut(s, "=")
		return slices.Contains(droppedVariables, name)
	})
	return append(out, "LC_ALL=C", "TMPDIR="+tmp)
}

// run runs a program to its end, in the directory of the temporary files, and measures it. Its
// standard output goes to out, or to the null device. It must exit with 0.
//
// The kernel includes the memory of a forking process in the peak of the process that it starts.
// Everything that uses much memory therefore runs in children of this harness.
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

// weftRun measures weft.
func (r *runner) weftRun(args ...string) (usage, error) { return r.run(nil, r.weft, args...) }

// childRun measures a child mode of this program.
func (r *runner) childRun(out io.Writer, args ...string) (usage, error) {
	return r.run(out, r.self, append([]string{childMode}, args...)...)
}

// childNumber runs a child mode that prints a number.
func (r *runner) childNumber(args ...string) (int64, error) {
	var out bytes.Buffer
	if _, err := r.childRun(&out, args...); err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(out.String()), 10, 64)
}

// decodeArgs returns weft's arguments to decode a trace with a number of workers, and write nothing.
func decodeArgs(workers int, path string) []string {
	return []string{"convert", "-q", "--to", "null", "-j", strconv.Itoa(workers), path, "-"}
}

// command is a command to measure.
type command struct {
	to      *[]usage // receives the measurements
	program string   // "" if it is missing; the command is then skipped
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

// inTurn measures commands n times, one after the other in each round.
func (r *runner) inTurn(n int, list ...command) error {
	for range n {
		t := turn{runner: r}
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

// each measures command lines of weft, each n times, with more arguments appended.
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

// turn runs commands one after the other until one fails.
type turn struct {
	*runner
	err error
}

// run measures a program. A missing one, "", is skipped.
func (t *turn) run(u *usage, program string, args ...string) {
	if t.err == nil && program != "" {
		*u, t.err = t.runner.run(nil, program, args...)
	}
}

// measureWarm measures something n times after one discarded run.
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

// commandLine formats a command without the directories of its files.
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

// errorOutput keeps the beginning of a program's standard error.
type errorOutput struct{ b []byte }

// Write keeps up to 2 KiB and drops the rest.
func (t *errorOutput) Write(p []byte) (int, error) {
	t.b = append(t.b, p[:min(len(p), 2048-len(t.b))]...)
	return len(p), nil
}

// stat summarises repeated measurements. The zero value has none.
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

// statOver returns the statistic of f over measurements.
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

// units are the units of sizes on the command line, longest first.
var units = []struct {
	name string
	size float64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30},
	{"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1}, {"", 1},
}

// parseSize reads a size such as 10MB, 1.5GB, 64MiB or 4096.
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

// sizeFlag is a flag with a size.
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

// firstLine returns the first line of a program's output, for its version.
func firstLine(ctx context.Context, name string, args ...string) string {
	c := exec.CommandContext(ctx, name, args...)
	c.WaitDelay = time.Second
	b, _ := c.CombinedOutput()
	line, _, _ := bytes.Cut(b, []byte{'\n'})
	return strings.TrimSpace(string(line))
}

// directories matches the directories of an absolute path.
var directories = regexp.MustCompile(`/(?:[^/\s:"]+/)+`)

// withoutDirectories reduces absolute paths to names, because documents must not show the
// directories of this machine.
func withoutDirectories(s string) string { return directories.ReplaceAllString(s, "") }
