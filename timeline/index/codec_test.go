package index

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
)

// Numbers are written as package binary writes them, and read again.
func TestVarints(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	var numbers []uint64
	for i := range 64 {
		numbers = append(numbers, 1<<i-1, 1<<i, 1<<i+1)
	}
	for range 10000 {
		numbers = append(numbers, rng.Uint64()>>rng.IntN(64))
	}
	var got, want []byte
	for _, x := range numbers {
		got = appendVarint(appendUvarint(got, x), int64(x))
		want = binary.AppendVarint(binary.AppendUvarint(want, x), int64(x))
	}
	if !slices.Equal(got, want) {
		t.Error("found other bytes than those of package binary")
	}
	var plain []byte
	for _, x := range numbers {
		plain = binary.AppendUvarint(plain, x)
	}
	back := make([]uint64, len(numbers))
	uvarints(plain, back)
	if !slices.Equal(back, numbers) {
		t.Error("found other numbers than were written")
	}
}
