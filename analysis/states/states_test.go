package states

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"github.com/weft-trace/weft/analysis/internal/testtrace"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// events are the PICL event types of the regions, by region index.
var events = []int64{-901, -21, -52, 7, -402, -785, -603, -601, -913}

const (
	tracing = iota
	send
	wait
	user
	barrier
	bcast
	userOverhead
	idling
	full
)

// picl returns definitions with the locations "0/0", "0/1" and "1/0", the host, and a location that
// is no processor.
func picl() *trace.Definitions {
	d := &trace.Definitions{Clock: trace.TicksPerSecond(1000), Format: "picl", Origin: "picl",
		Conventions: format.Conventions("picl")}
	for _, id := range []string{"0/0", "0/1", "1/0"} {
		d.Locations.Add(trace.Location{ID: id, Kind: trace.ProcessLocation})
	}
	d.Locations.Add(trace.Location{ID: "32767/0", Kind: trace.HostLocation})
	d.Locations.Add(trace.Location{ID: "-1/-1", Kind: trace.ScopeLocation})
	for _, e := range events {
		d.Regions.Add(trace.Region{ID: strconv.FormatInt(e, 10), Name: "x"})
	}
	return d
}

func TestProcessors(t *testing.T) {
	for _, test := range []struct {
		name string
		opt  Options
		rows []testtrace.Row
		want string // number:busy/overhead/idle of each processor, then unclosed and orphans
	}{
		{"precedence", Options{}, []testtrace.Row{testtrace.Enter(0, 0, tracing), testtrace.Enter(0, 1, send),
			testtrace.Enter(0, 2, wait), testtrace.Leave(0, 5, wait), testtrace.Leave(0, 6, send),
			testtrace.Leave(0, 10, tracing)},
			"[0:5/2/3] 0 0"},
		{"not nested", Options{}, []testtrace.Row{testtrace.Enter(0, 0, tracing), testtrace.Enter(0, 1, send),
			testtrace.Enter(0, 2, wait), testtrace.Leave(0, 5, send), testtrace.Leave(0, 6, wait),
			testtrace.Leave(0, 10, tracing)},
			"[0:5/1/4] 0 0"},
		{"before and after", Options{}, []testtrace.Row{testtrace.Enter(0, 0, tracing), testtrace.Enter(2, 2, tracing),
			testtrace.Leave(0, 3, tracing), testtrace.Enter(0, 4, send), testtrace.Leave(0, 5, send),
			testtrace.Leave(2, 10, tracing)},
			"[0:3/0/7 1:8/0/2] 0 0"},
		{"died", Options{}, []testtrace.Row{testtrace.Enter(0, 0, tracing), testtrace.Enter(2, 0, tracing),
			testtrace.Enter(0, 3, send), testtrace.Leave(2, 10, tracing)},
			"[0:3/0/7 1:10/0/0] 2 0"},
		{"no brackets", Options{}, []testtrace.Row{testtrace.Enter(0, 0, user), testtrace.Enter(2, 2, user),
			testtrace.Leave(0, 4, user), testtrace.Leave(2, 9, user)},
			"[0:4/0/5 1:7/0/2] 0 0"},
		{"processes of one processor", Options{}, []testtrace.Row{testtrace.Enter(0, 0, tracing),
			testtrace.Enter(1, 2, tracing), testtrace.Enter(1, 3, wait), testtrace.Leave(1, 5, wait),
			testtrace.Leave(0, 6, tracing), testtrace.Leave(1, 9, tracing)},
			"[0:7/0/2] 0 0"},
		{"outside of tracing", Options{}, []testtrace.Row{testtrace.Enter(0, -5, user), testtrace.Leave(0, -4, user),
			testtrace.Enter(0, 0, tracing), testtrace.Enter(0, 1, user), testtrace.Leave(0, 2, user),
			testtrace.Leave(0, 10, tracing), testtrace.Enter(0, 11, user), testtrace.Leave(0, 15, user)},
			"[0:10/0/0] 0 0"},
		{"waiting goes on over both brackets", Options{}, []testtrace.Row{testtrace.Enter(0, -5, wait),
			testtrace.Enter(0, 0, tracing), testtrace.Leave(0, 2, wait), testtrace.Enter(0, 8, wait),
			testtrace.Leave(0, 10, tracing), testtrace.Leave(0, 12, wait)},
			"[0:6/0/4] 0 0"},
		{"one without brackets, one with", Options{}, []testtrace.Row{testtrace.Enter(0, -5, user),
			testtrace.Enter(2, -2, user), testtrace.Enter(2, 0, tracing), testtrace.Enter(0, 1, wait),
			testtrace.Leave(0, 3, wait), testtrace.Leave(2, 8, tracing), testtrace.Enter(2, 9, user),
			testtrace.Leave(0, 10, user)},
			"[0:13/0/2 1:8/0/7] 0 0"},
		{"tracing off and on again", Options{}, []testtrace.Row{testtrace.Enter(0, 0, tracing),
			testtrace.Leave(0, 2, tracing), testtrace.Enter(0, 3, wait), testtrace.Enter(0, 6, tracing),
			testtrace.Leave(0, 7, wait), testtrace.Leave(0, 9, tracing)},
			"[0:4/0/5] 0 0"},
		{"orphan", Options{}, []testtrace.Row{testtrace.Leave(0, 0, wait), testtrace.Enter(0, 2, user),
			testtrace.Leave(0, 4, tracing), {Loc: 0, Time: 9, Kind: trace.Mark, Ref: user}},
			"[0:4/0/5] 0 2"},
		{"host, scope and comments", Options{}, []testtrace.Row{testtrace.Enter(3, 0, user),
			{Loc: 0, Time: 0, Kind: trace.Comment, Ref: user}, testtrace.Enter(4, 0, user), testtrace.Enter(0, 2, user),
			testtrace.Leave(0, 4, user), testtrace.Leave(3, 9, user)},
			"[0:2/0/0] 0 0"},
		{"default classes", Options{}, []testtrace.Row{testtrace.Enter(0, 0, barrier), testtrace.Leave(0, 1, barrier),
			testtrace.Enter(0, 1, bcast), testtrace.Leave(0, 3, bcast), testtrace.Enter(0, 3, userOverhead),
			testtrace.Leave(0, 7, userOverhead)},
			"[0:0/7/0] 0 0"},
		{"other classes", Options{Barrier: Idle, Collective: Idle, UserOverhead: Busy},
			[]testtrace.Row{testtrace.Enter(0, 0, barrier), testtrace.Leave(0, 1, barrier), testtrace.Enter(0, 1, bcast),
				testtrace.Leave(0, 3, bcast), testtrace.Enter(0, 3, userOverhead), testtrace.Leave(0, 7, userOverhead)},
			"[0:4/0/3] 0 0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, changes := range []bool{false, true} {
				opt := test.opt
				opt.Changes = changes
				p := New(picl(), opt)
				if err := p.Batch(testtrace.Mixed(p.defs, test.rows)); err != nil {
					t.Fatal(err)
				}
				r := p.Result()
				var list []string
				for _, x := range r.Processors {
					list = append(list, fmt.Sprintf("%d:%d/%d/%d", x.Number, x.Busy, x.Overhead, x.Idle))
				}
				if s := fmt.Sprint(list, r.Unclosed, r.Orphans); s != test.want {
					t.Errorf("changes %v: found %s, expected %s", changes, s, test.want)
				}
			}
		})
	}
}

