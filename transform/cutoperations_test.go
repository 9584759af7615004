package transform_test

import (
	"reflect"
	"slices"
	"strconv"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/transform"
)

// TestCutOperations checks which collective operations a piece repeats. Before the piece, which begins at 30, a has
// ended the operations 1 to 3, b has ended 1 and 2, and c has ended 1. c ends the operations 2 and 3 in the piece, and
// b ends operation 3. d ends none of them. So a repeats 2 and 3, and b repeats 2.
func TestCutOperations(t *testing.T) {
	t.Run("blocking", func(t *testing.T) {
		checkCutOperations(t, trace.CollectiveBegin, trace.CollectiveEnd, trace.NoRef, nil, trace.Undefined)
	})
	t.Run("communicator of begins", func(t *testing.T) { // as in OTF, whose ends have only the number of the operation
		checkCutOperations(t, trace.CollectiveBegin, trace.CollectiveEnd, trace.NoRef, []uint64{3, 0}, trace.Undefined)
	})
	t.Run("non-blocking", func(t *testing.T) {
		checkCutOperations(t, trace.CollectiveRequest, trace.CollectiveComplete, trace.NoRef, []uint64{7}, 7)
	})
	t.Run("window", func(t *testing.T) {
		checkCutOperations(t, trace.RMACollectiveBegin, trace.RMACollectiveEnd, 0, nil, trace.Undefined)
	})
}

// checkCutOperations checks the operations for the kinds of their begins and ends. window is the reference of ends,
// beginOps are the operands of begins, and id is the last operand of ends. If begins have the communicator, ends lack
// it.
func checkCutOperations(t *testing.T, beginKind, endKind trace.Kind, window uint32, beginOps []uint64, id uint64) {
	t.Helper()
	r := trace.NewRecorder(trace.TicksPerSecond(1))
	a, b, c, d := r.Location("a"), r.Location("b"), r.Location("c"), r.Location("d")
	defs := r.Defs()
	set := defs.Sets.Add(trace.Set{ID: "0", Kind: "communicating locations",
		Members: []int64{int64(a), int64(b), int64(c), int64(d)}})
	comm := uint64(defs.Communicator.Add(trace.Communicator{Set: set}))
	defs.Windows.Add(trace.Named{ID: "0", Attrs: []trace.Attr{
		{Key: trace.CommunicatorAttribute, Value: trace.Value{Type: trace.CommRef, Num: comm}}}})
	of := comm
	if len(beginOps) > 1 {
		of = trace.Undefined
	}
	call := func(loc uint32, begin, end int64, n uint64) {
		r.Event(loc, begin, beginKind, trace.NoRef, beginOps)
		r.Event(loc, end, endKind, window, []uint64{3, of, trace.Undefined, n, n, id})
	}
	call(a, 1, 2, 1)
	call(a, 3, 4, 2)
	call(a, 5, 6, 3)
	call(b, 1, 3, 1)
	call(b, 5, 6, 2)
	call(b, 20, 40, 3)
	call(c, 1, 9, 1)
	call(c, 31, 32, 2)
	call(c, 33, 34, 3)
	for _, l := range []uint32{a, b, c, d} {
		r.Event(l, 50, trace.Comment, trace.NoRef, nil)
	}
	events, _ := listBoth(t, transform.Cut(format.Recorded(r), trace.Window{From: 30, To: 60}))
	type operation struct {
		loc   uint32
		time  int64
		bytes uint64 // the number of the operation
	}
	var begins int
	var found []operation
	for _, e := range events {
		switch e.kind {
		case beginKind:
			begins++
		case endKind:
			found = append(found, operation{e.loc, e.time, e.ops[3]})
		}
	}
	expected := []operation{{a, 30, 2}, {a, 30, 3}, {b, 30, 2}, {c, 32, 2}, {c, 34, 3}, {b, 40, 3}}
	if !slices.Equal(found, expected) || begins != len(expected) {
		t.Errorf("found the ends %v and %d begins, expected %v", found, begins, expected)
	}
}

// TestCutPostings checks that a piece has the non-blocking operations of all members in the order in which they were
// posted, although members complete them in different orders. Each member posts the operations 1 to 4, one every tick,
// and completes some of them before the piece.
func TestCutPostings(t *testing.T) {
	for _, x := range []struct {
		before, inside [2]string // the operations that each member completes before the piece and in it
		expected       [2]string // the operations that each member posts in the piece
	}{
		{[2]string{"2", "1"}, [2]string{"134", "234"}, [2]string{"1234", "1234"}},
		{[2]string{"2", "2"}, [2]string{"134", "431"}, [2]string{"134", "134"}},
		{[2]string{"42", ""}, [2]string{"31", "1234"}, [2]string{"1234", "1234"}},
		{[2]string{"143", "21"}, [2]string{"2", "34"}, [2]string{"234", "234"}},
		{[2]string{"12", "12"}, [2]string{"34", "43"}, [2]string{"34", "34"}},
	} {
		r := trace.NewRecorder(trace.TicksPerSecond(1))
		members := []uint32{r.Location("a"), r.Location("b")}
		defs := r.Defs()
		set := defs.Sets.Add(trace.Set{ID: "0", Kind: "communicating locations", Members: []int64{0, 1}})
		comm := uint64(defs.Communicator.Add(trace.Communicator{Set: set}))
		for i, l := range members {
			for n := range int64(4) {
				r.Event(l, 1+n, trace.CollectiveRequest, trace.NoRef, []uint64{uint64(n + 1)})
			}
			for at, list := range []string{x.before[i], x.inside[i]} {
				for n, id := range list {
					size := uint64(id - '0')
					r.Event(l, int64(10+20*at+n), trace.CollectiveComplete, trace.NoRef,
						[]uint64{3, comm, trace.Undefined, size, size, size})
				}
			}
		}
		events, _ := listBoth(t, transform.Cut(format.Recorded(r), trace.Window{From: 20, To: 60}))
		var found [2]string
		for _, e := range events {
			if e.kind == trace.CollectiveRequest {
				found[e.loc] += strconv.FormatUint(e.ops[0], 10)
			}
		}
		if found != x.expected {
			t.Errorf("%q, then %q: found the requests %q, expected %q", x.before, x.inside, found, x.expected)
		}
	}
}

