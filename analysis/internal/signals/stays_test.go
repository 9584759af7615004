package signals

import (
	"math/rand/v2"
	"testing"
)

// TestStays compares the signals of stays with their definition, at each time, and their statistics with those of the
// signals. Some lists are nearly in the order of time, as those of objects are, and others are not. All durations are
// powers of 2, so that no sum has rounding errors.
func TestStays(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		const last, unit = 2000, 64
		s := NewStays(0, unit)
		var list []stay
		begin, longest := int64(0), 1+r.IntN(9)
		for range r.IntN(300) {
			if begin = begin + r.Int64N(8); r.IntN(10) == 0 && longest > 7 || begin >= last {
				begin = r.Int64N(last)
			}
			x := stay{begin, begin + 1<<r.IntN(longest)}
			if r.IntN(20) == 0 {
				x.to = x.from
			}
			if x.to > last {
				continue
			}
			list = append(list, x)
			s.Add(x.from, x.to)
		}
		wip, throughput, latency := s.Signals(0, last, 0, false)
		for at := range int64(last) {
			rate, n := 0.0, 0
			for _, x := range list {
				if x.from <= at && at < x.to {
					rate += unit / float64(x.to-x.from)
					n++
				}
			}
			if throughput.At(at) != rate || wip.At(at) != float64(n) || n > 0 && latency.At(at) != float64(n)/rate {
				t.Fatalf("at %d: throughput %v, work in progress %v, latency %v, expected %v and %d: %v", at,
					throughput.At(at), wip.At(at), latency.At(at), rate, n, list)
			}
		}
		w, p, l := s.Statistics(0, last)
		if w != wip.Statistics(false) || p != throughput.Statistics(false) || l != latency.Statistics(true) {
			t.Fatalf("statistics are %v, %v and %v, expected those of the signals: %v", w, p, l, list)
		}
	}
}
