package index

import (
	"cmp"
	"context"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"github.com/weft-trace/weft/internal/pipeline"
	"github.com/weft-trace/weft/trace"
)

// LinkKind is the kind of connection that a link stands for.
type LinkKind uint8

// These are the kinds of arrows between events.
const (
	Message    LinkKind = iota // a send and its receive
	Dependency                 // a stored link
	Fork                       // a thread that another thread forks, creates, joins or waits for
)

// String returns the name of the kind in JSON.
func (k LinkKind) String() string { return [...]string{"message", "dependency", "fork", "fork"}[k&3] }

// link is a link between locations.
type link struct {
	kind                LinkKind
	unpaired            bool // a message without a receive or, if unsent is set, without a send
	unsent              bool // a receive without a send
	source, destination uint32
	start, end          int64
	bytes, tag          int64
	comm, name          uint32
}

// bundle combines links between the same locations that begin in the same bucket of a level.
type bundle struct {
	bucket              int64
	source, destination uint32
	start, end          int64 // the earliest begin and the latest end
	count, bytes        int64
}

// sections holds the columns of a block of links while it is encoded.
type sections [9][]byte

func encodeLinks(s *sections, b []byte, l []link) []byte {
	kind, source, destination, start, length := s[0][:0], s[1][:0], s[2][:0], s[3][:0], s[4][:0]
	bytes, tag, comm, name := s[5][:0], s[6][:0], s[7][:0], s[8][:0]
	last := int64(0)
	for _, x := range l {
		k := byte(x.kind) << 1
		if x.unpaired {
			k |= 1
		}
		if x.unsent {
			k |= 8
		}
		kind = append(kind, k)
		source = binary.AppendUvarint(source, uint64(x.source))
		destination = binary.AppendVarint(destination, int64(x.destination)-int64(x.source))
		start = binary.AppendVarint(start, x.start-last)
		last = x.start
		length = binary.AppendVarint(length, x.end-x.start)
		bytes = binary.AppendUvarint(bytes, uint64(x.bytes))
		tag = binary.AppendVarint(tag, x.tag)
		comm = binary.AppendUvarint(comm, uint64(x.comm+1))
		name = binary.AppendUvarint(name, uint64(x.name+1))
	}
	*s = sections{kind, source, destination, start, length, bytes, tag, comm, name}
	return appendColumns(b, len(l), s[:]...)
}

func decodeLinks(b []byte, l []link) ([]link, error) {
	c := columns{b: b}
	n := c.count()
	kind, source, destination, start, length := c.section(), c.section(), c.section(), c.section(), c.section()
	bytes, tag, comm, name := c.section(), c.section(), c.section(), c.section()
	last := int64(0)
	for range n {
		var x link
		k := kind.byte()
		x.kind, x.unpaired, x.unsent = LinkKind(k>>1&3), k&1 == 1, k&8 != 0
		x.source = uint32(source.uint())
		x.destination = uint32(int64(x.source) + destination.int())
		last += start.int()
		x.start, x.end = last, last+length.int()
		x.bytes, x.tag, x.comm, x.name = int64(bytes.uint()), tag.int(), uint32(comm.uint())-1, uint32(name.uint())-1
		l = append(l, x)
	}
	return l, c.end(kind, source, destination, start, length, bytes, tag, comm, name)
}

func encodeBundles(s *sections, b []byte, l []bundle) []byte {
	bucket, source, destination, start, length := s[0][:0], s[1][:0], s[2][:0], s[3][:0], s[4][:0]
	count, bytes := s[5][:0], s[6][:0]
	last, at := int64(0), int64(0)
	for _, x := range l {
		bucket = binary.AppendVarint(bucket, x.bucket-at)
		at = x.bucket
		source = binary.AppendUvarint(source, uint64(x.source))
		destination = binary.AppendVarint(destination, int64(x.destination)-int64(x.source))
		start = binary.AppendVarint(start, x.start-last)
		last = x.start
		length = binary.AppendVarint(length, x.end-x.start)
		count = binary.AppendUvarint(count, uint64(x.count))
		bytes = binary.AppendUvarint(bytes, uint64(x.bytes))
	}
	*s = sections{bucket, source, destination, start, length, count, bytes, s[7], s[8]}
	return appendColumns(b, len(l), s[:7]...)
}

func decodeBundles(b []byte, l []bundle) ([]bundle, error) {
	c := columns{b: b}
	n := c.count()
	bucket, source, destination, start, length, count, bytes := c.section(), c.section(), c.section(), c.section(),
		c.section(), c.section(), c.section()
	last, at := int64(0), int64(0)
	for range n {
		var x bundle
		at += bucket.int()
		x.bucket, x.source = at, uint32(source.uint())
		x.destination = uint32(int64(x.source) + destination.int())
		last += start.int()
		x.start, x.end = last, last+length.int()
		x.count, x.bytes = int64(count.uint()), int64(bytes.uint())
		l = append(l, x)
	}
	return l, c.end(bucket, source, destination, start, length, count, bytes)
}

