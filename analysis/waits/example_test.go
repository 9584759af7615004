package waits_test

import (
	"context"
	"fmt"
	"log"

	"github.com/weft-trace/weft/analysis/waits"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// The wait states of a run. Process 1 waits from 10 µs, when it begins to receive, to 40 µs, when process 0 begins to
// send.
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
	x, err := waits.Find(context.Background(), format.Recorded(r), waits.Options{Worst: 1})
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range x.Patterns {
		w := p.Worst[0]
		fmt.Println(p.Pattern, x.Clock.FormatSum(p.Time), "at", w.LocationName, "for", w.CauseName)
	}
	// Output:
	// late-sender 30 µs at 1 for 0
}
