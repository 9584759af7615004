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
	"github.com/weft-trace/weft/internal/plural"
)

// blockValues is the number of values in a block of Pallas' own writer.
const blockValues = 1000

// recordedVector collects values until they fill a block. A trace may have millions of vectors.
type recordedVector struct {
	size    uint64
	blocks  []uint64 // the grammar's values for each block; the last value of a block is its position
	values  []uint64 // values that no block has yet
	sum     uint64
	one     [1]uint64
	file    uint8  // 0 for times of events, 1 for times and durations of sequences
	length  bool   // the values are durations
	large   bool   // threadWriter.held includes the buffer
	counted uint16 // number of values with which held includes the buffer
}

// words returns the number of values in the grammar for each block of the vector.
func (v *recordedVector) words() int {
	if v.length {
		return 5
	}
	return 4
}

// push adds a value. The buffer grows in steps to the size of a block, because most vectors of
// irregular traces have few values.
func (t *threadWriter) push(v *recordedVector, n uint64) {
	if v.values == nil {
		v.values = v.one[:0]
	} else if len(v.values) == cap(v.values) {
		more := 3 * len(v.values)
		if more > 3*largeBuffer {
			more = len(v.values) / 2 // in many threads, buffers of the size of a block would take too much memory
		}
		v.values = slices.Grow(v.values, max(3, min(more, blockValues-len(v.values))))
		t.countBuffer(v)
	}
	v.values = append(v.values, n)
	v.size++
	v.sum += n
}

// These are limits for the buffers of values that are not in a block yet. A buffer counts if it has room for
// at least largeBuffer values. All threads together may use allBuffers bytes, and each thread at least
// minBuffers.
const (
	largeBuffer = 16
	allBuffers  = 40 << 20
	minBuffers  = 32 << 10
)

// countBuffer includes the buffer of a vector in held if it is large. In compatible threads, it does
// nothing, because their blocks must be full.
func (t *threadWriter) countBuffer(v *recordedVector) {
	if cap(v.values) < largeBuffer || t.w.compatible {
		return
	}
	if !v.large {
		v.large = true
		t.large = append(t.large, v)
	}
	t.held += 8 * int64(cap(v.values)-int(v.counted))
	v.counted = uint16(cap(v.values)) // fits 16 bits: the capacity is at most little more than a block
	t.full = t.held > max(minBuffers, allBuffers/t.w.threads.Load())
}

// shrink makes blocks of the collected values if their buffers take too much memory. This happens if there are
// many threads or many events.
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

// addTime adds the time of an occurrence of an event.
func (t *threadWriter) addTime(v *recordedVector, time uint64) error {
	if t.push(v, time); len(v.values) == blockValues {
		return t.flush(v)
	}
	return t.shrink()
}

// addOccurrence adds an occurrence of a sequence.
func (t *threadWriter) addOccurrence(x *recordedSequence, start, duration, exclusive uint64) error {
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

// flushSequence makes blocks of the values that the vectors of a sequence have collected. If durations and
// exclusive durations are equal, as in functions without calls, both vectors share a block.
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

// flushAll makes blocks of the values that the vectors of a sequence have collected. In a compatible
// thread, it does so in the order of Pallas' own library.
func (t *threadWriter) flushAll(v *[3]recordedVector) error {
	if !t.w.compatible {
		return t.flushSequence(v)
	}
	for i := range v {
		if err := errors.Join(t.moveBlocks(&v[i]), t.flush(&v[i])); err != nil {
			return err
		}
	}
	return nil
}

// withWaiting calls write while the files with the waiting blocks of a compatible thread are open. Waiting blocks
// are blocks whose position in the trace is not known yet. withWaiting removes the files at the end.
func (t *threadWriter) withWaiting(write func() error) error {
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
	t.moving = true
	return write()
}

// moveBlocks moves the waiting blocks of a vector to their positions in the file.
func (t *threadWriter) moveBlocks(v *recordedVector) error {
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
		if err := d.noteAppended(len(d.buf) - at); err != nil {
			return err
		}
	}
	return nil
}

// writeBlock appends a block of values to a file.
func (w *Writer) writeBlock(d *dataWriter, room *packBuffers, values []uint64) error {
	at := len(d.buf)
	d.buf = w.appendBlock(d.buf, room, values)
	return d.noteAppended(len(d.buf) - at)
}

