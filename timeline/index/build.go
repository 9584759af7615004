package index

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/pipeline"
	"github.com/weft-trace/weft/trace"
)

const (
	head    = "weftidx1"
	tail    = "xdi1"
	version = 1
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// directory is what an index begins to be read by.
type directory struct {
	Version int                   `json:"version"`
	Clock   trace.Clock           `json:"clock"`
	Format  string                `json:"format"`
	First   int64                 `json:"first"` // time of the first event
	Last    int64                 `json:"last"`
	Events  int64                 `json:"events"`
	Groups  []trace.LocationGroup `json:"groups"`
	Regions []regionEntry         `json:"regions"`
	Tracks  []*trackEntry         `json:"tracks"`
}

type regionEntry struct {
	Name  string `json:"name"`
	Group string `json:"group,omitempty"`
}

// trackEntry is a location in the directory.
type trackEntry struct {
	Location uint32       `json:"location"`
	ID       string       `json:"id"`
	Name     string       `json:"name,omitempty"`
	Kind     string       `json:"kind,omitempty"`
	Group    uint32       `json:"group"`
	Events   int64        `json:"events"`
	Spans    int64        `json:"spans"`
	First    int64        `json:"first"`
	Last     int64        `json:"last"`
	Depth    int          `json:"depth"` // of its deepest span, and one
	Blocks   []blockEntry `json:"blocks,omitempty"`
	// Levels has the levels of each depth, the shortest buckets first.
	Levels [][]levelEntry `json:"levels,omitempty"`
}

// blockEntry is the place of a block. First and Last are the times of its spans, or the
// numbers of its buckets.
type blockEntry struct {
	At    int64 `json:"a"`
	Size  int32 `json:"s"`
	N     int32 `json:"n"`
	First int64 `json:"f"` // the least start
	Last  int64 `json:"l"` // the greatest end
}

// levelEntry is a level: its buckets are Width ticks long, the first one begins at the
// first time of the track.
type levelEntry struct {
	Width  int64        `json:"width"`
	Blocks []blockEntry `json:"blocks"`
}

// Build reads a trace once and writes its index to a file, which appears whole or not at
// all. It holds some 10 bytes for each of the last 4096 spans of a location, and the
// buckets of the locations that it is about to end.
func Build(ctx context.Context, d format.Decoder, path string, workers int) error {
	if err := format.Prepare(ctx, d); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".weft-index-*")
	if err != nil {
		return fmt.Errorf("%s: cannot create: %w", path, err)
	}
	b := &builder{f: f, defs: d.Defs()}
	if err = b.build(ctx, d, max(1, workers)); err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// builder writes the file.
type builder struct {
	f       *os.File
	defs    *trace.Definitions
	mu      sync.Mutex
	at      int64
	workers []*worker
}

// write appends a block and returns its place.
func (b *builder) write(data []byte) (at int64, err error) {
	b.mu.Lock()
	at = b.at
	b.at += int64(len(data))
	b.mu.Unlock()
	_, err = b.f.WriteAt(data, at)
	return at, err
}

func (b *builder) build(ctx context.Context, d format.Decoder, workers int) error {
	sel := trace.Everything()
	sel.Links = false
	err := format.ScanAnew(ctx, d, sel, func() func(int) format.Sink {
		b.at, b.workers = int64(len(head)), nil
		return func(int) format.Sink {
			b.mu.Lock()
			defer b.mu.Unlock()
			w := newWorker(b)
			b.workers = append(b.workers, w)
			return w
		}
	})
	if err != nil {
		return err
	}
	if err := b.f.Truncate(b.at); err != nil {
		return err
	}
	if _, err := b.f.WriteAt([]byte(head), 0); err != nil {
		return err
	}
	dir := directory{Version: version, Clock: b.defs.Clock, Format: b.defs.Format, First: math.MaxInt64, Last: math.MinInt64, Groups: slices.Clone(b.defs.Groups.All())}
	for _, r := range b.defs.Regions.All() {
		dir.Regions = append(dir.Regions, regionEntry{r.Name, r.Group})
	}
	if err := b.levels(ctx, &dir, workers); err != nil {
		return err
	}
	if dir.Events == 0 {
		dir.First, dir.Last = 0, 0
	}
	text, err := json.Marshal(&dir)
	if err != nil {
		return err
	}
	enc := newEncoder(zstd.SpeedDefault)
	text = enc.EncodeAll(text, nil)
	at, err := b.write(text)
	if err != nil {
		return err
	}
	end := binary.LittleEndian.AppendUint64(nil, uint64(at))
	end = binary.LittleEndian.AppendUint64(end, uint64(len(text)))
	end = binary.LittleEndian.AppendUint32(end, crc32.Checksum(text, castagnoli))
	_, err = b.write(append(end, tail...))
	return err
}

// levels ends all tracks and makes their levels, several at a time.
func (b *builder) levels(ctx context.Context, dir *directory, workers int) error {
	type job struct {
		w *worker
		t *track
	}
	var jobs []job
	for _, w := range b.workers {
		for _, t := range w.tracks {
			if t != nil {
				jobs = append(jobs, job{w, t})
			}
		}
	}
	slices.SortFunc(jobs, func(a, b job) int { return cmp.Compare(a.t.entry.Location, b.t.entry.Location) })
	enders := make([]*worker, workers)
	for i := range enders {
		enders[i] = newWorker(b)
	}
	next := 0
	return pipeline.Run(ctx, workers, func() (job, bool, error) {
		if next == len(jobs) {
			return job{}, false, nil
		}
		next++
		return jobs[next-1], true, nil
	}, func(w int, j job) (*trackEntry, error) {
		return &j.t.entry, enders[w].end(j.t)
	}, func(e *trackEntry) error {
		dir.Tracks = append(dir.Tracks, e)
		dir.Events += e.Events
		dir.First, dir.Last = min(dir.First, e.First), max(dir.Last, e.Last)
		return nil
	})
}

func newEncoder(level zstd.EncoderLevel) *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(level), zstd.WithSingleSegment(true))
	if err != nil {
		panic(err) // the options are wrong
	}
	return e
}

