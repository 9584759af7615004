// Toyformat reads a format of its own and converts it to any other:
//
//	go run ./examples/toyformat trace.toy trace.otf2
//
// A line of trace.toy has four words: a time in microseconds, a location, > for an enter or < for a
// leave, and a region. The lines are in the order of time.
//
// To add a record to the format, let eachLine read it, and call do with its kind, reference and operands. The command
// "weft formats --kinds" lists the kinds of events with their references and operands.
package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"os"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/all"
	"github.com/weft-trace/weft/trace"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: toyformat FROM TO")
		os.Exit(2)
	}
	if err := convert(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func convert(from, to string) error {
	ctx := context.Background()
	formats := append([]format.Format{Toy{}}, all.Formats()...)
	src := format.FileSource(from)
	in, err := format.Detect(formats, src)
	if err != nil {
		return err
	}
	file, err := in.Open(ctx, src, &format.ReadOptions{})
	if err != nil {
		return err
	}
	defer file.Close()
	out, ok := format.ByExtension(formats, to)
	if !ok {
		return fmt.Errorf("%s: no format has such names", to)
	}
	return format.SaveEvents(ctx, to, out, file)
}

// Toy implements [format.Format].
type Toy struct{ format.Unsupported }

// About returns the names and properties of the format.
func (Toy) About() format.About {
	return format.About{Name: "toy", Title: "Toy", Extensions: []string{".toy"}, SingleText: true, Reads: "all lines"}
}

// Probe recognises the format by the extension of the file's name alone.
func (t Toy) Probe(name string, _ []byte) int {
	if t.About().HasExtension(name) {
		return 50
	}
	return 0
}

// Open reads the text once for its definitions.
func (Toy) Open(ctx context.Context, src format.Source, _ *format.ReadOptions) (format.File, error) {
	f := &file{src: src, defs: trace.Definitions{Clock: trace.TicksPerSecond(1_000_000), Format: "toy", Origin: "toy"},
		locations: map[string]uint32{}, regions: map[string]uint32{}}
	return f, f.eachLine(ctx, func(int64, uint32, trace.Kind, uint32, ...uint64) error { return nil })
}

// file is an open trace. Scans read its text again.
type file struct {
	format.EventsOnly
	src                format.Source
	defs               trace.Definitions
	locations, regions map[string]uint32
}

func (f *file) Defs() *trace.Definitions      { return &f.defs }
func (f *file) Prepare(context.Context) error { return nil }
func (f *file) Close() error                  { return nil }

// Extent returns the times of the first and the last event, for which it reads all events.
func (f *file) Extent(ctx context.Context) (first, last int64, ok bool, err error) {
	return format.ScanExtent(ctx, f)
}

// Scan delivers the events in the order of the file, which is the order of time, or one location after
// another.
func (f *file) Scan(ctx context.Context, sel trace.Selection, order format.Order, sink format.Sink) error {
	sink = format.Trim(&f.defs, sel, sink)
	r := format.Regroup(sink, 1<<16)
	var b trace.Batch
	b.Reset(trace.MixedLoc)
	flush := func() error {
		defer b.Reset(trace.MixedLoc)
		if order == format.PerLocation {
			return r.Batch(&b)
		}
		return sink.Batch(&b)
	}
	err := f.eachLine(ctx, func(t int64, location uint32, k trace.Kind, ref uint32, ops ...uint64) error {
		b.Add(location, t, k, ref)
		if len(ops) > 0 {
			b.AddOps(ops...)
		}
		if b.Len() < trace.BatchRows {
			return nil
		}
		return flush()
	})
	if err == nil && b.Len() > 0 {
		err = flush()
	}
	if err != nil {
		return err
	}
	return r.Flush()
}

// ScanParallel delivers all events from one goroutine.
func (f *file) ScanParallel(ctx context.Context, sel trace.Selection, begin func() func(int) format.Sink) error {
	return format.ScanInOne(ctx, f, sel, begin)
}

// eachLine reads the file and calls do with the event of each line. ref and ops are the reference and the operands of
// events of kind k.
func (f *file) eachLine(ctx context.Context,
	do func(t int64, location uint32, k trace.Kind, ref uint32, ops ...uint64) error) error {
	in, _, err := f.src.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	s := bufio.NewScanner(in)
	for n := 1; s.Scan() && ctx.Err() == nil; n++ {
		var t int64
		var location, arrow, region, more string
		// The scan of a fifth word must fail.
		words, _ := fmt.Sscan(s.Text(), &t, &location, &arrow, &region, &more)
		if words != 4 || arrow != "<" && arrow != ">" {
			return fmt.Errorf("%s:%d: found %q, expected: TIME LOCATION > REGION", f.src.Path, n, s.Text())
		}
		l, ok := f.locations[location]
		if !ok {
			l = f.defs.Locations.Add(trace.Location{ID: location, Name: location, Kind: trace.ThreadLocation,
				Group: trace.NoRef})
			f.locations[location] = l
		}
		r, ok := f.regions[region]
		if !ok {
			r = f.defs.Regions.Add(trace.Region{ID: region, Name: region})
			f.regions[region] = r
		}
		k := trace.Enter
		if arrow == "<" {
			k = trace.Leave
		}
		if err := do(t, l, k, r); err != nil {
			return err
		}
	}
	return cmp.Or(ctx.Err(), s.Err())
}
