package analysis_test

import (
	"context"
	"fmt"
	"log"

	"github.com/weft-trace/weft/analysis"
	"github.com/weft-trace/weft/analysis/counts"
	"github.com/weft-trace/weft/format/all"
	"github.com/weft-trace/weft/trace"
)

// Run counts the events of a trace of any format with one part per worker. The file has 144 lines,
// and each line is an event.
func ExampleRun() {
	ctx := context.Background()
	f, err := all.Open(ctx, "../examples/ring.trf", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	p, err := analysis.Run(ctx, f, trace.Everything(), func() *counts.Part { return counts.New(f.Defs()) })
	if err != nil {
		log.Fatal(err)
	}
	r := p.Result()
	fmt.Println(r.Events, "events at", len(r.Locations), "locations in", r.Clock.FormatDuration(r.Last-r.First))
	// Output: 144 events at 8 locations in 340 µs
}
