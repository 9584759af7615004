package index

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sort"
	"sync"

	"github.com/weft-trace/weft/trace"
)

// Sum is what the spans of a region come to in a window.
type Sum struct {
	Region uint32 // NoRef for none
	// Count is the spans that have a part in the window.
	Count int64
	// Inclusive is the time in which the region was open, Exclusive that in which it was
	// the innermost one. Of claims and operations both are their lengths added up.
	Inclusive, Exclusive trace.Ticks
	// Sum is the parts that the spans have in the window added up, those inside of others of
	// the region too. Sum / Count is the mean.
	Sum trace.Ticks
	// Min and Max are the shortest and the longest part that a span has in the window.
	Min, Max int64
}

// Profile sums up the spans of a track from a time to before another, by region, in the
// order of the regions. It is exact, as analysis/profile has it; it reads the sums of the
// blocks in the window, and the spans of those at its ends.
func (x *Index) Profile(track int, from, to int64) ([]Sum, error) {
	e, err := x.track(track, from, to)
	if err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}
	w := x.scratch()
	defer scratches.Put(w)
	t := tallies.Get().(*tally)
	defer tallies.Put(t)
	t.reset(len(x.dir.Regions))
	// What has been up to a time is what has ended in blocks before, and a part of one; so
	// the window is the blocks between, and the parts of two.
	i := sort.Search(len(e.blocks), func(i int) bool { return e.blocks[i].last >= from })
	j := sort.Search(len(e.blocks), func(i int) bool { return e.blocks[i].last >= to })
	visits := e.Kind == LocationTrack
	first := i
	if visits {
		// What has ended by the begin of the window is not in it.
		i += sort.Search(len(e.blocks)-i, func(k int) bool { return e.blocks[i+k].last > from })
		// Of the last block there are no sums; what it has is what has been up to any time
		// behind it.
		i, j = min(i, e.summed()), min(j, e.summed())
	}
	b := &w.b
	held := -1 // the block that b has
	load := func(k int) error {
		if held == k {
			return nil
		}
		held = -1
		err := w.decode(&e.blocks[k], b.decode)
		if err == nil {
			held = k
		}
		return err
	}
	if visits {
		// But what has no length and is there.
		for k := first; k < i; k++ {
			if err := load(k); err != nil {
				return nil, err
			}
			for _, s := range b.spans {
				if s.Start == from && s.End == from {
					c := t.at(s.Region)
					c.Count++
					c.length(0)
				}
			}
		}
	}
	var sums sumReader
	for k := i; k < j; k++ {
		// A block with spans that are cut has shorter ones than its sums say.
		cut := e.blocks[k].first <= from
		if visits || !cut && k < e.summed() {
			list, err := sums.read(&w.reader, e, k)
			if err != nil {
				return nil, err
			}
			for _, s := range list {
				c := t.at(s.region)
				c.Count += s.count
				c.Inclusive = c.Inclusive.Plus(s.inclusive)
				c.Sum.Sum = c.Sum.Sum.Plus(s.inclusive).Plus(s.nested)
				c.Exclusive = c.Exclusive.Plus(s.exclusive)
				if !cut {
					c.length(s.min)
					c.length(s.max)
				}
			}
		}
		if !cut && (visits || k < e.summed()) {
			continue
		}
		if err := load(k); err != nil {
			return nil, err
		}
		t.cut(b.spans, from, to, visits)
	}
	if j < len(e.blocks) {
		if err := load(j); err != nil {
			return nil, err
		}
		t.cut(b.spans, from, to, visits)
		for _, o := range b.open {
			if o.start < to {
				t.cut([]Span{o.span(math.MaxInt64)}, from, to, visits)
			}
		}
	}
	if visits {
		// The last block first: it has been read just now.
		if err := upTo(w, e, j, to, 1, t, load); err != nil {
			return nil, err
		}
		if err := upTo(w, e, i, from, -1, t, load); err != nil {
			return nil, err
		}
	}
	out := slices.Grow([]Sum(nil), len(t.list))
	for _, c := range t.list {
		if c.Count != 0 {
			c.Min = max(c.Min, 0)
			out = append(out, c.Sum)
		}
	}
	slices.SortFunc(out, func(a, b Sum) int { return cmp.Compare(a.Region+1, b.Region+1) })
	return out, nil
}

