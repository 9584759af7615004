package pallas

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/weft-trace/weft/grammar"
)

// blockValues is how many values Pallas' writer puts into a block.
const blockValues = 1000

// recordedVector collects values until there is a block of them. There may be millions.
type recordedVector struct {
	size    uint64
	blocks  []uint64 // what the grammar says of each block, its place in the end
	values  []uint64 // that are in no block yet
	sum     uint64
	one     [1]uint64
	file    uint8  // 0 for times of events, 1 for those of sequences
	length  bool   // it has durations
	large   bool   // its room counts
	counted uint16 // so much of it does
}

// words is how many numbers the grammar says of a block.
func (v *recordedVector) words() int {
	if v.length {
		return 5
	}
	return 4
}

// push adds a value. Room grows to a block in steps, since most vectors of irregular
// traces have one value or few.
func (t *threadWriter) push(v *recordedVector, n uint64) {
	if v.values == nil {
		v.values = v.one[:0]
	} else if len(v.values) == cap(v.values) {
		more := 3 * len(v.values)
		if more > 3*largeRoom {
			more = len(v.values) / 2 // room for a block would be too much in many threads
		}
		v.values = slices.Grow(v.values, max(3, min(more, blockValues-len(v.values))))
		t.grown(v)
	}
	v.values = append(v.values, n)
	v.size++
	v.sum += n
}

// Room for values that are in no block yet: largeRoom values count, and all threads
// together have roomForAll bytes of it, at least leastRoom each.
const (
	largeRoom  = 16
	roomForAll = 40 << 20
	leastRoom  = 32 << 10
)

// grown counts the room of a vector, if that is large. Compatible threads have whole
// blocks only.
func (t *threadWriter) grown(v *recordedVector) {
	if cap(v.values) < largeRoom || t.w.compatible {
		return
	}
	if !v.large {
		v.large = true
		t.large = append(t.large, v)
	}
	t.held += 8 * int64(cap(v.values)-int(v.counted))
	v.counted = uint16(cap(v.values)) // a block or little more
	t.full = t.held > max(leastRoom, roomForAll/t.w.threads.Load())
}

// shrink makes blocks of what has been collected where that has too much room: there are
// many threads, or many events.
func (t *threadWriter) shrink() error {
	if !t.full {
		return nil
	}
	for _, v := range t.large {
		if err := t.flush(v); err != nil {
			return err
		}
		v.values, v.large, v.counted = nil, false, 0
	}
	t.large, t.held, t.full = t.large[:0], 0, false
	return nil
}

// times adds the time of an occurrence of an event.
func (t *threadWriter) times(v *recordedVector, time uint64) error {
	if t.push(v, time); len(v.values) == blockValues {
		return t.flush(v)
	}
	return t.shrink()
}

// occur adds an occurrence of a sequence.
func (t *threadWriter) occur(x *recordedSequence, start, duration, exclusive uint64) error {
	occurrence := [3]uint64{duration, exclusive, start}
	if x.vectors == nil {
		if !x.once {
			x.once, x.first = true, occurrence
			return nil
		}
		x.vectors = &[3]recordedVector{{file: 1, length: true}, {file: 1, length: true}, {file: 1}}
		for i := range x.vectors {
			t.push(&x.vectors[i], x.first[i])
		}
	}
	for i := range x.vectors {
		t.push(&x.vectors[i], occurrence[i])
	}
	if len(x.vectors[0].values) < blockValues {
		return t.shrink()
	}
	return t.flushSequence(x.vectors)
}

// flushSequence makes blocks of what the vectors of a sequence have collected. That of
// the exclusive durations is that of the durations if both are the same, as they are
// where nothing is called.
func (t *threadWriter) flushSequence(v *[3]recordedVector) error {
	duration, exclusive := &v[0], &v[1]
	same := len(duration.values) > 0 && !t.w.compatible && slices.Equal(duration.values, exclusive.values)
	if err := t.flush(duration); err != nil {
		return err
	}
	if same {
		exclusive.blocks = append(exclusive.blocks, duration.blocks[len(duration.blocks)-duration.words():]...)
		exclusive.values = exclusive.values[:0]
	} else if err := t.flush(exclusive); err != nil {
		return err
	}
	return t.flush(&v[2])
}

// flushAll makes blocks of what the vectors of a sequence have collected, in the order
// of the vectors if that is Pallas' own.
func (t *threadWriter) flushAll(v *[3]recordedVector) error {
	if !t.w.compatible {
		return t.flushSequence(v)
	}
	for i := range v {
		if err := errors.Join(t.settle(&v[i]), t.flush(&v[i])); err != nil {
			return err
		}
	}
	return nil
}

