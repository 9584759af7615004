package pallas

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/klauspost/compress/zstd"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/internal/archive"
	"github.com/weft-trace/weft/internal/plural"
)

const (
	// maxBlock is the largest number of values in a block. Pallas' writers make blocks of 1000.
	maxBlock = 1 << 20

	// All values of a file together may take alwaysBytes in memory or, if that is more, maxExpansion times the size of
	// the file. The blocks of Pallas' writers always fit: one of 8000 bytes has a length of 8 bytes in the file.
	alwaysBytes  = 64 << 20
	maxExpansion = 1024
)

// blockReader reads blocks of a trace's files. Only one goroutine at a time may use it.
type blockReader struct {
	p       Parameters
	zstd    *zstd.Decoder
	strides strideReader
	packed  []byte
	plain   []byte
	// size and count are the numbers of bytes and of values of the last block that was read. They predict the
	// size of the next block.
	size, count uint64
	// asTool makes the reader compute the last time of a block from the values, as Pallas' tools do, even if
	// the head of the block contains this time.
	asTool bool
	// While keeping is set, the reader also stores the blocks that it reads in kept, up to room bytes. keeping
	// is set during a search for the wanted times, because the blocks of the search are read again when the
	// events are delivered.
	keeping bool
	kept    map[keptBlock][]byte
	room    int // number of bytes that kept can still store
}

// keptBlock identifies a block of an open file.
type keptBlock struct {
	d      *dataFile
	offset uint64
}

// keepBytes limits the total size of the blocks in kept, in bytes.
const keepBytes = 32 << 20

func newBlockReader(p Parameters) *blockReader { return &blockReader{p: p, room: keepBytes} }

// isKept reports whether a block is in kept.
func (r *blockReader) isKept(d *dataFile, x *Block) bool {
	_, ok := r.kept[keptBlock{d, x.Offset}]
	return ok
}

// dropKept removes all blocks from kept.
func (r *blockReader) dropKept() {
	clear(r.kept)
	r.room = keepBytes
}

// close frees the decompressor.
func (r *blockReader) close() {
	if r.zstd != nil {
		r.zstd.Close()
	}
}

// read appends the values of a block to dst (docs/formats/pallas.md, "Data blocks").
func (r *blockReader) read(dst []uint64, d *dataFile, v *Vector, x *Block) ([]uint64, error) {
	n := int(min(x.Count, maxBlock+1))
	if n > maxBlock {
		return dst, archive.Damaged(d.path, int64(min(x.Offset, math.MaxInt64)),
			fmt.Sprintf("a block of %s", plural.Of(x.Count, "value")), fmt.Sprintf("at most %d", maxBlock))
	}
	if values, ok := v.headValues(x); ok {
		return append(dst, values[:n]...), nil
	}
	if d.valueBytes > alwaysBytes {
		if err := d.checkExpansion(x); err != nil {
			return dst, err
		}
	}
	b, err := r.load(d, x)
	if err != nil {
		return dst, err
	}
	return r.decode(dst, b, d.path, v, x)
}

// checkExpansion returns an error if the values of all vectors take too much memory for the size of the file.
// Compressed blocks may expand far, and several vectors may refer to the same block.
func (d *dataFile) checkExpansion(x *Block) error {
	d.measure.Do(func() {
		d.withFile(func(_ format.DataFile, size int64) error {
			if most := maxExpansion * uint64(size); d.valueBytes > most {
				d.expands = fmt.Sprintf("at most %d bytes for a file of %s", most, plural.Of(size, "byte"))
			}
			return nil
		}) // load reports a file that cannot be opened
	})
	if d.expands == "" {
		return nil
	}
	return archive.Damaged(d.path, int64(min(x.Offset, math.MaxInt64)),
		fmt.Sprintf("a block of %s, and blocks that take %s in memory together", plural.Of(x.Count, "value"),
			plural.Of(d.valueBytes, "byte")), d.expands)
}

// countValues adds the size of the values of a vector to valueBytes.
func (d *dataFile) countValues(v *Vector) {
	for i := range v.Blocks {
		if n := v.Blocks[i].Count; n <= maxBlock {
			d.valueBytes += 8 * n
		}
	}
}

// headValues returns the values of a block if the head of the block determines them. This is possible for at
// most two values.
func (v *Vector) headValues(x *Block) (values [2]uint64, ok bool) {
	switch {
	case !v.durations:
		return [2]uint64{x.First, x.Last}, x.Count <= 2
	case x.Count == 1:
		return [2]uint64{x.Min}, x.Min == x.Max
	}
	return values, x.Count == 0
}

