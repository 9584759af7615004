package serve

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"

	"github.com/weft-trace/weft/draw"
	"github.com/weft-trace/weft/serve/cache"
	"github.com/weft-trace/weft/timeline/index"
	"github.com/weft-trace/weft/trace"
)

// shown is what a ready trace shows that stays the same, made once from its index.
type shown struct {
	tag         string // of the content
	clock       trace.Clock
	first, last int64
	tracks      []index.Track
	regions     []index.Region
	groups      []trace.LocationGroup
	facts       traceFacts
}

// traceFacts is the part of a trace's description that is there when it is ready.
type traceFacts struct {
	ETag     string      `json:"etag,omitempty"`
	Clock    *clockFact  `json:"clock,omitempty"`
	Origin   string      `json:"origin"`
	Epoch    string      `json:"epoch"`
	Length   string      `json:"length"`
	Events   int64       `json:"events"`
	Spans    int64       `json:"spans"`
	Links    int64       `json:"links"`
	Groups   []groupFact `json:"groups"`
	Tracks   []trackFact `json:"tracks"`
	Regions  []regFact   `json:"regions"`
	Palettes palettes    `json:"palettes"`
	Defects  int64       `json:"defects"`
}

// earlyFacts is what of it is there before.
type earlyFacts struct {
	Clock  *clockFact  `json:"clock,omitempty"`
	Groups []groupFact `json:"groups,omitempty"`
	Tracks []trackFact `json:"tracks,omitempty"`
}

type clockFact struct {
	Num int64 `json:"num"`
	Den int64 `json:"den"`
}

type groupFact struct {
	Name   string `json:"name"`
	Kind   string `json:"kind"`
	Parent int    `json:"parent"`
}

type trackFact struct {
	Kind     string  `json:"kind"`
	Name     string  `json:"name"`
	Sort     string  `json:"sort"`
	ID       string  `json:"id"`
	Group    int     `json:"group"`
	Parent   int     `json:"parent"`
	Depth    int     `json:"depth"`
	Spans    int64   `json:"spans"`
	Events   int64   `json:"events"`
	Instants int64   `json:"instants"`
	First    ticks   `json:"first"`
	Last     ticks   `json:"last"`
	Unit     string  `json:"unit"`
	Capacity float64 `json:"capacity"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	Style    string  `json:"style"`
}

type regFact struct {
	Name  string `json:"name"`
	Group string `json:"group"`
	Color int    `json:"color"`
}

type palettes struct {
	Light []string `json:"light"`
	Dark  []string `json:"dark"`
}

// number is an index for JSON: -1 for none.
func number(ref uint32) int {
	if ref == trace.NoRef {
		return -1
	}
	return int(ref)
}

// finite is a number that JSON can hold.
func finite(f float64) float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return 0
	}
	return f
}

func groupFacts(l []trace.LocationGroup) []groupFact {
	out := make([]groupFact, len(l))
	for i, g := range l {
		out[i] = groupFact{cmp.Or(g.Name, g.ID), g.Kind, number(g.Parent)}
	}
	return out
}

func clockOf(c trace.Clock) *clockFact { return &clockFact{c.Num, c.Den} }

func newShown(ctx context.Context, x Index, found cache.Entry) (*shown, error) {
	v := &shown{tag: found.Key, clock: x.Clock(), tracks: x.Tracks(), regions: x.Regions(), groups: x.Groups()}
	v.first, v.last, _ = x.Extent()
	c := x.Counts()
	f := &v.facts
	*f = traceFacts{ETag: v.tag, Clock: clockOf(v.clock), Origin: strconv.FormatInt(v.first, 10), Length: strconv.FormatUint(uint64(v.last)-uint64(v.first), 10),
		Events: c.Events, Spans: c.Spans, Links: c.Links, Groups: groupFacts(v.groups), Tracks: make([]trackFact, len(v.tracks)), Regions: make([]regFact, len(v.regions)),
		Palettes: palettes{draw.Palette(false), draw.Palette(true)}, Defects: found.Defects}
	if ns, _, ok := v.clock.Rescale(v.first, trace.Seconds(1_000_000_000)); ok && v.clock.HasEpoch {
		f.Epoch = strconv.FormatInt(add(v.clock.Epoch, ns), 10)
	}
	for i, t := range v.tracks {
		f.Tracks[i] = trackFact{Kind: string(t.Kind), Name: cmp.Or(t.Name, t.ID), Sort: t.Sort, ID: t.ID, Group: number(t.Group), Parent: t.Parent, Depth: t.Depth,
			Spans: t.Spans, Events: t.Events, Instants: t.Instants, First: ticks(t.First - v.first), Last: ticks(t.Last - v.first), Unit: t.Unit, Capacity: finite(t.Capacity),
			Low: finite(t.Low), High: finite(t.High), Style: t.Style}
	}
	colors, err := draw.RegionColors(v.regions, v.tracks, func(tracks []int) ([][]index.Sum, error) {
		return profiles(ctx, x, tracks, v.first, add(v.last, 1))
	})
	if err != nil {
		return nil, err
	}
	for i, r := range v.regions {
		f.Regions[i] = regFact{r.Name, r.Group, colors[i]}
	}
	return v, nil
}

// unknown is the name of a region that no definition has.
const unknown = "unknown"

func (v *shown) region(r uint32) index.Region {
	if int(r) < len(v.regions) {
		return v.regions[r]
	}
	return index.Region{Name: unknown}
}

// at is a time for JSON.
func (v *shown) at(t int64) ticks { return ticks(t - v.first) }

// locations are the numbers of the tracks of locations, or those of some tracks that are.
func (v *shown) locations(of []int) []int {
	var out []int
	for i, t := range v.tracks {
		if of == nil && t.Kind == index.LocationTrack {
			out = append(out, i)
		}
	}
	for _, i := range of {
		if v.tracks[i].Kind == index.LocationTrack && !slices.Contains(out, i) {
			out = append(out, i)
		}
	}
	return out
}
