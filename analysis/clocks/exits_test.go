package clocks_test

import (
	"strconv"
	"testing"

	"github.com/weft-trace/weft/analysis/clocks"
	"github.com/weft-trace/weft/trace"
)

// TestLateRank checks the offset of a clock if its location always comes to a barrier long before the others. The
// members leave 10 ticks after the last one has come; in one barrier in five, one of them leaves later. Causality alone
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
			if i%5 == 4 && i%3 == member {
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

// TestLeavesOfPairs checks the offsets of clocks that operations connect in both directions: barriers of locations 0
// and 2, and of locations 1 and 2. Location 2 comes 20 000 ticks after the other one, so causality bounds the offsets
// less.
func TestLeavesOfPairs(t *testing.T) {
	p := newProgram([]clockFunc{linear(0, 0), linear(-7000, 0), linear(300, 0)})
	for i := range int64(2) {
		set := p.defs.Sets.Add(trace.Set{ID: strconv.Itoa(int(1 + i)), Kind: "communicating locations",
			Members: []int64{100 + i, 102}})
		p.defs.Communicator.Add(trace.Communicator{ID: strconv.Itoa(int(1 + i)), Set: set, Parent: trace.NoRef})
	}
	for round := range 20 {
		for first := range 2 {
			start := int64(100_000*round + 50_000*first)
			p.now[first], p.now[2] = start, start+20_000
			p.add(first, trace.CollectiveBegin)
			p.add(2, trace.CollectiveBegin)
			p.now[first], p.now[2] = start+20_010, start+20_010
			p.add(first, trace.CollectiveEnd, 0, uint64(1+first), trace.Undefined, 0, 0)
			p.add(2, trace.CollectiveEnd, 0, uint64(1+first), trace.Undefined, 0, 0)
		}
	}
	r := p.solve(t, clocks.Options{Always: true})
	if r.Clocks[1].Offset != 7000 || r.Clocks[2].Offset != -300 {
		t.Errorf("found %+v, expected offsets of 7000 and -300", r.Clocks)
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
