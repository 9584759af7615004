package otf2

import (
	"slices"
	"strings"

	"github.com/weft-trace/weft/trace"
)

// calls are what goes on at a location of a trace of OTF, where the begin of a collective
// operation says what OTF2 wants of its end. The numbers of operations are the trace's own there:
// the region around one tells which it is.
type calls struct {
	regions []uint32
	begin   []uint64 // operands of the operation that has begun last
	region  string   // in which it has
}

// collective follows the calls of a row's location, and returns its operands: those of its begin,
// if it is the end of a collective operation that says nothing.
func (e *encoder) collective(c *trace.Cursor) []uint64 {
	ops := c.Ops()
	switch c.Kind() {
	case trace.Enter, trace.Leave, trace.CollectiveBegin, trace.CollectiveEnd:
	default:
		return ops
	}
	x := e.calls[c.Location()]
	if x == nil {
		x = &calls{}
		e.calls[c.Location()] = x
	}
	switch c.Kind() {
	case trace.Enter:
		x.regions = append(x.regions, c.Ref())
	case trace.Leave:
		if i := lastIndex(x.regions, c.Ref()); i >= 0 {
			x.regions = x.regions[:i]
		}
	case trace.CollectiveBegin:
		x.begin, x.region = append(x.begin[:0], ops...), ""
		if n := len(x.regions); n > 0 && x.regions[n-1] != trace.NoRef {
			x.region = e.defs.Regions.At(x.regions[n-1]).Name
		}
	case trace.CollectiveEnd:
		if len(x.begin) < 5 || len(ops) == 0 || ops[0] != trace.Undefined {
			return ops
		}
		out := append(slices.Clone(x.begin[:5]), ops[5:]...)
		x.begin = x.begin[:0]
		out[0] = operationOf(x.region)
		if root := out[2]; root != trace.Undefined {
			out[2] = e.rankOf(root, out[1])
		}
		return out
	}
	return ops
}

func lastIndex(list []uint32, v uint32) int {
	for i := len(list) - 1; i >= 0; i-- {
		if list[i] == v {
			return i
		}
	}
	return -1
}

// operationOf is the collective operation that a function of MPI does, undefined if it is none.
func operationOf(function string) uint64 {
	name, ok := strings.CutPrefix(strings.TrimPrefix(strings.TrimRight(strings.ToUpper(function), "_"), "P"), "MPI_")
	if i := slices.Index(collectives, name); ok && i >= 0 {
		return uint64(i)
	}
	return trace.Undefined
}

// rankOf is the rank of a process in a communicator, undefined if it is no member.
func (e *encoder) rankOf(process, communicator uint64) uint64 {
	if communicator >= uint64(e.defs.Communicator.Len()) {
		return trace.Undefined
	}
	m := e.members(uint32(communicator))
	loc, ok := e.number(int64(process))
	if !ok || m.all {
		return trace.Undefined
	}
	if r, ok := m.ranks[loc]; ok {
		return r
	}
	return trace.Undefined
}
