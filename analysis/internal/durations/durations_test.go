package durations

import (
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/weft-trace/weft/internal/effort"
)

// randomDurations returns durations of all sizes and both signs.
func randomDurations(rng *rand.Rand) []int64 {
	l := make([]int64, 1+rng.IntN(300))
	for i := range l {
		l[i] = int64(rng.Uint64()) >> rng.IntN(64)
		switch rng.IntN(40) {
		case 0:
			l[i] = math.MinInt64
		case 1:
			l[i] = math.MaxInt64
		case 2:
			l[i] = 1 << rng.IntN(63)
		}
	}
	return l
}

// TestAgainstSortedList compares totals, and percentiles within 1/256, with results from the sorted
// list, for parts merged in any order.
func TestAgainstSortedList(t *testing.T) {
	effort.Sequential(t)
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 8))
		list := randomDurations(rng)
		var parts [4]Total
		var counts [4]Histogram
		for _, d := range list {
			i := rng.IntN(4)
			parts[i].Add(d)
			counts[i].Add(d)
		}
		var total, other Total
		var h, g Histogram
		for i := range parts {
			total.Merge(&parts[i])
			h.Merge(&counts[i])
			other.Merge(&parts[3-i])
			g.Merge(&counts[3-i])
		}
		if total != other || !reflect.DeepEqual(h, g) {
			t.Fatalf("seed %d: another order gives another result", seed)
		}
		sum := new(big.Int)
		for _, d := range list {
			sum.Add(sum, big.NewInt(d))
		}
		slices.Sort(list)
		if total.Count != int64(len(list)) || total.Min != list[0] || total.Max != list[len(list)-1] ||
			total.Sum().Big().Cmp(sum) != 0 {
			t.Errorf("seed %d: found %+v with sum %d, expected sum %d of %v", seed, total, total.Sum(), sum, list)
		}
		for _, p := range []int64{0, 1, 50, 90, 99, 100} {
			exact := list[max(1, int(math.Ceil(float64(len(list))*float64(p)/100-1e-9)))-1]
			got := h.Percentile(p, &total)
			if d := math.Abs(float64(got) - float64(exact)); d > math.Abs(float64(exact))/256 {
				t.Errorf("seed %d: percentile %d: found %d, expected %d", seed, p, got, exact)
			}
		}
	}
	if (&Histogram{}).Percentile(50, &Total{}) != 0 {
		t.Error("nothing has a median")
	}
}

// TestClasses checks that successive classes cover successive durations without a gap.
func TestClasses(t *testing.T) {
	last := -1
	for _, v := range []uint64{0, 1, 255, 256, 257, 258, 511, 512, 513, 515, 516, 1 << 20, 1<<20 + 1<<13, 1<<63 - 1,
		1 << 63} {
		c := class(v)
		if c < last {
			t.Errorf("%d: class %d is before %d", v, c, last)
		}
		last = c
	}
	for c := range class(1<<63) + 1 {
		if class(middle(c)) != c {
			t.Errorf("the middle of class %d is in class %d", c, class(middle(c)))
		}
		if c > 0 && middle(c) <= middle(c-1) {
			t.Errorf("class %d is not after %d", c, c-1)
		}
	}
	if n := class(1<<63) * 8; n > 60_000 {
		t.Errorf("%d bytes", n)
	}
}

// TestSort compares the order of random durations with that of package slices.
func TestSort(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	lists := [][]int64{{}, {5}, {3, 3}, {math.MaxInt64, 0, math.MinInt64, -1}, {1 << 11, 1<<11 - 1, 1 << 22, 0}}
	for range 300 {
		lists = append(lists, randomDurations(rng))
	}
	for _, list := range lists {
		want := slices.Sorted(slices.Values(list))
		if Sort(list); !slices.Equal(list, want) {
			t.Fatalf("found %d, expected %d", list, want)
		}
	}
}

func TestBetween(t *testing.T) {
	for _, x := range [][3]int64{{3, 7, 4}, {7, 3, -4}, {math.MinInt64, math.MaxInt64, math.MaxInt64},
		{math.MaxInt64, math.MinInt64, math.MinInt64}, {-1, math.MaxInt64, math.MaxInt64}, {0, math.MinInt64, math.MinInt64},
		{5, 5, 0}} {
		if got := Between(x[0], x[1]); got != x[2] {
			t.Errorf("from %d to %d: found %d, expected %d", x[0], x[1], got, x[2])
		}
	}
}
