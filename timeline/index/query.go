package index

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"sync"

	"github.com/weft-trace/weft/trace"
)

// SpanAt is the span of a track and depth that is open at a time, or has no length and is
// there; ok is false if there is none.
func (x *Index) SpanAt(track, depth int, at int64) (s Span, ok bool, err error) {
	e, err := x.track(track, at, at)
	if err != nil {
		return s, false, fmt.Errorf("span: %w", err)
	}
	r := reader{f: x.data}
	var b spanBlock
	for i := sort.Search(len(e.blocks), func(i int) bool { return e.blocks[i].last >= at }); i < len(e.blocks); i++ {
		if err := r.decode(&e.blocks[i], b.decode); err != nil {
			return s, false, err
		}
		for _, y := range b.spans {
			if int(y.Depth) == depth && y.Start <= at && (at < y.End || y.Start == y.End && at == y.End) {
				s, ok = y, true // one of no length gives way to a later one
				if y.Start < y.End {
					return s, true, nil
				}
			}
		}
		if e.blocks[i].last == at {
			continue // others may have it, too
		}
		if ok {
			return s, true, nil
		}
		for _, o := range b.open {
			if int(o.depth()) == depth && o.start <= at {
				end, err := x.endOf(&r, e, i, &o)
				return o.span(end), true, err
			}
		}
		break
	}
	return s, ok, nil
}

// endOf finds when a span ends that is open behind a block: in the first one behind which it
// is not.
func (x *Index) endOf(r *reader, e *trackEntry, block int, o *open) (int64, error) {
	var b spanBlock
	var err error
	same := func(p open) bool { return p.start == o.start && p.level == o.level && p.region == o.region }
	i := block + 1 + sort.Search(len(e.blocks)-block-1, func(k int) bool {
		if err == nil {
			err = r.decode(&e.blocks[block+1+k], b.decode)
		}
		return err == nil && !slices.ContainsFunc(b.open, same)
	})
	if err != nil {
		return 0, err
	}
	if i < len(e.blocks) {
		if err := r.decode(&e.blocks[i], b.decode); err != nil {
			return 0, err
		}
		for _, s := range b.spans {
			if s.Start == o.start && s.Depth == o.depth() && s.Region == o.region {
				return s.End, nil
			}
		}
	}
	return 0, fmt.Errorf("%w: found no end of the span that begins at %d", ErrDamaged, o.start)
}

// Edge is the begin or end that is nearest to a time, and no more than within ticks from it, of a span of a track at
// one of some depths from the first one on; of two as near the earlier. ok is false if there is none.
func (x *Index) Edge(ctx context.Context, track, depth, depths int, at, within int64) (edge int64, ok bool, err error) {
	e, err := x.track(track, at, at)
	if err != nil {
		return 0, false, fmt.Errorf("edge: %w", err)
	}
	far := func(t int64) uint64 {
		if t < at {
			return uint64(at) - uint64(t)
		}
		return uint64(t) - uint64(at)
	}
	least := uint64(max(within, 0))
	take := func(t int64) {
		if n := far(t); n < least || n == least && (!ok || t < edge) {
			edge, ok, least = t, true, n
		}
	}
	r := reader{f: x.data}
	var b spanBlock
	look := func(i int) error {
		if err := cmp.Or(ctx.Err(), r.decode(&e.blocks[i], b.decode)); err != nil {
			return err
		}
		for _, s := range b.spans {
			if d := int(s.Depth) - depth; d >= 0 && d < depths {
				take(s.Start)
				take(s.End)
			}
		}
		for _, o := range b.open {
			if d := int(o.depth()) - depth; d >= 0 && d < depths {
				take(o.start)
			}
		}
		return nil
	}
	i := sort.Search(len(e.blocks), func(i int) bool { return e.blocks[i].last >= at })
	// What begins before the end of a block and ends in a later one is open behind it.
	for k := i; k < len(e.blocks); k++ {
		if err := look(k); err != nil {
			return 0, false, err
		}
		if far(e.blocks[k].last) > least {
			break
		}
	}
	for k := i - 1; k >= 0 && far(e.blocks[k].last) <= least; k-- {
		if err := look(k); err != nil {
			return 0, false, err
		}
	}
	return edge, ok, nil
}

