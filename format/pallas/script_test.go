package pallas

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weft-trace/weft/internal/effort"
)

// leanOf loads a thread again from its file, without the data that the decoder does not need.
func leanOf(t testing.TB, th *Thread) *Thread {
	t.Helper()
	lean, err := th.Archive.loadThread(th.ID, leanThread)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(lean.Close)
	return lean
}

// TestScript checks that a thread that was read without the blocks of its sequences has the same events as the
// whole thread, from any event on. The package computes the script of the whole thread in another way.
func TestScript(t *testing.T) {
	effort.Sequential(t)
	for seed := range uint64(60) {
		p := program{rng: rand.New(rand.NewPCG(seed, 5))}
		for range 1 + seed%5 {
			p.body(int(seed % 7))
		}
		finding := LoopFinding(seed % 3)
		th := recorded(t, p.list, &WriterOptions{MaxLoopLength: 1 + int(seed%40), Compatible: seed%4 >= 2,
			LoopFinding: &finding})
		lean := leanOf(t, th)
		if lean.script == nil {
			t.Fatalf("seed %d: a thread of the writer is not confirmed", seed)
		}
		want := replayed(t, th, nil)
		if len(want) != len(p.list) {
			t.Fatalf("seed %d: %d events, want %d", seed, len(want), len(p.list))
		}
		for skip := 0; skip <= len(want); skip += 1 + p.rng.IntN(1+len(want)/20) {
			for _, x := range []*Thread{lean, th} {
				if got := replayed(t, x, want[:skip]); !slices.Equal(got, want[skip:]) {
					t.Fatalf("seed %d: after %d events: %v\nwant %v", seed, skip, got, want[skip:])
				}
			}
		}
	}
}

// replayed returns the events of a replay that begins after the skipped events.
func replayed(t testing.TB, th *Thread, skipped []uint32) (all []uint32) {
	t.Helper()
	r := newBlockReader(th.Archive.Trace.Parameters)
	defer r.close()
	x := newReplay(th, newOutline(th), r)
	before := make([]uint64, len(th.Events))
	for _, e := range skipped {
		before[e]++
		if x.times[e].next == len(x.times[e].values) {
			if err := x.fill(int(e)); err != nil {
				t.Fatal(err)
			}
		}
		x.times[e].next++
	}
	if !x.skip(before) {
		t.Fatalf("%d events are not the first ones", len(skipped))
	}
	for {
		list, _, err := x.next()
		if err != nil {
			t.Fatal(err)
		}
		if len(list) == 0 {
			return all
		}
		all = append(all, list...)
	}
}

// TestConfirmUndo changes single tokens of a thread, so that the sizes of its sequences contradict each
// other. newLeanScript must then return nil and leave the tokens as they were.
func TestConfirmUndo(t *testing.T) {
	p := program{rng: rand.New(rand.NewPCG(3, 5))}
	for range 5 {
		p.body(5)
	}
	th := recorded(t, p.list, &WriterOptions{})
	unusual := 0
	for at := range th.lists.tokens {
		for _, k := range []Token{NoToken, MakeToken(InvalidToken, 2),
			MakeToken(SequenceToken, uint32(len(th.Sequences))-1), MakeToken(LoopToken, 0), MakeToken(EventToken, 0)} {
			x := Thread{Root: th.Root, Events: th.Events, Loops: th.Loops, eventMap: th.eventMap, sequenceMap: th.sequenceMap,
				loopMap: th.loopMap, inOrder: th.inOrder, noSequences: true}
			x.lists = tokenLists{slices.Clone(th.lists.tokens), th.lists.from}
			if at%3 == 0 { // the tokens of the root are changed
				x.sizes = append(x.sizes, vectorSizes{0, 2, 2, 2})
			}
			for i := range th.Sequences {
				s := &th.Sequences[i]
				if v := (vectorSizes{i, s.Timestamps.Size, s.Durations.Size, s.Exclusive.Size}); v != (vectorSizes{i, 1, 1, 1}) {
					x.sizes = append(x.sizes, v)
				}
			}
			if x.lists.tokens[at] == k {
				continue
			}
			x.lists.tokens[at] = k
			before := slices.Clone(x.lists.tokens)
			lists := x.lists
			if newLeanScript(&x) != nil {
				t.Fatalf("%v for %v at %d is confirmed", k, th.lists.tokens[at], at)
			}
			unusual++
			if !slices.Equal(lists.tokens, before) {
				t.Fatalf("%v for %v at %d: the tokens have changed", k, th.lists.tokens[at], at)
			}
		}
	}
	if unusual < 100 {
		t.Errorf("%d cases", unusual)
	}
}
