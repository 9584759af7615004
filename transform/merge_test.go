package transform_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/transform"
)

// TestMerge checks that a merged trace has the events of all traces in time order, at the requested
// times.
func TestMerge(t *testing.T) {
	ctx := context.Background()
	a, b := randomTrace(seeded(1), 300, false), randomTrace(seeded(2), 300, true)
	b.Defs().Clock = trace.TicksPerSecond(1500)
	for _, unify := range []bool{false, true} {
		m, err := transform.Merge(ctx, []format.Events{format.Recorded(a), format.Recorded(b)},
			transform.MergeOptions{Unify: unify, Zero: []int64{100, 30}})
		if err != nil {
			t.Fatal(err)
		}
		if c := m.Defs().Clock; c.Num != 3000 || c.Den != 1 {
			t.Errorf("found a clock of %d/%d ticks, expected 3000/1", c.Num, c.Den)
		}
		got, _ := listBoth(t, m)
		locations := 8
		if unify {
			locations = 4
		}
		if n := m.Defs().Locations.Len(); n != locations {
			t.Errorf("unify %v: found %d locations, expected %d", unify, n, locations)
		}
		if n := m.Defs().Regions.Len(); n != 4 {
			t.Errorf("found %d regions, expected the 4 that are in both", n)
		}
		ids := map[string]bool{}
		for _, l := range m.Defs().Locations.All() {
			if ids[l.ID] {
				t.Errorf("two locations %s", l.ID)
			}
			ids[l.ID] = true
		}
		first, _ := list(t, format.Recorded(a), true)
		second, _ := list(t, format.Recorded(b), true)
		var want []string
		add := func(l []event, scale, zero int64, by uint32, number uint64) {
			for _, e := range l {
				if !unify {
					e.loc += by
				}
				e.time = (e.time-zero)*scale + 300
				switch e.kind {
				case trace.Send, trace.Recv:
					if !unify {
						e.ops[0] += uint64(by)
						e.ops[1] += uint64(by / 4)
					}
				case trace.CollectiveEnd:
					if !unify {
						e.ops[1] += uint64(by / 4)
					}
				case trace.ClaimBegin, trace.ClaimEnd:
					e.ops[0] = e.ops[0]*2 + number
					if !unify {
						e.ops[1] += uint64(by / 4)
					}
				}
				want = append(want, e.String())
			}
		}
		add(first, 3, 100, 0, 0)
		add(second, 2, 30, 4, 1)
		var found []string
		for _, e := range got {
			found = append(found, e.String())
		}
		slices.Sort(want)
		slices.Sort(found)
		if !slices.Equal(found, want) {
			t.Errorf("unify %v: the events differ: found %v …, expected %v …", unify, found[:3], want[:3])
		}
		if m.Rounded != 0 {
			t.Errorf("%d times were rounded", m.Rounded)
		}
	}
}

// TestMergeByWallClock checks that each event gets exactly the time that corresponds to its time of day on the
// clock of the first trace, even if clocks have long ticks.
func TestMergeByWallClock(t *testing.T) {
	const minute = 60
	one := func(c trace.Clock, at, epoch int64) format.Events {
		c.Epoch, c.HasEpoch = epoch, true
		r := trace.NewRecorder(c)
		r.Mark(r.Location("x"), at, trace.NoRef)
		return format.Recorded(r)
	}
	const ms = 1_000_000
	for _, x := range []struct {
		name        string
		a, b        format.Events
		num, den    int64 // time in seconds of the event in the second trace
		rate, every int64 // number of ticks, and the number of seconds that they take
	}{
		{"tenths", one(trace.TicksPerSecond(1), 1, 1500*ms), one(trace.TicksPerSecond(1), 1, 1100*ms), 6, 10, 5, 1},
		{"minutes", one(trace.TicksPerSecond(1), 1, 5000*ms), one(trace.Clock{Num: 1, Den: minute}, 1, 2000*ms), 57, 1, 1, 1},
		{"both minutes", one(trace.Clock{Num: 1, Den: minute, Unit: 1}, 2, 5000*ms),
			one(trace.Clock{Num: 1, Den: minute, Unit: 1}, 1, 2000*ms), 57, 1, 1, 3},
		{"seconds apart", one(trace.TicksPerSecond(1000), 1, 1000*ms),
			one(trace.TicksPerSecond(1500), 30, 3000*ms), 2020, 1000, 3000, 1},
		{"equal", one(trace.TicksPerSecond(1), 1, 5*ms), one(trace.TicksPerSecond(1), 4, 5*ms), 4, 1, 1, 1},
		{"years apart", one(trace.TicksPerSecond(1), 1, 0),
			one(trace.TicksPerSecond(1), 4, 1_000_000_000_000*ms), 1_000_000_004, 1, 1, 1},
	} {
		t.Run(x.name, func(t *testing.T) {
			m, err := transform.Merge(t.Context(), []format.Events{x.a, x.b}, transform.MergeOptions{Wall: true})
			if err != nil {
				t.Fatal(err)
			}
			var at int64
			err = m.Scan(t.Context(), trace.Events(), format.PerLocation, format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
				at = b.Time[len(b.Time)-1]
				return nil
			}})
			if err != nil {
				t.Fatal(err)
			}
			c := m.Defs().Clock
			if at*c.Den*x.den != x.num*c.Num || m.Rounded != 0 {
				t.Errorf("found %d ticks of %d/%d s, %d rounded; expected %d/%d s", at, c.Den, c.Num, m.Rounded, x.num, x.den)
			}
			if c.Num != x.rate || c.Den != x.every {
				t.Errorf("found a clock of %d/%d ticks, expected %d/%d", c.Num, c.Den, x.rate, x.every)
			}
		})
	}
	// A year at 10^15 ticks per second is 3·10^22 ticks.
	if _, err := transform.Merge(t.Context(), []format.Events{one(trace.TicksPerSecond(1e15), 1, 0),
		one(trace.TicksPerSecond(1), 1, 31_536_000_000*ms)}, transform.MergeOptions{Wall: true}); err == nil {
		t.Error("two traces are merged on a clock that cannot count the time between them")
	}
}

