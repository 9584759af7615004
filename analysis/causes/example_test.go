package causes_test

import (
	"context"
	"fmt"
	"log"

	"github.com/weft-trace/weft/analysis/causes"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// The causes of waits. Process 1 waits for 30 µs, because process 0 computes for 30 µs longer.
func Example() {
	// Process 0 computes for 40 µs and sends. Process 1 computes for 10 µs, waits, and computes again.
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
	machine := r.Machine("node")
	first, second := r.Thread("0", r.Process("rank 0", machine)), r.Thread("1", r.Process("rank 1", machine))
	compute, send, recv := r.Region("compute"), r.Region("MPI_Send"), r.Region("MPI_Recv")
	r.Enter(first, 0, compute)
	r.Leave(first, 40, compute)
	r.Enter(first, 40, send)
	r.Send(first, 41, second, 0, 8)
	r.Leave(first, 42, send)
	r.Enter(second, 0, compute)
	r.Leave(second, 10, compute)
	r.Enter(second, 10, recv)
	r.Recv(second, 44, first, 0, 8)
	r.Leave(second, 44, recv)
	r.Enter(second, 44, compute)
	r.Leave(second, 100, compute)
	x, err := causes.Find(context.Background(), format.Recorded(r), causes.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range x.Patterns[0].Costs {
		fmt.Println(x.Patterns[0].Pattern, c.Path, "at", c.LocationName, c.ShortTerm, "µs")
	}
	// Output:
	// late-sender [compute] at 0 30 µs
}
