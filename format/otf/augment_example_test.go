package otf_test

import (
	"context"
	"fmt"
	"log"
	"path/filepath"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/otf"
)

// ExampleAugment adds snapshots and summaries to a trace, and then computes the sums of an interval.
func ExampleAugment() {
	dir, remove := temp()
	defer remove()
	name := filepath.Join(dir, "test.otf")
	write(name)
	ctx := context.Background()
	if err := otf.Augment(ctx, name, &otf.AugmentOptions{Points: otf.PointsEvery(5000)}); err != nil {
		log.Fatal(err)
	}
	r, err := otf.Open(ctx, format.FileSource(name), nil)
	if err != nil {
		log.Fatal(err)
	}
	sums, err := r.Summary(ctx, 1, 4200, 12250)
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range sums {
		if s.Type == otf.FunctionSummary {
			fmt.Println("function", s.Function, "calls", s.Count, "ticks", s.Exclusive)
		}
	}
	// Output:
	// function 1 calls 2 ticks 1050
}
