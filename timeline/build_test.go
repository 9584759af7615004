package timeline

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/etf"
	"github.com/weft-trace/weft/internal/effort"
	"github.com/weft-trace/weft/trace"
)

const (
	regA = iota
	regB
	regC
)

// texts writes the spans of all rows: row key from-to low-high, and count and
// cover of merged ones.
func texts(v *View) []string {
	var out []string
	for _, r := range v.Rows {
		for _, s := range r.Spans {
			x := fmt.Sprintf("%s %s %d-%d %v-%v", r.Label, v.Keys[s.Key].Name, s.From, s.To, s.Low, s.High)
			if s.Count > 1 {
				x += fmt.Sprintf(" ×%d %.2f", s.Count, s.Cover)
			}
			out = append(out, x)
		}
	}
	return out
}

func TestSpans(t *testing.T) {
	resource := func(f *fake, capacity float64, offsets bool) *fake {
		f.defs.Resources.Add(trace.Resource{ID: "0", Name: "a", Capacity: capacity, UsesOffset: offsets})
		return f
	}
	nan := math.NaN()
	tests := []struct {
		name string
		fake *fake
		opt  Options
		want []string
	}{
		{"nested", newFake(1).add(0, 0, trace.Enter, regA).add(0, 10, trace.Enter, regB).add(0, 40, trace.Leave, regB).add(0, 100, trace.Leave, regA),
			Options{Width: 10}, []string{"a A 0-100 0-1", "a B 10-40 1-2"}},
		{"leave of an outer region", newFake(1).add(0, 0, trace.Enter, regA).add(0, 10, trace.Enter, regB).add(0, 40, trace.Leave, regA).
			add(0, 50, trace.Enter, regC).add(0, 60, trace.Leave, regC).add(0, 100, trace.Leave, regB),
			Options{Width: 10}, []string{"a A 0-40 0-1", "a B 10-100 1-2", "a C 50-60 2-3"}},
		{"recursion: the latest enter is closed", newFake(1).add(0, 0, trace.Enter, regA).add(0, 20, trace.Enter, regA).add(0, 30, trace.Leave, regA).add(0, 100, trace.Leave, regA),
			Options{Width: 10}, []string{"a A 0-100 0-1", "a A 20-30 1-2"}},
		{"never left, and left without enter", newFake(2).add(0, 0, trace.Leave, regB).add(0, 0, trace.Enter, regA).add(0, 70, trace.Mark, regB).add(1, 100, trace.Mark, regB),
			Options{Width: 10}, []string{"a A 0-70 0-1"}},
		{"window: cut at both ends, nothing that only touches it", newFake(1).add(0, 0, trace.Enter, regA).add(0, 20, trace.Enter, regB).add(0, 40, trace.Leave, regB).
			add(0, 60, trace.Enter, regC).add(0, 70, trace.Leave, regC).add(0, 100, trace.Leave, regA),
			Options{Width: 10, From: 40, To: 65}, []string{"a A 40-65 0-1", "a C 60-65 1-2"}},
		{"merged: C covers most of the first column", newFake(1).
			add(0, 0, trace.Enter, regA).add(0, 2, trace.Leave, regA).add(0, 2, trace.Enter, regC).add(0, 5, trace.Leave, regC).
			add(0, 8, trace.Enter, regB).add(0, 10, trace.Leave, regB).add(0, 50, trace.Enter, regB).add(0, 100, trace.Leave, regB),
			Options{Width: 10}, []string{"a C 0-10 0-1 ×3 0.70", "a B 50-100 0-1"}},
		{"small but alone stays exact", newFake(1).add(0, 0, trace.Enter, regA).add(0, 3, trace.Leave, regA).add(0, 55, trace.Enter, regB).add(0, 55, trace.Leave, regB).add(0, 100, trace.Mark, regB),
			Options{Width: 10}, []string{"a A 0-3 0-1", "a B 55-55 0-1"}},
		{"lanes", newFake(1).claim(0, 0, 1, 7, 1, nan).claim(0, 10, 2, 7, 1, nan).end(0, 30, 1).claim(0, 30, 3, 7, 1, nan).end(0, 60, 2).end(0, 100, 3),
			Options{Width: 10}, []string{"a A 0-30 0-1", "a A 30-100 0-1", "a A 10-60 1-2"}},
		{"stacked by amount, the gap is used again", resource(newFake(1), 10, false).claim(0, 0, 1, 0, 4, nan).claim(0, 10, 2, 0, 3, nan).end(0, 30, 1).
			claim(0, 40, 3, 0, 5, nan).claim(0, 50, 4, 0, 2, nan).end(0, 60, 2).end(0, 90, 4).end(0, 100, 3),
			Options{Width: 10}, []string{"a A 0-30 0-4", "a A 50-90 0-2", "a A 10-60 4-7", "a A 40-100 7-12"}},
		{"at offsets", resource(newFake(1), 100, true).claim(0, 0, 1, 0, 20, 50).claim(0, 10, 2, 0, 10, 0).end(0, 40, 2).end(0, 100, 1),
			Options{Width: 10}, []string{"a A 10-40 0-10", "a A 0-100 50-70"}},
		{"a claim begins where another ends, told in the other order", resource(newFake(1), 1, false).claim(0, 0, 1, 0, 1, nan).claim(0, 50, 2, 0, 1, nan).end(0, 50, 1).end(0, 100, 2),
			Options{Width: 10}, []string{"a A 0-50 0-1", "a A 50-100 0-1"}},
		{"claim never ended", resource(newFake(1), 1, false).claim(0, 0, 1, 0, 1, nan).add(0, 80, trace.Comment, trace.NoRef),
			Options{Width: 10}, []string{"a A 0-80 0-1"}},
		{"too deep", newFake(1).add(0, 0, trace.Enter, regA).add(0, 10, trace.Enter, regB).add(0, 40, trace.Leave, regB).add(0, 100, trace.Leave, regA),
			Options{Width: 10, MaxLevels: 1}, []string{"a A 0-100 0-1"}},
		{"rows by attribute: locations share a row, lanes by time", newFake(2).
			add(0, 0, trace.Enter, regA).attr(0, "job", "10").add(0, 50, trace.Leave, regA).
			add(1, 20, trace.Enter, regB).attr(1, "job", "10").add(1, 60, trace.Leave, regB).
			add(1, 60, trace.Enter, regC).attr(1, "job", "9").add(1, 100, trace.Leave, regC),
			Options{Width: 10, RowsBy: "job"}, []string{"9 C 60-100 0-1", "10 A 0-50 0-1", "10 B 20-60 1-2"}},
		{"colour by attribute", newFake(1).add(0, 0, trace.Enter, regA).attr(0, "job", "x").add(0, 50, trace.Leave, regA).add(0, 50, trace.Enter, regA).add(0, 100, trace.Leave, regA),
			Options{Width: 10, ColorBy: "job"}, []string{"a x 0-50 0-1", "a (no job) 50-100 0-1"}},
		{"rows by resource", resource(newFake(2), 2, false).claim(0, 0, 1, 0, 1, nan).end(0, 50, 1).claim(1, 20, 1, 0, 1, nan).end(1, 100, 1),
			Options{Width: 10, RowsBy: "resource"}, []string{"a A 0-50 0-1", "a A 20-100 1-2"}},
		{"filter", newFake(2).add(0, 0, trace.Enter, regA).add(0, 100, trace.Leave, regA).add(1, 0, trace.Enter, regB).add(1, 50, trace.Leave, regB),
			Options{Width: 10, Selection: trace.Selection{Location: func(l uint32) bool { return l == 1 }}}, []string{"b B 0-50 0-1"}},
	}
	for _, x := range tests {
		t.Run(x.name, func(t *testing.T) {
			v := build(t, x.fake, x.opt)
			if got := texts(v); !slices.Equal(got, x.want) {
				t.Errorf("found    %q\nexpected %q", got, x.want)
			}
			// The same spans must come from events in global order.
			x.opt.Messages = true
			if got := texts(build(t, x.fake, x.opt)); !slices.Equal(got, x.want) {
				t.Errorf("in order: found    %q\nexpected %q", got, x.want)
			}
		})
	}
}

