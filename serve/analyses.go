package serve

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"

	"github.com/weft-trace/weft/analysis"
	"github.com/weft-trace/weft/analysis/calltree"
	"github.com/weft-trace/weft/analysis/info"
	"github.com/weft-trace/weft/analysis/states"
	"github.com/weft-trace/weft/analysis/structure"
	"github.com/weft-trace/weft/check"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/timeline/index"
	"github.com/weft-trace/weft/trace"
)

// This file contains the answers that need the events of the trace, because the index does not contain enough
// data.

// nodeFact is a call path in a tree: the sums over its visits, and its children. Left holds the sums of the
// omitted paths below the node.
type nodeFact struct {
	Region int `json:"region"`
	// the region in the trace; values of an attribute never take its place
	RegionKey int           `json:"regionKey"`
	Name      string        `json:"name"`
	Count     int64         `json:"count"`
	Inclusive sum           `json:"inclusive"`
	Exclusive sum           `json:"exclusive"`
	Min       ticks         `json:"min"`
	Max       ticks         `json:"max"`
	Longest   *visitFact    `json:"longest,omitempty"` // the visit whose duration is Max
	Children  []*nodeFact   `json:"children"`
	Left      *omittedPaths `json:"left,omitempty"`
}

// omittedPaths holds the sums of the call paths that an answer leaves out.
type omittedPaths struct {
	Paths     int64 `json:"paths"`
	Exclusive sum   `json:"exclusive"`
}

// visitFact gives the track and time at which a visit began.
type visitFact struct {
	Track int   `json:"track"`
	Time  ticks `json:"time"`
}

// treeAnswer is the tree of call paths. Left holds the sums of all omitted paths.
type treeAnswer struct {
	Roots []*nodeFact  `json:"roots"`
	Paths int64        `json:"paths"` // number of all call paths, including omitted paths
	Left  omittedPaths `json:"left"`
}

// maxTreeDepth is the largest depth of a call path that an answer includes.
const maxTreeDepth = 256

// callTree computes the tree of call paths of some locations in a window.
func callTree(e *entry, p *params) func(context.Context) (any, error) {
	from, to, whole := p.window()
	tracks := p.tracks(len(p.x.tracks))
	limit := int(p.number("limit", 1, maxProfileRows, defaultProfileRows))
	v := p.x
	return func(ctx context.Context) (any, error) {
		sel := trace.Events()
		var opt calltree.Options
		if !whole {
			sel.From, sel.To = from, to
			opt.Window = &trace.Window{From: from, To: to}
		}
		if tracks != nil {
			wanted := map[uint32]bool{}
			for _, t := range v.tracksOfKind(index.LocationTrack, tracks) {
				wanted[v.tracks[t].Location] = true
			}
			sel.Location = func(loc uint32) bool { return wanted[loc] }
		}
		var nodes []calltree.Node
		err := e.readers.useReader(ctx, func(d *reader) error {
			defs := d.Defs()
			opt.Rows = trace.NewRows(defs)
			all, err := analysis.Run(ctx, d.Events, sel.Surrounding(), func() *calltree.Part { return calltree.New(defs, opt) })
			if err != nil {
				return err
			}
			nodes = all.Result()
			if e.config.renames() {
				// In this answer, regions with the same name must be one row, because the page has no list of
				// the regions of the answer.
				names := defs.RegionNames(opt.Rows)
				for i := range nodes {
					if r := nodes[i].Region; int(r) < len(names) {
						nodes[i].Name = names[r]
					}
				}
			}
			return nil
		})
		return newTreeAnswer(nodes, limit, e.config.renames(), func(x *calltree.Visit) *visitFact {
			if x == nil || e.config.renames() {
				return nil
			}
			t := v.firstTrack(x.Location)
			if t < 0 {
				return nil
			}
			return &visitFact{t, v.jsonTime(x.Start)}
		}), err
	}
}

// newTreeAnswer converts a list of call paths to a tree. It keeps the `limit` paths with the most
// inclusive time. If color is set, the values of an attribute take the place of regions in the other
// answers, and the paths get no region number. visited converts the longest visit of a path for the
// answer.
func newTreeAnswer(nodes []calltree.Node, limit int, color bool, visited func(*calltree.Visit) *visitFact) *treeAnswer {
	a := &treeAnswer{Roots: []*nodeFact{}, Paths: int64(len(nodes))}
	// Keep the paths with more inclusive time than least. alike is the number of paths with exactly that time
	// that are also kept.
	least, alike := trace.TicksOf(math.MinInt64), 0
	if len(nodes) > limit {
		times := make([]trace.Ticks, len(nodes))
		for i := range nodes {
			times[i] = nodes[i].Inclusive
		}
		slices.SortFunc(times, trace.Ticks.Cmp)
		least = times[len(times)-limit]
		more := sort.Search(len(times), func(i int) bool { return times[i].Cmp(least) > 0 })
		alike = limit - (len(times) - more)
	}
	// the node of each path; for an omitted path, it is the node of the nearest path above it that is kept
	nodeOf := make([]*nodeFact, len(nodes))
	shown := make([]bool, len(nodes))
	for i := range nodes {
		n := &nodes[i]
		var above *nodeFact
		if n.Parent >= 0 {
			above, shown[i] = nodeOf[n.Parent], shown[n.Parent]
		} else {
			shown[i] = true
		}
		shown[i] = shown[i] && n.Depth < maxTreeDepth && (n.Inclusive.Cmp(least) > 0 || n.Inclusive == least && alike > 0)
		if !shown[i] {
			nodeOf[i] = above
			a.Left.add(n)
			if above != nil {
				if above.Left == nil {
					above.Left = &omittedPaths{}
				}
				above.Left.add(n)
			}
			continue
		}
		if n.Inclusive == least {
			alike--
		}
		region := n.Region
		if color {
			region = trace.NoRef
		}
		f := &nodeFact{jsonRef(region), jsonRef(n.Region), n.Name, n.Count, sum(n.Inclusive), sum(n.Exclusive),
			ticks(n.Min), ticks(n.Max), visited(n.Longest), []*nodeFact{}, nil}
		nodeOf[i] = f
		if above == nil {
			a.Roots = append(a.Roots, f)
		} else {
			above.Children = append(above.Children, f)
		}
	}
	return a
}