// Around are the spans that a span of a track is inside of, the outermost first.
func (x *Index) Around(track int, s Span) ([]Span, error) {
	var out []Span
	for d := range int(s.Depth) {
		o, ok, err := x.SpanAt(track, d, s.Start)
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, o)
		}
	}
	return out, nil
}

// Find is the nearest span of a region in a track that begins behind a time, or before it.
func (x *Index) Find(ctx context.Context, track int, region uint32, at int64, forward bool) (s Span, ok bool, err error) {
	e, err := x.track(track, at, at)
	if err != nil {
		return s, false, fmt.Errorf("find: %w", err)
	}
	r := reader{f: x.data}
	var b spanBlock
	var sums sumReader
	i := sort.Search(len(e.blocks), func(i int) bool { return e.blocks[i].last >= at })
	from := open{}
	found := -1 // the block that the span is open behind
	take := func(y Span, block int, o open) {
		if y.Region != region {
			return
		}
		if forward && y.Start > at && (!ok || y.Start < s.Start) || !forward && y.Start < at && (!ok || y.Start > s.Start) {
			s, ok, found, from = y, true, block, o
		}
	}
	look := func(i int, open bool) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := r.decode(&e.blocks[i], b.decode); err != nil {
			return err
		}
		for _, y := range b.spans {
			take(y, -1, from)
		}
		if open {
			for _, o := range b.open {
				take(o.span(math.MaxInt64), i, o)
			}
		}
		return nil
	}
	// search looks into a block if it has ends of the region.
	search := func(i int, open bool) error {
		if i < e.summed() {
			list, err := sums.read(&r, e, i)
			if err != nil || !slices.ContainsFunc(list, func(s sum) bool { return s.region == region }) {
				return err
			}
		}
		return look(i, open)
	}
	if forward {
		// What begins in a block and ends in a later one is found there.
		for ; err == nil && i < len(e.blocks) && !ok; i++ {
			err = search(i, true)
		}
	} else {
		if i < len(e.blocks) {
			err = look(i, true)
		}
		for i--; err == nil && i >= 0 && !(ok && s.Start >= e.blocks[i].last); i-- {
			err = search(i, false)
		}
	}
	if err != nil {
		return s, false, err
	}
	if ok && found >= 0 {
		s.End, err = x.endOf(&r, e, found, &from)
	}
	return s, ok, err
}

// Instant is an event without length.
type Instant struct {
	Time   int64
	Kind   trace.Kind
	Region uint32 // index into Regions, NoRef for none
	Name   string
}

// InstantAt is the instant of a track that is nearest to a time, and no more than radius
// ticks from it.
func (x *Index) InstantAt(track int, at, radius int64) (out Instant, ok bool, err error) {
	e, err := x.track(track, at, at)
	if err != nil {
		return out, false, fmt.Errorf("instant: %w", err)
	}
	least := uint64(math.MaxUint64)
	err = x.instants(&reader{f: x.data}, e, trace.Add(at, -radius), trace.Add(trace.Add(at, radius), 1), func(i *instant) {
		d := uint64(i.time) - uint64(at)
		if i.time < at {
			d = uint64(at) - uint64(i.time)
		}
		if !ok || d < least {
			least, ok = d, true
			out = x.instant(e, i)
		}
	})
	return out, ok, err
}

func (x *Index) name(n uint32) string {
	if int(n) >= len(x.dir.Names) {
		return ""
	}
	return x.dir.Names[n]
}

// Link is a message, a dependency or what threads have to do with each other, or a bundle of several between the same tracks of about
// the same time.
type Link struct {
	ID                  string // of a single one
	Kind                LinkKind
	Name                string // of a dependency: its attribute `type` or `name`; of threads: fork, join, create, wait
	Source, Destination int    // tracks, -1 for locations without
	// Start and End are the times of both ends, of a bundle the earliest begin and the
	// latest end. A message that is received before it is sent ends before it starts.
	Start, End   int64
	Alone        bool // a send that nobody received; End is Start
	Unsent       bool // a receive of what nobody sent; Start is End, and Bytes are not known
	Count, Bytes int64
	Tag          int64  // of a message; the id of a dependency
	Communicator string // name or id
}

