package metrics_test

import (
	"context"
	"fmt"
	"log"

	"github.com/weft-trace/weft/analysis"
	"github.com/weft-trace/weft/analysis/metrics"
	"github.com/weft-trace/weft/format/all"
	"github.com/weft-trace/weft/trace"
)

// The counters' numbers of values and extremes agree with the output of otf2-print.
func Example() {
	ctx := context.Background()
	f, err := all.Open(ctx, "../../format/otf2/testdata/ok/heat2d-mt/traces.otf2", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	p, err := analysis.Run(ctx, f, trace.Everything(), func() *metrics.Part { return metrics.New(f.Defs()) })
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range p.Result() {
		d := f.Defs().Metrics.At(m.Metric)
		fmt.Printf("%s: %d values from %s to %s %s\n", d.Name, m.Events, m.Min, m.Max, d.Unit)
	}
	// Output:
	// minor faults: 36 values from 1427 to 1572 #
	// user time: 36 values from 0.00501 to 0.018748 s
}
