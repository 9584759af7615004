package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/weft-trace/weft/analysis/messages"
	"github.com/weft-trace/weft/analysis/profile"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/effort"
	"github.com/weft-trace/weft/trace"
)

// Spans are found where they are, with their ends, however far behind these are.
func TestSpanAt(t *testing.T) {
	effort.Sequential(t)
	r, spans := random(3, 2, 30000)
	x := build(t, r)
	rng := rand.New(rand.NewPCG(1, 1))
	first, last, _ := x.Extent()
	hits := 0
	for range effort.Rounds(1000) {
		track, depth, at := rng.IntN(2), rng.IntN(11), first-5+rng.Int64N(last-first+10)
		got, ok, err := x.SpanAt(track, depth, at)
		if err != nil {
			t.Fatal(err)
		}
		var want *Span
		short := false // there are some of no length there
		for i, s := range spans[track] {
			if int(s.Depth) != depth {
				continue
			}
			if s.Start <= at && at < s.End {
				want = &spans[track][i]
			}
			short = short || s.Start == s.End && s.Start == at
		}
		switch {
		case want != nil && (!ok || got != *want):
			t.Fatalf("track %d, depth %d at %d: found %v %v, expected %v", track, depth, at, got, ok, *want)
		case want == nil && ok != short:
			t.Fatalf("track %d, depth %d at %d: found %v %v, expected none: %v", track, depth, at, got, ok, !short)
		}
		if want == nil {
			continue
		}
		hits++
		around, err := x.Around(track, got)
		if err != nil || len(around) != depth {
			t.Fatalf("track %d: around %v are %v, %v, expected %d", track, got, around, err, depth)
		}
		for _, o := range around {
			if o.Start > got.Start || o.End < got.End {
				t.Fatalf("%v is said to be around %v", o, got)
			}
		}
	}
	if hits < effort.Rounds(200) {
		t.Errorf("%d spans found", hits)
	}
}

func TestFind(t *testing.T) {
	effort.Sequential(t)
	r, spans := random(4, 1, 30000)
	x := build(t, r)
	rng := rand.New(rand.NewPCG(2, 2))
	first, last, _ := x.Extent()
	for range effort.Rounds(600) {
		region, at, forward := uint32(rng.IntN(7)), first-5+rng.Int64N(last-first+10), rng.IntN(2) == 0
		want, any := int64(0), false
		for _, s := range spans[0] {
			if s.Region == region && (forward && s.Start > at && (!any || s.Start < want) || !forward && s.Start < at && (!any || s.Start > want)) {
				want, any = s.Start, true
			}
		}
		got, ok, err := x.Find(t.Context(), 0, region, at, forward)
		if err != nil || ok != any || ok && got.Start != want {
			t.Fatalf("region %d from %d on, forward %v: found %v %v %v, expected one that begins at %d: %v", region, at, forward, got, ok, err, want, any)
		}
		if ok && !slices.Contains(spans[0], got) {
			t.Fatalf("found %v, which is no span", got)
		}
	}
}

// The nearest edge is that of all spans at the depths, looked at one by one.
func TestEdge(t *testing.T) {
	effort.Sequential(t)
	r, spans := random(5, 1, 30000)
	x := build(t, r)
	rng := rand.New(rand.NewPCG(3, 3))
	first, last, _ := x.Extent()
	found := 0
	for range effort.Rounds(400) {
		depth, depths, at := rng.IntN(6), 1+rng.IntN(3), first-50+rng.Int64N(last-first+100)
		within := rng.Int64N(1 << rng.IntN(16))
		want, least := int64(0), within+1
		for _, s := range spans[0] {
			if d := int(s.Depth); d < depth || d >= depth+depths {
				continue
			}
			for _, e := range []int64{s.Start, s.End} {
				if n := max(e-at, at-e); n < least || n == least && n <= within && e < want {
					want, least = e, n
				}
			}
		}
		got, ok, err := x.Edge(t.Context(), 0, depth, depths, at, within)
		if err != nil || ok != (least <= within) || ok && got != want {
			t.Fatalf("depths %d to %d, %d around %d: found %d, %v, %v, expected %d, %v", depth, depth+depths-1, within, at, got, ok, err, want, least <= within)
		}
		if ok {
			found++
		}
	}
	if found < effort.Rounds(400)/10 {
		t.Errorf("%d edges found", found)
	}
}

// chatter records messages between locations, some of which get lost.
func chatter(seed uint64, locations, n int) *trace.Recorder {
	r := trace.NewRecorder(trace.Seconds(1_000_000))
	rng := rand.New(rand.NewPCG(seed, 9))
	var locs []uint32
	for i := range locations {
		locs = append(locs, r.Location(fmt.Sprint("p", i)))
	}
	type event struct {
		time     int64
		loc      uint32
		recv     bool
		from, to uint32
		tag      int64
		bytes    uint64
	}
	var events []event
	for i := range n {
		a, b := locs[rng.IntN(locations)], locs[rng.IntN(locations)]
		at, tag, size := int64(i*3), int64(rng.IntN(3)), uint64(rng.IntN(5000))
		// Messages of a channel do not overtake each other: a receive is 40 ticks later.
		events = append(events, event{at, a, false, a, b, tag, size})
		if i < n-n/50 { // the last ones get lost
			events = append(events, event{at + 40, b, true, a, b, tag, size})
		}
	}
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Compare(a.time, b.time) })
	for _, e := range events {
		if e.recv {
			r.Recv(e.loc, e.time, e.from, e.tag, e.bytes)
		} else {
			r.Send(e.loc, e.time, e.to, e.tag, e.bytes)
		}
	}
	return r
}

