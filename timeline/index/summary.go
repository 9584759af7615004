package index

import (
	"context"
	"math"
	"slices"

	"github.com/weft-trace/weft/trace"
)

// summaryStrips is the largest number of strips that a summary reads. If there are more tracks, it reads every
// n-th track, to represent all tracks.
const summaryStrips = 2048

// summaryDepths is the largest number of depths that a summary reads.
const summaryDepths = 16

// Summary returns one strip for several tracks. Each column shows the region that was the innermost open
// region for the longest time, the share of the time in which it was the innermost, and the share in which any
// region was open. Shares are averages over the tracks. The strip is computed from levels, which limits its
// precision.
func (ix *Index) Summary(ctx context.Context, q TileRequest) (*Tile, error) {
	all := q.Tracks
	deep := 1
	for _, t := range all {
		if t >= 0 && t < len(ix.dir.Tracks) {
			deep = max(deep, min(summaryDepths, ix.dir.Tracks[t].Depth))
		}
	}
	if n, most := len(all), summaryStrips/deep; n > most {
		q.Tracks = make([]int, most)
		for i := range q.Tracks {
			q.Tracks[i] = all[i*n/most]
		}
	}
	q.Tracks = slices.DeleteFunc(slices.Clone(q.Tracks), func(t int) bool {
		return t >= 0 && t < len(ix.dir.Tracks) && ix.dir.Tracks[t].Depth == 0
	})
	q.Depths = summaryDepths
	tile, err := ix.Tile(ctx, q)
	if err != nil {
		return nil, err
	}
	type cell struct {
		parts []share
		cover float64
	}
	cells := make([]cell, q.Width)
	inner := make([]float64, q.Width) // share of each column in which spans of the next deeper depth are open
	last := -1
	for i := len(tile.Strips) - 1; i >= 0; i-- {
		s := tile.Strips[i]
		if s.Kind != SpanStrip {
			continue
		}
		if s.Track != last {
			last = s.Track
			clear(inner)
		}
		for k := s.First; k < s.First+s.Count; k++ {
			cover, part := float64(tile.Cover[k])/math.MaxUint8, float64(tile.Share[k])/math.MaxUint8
			for c := int(tile.X[k]); c < int(tile.X[k])+int(tile.N[k]); c++ {
				e := &cells[c]
				if s.Depth == 0 {
					e.cover += cover
				}
				if own := part - inner[c]; own > 0 {
					j := slices.IndexFunc(e.parts, func(p share) bool { return p.region == tile.Region[k] })
					if j < 0 {
						j = len(e.parts)
						e.parts = append(e.parts, share{region: tile.Region[k]})
					}
					e.parts[j].part += own
				}
				inner[c] = max(inner[c], cover)
			}
		}
	}
	row := newRaster(&q)
	for c := range cells {
		e := &cells[c]
		if e.cover == 0 && len(e.parts) == 0 {
			continue
		}
		n := float64(max(1, len(q.Tracks)))
		row.at, row.cover = c, e.cover/n
		for _, p := range e.parts {
			row.addShare(p.region, p.part/n)
		}
		if len(e.parts) == 0 {
			row.addShare(trace.NoRef, 0)
		}
		row.flush()
	}
	first := -1
	if len(all) > 0 {
		first = all[0]
	}
	p := &tilePart{}
	p.strip(Strip{Track: first}, row.runs)
	out := &Tile{Width: q.Width}
	out.allocate(1, len(p.runs), 0)
	out.put(p, 0, 0, 0)
	return out, nil
}
