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

	"github.com/weft-trace/weft/analysis/profile"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/effort"
	"github.com/weft-trace/weft/trace"
)

// recordClaims records n random claims on a resource, and returns the spans that an index must have
// for them.
func recordClaims(seed uint64, n int) (*trace.Recorder, []Span) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
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
			spans = append(spans, Span{Start: c.start, End: now, Region: c.region,
				Band: Band{Height: uint8(math.Round(c.amount / 16 * 255))}})
			continue
		}
		c := claim{start: now, region: act[rng.IntN(3)], amount: float64(1 + rng.IntN(4))}
		c.id = r.Claim(res, now, c.region, c.amount)
		open = append(open, c)
	}
	for _, c := range open {
		r.Release(c.id, now)
		spans = append(spans, Span{Start: c.start, End: now, Region: c.region,
			Band: Band{Height: uint8(math.Round(c.amount / 16 * 255))}})
	}
	return r, spans
}

func TestClaims(t *testing.T) {
	effort.Sequential(t)
	r, spans := recordClaims(1, 40000)
	x := buildIndex(t, r)
	k := slices.IndexFunc(x.Tracks(), func(t Track) bool { return t.Kind == ResourceTrack })
	track := x.Tracks()[k]
	if track.Spans != int64(len(spans)) || track.Capacity != 16 || track.Unit != "MB" || track.Depth < 6 ||
		track.Depth > 7 {
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
	// Compare the amount in use, column by column.
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
	// No lane has two claims at the same time, and all claims are in a lane.
	var shown int64
	for d := range track.Depth {
		var in []Span
		var b spanBlock
		err := x.eachSpan(&reader{f: x.data}, x.dir.Tracks[k], first, last+1, &b, func(s *Span) {
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

// TestExtent checks that a trace extends from the first to the last of its rows, including markers and sums,
// because commands compute relative times from this extent. A location without visits also has a track.
func TestExtent(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	loc, other, g := r.Location("p"), r.Location("q"), r.Region("g")
	mark := r.Defs().Markers.Add(trace.Named{ID: "1", Name: "here"})
	m := r.Defs().Metrics.Add(trace.MetricDef{ID: "1", Name: "queue", Kind: trace.CounterMetric, Type: trace.Float64,
		Location: other})
	r.Event(loc, -5, trace.Marker, mark, nil)
	r.Enter(loc, 10, g)
	r.Leave(loc, 20, g)
	r.Event(loc, 30, trace.RegionSummary, g, nil)
	r.Event(other, 12, trace.Metric, m, []uint64{0})
	x := buildIndex(t, r)
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

// TestFarApart checks that counters and signals at the most distant times neither hang nor panic.
func TestFarApart(t *testing.T) {
	for _, times := range [][2]int64{{0, math.MaxInt64}, {math.MinInt64 / 2, math.MaxInt64 / 2},
		{math.MinInt64, math.MaxInt64}, {math.MaxInt64 - 5, math.MaxInt64}} {
		r := trace.NewRecorder(trace.TicksPerSecond(1000))
		loc, g := r.Location("p"), r.Region("g")
		m := r.Defs().Metrics.Add(trace.MetricDef{ID: "1", Name: "queue", Kind: trace.CounterMetric, Type: trace.Float64,
			Location: loc})
		r.Enter(loc, times[0], g)
		r.Event(loc, times[0], trace.Metric, m, []uint64{math.Float64bits(1)})
		for range 1000 {
			r.Mark(loc, times[1]-2, g)
			r.Event(loc, times[1]-1, trace.Metric, m, []uint64{math.Float64bits(7)})
		}
		r.Leave(loc, times[1], g)
		x := buildIndex(t, r)
		first, last, _ := x.Extent()
		if first != times[0] || last != times[1] {
			t.Errorf("found %d to %d, expected %v", first, last, times)
		}
		if c := x.Tracks()[1]; uint64(last)-uint64(first) <= math.MaxInt64 && (c.Low != 1 || c.High != 7) {
			t.Errorf("%v: found a counter from %v to %v, expected 1 to 7", times, c.Low, c.High)
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

// TestCollectives checks that a collective operation is one span from its first begin to its last
// end.
func TestCollectives(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	comm := uint64(r.Defs().Communicator.Add(trace.Communicator{ID: "7", Name: "world", Set: trace.NoRef,
		Parent: trace.NoRef}))
	var want []Span
	for p := range 4 {
		loc := r.Location(fmt.Sprint(p))
		for i := range 9000 {
			at := int64(i * 100)
			r.Event(loc, at+int64(p), trace.CollectiveBegin, trace.NoRef, []uint64{0, comm, trace.Undefined, 0, 0})
			r.Event(loc, at+50+int64(p)*2, trace.CollectiveEnd, trace.NoRef,
				[]uint64{uint64(i % 2), comm, trace.Undefined, 8, 8})
			if p == 0 {
				want = append(want, Span{at, at + 56, uint32(i % 2), 0, wholeBand})
			}
		}
	}
	x := buildIndex(t, r)
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

// TestExtentWithoutOperations checks that an operation that lasts beyond the last event does not make the trace longer.
// A share of the trace is then the same time in a picture as in commands, which look at events only.
func TestExtentWithoutOperations(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	comm := uint64(r.Defs().Communicator.Add(trace.Communicator{ID: "7", Set: trace.NoRef, Parent: trace.NoRef}))
	loc, g := r.Location("p"), r.Region("g")
	r.Enter(loc, 10, g)
	r.Event(loc, 20, trace.Collective, trace.NoRef, []uint64{0, comm, trace.Undefined, 0, 0, 1000})
	r.Leave(loc, 30, g)
	x := buildIndex(t, r)
	if first, last, _ := x.Extent(); first != 10 || last != 30 {
		t.Errorf("found %d to %d, expected 10 to 30", first, last)
	}
	if s, ok, err := x.SpanAt(1, 0, 25); err != nil || !ok || s.Start != 20 || s.End != 1020 {
		t.Errorf("found %+v, %v, %v, expected the operation from 20 to 1020", s, ok, err)
	}
}

// TestCollectivesAtOnce checks that simultaneous operations end in the order in which they begin, on each
// communicator. An operation that ends without having begun has no duration.
func TestCollectivesAtOnce(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
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
		{0, trace.CollectiveBegin, 0}, {10, trace.CollectiveBegin, 1}, {20, trace.CollectiveBegin, 0},
		{30, trace.CollectiveBegin, 0},
		{40, trace.CollectiveEnd, 0}, {50, trace.CollectiveEnd, 1}, {60, trace.CollectiveEnd, 0},
		{70, trace.CollectiveEnd, 0}, {80, trace.CollectiveEnd, 0}, {90, trace.CollectiveBegin, 0},
		{95, trace.CollectiveEnd, 0},
	} {
		r.Event(loc, e.at, e.kind, trace.NoRef, []uint64{0, comms[e.comm], trace.Undefined, 0, 0})
	}
	x := buildIndex(t, r)
	for _, w := range []struct {
		comm, lane int
		at         int64
		start, end int64
	}{{0, 0, 5, 0, 40}, {0, 1, 25, 20, 60}, {0, 2, 35, 30, 70}, {0, 0, 92, 90, 95}, {1, 0, 20, 10, 50}} {
		track := len(x.Tracks()) - 2 + w.comm
		if got, ok, err := x.SpanAt(track, w.lane, w.at); err != nil || !ok || got.Start != w.start || got.End != w.end {
			t.Errorf("communicator %d, lane %d: found %+v, %v, %v, expected %d to %d", w.comm, w.lane, got, ok, err, w.start,
				w.end)
		}
	}
	if n := x.Tracks()[len(x.Tracks())-2].Spans; n != 5 {
		t.Errorf("found %d operations, expected 5", n)
	}
}

// TestUnusual builds indexes of a stack of a million regions, of leaves of regions that were never entered, of
// leaves out of order, and of times beyond 2^53. Building must take no more time and memory than for usual
// traces.
func TestUnusual(t *testing.T) {
	effort.Sequential(t)
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000_000))
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
	x := buildIndex(t, r)
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
		if _, err := x.Tile(t.Context(), TileRequest{Tracks: []int{0, 1}, From: w[0], To: w[1], Width: 1000,
			Depths: 300}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestEmpty(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1))
	r.Location("nothing happens here")
	x := buildIndex(t, r)
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

// TestDamage checks that a damaged index is detected or returns correct results, and never causes a panic.
func TestDamage(t *testing.T) {
	effort.Sequential(t)
	r, _ := randomVisits(9, 2, 9000)
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
			if _, err := x.Tile(t.Context(), TileRequest{Tracks: []int{k}, From: first, To: last, Width: 100,
				Depths: 20}); err != nil {
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

// TestStopped checks that a build leaves no files if it is stopped.
func TestStopped(t *testing.T) {
	r, _ := randomVisits(9, 2, 9000)
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

// TestColor checks that an index whose spans are named by an attribute has a sum for each value of the
// attribute, and none for the regions.
func TestColor(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
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

// TestForks checks that links lead from a fork to the threads that begin in its team, and from these threads
// to the join. The same applies to threads that are created one by one.
func TestForks(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
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
	x := buildIndex(t, r)
	set, err := x.Links(t.Context(), LinkRequest{From: 0, To: 1000})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range set.Links {
		got = append(got, fmt.Sprintf("%s %s %d@%d %d@%d %s", l.Kind, l.Name, l.Source, l.Start, l.Destination, l.End,
			l.Communicator))
	}
	want := []string{"fork fork 0@0 1@2 team", "fork fork 0@0 2@3 team", "fork join 1@51 0@60 team",
		"fork join 2@52 0@60 team",
		"fork fork 0@100 1@102 team", "fork fork 0@100 2@103 team", "fork join 1@151 0@160 team",
		"fork join 2@152 0@160 team",
		"fork create 0@300 2@310 team", "fork wait 2@320 0@330 team"}
	if !slices.Equal(got, want) {
		t.Errorf("found    %q\nexpected %q", got, want)
	}
}

// TestForksOfProcesses checks that links connect only threads of one process, although EZTrace gives the teams and the
// threads of all processes the same numbers. Each process has two threads. The second process does all one tick later.
func TestForksOfProcesses(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	machine, team := r.Machine("m"), []uint64{0}
	r.Defs().Communicator.Add(trace.Communicator{ID: "0", Name: "team", Set: trace.NoRef, Parent: trace.NoRef})
	for i := range int64(2) {
		process := r.Process(fmt.Sprint(i), machine)
		a, b := r.Thread("0", process), r.Thread("1", process)
		r.Event(a, i, trace.ThreadFork, trace.NoRef, []uint64{2, 0})
		r.Event(a, 10+i, trace.ThreadTeamBegin, trace.NoRef, team)
		r.Event(b, 20+i, trace.ThreadTeamBegin, trace.NoRef, team)
		r.Event(b, 30+i, trace.ThreadTeamEnd, trace.NoRef, team)
		r.Event(a, 40+i, trace.ThreadTeamEnd, trace.NoRef, team)
		r.Event(a, 50+i, trace.ThreadJoin, trace.NoRef, []uint64{0})
		r.Event(a, 60+i, trace.ThreadCreate, trace.NoRef, []uint64{trace.Undefined, 1})
		r.Event(b, 70+i, trace.ThreadBegin, trace.NoRef, []uint64{trace.Undefined, 1})
	}
	set, err := buildIndex(t, r).Links(t.Context(), LinkRequest{From: 0, To: 1000})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range set.Links {
		got = append(got, fmt.Sprintf("%s %d@%d %d@%d", l.Name, l.Source, l.Start, l.Destination, l.End))
	}
	want := []string{"fork 0@0 1@20", "fork 2@1 3@21", "join 1@30 0@50", "join 3@31 2@51", "create 0@60 1@70",
		"create 2@61 3@71"}
	if !slices.Equal(got, want) {
		t.Errorf("found    %q\nexpected %q", got, want)
	}
}
