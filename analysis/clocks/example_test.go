package clocks_test

import (
	"context"
	"fmt"
	"log"

	"github.com/weft-trace/weft/analysis/clocks"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/transform"
)

// The clock of b is 100 µs behind that of a: a message that a sends at 0 µs is received 10 µs
// later, when the clock of b shows -90 µs. The answer is sent 5 µs after that, and takes 10 µs too.
// The times leave a range of 20 µs for the offset. Its middle is correct here, since both messages
// take the same time.
func Example() {
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
	machine := r.Machine("node")
	a, b := r.Thread("a", r.Process("a", machine)), r.Thread("b", r.Process("b", machine))
	for i := range int64(5) {
		t := 1000 * i
		r.Send(a, t, b, i, 8)
		r.Recv(b, t+10-100, a, i, 8)
		r.Send(b, t+15-100, a, i, 8)
		r.Recv(a, t+25, b, i, 8)
	}
	ctx := context.Background()
	events := format.Recorded(r)
	found, err := clocks.Solve(ctx, events, clocks.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(found.Messages, "messages; too early:", found.Before.Messages, "before,", found.After.Messages, "after")
	fmt.Println("b is set by", found.Clocks[1].Offset, "µs")

	right, err := transform.Correct(events, found.Correction, 0)
	if err != nil {
		log.Fatal(err)
	}
	first, last, _, err := format.Extent(ctx, right)
	fmt.Println("the trace is", last-first, "µs long", err)
	// Output:
	// 10 messages; too early: 5 before, 0 after
	// b is set by 100 µs
	// the trace is 4025 µs long <nil>
}