// arrange lets the blocks that wait be read while a compatible thread is written.
func (t *threadWriter) arrange(write func() error) error {
	if err := t.wait(); err != nil {
		return err
	}
	for i := range t.waiting {
		d := &t.waiting[i]
		if d.size == 0 {
			continue
		}
		err := d.flush()
		defer os.Remove(d.path)
		if err != nil {
			return err
		}
		if t.spilled[i], err = os.Open(d.path); err != nil {
			return err
		}
		defer t.spilled[i].Close()
	}
	t.settling = true
	return write()
}

// settle puts the blocks of a vector that wait to where they belong.
func (t *threadWriter) settle(v *recordedVector) error {
	if !t.w.compatible {
		return nil
	}
	t.locate(v)
	d := &t.data[v.file]
	for i := v.words() - 1; i < len(v.blocks); i += v.words() {
		var head [8]byte
		place := &v.blocks[i]
		if _, err := t.spilled[v.file].ReadAt(head[:], int64(*place)); err != nil {
			return err
		}
		at := len(d.buf)
		d.buf = slices.Grow(append(d.buf, head[:]...), int(binary.LittleEndian.Uint64(head[:])))
		d.buf = d.buf[:len(d.buf)+int(binary.LittleEndian.Uint64(head[:]))]
		if _, err := t.spilled[v.file].ReadAt(d.buf[at+len(head):], int64(*place)+int64(len(head))); err != nil {
			return err
		}
		*place = d.size
		if err := d.added(len(d.buf) - at); err != nil {
			return err
		}
	}
	return nil
}

// block appends values to a file.
func (w *Writer) block(d *dataWriter, room *packRoom, values []uint64) error {
	at := len(d.buf)
	d.buf = w.appendBlock(d.buf, room, values)
	return d.added(len(d.buf) - at)
}

// appendBlock appends values as they stand in a file of blocks (docs/formats/pallas.md,
// "Data blocks").
func (w *Writer) appendBlock(b []byte, room *packRoom, values []uint64) []byte {
	width := 8
	if w.p.Encoding == Masking {
		all := uint64(0)
		for _, v := range values {
			all |= v
		}
		for width = 0; all > 0; all >>= 8 {
			width++
		}
	}
	l := room.plain[:0]
	if width == 0 || width == 8 {
		l = le64(l, values...)
	} else {
		for _, v := range values {
			l = binary.LittleEndian.AppendUint64(l, v)
			l = l[:len(l)-8+width]
		}
	}
	room.plain = l
	const head = 8 // the length
	at := len(b)
	b = append(b, make([]byte, head)...)
	switch {
	case w.zstd == nil:
		b = append(b, l...)
	case len(values) < 3:
		b = appendRawFrame(b, l)
	default:
		b = w.appendFrame(b, room, values)
	}
	binary.LittleEndian.PutUint64(b[at:], uint64(len(b)-head-at))
	return b
}

// most is how many bytes are collected: less where there are many threads.
func (d *dataWriter) most() int {
	return max(leastDataBuffer, dataBuffer/int(1+d.threads.Load()/16))
}

// put appends a block.
func (d *dataWriter) put(b []byte) error {
	var err error
	most := d.most()
	if len(d.buf)+len(b) > most {
		if err = d.flush(); cap(d.buf) != most {
			d.buf = make([]byte, 0, max(most, len(b))) // no more than is needed
		}
	}
	d.buf = append(d.buf, b...)
	return errors.Join(err, d.added(len(b)))
}

// added counts what was put into the buffer.
func (d *dataWriter) added(n int) error {
	d.size += uint64(n)
	if len(d.buf) >= d.most() {
		return d.flush()
	}
	return nil
}

// appendFrame appends values, the bytes of which are room.plain, as a zstd frame: of a few
// values the shortest one that there is, of many that which is likely to be.
func (w *Writer) appendFrame(b []byte, room *packRoom, values []uint64) []byte {
	n := len(values)
	if w.p.Encoding != NoEncoding || n < minStride || n > maxStride || !room.strides.find(values) {
		return w.search(b, room.plain)
	}
	at := len(b)
	b = appendStrideFrame(b, values, &room.strides, room)
	if n >= fewValues {
		return b
	}
	if room.strides.same(n) != int(room.strides.kept[1]) {
		b = shorter(at, len(b), appendSmallFrame(b, values, &room.strides))
	}
	return shorter(at, len(b), w.search(b, room.plain))
}

// shorter keeps of two frames, which begin at at and at middle, the one that is shorter.
func shorter(at, middle int, both []byte) []byte {
	if len(both)-middle < middle-at {
		return append(both[:at], both[middle:]...)
	}
	return both[:middle]
}