func TestHiddenAndOverbookedAreSaid(t *testing.T) {
	f := newFake(1)
	f.defs.Resources.Add(trace.Resource{ID: "0", Name: "CPU", Unit: "%", Capacity: 100})
	f.claim(0, 0, 1, 0, 80, math.NaN()).claim(0, 10, 2, 0, 70, math.NaN()).end(0, 50, 1).end(0, 60, 2)
	f.add(0, 60, trace.Enter, regA).add(0, 60, trace.Enter, regB).add(0, 100, trace.Leave, regB)
	v := build(t, f, Options{Width: 10, MaxLevels: 1})
	want := []string{"CPU: claims hold up to 150 of 100 %", "spans not drawn, too many levels: 1, in a"}
	if !slices.Equal(v.Notes, want) {
		t.Errorf("found %q, expected %q", v.Notes, want)
	}
	if r := v.Rows[1]; !r.Amounts || r.Height != 150 || r.Peak != 150 || r.Capacity != 100 {
		t.Errorf("row %+v", r)
	}
}

func TestRowsAreCut(t *testing.T) {
	f := newFake(5)
	for i := range 5 {
		f.add(4-i, 0, trace.Enter, uint32(4-i)).add(4-i, 100, trace.Leave, uint32(4-i))
	}
	v := build(t, f, Options{MaxRows: 2})
	if v.MoreRows != 3 || len(v.Rows) != 2 || v.Rows[0].Label != "a" || v.Rows[1].Label != "b" || len(v.Colors) != 2 {
		t.Errorf("%d more rows, %+v, %+v", v.MoreRows, v.Rows, v.Colors)
	}
	// Values that only occur before the window take no row from those in it.
	g := newFake(1)
	for i := range 30 {
		g.add(0, int64(10*i), trace.Enter, regA).attr(0, "job", fmt.Sprint(i)).add(0, int64(10*i+9), trace.Leave, regA)
	}
	v = build(t, g, Options{MaxRows: 2, RowsBy: "job", From: 250, To: 300})
	if v.MoreRows != 3 || len(v.Rows) != 2 || v.Rows[0].Label != "25" || v.Rows[1].Label != "26" {
		t.Errorf("%d more rows, %+v", v.MoreRows, v.Rows)
	}
}

