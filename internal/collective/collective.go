// Package collective adds the operands of collective operations to the events of their ends. It
// serves formats that store the operands at the end, such as OTF2 and Pallas, when they are written
// from traces that have them at the begin, such as OTF. It also serves traces that are merged from both.
package collective

import (
	"slices"
	"strconv"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/openset"
	"github.com/weft-trace/weft/trace"
)

// Calls keeps the open calls at each location, with a few numbers for each.
type Calls struct {
	defs *trace.Definitions
	loss *format.Loss
	how  format.Fidelity // of roots that are not in their communicator
	// at maps each location to its open calls.
	at map[uint32]*calls
	// rank returns the rank of a process in a communicator.
	rank    func(process, communicator uint64) uint64
	members *trace.Memberships
	ranks   map[uint64]map[string]uint64 // ranks by communicator and by the process's id
	classes map[string]string            // classes of the trace's own operations, by id; nil until needed
}

// calls holds the open calls of a location.
type calls struct {
	regions []uint32
	open    openset.Index[uint32] // finds the latest open call of a region in regions
	// operands of the operations that have begun and not ended, by matching number, as the end has them
	begun map[uint64][endOperands]uint64
}

// endOperands is the number of operands that the end of an operation has in all formats; the matching number follows.
const endOperands = 5

// NewCalls returns the calls of a trace. The result is nil if the begins of the trace's collective operations
// have no operands. Function rank returns the rank of a process in a communicator, or Undefined if the process
// is no member. If it is nil, ranks come from the definitions. Roots without a rank are counted in loss; plain
// means that the begins of the operations are not kept either.
func NewCalls(d *trace.Definitions, loss *format.Loss, plain bool,
	rank func(process, communicator uint64) uint64) *Calls {
	if !d.Conventions.OwnOperations {
		return nil
	}
	x := &Calls{defs: d, loss: loss, how: format.WeftOnly, at: map[uint32]*calls{}, rank: rank, members: d.Memberships(),
		ranks: map[uint64]map[string]uint64{}}
	if plain {
		x.how = format.Lost
	}
	if rank == nil {
		x.rank = x.rankOf
	}
	return x
}

// Operands returns the operands of a row. For the end of a collective operation without operands,
// it returns those of the begin, with the operation as its number in OTF2 and the root as a rank. The operands of an
// operation that is a single event, with a duration, are converted in the same way.
func (ca *Calls) Operands(c *trace.Cursor) []uint64 {
	ops := c.Ops()
	if ca == nil {
		return ops
	}
	switch c.Kind() {
	case trace.Enter, trace.Leave, trace.CollectiveBegin, trace.CollectiveEnd, trace.Collective:
	default:
		return ops
	}
	x := ca.at[c.Location()]
	if x == nil {
		x = &calls{begun: map[uint64][endOperands]uint64{}}
		ca.at[c.Location()] = x
	}
	switch c.Kind() {
	case trace.Enter:
		x.open.Open(c.Ref(), len(x.regions))
		x.regions = append(x.regions, c.Ref())
	case trace.Leave:
		x.leave(c.Ref())
	case trace.CollectiveBegin:
		if len(ops) < endOperands {
			return ops
		}
		x.begun[c.Op(endOperands)] = ca.standard(trace.CollectiveEnd, [endOperands]uint64(ops), x)
	case trace.Collective:
		if len(ops) >= endOperands {
			began := ca.standard(trace.Collective, [endOperands]uint64(ops), x)
			return slices.Concat(began[:], ops[endOperands:])
		}
	case trace.CollectiveEnd:
		began, known := x.begun[c.Op(endOperands)]
		if !known || len(ops) < endOperands || ops[0] != trace.Undefined {
			return ops
		}
		delete(x.begun, c.Op(endOperands))
		return slices.Concat(began[:], ops[endOperands:])
	}
	return ops
}

// standard returns the operands of an operation with the operation as its number in OTF2 and the root as a rank.
// x holds the open calls of the location. Losses count for the given kind.
func (ca *Calls) standard(kind trace.Kind, ops [endOperands]uint64, x *calls) [endOperands]uint64 {
	region := ""
	if n := len(x.regions); n > 0 && x.regions[n-1] != trace.NoRef {
		region = ca.defs.Regions.At(x.regions[n-1]).Name
	}
	ops[0] = ca.operation(kind, ops[0], region)
	if root := ops[2]; root != trace.Undefined {
		if ops[2] = ca.rank(root, ops[1]); ops[2] == trace.Undefined {
			ca.loss.Add(ca.defs.Spec(kind).Name, "root", ca.how, "the root is not a member of the communicator", 1)
		}
	}
	return ops
}