// TestManyChanges checks the concurrency profile of a processor that dies at 1 and of one that goes on for another 300
// ticks, and sends in every third of them. That is more changes than the engine keeps apart for a processor that may
// have no more events, and is idle then.
func TestManyChanges(t *testing.T) {
	rows := []testtrace.Row{testtrace.Enter(0, 0, tracing), testtrace.Enter(2, 0, tracing), testtrace.Enter(0, 1, user)}
	for i := range int64(100) {
		rows = append(rows, testtrace.Enter(2, 1+3*i, send), testtrace.Leave(2, 2+3*i, send))
	}
	p := New(picl(), Options{})
	if err := p.Batch(testtrace.Mixed(p.defs, append(rows, testtrace.Leave(2, 301, tracing)))); err != nil {
		t.Fatal(err)
	}
	want := []Level{{Count: 0, Busy: 100, Overhead: 201, Idle: 1}, {Count: 1, Busy: 200, Overhead: 100, Idle: 300},
		{Count: 2, Busy: 1}}
	if r := p.Result(); !slices.Equal(r.Profile, want) {
		t.Errorf("found %+v, expected %+v", r.Profile, want)
	}
}

// TestAgainstReference compares the results for random traces, of one part and of merged parts,
// with states computed tick by tick.
func TestAgainstReference(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 8))
	for round := range 300 {
		const n = 5
		d := &trace.Definitions{Clock: trace.TicksPerSecond(1000), Format: "picl", Origin: "picl",
			Conventions: format.Conventions("picl")}
		for i := range n {
			d.Locations.Add(trace.Location{ID: fmt.Sprintf("%d/0", i), Kind: trace.ProcessLocation})
		}
		for _, e := range events {
			d.Regions.Add(trace.Region{ID: strconv.FormatInt(e, 10), Name: "x"})
		}
		var rows []testtrace.Row
		for range 1 + rnd.IntN(400) {
			at, time := uint32(rnd.IntN(n)), rnd.Int64N(100)
			if round%2 == 0 && at < 3 {
				time = min(time, 60) // so that some locations end early
			}
			region := uint32(1 + rnd.IntN(len(events)-1)) // not the event type of tracing
			if rnd.IntN(2) == 0 {
				rows = append(rows, testtrace.Enter(at, time, region))
			} else {
				rows = append(rows, testtrace.Leave(at, time, region))
			}
		}
		slices.SortStableFunc(rows, func(a, b testtrace.Row) int { return int(a.Time - b.Time) })
		first, last := rows[0].Time, rows[len(rows)-1].Time
		var w *trace.Window // only in the second half of the seeds
		if round >= 150 {
			w = &trace.Window{From: rnd.Int64N(120) - 10}
			w.To = w.From + 1 + rnd.Int64N(60)
		}
		opt := Options{Window: w}
		if round%3 == 0 { // two regions, of which one means busy
			opt.Regions = func(region uint32) bool { return region == user || region == bcast }
		}
		p := New(d, opt)
		if err := p.Batch(testtrace.Mixed(d, rows)); err != nil {
			t.Fatal(err)
		}
		r := p.Result()
		met := map[uint32]bool{}
		for _, x := range rows {
			met[x.Loc] = true
		}
		profile := make([]Level, len(met)+1)
		for k := range profile {
			profile[k].Count = int64(k)
		}
		ticks := map[int64]*[outside + 1]int64{}
		for loc := range met {
			ticks[int64(loc)] = &[outside + 1]int64{}
		}
		for at := first; at < last; at++ {
			if w != nil && (at < w.From || at >= w.To) {
				continue
			}
			var in [outside + 1]int64
			for loc := range met {
				s := slowState(d, opt.Regions, rows, loc, at)
				in[s]++
				ticks[int64(loc)][s]++
			}
			profile[in[Busy]].Busy++
			profile[in[Overhead]].Overhead++
			profile[in[Idle]].Idle++
		}
		if !reflect.DeepEqual(r.Profile, profile) {
			t.Fatalf("profile:\nfound    %+v\nexpected %+v", r.Profile, profile)
		}
		for _, x := range r.Processors {
			if want := ticks[x.Number]; x.Busy != want[Busy] || x.Overhead != want[Overhead] || x.Idle != want[Idle] ||
				x.Gap != want[Gap] {
				t.Fatalf("processor %d: found %+v, expected %v", x.Number, x, *want)
			}
		}
		merged := New(d, Options{Changes: true, Window: w, Regions: opt.Regions})
		for i, b := range testtrace.PerLocation(d, rows) {
			one := New(d, Options{Changes: true, Window: w, Regions: opt.Regions})
			if err := one.Batch(b); err != nil {
				t.Fatal(err)
			}
			if i%2 == 0 {
				one, merged = merged, one
			}
			if err := merged.Merge(one); err != nil {
				t.Fatal(err)
			}
		}
		if m := merged.Result(); !reflect.DeepEqual(m, r) {
			t.Fatalf("merged:\nfound    %+v\nexpected %+v", m, r)
		}
	}
}

