package states

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestIntervals checks that the waits of a location are joined and ordered, in whatever order they are added, and
// that the queue has all begins and ends in the order of time.
func TestIntervals(t *testing.T) {
	for _, c := range []struct {
		added, want [][2]int64
	}{
		{nil, nil},
		{[][2]int64{{3, 5}, {9, 12}}, [][2]int64{{3, 5}, {9, 12}}},
		{[][2]int64{{-9, -5}, {0, 2}, {3, 4}}, [][2]int64{{-9, -5}, {0, 2}, {3, 4}}},
		{[][2]int64{{3, 5}, {4, 7}, {4, 6}, {7, 8}}, [][2]int64{{3, 8}}},
		{[][2]int64{{20, 30}, {3, 5}, {40, 41}, {25, 26}, {4, 6}}, [][2]int64{{3, 6}, {20, 30}, {40, 41}}},
		{[][2]int64{{math.MinInt64, math.MinInt64 + 1}, {math.MaxInt64 - 1, math.MaxInt64}},
			[][2]int64{{math.MinInt64, math.MinInt64 + 1}, {math.MaxInt64 - 1, math.MaxInt64}}},
	} {
		w := &Waits{}
		for _, x := range c.added {
			w.add(2, x[0], x[1])
		}
		w.finish()
		var got [][2]int64
		for x := range w.At(2) {
			got = append(got, [2]int64{x.From, x.To})
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%v: found %v, expected %v", c.added, got, c.want)
		}
	}
	for range (*Waits)(nil).At(7) {
		t.Error("found a wait where there is none")
	}
}

// TestWaitQueue compares the begins and ends of random waits of several locations with a sorted list.
func TestWaitQueue(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 1))
	for range 200 {
		w := &Waits{}
		var want []string
		type moment struct {
			time     int64
			location uint32
			ends     bool
		}
		var list []moment
		for location := range uint32(4) {
			at := random.Int64N(20) - 10
			for range random.IntN(6) {
				from := at + 1 + random.Int64N(9)
				at = from + 1 + random.Int64N(9)
				w.add(location, from, at)
				list = append(list, moment{from, location, false}, moment{at, location, true})
			}
		}
		w.finish()
		slices.SortFunc(list, func(a, b moment) int {
			return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.location, b.location))
		})
		for _, x := range list {
			want = append(want, fmt.Sprint(x))
		}
		var got []string
		for q := w.changes(); len(q) > 0; q.advance() {
			got = append(got, fmt.Sprint(moment{q[0].time, q[0].location, q[0].ends}))
		}
		if !slices.Equal(got, want) {
			t.Fatalf("found %v, expected %v", got, want)
		}
	}
}
