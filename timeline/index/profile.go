package index

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
)

// Sum is what the visits of a region come to in a window.
type Sum struct {
	Region uint32 // NoRef for none
	// Count is the visits that have a part in the window.
	Count int64
	// Inclusive is the time in which the region was open, Exclusive that in which it was
	// the innermost one.
	Inclusive, Exclusive int64
}

// Profile sums up the visits of a track from a time to before another, by region. It is
// exact; it reads the sums of the blocks in the window, and the spans of those at its ends.
func (x *Index) Profile(track int, from, to int64) ([]Sum, error) {
	if track < 0 || track >= len(x.dir.Tracks) || from > to {
		return nil, fmt.Errorf("profile of track %d from %d to %d: found no such part", track, from, to)
	}
	e := x.dir.Tracks[track]
	t := tally{}
	r := reader{f: x.f}
	// What has been up to a time is what has ended in blocks before, and a part of one; so
	// the window is the blocks between, and the parts of two.
	i := sort.Search(len(e.Blocks), func(i int) bool { return e.Blocks[i].Last >= from })
	j := sort.Search(len(e.Blocks), func(i int) bool { return e.Blocks[i].Last >= to })
	var b spanBlock
	for k := i; k < j; k++ {
		if err := r.spans(&e.Blocks[k], &b); err != nil {
			return nil, err
		}
		for _, s := range b.sums {
			c := t.at(s.region)
			c.Count += s.count
			c.Inclusive += s.inclusive
			c.Exclusive += s.exclusive
		}
	}
	if err := x.upTo(&r, e, i, from, -1, t); err != nil {
		return nil, err
	}
	if err := x.upTo(&r, e, j, to, 1, t); err != nil {
		return nil, err
	}
	var out []Sum
	for _, c := range t {
		if c.Count != 0 {
			out = append(out, *c)
		}
	}
	slices.SortFunc(out, func(a, b Sum) int { return cmp.Compare(a.Region+1, b.Region+1) })
	return out, nil
}

// tally is sums by region.
type tally map[uint32]*Sum

func (t tally) at(region uint32) *Sum {
	s := t[region]
	if s == nil {
		s = &Sum{Region: region}
		t[region] = s
	}
	return s
}

// moment is an enter or leave of a replay.
type moment struct {
	time  int64
	frame int
	leave bool
}

// upTo adds, or takes away, what block i has up to a time: the spans that end before it,
// and the parts before it of those that are open then.
func (x *Index) upTo(r *reader, e *trackEntry, i int, at int64, sign int64, t tally) error {
	if i == len(e.Blocks) {
		return nil // all has ended before
	}
	var frames []open
	since := e.First
	if i > 0 {
		var before spanBlock
		if err := r.spans(&e.Blocks[i-1], &before); err != nil {
			return err
		}
		frames = before.open
		since = e.Blocks[i-1].Last
	}
	var b spanBlock
	if err := r.spans(&e.Blocks[i], &b); err != nil {
		return err
	}
	// The frames that were open ahead of the block come first, in their order; the spans
	// and what is open behind the block are told from them by their begins and depths.
	known := map[[2]int64]int{}
	for k, f := range frames {
		known[[2]int64{f.start, int64(f.depth)}] = k
	}
	old := len(frames)
	var moments []moment
	add := func(o open, end int64, ends bool) {
		k, ok := known[[2]int64{o.start, int64(o.depth)}]
		if !ok || frames[k].region != o.region {
			k = len(frames)
			o.exclusive = 0
			frames = append(frames, o)
			moments = append(moments, moment{o.start, k, false})
		} else {
			frames[k].recursive = o.recursive
			delete(known, [2]int64{o.start, int64(o.depth)})
		}
		if ends {
			moments = append(moments, moment{end, k, true})
		}
	}
	for k, s := range b.spans {
		add(open{start: s.Start, region: s.Region, depth: s.Depth, recursive: b.recursive[k]}, s.End, true)
	}
	for _, o := range b.open {
		add(o, 0, false)
	}
	// At one time the order does not change any sum, and no frame ends before it begins.
	slices.SortStableFunc(moments, func(a, b moment) int { return cmp.Compare(a.time, b.time) })
	var stack []int
	for k := range old {
		stack = append(stack, k)
	}
	ended := make([]bool, len(frames))
	begun := make([]bool, len(frames))
	for k := range old {
		begun[k] = true
	}
	pass := func(now int64) {
		if n := len(stack); n > 0 {
			frames[stack[n-1]].exclusive += now - since
		}
		since = now
	}
	for _, m := range moments {
		// A leave at the time itself comes behind it.
		if m.time >= at {
			break
		}
		pass(m.time)
		if !m.leave {
			begun[m.frame] = true
			stack = append(stack, m.frame)
			slices.SortStableFunc(stack, func(a, b int) int { return cmp.Compare(frames[a].depth, frames[b].depth) })
			continue
		}
		stack = slices.DeleteFunc(stack, func(k int) bool { return k == m.frame })
		ended[m.frame] = true
		f := &frames[m.frame]
		c := t.at(f.region)
		c.Count += sign
		c.Exclusive += sign * f.exclusive
		if !f.recursive {
			c.Inclusive += sign * (m.time - f.start)
		}
	}
	if since < at {
		pass(at)
	}
	for k, f := range frames {
		if !begun[k] || ended[k] || f.start >= at {
			continue
		}
		c := t.at(f.region)
		if sign > 0 {
			c.Count++ // what is open at the begin is counted where it ends
		}
		c.Exclusive += sign * f.exclusive
		if !f.recursive {
			c.Inclusive += sign * (at - f.start)
		}
	}
	return nil
}
