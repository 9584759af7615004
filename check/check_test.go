package check

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/chunks"
	"github.com/weft-trace/weft/trace"
)

// row is an event of a test trace.
type row struct {
	loc uint32
	t   int64
	k   trace.Kind
	ref uint32
	ops []uint64
}

// The values of operands that the trace does not record.
const (
	none   = trace.Undefined
	anyTag = trace.Undefined
)

// definitions returns definitions of a trace of the format with the given name. It has four
// locations, the last one without events; two of the others share a group. It has two regions and a
// resource; a communicator of the first three locations, one with unknown members, one between unknown
// groups, and one between the third location and the first two.
func definitions(name string) *trace.Definitions {
	d := &trace.Definitions{Clock: trace.TicksPerSecond(1000), Format: name, Conventions: format.Conventions(name)}
	for i, group := range []uint32{trace.NoRef, 0, 0, trace.NoRef} {
		d.Locations.Add(trace.Location{ID: fmt.Sprint(i + 10), Group: group})
	}
	d.Groups.Add(trace.LocationGroup{ID: "g", Parent: trace.NoRef})
	d.Regions.Add(trace.Region{Name: "a"})
	d.Regions.Add(trace.Region{Name: "b"})
	d.Resources.Add(trace.Resource{ID: "r", Capacity: 9})
	mpi := []trace.Attr{{Key: "paradigm", Value: trace.StringValue("MPI")}}
	d.Sets.Add(trace.Set{ID: "0", Kind: "communicating locations", Members: []int64{12, 10, 11, 13}, Attrs: mpi})
	d.Sets.Add(trace.Set{ID: "1", Kind: "ranks", Members: []int64{0, 1, 2}, Attrs: mpi})
	d.Communicator.Add(trace.Communicator{ID: "c0", Set: 1, Parent: trace.NoRef})
	d.Communicator.Add(trace.Communicator{ID: "c1", Set: trace.NoRef, Parent: trace.NoRef})
	d.Communicator.Add(trace.Communicator{ID: "c2", Set: trace.NoRef, Parent: trace.NoRef,
		Attrs: []trace.Attr{{Key: "other", Value: trace.StringValue("1")}}})
	first := d.Sets.Add(trace.Set{ID: "2", Kind: "ranks", Members: []int64{0}, Attrs: mpi})
	other := d.Sets.Add(trace.Set{ID: "3", Kind: "ranks", Members: []int64{1, 2}, Attrs: mpi})
	d.Communicator.Add(trace.Communicator{ID: "c3", Set: first, Parent: trace.NoRef,
		Attrs: []trace.Attr{{Key: trace.OtherGroupAttribute, Value: trace.Value{Type: trace.GroupRef, Num: uint64(other)}}}})
	return d
}

// at sets the location of rows.
func at(loc uint32, rows ...row) (out []row) {
	for i := range rows {
		rows[i].loc = loc
	}
	return rows
}

// enter returns an enter at location 0.
func enter(t int64, region uint32) row { return row{0, t, trace.Enter, region, nil} }

// leave returns a leave at location 0.
func leave(t int64, region uint32) row { return row{0, t, trace.Leave, region, nil} }

// send returns the send of a message.
func send(from uint32, t int64, to, comm, tag, length uint64) row {
	return row{from, t, trace.Send, trace.NoRef, []uint64{to, comm, tag, length}}
}

// recv returns the receive of a message.
func recv(at uint32, t int64, from, comm, tag, length uint64) row {
	return row{at, t, trace.Recv, trace.NoRef, []uint64{from, comm, tag, length}}
}

// event returns an event of any kind that refers to no definition.
func event(loc uint32, t int64, k trace.Kind, ops ...uint64) row {
	return row{loc, t, k, trace.NoRef, ops}
}

// collectiveRows returns the rows of a blocking collective operation of the given locations, as OTF2
// records it.
func collectiveRows(t int64, op, comm, root uint64, locs ...uint32) (out []row) {
	for _, l := range locs {
		out = append(out, event(l, t, trace.CollectiveBegin), event(l, t+1, trace.CollectiveEnd, op, comm, root, 1, 1))
	}
	return out
}