func TestColors(t *testing.T) {
	f := newFake(1)
	for i := range 5 {
		f.add(0, int64(10*i*i), trace.Enter, uint32(i)).add(0, int64(10*(i+1)*(i+1)), trace.Leave, uint32(i))
	}
	v := build(t, f, Options{MaxColors: 2})
	want := []Color{{"E", 90, 1, false}, {"D", 70, 1, false}, {"3 others", 90, 3, true}}
	if !slices.Equal(v.Colors, want) {
		t.Errorf("found %+v, expected %+v", v.Colors, want)
	}
	if v.Keys[v.Rows[0].Spans[0].Key] != (Key{"A", 2}) {
		t.Errorf("keys %+v, spans %+v", v.Keys, v.Rows[0].Spans)
	}
}

func TestInstantsAndGaps(t *testing.T) {
	f := newFake(1).add(0, 0, trace.Mark, regA).add(0, 4, trace.Mark, regB).
		add(0, 40, trace.Gap, trace.NoRef, 60).add(0, 100, trace.Comment, trace.NoRef).attr(0, "text", "the end")
	v := build(t, f, Options{Width: 10})
	r := v.Rows[0]
	if r.Kind != EventsRow || len(r.Instants) != 2 || r.Instants[0].Count != 2 || r.Instants[0].Label != "A" ||
		r.Instants[1].Time != 100 || r.Instants[1].Label != "the end" {
		t.Errorf("%v row with %+v", r.Kind, r.Instants)
	}
	if !slices.Equal(r.Gaps, []Interval{{40, 60}}) {
		t.Errorf("gaps %v", r.Gaps)
	}
}

