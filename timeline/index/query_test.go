package index

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weft-trace/weft/analysis/messages"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/effort"
	"github.com/weft-trace/weft/trace"
)

// TestSpanAt checks that SpanAt returns the begin and end of a span that is open at a time, whether
// or not they are in the block of that time.
func TestSpanAt(t *testing.T) {
	effort.Sequential(t)
	r, spans := randomVisits(3, 2, 30000)
	x := buildIndex(t, r)
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
		short := false // whether some spans at that time have no duration
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
		around, err := x.Enclosing(track, got)
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
	r, spans := randomVisits(4, 1, 30000)
	x := buildIndex(t, r)
	rng := rand.New(rand.NewPCG(2, 2))
	first, last, _ := x.Extent()
	for range effort.Rounds(600) {
		region, at, forward := uint32(rng.IntN(7)), first-5+rng.Int64N(last-first+10), rng.IntN(2) == 0
		want, any := int64(0), false
		for _, s := range spans[0] {
			if s.Region == region && (forward && s.Start > at && (!any || s.Start < want) || !forward && s.Start < at &&
				(!any || s.Start > want)) {
				want, any = s.Start, true
			}
		}
		got, ok, err := x.Find(t.Context(), 0, region, at, forward)
		if err != nil || ok != any || ok && got.Start != want {
			t.Fatalf("region %d from %d on, forward %v: found %v %v %v, expected one that begins at %d: %v", region, at,
				forward, got, ok, err, want, any)
		}
		if ok && !slices.Contains(spans[0], got) {
			t.Fatalf("found %v, which is no span", got)
		}
	}
}

// TestEdge compares the result of Edge with the nearest of all begins and ends at the depths.
func TestEdge(t *testing.T) {
	effort.Sequential(t)
	r, spans := randomVisits(5, 1, 30000)
	x := buildIndex(t, r)
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
			t.Fatalf("depths %d to %d, %d around %d: found %d, %v, %v, expected %d, %v", depth, depth+depths-1, within, at,
				got, ok, err, want, least <= within)
		}
		if ok {
			found++
		}
	}
	if found < effort.Rounds(400)/10 {
		t.Errorf("%d edges found", found)
	}
}

