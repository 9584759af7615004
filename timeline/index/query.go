package index

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/weft-trace/weft/trace"
)

// SpanAt returns the span of a track and depth that is open at a time, or a span without duration
// at that time. ok is false if there is no such span.
func (ix *Index) SpanAt(track, depth int, at int64) (s Span, ok bool, err error) {
	e, err := ix.track(track, at, at)
	if err != nil {
		return s, false, fmt.Errorf("span: %w", err)
	}
	r := reader{f: ix.data}
	var b spanBlock
	for i := sort.Search(len(e.blocks), func(i int) bool { return e.blocks[i].last >= at }); i < len(e.blocks); i++ {
		if err := r.decode(&e.blocks[i], b.decode); err != nil {
			return s, false, err
		}
		for _, y := range b.spans {
			if int(y.Depth) == depth && y.Start <= at && (at < y.End || y.Start == y.End && at == y.End) {
				s, ok = y, true // a later span takes precedence over a span without duration
				if y.Start < y.End {
					return s, true, nil
				}
			}
		}
		if e.blocks[i].last == at {
			continue // later blocks may also contain such a span
		}
		if ok {
			return s, true, nil
		}
		for _, o := range b.open {
			if int(o.depth()) == depth && o.start <= at {
				end, err := ix.endOf(&r, e, i, &o)
				return o.span(end), true, err
			}
		}
		break
	}
	return s, ok, nil
}

// endOf returns the end of a span that is open after a block. The first later block after which the span is no
// longer open contains the end.
func (ix *Index) endOf(r *reader, e *trackEntry, block int, o *openSpan) (int64, error) {
	var b spanBlock
	var err error
	same := func(p openSpan) bool { return p.start == o.start && p.level == o.level && p.region == o.region }
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

// Edge returns the begin or end of a span that is nearest to a time, at a distance of at most within ticks. If
// two edges are equally near, it returns the earlier edge. It considers spans of the depths from depth to
// depth+depths−1. ok is false if there is no such edge.
func (ix *Index) Edge(ctx context.Context, track, depth, depths int, at, within int64) (edge int64, ok bool,
	err error) {
	e, err := ix.track(track, at, at)
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
	r := reader{f: ix.data}
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
	// A span that begins in a block and ends in a later block is open after the first of these blocks.
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

// Enclosing returns the spans around a span of a track, with the outermost span first.
func (ix *Index) Enclosing(track int, s Span) ([]Span, error) {
	var out []Span
	for d := range int(s.Depth) {
		o, ok, err := ix.SpanAt(track, d, s.Start)
		if err == nil && !ok && s.Start == s.End && s.Start > math.MinInt64 {
			// A span without duration may lie at the end of the spans around it.
			o, ok, err = ix.SpanAt(track, d, s.Start-1)
			ok = ok && o.End == s.Start
		}
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, o)
		}
	}
	return out, nil
}

// Find returns the first span of a region in a track that begins after a time. If forward is false, it returns
// the last such span that begins before the time. ok is false if there is no such span.
func (ix *Index) Find(ctx context.Context, track int, region uint32, at int64, forward bool) (s Span, ok bool,
	err error) {
	e, err := ix.track(track, at, at)
	if err != nil {
		return s, false, fmt.Errorf("find: %w", err)
	}
	r := reader{f: ix.data}
	var b spanBlock
	var sums sumReader
	i := sort.Search(len(e.blocks), func(i int) bool { return e.blocks[i].last >= at })
	from := openSpan{}
	found := -1 // index of the block after which the span is open
	take := func(y Span, block int, o openSpan) {
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
	// search looks for the span in block i, if the sums of the block contain the region. If open is
	// set, it also considers spans that are open after the block.
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
		// A span that begins in a block and ends in a later block is found in the later block.
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
		s.End, err = ix.endOf(&r, e, found, &from)
	}
	return s, ok, err
}

// Instant is an event without duration.
type Instant struct {
	Time   int64 // in ticks
	Kind   trace.Kind
	Region uint32 // index into Regions; NoRef if the instant has no region
	Name   string
}

// InstantAt returns the instant of a track that is nearest to a time, at a distance of at most radius ticks.
// ok is false if there is no such instant.
func (ix *Index) InstantAt(track int, at, radius int64) (out Instant, ok bool, err error) {
	e, err := ix.track(track, at, at)
	if err != nil {
		return out, false, fmt.Errorf("instant: %w", err)
	}
	least := uint64(math.MaxUint64)
	end := trace.Add(trace.Add(at, radius), 1)
	err = ix.eachInstant(&reader{f: ix.data}, e, trace.Add(at, -radius), end, func(i *instant) {
		d := uint64(i.time) - uint64(at)
		if i.time < at {
			d = uint64(at) - uint64(i.time)
		}
		if !ok || d < least {
			least, ok = d, true
			out = ix.instant(e, i)
		}
	})
	return out, ok, err
}

func (ix *Index) name(n uint32) string {
	if int(n) >= len(ix.dir.Names) {
		return ""
	}
	return ix.dir.Names[n]
}
