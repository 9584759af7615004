package pallas

import (
	"container/heap"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// Requests name operations that are under way. Other formats number all of a trace, so that no two
// calls are the same and the grammar finds no repetition. They become slots: the lowest number of
// the thread that no operation under way has.
const requestsOption = "pallas.requests"

// slots are the requests of a thread that are under way.
type slots struct {
	open map[uint64]uint64 // slots by request
	free lowest
	next uint64
	ops  []uint64 // of the row
}

// lowest is a heap of numbers.
type lowest []uint64

func (h lowest) Len() int           { return len(h) }
func (h lowest) Less(i, j int) bool { return h[i] < h[j] }
func (h lowest) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *lowest) Push(x any)        { *h = append(*h, x.(uint64)) }
func (h *lowest) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

// requestOperand is the place of the request among the operands of a kind, -1 if there is none;
// ends is true for kinds after which the request is no longer under way.
func requestOperand(k trace.Kind) (at int, ends bool) {
	switch k {
	case trace.SendBegin:
		return 4, false
	case trace.RecvComplete:
		return 4, true
	case trace.SendComplete, trace.RequestCancelled:
		return 0, true
	case trace.RecvBegin, trace.RequestTest:
		return 0, false
	}
	return -1, false
}

// operands are the operands of a row, with a slot in place of the request.
func (s *slots) operands(k trace.Kind, ops []uint64) []uint64 {
	at, ends := requestOperand(k)
	if at < 0 || at >= len(ops) || ops[at] == trace.Undefined {
		return ops
	}
	request := ops[at]
	slot, open := s.open[request]
	if !open {
		if len(s.free) > 0 {
			slot = heap.Pop(&s.free).(uint64)
		} else {
			slot = s.next
			s.next++
		}
	}
	switch {
	case ends:
		delete(s.open, request)
		heap.Push(&s.free, slot)
	case !open:
		if s.open == nil {
			s.open = map[uint64]uint64{}
		}
		s.open[request] = slot
	}
	s.ops = append(s.ops[:0], ops...)
	s.ops[at] = slot
	return s.ops
}

// countRenumbered adds the requests that became slots.
func (e *encoder) countRenumbered() {
	for k, n := range e.renumbered {
		e.loss.Add(k.Spec().Name, "request", format.Degraded, "the lowest number that no operation under way has (option "+requestsOption+")", n)
	}
}
