package transform_test

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/transform"
)

// checkFiltered compares the profile of a filtered trace with a slow computation from the whole
// trace.
func checkFiltered(t *testing.T, r *trace.Recorder, pick chooser) {
	regions, short, depth := pick(16), int64(pick(6)), pick(4)
	wanted := func(ref uint32) bool { return regions>>(ref%4)&1 == 1 }
	d := transform.Filter(format.Recorded(r), transform.FilterOptions{Region: wanted, MinDuration: short, MaxDepth: depth})
	list_, _ := listBoth(t, d)

	// Compute slowly which rows stay.
	all, _ := list(t, format.Recorded(r), false)
	keep := make([]bool, len(all))
	type visit struct {
		row  int
		kept bool
	}
	open := map[uint32][]visit{}
	claims := map[uint64]int{}
	for i, e := range all {
		ok := e.ref == trace.NoRef || wanted(e.ref)
		switch e.kind {
		case trace.Enter:
			n := 0
			for _, v := range open[e.loc] {
				if v.kept {
					n++
				}
			}
			keep[i] = ok && (depth == 0 || n < depth)
			open[e.loc] = append(open[e.loc], visit{i, keep[i]})
		case trace.Leave:
			l := open[e.loc]
			j := len(l) - 1
			for j >= 0 && all[l[j].row].ref != e.ref {
				j--
			}
			if j < 0 {
				keep[i] = ok
				break
			}
			if short > 0 && e.time-all[l[j].row].time < short {
				keep[l[j].row] = false
			}
			keep[i] = keep[l[j].row]
			open[e.loc] = slices.Delete(l, j, j+1)
		case trace.ClaimBegin:
			keep[i] = ok
			claims[e.ops[0]] = i
		case trace.ClaimEnd:
			j, begun := claims[e.ops[0]]
			if !begun {
				keep[i] = ok
				break
			}
			delete(claims, e.ops[0])
			if short > 0 && e.time-all[j].time < short {
				keep[j] = false
			}
			keep[i] = keep[j]
		default:
			keep[i] = ok
		}
	}
	var want []event
	for i, e := range all {
		if keep[i] {
			want = append(want, e)
		}
	}
	slices.SortStableFunc(list_, func(a, b event) int { return int(a.loc) - int(b.loc) })
	if !slices.EqualFunc(list_, want, func(x, y event) bool { return reflect.DeepEqual(x, y) }) {
		t.Fatalf("filter of regions %b, shorter than %d, deeper than %d: found %v, expected %v", regions, short, depth, list_,
			want)
	}
}

