package collective

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// none stands for an unknown operand.
const none = trace.Undefined

// ownOperations returns a trace whose collective operations have numbers of its own, as OTF has: 3 is MPI_Bcast, 4 has
// an unknown name and the class of reductions, 6 is a barrier by name and not by class, and 7 has no class. The
// communicator 0 has the processes 5 and 7.
func ownOperations() *trace.Recorder {
	r := trace.NewRecorder(trace.TicksPerSecond(1))
	d := r.Defs()
	d.Conventions.OwnOperations = true
	add := func(id, name, class string) {
		x := trace.Named{ID: id, Name: name}
		if class != "" {
			x.Attrs = []trace.Attr{{Key: "type", Value: trace.StringValue(class)}}
		}
		d.Operations.Add(x)
	}
	add("3", "MPI_Bcast", "one-to-all")
	add("4", "mine", "all-to-one")
	add("6", "MPI_Barrier", "all-to-all")
	add("7", "MPI_Allreduce", "")
	for _, id := range []string{"5", "7"} {
		d.Locations.Add(trace.Location{ID: id, Kind: trace.ProcessLocation, Group: trace.NoRef})
	}
	set := d.Sets.Add(trace.Set{ID: "0", Kind: "locations", Members: []int64{5, 7}})
	d.Communicator.Add(trace.Communicator{ID: "0", Set: set})
	return r
}

// standard returns the operands that Standard returns for each event, and the losses.
func standard(r *trace.Recorder, plain bool) (list [][]uint64, losses []format.LossRow) {
	loss := &format.Loss{}
	calls := NewCalls(r.Defs(), loss, plain, nil)
	for _, b := range r.Batches(0) {
		c := b.Cursor()
		for c.Next() {
			list = append(list, slices.Clone(calls.Standard(&c)))
		}
	}
	return list, loss.Rows()
}

// TestOperations checks the numbers of operations in OTF2: 0 is a barrier, 1 a broadcast, 2 a gather, 11 an allreduce
// and 12 a reduce.
func TestOperations(t *testing.T) {
	const weftOnly, degraded = format.WeftOnly, format.Degraded
	for _, x := range []struct {
		own    uint64
		call   string
		want   uint64
		reason string // of the loss, if any
	}{
		{3, "", 1, ""},
		{3, "MPI_Reduce", 1, ""}, // the operation has a known name
		{4, "MPI_Reduce", 12, ""},
		{4, "MPI_Bcast", 2, "another operation of the same kind stands for it"}, // the call has another class
		{4, "main", 2, "another operation of the same kind stands for it"},
		{6, "", 0, "the operation of this name has another class"},
		{7, "MPI_Bcast", 11, ""},
		{9, "MPI_Allreduce", 11, ""}, // the trace does not define it, but the call does
		{9, "main", none, "the trace does not define it"},
	} {
		for _, plain := range []bool{false, true} {
			r := ownOperations()
			if x.call != "" {
				r.Event(0, 0, trace.Enter, r.Region(x.call), nil)
			}
			r.Event(0, 1, trace.Collective, trace.NoRef, []uint64{x.own, none, none, 8, 16, 5})
			list, losses := standard(r, plain)
			if got, want := list[len(list)-1], []uint64{x.want, none, none, 8, 16, 5}; !slices.Equal(got, want) {
				t.Errorf("%d in %q: found %d, expected %d", x.own, x.call, got, want)
			}
			var want []format.LossRow
			if x.reason != "" {
				how := weftOnly
				if plain && x.want == none {
					how = format.Lost
				} else if plain {
					how = degraded
				}
				want = []format.LossRow{{Kind: "collective", Field: "operation", How: how, Reason: x.reason, Count: 1}}
			}
			if !slices.Equal(losses, want) {
				t.Errorf("%d in %q: found the losses %v, expected %v", x.own, x.call, losses, want)
			}
		}
	}
}

// TestRoots checks that a root becomes its rank in the communicator. A loss counts for the end, which has the root in
// OTF2.
func TestRoots(t *testing.T) {
	for _, x := range []struct{ communicator, root, want uint64 }{
		{0, 5, 0}, {0, 7, 1}, {0, 9, none}, {0, none, none}, {1, 5, none},
	} {
		r := ownOperations()
		r.Event(0, 1, trace.CollectiveBegin, trace.NoRef, []uint64{3, x.communicator, x.root, 8, 16, 77})
		list, losses := standard(r, false)
		if got, want := list[0], []uint64{1, x.communicator, x.want, 8, 16, 77}; !slices.Equal(got, want) {
			t.Errorf("%+v: found %d, expected %d", x, got, want)
		}
		var want []format.LossRow
		if x.root != none && x.want == none {
			want = []format.LossRow{{Kind: "collective-end", Field: "root", How: format.WeftOnly,
				Reason: "the root is not a member of the communicator", Count: 1}}
		}
		if !slices.Equal(losses, want) {
			t.Errorf("%+v: found the losses %v, expected %v", x, losses, want)
		}
	}
}

