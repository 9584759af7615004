package pallas

import (
	"fmt"
	"sort"
	"sync"
)

// cacheBytes limits the values that a trace caches for reads of single values, in bytes. The block that
// was loaded last is always cached.
const cacheBytes = 8 << 20

// blockCache caches blocks of values. If it is full, it drops the block that was loaded first.
type blockCache struct {
	mu     sync.Mutex
	size   int
	blocks map[blockKey][]uint64
	order  []blockKey
	r      *blockReader
}

// blockKey identifies a block of a trace. It has no pointer to the thread, because that would keep the
// thread in memory.
type blockKey struct {
	archive, thread  uint32
	event, durations bool
	block            Block
}

// values returns the values of a block, from the cache or the file.
func (c *blockCache) values(t *Thread, v *Vector, x *Block) ([]uint64, error) {
	key := blockKey{t.Archive.ID, t.ID, v.event, v.durations, *x}
	if l, ok := c.blocks[key]; ok {
		return l, nil
	}
	if c.r == nil {
		c.r, c.blocks = newBlockReader(t.Archive.Trace.Parameters), map[blockKey][]uint64{}
	}
	l, err := c.r.read(nil, t.data(v), v, x)
	if err != nil {
		return nil, err
	}
	c.blocks[key], c.order, c.size = l, append(c.order, key), c.size+8*len(l)
	for c.size > cacheBytes && len(c.order) > 1 {
		c.size -= 8 * len(c.blocks[c.order[0]])
		delete(c.blocks, c.order[0])
		c.order = c.order[1:]
	}
	return l, nil
}

// RangeError reports an occurrence number that is out of range.
type RangeError struct{ Occurrence, Size uint64 }

// Error describes the occurrence number and its range.
func (e *RangeError) Error() string {
	return fmt.Sprintf("found occurrence %d, expected less than %d", e.Occurrence, e.Size)
}

// data returns the file that holds a vector's values.
func (t *Thread) data(v *Vector) *dataFile {
	if v.event {
		return t.times
	}
	return t.durations
}

// Values appends all values of one of the thread's vectors to dst, in nanoseconds.
func (t *Thread) Values(dst []uint64, v *Vector) ([]uint64, error) {
	r := newBlockReader(t.Archive.Trace.Parameters)
	defer r.close()
	for i := range v.Blocks {
		var err error
		if dst, err = r.read(dst, t.data(v), v, &v.Blocks[i]); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// Value returns the value of occurrence k, counted from 0, of one of the thread's vectors, in
// nanoseconds. The trace caches the blocks that Value loads.
func (t *Thread) Value(v *Vector, k uint64) (uint64, error) {
	if k >= v.Size {
		return 0, &RangeError{k, v.Size}
	}
	c := &t.Archive.Trace.blocks
	c.mu.Lock()
	defer c.mu.Unlock()
	i, from := t.find(v, k)
	l, err := c.values(t, v, &v.Blocks[i])
	if err != nil {
		return 0, err
	}
	return l[k-from], nil
}

// find returns the index of the block that holds value k of a vector, and the number of the
// block's first value. The caller must hold the lock of the trace's block cache.
func (t *Thread) find(v *Vector, k uint64) (i int, from uint64) {
	if len(v.Blocks) == 1 {
		return 0, 0
	}
	starts := t.starts[v]
	if starts == nil {
		for _, b := range v.Blocks {
			starts = append(starts, from)
			from += b.Count
		}
		if t.starts == nil {
			t.starts = map[*Vector][]uint64{}
		}
		t.starts[v] = starts
	}
	i = sort.Search(len(starts), func(i int) bool { return starts[i] > k }) - 1
	return i, starts[i]
}

// grammarBytes limits the cache of threads: the sum of the sizes of their files, in bytes. The thread
// that was loaded last is always cached.
const grammarBytes = 16 << 20

// threadCache lists the cached threads of a trace in the order in which they were loaded. If there are
// too many, it drops the one that was loaded first.
type threadCache struct {
	mu         sync.Mutex
	size, most int64
	order      []loadedThread
}

// loadedThread is a cached thread and the size of its file.
type loadedThread struct {
	archive *Archive
	id      uint32
	size    int64
}

// add adds a thread that has just been loaded, and drops others if there are too many.
func (c *threadCache) add(x loadedThread) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.order, c.size = append(c.order, x), c.size+x.size
	for c.size > c.most && len(c.order) > 1 {
		old := c.order[0]
		c.order, c.size = c.order[1:], c.size-old.size
		old.archive.mu.Lock()
		delete(old.archive.threads, old.id)
		old.archive.mu.Unlock()
	}
}