// LinkRequest asks for the links of a window.
type LinkRequest struct {
	Tracks   []int // either end is in one of them; nil for all
	From, To int64
	Limit    int // how many at most; 0 is 2000
}

// LinkSet is the links of a window: those that have a part in it.
type LinkSet struct {
	// Total is how many there are; of bundles that begin or end outside of the window all
	// that they stand for.
	Total   int64
	Bundled bool // some stand for several
	Links   []Link
}

// trackOf finds the first track of a location, -1 for one without.
func (x *Index) trackOf() func(location uint32) int {
	m := map[uint32]int{}
	for i, e := range x.dir.Tracks {
		if _, ok := m[e.Location]; !ok && e.Kind != CommunicatorTrack {
			m[e.Location] = i
		}
	}
	return func(location uint32) int {
		if t, ok := m[location]; ok {
			return t
		}
		return -1
	}
}

// locations are those of tracks; nil for nil.
func (x *Index) locations(tracks []int) map[uint32]bool {
	if tracks == nil {
		return nil
	}
	m := map[uint32]bool{}
	for _, t := range tracks {
		if t >= 0 && t < len(x.dir.Tracks) {
			m[x.dir.Tracks[t].Location] = true
		}
	}
	return m
}

// mostLinks is how many links, or bundles, a question may read. Links are in parts, of each
// of which a window has one block or two at least, however short it is: less would be bundles
// at any zoom.
const mostLinks = 2 * parts * blockLinks

// Links are the links of a window, in the order of their begins, but for sends that nobody
// received: these lead nowhere. Where there are too many they come as bundles, and of these
// the heaviest.
func (x *Index) Links(ctx context.Context, q LinkRequest) (*LinkSet, error) {
	if q.Limit <= 0 {
		q.Limit = 2000
	}
	if q.From > q.To {
		return nil, fmt.Errorf("links: found a window from %d to %d, expected that it does not end before it begins", q.From, q.To)
	}
	in := func(b *blockEntry) bool { return b.last >= q.From && b.first < q.To }
	cost := func(l []blockEntry) (n int64) {
		for i := range l {
			if in(&l[i]) {
				n += int64(l[i].n)
			}
		}
		return n
	}
	want := x.locations(q.Tracks)
	wanted := func(source, destination uint32, start, end int64) bool {
		return min(start, end) < q.To && max(start, end) >= q.From && (want == nil || want[source] || want[destination])
	}
	at := x.trackOf()
	set := &LinkSet{}
	r := reader{f: x.data}
	if len(x.dir.linkLevels) == 0 || cost(x.dir.links) <= mostLinks {
		var list []link
		for i := range x.dir.links {
			if b := &x.dir.links[i]; in(b) {
				if err := cmp.Or(ctx.Err(), read(&r, b, &list, decodeLinks)); err != nil {
					return nil, err
				}
				for k := range list {
					if l := &list[k]; !l.alone && wanted(l.source, l.destination, l.start, l.end) {
						set.Links = append(set.Links, x.link(l, i, k, at))
					}
				}
			}
		}
	} else {
		level := 0
		for level+1 < len(x.dir.linkLevels) && cost(x.dir.linkLevels[level].blocks) > mostLinks {
			level++
		}
		var list []bundle
		for i := range x.dir.linkLevels[level].blocks {
			if b := &x.dir.linkLevels[level].blocks[i]; in(b) {
				if err := cmp.Or(ctx.Err(), read(&r, b, &list, decodeBundles)); err != nil {
					return nil, err
				}
				for _, l := range list {
					if wanted(l.source, l.destination, l.start, l.end) {
						set.Links = append(set.Links, Link{Source: at(l.source), Destination: at(l.destination), Start: l.start, End: l.end, Count: l.count, Bytes: l.bytes})
					}
				}
			}
		}
	}
	for i := range set.Links {
		set.Total += set.Links[i].Count
	}
	set.thin(&q)
	return set, nil
}