// slowState returns the state of a location just after time at, computed from all earlier rows.
func slowState(d *trace.Definitions, wanted func(region uint32) bool, rows []testtrace.Row, loc uint32,
	at int64) State {
	var open []uint32
	seen, later := false, false
	for _, r := range rows {
		if r.Loc != loc {
			continue
		}
		if r.Time > at {
			later = true
			break
		}
		seen = true
		if r.Kind == trace.Enter {
			open = append(open, r.Ref)
			continue
		}
		for i := len(open) - 1; i >= 0; i-- {
			if open[i] == r.Ref {
				open = slices.Delete(open, i, i+1)
				break
			}
		}
	}
	if wanted != nil && (!later || !slices.ContainsFunc(open, wanted)) {
		return outside
	}
	if !seen || !later {
		return Idle
	}
	s := Busy
	for _, r := range open {
		s = max(s, (&Options{}).StateIn(d, d.Regions.At(r)))
	}
	return s
}

func TestOrder(t *testing.T) {
	d := picl()
	p := New(d, Options{})
	if err := p.Batch(testtrace.Mixed(d,
		[]testtrace.Row{testtrace.Enter(0, 5, user), testtrace.Enter(2, 4, user)})); err == nil {
		t.Error("events out of order gave no error")
	}
	q := New(d, Options{})
	if err := q.Batch(testtrace.Mixed(d, []testtrace.Row{testtrace.Enter(2, 5, user)})); err != nil {
		t.Fatal(err)
	}
	if err := p.Merge(q); err == nil {
		t.Error("a merge without changes gave no error")
	}
}

