package serve

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/weft-trace/weft/analysis/states"
	"github.com/weft-trace/weft/draw"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/serve/cache"
	"github.com/weft-trace/weft/timeline/index"
	"github.com/weft-trace/weft/trace"
)

// traceView holds constant data about a ready trace. The data are computed from the index, only once.
type traceView struct {
	tag         string // key of the index, which depends on the trace's contents
	clock       trace.Clock
	first, last int64
	tracks      []index.Track
	regions     []index.Region
	groups      []trace.LocationGroup
	facts       traceFacts
	processors  atomic.Pointer[stateIndex] // nil until it is used for the first time
	waitsTurn   chan struct{}              // has capacity 1; protects waits
	waits       *states.Waits              // waits of the whole trace; nil until they are used for the first time
}

// traceFacts is the part of a trace's description that is known only when the trace is ready.
type traceFacts struct {
	ETag string `json:"etag,omitempty"`
	// Color is the attribute whose values take the place of regions, or "". Attributes lists the
	// attributes that the user can choose.
	Color string `json:"color"`
	Label string `json:"label"` // attribute that names spans; "" if there is none
	Rows  string `json:"rows"`  // attribute whose values are rows; "" if there is none
	// values of an attribute that spans must have, NAME=VALUE,…; "" if all spans are shown
	Only       string       `json:"only"`
	Attributes []string     `json:"attributes"`
	Clock      *clockFact   `json:"clock,omitempty"`
	Origin     string       `json:"origin"`
	Epoch      string       `json:"epoch"`
	Length     string       `json:"length"`
	Events     int64        `json:"events"`
	Spans      int64        `json:"spans"`
	Links      int64        `json:"links"`
	Groups     []groupFact  `json:"groups"`
	Tracks     []trackFact  `json:"tracks"`
	Regions    []regionFact `json:"regions"`
	Palettes   palettes     `json:"palettes"`
	Defects    int64        `json:"defects"`
}

// earlyFacts is the part of a trace's description that is known while the trace is being indexed.
type earlyFacts struct {
	Clock  *clockFact  `json:"clock,omitempty"`
	Groups []groupFact `json:"groups,omitempty"`
	Tracks []trackFact `json:"tracks,omitempty"`
	// Overview is set if the trace stores sums over its events.
	Overview *overview `json:"overview,omitempty"`
}

// overview holds the sums over events that the trace itself stores.
type overview struct {
	Regions   []overviewRegion   `json:"regions"`
	Locations []overviewLocation `json:"locations"`
	Events    int64              `json:"events"`
	// Missing is the greatest amount by which a time can be too small.
	Missing ticks `json:"missing"`
	// To is set if the sums cover only the time up to To, on the clock of the trace. In that case, Events
	// counts only visits and messages.
	To *ticks `json:"to,omitempty"`
}

// overviewRegion holds the stored sums of a region.
type overviewRegion struct {
	Name      string `json:"name"`
	Count     int64  `json:"count"`
	Inclusive ticks  `json:"inclusive"`
	Exclusive ticks  `json:"exclusive"`
}

// overviewLocation holds the stored number of events of a location.
type overviewLocation struct {
	Name   string `json:"name"`
	Events int64  `json:"events"`
}

// newEarlyFacts returns the facts that follow from the definitions.
func newEarlyFacts(d *trace.Definitions) *earlyFacts {
	f := &earlyFacts{Clock: newClockFact(d.Clock), Groups: groupFacts(d.Groups.All())}
	for _, x := range d.Locations.All() {
		f.Tracks = append(f.Tracks, trackFact{Kind: string(index.LocationTrack), Name: x.Label(), Sort: string(x.Kind),
			ID: x.ID, Group: jsonRef(x.Group), Parent: -1})
	}
	return f
}

// maxOverviewRows is the largest number of regions, and of locations, in an overview. The limit is low,
// because an overview is sent repeatedly while the trace is indexed.
const maxOverviewRows = 1000