// decode appends the values of a block, whose bytes are b, to dst.
func (r *blockReader) decode(dst []uint64, b []byte, path string, v *Vector, x *Block) (_ []uint64, err error) {
	n := int(x.Count)
	bad := func(found, expected string) error {
		return archive.Damaged(path, int64(x.Offset), found, expected)
	}
	from := len(dst)
	dst = slices.Grow(dst, n)[:from+n]
	out := dst[from:]
	ok := r.p.Compression == ZSTD && r.p.Encoding == NoEncoding && r.strides.read(out, b)
	if c := r.p.Compression; !ok && (c == ZSTD || c == ZSTDHistogram) {
		if b, err = r.unpack(b, n); err != nil {
			return dst[:from], bad("a block that cannot be unpacked: "+err.Error(), "a zstd frame")
		}
	}
	switch c := r.p.Compression; {
	case ok:
	case c == Histogram, c == ZSTDHistogram:
		lo, hi := x.Min, x.Max
		if !v.durations {
			lo, hi = x.First, x.Last
		}
		ok = decodeHistogram(out, b, lo, hi)
	case c == ZFP:
		ok = decodeZFP(out, b)
	default:
		ok = decodeMasked(out, b, r.p.Encoding)
	}
	if !ok {
		return dst[:from], bad(fmt.Sprintf("a block of %s", plural.Of(len(b), "byte")), fmt.Sprintf("one that has %s",
			plural.Of(n, "value")))
	}
	if r.p.Compression.Lossy() && !v.durations {
		out[0] = x.First // the head contains the exact first and last time
		if !r.asTool {
			out[n-1] = x.Last
		}
	}
	return dst, nil
}

// load returns the stored bytes of a block.
func (r *blockReader) load(d *dataFile, x *Block) (b []byte, err error) {
	key := keptBlock{d, x.Offset}
	if b, ok := r.kept[key]; ok {
		if !r.keeping {
			delete(r.kept, key)
		}
		return b, nil
	}
	err = d.withFile(func(f format.DataFile, size int64) error {
		b, err = r.loadFrom(f, size, d.path, x)
		return err
	})
	if err == nil {
		r.keep(d, x, b)
	}
	return b, err
}

// keep stores the bytes of a block in kept, if keeping is set and there is room.
func (r *blockReader) keep(d *dataFile, x *Block, b []byte) {
	if !r.keeping || len(b) > r.room {
		return
	}
	if r.kept == nil {
		r.kept = map[keptBlock][]byte{}
	}
	r.room -= len(b)
	r.kept[keptBlock{d, x.Offset}] = bytes.Clone(b)
}

// loadLike is [blockReader.load] for a block that probably has about the length of another one: size bytes for count
// values. It does not change the length that load expects.
func (r *blockReader) loadLike(d *dataFile, x *Block, size, count uint64) ([]byte, error) {
	oldSize, oldCount := r.size, r.count
	defer func() { r.size, r.count = oldSize, oldCount }()
	r.size, r.count = size, count
	return r.load(d, x)
}

// missingBlock returns the error for a block that the file is too short for.
func missingBlock(path string, size int64, block uint64) error {
	return archive.Damaged(path, size, "the end of the file", fmt.Sprintf("a block of values at 0x%x", block))
}

func (r *blockReader) loadFrom(f format.DataFile, size int64, path string, x *Block) ([]byte, error) {
	if size < 8 || x.Offset > uint64(size)-8 {
		return nil, missingBlock(path, size, x.Offset)
	}
	// Most blocks are small. One read then gets both the length and the data.
	guess := 8*x.Count + 64
	if r.count > 0 {
		guess = min(guess, r.size*x.Count/r.count*33/32+32)
	}
	guess = min(guess, uint64(size)-x.Offset)
	r.packed = slices.Grow(r.packed[:0], int(guess))[:guess]
	if _, err := f.ReadAt(r.packed, int64(x.Offset)); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s:0x%x: %w", path, x.Offset, err)
	}
	n := binary.LittleEndian.Uint64(r.packed)
	if left := uint64(size) - x.Offset - 8; n > left || n > 64*maxBlock {
		return nil, archive.Damaged(path, int64(x.Offset), fmt.Sprintf("a block of %s", plural.Of(n, "byte")),
			fmt.Sprintf("at most %d, the number of bytes in the file", left))
	}
	r.size, r.count = n, x.Count
	if have := guess - 8; n > have {
		r.packed = slices.Grow(r.packed, int(n-have))[:8+n]
		if _, err := f.ReadAt(r.packed[8+have:], int64(x.Offset+8+have)); err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%s:0x%x: %w", path, x.Offset, err)
		}
	}
	return r.packed[8 : 8+n], nil
}

