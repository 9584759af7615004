package picl

import (
	"fmt"
	"math"
	"slices"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/carrier"
	"github.com/weft-trace/weft/internal/collective"
	"github.com/weft-trace/weft/internal/lookahead"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
)

// operationEvents holds the event type of each collective operation, by its name in the model. The first name of an
// event type is the operation that weft reads from it.
var operationEvents = [...]struct {
	name  string
	event int64
}{
	{"barrier", barrierEvent}, {"broadcast", -785}, {"gather", -786}, {"gatherv", -786}, {"scatter", -793},
	{"scatterv", -793}, {"allgather", -780}, {"allgatherv", -780}, {"alltoall", -783}, {"alltoallv", -783},
	{"alltoallw", -783}, {"allreduce", -782}, {"reduce", -790}, {"reduce-scatter", -791},
	{"reduce-scatter-block", -791}, {"scan", -792}, {"exscan", -792},
}

// operandCount is the number of operands of a collective operation: operation, communicator, root, and bytes sent and
// received.
const operandCount = 5

// operationEvent returns the event type of a collective operation, or 0 if it has none. exact reports whether weft
// reads the same operation from this event type.
func operationEvent(name string) (event int64, exact bool) {
	for i, x := range operationEvents {
		if x.name == name {
			return x.event, i == 0 || operationEvents[i-1].event != x.event
		}
	}
	return 0, false
}

// operationNumbers holds 1 plus the number, in the model, of the collective operation of each event type, indexed by
// the difference of the event type from the least one.
var operationNumbers = func() (list [1 - leastOperation + greatestOperation]uint8) {
	for i := range operationEvents {
		x := &operationEvents[len(operationEvents)-1-i]
		n, _ := trace.OperationNumber(x.name)
		list[x.event-leastOperation] = uint8(n + 1)
	}
	return list
}()

// barrierEvent is the event type of a barrier.
const barrierEvent = -402

// The least and the greatest event type of a collective operation.
const leastOperation, greatestOperation = -793, barrierEvent

// operationOf returns the number, in the model, of the collective operation of an event type. ok is false for other
// event types.
func operationOf(event int64) (operation uint64, ok bool) {
	if event < leastOperation || event > greatestOperation {
		return 0, false
	}
	n := operationNumbers[event-leastOperation]
	return uint64(n) - 1, n > 0
}

// writtenOperations is the state of the encoder for the collective operations in a trace of another format.
type writtenOperations struct {
	held    *lookahead.Rows   // rows wait for the ends of operations, which have their operands
	calls   *collective.Calls // operands of traces that number operations themselves, or nil
	members *trace.Memberships
	ranks   map[uint64][]uint32           // locations of the ranks, by communicator
	open    map[uint32][]writtenOperation // by location
}

// writtenOperation is an operation whose begin has been written.
type writtenOperation struct {
	event    int64  // 0 if a user record carries the operation
	matching uint64 // number that the end has, too, or Undefined
	// fields of the entry; -1 if they are not known
	length, root, subset int64
}

// maxOverlap is the number of later operations among which the encoder looks for the begin of an operation.
const maxOverlap = 64

// foreignOperation makes an entry or exit of the event type of a collective operation for its begin or end. It returns
// false if a user record must carry the row.
func (e *encoder) foreignOperation(c *trace.Cursor) bool {
	o, loc, r := &e.ops, c.Location(), &e.rec
	open := o.open[loc]
	var x writtenOperation
	var fields []string
	if c.Kind() == trace.CollectiveBegin {
		x = e.beginOperation(c)
		o.open[loc] = append(open, x)
		r.Type, fields = TypeEntry, specOf(x.event).entry
	} else if len(open) > 0 {
		// Operations at a location may overlap.
		i := len(open) - 1
		for k := i; k >= max(0, i-maxOverlap); k-- {
			if open[k].matching == c.Op(operandCount) {
				i = k
				break
			}
		}
		x = open[i]
		o.open[loc] = slices.Delete(open, i, i+1)
		r.Type, fields = TypeExit, specOf(x.event).exit
	}
	if x.event == 0 {
		return false
	}
	r.Event = x.event
	for _, f := range fields {
		v := int64(-1)
		switch f {
		case "length":
			v = x.length
		case "root":
			v = x.root
		case "processSubset":
			v = x.subset
		}
		r.Values = append(r.Values, intValue(v))
	}
	if e.Plain && c.Kind() == trace.CollectiveBegin {
		e.Lost.Add(e.Defs.Spec(c.Kind()).Name, "", format.Degraded,
			"becomes a visit of the operation's event type, which readers count beside the visit of the call", 1)
	}
	if e.Plain || c.Kind() == trace.CollectiveEnd && e.carriesOperation(c) {
		return true
	}
	for _, v := range c.Ops() {
		r.Values = append(r.Values, intValue(int64(v)))
	}
	return true
}

