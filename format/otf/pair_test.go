package otf

import (
	"math/rand/v2"
	"testing"
)

// TestFrequentPair compares the two ways of reading the line of a key-value pair. The line after a blank is read in
// the general way, and must add the same pair and have the same defect. The lines are random changes of usual lines.
func TestFrequentPair(t *testing.T) {
	usual := []string{"K1Y6V0", "KffffffffY8V123456789abcdef0", "K2YbV0102L2", "K3YbVL0", "K4YaV3ff0000000000000",
		"K5Y1V41", "K100000001Y5V80000001", "K6Y9V40490fdb", "K7Y0V1"}
	letters := "KYVL0189abf \r\"c"
	rng := rand.New(rand.NewPCG(7, 8))
	frequent := 0
	for i := range 300000 {
		l := []byte(usual[rng.IntN(len(usual))])
		for range rng.IntN(3) {
			switch at := rng.IntN(len(l)); rng.IntN(3) {
			case 0:
				l[at] = letters[rng.IntN(len(letters))]
			case 1:
				l = append(l[:at:at], l[min(at+1, len(l)-1):]...)
			case 2:
				l = append(append(l[:at:at], letters[rng.IntN(len(letters))]), l[at:]...)
			}
		}
		if l[0] != 'K' {
			continue
		}
		before := []KeyValue{{Key: 2, Type: Uint8, Bits: 3}, {Key: 6, Type: Bytes, Bytes: []byte{1}}}[:i%3]
		fast, slow := &Record{}, &Record{}
		for _, r := range []*Record{fast, slow} {
			r.KeyValues = append(r.KeyValues, KeyValue{Bytes: []byte("old")}, KeyValue{}, KeyValue{Bytes: []byte("old")})[:0]
			for _, v := range before {
				v.Bytes = append([]byte(nil), v.Bytes...)
				r.KeyValues = append(r.KeyValues, v)
			}
		}
		if r := (&Record{KeyValues: append([]KeyValue(nil), before...)}); r.frequentPair(l) {
			frequent++
		}
		bad, want := fast.pair(l, 0, false), slow.pair(append([]byte(" "), l...), 1, false)
		equal := bad == want && len(fast.KeyValues) == len(slow.KeyValues)
		for j := range fast.KeyValues {
			if equal {
				x, y := fast.KeyValues[j], slow.KeyValues[j]
				equal = x.Key == y.Key && x.Type == y.Type && x.Bits == y.Bits && string(x.Bytes) == string(y.Bytes)
			}
		}
		if !equal {
			t.Fatalf("%q after %d pairs: found %+v, %v, expected %+v, %v", l, len(before), fast.KeyValues, bad, slow.KeyValues,
				want)
		}
	}
	if frequent < 10000 {
		t.Errorf("the fast way has read %d lines, expected most usual ones", frequent)
	}
}
