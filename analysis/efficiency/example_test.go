package efficiency_test

import (
	"context"
	"fmt"
	"log"

	"github.com/weft-trace/weft/analysis/efficiency"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// The factors of a run of 100 µs. The processes compute for 40 and 66 µs.
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
	x, ok, err := efficiency.Find(context.Background(), format.Recorded(r), efficiency.Options{})
	if err != nil || !ok {
		log.Fatal(err, x.Missing())
	}
	for _, f := range efficiency.StandardFactors()[:3] {
		fmt.Printf("%s %.2f\n", f.Name, f.Value(x))
	}
	// Output:
	// parallel efficiency 0.53
	// load balance 0.80
	// communication 0.66
}