// search appends the shortest frame that zstd finds.
func (w *Writer) search(b, plain []byte) []byte {
	at := len(b)
	for i, e := range w.zstd {
		middle := len(b)
		if b = e.EncodeAll(plain, b); i > 0 {
			b = shorter(at, middle, b)
		}
	}
	return b
}

// appendRawFrame makes a zstd frame of a few bytes, which are not worth compressing.
func appendRawFrame(dst, b []byte) []byte {
	n := len(b)
	return append(append(dst, 0x28, 0xb5, 0x2f, 0xfd, 0x20, byte(n), byte(n<<3|1), byte(n>>5), 0), b...)
}

// write makes blocks of all that has been collected, and writes the grammar
// (docs/formats/pallas.md, "thread.pallas"), the root of which has these tokens.
func (t *threadWriter) write(root [][]grammar.Token) error {
	r := t.r
	if whole := r.occurrences(0); r.any {
		whole.once, whole.first = true, [3]uint64{r.last - r.start, 0, r.start}
	}
	if err := t.wait(); err != nil {
		return err
	}
	t.writing, t.desk = true, t.w.takeDesk()
	for i := range t.data {
		if t.finished && cap(t.data[i].buf) < cap(t.desk.data[i]) {
			t.data[i].buf = append(t.desk.data[i][:0], t.data[i].buf...)
		}
	}
	defer func() {
		t.w.leaveDesk(t.desk)
		t.writing, t.desk = false, nil
	}()
	return replaceBy(t.desk.w, filepath.Join(t.folder, "thread.pallas"), func(w *bufio.Writer) error {
		b := le32(t.desk.b[:0], t.id, t.archive)
		sequences, loops := r.g.Grammar()
		var whole *recordedSequence
		n, size := len(sequences), 0
		var first grammar.Token
		for _, piece := range root {
			if size += len(piece); len(piece) > 0 && first == 0 {
				first = piece[0]
			}
		}
		if g, ok := r.g.(*grammar.Builder); ok && first.Type() == grammar.Event {
			// Pallas' reader gives up at events that the root begins with: one sequence
			// has all.
			whole = &recordedSequence{first: [3]uint64{r.last - r.start, g.Blocks(), r.start}}
			n++
		}
		b = le64(b, uint64(len(r.events)), uint64(n), uint64(len(loops)))
		b = le32(b, 0) // the root
		start := r.start
		if !r.any {
			start = math.MaxUint64
		}
		b = le64(b, start)
		next := func() {
			w.Write(b) // its error shows at the end
			b = b[:0]
		}
		// ids writes the map of ids that are places, but for those of what was given up.
		ids := func(n int, gone func(i int) bool) {
			b = le64(b, uint64(n))
			for i := range n {
				id := uint32(i)
				if gone(i) {
					id = uint32(NoRef)
				}
				if b = le32(b, id); len(b) > dataBuffer {
					next()
				}
			}
		}
		for _, e := range r.events {
			t.borrow(0, &e.times)
			if err := errors.Join(t.settle(&e.times), t.flush(&e.times)); err != nil {
				return err
			}
			b = append(le32(b, uint32(e.record)), byte(5+len(e.payload)))
			b = append(b, e.payload...)
			lists := e.lists()
			b = append(le64(b, uint64(len(lists))), lists...)
			t.locate(&e.times)
			b = e.times.append(b)
			t.giveBack(0, &e.times)
			next()
		}
		ids(len(r.events), func(int) bool { return false })
		var one [1][]grammar.Token
		for i := range n {
			kind, length, pieces := LoopSequence, size, root
			switch {
			case i == 0 && whole != nil:
				length, pieces = 1, [][]grammar.Token{{grammar.MakeToken(grammar.Sequence, uint32(n-1))}}
			case i > 0 && i < len(sequences):
				one[0] = sequences[i].Tokens
				length, pieces = len(one[0]), one[:]
			}
			if i == 0 || i < len(sequences) && sequences[i].Block {
				kind = BlockSequence
			}
			b = le64(le32(b, uint32(kind)), uint64(length))
			if length == 0 {
				continue
			}
			for _, tokens := range pieces {
				for _, k := range tokens {
					if b = le32(b, uint32(k)); len(b) > dataBuffer {
						next()
					}
				}
			}
			o := whole
			if i < len(sequences) {
				o = r.occurrences(uint32(i))
			}
			v := o.vectors
			if v == nil && !t.w.compatible {
				var err error
				if b, err = t.appendOnce(b, o.first); err != nil {
					return err
				}
				next()
				continue
			}
			if v == nil {
				v = &t.desk.single
				for i := range v {
					v[i] = recordedVector{file: 1, length: i < 2, blocks: v[i].blocks[:0]}
					t.push(&v[i], o.first[i])
				}
			}
			for i := range v {
				t.borrow(i, &v[i])
			}
			if err := t.flushAll(v); err != nil {
				return err
			}
			for i := range v {
				t.locate(&v[i])
				b = v[i].append(b)
				t.giveBack(i, &v[i])
			}
			next()
		}
		ids(n, func(int) bool { return false })
		for _, l := range loops {
			k := Token(grammar.MakeToken(grammar.Sequence, l.Sequence))
			if l.Iterations == 0 {
				k = NoToken // it was given up
			}
			b = le64(le32(b, uint32(k), l.Iterations), l.Occurrences)
		}
		ids(len(loops), func(i int) bool { return loops[i].Iterations == 0 })
		next()
		t.desk.b = b
		err := errors.Join(t.data[0].flush(), t.data[1].flush())
		for i := range t.data {
			if t.finished {
				t.desk.data[i], t.data[i].buf = t.data[i].buf, nil
			}
		}
		return err
	})
}

