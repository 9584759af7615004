package index

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"
	"sort"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
)

// Version is the version of the file's layout and contents. Files of other versions are rejected.
const Version = 18

const (
	headMagic = "weftidxC"
	tailMagic = "xdi6"
	endSize   = 24
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ErrDamaged is wrapped by the errors for files that are not an index, are damaged, or have another
// version. Such a file must be built again.
var ErrDamaged = errors.New("index is damaged or of another version")

// directory is the part of an index that is read first.
type directory struct {
	Version int                   `json:"version"`
	Clock   trace.Clock           `json:"clock"`
	Format  string                `json:"format"`
	First   int64                 `json:"first"` // time of the first event, in ticks
	Last    int64                 `json:"last"`
	Events  int64                 `json:"events"`
	Others  int64                 `json:"others"` // number of records of markers and states
	Groups  []trace.LocationGroup `json:"groups"`
	Color   string                `json:"color,omitempty"` // attribute whose values name the spans
	Regions []Region              `json:"regions"`
	Attrs   []string              `json:"attributes,omitempty"` // attributes of the begins of visits and claims
	Names   []string              `json:"names,omitempty"`      // names of links and instants
	Comms   []string              `json:"communicators,omitempty"`
	Links   int64                 `json:"links"`
	Tracks  []*trackEntry         `json:"-"`
	// Visits and Claims are the sums of all locations and resources, by region number plus 1.
	Visits []Sum `json:"visits"`
	Claims []Sum `json:"claims"`

	links      []blockEntry
	linkLevels []levelEntry
}

// Region is the name of spans, by which they are coloured and summed up.
type Region struct {
	Name  string `json:"name"`
	Group string `json:"group,omitempty"`
	File  string `json:"file,omitempty"` // source file, if it is known
	Line  int64  `json:"line,omitempty"`
}

// TrackKind is the kind of a track's content.
type TrackKind string

// These are the kinds of the rows of a time line.
const (
	LocationTrack     TrackKind = "location"     // visits of regions, and instants
	ResourceTrack     TrackKind = "resource"     // claims, and the amount in use
	CounterTrack      TrackKind = "counter"      // the values of a counter, series or signal
	CommunicatorTrack TrackKind = "communicator" // collective operations
)

// Track describes a row of the time line.
type Track struct {
	Kind     TrackKind
	Location uint32 // index into the definitions; NoRef for a communicator
	ID       string
	Name     string
	Sort     string // kind of a location, or mode of a counter
	Group    uint32 // index into Groups, or NoRef
	Parent   int    // the track of the location, for a counter or resource; -1 if there is none
	Events   int64  // number of events of the location; set only in its first track
	Spans    int64
	Instants int64
	First    int64 // times of the first and the last event, in ticks
	Last     int64
	Depth    int // greatest nesting depth of its spans, or number of lanes
	Unit     string
	Capacity float64 // capacity of a resource; 0 if it has none
	Offsets  bool    // claims of a resource with a capacity have an offset (see [Band])
	Low      float64 // extremes of the values of a curve
	High     float64
	Style    string // style of a curve: smooth, steps or points
}

// trackEntry is a track in the directory.
type trackEntry struct {
	Track
	MetricUnit float64 // number of ticks in the time unit of a signal

	names      []uint32 // names of the instants, as indexes into Names
	blocks     []blockEntry
	sums       []blockEntry
	levels     [][]levelEntry // indexed by depth; in each list, the level with the shortest buckets comes first
	instants   []blockEntry
	instantLvl []levelEntry
	values     []blockEntry
	valueLvl   []levelEntry
}

// encode encodes the directory, and passes it to piece in parts of about pieceBytes. A part is valid
// only during the call.
func (d *directory) encode(piece func([]byte)) error {
	text, err := json.Marshal(d)
	if err != nil {
		return err
	}
	b := appendSection(nil, text)
	b = appendBlocks(b, d.links)
	b = appendLevels(b, d.linkLevels)
	b = binary.AppendUvarint(b, uint64(len(d.Tracks)))
	for _, e := range d.Tracks {
		b = e.describe(b)
		b = appendBlocks(b, e.blocks)
		b = appendBlocks(b, e.sums)
		b = binary.AppendUvarint(b, uint64(len(e.levels)))
		for _, l := range e.levels {
			b = appendLevels(b, l)
		}
		b = appendBlocks(b, e.instants)
		b = appendLevels(b, e.instantLvl)
		b = appendBlocks(b, e.values)
		b = appendLevels(b, e.valueLvl)
		if len(b) >= pieceBytes {
			piece(b)
			b = b[:0]
		}
	}
	piece(b)
	return nil
}

// pieceBytes is the size of the parts of a directory that are compressed one after the other, so that
// memory holds a large directory only once.
const pieceBytes = 128 << 10

func (d *directory) decode(b []byte) error {
	c := columns{b: b}
	text := c.section()
	if err := json.Unmarshal(text.b, d); err != nil {
		return err
	}
	d.links = c.blocks()
	d.linkLevels = c.levels()
	n := c.count()
	if n > len(c.b)/minTrackSize {
		return fmt.Errorf("found %s in %s", plural.Of(n, "track"), plural.Of(len(c.b), "byte"))
	}
	d.Tracks = make([]*trackEntry, n)
	entries := make([]trackEntry, len(d.Tracks))
	for i := range entries {
		e := &entries[i]
		d.Tracks[i] = e
		c.describe(e)
		e.blocks = c.blocks()
		e.sums = c.blocks()
		e.levels = make([][]levelEntry, c.count())
		for i := range e.levels {
			e.levels[i] = c.levels()
		}
		e.instants = c.blocks()
		e.instantLvl = c.levels()
		e.values = c.blocks()
		e.valueLvl = c.levels()
	}
	return c.end(text)
}

// minTrackSize is the smallest size of a track in the directory, in bytes.
const minTrackSize = 40

// trackKinds lists the kinds of tracks, indexed by their numbers in the directory.
var trackKinds = [...]TrackKind{LocationTrack, ResourceTrack, CounterTrack, CommunicatorTrack}

// withOffsets is a bit that is added to the number of a track's kind if Track.Offsets is set.
const withOffsets = 0x80

// describe appends the encoded description of a track to b.
func (e *trackEntry) describe(b []byte) []byte {
	kind := byte(slices.Index(trackKinds[:], e.Kind))
	if e.Offsets {
		kind |= withOffsets
	}
	b = append(b, kind)
	for _, s := range [...]string{e.ID, e.Name, e.Sort, e.Unit, e.Style} {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	for _, u := range [...]uint64{uint64(e.Location + 1), uint64(e.Group + 1), uint64(e.Parent + 1), uint64(e.Events),
		uint64(e.Spans), uint64(e.Instants), uint64(e.Depth)} {
		b = binary.AppendUvarint(b, u)
	}
	b = binary.AppendVarint(binary.AppendVarint(b, e.First), e.Last-e.First)
	for _, f := range [...]float64{e.Capacity, e.Low, e.High, e.MetricUnit} {
		b = appendFloat(b, f)
	}
	b = binary.AppendUvarint(b, uint64(len(e.names)))
	for _, n := range e.names {
		b = binary.AppendUvarint(b, uint64(n))
	}
	return b
}

// describe reads the description of a track into e.
func (c *columns) describe(e *trackEntry) {
	k := c.byte()
	e.Offsets = k&withOffsets != 0
	if k &^= withOffsets; int(k) >= len(trackKinds) {
		c.b, c.bad = nil, true
		return
	}
	e.Kind = trackKinds[k]
	for _, s := range [...]*string{&e.ID, &e.Name, &e.Sort, &e.Unit, &e.Style} {
		*s = string(c.section().b)
	}
	e.Location, e.Group, e.Parent = uint32(c.uint())-1, uint32(c.uint())-1, int(c.uint())-1
	e.Events, e.Spans, e.Instants, e.Depth = int64(c.uint()), int64(c.uint()), int64(c.uint()), int(c.uint())
	e.First = c.int()
	e.Last = e.First + c.int()
	e.Capacity, e.Low, e.High, e.MetricUnit = c.float(), c.float(), c.float(), c.float()
	if n := c.count(); n > 0 {
		e.names = make([]uint32, n)
		for i := range e.names {
			e.names[i] = uint32(c.uint())
		}
	}
}

// file is an index file that is being written. It collects small blocks and writes several together,
// because each track of a short trace has a small block.
type file struct {
	f       *os.File
	mu      sync.Mutex
	at      int64
	pending []byte // bytes that are not written yet; they belong at offset from
	from    int64
}

const (
	// smallBlock is the largest size in bytes of a block that is collected.
	smallBlock = 4 << 10
	// heldBytes is the largest total size in bytes of the collected blocks.
	heldBytes = 64 << 10
)

// begin moves to the position of the first block, after the head of the file. The next blocks overwrite the
// blocks written before.
func (f *file) begin() { f.at, f.pending = int64(len(headMagic)), f.pending[:0] }

// write appends a block and returns its offset.
func (f *file) write(data []byte) (at int64, err error) {
	f.mu.Lock()
	at = f.at
	f.at += int64(len(data))
	large := len(data) > smallBlock
	if large || len(f.pending)+len(data) > heldBytes {
		err = f.flush()
	}
	if !large {
		if len(f.pending) == 0 {
			f.from = at
		}
		f.pending = append(f.pending, data...)
	}
	f.mu.Unlock()
	if large && err == nil {
		_, err = f.f.WriteAt(data, at)
	}
	return at, err
}

// flush writes the blocks in memory to the file.
func (f *file) flush() error {
	if len(f.pending) == 0 {
		return nil
	}
	_, err := f.f.WriteAt(f.pending, f.from)
	f.pending = f.pending[:0]
	return err
}

// ReadAt reads bytes that have been passed to write, even if they have not been written to the file yet.
func (f *file) ReadAt(b []byte, at int64) (int, error) {
	f.mu.Lock()
	held := len(f.pending) > 0 && at >= f.from && at-f.from <= int64(len(f.pending)-len(b))
	if held {
		copy(b, f.pending[at-f.from:])
	}
	f.mu.Unlock()
	if held {
		return len(b), nil
	}
	return f.f.ReadAt(b, at)
}

// finish writes the directory and both ends of the file.
func (f *file) finish(d *directory) error {
	if _, err := f.f.WriteAt([]byte(headMagic), 0); err != nil {
		return err
	}
	var packed []byte
	enc := newEncoder(zstd.SpeedFastest)
	if err := d.encode(func(raw []byte) { packed = enc.EncodeAll(raw, packed) }); err != nil {
		return err
	}
	at, err := f.write(packed)
	if err != nil {
		return err
	}
	end := binary.LittleEndian.AppendUint64(nil, uint64(at))
	end = binary.LittleEndian.AppendUint64(end, uint64(len(packed)))
	end = binary.LittleEndian.AppendUint32(end, crc32.Checksum(packed, castagnoli))
	if _, err = f.write(append(end, tailMagic...)); err == nil {
		err = f.flush()
	}
	return err
}

func newEncoder(level zstd.EncoderLevel) *zstd.Encoder {
	// The frame needs no checksum, because blocks have checksums of their own.
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(level),
		zstd.WithLowerEncoderMem(true), zstd.WithSingleSegment(true), zstd.WithEncoderCRC(false))
	if err != nil {
		panic(err) // the options are invalid, which is a programming error
	}
	return e
}

// packer compresses blocks and writes them to a file. It is not safe for concurrent use.
type packer struct {
	file   *file
	enc    *zstd.Encoder
	planes planePacker
	sums   blockSummer
	raw    []byte
	packed []byte

	// These fields hold memory that is reused for further blocks.
	levels   levelMaker
	sections sections
	links    []link
	order    linkOrder
	bundles  []bundle
	joiner   joiner
}

func newPacker(f *file) *packer {
	e := newEncoder(zstd.SpeedFastest)
	return &packer{file: f, enc: e, planes: planePacker{enc: e}}
}

// pack compresses and writes a block.
func (p *packer) pack(raw []byte, n int, first, last int64) (blockEntry, error) {
	p.packed = p.enc.EncodeAll(raw, append(p.packed[:0], 0, 0, 0, 0, blockZstd))
	return p.block(n, first, last)
}

// store writes a block without compressing it.
func (p *packer) store(raw []byte, n int, first, last int64) (blockEntry, error) {
	p.packed = append(append(p.packed[:0], 0, 0, 0, 0, blockStored), raw...)
	return p.block(n, first, last)
}

// The ways in which a block is packed.
const (
	blockStored = iota
	blockZstd
)

func (p *packer) block(n int, first, last int64) (blockEntry, error) {
	binary.LittleEndian.PutUint32(p.packed, crc32.Checksum(p.packed[4:], castagnoli))
	at, err := p.file.write(p.packed)
	return blockEntry{at, int32(len(p.packed)), int32(n), first, last}, err
}

// reader reads blocks from an index file. It is not safe for concurrent use.
type reader struct {
	f      io.ReaderAt
	packed []byte
	raw    []byte
}

// maxBlock is the largest size of an unpacked block in bytes. A block of spans lists all open regions, and can
// therefore be large if a trace is nested a million deep.
const maxBlock = 1 << 30

// decoder returns the shared decompressor, which several goroutines can use.
var decoder = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxBlock))
	if err != nil {
		panic(err) // the options are invalid, which is a programming error
	}
	return d
})

