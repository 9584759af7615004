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

// Sum holds the sums of the spans of a region in a window.
type Sum struct {
	Region uint32 // index into Regions; NoRef if the spans have no region
	// Count is the number of spans that overlap the window.
	Count int64
	// Inclusive is the time in ticks in which the region was open. Exclusive is the time in which it was the
	// innermost open region. For claims and operations, both are the sum of the durations.
	Inclusive, Exclusive trace.Ticks
	// Sum is the sum of the durations of the spans inside of the window, including spans inside of
	// other spans of the region. The mean duration is Sum divided by Count.
	Sum trace.Ticks
	// Min and Max are the shortest and the longest duration of a span inside of the window, in ticks.
	Min, Max int64
}

// Profile returns the sums of the spans of a track for the times [from, to), in the order of the regions. The
// sums are exact and equal the results of package analysis/profile. Profile reads the sums of the blocks in
// the window, and the spans of the blocks at its ends.
func (ix *Index) Profile(track int, from, to int64) ([]Sum, error) {
	e, err := ix.track(track, from, to)
	if err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}
	w := ix.scratch()
	defer scratches.Put(w)
	t := tallies.Get().(*tally)
	defer tallies.Put(t)
	t.reset(len(ix.dir.Regions))
	// The sums up to a time t consist of the sums of all blocks that end before t, and of the sums of the part
	// of the next block before t. Therefore the sums of a window need only the blocks between its ends, and
	// parts of the two blocks at its ends.
	i := sort.Search(len(e.blocks), func(i int) bool { return e.blocks[i].last >= from })
	j := sort.Search(len(e.blocks), func(i int) bool { return !trace.Before(e.blocks[i].last, to) })
	visits := e.Kind == LocationTrack
	first := i
	if visits {
		// Spans that end at or before the begin of the window do not belong to it.
		i += sort.Search(len(e.blocks)-i, func(k int) bool { return e.blocks[i+k].last > from })
		// The last block has no stored sums. The sums of its part up to a time are computed from its spans.
		i, j = min(i, e.summed()), min(j, e.summed())
	}
	b := &w.b
	held := -1 // index of the block that b contains
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
		// Spans without duration at the begin of the window belong to it.
		for k := first; k < i; k++ {
			if err := load(k); err != nil {
				return nil, err
			}
			for _, s := range b.spans {
				if s.Start == from && s.End == from {
					c := t.at(s.Region)
					c.Count++
					c.addLength(0)
				}
			}
		}
	}
	var sums sumReader
	for k := i; k < j; k++ {
		// If the window cuts spans of the block, the durations of these spans in the window are shorter than
		// the sums of the block state.
		cut := e.blocks[k].first <= from
		if visits || !cut && k < e.summed() {
			list, err := sums.read(&w.reader, e, k)
			if err != nil {
				return nil, err
			}
			t.addSums(list, !cut)
		}
		if !cut && (visits || k < e.summed()) {
			continue
		}
		if err := load(k); err != nil {
			return nil, err
		}
		t.addClipped(b.spans, from, to, visits)
	}
	if j < len(e.blocks) {
		if err := load(j); err != nil {
			return nil, err
		}
		t.addClipped(b.spans, from, to, visits)
		for _, o := range b.open {
			if trace.Before(o.start, to) {
				t.addClipped([]Span{o.span(math.MaxInt64)}, from, to, visits)
			}
		}
	}
	if visits {
		// The last block comes first because b already contains it.
		if err := addUpTo(w, e, j, to, 1, t, load); err != nil {
			return nil, err
		}
		if err := addUpTo(w, e, i, from, -1, t, load); err != nil {
			return nil, err
		}
	}
	return t.sorted(), nil
}

// Profiles returns the [Index.Profile] of several tracks. It uses all cores.
func (ix *Index) Profiles(ctx context.Context, tracks []int, from, to int64) ([][]Sum, error) {
	out, errs := make([][]Sum, len(tracks)), make([]error, len(tracks))
	forEach(len(tracks), func(i int) {
		if errs[i] = ctx.Err(); errs[i] == nil {
			out[i], errs[i] = ix.Profile(tracks[i], from, to)
		}
	})
	return out, cmp.Or(errs...)
}

// summed returns the number of blocks with stored sums. The last block has no stored sums.
func (e *trackEntry) summed() (n int) {
	for _, b := range e.sums {
		n += int(b.n)
	}
	return n
}

