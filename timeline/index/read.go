package index

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"slices"
	"sort"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/weft-trace/weft/trace"
)

// ErrDamaged is wrapped by the errors of files that are no index, or a damaged one; such
// a file is to be built anew.
var ErrDamaged = errors.New("index is damaged or of another version")

// reader reads blocks.
type reader struct {
	f      io.ReaderAt
	packed []byte
	raw    []byte
}

// decoder decompresses; it can be used by several goroutines.
var decoder = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(256<<20))
	if err != nil {
		panic(err) // the options are wrong
	}
	return d
})

// block reads a block; the bytes are valid until the next call.
func (r *reader) block(b *blockEntry) ([]byte, error) {
	if b.Size < 4 {
		return nil, fmt.Errorf("%w: a block of %d bytes at 0x%x", ErrDamaged, b.Size, b.At)
	}
	r.packed = slices.Grow(r.packed[:0], int(b.Size))[:b.Size]
	if _, err := r.f.ReadAt(r.packed, b.At); err != nil {
		return nil, fmt.Errorf("%w: block at 0x%x: %w", ErrDamaged, b.At, err)
	}
	if crc32.Checksum(r.packed[4:], castagnoli) != binary.LittleEndian.Uint32(r.packed) {
		return nil, fmt.Errorf("%w: wrong checksum of the block at 0x%x", ErrDamaged, b.At)
	}
	var err error
	if r.raw, err = decoder().DecodeAll(r.packed[4:], r.raw[:0]); err != nil {
		return nil, fmt.Errorf("%w: block at 0x%x: %w", ErrDamaged, b.At, err)
	}
	return r.raw, nil
}

func (r *reader) spans(b *blockEntry, x *spanBlock) error {
	raw, err := r.block(b)
	if err == nil {
		if err = x.decode(raw); err != nil {
			err = fmt.Errorf("%w: block at 0x%x: %w", ErrDamaged, b.At, err)
		}
	}
	return err
}

func (r *reader) runs(b *blockEntry, l []run) ([]run, error) {
	raw, err := r.block(b)
	if err == nil {
		if l, err = decodeRuns(raw, l); err != nil {
			err = fmt.Errorf("%w: block at 0x%x: %w", ErrDamaged, b.At, err)
		}
	}
	return l, err
}

// Index is an open index. It can be used by several goroutines.
type Index struct {
	f   *os.File
	dir directory
}

// Open opens an index. The error of a file that is none, or a damaged one, wraps
// [ErrDamaged].
func Open(path string) (*Index, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	x := &Index{f: f}
	if err := x.open(); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return x, nil
}

func (x *Index) open() error {
	st, err := x.f.Stat()
	if err != nil {
		return err
	}
	const endSize = 24
	size := st.Size()
	if size < int64(len(head))+endSize {
		return fmt.Errorf("%w: found %d bytes", ErrDamaged, size)
	}
	begin, end := make([]byte, len(head)), make([]byte, endSize)
	if _, err := x.f.ReadAt(begin, 0); err != nil {
		return err
	}
	if _, err := x.f.ReadAt(end, size-endSize); err != nil {
		return err
	}
	if string(begin) != head || string(end[20:]) != tail {
		return fmt.Errorf("%w: found %q and %q at its ends, expected %q and %q", ErrDamaged, begin, end[20:], head, tail)
	}
	at, n := binary.LittleEndian.Uint64(end), binary.LittleEndian.Uint64(end[8:])
	if at > uint64(size) || n > uint64(size)-at {
		return fmt.Errorf("%w: found a directory of %d bytes at 0x%x, expected it in %d bytes", ErrDamaged, n, at, size)
	}
	packed := make([]byte, n)
	if _, err := x.f.ReadAt(packed, int64(at)); err != nil {
		return err
	}
	if crc32.Checksum(packed, castagnoli) != binary.LittleEndian.Uint32(end[16:]) {
		return fmt.Errorf("%w: wrong checksum of the directory", ErrDamaged)
	}
	text, err := decoder().DecodeAll(packed, nil)
	if err == nil {
		err = json.Unmarshal(text, &x.dir)
	}
	if err != nil {
		return fmt.Errorf("%w: directory: %w", ErrDamaged, err)
	}
	if x.dir.Version != version {
		return fmt.Errorf("%w: found version %d, expected %d", ErrDamaged, x.dir.Version, version)
	}
	return nil
}

// Close closes the file.
func (x *Index) Close() error { return x.f.Close() }

// Clock is the clock of the times.
func (x *Index) Clock() trace.Clock { return x.dir.Clock }

// Extent is the times of the first and the last event, and how many there are.
func (x *Index) Extent() (first, last, events int64) { return x.dir.First, x.dir.Last, x.dir.Events }

// Track describes a location.
type Track struct {
	Location    uint32 // index into the definitions
	ID, Name    string
	Kind        string
	Group       uint32
	Events      int64
	Spans       int64
	First, Last int64
	Depth       int // how many regions are inside of each other at most
}

// Tracks are the locations with events, in the order of the definitions.
func (x *Index) Tracks() []Track {
	l := make([]Track, len(x.dir.Tracks))
	for i, e := range x.dir.Tracks {
		l[i] = Track{e.Location, e.ID, e.Name, e.Kind, e.Group, e.Events, e.Spans, e.First, e.Last, e.Depth}
	}
	return l
}

// Region is the name of a region.
func (x *Index) Region(i uint32) string {
	if int(i) >= len(x.dir.Regions) {
		return ""
	}
	return x.dir.Regions[i].Name
}

