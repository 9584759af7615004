// Outputs runs commands of a build of weft on traces, and prints a checksum of each output: one line for each
// trace and command. The lists of two builds show where a change affects users.
//
//	go run ./outputs -weft ../bin/weft ../format/*/testdata/ok > before
//	diff before after
//
// A line consists of the checksum, the exit code, the trace and the command, which can be run by
// hand.
package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// commands lists the commands that are run for each trace, each in an empty folder. TRACE stands
// for the path of the trace. Commands joined by && run one after the other.
var commands = []string{
	"info TRACE", "info --json TRACE", "check TRACE", "check --json TRACE",
	"print TRACE", "print --json TRACE", "print --json --window 20%..70% TRACE", "print --compat TRACE",
	"print --raw TRACE", "print --kind send,recv TRACE",
	"profile TRACE", "profile --json TRACE", "profile --json --window 20%..70% TRACE", "profile --tree --json TRACE",
	"messages --json TRACE", "messages --json --window 20%..70% TRACE", "comm --json TRACE", "states --json TRACE",
	"structure --json TRACE", "usage --json TRACE",
	"align --json TRACE",
	"convert TRACE out.etf", "convert TRACE out.trf", "convert TRACE out.otf", "convert --to pallas TRACE out.pallas",
	"convert --to otf2 TRACE out.otf2",
	"convert --json TRACE out.etf", "convert --json --allow-loss TRACE out.trf",
	"convert --json --allow-loss --to otf2 TRACE out.otf2",
	"cut --percent 20-70 TRACE out.etf", "cut --json --percent 20-70 --as otf2 TRACE out.otf2",
	"cut --borders bare --percent 20-70 --as otf TRACE out.otf",
	"filter --max-depth 2 --as otf2 TRACE out.otf2", "filter --prune --not-kind send,recv --as otf TRACE out.otf",
	"anonymize --as pallas TRACE out.pallas", "repair --json --as otf2 TRACE out.otf2", "sort TRACE out.etf",
	"sort TRACE out.otf", "merge --as otf2 TRACE TRACE out.otf2", "merge --anchor first --as etf TRACE TRACE out.etf",
	"align --correction c.json TRACE && print --clock-correction c.json TRACE && convert --clock-correction c.json --to " +
		"otf2 TRACE out.otf2",
	"index -o out.index TRACE", "report -o out.html TRACE", "report --window 20%..70% -o out.html TRACE",
	"plot -o out.svg TRACE", "plot --index --from 10% --to 60% -o out.png TRACE",
}

func main() {
	weft := flag.String("weft", "weft", "the program")
	only := flag.String("only", "", "run only commands that contain this text")
	flag.Parse()
	path, err := filepath.Abs(*weft)
	if err != nil {
		fatal(err)
	}
	traces, err := find(flag.Args())
	if err != nil {
		fatal(err)
	}
	lines := make([][]string, len(traces))
	var wg sync.WaitGroup
	next := make(chan int)
	for range runtime.NumCPU() {
		wg.Go(func() {
			for i := range next {
				for _, c := range commands {
					if !strings.Contains(c, *only) {
						continue
					}
					line, err := run(path, traces[i], c)
					if err != nil {
						fatal(err)
					}
					lines[i] = append(lines[i], line)
				}
			}
		})
	}
	for i := range traces {
		next <- i
	}
	close(next)
	wg.Wait()
	for _, l := range slices.Concat(lines...) {
		fmt.Println(l)
	}
}

func fatal(err error) {
	fmt.Fprintln(os.Stderr, "outputs:", err)
	os.Exit(2)
}

// find returns the main files of the traces in folders. A root may itself be a trace.
func find(roots []string) ([]string, error) {
	var traces []string
	for _, root := range roots {
		abs, err := filepath.Abs(root)
		if err != nil {
			return nil, err
		}
		err = filepath.WalkDir(abs, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			name := d.Name()
			switch filepath.Ext(name) {
			case ".etf", ".trf", ".otf", ".otf2":
			case ".pallas":
				if name == "thread.pallas" || name == "archive.pallas" {
					return nil
				}
			default:
				return nil
			}
			traces = append(traces, path)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return traces, nil
}

// run runs a command for a trace, and returns the line of the list for it.
func run(weft, path, command string) (string, error) {
	dir, err := os.MkdirTemp("", "outputs-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	work := filepath.Join(dir, "work")
	if err := os.Mkdir(work, 0o777); err != nil {
		return "", err
	}
	sum := sha256.New()
	code := 0
	for part := range strings.SplitSeq(command, " && ") {
		args := strings.Fields(part)
		for i, a := range args {
			if a == "TRACE" {
				args[i] = path
			}
		}
		c := exec.Command(weft, args...)
		c.Dir = work
		c.Env = append(os.Environ(), "WEFT_CACHE="+filepath.Join(dir, "cache"))
		var out, errs bytes.Buffer
		c.Stdout, c.Stderr = &out, &errs
		err := c.Run()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			return "", err
		}
		code = c.ProcessState.ExitCode()
		fmt.Fprintf(sum, "%d\x00%s\x00%s\x00", code, &out, &errs)
	}
	err = filepath.WalkDir(work, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(work, path)
		if err != nil || d.IsDir() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		fmt.Fprintf(sum, "\x00%s\x00", filepath.ToSlash(name))
		_, err = io.Copy(sum, f)
		return err
	})
	return fmt.Sprintf("%.16x %d %s: %s", sum.Sum(nil), code, path, command), err
}