// TestOtherRecords checks the operation and root of open operations in snapshots, and the operation of summaries. Other
// events, and operations with too few operands, stay as they are.
func TestOtherRecords(t *testing.T) {
	r := ownOperations()
	r.Event(0, 1, trace.CollectiveSnapshot, trace.NoRef, []uint64{3, 0, 7, 8, 16, 77, 0})
	r.Event(0, 1, trace.CollectiveSnapshot, trace.NoRef, []uint64{3, 0, none, 8, 16, 77, 0})
	r.Event(0, 1, trace.CollectiveSnapshot, trace.NoRef, []uint64{3})
	r.Event(0, 1, trace.CollectiveSummary, 0, []uint64{3, 1, 2, 8, 16})
	r.Event(0, 1, trace.CollectiveSummary, 0, nil)
	r.Event(0, 1, trace.CollectiveBegin, trace.NoRef, []uint64{3})
	r.Event(0, 1, trace.Send, trace.NoRef, []uint64{3, 0, 7, 8})
	list, losses := standard(r, false)
	want := [][]uint64{{1, 0, 1, 8, 16, 77, 0}, {1, 0, none, 8, 16, 77, 0}, {3}, {1, 1, 2, 8, 16}, nil, {3}, {3, 0, 7, 8}}
	if !slices.EqualFunc(list, want, slices.Equal[[]uint64]) || len(losses) > 0 {
		t.Errorf("found %d and the losses %v, expected %d and none", list, losses, want)
	}
	if NewCalls(&trace.Definitions{}, &format.Loss{}, false, nil) != nil {
		t.Error("found calls of a trace with the operations of OTF2, expected none")
	}
}

// TestEnds checks the order of the ends of operations with durations, and which of them are due.
func TestEnds(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1))
	a := r.Location("a")
	// The second and the third end together, and the last one at the greatest time.
	for i, x := range [][]uint64{{1, 20}, {2, 4}, {3, 3}, {4}, {5, 1}, {6, math.MaxInt64}, {7, math.MaxUint64},
		{8, math.MaxInt64 - 17}} {
		kind := trace.Collective
		if i == 4 {
			kind = trace.Send // no operation
		}
		r.Event(a, int64(10+i), kind, trace.NoRef, append([]uint64{x[0], 0, none, 8, 16}, x[1:]...))
	}
	var ends Ends
	var added []bool
	for _, b := range r.Batches(a) {
		c := b.Cursor()
		for c.Next() {
			added = append(added, ends.Add(&c, c.Ops()))
		}
	}
	if want := []bool{true, true, true, false, false, false, false, true}; !slices.Equal(added, want) {
		t.Errorf("added %t, expected %t", added, want)
	}
	type row struct {
		time      int64
		operation uint64
	}
	var got []row
	write := func(c *trace.Cursor) error {
		if c.Kind() != trace.CollectiveEnd || c.Location() != a || len(c.Ops()) != endOperands || c.Op(3) != 8 {
			t.Errorf("found a row of kind %v with %d", c.Kind(), c.Ops())
		}
		got = append(got, row{c.Time(), c.Op(0)})
		return nil
	}
	for _, until := range []int64{14, 15, 29, 30, math.MaxInt64} {
		due, before := ends.Due(until), len(got)
		if err := ends.Until(until, write); err != nil {
			t.Error(err)
		}
		if due != (len(got) > before) {
			t.Errorf("until %d: due %t, %d ends", until, due, len(got)-before)
		}
		if until == 14 && len(got) != 0 || until == 15 && len(got) != 2 || until == 29 && len(got) != 2 {
			t.Errorf("until %d: found %v", until, got)
		}
	}
	if want := []row{{15, 2}, {15, 3}, {30, 1}, {math.MaxInt64, 8}}; !slices.Equal(got, want) {
		t.Errorf("found %v, expected %v", got, want)
	}
	if ends.Due(math.MaxInt64) {
		t.Error("an end is due, expected none")
	}
}

// TestEndsFail checks that an error ends the writing.
func TestEndsFail(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1))
	r.Event(r.Location("a"), 1, trace.Send, trace.NoRef, nil)
	c := r.Batches(0)[0].Cursor()
	c.Next()
	var ends Ends
	for range 2 {
		ends.AddEvent(&c, 5, trace.FileOperationEnd, 3, []uint64{7})
	}
	bad, calls := errors.New("bad"), 0
	err := ends.Until(6, func(c *trace.Cursor) error {
		if calls++; c.Ref() != 3 || c.Time() != 6 {
			t.Errorf("found entry %d at %d, expected 3 at 6", c.Ref(), c.Time())
		}
		return bad
	})
	if !errors.Is(err, bad) || calls != 1 {
		t.Errorf("found %v after %d calls, expected the error after 1", err, calls)
	}
}

// TestEqualEnds checks that operations which end together keep the order of their begins.
func TestEqualEnds(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1))
	a := r.Location("a")
	for i := range uint64(20) {
		r.Event(a, int64(i), trace.Collective, trace.NoRef, []uint64{i, 0, none, 8, 16, 20 - i})
	}
	var ends Ends
	c := r.Batches(a)[0].Cursor()
	for c.Next() {
		ends.Add(&c, c.Ops())
	}
	next := uint64(0)
	if err := ends.Until(20, func(c *trace.Cursor) error {
		if c.Op(0) != next || c.Time() != 20 {
			t.Errorf("found operation %d at %d, expected %d at 20", c.Op(0), c.Time(), next)
		}
		next++
		return nil
	}); err != nil || next != 20 {
		t.Errorf("found %d ends and %v, expected 20", next, err)
	}
}
