package index

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestVarints checks that appendUvarint and appendVarint write the same bytes as package binary,
// and that columns decodes them.
func TestVarints(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	var list []uint64
	for i := range 64 {
		list = append(list, 1<<i-1, 1<<i, 1<<i+1)
	}
	for range 10000 {
		list = append(list, rng.Uint64()>>rng.IntN(64))
	}
	var got, want []byte
	for _, x := range list {
		got = appendVarint(appendUvarint(got, x), int64(x))
		want = binary.AppendVarint(binary.AppendUvarint(want, x), int64(x))
	}
	if !slices.Equal(got, want) {
		t.Error("found other bytes than those of package binary")
	}
}

// TestNumbers checks that a column returns the numbers that were added, both numbers below 2^32 and larger
// numbers.
func TestNumbers(t *testing.T) {
	var c numbers
	for range 2 {
		var want []uint64
		for i := range 64 {
			for _, x := range []uint64{1<<i - 1, 1 << i, ^uint64(0) << i} {
				c.uint(x)
				c.int(int64(x))
				want = append(want, x, x)
			}
		}
		got := make([]uint64, len(want))
		c.read(got)
		for i := 1; i < len(got); i += 2 {
			got[i] = uint64(zigzagDecode(got[i]))
		}
		if !slices.Equal(got, want) {
			t.Errorf("found %d, expected %d", got, want)
		}
		c.reset()
	}
}
