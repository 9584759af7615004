package index

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// run is a stretch of buckets at one depth that are alike. Of instants, share is how many
// there are, at most 255, and region that of the first.
type run struct {
	bucket, n int64
	region    uint32 // that was open longest
	share     uint8  // the part of the bucket it was, of 255; more than nothing is 1
	cover     uint8  // that any region was
	height    uint8  // mean height, of 255
}

// blockRuns is how many runs a full block has. A picture needs some thousand, seldom from
// one end of a level to the other, so blocks are small.
const blockRuns = 2048

// runs encodes a block of runs.
func (p *planePacker) runs(b []byte, l []run) []byte {
	for i := range p.given {
		p.given[i] = slices.Grow(p.given[i][:0], len(l))[:len(l)]
		p.columns[i] = p.columns[i][:0]
	}
	c, next, partial := &p.columns, int64(0), false
	for i := range l {
		r := &l[i]
		p.given[0][i] = unsigned(r.bucket - next)
		p.given[1][i] = uint64(r.n)
		next = r.bucket + r.n
		p.given[2][i] = uint64(r.region + 1)
		c[0], c[1], c[2] = append(c[0], r.share), append(c[1], r.cover), append(c[2], r.height)
		partial = partial || r.height != math.MaxUint8
	}
	if !partial {
		c[2] = c[2][:0]
	}
	b = binary.AppendUvarint(b, uint64(len(l)))
	for _, s := range p.given {
		b = p.numbers(b, s)
	}
	for _, s := range c {
		b = p.append(b, s)
	}
	return b
}

// runReader reads blocks of runs.
type runReader struct{ table table }

// each calls f for the runs of a block that have a part in the buckets from low to high.
func (x *runReader) each(b []byte, low, high int64, f func(*run)) error {
	c := columns{b: b}
	n, err := x.table.read(&c)
	if err != nil {
		return err
	}
	share, cover, height := x.table.columns[0], x.table.columns[1], x.table.columns[2]
	if len(share) != n || len(cover) != n || len(height) > 0 && len(height) != n {
		return fmt.Errorf("found %d buckets, but %d shares", n, len(share))
	}
	skip, counts, regions := &x.table.numbers[0], &x.table.numbers[1], &x.table.numbers[2]
	next := int64(0)
	var r run // one for all: it is not kept
	for i := range n {
		r = run{bucket: next + zigzag(skip.at(i)), n: int64(counts.at(i)), height: math.MaxUint8}
		next = r.bucket + r.n
		if next <= low {
			continue
		}
		if r.bucket > high {
			break // they are from left to right
		}
		r.region, r.share, r.cover = uint32(regions.at(i))-1, share[i], cover[i]
		if len(height) > 0 {
			r.height = height[i]
		}
		f(&r)
	}
	return c.end()
}

const (
	// perBucket is how many spans, instants or values a bucket of the lowest level is for at
	// least; it may be twice as many, as its length is a power of two.
	perBucket = 8
	// step is how many buckets of the level below a bucket is for.
	step = 4
	// leastBuckets is how many a level has that no further one is made of.
	leastBuckets = 512
)

// widest is the longest bucket that can be.
const widest = math.MaxInt64 / 4 / step

// width is how long buckets are if n of them are to be for an extent: a power of two.
func width(extent, n int64) int64 {
	w := int64(1)
	for w < widest && extent/w > n {
		w *= 2
	}
	return w
}

