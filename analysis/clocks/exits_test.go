package clocks_test

import (
	"testing"

	"github.com/weft-trace/weft/analysis/clocks"
	"github.com/weft-trace/weft/trace"
)

// TestLateRank checks the offset of a clock if its location always comes to a barrier long before the others. The
// members leave 10 ticks after the last one has come; in one barrier in four, one of them leaves later. Causality alone
// bounds the offset of clock 1 by 7000 − 10 and 7000 + 20 010.
func TestLateRank(t *testing.T) {
	p := newProgram([]clockFunc{linear(0, 0), linear(-7000, 0), linear(90, 0)})
	for i := range 100 {
		start := int64(30_000 * i)
		var begins, ends []moment
		for member, begin := range []int64{21_000, 1000, 20_500} {
			p.now[member] = start + begin
			begins = append(begins, p.add(member, trace.CollectiveBegin))
			p.now[member] = start + 21_010
			if i%4 == 3 && i%3 == member {
				p.now[member] += 900
			}
			ends = append(ends, p.add(member, trace.CollectiveEnd, 0, 0, trace.Undefined, 0, 0))
		}
		p.rounds = append(p.rounds, [2][]moment{begins, ends})
	}
	r := p.solve(t, clocks.Options{})
	if r.Clocks[1].Offset != 7000 || r.Clocks[2].Offset != -90 || r.Amortised || r.Linear.Any() {
		t.Errorf("found %+v, expected offsets of 7000 and -90", r)
	}
	if err := p.check(r); err != nil {
		t.Error(err)
	}
}

// TestLateLeave checks that a member that leaves operations late does not move its clock further than messages allow.
// The messages in both directions take 100 ticks, so that the offset is −500 ± 100.
func TestLateLeave(t *testing.T) {
	p := newProgram([]clockFunc{linear(0, 0), linear(500, 0)})
	for range 10 {
		p.message(0, 1, 100)
		p.message(1, 0, 100)
		for i := range 2 {
			p.add(i, trace.CollectiveBegin)
			p.now[i] = max(p.now[0], p.now[1]) + 5000*int64(i)
			p.add(i, trace.CollectiveEnd, 0, 0, trace.Undefined, 0, 0)
		}
	}
	r := p.solve(t, clocks.Options{})
	if c := r.Clocks[1]; c.Offset != -600 || r.After.Any() {
		t.Errorf("found %+v, expected an offset of -600", r)
	}
}

// TestLateCompletion checks that the completion of a non-blocking operation does not show when its members leave: the
// call that completes it may come much later. The messages alone determine the offset.
func TestLateCompletion(t *testing.T) {
	p := newProgram([]clockFunc{linear(0, 0), linear(500, 0)})
	for range 10 {
		p.message(0, 1, 100)
		p.message(1, 0, 100)
		for i := range 2 {
			p.add(i, trace.CollectiveRequest, 1)
			p.now[i] += 1000 + 80*int64(i)
			p.add(i, trace.CollectiveComplete, 0, 0, trace.Undefined, 0, 0, 1)
		}
	}
	r := p.solve(t, clocks.Options{})
	if c := r.Clocks[1]; c.Offset != -500 || r.After.Any() {
		t.Errorf("found %+v, expected an offset of -500", r)
	}
}
