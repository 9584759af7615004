package check

import (
	"fmt"
	"math"
	"math/bits"
)

// steps summarises the times of a location by the greatest step between two successive events, in
// ticks, with the events before and after it.
type steps struct {
	first, last   int64
	count, before int64   // numbers of all events, and of the events before the step
	step          uint64  // length of the step, in ticks
	from, to      openRow // the events before and after the step
	pos           int64   // position of the last event
}

// add adds the next event.
func (s *steps) add(t, pos int64) {
	if s.count == 0 {
		s.first, s.last = t, t
	} else if n := uint64(t) - uint64(s.last); t > s.last && n > s.step {
		s.step, s.before, s.from, s.to = n, s.count, openRow{s.last, s.pos}, openRow{t, pos}
	}
	s.count, s.last, s.pos = s.count+1, t, pos
}

// split divides the events at the greatest step. It returns the times of the first and last event
// of the larger part, the number of its events, and the event of the smaller part that is next to
// the step.
func (s *steps) split() (first, last, events int64, outlier openRow) {
	if s.before >= s.count-s.before {
		return s.first, s.from.time, s.before, s.to
	}
	return s.to.time, s.last, s.count - s.before, s.from
}

// minEvents is the number of events that must lie close together before another event counts as
// distant.
const minEvents = 16

// reportDistantEvents reports locations with events so far from all others that probably a bit of a time
// is wrong.
func (c *Checker) reportDistantEvents() error {
	suspect := make([]bool, len(c.locs))
	for loc, s := range c.locs {
		suspect[loc] = s != nil && s.steps.step > 0
	}
	for {
		// low and high enclose the times of the n events that are regarded as correct: all events
		// of locations that are not suspect, and the larger part of each suspect location.
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
		if n < minEvents {
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
			_, _, _, outlier := s.steps.split()
			if err := c.report("trace.absurd-delta", placeOf(uint32(loc), outlier), "an event at "+c.seconds(outlier.time),
				fmt.Sprintf("a time near %s to %s, where all others are", c.seconds(low), c.seconds(high))); err != nil {
				return err
			}
		}
		return nil
	}
}
