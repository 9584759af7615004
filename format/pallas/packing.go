package pallas

import (
	"cmp"
	"slices"
	"sync"
)

// packing compresses the full blocks of a thread while that is recorded, several at a
// time, and writes them in the order in which they were full.
type packing struct {
	mu     sync.Mutex
	idle   sync.Cond // of mu: nothing is to be written
	list   []*packed
	next   uint64   // number of a block
	places []uint64 // where the blocks are, by their numbers
	err    error
}

// packed is a block that is on its way.
type packed struct {
	to     *dataWriter
	values []uint64
	room   packRoom
	out    []byte
	done   bool
}

// blocksUnderWay is how many full blocks of all threads of a writer wait at most.
const blocksUnderWay = 32

// unplaced marks offsets that are numbers of blocks still.
const unplaced = 1 << 63

// flush makes a block of what a vector has collected. Full ones get a number for their
// place, which is not known yet.
func (t *threadWriter) flush(v *recordedVector) error {
	n := len(v.values)
	if n == 0 {
		return nil
	}
	var said [5]uint64
	of := append(said[:0], uint64(n))
	if v.length {
		least, most, sum := v.values[0], v.values[0], uint64(0)
		for _, x := range v.values {
			least, most = min(least, x), max(most, x)
			sum += x
		}
		of = append(of, least, most, sum/uint64(n))
	} else {
		of = append(of, v.values[0], v.values[n-1])
	}
	d := &t.data[v.file]
	if t.w.compatible && !t.settling {
		d = &t.waiting[v.file]
	}
	var place uint64
	var err error
	if t.writing {
		known := false
		if place, known = t.known(v.values, v.length, d); !known {
			err = t.w.block(d, &t.desk.room, v.values)
		}
		v.values = v.values[:0]
	} else {
		if place, err = t.pack(d, v.values); err != nil {
			return err
		}
		v.values = nil
		if n == blockValues {
			select {
			case v.values = <-t.w.rooms:
			default:
				v.values = make([]uint64, 0, blockValues)
			}
		}
	}
	v.blocks = append(append(v.blocks, of...), place)
	t.flushed += int64(8 * n)
	return err
}

// recentBlock is a short block of durations that has been written.
type recentBlock struct {
	n      int
	values [recentValues]uint64
	at     uint64
}

// recentValues is how many values the blocks have that are looked for again.
const recentValues = 4

// known is where a block is that has the same few durations, which many functions have;
// else where the next one will be.
func (t *threadWriter) known(values []uint64, length bool, d *dataWriter) (at uint64, ok bool) {
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
	old := &t.desk.recent[h>>56]
	if old.n == n && old.values == x.values {
		return old.at, true
	}
	*old = x
	return d.size, false
}

// pack hands a full block over. The error is one of those before.
func (t *threadWriter) pack(d *dataWriter, values []uint64) (number uint64, err error) {
	t.w.underWay <- struct{}{}
	var x *packed
	select {
	case x = <-t.w.spare:
	default:
		x = &packed{}
	}
	x.to, x.values, x.out, x.done = d, values, x.out[:0], false
	p := &t.packing
	p.mu.Lock()
	defer p.mu.Unlock()
	number = unplaced | p.next
	p.next++
	p.list = append(p.list, x)
	go t.compress(x)
	return number, p.err
}

// compress compresses a block, and writes those that are first in the list and ready.
func (t *threadWriter) compress(x *packed) {
	x.out = t.w.appendBlock(x.out, &x.room, x.values)
	p := &t.packing
	p.mu.Lock()
	defer p.mu.Unlock()
	x.done = true
	n := 0
	for ; n < len(p.list) && p.list[n].done; n++ {
		x := p.list[n]
		p.places = append(p.places, x.to.size)
		p.err = cmp.Or(p.err, x.to.put(x.out))
		if cap(x.values) >= blockValues {
			select {
			case t.w.rooms <- x.values[:0]:
			default:
			}
		}
		select {
		case t.w.spare <- x:
		default:
		}
		<-t.w.underWay
	}
	if p.list = slices.Delete(p.list, 0, n); len(p.list) == 0 {
		p.idle.Broadcast()
	}
}

// wait waits until all blocks are written.
func (t *threadWriter) wait() error {
	p := &t.packing
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.list) > 0 {
		p.idle.Wait()
	}
	return p.err
}

// locate puts the places of a vector's blocks for their numbers, once all are written.
func (t *threadWriter) locate(v *recordedVector) {
	for i := v.words() - 1; i < len(v.blocks); i += v.words() {
		if place := &v.blocks[i]; *place&unplaced != 0 {
			*place = t.packing.places[*place&^unplaced]
		}
	}
}