func TestNamed(t *testing.T) {
	for _, test := range []struct {
		region trace.Region
		opt    Options
		want   State
	}{
		{trace.Region{Name: "main", Group: "USER"}, Options{}, Busy},
		{trace.Region{Name: "MPI_Send", Group: "MPI"}, Options{}, Overhead},
		{trace.Region{Name: "PMPI_Recv"}, Options{Wait: Idle}, Idle},
		{trace.Region{Name: "MPI_Recv_init"}, Options{Wait: Idle}, Overhead},
		{trace.Region{Name: "MPI_Barrier"}, Options{Barrier: Idle}, Idle},
		{trace.Region{Name: "MPI_Allreduce"}, Options{Collective: Idle}, Idle},
		{trace.Region{Name: "MPI_Scatterv"}, Options{}, Overhead},
		{trace.Region{Name: "exchange", Group: "MPI_COLL"}, Options{}, Overhead},
		{trace.Region{Name: "parallel", Role: "barrier"}, Options{Barrier: Idle}, Idle},
		{trace.Region{Name: "pvm_send"}, Options{}, Overhead},
		{trace.Region{Name: "print"}, Options{}, Busy},
		{trace.Region{Name: "sleep", Group: "Idle"}, Options{}, Idle},
		{trace.Region{Name: "MPI_Send"}, Options{Classify: func(r *trace.Region) State { return Busy }}, Busy},
		{trace.Region{Name: "MPI_Send"}, Options{Classify: func(r *trace.Region) State { return Default }}, Overhead},
	} {
		if s := test.opt.StateIn(&trace.Definitions{}, &test.region); s != test.want {
			t.Errorf("%+v: found %s, expected %s", test.region, s, test.want)
		}
	}
}

