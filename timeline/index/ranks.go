package index

import (
	"context"
	"fmt"
	"math"
	"sort"
)

// Busy is the time in a window in which a track had any span, each tick once: of a resource
// the time that anything was claimed. It reads the spans in the window.
func (x *Index) Busy(ctx context.Context, track int, from, to int64) (int64, error) {
	e, err := x.track(track, from, to)
	if err != nil {
		return 0, fmt.Errorf("busy time: %w", err)
	}
	busy := int64(0)
	err = x.walk(ctx, e, from, to, 2, func(uint32) int { return 1 }, func(_ int, begin, end int64) { busy += end - begin })
	return busy, err
}

// Ranks is for how long in a window each rank from 0 to below a number was the highest one of
// the regions that were open in a track, each tick once; so a region of a high rank counts for
// all that is open in it. Of rank 0 are those of no interest: their time is not told. The sums
// of blocks do where regions of interest have nothing in them; else the spans in the window
// are read.
func (x *Index) Ranks(ctx context.Context, track int, from, to int64, ranks int, rank func(region uint32) int) ([]int64, error) {
	e, err := x.track(track, from, to)
	if err != nil {
		return nil, fmt.Errorf("ranks: %w", err)
	}
	out := make([]int64, ranks)
	if e.Kind == LocationTrack {
		sums, err := x.Profile(track, from, to)
		if err != nil {
			return nil, err
		}
		alone := true
		for _, s := range sums {
			if r := rank(s.Region); r > 0 {
				alone = alone && s.Inclusive == s.Exclusive
				out[r] += s.Exclusive.Int64() // one location's time
			}
		}
		if alone {
			return out, nil
		}
		clear(out)
	}
	err = x.walk(ctx, e, from, to, ranks, rank, func(r int, begin, end int64) {
		out[r] += end - begin
		if r > 1 {
			out[r-1] -= end - begin // what is higher is not of the rank below
		}
	})
	return out, err
}

// Ranked calls f with stretches of a window in which regions of a rank of 1 or more, or of
// higher ones, were open in a track: for each rank, stretches that lie beside each other and
// together are all that there is, the last ones first.
func (x *Index) Ranked(ctx context.Context, track int, from, to int64, ranks int, rank func(region uint32) int, f func(rank int, begin, end int64)) error {
	e, err := x.track(track, from, to)
	if err != nil {
		return fmt.Errorf("ranks: %w", err)
	}
	return x.walk(ctx, e, from, to, ranks, rank, f)
}

// walk does what Ranked does.
func (x *Index) walk(ctx context.Context, e *trackEntry, from, to int64, ranks int, rank func(uint32) int, f func(rank int, begin, end int64)) error {
	w := x.scratch()
	defer scratches.Put(w)
	left := make([]int64, ranks) // for each rank, all from left on is known of what is as high
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
	// From the last end to the first.
	last := min(sort.Search(len(e.blocks), func(i int) bool { return e.blocks[i].last >= to }), len(e.blocks)-1)
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

// EachInstant calls f with each instant of a track in a window.
func (x *Index) EachInstant(track int, from, to int64, f func(Instant)) error {
	e, err := x.track(track, from, to)
	if err != nil {
		return fmt.Errorf("instants: %w", err)
	}
	return x.instants(&reader{f: x.data}, e, from, to, func(i *instant) { f(x.instant(e, i)) })
}

// instant is an instant of a track with its name.
func (x *Index) instant(e *trackEntry, i *instant) Instant {
	out := Instant{i.time, i.kind, i.region(), x.Region(i.name)}
	if i.named && int(i.name) < len(e.names) {
		out.Name = x.name(e.names[i.name])
	}
	return out
}