// link is an exact link, number k of a block.
func (x *Index) link(l *link, block, k int, at func(uint32) int) Link {
	out := Link{ID: strconv.Itoa(block) + "." + strconv.Itoa(k), Kind: l.kind, Name: x.name(l.name), Source: at(l.source), Destination: at(l.destination),
		Start: l.start, End: l.end, Alone: l.alone && !l.unsent, Unsent: l.unsent, Count: 1, Bytes: l.bytes, Tag: l.tag}
	if int(l.comm) < len(x.dir.Comms) {
		out.Communicator = x.dir.Comms[l.comm]
	}
	return out
}

// thin makes bundles of what is too much, and leaves the lightest away.
func (s *LinkSet) thin(q *LinkRequest) {
	order := func(a, b Link) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Source, b.Source), cmp.Compare(a.Destination, b.Destination), cmp.Compare(a.Tag, b.Tag), cmp.Compare(a.End, b.End))
	}
	if len(s.Links) > q.Limit {
		// What begins in the same 64th of the window between the same tracks is one.
		wide := max(1, (q.To-q.From)/64)
		bucket := func(l *Link) int64 { return floorDiv(max(l.Start, q.From)-q.From, wide) }
		slices.SortFunc(s.Links, func(a, b Link) int {
			return cmp.Or(cmp.Compare(bucket(&a), bucket(&b)), cmp.Compare(a.Source, b.Source), cmp.Compare(a.Destination, b.Destination), cmp.Compare(a.Kind, b.Kind), order(a, b))
		})
		n := 0
		for _, l := range s.Links {
			if n > 0 {
				o := &s.Links[n-1]
				if bucket(o) == bucket(&l) && o.Source == l.Source && o.Destination == l.Destination && o.Kind == l.Kind {
					*o = Link{Kind: o.Kind, Source: o.Source, Destination: o.Destination, Start: min(o.Start, l.Start), End: max(o.End, l.End), Count: o.Count + l.Count, Bytes: o.Bytes + l.Bytes}
					continue
				}
			}
			s.Links[n] = l
			n++
		}
		s.Links = s.Links[:n]
	}
	if len(s.Links) > q.Limit {
		// Of those as heavy as each other, some from all over the window.
		slices.SortFunc(s.Links, func(a, b Link) int {
			return cmp.Or(-cmp.Compare(a.Count, b.Count), cmp.Compare(a.hash(), b.hash()), order(a, b))
		})
		s.Links = s.Links[:q.Limit]
	}
	slices.SortFunc(s.Links, order)
	for i := range s.Links {
		s.Bundled = s.Bundled || s.Links[i].Count > 1
	}
}

// hash is a number by which links are chosen without regard to what they are.
func (l *Link) hash() uint64 {
	h := uint64(l.Start)*0x9e3779b97f4a7c15 ^ uint64(l.Source)*0xc2b2ae3d27d4eb4f ^ uint64(l.Destination)*0x165667b19e3779f9 ^ uint64(l.Tag)
	h ^= h >> 29
	return h * 0xbf58476d1ce4e5b9
}

