package counts

import (
	"reflect"
	"testing"

	"github.com/weft-trace/weft/analysis/internal/testtrace"
	"github.com/weft-trace/weft/trace"
)

// TestMembersOfMetricEvents checks that a metric event of several members counts once, and that
// derived rows do not count as events.
func TestMembersOfMetricEvents(t *testing.T) {
	d := testtrace.Defs(2, 0, 0)
	d.Metrics.Add(trace.MetricDef{ID: "m", Type: trace.Uint64})
	value := func(loc uint32, t int64, ops ...uint64) testtrace.Row {
		return testtrace.Row{Loc: loc, Time: t, Kind: trace.Metric, Ops: ops}
	}
	rows := []testtrace.Row{value(0, 1, 7, 0), value(0, 1, 8, 1), value(0, 1, 9, 2), value(0, 2, 7), value(1, 3, 7, 0),
		value(1, 3, 8, 1)}
	want := []Location{{0, "0", "", 2, 0, 1, 2}, {1, "1", "", 1, 0, 3, 3}}
	mixed, parts := New(d), New(d)
	if err := mixed.Batch(testtrace.Mixed(d, rows)); err != nil {
		t.Fatal(err)
	}
	for _, b := range testtrace.PerLocation(d, rows) {
		q := New(d)
		if err := q.Batch(b); err != nil {
			t.Fatal(err)
		}
		if err := parts.Merge(q); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range []*Part{mixed, parts} {
		if r := p.Result(); r.Events != 3 || r.Kinds[0].Events != 3 || !reflect.DeepEqual(r.Locations, want) {
			t.Errorf("found %+v, expected 3 events, at the locations %+v", r, want)
		}
	}
}

func TestCounts(t *testing.T) {
	d := testtrace.Defs(3, 2, 0)
	own := trace.Declared + trace.Kind(d.Kinds.Add(trace.KindDef{Format: "x",
		KindSpec: trace.KindSpec{Name: "own", Ref: trace.RefRegion}}))
	batch := func(loc uint32, from int64) *trace.Batch {
		b := testtrace.PerLocation(d, []testtrace.Row{testtrace.Enter(loc, from, 1),
			{Loc: loc, Time: from + 1, Kind: own, Ref: trace.NoRef, Key: "k", Value: "v"}})[loc]
		b.Add(loc, from+2, trace.Send, trace.NoRef)
		b.MarkDerived()
		return b
	}
	p, q := New(d), New(d)
	if err := p.Batch(batch(0, -5)); err != nil {
		t.Fatal(err)
	}
	if err := q.Batch(batch(2, 7)); err != nil {
		t.Fatal(err)
	}
	if err := q.Links(make([]trace.Link, 3)); err != nil {
		t.Fatal(err)
	}
	if err := q.Merge(p); err != nil {
		t.Fatal(err)
	}
	want := &Result{Clock: d.Clock, Events: 4, Derived: 2, Links: 3, First: -5, Last: 9,
		Kinds:      []Kind{{trace.Enter, "enter", 2, 0}, {trace.Send, "send", 0, 2}, {own, "own", 2, 0}},
		Regions:    []Region{{trace.NoRef, "", "", 2}, {1, "1", "B", 2}},
		Locations:  []Location{{0, "0", "", 2, 1, -5, -3}, {2, "2", "", 2, 1, 7, 9}},
		Attributes: []Attribute{{0, "k", 2}}}
	if r := q.Result(); !reflect.DeepEqual(r, want) {
		t.Errorf("found    %+v\nexpected %+v", r, want)
	}
	if err := p.Batch(testtrace.Mixed(d, []testtrace.Row{testtrace.Enter(3, 0, 0)})); err == nil {
		t.Error("an event at an undefined location gave no error")
	}
}
