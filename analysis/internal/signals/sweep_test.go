package signals

import (
	"math/rand/v2"
	"testing"
)

// TestSweep compares the sum of step functions with its definition, at each time. Some lists are nearly in the order of
// time, as those of objects are, and others are not.
func TestSweep(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	type function struct{ from, to, value int64 }
	for range 300 {
		var s Sweep
		var list []function
		const last = 2000
		begin, longest := int64(0), 1+r.Int64N(last)
		for range r.IntN(300) {
			if begin = begin + r.Int64N(8); r.IntN(10) == 0 && longest > last/2 || begin >= last {
				begin = r.Int64N(last)
			}
			f := function{begin, min(last, begin+1+r.Int64N(longest)), r.Int64N(4)}
			list = append(list, f)
			s.Add(f.from, f.to, float64(f.value))
		}
		sum, open := s.signals(0, last)
		for at := range int64(last) {
			want, n := int64(0), 0
			for _, f := range list {
				if f.from <= at && at < f.to {
					want += f.value
					n++
				}
			}
			if sum.At(at) != float64(want) || open.At(at) != float64(n) {
				t.Fatalf("at %d: sum %v and %v open, expected %d and %d: %v", at, sum.At(at), open.At(at), want, n, list)
			}
		}
	}
}
