package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// pallasResult holds the measurements of a pattern.
type pallasResult struct {
	pallasPattern
	events            int64
	record, tenth     []usage // recording all events, and recording a tenth of the events
	compatible, short []usage // the same in the compatible mode
	one, two          []usage // reading on one core, and reading on two cores
	info, exact       []usage // the command info, with stored sums and with all events
	opening           lookups
	first, many       lookups // looking up a single value, and looking up pallasLookups values
	bytes             int64   // size of the trace
	grammar, data     int64   // sizes of thread.pallas, and of the files with times
}

// pallasThreadsPattern is the name of the pattern that is recorded by several threads.
const pallasThreadsPattern = "jittered"

// pallasLookups is the number of values that a run looks up.
const pallasLookups = 1000

// lookups holds the runs of a program that looks up values.
type lookups struct {
	runs []usage
	ns   []float64 // nanoseconds of the lookups themselves, by run
}

// pallasThreads holds the measurements of a trace of several threads.
type pallasThreads struct {
	threads        int
	record, both   []usage // recording with one goroutine, and recording with two goroutines
	one, two       []usage // reading on one core, and reading on two cores
	bytes, grammar int64   // size of the trace, and total size of its thread.pallas files
}

// measure takes all measurements of Pallas.
func (r *pallasReport) measure(b *session) error {
	for _, p := range pallasPatterns {
		x := &pallasResult{pallasPattern: p, events: r.events}
		r.results = append(r.results, x)
		if _, err := b.try(&r.problems, p.name, task{"Pallas", func() error { return b.pallasPattern(x) }}); err != nil {
			return err
		}
	}
	for _, n := range []int{2, 64, 1024} {
		x := &pallasThreads{threads: n}
		r.threads = append(r.threads, x)
		record := task{"Pallas", func() error { return b.pallasThreads(x, r.events) }}
		if _, err := b.try(&r.problems, fmt.Sprint(n, " threads"), record); err != nil {
			return err
		}
	}
	usual := pallasPatterns[0].name
	r.long.name, r.long.events = fmt.Sprintf("%s, %d events", usual, 10*r.events), 10*r.events
	_, err := b.try(&r.problems, "ten times as long", task{"Pallas", func() error {
		k := pallasRecording{usual, r.long.events, false, 1, 1}
		return b.recordPallas(k, &r.long.record, func(path string) error {
			r.long.sizes(path)
			if err := b.inTurn(b.runs, command{&r.long.one, b.weft, decodeArgs(1, path)}); err != nil {
				return err
			}
			return b.lookups(&r.long, path)
		})
	}})
	return err
}

// pallasPattern takes the measurements of a pattern.
func (b *session) pallasPattern(x *pallasResult) error {
	for i := range b.runs {
		for _, k := range []struct {
			events     int64
			compatible bool
			to         *[]usage
		}{{x.events / 10, true, &x.short}, {x.events, true, &x.compatible}, {x.events / 10, false, &x.tenth},
			{x.events, false, &x.record}} {
			if err := b.recordPallas(pallasRecording{x.name, k.events, k.compatible, 1, 1}, k.to, func(path string) error {
				if i < b.runs-1 || k.to != &x.record {
					return nil
				}
				// Reading uses the trace that was recorded last.
				x.sizes(path)
				if err := b.inTurn(pairs*b.runs,
					command{&x.one, b.weft, decodeArgs(1, path)},
					command{&x.two, b.weft, decodeArgs(2, path)},
					command{&x.info, b.weft, []string{"info", "-q", path}},
					command{&x.exact, b.weft, []string{"info", "-q", "--exact", path}}); err != nil {
					return err
				}
				return b.lookups(x, path)
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

// lookups measures looking up values in the trace at path.
func (b *session) lookups(x *pallasResult, path string) error {
	for range pairs * b.runs {
		for _, l := range []struct {
			count int
			to    *lookups
		}{{0, &x.opening}, {1, &x.first}, {pallasLookups, &x.many}} {
			var out bytes.Buffer
			u, err := b.childRun(&out, "values", path, strconv.Itoa(l.count))
			if err != nil {
				return err
			}
			ns, err := strconv.ParseFloat(strings.TrimSpace(out.String()), 64)
			if err != nil {
				return err
			}
			l.to.runs, l.to.ns = append(l.to.runs, u), append(l.to.ns, ns)
		}
	}
	return nil
}

// pallasThreads takes the measurements of a trace of several threads.
func (b *session) pallasThreads(x *pallasThreads, events int64) error {
	for i := range b.runs {
		for n, to := range []*[]usage{&x.record, &x.both} {
			k := pallasRecording{pallasThreadsPattern, events, false, x.threads, n + 1}
			if err := b.recordPallas(k, to, func(path string) error {
				if i < b.runs-1 || to == &x.record {
					return nil
				}
				x.bytes, x.grammar = bytesIn(filepath.Dir(path)), bytesOfThreads(path, "thread.pallas")
				return b.inTurn(pairs*b.runs,
					command{&x.one, b.weft, decodeArgs(1, path)}, command{&x.two, b.weft, decodeArgs(2, path)})
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

// recordPallas records a trace in a child process, appends its usage to to, and calls read with the
// trace. It removes the trace afterwards.
func (b *session) recordPallas(k pallasRecording, to *[]usage, read func(path string) error) error {
	dir, err := os.MkdirTemp(b.dir, "pallas-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path, way := filepath.Join(dir, "main.pallas"), 0
	if k.compatible {
		way = 1
	}
	args := []string{childMode, "pallas", path, k.pattern}
	for _, n := range []int{int(k.events), way, k.threads, k.goroutines} {
		args = append(args, strconv.Itoa(n))
	}
	if err := b.inTurn(1, command{to, b.self, args}); err != nil {
		return err
	}
	return read(path)
}

// sizes determines the sizes of the trace's files.
func (p *pallasResult) sizes(path string) {
	p.bytes = bytesIn(filepath.Dir(path))
	p.grammar, p.data = bytesOfThreads(path, "thread.pallas"), bytesOfThreads(path, "*.dat")
}

// bytesOfThreads returns the total size of the files in the folders of threads that match a
// pattern.
func bytesOfThreads(path, pattern string) (n int64) {
	list, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "archive_*", "thread_*", pattern))
	for _, file := range list {
		n += bytesIn(file)
	}
	return n
}

// bytesIn returns the size of a file, or of the files in a folder.
func bytesIn(dir string) (n int64) {
	filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if st, err := d.Info(); err == nil {
			n += st.Size()
		}
		return nil
	})
	return n
}