// Messages against package messages.
func TestMessages(t *testing.T) {
	for _, n := range []int{300, effort.Rounds(100000)} {
		r := chatter(1, 9, n)
		x := build(t, r)
		first, last, _ := x.Extent()
		from, to := first+(last-first)/3, last-(last-first)/7
		p := messages.New(r.Defs(), messages.Options{Window: &trace.Window{From: from, To: to}})
		if err := format.Recorded(r).Scan(t.Context(), trace.Everything(), format.PerLocation, p); err != nil {
			t.Fatal(err)
		}
		cells, err := x.Matrix(t.Context(), from, to)
		if err != nil {
			t.Fatal(err)
		}
		tracks := x.Tracks()
		want := p.Result()
		if len(want.Matrix) != len(cells) {
			t.Fatalf("%d messages: found %d cells, expected %d", n, len(cells), len(want.Matrix))
		}
		for i, c := range cells {
			w := want.Matrix[slices.IndexFunc(want.Matrix, func(w messages.Cell) bool {
				return w.Source == tracks[c.Source].Location && w.Destination == tracks[c.Destination].Location
			})]
			if w.Count != c.Count || w.Bytes != uint64(c.Bytes) {
				t.Fatalf("cell %d: found %+v, expected %+v", i, c, w)
			}
			if c.Matched == c.Count && c.MatchedBytes != c.Bytes || c.Matched < c.Count && c.MatchedBytes >= c.Bytes {
				t.Fatalf("cell %d: found %d bytes of %d messages received, of %d bytes of %d", i, c.MatchedBytes, c.Matched, c.Bytes, c.Count)
			}
			if c.Matched > 0 && (c.Min != 40 || c.Max != 40 || c.Sum != trace.TicksOf(40*c.Matched) || c.Mean() != 40) {
				t.Fatalf("cell %d: found times %d to %d, sum %d of %d, expected 40 each", i, c.Min, c.Max, c.Sum, c.Matched)
			}
		}
		// The links of any window stand for all messages that have a part in it.
		rng := rand.New(rand.NewPCG(3, 3))
		for range 40 {
			length := int64(math.Exp(rng.Float64()*math.Log(float64(last-first)))) + 10
			from := first - 20 + rng.Int64N(last-first)
			set, err := x.Links(t.Context(), LinkRequest{From: from, To: from + length, Limit: 300})
			if err != nil {
				t.Fatal(err)
			}
			least, most := int64(0), int64(0)
			for i := range n {
				a, b := int64(i*3), int64(i*3+40)
				if i >= n-n/50 {
					break // nobody received these
				}
				if a < from+length && b >= from {
					least++
				}
				// Bundles at the edges may stand for more.
				if slack := length + 100000; a < from+length+slack && b >= from-slack {
					most++
				}
			}
			if set.Total < least || set.Total > most || len(set.Links) > 300 || !set.Bundled && set.Total != least {
				t.Fatalf("%d messages from %d to %d: found %d, bundled %v, expected %d to %d", n, from, from+length, set.Total, set.Bundled, least, most)
			}
		}
		// Where not all can be shown, they are from all over the window.
		set, err := x.Links(t.Context(), LinkRequest{From: first, To: last, Limit: 90})
		if err != nil {
			t.Fatal(err)
		}
		third := [3]int{}
		for _, l := range set.Links {
			third[min(2, (l.Start-first)*3/(last-first))]++
		}
		if slices.Min(third[:]) < 15 {
			t.Errorf("%d messages: found %v links in the thirds of the window, expected some 30 each", n, third)
		}
		if got := x.Counts().Links; got != int64(n-n/50) {
			t.Errorf("found %d links, expected %d", got, n-n/50)
		}
		lost := 0
		for k := range tracks {
			l, err := x.LinksOf(k, first, last, 2*n)
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range l {
				if l.Alone && l.Source == k {
					lost++
				}
			}
		}
		if lost != n/50 {
			t.Errorf("%d messages: found %d sends that nobody received, expected %d", n, lost, n/50)
		}
		l, err := x.LinksOf(2, first+100, first+700, 1000)
		if err != nil {
			t.Fatal(err)
		}
		for _, y := range l {
			if y.Source != 2 && y.Destination != 2 || y.End-y.Start != 40 && !y.Alone {
				t.Fatalf("found %+v among the links of track 2", y)
			}
		}
		if len(l) == 0 {
			t.Errorf("found no links of track 2")
		}
	}
}

