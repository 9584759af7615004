package index

import (
	"context"
	"os"

	"github.com/weft-trace/weft/internal/pipeline"
)

// blocks returns all blocks in the order in which the finished file stores them.
func (d *directory) blocks() (list []*blockEntry) {
	add := func(l []blockEntry, levels ...levelEntry) {
		for i := range l {
			list = append(list, &l[i])
		}
		for _, e := range levels {
			for i := range e.blocks {
				list = append(list, &e.blocks[i])
			}
		}
	}
	for _, e := range d.Tracks {
		add(e.blocks)
		add(e.sums)
		for _, l := range e.levels {
			add(nil, l...)
		}
		add(e.instants, e.instantLvl...)
		add(e.values, e.valueLvl...)
	}
	add(d.links, d.linkLevels...)
	return list
}

// moveBytes is the buffer size with which blocks are copied, in bytes.
const moveBytes = 256 << 10

// blockMove lists the blocks that a worker copies together.
type blockMove struct {
	blocks []*blockEntry
	from   []int64 // the offsets of the blocks before the move
	size   int64
}

// arrange copies all blocks from f to the file to and updates their offsets in d. The copy has the blocks in
// the order of d.blocks. Therefore the index does not depend on the order in which the workers have written
// the blocks.
func (f *file) arrange(ctx context.Context, d *directory, to *os.File, workers int) error {
	if err := f.flush(); err != nil {
		return err
	}
	list, at := d.blocks(), int64(len(headMagic))
	froms := make([]int64, len(list))
	for i, b := range list {
		froms[i], b.at = b.at, at
		at += int64(b.size)
	}
	buffers := make([][]byte, workers)
	next := 0
	err := pipeline.Run(ctx, workers, func() (blockMove, bool, error) {
		first, size := next, int64(0)
		for next < len(list) && (next == first || size+int64(list[next].size) <= moveBytes) {
			size += int64(list[next].size)
			next++
		}
		return blockMove{list[first:next], froms[first:next], size}, next > first, nil
	}, func(w int, p blockMove) (struct{}, error) {
		if int64(cap(buffers[w])) < p.size {
			buffers[w] = make([]byte, max(p.size, moveBytes))
		}
		b := buffers[w][:p.size]
		for i, k := 0, int64(0); i < len(p.blocks); {
			// Adjacent blocks are read together.
			from, n := p.from[i], int64(p.blocks[i].size)
			for i++; i < len(p.blocks) && p.from[i] == from+n; i++ {
				n += int64(p.blocks[i].size)
			}
			if _, err := f.f.ReadAt(b[k:k+n], from); err != nil {
				return struct{}{}, err
			}
			k += n
		}
		_, err := to.WriteAt(b, p.blocks[0].at)
		return struct{}{}, err
	}, func(struct{}) error { return nil })
	f.f, f.at = to, at
	return err
}
