package otf

import (
	"io"
	"sync/atomic"
)

// maxCachedBytes limits how much of the files a survey keeps in memory for the scan that follows. As a result,
// small traces and small parts of traces are read only once. If a whole trace is larger, none of its bytes are
// kept, because allocating memory costs more than reading the file again from the page cache.
const maxCachedBytes = 32 << 20

// readCache holds contiguous bytes of a file that a survey has read. A nil *readCache is empty.
type readCache struct {
	to     int64 // position in the file after the last byte in the cache
	blocks [][]byte
	from   int64         // position of the first block in the file
	budget *atomic.Int64 // number of bytes that all files may still store; nil when the cache is complete
}

// newCacheBudget returns the total number of bytes that the files of one survey may store.
func newCacheBudget() *atomic.Int64 {
	var room atomic.Int64
	room.Store(maxCachedBytes)
	return &room
}

// cache makes the reader store the bytes that it reads from now on, until the budget is used up. The scan
// reads the bytes after these from the file again.
func (t *lineReader) cache(room *atomic.Int64) {
	t.kept = &readCache{to: t.read, from: t.read, budget: room}
}

// begin makes an empty cache that is being filled begin at a position.
func (k *readCache) begin(off int64) {
	if k != nil && k.budget != nil && len(k.blocks) == 0 {
		k.from, k.to = off, off
	}
}

// readAt reads from the cache, or else from the file. While the cache is being filled, readAt stores the bytes
// that it reads. The offsets of successive reads must ascend, because readAt drops the blocks before off.
func (k *readCache) readAt(h io.ReaderAt, p []byte, off int64) (int, error) {
	switch {
	case k == nil:
		return h.ReadAt(p, off)
	case k.budget != nil:
		n, err := h.ReadAt(p, off)
		if off == k.to && n > 0 && k.budget.Add(-int64(n)) >= 0 {
			k.blocks = append(k.blocks, append([]byte(nil), p[:n]...))
			k.to += int64(n)
		}
		return n, err
	}
	for len(k.blocks) > 0 && k.from+int64(len(k.blocks[0])) <= off {
		k.from += int64(len(k.blocks[0]))
		k.blocks[0], k.blocks = nil, k.blocks[1:]
	}
	if off < k.from || off >= k.to || len(k.blocks) == 0 {
		return h.ReadAt(p, off)
	}
	return copy(p, k.blocks[0][off-k.from:]), nil
}

// finish ends the filling of the cache. Later reads take their bytes from the cache.
func (k *readCache) finish() *readCache {
	if k == nil || len(k.blocks) == 0 {
		return nil
	}
	k.budget = nil
	return k
}
