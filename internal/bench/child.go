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

// childMode as the first argument makes this program one of its own children.
// What takes memory or is itself measured runs that way (see runner.run):
//
//	shuffle IN OUT DIR    shuffle the lines of a file
//	open WORKLOAD EVENTS  print how many regions and claims are open at most
//	otf NAME STREAMS PROCESSES-A-STREAM ROUNDS GOROUTINES LEVEL
//	                      write an OTF trace and print how many events it has
//	pallas PATH PATTERN EVENTS COMPATIBLE
//	                      record a Pallas trace
//	otf2 PATH EVENTS      write an OTF2 archive
//	speedscope TRACE      print a trace in speedscope's format
const childMode = "bench-child"

// child runs a child mode.
func child(ctx context.Context, args []string, out io.Writer) error {
	mode := ""
	if len(args) > 0 {
		mode, args = args[0], args[1:]
	}
	switch {
	case mode == "shuffle" && len(args) == 3:
		return shuffle(args[0], args[1], args[2], bucketSize, 1)
	case mode == "open" && len(args) == 2:
		n, err := openAtMost(ctx, args[0], args[1])
		fmt.Fprintln(out, n)
		return err
	case mode == "otf" && len(args) == 6:
		n, err := writeOTFArgs(ctx, args[0], args[1:])
		fmt.Fprintln(out, n)
		return err
	}
	if mode == "pallas" && len(args) == 4 {
		n, err := strconv.Atoi(args[2])
		if err != nil {
			return err
		}
		return recordPallas(args[0], args[1], n, args[3] == "true")
	}
	if mode == "speedscope" && len(args) == 1 {
		return printSpeedscope(ctx, args[0], out)
	}
	if mode == "otf2" && len(args) == 3 {
		n, err := strconv.Atoi(args[1])
		if err != nil {
			return err
		}
		locations, err := strconv.Atoi(args[2])
		if err != nil {
			return err
		}
		return writeOTF2(args[0], n, locations)
	}
	return fmt.Errorf("child mode %q: expected shuffle, open, otf, pallas or otf2 with their arguments", mode)
}

// writeOTFArgs writes the OTF trace of this name and says how many events it has.
// The other arguments are numbers (see childMode).
func writeOTFArgs(ctx context.Context, name string, args []string) (int64, error) {
	var n [5]int
	for i, s := range args {
		var err error
		if n[i], err = strconv.Atoi(s); err != nil {
			return 0, err
		}
	}
	counts, err := writeOTF(ctx, name, otfShape{streams: n[0], each: n[1], rounds: n[2]}, n[3], n[4])
	if err != nil {
		return 0, err
	}
	return counts.all(), nil
}

// workload plans the same trace as weft generate does.
func workload(name, events string) (*generate.Trace, error) {
	n, err := strconv.ParseInt(events, 10, 64)
	if err != nil {
		return nil, err
	}
	return generate.New(generate.Options{Workload: name, Events: n, Seed: 1})
}

// openAtMost counts how many regions and claims of a workload are open at once.
func openAtMost(ctx context.Context, name, events string) (int64, error) {
	t, err := workload(name, events)
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
