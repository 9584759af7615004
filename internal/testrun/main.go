// Testrun runs everything that make test consists of and reports it as it ends: a line for each
// package, what failed, and at the end one table with the skipped tests and the slowest ones.
//
//	go run ./internal/testrun          # make test
//	go run ./internal/testrun -quick   # make quick
//
// Tests run once without the race detector. With it run, on short data, the tests of the
// packages that start goroutines, see [raced]. The checks of the source run beside them.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// raced are the packages whose tests run under the race detector, too: those that start
// goroutines, and the analyses, which run on several of them.
var raced = []string{
	"./analysis/...", "./format/...", "./generate", "./internal/cli", "./internal/lines", "./internal/pipeline",
	"./internal/testrun", "./serve/...", "./timeline/...", "./transform/...",
}

// pureGo is the environment of every build but that for the race detector: one setting, so that
// no package is compiled twice.
var pureGo = []string{"CGO_ENABLED=0"}

func main() {
	quick := flag.Bool("quick", false, "run short tests only, without browser and race detector, and take what Go's cache knows")
	limit := flag.Duration("timeout", time.Hour, "the time that the tests of a package have")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r := newReport(os.Stdout)
	if *quick {
		runQuick(ctx, r, *limit)
	} else {
		runAll(ctx, r, *limit)
	}
	if !r.finish() || ctx.Err() != nil {
		os.Exit(1)
	}
}

// runQuick runs what the inner loop needs.
func runQuick(ctx context.Context, r *report, limit time.Duration) {
	format(ctx, r)
	r.test(ctx, goTest(ctx, pureGo, "-pgo=off", "-short", "-timeout", limit.String(), "./..."), "")
}

// runAll runs everything, in two lanes for the two cores that a machine has at least. What a
// lane compiles is used by what comes behind it, and the lanes compile nothing that both need.
func runAll(ctx context.Context, r *report, limit time.Duration) {
	var lanes sync.WaitGroup
	lanes.Go(func() {
		// The tests of the page come first: they wait for the browser most of the time.
		r.test(ctx, goTest(ctx, pureGo, "-pgo=off", "-vet=all", "-count=1", "-timeout", limit.String(), "./web", "./..."), "")
		r.check("staticcheck", command(ctx, pureGo, "go", "tool", "-modfile=tools/go.mod", "staticcheck", "./..."))
	})
	lanes.Go(func() {
		format(ctx, r)
		platforms := command(ctx, nil, "go", "run", "./platforms", "-C", "..", "-but", runtime.GOOS+"/"+runtime.GOARCH, "./...")
		platforms.Dir = "tools"
		r.check("other platforms", platforms)
		tools := command(ctx, pureGo, "go", "vet", "./...")
		tools.Dir = "tools"
		r.check("tools", tools)
		if _, err := exec.LookPath("gcc"); err != nil {
			r.skip("race detector", "gcc is not installed; the race detector needs it")
			return
		}
		args := append([]string{"-race", "-short", "-vet=off", "-count=1", "-p=1", "-timeout", limit.String()}, raced...)
		r.test(ctx, goTest(ctx, []string{"CGO_ENABLED=1", "GORACE=atexit_sleep_ms=0"}, args...), "race")
	})
	lanes.Wait()
}

// goTest is go test with arguments, which prints its events as JSON.
func goTest(ctx context.Context, env []string, args ...string) *exec.Cmd {
	return command(ctx, env, "go", append([]string{"test", "-json"}, args...)...)
}

// command is a program with some more variables. When ctx ends it is interrupted, with all that it
// has started.
func command(ctx context.Context, env []string, name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, name, args...)
	c.Env = append(os.Environ(), env...)
	interruptible(c)
	return c
}

// format checks that the files are formatted.
func format(ctx context.Context, r *report) {
	r.checkFunc("gofmt", func() (string, error) {
		out, err := command(ctx, nil, "gofmt", "-l", ".").CombinedOutput()
		var files []string
		for name := range strings.Lines(string(out)) {
			// The packages of the page are not ours.
			if !strings.Contains(name, "node_modules") {
				files = append(files, name)
			}
		}
		if err == nil && len(files) > 0 {
			err = fmt.Errorf("gofmt -w would change %d files", len(files))
		}
		return strings.Join(files, ""), err
	})
}

// check runs a program that checks the source.
func (r *report) check(name string, c *exec.Cmd) {
	r.checkFunc(name, func() (string, error) {
		out, err := c.CombinedOutput()
		return string(out), err
	})
}

// test runs go test -json and reports what it prints; mode says how the tests run, "" for as
// usual.
func (r *report) test(ctx context.Context, c *exec.Cmd, mode string) {
	out, err := c.StdoutPipe()
	if err != nil {
		r.fail(mode, err.Error())
		return
	}
	var errs bytes.Buffer
	c.Stderr = &errs
	if err := c.Start(); err != nil {
		r.fail(mode, err.Error())
		return
	}
	failed, err := r.events(out, mode)
	if err != nil {
		r.fail(mode, err.Error())
	}
	// A failure that no package tells of, such as a package that is not there.
	if err := c.Wait(); err != nil && !failed {
		r.fail(mode, fmt.Sprintf("%s: %v\n%s", strings.Join(c.Args, " "), err, &errs))
	}
}
