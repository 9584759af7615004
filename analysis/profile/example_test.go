package profile_test

import (
	"context"
	"fmt"
	"log"

	"github.com/weft-trace/weft/analysis"
	"github.com/weft-trace/weft/analysis/profile"
	"github.com/weft-trace/weft/format/all"
	"github.com/weft-trace/weft/trace"
)

// The times of regions. PICL recorded its own sums at the end of the file: 0.001212 s in event type
// -52 (recv0), 0.008083 s in -401 (clocksync0), 0.000098 s in -11 and 0.000046 s in -21. Its clock
// was finer than the microseconds of the events, so that the sums differ slightly.
func Example() {
	ctx := context.Background()
	f, err := all.Open(ctx, "../../examples/worley-table20.trf", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	p, err := analysis.Run(ctx, f, trace.Everything(), func() *profile.Part {
		return profile.New(f.Defs(), profile.Options{})
	})
	if err != nil {
		log.Fatal(err)
	}
	r := p.Result()
	for _, x := range r.Regions {
		fmt.Printf("%s %s: %d times, %s\n", x.ID, x.Name, x.Count, r.Clock.FormatSum(x.Inclusive))
	}
	// Output:
	// -11 open0: 1 times, 98 µs
	// -21 send0: 1 times, 46 µs
	// -52 recv0 (waited): 2 times, 1.213 ms
	// -401 clocksync0: 1 times, 8.084 ms
	// -901 tracing: 1 times, 717.018 ms
	// -902 traceevents: 1 times, 1.17 ms
	// -903 tracefiles: 1 times, 705.633 ms
	// 0 event 0: 1 times, 523 µs
	// 1 event 1: 1 times, 1.013 ms
}
