package iterations

import "testing"

// TestBalanceManyLocations checks the factors for 200 000 locations: half of them take 200, and get the mean of the
// others, 100. With time that grows with the square of their number, the test would take half a minute.
func TestBalanceManyLocations(t *testing.T) {
	const n = 100_000
	var reference, slow Spread
	for i := range uint32(n) {
		reference = append(reference, LocationTime{i, 100})
		slow = append(slow, LocationTime{n + i, 200})
	}
	b := (&Times{}).Balance(0, slow, reference)
	for _, x := range slow {
		if f := b.Factors[x.Location]; f != 0.5 {
			t.Fatalf("location %d: found a factor of %v, expected 0.5", x.Location, f)
		}
	}
}

// TestLimitOf checks the limit to which the longest times become shorter. The times are 3, 10, 20 and 12 in two series.
// With the limit 12 they are shorter by 8, with 11 by 9 + 1, with 9 by 11 + 3 + 1, and with 3 by 17 + 9 + 7.
func TestLimitOf(t *testing.T) {
	times := func(list ...int64) *series {
		s := &series{times: map[uint32][]timeBefore{}}
		for _, x := range list {
			s.times[1] = append(s.times[1], timeBefore{time: x})
		}
		return s
	}
	list := []*series{times(3, 10), times(20, 12)}
	for excess, want := range map[float64]int64{0: 20, 7.5: 13, 8: 12, 9.5: 12, 10: 11, 15: 9, 33: 3, 45: 0, 100: 0} {
		if x := limitOf(list, 1, excess); x != want {
			t.Errorf("%v: found a limit of %d, expected %d", excess, x, want)
		}
	}
}

// TestOutliers checks how many iterations explain a difference. The longest one of 30, 9, 20, 8 and 7 is longer by 10
// than the next one, the two longest by 21 + 11 and the three longest by 22 + 12 + 1.
func TestOutliers(t *testing.T) {
	s := &series{path: 2, times: map[uint32][]timeBefore{1: {{time: 30}, {time: 9}, {time: 20}, {time: 8}, {time: 7}}}}
	x := &Times{series: []*series{s}}
	for least, want := range map[float64]Outliers{5: {1, 5, 10}, 10: {2, 5, 32}, 32: {3, 5, 35}, 35: {}} {
		if o := x.Outliers(2, 1, least); o != want {
			t.Errorf("%v: found %+v, expected %+v", least, o, want)
		}
	}
	if o := x.Outliers(1, 1, 5); o != (Outliers{}) {
		t.Errorf("found %+v for another path", o)
	}
}