// factory records claims on a resource, and the truth about them.
func factory(seed uint64, n int) (*trace.Recorder, []Span) {
	r := trace.NewRecorder(trace.Seconds(1000))
	rng := rand.New(rand.NewPCG(seed, 1))
	res := r.Resource("memory", 16, "MB")
	var act []uint32
	for _, s := range []string{"read", "filter", "write"} {
		act = append(act, r.Region(s))
	}
	type claim struct {
		id, start int64
		region    uint32
		amount    float64
	}
	var open []claim
	var spans []Span
	now := int64(0)
	for range n {
		now += int64(rng.IntN(10))
		if len(open) > 0 && (len(open) > 5 || rng.IntN(2) == 0) {
			k := rng.IntN(len(open))
			c := open[k]
			open = slices.Delete(open, k, k+1)
			r.Release(c.id, now)
			spans = append(spans, Span{Start: c.start, End: now, Region: c.region, Height: uint8(math.Round(c.amount / 16 * 255))})
			continue
		}
		c := claim{start: now, region: act[rng.IntN(3)], amount: float64(1 + rng.IntN(4))}
		c.id = r.Claim(res, now, c.region, c.amount)
		open = append(open, c)
	}
	for _, c := range open {
		r.Release(c.id, now)
		spans = append(spans, Span{Start: c.start, End: now, Region: c.region, Height: uint8(math.Round(c.amount / 16 * 255))})
	}
	return r, spans
}

func TestClaims(t *testing.T) {
	effort.Sequential(t)
	r, spans := factory(1, 40000)
	x := build(t, r)
	k := slices.IndexFunc(x.Tracks(), func(t Track) bool { return t.Kind == ResourceTrack })
	track := x.Tracks()[k]
	if track.Spans != int64(len(spans)) || track.Capacity != 16 || track.Unit != "MB" || track.Depth < 6 || track.Depth > 7 {
		t.Fatalf("found %+v, expected %d claims in 6 or 7 lanes", track, len(spans))
	}
	first, last, _ := x.Extent()
	rng := rand.New(rand.NewPCG(4, 4))
	for range 50 {
		from := first + rng.Int64N(last-first)
		to := from + 1 + rng.Int64N(last-first)
		p := profile.New(r.Defs(), profile.Options{Window: &trace.Window{From: from, To: to}})
		if err := format.Recorded(r).Scan(t.Context(), trace.Everything(), format.PerLocation, p); err != nil {
			t.Fatal(err)
		}
		var want []Sum
		for _, a := range p.Result().Activities {
			want = append(want, Sum{a.Region, a.Count, a.Time, a.Time, a.Time, a.Min, a.Max})
		}
		got, err := x.Profile(k, from, to)
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("from %d to %d:\nfound    %v %v\nexpected %v", from, to, got, err, want)
		}
		if to-from > 50_000 {
			to = from + 50_000
		}
		claimed := make([]bool, to-from)
		for _, c := range spans {
			for at := max(c.Start, from); at < min(c.End, to); at++ {
				claimed[at-from] = true
			}
		}
		busy := int64(0)
		for _, c := range claimed {
			if c {
				busy++
			}
		}
		if got, err := x.Busy(t.Context(), k, from, to); err != nil || got != busy {
			t.Fatalf("from %d to %d: %d ticks busy, %v, expected %d", from, to, got, err, busy)
		}
	}
	// The amount in use, column by column.
	from := first + (last-first)/2
	tile, err := x.Tile(t.Context(), TileRequest{Tracks: []int{k}, From: from, To: from + 500, Width: 500, Depths: 10})
	if err != nil {
		t.Fatal(err)
	}
	s := tile.Strips[len(tile.Strips)-1]
	if s.Kind != AmountStrip || s.Count != 500 {
		t.Fatalf("found the strip %+v, expected amounts in all columns", s)
	}
	for i := range 500 {
		held := 0.0
		for _, c := range spans {
			if at := from + int64(i); c.Start <= at && at < c.End {
				held += math.Round(float64(c.Height) / 255 * 16)
			}
		}
		if got := tile.Last[s.First+i]; float64(got) != held {
			t.Fatalf("at %d: found an amount of %g, expected %g", from+int64(i), got, held)
		}
	}
	// No lane has two claims at once, and all claims are in some lane.
	var shown int64
	for d := range track.Depth {
		var in []Span
		var b spanBlock
		err := x.spans(&reader{f: x.data}, x.dir.Tracks[k], first, last+1, &b, func(s *Span) {
			if int(s.Depth) == d {
				in = append(in, *s)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(in, func(a, b Span) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End)) })
		for i := 1; i < len(in); i++ {
			if in[i].Start < in[i-1].End {
				t.Fatalf("lane %d has %v and %v", d, in[i-1], in[i])
			}
		}
		shown += int64(len(in))
	}
	if shown != track.Spans {
		t.Errorf("%d claims in lanes, expected %d", shown, track.Spans)
	}
}

