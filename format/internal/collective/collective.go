// Package collective adds the operands of collective operations to the events of their ends. It
// serves formats that store the operands at the end, such as OTF2 and Pallas, when they are written
// from traces that have them at the begin, such as OTF.
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
	// at maps each location to its open calls.
	at map[uint32]*calls
	// rank returns the rank of a process in a communicator.
	rank  func(process, communicator uint64) uint64
	ranks map[uint64]map[string]uint64 // of processes, by communicator and by id
	// typical maps the ids of the first counted entries of Definitions.Operations to typical operations of their types.
	typical map[string]uint64
	counted int
	// replaced is the number of operations that typical operations replaced.
	replaced int64
}

// calls holds the open calls of a location.
type calls struct {
	regions []uint32
	open    openset.Index[uint32] // finds the latest open call of a region in regions
	begun   map[uint64]begin      // operations that have begun and not ended, by matching number
}

// begin holds what the begin of an operation states.
type begin struct {
	operands [endOperands]uint64
	region   string // region in which the operation began
}

// endOperands is the number of operands that the end of an operation has in all formats; the matching number follows.
const endOperands = 5

// NewCalls returns the calls of a trace. The result is nil if the begins of the trace's collective operations
// have no operands. Function rank returns the rank of a process in a communicator, or Undefined if the process
// is no member. If it is nil, ranks come from the definitions.
func NewCalls(d *trace.Definitions, rank func(process, communicator uint64) uint64) *Calls {
	if !d.Conventions.OwnOperations {
		return nil
	}
	x := &Calls{defs: d, at: map[uint32]*calls{}, rank: rank, ranks: map[uint64]map[string]uint64{}}
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
		x = &calls{begun: map[uint64]begin{}}
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
		x.begun[c.Op(endOperands)] = begin{[endOperands]uint64(ops), ca.innermost(x)}
	case trace.Collective:
		if len(ops) > endOperands {
			return ca.endOf(begin{[endOperands]uint64(ops), ca.innermost(x)}, ops[endOperands:])
		}
	case trace.CollectiveEnd:
		began, known := x.begun[c.Op(endOperands)]
		if !known || len(ops) < endOperands || ops[0] != trace.Undefined {
			return ops
		}
		delete(x.begun, c.Op(endOperands))
		return ca.endOf(began, ops[endOperands:])
	}
	return ops
}

// innermost returns the name of the innermost open region of a location, or "" if no region is open.
func (ca *Calls) innermost(x *calls) string {
	if n := len(x.regions); n > 0 && x.regions[n-1] != trace.NoRef {
		return ca.defs.Regions.At(x.regions[n-1]).Name
	}
	return ""
}

// endOf returns the operands of the end of an operation, followed by other operands.
func (ca *Calls) endOf(began begin, others []uint64) []uint64 {
	out := slices.Concat(began.operands[:], others)
	out[0] = ca.operation(out[0], began.region)
	if root := out[2]; root != trace.Undefined {
		out[2] = ca.rank(root, out[1])
	}
	return out
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

// operation returns OTF2's number of a collective operation. own is the trace's own number of the operation,
// and function is the name of the function that performs it. That name determines the result. If the name is
// unknown, the name of operation own determines the result, and otherwise the type of operation own.
func (ca *Calls) operation(own uint64, function string) uint64 {
	if n, ok := trace.OperationOf(function); ok {
		return n
	}
	name, _ := ca.defs.OperationName(own)
	if n, ok := trace.OperationNumber(name); ok {
		return n
	}
	for list := ca.defs.Operations.All(); ca.counted < len(list); ca.counted++ {
		x := &list[ca.counted]
		for _, a := range x.Attrs {
			if n, ok := trace.OperationNumber(typicalOperations[a.Value.Str]); ok && a.Key == "type" {
				if ca.typical == nil {
					ca.typical = map[string]uint64{}
				}
				ca.typical[x.ID] = n
			}
		}
	}
	if n, ok := ca.typical[strconv.FormatUint(own, 10)]; ok {
		ca.replaced++
		return n
	}
	return trace.Undefined
}

// Report adds the operations to l whose names are unknown in OTF2. In a trace that is not plain, weft restores the
// names.
func (ca *Calls) Report(l *format.Loss, plain bool) {
	how := format.WeftOnly
	if plain {
		how = format.Degraded
	}
	if ca != nil {
		l.Add("collective operation", "name", how,
			"the format has no operation of this name; other tools see an operation of the same type", ca.replaced)
	}
}

// typicalOperations maps the types of operations in OTF to operations of these types.
var typicalOperations = map[string]string{"barrier": "barrier", "one-to-all": "broadcast", "all-to-one": "gather",
	"all-to-all": "alltoall"}

// rankOf returns the rank of a process in a communicator, from the members in the definitions.
func (ca *Calls) rankOf(process, communicator uint64) uint64 {
	if communicator >= uint64(ca.defs.Communicator.Len()) {
		return trace.Undefined
	}
	ranks := ca.ranks[communicator]
	if ranks == nil {
		ranks = map[string]uint64{}
		for r, loc := range ca.defs.Ranks(uint32(communicator)) {
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
