package transform_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/transform"
)

// TestFindOccurrences compares the windows of all visits with the windows of single visits. The traces are
// random, with visits that nest, that do not nest, and that have no end.
func TestFindOccurrences(t *testing.T) {
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 1))
		r := trace.NewRecorder(trace.TicksPerSecond(1000))
		var locations, regions []uint32
		for _, name := range []string{"a", "b", "c"} {
			locations, regions = append(locations, r.Location(name)), append(regions, r.Region("r"+name))
		}
		for time := range int64(60) {
			loc, region := locations[random.IntN(3)], regions[random.IntN(3)]
			if random.IntN(2) == 0 {
				r.Enter(loc, time, region)
			} else {
				r.Leave(loc, time, region)
			}
		}
		chosen := func(ref uint32) bool { return ref == regions[0] || seed%2 == 0 && ref == regions[1] }
		all, err := transform.FindOccurrences(context.Background(), format.Recorded(r), chosen)
		if err != nil {
			t.Fatal(err)
		}
		for n := 1; ; n++ {
			w, found, err := transform.FindOccurrence(context.Background(), format.Recorded(r),
				transform.Occurrence{Region: chosen, N: n, Each: true})
			if err != nil {
				t.Fatal(err)
			}
			if found < n {
				if len(all) != n-1 {
					t.Errorf("seed %d: found %d windows, expected %d", seed, len(all), n-1)
				}
				break
			}
			if n > len(all) || all[n-1] != w {
				t.Fatalf("seed %d, visit %d: found %v, expected %v", seed, n, all, w)
			}
		}
	}
}