// appendBlock appends a block of values in the format of a block file (docs/formats/pallas.md,
// "Data blocks").
func (w *Writer) appendBlock(b []byte, room *packBuffers, values []uint64) []byte {
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
	const head = 8 // size in bytes of the length before the block
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

// bufferLimit returns the size of the buffer. It is smaller if there are many threads.
func (d *dataWriter) bufferLimit() int {
	return max(minDataBuffer, dataBuffer/int(1+d.threads.Load()/16))
}

// appendBlock appends a block to the file.
func (d *dataWriter) appendBlock(b []byte) error {
	var err error
	most := d.bufferLimit()
	if len(d.buf)+len(b) > most {
		if err = d.flush(); cap(d.buf) != most {
			d.buf = make([]byte, 0, max(most, len(b))) // b may be longer than most
		}
	}
	d.buf = append(d.buf, b...)
	return errors.Join(err, d.noteAppended(len(b)))
}

// noteAppended adds n bytes to the size, after they have been appended to the buffer.
func (d *dataWriter) noteAppended(n int) error {
	d.size += uint64(n)
	if len(d.buf) >= d.bufferLimit() {
		return d.flush()
	}
	return nil
}

// appendFrame appends values as a zstd frame. room.plain holds the bytes of the values. For a few
// values, it tries all kinds of frames and uses the shortest. For many values, it uses the frame that
// is likely to be the shortest.
func (w *Writer) appendFrame(b []byte, room *packBuffers, values []uint64) []byte {
	n := len(values)
	if w.p.Encoding != NoEncoding || n < minStride || n > maxStride || !room.strides.compute(values) {
		return w.appendShortest(b, room.plain)
	}
	at := len(b)
	b = appendStrideFrame(b, values, &room.strides, room)
	if n >= fewValues {
		return b
	}
	if room.strides.commonLength(n) != int(room.strides.kept[1]) {
		b = keepShorter(at, len(b), appendSmallFrame(b, values, &room.strides))
	}
	return keepShorter(at, len(b), w.appendShortest(b, room.plain))
}

// keepShorter keeps the shorter of two frames. The first frame begins at offset at, the second at offset
// middle.
func keepShorter(at, middle int, both []byte) []byte {
	if len(both)-middle < middle-at {
		return append(both[:at], both[middle:]...)
	}
	return both[:middle]
}

// appendShortest appends the shortest frame that zstd finds.
func (w *Writer) appendShortest(b, plain []byte) []byte {
	at := len(b)
	for i, e := range w.zstd {
		middle := len(b)
		if b = e.EncodeAll(plain, b); i > 0 {
			b = keepShorter(at, middle, b)
		}
	}
	return b
}

// appendRawFrame appends b as an uncompressed zstd frame of a few bytes.
func appendRawFrame(dst, b []byte) []byte {
	n := len(b)
	return append(append(dst, 0x28, 0xb5, 0x2f, 0xfd, 0x20, byte(n), byte(n<<3|1), byte(n>>5), 0), b...)
}

// write makes blocks of all collected values, and writes the grammar. root contains the tokens of the root
// (docs/formats/pallas.md, "thread.pallas").
func (t *threadWriter) write(root [][]grammar.Token) error {
	r := t.r
	if whole := r.occurrences(0); r.started {
		whole.once, whole.first = true, [3]uint64{r.last - r.start, 0, r.start}
	}
	if err := t.wait(); err != nil {
		return err
	}
	t.writing, t.buffers = true, t.w.takeBuffers()
	for i := range t.data {
		if t.finished && cap(t.data[i].buf) < cap(t.buffers.data[i]) {
			t.data[i].buf = append(t.buffers.data[i][:0], t.data[i].buf...)
		}
	}
	defer func() {
		t.w.returnBuffers(t.buffers)
		t.writing, t.buffers = false, nil
	}()
	return replaceFileBy(t.buffers.w, filepath.Join(t.folder, "thread.pallas"), func(w *bufio.Writer) error {
		g := &grammarWriter{t: t, w: w, b: t.buffers.b[:0], root: root}
		if err := g.write(); err != nil {
			return err
		}
		t.buffers.b = g.b
		err := errors.Join(t.data[0].flush(), t.data[1].flush())
		for i := range t.data {
			if t.finished {
				t.buffers.data[i], t.data[i].buf = t.data[i].buf, nil
			}
		}
		return err
	})
}

// dataBuffer is the size of the buffer for the file of a thread. The buffers for its block files are
// smaller if there are many threads, but have at least minDataBuffer bytes.
const (
	dataBuffer    = 64 << 10
	minDataBuffer = 4 << 10
)

// flush writes the buffer to the file. The file is open only during flush, because there may be more
// threads than files that can be open at the same time.
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

// append appends the part of the grammar for the vector.
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

// lendBuffer lends a vector a buffer for its last blocks when its thread ends. There may be many vectors, and
// a vector does not need a buffer after its blocks have been written.
func (t *threadWriter) lendBuffer(i int, v *recordedVector) {
	if t.finished {
		v.blocks = append(t.buffers.blocks[i][:0], v.blocks...)
	}
}

// takeBackBuffer takes the lent buffer back.
func (t *threadWriter) takeBackBuffer(i int, v *recordedVector) {
	if t.finished {
		t.buffers.blocks[i], v.blocks, v.values = v.blocks, nil, nil
	}
}

// appendSingle writes the only duration, exclusive duration and time of a sequence as blocks, and
// appends the vectors of the sequence to b. A thread may have millions of such sequences.
func (t *threadWriter) appendSingle(b []byte, values [3]uint64) ([]byte, error) {
	d := &t.data[1]
	var place uint64
	for i, x := range values {
		length := i < 2
		if known := false; i != 1 || x != values[0] {
			if place, known = t.findRecent(values[i:i+1], length, d); !known {
				if err := t.w.writeBlock(d, &t.buffers.room, values[i:i+1]); err != nil {
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

// appendList appends the attributes of one occurrence (docs/formats/pallas.md, "Attributes").
func appendList(b []byte, occurrence uint64, values []Value) ([]byte, error) {
	if len(values) > 127 {
		return b, fmt.Errorf("found %s, expected at most 127", plural.Of(len(values), "attribute"))
	}
	if occurrence > math.MaxInt32 {
		return b, fmt.Errorf("found attributes at occurrence %d of an event, expected them up to %d", occurrence,
			math.MaxInt32)
	}
	at := len(b)
	b = append(le32(b, uint32(occurrence)), 0, 0, byte(len(values)))
	for _, v := range values {
		if len(v.Bytes) > 8 {
			return b[:at], fmt.Errorf("found a value of %s, expected at most 8", plural.Of(len(v.Bytes), "byte"))
		}
		b = binary.LittleEndian.AppendUint16(b, uint16(6+len(v.Bytes)))
		b = append(le32(b, v.Attribute), v.Bytes...)
	}
	binary.LittleEndian.PutUint16(b[at+4:], uint16(len(b)-at))
	return b, nil
}
