package index

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/weft-trace/weft/trace"
)

// TestLevels checks that the level with the longest allowed buckets is chosen: of at most one pixel
// for instants and values, and two pixels for spans.
func TestLevels(t *testing.T) {
	l := []levelEntry{{width: 4}, {width: 16}, {width: 64}}
	for _, x := range []struct {
		pixel, most float64
		want, spans int
	}{
		{0.49, 8, -1, -1}, {0.5, 8, -1, 0}, {0.5, 7, -1, -1}, {1.9, 2, -1, -1}, {2, 2, -1, 0}, {3.9, 2, -1, 0},
		{4, 2, 0, 0}, {7.9, 2, 0, 0}, {8, 2, 0, 1},
		{15.9, 2, 0, 1}, {16, 2, 1, 1}, {31.9, 2, 1, 1}, {32, 2, 1, 2}, {63.9, 2, 1, 2}, {64, 2, 2, 2}, {1e9, 2, 2, 2},
	} {
		if got := levelFor(l, x.pixel); got != x.want {
			t.Errorf("a pixel of %g ticks: found level %d, expected %d", x.pixel, got, x.want)
		}
		if got := spanLevel(l, x.pixel, x.most); got != x.spans {
			t.Errorf("spans, a pixel of %g ticks, buckets of %g pixels: found level %d, expected %d", x.pixel, x.most, got,
				x.spans)
		}
	}
	if levelFor(nil, 100) != -1 || spanLevel(nil, 100, 8) != -1 {
		t.Error("found a level, expected none")
	}
}

// TestBucketLength checks that bucketLength returns the smallest power of two that divides an extent into
// at most the wanted number of buckets.
func TestBucketLength(t *testing.T) {
	for _, x := range [][3]int64{{0, 1, 1}, {7, 8, 1}, {8, 8, 1}, {9, 8, 2}, {17, 8, 2}, {18, 8, 4}, {1000, 0, 1024},
		{math.MaxInt64, 1, 1 << 62}} {
		if got := bucketLength(x[0], x[1]); got != min(x[2], maxWidth+1) {
			t.Errorf("%d ticks in %d buckets: found %d ticks each, expected %d", x[0], x[1], got, x[2])
		}
	}
}

// TestClaimAgain checks that a claim ends an open claim with the same id, so that at most one claim
// of an id is open.
func TestClaimAgain(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	cpu, a, b := r.Resource("cpu", 2, ""), r.Region("a"), r.Region("b")
	loc := r.Defs().Resources.At(cpu).Location
	begin := func(at int64, region uint32) {
		r.Event(loc, at, trace.ClaimBegin, region, []uint64{7, uint64(cpu), math.Float64bits(1)})
	}
	begin(0, a)
	begin(10, b)
	r.Event(loc, 30, trace.ClaimEnd, b, []uint64{7, uint64(cpu)})
	r.Event(loc, 40, trace.ClaimEnd, b, []uint64{7, uint64(cpu)}) // the claim with this id is not open
	x := buildIndex(t, r)
	for i, k := range x.Tracks() {
		if k.Kind != ResourceTrack {
			continue
		}
		sums, err := x.Profile(i, 0, 100)
		n := trace.TicksOf
		if want := []Sum{{a, 1, n(10), n(10), n(10), 10, 10}, {b, 1, n(20), n(20), n(20), 20, 20}}; err != nil ||
			!slices.Equal(sums, want) {
			t.Errorf("found %v, %v, expected %v", sums, err, want)
		}
		v, err := x.Values(t.Context(), i, 0, 40)
		if got := fmt.Sprint(k.Depth, v.Max, v.First, v.Last); err != nil || got != "1 1 1 0" {
			t.Errorf("found %s, %v, expected one lane, at most 1 claimed, first 1 and in the end 0", got, err)
		}
		return
	}
	t.Error("found no resource")
}