// add adds an omitted path to the sums.
func (o *omittedPaths) add(n *calltree.Node) {
	o.Paths++
	o.Exclusive.addTicks(n.Exclusive)
}

// utilisationAnswer holds the numbers of busy, overhead and idle processors in the columns of a window.
type utilisationAnswer struct {
	Width int `json:"width"`
	*states.Series
}

// utilisation computes the states of the processors by column: from the index if possible, and
// otherwise from the events.
func utilisation(e *entry, p *params) func(context.Context) (any, error) {
	w := states.Columns{Columns: int(p.number("width", 1, maxWidth, 1000))}
	w.From, w.To, _ = p.window()
	waits := p.choice("waits", "1", "0") == "1"
	return func(ctx context.Context) (a any, err error) {
		s, err := e.indexedSeries(ctx, w, waits)
		if s == nil && err == nil {
			err = e.readers.useReader(ctx, func(d *reader) (err error) {
				opt := states.Options{Series: &w}
				if opt.Waits, err = findWaits(ctx, d, waits, &trace.Window{From: w.From, To: w.To}); err != nil {
					return err
				}
				part := states.New(d.Defs(), opt)
				err = format.ScanReduced(ctx, d.Events, trace.Events(), states.Reduction(d.Defs(), opt), part)
				s = part.Result().Series
				return err
			})
		}
		return utilisationAnswer{w.Columns, s}, err
	}
}

// structureDepth is the depth down to which call trees are printed. It is the same as in the command
// `weft structure`.
const structureDepth = 8

// structureText computes the text that the command `weft structure` prints for the whole trace.
func structureText(e *entry, _ *params) func(context.Context) (any, error) {
	return func(ctx context.Context) (any, error) {
		text := ""
		err := e.readers.useReader(ctx, func(d *reader) error {
			defs := d.Defs()
			sum, err := analysis.Run(ctx, d.Events, trace.Events(), func() *structure.Part { return structure.New(defs) })
			if err != nil {
				return err
			}
			r, err := sum.Result()
			if err == nil {
				text = r.Text(defs.Clock, structureDepth)
			}
			return err
		})
		return map[string]string{"text": text}, err
	}
}

// defectFact is a defect. Time is relative to the first event. If the place of the defect is unknown, Time is
// "" and Track is -1.
type defectFact struct {
	Rule     string `json:"rule"`
	Severity string `json:"severity"`
	Message  string `json:"message"`
	File     string `json:"file"`
	Position string `json:"position"`
	Time     string `json:"time"`
	Track    int    `json:"track"`
}

// defectsAnswer lists the first defects of each rule. More is the number of defects that the list
// leaves out.
type defectsAnswer struct {
	Defects []defectFact `json:"defects"`
	More    int64        `json:"more"`
}

// defectPlaces is the largest number of places that are listed for each rule.
const defectPlaces = 100

// withFreshReader calls f with a newly opened reader, whose report is empty.
func (e *entry) withFreshReader(ctx context.Context, f func(*reader) error) error {
	x, err := e.detect()
	if err != nil {
		return err
	}
	d, err := e.s.opt.Reading.open(ctx, x, e.given.Source, nil)
	if err != nil {
		return err
	}
	defer d.Close()
	return f(d)
}

// defects computes the list of defects, for which it reads the whole trace.
func defects(e *entry, p *params) func(context.Context) (any, error) {
	v := p.x
	return func(ctx context.Context) (any, error) {
		a := defectsAnswer{[]defectFact{}, 0}
		err := e.withFreshReader(ctx, func(d *reader) error {
			d.opt.Report.Keep = defectPlaces
			if err := check.All(ctx, d.Events, d.file, d.src.Path, d.opt); err != nil {
				return err
			}
			for _, r := range d.opt.Report.Rules() {
				a.More += r.Count - int64(len(r.First))
				for _, x := range r.First {
					f := defectFact{Rule: x.Rule, Severity: x.Severity.String(), Message: x.Message(), File: x.Position.File,
						Track: -1}
					if w := x.Event; w.HasTime {
						f.Time = strconv.FormatInt(int64(v.jsonTime(w.Time)), 10)
					}
					if w := x.Event; w.HasLocation {
						f.Track = v.firstTrack(w.Location)
					}
					switch {
					case x.Position.Line > 0:
						f.Position = "line " + strconv.FormatInt(x.Position.Line, 10)
					case x.Position.Binary:
						f.Position = fmt.Sprintf("0x%x", x.Position.Offset)
					}
					a.Defects = append(a.Defects, f)
				}
			}
			return nil
		})
		return a, err
	}
}

// information computes the JSON that the command `weft info` prints.
func information(e *entry, _ *params) func(context.Context) (any, error) {
	return func(ctx context.Context) (v any, err error) {
		err = e.withFreshReader(ctx, func(d *reader) error {
			x := info.Trace{Events: d.Events, File: d.file, Format: d.format, Source: d.src, Report: d.opt.Report}
			v, _, err = x.Describe(ctx, false)
			return err
		})
		return v, err
	}
}