// carriesOperation reports whether a user record must carry the row of an operation, because of its attributes. A plain
// trace has no such records.
func (e *encoder) carriesOperation(c *trace.Cursor) bool {
	keys, _ := c.Attrs()
	return len(keys) > 0 && !e.Plain || c.Derived()
}

// beginOperation returns the operation that begins with a row. Its event is 0 if the operands are not known, or if
// PICL has no event type for the operation.
func (e *encoder) beginOperation(c *trace.Cursor) (x writtenOperation) {
	o, ops := &e.ops, c.Ops()
	x.matching = c.Op(operandCount)
	if o.calls != nil {
		ops = o.calls.Standard(c)
	} else if end := o.held.Collective(c.Location()); end != nil && len(ops) == 0 {
		ops = end.Operands
	}
	if len(ops) < operandCount || e.w.opt.Brackets == Marks || e.w.opt.ParaGraph || e.carriesOperation(c) ||
		e.Defs.IsSelf(ops[1]) { // PICL has no subset that consists of the process itself
		return x
	}
	name, _ := trace.OperationName(ops[0])
	event, exact := operationEvent(name)
	if event == 0 {
		return x
	}
	x.event, x.length, x.root, x.subset = event, -1, -1, -1
	sent, received := ops[3], ops[4]
	length := sent
	if sent == 0 || sent == trace.Undefined {
		length = received
	}
	if length != trace.Undefined {
		x.length = int64(min(length, math.MaxInt64))
	}
	ranks := e.communicatorRanks(ops[1])
	if ops[2] < uint64(len(ranks)) && ranks[ops[2]] != trace.NoRef {
		x.root = processorOf(ranks[ops[2]])
	}
	if len(ranks) > 0 {
		x.subset = int64(ops[1])
	}
	if !exact || len(ranks) == 0 || !x.states(name, c.Location(), sent, received) {
		e.Rows.NoteField(c, "operands")
	}
	return x
}

// states reports whether readers find the numbers of bytes of an operation at a location in its record.
func (x *writtenOperation) states(name string, location uint32, sent, received uint64) bool {
	if x.length < 0 && name != "barrier" {
		return true // both numbers are unknown
	}
	s, r := operationBytes(name, x.root == processorOf(location), uint64(max(0, x.length)))
	return s == sent && r == received
}

// communicatorRanks returns the locations of the ranks of a communicator, or nil if they are not all known.
func (e *encoder) communicatorRanks(communicator uint64) []uint32 {
	if communicator >= uint64(e.Defs.Communicator.Len()) {
		return nil
	}
	list, ok := e.ops.ranks[communicator]
	if !ok {
		if list = e.ops.members.Ranks(uint32(communicator)); slices.Contains(list, trace.NoRef) {
			list = nil
		}
		e.ops.ranks[communicator] = list
	}
	return list
}

// communicatorRecords returns a subset record for each communicator whose members are known.
func (e *encoder) communicatorRecords() (records []Record) {
	for i := range e.Defs.Communicator.Len() {
		ranks := e.communicatorRanks(uint64(i))
		if len(ranks) == 0 {
			continue
		}
		r := Record{Type: TypeProcessSet, Event: splitEvent, Processor: -1, Process: -1,
			Values: []trace.Value{intValue(int64(i))}}
		for _, loc := range ranks {
			r.Values = append(r.Values, intValue(processorOf(loc)))
		}
		records = append(records, r)
	}
	return records
}

// splitEvent is the event type of MPI_Comm_split. A subset record with this event type lists the ranks of a
// communicator, which are processors.
const splitEvent = -812

// closeOperations removes temporary files.
func (e *encoder) closeOperations() {
	if e.ops.held != nil {
		e.ops.held.Close()
	}
}

// restoreOperation restores the begin or end of a collective operation from an entry or exit, whose operands follow the
// fields of the event type. An end without operands has a user record of its own. If the operands are invalid, bad
// describes them.
func (p *blockParser) restoreOperation(b *trace.Batch, loc uint32, t int64, h *head, vals []trace.Value,
	line int64) (bad string) {
	kind, spec := trace.CollectiveBegin, specOf(h.f[1])
	fields := spec.entry
	if h.f[0] == TypeExit {
		if kind, fields = trace.CollectiveEnd, spec.exit; len(vals) <= len(fields) {
			return ""
		}
	}
	if len(vals) < len(fields) || len(vals) > len(fields)+operandCount+1 {
		return fmt.Sprintf("event type %d with %s", h.f[1], plural.Of(len(vals), "value"))
	}
	var ops [operandCount + 1]uint64
	vals = vals[len(fields):]
	for i, v := range vals {
		ops[i] = uint64(v.Int())
		if !carrier.IsValidOperand(p.d.Model, p.d.Model.Spec(kind).Operands[i].Type, ops[i]) {
			return fmt.Sprintf("operand %d, a reference to nothing", v.Int())
		}
	}
	b.Add(loc, t, kind, trace.NoRef)
	if len(vals) > 0 {
		b.AddOps(ops[:len(vals)]...)
	}
	b.Pos = append(b.Pos, line)
	return ""
}

