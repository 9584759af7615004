package usage

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/weft-trace/weft/analysis/internal/testtrace"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/etf"
	"github.com/weft-trace/weft/trace"
)

// example opens a trace with results that are known by hand, and returns the number of ticks in a
// millisecond.
func example(t *testing.T) (format.Events, int64) {
	t.Helper()
	d, err := etf.Format{}.Open(context.Background(), format.FileSource("testdata/feature-coverage.etf"),
		&format.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d, int64(d.Defs().Clock.UnitTicks())
}

// scan delivers the whole trace in global order to one part, and then each location to one of two
// other parts.
func scan(t *testing.T, d format.Events, whole format.Sink, parts [2]format.Sink) {
	t.Helper()
	if err := d.Scan(context.Background(), trace.Everything(), format.GlobalOrder, whole); err != nil {
		t.Fatal(err)
	}
	err := d.Scan(context.Background(), trace.Everything(), format.PerLocation,
		format.SinkFuncs{OnBatch: func(b *trace.Batch) error { return parts[b.Loc%2].Batch(b) }})
	if err != nil {
		t.Fatal(err)
	}
}

// quad is a piece of a signal.
type quad struct {
	from, to   int64
	start, end float64
}

// signal returns a signal of pieces.
func signal(list []quad) (s Signal) {
	for _, p := range list {
		s = append(s, Piece{From: p.from, To: p.to, Start: p.start, End: p.end})
	}
	return s
}

func TestExampleUsage(t *testing.T) {
	d, ms := example(t)
	opt := Options{Steps: 100}
	p, a, b := New(d.Defs(), opt), New(d.Defs(), opt), New(d.Defs(), opt)
	scan(t, d, p, [2]format.Sink{a, b})
	r := p.Result()
	if r.First != 0 || r.Last != 6*ms || len(r.Resources) != 2 {
		t.Fatalf("found %+v, expected two resources from 0 to 6 ms", r)
	}
	cpu, mem := &r.Resources[0], &r.Resources[1]
	if want := []int64{3 * ms, 2 * ms, ms}; !reflect.DeepEqual(cpu.Open, want) {
		t.Errorf("CPU: found %v, expected %v", cpu.Open, want)
	}
	for k, want := range []float64{50, 100.0 / 3, 100.0 / 6, 0} {
		if f := r.Percent(cpu, k); math.Abs(f-want) > 1e-12 {
			t.Errorf("CPU, %d claims: found %v %%, expected %v %%", k, f, want)
		}
	}
	if want := []int64{2 * ms, 2 * ms, 2 * ms}; !reflect.DeepEqual(mem.Open, want) {
		t.Errorf("MEM: found %v, expected %v", mem.Open, want)
	}
	if want := []Level{{0, 0, 2 * ms}, {60, 0, 2 * ms}, {100, 0, 2 * ms}}; !reflect.DeepEqual(mem.Amounts, want) {
		t.Errorf("MEM: found %v, expected %v", mem.Amounts, want)
	}
	if want := signal([]quad{{0, 2 * ms, 0, 0}, {2 * ms, 3 * ms, 60, 60}, {3 * ms, 5 * ms, 100, 100},
		{5 * ms, 6 * ms, 60, 60}}); !reflect.DeepEqual(r.Signal(mem, true), want) {
		t.Errorf("amount of MEM: found %v, expected %v", r.Signal(mem, true), want)
	}
	if want := signal([]quad{{0, ms, 1, 1}, {ms, 2 * ms, 2, 2}, {2 * ms, 3 * ms, 1, 1},
		{3 * ms, 6 * ms, 0, 0}}); !reflect.DeepEqual(r.Signal(cpu, false), want) {
		t.Errorf("claims on CPU: found %v, expected %v", r.Signal(cpu, false), want)
	}
	// The average over 2 ms is linear between t0, t1, t0 + w and t1 + w of each step from t0 to t1.
	w := r.Signal(mem, true).Window(2*ms, false)
	if want := signal([]quad{{0, 2 * ms, 0, 0}, {2 * ms, 3 * ms, 0, 30}, {3 * ms, 4 * ms, 30, 80},
		{4 * ms, 5 * ms, 80, 100}, {5 * ms, 6 * ms, 100, 80}}); !reflect.DeepEqual(w, want) {
		t.Errorf("window: found %v, expected %v", w, want)
	}
	if err := b.Merge(a); err != nil {
		t.Fatal(err)
	}
	if m := b.Result(); !reflect.DeepEqual(m, r) {
		t.Errorf("merged:\nfound    %+v\nexpected %+v", m, r)
	}
}

// expectNear checks that two numbers are equal except for rounding errors.
func expectNear(t *testing.T, what string, found, expected float64) {
	t.Helper()
	if math.Abs(found-expected) > 1e-9*max(1, math.Abs(expected)) {
		t.Errorf("%s: found %v, expected %v", what, found, expected)
	}
}

func TestExampleLittle(t *testing.T) {
	d, ms := example(t)
	opt := LittleOptions{Attribute: "id", Events: &EventFilter{Attributes: map[string]string{"name": "A"}, Ends: true}}
	l, a, b := NewLittle(d.Defs(), opt), NewLittle(d.Defs(), opt), NewLittle(d.Defs(), opt)
	scan(t, d, l, [2]format.Sink{a, b})
	r := l.Result(ResultOptions{Unit: float64(ms)})
	if want := []Object{{"0", 0, 6 * ms}, {"1", ms, 5 * ms}}; !reflect.DeepEqual(r.Objects, want) {
		t.Fatalf("objects: found %+v, expected %+v", r.Objects, want)
	}
	for _, x := range []struct {
		name string
		s    Signal
		want [3]float64
	}{
		{"wip", r.WIP, [3]float64{1, 2, 1}},
		{"throughput", r.Throughput, [3]float64{1.0 / 6, 5.0 / 12, 1.0 / 6}},
		{"latency", r.Latency, [3]float64{6, 4.8, 6}},
	} {
		if len(x.s) != 3 {
			t.Errorf("%s: found %v, expected 3 pieces", x.name, x.s)
			continue
		}
		for i, from := range []int64{0, ms, 5 * ms} {
			expectNear(t, x.name, float64(x.s[i].From), float64(from))
			expectNear(t, x.name, x.s[i].Start, x.want[i])
			expectNear(t, x.name, x.s[i].End, x.want[i])
		}
	}
	expectNear(t, "area of wip", r.WIP.Integral()/float64(ms), 10)
	expectNear(t, "area of throughput", r.Throughput.Integral()/float64(ms), 2)
	// The claims of A end at 2 ms and at 3 ms.
	if want := signal([]quad{{2 * ms, 3 * ms, 1, 1}}); !reflect.DeepEqual(r.Events, want) {
		t.Errorf("events: found %v, expected %v", r.Events, want)
	}
	w := l.Result(ResultOptions{Window: 2 * ms, Unit: float64(ms)})
	for at, want := range map[int64]float64{2: 1.5, 4: 2, 6: 1.5} {
		expectNear(t, "wip over 2 ms", w.WIP.At(at*ms), want)
	}
	expectNear(t, "latency over 2 ms", w.Latency.At(2*ms), 1.5/((1.0/6+5.0/12)/2))
	short := l.Result(ResultOptions{Window: 2 * ms, Unit: float64(ms), Shorten: true})
	expectNear(t, "wip over 2 ms, shortened", short.WIP.At(ms), 1)
	// The default unit is a second.
	expectNear(t, "throughput a second", l.Result(ResultOptions{}).Throughput.At(0), 1000.0/6)
	if err := a.Merge(b); err != nil {
		t.Fatal(err)
	}
	if m := a.Result(ResultOptions{Window: 2 * ms, Unit: float64(ms)}); !reflect.DeepEqual(m, w) {
		t.Errorf("merged:\nfound    %+v\nexpected %+v", m, w)
	}
}

// TestLittleIdentities checks that the integral of WIP is the sum of the objects' latencies, and
// that of throughput the number of objects.
func TestLittleIdentities(t *testing.T) {
	rnd := rand.New(rand.NewPCG(9, 10))
	for range 100 {
		d := testtrace.Defs(1, 1, 1)
		l := NewLittle(d, LittleOptions{Attribute: "id"})
		var rows []testtrace.Row
		at, sum := int64(0), int64(0)
		n := 1 + rnd.IntN(20)
		for i := range n {
			at += rnd.Int64N(5)
			long := rnd.Int64N(9)
			sum += long
			value := string(rune('a' + i))
			rows = append(rows, testtrace.Row{Time: at, Kind: trace.Mark, Key: "id", Value: value},
				testtrace.Row{Time: at + long, Kind: trace.Mark, Key: "id", Value: value})
		}
		if err := l.Batch(testtrace.Mixed(d, rows)); err != nil {
			t.Fatal(err)
		}
		r := l.Result(ResultOptions{Unit: 1})
		expectNear(t, "area of wip", r.WIP.Integral(), float64(sum))
		expectNear(t, "area of throughput", r.Throughput.Integral(), float64(n)-float64(r.Instant))
	}
}

// TestLatencyHistogram checks the buckets of the latencies 10, 12, 15 and 50. Their range of 40 ticks is divided into
// at most 20 buckets of equal width, so buckets of 3 ticks from 10 on: the first has two latencies, the second has one,
// and the last one, from 49 on, has 50.
func TestLatencyHistogram(t *testing.T) {
	d := testtrace.Defs(1, 1, 1)
	l := NewLittle(d, LittleOptions{Attribute: "id"})
	var rows []testtrace.Row
	for i, long := range []int64{10, 12, 15, 50} {
		value := string(rune('a' + i))
		rows = append(rows, testtrace.Row{Time: 0, Kind: trace.Mark, Key: "id", Value: value},
			testtrace.Row{Time: long, Kind: trace.Mark, Key: "id", Value: value})
	}
	if err := l.Batch(testtrace.Mixed(d, rows)); err != nil {
		t.Fatal(err)
	}
	want := make([]Bucket, 14)
	for i := range want {
		want[i] = Bucket{From: 10 + 3*int64(i), To: 13 + 3*int64(i)}
	}
	want[0].Count, want[1].Count, want[13].Count, want[13].To = 2, 1, 1, 50
	if found := l.Result(ResultOptions{}).Latencies.Histogram; !slices.Equal(found, want) {
		t.Errorf("found %v, expected %v", found, want)
	}
}

func TestEventThroughput(t *testing.T) {
	found := EventThroughput([]int64{30, 10, 10, 20, 30}, 10)
	if want := signal([]quad{{10, 20, 2, 2}, {20, 30, 1, 1}}); !reflect.DeepEqual(found, want) {
		t.Errorf("found %v, expected %v", found, want)
	}
}

// TestResourceWithoutClaims checks that the result has a resource that no claim uses, with use 0 all the time.
func TestResourceWithoutClaims(t *testing.T) {
	d := testtrace.Defs(1, 1, 2)
	p := New(d, Options{Steps: 10})
	rows := []testtrace.Row{testtrace.Begin(0, 10, 1, 0, 0, 1), testtrace.End(0, 30, 1)}
	if err := p.Batch(testtrace.Mixed(d, rows)); err != nil {
		t.Fatal(err)
	}
	r := p.Result()
	if len(r.Resources) != 2 {
		t.Fatalf("found %d resources, expected 2", len(r.Resources))
	}
	x := &r.Resources[1]
	if x.Claims != 0 || x.Mean != 0 || !reflect.DeepEqual(x.Open, []int64{20}) ||
		!reflect.DeepEqual(x.Amounts, []Level{{0, 0, 20}}) {
		t.Errorf("found %+v, expected a resource without claims for 20 ticks", x)
	}
	if s, want := r.Signal(x, true), signal([]quad{{10, 30, 0, 0}}); !reflect.DeepEqual(s, want) {
		t.Errorf("found the signal %v, expected %v", s, want)
	}
}

func TestLimits(t *testing.T) {
	d := testtrace.Defs(1, 1, 1)
	full, small := New(d, Options{Steps: 1 << 20, Levels: 1 << 20}), New(d, Options{Steps: 16, Levels: 10})
	rnd := rand.New(rand.NewPCG(11, 12))
	var rows []testtrace.Row
	at := int64(0)
	for i := range int64(3000) {
		at += rnd.Int64N(10)
		rows = append(rows, testtrace.Begin(0, at, i, 0, 0, rnd.Float64()*100))
		at += 1 + rnd.Int64N(10)
		rows = append(rows, testtrace.End(0, at, i))
	}
	b := testtrace.Mixed(d, rows)
	for _, p := range []*Part{full, small} {
		if err := p.Batch(b); err != nil {
			t.Fatal(err)
		}
	}
	x, y := full.Result(), small.Result()
	s := y.Resources[0]
	if len(s.Steps) > 17 || len(s.Amounts) > 11 {
		t.Errorf("found %d steps and %d levels, expected at most 16 and 10", len(s.Steps), len(s.Amounts))
	}
	expectNear(t, "area of amounts", y.Signal(&s, true).Integral(), x.Signal(&x.Resources[0], true).Integral())
	sum := int64(0)
	for _, l := range s.Amounts {
		sum += l.Time
		least := int64(0)
		for _, e := range x.Resources[0].Amounts {
			if e.Amount >= l.Amount && e.Amount < l.Amount+l.Width {
				least += e.Time
			}
		}
		if least != l.Time {
			t.Errorf("level %+v: expected %d ticks", l, least)
		}
	}
	if sum != y.Last-y.First {
		t.Errorf("the levels cover %d ticks, expected %d", sum, y.Last-y.First)
	}
}

// The parts are sinks.
var _ = []format.Sink{&Part{}, &Little{}}

// TestWindow checks that a window counts the claims that overlap it with their time in it, and that
// the times of consecutive windows add up to those of the whole trace.
func TestWindow(t *testing.T) {
	d, ms := example(t)
	run := func(w *trace.Window) *Result {
		p := New(d.Defs(), Options{Window: w})
		if err := d.Scan(context.Background(), trace.Events(), format.PerLocation, p); err != nil {
			t.Fatal(err)
		}
		return p.Result()
	}
	// CPU is held from 0 to 2 ms, from 1 to 3 ms, and for no time at 6 ms; MEM is held with 60 from
	// 2 to 6 ms and with 40 from 3 to 5 ms.
	r := run(&trace.Window{From: ms, To: 4 * ms})
	cpu, mem := &r.Resources[0], &r.Resources[1]
	if r.First != ms || r.Last != 4*ms || r.Unclosed != 0 {
		t.Errorf("found %d to %d, %d unclosed, expected 1 to 4 ms", r.First, r.Last, r.Unclosed)
	}
	if want := []int64{ms, ms, ms}; cpu.Claims != 2 || cpu.Mean != 1 || cpu.Peak != 2 ||
		!reflect.DeepEqual(cpu.Open, want) {
		t.Errorf("CPU: found %+v, expected 2 claims, open %v, mean 1, peak 2", cpu, want)
	}
	if want := []Level{{0, 0, ms}, {60, 0, ms}, {100, 0, ms}}; mem.Claims != 2 || mem.Peak != 100 ||
		!reflect.DeepEqual(mem.Amounts, want) {
		t.Errorf("MEM: found %+v, expected 2 claims, %v, peak 100", mem, want)
	}
	expectNear(t, "mean of MEM", float64(mem.Mean), 160.0/3)
	// After 4 ms CPU has only the claim of length 0 at 6 ms, which is the last event.
	if r = run(&trace.Window{From: 4 * ms, To: 7 * ms}); r.Resources[0].Claims != 1 || r.Resources[0].Peak != 0 ||
		r.Last != 6*ms {
		t.Errorf("CPU from 4 ms: found %+v", r.Resources[0])
	}
	if r = run(&trace.Window{From: 4 * ms, To: 6 * ms}); r.Resources[0].Claims != 0 {
		t.Errorf("CPU from 4 to 6 ms: found %+v, expected no claim", r.Resources[0])
	}
	whole := run(nil)
	expectNear(t, "mean of MEM in all", float64(whole.Resources[1].Mean), (60*4+40*2)/6.0)
	for i, want := range whole.Resources {
		var open [3]int64
		for _, w := range []trace.Window{{From: math.MinInt64, To: 2*ms + 1}, {From: 2*ms + 1, To: 3 * ms},
			{From: 3 * ms, To: math.MaxInt64}} {
			for k, n := range run(&w).Resources[i].Open {
				open[k] += n
			}
		}
		if !reflect.DeepEqual(open[:], want.Open) {
			t.Errorf("resource %d: found %v in three windows, expected %v", i, open, want.Open)
		}
	}
}

// TestPeakOfNegativeAmounts checks that the peak is an amount that is held: where a claim of -2 or -1 is always open,
// -1 and not 0.
func TestPeakOfNegativeAmounts(t *testing.T) {
	d := testtrace.Defs(1, 1, 2)
	p := New(d, Options{})
	rows := []testtrace.Row{testtrace.Begin(0, 10, 1, 0, 0, -2), testtrace.End(0, 30, 1),
		testtrace.Begin(0, 30, 2, 0, 0, -1), testtrace.End(0, 40, 2)}
	if err := p.Batch(testtrace.Mixed(d, rows)); err != nil {
		t.Fatal(err)
	}
	r := p.Result()
	if used, free := r.Resources[0].Peak, r.Resources[1].Peak; used != -1 || free != 0 {
		t.Errorf("found the peaks %v and %v, expected -1, and 0 of the resource without claims", used, free)
	}
}

// TestUsageIdentities checks, on random claims, that the integral of the number of claims is the sum of their
// durations, and that the mean amounts of all regions add up to that of all claims.
func TestUsageIdentities(t *testing.T) {
	rnd := rand.New(rand.NewPCG(13, 14))
	for range 100 {
		d := testtrace.Defs(1, 3, 1)
		var rows []testtrace.Row
		durations, area := int64(0), 0.0
		for id := range 1 + rnd.Int64N(30) {
			from, long, amount := rnd.Int64N(100), rnd.Int64N(20), float64(rnd.IntN(9))
			durations += long
			area += amount * float64(long)
			rows = append(rows, testtrace.Begin(0, from, id, rnd.Uint32N(3), 0, amount), testtrace.End(0, from+long, id))
		}
		slices.SortStableFunc(rows, func(a, b testtrace.Row) int { return cmp.Compare(a.Time, b.Time) })
		b := testtrace.Mixed(d, rows)
		use := func(opt Options) (*Result, *Resource) {
			p := New(d, opt)
			if err := p.Batch(b); err != nil {
				t.Fatal(err)
			}
			r := p.Result()
			return r, &r.Resources[0]
		}
		r, x := use(Options{Steps: math.MaxInt})
		expectNear(t, "area of the number of claims", r.Signal(x, false).Integral(), float64(durations))
		expectNear(t, "area of the amounts", r.Signal(x, true).Integral(), area)
		sum := 0.0
		for region := range uint32(3) {
			_, y := use(Options{Regions: func(r uint32) bool { return r == region }})
			sum += float64(y.Mean)
		}
		expectNear(t, "mean amounts of the regions", sum, float64(x.Mean))
	}
}
