package pallas

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/weft-trace/weft/internal/effort"
)

// TestStrideFrame checks that zstd and weft decode stride frames to the same values. weft may decode a changed
// frame only if zstd decodes it to the same values.
func TestStrideFrame(t *testing.T) {
	effort.Sequential(t)
	z, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	tool, _ := exec.LookPath("zstd")
	if tool == "" {
		t.Log("zstd is not installed")
	}
	rng := rand.New(rand.NewPCG(1, 7))
	var r strideReader
	for _, n := range []int{4, 5, 6, 13, 17, 18, 31, 32, 33, 129, 130, 131, 400, 999, 1000, 1024} {
		var frames, values []byte // all frames of this length, for one run of the tool
		for kept := 1; kept <= maxKept; kept++ {
			for _, other := range []uint64{0, 2, 10, 60} { // about one in this many values has other high bytes
				for _, few := range []bool{false, true} { // whether the low bytes are Huffman coded
					v := make([]uint64, n)
					v[0] = rng.Uint64() &^ (1<<(8*maxKept) - 1)
					for i := 1; i < n; i++ {
						k := kept
						if other > 0 && rng.Uint64N(other) == 0 {
							k = 1 + rng.IntN(maxKept)
						}
						x := rng.Uint64N(1 << (8 * k))
						if few {
							x &= 0x0303030303
						}
						v[i] = v[i-1] ^ x
					}
					var room packBuffers
					room.strides.compute(v)
					frame := appendStrideFrame([]byte("x"), v, &room.strides, &room)[1:]
					what := fmt.Sprintf("%d values of %d bytes, others %d, few %v", n, kept, other, few)
					plain := le64(nil, v...)
					if n < fewValues && room.strides.commonLength(n) != int(room.strides.kept[1]) {
						small := appendSmallFrame(nil, v, &room.strides)
						if got, err := z.DecodeAll(small, nil); err != nil || !bytes.Equal(got, plain) {
							t.Fatalf("%s: small: %v", what, err)
						}
						frames, values = append(frames, small...), append(values, plain...)
					}
					if got, err := z.DecodeAll(frame, nil); err != nil || !bytes.Equal(got, plain) {
						t.Fatalf("%s: %v", what, err)
					}
					frames, values = append(frames, frame...), append(values, plain...)
					got := make([]uint64, n)
					if !r.read(got, slices.Clip(slices.Clone(frame))) || !slices.Equal(got, v) {
						t.Fatalf("%s: read as %v, want %v", what, got, v)
					}
					// If weft decodes the changed frame, zstd must decode it to the same values.
					for at := range min(len(frame), 90) {
						for _, at := range []int{at, len(frame) - 1 - at} {
							b := slices.Clone(frame)
							b[at] ^= byte(1 + rng.IntN(255))
							clear(got)
							if !r.read(got, b) {
								continue
							}
							if plain, err := z.DecodeAll(b, nil); err != nil || !bytes.Equal(plain, le64(nil, got...)) {
								t.Fatalf("%s, byte %d: %v", what, at, err)
							}
						}
					}
					if r.read(got, frame[:len(frame)-1]) || r.read(got[:n-1], frame) {
						t.Fatalf("%s: a part is read", what)
					}
				}
			}
		}
		if tool != "" {
			c := exec.Command(tool, "-dc")
			c.Stdin = bytes.NewReader(frames)
			if got, err := c.Output(); err != nil || !bytes.Equal(got, values) {
				t.Fatalf("%d values: zstd: %v, %d bytes, expected %d", n, err, len(got), len(values))
			}
		}
	}
}

// TestAppendFrame checks that blocks of all sorts of values are not much longer than blocks of zstd.
func TestAppendFrame(t *testing.T) {
	w, err := Create(t.TempDir()+"/main", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	rng := rand.New(rand.NewPCG(1, 8))
	for name, next := range map[string]func(last uint64) uint64{
		"regular": func(last uint64) uint64 { return last + 1200 },
		"jitter":  func(last uint64) uint64 { return last + 5000 + rng.Uint64N(5000) },
		"far":     func(last uint64) uint64 { return last + rng.Uint64N(1<<20) },
		"lengths": func(uint64) uint64 { return 300 + rng.Uint64N(700) },
		"cycle":   func(last uint64) uint64 { return (last + 1) % 7 },
		"same":    func(uint64) uint64 { return 5 },
		"wild":    func(uint64) uint64 { return rng.Uint64() },
	} {
		for _, n := range []int{4, 20, 100, 300, 1000} {
			v := make([]uint64, n)
			last := uint64(1 << 40)
			for i := range v {
				last = next(last)
				v[i] = last
			}
			plain := le64(nil, v...)
			room := packBuffers{plain: plain}
			got, want := len(w.appendFrame(nil, &room, v)), len(w.appendShortest(nil, plain))
			if got > want+want/20 {
				t.Errorf("%d values %s: %d bytes, zstd makes %d", n, name, got, want)
			}
		}
	}
}