// addOperation adds the begin or end of a collective operation, if the event type is one. [operationEnds] adds the
// fields of the entry to the end.
func (p *blockParser) addOperation(b *trace.Batch, loc uint32, t int64, kind trace.Kind, event, line int64) {
	operation, ok := operationOf(event)
	if !ok {
		return
	}
	b.Add(loc, t, kind, trace.NoRef)
	if kind == trace.CollectiveEnd {
		b.AddOps(operation, trace.Undefined, trace.Undefined, trace.Undefined, trace.Undefined)
	}
	b.MarkDerived()
	b.Pos = append(b.Pos, line)
}

// operationEnds adds operands to the ends of collective operations, from the data fields of their entries.
type operationEnds struct {
	format.Sink
	d         *decoder
	open      map[openOperation][]operationFields
	members   *trace.Memberships
	ranks     map[uint32][]uint32 // locations of the ranks, by communicator
	locations int                 // number of locations for which ranks hold
}

// newOperationEnds returns a sink that completes operations and delivers them to another sink.
func newOperationEnds(d *decoder, sink format.Sink) *operationEnds {
	return &operationEnds{Sink: sink, d: d, open: map[openOperation][]operationFields{}, members: d.Model.Memberships(),
		ranks: map[uint32][]uint32{}}
}

// openOperation identifies the open operations of a type at a location.
type openOperation struct {
	location  uint32
	operation uint64
}

// operationFields holds the data fields of an entry; -1 stands for a field without a value.
type operationFields struct{ length, root, processes, processors int64 }

// Batch adds the operands and delivers the batch.
func (e *operationEnds) Batch(b *trace.Batch) error {
	o := &e.d.operations
	c := b.Cursor()
	for c.Next() {
		switch c.Kind() {
		case trace.Enter:
			if operation, ok := o.regions[c.Ref()]; ok {
				key := openOperation{c.Location(), operation}
				e.open[key] = append(e.open[key], e.fields(&c))
			}
		case trace.CollectiveEnd:
			ops := c.Ops()
			key := openOperation{c.Location(), ops[0]}
			if list := e.open[key]; len(list) > 0 {
				e.complete(c.Location(), ops, list[len(list)-1])
				if e.open[key] = list[:len(list)-1]; len(list) == 1 {
					delete(e.open, key)
				}
			}
		}
	}
	return e.Sink.Batch(b)
}

// fields returns the data fields of an entry.
func (e *operationEnds) fields(c *trace.Cursor) operationFields {
	x := operationFields{-1, -1, -1, -1}
	keys, values := c.Attrs()
	for i, k := range keys {
		v, ok := values[i].Whole()
		if !ok {
			continue
		}
		switch e.d.Model.Attributes.At(k).Name {
		case "length":
			x.length = v
		case "root":
			x.root = v
		case "processSubset":
			x.processes = v
		case "processorSubset":
			x.processors = v
		}
	}
	return x
}

// complete sets the operands of the end of an operation at a location.
func (e *operationEnds) complete(location uint32, ops []uint64, x operationFields) {
	d := e.d
	root, known := d.onlyLocation[x.root]
	known = known && x.root >= 0
	if communicator, ok := d.operations.communicator(x.processors, x.processes); ok {
		ops[1] = uint64(communicator)
		if known {
			if rank := slices.Index(e.ranksOf(communicator), root); rank >= 0 {
				ops[2] = uint64(rank)
			}
		}
	}
	isRoot := known && root == location
	if name, _ := trace.OperationName(ops[0]); x.length >= 0 || name == "barrier" {
		ops[3], ops[4] = operationBytes(name, isRoot, uint64(max(0, x.length)))
	}
}

// ranksOf returns the locations of the ranks of a communicator.
func (e *operationEnds) ranksOf(communicator uint32) []uint32 {
	if n := e.d.Model.Locations.Len(); n != e.locations { // a file that is still being written
		e.locations = n
		clear(e.ranks)
	}
	ranks, ok := e.ranks[communicator]
	if !ok {
		ranks = e.members.Ranks(communicator)
		e.ranks[communicator] = ranks
	}
	return ranks
}

// operationBytes returns the numbers of bytes that a process sends and receives in a collective operation on messages
// of a length.
func operationBytes(name string, isRoot bool, length uint64) (sent, received uint64) {
	switch name {
	case "barrier":
		return 0, 0
	case "broadcast":
		if isRoot {
			return length, 0
		}
		return 0, length
	case "scatter":
		if isRoot {
			return length, length
		}
		return 0, length
	case "gather", "reduce":
		if isRoot {
			return length, length
		}
		return length, 0
	}
	return length, length
}
