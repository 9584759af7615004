package iterations

import "testing"

// TestBalanceManyLocations checks the factors for 200 000 locations: half of them take 200, and get the mean of the
// others, 100. With time that grows with the square of their number, the test would take half a minute.
func TestBalanceManyLocations(t *testing.T) {
	const n = 100_000
	var reference, slow Spread
	for i := range uint32(n) {
		reference = append(reference, LocationTime{i, 100})
		slow = append(slow, LocationTime{n + i, 200})
	}
	b := (&Times{}).Balance(0, slow, reference)
	for _, x := range slow {
		if f := b.Factors[x.Location]; f != 0.5 {
			t.Fatalf("location %d: found a factor of %v, expected 0.5", x.Location, f)
		}
	}
}