// block reads a block and returns its bytes, which are valid until the next call.
func (r *reader) block(b *blockEntry) ([]byte, error) {
	if b.size < 5 || b.at < 0 {
		return nil, fmt.Errorf("%w: a block of %s at 0x%x", ErrDamaged, plural.Of(b.size, "byte"), b.at)
	}
	r.packed = slices.Grow(r.packed[:0], int(b.size))[:b.size]
	if _, err := r.f.ReadAt(r.packed, b.at); err != nil {
		return nil, fmt.Errorf("%w: block at 0x%x: %w", ErrDamaged, b.at, err)
	}
	if crc32.Checksum(r.packed[4:], castagnoli) != binary.LittleEndian.Uint32(r.packed) {
		return nil, fmt.Errorf("%w: wrong checksum of the block at 0x%x", ErrDamaged, b.at)
	}
	if r.packed[4] == blockStored {
		return r.packed[5:], nil
	}
	var err error
	if r.raw, err = decoder().DecodeAll(r.packed[5:], r.raw[:0]); err != nil {
		return nil, fmt.Errorf("%w: block at 0x%x: %w", ErrDamaged, b.at, err)
	}
	return r.raw, nil
}

// decode reads a block and calls f with its unpacked bytes, which are valid during the call. For a damaged
// block, the error wraps ErrDamaged.
func (r *reader) decode(b *blockEntry, f func([]byte) error) error {
	raw, err := r.block(b)
	if err == nil {
		if err = f(raw); err != nil {
			err = fmt.Errorf("%w: block at 0x%x: %w", ErrDamaged, b.at, err)
		}
	}
	return err
}

