package suggest_test

import (
	"context"
	"fmt"
	"log"

	"github.com/weft-trace/weft/analysis/suggest"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// Properties that hold in a trace: each heat begins 20 ms after the one before it.
func Example() {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	machine := r.Resource("machine", 1, "")
	heat := r.Region("heat")
	for begin := int64(0); begin < 100; begin += 20 {
		r.Release(r.Claim(machine, begin, heat, 1), begin+8)
	}
	m := suggest.NewMiner("")
	if err := m.Add(context.Background(), format.Recorded(r), suggest.Options{}); err != nil {
		log.Fatal(err)
	}
	for _, p := range m.Properties(4, 10) {
		if p.Kind == suggest.Period && p.A.Event == suggest.Start {
			fmt.Println(p.Kind, p.A.Name, p.Support, "times,", p.Mean, "s")
		}
	}
	// Output:
	// period heat 4 times, 0.02 s
}
