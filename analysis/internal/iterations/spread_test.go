package iterations

import (
	"testing"
	"time"
)

// TestBalanceManyLocations checks the factors of 100 000 locations that take twice as long as as many others. The time
// must not grow with the square of their number, which would be about ten seconds.
func TestBalanceManyLocations(t *testing.T) {
	const n = 100_000
	var reference, slow Spread
	for i := range uint32(n) {
		reference = append(reference, LocationTime{i, 100})
		slow = append(slow, LocationTime{n + i, 200})
	}
	begin := time.Now()
	b := (&Times{}).Balance(0, slow, reference)
	if took := time.Since(begin); took > 3*time.Second {
		t.Errorf("found %v, expected less than 3 s", took)
	}
	for _, x := range slow {
		if f := b.Factors[x.Location]; f != 0.5 {
			t.Fatalf("location %d: found a factor of %v, expected 0.5", x.Location, f)
		}
	}
}
