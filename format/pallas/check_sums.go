package pallas

import "fmt"

// valueSums holds sums over the values of a vector.
type valueSums struct {
	low, high, sum uint64 // of durations
	last           uint64 // the last time
}

func newValueSums() valueSums { return valueSums{low: ^uint64(0)} }

// valueDefect describes a block whose values differ from what the file of the thread states. found has verbs for the
// kind of the vector's owner and its number.
type valueDefect struct{ rule, found, expected string }

// add adds the values of a block. It returns nil if the values agree with the head of the block, and if times do
// not decrease.
func (s *valueSums) add(v *Vector, x *Block, l []uint64) *valueDefect {
	if !v.durations {
		if l[0] != x.First || l[len(l)-1] != x.Last {
			return &valueDefect{"pallas.sums",
				fmt.Sprintf("a block of %%s %%d with times from %d to %d ns", l[0], l[len(l)-1]),
				fmt.Sprintf("from %d to %d, as the file of the thread states", x.First, x.Last)}
		}
		for _, n := range l {
			if n < s.last {
				return &valueDefect{"pallas.time-order",
					fmt.Sprintf("a time of %%s %%d, %d ns, before the previous time, %d", n, s.last),
					"times that do not decrease; weft sorts the events"}
			}
			s.last = n
		}
		return nil
	}
	least, most, all := l[0], l[0], uint64(0)
	for _, n := range l {
		least, most, all = min(least, n), max(most, n), all+n
	}
	if mean := all / uint64(len(l)); least != x.Min || most != x.Max || mean != x.Mean {
		return &valueDefect{"pallas.sums",
			fmt.Sprintf("a block of %%s %%d with durations of %d to %d ns, %d on the average", least, most, mean),
			fmt.Sprintf("%d to %d, %d on the average, as the file of the thread states", x.Min, x.Max, x.Mean)}
	}
	s.low, s.high, s.sum = min(s.low, least), max(s.high, most), s.sum+all
	return nil
}

// expected returns "" if the sums of a vector of durations are those of its values, and otherwise the sums of the
// values.
func (s *valueSums) expected(v *Vector) string {
	if v.Size == 0 || s.low == v.Min && s.high == v.Max && s.sum/v.Size == v.Mean {
		return ""
	}
	return fmt.Sprintf("%d to %d, %d on the average, as in its blocks", s.low, s.high, s.sum/v.Size)
}
