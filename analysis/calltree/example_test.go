package calltree_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/weft-trace/weft/analysis"
	"github.com/weft-trace/weft/analysis/calltree"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// The program reads and solves in each step, and reads once more at its end. So the region read has
// two call paths.
func Example() {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	p, run, step, read, solve := r.Location("p"), r.Region("run"), r.Region("step"), r.Region("read"), r.Region("solve")
	visit := func(region uint32, from, to int64, inside func()) {
		r.Enter(p, from, region)
		inside()
		r.Leave(p, to, region)
	}
	nothing := func() {}
	visit(run, 0, 50, func() {
		for _, at := range []int64{0, 20} {
			visit(step, at, at+20, func() {
				visit(read, at+1, at+4, nothing)
				visit(solve, at+4, at+18, nothing)
			})
		}
		visit(read, 40, 45, nothing)
	})
	tree, err := analysis.Run(context.Background(), format.Recorded(r), trace.Everything(), func() *calltree.Part {
		return calltree.New(r.Defs(), calltree.Options{})
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, n := range tree.Result() {
		name := strings.Repeat("  ", n.Depth) + n.Name
		fmt.Printf("%-9s %d × %d ms, %d ms exclusive\n", name, n.Count, n.Inclusive.Over(n.Count), n.Exclusive)
	}
	// Output:
	// run       1 × 50 ms, 5 ms exclusive
	//   step    2 × 20 ms, 6 ms exclusive
	//     solve 2 × 14 ms, 28 ms exclusive
	//     read  2 × 3 ms, 6 ms exclusive
	//   read    1 × 5 ms, 5 ms exclusive
}
