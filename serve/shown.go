package serve

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/weft-trace/weft/draw"
	"github.com/weft-trace/weft/format"
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
	processors  atomic.Pointer[processors] // nil before somebody asks for them
}

// traceFacts is the part of a trace's description that is there when it is ready.
type traceFacts struct {
	ETag string `json:"etag,omitempty"`
	// Color is the attribute whose values the regions are, "" for regions. Attributes are
	// those that can be asked for.
	Color      string      `json:"color"`
	Attributes []string    `json:"attributes"`
	Clock      *clockFact  `json:"clock,omitempty"`
	Origin     string      `json:"origin"`
	Epoch      string      `json:"epoch"`
	Length     string      `json:"length"`
	Events     int64       `json:"events"`
	Spans      int64       `json:"spans"`
	Links      int64       `json:"links"`
	Groups     []groupFact `json:"groups"`
	Tracks     []trackFact `json:"tracks"`
	Regions    []regFact   `json:"regions"`
	Palettes   palettes    `json:"palettes"`
	Defects    int64       `json:"defects"`
}

// earlyFacts is what of it is there before.
type earlyFacts struct {
	Clock  *clockFact  `json:"clock,omitempty"`
	Groups []groupFact `json:"groups,omitempty"`
	Tracks []trackFact `json:"tracks,omitempty"`
	// Overview is there where the trace keeps sums beside its events.
	Overview *overview `json:"overview,omitempty"`
}

// overview is what a trace says of itself.
type overview struct {
	Regions   []overviewRegion   `json:"regions"`
	Locations []overviewLocation `json:"locations"`
	Events    int64              `json:"events"`
	// Missing is what a time may lack at most.
	Missing ticks `json:"missing"`
	// To is set where the sums are those of the time up to it, and only visits and
	// messages are counted as events: a time of the trace's own.
	To *ticks `json:"to,omitempty"`
}

type overviewRegion struct {
	Name      string `json:"name"`
	Count     int64  `json:"count"`
	Inclusive ticks  `json:"inclusive"`
	Exclusive ticks  `json:"exclusive"`
}

type overviewLocation struct {
	Name   string `json:"name"`
	Events int64  `json:"events"`
}

// newEarly makes of the definitions what they tell.
func newEarly(d *trace.Definitions) *earlyFacts {
	f := &earlyFacts{Clock: clockOf(d.Clock), Groups: groupFacts(d.Groups.All())}
	for _, x := range d.Locations.All() {
		f.Tracks = append(f.Tracks, trackFact{Kind: string(index.LocationTrack), Name: x.Label(), Sort: string(x.Kind), ID: x.ID, Group: number(x.Group), Parent: -1})
	}
	return f
}

// mostOverview is how many regions, and locations, an overview lists: it is sent again and
// again while the trace is indexed.
const mostOverview = 1000

// newOverview makes of a summary what is shown of it: the regions with most exclusive time,
// and the locations with most events, first.
func newOverview(d *trace.Definitions, s *format.Summary) *overview {
	o := &overview{Regions: []overviewRegion{}, Locations: []overviewLocation{}}
	for _, k := range s.Kinds {
		o.Events = trace.Add(o.Events, k.Events)
	}
	rows := overviewRows{trace.NewRows(d), map[uint32]int{}, o}
	for _, r := range s.Regions {
		o.Missing = max(o.Missing, ticks(r.Missing))
		rows.add(r.Region, overviewRegion{d.Regions.At(r.Region).Name, r.Count, ticks(r.Inclusive), ticks(r.Exclusive)})
	}
	names := d.FullNames()
	for _, l := range s.Locations {
		o.Locations = append(o.Locations, overviewLocation{names[l.Location], l.Events})
	}
	o.shorten()
	return o
}

// newPreview is newOverview of sums that tell less.
func newPreview(d *trace.Definitions, p *format.Preview) *overview {
	to := ticks(p.To)
	o := &overview{Regions: []overviewRegion{}, Locations: []overviewLocation{}, To: &to}
	rows := overviewRows{trace.NewRows(d), map[uint32]int{}, o}
	for _, r := range p.Regions {
		rows.add(r.Region, overviewRegion{d.Regions.At(r.Region).Name, r.Count, ticks(r.Inclusive), ticks(r.Exclusive)})
	}
	names := d.FullNames()
	for _, l := range p.Locations {
		n := trace.Add(l.Count, trace.Add(l.Sent, l.Received))
		o.Events = trace.Add(o.Events, n)
		o.Locations = append(o.Locations, overviewLocation{names[l.Location], n})
	}
	o.shorten()
	return o
}

