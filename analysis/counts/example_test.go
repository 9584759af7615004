package counts_test

import (
	"context"
	"fmt"
	"log"

	"github.com/weft-trace/weft/analysis"
	"github.com/weft-trace/weft/analysis/counts"
	"github.com/weft-trace/weft/format/all"
	"github.com/weft-trace/weft/trace"
)

// This example prints the numbers of events and derived rows by kind. In the file, 72 lines begin with
// -3, an entry, and 72 with -4, an exit. Of these, 32 entries and exits belong to calls that send, and
// as many to calls that receive. Weft derives the sends and receives from them.
func Example() {
	ctx := context.Background()
	f, err := all.Open(ctx, "../../examples/ring.trf", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	p, err := analysis.Run(ctx, f, trace.Everything(), func() *counts.Part { return counts.New(f.Defs()) })
	if err != nil {
		log.Fatal(err)
	}
	for _, k := range p.Result().Kinds {
		fmt.Println(k.Name, k.Events, k.Derived)
	}
	// Output:
	// enter 72 0
	// leave 72 0
	// send 0 32
	// recv 0 32
}