// Counters at any zoom against their values.
func TestCounter(t *testing.T) {
	r := trace.NewRecorder(trace.Seconds(1000))
	loc := r.Location("p")
	m := r.Defs().Metrics.Add(trace.MetricDef{ID: "1", Name: "queue", Kind: trace.CounterMetric, Type: trace.Float64, Location: loc})
	rng := rand.New(rand.NewPCG(7, 7))
	const n = 50000
	times, values := make([]int64, n), make([]float64, n)
	now := int64(-300)
	for i := range n {
		now += int64(rng.IntN(6))
		times[i], values[i] = now, float64(rng.IntN(1000))
		r.Event(loc, now, trace.Metric, m, []uint64{math.Float64bits(values[i])})
	}
	x := build(t, r)
	tracks := x.Tracks()
	if len(tracks) != 2 || tracks[0].Kind != LocationTrack || tracks[1].Parent != 0 {
		t.Fatalf("found the tracks %+v", tracks) // the location has its row, though nothing is in it
	}
	if c := tracks[1]; c.Kind != CounterTrack || c.Low != slices.Min(values) || c.High != slices.Max(values) || c.Style != "steps" {
		t.Fatalf("found the tracks %+v", tracks)
	}
	for range 100 {
		length := int64(math.Exp(rng.Float64()*math.Log(float64(now+300)))) + 5
		from := -310 + rng.Int64N(now+300)
		width := 1 + rng.IntN(400)
		tile, err := x.Tile(t.Context(), TileRequest{Tracks: []int{1}, From: from, To: from + length, Width: width})
		if err != nil {
			t.Fatal(err)
		}
		pixel := float64(length) / float64(width)
		for k, c := range tile.CurveX {
			// The extremes are those of the values in the column, give or take a column.
			a, b := from+int64(float64(c)*pixel-pixel-1), from+int64(float64(c+1)*pixel+pixel+1)
			i, _ := slices.BinarySearch(times, a)
			j, _ := slices.BinarySearch(times, b+1)
			in := values[max(i-1, 0):j]
			if float64(tile.Min[k]) < slices.Min(in) || float64(tile.Max[k]) > slices.Max(in) {
				t.Fatalf("from %d, %d in %d columns, column %d: found %g to %g, expected within %g to %g", from, length, width, c, tile.Min[k], tile.Max[k], slices.Min(in), slices.Max(in))
			}
			a, b = from+int64(float64(c)*pixel+pixel/2), from+int64(float64(c+1)*pixel-pixel/2)
			i, _ = slices.BinarySearch(times, a)
			j, _ = slices.BinarySearch(times, b)
			if i < j && (float64(tile.Min[k]) > slices.Min(values[i:j]) || float64(tile.Max[k]) < slices.Max(values[i:j])) {
				t.Fatalf("from %d, %d in %d columns, column %d: found %g to %g, expected at least %g to %g", from, length, width, c, tile.Min[k], tile.Max[k], slices.Min(values[i:j]), slices.Max(values[i:j]))
			}
		}
	}
}

// A trace reaches from the first to the last of what it has, be it a marker or what was summed
// up: commands count times from there, too. A location that has no visit has a row.
func TestExtent(t *testing.T) {
	r := trace.NewRecorder(trace.Seconds(1000))
	loc, other, g := r.Location("p"), r.Location("q"), r.Region("g")
	mark := r.Defs().Markers.Add(trace.Named{ID: "1", Name: "here"})
	m := r.Defs().Metrics.Add(trace.MetricDef{ID: "1", Name: "queue", Kind: trace.CounterMetric, Type: trace.Float64, Location: other})
	r.Event(loc, -5, trace.Marker, mark, nil)
	r.Enter(loc, 10, g)
	r.Leave(loc, 20, g)
	r.Event(loc, 30, trace.RegionSummary, g, nil)
	r.Event(other, 12, trace.Metric, m, []uint64{0})
	x := build(t, r)
	if first, last, events := x.Extent(); first != -5 || last != 30 || events != 3 {
		t.Errorf("found %d events from %d to %d, expected 3 from -5 to 30", events, first, last)
	}
	var names []string
	for _, e := range x.Tracks() {
		names = append(names, fmt.Sprint(e.Kind, " ", e.Name, " of ", e.Parent))
	}
	if want := []string{"location p of -1", "location q of -1", "counter queue of 1"}; !slices.Equal(names, want) {
		t.Errorf("found the tracks %q, expected %q", names, want)
	}
}

// The mean time is to the nearest tick, beyond what floats can tell too.
func TestCellMean(t *testing.T) {
	for _, x := range []struct{ sum, n, want int64 }{{0, 0, 0}, {7, 2, 4}, {-7, 2, -4}, {10, 3, 3}, {11, 3, 4}, {-10, 3, -3}, {-11, 3, -4}, {1<<53 + 1, 1, 1<<53 + 1}, {math.MaxInt64, math.MaxInt64, 1}, {1<<62 + 2, 2, 1<<61 + 1}} {
		if got := (&Cell{Sum: trace.TicksOf(x.sum), Matched: x.n}).Mean(); got != x.want {
			t.Errorf("mean of %d in %d: found %d, expected %d", x.sum, x.n, got, x.want)
		}
	}
	if c := (Cell{Sum: trace.TicksOf(4e18).Times(3).Plus(trace.TicksOf(2)), Matched: 3}); c.Mean() != 4e18+1 {
		t.Errorf("found the mean %d, expected 4·10¹⁸ + 1", c.Mean())
	}
}