// read decodes a block into list. It overwrites the previous entries of list.
func read[T any](r *reader, b *blockEntry, list *[]T, decode func([]byte, []T) ([]T, error)) error {
	return r.decode(b, func(raw []byte) (err error) {
		*list, err = decode(raw, (*list)[:0])
		return err
	})
}

// blocksWithin returns the blocks that may have entries between low and high. The blocks in l must be in the
// order of their ends.
func blocksWithin(l []blockEntry, low, high int64) []blockEntry {
	i := sort.Search(len(l), func(i int) bool { return l[i].last >= low })
	k := i
	for k < len(l) && l[k].first <= high {
		k++
	}
	return l[i:k]
}

// Index is an open index. Several goroutines can use it at the same time.
//
// Arguments and results with the name track are indexes into Tracks. Times and durations are in ticks of Clock. A query
// fails if there is no such track, or if the end of its window is before the begin.
type Index struct {
	f      *os.File
	data   io.ReaderAt
	dir    directory
	folder string // folder of a temporary index
}

// IsIndexFile reports whether a file begins with the magic bytes of an index, of any version. The rest of the
// file may be damaged.
func IsIndexFile(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	name := headMagic[:len(headMagic)-1] // leave out the version number
	b := make([]byte, len(name))
	_, err = io.ReadFull(f, b)
	return err == nil && string(b) == name
}

