package explain_test

import (
	"context"
	"fmt"
	"log"

	"github.com/weft-trace/weft/analysis/explain"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// The explanation of a run in which process 1 waits for process 0.
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
	x, ok, err := explain.Explain(context.Background(), format.Recorded(r), explain.Options{})
	if err != nil || !ok {
		log.Fatal(err, x.Missing())
	}
	// Process 1 computes for 66 µs, and process 0 for 40 µs. The calls of MPI take 36 µs, of which 30 µs are the wait
	// for process 0. The other 6 µs are 3 % of twice 100 µs.
	for _, f := range x.Findings {
		fmt.Println(f.Title)
	}
	// Output:
	// compute takes longer at 1 than elsewhere, and others end earlier
	// Communication itself takes 3 % of the time, waits left out
}