// sumReader reads the sums of blocks in order.
type sumReader struct {
	group int // 1 + the number of the group of blocks whose sums are in lists; 0 if lists is empty
	lists [][]sum
}

// read returns the sums of a block. They are valid until the next call.
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

// tally adds up the visits of each region.
type tally struct {
	list []regionSum
	// 1 + the index in list of each region; indexed by region plus 1; the first element is for NoRef
	slot []int32
	// like slot, for undefined regions, to which only a damaged index refers; indexed by region
	others map[uint32]int32
}

// regionSum is the sum of a region in a tally.
type regionSum struct{ Sum }

// tallies holds tallies that are not in use, for reuse by further queries.
var tallies = sync.Pool{New: func() any { return &tally{} }}

// reset empties the tally for an index with the given number of regions.
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
	t.list, t.others = t.list[:0], nil
}

// at returns the sum of a region. It is valid until the next call.
func (t *tally) at(region uint32) *regionSum {
	i := int(region + 1)
	k := int32(0)
	if i < len(t.slot) {
		k = t.slot[i]
	} else {
		k = t.others[region]
	}
	if k > 0 {
		return &t.list[k-1]
	}
	t.list = append(t.list, regionSum{Sum{Region: region, Min: math.MaxInt64}})
	k = int32(len(t.list))
	if i < len(t.slot) {
		t.slot[i] = k
	} else {
		if t.others == nil {
			t.others = map[uint32]int32{}
		}
		t.others[region] = k
	}
	return &t.list[k-1]
}

// addSums adds the stored sums of a block. extremes is set if the window contains each span of the
// block completely. Only then do the shortest and the longest duration of the block apply to the
// window.
func (t *tally) addSums(list []sum, extremes bool) {
	for _, s := range list {
		c := t.at(s.region)
		c.Count += s.count
		c.Inclusive = c.Inclusive.Plus(s.inclusive)
		c.Sum.Sum = c.Sum.Sum.Plus(s.inclusive).Plus(s.nested)
		c.Exclusive = c.Exclusive.Plus(s.exclusive)
		if extremes {
			c.addLength(s.min)
			c.addLength(s.max)
		}
	}
}

// sorted returns the sums of regions that have spans, in the order of the regions.
func (t *tally) sorted() []Sum {
	out := slices.Grow([]Sum(nil), len(t.list))
	for _, c := range t.list {
		if c.Count != 0 {
			c.Min = max(c.Min, 0)
			out = append(out, c.Sum)
		}
	}
	slices.SortFunc(out, func(a, b Sum) int { return cmp.Compare(a.Region+1, b.Region+1) })
	return out
}

// addLength updates the extremes with the duration of a span.
func (s *regionSum) addLength(n int64) { s.Min, s.Max = min(s.Min, n), max(s.Max, n) }

// addClipped adds the spans that overlap a window, with their durations inside of it. If nested is set,
// it only updates the shortest and the longest duration; addUpTo adds the rest.
func (t *tally) addClipped(l []Span, from, to int64, nested bool) {
	for _, s := range l {
		if s.End <= from && s.Start < from || !trace.Before(s.Start, to) {
			continue
		}
		n := min(s.End, to) - max(s.Start, from)
		c := t.at(s.Region)
		c.addLength(n)
		if !nested {
			c.Count++
			c.Inclusive.Add(n)
			c.Exclusive.Add(n)
			c.Sum.Sum.Add(n)
		}
	}
}

// replayEvent is an enter or leave that addDisordered replays.
type replayEvent struct {
	time  int64
	frame int
	leave bool
}

// hasBegun reports whether a span that begins at start counts in the sums up to the time at. If sign is
// negative, at is the begin of a window. Otherwise at is the end of the window. If that end is math.MaxInt64,
// the last tick also counts.
func hasBegun(start, at, sign int64) bool { return start < at || sign > 0 && trace.Before(start, at) }

// addUpTo adds the sums of block i up to a time, multiplied by sign (1 or −1). These are the sums over the
// spans of the block that end before the time. For spans that are open at the time, the part before the time
// counts. load reads a block into w.b.
func addUpTo(w *scratch, e *trackEntry, i int, at int64, sign int64, t *tally, load func(int) error) error {
	if i == len(e.blocks) || !hasBegun(e.First, at, sign) {
		return nil // all spans end before the time, or no span has begun
	}
	var frames []openSpan
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
	if properlyNested(frames, &w.b) {
		t.addNested(frames, since, &w.b, at, sign)
	} else {
		t.addDisordered(frames, since, &w.b, at, sign)
	}
	return nil
}

