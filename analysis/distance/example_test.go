package distance_test

import (
	"context"
	"fmt"
	"log"

	"github.com/weft-trace/weft/analysis"
	"github.com/weft-trace/weft/analysis/distance"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// The distance of two orders of claims. In the second trace, the press comes first. The claims are the same, but the
// succession of heat and press differs.
func Example() {
	order := func(names ...string) *distance.Set {
		r := trace.NewRecorder(trace.TicksPerSecond(1000))
		machine := r.Resource("machine", 1, "")
		for i, name := range names {
			begin := 10 * int64(i)
			r.Release(r.Claim(machine, begin, r.Region(name), 1), begin+8)
		}
		events := format.Recorded(r)
		p, err := analysis.Run(context.Background(), events, trace.Events(), func() *distance.Part {
			return distance.New(events.Defs(), distance.Options{})
		})
		if err != nil {
			log.Fatal(err)
		}
		return p.Result()
	}
	d, err := distance.Compare(order("heat", "press"), order("press", "heat"), 0)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(d.Distance)
	fmt.Println("only in the first:", d.First.Edges[0].From, "before", d.First.Edges[0].To)
	fmt.Println("only in the second:", d.Second.Edges[0].From, "before", d.Second.Edges[0].To)
	// Output:
	// 2
	// only in the first: heat before press
	// only in the second: press before heat
}
