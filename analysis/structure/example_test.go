package structure_test

import (
	"context"
	"fmt"
	"log"

	"github.com/weft-trace/weft/analysis"
	"github.com/weft-trace/weft/analysis/structure"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// Two processes repeat the same calls three times, one of them with longer steps.
func Example() {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	run, read, solve := r.Region("run"), r.Region("read"), r.Region("solve")
	for n, name := range []string{"p", "q"} {
		p, length := r.Location(name), int64(n+1)
		r.Enter(p, 0, run)
		for t := int64(0); t < 30; t += 10 {
			r.Enter(p, t, read)
			r.Leave(p, t+2, read)
			r.Enter(p, t+3, solve)
			r.Leave(p, t+3+length, solve)
		}
		r.Leave(p, 30, run)
	}
	p, err := analysis.Run(context.Background(), format.Recorded(r), trace.Everything(), func() *structure.Part {
		return structure.New(r.Defs())
	})
	if err != nil {
		log.Fatal(err)
	}
	found, err := p.Result()
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range found.Shapes {
		fmt.Println(s.Names, "have", s.Events, "events")
	}
	for _, s := range found.Sequences {
		switch s.Name {
		case "run":
			loop := s.Steps[1] // step 0 is the enter
			fmt.Println("run repeats", len(found.Sequences[loop.Sequence].Steps), "calls", loop.Iterations, "times")
		case "solve":
			fmt.Println("solve lasts", s.Min, "to", s.Max, "ms, in all", s.Sum, "ms")
		}
	}
	// Output:
	// [p q] have 28 events
	// solve lasts 1 to 2 ms, in all 9 ms
	// run repeats 2 calls 3 times
}
