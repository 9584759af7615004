package index

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/weft-trace/weft/internal/plural"
)

// run stands for n equal buckets of one depth, beginning with number bucket. For instants, share is the number
// of instants in each bucket, at most 255, and region is the region of the first instant.
type run struct {
	bucket, n int64
	region    uint32 // the region that was open longest; NoRef if no region was open
	// share of the bucket in which the region was open, in 255ths; at least 1 if it was open at all
	share uint8
	cover uint8 // share of the bucket in which any region was open, in 255ths
	band  Band  // mean of the bands of the spans
}

// blockRuns is the number of runs in a full block. Blocks are small, because a picture needs only some
// thousand runs, and its window is usually a small part of the level.
const blockRuns = 2048

// runs encodes a block of runs.
func (p *planePacker) runs(b []byte, l []run) []byte {
	for i := range p.numberColumns {
		p.numberColumns[i] = slices.Grow(p.numberColumns[i][:0], len(l))[:len(l)]
	}
	for i := range p.columns {
		p.columns[i] = p.columns[i][:0]
	}
	c, next, partial, offsets := &p.columns, int64(0), false, false
	for i := range l {
		r := &l[i]
		p.numberColumns[0][i] = zigzagEncode(r.bucket - next)
		p.numberColumns[1][i] = uint64(r.n)
		next = r.bucket + r.n
		p.numberColumns[2][i] = uint64(r.region + 1)
		c[0], c[1], c[2] = append(c[0], r.share), append(c[1], r.cover), append(c[2], r.band.Height)
		c[3] = append(c[3], r.band.Offset)
		partial, offsets = partial || r.band.Height != math.MaxUint8, offsets || r.band.Offset != 0
	}
	if !partial {
		c[2] = c[2][:0]
	}
	if !offsets {
		c[3] = c[3][:0]
	}
	b = binary.AppendUvarint(b, uint64(len(l)))
	for _, s := range p.numberColumns {
		b = p.numbers(b, s)
	}
	for _, s := range c {
		b = p.append(b, s)
	}
	return b
}

// runReader decodes blocks of the runs of levels.
type runReader struct{ table table }

// each calls f for the runs of a block that overlap the buckets from low to high.
func (rr *runReader) each(b []byte, low, high int64, f func(*run)) error {
	c := columns{b: b}
	n, err := rr.table.read(&c)
	if err != nil {
		return err
	}
	share, cover, height, offset := rr.table.columns[0], rr.table.columns[1], rr.table.columns[2], rr.table.columns[3]
	if len(share) != n || len(cover) != n || len(height) > 0 && len(height) != n ||
		len(offset) > 0 && len(offset) != n {
		return fmt.Errorf("found %s, but %s", plural.Of(n, "bucket"), plural.Of(len(share), "share"))
	}
	skip, counts, regions := &rr.table.numbers[0], &rr.table.numbers[1], &rr.table.numbers[2]
	next := int64(0)
	var r run // f must not retain this variable, which is used for each run
	for i := range n {
		r = run{bucket: next + zigzagDecode(skip.at(i)), n: int64(counts.at(i)), band: wholeBand}
		next = r.bucket + r.n
		if next <= low {
			continue
		}
		if r.bucket > high {
			break // the runs are in the order of their buckets
		}
		r.region, r.share, r.cover = uint32(regions.at(i))-1, share[i], cover[i]
		if len(height) > 0 {
			r.band.Height = height[i]
		}
		if len(offset) > 0 {
			r.band.Offset = offset[i]
		}
		f(&r)
	}
	return c.end()
}

const (
	// perBucket is the smallest mean number of spans, instants or values in a bucket of the lowest
	// level. The mean may be up to twice as large, because the length of a bucket is a power of two.
	perBucket = 8
	// levelStep is the number of buckets of the level below that a bucket combines.
	levelStep = 4
	// minBuckets is the number of buckets that a level must exceed to get a level above it.
	minBuckets = 512
)

// maxWidth is the largest length of a bucket.
const maxWidth = math.MaxInt64 / 4 / levelStep

// bucketLength returns the length of buckets for which an extent has about n buckets. It is a power of
// two.
func bucketLength(extent, n int64) int64 {
	w := int64(1)
	for w < maxWidth && extent/w > n {
		w *= 2
	}
	return w
}

