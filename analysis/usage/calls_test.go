package usage

import (
	"context"
	"slices"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// TestLittleOfCalls checks that calls are claims, with the names of their regions: objects come when load begins, and
// leave when store ends. Object 2 never ends.
func TestLittleOfCalls(t *testing.T) {
	rec := trace.NewRecorder(trace.TicksPerSecond(1))
	loc := rec.Location("main")
	load, store := rec.Region("load"), rec.Region("store")
	for _, x := range []struct {
		region     uint32
		start, end int64
		id         int64
	}{{load, 0, 2, 1}, {store, 2, 5, 1}, {load, 6, 7, 2}} {
		rec.Enter(loc, x.start, x.region, trace.Attr{Key: "id", Value: trace.IntValue(x.id)})
		rec.Leave(loc, x.end, x.region)
	}
	e := format.Recorded(rec)
	l := NewLittle(e.Defs(), LittleOptions{Attribute: "id",
		Begin:  &EventFilter{Attributes: map[string]string{"name": "load"}, Starts: true},
		End:    &EventFilter{Attributes: map[string]string{"name": "store"}, Ends: true},
		Events: &EventFilter{Attributes: map[string]string{"name": "load"}, Ends: true}})
	if err := e.Scan(context.Background(), trace.Events(), format.PerLocation, l); err != nil {
		t.Fatal(err)
	}
	r := l.Result(ResultOptions{})
	if len(r.Objects) != 1 || r.Objects[0] != (Object{"1", 0, 5}) || r.Incomplete != 1 {
		t.Errorf("found %+v, %d incomplete, expected object 1 from 0 to 5 and one incomplete", r.Objects, r.Incomplete)
	}
	if len(r.Events) != 1 || r.Events[0].From != 2 || r.Events[0].To != 7 {
		t.Errorf("found events %+v, expected one piece from 2 to 7", r.Events)
	}
}

// TestLittleOfMessages checks that operands, places and names of events identify objects, and select events, as in
// package verify. Message 1 is on its way from 10 to 14, message 2 from 20 to 30, and task 7 exists from 12 to 40.
func TestLittleOfMessages(t *testing.T) {
	rec := trace.NewRecorder(trace.TicksPerSecond(1))
	loc := []uint32{rec.Location("rank 0"), rec.Location("rank 1")}
	for _, x := range [][3]uint64{{10, 14, 1}, {20, 30, 2}} {
		rec.Event(loc[0], int64(x[0]), trace.Send, trace.NoRef, []uint64{uint64(loc[1]), trace.Undefined, x[2], 8})
		rec.Event(loc[1], int64(x[1]), trace.Recv, trace.NoRef, []uint64{uint64(loc[0]), trace.Undefined, x[2], 8})
	}
	rec.Event(loc[0], 12, trace.TaskCreate, trace.NoRef, []uint64{trace.Undefined, 0, 7})
	rec.Event(loc[1], 40, trace.TaskComplete, trace.NoRef, []uint64{trace.Undefined, 0, 7})
	e := format.Recorded(rec)
	for by, want := range map[string][]Object{
		"tag":      {{"1", 10, 14}, {"2", 20, 30}},
		"task":     {{"7", 12, 40}},
		"receiver": {{"rank 1", 10, 30}},
		"location": {{"rank 0", 10, 20}, {"rank 1", 14, 40}},
		"kind":     {{"send", 10, 20}, {"task-create", 12, 12}, {"recv", 14, 30}, {"task-complete", 40, 40}},
		"tags":     nil,
	} {
		l := NewLittle(e.Defs(), LittleOptions{Attribute: by,
			Events: &EventFilter{Attributes: map[string]string{"kind": "recv", "sender": "rank 0"}, Marks: true}})
		if err := e.Scan(context.Background(), l.opt.Selection(), format.PerLocation, l); err != nil {
			t.Fatal(err)
		}
		r := l.Result(ResultOptions{})
		if !slices.Equal(r.Objects, want) {
			t.Errorf("by %s: found %+v, expected %+v", by, r.Objects, want)
		}
		if len(r.Events) != 1 || r.Events[0].From != 14 || r.Events[0].To != 30 {
			t.Errorf("by %s: found events %+v, expected one piece from 14 to 30", by, r.Events)
		}
	}
}

// TestMessagesAsObjects checks that each message is an object from its send to its receive, in one part and in two
// parts that are merged. A message that is received before it is sent, and one that is never received, are
// incomplete.
func TestMessagesAsObjects(t *testing.T) {
	rec := trace.NewRecorder(trace.TicksPerSecond(1))
	loc := []uint32{rec.Location("rank 0"), rec.Location("rank 1")}
	rec.Send(loc[0], 10, loc[1], 1, 8)
	rec.Recv(loc[1], 14, loc[0], 1, 8)
	rec.Recv(loc[1], 18, loc[0], 2, 8)
	rec.Send(loc[0], 20, loc[1], 2, 8)
	rec.Send(loc[1], 21, loc[0], 1, 8)
	rec.Recv(loc[0], 31, loc[1], 1, 8)
	rec.Send(loc[0], 40, loc[1], 1, 8)
	rec.Recv(loc[1], 42, loc[0], 1, 8)
	rec.Send(loc[1], 50, loc[0], 3, 8)
	e := format.Recorded(rec)
	want := []Object{{"rank 0 → rank 1, message 1", 10, 14}, {"rank 1 → rank 0, message 1", 21, 31},
		{"rank 0 → rank 1, message 3", 40, 42}}
	for _, parts := range []int{1, 2} {
		var sum *Little
		for i := range parts {
			l := NewLittle(e.Defs(), LittleOptions{Messages: true})
			sel := l.opt.Selection()
			if parts > 1 {
				sel.Location = func(x uint32) bool { return x == loc[i] }
			}
			if err := e.Scan(t.Context(), sel, format.PerLocation, l); err != nil {
				t.Fatal(err)
			}
			if sum == nil {
				sum = l
			} else if err := sum.Merge(l); err != nil {
				t.Fatal(err)
			}
		}
		r := sum.Result(ResultOptions{Unit: 1})
		if !slices.Equal(r.Objects, want) || r.Incomplete != 2 {
			t.Errorf("%d parts: found %+v and %d incomplete, expected %+v and 2", parts, r.Objects, r.Incomplete, want)
		}
		expectNear(t, "area of wip", r.WIP.Integral(), 4+10+2)
		expectNear(t, "area of throughput", r.Throughput.Integral(), 3)
	}
}

// TestVisitsAsObjects checks that each visit of a chosen region is an object, with its number at its location, whether
// it is inside of another visit of the region or not. Neither visits without an end count nor ends without a visit.
func TestVisitsAsObjects(t *testing.T) {
	rec := trace.NewRecorder(trace.TicksPerSecond(1))
	a, b := rec.Location("a"), rec.Location("b")
	step, other := rec.Region("step"), rec.Region("other")
	rec.Leave(a, 1, step)
	rec.Enter(a, 2, step)
	rec.Enter(a, 3, other)
	rec.Enter(a, 4, step)
	rec.Leave(a, 6, step)
	rec.Leave(a, 7, other)
	rec.Leave(a, 9, step)
	rec.Enter(a, 10, step)
	rec.Enter(b, 3, trace.NoRef)
	rec.Leave(b, 4, trace.NoRef)
	rec.Enter(b, 5, step)
	rec.Leave(b, 5, step)
	e := format.Recorded(rec)
	opt := LittleOptions{Visits: func(region uint32) bool { return region == step }}
	whole := NewLittle(e.Defs(), opt)
	parts := [2]format.Sink{NewLittle(e.Defs(), opt), NewLittle(e.Defs(), opt)}
	scan(t, e, whole, parts)
	merged := parts[0].(*Little)
	if err := merged.Merge(parts[1].(*Little)); err != nil {
		t.Fatal(err)
	}
	for _, l := range []*Little{whole, merged} {
		r := l.Result(ResultOptions{})
		want := []Object{{"a, visit 2", 2, 9}, {"a, visit 1", 4, 6}, {"b, visit 1", 5, 5}}
		if !slices.Equal(r.Objects, want) || r.Incomplete != 0 || r.Instant != 1 {
			t.Errorf("found %v, %d incomplete, %d without length, expected %v, 0 and 1", r.Objects, r.Incomplete, r.Instant,
				want)
		}
	}
}

// TestLongest checks the objects with the longest stays: equal stays in the order of their begins, then of their names.
func TestLongest(t *testing.T) {
	r := &LittleResult{Objects: []Object{{"d", 0, 1}, {"b", 1, 5}, {"c", 1, 5}, {"a", 2, 6}, {"e", 3, 8}, {"f", 4, 5}}}
	order := []Object{{"e", 3, 8}, {"b", 1, 5}, {"c", 1, 5}, {"a", 2, 6}, {"d", 0, 1}, {"f", 4, 5}}
	for n := range 8 {
		want := order[:min(n, len(order))]
		if n == 0 {
			want = order
		}
		if found := r.Longest(n); !slices.Equal(found, want) {
			t.Errorf("%d: found %v, expected %v", n, found, want)
		}
	}
}
