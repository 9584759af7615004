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

// usage is what one process took, as the kernel told it.
type usage struct {
	cpu  time.Duration // user and system time of all its threads
	user time.Duration // the user time alone
	wall time.Duration
	peak int64 // resident memory at its highest, in bytes
	read int64 // bytes read from files and the like, 0 if the system does not count them
}

// runner starts the processes that are measured, one at a time.
type runner struct {
	ctx  context.Context
	tmp  string // directory of the temporary files of children
	weft string // the program under test
	self string // this program, for its child modes
	log  io.Writer
}

// dropped are the variables of the environment that would change how a Go
// program runs.
var dropped = []string{"GOGC", "GOMEMLIMIT", "GOMAXPROCS", "GODEBUG", "TMPDIR", "LC_ALL"}

// environment is what children see: the caller's variables without those that
// tune the Go runtime, in the C locale, with temporary files in tmp.
func environment(env []string, tmp string) []string {
	out := slices.DeleteFunc(slices.Clone(env), func(s string) bool {
		name, _, _ := strings.Cut(s, "=")
		return slices.Contains(dropped, name)
	})
	return append(out, "LC_ALL=C", "TMPDIR="+tmp)
}

// run runs a program to its end, in the directory of the temporary files, and
// measures it. Its standard output goes to out, or to the null device. It must
// exit with 0.
//
// The kernel counts the memory of the process that forked into the peak of the
// one that it starts. Whatever takes memory therefore happens in children of
// this harness, never in itself.
func (r *runner) run(out io.Writer, name string, args ...string) (usage, error) {
	var errs tail
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
	fmt.Fprintf(r.log, "  %-60s cpu %8.3f s  wall %8.3f s  peak %7.1f MiB  read %7.1f MB\n", line, u.cpu.Seconds(), u.wall.Seconds(), mib(u.peak), float64(u.read)/1e6)
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

// decoding are weft's arguments to decode a trace with so many workers, and write nothing.
func decoding(workers int, path string) []string {
	return []string{"convert", "-q", "--to", "null", "-j", strconv.Itoa(workers), path, "-"}
}

// command is one that is measured.
type command struct {
	to      *[]usage // where the measurements go
	program string   // "" if it is missing: it is left out
	args    []string
}

// replaced are arguments with others in place of words that stand for them.
func replaced(args []string, words map[string]string) []string {
	args = slices.Clone(args)
	for i, a := range args {
		args[i] = cmp.Or(words[a], a)
	}
	return args
}

// inTurn measures commands one after the other, so many times.
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

// each measures commands of weft that stand in lines, each so many times, with more arguments.
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

// turn is some commands that run one after the other, until one fails.
type turn struct {
	*runner
	err error
}

// run measures a program; one that is missing, "", is left out.
func (t *turn) run(u *usage, program string, args ...string) {
	if t.err == nil && program != "" {
		*u, t.err = t.runner.run(nil, program, args...)
	}
}

// warmed measures something so many times, and once before, which does not count.
func warmed[T any](n int, once func() (T, error)) (list []T, err error) {
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

// commandLine shows a command without the directories of its files.
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

// tail keeps the beginning of what a program says on standard error.
type tail struct{ b []byte }

// Write keeps up to 2 KiB and forgets the rest.
func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p[:min(len(p), 2048-len(t.b))]...)
	return len(p), nil
}

// stat sums up repeated measurements. The zero value has none.
type stat struct {
	median, min, max float64
	n                int
}

// statOf computes the median, the least and the greatest of values.
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

// over computes the statistic of f over measurements.
func over[T any](list []T, f func(T) float64) stat {
	var v []float64
	for _, x := range list {
		if y := f(x); !math.IsNaN(y) && !math.IsInf(y, 0) {
			v = append(v, y)
		}
	}
	return statOf(v)
}

// mib returns a number of bytes in units of 2^20.
func mib(n int64) float64 { return float64(n) / (1 << 20) }

// units of sizes on the command line, longest first.
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

// String shows the size.
func (f *sizeFlag) String() string {
	n := int64(*f)
	if n >= 1e6 && n%1e6 == 0 {
		return fmt.Sprintf("%dMB", n/1e6)
	}
	return fmt.Sprint(n)
}

// Set reads the size.
func (f *sizeFlag) Set(s string) error {
	n, err := parseSize(s)
	*f = sizeFlag(n)
	return err
}

// firstLine returns the first line of what a program prints, for its version.
func firstLine(ctx context.Context, name string, args ...string) string {
	c := exec.CommandContext(ctx, name, args...)
	c.WaitDelay = time.Second
	b, _ := c.CombinedOutput()
	line, _, _ := bytes.Cut(b, []byte{'\n'})
	return strings.TrimSpace(string(line))
}

// directories matches the directories of an absolute path.
var directories = regexp.MustCompile(`/(?:[^/\s:"]+/)+`)

// withoutDirectories cuts absolute paths down to names: where the files lay on
// this machine is nobody's business.
func withoutDirectories(s string) string { return directories.ReplaceAllString(s, "") }