// Profiles is [Index.Profile] of several tracks, made on all cores.
func (x *Index) Profiles(ctx context.Context, tracks []int, from, to int64) ([][]Sum, error) {
	out, errs := make([][]Sum, len(tracks)), make([]error, len(tracks))
	each(len(tracks), func(i int) {
		if errs[i] = ctx.Err(); errs[i] == nil {
			out[i], errs[i] = x.Profile(tracks[i], from, to)
		}
	})
	return out, cmp.Or(errs...)
}

// summed is how many blocks there are sums of.
func (e *trackEntry) summed() (n int) {
	for _, b := range e.sums {
		n += int(b.n)
	}
	return n
}

// sumReader reads the sums of blocks one after another.
type sumReader struct {
	group int // that has been read, and one
	lists [][]sum
}

func (s *sumReader) read(r *reader, e *trackEntry, block int) ([]sum, error) {
	g := block / blockSums
	if g >= len(e.sums) {
		return nil, fmt.Errorf("%w: found no sums of block %d", ErrDamaged, block)
	}
	if s.group != g+1 {
		err := r.decode(&e.sums[g], func(raw []byte) error {
			c := columns{b: raw}
			s.lists = s.lists[:0]
			for range e.sums[g].n {
				s.lists = append(s.lists, c.sums(nil))
			}
			return c.end()
		})
		if err != nil {
			return nil, err
		}
		s.group = g + 1
	}
	return s.lists[block%blockSums], nil
}

// tally is sums by region.
type tally struct {
	list []entry
	slot []int32          // of a region in list, and one: of none first, then those of the index
	odd  map[uint32]int32 // the same of others, which a damaged index may have
}

type entry struct{ Sum }

// tallies are used again and again.
var tallies = sync.Pool{New: func() any { return &tally{} }}

// reset makes it empty, for an index with some regions.
func (t *tally) reset(regions int) {
	if len(t.slot) == regions+1 {
		for _, s := range t.list {
			if i := int(s.Region + 1); i < len(t.slot) {
				t.slot[i] = 0
			}
		}
	} else {
		t.slot = make([]int32, regions+1)
	}
	t.list, t.odd = t.list[:0], nil
}

// at is the sum of a region, good until the next call.
func (t *tally) at(region uint32) *entry {
	i := int(region + 1)
	k := int32(0)
	if i < len(t.slot) {
		k = t.slot[i]
	} else {
		k = t.odd[region]
	}
	if k > 0 {
		return &t.list[k-1]
	}
	t.list = append(t.list, entry{Sum{Region: region, Min: math.MaxInt64}})
	k = int32(len(t.list))
	if i < len(t.slot) {
		t.slot[i] = k
	} else {
		if t.odd == nil {
			t.odd = map[uint32]int32{}
		}
		t.odd[region] = k
	}
	return &t.list[k-1]
}

// length notes the length of a span.
func (s *entry) length(n int64) { s.Min, s.Max = min(s.Min, n), max(s.Max, n) }

// cut notes the lengths of spans in a window; those of visits are summed up elsewhere.
func (t *tally) cut(l []Span, from, to int64, nested bool) {
	for _, s := range l {
		if s.End <= from && s.Start < from || s.Start >= to {
			continue
		}
		n := min(s.End, to) - max(s.Start, from)
		c := t.at(s.Region)
		c.length(n)
		if !nested {
			c.Count++
			c.Inclusive.Add(n)
			c.Exclusive.Add(n)
			c.Sum.Sum.Add(n)
		}
	}
}

