package generate_test

import (
	"context"
	"fmt"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/generate"
	"github.com/weft-trace/weft/trace"
)

// ExampleNew counts the messages of a generated trace.
func ExampleNew() {
	t, err := generate.New(generate.Options{Workload: "ring", Events: 1000, Locations: 4})
	if err != nil {
		fmt.Println(err)
		return
	}
	messages := 0
	err = t.Scan(context.Background(), trace.Everything(), format.GlobalOrder,
		format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
			for _, k := range b.Kind {
				if k.IsRecv() {
					messages++
				}
			}
			return nil
		}})
	fmt.Println(t.Defs().Locations.Len(), "locations,", t.Count(), "events,", messages, "messages", err)
	// Output: 4 locations, 1000 events, 124 messages <nil>
}
