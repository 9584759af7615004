package index

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weft-trace/weft/internal/effort"
)

// TestRice checks that decoding the Rice codes of any numbers returns these numbers, and that decoding stops
// at the first byte after the codes.
func TestRice(t *testing.T) {
	effort.Sequential(t)
	rng := rand.New(rand.NewPCG(1, 2))
	for range effort.Rounds(20000) {
		values := make([]uint64, 1+rng.IntN(smallColumn-1))
		wide, far := rng.IntN(64), rng.IntN(3) == 0
		for i := range values {
			values[i] = rng.Uint64() >> wide
			if far && rng.IntN(10) == 0 {
				values[i] = rng.Uint64() >> rng.IntN(64)
			}
		}
		if rng.IntN(10) == 0 {
			values[0] = math.MaxUint64
		}
		b := append(appendRice(nil, values), 0xa5)
		c := columns{b: b}
		got, err := c.readRice(len(values), nil)
		if err != nil || !slices.Equal(got, values) {
			t.Fatalf("found %v, %v, expected %v", got, err, values)
		}
		if len(c.b) != 1 || c.b[0] != 0xa5 {
			t.Fatalf("found %v after the numbers", c.b)
		}
		if len(b) > 2 {
			c = columns{b: b[:rng.IntN(len(b)-1)]}
			if _, err := c.readRice(len(values), nil); err == nil {
				t.Fatalf("a column of %d bytes that was cut to %d was read", len(b)-1, len(c.b))
			}
		}
	}
}

// TestRiceSize checks that the codes of random numbers take about as many bits as the numbers have
// entropy.
func TestRiceSize(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, mean := range []float64{1, 10, 1000, 1e6} {
		values := make([]uint64, smallColumn-1)
		for i := range values {
			values[i] = uint64(rng.ExpFloat64() * mean)
		}
		n := 8 * float64(len(appendRice(nil, values))) / float64(len(values))
		if least := math.Log2(mean*math.E) + 0.1; n > least+0.4 {
			t.Errorf("mean %g: %.2f bits a number, expected some %.2f", mean, n, least)
		}
	}
}

// TestRiceSame checks that equal numbers take the same space, however many there are.
func TestRiceSame(t *testing.T) {
	values := slices.Repeat([]uint64{1 << 40}, smallColumn-1)
	b := appendRice(nil, values)
	c := columns{b: b}
	got, err := c.readRice(len(values), nil)
	if err != nil || !slices.Equal(got, values) || len(b) > 8 || len(c.b) > 0 {
		t.Fatalf("found %v, %v, in %d bytes", got, err, len(b))
	}
}
