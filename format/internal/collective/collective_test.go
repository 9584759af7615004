package collective

import (
	"slices"
	"testing"

	"github.com/weft-trace/weft/trace"
)

// TestDeepCalls checks that an operation is that of the innermost open call, if there are many open
// calls, of which some were left in the order in which they were entered, or never entered.
func TestDeepCalls(t *testing.T) {
	for _, deep := range []int{1, 1000} {
		r := trace.NewRecorder(trace.Seconds(1))
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
			event(trace.Leave, other) // not entered before
		}
		operation() // in main, which is no collective operation
		event(trace.Enter, other)
		event(trace.Enter, barrier)
		operation()
		event(trace.Leave, other) // leaves the barrier inside of it too
		operation()
		for range deep {
			event(trace.Leave, main)
		}
		operation() // in the outer barrier
		event(trace.Leave, barrier)
		operation() // in no region
		calls := NewCalls(r.Defs(), nil)
		var got []uint64
		for _, b := range r.Batches(p) {
			for c := b.Cursor(); c.Next(); {
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