func TestCurves(t *testing.T) {
	bits := math.Float64bits
	tests := []struct {
		name     string
		kind     trace.MetricKind
		add      func(f *fake)
		want     CurveKind
		min, max []float64
	}{
		// 10 ticks are a unit: 1 + 2u − u² over 2 units has its top, 2, at u = 1.
		{"fragment", trace.SignalMetric, func(f *fake) { f.add(0, 0, trace.Fragment, 0, 20, bits(1), bits(2), bits(-1)) }, Smooth,
			[]float64{1, 1.75, 1.75, 1}, []float64{1.75, 2, 2, 1.75}},
		{"fragments with the top inside a column", trace.SignalMetric, func(f *fake) {
			f.add(0, 0, trace.Fragment, 0, 15, bits(0), bits(1), bits(-0.5)).add(0, 20, trace.Mark, regA)
		}, Smooth, []float64{0, 0.375, 0.375, math.NaN()}, []float64{0.375, 0.5, 0.5, math.NaN()}},
		{"counter", trace.CounterMetric, func(f *fake) {
			f.add(0, 0, trace.Metric, 0, bits(3)).add(0, 12, trace.Metric, 0, bits(7)).add(0, 20, trace.Mark, regA)
		}, Steps, []float64{3, 3, 3, 7}, []float64{3, 3, 7, 7}},
		{"series", trace.SeriesMetric, func(f *fake) {
			f.add(0, 0, trace.SampleRange, 0, 10, bits(1), bits(5), bits(2)).add(0, 20, trace.Metric, 0, bits(9))
		}, Points, []float64{1, 5, 2, 9}, []float64{1, 5, 2, 9}},
	}
	for _, x := range tests {
		t.Run(x.name, func(t *testing.T) {
			f := newFake(1)
			f.defs.Metrics.Add(trace.MetricDef{ID: "0", Name: "m", Unit: "V", Kind: x.kind, Type: trace.Float64})
			x.add(f)
			v := build(t, f, Options{Width: 4})
			r := v.Rows[len(v.Rows)-1]
			if r.Kind != SignalRow || r.Label != "m" || r.Unit != "V" || r.Curve.Kind != x.want {
				t.Fatalf("row %+v", r)
			}
			same := func(a, b float64) bool { return math.IsNaN(a) == math.IsNaN(b) && !(math.Abs(a-b) > 1e-12) }
			if !slices.EqualFunc(r.Curve.Min, x.min, same) || !slices.EqualFunc(r.Curve.Max, x.max, same) {
				t.Errorf("found %v to %v, expected %v to %v", r.Curve.Min, r.Curve.Max, x.min, x.max)
			}
		})
	}
}

func TestMessages(t *testing.T) {
	f := newFake(2)
	const tag = 5
	f.add(0, 10, trace.Send, trace.NoRef, 1, trace.Undefined, tag, 100)
	f.add(0, 20, trace.SendBegin, trace.NoRef, 1, trace.Undefined, tag, 100)
	f.add(0, 25, trace.Send, trace.NoRef, 1, trace.Undefined, 6, 100) // nobody receives it
	f.add(1, 0, trace.Enter, regA)
	f.add(1, 30, trace.Recv, trace.NoRef, 0, trace.Undefined, tag, 100)
	f.add(1, 40, trace.RecvComplete, trace.NoRef, 0, trace.Undefined, tag, 100)
	f.add(1, 100, trace.Leave, regA)
	v := build(t, f, Options{Messages: true})
	want := []Arrow{{Message, ArrowEnd{0, 10, -1}, ArrowEnd{1, 30, 0.5}, ""}, {Message, ArrowEnd{0, 20, -1}, ArrowEnd{1, 40, 0.5}, ""}}
	if !slices.Equal(v.Arrows, want) || v.Messages != (ArrowCount{2, 2, 1}) {
		t.Errorf("found %+v, %+v", v.Arrows, v.Messages)
	}
	if v = build(t, f, Options{Messages: true, From: 35, To: 100}); v.Messages != (ArrowCount{1, 1, 0}) {
		t.Errorf("in a window: found %+v", v.Messages)
	}
}