// Open opens an index. If the file is not an index or is damaged, the error wraps [ErrDamaged].
func Open(path string) (*Index, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	x := &Index{f: f, data: f}
	if err := x.open(); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return x, nil
}

func (ix *Index) open() error {
	st, err := ix.f.Stat()
	if err != nil {
		return err
	}
	size := st.Size()
	if size < int64(len(headMagic))+endSize {
		return fmt.Errorf("%w: found %s", ErrDamaged, plural.Of(size, "byte"))
	}
	begin, end := make([]byte, len(headMagic)), make([]byte, endSize)
	if _, err := ix.f.ReadAt(begin, 0); err != nil {
		return err
	}
	if _, err := ix.f.ReadAt(end, size-endSize); err != nil {
		return err
	}
	if string(begin) != headMagic || string(end[20:]) != tailMagic {
		return fmt.Errorf("%w: found %q and %q at its ends, expected %q and %q",
			ErrDamaged, begin, end[20:], headMagic, tailMagic)
	}
	at, n := binary.LittleEndian.Uint64(end), binary.LittleEndian.Uint64(end[8:])
	if at > uint64(size) || n > uint64(size)-at {
		return fmt.Errorf("%w: found a directory of %s at 0x%x, expected it in %s", ErrDamaged, plural.Of(n, "byte"), at,
			plural.Of(size, "byte"))
	}
	packed := make([]byte, n)
	if _, err := ix.f.ReadAt(packed, int64(at)); err != nil {
		return err
	}
	if crc32.Checksum(packed, castagnoli) != binary.LittleEndian.Uint32(end[16:]) {
		return fmt.Errorf("%w: wrong checksum of the directory", ErrDamaged)
	}
	raw, err := decoder().DecodeAll(packed, nil)
	if err == nil {
		err = ix.dir.decode(raw)
	}
	if err != nil {
		return fmt.Errorf("%w: directory: %w", ErrDamaged, err)
	}
	if ix.dir.Version != Version {
		return fmt.Errorf("%w: found version %d, expected %d", ErrDamaged, ix.dir.Version, Version)
	}
	return nil
}