const (
	blockLinks = 1024
	// linkStep is the number of buckets of a level of links that one bucket of the next level combines.
	linkStep = 8
)

// writeLinks pairs the messages, part by part, and writes all links and the levels of bundles.
func (b *builder) writeLinks(ctx context.Context, dir *directory, final []uint32) error {
	packers := b.packers(b.cores)
	var names [len(meetNames)]uint32
	if b.meetings.count > 0 {
		for k := range names {
			names[k] = b.nameOf[meetNames[k]]
		}
	}
	for i := range b.links.stored {
		if l := &b.links.stored[i]; l.name != trace.NoRef {
			l.name = final[l.name]
		}
	}
	ends := b.meetings.count
	pairs := int64(1)
	for part := range spoolParts {
		for _, c := range b.links.channels[part].list {
			ends += c.sends + c.recvs
			pairs += 2
		}
	}
	linksOf := func(p *packer, part int) ([]link, error) {
		list, err := b.links.pair(part, p.links)
		if err != nil {
			return nil, err
		}
		p.links = list
		more, err := b.meetings.meetingLinks(part, names)
		return append(list, more...), err
	}
	// A bucket of the lowest level has about 8 messages for each pair of locations. Therefore there are about
	// 8 times as many messages as bundles.
	wide := bucketLength(dir.Last-dir.First, (ends/2+int64(len(b.links.stored)))/8/pairs)
	if dir.Last < dir.First {
		wide = maxWidth
	}
	type done struct {
		links  []blockEntry
		levels []levelEntry
		n      int64
	}
	next := 0
	return pipeline.Run(ctx, b.cores, func() (int, bool, error) {
		// A trace with few messages is handled as a single part.
		if next > spoolParts || (next > 0 && ends < blockLinks) {
			return 0, false, nil
		}
		next++
		return next - 1, true, nil
	}, func(w, part int) (d done, err error) {
		var list []link
		switch {
		case ends < blockLinks:
			for p := range spoolParts {
				l, err := linksOf(packers[w], p)
				if err != nil {
					return d, err
				}
				list = append(list, l...)
			}
			list = append(list, b.links.stored...)
		case part == spoolParts:
			list = b.links.stored
		default:
			if list, err = linksOf(packers[w], part); err != nil {
				return d, err
			}
		}
		for i := range list {
			if !list[i].unpaired {
				d.n++
			}
		}
		d.links, d.levels, err = packers[w].writeLinks(list, dir, wide)
		return d, err
	}, func(d done) error {
		dir.links = append(dir.links, d.links...)
		dir.Links += d.n
		for i, l := range d.levels {
			if i == len(dir.linkLevels) {
				dir.linkLevels = append(dir.linkLevels, levelEntry{width: l.width})
			}
			dir.linkLevels[i].blocks = append(dir.linkLevels[i].blocks, l.blocks...)
		}
		return nil
	})
}

// writeLinks writes the links of a part, and the levels of their bundles. wide is the length of
// the buckets of the lowest level.
func (p *packer) writeLinks(list []link, dir *directory, wide int64) (blocks []blockEntry, levels []levelEntry,
	err error) {
	list = p.order.links(list)
	if blocks, err = linkBlocks(p, list, encodeLinks, func(l *link) (int64, int64) { return l.start, l.end }); err != nil {
		return nil, nil, err
	}
	bundles := slices.Grow(p.bundles[:0], len(list))
	for i := range list {
		if x := &list[i]; !x.unpaired {
			bundles = append(bundles, bundle{floorDiv(x.start-dir.First, wide), x.source, x.destination, x.start, x.end, 1,
				x.bytes})
		}
	}
	for {
		bundles = p.joiner.join(bundles)
		p.bundles = bundles
		l := levelEntry{width: wide}
		if l.blocks, err = linkBlocks(p, bundles, encodeBundles,
			func(b *bundle) (int64, int64) { return b.start, b.end }); err != nil {
			return nil, nil, err
		}
		levels = append(levels, l)
		if wide > dir.Last-dir.First || wide > maxWidth {
			return blocks, levels, nil
		}
		wide *= linkStep
		for i := range bundles {
			bundles[i].bucket = floorDiv(bundles[i].bucket, linkStep)
		}
	}
}

// linkOrder sorts links. It reuses its memory.
type linkOrder struct {
	keys, buffer []linkKey
	sorted       []link
}

// linkKey is a link's begin and its index in the list.
type linkKey struct {
	start  uint64
	number uint32
}

