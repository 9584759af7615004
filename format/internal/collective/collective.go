// Package collective gives the ends of collective operations what their begins say, for formats
// whose records say it at the end, as OTF2 and Pallas do, of traces whose begins do, as OTF.
package collective

import (
	"slices"
	"strconv"

	"github.com/weft-trace/weft/internal/openset"
	"github.com/weft-trace/weft/trace"
)

// Calls follows what goes on at each location, for which it holds a few numbers for each open call.
type Calls struct {
	defs *trace.Definitions
	at   map[uint32]*calls
	// rank is the rank of a process in a communicator.
	rank  func(process, communicator uint64) uint64
	ranks map[uint64]map[string]uint64 // of processes, by communicator
}

type calls struct {
	regions []uint32
	open    openset.Index[uint32] // where regions has which
	begin   []uint64              // operands of the operation that has begun last
	region  string                // in which it has
}

// Follow returns the calls of a trace; nil if its begins say nothing of their operations. rank gives
// the rank of a process in a communicator, Undefined if it is no member; nil takes that from the
// definitions.
func Follow(d *trace.Definitions, rank func(process, communicator uint64) uint64) *Calls {
	if !d.Conventions.OwnOperations {
		return nil
	}
	x := &Calls{defs: d, at: map[uint32]*calls{}, rank: rank, ranks: map[uint64]map[string]uint64{}}
	if rank == nil {
		x.rank = x.rankOf
	}
	return x
}

// Operands returns the operands of a row, or, if it is the end of a collective operation that says
// nothing, those that its begin says, with the operation's number in OTF2 and the root as a rank.
func (f *Calls) Operands(c *trace.Cursor) []uint64 {
	ops := c.Ops()
	if f == nil {
		return ops
	}
	switch c.Kind() {
	case trace.Enter, trace.Leave, trace.CollectiveBegin, trace.CollectiveEnd:
	default:
		return ops
	}
	x := f.at[c.Location()]
	if x == nil {
		x = &calls{}
		f.at[c.Location()] = x
	}
	switch c.Kind() {
	case trace.Enter:
		x.open.Open(c.Ref(), len(x.regions))
		x.regions = append(x.regions, c.Ref())
	case trace.Leave:
		x.leave(c.Ref())
	case trace.CollectiveBegin:
		x.begin, x.region = append(x.begin[:0], ops...), ""
		if n := len(x.regions); n > 0 && x.regions[n-1] != trace.NoRef {
			x.region = f.defs.Regions.At(x.regions[n-1]).Name
		}
	case trace.CollectiveEnd:
		if len(x.begin) < 5 || len(ops) == 0 || ops[0] != trace.Undefined {
			return ops
		}
		out := append(slices.Clone(x.begin[:5]), ops[5:]...)
		x.begin = x.begin[:0]
		out[0] = f.operation(out[0], x.region)
		if root := out[2]; root != trace.Undefined {
			out[2] = f.rank(root, out[1])
		}
		return out
	}
	return ops
}

// leave ends the innermost call of a region that is open, and those in it.
func (x *calls) leave(region uint32) {
	n := len(x.regions)
	if n > 0 && x.regions[n-1] == region && !x.open.Mapped() {
		x.regions = x.regions[:n-1]
		return
	}
	at := x.open.Find(region, n, func(i int) uint32 { return x.regions[i] })
	for at >= 0 && len(x.regions) > at {
		n := len(x.regions) - 1
		x.regions = openset.Close(&x.open, x.regions, n, x.regions[n])
	}
}

// operation is the number in OTF2 of the operation that the trace names, or that the function does in
// which it is called.
func (f *Calls) operation(own uint64, function string) uint64 {
	if n, ok := trace.OperationOf(function); ok {
		return n
	}
	name, _ := f.defs.OperationName(own)
	if n, ok := trace.OperationNumber(name); ok {
		return n
	}
	return trace.Undefined
}

// rankOf is the rank of a process by the communicator's members.
func (f *Calls) rankOf(process, communicator uint64) uint64 {
	if communicator >= uint64(f.defs.Communicator.Len()) {
		return trace.Undefined
	}
	ranks := f.ranks[communicator]
	if ranks == nil {
		ranks = map[string]uint64{}
		for r, loc := range f.defs.Ranks(uint32(communicator)) {
			if loc != trace.NoRef {
				ranks[f.defs.Locations.At(loc).ID] = uint64(r)
			}
		}
		f.ranks[communicator] = ranks
	}
	if r, ok := ranks[strconv.FormatUint(process, 10)]; ok {
		return r
	}
	return trace.Undefined
}
