package index

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/weft-trace/weft/trace"
)

// sum holds the sums of the spans of a region.
type sum struct {
	region    uint32
	count     int64
	inclusive trace.Ticks // time in spans that are not inside of other spans of the region
	nested    trace.Ticks // time in spans that are inside of other spans of the region
	exclusive trace.Ticks
	min, max  int64 // shortest and longest duration of a span, in ticks
}

// add adds a span. recursive is set if the span is inside of another span of the region.
func (s *sum) add(length, exclusive int64, recursive bool) {
	s.count++
	s.exclusive.Add(exclusive)
	if recursive {
		s.nested.Add(length)
	} else {
		s.inclusive.Add(length)
	}
	s.min, s.max = min(s.min, length), max(s.max, length)
}

// blockSums is the number of blocks of spans whose sums are stored in one block.
const blockSums = 64

func appendSums(b []byte, l []sum) []byte {
	b = binary.AppendUvarint(b, uint64(len(l)))
	for _, s := range l {
		b = binary.AppendUvarint(b, uint64(s.region+1))
		b = binary.AppendUvarint(b, uint64(s.count))
		b = appendTicks(appendTicks(appendTicks(b, s.inclusive), s.nested), s.exclusive)
		b = binary.AppendUvarint(b, uint64(s.min))
		b = binary.AppendUvarint(b, uint64(s.max-s.min))
	}
	return b
}

// sums decodes the sums of one block.
func (c *columns) sums(l []sum) []sum {
	for range c.count() {
		s := sum{region: uint32(c.uint()) - 1, count: int64(c.uint()), inclusive: c.ticks(), nested: c.ticks(),
			exclusive: c.ticks(), min: int64(c.uint())}
		s.max = s.min + int64(c.uint())
		l = append(l, s)
	}
	return l
}

// blockSummer sums up blocks of spans. It reuses its memory.
type blockSummer struct {
	cells     []sum   // sums of the latest block
	slot      []int32 // 1 + the index in cells of each region; indexed by region plus 1
	exclusive []uint64
	visits    []sum // sums of all blocks of locations, by region plus 1
	claims    []sum // sums of all blocks of resources, by region plus 1
}

// block computes the sums of a block of spans by region, and returns the earliest begin of a span. recursive
// holds a bit for each span, and exclusive the exclusive times of visits.
func (b *blockSummer) block(kind TrackKind, spans []Span, recursive []byte, exclusive *numbers) (least int64) {
	for i := range b.cells {
		b.slot[b.cells[i].region+1] = 0
	}
	b.cells, least = b.cells[:0], math.MaxInt64
	if kind == LocationTrack {
		b.exclusive = slices.Grow(b.exclusive[:0], len(spans))[:len(spans)]
		exclusive.read(b.exclusive)
	}
	for i := range spans {
		s := &spans[i]
		least = min(least, s.Start)
		slot := int(s.Region + 1)
		if slot >= len(b.slot) {
			b.slot = append(b.slot, make([]int32, slot+1-len(b.slot))...)
		}
		k := b.slot[slot]
		if k == 0 {
			b.cells = append(b.cells, sum{region: s.Region, min: math.MaxInt64})
			k = int32(len(b.cells))
			b.slot[slot] = k
		}
		length := s.End - s.Start
		if kind == LocationTrack {
			b.cells[k-1].add(length, zigzagDecode(b.exclusive[i]), i/8 < len(recursive) && recursive[i/8]>>(i%8)&1 == 1)
		} else {
			b.cells[k-1].add(length, length, false)
		}
	}
	switch kind {
	case LocationTrack:
		b.visits = addSums(b.visits, b.cells)
	case ResourceTrack:
		b.claims = addSums(b.claims, b.cells)
	}
	return least
}

// addSums adds a list of sums to all, which is indexed by region plus 1, and returns all.
func addSums(all, list []sum) []sum {
	for i := range list {
		s := &list[i]
		for int(s.region+1) >= len(all) {
			all = append(all, sum{region: uint32(len(all)) - 1, min: math.MaxInt64})
		}
		x := &all[s.region+1]
		x.count += s.count
		x.inclusive = x.inclusive.Plus(s.inclusive)
		x.nested = x.nested.Plus(s.nested)
		x.exclusive = x.exclusive.Plus(s.exclusive)
		x.min, x.max = min(x.min, s.min), max(x.max, s.max)
	}
	return all
}

// totals returns the sums of all tracks.
func (b *builder) totals() (visits, claims []Sum) {
	list := func(sums func(*blockSummer) []sum) (out []Sum) {
		var all []sum
		for _, p := range b.allPackers {
			all = addSums(all, sums(&p.sums))
		}
		for _, s := range all {
			out = append(out, Sum{Region: s.region, Count: s.count, Inclusive: s.inclusive, Exclusive: s.exclusive,
				Sum: s.inclusive.Plus(s.nested), Min: s.min, Max: s.max})
		}
		return out
	}
	return list(func(m *blockSummer) []sum { return m.visits }), list(func(m *blockSummer) []sum { return m.claims })
}