// TestCutTeams checks that a piece repeats the work of a thread in a team that another thread ends in the piece, so
// that the later work of both threads in the team belongs together. c has worked in the team less often, but does not
// work in it when the piece begins.
func TestCutTeams(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1))
	a, b, c := r.Location("a"), r.Location("b"), r.Location("c")
	team := uint64(r.Defs().Communicator.Add(trace.Communicator{Set: trace.NoRef}))
	for _, x := range []struct {
		loc        uint32
		begin, end int64
	}{{a, 1, 2}, {b, 1, 3}, {a, 10, 20}, {b, 11, 31}, {a, 40, 50}, {b, 41, 51}, {c, 42, 52}} {
		r.Event(x.loc, x.begin, trace.ThreadTeamBegin, trace.NoRef, []uint64{team, 0})
		r.Event(x.loc, x.end, trace.ThreadTeamEnd, trace.NoRef, []uint64{team, 0})
	}
	events, _ := listBoth(t, transform.Cut(format.Recorded(r), trace.Window{From: 30, To: 60}))
	found := map[uint32][]int64{} // times of begins and ends, which alternate, by location
	for _, e := range events {
		begins := len(found[e.loc])%2 == 0
		if begins != (e.kind == trace.ThreadTeamBegin) {
			t.Errorf("found %v, expected another kind", e)
		}
		found[e.loc] = append(found[e.loc], e.time)
	}
	expected := map[uint32][]int64{a: {30, 30, 40, 50}, b: {30, 31, 41, 51}, c: {42, 52}}
	if !reflect.DeepEqual(found, expected) {
		t.Errorf("found %v, expected %v", found, expected)
	}
}

// TestCutMessagesInCalls checks that a piece repeats a message in the open call that has sent it, or outside of calls
// if this call has ended.
func TestCutMessagesInCalls(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1))
	a, b := r.Location("a"), r.Location("b")
	main, send, wait := r.Region("main"), r.Region("MPI_Send"), r.Region("MPI_Recv")
	for _, l := range []uint32{a, b} {
		r.Enter(l, 0, main)
		r.Enter(l, 1, send)
		r.Send(l, 2, a+b-l, 1, 8)
		r.Leave(l, 3, send)
	}
	r.Enter(a, 5, send)
	r.Send(a, 6, b, 2, 8)
	r.Enter(b, 5, wait)
	r.Recv(b, 20, a, 1, 8)
	r.Leave(b, 21, wait)
	r.Recv(b, 22, a, 2, 8)
	r.Leave(a, 22, send)
	r.Recv(a, 23, b, 1, 8)
	events, _ := listBoth(t, transform.Cut(format.Recorded(r), trace.Window{From: 10, To: 30}))
	found := map[uint32][]string{}
	for _, e := range events {
		switch {
		case e.time > 10:
		case e.kind == trace.Send:
			found[e.loc] = append(found[e.loc], "message "+strconv.FormatUint(e.ops[2], 10))
		default:
			found[e.loc] = append(found[e.loc], r.Defs().Regions.At(e.ref).Name)
		}
	}
	expected := map[uint32][]string{
		a: {"main", "message 1", "MPI_Send", "message 2"},
		b: {"main", "message 1", "MPI_Recv"},
	}
	if !reflect.DeepEqual(found, expected) {
		t.Errorf("found %v, expected %v", found, expected)
	}
}

// TestCutBarriers checks that a piece repeats a barrier that a thread has left and another one of its team has not. At
// the begin of the piece, a has left two barriers and b has left one.
func TestCutBarriers(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1))
	a, b := r.Location("a"), r.Location("b")
	barrier := r.Region("!$omp barrier @a.c:3")
	team := uint64(r.Defs().Communicator.Add(trace.Communicator{Set: trace.NoRef}))
	for i, l := range []uint32{a, b} {
		r.Event(l, 1, trace.ThreadTeamBegin, trace.NoRef, []uint64{team, 0})
		for _, x := range [][2]int64{{2, 4}, {5, 8 + 4*int64(i)}, {20, 22}} {
			r.Enter(l, x[0], barrier)
			r.Leave(l, x[1], barrier)
		}
	}
	events, _ := listBoth(t, transform.Cut(format.Recorded(r), trace.Window{From: 10, To: 30}))
	left := map[uint32][]int64{}
	for _, e := range events {
		if e.kind == trace.Leave && e.ref == barrier {
			left[e.loc] = append(left[e.loc], e.time)
		}
	}
	if expected := map[uint32][]int64{a: {10, 22}, b: {12, 22}}; !reflect.DeepEqual(left, expected) {
		t.Errorf("found the ends of barriers %v, expected %v", left, expected)
	}
}
