package rma

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weft-trace/weft/analysis/internal/testtrace"
	"github.com/weft-trace/weft/trace"
)

// lines formats each kind of transfer as "origin-target operation count/bytes completed(sum min max)".
// The last line has the number of all transfers and bytes.
func lines(r *Result) string {
	var b strings.Builder
	for _, t := range r.Transfers {
		fmt.Fprintf(&b, "%d-%d %s %d/%d %d(%d %d %d) ", t.Origin, int32(t.Target), t.Operation, t.Count, t.Bytes, t.Completed,
			t.Sum, t.Min, t.Max)
	}
	return fmt.Sprintf("%s%d/%d", b.String(), r.Count, r.Bytes)
}

// TestTransfers checks cases that were counted by hand, with one part and with one part per
// location, merged.
func TestTransfers(t *testing.T) {
	const none = trace.Undefined
	in := func(window, loc uint32, at int64, k trace.Kind, ops ...uint64) testtrace.Row {
		return testtrace.Row{Loc: loc, Time: at, Kind: k, Ref: window, Ops: ops}
	}
	otf := func(loc uint32, at int64, k trace.Kind, ops ...uint64) testtrace.Row {
		return in(trace.NoRef, loc, at, k, ops...)
	}
	for _, test := range []struct {
		what   string
		window *trace.Window
		rows   []testtrace.Row
		want   string
	}{
		{"the window and the number tell which one ends", nil, []testtrace.Row{
			in(0, 0, 10, trace.RMAPut, 1, 100, 7), in(1, 0, 20, trace.RMAPut, 1, 200, 7),
			in(1, 0, 25, trace.RMACompleteNonBlocking, 7), in(0, 0, 40, trace.RMACompleteBlocking, 7),
			in(0, 0, 50, trace.RMACompleteRemote, 7),
		}, "0-1 put 2/300 2(35 5 30) 2/300"},
		{"the communicator and the tag", nil, []testtrace.Row{
			otf(0, 10, trace.RMAGet, 1, 100, none, 0, 5, none), otf(0, 12, trace.RMAGet, 1, 10, none, 1, 5, none),
			otf(0, 15, trace.RMAEnd, none, 1, 5), otf(1, 16, trace.RMAEnd, none, 0, 5),
		}, "0-1 get 2/110 1(3 3 3) 2/110"},
		{"an end at the target", nil, []testtrace.Row{
			otf(0, 10, trace.RMAPut, 1, 100, none, 0, 5, none), otf(0, 12, trace.RMAPutRemoteEnd, 1, 10, none, 0, 5, none),
			otf(1, 14, trace.RMAEnd, none, 0, 5), otf(0, 15, trace.RMAEnd, none, 0, 5),
			otf(0, 16, trace.RMAEnd, none, none, 0),
		}, "0-1 put 2/110 1(5 5 5) 2/110"},
		{"a number that is used again", nil, []testtrace.Row{
			in(0, 0, 10, trace.RMAAtomic, 1, 0, 8, 4, 7), in(0, 0, 20, trace.RMAAtomic, 1, 0, 8, none, 7),
			in(0, 0, 21, trace.RMACompleteBlocking, 7),
		}, "0-1 atomic 2/20 1(1 1 1) 2/20"},
		{"nobody known, no number", nil, []testtrace.Row{
			in(0, 1, 10, trace.RMAPut, none, none, none), in(0, 1, 20, trace.RMACompleteBlocking, none),
		}, "1--1 put 1/0 0(0 0 0) 1/0"},
		{"a location that the trace does not have", nil, []testtrace.Row{
			in(0, 0, 10, trace.RMAPut, 2, 3, 1), in(0, 0, 12, trace.RMACompleteBlocking, 1),
		}, "0--1 put 1/3 1(2 2 2) 1/3"},
		{"a window counts what begins in it", &trace.Window{From: 10, To: 20}, []testtrace.Row{
			in(0, 0, 9, trace.RMAPut, 1, 1, 1), in(0, 0, 10, trace.RMAPut, 1, 2, 2), in(0, 0, 19, trace.RMAPut, 1, 4, 3),
			in(0, 0, 20, trace.RMAPut, 1, 8, 4),
			in(0, 0, 30, trace.RMACompleteBlocking, 1), in(0, 0, 30, trace.RMACompleteBlocking, 2),
			in(0, 0, 40, trace.RMACompleteBlocking, 3), in(0, 0, 40, trace.RMACompleteBlocking, 4),
		}, "0-1 put 2/6 2(41 20 21) 2/6"},
	} {
		d := testtrace.Defs(2, 0, 0)
		whole, merged := New(d, Options{Window: test.window}), New(d, Options{Window: test.window})
		if err := whole.Batch(testtrace.Mixed(d, test.rows)); err != nil {
			t.Fatal(err)
		}
		for loc := range uint32(2) {
			part := New(d, Options{Window: test.window})
			var own []testtrace.Row
			for _, r := range test.rows {
				if r.Loc == loc {
					own = append(own, r)
				}
			}
			if err := part.Batch(testtrace.Mixed(d, own)); err != nil {
				t.Fatal(err)
			}
			if err := merged.Merge(part); err != nil {
				t.Fatal(err)
			}
		}
		for _, p := range []*Part{whole, merged} {
			if got := lines(p.Result()); got != test.want {
				t.Errorf("%s: found %s, expected %s", test.what, got, test.want)
			}
		}
	}
}

// TestComplete checks that a part is complete while no transfer is open that began in its window.
func TestComplete(t *testing.T) {
	d := testtrace.Defs(1, 0, 0)
	p := New(d, Options{Window: &trace.Window{From: 10, To: 20}})
	for _, x := range []struct {
		time     int64
		kind     trace.Kind
		ops      []uint64
		complete bool
	}{{5, trace.RMAPut, []uint64{0, 8, 1}, true}, {10, trace.RMAPut, []uint64{0, 8, 2}, false},
		{11, trace.RMACompleteBlocking, []uint64{1}, false}, {25, trace.RMACompleteBlocking, []uint64{2}, true}} {
		err := p.Batch(testtrace.Mixed(d, []testtrace.Row{{Time: x.time, Kind: x.kind, Ops: x.ops}}))
		if err != nil || p.Complete() != x.complete {
			t.Errorf("at %d: found %v, %v, expected %v", x.time, p.Complete(), err, x.complete)
		}
	}
}

// TestMergeErrors checks that parts of other traces, of other windows and of the same location are refused.
func TestMergeErrors(t *testing.T) {
	d := testtrace.Defs(2, 0, 0)
	part := func(d *trace.Definitions, w *trace.Window) *Part {
		p := New(d, Options{Window: w})
		err := p.Batch(testtrace.Mixed(d, []testtrace.Row{{Time: 1, Kind: trace.RMAPut, Ops: []uint64{1, 8, 1}}}))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for what, other := range map[string]*Part{"another trace": part(testtrace.Defs(2, 0, 0), nil),
		"another window": part(d, &trace.Window{From: 0, To: 2}), "the same location": part(d, nil)} {
		if err := part(d, nil).Merge(other); err == nil {
			t.Errorf("merged a part of %s", what)
		}
	}
}
