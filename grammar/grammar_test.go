package grammar

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// finder is the common interface of [Builder] and [Reference].
type finder interface {
	Open(time uint64)
	Add(event uint32, time uint64) error
	Close(time uint64) error
	End()
	Tokens() [][]Token
	Grammar() ([]SequenceInfo, []LoopInfo)
}

// expand appends the events that tokens represent to out.
func expand(t *testing.T, f finder, tokens []Token, out []uint32) []uint32 {
	sequences, loops := f.Grammar()
	for _, k := range tokens {
		switch k.Type() {
		case Event:
			out = append(out, k.ID())
		case Sequence:
			out = expand(t, f, sequences[k.ID()].Tokens, out)
		case Loop:
			for range loops[k.ID()].Iterations {
				out = expand(t, f, sequences[loops[k.ID()].Sequence].Tokens, out)
			}
		default:
			t.Fatalf("token %v", k)
		}
	}
	return out
}

// TestExpand checks that the grammar represents exactly the events that were added. Event 0 opens a
// level, and event 1 closes a level.
func TestExpand(t *testing.T) {
	for seed := range uint64(90) {
		rng := rand.New(rand.NewPCG(seed, 2))
		var want []uint32
		for range 1 + rng.IntN(100*(1+int(seed%30))) {
			part := make([]uint32, 1+rng.IntN(6))
			for i := range part {
				part[i] = rng.Uint32N(2 + uint32(seed%6))
			}
			for range 1 + rng.IntN(4) {
				want = append(want, part...)
			}
		}
		block := func(e uint32) bool { return e == 0 }
		occurs := func(uint32, Occurrence) error { return nil }
		for name, f := range map[string]finder{"fast": New(1+int(seed%20), block, occurs),
			"truncated": NewReference(1+int(seed%20), block, occurs), "basic": NewReference(math.MaxInt, block, occurs),
			"none": NewReference(0, block, occurs)} {
			depth := 0
			for i, e := range want {
				if e == 0 {
					f.Open(uint64(i))
					depth++
				}
				if err := f.Add(e, uint64(i)); err != nil {
					t.Fatal(err)
				}
				if e == 1 && depth > 0 {
					if err := f.Close(uint64(i)); err != nil {
						t.Fatal(err)
					}
					depth--
				}
			}
			for ; depth > 0; depth-- {
				if err := f.Close(uint64(len(want))); err != nil {
					t.Fatal(err)
				}
			}
			f.End()
			if got := expand(t, f, slices.Concat(f.Tokens()...), nil); !slices.Equal(got, want) {
				t.Fatalf("seed %d, %s: %v, want %v", seed, name, got, want)
			}
		}
	}
}

// TestReference checks the grammars of a few events against the rules in docs/formats/pallas.md,
// "Compatible files". A loop that was discarded keeps its number.
func TestReference(t *testing.T) {
	for _, x := range []struct {
		events string
		want   string
	}{
		{"abab", "[[L0] [E97 E98]] [{1 2 1}]"},
		{"ababab", "[[L0] [E97 E98]] [{1 3 1}]"},
		{"aabaa", "[[L0 E98 L0] [E97]] [{1 2 2} {0 0 0}]"},
		{"abcab", "[[E97 E98 E99 E97 E98]] []"},
		{"ababcab", "[[L0 E99 S1] [E97 E98]] [{1 2 1}]"},
	} {
		f := NewReference(100, func(uint32) bool { return false }, func(uint32, Occurrence) error { return nil })
		for i, e := range []byte(x.events) {
			if err := f.Add(uint32(e), uint64(i)); err != nil {
				t.Fatal(err)
			}
		}
		f.End()
		sequences, loops := f.Grammar()
		l := f.Tokens()
		for _, s := range sequences[1:] {
			l = append(l, s.Tokens)
		}
		if got := fmt.Sprint(l, loops); got != x.want {
			t.Errorf("%s: %s, want %s", x.events, got, x.want)
		}
	}
	f := NewReference(100, nil, nil)
	if err := f.Close(0); err != ErrClosed {
		t.Error(err)
	}
}