// moment is an enter or leave of a replay.
type moment struct {
	time  int64
	frame int
	leave bool
}

// upTo adds, or takes away, what block i has up to a time: the spans that end before it,
// and the parts before it of those that are open then.
func upTo(w *scratch, e *trackEntry, i int, at int64, sign int64, t *tally, load func(int) error) error {
	if i == len(e.blocks) || at <= e.First {
		return nil // all has ended before, or nothing has begun
	}
	var frames []open
	since := e.First
	if i > 0 {
		if err := w.decode(&e.blocks[i-1], w.before.decode); err != nil {
			return err
		}
		frames = w.before.open
		since = e.blocks[i-1].last
	}
	if err := load(i); err != nil {
		return err
	}
	if nested(frames, &w.b) {
		t.tree(frames, since, &w.b, at, sign)
	} else {
		t.replay(frames, since, &w.b, at, sign)
	}
	return nil
}

// nested reports whether spans end before those that they are in, and their depths tell
// which these are.
func nested(frames []open, b *spanBlock) bool {
	for i := range frames {
		if int(frames[i].level) != i {
			return false
		}
	}
	// The last end at each lower depth, of those that are not deeper than a later one.
	var ends [DeepDepth + 1]struct {
		depth uint8
		end   int64
	}
	n := 0
	// Where the first one of a depth begins that is in none yet, and the depth of the last
	// one: what comes next is around it, beside it, or deeper.
	var begins [DeepDepth + 2]int64
	for i := range begins {
		begins[i] = math.MaxInt64
	}
	last := 0
	in := func(depth uint8, start, end int64) bool {
		for n > 0 && ends[n-1].depth >= depth {
			n--
		}
		d := int(depth)
		if d == DeepDepth || n > 0 && ends[n-1].end > start || d < last-1 || begins[d+1] < start {
			return false
		}
		begins[d+1], begins[d] = math.MaxInt64, min(begins[d], start)
		last = d
		ends[n].depth, ends[n].end = depth, end
		n++
		return true
	}
	for i := range b.spans {
		if s := &b.spans[i]; !in(s.Depth, s.Start, s.End) {
			return false
		}
	}
	for i := len(b.open) - 1; i >= 0; i-- {
		if o := &b.open[i]; int(o.level) != i || !in(o.depth(), o.start, math.MaxInt64) {
			return false
		}
	}
	return len(b.open) > 0 || last == 0
}

// tree adds what a block of nested spans has up to a time: a span was the innermost one for
// its time less that of those directly in it, which come before it.
func (t *tally) tree(frames []open, since int64, b *spanBlock, at, sign int64) {
	var below [DeepDepth + 2]int64 // what spans of a depth come to that are in none yet
	for i, f := range frames {
		below[i+1] = since - f.start - f.exclusive
		if i+1 < len(frames) {
			below[i+1] -= since - frames[i+1].start
		}
	}
	var c *entry
	add := func(start, end int64, region uint32, depth uint8, recursive bool) {
		n := end - start
		exclusive := n - below[int(depth)+1]
		below[int(depth)+1] = 0
		below[depth] += n
		if c == nil || c.Region != region {
			c = t.at(region)
		}
		c.Exclusive.Add(sign * exclusive)
		c.Sum.Sum.Add(sign * n)
		if !recursive {
			c.Inclusive.Add(sign * n)
		}
	}
	for i := range b.spans {
		s := &b.spans[i]
		if s.Start >= at {
			continue
		}
		add(s.Start, min(s.End, at), s.Region, s.Depth, b.recursive[i])
		if s.End <= at || sign > 0 { // what is open at the begin is counted where it ends
			c.Count += sign
		}
	}
	for i := len(b.open) - 1; i >= 0; i-- {
		o := &b.open[i]
		if o.start >= at {
			continue
		}
		add(o.start, at, o.region, o.depth(), o.recursive)
		if sign > 0 {
			c.Count++
		}
	}
}