// Cell is one pixel of a row.
type Cell struct {
	Region uint32 // that was open longest
	Share  uint8  // the part of the pixel that it was, of 255; 0 where no region was
	Cover  uint8  // that any region was
}

// Tile is what a track shows from a time to before another in width pixels: for each
// depth, up to depths, as many cells. Its cost is that of the pixels.
func (x *Index) Tile(track int, from, to int64, width, depths int) ([][]Cell, error) {
	if track < 0 || track >= len(x.dir.Tracks) || from >= to || width < 1 {
		return nil, fmt.Errorf("tile of track %d from %d to %d, %d pixels: found no such part", track, from, to, width)
	}
	e := x.dir.Tracks[track]
	depths = min(depths, e.Depth)
	rows := make([]*raster, depths)
	for d := range rows {
		rows[d] = &raster{from: from, to: to, cells: make([]Cell, width)}
	}
	pixel := float64(uint64(to)-uint64(from)) / float64(width)
	r := reader{f: x.f}
	var list []run
	rest := make([]bool, depths) // those that the spans themselves are needed for
	any := false
	for d := range depths {
		level := x.level(track, d, pixel)
		if level < 0 {
			rest[d], any = true, true
			continue
		}
		l := &e.Levels[d][level]
		low, high := floorDiv(from-e.First, l.Width), floorDiv(to-1-e.First, l.Width)
		for i := sort.Search(len(l.Blocks), func(i int) bool { return l.Blocks[i].Last >= low }); i < len(l.Blocks) && l.Blocks[i].First <= high; i++ {
			var err error
			if list, err = r.runs(&l.Blocks[i], list[:0]); err != nil {
				return nil, err
			}
			for _, u := range list {
				if u.bucket > high || u.bucket+u.n <= low {
					continue
				}
				start := e.First + u.bucket*l.Width
				rows[d].add(start, start+u.n*l.Width, u.region, float64(u.share)/math.MaxUint8, float64(u.cover)/math.MaxUint8)
			}
		}
	}
	if any {
		err := x.each(&r, e, from, to, func(s Span) {
			if int(s.Depth) < depths && rest[s.Depth] {
				rows[s.Depth].add(s.Start, s.End, s.Region, 1, 1)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	out := make([][]Cell, depths)
	for d, row := range rows {
		row.flush()
		out[d] = row.cells
	}
	return out, nil
}

// level is that of a depth with the longest buckets that are no longer than half a pixel;
// -1 for the spans themselves.
func (x *Index) level(track, depth int, pixel float64) int {
	level := -1
	if l := x.dir.Tracks[track].Levels; depth < len(l) {
		for i := range l[depth] {
			if float64(l[depth][i].Width) <= pixel/2 {
				level = i
			}
		}
	}
	return level
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// each calls f for the spans of a track that have a part in a window, those that end in
// it in the order of their ends; then those that end behind it. The ends of the latter
// are those of the window where the index does not know better at once.
func (x *Index) each(r *reader, e *trackEntry, from, to int64, f func(Span)) error {
	i := sort.Search(len(e.Blocks), func(i int) bool { return e.Blocks[i].Last >= from })
	var b spanBlock
	for ; i < len(e.Blocks); i++ {
		if err := r.spans(&e.Blocks[i], &b); err != nil {
			return err
		}
		for _, s := range b.spans {
			if s.End >= from && s.Start < to && (s.End > from || s.Start == s.End) {
				f(s)
			}
		}
		if e.Blocks[i].Last >= to {
			for _, o := range b.open {
				if o.start < to {
					f(Span{o.start, to, o.region, o.depth})
				}
			}
			break
		}
	}
	return nil
}

// raster adds up what is in the pixels of a row, from left to right.
type raster struct {
	from, to int64
	cells    []Cell
	at       int // pixel that is being filled
	parts    []share
	cover    float64
}

type share struct {
	region uint32
	part   float64
}

// add adds a stretch of a region, of which it was a share, and any region another.
func (r *raster) add(start, end int64, region uint32, part, cover float64) {
	scale := float64(len(r.cells)) / float64(uint64(r.to)-uint64(r.from))
	a := (float64(max(start, r.from)) - float64(r.from)) * scale
	b := (float64(min(end, r.to)) - float64(r.from)) * scale
	first, last := int(a), min(int(math.Ceil(b)), len(r.cells))
	if last <= first {
		last = min(first+1, len(r.cells)) // no length
	}
	for p := first; p < last; p++ {
		in := min(b, float64(p+1)) - max(a, float64(p))
		if p != r.at {
			r.flush()
			r.at = p
		}
		r.cover += in * cover
		r.part(region, in*part)
	}
}

func (r *raster) part(region uint32, part float64) {
	for i := range r.parts {
		if r.parts[i].region == region {
			r.parts[i].part += part
			return
		}
	}
	r.parts = append(r.parts, share{region, part})
}

// flush ends the pixel in hand.
func (r *raster) flush() {
	if len(r.parts) == 0 {
		return
	}
	most := r.parts[0]
	for _, p := range r.parts[1:] {
		if p.part > most.part {
			most = p
		}
	}
	in255 := func(f float64) uint8 { return uint8(max(1, min(math.MaxUint8, math.Round(f*math.MaxUint8)))) }
	r.cells[r.at] = Cell{most.region, in255(most.part), in255(r.cover)}
	r.parts, r.cover = r.parts[:0], 0
}
