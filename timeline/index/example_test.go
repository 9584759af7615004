package index_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/weft-trace/weft/format/all"
	"github.com/weft-trace/weft/timeline/index"
)

// ExampleBuild writes the index of a PICL trace to a file. The trace has 72 pairs of enter and
// leave, and 32 messages.
func ExampleBuild() {
	ctx := context.Background()
	f, err := all.Open(ctx, "../../examples/ring.trf", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "ring.weftidx")
	if err := index.Build(ctx, f, name, index.Options{}); err != nil {
		log.Fatal(err)
	}
	x, err := index.Open(name)
	if err != nil {
		log.Fatal(err)
	}
	defer x.Close()
	n := x.Counts()
	fmt.Println(len(x.Tracks()), "tracks,", n.Spans, "visits,", n.Links, "messages")
	// Output: 8 tracks, 72 visits, 32 messages
}

// ExampleIndex_Profile computes the profile of the first processor for the first 60 µs. Its cost
// would be the same in a longer trace. The processor waits from 20 to 90 µs, which is 40 µs of the
// window.
func ExampleIndex_Profile() {
	ctx := context.Background()
	f, err := all.Open(ctx, "../../examples/ring.trf", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	x, err := index.BuildTemporary(ctx, f, index.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer x.Close()
	clock := x.Clock()
	first, last, _ := x.Extent()
	to, err := clock.ParseTime("60us", first, last)
	if err != nil {
		log.Fatal(err)
	}
	sums, err := x.Profile(0, first, to)
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range sums {
		inclusive, exclusive := clock.FormatSum(s.Inclusive), clock.FormatSum(s.Exclusive)
		fmt.Printf("%s: %s, %s exclusive\n", x.Region(s.Region), inclusive, exclusive)
	}
	// Output:
	// send0: 0 s, 0 s exclusive
	// recv0 (waited): 40 µs, 40 µs exclusive
	// tracing: 60 µs, 20 µs exclusive
}

// ExampleIndex_Tile lists the content of a picture of 34 columns of 10 µs each. The first
// processor is always inside of tracing, and waits there four times for 70 µs.
func ExampleIndex_Tile() {
	ctx := context.Background()
	f, err := all.Open(ctx, "../../examples/ring.trf", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	x, err := index.BuildTemporary(ctx, f, index.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer x.Close()
	first, last, _ := x.Extent()
	t, err := x.Tile(ctx, index.TileRequest{Tracks: []int{0}, From: first, To: last, Width: 34, Depths: 8})
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range t.Strips {
		for i := s.First; i < s.First+s.Count; i++ {
			fmt.Printf("depth %d: %s in %d columns from %d on\n", s.Depth, x.Region(t.Region[i]), t.N[i], t.X[i])
		}
	}
	// Output:
	// depth 0: tracing in 34 columns from 0 on
	// depth 1: send0 in 1 columns from 1 on
	// depth 1: recv0 (waited) in 7 columns from 2 on
	// depth 1: send0 in 1 columns from 9 on
	// depth 1: recv0 (waited) in 7 columns from 10 on
	// depth 1: send0 in 1 columns from 17 on
	// depth 1: recv0 (waited) in 7 columns from 18 on
	// depth 1: send0 in 1 columns from 25 on
	// depth 1: recv0 (waited) in 7 columns from 26 on
}
