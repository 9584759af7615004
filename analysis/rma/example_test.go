package rma_test

import (
	"context"
	"fmt"
	"log"

	"github.com/weft-trace/weft/analysis"
	"github.com/weft-trace/weft/analysis/rma"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/all"
	"github.com/weft-trace/weft/trace"
)

// The transfers between two locations. In this archive, ranks 0 and 1 of the window's communicator
// are the locations 3 and 1.
func Example() {
	ctx := context.Background()
	f, err := all.Open(ctx, "../../format/otf2/testdata/ok/rma/traces.otf2", &format.ReadOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	p, err := analysis.Run(ctx, f, trace.Events(), func() *rma.Part { return rma.New(f.Defs(), rma.Options{}) })
	if err != nil {
		log.Fatal(err)
	}
	for _, t := range p.Result().Transfers {
		fmt.Printf("%s of %d bytes from %d to %d, completed after %d ticks\n", t.Operation, t.Bytes, t.Origin, t.Target,
			t.Sum)
	}
	// Output:
	// atomic of 8 bytes from 1 to 1, completed after 0 ticks
	// get of 50 bytes from 1 to 1, completed after 10 ticks
	// put of 101 bytes from 1 to 3, completed after 10 ticks
	// put of 103 bytes from 3 to 1, completed after 10 ticks
	// atomic of 8 bytes from 3 to 3, completed after 0 ticks
	// get of 50 bytes from 3 to 3, completed after 10 ticks
}
