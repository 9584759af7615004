package index

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"

	"github.com/weft-trace/weft/trace"
)

// Link is a message, a dependency or a meeting of threads, or a bundle of several links between
// the same tracks at about the same time.
type Link struct {
	ID   string // "" for a bundle
	Kind LinkKind
	// name of a dependency: its attribute `type` or `name`; for threads: fork, join, create or wait
	Name                string
	Source, Destination int // tracks; -1 if the location has no track
	// Start and End are the times of the two ends. For a bundle, they are the earliest begin and the
	// latest end. If a message is received before it is sent, End is less than Start.
	Start, End   int64
	Unreceived   bool // set for a send without a receive; End then equals Start
	Unsent       bool // set for a receive without a send; Start then equals End, and Bytes is unknown
	Count, Bytes int64
	Tag          int64  // tag of a message, or id of a dependency
	Communicator string // name or id of the communicator
}

// LinkRequest is a query for the links of a window.
type LinkRequest struct {
	Tracks   []int // one end of each link must be in one of these tracks; nil selects all tracks
	From, To int64 // times in ticks; To is exclusive
	Limit    int   // largest number of links; 0 means 2000
}

// LinkSet holds the links that overlap a window.
type LinkSet struct {
	// Total is the number of links. It includes all links of a bundle, even those that lie outside of
	// the window.
	Total   int64
	Bundled bool // some Links are bundles
	Links   []Link
}