// properlyNested reports whether each span of a block ends before the spans around it, and has the depth of
// the span directly around it plus one.
func properlyNested(frames []openSpan, b *spanBlock) bool {
	for i := range frames {
		if int(frames[i].level) != i {
			return false
		}
	}
	// ends holds the last end at each depth, from depth 0 to the depth of the last span.
	var ends [DeepDepth + 1]struct {
		depth uint8
		end   int64
	}
	n := 0
	// begins holds, for each depth, the begin of the first span whose parent has not been found yet. last is
	// the depth of the last span. The next span is a parent or a sibling of the last span, or is deeper.
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

// addNested adds the sums of a block of properly nested spans up to a time, multiplied by sign. The
// exclusive time of a span is its duration minus the durations of its direct children, which
// precede it in the block.
func (t *tally) addNested(frames []openSpan, since int64, b *spanBlock, at, sign int64) {
	// for each depth, the durations of the spans whose parent has not been found yet
	var below [DeepDepth + 2]int64
	for i, f := range frames {
		below[i+1] = since - f.start - f.exclusive
		if i+1 < len(frames) {
			below[i+1] -= since - frames[i+1].start
		}
	}
	var c *regionSum
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
		if !hasBegun(s.Start, at, sign) {
			continue
		}
		add(s.Start, min(s.End, at), s.Region, s.Depth, b.recursive[i])
		if s.End <= at || sign > 0 { // a span that is open at the begin of the window counts where it ends
			c.Count += sign
		}
	}
	for i := len(b.open) - 1; i >= 0; i-- {
		o := &b.open[i]
		if !hasBegun(o.start, at, sign) {
			continue
		}
		add(o.start, at, o.region, o.depth(), o.recursive)
		if sign > 0 {
			c.Count++
		}
	}
}

// addDisordered adds the same sums as addNested, but allows spans that end in any order. It replays the enters
// and leaves in time order.
func (t *tally) addDisordered(frames []openSpan, since int64, b *spanBlock, at, sign int64) {
	// The frames that were open before the block come first, in their order. Spans, and frames that are open
	// after the block, are matched with these frames by begin, depth and region. Among equal frames, the
	// innermost ends first.
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
	var moments []replayEvent
	var over []int // indexes of the frames that end exactly at the time
	begin := since
	add := func(o openSpan, end int64, ends bool) {
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
			if hasBegun(o.start, at, sign) {
				moments = append(moments, replayEvent{o.start, k, false})
			}
		}
		if ends && end < at { // an end exactly at the time comes after the time
			moments = append(moments, replayEvent{end, k, true})
		} else if ends && end == at && o.start < at && sign < 0 {
			over = append(over, k)
		}
	}
	level := b.levels()
	for k := range b.spans {
		s := &b.spans[k]
		add(openSpan{start: s.Start, region: s.Region, level: level(s), recursive: b.recursive[k]}, s.End, true)
	}
	for _, o := range b.open {
		add(o, 0, false)
	}
	sortMoments(moments, frames)
	stack := make([]int, old)
	begun := make([]bool, len(frames))
	for k := range old {
		stack[k], begun[k] = k, true
	}
	ended := make([]bool, len(frames))
	// A frame that ends in the middle of the stack remains there until it is on top.
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
		if begun[k] && !ended[k] && hasBegun(f.start, at, sign) {
			t.addOpen(&f, at, sign)
		}
	}
}

// addOpen adds a span that is open at the time at. Its time up to at counts, multiplied by sign.
func (t *tally) addOpen(f *openSpan, at, sign int64) {
	c := t.at(f.region)
	if sign > 0 {
		c.Count++ // a span that is open at the begin of the window counts where it ends
	}
	c.Exclusive.Add(sign * f.exclusive)
	c.Sum.Sum.Add(sign * (at - f.start))
	if !f.recursive {
		c.Inclusive.Add(sign * (at - f.start))
	}
}

// sortMoments sorts enters and leaves by time. At equal times, enters come before leaves, and the enter
// of the innermost frame comes last. Leaves at the same time keep their order, in which a frame comes
// after those inside of it.
func sortMoments(moments []replayEvent, frames []openSpan) {
	slices.SortStableFunc(moments, func(a, b replayEvent) int {
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
}
