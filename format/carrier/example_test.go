package carrier_test

import (
	"fmt"
	"log"

	"github.com/weft-trace/weft/format/carrier"
	"github.com/weft-trace/weft/trace"
)

// The encoder of a format that has only texts writes definitions and events as texts, and its
// decoder makes the same definitions and events of them.
func Example() {
	r := trace.NewRecorder(trace.Seconds(1000))
	p := r.Location("p")
	r.Mark(p, 7, r.Region("checkpoint"), trace.Attr{Key: "step", Value: trace.IntValue(3)})
	definitions, _ := carrier.Definitions(r.Defs())
	var events []string
	for _, b := range r.Batches(p) {
		for c := b.Cursor(); c.Next(); {
			events = append(events, string(carrier.AppendEvent(nil, r.Defs(), &c)))
		}
	}
	fmt.Println(events[0])

	var d trace.Definitions
	back, err := carrier.NewRestorer(&d, definitions)
	if err != nil {
		log.Fatal(err)
	}
	var b trace.Batch
	b.Reset(p)
	if err := back.AddEvent(&b, p, 7, events[0]); err != nil {
		log.Fatal(err)
	}
	for c := b.Cursor(); c.Next(); {
		keys, values := c.Attrs()
		fmt.Println(d.Regions.At(c.Ref()).Name, d.Attributes.At(keys[0]).Name, values[0])
	}
	// Output:
	// "kind""mark""ref""0""@step#int64""3"
	// checkpoint step 3
}