// join returns the rows of all lists.
func join(l ...[]row) []row { return slices.Concat(l...) }

// visits returns n visits of region 0 at a location, each of one tick, two ticks apart.
func visits(loc uint32, from int64, n int) (out []row) {
	for i := range int64(n) {
		out = append(out, row{loc, from + 2*i, trace.Enter, 0, nil}, row{loc, from + 2*i + 1, trace.Leave, 0, nil})
	}
	return out
}

// deliver passes the rows to a checker, location by location in the given order. Without an order it
// passes them in one batch in time order.
func deliver(c *Checker, rows []row, order []uint32) error {
	if order == nil {
		rows = slices.Clone(rows)
		slices.SortStableFunc(rows, func(a, b row) int { return int(a.t - b.t) })
		b := &trace.Batch{Loc: trace.MixedLoc}
		for _, x := range rows {
			add(b, x)
		}
		return c.Batch(b)
	}
	for _, loc := range order {
		b := &trace.Batch{Loc: loc}
		for _, x := range rows {
			if x.loc == loc {
				add(b, x)
			}
		}
		if err := c.Batch(b); err != nil {
			return err
		}
	}
	return nil
}

// add appends a row to a batch.
func add(b *trace.Batch, x row) {
	b.Add(x.loc, x.t, x.k, x.ref)
	if x.ops != nil {
		b.AddOps(x.ops...)
	}
}

// ruleCase is a trace that breaks rules.
type ruleCase struct {
	rules string // broken rules with their counts
	found string // part of Found in the first defect of the rules
	rows  []row
}

// visitCases are traces with defects of visits, claims and definitions, and without any.
var visitCases = []ruleCase{
	{"", "", at(0, enter(0, 0), enter(1, 1), leave(2, 1), leave(2, 0))},
	{"", "", []row{{0, 3, trace.ClaimBegin, 0, []uint64{5, 0}}, {0, 4, trace.ClaimEnd, 0, []uint64{5, 0}}}},
	{"trace.leave-without-enter 1", "leave of a at 0.002 s", at(0, enter(0, 0), leave(1, 0), leave(2, 0))},
	{"trace.enter-without-leave 1", "enter of a at 0 s", at(0, enter(0, 0), enter(1, 1), leave(2, 1))},
	{"trace.leave-not-innermost 1", "leave of a at 0.002 s",
		at(0, enter(0, 0), enter(1, 1), leave(2, 0), leave(2, 1))},
	{"trace.claim-end-without-begin 1", "claim 5", []row{{0, 0, trace.ClaimEnd, 0, []uint64{5}}}},
	{"trace.claim-without-end 1", "claim 5", []row{{0, 0, trace.ClaimBegin, 0, []uint64{5}}}},
	{"trace.undefined-reference 1", "claim-begin at 0 s with resource number 1",
		[]row{{0, 0, trace.ClaimBegin, 0, []uint64{5, 1}}, {0, 1, trace.ClaimEnd, 0, []uint64{5}}}},
	{"trace.undefined-reference 1", "enter at 0 s with region number 2", at(0, enter(0, 2), leave(0, 2))},
	{"trace.unknown-kind 1", "kind 1024", []row{event(0, 1, trace.Declared)}},
	{"trace.unknown-kind 1", "kind 900", []row{event(0, 1, 900)}},
}