// makeLevels writes the levels of a track. It reads the blocks of the track again, except the blocks that are
// still in memory. last is set if p.levels.last contains the spans of the last block. The shortest buckets
// have the same length at all depths. The length is chosen for the depth with the most spans: if any depth had
// to be drawn from its spans, the spans of all depths would have to be read.
func (p *packer) makeLevels(t *spanTrack, last bool) error {
	defer p.levels.drop(t)
	e, depths := t.entry, t.depths
	extent := e.Last - e.First
	if extent < 0 || e.Spans < minBuckets || len(depths) == 0 {
		return nil
	}
	wide := bucketLength(extent, slices.Max(depths)/perBucket)
	m := &p.levels
	m.reader.f = p.file
	for len(m.lower) < len(depths) {
		m.lower = append(m.lower, &buckets{})
	}
	lower := m.lower[:len(depths)]
	for _, b := range lower {
		b.begin(wide, e.First)
	}
	for i := range e.blocks {
		spans := m.last.spans
		if i < len(t.kept) {
			spans = t.kept[i]
		} else if !last || i < len(e.blocks)-1 {
			if err := m.reader.decode(&e.blocks[i], m.block.decode); err != nil {
				return err
			}
			spans = m.block.spans
		}
		for i := range spans {
			if s := &spans[i]; int(s.Depth) < len(lower) {
				lower[s.Depth].addSpan(s)
			}
		}
	}
	e.levels = make([][]levelEntry, len(depths))
	for d, x := range lower {
		var err error
		if e.levels[d], err = x.write(p); err != nil {
			return err
		}
	}
	return nil
}

// levelMaker holds the memory for writing the levels of a track. It is reused for the next track.
type levelMaker struct {
	reader reader
	block  spanBlock
	last   spanBlock  // the last block of the track
	lower  []*buckets // lowest level of each depth
	upper  [2]buckets
	free   [][]Span // memory of blocks that were kept, for reuse
	kept   int      // number of blocks in memory; may not exceed the field most
	most   int
}

// keptBlocks limits the number of blocks of spans of open tracks that all workers together keep in memory. A
// block takes 96 KiB.
const keptBlocks = 512

// keep keeps the last block of a track in memory. It does nothing if an earlier block of the track is
// not in memory, or if the limit is reached.
func (m *levelMaker) keep(t *spanTrack) {
	if m.kept >= m.most || len(t.kept) < len(t.entry.blocks)-1 || len(m.last.spans) > blockSpans {
		return
	}
	m.kept++
	t.kept = append(t.kept, m.last.spans)
	m.last.spans = nil
	if n := len(m.free) - 1; n >= 0 {
		m.last.spans, m.free = m.free[n], m.free[:n]
	}
}

// drop releases the blocks of a track that were kept. Their memory is reused.
func (m *levelMaker) drop(t *spanTrack) {
	m.kept -= len(t.kept)
	m.free = append(m.free, t.kept...)
	t.kept = t.kept[:0]
}

// write writes the level and the levels above it.
func (b *buckets) write(p *packer) (out []levelEntry, err error) {
	for i := 0; ; i++ {
		b.flush()
		l, err := b.writeLevel(p)
		if err != nil {
			return nil, err
		}
		out = append(out, l)
		if len(b.runs) <= minBuckets || b.width > maxWidth {
			return out, nil
		}
		upper := &p.levels.upper[i%2]
		upper.begin(b.width*levelStep, b.first)
		for _, r := range b.runs {
			upper.run(r, b.width)
		}
		b = upper
	}
}

// writeLevel writes the runs of a level.
func (b *buckets) writeLevel(p *packer) (levelEntry, error) {
	l := levelEntry{width: b.width}
	for list := range slices.Chunk(b.runs, blockRuns) {
		p.raw = p.planes.runs(p.raw[:0], list)
		end := list[len(list)-1]
		e, err := p.store(p.raw, len(list), list[0].bucket, end.bucket+end.n-1)
		if err != nil {
			return l, err
		}
		l.blocks = append(l.blocks, e)
	}
	return l, nil
}

// buckets builds the runs of one depth of a level, from left to right.
type buckets struct {
	width, first int64
	runs         []run
	at           int64   // the current bucket
	cover        int64   // ticks of the current bucket in which any region was open
	high, low    float64 // sums over the spans: ticks in the bucket × height, and ticks in the bucket × offset
	parts        []regionTime
}

