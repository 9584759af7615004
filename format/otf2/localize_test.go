package otf2

import "testing"

// TestEventsInsideOfFlush checks that a flush does not move the events before its end. The clock of the location is 10
// ticks late, so a flush from 100 to 500 and events at 200 and 300 are at 90 to 490, 190 and 290.
// A flush keeps an end before its time.
func TestEventsInsideOfFlush(t *testing.T) {
	l := &localizer{local: &localDefinitions{}, clock: newClock([]ClockOffset{{0, 10, 0}, {1000, 10, 0}})}
	flush := l.localize(&Event{Time: 100, Record: Record{ID: bufferFlush, Values: []uint64{500}}})
	if flush.Time != 90 || flush.Values[0] != 490 {
		t.Errorf("found a flush from %d to %d, expected 90 to 490", flush.Time, flush.Values[0])
	}
	for _, x := range [][2]uint64{{200, 190}, {300, 290}} {
		if own := l.localize(&Event{Time: x[0], Record: Record{ID: enter, Values: []uint64{0}}}); own.Time != x[1] {
			t.Errorf("found an event at %d, expected %d", own.Time, x[1])
		}
	}
	// A damaged flush at 400 ends before its time, at 350. These are 390 and 340 of the late clock.
	flush = l.localize(&Event{Time: 400, Record: Record{ID: bufferFlush, Values: []uint64{350}}})
	if flush.Time != 390 || flush.Values[0] != 340 {
		t.Errorf("found a flush from %d to %d, expected 390 to 340", flush.Time, flush.Values[0])
	}
	if l.inexact != 0 {
		t.Errorf("found %d times that the clock cannot represent, expected none", l.inexact)
	}
}