// messageCases are traces with defects of messages, and without any.
var messageCases = []ruleCase{
	// Messages match first in, first out, by tag and communicator; -1 matches any tag.
	{"", "", []row{send(0, 1, 1, 0, 7, 8), send(0, 2, 1, 0, 7, 9), send(0, 3, 1, 1, 7, 3), recv(1, 5, 0, 0, 7, 8),
		recv(1, 6, 0, 0, 7, 9), recv(1, 7, 0, 1, 7, 3)}},
	{"", "", []row{send(0, 1, 1, 0, 7, 8), send(0, 2, 1, 0, 8, 9), recv(1, 5, 0, 0, anyTag, 8),
		recv(1, 6, 0, 0, anyTag, 9)}},
	{"", "", []row{send(0, 1, 1, 0, anyTag, 8), send(0, 2, 1, 0, 5, 9), recv(1, 5, 0, 0, 6, 8), recv(1, 6, 0, 0, 5, 9)}},
	{"", "", []row{send(0, 1, 1, 0, 7, 8), recv(1, 5, 0, 0, 7, none)}}, // unknown length
	{"", "", []row{send(0, 1, 3, 0, 7, 8), recv(0, 1, 3, 0, 7, 8)}},    // the receiver has no events
	{"", "", []row{send(0, 1, none, 0, 7, 8)}},
	{"trace.send-without-receive 2", "a send to location 11 with tag 7 at 0.002 s",
		[]row{event(1, 0, trace.ProcessBegin), send(0, 1, 1, 0, 7, 8), send(0, 2, 1, 0, 7, 8), send(0, 3, 1, 0, 7, 8),
			recv(1, 5, 0, 0, 7, 8)}},
	{"trace.receive-without-send 1,trace.send-without-receive 1", "a receive from location 10 with tag 8",
		[]row{send(0, 1, 1, 0, 7, 8), recv(1, 5, 0, 0, 8, 8)}},
	{"trace.receive-without-send 1,trace.send-without-receive 1", "",
		[]row{send(0, 1, 1, 0, 7, 8), recv(1, 5, 0, 1, 7, 8)}},
	{"trace.message-size 1", "a receive of 9 bytes at 0.005 s", []row{send(0, 1, 1, 0, 7, 8), recv(1, 5, 0, 0, 7, 9)}},
	// Both locations are of one group, and so have one clock.
	{"trace.receive-before-send 1", "a receive from location 11 at 0.001 s",
		[]row{send(1, 2, 2, 0, 7, 8), recv(2, 1, 1, 0, 7, 8)}},
	{"trace.clock-skew 2", "2 of 3 messages between location group g and location 10 received before they were sent, " +
		"by up to 0.008 s, the first at 0.001 s",
		[]row{send(0, 9, 1, 0, 7, 8), recv(1, 1, 0, 0, 7, 8), send(0, 10, 2, 0, 7, 8), recv(2, 9, 0, 0, 7, 8),
			send(2, 10, 0, 0, 7, 8), recv(0, 15, 2, 0, 7, 8)}},
}

// requestCases are traces with defects of requests and locks, and without any.
var requestCases = []ruleCase{
	// Requests.
	{"", "", []row{event(0, 1, trace.SendBegin, none, none, 0, 0, 4), event(0, 2, trace.RequestTest, 4),
		event(0, 3, trace.SendComplete, 4), event(0, 4, trace.RecvBegin, 4), event(0, 5, trace.RequestCancelled, 4),
		event(0, 6, trace.CollectiveRequest, 4), event(0, 7, trace.CollectiveComplete, 1, 1, none, 0, 0, 4)}},
	// The receive that is posted first gets the message that is sent first, although it completes last.
	{"", "", []row{send(0, 1, 1, 0, 7, 8), send(0, 2, 1, 0, 7, 16), event(1, 1, trace.RecvBegin, 4),
		event(1, 2, trace.RecvBegin, 5), event(1, 3, trace.RecvComplete, 0, 0, 7, 16, 5),
		event(1, 4, trace.RecvComplete, 0, 0, 7, 8, 4)}},
	// A cancelled receive gets no message.
	{"", "", []row{send(0, 1, 1, 0, 7, 8), send(0, 2, 1, 0, 7, 16), event(1, 1, trace.RecvBegin, 4),
		event(1, 2, trace.RecvBegin, 5), recv(1, 3, 0, 0, 7, 16), event(1, 4, trace.RequestCancelled, 4),
		event(1, 4, trace.RecvComplete, 0, 0, 7, 8, 5)}},
	// Nothing receives a cancelled send.
	{"", "", []row{event(0, 1, trace.SendBegin, 1, 0, 7, 16, 4), event(0, 2, trace.RequestCancelled, 4),
		send(0, 3, 1, 0, 7, 8), recv(1, 5, 0, 0, 7, 8)}},
	{"trace.request-without-begin 2", "send-complete of request 4 at 0.003 s",
		[]row{event(0, 3, trace.SendComplete, 4), event(0, 4, trace.RequestTest, 4)}},
	{"trace.request-without-end 2", "request 4 posted at 0.003 s",
		[]row{event(0, 3, trace.RecvBegin, 4), event(0, 4, trace.RecvBegin, 4)}},

	// Locks need not nest, and a location can acquire a lock again.
	{"", "", []row{event(0, 1, trace.LockAcquire, 5, 1, 3), event(0, 2, trace.LockAcquire, 6, 1, 3),
		event(0, 3, trace.LockAcquire, 5, 2, 3), event(0, 4, trace.LockRelease, 5, 2, 3),
		event(0, 4, trace.LockRelease, 5, 1, 3),
		event(0, 5, trace.LockRelease, 6, 1, 3)}},
	{"trace.lock-release-without-acquire 1", "release of lock 5 with order 1 at 0.002 s",
		[]row{event(0, 2, trace.LockRelease, 5, 1, 3)}},
	{"trace.lock-without-release 1", "acquisition of lock 5 with order 1 at 0.002 s",
		[]row{event(0, 2, trace.LockAcquire, 5, 1, 3)}},
}

