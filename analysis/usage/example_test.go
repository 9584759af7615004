package usage_test

import (
	"context"
	"fmt"
	"log"

	"github.com/weft-trace/weft/analysis"
	"github.com/weft-trace/weft/analysis/usage"
	"github.com/weft-trace/weft/format/all"
	"github.com/weft-trace/weft/trace"
)

// The use of a system's resources. The claims of the CPU do not overlap, so that their sum can be
// checked: the 35 lines in the file last 66.931 ms, of 130 ms until the last signal ends.
func Example() {
	ctx := context.Background()
	f, err := all.Open(ctx, "../../examples/odse.etf", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	p, err := analysis.Run(ctx, f, trace.Everything(), func() *usage.Part {
		return usage.New(f.Defs(), usage.Options{})
	})
	if err != nil {
		log.Fatal(err)
	}
	r := p.Result()
	for _, x := range r.Resources[:2] {
		used := r.Clock.FormatDuration(x.Open[1])
		fmt.Printf("%s: %d claims, used for %s (%.1f %%)\n", x.Name, x.Claims, used, r.Percent(&x, 1))
	}
	// Output:
	// CPU: 35 claims, used for 66.931 ms (51.5 %)
	// GPU: 17 claims, used for 64.356 ms (49.5 %)
}

// The number of objects in a system over time, by Little's law. All lines of the file with the same
// value of an attribute belong to one object, which is in the system from their earliest to their
// latest time. The figures agree with a count by hand.
func ExampleLittle() {
	ctx := context.Background()
	f, err := all.Open(ctx, "../../examples/odse.etf", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	p, err := analysis.Run(ctx, f, trace.Everything(), func() *usage.Little {
		return usage.NewLittle(f.Defs(), usage.LittleOptions{Attribute: "id"})
	})
	if err != nil {
		log.Fatal(err)
	}
	r := p.Result(usage.ResultOptions{})
	first := r.Objects[0]
	stay := r.Clock.FormatDuration(first.Last - first.First)
	fmt.Printf("%d objects; %s is there for %s\n", len(r.Objects), first.Value, stay)
	fmt.Printf("at 20 ms there are %.0f\n", r.WIP.At(20_000))
	// Output:
	// 17 objects; 0 is there for 18.322 ms
	// at 20 ms there are 9
}
