package picl

import (
	"runtime"
	"strings"
	"testing"
)

// TestControlMemory checks that a long control string takes memory in proportion to its length: at most 128 bytes for
// each character, also while a slice of its parts grows.
func TestControlMemory(t *testing.T) {
	for _, part := range []string{"a", "%d", "%[a]", "%*5c", " x"} {
		text := "%d" + strings.Repeat(part, 100_000)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := parseControl(text); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 128*uint64(len(text)) {
			t.Errorf("%q: found %d bytes of memory for %d characters, expected at most 128 for each", part, n, len(text))
		}
	}
}
