package check

import (
	"fmt"
	"math"
	"math/bits"
)

// steps is what is known of the times of a location: the greatest step between two
// events, and what lies before and behind it.
type steps struct {
	first, last   int64
	count, before int64  // events, and those before the step
	step          uint64 // ticks
	from, to      openRow
	pos           int64 // of the last event
}

func (s *steps) add(t, pos int64) {
	if s.count == 0 {
		s.first, s.last = t, t
	} else if n := uint64(t) - uint64(s.last); t > s.last && n > s.step {
		s.step, s.before, s.from, s.to = n, s.count, openRow{s.last, s.pos}, openRow{t, pos}
	}
	s.count, s.last, s.pos = s.count+1, t, pos
}

// split is the times at the step's side with more events, and the event at its other
// side.
func (s *steps) split() (first, last, events int64, odd openRow) {
	if s.before >= s.count-s.before {
		return s.first, s.from.time, s.before, s.to
	}
	return s.to.time, s.last, s.count - s.before, s.from
}

// least is how many events must be near each other before others are far away.
const least = 16

// absurd reports locations of which some events are so far from all others that a bit of
// a time must be suspected.
func (c *Checker) absurd() error {
	suspect := make([]bool, len(c.locs))
	for loc, s := range c.locs {
		suspect[loc] = s != nil && s.steps.step > 0
	}
	for {
		// What is taken to be sound: all of the locations that are, and the greater part of
		// those that are not.
		low, high, n := int64(math.MaxInt64), int64(math.MinInt64), int64(0)
		for loc, s := range c.locs {
			if s == nil || s.steps.count == 0 {
				continue
			}
			first, last, events := s.steps.first, s.steps.last, s.steps.count
			if suspect[loc] {
				first, last, events, _ = s.steps.split()
			}
			low, high, n = min(low, first), max(high, last), n+events
		}
		if n < least {
			return nil
		}
		span, cleared := uint64(high)-uint64(low), false
		for loc, s := range c.locs {
			if hi, lo := bits.Mul64(max(span, 1), 1<<20); suspect[loc] && (hi > 0 || s.steps.step <= lo) {
				suspect[loc], cleared = false, true
			}
		}
		if cleared {
			continue
		}
		for loc, s := range c.locs {
			if !suspect[loc] {
				continue
			}
			_, _, _, odd := s.steps.split()
			if err := c.report("trace.absurd-delta", placeOf(uint32(loc), odd), "an event at "+c.seconds(odd.time),
				fmt.Sprintf("a time near %s to %s, where all others are", c.seconds(low), c.seconds(high))); err != nil {
				return err
			}
		}
		return nil
	}
}
