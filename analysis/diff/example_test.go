package diff_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/weft-trace/weft/analysis/diff"
	"github.com/weft-trace/weft/format/all"
	"github.com/weft-trace/weft/trace"
)

// The call paths that take longer in the second run. The times of MPI_Finalize, 240 and 450 ticks
// (µs), agree with the files in analysis/waits/testdata.
func Example() {
	ctx := context.Background()
	c := diff.New(diff.Options{Runs: [2]int{1, 1}, Least: 0.001, Change: 0.02})
	for side, name := range []string{"hand", "p2p"} {
		f, err := all.Open(ctx, "../waits/testdata/"+name+"/traces.otf2", nil)
		if err != nil {
			log.Fatal(err)
		}
		if err := c.Scan(ctx, diff.Side(side), f, trace.NewRows(f.Defs())); err != nil {
			log.Fatal(err)
		}
		f.Close()
	}
	r := c.Result()
	for _, x := range r.Paths {
		if x.Kind == diff.Regression {
			fmt.Printf("%s: %g ticks, was %g at %s\n", strings.Join(x.Path, " > "), x.Exclusive.B, x.Exclusive.A,
				strings.Join(x.FormerPath, " > "))
		}
	}
	// Output:
	// main > MPI_Finalize: 450 ticks, was 240 at app > main > MPI_Finalize
	// main > work: 2930 ticks, was 2850 at app > main > work
}
