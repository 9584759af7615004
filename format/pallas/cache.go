package pallas

import (
	"fmt"
	"sort"
	"sync"
)

// cacheBytes is how many bytes of values a trace keeps for those who ask for single ones. The
// latest block is always kept.
const cacheBytes = 8 << 20

// blockCache keeps blocks in the order in which they were loaded; the oldest go first.
type blockCache struct {
	mu     sync.Mutex
	size   int
	blocks map[*Block][]uint64
	order  []*Block
	starts map[*Vector][]uint64 // of vectors with several blocks: the numbers of their first values
	r      *blockReader
}

// values is a block's, from the cache or its file.
func (c *blockCache) values(p Parameters, d *dataFile, v *Vector, x *Block) ([]uint64, error) {
	if l, ok := c.blocks[x]; ok {
		return l, nil
	}
	if c.r == nil {
		c.r, c.blocks = newBlockReader(p), map[*Block][]uint64{}
	}
	l, err := c.r.read(nil, d, v, x)
	if err != nil {
		return nil, err
	}
	c.blocks[x], c.order, c.size = l, append(c.order, x), c.size+8*len(l)
	for c.size > cacheBytes && len(c.order) > 1 {
		c.size -= 8 * len(c.blocks[c.order[0]])
		delete(c.blocks, c.order[0])
		c.order = c.order[1:]
	}
	return l, nil
}

// RangeError is that an occurrence was asked for that there is not.
type RangeError struct{ Occurrence, Size uint64 }

// Error says what was asked for.
func (e *RangeError) Error() string {
	return fmt.Sprintf("found occurrence %d asked for, expected less than %d", e.Occurrence, e.Size)
}

// data is the file that a vector's values are in.
func (t *Thread) data(v *Vector) *dataFile {
	if v.event {
		return &t.times
	}
	return &t.durations
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

// Value is the value of occurrence k, counted from 0, of one of the thread's vectors,
// in nanoseconds. The trace keeps blocks that were loaded for it.
func (t *Thread) Value(v *Vector, k uint64) (uint64, error) {
	if k >= v.Size {
		return 0, &RangeError{k, v.Size}
	}
	c := &t.Archive.Trace.blocks
	c.mu.Lock()
	defer c.mu.Unlock()
	i, from := c.find(v, k)
	l, err := c.values(t.Archive.Trace.Parameters, t.data(v), v, &v.Blocks[i])
	if err != nil {
		return 0, err
	}
	return l[k-from], nil
}

// find is the block that has value k, and the number of its first value.
func (c *blockCache) find(v *Vector, k uint64) (i int, from uint64) {
	if len(v.Blocks) == 1 {
		return 0, 0
	}
	starts := c.starts[v]
	if starts == nil {
		for _, b := range v.Blocks {
			starts = append(starts, from)
			from += b.Count
		}
		if c.starts == nil {
			c.starts = map[*Vector][]uint64{}
		}
		c.starts[v] = starts
	}
	i = sort.Search(len(starts), func(i int) bool { return starts[i] > k }) - 1
	return i, starts[i]
}
