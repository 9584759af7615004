package pallas

import (
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/minheap"
	"github.com/weft-trace/weft/trace"
)

// requestsOption is the name of the option that chooses how requests are numbered. A request is the
// number of an operation that is under way. Other formats number all requests of a trace. With such
// numbers, no two calls are equal, and the grammar finds no repetition. Therefore each request is by
// default replaced by a slot: the lowest number that no other operation under way in the thread has.
const requestsOption = "pallas.requests"

// requestSlots assigns slots to the requests of a thread.
type requestSlots struct {
	open map[uint64]uint64 // slots of the operations under way, by request
	free []uint64          // free slots, as a heap
	next uint64
	ops  []uint64 // the operands of the current row, with a slot in place of the request
}

// requestOperand returns the index of the request among the operands of a kind, or -1 if the kind has no
// request. ends reports whether events of the kind end the operation.
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

// operands returns the operands of a row, in which a slot replaces the request. A slot is the lowest number
// that no other open request has.
func (s *requestSlots) operands(k trace.Kind, ops []uint64) []uint64 {
	at, ends := requestOperand(k)
	if at < 0 || at >= len(ops) || ops[at] == trace.Undefined {
		return ops
	}
	request := ops[at]
	slot, open := s.open[request]
	if !open {
		if len(s.free) > 0 {
			slot = minheap.Pop(&s.free, minheap.Less)
		} else {
			slot = s.next
			s.next++
		}
	}
	switch {
	case ends:
		delete(s.open, request)
		minheap.Push(&s.free, slot, minheap.Less)
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

// countRenumbered counts the requests that were replaced by slots as a loss.
func (e *encoder) countRenumbered() {
	for k, n := range e.renumbered {
		e.loss.Add(k.Spec().Name, "request", format.Degraded,
			"replaced by the lowest number that is not in use (option "+requestsOption+")", n)
	}
}
