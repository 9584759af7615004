package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/generate"
	"github.com/weft-trace/weft/trace"
)

// childMode is the first argument with which this program runs as a child of the benchmark. The
// child mode is the second argument. Code that uses much memory, or whose resources are measured,
// runs in a child (see runner.run).
const childMode = "bench-child"

// childModes lists the functions that children run. They write their results to out. The arguments
// are first texts, then numbers.
var childModes = []struct {
	name    string
	texts   int // number of text arguments
	numbers int // number of numeric arguments after them
	run     func(ctx context.Context, out io.Writer, texts []string, numbers []int) error
}{
	// shuffle IN OUT: shuffle the lines of a file.
	{"shuffle", 2, 0, func(_ context.Context, _ io.Writer, s []string, _ []int) error { return shuffle(s[0], s[1], 1) }},
	// open WORKLOAD EVENTS: print the greatest number of open regions and claims.
	{"open", 1, 1, func(ctx context.Context, out io.Writer, s []string, n []int) error {
		most, err := openAtMost(ctx, s[0], n[0])
		fmt.Fprintln(out, most)
		return err
	}},
	// otf NAME STREAMS PROCESSES-PER-STREAM ROUNDS GOROUTINES LEVEL: write an OTF trace and print the
	// number of its events.
	{"otf", 1, 5, func(ctx context.Context, out io.Writer, s []string, n []int) error {
		counts, err := writeOTF(ctx, s[0], otfShape{streams: n[0], processesPerStream: n[1], rounds: n[2]}, n[3], n[4])
		if err == nil {
			fmt.Fprintln(out, counts.all())
		}
		return err
	}},
	// pallas PATH PATTERN EVENTS COMPATIBLE THREADS GOROUTINES: record a Pallas trace, in the
	// compatible way if COMPATIBLE is 1.
	{"pallas", 2, 4, func(_ context.Context, _ io.Writer, s []string, n []int) error {
		return pallasRecording{s[1], int64(n[0]), n[1] == 1, n[2], n[3]}.record(s[0])
	}},
	// values PATH COUNT: look up COUNT values in a Pallas trace, and print the nanoseconds.
	{"values", 1, 1, func(_ context.Context, out io.Writer, s []string, n []int) error {
		ns, err := pallasValues(s[0], n[0])
		fmt.Fprintln(out, ns)
		return err
	}},
	// otf2 PATH EVENTS LOCATIONS: write an OTF2 archive.
	{"otf2", 1, 2, func(_ context.Context, _ io.Writer, s []string, n []int) error { return writeOTF2(s[0], n[0], n[1]) }},
	// blocks TRACE FROM TO LOCATION: print the number of bytes that must be read for a part of the
	// time, in thousandths, and of a location, or -1 for all; and the times at which the part begins
	// and ends.
	{"blocks", 1, 3, func(ctx context.Context, out io.Writer, s []string, n []int) error {
		p, err := tracePartOf(ctx, s[0], n[0], n[1], n[2])
		if err != nil {
			return err
		}
		bytes, err := p.leastBytes(s[0])
		fmt.Fprintln(out, bytes, p.from, p.to)
		return err
	}},
	// speedscope TRACE: print a trace in speedscope's format.
	{"speedscope", 1, 0, func(ctx context.Context, out io.Writer, s []string, _ []int) error {
		return printSpeedscope(ctx, s[0], out)
	}},
}

// child runs the child mode that args[0] names, with the other arguments.
func child(ctx context.Context, args []string, out io.Writer) error {
	for _, m := range childModes {
		if len(args) != 1+m.texts+m.numbers || args[0] != m.name {
			continue
		}
		var numbers []int
		for _, a := range args[1+m.texts:] {
			n, err := strconv.Atoi(a)
			if err != nil {
				return err
			}
			numbers = append(numbers, n)
		}
		return m.run(ctx, out, args[1:][:m.texts], numbers)
	}
	return fmt.Errorf("child mode %q: expected one of childModes with its arguments", args)
}

// openAtMost returns the largest number of regions and claims that are open at the same time in a
// workload.
func openAtMost(ctx context.Context, name string, events int) (int64, error) {
	t, err := generate.New(generate.Options{Workload: name, Events: int64(events), Seed: 1})
	if err != nil {
		return 0, err
	}
	var open, most int64
	sel := trace.Everything()
	sel.Links = trace.NoLinks
	err = t.Scan(ctx, sel, format.GlobalOrder, format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
		for _, k := range b.Kind {
			switch k {
			case trace.Enter, trace.ClaimBegin:
				open++
				most = max(most, open)
			case trace.Leave, trace.ClaimEnd:
				open--
			}
		}
		return nil
	}})
	if err == nil && most == 0 {
		err = errors.New("workload " + name + ": found no region and no claim")
	}
	return most, err
}
