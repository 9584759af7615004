package constraints_test

import (
	"context"
	"fmt"
	"log"

	"github.com/weft-trace/weft/analysis/constraints"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// The critical path of claims. A claim depends on those that end when it begins: the second claim ends last.
func Example() {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	machine := r.Resource("machine", 1, "")
	heat, press := r.Region("heat"), r.Region("press")
	r.Release(r.Claim(machine, 0, heat, 1), 8)
	r.Release(r.Claim(machine, 8, press, 1), 20)
	r.Release(r.Claim(machine, 8, heat, 1), 11)
	x, err := constraints.Find(context.Background(), format.Recorded(r), constraints.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range x.Critical {
		fmt.Println(c.Region, "from", c.Start, "to", c.End, "ms")
	}
	// Output:
	// heat from 0 to 8 ms
	// press from 8 to 20 ms
}
