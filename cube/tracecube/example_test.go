package tracecube_test

import (
	"context"
	"fmt"
	"log"

	"github.com/weft-trace/weft/analysis/calltree"
	"github.com/weft-trace/weft/cube/tracecube"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// A cube with the visits and times of the call paths of a run.
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
	b, err := tracecube.New(context.Background(), format.Recorded(r), trace.Everything(), calltree.Options{})
	if err != nil {
		log.Fatal(err)
	}
	c := b.Cube()
	visits := c.Metric("visits")
	for i, values := range visits.Values {
		fmt.Println(c.PathNames(i), values)
	}
	// Output:
	// [(program)] []
	// [(program) compute] [1 2]
	// [(program) MPI_Send] [1 0]
	// [(program) MPI_Recv] [0 1]
}