// Counters and signals as far apart as times can be neither hang nor panic.
func TestFarApart(t *testing.T) {
	for _, times := range [][2]int64{{0, math.MaxInt64}, {math.MinInt64 / 2, math.MaxInt64 / 2}, {math.MinInt64, math.MaxInt64}, {math.MaxInt64 - 5, math.MaxInt64}} {
		r := trace.NewRecorder(trace.Seconds(1000))
		loc, g := r.Location("p"), r.Region("g")
		m := r.Defs().Metrics.Add(trace.MetricDef{ID: "1", Name: "queue", Kind: trace.CounterMetric, Type: trace.Float64, Location: loc})
		r.Enter(loc, times[0], g)
		r.Event(loc, times[0], trace.Metric, m, []uint64{math.Float64bits(1)})
		for range 1000 {
			r.Mark(loc, times[1]-2, g)
			r.Event(loc, times[1]-1, trace.Metric, m, []uint64{math.Float64bits(7)})
		}
		r.Leave(loc, times[1], g)
		x := build(t, r)
		first, last, _ := x.Extent()
		if first != times[0] || last != times[1] {
			t.Errorf("found %d to %d, expected %v", first, last, times)
		}
		for _, w := range [][2]int64{{first, last}, {first, trace.Add(first, 10)}, {max(first, trace.Add(last, -10)), last}} {
			tile, err := x.Tile(t.Context(), TileRequest{Tracks: []int{0, 1}, From: w[0], To: w[1], Width: 100, Depths: 3})
			if err != nil {
				t.Fatal(err)
			}
			if s := tile.Strips[0]; s.Count != 1 || tile.N[s.First] != 100 {
				t.Errorf("%v, %v: found %+v of %v columns, expected one span in all 100", times, w, s, tile.N)
			}
		}
	}
}

func TestInstants(t *testing.T) {
	r := trace.NewRecorder(trace.Seconds(1000))
	loc, g := r.Location("p"), r.Region("here")
	rng := rand.New(rand.NewPCG(8, 8))
	var times []int64
	now := int64(0)
	for range 30000 {
		now += 1 + int64(rng.IntN(20))
		times = append(times, now)
		r.Mark(loc, now, g)
	}
	x := build(t, r)
	for range 100 {
		length := int64(math.Exp(rng.Float64()*math.Log(float64(now)))) + 5
		from := rng.Int64N(now)
		tile, err := x.Tile(t.Context(), TileRequest{Tracks: []int{0}, From: from, To: from + length, Width: 1000})
		if err != nil {
			t.Fatal(err)
		}
		i, _ := slices.BinarySearch(times, from)
		j, _ := slices.BinarySearch(times, from+length)
		n, full := 0, false
		for k := range tile.X {
			n += int(tile.Share[k])
			full = full || tile.Share[k] == 255
		}
		if math.Abs(float64(n-(j-i))) > 0.02*float64(j-i)+8 && !full {
			t.Fatalf("from %d, %d: found %d instants, expected %d", from, length, n, j-i)
		}
		at := from + rng.Int64N(length)
		got, ok, err := x.InstantAt(0, at, 1<<40)
		if err != nil || !ok || got.Name != "here" {
			t.Fatalf("at %d: found %v %v %v", at, got, ok, err)
		}
		for _, u := range times {
			if max(u-at, at-u) < max(got.Time-at, at-got.Time) {
				t.Fatalf("at %d: found an instant at %d, expected that at %d", at, got.Time, u)
			}
		}
	}
}

// collectives are one span from the first that begins to the last that ends.
func TestCollectives(t *testing.T) {
	r := trace.NewRecorder(trace.Seconds(1000))
	comm := uint64(r.Defs().Communicator.Add(trace.Communicator{ID: "7", Name: "world", Set: trace.NoRef, Parent: trace.NoRef}))
	var want []Span
	for p := range 4 {
		loc := r.Location(fmt.Sprint(p))
		for i := range 9000 {
			at := int64(i * 100)
			r.Event(loc, at+int64(p), trace.CollectiveBegin, trace.NoRef, []uint64{0, comm, trace.Undefined, 0, 0})
			r.Event(loc, at+50+int64(p)*2, trace.CollectiveEnd, trace.NoRef, []uint64{uint64(i % 2), comm, trace.Undefined, 8, 8})
			if p == 0 {
				want = append(want, Span{at, at + 56, uint32(i % 2), 0, 255})
			}
		}
	}
	x := build(t, r)
	k := len(x.Tracks()) - 1
	if tr := x.Tracks()[k]; tr.Kind != CommunicatorTrack || tr.Name != "world" || tr.Spans != 9000 || tr.Depth != 1 {
		t.Fatalf("found %+v", tr)
	}
	for i, w := range want {
		if i%37 != 0 {
			continue
		}
		got, ok, err := x.SpanAt(k, 0, w.Start+20)
		if err != nil || !ok || got.Start != w.Start || got.End != w.End {
			t.Fatalf("found %v %v %v, expected %v", got, ok, err, w)
		}
		if name := [2]string{"barrier", "broadcast"}[i%2]; x.Region(got.Region) != name {
			t.Fatalf("found %q, expected %q", x.Region(got.Region), name)
		}
	}
}

