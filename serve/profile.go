package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/weft-trace/weft/timeline/index"
	"github.com/weft-trace/weft/trace"
)

// profileRow holds the sums of a region in a window. If the profile is divided by track or by group, the sums
// belong to the track or group with the number Track or Group. Otherwise the field is -1. Inclusive and
// Exclusive are as in index.Sum, and Min, Max and Mean are durations of single spans.
type profileRow struct {
	Kind      string `json:"kind"`
	Track     int    `json:"track"`
	Group     int    `json:"group"`
	Region    int    `json:"region"`
	Name      string `json:"name"`
	Count     int64  `json:"count"`
	Inclusive sum    `json:"inclusive"`
	Exclusive sum    `json:"exclusive"`
	Min       ticks  `json:"min"`
	Max       ticks  `json:"max"`
	Mean      mean   `json:"mean"`
	Sum       sum    `json:"sum"`
}

// profileAnswer is the profile of a window. Left holds the sums of the rows that exceed the limit.
type profileAnswer struct {
	From ticks        `json:"from"`
	To   ticks        `json:"to"`
	Rows []profileRow `json:"rows"`
	Left omittedRows  `json:"left"`
}

// omittedRows holds the sums over the rows that exceed the limit.
type omittedRows struct {
	Rows      int64 `json:"rows"`
	Exclusive sum   `json:"exclusive"` // sum of the exclusive times of visits
	Held      sum   `json:"held"`      // sum of the durations of claims
}

// add adds the given number of rows of a kind. exclusive is the sum of their exclusive times.
func (o *omittedRows) add(kind string, rows int64, exclusive trace.Ticks) {
	o.Rows = trace.Add(o.Rows, rows)
	to := &o.Exclusive
	if kind == claimRows {
		to = &o.Held
	}
	to.addTicks(exclusive)
}

// appendJSON appends the same JSON as json.Marshal, and is several times as fast. A profile by location may
// have a row for each pair of a location and a region.
func (a *profileAnswer) appendJSON(b []byte) ([]byte, error) {
	names := map[string][]byte{}
	number := func(name string, t ticks) {
		b = append(append(b, name...), '"')
		b = append(strconv.AppendInt(b, int64(t), 10), '"')
	}
	total := func(name string, s sum) {
		b = append(append(b, name...), '"')
		b = append(trace.Ticks(s).Append(b), '"')
	}
	number(`{"from":`, a.From)
	number(`,"to":`, a.To)
	b = append(b, `,"rows":[`...)
	for i := range a.Rows {
		r := &a.Rows[i]
		name, ok := names[r.Name]
		if !ok {
			var err error
			if name, err = json.Marshal(r.Name); err != nil {
				return nil, err
			}
			names[r.Name] = name
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, `{"kind":"`...), r.Kind...), `","track":`...)
		b = append(strconv.AppendInt(b, int64(r.Track), 10), `,"group":`...)
		b = append(strconv.AppendInt(b, int64(r.Group), 10), `,"region":`...)
		b = append(strconv.AppendInt(b, int64(r.Region), 10), `,"name":`...)
		b = append(append(b, name...), `,"count":`...)
		b = strconv.AppendInt(b, r.Count, 10)
		total(`,"inclusive":`, r.Inclusive)
		total(`,"exclusive":`, r.Exclusive)
		number(`,"min":`, r.Min)
		number(`,"max":`, r.Max)
		b = append(r.Mean.append(append(b, `,"mean":"`...)), '"')
		total(`,"sum":`, r.Sum)
		b = append(b, '}')
	}
	b = append(b, `],"left":{"rows":`...)
	b = strconv.AppendInt(b, a.Left.Rows, 10)
	total(`,"exclusive":`, a.Left.Exclusive)
	total(`,"held":`, a.Left.Held)
	return append(b, "}}"...), nil
}

// forEachParallel calls f with the numbers from 0 to n−1 on several workers until a call fails. It
// returns the first error.
func forEachParallel(ctx context.Context, workers, n int, f func(worker, i int) error) error {
	var next atomic.Int64
	var once sync.Once
	var first error
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			err := recoverPanic(func() error {
				for {
					i := int(next.Add(1)) - 1
					if i >= n {
						return nil
					}
					if err := ctx.Err(); err != nil {
						return err
					}
					if err := f(w, i); err != nil {
						return err
					}
				}
			})
			if err != nil {
				next.Store(int64(n))
				once.Do(func() { first = err })
			}
		})
	}
	group.Wait()
	return first
}

// trackProfiles returns the sums of each track in a window, in the order of tracks.
func trackProfiles(ctx context.Context, x Index, tracks []int, from, to int64) ([][]index.Sum, error) {
	out := make([][]index.Sum, len(tracks))
	err := forEachParallel(ctx, min(len(tracks), runtime.GOMAXPROCS(0)), len(tracks), func(_, i int) (err error) {
		out[i], err = x.Profile(tracks[i], from, to)
		return err
	})
	return out, err
}

// profileKey identifies a row by its track, group and region. A field with the value -1 stands for all tracks,
// groups or regions.
type profileKey struct {
	track, group int32
	region       uint32
}

// profileSum is a row of a profile.
type profileSum struct {
	key profileKey
	index.Sum
}

// profileSums adds up the sums of tracks by row.
type profileSums struct {
	at   map[profileKey]int32
	list []profileSum
	left omittedRows
}