// worker takes the batches of some locations.
type worker struct {
	b      *builder
	enc    *zstd.Encoder
	tracks []*track // by location
	raw    []byte
	packed []byte
}

func newWorker(b *builder) *worker { return &worker{b: b, enc: newEncoder(zstd.SpeedFastest)} }

// track is a location that is being read.
type track struct {
	entry trackEntry
	stack []open
	since int64 // the innermost region has its exclusive time up to here
	least int64 // start of the spans in the block
	w     spanWriter
	sums  []sum
	slot  []int32 // of a region in sums, and one
	// depths counts the spans by depth.
	depths [256]int64
}

// Links are not in the index.
func (w *worker) Links([]trace.Link) error { return nil }

// Batch takes the rows of a batch.
func (w *worker) Batch(b *trace.Batch) error {
	if b.Loc == trace.MixedLoc {
		for i := range b.Time {
			if err := w.row(w.track(b.Locs[i]), b.Time[i], b.Kind[i], b.Ref[i]); err != nil {
				return err
			}
		}
		return nil
	}
	t := w.track(b.Loc)
	kinds, refs := b.Kind[:len(b.Time)], b.Ref[:len(b.Time)]
	for i, at := range b.Time {
		if err := w.row(t, at, kinds[i], refs[i]); err != nil {
			return err
		}
	}
	return nil
}

func (w *worker) track(loc uint32) *track {
	for int(loc) >= len(w.tracks) {
		w.tracks = append(w.tracks, nil)
	}
	t := w.tracks[loc]
	if t == nil {
		l := w.b.defs.Locations.At(int(loc))
		t = &track{entry: trackEntry{Location: loc, ID: l.ID, Name: l.Name, Kind: string(l.Kind), Group: l.Group, First: math.MaxInt64, Last: math.MinInt64}, least: math.MaxInt64}
		w.tracks[loc] = t
	}
	return t
}

// row takes a row.
func (w *worker) row(t *track, at int64, k trace.Kind, ref uint32) error {
	if !k.IsEvent() {
		return nil
	}
	e := &t.entry
	if e.Events == 0 {
		e.First = at
	}
	e.Events++
	e.Last = at
	switch k {
	case trace.Enter:
		depth, recursive := uint8(0), false
		if n := len(t.stack); n > 0 {
			top := &t.stack[n-1]
			top.exclusive += at - t.since
			depth = top.depth
			if depth < math.MaxUint8 {
				depth++
			}
			for i := range t.stack {
				recursive = recursive || t.stack[i].region == ref
			}
		}
		t.since = at
		t.stack = append(t.stack, open{at, 0, ref, depth, recursive})
	case trace.Leave:
		i := len(t.stack) - 1
		for i >= 0 && t.stack[i].region != ref {
			i--
		}
		if i < 0 {
			return nil // of what was never entered
		}
		return w.leave(t, i, at)
	}
	return nil
}