// dataBuffer is how much is collected of a thread's file; of its files of blocks less
// where there are many threads.
const (
	dataBuffer      = 64 << 10
	leastDataBuffer = 4 << 10
)

// flush writes what has been collected. The file is open meanwhile only: there may be
// more threads than files that can be open.
func (d *dataWriter) flush() error {
	if len(d.buf) == 0 {
		return nil
	}
	f, err := os.OpenFile(d.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(d.buf)
	d.buf = d.buf[:0]
	return errors.Join(err, f.Close())
}

// append writes what stands beside the grammar of a vector.
func (v *recordedVector) append(b []byte) []byte {
	if v.size == 0 {
		return le64(b, 0, 1)
	}
	b = le64(b, v.size, uint64(len(v.blocks)/v.words()))
	if v.length {
		least, most := v.blocks[1], v.blocks[2]
		for l := v.blocks; len(l) > 0; l = l[v.words():] {
			least, most = min(least, l[1]), max(most, l[2])
		}
		b = le64(b, least, most, v.sum/v.size)
	}
	return le64(b, v.blocks...)
}

// borrow gives a vector room for its last blocks when its thread ends: there may be many,
// and what is written is not needed any more.
func (t *threadWriter) borrow(i int, v *recordedVector) {
	if t.finished {
		v.blocks = append(t.desk.blocks[i][:0], v.blocks...)
	}
}

// giveBack takes the room back.
func (t *threadWriter) giveBack(i int, v *recordedVector) {
	if t.finished {
		t.desk.blocks[i], v.blocks, v.values = v.blocks, nil, nil
	}
}

// appendOnce makes blocks of the only duration, exclusive duration and time of a sequence,
// and appends its vectors: there may be millions that occur once.
func (t *threadWriter) appendOnce(b []byte, values [3]uint64) ([]byte, error) {
	d := &t.data[1]
	var place uint64
	for i, x := range values {
		length := i < 2
		if known := false; i != 1 || x != values[0] {
			if place, known = t.known(values[i:i+1], length, d); !known {
				if err := t.w.block(d, &t.desk.room, values[i:i+1]); err != nil {
					return b, err
				}
			}
		}
		if b = le64(b, 1, 1); length {
			b = le64(b, x, x, x, 1, x, x, x, place)
		} else {
			b = le64(b, 1, x, x, place)
		}
	}
	return b, nil
}

// appendList appends the attributes of an occurrence (docs/formats/pallas.md,
// "Attributes").
func appendList(b []byte, occurrence uint64, values []Value) ([]byte, error) {
	if len(values) > 127 {
		return b, fmt.Errorf("found %d attributes, expected at most 127", len(values))
	}
	if occurrence > math.MaxInt32 {
		return b, fmt.Errorf("found attributes at occurrence %d of an event, expected them up to %d", occurrence, math.MaxInt32)
	}
	at := len(b)
	b = append(le32(b, uint32(occurrence)), 0, 0, byte(len(values)))
	for _, v := range values {
		if len(v.Bytes) > 8 {
			return b[:at], fmt.Errorf("found a value of %d bytes, expected at most 8", len(v.Bytes))
		}
		b = binary.LittleEndian.AppendUint16(b, uint16(6+len(v.Bytes)))
		b = append(le32(b, v.Attribute), v.Bytes...)
	}
	binary.LittleEndian.PutUint16(b[at+4:], uint16(len(b)-at))
	return b, nil
}