func TestLinks(t *testing.T) {
	f := newFake(2).add(0, 0, trace.Mark, regA, 1).add(1, 100, trace.Mark, regA, 2)
	f.links = []trace.Link{
		{ID: 1, Src: trace.End{ID: 1, Location: 0, Time: 0}, Dst: trace.End{ID: 2, Location: 1, Time: 100}, Attrs: []trace.Attr{{Key: "type", Value: trace.StringValue("app")}}},
		{ID: 2, Src: trace.End{ID: 9, Location: trace.NoRef}, Dst: trace.End{ID: 2, Location: 1, Time: 100}},
	}
	v := build(t, f, Options{Links: true})
	if want := []Arrow{{Dependency, ArrowEnd{0, 0, -1}, ArrowEnd{1, 100, -1}, "app"}}; !slices.Equal(v.Arrows, want) || v.Links != (ArrowCount{1, 1, 1}) {
		t.Errorf("found %+v, %+v", v.Arrows, v.Links)
	}
	for i := range 500 {
		f.links = append(f.links, trace.Link{ID: int64(i), Src: trace.End{ID: 1, Location: 0}, Dst: trace.End{ID: 2, Location: 1, Time: int64(i % 100)}})
	}
	v = build(t, f, Options{Links: true, MaxArrows: 50})
	slices.Reverse(f.links)
	if w := build(t, f, Options{Links: true, MaxArrows: 50}); len(v.Arrows) != 50 || !slices.Equal(v.Arrows, w.Arrows) {
		t.Errorf("found %d arrows, and others when links come in another order", len(v.Arrows))
	}
	if want := "50 of 501 dependencies drawn"; !slices.Contains(v.Notes, want) {
		t.Errorf("notes %q lack %q", v.Notes, want)
	}
}

