package verify_test

import (
	"context"
	"fmt"
	"log"

	"github.com/weft-trace/weft/analysis/verify"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// A property of a trace: each heat is followed by a press. The second press comes 22 ms after its heat, which is late.
func Example() {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	machine := r.Resource("machine", 1, "")
	heat, press := r.Region("heat"), r.Region("press")
	r.Release(r.Claim(machine, 0, heat, 1), 8)
	r.Release(r.Claim(machine, 10, press, 1), 18)
	r.Release(r.Claim(machine, 20, heat, 1), 28)
	r.Release(r.Claim(machine, 42, press, 1), 50)
	spec, err := verify.Parse("example", []byte("check soon : globally if start {'name' = 'heat'} "+
		"then finally by 15 ms start {'name' = 'press'}"))
	if err != nil {
		log.Fatal(err)
	}
	x, err := verify.Run(context.Background(), format.Recorded(r), spec, verify.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range x.Checks {
		fmt.Println(c.Name, c.Verdict)
	}
	// Output:
	// soon bad
}