// TestMergeStops checks that goroutines end when a merged scan ends early.
func TestMergeStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	var all []format.Events
	for i := range 5 {
		all = append(all, format.Recorded(randomTrace(seeded(uint64(i)), 500, false)))
	}
	m, err := transform.Merge(ctx, all, transform.MergeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	stop := fmt.Errorf("enough")
	err = m.Scan(ctx, trace.Everything(), format.GlobalOrder,
		format.SinkFuncs{OnBatch: func(*trace.Batch) error { return stop }})
	if err != stop {
		t.Errorf("found %v, expected the sink's error", err)
	}
	cancel()
	if err := m.Scan(ctx, trace.Everything(), format.GlobalOrder, format.SinkFuncs{}); err == nil {
		t.Error("a cancelled scan succeeds")
	}
}

// TestMergeLongRunningClocks checks that traces can be merged although their times do not fit their exact
// common clock. One clock counts processor cycles since the machine was started.
func TestMergeLongRunningClocks(t *testing.T) {
	const up, rate = 7_397_466_976_977_800, 2_095_197_216 // cycles since the start (40 days), and cycles per second
	a, b := trace.NewRecorder(trace.TicksPerSecond(rate)), trace.NewRecorder(trace.TicksPerSecond(1_000_000))
	cycles, other := a.Location("cycles"), b.Location("microseconds")
	a.Mark(cycles, up, trace.NoRef)
	a.Mark(cycles, up+1, trace.NoRef)
	b.Mark(other, 5, trace.NoRef)
	m, err := transform.Merge(t.Context(), []format.Events{format.Recorded(a), format.Recorded(b)},
		transform.MergeOptions{Zero: []int64{up, 5}})
	if err != nil {
		t.Fatal(err)
	}
	if c := m.Defs().Clock; c != trace.TicksPerSecond(1_000_000_000_000) {
		t.Errorf("found a clock of %d/%d ticks a second, expected 10^12", c.Num, c.Den)
	}
	merged, _ := list(t, m, true)
	var times []int64
	for _, e := range merged {
		times = append(times, e.time)
	}
	// The expected times are up / rate in picoseconds, computed with Python's fractions. One cycle
	// takes 477.28 ps.
	if want := []int64{3530678_124468164624, 3530678_124468164624, 3530678_124468165101}; !slices.Equal(times, want) {
		t.Errorf("found times %d, expected %d", times, want)
	}
	if m.Rounded != 1 {
		t.Errorf("found %d rounded times, expected the second one", m.Rounded)
	}
}

