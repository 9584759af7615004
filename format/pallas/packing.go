package pallas

import (
	"cmp"
	"slices"
	"sync"
)

// blockPacker compresses the full blocks of a thread while the thread is recorded. It compresses several
// blocks at the same time. It writes them in the order in which they became full.
type blockPacker struct {
	mu     sync.Mutex
	idle   sync.Cond // signalled when all blocks have been written; uses mu
	list   []*pendingBlock
	next   uint64   // number of the next block
	places []uint64 // positions of the written blocks, indexed by number
	err    error
}

// pendingBlock is a block that is being compressed or written.
type pendingBlock struct {
	to     *dataWriter
	values []uint64
	room   packBuffers
	out    []byte
	done   bool
}

// blocksUnderWay limits how many full blocks, of all threads of a writer, are being compressed or wait
// to be written.
const blocksUnderWay = 32

// unplaced marks an offset that holds the number of a block instead of its position.
const blockNumberFlag = 1 << 63

// flush makes a block of the values that a vector has collected. The position of a full block is unknown until
// the block has been written. Until then, the offset of the block holds the block's number.
func (t *threadWriter) flush(v *recordedVector) error {
	n := len(v.values)
	if n == 0 {
		return nil
	}
	var buffer [5]uint64
	head := append(buffer[:0], uint64(n))
	if v.length {
		least, most, sum := v.values[0], v.values[0], uint64(0)
		for _, x := range v.values {
			least, most = min(least, x), max(most, x)
			sum += x
		}
		head = append(head, least, most, sum/uint64(n))
	} else {
		head = append(head, v.values[0], v.values[n-1])
	}
	d := &t.data[v.file]
	if t.w.compatible && !t.moving {
		d = &t.waiting[v.file]
	}
	var place uint64
	var err error
	if t.writing {
		known := false
		if place, known = t.findRecent(v.values, v.length, d); !known {
			err = t.w.writeBlock(d, &t.buffers.room, v.values)
		}
		v.values = v.values[:0]
	} else {
		if place, err = t.pack(d, v.values); err != nil {
			return err
		}
		v.values = nil
		if n == blockValues {
			select {
			case v.values = <-t.w.freeBlocks:
			default:
				v.values = make([]uint64, 0, blockValues)
			}
		}
	}
	v.blocks = append(append(v.blocks, head...), place)
	t.flushed += int64(8 * n)
	return err
}

// recentBlock is a short block of durations that has been written. Other vectors may share it.
type recentBlock struct {
	n      int
	values [recentValues]uint64
	at     uint64
}

// recentValues is the largest number of values in a block that is remembered as a recentBlock.
const recentValues = 4

// findRecent looks for an earlier block with the same few durations, because many functions have the same few
// durations. It returns the position of that block. If there is none, it returns the position of the next
// block, and false.
func (t *threadWriter) findRecent(values []uint64, length bool, d *dataWriter) (at uint64, ok bool) {
	n := len(values)
	if !length || n > recentValues || t.w.compatible {
		return d.size, false
	}
	h := uint64(n)
	x := recentBlock{n: n, at: d.size}
	for i, y := range values {
		h = (h ^ y) * 0x9e3779b97f4a7c15
		x.values[i] = y
	}
	old := &t.buffers.recent[h>>56]
	if old.n == n && old.values == x.values {
		return old.at, true
	}
	*old = x
	return d.size, false
}

// pack starts the compression of a full block and returns its number. It returns the error of an
// earlier block, if there was one.
func (t *threadWriter) pack(d *dataWriter, values []uint64) (number uint64, err error) {
	t.w.underWay <- struct{}{}
	var x *pendingBlock
	select {
	case x = <-t.w.freePacked:
	default:
		x = &pendingBlock{}
	}
	x.to, x.values, x.out, x.done = d, values, x.out[:0], false
	p := &t.packing
	p.mu.Lock()
	defer p.mu.Unlock()
	number = blockNumberFlag | p.next
	p.next++
	p.list = append(p.list, x)
	go t.compress(x)
	return number, p.err
}

// compress compresses a block, and then writes the finished blocks at the front of the list.
func (t *threadWriter) compress(x *pendingBlock) {
	x.out = t.w.appendBlock(x.out, &x.room, x.values)
	p := &t.packing
	p.mu.Lock()
	defer p.mu.Unlock()
	x.done = true
	n := 0
	for ; n < len(p.list) && p.list[n].done; n++ {
		x := p.list[n]
		p.places = append(p.places, x.to.size)
		p.err = cmp.Or(p.err, x.to.appendBlock(x.out))
		if cap(x.values) >= blockValues {
			select {
			case t.w.freeBlocks <- x.values[:0]:
			default:
			}
		}
		select {
		case t.w.freePacked <- x:
		default:
		}
		<-t.w.underWay
	}
	if p.list = slices.Delete(p.list, 0, n); len(p.list) == 0 {
		p.idle.Broadcast()
	}
}

// wait waits until all blocks have been written.
func (t *threadWriter) wait() error {
	p := &t.packing
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.list) > 0 {
		p.idle.Wait()
	}
	return p.err
}

// locate replaces the numbers of a vector's blocks by positions. All blocks must have been written.
func (t *threadWriter) locate(v *recordedVector) {
	for i := v.words() - 1; i < len(v.blocks); i += v.words() {
		if place := &v.blocks[i]; *place&blockNumberFlag != 0 {
			*place = t.packing.places[*place&^blockNumberFlag]
		}
	}
}
