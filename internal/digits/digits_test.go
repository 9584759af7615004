package digits

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

func TestAppend(t *testing.T) {
	check := func(v uint64) {
		t.Helper()
		if got, want := string(AppendUint([]byte("x"), v)), "x"+strconv.FormatUint(v, 10); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
		to := make([]byte, 32)
		if got, want := string(to[:Put(to, int64(v))]), strconv.FormatInt(int64(v), 10); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
		if got, want := string(AppendInt(nil, int64(v))), strconv.FormatInt(int64(v), 10); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
	}
	for _, p := range powers {
		check(p - 1)
		check(p)
		check(p + 1)
	}
	check(math.MaxUint64)
	check(1 << 63)
	for range 10000 {
		check(rand.Uint64() >> rand.IntN(64))
		n, v := rand.IntN(19), rand.Uint64()>>rand.IntN(64)
		if got, want := string(AppendFixed([]byte("x"), v%powers[n], n)), fmt.Sprintf("x%0*d", n, v%powers[n]); n > 0 &&
			got != want || n == 0 && got != "x" {
			t.Fatalf("%s, want %s", got, want)
		}
	}
}

func TestAppendReal(t *testing.T) {
	check := func(f float64) {
		t.Helper()
		if got, want := string(AppendReal([]byte("x"), f)), "x"+strconv.FormatFloat(f, 'f', -1, 64); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
	}
	for _, f := range []float64{0, math.Copysign(0, -1), 1, -1, 0.1, 0.3, 1e-6, 1e-7, 999999999.999999, 1e9, -123.456,
		math.Inf(1), math.NaN(), math.MaxFloat64, 5e-324, 0.1 + 0.2} {
		check(f)
		check(-f)
	}
	for range 200000 {
		check(math.Float64frombits(rand.Uint64()))
		check(float64(rand.Int64()>>rand.IntN(64)) / float64(powers[rand.IntN(10)]))
		check(math.Nextafter(float64(rand.Int64N(1e15))/float64(powers[rand.IntN(8)]), float64(rand.IntN(3)-1)*1e300))
	}
}

func BenchmarkAppend(b *testing.B) {
	var buf []byte
	for i := range uint64(b.N) {
		buf = AppendUint(buf[:0], i*7919)
	}
}

func BenchmarkStrconv(b *testing.B) {
	var buf []byte
	for i := range uint64(b.N) {
		buf = strconv.AppendUint(buf[:0], i*7919, 10)
	}
}

// TestNumber checks that Count stops at any byte that is not a digit, after any number of digits.
func TestNumber(t *testing.T) {
	for n := range 9 {
		for c := range 256 {
			text := []byte(fmt.Sprintf("%08d", rand.Uint64N(1e8)))
			want := uint64(0)
			if n > 0 {
				want, _ = strconv.ParseUint(string(text[:n]), 10, 64)
			}
			if n < 8 {
				text[n] = byte(c)
				if n < 7 {
					text[n+1] = byte(rand.Uint32())
				}
			}
			x, count := binary.LittleEndian.Uint64(text), 0
			for count < 8 && text[count] >= '0' && text[count] <= '9' {
				count++
			}
			if got := Count(x); got != count {
				t.Fatalf("%q: %d digits, want %d", text, got, count)
			}
			if n > 0 {
				if got := Number(x, n); got != want {
					t.Fatalf("%q: %d, want %d", text[:n], got, want)
				}
			}
		}
	}
}
