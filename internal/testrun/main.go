// Testrun runs all tests of make test, and prints results as soon as they arrive: a line for each package, and
// the output of failures. At the end it prints a table with the skipped tests and the slowest ones.
//
//	go run ./internal/testrun          # make test
//	go run ./internal/testrun -quick   # make quick
//
// All tests run without the race detector. Tests with concurrent goroutines run a second time with it, on less
// data (see [race]). The checks of the source run at the same time.
package main

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// race lists the tests that also run under the race detector. They have concurrent goroutines.
// Other tests run the same code again, or have a single goroutine.
var race = []struct {
	packages []string
	tests    string // regular expression for the names of tests; "" selects all
}{
	// Every analysis runs on several cores.
	{packages: []string{"./analysis", "./internal/lines", "./internal/pipeline", "./serve/...", "./timeline/index",
		"./transform"}},
	// Formats are read and written on several cores.
	{
		packages: []string{"./format", "./format/etf", "./format/otf", "./format/otf2", "./format/pallas", "./format/picl"},
		tests: `^(TestConformance|TestChunks.*|TestCheck|TestCompress|TestCopy|TestAugmentCores|TestPieces|` +
			`TestReader|TestDraft.*|TestPipe.*)$`,
	},
	// Some commands read on several cores, serve requests, or are interrupted.
	{
		packages: []string{"./internal/cli"},
		tests: `^(TestScripts|TestView|TestServe|TestKilledBuild|TestInterruptedPipe|TestOnePass|TestPiecesOfMessages|` +
			`TestSameBytesOnAllCores)$/^(check|convert|pipe|plot_index|profile|report|transform|view)$`,
	},
}

// pureGo is the environment of all builds without the race detector. With the same settings in all builds, no
// package is compiled twice: builds of releases have -trimpath, and a profile for the compiler would affect the
// packages of Go. Without tables for debuggers, the many test programs are linked in half the time.
var pureGo = []string{"CGO_ENABLED=0",
	"GOFLAGS=" + strings.TrimSpace(os.Getenv("GOFLAGS")+" -trimpath -pgo=off -ldflags=-w")}

// raceEnv is the environment of builds with the race detector. They have no tables for debuggers either.
var raceEnv = []string{"CGO_ENABLED=1", "GORACE=atexit_sleep_ms=0",
	"GOFLAGS=" + strings.TrimSpace(os.Getenv("GOFLAGS")+" -ldflags=-w")}

func main() {
	quick := flag.Bool("quick", false,
		"run short tests only, without browser and race detector, and take results from Go's test cache")
	limit := flag.Duration("timeout", time.Hour, "time limit for the tests of a package")
	install := flag.String("install", "",
		"target of make that installs what the tests need; packages are compiled at the same time")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// otf2-print clears large tables in each run. In large pages of one heap, this takes a twentieth of the time.
	if os.Getenv("GLIBC_TUNABLES") == "" {
		os.Setenv("GLIBC_TUNABLES",
			"glibc.malloc.hugetlb=1:glibc.malloc.trim_threshold=1000000000:glibc.malloc.mmap_max=0")
	}
	removeTemp := useMemory(ctx)
	r := newReport(os.Stdout)
	if *quick {
		runQuick(ctx, r, *limit)
	} else {
		runAll(ctx, r, *install, *limit)
	}
	good := r.finish()
	removeTemp()
	if !good || ctx.Err() != nil {
		os.Exit(1)
	}
}

// useMemory makes all programs create their temporary files in memory, where that takes a fraction of the CPU time. It
// does nothing if TMPDIR is set, if there is no file system in memory with enough space, or if no program can be
// executed there. It returns a function that removes what is left of these files.
func useMemory(ctx context.Context) func() {
	const memory, enough = "/dev/shm", 8 << 30 // the tests need less than 1 GiB
	nothing := func() {}
	out, err := command(ctx, nil, "df", "-B1", "--output=avail", memory).Output()
	fields := strings.Fields(string(out))
	if os.Getenv("TMPDIR") != "" || err != nil || len(fields) != 2 {
		return nothing
	}
	if free, err := strconv.ParseInt(fields[1], 10, 64); err != nil || free < enough {
		return nothing
	}
	dir, err := os.MkdirTemp(memory, "weft-tests-")
	if err != nil {
		return nothing
	}
	program := filepath.Join(dir, "true")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700); err != nil || exec.Command(program).Run() != nil {
		os.RemoveAll(dir)
		return nothing
	}
	os.Setenv("TMPDIR", dir)
	return func() { os.RemoveAll(dir) }
}

// runQuick runs the checks of make quick.
func runQuick(ctx context.Context, r *report, limit time.Duration) {
	checkFormat(ctx, r)
	r.test(goTest(ctx, pureGo, "-short", "-timeout", limit.String(), "./..."), "")
}