// links returns the links in the order of their begins. Links with the same begin are ordered by their
// locations, tags and ends. The result is valid until the next call.
func (o *linkOrder) links(list []link) []link {
	n := len(list)
	if n > math.MaxUint32 {
		slices.SortFunc(list, compareLinks)
		return list
	}
	o.keys, o.buffer = slices.Grow(o.keys[:0], n)[:n], slices.Grow(o.buffer[:0], n)[:n]
	// Sort by the begin, relative to the earliest begin, one byte after another.
	least, most := int64(math.MaxInt64), int64(math.MinInt64)
	for i := range list {
		least, most = min(least, list[i].start), max(most, list[i].start)
	}
	from, to := o.keys, o.buffer
	for i := range list {
		from[i] = linkKey{uint64(list[i].start) - uint64(least), uint32(i)}
	}
	for shift := 0; shift < 64 && n > 0 && (uint64(most)-uint64(least))>>shift > 0; shift += 8 {
		var at [256]int
		for i := range from {
			at[from[i].start>>shift&0xff]++
		}
		sum := 0
		for i, k := range at {
			at[i] = sum
			sum += k
		}
		for i := range from {
			p := &at[from[i].start>>shift&0xff]
			to[*p] = from[i]
			*p++
		}
		from, to = to, from
	}
	o.sorted = slices.Grow(o.sorted[:0], n)[:n]
	same := 0 // index of the first link with the same begin as the current one
	for i := range from {
		o.sorted[i] = list[from[i].number]
		if from[i].start != from[same].start {
			if i-same > 1 {
				slices.SortFunc(o.sorted[same:i], compareLinks)
			}
			same = i
		}
	}
	if n-same > 1 {
		slices.SortFunc(o.sorted[same:], compareLinks)
	}
	return o.sorted
}

func compareLinks(a, b link) int {
	return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.source, b.source),
		cmp.Compare(a.destination, b.destination), cmp.Compare(a.tag, b.tag), cmp.Compare(a.end, b.end),
		cmp.Compare(a.kind, b.kind), cmp.Compare(a.comm, b.comm), cmp.Compare(a.name, b.name), cmp.Compare(a.bytes, b.bytes))
}

// linkBlocks writes blocks of links or bundles. ends returns the times of a link or bundle.
func linkBlocks[T any](p *packer, list []T, encode func(*sections, []byte, []T) []byte,
	ends func(*T) (start, end int64)) (out []blockEntry, err error) {
	for l := range slices.Chunk(list, blockLinks) {
		first, last := int64(math.MaxInt64), int64(math.MinInt64)
		for i := range l {
			start, end := ends(&l[i])
			first, last = min(first, start, end), max(last, start, end)
		}
		p.raw = encode(&p.sections, p.raw[:0], l)
		e, err := p.pack(p.raw, len(l), first, last)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// pair combines the two locations of a bundle into one number.
func (b *bundle) pair() uint64 { return uint64(b.source)<<32 | uint64(b.destination) }

// joiner joins bundles between the same locations. It reuses its memory.
type joiner struct {
	// 1 + the index of the bundle of a pair; indexed by hash of the pair; all elements are 0 between calls
	slots []int32
}

// join combines the bundles in each bucket that connect the same locations. It returns the shorter list. list
// must be sorted by bucket, and join reuses its memory.
func (j *joiner) join(list []bundle) []bundle {
	n := 0
	for from := 0; from < len(list); {
		to := from + 1
		for to < len(list) && list[to].bucket == list[from].bucket {
			to++
		}
		begin := n
		if n += j.joinBucket(list[from:to]); begin < from {
			copy(list[begin:n], list[from:])
		}
		from = to
	}
	return list[:n]
}

// joinBucket combines the bundles in one bucket that connect the same locations. It puts the result, sorted by
// pair, at the start of list, and returns the number of bundles.
func (j *joiner) joinBucket(list []bundle) int {
	if len(list) == 1 {
		return 1
	}
	// Use at most half of the slots, so that the search for a free slot is short.
	size := uint(bits.Len(uint(2 * len(list))))
	if len(j.slots) < 1<<size {
		j.slots = make([]int32, 1<<size)
	}
	slots := j.slots[:1<<size]
	n := 0
	for i := range list {
		x := &list[i]
		h := x.pair() * 0x9e3779b97f4a7c15 >> (64 - size)
		for {
			k := slots[h]
			if k == 0 {
				list[n] = *x
				n++
				slots[h] = int32(n)
				break
			}
			if o := &list[k-1]; o.pair() == x.pair() {
				o.start, o.end = min(o.start, x.start), max(o.end, x.end)
				o.count += x.count
				o.bytes += x.bytes
				break
			}
			h = (h + 1) & (1<<size - 1)
		}
	}
	clear(slots)
	slices.SortFunc(list[:n], func(a, b bundle) int { return cmp.Compare(a.pair(), b.pair()) })
	return n
}