// recordMessages records n random messages between locations. The last messages are sent and not received.
func recordMessages(seed uint64, locations, n int) *trace.Recorder {
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
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
		// Messages of a channel do not overtake each other: each receive is 40 ticks after its send.
		events = append(events, event{at, a, false, a, b, tag, size})
		if i < n-n/50 { // the last messages get lost
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

// TestMessages compares the messages in an index with the messages that package messages finds.
func TestMessages(t *testing.T) {
	for _, n := range []int{300, effort.Rounds(100000)} {
		r := recordMessages(1, 9, n)
		x := buildIndex(t, r)
		compareMatrix(t, x, r, n)
		checkWindows(t, x, n)
		checkThirds(t, x, n)
		if got := x.Counts().Links; got != int64(n-n/50) {
			t.Errorf("found %d links, expected %d", got, n-n/50)
		}
		checkLinksOf(t, x, n)
	}
}

// TestOrderOfPosts checks that the receive that is posted first gets the message that is sent first, even if the
// receive completes later. It also checks that a receive that never completes does not delay other receives.
func TestOrderOfPosts(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	a, b := r.Location("a"), r.Location("b")
	for id := range uint64(3) {
		r.Event(b, 0, trace.RecvBegin, trace.NoRef, []uint64{id})
	}
	r.Send(a, 1, b, 5, 10)
	r.Send(a, 2, b, 5, 20)
	r.Event(b, 5, trace.RecvComplete, trace.NoRef, []uint64{uint64(a), trace.Undefined, 5, 20, 1})
	r.Send(a, 6, b, 5, 40)
	r.Event(b, 8, trace.RecvComplete, trace.NoRef, []uint64{uint64(a), trace.Undefined, 5, 10, 0})
	r.Recv(b, 9, a, 5, 40)
	links, err := buildIndex(t, r).LinksOf(0, 0, 20, 10)
	if err != nil {
		t.Fatal(err)
	}
	found := map[int64]int64{}
	for _, l := range links {
		found[l.Start] = l.End
	}
	if expected := map[int64]int64{1: 8, 2: 5, 6: 9}; !maps.Equal(found, expected) {
		t.Errorf("found receives %v by sends, expected %v", found, expected)
	}
}

// TestCancelledSend checks that nothing receives a send that is cancelled: the receives at 6 and 7 belong to the sends
// at 3 and 4. The send at 3 has completed before the request with its number is cancelled. A message without a receive
// ends where it begins.
func TestCancelledSend(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	a, b := r.Location("a"), r.Location("b")
	begin := func(at int64, id uint64) {
		r.Event(a, at, trace.SendBegin, trace.NoRef, []uint64{uint64(b), trace.Undefined, 5, 10, id})
	}
	begin(1, 7)
	r.Event(a, 2, trace.RequestCancelled, trace.NoRef, []uint64{7})
	begin(3, 7)
	r.Event(a, 4, trace.SendComplete, trace.NoRef, []uint64{7})
	r.Event(a, 4, trace.RequestCancelled, trace.NoRef, []uint64{7})
	begin(4, 8)
	begin(5, 9)
	r.Event(a, 6, trace.RequestCancelled, trace.NoRef, []uint64{9})
	r.Recv(b, 6, a, 5, 10)
	r.Recv(b, 7, a, 5, 10)
	r.Recv(b, 8, a, 5, 10)
	x := buildIndex(t, r)
	links, err := x.LinksOf(0, 0, 20, 10)
	if err != nil {
		t.Fatal(err)
	}
	found := map[int64]int64{}
	for _, l := range links {
		found[l.Start] = l.End
	}
	if expected := map[int64]int64{1: 1, 3: 6, 4: 7, 5: 5}; !maps.Equal(found, expected) {
		t.Errorf("found receives %v by sends, expected %v", found, expected)
	}
	cells, err := x.Matrix(t.Context(), 0, 20)
	if err != nil || len(cells) != 1 || cells[0].Count != 4 || cells[0].Matched != 2 || cells[0].Received != 3 {
		t.Errorf("found %+v, %v, expected 4 messages sent, 3 received and 2 pairs", cells, err)
	}
}

// compareMatrix compares the matrix of a window with that of package messages.
func compareMatrix(t *testing.T, x *Index, r *trace.Recorder, n int) {
	t.Helper()
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
	received, bytes := int64(0), int64(0)
	for _, c := range cells {
		received, bytes = received+c.Received, bytes+c.ReceivedBytes
	}
	if received != want.Received || uint64(bytes) != want.ReceivedBytes {
		t.Errorf("%d messages: found %d received, %d bytes; expected %d and %d", n, received, bytes, want.Received,
			want.ReceivedBytes)
	}
	cells = slices.DeleteFunc(cells, func(c Cell) bool { return c.Count == 0 })
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
		if c.Matched > 0 && (c.Min != 40 || c.Max != 40 || c.Sum != trace.TicksOf(40*c.Matched) || c.Mean() != 40) {
			t.Fatalf("cell %d: found times %d to %d, sum %d of %d, expected 40 each", i, c.Min, c.Max, c.Sum, c.Matched)
		}
	}
}

// checkWindows checks that the links of any window represent all messages that overlap it.
func checkWindows(t *testing.T, x *Index, n int) {
	t.Helper()
	first, last, _ := x.Extent()
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
				break // the following messages have no receives
			}
			if a < from+length && b >= from {
				least++
			}
			// Bundles at the edges may represent more messages.
			if slack := length + 100000; a < from+length+slack && b >= from-slack {
				most++
			}
		}
		if set.Total < least || set.Total > most || len(set.Links) > 300 || !set.Bundled && set.Total != least {
			t.Fatalf("%d messages from %d to %d: found %d, bundled %v, expected %d to %d", n, from, from+length, set.Total,
				set.Bundled, least, most)
		}
	}
}

// checkThirds checks that links come from all parts of the window if a query cannot return all links.
func checkThirds(t *testing.T, x *Index, n int) {
	t.Helper()
	first, last, _ := x.Extent()
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
}