// Close closes the file.
func (ix *Index) Close() error {
	err := ix.f.Close()
	if ix.folder != "" {
		err = errors.Join(err, os.RemoveAll(ix.folder))
	}
	return err
}

// Clock returns the clock of all times in the index.
func (ix *Index) Clock() trace.Clock { return ix.dir.Clock }

// Extent returns the times of the first and the last event in ticks, and the number of events. All are 0 if there is no
// event.
func (ix *Index) Extent() (first, last, events int64) {
	return ix.dir.First, ix.dir.Last, ix.dir.Events
}

// Counts holds the numbers of events, spans, instants and links in an index, and the size of its links in
// bytes. Events includes markers and states, as in the output of `weft info`. Links does not include sends
// without a receive.
type Counts struct{ Events, Spans, Instants, Links, LinkBytes int64 }

// Counts adds up the numbers of all tracks.
func (ix *Index) Counts() Counts {
	c := Counts{Events: ix.dir.Events + ix.dir.Others, Links: ix.dir.Links}
	for _, b := range ix.dir.links {
		c.LinkBytes += int64(b.size)
	}
	for _, l := range ix.dir.linkLevels {
		for _, b := range l.blocks {
			c.LinkBytes += int64(b.size)
		}
	}
	for _, e := range ix.dir.Tracks {
		c.Spans += e.Spans
		c.Instants += e.Instants
	}
	return c
}

// Groups returns the location groups of the trace. The caller must not change them.
func (ix *Index) Groups() []trace.LocationGroup { return ix.dir.Groups }

// Attributes returns the sorted names of the attributes that begins of visits and claims have. Each can be
// used as Options.Color. The caller must not change the result.
func (ix *Index) Attributes() []string { return ix.dir.Attrs }

// Color returns the attribute by whose values spans are named. It returns "" if they are named by their
// regions.
func (ix *Index) Color() string { return ix.dir.Color }

// Regions returns the regions in the order of the definitions, or the values of the attribute that names
// spans. Collective operations follow. If several regions have the same name, file and line, the first of them
// has the spans of all. The caller must not change the result.
func (ix *Index) Regions() []Region { return ix.dir.Regions }

// Tracks returns the tracks: locations with events in the order of the definitions, each followed
// by its resources and counters; then communicators.
func (ix *Index) Tracks() []Track {
	l := make([]Track, len(ix.dir.Tracks))
	for i, e := range ix.dir.Tracks {
		l[i] = e.Track
	}
	return l
}

// Totals returns the sums of all visits and of all claims in the whole trace, in the order of the
// regions.
func (ix *Index) Totals() (visits, claims []Sum) {
	list := func(l []Sum) (out []Sum) {
		for _, s := range l {
			if s.Count > 0 {
				out = append(out, s)
			}
		}
		return out
	}
	return list(ix.dir.Visits), list(ix.dir.Claims)
}

// Region returns the name of a region, or "" if it is unknown.
func (ix *Index) Region(i uint32) string {
	if int(i) >= len(ix.dir.Regions) {
		return ""
	}
	return ix.dir.Regions[i].Name
}

// track returns a track for a query about the times [from, to]. It returns an error if the track or the times
// are invalid.
func (ix *Index) track(track int, from, to int64) (*trackEntry, error) {
	if track < 0 || track >= len(ix.dir.Tracks) {
		return nil, fmt.Errorf("found track %d, expected one of %d", track, len(ix.dir.Tracks))
	}
	if from > to {
		return nil, fmt.Errorf("found a window from %d to %d, expected an end that is not before the begin", from, to)
	}
	return ix.dir.Tracks[track], nil
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