// overviewRows adds regions to an overview: those that count as one are one.
type overviewRows struct {
	rows *trace.Rows
	at   map[uint32]int // in the overview, by row
	o    *overview
}

func (x overviewRows) add(region uint32, r overviewRegion) {
	row := x.rows.Of(region)
	i, ok := x.at[row]
	if !ok {
		x.at[row] = len(x.o.Regions)
		x.o.Regions = append(x.o.Regions, r)
		return
	}
	y := &x.o.Regions[i]
	y.Count = trace.Add(y.Count, r.Count)
	y.Inclusive = ticks(trace.Add(int64(y.Inclusive), int64(r.Inclusive)))
	y.Exclusive = ticks(trace.Add(int64(y.Exclusive), int64(r.Exclusive)))
}

// shorten keeps what is greatest.
func (o *overview) shorten() {
	slices.SortStableFunc(o.Regions, func(a, b overviewRegion) int { return cmp.Compare(b.Exclusive, a.Exclusive) })
	slices.SortStableFunc(o.Locations, func(a, b overviewLocation) int { return cmp.Compare(b.Events, a.Events) })
	o.Regions = o.Regions[:min(len(o.Regions), mostOverview)]
	o.Locations = o.Locations[:min(len(o.Locations), mostOverview)]
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
	File  string `json:"file,omitempty"`
	Line  int64  `json:"line,omitempty"`
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

func newShown(ctx context.Context, x Index, found cache.Entry, color string) (*shown, error) {
	v := &shown{tag: found.Key, clock: x.Clock(), tracks: x.Tracks(), regions: x.Regions(), groups: x.Groups()}
	v.first, v.last, _ = x.Extent()
	c := x.Counts()
	f := &v.facts
	*f = traceFacts{ETag: v.tag, Color: color, Attributes: append([]string{}, x.Attributes()...), Clock: clockOf(v.clock), Origin: strconv.FormatInt(v.first, 10), Length: strconv.FormatUint(uint64(v.last)-uint64(v.first), 10),
		Events: c.Events, Spans: c.Spans, Links: c.Links, Groups: groupFacts(v.groups), Tracks: make([]trackFact, len(v.tracks)), Regions: make([]regFact, len(v.regions)),
		Palettes: palettes{draw.Palette(false), draw.Palette(true)}, Defects: found.Defects}
	if ns, _, ok := v.clock.Rescale(v.first, trace.Seconds(1_000_000_000)); ok && v.clock.HasEpoch {
		f.Epoch = strconv.FormatInt(trace.Add(v.clock.Epoch, ns), 10)
	}
	for i, t := range v.tracks {
		f.Tracks[i] = trackFact{Kind: string(t.Kind), Name: cmp.Or(t.Name, t.ID), Sort: t.Sort, ID: t.ID, Group: number(t.Group), Parent: t.Parent, Depth: t.Depth,
			Spans: t.Spans, Events: t.Events, Instants: t.Instants, First: ticks(t.First - v.first), Last: ticks(t.Last - v.first), Unit: t.Unit, Capacity: finite(t.Capacity),
			Low: finite(t.Low), High: finite(t.High), Style: t.Style}
	}
	colors, err := draw.RegionColors(v.regions, v.tracks, func(tracks []int) ([][]index.Sum, error) {
		return profiles(ctx, x, tracks, v.first, trace.Add(v.last, 1))
	})
	if err != nil {
		return nil, err
	}
	for i, r := range v.regions {
		f.Regions[i] = regFact{r.Name, r.Group, colors[i], r.File, r.Line}
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

// only are the numbers of the tracks of a kind, or those of some tracks that are of it, each
// once.
func (v *shown) only(kind index.TrackKind, of []int) []int {
	var out []int
	if of == nil {
		for i := range v.tracks {
			if v.tracks[i].Kind == kind {
				out = append(out, i)
			}
		}
		return out
	}
	seen := map[int]bool{}
	for _, i := range of {
		if v.tracks[i].Kind == kind && !seen[i] {
			seen[i] = true
			out = append(out, i)
		}
	}
	return out
}

// trackOf is the first track of a location, which shows its regions if it has any; -1 for
// none.
func (v *shown) trackOf(location uint32) int {
	return slices.IndexFunc(v.tracks, func(t index.Track) bool { return t.Location == location && t.Kind != index.CommunicatorTrack })
}
