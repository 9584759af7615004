package carrier_test

import (
	"fmt"
	"log"

	"github.com/weft-trace/weft/format/carrier"
	"github.com/weft-trace/weft/trace"
)

// Example shows an encoder of a format without a record for a row of events. The encoder packs the row into
// bytes and, at the end, all definitions. The decoder restores definitions and events from the bytes.
func Example() {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	p := r.Location("p")
	r.Mark(p, 7, r.Region("checkpoint"), trace.Attr{Key: "step", Value: trace.IntValue(3)})
	var rows carrier.Rows
	var events [][]byte
	for _, b := range r.Batches(p) {
		c := b.Cursor()
		for c.Next() {
			events = append(events, rows.AppendWhole(nil, r.Defs(), &c, false, nil))
		}
	}
	definitions, _ := carrier.Pack(r.Defs(), &rows)
	fmt.Println(len(events[0]), "bytes")

	pairs, err := carrier.Unpack(definitions)
	if err != nil {
		log.Fatal(err)
	}
	var d trace.Definitions
	back, err := carrier.NewRestorer(&d, pairs)
	if err != nil {
		log.Fatal(err)
	}
	var b trace.Batch
	b.Reset(p)
	b.Add(p, 7, trace.NoOp, trace.NoRef)
	if err := back.Amend(&b, events[0]); err != nil {
		log.Fatal(err)
	}
	c := b.Cursor()
	for c.Next() {
		keys, values := c.Attrs()
		fmt.Println(d.Regions.At(c.Ref()).Name, d.Attributes.At(keys[0]).Name, values[0])
	}
	// Output:
	// 7 bytes
	// checkpoint step 3
}
