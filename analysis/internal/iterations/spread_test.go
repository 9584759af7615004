package iterations

import (
	"slices"
	"testing"
)

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

// TestCompared checks which locations that alone spend their times before other calls belong to the series of two
// locations with three iterations, which take 100 and 200 in all: those with two or three iterations, and a time from
// half of 100 to twice 200. None of them belongs to one of two such series.
func TestCompared(t *testing.T) {
	of := func(first uint32, lists ...[]int64) *series {
		s := &series{path: 7, iterations: len(lists[0]), times: map[uint32][]timeBefore{}}
		for i, list := range lists {
			loc := first + uint32(i)
			s.locations = append(s.locations, loc)
			for _, x := range list {
				s.times[loc] = append(s.times[loc], timeBefore{time: x})
				s.total += float64(x)
			}
		}
		return s
	}
	several := of(4, []int64{30, 30, 40}, []int64{50, 70, 80})
	for _, x := range []struct {
		list    []int64
		belongs bool
	}{
		{[]int64{30, 40, 50}, true}, {[]int64{60, 60}, true}, {[]int64{120}, false}, {[]int64{30, 30, 30, 30}, false},
		{[]int64{16, 16, 17}, false}, {[]int64{16, 17, 17}, true}, {[]int64{200, 100, 100}, true},
		{[]int64{200, 100, 101}, false},
	} {
		single := of(2, x.list)
		for _, times := range []*Times{{series: []*series{several, single}},
			{series: []*series{several}, minor: []*series{single}}} {
			list := times.compared(7)
			if found := len(list) == 1 && slices.Equal(list[0].locations, []uint32{2, 4, 5}); found != x.belongs {
				t.Errorf("%d: found %v, expected %v", x.list, found, x.belongs)
			} else if found && list[0].total != several.total+single.total {
				t.Errorf("%d: found a total of %g, expected %g", x.list, list[0].total, several.total+single.total)
			}
		}
		two := &Times{series: []*series{several, of(8, []int64{1, 1, 1}, []int64{1, 1, 1}), single}}
		if list := two.compared(7); len(list) > 0 {
			t.Errorf("%d: found %d series of three locations beside another series, expected none", x.list, len(list))
		}
	}
	if len(several.locations) != 2 || several.total != 300 {
		t.Errorf("the series has changed: %+v", several)
	}
}