// trackOf returns a function that maps a location to its first track, or −1.
func (ix *Index) trackOf() func(location uint32) int {
	m := map[uint32]int{}
	for i, e := range ix.dir.Tracks {
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

// locations returns the set of the locations of tracks. For nil, which means all tracks, it returns
// nil.
func (ix *Index) locations(tracks []int) map[uint32]bool {
	if tracks == nil {
		return nil
	}
	m := map[uint32]bool{}
	for _, t := range tracks {
		if t >= 0 && t < len(ix.dir.Tracks) {
			m[ix.dir.Tracks[t].Location] = true
		}
	}
	return m
}

// maxLinks is the number of links or bundles that a query may read before it switches to bundles. Links are
// divided into spoolParts parts, and even for a short window, one or two blocks of each part must be read.
// With a lower limit, a query would return bundles for every window.
const maxLinks = 2 * spoolParts * blockLinks

// Links returns the links in a window, in the order of their begins. It leaves out sends without a receive. If
// there are too many links, it returns bundles. If there are too many bundles, it returns the bundles with the
// most links.
func (ix *Index) Links(ctx context.Context, q LinkRequest) (*LinkSet, error) {
	if q.Limit <= 0 {
		q.Limit = 2000
	}
	if q.From > q.To {
		return nil, fmt.Errorf("links: found a window from %d to %d, expected an end that is not before the begin",
			q.From, q.To)
	}
	in := func(b *blockEntry) bool { return b.last >= q.From && trace.Before(b.first, q.To) }
	cost := func(l []blockEntry) (n int64) {
		for i := range l {
			if in(&l[i]) {
				n += int64(l[i].n)
			}
		}
		return n
	}
	want := ix.locations(q.Tracks)
	wanted := func(source, destination uint32, start, end int64) bool {
		return trace.Before(min(start, end), q.To) && max(start, end) >= q.From &&
			(want == nil || want[source] || want[destination])
	}
	at := ix.trackOf()
	set := &LinkSet{}
	r := reader{f: ix.data}
	if len(ix.dir.linkLevels) == 0 || cost(ix.dir.links) <= maxLinks {
		var list []link
		for i := range ix.dir.links {
			if b := &ix.dir.links[i]; in(b) {
				if err := cmp.Or(ctx.Err(), read(&r, b, &list, decodeLinks)); err != nil {
					return nil, err
				}
				for k := range list {
					if l := &list[k]; !l.unpaired && wanted(l.source, l.destination, l.start, l.end) {
						set.Links = append(set.Links, ix.link(l, i, k, at))
					}
				}
			}
		}
	} else {
		level := 0
		for level+1 < len(ix.dir.linkLevels) && cost(ix.dir.linkLevels[level].blocks) > maxLinks {
			level++
		}
		var list []bundle
		for i := range ix.dir.linkLevels[level].blocks {
			if b := &ix.dir.linkLevels[level].blocks[i]; in(b) {
				if err := cmp.Or(ctx.Err(), read(&r, b, &list, decodeBundles)); err != nil {
					return nil, err
				}
				for _, l := range list {
					if wanted(l.source, l.destination, l.start, l.end) {
						set.Links = append(set.Links, Link{Source: at(l.source), Destination: at(l.destination), Start: l.start,
							End: l.end, Count: l.count, Bytes: l.bytes})
					}
				}
			}
		}
	}
	for i := range set.Links {
		set.Total += set.Links[i].Count
	}
	set.bundle(&q)
	return set, nil
}

// link returns link k of a block.
func (ix *Index) link(l *link, block, k int, at func(uint32) int) Link {
	out := Link{ID: strconv.Itoa(block) + "." + strconv.Itoa(k), Kind: l.kind, Name: ix.name(l.name),
		Source: at(l.source), Destination: at(l.destination),
		Start: l.start, End: l.end, Unreceived: l.unpaired && !l.unsent, Unsent: l.unsent, Count: 1, Bytes: l.bytes,
		Tag: l.tag}
	if int(l.comm) < len(ix.dir.Comms) {
		out.Communicator = ix.dir.Comms[l.comm]
	}
	return out
}

// bundle combines links into bundles if there are more than the limit. If there are still too many, it
// removes the bundles with the fewest links.
func (s *LinkSet) bundle(q *LinkRequest) {
	order := func(a, b Link) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Source, b.Source),
			cmp.Compare(a.Destination, b.Destination), cmp.Compare(a.Tag, b.Tag), cmp.Compare(a.End, b.End))
	}
	if len(s.Links) > q.Limit {
		// Bundles combine links between the same tracks that begin in the same 64th of the window.
		wide := max(1, (q.To-q.From)/64)
		bucket := func(l *Link) int64 { return floorDiv(max(l.Start, q.From)-q.From, wide) }
		slices.SortFunc(s.Links, func(a, b Link) int {
			return cmp.Or(cmp.Compare(bucket(&a), bucket(&b)), cmp.Compare(a.Source, b.Source),
				cmp.Compare(a.Destination, b.Destination), cmp.Compare(a.Kind, b.Kind), order(a, b))
		})
		n := 0
		for _, l := range s.Links {
			if n > 0 {
				o := &s.Links[n-1]
				if bucket(o) == bucket(&l) && o.Source == l.Source && o.Destination == l.Destination && o.Kind == l.Kind {
					*o = Link{Kind: o.Kind, Source: o.Source, Destination: o.Destination, Start: min(o.Start, l.Start),
						End: max(o.End, l.End), Count: o.Count + l.Count, Bytes: o.Bytes + l.Bytes}
					continue
				}
			}
			s.Links[n] = l
			n++
		}
		s.Links = s.Links[:n]
	}
	if len(s.Links) > q.Limit {
		// Among bundles with the same number of links, the hash makes a selection that is spread over the
		// whole window.
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

// hash returns a pseudo-random number for a link. It does not depend on the position of the link in a
// list.
func (l *Link) hash() uint64 {
	h := uint64(l.Start)*0x9e3779b97f4a7c15 ^ uint64(l.Source)*0xc2b2ae3d27d4eb4f ^
		uint64(l.Destination)*0x165667b19e3779f9 ^ uint64(l.Tag)
	h ^= h >> 29
	return h * 0xbf58476d1ce4e5b9
}

// LinksOf returns at most limit links that begin or end in a track in [from, to]. These include sends without
// a receive.
func (ix *Index) LinksOf(track int, from, to int64, limit int) ([]Link, error) {
	e, err := ix.track(track, from, to)
	if err != nil {
		return nil, fmt.Errorf("links: %w", err)
	}
	if e.Kind == CommunicatorTrack {
		return nil, nil
	}
	at := ix.trackOf()
	r := reader{f: ix.data}
	var out []Link
	var list []link
	for i := range ix.dir.links {
		b := &ix.dir.links[i]
		if b.last < from || b.first > to {
			continue
		}
		if err := read(&r, b, &list, decodeLinks); err != nil {
			return nil, err
		}
		for k := range list {
			l := &list[k]
			leaves, comes := l.source == e.Location && !l.unsent, l.destination == e.Location && (!l.unpaired || l.unsent)
			if leaves && from <= l.start && l.start <= to || comes && from <= l.end && l.end <= to {
				if out = append(out, ix.link(l, i, k, at)); len(out) == limit {
					return out, nil
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Link) int { return cmp.Compare(a.Start, b.Start) })
	return out, nil
}

// Cell holds the sums of the messages from one track to another.
type Cell struct {
	Source, Destination int   // tracks; -1 if the location has no track
	Count, Bytes        int64 // number and size of the messages that are sent in the window
	// Matched is the number of messages sent in the window that were received, in the window or later. Min,
	// Max and Sum are the minimum, maximum and sum of their latencies in ticks.
	Matched  int64
	Min, Max int64
	Sum      trace.Ticks
	// Received is the number of messages received in the window, whenever they were sent. ReceivedBytes is the
	// sum of their sizes, which are taken from their sends.
	Received, ReceivedBytes int64
}

// Mean returns the mean latency in ticks, rounded to the nearest tick. It returns 0 if no message was
// received.
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

// add adds the sums of another cell.
func (c *Cell) add(o *Cell) {
	c.Count, c.Bytes, c.Sum = c.Count+o.Count, c.Bytes+o.Bytes, c.Sum.Plus(o.Sum)
	c.Matched, c.Received, c.ReceivedBytes = c.Matched+o.Matched, c.Received+o.Received, c.ReceivedBytes+o.ReceivedBytes
	c.Min, c.Max = min(c.Min, o.Min), max(c.Max, o.Max)
}

// Matrix returns the sums of the messages that are sent or received in [from, to), in the order of sources and
// destinations. It reads all messages of that time. Messages to locations without a track, or to
// unknown destinations, share a cell for each source.
func (ix *Index) Matrix(ctx context.Context, from, to int64) ([]Cell, error) {
	type key struct{ source, destination uint32 }
	var blocks []*blockEntry
	for i := range ix.dir.links {
		if b := &ix.dir.links[i]; b.last >= from && trace.Before(b.first, to) {
			blocks = append(blocks, b)
		}
	}
	all := map[key]*Cell{}
	var mu sync.Mutex
	var first error
	const piece = 32
	forEach((len(blocks)+piece-1)/piece, func(i int) {
		r := reader{f: ix.data}
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
				sent := !l.unsent && l.start >= from && trace.Before(l.start, to)
				received := (l.unsent || !l.unpaired) && l.end >= from && trace.Before(l.end, to)
				if l.kind != Message || !sent && !received {
					continue
				}
				c := mine[key{l.source, l.destination}]
				if c == nil {
					c = &Cell{Min: math.MaxInt64, Max: math.MinInt64}
					mine[key{l.source, l.destination}] = c
				}
				if received {
					c.Received++
					c.ReceivedBytes += l.bytes
				}
				if !sent {
					continue
				}
				c.Count++
				c.Bytes += l.bytes
				if !l.unpaired {
					c.Matched++
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
	track := ix.trackOf()
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