func TestErrors(t *testing.T) {
	f := newFake(1).add(0, 0, trace.Enter, regA).attr(0, "job", "1")
	for want, o := range map[string]Options{
		`option rows: found "jobs", expected an attribute that events have: job`:  {RowsBy: "jobs"},
		`option color: found "core", expected an attribute that events have: job`: {ColorBy: "core"},
		"timeline: the window ends at 1, before it begins at 2":                   {From: 2, To: 1},
		`option Width: found "-1", expected 1 to 65536`:                           {Width: -1},
	} {
		if _, err := Build(context.Background(), f, o); err == nil || err.Error() != want {
			t.Errorf("found %v, expected %s", err, want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Build(ctx, f, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("found %v, expected that the context was cancelled", err)
	}
	if v := build(t, newFake(0), Options{}); len(v.Rows) != 0 || v.To <= v.From {
		t.Errorf("an empty trace gave %+v", v)
	}
}

func TestOriginIsTheTracesOwn(t *testing.T) {
	f := newFake(2).add(0, 7, trace.Mark, regA).add(1, 50, trace.Mark, regA).add(1, 60, trace.Mark, regA)
	only := trace.Selection{Location: func(l uint32) bool { return l == 1 }}
	for _, o := range []Options{{Selection: only}, {Selection: only, From: 40, To: 80}} {
		if v := build(t, f, o); v.Origin != 7 {
			t.Errorf("origin %d, expected 7", v.Origin)
		}
	}
}

func openETF(t *testing.T, name string) format.Events {
	t.Helper()
	d, err := etf.Format{}.Open(context.Background(), format.FileSource("testdata/"+name), &format.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func TestETF(t *testing.T) {
	v := build(t, openETF(t, "feature-coverage.etf"), Options{Links: true})
	want := []string{"CPU A 0-20 0-1", "CPU Z 60-60 0-1", "CPU A 10-30 1-2", "MEM M 20-60 0-60", "MEM M 30-50 60-100"}
	if got := texts(v); !slices.Equal(got, want) {
		t.Errorf("found %q, expected %q", got, want)
	}
	if v.Links != (ArrowCount{9, 9, 0}) || v.Title != "coverage" {
		t.Errorf("links %+v, title %q", v.Links, v.Title)
	}
	v = build(t, openETF(t, "doc-examples.etf"), Options{RowsBy: "task"})
	want = []string{"A A 2-132 0-1", "B B 4-6 0-1"}
	if got := texts(v); !slices.Equal(got, want) {
		t.Errorf("found %q, expected %q", got, want)
	}
	// The second fragment begins at 4 and goes 4 − 0.3·0.3 + 5·0.3² = 4.36.
	if c := v.Rows[3].Curve; c == nil || c.Lowest != 3 || math.Abs(c.Highest-4.36) > 1e-9 {
		t.Errorf("curve %+v", c)
	}
}

// generator is a decoder that makes events as it goes.
type generator struct {
	fake
	locations, events int
}

func (g *generator) Scan(_ context.Context, _ trace.Selection, _ format.Order, sink format.Sink) error {
	rnd := rand.New(rand.NewPCG(1, 2))
	var b trace.Batch
	b.Reset(trace.MixedLoc)
	for i := 0; i < g.events; i += 8 {
		loc, t := uint32(i/8%g.locations), int64(i)*100
		region := rnd.Uint32N(6)
		b.Add(loc, t, trace.Enter, region)
		b.Add(loc, t+10, trace.Enter, (region+1)%6)
		b.Add(loc, t+20, trace.Mark, region)
		b.Add(loc, t+20+int64(rnd.Uint32N(300)), trace.Leave, (region+1)%6)
		b.Add(loc, t+400, trace.Leave, region)
		b.Add(loc, t+500, trace.ClaimBegin, region)
		b.AddOps(uint64(i), 0, math.Float64bits(float64(rnd.Uint32N(50))), math.Float64bits(float64(rnd.Uint32N(50))))
		b.Add(loc, t+600, trace.Metric, 0)
		b.AddOps(uint64(rnd.Uint32N(100)))
		b.Add(loc, t+700, trace.ClaimEnd, region)
		b.AddOps(uint64(i))
		if b.Len() >= trace.BatchRows {
			if err := sink.Batch(&b); err != nil {
				return err
			}
			b.Reset(trace.MixedLoc)
		}
	}
	return sink.Batch(&b)
}

func TestMemoryIsBoundedByPixels(t *testing.T) {
	effort.Sequential(t)
	g := &generator{fake: *newFake(4), locations: 4, events: 1 << 20}
	g.defs.Resources.Add(trace.Resource{ID: "0", Name: "memory", Capacity: 100, UsesOffset: true})
	g.defs.Metrics.Add(trace.MetricDef{ID: "0", Name: "m", Kind: trace.CounterMetric, Type: trace.Uint32})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	const width = 200
	v := build(t, g, Options{Width: width, Messages: true, Links: true})
	runtime.GC()
	runtime.ReadMemStats(&after)
	for _, r := range v.Rows {
		strips := int(r.Height)
		if r.Amounts {
			strips = maxPlaces + maxBins
		}
		if len(r.Spans) > 2*width*strips || len(r.Instants) > width || r.Hidden > 0 {
			t.Errorf("row %s: %d spans, %d instants, %d hidden", r.Label, len(r.Spans), len(r.Instants), r.Hidden)
		}
	}
	if len(v.Rows) != 12 {
		t.Errorf("%d rows, expected 12", len(v.Rows))
	}
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 8<<20 {
		t.Errorf("the view takes %d bytes", grown)
	}
	total := 0.0
	for _, c := range v.Colors {
		total += float64(c.Count)
	}
	if want := float64(1<<20) / 8 * 4; total != want {
		t.Errorf("%v spans and instants counted, expected %v", total, want)
	}
	if w := build(t, g, Options{Width: width, Messages: true, Links: true}); !reflect.DeepEqual(normal(v), normal(w)) {
		t.Error("two views of the same trace differ")
	}
}

// normal takes out what has no equality: NaN.
func normal(v *View) *View {
	for i := range v.Rows {
		if c := v.Rows[i].Curve; c != nil {
			for _, l := range [][]float64{c.Min, c.Max, c.First, c.Last} {
				for j, x := range l {
					if math.IsNaN(x) {
						l[j] = -1
					}
				}
			}
		}
	}
	return v
}

func TestNatural(t *testing.T) {
	list := strings.Fields("job10 job9 job09 a 2 10 job 1b")
	slices.SortFunc(list, natural)
	if got := strings.Join(list, " "); got != "1b 2 10 a job job09 job9 job10" {
		t.Error(got)
	}
}

func TestScale(t *testing.T) {
	for _, x := range []struct {
		from, to int64
		width    int
	}{{0, 100, 10}, {-7, 4, 5}, {0, 3, 10}, {math.MinInt64 + 1, math.MaxInt64, 1000}} {
		s := newScale(x.from, x.to, x.width)
		for c := range x.width {
			at := s.start(c)
			if s.start(c+1) > at && s.column(at) != c {
				t.Errorf("%+v: column %d begins at %d, which lies in column %d", x, c, at, s.column(at))
			}
		}
		if s.column(x.to) != x.width-1 || s.start(x.width) != x.to {
			t.Errorf("%+v: the right edge is not in the last column", x)
		}
	}
}