// regionTime is the time for which a region was open in a bucket.
type regionTime struct {
	region uint32
	ticks  int64
}

// begin starts a level with buckets of width ticks, from time first on. It reuses the memory of the previous
// level.
func (b *buckets) begin(width, first int64) {
	*b = buckets{width: width, first: first, runs: b.runs[:0], parts: b.parts[:0]}
}

// addSpan adds a span to the buckets that it overlaps.
func (b *buckets) addSpan(s *Span) {
	from, to := s.Start-b.first, s.End-b.first
	if from == to {
		b.add(from/b.width, 0, s.Region, s.Band)
		return
	}
	k, last := from/b.width, (to-1)/b.width
	if k == last {
		b.add(k, to-from, s.Region, s.Band)
		return
	}
	b.add(k, (k+1)*b.width-from, s.Region, s.Band)
	if n := last - k - 1; n > 0 {
		b.flush()
		b.put(run{k + 1, n, s.Region, math.MaxUint8, math.MaxUint8, s.Band})
	}
	b.add(last, to-last*b.width, s.Region, s.Band)
}

// run adds a run of buckets of the level below, each width ticks long.
func (b *buckets) run(r run, width int64) {
	ticks := func(n int64) int64 { return n * width / math.MaxUint8 * int64(r.share) }
	if width < math.MaxUint8 {
		ticks = func(n int64) int64 { return n * width * int64(r.share) / math.MaxUint8 }
	}
	for n := r.n; n > 0; {
		k := (r.bucket + r.n - n) * width / b.width
		in := min(n, ((k+1)*b.width-(r.bucket+r.n-n)*width)/width)
		if in*width == b.width && r.share == math.MaxUint8 {
			whole := n * width / b.width
			b.flush()
			b.put(run{k, whole, r.region, math.MaxUint8, math.MaxUint8, r.band})
			n -= whole * b.width / width
			continue
		}
		t := ticks(in)
		b.add(k, t, r.region, r.band)
		if more := int64(r.cover) - int64(r.share); more > 0 {
			// In the other ticks that count for the cover, regions other than r.region were open.
			o := t / int64(r.share) * more
			b.hold(o, r.band)
		}
		n -= in
	}
}

// add adds ticks in which a region was open to bucket k, which is the current bucket or a later one.
func (b *buckets) add(k, ticks int64, region uint32, band Band) {
	if k != b.at {
		b.flush()
		b.at = k
	}
	b.hold(ticks, band)
	for i := range b.parts {
		if b.parts[i].region == region {
			b.parts[i].ticks += ticks
			return
		}
	}
	b.parts = append(b.parts, regionTime{region, ticks})
}

// hold adds ticks in which a span with the given band was open to the current bucket.
func (b *buckets) hold(ticks int64, band Band) {
	b.cover += ticks
	b.high += float64(ticks) * float64(band.Height)
	if band.Offset != 0 {
		b.low += float64(ticks) * float64(band.Offset)
	}
}

// flush ends the current bucket and appends it to the runs.
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
	band := wholeBand
	if b.cover > 0 {
		mean := func(sum float64) uint8 { return uint8(min(math.MaxUint8, sum/float64(b.cover)+0.5)) }
		band = Band{mean(b.high), mean(b.low)}
	}
	share := b.share(most.ticks)
	b.put(run{b.at, 1, most.region, share, max(share, b.share(b.cover)), band})
	b.parts, b.cover, b.high, b.low = b.parts[:0], 0, 0, 0
}

// share returns ticks as a share of the bucket in 255ths, at least 1.
func (b *buckets) share(ticks int64) uint8 {
	return uint8(max(1, min(math.MaxUint8, float64(ticks)*math.MaxUint8/float64(b.width))))
}

// put appends a run. If the buckets of the run equal the buckets of the last run and directly follow them, put
// extends the last run instead.
func (b *buckets) put(r run) {
	if n := len(b.runs); n > 0 {
		l := &b.runs[n-1]
		if l.bucket+l.n == r.bucket && l.region == r.region && l.share == r.share && l.cover == r.cover &&
			l.band == r.band {
			l.n += r.n
			return
		}
	}
	b.runs = append(b.runs, r)
}