// newOverview converts a summary. Regions are in the order of decreasing exclusive time, and locations in the
// order of decreasing numbers of events.
func newOverview(d *trace.Definitions, s *format.Summary) *overview {
	o := &overview{Regions: []overviewRegion{}, Locations: []overviewLocation{}}
	for _, k := range s.Kinds {
		o.Events = trace.Add(o.Events, k.Events)
	}
	rows, missing := newOverviewRows(d, o), map[uint32]int64{}
	for _, r := range s.Regions {
		row := rows.rows.Of(r.Region)
		missing[row] = trace.Add(missing[row], r.Missing)
		o.Missing = max(o.Missing, ticks(missing[row]))
		rows.add(r.Region,
			overviewRegion{rows.names[r.Region], r.Count, ticks(r.Inclusive - r.Nested), ticks(r.Exclusive)})
	}
	names := d.FullNames()
	for _, l := range s.Locations {
		o.Locations = append(o.Locations, overviewLocation{names[l.Location], l.Events})
	}
	o.shorten()
	return o
}

// newPreviewOverview converts a preview, which has fewer sums than a summary.
func newPreviewOverview(d *trace.Definitions, p *format.Preview) *overview {
	to := ticks(p.To)
	o := &overview{Regions: []overviewRegion{}, Locations: []overviewLocation{}, To: &to}
	rows := newOverviewRows(d, o)
	for _, r := range p.Regions {
		rows.add(r.Region, overviewRegion{rows.names[r.Region], r.Count, ticks(r.Inclusive), ticks(r.Exclusive)})
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

// overviewRows adds regions to an overview. It combines the regions of the same row.
type overviewRows struct {
	rows  *trace.Rows
	names []string       // names of all regions, with file and line if several regions have the same name
	index map[uint32]int // for each row of rows, its index in o.Regions
	o     *overview
}

func newOverviewRows(d *trace.Definitions, o *overview) overviewRows {
	rows := trace.NewRows(d)
	return overviewRows{rows, d.RegionNames(rows), map[uint32]int{}, o}
}

func (o overviewRows) add(region uint32, r overviewRegion) {
	row := o.rows.Of(region)
	i, ok := o.index[row]
	if !ok {
		o.index[row] = len(o.o.Regions)
		o.o.Regions = append(o.o.Regions, r)
		return
	}
	y := &o.o.Regions[i]
	y.Count = trace.Add(y.Count, r.Count)
	y.Inclusive = ticks(trace.Add(int64(y.Inclusive), int64(r.Inclusive)))
	y.Exclusive = ticks(trace.Add(int64(y.Exclusive), int64(r.Exclusive)))
}

// shorten sorts the lists and keeps the maxOverviewRows largest entries of each.
func (o *overview) shorten() {
	slices.SortStableFunc(o.Regions, func(a, b overviewRegion) int { return cmp.Compare(b.Exclusive, a.Exclusive) })
	slices.SortStableFunc(o.Locations, func(a, b overviewLocation) int { return cmp.Compare(b.Events, a.Events) })
	o.Regions = o.Regions[:min(len(o.Regions), maxOverviewRows)]
	o.Locations = o.Locations[:min(len(o.Locations), maxOverviewRows)]
}

// clockFact describes a clock: Num ticks take Den seconds.
type clockFact struct {
	Num int64 `json:"num"`
	Den int64 `json:"den"`
}

// groupFact is a location group. Parent is the index of the group around it, or -1.
type groupFact struct {
	Name   string `json:"name"`
	Kind   string `json:"kind"`
	Parent int    `json:"parent"`
}

// trackFact describes a track. Its fields are the same as in index.Track.
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
	Offsets  bool    `json:"offsets"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	Style    string  `json:"style"`
}

// regionFact is a region. Color is the index of its colour in the palettes.
type regionFact struct {
	Name  string `json:"name"`
	Group string `json:"group"`
	Color int    `json:"color"`
	File  string `json:"file,omitempty"`
	Line  int64  `json:"line,omitempty"`
}

// palettes holds the colours of regions for the light and the dark appearance of the page.
type palettes struct {
	Light []string `json:"light"`
	Dark  []string `json:"dark"`
}

// jsonRef returns a reference for JSON, in which -1 stands for no reference.
func jsonRef(ref uint32) int {
	if ref == trace.NoRef {
		return -1
	}
	return int(ref)
}

// finiteOrZero returns f, or 0 if JSON cannot represent f.
func finiteOrZero(f float64) float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return 0
	}
	return f
}

func groupFacts(l []trace.LocationGroup) []groupFact {
	out := make([]groupFact, len(l))
	for i, g := range l {
		out[i] = groupFact{cmp.Or(g.Name, g.ID), g.Kind, jsonRef(g.Parent)}
	}
	return out
}

func newClockFact(c trace.Clock) *clockFact { return &clockFact{c.Num, c.Den} }

// newTraceView computes the constant data about a trace from its index.
func newTraceView(ctx context.Context, x Index, found cache.Entry, c configuration) (*traceView, error) {
	v := &traceView{tag: found.Key, clock: x.Clock(), tracks: x.Tracks(), regions: x.Regions(), groups: x.Groups(),
		waitsTurn: make(chan struct{}, 1)}
	v.first, v.last, _ = x.Extent()
	n := x.Counts()
	f := &v.facts
	*f = traceFacts{ETag: v.tag, Color: c.color, Label: c.label, Rows: c.rows, Only: c.only,
		Attributes: append([]string{}, x.Attributes()...),
		Clock:      newClockFact(v.clock), Origin: strconv.FormatInt(v.first, 10),
		Length: strconv.FormatUint(uint64(v.last)-uint64(v.first), 10),
		Events: n.Events, Spans: n.Spans, Links: n.Links, Groups: groupFacts(v.groups),
		Tracks: make([]trackFact, len(v.tracks)), Regions: make([]regionFact, len(v.regions)),
		Palettes: palettes{draw.Palette(false), draw.Palette(true)}, Defects: found.Defects}
	if ns, _, ok := v.clock.Rescale(v.first, trace.TicksPerSecond(1_000_000_000)); ok && v.clock.HasEpoch {
		f.Epoch = strconv.FormatInt(trace.Add(v.clock.Epoch, ns), 10)
	}
	for i, t := range v.tracks {
		f.Tracks[i] = trackFact{Kind: string(t.Kind), Name: cmp.Or(t.Name, t.ID), Sort: t.Sort, ID: t.ID,
			Group: jsonRef(t.Group), Parent: t.Parent, Depth: t.Depth,
			Spans: t.Spans, Events: t.Events, Instants: t.Instants, First: ticks(t.First - v.first),
			Last: ticks(t.Last - v.first), Unit: t.Unit, Capacity: finiteOrZero(t.Capacity), Offsets: t.Offsets,
			Low: finiteOrZero(t.Low), High: finiteOrZero(t.High), Style: t.Style}
	}
	colors, err := draw.RegionColors(v.regions, v.tracks, func(tracks []int) ([][]index.Sum, error) {
		return trackProfiles(ctx, x, tracks, v.first, trace.Add(v.last, 1))
	})
	if err != nil {
		return nil, err
	}
	for i, r := range v.regions {
		f.Regions[i] = regionFact{r.Name, r.Group, colors[i], r.File, r.Line}
	}
	return v, nil
}

// unknown is the name for an undefined region.
const unknown = "unknown"

// region returns a region of the index. An undefined region gets the name unknown.
func (v *traceView) region(r uint32) index.Region {
	if int(r) < len(v.regions) {
		return v.regions[r]
	}
	return index.Region{Name: unknown}
}

// jsonTime returns a time relative to the first event.
func (v *traceView) jsonTime(t int64) ticks { return ticks(t - v.first) }

// tracksOfKind returns the tracks of a kind, without duplicates. It returns tracks of selected or, if selected
// is nil, of the whole trace.
func (v *traceView) tracksOfKind(kind index.TrackKind, selected []int) []int {
	var out []int
	if selected == nil {
		for i := range v.tracks {
			if v.tracks[i].Kind == kind {
				out = append(out, i)
			}
		}
		return out
	}
	seen := map[int]bool{}
	for _, i := range selected {
		if v.tracks[i].Kind == kind && !seen[i] {
			seen[i] = true
			out = append(out, i)
		}
	}
	return out
}

// firstTrack returns the first track of a location. If the location has visits, this is the track of its
// visits. It returns -1 if the location has no track.
func (v *traceView) firstTrack(location uint32) int {
	return slices.IndexFunc(v.tracks, func(t index.Track) bool {
		return t.Location == location && t.Kind != index.CommunicatorTrack
	})
}