func (p *profileSums) add(k profileKey, s *index.Sum) {
	i, ok := p.at[k]
	if !ok {
		p.at[k] = int32(len(p.list))
		p.list = append(p.list, profileSum{k, *s})
		return
	}
	o := &p.list[i]
	o.Count += s.Count
	o.Inclusive = o.Inclusive.Plus(s.Inclusive)
	o.Exclusive = o.Exclusive.Plus(s.Exclusive)
	o.Sum.Sum = o.Sum.Sum.Plus(s.Sum)
	o.Min, o.Max = min(o.Min, s.Min), max(o.Max, s.Max)
}

// shorten keeps the rows with the most exclusive time, at most `most` of them. It adds the other rows to left.
// add must not be called afterwards.
func (p *profileSums) shorten(kind string, most int) {
	slices.SortFunc(p.list, func(a, b profileSum) int {
		return cmp.Or(b.Exclusive.Cmp(a.Exclusive), cmp.Compare(jsonRef(a.key.region), jsonRef(b.key.region)),
			cmp.Compare(a.key.track, b.key.track), cmp.Compare(a.key.group, b.key.group))
	})
	for _, s := range p.list[most:] {
		p.left.add(kind, 1, s.Exclusive)
	}
	p.list = p.list[:most]
}

// maxProfileRows is the largest number of rows of a profile or call tree that a request may ask for.
// defaultProfileRows applies to requests that do not ask for a number.
const (
	maxProfileRows     = 1_000_000
	defaultProfileRows = 20_000
)

// These names distinguish rows of visits from rows of claims.
const (
	visitRows = "region"
	claimRows = "claim"
)

// profileOf answers with the profile of a window by region, location or group. It has rows for visits,
// followed by rows for claims.
func profileOf(ctx context.Context, x *traceIndex, p *params) (any, error) {
	by, tracks := p.choice("by", "region", "location", "group"), p.tracks(len(x.tracks))
	limit := int(p.number("limit", 1, maxProfileRows, defaultProfileRows))
	from, to, _ := p.window()
	if p.err != nil {
		return nil, p.err
	}
	a := profileAnswer{x.jsonTime(from), x.jsonTime(to), []profileRow{}, omittedRows{}}
	row := func(kind string, k profileKey, s *index.Sum) {
		r := profileRow{kind, int(k.track), int(k.group), jsonRef(k.region), x.region(k.region).Name, s.Count,
			sum(s.Inclusive), sum(s.Exclusive), ticks(s.Min), ticks(s.Max), mean{s.Sum, s.Count}, sum(s.Sum)}
		a.Rows = append(a.Rows, r)
	}
	for _, rows := range []struct {
		kind   string
		tracks index.TrackKind
	}{{visitRows, index.LocationTrack}, {claimRows, index.ResourceTrack}} {
		wanted := x.tracksOfKind(rows.tracks, tracks)
		if rows.kind == visitRows && by == "region" && from <= x.first && to > x.last &&
			len(wanted) == len(x.tracksOfKind(rows.tracks, nil)) {
			// The index itself stores the sums of the whole trace.
			all, _ := x.Totals()
			for _, s := range all {
				row(rows.kind, profileKey{-1, -1, s.Region}, &s)
			}
			continue
		}
		// A list for each worker needs far less memory than a list for each location.
		parts := make([]profileSums, max(1, min(len(wanted), runtime.GOMAXPROCS(0))))
		for i := range parts {
			parts[i].at = map[profileKey]int32{}
		}
		err := forEachParallel(ctx, len(parts), len(wanted), func(worker, i int) error {
			sums, err := x.Profile(wanted[i], from, to)
			if err != nil {
				return err
			}
			k := profileKey{-1, -1, 0}
			switch by {
			case "location":
				k.track = int32(wanted[i])
			case "group":
				k.group = int32(jsonRef(x.tracks[wanted[i]].Group))
			}
			o := &parts[worker]
			for j := range sums {
				if k.region = sums[j].Region; by == "location" {
					o.list = append(o.list, profileSum{k, sums[j]}) // each region of a track gets a row of its own
				} else {
					o.add(k, &sums[j])
				}
			}
			if by == "location" && len(o.list) >= 2*limit {
				o.shorten(rows.kind, limit)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		whole := &parts[0]
		for i := range parts {
			o := &parts[i]
			a.Left.add(visitRows, o.left.Rows, trace.Ticks(o.left.Exclusive))
			a.Left.add(claimRows, 0, trace.Ticks(o.left.Held))
			switch {
			case i == 0:
			case by == "location":
				whole.list = append(whole.list, o.list...)
			default:
				for j := range o.list {
					whole.add(o.list[j].key, &o.list[j].Sum)
				}
			}
		}
		for j := range whole.list {
			row(rows.kind, whole.list[j].key, &whole.list[j].Sum)
		}
	}
	slices.SortFunc(a.Rows, func(a, b profileRow) int {
		return cmp.Or(trace.Ticks(b.Exclusive).Cmp(trace.Ticks(a.Exclusive)), -cmp.Compare(a.Kind, b.Kind),
			cmp.Compare(a.Region, b.Region), cmp.Compare(a.Track, b.Track), cmp.Compare(a.Group, b.Group))
	})
	for _, r := range a.Rows[min(limit, len(a.Rows)):] {
		a.Left.add(r.Kind, 1, trace.Ticks(r.Exclusive))
	}
	a.Rows = a.Rows[:min(limit, len(a.Rows))]
	return &a, nil
}