func TestFilter(t *testing.T) {
	for seed := range uint64(400) {
		pick := seeded(seed)
		checkFiltered(t, randomTrace(pick, 20+pick(300), seed%2 == 1), pick)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func FuzzFilter(f *testing.F) {
	f.Add([]byte("some bytes to begin with, which make enters, leaves and messages"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 2000 {
			return
		}
		pick := fromBytes(b)
		checkFiltered(t, randomTrace(pick, len(b)/3, true), pick)
	})
}

// TestFilterKinds checks that a begin and its end are kept or dropped together.
func TestFilterKinds(t *testing.T) {
	r := randomTrace(seeded(3), 300, false)
	count := func(w transform.FilterOptions) map[trace.Kind]int {
		n := map[trace.Kind]int{}
		list, _ := listBoth(t, transform.Filter(format.Recorded(r), w))
		for _, e := range list {
			n[e.kind]++
		}
		return n
	}
	is := func(k trace.Kind) func(trace.Kind) bool { return func(o trace.Kind) bool { return o == k } }
	all := count(transform.FilterOptions{})
	if n := count(transform.FilterOptions{Kind: is(trace.Leave)}); len(n) != 2 || n[trace.Enter] != all[trace.Enter] ||
		n[trace.Leave] != all[trace.Leave] {
		t.Errorf("kind leave: found %v, expected enters and leaves of %v", n, all)
	}
	n := count(transform.FilterOptions{NotKind: is(trace.Enter)})
	delete(all, trace.Enter)
	delete(all, trace.Leave)
	if !maps.Equal(n, all) {
		t.Errorf("not kind enter: found %v, expected %v", n, all)
	}
}

// TestFilterGivesTimeToParent checks the exclusive times in a filtered trace. They must equal the exclusive
// times in the whole trace, plus the time of dropped visits for the regions that enclose these visits.
func TestFilterGivesTimeToParent(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	loc := r.Location("p")
	a, b, c := r.Region("a"), r.Region("b"), r.Region("c")
	batch := &trace.Batch{}
	for _, x := range []struct {
		t   int64
		k   trace.Kind
		ref uint32
	}{{0, trace.Enter, a}, {10, trace.Enter, b}, {15, trace.Enter, c}, {40, trace.Leave, c}, {50, trace.Leave, b},
		{100, trace.Leave, a}} {
		batch.Add(loc, x.t, x.k, x.ref)
	}
	put(r, loc, batch)
	d := transform.Filter(format.Recorded(r), transform.FilterOptions{Region: func(ref uint32) bool { return ref != b }})
	want := map[string]cell{"a": {100, 75, 1}, "c": {25, 25, 1}}
	if got := profiled(t, d); !reflect.DeepEqual(got, want) {
		t.Errorf("found %v, expected %v", got, want)
	}
}

// TestFilterContexts checks that a region and a calling context with the same index are different.
func TestFilterContexts(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	loc, a := r.Location("p"), r.Region("a")
	r.Defs().Contexts.Add(trace.Named{ID: "0", Name: "context"})
	b := &trace.Batch{}
	for i, k := range []trace.Kind{trace.Enter, trace.ContextEnter, trace.Leave, trace.ContextLeave} {
		b.Add(loc, int64(i), k, a)
	}
	put(r, loc, b)
	list, _ := listBoth(t, transform.Filter(format.Recorded(r),
		transform.FilterOptions{Region: func(uint32) bool { return false }}))
	if len(list) != 2 || list[0].kind != trace.ContextEnter || list[1].kind != trace.ContextLeave {
		t.Errorf("found %v, expected the visit of the context", list)
	}
}

// TestFilterCommunicator checks that the events of a communicator are dropped, together with the begins of its
// collective operations.
func TestFilterCommunicator(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	loc := r.Location("p")
	d := r.Defs()
	for _, name := range []string{"world", "row"} {
		d.Communicator.Add(trace.Communicator{ID: name, Name: name, Set: trace.NoRef, Parent: trace.NoRef})
	}
	b := &trace.Batch{}
	for i, comm := range []uint64{0, 1, 0} {
		b.Add(loc, int64(10*i), trace.CollectiveBegin, trace.NoRef)
		b.Add(loc, int64(10*i+5), trace.CollectiveEnd, trace.NoRef)
		b.AddOps(1, comm, 0, 0, 0)
	}
	b.Add(loc, 40, trace.SendBegin, trace.NoRef)
	b.AddOps(0, 1, 0, 4, 77)
	b.Add(loc, 41, trace.SendComplete, trace.NoRef)
	b.AddOps(77)
	for i, comm := range []uint64{0, 1} {
		b.Add(loc, int64(50+i), trace.RecvBegin, trace.NoRef)
		b.AddOps(uint64(5 + i))
		b.Add(loc, int64(60+i), trace.RecvComplete, trace.NoRef)
		b.AddOps(0, comm, 0, 4, uint64(5+i))
	}
	put(r, loc, b)
	list, _ := listBoth(t, transform.Filter(format.Recorded(r),
		transform.FilterOptions{Communicator: func(c uint32) bool { return c == 0 }}))
	var times []int64
	for _, e := range list {
		times = append(times, e.time)
	}
	if !slices.Equal(times, []int64{0, 5, 20, 25, 50, 60}) {
		t.Errorf("found events at %v, expected those at 0, 5, 20, 25, 50 and 60", times)
	}
}

// TestFilterCommunicatorOfWindow checks that the events of a window are dropped with its communicator, together with
// the begins of its collective operations, which name no window.
func TestFilterCommunicatorOfWindow(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	loc := r.Location("p")
	d := r.Defs()
	for i, name := range []string{"world", "row"} {
		d.Communicator.Add(trace.Communicator{ID: name, Name: name, Set: trace.NoRef, Parent: trace.NoRef})
		d.Windows.Add(trace.Named{ID: name, Name: name, Attrs: []trace.Attr{{Key: trace.CommunicatorAttribute,
			Value: trace.Value{Type: trace.CommRef, Num: uint64(i)}}}})
	}
	b := &trace.Batch{}
	for i, window := range []uint32{0, 1, trace.NoRef, 1, 0} {
		at := int64(10 * i)
		b.Add(loc, at, trace.RMACollectiveBegin, trace.NoRef)
		b.Add(loc, at+1, trace.RMACollectiveEnd, window)
		b.AddOps(0, 0, 0, 0, 0)
		b.Add(loc, at+2, trace.RMAPut, window)
		b.AddOps(0, 8, uint64(i))
		b.Add(loc, at+3, trace.RMACompleteBlocking, window)
		b.AddOps(uint64(i))
		b.Add(loc, at+4, trace.RMASync, window)
		b.AddOps(0, 0)
	}
	put(r, loc, b)
	list, _ := listBoth(t, transform.Filter(format.Recorded(r),
		transform.FilterOptions{Communicator: func(c uint32) bool { return c == 0 }}))
	var times []int64
	for _, e := range list {
		times = append(times, e.time)
	}
	want := []int64{0, 1, 2, 3, 4, 20, 21, 22, 23, 24, 40, 41, 42, 43, 44}
	if !slices.Equal(times, want) {
		t.Errorf("found events at %v, expected those at %v", times, want)
	}
}

// TestFilterCommunicatorAtBegin checks that the end of a collective operation is dropped with its begin where only the
// begin has a communicator, as in OTF. Operations overlap; their matching numbers are 7, 8 and 9.
func TestFilterCommunicatorAtBegin(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	loc := r.Location("p")
	for _, name := range []string{"world", "row"} {
		r.Defs().Communicator.Add(trace.Communicator{ID: name, Name: name, Set: trace.NoRef, Parent: trace.NoRef})
	}
	b, u := &trace.Batch{}, uint64(trace.Undefined)
	for time, x := range []struct{ comm, matching uint64 }{
		{0, 7}, {1, 8}, {u, 7}, {u, 8}, {1, 9}, {u, 6}, {u, 9}, {u, 9},
	} {
		kind := trace.CollectiveBegin
		if x.comm == u {
			kind = trace.CollectiveEnd
		}
		b.Add(loc, int64(time), kind, trace.NoRef)
		b.AddOps(u, x.comm, u, 0, 0, x.matching)
	}
	put(r, loc, b)
	list, _ := listBoth(t, transform.Filter(format.Recorded(r),
		transform.FilterOptions{Communicator: func(c uint32) bool { return c == 0 }}))
	var times []int64
	for _, e := range list {
		times = append(times, e.time)
	}
	if !slices.Equal(times, []int64{0, 2, 5, 7}) { // the ends at 5 and 7 have no begin
		t.Errorf("found events at %v, expected those at 0, 2, 5 and 7", times)
	}
}

// TestFilterRows checks that visits, claims and marks are kept or dropped according to the attributes of the
// rows that begin them. Their ends must be treated in the same way, and other events must be kept.
func TestFilterRows(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1))
	loc := r.Location("p")
	work, counter := r.Region("work"), r.Counter("c", "")
	id := func(v string) trace.Attr { return trace.Attr{Key: "id", Value: trace.StringValue(v)} }
	r.Leave(loc, 0, work) // its enter is missing, so its attributes are unknown
	r.Enter(loc, 1, work, id("1"))
	r.Enter(loc, 2, work, id("2"))
	r.Mark(loc, 3, work, id("1"))
	r.Mark(loc, 4, work)
	r.Value(loc, 5, counter, 7)
	r.Leave(loc, 6, work)
	r.Leave(loc, 7, work)
	first := r.Claim(r.Resource("cpu", 1, ""), 1, work, 1, id("2"))
	r.Claim(r.Resource("gpu", 1, ""), 2, work, 1, id("1"))
	r.Release(first, 3)
	d := format.Recorded(r)
	list, _ := listBoth(t, transform.Filter(d, transform.FilterOptions{
		Row: transform.HasAttribute(d.Defs(), "id", func(v string) bool { return v == "1" })}))
	type row struct {
		kind trace.Kind
		time int64
	}
	var found []row
	for _, e := range list {
		found = append(found, row{e.kind, e.time})
	}
	slices.SortFunc(found, func(a, b row) int { return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.kind, b.kind)) })
	expected := []row{{trace.Enter, 1}, {trace.ClaimBegin, 2}, {trace.Mark, 3}, {trace.Metric, 5}, {trace.Leave, 7}}
	if !slices.Equal(found, expected) {
		t.Errorf("found %v, expected %v", found, expected)
	}
}

// TestFilterEndsWithoutBegin checks ends whose begin is missing. Such ends have no attributes. Therefore a
// filter that selects a value of an attribute drops them, and a filter that drops a value keeps them.
func TestFilterEndsWithoutBegin(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1))
	work, at := r.Region("work"), r.Location("p")
	r.Leave(at, 1, work)
	r.Event(at, 2, trace.ClaimEnd, work, []uint64{7})
	d := format.Recorded(r)
	has := transform.HasAttribute(d.Defs(), "id", func(string) bool { return true })
	for i, row := range []func(x *trace.Cursor) bool{has, func(x *trace.Cursor) bool { return !has(x) }} {
		if list, _ := listBoth(t, transform.Filter(d, transform.FilterOptions{Row: row})); len(list) != 2*i {
			t.Errorf("found %d events, expected %d", len(list), 2*i)
		}
	}
}
