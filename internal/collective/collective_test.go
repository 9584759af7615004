package collective

import (
	"slices"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// TestDeepCalls checks that an operation belongs to the innermost open call, if many calls are open. Some
// calls are left in the order in which they were entered, or are left without an enter.
func TestDeepCalls(t *testing.T) {
	for _, deep := range []int{1, 1000} {
		r := trace.NewRecorder(trace.TicksPerSecond(1))
		r.Defs().Conventions.OwnOperations = true
		p, main, other, barrier := r.Location("p"), r.Region("main"), r.Region("other"), r.Region("MPI_Barrier")
		now := int64(0)
		event := func(k trace.Kind, region uint32, ops ...uint64) {
			now++
			r.Event(p, now, k, region, ops)
		}
		operation := func() {
			event(trace.CollectiveBegin, trace.NoRef, 77, trace.Undefined, trace.Undefined, 1, 2)
			event(trace.CollectiveEnd, trace.NoRef, trace.Undefined, trace.Undefined, trace.Undefined, 0, 0)
		}
		event(trace.Enter, barrier)
		for range deep {
			event(trace.Enter, main)
		}
		for range deep {
			event(trace.Leave, other) // this region was not entered before
		}
		operation() // the innermost call is main, which is no collective operation
		event(trace.Enter, other)
		event(trace.Enter, barrier)
		operation()
		event(trace.Leave, other) // the leave ends the barrier inside of the call too
		operation()
		for range deep {
			event(trace.Leave, main)
		}
		operation() // the innermost call is the outer barrier
		event(trace.Leave, barrier)
		operation() // no call is open
		calls := NewCalls(r.Defs(), &format.Loss{}, false, nil)
		var got []uint64
		for _, b := range r.Batches(p) {
			c := b.Cursor()
			for c.Next() {
				if ops := calls.Operands(&c); c.Kind() == trace.CollectiveEnd {
					got = append(got, ops[0])
				}
			}
		}
		n, _ := trace.OperationNumber("barrier")
		if want := []uint64{trace.Undefined, n, trace.Undefined, n, trace.Undefined}; !slices.Equal(got, want) {
			t.Errorf("%d deep: found the operations %d, expected %d", deep, got, want)
		}
	}
}

// TestOverlappingCalls checks that each end gets the operands of the begin with the same matching number. Operations
// overlap if they are non-blocking, or if one is performed inside of another one.
func TestOverlappingCalls(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1))
	r.Defs().Conventions.OwnOperations = true
	p, barrier, reduce := r.Location("p"), r.Region("MPI_Ibarrier"), r.Region("MPI_Allreduce")
	u := uint64(trace.Undefined)
	r.Event(p, 1, trace.Enter, barrier, nil)
	r.Event(p, 2, trace.CollectiveBegin, trace.NoRef, []uint64{77, 3, u, 0, 0, 10})
	r.Event(p, 3, trace.Leave, barrier, nil)
	r.Event(p, 4, trace.Enter, reduce, nil)
	r.Event(p, 5, trace.CollectiveBegin, trace.NoRef, []uint64{78, 4, u, 8, 9, 11})
	r.Event(p, 6, trace.CollectiveEnd, trace.NoRef, []uint64{u, u, u, 0, 0, 11})
	r.Event(p, 7, trace.CollectiveEnd, trace.NoRef, []uint64{u, u, u, 0, 0, 12}) // has no begin
	r.Event(p, 8, trace.CollectiveEnd, trace.NoRef, []uint64{u, u, u, 0, 0, 10})
	r.Event(p, 9, trace.Leave, reduce, nil)
	calls := NewCalls(r.Defs(), &format.Loss{}, false, nil)
	var got [][]uint64
	for _, b := range r.Batches(p) {
		c := b.Cursor()
		for c.Next() {
			if ops := calls.Operands(&c); c.Kind() == trace.CollectiveEnd {
				got = append(got, slices.Clone(ops))
			}
		}
	}
	of := func(name string) uint64 {
		n, _ := trace.OperationNumber(name)
		return n
	}
	want := [][]uint64{{of("allreduce"), 4, u, 8, 9, 11}, {u, u, u, 0, 0, 12}, {of("barrier"), 3, u, 0, 0, 10}}
	if !slices.EqualFunc(got, want, slices.Equal[[]uint64]) {
		t.Errorf("found %d, expected %d", got, want)
	}
}
