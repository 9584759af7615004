package waits_test

import (
	"slices"
	"strings"

	"github.com/weft-trace/weft/trace"
)

// simOperation is a collective operation.
type simOperation struct {
	call           string
	kind           string // members that wait, see collectives
	comm           uint64
	number, root   uint64 // number of the operation, and rank of the root or trace.Undefined
	ranks          []*simRank
	enter          []int64 // indexed by member: begin of the call that takes part or posts
	sent, received []uint64
}

// operation returns a random operation of a random communicator.
func (s *sim) operation() *simOperation {
	comm := s.IntN(len(s.comms))
	members := s.comms[comm].members
	c := collectives[s.IntN(len(collectives))]
	number, ok := trace.OperationNumber(c.operation)
	if !ok {
		panic("found no operation " + c.operation)
	}
	root := s.IntN(len(members))
	n := len(members)
	o := &simOperation{call: c.call, kind: c.kind, comm: uint64(comm), number: number, root: trace.Undefined,
		enter: make([]int64, n), sent: make([]uint64, n), received: make([]uint64, n)}
	if c.kind == "from" || c.kind == "to" {
		o.root = uint64(root)
	}
	for i, m := range members {
		o.ranks = append(o.ranks, s.ranks[m])
		some := func() uint64 {
			if s.IntN(6) == 0 {
				return 0
			}
			return 8
		}
		switch {
		case c.operation == "barrier":
		case c.kind == "from":
			o.received[i] = some()
			if i == root {
				o.sent[i] = uint64(n) * 8
			}
		case c.kind == "to":
			o.sent[i] = some()
			if i == root {
				o.received[i] = some() * uint64(n)
			}
		default:
			o.sent[i], o.received[i] = some(), some()
		}
	}
	return o
}

// earliest returns the earliest time at which a member can complete its part.
func (o *simOperation) earliest(i int) int64 {
	root := uint64(i) == o.root
	switch {
	case o.call == "MPI_Barrier", o.kind == "all" && o.received[i] > 0, o.kind == "to" && root && o.received[i] > 0:
		return slices.Max(o.enter)
	case o.kind == "from" && o.received[i] > 0:
		return max(o.enter[i], o.enter[o.root])
	case o.kind == "scan":
		return slices.Max(o.enter[:i+1])
	}
	return o.enter[i]
}

// ops returns the operands of the end of a member's part.
func (o *simOperation) ops(i int) []uint64 {
	return []uint64{o.number, o.comm, o.root, o.sent[i], o.received[i]}
}

// postOperation adds a non-blocking operation. Its requests complete later, in any order.
func (s *sim) postOperation() {
	o := s.operation()
	region := s.mpi("MPI_I" + strings.ToLower(strings.TrimPrefix(o.call, "MPI_")))
	for i, r := range o.ranks {
		o.enter[i] = s.enter(r, 0, region)
		s.event(r, 0, 0, trace.CollectiveRequest, r.next)
		s.leave(r, 0, region, 0)
		r.requests = append(r.requests, &simRequest{id: r.next, operation: o, member: i})
		r.next++
	}
}

// readyAt returns the earliest time at which a request can complete. The other end of its message has been
// simulated.
func (q *simRequest) readyAt() int64 {
	switch {
	case q.operation != nil:
		return q.operation.earliest(q.member)
	case q.send:
		return max(q.message.sent, q.message.received)
	}
	return q.message.sent
}

// programsWithOperations returns the options of random programs with non-blocking collective operations,
// which testdata/reference.py does not support.
func programsWithOperations() (list []simOptions) {
	for i := range uint64(20) {
		list = append(list, simOptions{seed: 1000 + i, steps: 40 + int(i)*10, threads: i%3 == 0, worldOnly: i%4 == 1,
			noRendezvous: i%4 == 2, overtaking: i%2 == 0, posted: true})
	}
	return list
}
