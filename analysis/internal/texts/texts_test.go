package texts

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSet compares the numbers of random texts with those of a Go map, before and after merging.
func TestSet(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var sets [2]Set
	var maps [2]map[string]uint32
	for i := range sets {
		maps[i] = map[string]uint32{}
		for range 5000 {
			// Small and great whole numbers, numbers in other forms, and other texts.
			text := fmt.Sprintf([]string{"%d", "0%d", "x%d", "%d00000", "-%d", "%d0000000000"}[rng.IntN(6)], rng.IntN(1500))
			if text == "7" {
				text = ""
			}
			want, ok := maps[i][text]
			if !ok {
				want = uint32(len(maps[i]))
				maps[i][text] = want
			}
			if got := sets[i].Number(text); got != want {
				t.Fatalf("set %d: %q has number %d, want %d", i, text, got, want)
			}
		}
	}
	before := slices.Collect(sets[1].All())
	numbers := sets[0].Merge(&sets[1])
	all := slices.Collect(sets[0].All())
	for n, got := range numbers {
		if text := all[got]; text != before[n] {
			t.Errorf("text %d is %q in the merged set, want %q", n, text, before[n])
		}
	}
	if len(all) != sets[0].Len() {
		t.Errorf("%d texts, want %d", len(all), sets[0].Len())
	}
	for text := range maps[1] {
		maps[0][text] = 0
	}
	if slices.Sort(all); len(slices.Compact(all)) != len(maps[0]) {
		t.Errorf("%d different texts, want %d", len(slices.Compact(all)), len(maps[0]))
	}
}
