// Testrun runs everything that make test consists of and reports the results as they come: a line
// for each package, failures, and at the end one table with the skipped tests and the slowest ones.
//
//	go run ./internal/testrun          # make test
//	go run ./internal/testrun -quick   # make quick
//
// Tests run once without the race detector. The tests with concurrent goroutines also run with it,
// on short data, see [race]. The checks of the source run at the same time.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// race lists the tests that also run under the race detector: those with concurrent goroutines. The
// others run the same code again, or use one goroutine.
var race = []struct {
	packages []string
	tests    string // a pattern of names, or "" for all
}{
	// Every analysis, on several cores.
	{packages: []string{"./analysis", "./internal/lines", "./internal/pipeline", "./serve/...", "./timeline/index",
		"./transform"}},
	// Reading and writing on several cores.
	{
		packages: []string{"./format", "./format/etf", "./format/otf", "./format/otf2", "./format/pallas", "./format/picl"},
		tests: `^(TestConformance|TestChunks.*|TestCheck|TestCompress|TestCopy|TestAugmentCores|TestPieces|` +
			`TestReader|TestDraft.*|TestPipe.*)$`,
	},
	// Commands that read on several cores, servers, and interrupts.
	{
		packages: []string{"./internal/cli"},
		tests: `^(TestScripts|TestView|TestServe|TestKilledBuild|TestInterruptedPipe|TestOnePass|TestPiecesOfMessages)$` +
			`/^(check|convert|pipe|plot_index|profile|report|transform|view)$`,
	},
}

// pureGo is the environment of every build except for the race detector. A single setting avoids
// compiling packages twice.
var pureGo = []string{"CGO_ENABLED=0"}

func main() {
	quick := flag.Bool("quick", false,
		"run short tests only, without browser and race detector, and take what Go's cache knows")
	limit := flag.Duration("timeout", time.Hour, "the time that the tests of a package have")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// otf2-print clears large tables in each run. With large pages that takes half the time.
	if os.Getenv("GLIBC_TUNABLES") == "" {
		os.Setenv("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1")
	}
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

// runQuick runs the checks of the inner loop.
func runQuick(ctx context.Context, r *report, limit time.Duration) {
	format(ctx, r)
	r.test(ctx, goTest(ctx, pureGo, "-pgo=off", "-short", "-timeout", limit.String(), "./..."), "")
}

// runAll runs everything in three lanes: the tests of the page, which mostly wait for the browser,
// and the checks of the source; the other tests; and those under the race detector. What several
// lanes need is compiled beforehand, since two go commands at once would compile it twice.
func runAll(ctx context.Context, r *report, limit time.Duration) {
	usual := []string{"-pgo=off", "-vet=off", "-count=1", "-timeout", limit.String()}
	var lanes sync.WaitGroup
	lanes.Go(func() {
		format(ctx, r)
		if _, err := exec.LookPath("gcc"); err != nil {
			r.skip("race detector", "gcc is not installed; the race detector needs it")
			return
		}
		for _, s := range race {
			args := []string{"-race", "-short", "-vet=off", "-count=1", "-timeout", limit.String(), "-run", s.tests}
			r.test(ctx, goTest(ctx, []string{"CGO_ENABLED=1", "GORACE=atexit_sleep_ms=0"}, append(args, s.packages...)...),
				"race")
		}
	})
	out, err := command(ctx, pureGo, "go", "list", "./...").Output()
	if err != nil {
		r.fail("", "go list: "+err.Error())
	}
	packages := slices.DeleteFunc(strings.Fields(string(out)),
		func(path string) bool { return strings.HasSuffix(path, "/web") })
	// A failed build is reported where the tests are built.
	command(ctx, pureGo, "go", "build", "-pgo=off", "-o", os.DevNull, "./cmd/weft").Run()
	lanes.Go(func() {
		r.test(ctx, goTest(ctx, pureGo, append(slices.Clone(usual), "./web")...), "")
		release := haveReleaseModules(ctx, r)
		source(ctx, r, release)
		if release {
			test := goTest(ctx, pureGo, append(slices.Clone(usual), "./...")...)
			test.Dir = releaseModule
			r.test(ctx, test, "")
		}
	})
	lanes.Go(func() { r.test(ctx, goTest(ctx, pureGo, append(usual, packages...)...), "") })
	lanes.Wait()
}

// releaseModule is the folder of the module that builds releases.
const releaseModule = "tools/release"

// haveReleaseModules reports whether the modules that releaseModule needs are in the module cache
// or can be downloaded.
func haveReleaseModules(ctx context.Context, r *report) bool {
	download := command(ctx, nil, "go", "mod", "download")
	download.Dir = releaseModule
	out, err := download.CombinedOutput()
	if err != nil {
		reason, _, _ := strings.Cut(string(out), "\n")
		r.skip(releaseModule, "its modules cannot be downloaded: "+reason)
	}
	return err == nil
}

// source checks the source with the programs of the tools module, that of releaseModule too if its
// modules can be had.
func source(ctx context.Context, r *report, release bool) {
	bin, err := os.MkdirTemp("", "weft-tools-")
	if err != nil {
		r.fail("tools", err.Error())
		return
	}
	defer os.RemoveAll(bin)
	build := command(ctx, pureGo, "go", "build", "-o", bin, "./...")
	build.Dir = "tools"
	r.check("tools", build)
	r.check("other platforms", command(ctx, pureGo, filepath.Join(bin, "platforms"), "-but",
		runtime.GOOS+"/"+runtime.GOARCH, "./..."))
	lint := filepath.Join(bin, "lint")
	r.check("vet, staticcheck", command(ctx, pureGo, lint, "./..."))
	if release {
		c := command(ctx, pureGo, lint, "./...")
		c.Dir = releaseModule
		r.check("vet, staticcheck in "+releaseModule, c)
	}
}

// goTest returns a go test command with arguments that prints its events as JSON.
func goTest(ctx context.Context, env []string, args ...string) *exec.Cmd {
	return command(ctx, env, "go", append([]string{"test", "-json"}, args...)...)
}

// command returns a program with additional environment variables. When ctx ends it is interrupted,
// with all processes that it has started.
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
			// The packages of the page belong to others.
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

// test runs go test -json and reports its output. mode describes how the tests run, and is "" for
// the default.
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
	// A failure that belongs to no package, such as a missing package.
	if err := c.Wait(); err != nil && !failed {
		r.fail(mode, fmt.Sprintf("%s: %v\n%s", strings.Join(c.Args, " "), err, &errs))
	}
}
