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
	"github.com/weft-trace/weft/analysis/states"
	"github.com/weft-trace/weft/analysis/structure"
	"github.com/weft-trace/weft/check"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/timeline/index"
	"github.com/weft-trace/weft/trace"
)

// This file has the answers that read the trace.

type nodeFact struct {
	Region    int         `json:"region"`
	Name      string      `json:"name"`
	Count     int64       `json:"count"`
	Inclusive sum         `json:"inclusive"`
	Exclusive sum         `json:"exclusive"`
	Min       ticks       `json:"min"`
	Max       ticks       `json:"max"`
	Longest   *visitFact  `json:"longest,omitempty"` // the visit that took max
	Children  []*nodeFact `json:"children"`
	Left      *pathsLeft  `json:"left,omitempty"`
}

// pathsLeft sums up call paths that are left out.
type pathsLeft struct {
	Paths     int64 `json:"paths"`
	Exclusive sum   `json:"exclusive"`
}

// visitFact is where and when a visit began.
type visitFact struct {
	Track int   `json:"track"`
	Time  ticks `json:"time"`
}

type treeAnswer struct {
	Roots []*nodeFact `json:"roots"`
	Paths int64       `json:"paths"` // that there are
	Left  pathsLeft   `json:"left"`
}

// mostDeep is how deep a call tree is shown.
const mostDeep = 256

func callTree(e *entry, p *params) func(context.Context) (any, error) {
	from, to, whole := p.window()
	tracks := p.tracks(len(p.x.tracks))
	limit := int(p.number("limit", 1, mostProfileRows, profileRows))
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
			for _, t := range v.only(index.LocationTrack, tracks) {
				wanted[v.tracks[t].Location] = true
			}
			sel.Location = func(loc uint32) bool { return wanted[loc] }
		}
		var nodes []calltree.Node
		err := e.decoders.with(ctx, func(d *reader) error {
			defs := d.Defs()
			opt.Rows = trace.NewRows(defs)
			all, err := analysis.Run(ctx, d.Events, sel.Surrounding(), func() *calltree.Part { return calltree.New(defs, opt) })
			if err == nil {
				nodes = all.Result()
			}
			return err
		})
		if e.color != "" {
			// The regions are others there than those of calls.
			for i := range nodes {
				nodes[i].Region = trace.NoRef
			}
		}
		return tree(nodes, limit, func(x *calltree.Visit) *visitFact {
			if x == nil || e.color != "" {
				return nil
			}
			t := v.trackOf(x.Location)
			if t < 0 {
				return nil
			}
			return &visitFact{t, v.at(x.Start)}
		}), err
	}
}

// tree makes a tree of a list: of the paths with most inclusive time, up to a limit. visited says how
// the longest visit of each is answered.
func tree(nodes []calltree.Node, limit int, visited func(*calltree.Visit) *visitFact) *treeAnswer {
	a := &treeAnswer{Roots: []*nodeFact{}, Paths: int64(len(nodes))}
	least, alike := trace.TicksOf(math.MinInt64), 0 // what is shown has more, or is one of so many alike
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
	made := make([]*nodeFact, len(nodes)) // those that are shown, and of others the one around them
	shown := make([]bool, len(nodes))
	for i := range nodes {
		n := &nodes[i]
		var above *nodeFact
		if n.Parent >= 0 {
			above, shown[i] = made[n.Parent], shown[n.Parent]
		} else {
			shown[i] = true
		}
		shown[i] = shown[i] && n.Depth < mostDeep && (n.Inclusive.Cmp(least) > 0 || n.Inclusive == least && alike > 0)
		if !shown[i] {
			made[i] = above
			a.Left.add(n)
			if above != nil {
				if above.Left == nil {
					above.Left = &pathsLeft{}
				}
				above.Left.add(n)
			}
			continue
		}
		if n.Inclusive == least {
			alike--
		}
		f := &nodeFact{number(n.Region), n.Name, n.Count, sum(n.Inclusive), sum(n.Exclusive), ticks(n.Min), ticks(n.Max), visited(n.Longest), []*nodeFact{}, nil}
		made[i] = f
		if above == nil {
			a.Roots = append(a.Roots, f)
		} else {
			above.Children = append(above.Children, f)
		}
	}
	return a
}

// add takes a path that is left out.
func (l *pathsLeft) add(n *calltree.Node) {
	l.Paths++
	l.Exclusive.add(n.Exclusive)
}

type utilisationAnswer struct {
	Width int `json:"width"`
	*states.Series
}

func utilisation(e *entry, p *params) func(context.Context) (any, error) {
	w := states.Columns{Columns: int(p.number("width", 1, maxWidth, 1000))}
	w.From, w.To, _ = p.window()
	return func(ctx context.Context) (any, error) {
		s, err := e.indexedSeries(ctx, w)
		if s == nil && err == nil {
			err = e.decoders.with(ctx, func(d *reader) error {
				opt := states.Options{Series: &w}
				part := states.New(d.Defs(), opt)
				err := format.ScanReduced(ctx, d.Events, trace.Events(), states.Reduction(d.Defs(), opt), part)
				s = part.Result().Series
				return err
			})
		}
		return utilisationAnswer{w.Columns, s}, err
	}
}

// structureDepth is how deep trees are shown, as by weft structure.
const structureDepth = 8

func structureText(e *entry, _ *params) func(context.Context) (any, error) {
	return func(ctx context.Context) (any, error) {
		text := ""
		err := e.decoders.with(ctx, func(d *reader) error {
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

type defectFact struct {
	Rule     string `json:"rule"`
	Severity string `json:"severity"`
	Message  string `json:"message"`
	File     string `json:"file"`
	Position string `json:"position"`
	Time     string `json:"time"`
	Track    int    `json:"track"`
}

type defectsAnswer struct {
	Defects []defectFact `json:"defects"`
	More    int64        `json:"more"`
}

// defectPlaces is how many places are named of each rule.
const defectPlaces = 100

// fresh opens a decoder of its own, which has reported nothing yet.
func (e *entry) fresh(ctx context.Context, f func(*reader) error) error {
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

func defects(e *entry, p *params) func(context.Context) (any, error) {
	v := p.x
	return func(ctx context.Context) (any, error) {
		a := defectsAnswer{[]defectFact{}, 0}
		err := e.fresh(ctx, func(d *reader) error {
			d.opt.Report.Keep = defectPlaces
			if err := check.All(ctx, d.Events, d.file, d.src.Path, d.opt); err != nil {
				return err
			}
			for _, r := range d.opt.Report.Rules() {
				a.More += r.Count - int64(len(r.First))
				for _, x := range r.First {
					f := defectFact{Rule: x.Rule, Severity: x.Severity.String(), Message: x.Message(), File: x.Position.File, Track: -1}
					if w := x.Event; w.HasTime {
						f.Time = strconv.FormatInt(int64(v.at(w.Time)), 10)
					}
					if w := x.Event; w.HasLocation {
						f.Track = v.trackOf(w.Location)
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

func information(e *entry, _ *params) func(context.Context) (any, error) {
	return func(ctx context.Context) (v any, err error) {
		err = e.fresh(ctx, func(d *reader) error {
			v, _, err = d.info().Of(ctx, false)
			return err
		})
		return v, err
	}
}