// runAll runs everything in three concurrent lanes: the tests of the page, which mostly wait for the browser,
// followed by the checks of the source; the other tests; and the tests under the race detector. runAll first
// compiles all packages, because two go commands at the same time would both compile those that they share. At the
// same time, it makes the target install, unless that is "".
func runAll(ctx context.Context, r *report, install string, limit time.Duration) {
	var installation sync.WaitGroup
	if install != "" {
		installation.Go(func() {
			c := command(ctx, nil, "make", "-s", install)
			c.Stdout, c.Stderr = os.Stdout, os.Stderr
			if err := c.Run(); err != nil {
				r.fail("", "make "+install+": "+err.Error())
			}
		})
	}
	usual := []string{"-vet=off", "-count=1", "-timeout", limit.String()}
	var lanes sync.WaitGroup
	lanes.Go(func() {
		checkFormat(ctx, r)
		installation.Wait()
		if _, err := exec.LookPath("gcc"); err != nil {
			r.skip("race detector", "gcc is not installed; the race detector needs it")
			return
		}
		for _, s := range race {
			precompile(ctx, "", raceEnv, append([]string{"-race"}, s.packages...)...)
			args := []string{"-race", "-short", "-vet=off", "-count=1", "-timeout", limit.String(), "-run", s.tests}
			r.test(goTest(ctx, raceEnv, append(args, s.packages...)...),
				"race")
		}
	})
	out, err := command(ctx, pureGo, "go", "list", "./...").Output()
	if err != nil {
		r.fail("", "go list: "+err.Error())
	}
	packages := slices.DeleteFunc(strings.Fields(string(out)),
		func(path string) bool { return strings.HasSuffix(path, "/web") })
	// go test begins with the first packages. The tests of the commands take longest, so nothing waits for them at the
	// end if they begin first.
	slices.SortStableFunc(packages, func(a, b string) int {
		return -cmp.Compare(strings.Count(a, "/internal/cli"), strings.Count(b, "/internal/cli"))
	})
	precompile(ctx, "", pureGo, packages...)
	installation.Wait()
	lanes.Go(func() {
		r.test(goTest(ctx, pureGo, append(slices.Clone(usual), "./web")...), "")
		release := haveReleaseModules(ctx, r)
		source(ctx, r, release)
		if release {
			test := goTest(ctx, pureGo, append(slices.Clone(usual), "./...")...)
			test.Dir = releaseModule
			r.test(test, "")
		}
	})
	lanes.Go(func() { r.test(goTest(ctx, pureGo, append(usual, packages...)...), "") })
	lanes.Wait()
}

// spacious is the environment of compilers and linters. With fewer garbage collections, they need an eighth less CPU
// time.
var spacious = []string{"GOGC=300", "GOMEMLIMIT=1500MiB"}

// precompile compiles the packages of a folder and their tests. If it fails, the tests fail with the same error, and
// report it. There is a compiler for each core, and each uses one core: this takes a seventh less CPU time than
// compilers that use all cores.
func precompile(ctx context.Context, dir string, env []string, args ...string) {
	args = append([]string{"list", "-export", "-test", "-p", strconv.Itoa(runtime.NumCPU())}, args...)
	c := command(ctx, slices.Concat(env, spacious, []string{"GOMAXPROCS=1"}), "go", args...)
	c.Dir = dir
	c.Run()
}

// releaseModule is the folder of the module that builds releases.
const releaseModule = "tools/release"

// haveReleaseModules reports whether the modules that releaseModule needs are available, and
// records skipped tests otherwise.
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

// source checks the source with programs of the module tools. If release is set, it also checks
// releaseModule.
func source(ctx context.Context, r *report, release bool) {
	bin, err := os.MkdirTemp("", "weft-tools-")
	if err != nil {
		r.fail("tools", err.Error())
		return
	}
	defer os.RemoveAll(bin)
	precompile(ctx, "tools", pureGo, "./...")
	build := command(ctx, pureGo, "go", "build", "-o", bin, "./...")
	build.Dir = "tools"
	r.check("tools", build)
	r.check("other platforms", command(ctx, pureGo, filepath.Join(bin, "platforms"), "-but",
		runtime.GOOS+"/"+runtime.GOARCH, "./..."))
	lint := filepath.Join(bin, "lint")
	env := append(slices.Clip(pureGo), spacious...)
	r.check("vet, staticcheck", command(ctx, env, lint, "./..."))
	if release {
		precompile(ctx, releaseModule, pureGo, "./...")
		c := command(ctx, env, lint, "./...")
		c.Dir = releaseModule
		r.check("vet, staticcheck in "+releaseModule, c)
	}
}

// goTest returns a command that runs go test with arguments, and prints events as JSON.
func goTest(ctx context.Context, env []string, args ...string) *exec.Cmd {
	return command(ctx, env, "go", append([]string{"test", "-json"}, args...)...)
}

// command returns a command for a program with additional environment variables. When ctx ends, the program
// and all processes that it has started are interrupted.
func command(ctx context.Context, env []string, name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, name, args...)
	c.Env = append(os.Environ(), env...)
	interruptible(c)
	return c
}

// checkFormat checks that gofmt would not change any file.
func checkFormat(ctx context.Context, r *report) {
	r.checkFunc("gofmt", func() (string, error) {
		out, err := command(ctx, nil, "gofmt", "-l", ".").CombinedOutput()
		var files []string
		for name := range strings.Lines(string(out)) {
			// Files in node_modules belong to other projects.
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

// check runs a program that checks the source, and reports its result.
func (r *report) check(name string, c *exec.Cmd) {
	r.checkFunc(name, func() (string, error) {
		out, err := c.CombinedOutput()
		return string(out), err
	})
}

// test runs go test -json and reports its results. mode describes how the tests run; it is "" for the default.
func (r *report) test(c *exec.Cmd, mode string) {
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
	// The command failed although no test did, for example because a package does not exist.
	if err := c.Wait(); err != nil && !failed {
		r.fail(mode, fmt.Sprintf("%s: %v\n%s", strings.Join(c.Args, " "), err, &errs))
	}
}