// collectiveCases are traces with defects of collective operations, and without any.
var collectiveCases = []ruleCase{
	// Collective operations.
	{"", "", join(collectiveRows(1, 3, 0, 1, 0, 1, 2), collectiveRows(5, 4, 0, none, 0, 1, 2),
		collectiveRows(9, 4, 1, none, 1, 2))},
	// An operation between two groups, which record different roots.
	{"", "", join(collectiveRows(1, 3, 2, 1, 0), collectiveRows(1, 3, 2, 9, 1))},
	{"", "", collectiveRows(1, 0, 3, none, 0, 1, 2)}, // both groups are members
	{"trace.collective-membership 1", "0 collective operations on communicator c3",
		join(collectiveRows(1, 3, 3, none, 2, 0), []row{event(1, 1, trace.ProcessBegin)})},
	{"trace.collective-membership 1", "collective operations on communicator c3",
		collectiveRows(1, 3, 3, none, 0, 1, 2, 3)},
	{"", "", []row{event(0, 1, trace.CollectiveBegin, 1, 1, 0, 0, 0, 77),
		event(0, 1, trace.CollectiveBegin, 2, 1, 0, 0, 0, 78), event(0, 2, trace.CollectiveEnd, none, none, none, 0, 0, 77),
		event(0, 3, trace.CollectiveEnd, none, none, none, 0, 0, 78)}},
	{"", "", []row{event(0, 1, trace.Collective, 1, 1, 0, 0, 0, 5), event(1, 1, trace.Collective, 1, 1, 0, 0, 0, 5)}},
	{"trace.collective-open 1", "a collective operation from 0.001 s", []row{event(0, 1, trace.CollectiveBegin)}},
	{"trace.collective-open 1", "the end of a collective operation at 0.001 s",
		[]row{event(0, 1, trace.CollectiveEnd, 1, 1, 0, 0, 0)}},
	{"trace.collective-membership 1", "operation 4 as number 2 on communicator c0",
		join(collectiveRows(1, 3, 0, 1, 0, 1, 2), collectiveRows(5, 5, 0, none, 1, 2), collectiveRows(5, 4, 0, none, 0))},
	{"trace.collective-membership 1", "operation 3 with root 2 as number 1",
		join(collectiveRows(1, 3, 0, 1, 0, 1), collectiveRows(1, 3, 0, 2, 2))},
	{"trace.collective-membership 1", "1 collective operation on communicator c0",
		join(collectiveRows(1, 3, 0, 1, 0, 1, 2), collectiveRows(5, 5, 0, none, 0, 1))},
	{"trace.collective-membership 1", "0 collective operations on communicator c0",
		join(collectiveRows(1, 3, 0, 1, 0, 1), []row{event(2, 1, trace.ProcessBegin)})},
	{"trace.collective-membership 1", "collective operations on communicator c0", collectiveRows(1, 3, 0, 1, 0, 1, 2, 3)},
	{"trace.collective-membership 1", "1 collective operation on communicator c1", []row{
		event(0, 6, trace.CollectiveRequest, 4), event(0, 7, trace.CollectiveComplete, 1, 1, none, 0, 0, 4),
		event(0, 8, trace.CollectiveRequest, 4), event(0, 9, trace.CollectiveComplete, 1, 1, none, 0, 0, 4),
		event(1, 6, trace.CollectiveRequest, 4), event(1, 7, trace.CollectiveComplete, 1, 1, none, 0, 0, 4)}},

	{"trace.collective-early 1", "1 of 2 operations on communicator c0 left before all had come, by up to 0.004 s, " +
		"the first at 0.002 s", join(collectiveRows(1, 0, 0, none, 0, 2), collectiveRows(6, 0, 0, none, 1),
		collectiveRows(9, 11, 0, none, 0, 1, 2))},
	{"trace.collective-early 2", "2 of 2 operations on communicator c0 left before all had come, by up to 0.009 s, " +
		"the first at 0.002 s", join(collectiveRows(1, 0, 0, none, 0, 2), collectiveRows(6, 0, 0, none, 1),
		collectiveRows(9, 11, 0, none, 0, 2),
		collectiveRows(19, 11, 0, none, 1))},
	// The root of a broadcast waits for no member.
	{"", "", join(collectiveRows(1, 1, 0, 1, 0), collectiveRows(5, 1, 0, 1, 1, 2))},
	{"trace.collective-early 1", "the first at 0.002 s",
		[]row{event(0, 1, trace.CollectiveBegin, 0, 1, none, 0, 0, 77),
			event(0, 2, trace.CollectiveEnd, none, none, none, 0, 0, 77),
			event(1, 3, trace.CollectiveBegin, 0, 1, none, 0, 0, 77),
			event(1, 4, trace.CollectiveEnd, none, none, none, 0, 0, 77)}},
	{"trace.collective-early 1", "by up to 0.001 s, the first at 0.003 s",
		[]row{event(0, 1, trace.Collective, 0, 1, none, 0, 0, 2), event(1, 4, trace.Collective, 0, 1, none, 0, 0, 2)}},
}

