package otf2

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestPlainRecords checks that the fast path and the full reader agree: the full reader must read every event
// that the fast path accepts and find no special case, and the fast path must accept every event without
// special cases.
func TestPlainRecords(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	number := func() uint64 {
		switch rng.IntN(5) {
		case 0:
			return 0
		case 1:
			return undefined32
		case 2:
			return undefined64
		}
		return rng.Uint64() >> rng.IntN(64)
	}
	read, odd := 0, 0
	for range 200_000 {
		id := firstEvent + rng.IntN(len(eventTypes)-firstEvent)
		typ := &eventTypes[id]
		metric := id == metricEvent
		if !plainEvents[id] && !metric {
			continue
		}
		r := Record{ID: uint8(id)}
		for i := range typ.fields {
			v := number()
			if typ.fields[i].enc == encByte {
				v &= 0xff
			}
			r.Values = append(r.Values, v)
		}
		if metric {
			r.Values[0] &= undefined32 >> 1
			r.Values[1] = rng.Uint64N(4)
			for range r.Values[1] {
				r.Values = append(r.Values, []uint64{typeUint64, typeInt64, typeDouble}[rng.IntN(3)], number())
			}
		}
		b := appendRecord(nil, typ, &r)
		size := len(b)
		changed := rng.IntN(2) == 0
		if changed {
			b[1+rng.IntN(size-1)] = byte(rng.Uint32() >> rng.IntN(32))
		}
		b = append(b, make([]byte, 300)...)
		var got []uint64
		next := 0
		if metric {
			var types []uint8
			for i := 2; i < len(r.Values); i += 2 {
				types = append(types, uint8(r.Values[i]))
			}
			metric, count, from, end := plainMetric(b, 0)
			var values [fewValues]uint64
			if from > 0 && count == len(types) && plainMembers(b, from, end, types, &values) {
				next, got = end, []uint64{metric, uint64(count)}
				for i, typ := range types {
					got = append(got, uint64(typ), values[i])
				}
			}
		} else {
			var v plainValues
			next = plainRecord(b, 0, &v)
			got = v[:len(typ.fields)]
		}
		if next == 0 {
			if !changed {
				t.Fatalf("%s % x was not read", typ.name, b[:size])
			}
			continue
		}
		cur := cursor{b: b[1:next]}
		n := uint64(next - 1)
		if !typ.noLength {
			n = cur.length()
			cur = cursor{b: b[2:next]}
			if n != uint64(next-2) {
				t.Fatalf("%s % x: read %d bytes of %d", typ.name, b[:size], next-2, n)
			}
		}
		var want Record
		if cur.record(typ, &want); cur.bad || cur.loose || (cur.missing > 0) || cur.at != int(n) ||
			!slices.Equal(want.Values, got) {
			t.Fatalf("%s % x: found %v, expected %v (bad %v, loose %v, short %v, %d of %d bytes)", typ.name, b[:size], got,
				want.Values, cur.bad, cur.loose, (cur.missing > 0), cur.at, n)
		}
		if read++; changed {
			odd++
		}
	}
	if read < 50_000 || odd < 10_000 {
		t.Errorf("read %d events, %d of them changed", read, odd)
	}
}
