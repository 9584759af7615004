package signals

import (
	"math"
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

// TestAveragedLatency checks averages over 5 ticks of the latency of a single object, which stays for 3 ticks from 10
// to 13. Work in progress and throughput are n/5 and n/15, where n is the number of these ticks in the window. So the
// latency is 3 from 10, where both begin at 0, to 18, where both are 0 again, and 0 before and after that.
func TestAveragedLatency(t *testing.T) {
	s := NewStays(1, 1)
	s.Add(10, 13)
	_, _, latency := s.Signals(0, 30, 5, false)
	g := NewGrowing(Quotient, 0, 5)
	g.Begin(10, 1.0/3)
	g.End(10, 13, 1.0/3)
	var lines []Line
	g.Until(30, true, func(x Line) { lines = append(lines, x) })
	for half := range int64(60) {
		at, want := float64(half)/2, 0.0
		if at >= 10 && at < 18 {
			want = 3
		}
		for _, p := range latency {
			if float64(p.From) <= at && at < float64(p.To) {
				found := p.Start + (p.End-p.Start)*(at-float64(p.From))/float64(p.To-p.From)
				if math.Abs(found-want) > 1e-12 {
					t.Errorf("at %v: found %v in %v, expected %v", at, found, p, want)
				}
			}
		}
		for _, x := range lines {
			if float64(x.From) <= at && at < float64(x.To) {
				if found := x.Start + x.Rise*(at-float64(x.From))/float64(x.Per); math.Abs(found-want) > 1e-12 {
					t.Errorf("growing, at %v: found %v in %v, expected %v", at, found, x, want)
				}
			}
		}
	}
}
