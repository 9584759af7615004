package index

import (
	"context"
	"fmt"
	"math"
	"sort"

	"github.com/weft-trace/weft/trace"
)

// Busy returns the time in [from, to) in which at least one span of a track was open. For a resource, this is
// the time in which at least one claim was open. It reads the spans in the window.
func (ix *Index) Busy(ctx context.Context, track int, from, to int64) (int64, error) {
	e, err := ix.track(track, from, to)
	if err != nil {
		return 0, fmt.Errorf("busy time: %w", err)
	}
	busy := int64(0)
	err = ix.rankIntervals(ctx, e, from, to, 2, func(uint32) int { return 1 }, func(_ int, begin, end int64) {
		busy += end - begin
	})
	return busy, err
}

// Ranks divides the time in [from, to) by the highest rank of the regions that are open in a track.
// rank returns the rank of a region, from 0 to ranks−1. Element r of the result is the number of ticks
// in which r was the highest rank. Element 0 is not computed and is 0. If no region with a rank above 0
// contains other regions, Ranks uses the sums of blocks. Otherwise it reads the spans in the window.
func (ix *Index) Ranks(ctx context.Context, track int, from, to int64, ranks int,
	rank func(region uint32) int) ([]int64, error) {
	e, err := ix.track(track, from, to)
	if err != nil {
		return nil, fmt.Errorf("ranks: %w", err)
	}
	out := make([]int64, ranks)
	if e.Kind == LocationTrack {
		sums, err := ix.Profile(track, from, to)
		if err != nil {
			return nil, err
		}
		alone := true
		for _, s := range sums {
			if r := rank(s.Region); r > 0 {
				alone = alone && s.Inclusive == s.Exclusive
				out[r] += s.Exclusive.Int64() // the time of a location fits 63 bits
			}
		}
		if alone {
			return out, nil
		}
		clear(out)
	}
	err = ix.rankIntervals(ctx, e, from, to, ranks, rank, func(r int, begin, end int64) {
		out[r] += end - begin
		if r > 1 {
			out[r-1] -= end - begin // a tick of rank r has also been counted for rank r−1
		}
	})
	return out, err
}

// EachRankInterval calls f with intervals of [from, to), for each rank from 1 to ranks−1. In each interval, a
// region of the rank, or of a higher rank, was open in the track. The intervals of a rank are disjoint, and f
// gets them from the last to the first.
func (ix *Index) EachRankInterval(ctx context.Context, track int, from, to int64, ranks int,
	rank func(region uint32) int,
	f func(rank int, begin, end int64)) error {
	e, err := ix.track(track, from, to)
	if err != nil {
		return fmt.Errorf("ranks: %w", err)
	}
	return ix.rankIntervals(ctx, e, from, to, ranks, rank, f)
}

// rankIntervals does the work of EachRankInterval.
func (ix *Index) rankIntervals(ctx context.Context, e *trackEntry, from, to int64, ranks int, rank func(uint32) int,
	f func(rank int, begin, end int64)) error {
	w := ix.scratch()
	defer scratches.Put(w)
	// for each rank, the begin of the part of the window whose intervals f has already received
	left := make([]int64, ranks)
	for r := range left {
		left[r] = to
	}
	add := func(start, end int64, region uint32) {
		for r := rank(region); r > 0; r-- {
			if end := min(end, left[r]); max(start, from) < end {
				left[r] = max(start, from)
				f(r, left[r], end)
			}
		}
	}
	// The spans are read in the order of their ends, with the last span first.
	last := sort.Search(len(e.blocks), func(i int) bool { return !trace.Before(e.blocks[i].last, to) })
	last = min(last, len(e.blocks)-1)
	for i := last; i >= 0 && e.blocks[i].last > from && left[len(left)-1] > from; i-- {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := w.decode(&e.blocks[i], w.b.decode); err != nil {
			return err
		}
		if i == last {
			for k := range w.b.open {
				add(w.b.open[k].start, math.MaxInt64, w.b.open[k].region)
			}
		}
		for k := len(w.b.spans) - 1; k >= 0; k-- {
			add(w.b.spans[k].Start, w.b.spans[k].End, w.b.spans[k].Region)
		}
	}
	return nil
}

// EachInstant calls f with each instant of a track in [from, to).
func (ix *Index) EachInstant(track int, from, to int64, f func(Instant)) error {
	e, err := ix.track(track, from, to)
	if err != nil {
		return fmt.Errorf("instants: %w", err)
	}
	return ix.eachInstant(&reader{f: ix.data}, e, from, to, func(i *instant) { f(ix.instant(e, i)) })
}

// instant converts an instant of a track to the exported type, and adds its name.
func (ix *Index) instant(e *trackEntry, i *instant) Instant {
	out := Instant{i.time, i.kind, i.region(), ix.Region(i.name)}
	if i.named && int(i.name) < len(e.names) {
		out.Name = ix.name(e.names[i.name])
	}
	return out
}