// makeLevels makes the levels of a track from its blocks, of which it reads again what has
// not been kept; last says that the spans of the last block are in p.levels.last. The
// shortest buckets of all depths are as long as is right for the depth with most spans: if
// one depth had to be drawn from the spans, those of all would have to be read.
func (p *packer) makeLevels(t *spanTrack, last bool) error {
	defer p.levels.drop(t)
	e, depths := t.entry, t.depths
	extent := e.Last - e.First
	if extent < 0 || e.Spans < leastBuckets || len(depths) == 0 {
		return nil
	}
	wide := width(extent, slices.Max(depths)/perBucket)
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
				lower[s.Depth].span(s)
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

// levelMaker is the memory that the levels of a track need, and those of the next again.
type levelMaker struct {
	reader reader
	block  spanBlock
	last   spanBlock  // of the track that ends
	lower  []*buckets // of each depth
	upper  [2]buckets
	free   [][]Span // memory of blocks that were kept
	kept   int      // how many are, of at most most
	most   int
}

// keptBlocks is how many blocks of spans of open tracks the workers keep together, of 96 KiB
// each.
const keptBlocks = 512

// keep keeps the latest block of a track if those before it are kept too.
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

// drop uses the memory of the blocks of a track again.
func (m *levelMaker) drop(t *spanTrack) {
	m.kept -= len(t.kept)
	m.free = append(m.free, t.kept...)
	t.kept = t.kept[:0]
}

// write writes a level, and those above it.
func (x *buckets) write(p *packer) (out []levelEntry, err error) {
	for i := 0; ; i++ {
		x.flush()
		l, err := x.one(p)
		if err != nil {
			return nil, err
		}
		out = append(out, l)
		if len(x.runs) <= leastBuckets || x.width > widest {
			return out, nil
		}
		upper := &p.levels.upper[i%2]
		upper.begin(x.width*step, x.first)
		for _, r := range x.runs {
			upper.run(r, x.width)
		}
		x = upper
	}
}

// one writes the runs of a level.
func (x *buckets) one(p *packer) (levelEntry, error) {
	l := levelEntry{width: x.width}
	for list := range slices.Chunk(x.runs, blockRuns) {
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

// buckets makes the runs of one depth of a level, from left to right.
type buckets struct {
	width, first int64
	runs         []run
	at           int64   // bucket that is being filled
	cover        int64   // ticks of it that a region was open
	high         float64 // ticks times height
	parts        []part
}

// part is how long a region was open in a bucket.
type part struct {
	region uint32
	ticks  int64
}

// begin begins a level.
func (b *buckets) begin(width, first int64) {
	*b = buckets{width: width, first: first, runs: b.runs[:0], parts: b.parts[:0]}
}

// span adds a span.
func (b *buckets) span(s *Span) {
	from, to := s.Start-b.first, s.End-b.first
	if from == to {
		b.add(from/b.width, 0, s.Region, s.Height)
		return
	}
	k, last := from/b.width, (to-1)/b.width
	if k == last {
		b.add(k, to-from, s.Region, s.Height)
		return
	}
	b.add(k, (k+1)*b.width-from, s.Region, s.Height)
	if n := last - k - 1; n > 0 {
		b.flush()
		b.put(run{k + 1, n, s.Region, math.MaxUint8, math.MaxUint8, s.Height})
	}
	b.add(last, to-last*b.width, s.Region, s.Height)
}

// run adds buckets of the level below.
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
			b.put(run{k, whole, r.region, math.MaxUint8, math.MaxUint8, r.height})
			n -= whole * b.width / width
			continue
		}
		t := ticks(in)
		b.add(k, t, r.region, r.height)
		if more := int64(r.cover) - int64(r.share); more > 0 {
			// What the other regions covered.
			o := t / int64(r.share) * more
			b.cover += o
			b.high += float64(o) * float64(r.height)
		}
		n -= in
	}
}

// add adds ticks of a region to a bucket, which is not before the last one.
func (b *buckets) add(k, ticks int64, region uint32, height uint8) {
	if k != b.at {
		b.flush()
		b.at = k
	}
	b.cover += ticks
	b.high += float64(ticks) * float64(height)
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
	height := uint8(math.MaxUint8)
	if b.cover > 0 {
		height = uint8(min(math.MaxUint8, b.high/float64(b.cover)+0.5))
	}
	share := b.part(most.ticks)
	b.put(run{b.at, 1, most.region, share, max(share, b.part(b.cover)), height})
	b.parts, b.cover, b.high = b.parts[:0], 0, 0
}

// part is a part of a bucket in 255ths, at least one.
func (b *buckets) part(ticks int64) uint8 {
	return uint8(max(1, min(math.MaxUint8, float64(ticks)*math.MaxUint8/float64(b.width))))
}

// put appends a run, to the last one if they are alike.
func (b *buckets) put(r run) {
	if n := len(b.runs); n > 0 {
		l := &b.runs[n-1]
		if l.bucket+l.n == r.bucket && l.region == r.region && l.share == r.share && l.cover == r.cover && l.height == r.height {
			l.n += r.n
			return
		}
	}
	b.runs = append(b.runs, r)
}