// checkLinksOf checks the links of single tracks.
func checkLinksOf(t *testing.T, x *Index, n int) {
	t.Helper()
	first, last, _ := x.Extent()
	lost := 0
	for k := range x.Tracks() {
		l, err := x.LinksOf(k, first, last, 2*n)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range l {
			if l.Unreceived && l.Source == k {
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
		if y.Source != 2 && y.Destination != 2 || y.End-y.Start != 40 && !y.Unreceived {
			t.Fatalf("found %+v among the links of track 2", y)
		}
	}
	if len(l) == 0 {
		t.Errorf("found no links of track 2")
	}
}

// TestCounter compares the curves of counters at any zoom level with the values of the counters.
func TestCounter(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	loc := r.Location("p")
	m := r.Defs().Metrics.Add(trace.MetricDef{ID: "1", Name: "queue", Kind: trace.CounterMetric, Type: trace.Float64,
		Location: loc})
	rng := rand.New(rand.NewPCG(7, 7))
	const n = 50000
	times, values := make([]int64, n), make([]float64, n)
	now := int64(-300)
	for i := range n {
		now += int64(rng.IntN(6))
		times[i], values[i] = now, float64(rng.IntN(1000))
		r.Event(loc, now, trace.Metric, m, []uint64{math.Float64bits(values[i])})
	}
	x := buildIndex(t, r)
	tracks := x.Tracks()
	if len(tracks) != 2 || tracks[0].Kind != LocationTrack || tracks[1].Parent != 0 {
		t.Fatalf("found the tracks %+v", tracks) // the location has a row even though the row is empty
	}
	if c := tracks[1]; c.Kind != CounterTrack || c.Low != slices.Min(values) || c.High != slices.Max(values) ||
		c.Style != "steps" {
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
			// The extremes are extremes of the values in the column, or in a neighbouring column.
			a, b := from+int64(float64(c)*pixel-pixel-1), from+int64(float64(c+1)*pixel+pixel+1)
			i, _ := slices.BinarySearch(times, a)
			j, _ := slices.BinarySearch(times, b+1)
			in := values[max(i-1, 0):j]
			if float64(tile.Min[k]) < slices.Min(in) || float64(tile.Max[k]) > slices.Max(in) {
				t.Fatalf("from %d, %d in %d columns, column %d: found %g to %g, expected within %g to %g", from, length, width, c,
					tile.Min[k], tile.Max[k], slices.Min(in), slices.Max(in))
			}
			a, b = from+int64(float64(c)*pixel+pixel/2), from+int64(float64(c+1)*pixel-pixel/2)
			i, _ = slices.BinarySearch(times, a)
			j, _ = slices.BinarySearch(times, b)
			if i < j && (float64(tile.Min[k]) > slices.Min(values[i:j]) || float64(tile.Max[k]) < slices.Max(values[i:j])) {
				t.Fatalf("from %d, %d in %d columns, column %d: found %g to %g, expected at least %g to %g", from, length, width,
					c, tile.Min[k], tile.Max[k], slices.Min(values[i:j]), slices.Max(values[i:j]))
			}
		}
	}
}

// TestCellMean checks that the mean latency is rounded to the nearest tick, even beyond the precision of
// floating-point numbers.
func TestCellMean(t *testing.T) {
	for _, x := range []struct{ sum, n, want int64 }{{0, 0, 0}, {7, 2, 4}, {-7, 2, -4}, {10, 3, 3}, {11, 3, 4},
		{-10, 3, -3}, {-11, 3, -4}, {1<<53 + 1, 1, 1<<53 + 1}, {math.MaxInt64, math.MaxInt64, 1}, {1<<62 + 2, 2, 1<<61 + 1}} {
		if got := (&Cell{Sum: trace.TicksOf(x.sum), Matched: x.n}).Mean(); got != x.want {
			t.Errorf("mean of %d in %d: found %d, expected %d", x.sum, x.n, got, x.want)
		}
	}
	if c := (Cell{Sum: trace.TicksOf(4e18).Times(3).Plus(trace.TicksOf(2)), Matched: 3}); c.Mean() != 4e18+1 {
		t.Errorf("found the mean %d, expected 4·10¹⁸ + 1", c.Mean())
	}
}

func TestInstants(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	loc, g := r.Location("p"), r.Region("here")
	rng := rand.New(rand.NewPCG(8, 8))
	var times []int64
	now := int64(0)
	for range 30000 {
		now += 1 + int64(rng.IntN(20))
		times = append(times, now)
		r.Mark(loc, now, g)
	}
	x := buildIndex(t, r)
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

// TestSummary checks that a summary of one track has the cover of its outermost depth.
func TestSummary(t *testing.T) {
	r, _ := randomVisits(10, 3, 20000)
	x := buildIndex(t, r)
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

// TestLinksOfShortWindow checks that a query for a short window returns single messages instead of
// bundles, however many messages the trace has.
func TestLinksOfShortWindow(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
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
	x := buildIndex(t, r)
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

// TestMatrixOfUnknown checks messages whose other end is unknown. A send to an unknown destination,
// or to a location without events, counts for its sender as a message without a receive. A receive
// from an unknown source counts for its receiver.
func TestMatrixOfUnknown(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
	p, q := r.Location("p"), r.Location("q")
	nowhere := r.Location("without events")
	r.Send(p, 1, trace.NoRef, 7, 10)
	r.Send(p, 2, trace.NoRef, 7, 20)
	r.Send(p, 3, nowhere, 7, 40)
	r.Send(p, 4, q, 7, 80)
	r.Recv(q, 5, p, 7, 80)
	r.Recv(q, 6, trace.NoRef, 7, 160)
	x := buildIndex(t, r)
	got, err := x.Matrix(t.Context(), 0, 10)
	want := []Cell{{Source: -1, Destination: 1, Received: 1}, {Source: 0, Destination: -1, Count: 3, Bytes: 70},
		{Source: 0, Destination: 1, Count: 1, Bytes: 80, Matched: 1, Min: 1, Max: 1, Sum: trace.TicksOf(1), Received: 1,
			ReceivedBytes: 80}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("found %+v, %v, expected %+v", got, err, want)
	}
	if n := x.Counts().Links; n != 1 {
		t.Errorf("found %d links, expected one", n)
	}
}