// leave ends an open region.
func (w *worker) leave(t *track, i int, at int64) error {
	t.stack[len(t.stack)-1].exclusive += at - t.since
	t.since = at
	o := t.stack[i]
	if n := len(t.stack) - 1; i == n {
		t.stack = t.stack[:n]
	} else {
		t.stack = append(t.stack[:i], t.stack[i+1:]...)
	}
	t.w.add(Span{o.start, at, o.region, o.depth}, o.recursive)
	t.depths[o.depth]++
	t.least = min(t.least, o.start)
	e := &t.entry
	e.Spans++
	e.Depth = max(e.Depth, int(o.depth)+1)
	slot := o.region + 1
	for int(slot) >= len(t.slot) {
		t.slot = append(t.slot, 0)
	}
	s := t.slot[slot]
	if s == 0 {
		t.sums = append(t.sums, sum{region: o.region})
		s = int32(len(t.sums))
		t.slot[slot] = s
	}
	x := &t.sums[s-1]
	x.count++
	x.exclusive += o.exclusive
	if !o.recursive {
		x.inclusive += at - o.start
	}
	if t.w.n == blockSpans {
		return w.block(t)
	}
	return nil
}

// block writes the spans of a track that are not written yet.
func (w *worker) block(t *track) error {
	n, last := t.w.n, t.w.last
	w.raw = t.w.encode(w.raw[:0], t.sums, t.stack)
	for _, s := range t.sums {
		t.slot[s.region+1] = 0
	}
	t.sums = t.sums[:0]
	at, size, err := w.pack(w.raw)
	t.entry.Blocks = append(t.entry.Blocks, blockEntry{at, size, int32(n), t.least, last})
	t.least = math.MaxInt64
	return err
}

// pack compresses and writes a block.
func (w *worker) pack(raw []byte) (at int64, size int32, err error) {
	w.packed = w.enc.EncodeAll(raw, append(w.packed[:0], 0, 0, 0, 0))
	binary.LittleEndian.PutUint32(w.packed, crc32.Checksum(w.packed[4:], castagnoli))
	at, err = w.b.write(w.packed)
	return at, int32(len(w.packed)), err
}

// end closes what is open at the last event of a track, and makes its levels.
func (w *worker) end(t *track) error {
	for len(t.stack) > 0 {
		if err := w.leave(t, len(t.stack)-1, t.entry.Last); err != nil {
			return err
		}
	}
	if t.w.n > 0 {
		if err := w.block(t); err != nil {
			return err
		}
	}
	t.w, t.slot, t.sums = spanWriter{}, nil, nil
	return w.makeLevels(&t.entry, &t.depths)
}

// perBucket is how many spans, or buckets of the level below, a bucket is for.
const perBucket = 8

// least is how many buckets a level has that no further one is made of.
const leastBuckets = 256