// Standard returns the operands of a row as in a trace that does not number operations itself: it is like Operands,
// and changes the operation and the root of all other events in the same way. It counts operations that have no number
// in OTF2.
func (ca *Calls) Standard(c *trace.Cursor) []uint64 {
	ops := ca.Operands(c)
	switch kind := c.Kind(); {
	case kind == trace.CollectiveBegin && len(ops) >= endOperands:
		began := ca.at[c.Location()].begun[c.Op(endOperands)]
		ops = slices.Concat(began[:], ops[endOperands:])
	case kind == trace.CollectiveSummary && len(ops) > 0:
		ops = slices.Clone(ops)
		ops[0] = ca.operation(c.Kind(), ops[0], "")
	case kind == trace.Collective && len(ops) >= endOperands: // Operands has converted them
	case kind == trace.CollectiveSnapshot && len(ops) >= endOperands:
		ops = slices.Clone(ops)
		ops[0] = ca.operation(c.Kind(), ops[0], "")
		if ops[2] != trace.Undefined {
			ops[2] = ca.rank(ops[2], ops[1])
		}
	default:
		return ops
	}
	if ops[0] == trace.Undefined && c.Op(0) != trace.Undefined {
		ca.loss.Add(ca.defs.Spec(c.Kind()).Name, "operation", ca.how, "the trace does not define it", 1)
	}
	return ops
}

// leave ends the innermost open call of a region, and the calls inside of it.
func (c *calls) leave(region uint32) {
	n := len(c.regions)
	if n > 0 && c.regions[n-1] == region && !c.open.Mapped() {
		c.regions = c.regions[:n-1]
		return
	}
	at := c.open.Find(region, n, func(i int) uint32 { return c.regions[i] })
	for at >= 0 && len(c.regions) > at {
		n := len(c.regions) - 1
		c.regions = openset.Close(&c.open, c.regions, n, c.regions[n])
	}
}

// operation returns OTF2's number of a collective operation. own is the trace's own number of the operation, whose name
// determines the result. If the name is unknown, the function that performs the operation determines it, unless the
// operation's class contradicts that. Then the result is an operation of the same class.
func (ca *Calls) operation(kind trace.Kind, own uint64, function string) uint64 {
	class := ca.class(own)
	name, _ := ca.defs.OperationName(own)
	n, ok := trace.OperationNumber(name)
	if !ok {
		n, ok = trace.OperationOf(function)
		ok = ok && (class == "" || class == Class(n))
	}
	reason := "the operation of this name has another class"
	if !ok {
		reason = "another operation of the same kind stands for it"
		if n, ok = similar[class]; !ok {
			return trace.Undefined
		}
	} else if class == "" || class == Class(n) {
		return n
	}
	how := format.WeftOnly
	if ca.how == format.Lost {
		how = format.Degraded
	}
	ca.loss.Add(ca.defs.Spec(kind).Name, "operation", how, reason, 1)
	return n
}

// class returns the class of one of the trace's own operations, or "" if the trace does not define it.
func (ca *Calls) class(own uint64) string {
	if ca.classes == nil {
		ca.classes = map[string]string{}
		for _, o := range ca.defs.Operations.All() {
			for _, a := range o.Attrs {
				if _, known := similar[a.Value.Str]; known && a.Key == "type" {
					ca.classes[o.ID] = a.Value.Str
				}
			}
		}
	}
	if len(ca.classes) == 0 {
		return ""
	}
	return ca.classes[strconv.FormatUint(own, 10)]
}

// The classes of collective operations, as OTF names them.
const (
	barrier  = "barrier"
	oneToAll = "one-to-all"
	allToOne = "all-to-one"
	allToAll = "all-to-all"
)

// Class returns the class in OTF of the operation with a number in OTF2.
func Class(operation uint64) string {
	switch name, _ := trace.OperationName(operation); name {
	case "barrier":
		return barrier
	case "broadcast", "scatter", "scatterv":
		return oneToAll
	case "gather", "gatherv", "reduce":
		return allToOne
	}
	return allToAll
}

// similar maps each class to the number of an operation of that class: barrier, broadcast, gather and alltoall.
var similar = map[string]uint64{barrier: 0, oneToAll: 1, allToOne: 2, allToAll: 8}

// rankOf returns the rank of a process in a communicator, from the members in the definitions.
func (ca *Calls) rankOf(process, communicator uint64) uint64 {
	if communicator >= uint64(ca.defs.Communicator.Len()) {
		return trace.Undefined
	}
	ranks := ca.ranks[communicator]
	if ranks == nil {
		ranks = map[string]uint64{}
		for r, loc := range ca.members.Ranks(uint32(communicator)) {
			if loc != trace.NoRef {
				ranks[ca.defs.Locations.At(loc).ID] = uint64(r)
			}
		}
		ca.ranks[communicator] = ranks
	}
	if r, ok := ranks[strconv.FormatUint(process, 10)]; ok {
		return r
	}
	return trace.Undefined
}
