package transform

import (
	"github.com/weft-trace/weft/internal/openset"
	"github.com/weft-trace/weft/trace"
)

// selected states what a filter does with an operation that several rows describe: its begin, its tests and its ends.
type selected uint8

const (
	// operationKept is the state of an operation that is kept.
	operationKept selected = iota
	// operationUnselected is the state of an operation that is dropped only because Kind does not select its begin.
	operationUnselected
	// operationDropped is the state of other operations that are dropped.
	operationDropped
)

// begunOperations holds the operations at a location that have begun, as far as the filter drops some of them.
type begunOperations struct {
	requests openset.Map[uint64, selected]             // by number, until their end
	remote   openset.Map[remoteOperation, remoteState] // operations on remote memory, also after their end
}

// remoteOperation identifies operations on remote memory by their window and matching number or, in OTF, by their
// communicator and tag.
type remoteOperation struct {
	window        uint32
	communicator  uint64
	matching, tag uint64
}

// remoteState is the state of operations on remote memory with the same numbers.
type remoteState struct {
	selected
	complete bool // an end has followed; a later begin is another operation
}

// The kinds of rows about requests, and about operations on remote memory. The begins come first.
var (
	requestKinds = []trace.Kind{trace.SendBegin, trace.RecvBegin, trace.CollectiveRequest, trace.RequestTest,
		trace.RequestCancelled}
	remoteKinds = []trace.Kind{trace.RMAPut, trace.RMAGet, trace.RMAAtomic, trace.RMACompleteBlocking,
		trace.RMACompleteNonBlocking, trace.RMATest, trace.RMACompleteRemote, trace.RMAEnd}
)

// followedKinds lists kinds whose rows belong to an interval although they neither begin nor end it, each with the
// kind that begins the interval.
var followedKinds = map[trace.Kind]trace.Kind{
	trace.IOTest: trace.IOBegin, trace.IOIssued: trace.IOBegin, trace.RMALockRequest: trace.RMALockAcquire,
}

// follows reports whether the filter must know the begin of an operation to decide about its other rows.
func (s *filterScan) follows(kinds []trace.Kind) bool {
	if s.Communicator != nil {
		return true
	}
	for _, k := range kinds {
		if !s.wantsKind(k) {
			return true
		}
	}
	return false
}

// selects returns the state of an operation that begins with a row of a kind. unwanted is set if the filter drops the
// operation for another reason than its kind.
func (s *filterScan) selects(k trace.Kind, unwanted bool) selected {
	switch {
	case unwanted || s.dropsKind(k):
		return operationDropped
	case s.wantsKind(k):
		return operationKept
	}
	return operationUnselected
}

// wantsFollower reports whether to keep a row that tests or ends an operation. If the filter does not know the
// operation, own states whether to keep the row.
func (s *filterScan) wantsFollower(k trace.Kind, state selected, known, own bool) bool {
	switch {
	case !known:
		return own
	case s.NotKind != nil && s.NotKind(k):
		return false
	case state == operationUnselected:
		return s.Kind(k)
	}
	return state == operationKept
}

// wantsRequest reports whether to keep a row about a request. ok is false for other rows.
func (s *filterScan) wantsRequest(l *filterState, x *trace.Cursor) (keep, ok bool) {
	k, operand := x.Kind(), 0
	switch k {
	case trace.SendBegin, trace.RecvComplete:
		operand = 4
	case trace.CollectiveComplete:
		operand = 5
	case trace.RecvBegin, trace.CollectiveRequest, trace.SendComplete, trace.RequestTest, trace.RequestCancelled:
	default:
		return false, false
	}
	id, follow := x.Op(operand), s.followsRequests && x.Op(operand) != trace.Undefined
	switch k {
	case trace.SendBegin, trace.RecvBegin, trace.CollectiveRequest:
		unwanted := !s.wantsRefs(x)
		if k == trace.RecvBegin {
			unwanted = s.dropsBegin(x.Location(), l.receives, k)
			l.receives++
		} else if k == trace.CollectiveRequest {
			unwanted = s.dropsBegin(x.Location(), l.posted, k)
			l.posted++
		}
		state := s.selects(k, unwanted)
		if follow {
			l.begun.requests.Put(id, state)
		}
		return state == operationKept, true
	}
	own := s.wantsKind(k) && s.wantsRefs(x)
	if !follow {
		return own, true
	}
	take := l.begun.requests.Take
	if k == trace.RequestTest {
		take = l.begun.requests.Get
	}
	state, known := take(id)
	return s.wantsFollower(k, state, known, own), true
}

// wantsRemote reports whether to keep a row about an operation on remote memory. ok is false for other rows.
func (s *filterScan) wantsRemote(l *filterState, x *trace.Cursor) (keep, ok bool) {
	k := x.Kind()
	var id remoteOperation
	switch k {
	case trace.RMAPut, trace.RMAGet, trace.RMAAtomic:
		id = remoteOperation{x.Ref(), trace.Undefined, x.Op(2), trace.Undefined}
		if k == trace.RMAAtomic {
			id.matching = x.Op(4)
		} else if x.Ref() == trace.NoRef {
			id.communicator, id.tag, id.matching = x.Op(3), x.Op(4), trace.Undefined
		}
	case trace.RMACompleteBlocking, trace.RMACompleteNonBlocking, trace.RMATest, trace.RMACompleteRemote:
		id = remoteOperation{x.Ref(), trace.Undefined, x.Op(0), trace.Undefined}
	case trace.RMAEnd:
		id = remoteOperation{trace.NoRef, x.Op(1), trace.Undefined, x.Op(2)}
	default:
		return false, false
	}
	own := s.wantsKind(k) && s.wantsRefs(x)
	if !s.followsRemote {
		return own, true
	}
	was, known := l.begun.remote.Get(id)
	switch k {
	case trace.RMAPut, trace.RMAGet, trace.RMAAtomic:
		state := s.selects(k, !s.wantsRefs(x))
		if !known || was.complete || was.selected != operationKept {
			l.begun.remote.Put(id, remoteState{selected: state})
		}
		return state == operationKept, true
	case trace.RMATest:
	default:
		if known {
			was.complete = true
			l.begun.remote.Put(id, was)
		}
	}
	return s.wantsFollower(k, was.selected, known, own), true
}