// TestEvents checks the classes of all PICL event types.
func TestEvents(t *testing.T) {
	between := func(e, a, b int64) bool { return e >= min(a, b) && e <= max(a, b) }
	for e := int64(-1100); e < 10; e++ {
		want := Busy
		switch {
		case e == -913, e == -914:
			want = Gap
		case slices.Contains([]int64{-31, -52, -56, -61, -601}, e):
			want = Idle
		case between(e, -11, -80), between(e, -401, -500), between(e, -756, -793), between(e, -902, -1000), e == -602,
			e == -603:
			want = Overhead
		}
		r := trace.Region{ID: strconv.FormatInt(e, 10)}
		if s := (&Options{}).StateIn(&trace.Definitions{Conventions: format.Conventions("picl")}, &r); s != want {
			t.Errorf("event type %d: found %s, expected %s", e, s, want)
		}
	}
}

// TestBracketsBothWays checks that the result is the same with and without Options.Changes,
// wherever a trace has records of -901.
func TestBracketsBothWays(t *testing.T) {
	rnd := rand.New(rand.NewPCG(9, 10))
	for round := range 300 {
		d := &trace.Definitions{Clock: trace.TicksPerSecond(1000), Format: "picl", Origin: "picl",
			Conventions: format.Conventions("picl")}
		for i := range 4 {
			d.Locations.Add(trace.Location{ID: fmt.Sprintf("%d/0", i), Kind: trace.ProcessLocation})
		}
		for _, e := range events {
			d.Regions.Add(trace.Region{ID: strconv.FormatInt(e, 10), Name: "x"})
		}
		var rows []testtrace.Row
		for time := range int64(1 + rnd.IntN(60)) {
			// A quarter of the visits are visits of the region for PICL's event type -901.
			at, region := uint32(rnd.IntN(4)), uint32(rnd.IntN(4))
			if rnd.IntN(2) == 0 {
				rows = append(rows, testtrace.Enter(at, time, region))
			} else {
				rows = append(rows, testtrace.Leave(at, time, region))
			}
		}
		var results [2]*Result
		for i := range results {
			p := New(d, Options{Changes: i == 1})
			if err := p.Batch(testtrace.Mixed(d, rows)); err != nil {
				t.Fatal(err)
			}
			results[i] = p.Result()
		}
		if !reflect.DeepEqual(results[0], results[1]) {
			t.Fatalf("round %d: %+v\nkept: %+v", round, results[0], results[1])
		}
	}
}

// TestMissing checks that metrics without calls give no states: they do not show whether a processor works.
func TestMissing(t *testing.T) {
	rec := trace.NewRecorder(trace.TicksPerSecond(1e6))
	loc := rec.Thread("thread", rec.Process("process", rec.Machine("machine")))
	rec.Defs().Metrics.Add(trace.MetricDef{})
	for at := range int64(5) {
		rec.Event(loc, 100*at, trace.Metric, trace.NoRef, []uint64{20})
	}
	processors := func() int {
		p, err := Read(t.Context(), format.Recorded(rec), Options{})
		if err != nil {
			t.Fatal(err)
		}
		return len(p.Result().Processors)
	}
	expected := "the trace has no calls of regions, and only these show the states of processors"
	if n := processors(); n != 1 || Missing(rec.Defs(), n) != expected {
		t.Errorf("%d processors: found %q, expected %q", n, Missing(rec.Defs(), n), expected)
	}
	work := rec.Region("work")
	rec.Enter(loc, 500, work)
	rec.Leave(loc, 600, work)
	if n := processors(); n != 1 || Missing(rec.Defs(), n) != "" {
		t.Errorf("%d processors with a call: found %q, expected nothing to be missing", n, Missing(rec.Defs(), n))
	}
}
