package collectives_test

import (
	"context"
	"fmt"
	"log"

	"github.com/weft-trace/weft/analysis"
	"github.com/weft-trace/weft/analysis/collectives"
	"github.com/weft-trace/weft/format/all"
	"github.com/weft-trace/weft/trace"
)

// The result agrees with the output of otf2-print: 80 ends of barriers, and 80 of broadcasts of 4
// bytes, at four locations.
func Example() {
	ctx := context.Background()
	f, err := all.Open(ctx, "../../format/otf2/testdata/ok/ring/eztrace_log.otf2", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	p, err := analysis.Run(ctx, f, trace.Everything(), func() *collectives.Part {
		return collectives.New(f.Defs(), collectives.Options{})
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, o := range p.Result().Operations {
		fmt.Printf("%s %s: %d calls are %d operations of %d members, %d bytes received\n",
			o.CommunicatorName, o.Name, o.Calls, o.Matched, o.Members, o.Received)
	}
	// Output:
	// MPI_COMM_WORLD barrier: 80 calls are 20 operations of 4 members, 0 bytes received
	// MPI_COMM_WORLD broadcast: 80 calls are 20 operations of 4 members, 320 bytes received
}
