package check

import (
	"fmt"
	"math"

	"github.com/weft-trace/weft/trace"
)

// updateTableSizes updates the numbers of entries of all tables. It must be called before each
// batch, because tables can grow between batches.
func (c *Checker) updateTableSizes() {
	d := c.defs
	c.refs = [...]uint32{trace.RefNone: math.MaxUint32, trace.RefRegion: uint32(d.Regions.Len()),
		trace.RefMetric:       uint32(d.Metrics.Len()),
		trace.RefCommunicator: uint32(d.Communicator.Len()), trace.RefParameter: uint32(d.Parameters.Len()),
		trace.RefWindow:  uint32(d.Windows.Len()),
		trace.RefContext: uint32(d.Contexts.Len()), trace.RefHandle: uint32(d.Handles.Len()),
		trace.RefFile:   uint32(d.Files.Len()),
		trace.RefMarker: uint32(d.Markers.Len()), trace.RefString: uint32(d.Strings.Len())}
	c.operands = [len(c.operands)]uint64{trace.OpLocation: uint64(d.Locations.Len()),
		trace.OpRegion:       uint64(d.Regions.Len()),
		trace.OpCommunicator: uint64(d.Communicator.Len()), trace.OpMetric: uint64(d.Metrics.Len()),
		trace.OpResource: uint64(d.Resources.Len()),
		trace.OpGroup:    uint64(d.Sets.Len()), trace.OpFile: uint64(d.Files.Len()), trace.OpHandle: uint64(d.Handles.Len()),
		trace.OpWindow: uint64(d.Windows.Len()), trace.OpContext: uint64(d.Contexts.Len()),
		trace.OpString: uint64(d.Strings.Len())}
}

// references reports a row of an unknown kind, and a row that refers to an entry that its table
// does not have. The values NoRef and Undefined refer to no entry, and are no defect.
func (c *Checker) references(x *trace.Cursor, at place) error {
	k := x.Kind()
	if k >= trace.Declared && int(k-trace.Declared) >= c.defs.Kinds.Len() || k < trace.Declared && k.Spec().Name == "" ||
		k == trace.NoKind {
		return c.report("trace.unknown-kind", at, fmt.Sprintf("an event of kind %d at %s", k, c.seconds(x.Time())),
			"a kind that is known or declared")
	}
	spec := c.defs.Spec(k)
	if ref := x.Ref(); ref != trace.NoRef && ref >= c.refs[spec.Ref] {
		return c.reportUndefined(x, at, spec, spec.Ref.String(), uint64(ref), uint64(c.refs[spec.Ref]))
	}
	for i, v := range x.Ops() {
		j := min(i, len(spec.Operands)-1)
		if v == trace.Undefined || j < 0 || i > j && !spec.Variadic {
			continue
		}
		o := &spec.Operands[j]
		if indexes(o.Type) && v >= c.operands[o.Type] {
			return c.reportUndefined(x, at, spec, o.Name, v, c.operands[o.Type])
		}
	}
	return nil
}

// indexes reports whether operands of a type are indexes into a table.
func indexes(t trace.OperandType) bool {
	switch t {
	case trace.OpLocation, trace.OpRegion, trace.OpCommunicator, trace.OpMetric, trace.OpResource, trace.OpGroup,
		trace.OpFile, trace.OpHandle, trace.OpWindow, trace.OpContext, trace.OpString:
		return true
	}
	return false
}

// reportUndefined reports that a row refers to entry v of a table that has only n entries.
func (c *Checker) reportUndefined(x *trace.Cursor, at place, spec *trace.KindSpec, what string, v, n uint64) error {
	return c.report("trace.undefined-reference", at,
		fmt.Sprintf("%s at %s with %s number %d", spec.Name, c.seconds(x.Time()), what, v),
		fmt.Sprintf("one of the %d that the trace has", n))
}
