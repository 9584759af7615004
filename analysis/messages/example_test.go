package messages_test

import (
	"context"
	"fmt"
	"log"

	"github.com/weft-trace/weft/analysis"
	"github.com/weft-trace/weft/analysis/messages"
	"github.com/weft-trace/weft/format/all"
	"github.com/weft-trace/weft/trace"
)

// The number of messages and bytes that processes send to each other. In this ring of eight, each
// process sends four times 1024 bytes to the next one; grep -c "^-3 -21" finds the 32 sends.
func Example() {
	ctx := context.Background()
	f, err := all.Open(ctx, "../../examples/ring.trf", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	p, err := analysis.Run(ctx, f, trace.Everything(), func() *messages.Part {
		return messages.New(f.Defs(), messages.Options{Latency: true})
	})
	if err != nil {
		log.Fatal(err)
	}
	r := p.Result()
	slowest := f.Defs().Clock.FormatDuration(r.Latency.Max)
	fmt.Println(r.Sent, "messages,", r.Matched, "of them received, the slowest in", slowest)
	for _, c := range r.Matrix[:3] {
		fmt.Printf("%s to %s: %d messages, %d bytes\n", c.SourceID, c.DestinationID, c.Count, c.Bytes)
	}
	// Output:
	// 32 messages, 32 of them received, the slowest in 10 µs
	// 0/0 to 1/0: 4 messages, 4096 bytes
	// 1/0 to 2/0: 4 messages, 4096 bytes
	// 2/0 to 3/0: 4 messages, 4096 bytes
}