// TestMergeOperations checks that collective operations with the same number in two traces keep
// their names.
func TestMergeOperations(t *testing.T) {
	one := func(names ...string) *trace.Recorder {
		r := trace.NewRecorder(trace.TicksPerSecond(1000))
		r.Defs().Origin, r.Defs().Conventions = "otf", trace.Conventions{OwnOperations: true}
		l := r.Location("p")
		for i, name := range names {
			r.Defs().Operations.Add(trace.Named{ID: fmt.Sprint(i + 1), Name: name})
			r.Event(l, int64(i), trace.CollectiveBegin, trace.NoRef, []uint64{uint64(i + 1)})
		}
		return r
	}
	m, err := transform.Merge(t.Context(), []format.Events{format.Recorded(one("reduce", "scan")),
		format.Recorded(one("barrier", "reduce", "scan")), format.Recorded(one("reduce"))}, transform.MergeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	found := map[uint32][]string{}
	events, _ := list(t, m, true)
	for _, e := range events {
		name, _ := m.Defs().OperationName(e.ops[0])
		found[e.loc] = append(found[e.loc], name)
	}
	want := map[uint32][]string{0: {"reduce", "scan"}, 1: {"barrier", "reduce", "scan"}, 2: {"reduce"}}
	if !reflect.DeepEqual(found, want) {
		t.Errorf("found the operations %v, expected %v", found, want)
	}
}

// TestMergeRanksOfParadigms checks that the ranks of a group remain ranks among the communicating
// locations of the group's own paradigm.
func TestMergeRanksOfParadigms(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	d := r.Defs()
	for _, id := range []string{"10", "20", "30", "40"} {
		d.Locations.Add(trace.Location{ID: id, Name: "l" + id, Group: trace.NoRef})
	}
	of := func(paradigm string) []trace.Attr {
		return []trace.Attr{{Key: "paradigm", Value: trace.StringValue(paradigm)}}
	}
	d.Sets.Add(trace.Set{ID: "0", Kind: "communicating locations", Members: []int64{10, 30}, Attrs: of("MPI")})
	d.Sets.Add(trace.Set{ID: "1", Kind: "communicating locations", Members: []int64{20, 40}, Attrs: of("OPENMP")})
	d.Sets.Add(trace.Set{ID: "2", Name: "world", Kind: "ranks", Members: []int64{0, 1}, Attrs: of("MPI")})
	d.Sets.Add(trace.Set{ID: "3", Name: "team", Kind: "ranks", Members: []int64{1, 0}, Attrs: of("OPENMP")})
	other := randomTrace(seeded(1), 10, false)
	m, err := transform.Merge(t.Context(), []format.Events{format.Recorded(r), format.Recorded(other)},
		transform.MergeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]int64{}
	for _, s := range m.Defs().Sets.All() {
		if s.Name != "" {
			found[s.Name] = s.Members
		}
	}
	if want := map[string][]int64{"world": {10, 30}, "team": {40, 20}}; !reflect.DeepEqual(found, want) {
		t.Errorf("found the members %v, expected %v", found, want)
	}
}

// TestMergeReferencesOfDefinitions checks that the windows, I/O handles and communicators of merged traces refer to the
// communicators, files and groups of their own trace, although the ids in both traces are the same.
func TestMergeReferencesOfDefinitions(t *testing.T) {
	one := func(name string) format.Events {
		r := trace.NewRecorder(trace.TicksPerSecond(1000))
		d := r.Defs()
		for i := range 2 {
			id := fmt.Sprint(i)
			d.Sets.Add(trace.Set{ID: id, Name: name + id, Kind: "locations", Members: []int64{int64(i)}})
			d.Communicator.Add(trace.Communicator{ID: id, Name: name + id, Set: trace.NoRef, Parent: trace.NoRef,
				Attrs: []trace.Attr{{Key: trace.OtherGroupAttribute, Value: trace.Value{Num: uint64(i), Type: trace.GroupRef}}}})
			d.Files.Add(trace.Named{ID: id, Name: name + id})
			d.Windows.Add(trace.Named{ID: id, Name: name + id, Attrs: []trace.Attr{{Key: trace.CommunicatorAttribute,
				Value: trace.Value{Num: uint64(i), Type: trace.CommRef}}}})
			d.Handles.Add(trace.Named{ID: id, Name: name + id, Attrs: []trace.Attr{{Key: trace.FileAttribute,
				Value: trace.Value{Num: uint64(i), Type: trace.FileRef}}}})
		}
		r.Event(r.Location("p"), 0, trace.NoOp, trace.NoRef, nil)
		r.Location("q")
		return format.Recorded(r)
	}
	m, err := transform.Merge(t.Context(), []format.Events{one("a"), one("b")}, transform.MergeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	list(t, m, true)
	d := m.Defs()
	if d.Windows.Len() != 4 || d.Handles.Len() != 4 {
		t.Fatalf("found %d windows and %d handles, expected 4 of each", d.Windows.Len(), d.Handles.Len())
	}
	members := d.Memberships()
	for i, c := range d.Communicator.All() {
		want := []uint32{uint32(i)} // the locations have the order of the traces
		if got := members.KnownMembers(uint32(i)); !slices.Equal(got, want) {
			t.Errorf("communicator %s has the members %v, expected %v", c.Name, got, want)
		}
	}
	for i, w := range d.Windows.All() {
		if c := d.WindowCommunicator(uint32(i)); !d.Communicator.Has(c) || d.Communicator.At(c).Name != w.Name {
			t.Errorf("window %s has communicator %d, expected the one with its name", w.Name, c)
		}
		h := d.Handles.At(uint32(i))
		if f := d.HandleFile(uint32(i)); !d.Files.Has(f) || d.Files.At(f).Name != h.Name {
			t.Errorf("handle %s has file %d, expected the one with its name", h.Name, f)
		}
	}
}