// unpack decompresses a zstd frame, which may hold at most n values and the head of a histogram.
func (r *blockReader) unpack(b []byte, n int) ([]byte, error) {
	if raw, ok := rawFrame(b); ok {
		return raw, nil
	}
	if r.zstd == nil {
		var err error
		if r.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(8*maxBlock+64),
			zstd.WithDecoderLowmem(true)); err != nil {
			return nil, err
		}
	}
	var err error
	r.plain, err = r.zstd.DecodeAll(b, slices.Grow(r.plain[:0], 8*n+64))
	return r.plain, err
}

// rawFrame returns the contents of an uncompressed frame of less than 256 bytes. Writers store blocks
// of few values that way.
func rawFrame(b []byte) ([]byte, bool) {
	const head = 9 // magic number, descriptor, size, and the head of the only block
	if len(b) < head || binary.LittleEndian.Uint32(b) != 0xfd2fb528 || b[4] != 0x20 {
		return nil, false
	}
	n := int(b[5])
	last := uint32(b[6]) | uint32(b[7])<<8 | uint32(b[8])<<16
	if last != uint32(n)<<3|1 || len(b) != head+n {
		return nil, false
	}
	return b[head:], true
}

// decodeMasked decodes values that are stored with as many bytes as the greatest value needs, or with all 8
// bytes.
func decodeMasked(out []uint64, b []byte, e Encoding) bool {
	n := len(out)
	if len(b) == 8*n {
		for i := range out {
			out[i] = binary.LittleEndian.Uint64(b[8*i:])
		}
		return true
	}
	w := len(b) / n
	if e != Masking || w == 0 || w > 7 || w*n != len(b) {
		return false
	}
	mask := uint64(1)<<(8*w) - 1
	for i := range out {
		if at := i * w; at+8 <= len(b) {
			out[i] = binary.LittleEndian.Uint64(b[at:]) & mask
		} else {
			v := uint64(0)
			for k := w - 1; k >= 0; k-- {
				v = v<<8 | uint64(b[at+k])
			}
			out[i] = v
		}
	}
	return true
}

// decodeHistogram decodes values that were rounded to 256 steps between the least and the greatest value. The
// data contain these two values, unless they are less than 256 apart. In that case they are lo and hi.
func decodeHistogram(out []uint64, b []byte, lo, hi uint64) bool {
	if len(b) != len(out)+16 {
		return false
	}
	if hi-lo <= 255 && hi >= lo {
		for i := range out {
			out[i] = lo + uint64(b[i])
		}
		return true
	}
	lo, hi = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
	step := float64(hi-lo) / 255
	for i := range out {
		// Pallas' own reader uses this formula, which rounds large values.
		out[i] = uint64(float64(lo) + float64(uint64(float64(b[16+i])*step)))
	}
	return true
}

// decodeZFP decodes a zfp stream of integers in blocks of 4. Pallas writes it with an accuracy of 0.1.
// For integers, that requires all bit planes.
func decodeZFP(out []uint64, b []byte) bool {
	r := bitReader{b: b}
	for from := 0; from < len(out); from += 4 {
		var u [4]uint64
		n := 0
		for plane := 63; plane >= 0; plane-- {
			x := r.take(n)
			for n < 4 && r.take(1) == 1 {
				for n < 3 && r.take(1) == 0 {
					n++
				}
				x |= 1 << n
				n++
			}
			for i := range u {
				u[i] |= x >> i & 1 << plane
			}
		}
		const mask = 0xaaaaaaaaaaaaaaaa
		for i := range u {
			u[i] = (u[i] ^ mask) - mask
		}
		x, y, z, w := int64(u[0]), int64(u[1]), int64(u[2]), int64(u[3])
		y += w >> 1
		w -= y >> 1
		y += w
		w <<= 1
		w -= y
		z += x
		x <<= 1
		x -= z
		y += z
		z <<= 1
		z -= y
		w += x
		x <<= 1
		x -= w
		for i, v := range [4]int64{x, y, z, w} {
			if from+i < len(out) {
				out[from+i] = uint64(v)
			}
		}
	}
	return r.at <= 8*len(b)
}

// bitReader reads bits, the lowest of each byte first. After the end of b it reads zeros.
type bitReader struct {
	b  []byte
	at int
}

func (r *bitReader) take(n int) (v uint64) {
	for i := range n {
		if k := r.at >> 3; k < len(r.b) {
			v |= uint64(r.b[k]>>(r.at&7)&1) << i
		}
		r.at++
	}
	return v
}