// LinksOf are the links that begin or end in a track from a time to another, both
// inclusive, up to a limit; sends that nobody received are among them.
func (x *Index) LinksOf(track int, from, to int64, limit int) ([]Link, error) {
	e, err := x.track(track, from, to)
	if err != nil {
		return nil, fmt.Errorf("links: %w", err)
	}
	if e.Kind == CommunicatorTrack {
		return nil, nil
	}
	at := x.trackOf()
	r := reader{f: x.data}
	var out []Link
	var list []link
	for i := range x.dir.links {
		b := &x.dir.links[i]
		if b.last < from || b.first > to {
			continue
		}
		if err := read(&r, b, &list, decodeLinks); err != nil {
			return nil, err
		}
		for k := range list {
			l := &list[k]
			leaves, comes := l.source == e.Location && !l.unsent, l.destination == e.Location && (!l.alone || l.unsent)
			if leaves && from <= l.start && l.start <= to || comes && from <= l.end && l.end <= to {
				if out = append(out, x.link(l, i, k, at)); len(out) == limit {
					return out, nil
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Link) int { return cmp.Compare(a.Start, b.Start) })
	return out, nil
}

// Cell is the messages of one track to another.
type Cell struct {
	Source, Destination int // tracks, -1 for locations without
	Count, Bytes        int64
	// Matched is how many of them were received, and MatchedBytes what these had; Min, Max
	// and Sum are their times from send to receive, in ticks.
	Matched, MatchedBytes int64
	Min, Max              int64
	Sum                   trace.Ticks
}

// Mean is the mean time from send to receive, to the nearest tick; 0 if none was received.
func (c *Cell) Mean() int64 {
	if c.Matched == 0 {
		return 0
	}
	mean := c.Sum.Over(c.Matched).Int64()
	rest := c.Sum.Minus(trace.TicksOf(mean).Times(c.Matched)).Int64()
	if rest >= c.Matched-rest {
		mean++
	} else if rest <= -c.Matched-rest {
		mean--
	}
	return mean
}

// add adds the messages of another cell.
func (c *Cell) add(o *Cell) {
	c.Count, c.Bytes, c.Sum = c.Count+o.Count, c.Bytes+o.Bytes, c.Sum.Plus(o.Sum)
	c.Matched, c.MatchedBytes = c.Matched+o.Matched, c.MatchedBytes+o.MatchedBytes
	c.Min, c.Max = min(c.Min, o.Min), max(c.Max, o.Max)
}

// Matrix adds up the messages that are sent from a time to before another, by track, in the
// order of sources and destinations. It reads all messages of that time. Those to locations
// without a track, or to nobody knows where, are one cell for each source.
func (x *Index) Matrix(ctx context.Context, from, to int64) ([]Cell, error) {
	type key struct{ source, destination uint32 }
	var blocks []*blockEntry
	for i := range x.dir.links {
		if b := &x.dir.links[i]; b.last >= from && b.first < to {
			blocks = append(blocks, b)
		}
	}
	all := map[key]*Cell{}
	var mu sync.Mutex
	var first error
	const piece = 32
	each((len(blocks)+piece-1)/piece, func(i int) {
		r := reader{f: x.data}
		mine := map[key]*Cell{}
		var list []link
		for _, b := range blocks[i*piece : min((i+1)*piece, len(blocks))] {
			err := cmp.Or(ctx.Err(), read(&r, b, &list, decodeLinks))
			if err != nil {
				mu.Lock()
				first = cmp.Or(first, err)
				mu.Unlock()
				return
			}
			for k := range list {
				l := &list[k]
				if l.kind != Message || l.unsent || l.start < from || l.start >= to {
					continue
				}
				c := mine[key{l.source, l.destination}]
				if c == nil {
					c = &Cell{Min: math.MaxInt64, Max: math.MinInt64}
					mine[key{l.source, l.destination}] = c
				}
				c.Count++
				c.Bytes += l.bytes
				if !l.alone {
					c.Matched++
					c.MatchedBytes += l.bytes
					d := l.end - l.start
					c.Min, c.Max = min(c.Min, d), max(c.Max, d)
					c.Sum.Add(d)
				}
			}
		}
		mu.Lock()
		defer mu.Unlock()
		for k, c := range mine {
			if o := all[k]; o != nil {
				o.add(c)
			} else {
				all[k] = c
			}
		}
	})
	if first != nil {
		return nil, first
	}
	track := x.trackOf()
	byTrack := map[[2]int]*Cell{}
	for k, c := range all {
		c.Source, c.Destination = track(k.source), track(k.destination)
		if o := byTrack[[2]int{c.Source, c.Destination}]; o != nil {
			o.add(c)
		} else {
			byTrack[[2]int{c.Source, c.Destination}] = c
		}
	}
	var out []Cell
	for _, c := range byTrack {
		if c.Matched == 0 {
			c.Min, c.Max = 0, 0
		}
		out = append(out, *c)
	}
	slices.SortFunc(out, func(a, b Cell) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Destination, b.Destination))
	})
	return out, nil
}