// replay is tree for spans that end in any order.
func (t *tally) replay(frames []open, since int64, b *spanBlock, at, sign int64) {
	// The frames that were open ahead of the block come first, in their order; the spans
	// and what is open behind the block are told from them by their begins, depths and
	// regions. Of those alike, the innermost one ends first.
	type mark struct {
		start  int64
		level  uint32
		region uint32
	}
	known := map[mark][]int{}
	for k, f := range frames {
		m := mark{f.start, f.level, f.region}
		known[m] = append(known[m], k)
	}
	old := len(frames)
	var moments []moment
	var over []int // that end at the time itself
	begin := since
	add := func(o open, end int64, ends bool) {
		m := mark{o.start, o.level, o.region}
		var k int
		var l []int
		if o.start <= begin {
			l = known[m]
		}
		if len(l) > 0 {
			k = l[len(l)-1]
			known[m] = l[:len(l)-1]
			frames[k].recursive = o.recursive
		} else {
			k = len(frames)
			o.exclusive = 0
			frames = append(frames, o)
			if o.start < at {
				moments = append(moments, moment{o.start, k, false})
			}
		}
		if ends && end < at { // an end at the time itself comes behind it
			moments = append(moments, moment{end, k, true})
		} else if ends && end == at && o.start < at && sign < 0 {
			over = append(over, k)
		}
	}
	level := b.levels()
	for k := range b.spans {
		s := &b.spans[k]
		add(open{start: s.Start, region: s.Region, level: level(s), recursive: b.recursive[k]}, s.End, true)
	}
	for _, o := range b.open {
		add(o, 0, false)
	}
	// At one time the order changes no sum, if no frame ends before it begins, and the
	// innermost begins last: what is around it ends behind it, and so is found later.
	slices.SortStableFunc(moments, func(a, b moment) int {
		switch {
		case a.time != b.time:
			return cmp.Compare(a.time, b.time)
		case a.leave != b.leave:
			if b.leave {
				return -1
			}
			return 1
		case a.leave:
			return 0
		}
		return cmp.Or(cmp.Compare(frames[a.frame].level, frames[b.frame].level), cmp.Compare(b.frame, a.frame))
	})
	stack := make([]int, old)
	begun := make([]bool, len(frames))
	for k := range old {
		stack[k], begun[k] = k, true
	}
	ended := make([]bool, len(frames))
	// What has ended in the middle of the stack stays there until it is on top.
	pass := func(now int64) {
		if n := len(stack); n > 0 {
			frames[stack[n-1]].exclusive += now - since
		}
		since = now
	}
	for _, m := range moments {
		pass(m.time)
		if !m.leave {
			begun[m.frame] = true
			stack = append(stack, m.frame)
			continue
		}
		ended[m.frame] = true
		for n := len(stack) - 1; n >= 0 && ended[stack[n]]; n-- {
			stack = stack[:n]
		}
		f := &frames[m.frame]
		c := t.at(f.region)
		c.Count += sign
		c.Exclusive.Add(sign * f.exclusive)
		c.Sum.Sum.Add(sign * (m.time - f.start))
		if !f.recursive {
			c.Inclusive.Add(sign * (m.time - f.start))
		}
	}
	if since < at {
		pass(at)
	}
	for _, k := range over {
		t.at(frames[k].region).Count--
	}
	for k, f := range frames {
		if !begun[k] || ended[k] || f.start >= at {
			continue
		}
		c := t.at(f.region)
		if sign > 0 {
			c.Count++ // what is open at the begin is counted where it ends
		}
		c.Exclusive.Add(sign * f.exclusive)
		c.Sum.Sum.Add(sign * (at - f.start))
		if !f.recursive {
			c.Inclusive.Add(sign * (at - f.start))
		}
	}
}
