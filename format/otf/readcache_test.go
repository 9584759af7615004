package otf

import (
	"strings"
	"sync/atomic"
	"testing"
)

// countingReader counts the bytes that are read from it.
type countingReader struct {
	*strings.Reader
	n int
}

func (r *countingReader) ReadAt(p []byte, off int64) (int, error) {
	n, err := r.Reader.ReadAt(p, off)
	r.n += n
	return n, err
}

// TestReadCache checks that a second reading of a file uses the bytes that the first reading kept, and reads
// only the bytes after them. This also holds for a file that is longer than the budget of the cache.
func TestReadCache(t *testing.T) {
	const text = "0123456789abcdefghijklmno" // 25 bytes, read 5 at a time
	for budget, again := range map[int64]int{100: 0, 25: 0, 12: 15, 4: 25} {
		r := &countingReader{Reader: strings.NewReader(text)}
		var room atomic.Int64
		room.Store(budget)
		var k *readCache
		for pass := range 2 {
			if k == nil && pass == 0 {
				k = &readCache{budget: &room}
			}
			got := ""
			for off := int64(0); off < int64(len(text)); off += 5 {
				var p [5]byte
				if _, err := k.readAt(r, p[:], off); err != nil {
					t.Fatal(err)
				}
				got += string(p[:])
			}
			if got != text {
				t.Errorf("budget %d, pass %d: found %q, expected %q", budget, pass+1, got, text)
			}
			k = k.finish()
		}
		if r.n != len(text)+again {
			t.Errorf("budget %d: read %d bytes, expected %d", budget, r.n, len(text)+again)
		}
	}
}