// makeLevels reads the blocks of a track again and makes the levels above them. The
// shortest buckets of a depth are for some 8 of its spans; those of a depth that has but a
// small part of the spans are as short as any, since they cost little.
func (w *worker) makeLevels(e *trackEntry, depths *[256]int64) error {
	extent := e.Last - e.First
	if extent < 0 || e.Spans < leastBuckets {
		return nil
	}
	const small = 32 // part of the spans
	widths, shortest := make([]int64, e.Depth), int64(math.MaxInt64)
	for d := range widths {
		widths[d] = 1
		for widths[d] < math.MaxInt64/4 && extent/widths[d] > depths[d]/perBucket {
			widths[d] *= 2
		}
		if depths[d] >= e.Spans/small {
			shortest = min(shortest, widths[d])
		}
	}
	r := reader{f: w.b.f}
	lower := make([]*buckets, e.Depth)
	for d := range lower {
		lower[d] = &buckets{width: min(widths[d], shortest), first: e.First}
		if depths[d] >= e.Spans/small {
			lower[d].width = widths[d]
		}
	}
	var x spanBlock
	for _, b := range e.Blocks {
		if err := r.spans(&b, &x); err != nil {
			return err
		}
		for _, s := range x.spans {
			lower[s.Depth].span(s.Start, s.End, s.Region)
		}
	}
	e.Levels = make([][]levelEntry, e.Depth)
	for d, x := range lower {
		for {
			x.flush()
			l := levelEntry{Width: x.width}
			for list := range slices.Chunk(x.runs, blockRuns) {
				w.raw = encodeRuns(w.raw[:0], list)
				at, size, err := w.pack(w.raw)
				if err != nil {
					return err
				}
				end := list[len(list)-1]
				l.Blocks = append(l.Blocks, blockEntry{at, size, int32(len(list)), list[0].bucket, end.bucket + end.n - 1})
			}
			e.Levels[d] = append(e.Levels[d], l)
			if len(x.runs) <= leastBuckets || x.width > math.MaxInt64/4/perBucket {
				break
			}
			upper := &buckets{width: x.width * perBucket, first: e.First}
			for _, r := range x.runs {
				upper.run(r, x.width)
			}
			x = upper
		}
	}
	return nil
}

// buckets makes the runs of one depth of a level, from left to right.
type buckets struct {
	width, first int64
	runs         []run
	at           int64 // bucket that is being filled
	cover        int64 // ticks of it that a region was open
	parts        []part
}

// part is how long a region was open in a bucket.
type part struct {
	region uint32
	ticks  int64
}

// span adds a visit.
func (b *buckets) span(start, end int64, region uint32) {
	if start == end {
		b.add((start-b.first)/b.width, 0, region)
		return
	}
	from, to := start-b.first, end-b.first
	k, last := from/b.width, (to-1)/b.width
	if k == last {
		b.add(k, to-from, region)
		return
	}
	b.add(k, (k+1)*b.width-from, region)
	if n := last - k - 1; n > 0 {
		b.flush()
		b.put(run{k + 1, n, region, math.MaxUint8, math.MaxUint8})
	}
	b.add(last, to-last*b.width, region)
}

// run adds buckets of the level below.
func (b *buckets) run(r run, width int64) {
	ticks := func(n int64) int64 { return n * width * int64(r.share) / math.MaxUint8 }
	for n := r.n; n > 0; {
		k := (r.bucket + r.n - n) * width / b.width
		in := min(n, ((k+1)*b.width-(r.bucket+r.n-n)*width)/width)
		if in*width == b.width && r.share == math.MaxUint8 {
			whole := n * width / b.width
			b.flush()
			b.put(run{k, whole, r.region, math.MaxUint8, math.MaxUint8})
			n -= whole * b.width / width
			continue
		}
		b.add(k, ticks(in), r.region)
		b.cover += in*width*int64(r.cover)/math.MaxUint8 - ticks(in)
		n -= in
	}
}

// add adds ticks of a region to a bucket, which is not before the last one.
func (b *buckets) add(k, ticks int64, region uint32) {
	if k != b.at {
		b.flush()
		b.at = k
	}
	b.cover += ticks
	for i := range b.parts {
		if b.parts[i].region == region {
			b.parts[i].ticks += ticks
			return
		}
	}
	b.parts = append(b.parts, part{region, ticks})
}

// flush ends the bucket in hand.
func (b *buckets) flush() {
	if len(b.parts) == 0 {
		return
	}
	most := b.parts[0]
	for _, p := range b.parts[1:] {
		if p.ticks > most.ticks {
			most = p
		}
	}
	b.put(run{b.at, 1, most.region, b.part(most.ticks), b.part(b.cover)})
	b.parts, b.cover = b.parts[:0], 0
}

// part is a part of a bucket in 255ths, at least one.
func (b *buckets) part(ticks int64) uint8 {
	return uint8(max(1, min(math.MaxUint8, float64(ticks)*math.MaxUint8/float64(b.width))))
}

// put appends a run, to the last one if they are alike.
func (b *buckets) put(r run) {
	if n := len(b.runs); n > 0 {
		l := &b.runs[n-1]
		if l.bucket+l.n == r.bucket && l.region == r.region && l.share == r.share && l.cover == r.cover {
			l.n += r.n
			return
		}
	}
	b.runs = append(b.runs, r)
}
