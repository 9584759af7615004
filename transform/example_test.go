package transform_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/weft-trace/weft/analysis"
	"github.com/weft-trace/weft/analysis/profile"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/all"
	"github.com/weft-trace/weft/format/etf"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/transform"
)

// recordedExample returns a trace with a visit of main from 0 to 100 ms, and inside of it two
// visits of work, of 30 and of 5 ms.
func recordedExample() *trace.Recorder {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	p, main, work := r.Location("p"), r.Region("main"), r.Region("work")
	r.Enter(p, 0, main)
	r.Enter(p, 10, work)
	r.Leave(p, 40, work)
	r.Enter(p, 60, work)
	r.Leave(p, 65, work)
	r.Leave(p, 100, main)
	return r
}

// show prints how often, and how long, each region was visited.
func show(events format.Events) {
	p, err := analysis.Run(context.Background(), events, trace.Everything(), func() *profile.Part {
		return profile.New(events.Defs(), profile.Options{})
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range p.Result().Regions {
		fmt.Printf("%s: %d visits, %d ms, %d ms exclusive\n", r.Name, r.Count, r.Inclusive, r.Exclusive)
	}
}

// A piece is a complete trace: in the piece from 20 ms on, main and the open visit of work begin
// again at its begin.
func ExampleCut() {
	show(transform.Cut(format.Recorded(recordedExample()), trace.Window{From: 20, To: 62}))
	// Output:
	// main: 1 visits, 42 ms, 20 ms exclusive
	// work: 2 visits, 22 ms, 22 ms exclusive
}

// Short visits are dropped. Their time counts for the enclosing region.
func ExampleFilter() {
	show(transform.Filter(format.Recorded(recordedExample()), transform.FilterOptions{MinDuration: 10}))
	// Output:
	// main: 1 visits, 100 ms, 70 ms exclusive
	// work: 1 visits, 30 ms, 30 ms exclusive
}

// Two runs are put on one time line. Regions of the same name become one.
func ExampleMerge() {
	ctx := context.Background()
	runs := []format.Events{format.Recorded(recordedExample()), format.Recorded(recordedExample())}
	m, err := transform.Merge(ctx, runs, transform.MergeOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(m.Defs().Locations.Len(), "locations")
	show(m)
	// Output:
	// 2 locations
	// main: 2 visits, 200 ms, 130 ms exclusive
	// work: 4 visits, 70 ms, 70 ms exclusive
}

// Names are replaced, and times stay the same.
func ExampleAnonymize() {
	show(transform.Anonymize(format.Recorded(recordedExample()), transform.AnonymizeOptions{}))
	// Output:
	// region 1: 1 visits, 100 ms, 65 ms exclusive
	// region 2: 2 visits, 35 ms, 35 ms exclusive
}

// A region without a leave is left at the last event of its location.
func ExampleRepair() {
	r := recordedExample()
	r.Enter(0, 110, r.Region("lost"))
	r.Mark(0, 130, r.Region("lost"))
	report := format.NewReport()
	show(transform.Repair(format.Recorded(r), transform.RepairOptions{Report: report}))
	for _, x := range report.Rules() {
		fmt.Println(x.Rule, x.Count)
	}
	// Output:
	// main: 1 visits, 100 ms, 65 ms exclusive
	// work: 2 visits, 35 ms, 35 ms exclusive
	// lost: 1 visits, 20 ms, 20 ms exclusive
	// repair.closed-region 1
}

// A file with the claims on the CPU in the first 20 ms, and no other events, is written. In the
// original, 10 lines of the CPU begin before 20 ms. Their parts before that time are 16.614 ms
// long.
func Example() {
	ctx := context.Background()
	f, err := all.Open(ctx, "../examples/odse.etf", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	if err := f.Prepare(ctx); err != nil {
		log.Fatal(err)
	}
	d := f.Defs()
	cpu := func(loc uint32) bool { return d.Locations.At(loc).Name == "CPU" }
	piece := transform.Cut(transform.Filter(f, transform.FilterOptions{Location: cpu}), trace.Window{From: 0, To: 20_000})

	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "cpu.etf")
	if err := format.SaveEvents(ctx, name, etf.Format{}, piece); err != nil {
		log.Fatal(err)
	}
	again, err := all.Open(ctx, name, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer again.Close()
	p, err := analysis.Run(ctx, again, trace.Everything(), func() *profile.Part {
		return profile.New(again.Defs(), profile.Options{})
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, x := range p.Result().Resources {
		fmt.Println(x.Name, x.Count, "claims, busy for", again.Defs().Clock.FormatDuration(x.Busy))
	}
	// Output:
	// CPU 10 claims, busy for 16.614 ms
}