// timeCases are traces with defects of times, and without any.
var timeCases = []ruleCase{
	// Times.
	{"", "", join(visits(0, 0, 20), visits(1, 1000_000, 20))}, // the other location has another epoch
	{"", "", join(visits(0, 0, 20), visits(0, 38<<20, 1))},
	{"trace.absurd-delta 1", "an event at 45092.996 s",
		join(visits(0, 0, 20), visits(1, 10, 4), visits(1, 43<<20+4228, 1))},
	{"trace.absurd-delta 1", "an event at -52428.799 s",
		join(visits(0, 0, 20), visits(1, -50<<20, 1), visits(1, 10, 20))},
}

// TestRules checks the defects of traces that break each rule, and of traces without defects. They
// must be the same for each order of locations, and for merged checkers of one location each.
func TestRules(t *testing.T) {
	tested := map[string]bool{}
	for i, x := range slices.Concat(visitCases, messageCases, requestCases, collectiveCases, timeCases) {
		name := fmt.Sprintf("%d: %s", i, x.rules)
		var first *format.Report
		for n, order := range [][]uint32{{0, 1, 2, 3}, {3, 2, 1, 0}, {1, 3, 0, 2}, nil, nil} {
			merged := n == 4
			rep := format.NewReport()
			c := New(definitions("otf2"), "x", &format.ReadOptions{Report: rep})
			if merged {
				for loc := range uint32(4) { // one checker per location
					part := New(c.defs, "x", c.opt)
					if err := deliver(part, x.rows, []uint32{loc}); err != nil {
						t.Fatal(err)
					}
					if err := c.Merge(part); err != nil {
						t.Fatal(err)
					}
				}
			} else if err := deliver(c, x.rows, order); err != nil {
				t.Fatal(err)
			}
			if err := c.Finish(context.Background()); err != nil {
				t.Fatal(err)
			}
			var found []string
			for _, r := range rep.Rules() {
				found = append(found, fmt.Sprintf("%s %d", r.Rule, r.Count))
				tested[r.Rule] = true
				if r.Severity != severity(r.Rule) || r.First[0].Expected == "" {
					t.Errorf("%s: %v", name, r.First[0])
				}
				for _, d := range r.First {
					if err := checkPlace(d); err != nil {
						t.Errorf("%s: %v", name, err)
					}
				}
			}
			if slices.Sort(found); strings.Join(found, ",") != x.rules {
				t.Errorf("%s: found %v in order %v", name, rep.Rules(), order)
				continue
			}
			if first == nil {
				first = rep
				if x.rules != "" && !slices.ContainsFunc(rep.Rules(),
					func(r format.RuleCount) bool { return strings.Contains(r.First[0].Found, x.found) }) {
					t.Errorf("%s: found %v", name, rep.Rules())
				}
			} else if !reflect.DeepEqual(rep.Rules(), first.Rules()) {
				t.Errorf("%s: found %v in order %v, and %v", name, rep.Rules(), order, first.Rules())
			}
		}
		c := New(definitions("otf2"), "x", &format.ReadOptions{Strict: true})
		err := deliver(c, x.rows, []uint32{0, 1, 2, 3})
		if err == nil {
			err = c.Finish(context.Background())
		}
		if (err != nil) != (x.rules != "") {
			t.Errorf("%s: strict checking: %v", name, err)
		}
	}
	// Only a batch of one location can break trace.time-order, since the mixed batch above is
	// sorted by time.
	rep := format.NewReport()
	c := New(definitions("otf2"), "x", &format.ReadOptions{Report: rep})
	if err := deliver(c, at(0, enter(5, 0), leave(4, 0)), []uint32{0}); err != nil {
		t.Fatal(err)
	}
	if l := rep.Rules(); len(l) != 1 || l[0].Rule != "trace.time-order" || l[0].Severity != trace.Error {
		t.Errorf("found %v", l)
	}
	tested["trace.time-order"] = true
	for text, want := range map[string]string{
		"a.otf2:0x2: found 1, expected 2": "a.otf2:0x2: error: trace.unreadable: found 1, expected 2",
		"a.otf2:3: found 1, expected 2":   "a.otf2:3: error: trace.unreadable: found 1, expected 2",
		"a.otf2: x: found 1, expected 2":  "a.otf2: error: trace.unreadable: x: found 1, expected 2",
		"b.def:0x2: found 1, expected 2":  "a.otf2: error: trace.unreadable: b.def:0x2: found 1, expected 2",
		"a.otf2: no end":                  "a.otf2: error: trace.unreadable: found no end, expected the beginning of a trace",
	} {
		if got := Unreadable("a.otf2", errors.New(text)).Error(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	tested["trace.unreadable"] = true
	const want = "a.etf.gz: error: trace.compression: found damaged data of gzip (unexpected EOF), expected complete " +
		"data; weft reads the 1 byte before the damage"
	if got := DamagedCompression("a.etf.gz", "gzip", 1, io.ErrUnexpectedEOF).Error(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	tested["trace.compression"] = true
	for _, r := range Rules() {
		if !tested[r.ID] {
			t.Errorf("no test of rule %s", r.ID)
		}
	}
}

// checkPlace checks that the location and time of a defect agree with those in its text.
func checkPlace(d *trace.Defect) error {
	e := d.Event
	if text := fmt.Sprintf("location %d", e.Location+10); e.HasLocation != (d.Record != "") ||
		e.HasLocation && d.Record != text {
		return fmt.Errorf("%v: found location %+v", d, e)
	}
	timed := d.Rule != "trace.collective-membership"
	text := trace.TicksPerSecond(1000).FormatSeconds(e.Time) + " s"
	if d.Rule == "trace.claim-end-without-begin" {
		text = "end of claim" // this text has no time
	}
	if e.HasTime != timed || timed && !strings.Contains(d.Found, text) {
		return fmt.Errorf("%v: found time %+v", d, e)
	}
	return nil
}

// TestRecorder checks that a report of an operation without completion names the recorder if it is
// one that writes no completions.
func TestRecorder(t *testing.T) {
	rows := []row{event(1, 1, trace.RecvBegin, 4), send(0, 2, 1, 0, 7, 8)}
	for region, want := range map[string][]string{
		"EZTrace finalize": {"its completion before the request is posted again or the trace ends; EZTrace writes no " +
			"completion of non-blocking operations",
			"a receive to match; EZTrace writes no completion of non-blocking receives"},
		"finalize": {"its completion before the request is posted again or the trace ends", "a receive to match"},
	} {
		d := definitions("otf2")
		d.Regions.Add(trace.Region{Name: region})
		rep := format.NewReport()
		c := New(d, "x", &format.ReadOptions{Report: rep})
		if err := deliver(c, rows, []uint32{0, 1}); err != nil {
			t.Fatal(err)
		}
		if err := c.Finish(context.Background()); err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, r := range rep.Rules() {
			found = append(found, r.First[0].Expected)
		}
		if !slices.Equal(found, want) {
			t.Errorf("%s: found %q, expected %q", region, found, want)
		}
	}
}

// TestNesting checks that regions that do not nest are no defect in a format that does not require
// nesting.
func TestNesting(t *testing.T) {
	for name, want := range map[string]int{"otf": 1, "pallas": 1, "picl": 0, "etf": 0} {
		rep := format.NewReport()
		c := New(definitions(name), "x", &format.ReadOptions{Report: rep})
		if err := deliver(c, at(0, enter(0, 0), enter(1, 1), leave(2, 0), leave(2, 1)), []uint32{0}); err != nil {
			t.Fatal(err)
		}
		if n := len(rep.Rules()); n != want {
			t.Errorf("%s: %v", name, rep.Rules())
		}
	}
}

// TestWaiting checks that the memory for message ends grows with the messages in transit, and not
// with all messages.
func TestWaiting(t *testing.T) {
	var rows []row
	for i := range int64(10_000) {
		rows = append(rows, send(0, 2*i, 1, 0, uint64(i%3), 8))
		if i >= 101 {
			rows = append(rows, recv(1, 2*i+1, 0, 0, uint64((i+1)%3), 8)) // the tag of the end that is 101 messages ago
		}
	}
	c := New(definitions("otf2"), "x", &format.ReadOptions{})
	c.store = chunks.New(1)
	defer c.store.Close()
	if err := deliver(c, rows, nil); err != nil {
		t.Fatal(err)
	}
	p := &pairing{channel: channel{0, 1, 0}}
	for side := range p.readers {
		p.readers[side].store = c.store
	}
	l := c.lanes[p.channel]
	if n := len(l[sends].buf) + len(l[receives].buf); n > 2*endsPerChunk || l[sends].more == nil {
		t.Errorf("%d bytes of ends are not stored", n)
	}
	if err := c.pairChannel(p, l); err != nil {
		t.Fatal(err)
	}
	left := int64(0)
	for tag, q := range p.waiting[sends].queues {
		if left += int64(len(q.list)-q.head) + q.more; cap(q.list) > 1000 {
			t.Errorf("tag %d: room for %d ends", tag, cap(q.list))
		}
	}
	if left != 101 || p.waiting[receives].count != 0 || p.skew.messages != 9899 {
		t.Errorf("%d sends and %d receives wait after %d messages", left, p.waiting[receives].count, p.skew.messages)
	}
}

// TestPackedEnds checks that any ends come back as they were added, from memory and from a file.
func TestPackedEnds(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, limit := range []int64{0, 1 << 20} {
		store := chunks.New(limit)
		defer store.Close()
		var p packedEnds
		var list []end
		for range 10_000 {
			e := end{time: random.Int64(), length: int64(random.Uint64()), pos: random.Int64N(100), tag: random.Int64N(3) - 1}
			if random.IntN(2) == 0 { // small steps
				e = end{p.last.time + random.Int64N(200) - 100, p.last.length, p.last.pos + 1, p.last.tag}
			}
			list = append(list, e)
			if err := p.add(store, e); err != nil {
				t.Fatal(err)
			}
		}
		r := endReader{store: store}
		err := r.start(&p)
		for i := 0; err == nil && !r.done; i++ {
			if r.end != list[i] {
				t.Fatalf("end %d: found %+v, expected %+v", i, r.end, list[i])
			}
			if i == len(list)-1 {
				list = nil
			}
			err = r.advance()
		}
		if err != nil || list != nil {
			t.Fatalf("%v; %d ends not read", err, len(list))
		}
	}
}
