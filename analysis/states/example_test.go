package states_test

import (
	"context"
	"fmt"
	"log"

	"github.com/weft-trace/weft/analysis"
	"github.com/weft-trace/weft/analysis/states"
	"github.com/weft-trace/weft/format/all"
	"github.com/weft-trace/weft/trace"
)

// The states of the processors of a ring, which work one after another. Processor 0 waits four
// times for 70 µs in event type -52. It is active from 0 to 340 µs.
func Example() {
	ctx := context.Background()
	f, err := all.Open(ctx, "../../examples/ring.trf", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	p, err := analysis.Run(ctx, f, trace.Everything(), func() *states.Part {
		return states.New(f.Defs(), states.Options{Changes: true})
	})
	if err != nil {
		log.Fatal(err)
	}
	r := p.Result()
	for _, x := range r.Processors[:2] { // the first two of all processors
		fmt.Println(x.ID, "busy", r.Clock.FormatDuration(x.Busy), "idle", r.Clock.FormatDuration(x.Idle))
	}
	fmt.Println("of all processors exactly one is busy for", r.Clock.FormatDuration(r.Profile[1].Busy))
	// Output:
	// 0/0 busy 60 µs idle 280 µs
	// 1/0 busy 50 µs idle 290 µs
	// of all processors exactly one is busy for 330 µs
}
