package collective

import (
	"math"
	"slices"

	"github.com/weft-trace/weft/internal/minheap"
	"github.com/weft-trace/weft/trace"
)

// Ends holds the ends of operations that the trace states as single events with a duration ([trace.Collective],
// [trace.FileOperation]). Formats with one record for the begin and one for the end write each end in its place
// among the other events. The zero Ends is ready to use. It uses about 100 bytes for each operation that has not ended.
type Ends struct {
	list []end // a heap
	row  trace.Batch
	n    int64 // number of ends so far
}

// end is the end of an operation.
type end struct {
	time     int64
	number   int64 // ends at the same time keep their order
	location uint32
	kind     trace.Kind
	ref      uint32
	operands []uint64
}

// Add adds the end of the operation in row c, whose operands are those that [Calls.Operands] returns. It returns false,
// and adds nothing, if the row is no such operation, or if the end is beyond the greatest time.
func (e *Ends) Add(c *trace.Cursor, operands []uint64) bool {
	if c.Kind() != trace.Collective || len(operands) <= endOperands {
		return false
	}
	return e.AddEvent(c, operands[endOperands], trace.CollectiveEnd, trace.NoRef, operands[:endOperands])
}

// AddEvent adds the end of an operation that begins in row c and takes duration ticks. The further arguments are those
// of the row for the end. AddEvent returns false, and adds nothing, if the end is beyond the greatest time.
func (e *Ends) AddEvent(c *trace.Cursor, duration uint64, kind trace.Kind, ref uint32, operands []uint64) bool {
	if duration > math.MaxInt64 || c.Time() > math.MaxInt64-int64(duration) {
		return false
	}
	minheap.Push(&e.list, end{c.Time() + int64(duration), e.n, c.Location(), kind, ref, slices.Clone(operands)},
		(*end).before)
	e.n++
	return true
}

// Due reports whether the time of some end is at most t.
func (e *Ends) Due(t int64) bool { return len(e.list) > 0 && e.list[0].time <= t }

// Until removes the ends whose time is at most t, and calls write for each of them in the order of time. The row is
// valid during the call. Until stops at the first error and returns it.
func (e *Ends) Until(t int64, write func(c *trace.Cursor) error) error {
	for e.Due(t) {
		x := minheap.Pop(&e.list, (*end).before)
		e.row.Reset(x.location)
		e.row.Add(x.location, x.time, x.kind, x.ref)
		e.row.AddOps(x.operands...)
		c := e.row.Cursor()
		c.Next()
		if err := write(&c); err != nil {
			return err
		}
	}
	return nil
}

// before orders ends by time.
func (x *end) before(y *end) bool {
	return x.time < y.time || x.time == y.time && x.number < y.number
}
