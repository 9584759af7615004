package index

import (
	"context"
	"fmt"
	"slices"
	"sort"

	"github.com/weft-trace/weft/trace"
)

// Spans calls f for the spans of a track that belong to one of the regions and overlap [from, to), in no particular
// order. Regions are indexes into Regions; without regions, there are no spans. It passes whole spans, even if they
// exceed the window. It skips spans shorter than least ticks. f returns the value of least for the following spans.
func (ix *Index) Spans(ctx context.Context, track int, from, to int64, regions []uint32, least int64,
	f func(Span) (least int64)) error {
	e, err := ix.track(track, from, to)
	if err != nil {
		return fmt.Errorf("spans: %w", err)
	}
	r := reader{f: ix.data}
	var b spanBlock
	var sums sumReader
	wanted := func(region uint32) bool { return slices.Contains(regions, region) }
	take := func(s Span) {
		if trace.Before(s.Start, to) && (s.End > from || s.Start == s.End && s.End >= from) && s.End-s.Start >= least {
			least = f(s)
		}
	}
	for i := sort.Search(len(e.blocks), func(i int) bool { return e.blocks[i].last >= from }); i < len(e.blocks); i++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		last := !trace.Before(e.blocks[i].last, to)
		if !last && i < e.summed() {
			list, err := sums.read(&r, e, i)
			if err != nil {
				return err
			}
			if !slices.ContainsFunc(list, func(s sum) bool { return wanted(s.region) && s.max >= least }) {
				continue
			}
		}
		if err := r.decode(&e.blocks[i], b.decode); err != nil {
			return err
		}
		for _, s := range b.spans {
			if wanted(s.Region) {
				take(s)
			}
		}
		if !last {
			continue
		}
		for _, o := range b.open {
			if !wanted(o.region) || !trace.Before(o.start, to) {
				continue
			}
			end, err := ix.endOf(&r, e, i, &o)
			if err != nil {
				return err
			}
			take(o.span(end))
		}
		break
	}
	return nil
}