// Operations that are open at once end in the order in which they begin, on each communicator; one that ends
// without having begun has no length.
func TestCollectivesAtOnce(t *testing.T) {
	r := trace.NewRecorder(trace.Seconds(1000))
	loc := r.Location("p")
	var comms []uint64
	for _, name := range []string{"a", "b"} {
		c := trace.Communicator{ID: name, Name: name, Set: trace.NoRef, Parent: trace.NoRef}
		comms = append(comms, uint64(r.Defs().Communicator.Add(c)))
	}
	for _, e := range []struct {
		at   int64
		kind trace.Kind
		comm int
	}{
		{0, trace.CollectiveBegin, 0}, {10, trace.CollectiveBegin, 1}, {20, trace.CollectiveBegin, 0}, {30, trace.CollectiveBegin, 0},
		{40, trace.CollectiveEnd, 0}, {50, trace.CollectiveEnd, 1}, {60, trace.CollectiveEnd, 0},
		{70, trace.CollectiveEnd, 0}, {80, trace.CollectiveEnd, 0}, {90, trace.CollectiveBegin, 0}, {95, trace.CollectiveEnd, 0},
	} {
		r.Event(loc, e.at, e.kind, trace.NoRef, []uint64{0, comms[e.comm], trace.Undefined, 0, 0})
	}
	x := build(t, r)
	for _, w := range []struct {
		comm, lane int
		at         int64
		start, end int64
	}{{0, 0, 5, 0, 40}, {0, 1, 25, 20, 60}, {0, 2, 35, 30, 70}, {0, 0, 92, 90, 95}, {1, 0, 20, 10, 50}} {
		track := len(x.Tracks()) - 2 + w.comm
		if got, ok, err := x.SpanAt(track, w.lane, w.at); err != nil || !ok || got.Start != w.start || got.End != w.end {
			t.Errorf("communicator %d, lane %d: found %+v, %v, %v, expected %d to %d", w.comm, w.lane, got, ok, err, w.start, w.end)
		}
	}
	if n := x.Tracks()[len(x.Tracks())-2].Spans; n != 5 {
		t.Errorf("found %d operations, expected 5", n)
	}
}

// A stack of a million regions, leaves of what was never entered, others out of turn, and
// times beyond 2^53 take neither more time nor memory than others.
func TestOdd(t *testing.T) {
	effort.Sequential(t)
	r := trace.NewRecorder(trace.Seconds(1_000_000_000))
	loc := r.Location("deep")
	var g []uint32
	for i := range 5 {
		g = append(g, r.Region(fmt.Sprint("g", i)))
	}
	now := int64(math.MaxInt64) - 10_000_000
	const n = 1_000_000
	for i := range n {
		r.Enter(loc, now, g[i%5])
		now++
	}
	for i := range n {
		r.Leave(loc, now, g[4-i%5])
		now++
	}
	odd := r.Location("odd")
	for i := range 20000 {
		r.Enter(odd, int64(i), g[i%5])
		r.Leave(odd, int64(i), g[(i*i)%5])
	}
	x := build(t, r)
	first, last, _ := x.Extent()
	for _, w := range [][2]int64{{first, last + 1}, {now - 1_500_000, now - 700_000}, {5000, 5010}} {
		p := profile.New(r.Defs(), profile.Options{Locations: true, Window: &trace.Window{From: w[0], To: w[1]}})
		if err := format.Recorded(r).Scan(t.Context(), trace.Everything(), format.PerLocation, p); err != nil {
			t.Fatal(err)
		}
		if w[0] == first && w[1] == last+1 {
			var want []Sum
			for _, g := range p.Result().Regions {
				want = append(want, Sum{g.Region, g.Count, g.Inclusive, g.Exclusive, g.Sum, g.Min, g.Max})
			}
			if visits, claims := x.Totals(); !slices.Equal(visits, want) || len(claims) > 0 {
				t.Fatalf("found the totals %v and %v, expected %v", visits, claims, want)
			}
		}
		for k := range x.Tracks() {
			var want []Sum
			for _, l := range p.Result().Locations {
				if l.Location == x.Tracks()[k].Location {
					for _, g := range l.Regions {
						if g.Count > 0 {
							want = append(want, Sum{g.Region, g.Count, g.Inclusive, g.Exclusive, g.Sum, g.Min, g.Max})
						}
					}
				}
			}
			got, err := x.Profile(k, w[0], w[1])
			if err != nil || !slices.Equal(got, want) {
				t.Fatalf("track %d from %d to %d:\nfound    %v %v\nexpected %v", k, w[0], w[1], got, err, want)
			}
		}
		if _, err := x.Tile(t.Context(), TileRequest{Tracks: []int{0, 1}, From: w[0], To: w[1], Width: 1000, Depths: 300}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestEmpty(t *testing.T) {
	r := trace.NewRecorder(trace.Seconds(1))
	r.Location("nothing happens here")
	x := build(t, r)
	if first, last, n := x.Extent(); first != 0 || last != 0 || n != 0 || len(x.Tracks()) != 0 {
		t.Errorf("found %d to %d, %d events, %d tracks", first, last, n, len(x.Tracks()))
	}
	if _, err := x.Tile(t.Context(), TileRequest{From: 0, To: 1, Width: 10}); err != nil {
		t.Error(err)
	}
	if _, err := x.Tile(t.Context(), TileRequest{Tracks: []int{0}, From: 0, To: 1, Width: 10}); err == nil {
		t.Error("found a tile of no track")
	}
}

// A damaged index is found out, or what it says is right; it is never a panic.
func TestDamage(t *testing.T) {
	effort.Sequential(t)
	r, _ := random(9, 2, 9000)
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	if err := Build(t.Context(), format.Recorded(r), path, Options{}); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(data []byte) (out []Sum, err error) {
		bad := filepath.Join(dir, "bad")
		if err := os.WriteFile(bad, data, 0o600); err != nil {
			t.Fatal(err)
		}
		x, err := Open(bad)
		if err != nil {
			return nil, err
		}
		defer x.Close()
		first, last, _ := x.Extent()
		for k := range x.Tracks() {
			s, err := x.Profile(k, first+100, last-100)
			if err != nil {
				return nil, err
			}
			out = append(out, s...)
			if _, err := x.Tile(t.Context(), TileRequest{Tracks: []int{k}, From: first, To: last, Width: 100, Depths: 20}); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	want, err := ask(good)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	found := 0
	for i := range effort.Rounds(400) {
		bad := slices.Clone(good)
		if i%4 == 0 {
			bad = bad[:rng.IntN(len(bad))]
		} else {
			bad[rng.IntN(len(bad))] ^= 1 << rng.IntN(8)
		}
		got, err := ask(bad)
		switch {
		case err != nil && !errors.Is(err, ErrDamaged):
			t.Fatalf("found the error %v", err)
		case err != nil:
			found++
		case !slices.Equal(got, want):
			t.Fatalf("a damaged index gives another profile")
		}
	}
	if found < effort.Rounds(300) {
		t.Errorf("%d of %d damages were found", found, effort.Rounds(400))
	}
}

// A build that is stopped leaves nothing.
func TestStopped(t *testing.T) {
	r, _ := random(9, 2, 9000)
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Build(ctx, format.Recorded(r), filepath.Join(dir, "x"), Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("found %v, expected that it was cancelled", err)
	}
	if l, _ := os.ReadDir(dir); len(l) != 0 {
		t.Errorf("found %v in the directory, expected nothing", l)
	}
}

// A summary of one track has the cover of its outermost depth.
func TestSummary(t *testing.T) {
	r, _ := random(10, 3, 20000)
	x := build(t, r)
	first, last, _ := x.Extent()
	q := TileRequest{Tracks: []int{1}, From: first, To: last, Width: 200, Depths: 1}
	one, err := x.Tile(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	sum, err := x.Summary(t.Context(), q)
	if err != nil || len(sum.Strips) != 1 {
		t.Fatalf("found %+v %v", sum, err)
	}
	cover := func(t *Tile) []uint8 {
		out := make([]uint8, q.Width)
		for k := t.Strips[0].First; k < t.Strips[0].First+t.Strips[0].Count; k++ {
			for c := t.X[k]; c < t.X[k]+t.N[k]; c++ {
				out[c] = t.Cover[k]
			}
		}
		return out
	}
	a, b := cover(one), cover(sum)
	for c := range a {
		if max(a[c], b[c])-min(a[c], b[c]) > 1 {
			t.Fatalf("column %d: found a cover of %d, expected %d", c, b[c], a[c])
		}
	}
}

// Spans named by an attribute are those of its values, whatever their regions.
func TestColor(t *testing.T) {
	r := trace.NewRecorder(trace.Seconds(1000))
	loc, g, h := r.Location("p"), r.Region("g"), r.Region("h")
	res := r.Resource("cpu", 1, "")
	attr := func(s string) trace.Attr { return trace.Attr{Key: "job", Value: trace.StringValue(s)} }
	r.Enter(loc, 0, g, attr("a"))
	r.Enter(loc, 2, h, attr("b"))
	r.Enter(loc, 3, g, attr("b"))
	r.Leave(loc, 5, g)
	r.Leave(loc, 7, h)
	r.Enter(loc, 8, h)
	r.Leave(loc, 9, h)
	r.Leave(loc, 10, g)
	id := r.Claim(res, 1, g, 1, attr("c"))
	r.Release(id, 4)
	path := filepath.Join(t.TempDir(), "x")
	if err := Build(t.Context(), format.Recorded(r), path, Options{Color: "job"}); err != nil {
		t.Fatal(err)
	}
	x, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if x.Color() != "job" {
		t.Errorf("found the colour %q", x.Color())
	}
	got := map[string]Sum{}
	for k := range x.Tracks() {
		list, err := x.Profile(k, 0, 11)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range list {
			name := x.Region(s.Region)
			s.Region = 0
			got[name] = s
		}
	}
	n := trace.TicksOf
	want := map[string]Sum{
		"a": {0, 1, n(10), n(4), n(10), 10, 10}, // 0–2, 7–8, 9–10
		"b": {0, 2, n(5), n(5), n(7), 2, 5},
		"":  {0, 1, n(1), n(1), n(1), 1, 1},
		"c": {0, 1, n(3), n(3), n(3), 3, 3},
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("found    %v\nexpected %v", got, want)
	}
	var bad *format.OptionError
	if err := Build(t.Context(), format.Recorded(r), path, Options{Color: "jib"}); !errors.As(err, &bad) {
		t.Errorf("found %v, expected that there is no such attribute", err)
	}
}

// A fork leads to the threads that begin in its team, which lead to the join; so do threads
// that are created one by one.
func TestForks(t *testing.T) {
	r := trace.NewRecorder(trace.Seconds(1000))
	a, b, c := r.Location("0"), r.Location("1"), r.Location("2")
	const team = 0
	r.Defs().Communicator.Add(trace.Communicator{ID: "0", Name: "team", Set: trace.NoRef, Parent: trace.NoRef})
	for i := range int64(2) {
		at := i * 100
		r.Event(a, at, trace.ThreadFork, trace.NoRef, []uint64{3, 0})
		for k, loc := range []uint32{a, b, c} {
			r.Event(loc, at+1+int64(k), trace.ThreadTeamBegin, trace.NoRef, []uint64{team})
			r.Event(loc, at+50+int64(k), trace.ThreadTeamEnd, trace.NoRef, []uint64{team})
		}
		r.Event(a, at+60, trace.ThreadJoin, trace.NoRef, []uint64{0})
	}
	r.Event(a, 300, trace.ThreadCreate, trace.NoRef, []uint64{team, 7})
	r.Event(c, 310, trace.ThreadBegin, trace.NoRef, []uint64{team, 7})
	r.Event(c, 320, trace.ThreadEnd, trace.NoRef, []uint64{team, 7})
	r.Event(a, 330, trace.ThreadWait, trace.NoRef, []uint64{team, 7})
	x := build(t, r)
	set, err := x.Links(t.Context(), LinkRequest{From: 0, To: 1000})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range set.Links {
		got = append(got, fmt.Sprintf("%s %s %d@%d %d@%d %s", l.Kind, l.Name, l.Source, l.Start, l.Destination, l.End, l.Communicator))
	}
	want := []string{"fork fork 0@0 1@2 team", "fork fork 0@0 2@3 team", "fork join 1@51 0@60 team", "fork join 2@52 0@60 team",
		"fork fork 0@100 1@102 team", "fork fork 0@100 2@103 team", "fork join 1@151 0@160 team", "fork join 2@152 0@160 team",
		"fork create 0@300 2@310 team", "fork wait 2@320 0@330 team"}
	if !slices.Equal(got, want) {
		t.Errorf("found    %q\nexpected %q", got, want)
	}
}

// However many messages a trace has, those of a short window are told one by one.
func TestLinksOfShortWindow(t *testing.T) {
	r := trace.NewRecorder(trace.Seconds(1_000_000))
	const locations, rounds = 24, 800
	var locs []uint32
	for i := range locations {
		locs = append(locs, r.Location(fmt.Sprint(i)))
	}
	for round := range int64(rounds) {
		for i := range locs {
			for k := 1; k <= 8; k++ {
				r.Send(locs[i], round*100, locs[(i+k)%locations], 1, 8)
			}
		}
		for i := range locs {
			for k := 1; k <= 8; k++ {
				r.Recv(locs[i], round*100+50, locs[(i+locations-k)%locations], 1, 8)
			}
		}
	}
	x := build(t, r)
	for round := range int64(5) {
		from := round * 100 * rounds / 5
		set, err := x.Links(t.Context(), LinkRequest{From: from, To: from + 60, Limit: 20000})
		if err != nil {
			t.Fatal(err)
		}
		if set.Bundled || len(set.Links) != 8*locations || set.Links[0].ID == "" {
			t.Errorf("from %d: found %d links, bundled %v, want %d one by one", from, len(set.Links), set.Bundled, 8*locations)
		}
	}
}

// A send that does not say where to, or to where nothing happened, counts for its sender, as
// one that nobody received; receives that do not say where from do not.
func TestMatrixOfUnknown(t *testing.T) {
	r := trace.NewRecorder(trace.Seconds(1_000_000))
	p, q := r.Location("p"), r.Location("q")
	nowhere := r.Location("without events")
	r.Send(p, 1, trace.NoRef, 7, 10)
	r.Send(p, 2, trace.NoRef, 7, 20)
	r.Send(p, 3, nowhere, 7, 40)
	r.Send(p, 4, q, 7, 80)
	r.Recv(q, 5, p, 7, 80)
	r.Recv(q, 6, trace.NoRef, 7, 160)
	x := build(t, r)
	got, err := x.Matrix(t.Context(), 0, 10)
	want := []Cell{{Source: 0, Destination: -1, Count: 3, Bytes: 70}, {Source: 0, Destination: 1, Count: 1, Bytes: 80, Matched: 1, MatchedBytes: 80, Min: 1, Max: 1, Sum: trace.TicksOf(1)}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("found %+v, %v, expected %+v", got, err, want)
	}
	if n := x.Counts().Links; n != 1 {
		t.Errorf("found %d links, expected one", n)
	}
}
