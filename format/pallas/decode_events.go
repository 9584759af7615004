package pallas

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/weft-trace/weft/trace"
)

// eventInfo holds the properties of an event that all its occurrences share, in terms of the common model.
type eventInfo struct {
	kind    trace.Kind
	more    bool // occurrences have operands or attributes
	ref     uint32
	ops     []uint64
	payload []byte // payload of a record for which the format defines no fields
	rank    uint64 // rank of a peer whose location is unknown, or NoRef
	comm    uint64 // undefined communicator of the event, or NoRef
}

// openMP is the number of the threading paradigm OpenMP, as in OTF2.
const openMP = 3

// recordKinds maps records that the format defines to kinds of the common model. before and after are operands
// to add before and after the operands from the payload.
var recordKinds = [maxRecord]struct {
	kind          trace.Kind
	before, after []uint64
}{
	Enter: {kind: trace.Enter}, Leave: {kind: trace.Leave}, Generic: {kind: trace.Generic},
	MPISend: {kind: trace.Send}, MPIIsend: {kind: trace.SendBegin}, MPIIsendComplete: {kind: trace.SendComplete},
	MPIRecv: {kind: trace.Recv}, MPIIrecv: {kind: trace.RecvComplete}, MPIIrecvRequest: {kind: trace.RecvBegin},
	MPICollectiveBegin: {kind: trace.CollectiveBegin}, MPICollectiveEnd: {kind: trace.CollectiveEnd},
	OMPFork:         {trace.ThreadFork, nil, []uint64{openMP}},
	OMPJoin:         {trace.ThreadJoin, nil, []uint64{openMP}},
	OMPAcquireLock:  {trace.LockAcquire, nil, []uint64{trace.Undefined, openMP}},
	OMPReleaseLock:  {trace.LockRelease, nil, []uint64{trace.Undefined, openMP}},
	OMPTaskCreate:   {trace.TaskCreate, []uint64{trace.Undefined, trace.Undefined}, nil},
	OMPTaskSwitch:   {trace.TaskSwitch, []uint64{trace.Undefined, trace.Undefined}, nil},
	OMPTaskComplete: {trace.TaskComplete, []uint64{trace.Undefined, trace.Undefined}, nil},
	ThreadFork:      {kind: trace.ThreadFork}, ThreadJoin: {kind: trace.ThreadJoin},
	ThreadTeamBegin: {kind: trace.ThreadTeamBegin}, ThreadTeamEnd: {kind: trace.ThreadTeamEnd},
	ThreadAcquireLock: {kind: trace.LockAcquire}, ThreadReleaseLock: {kind: trace.LockRelease},
	ThreadTaskCreate: {kind: trace.TaskCreate}, ThreadTaskSwitch: {kind: trace.TaskSwitch},
	ThreadTaskComplete: {kind: trace.TaskComplete},
	ThreadBegin:        {kind: trace.ThreadBegin}, ThreadEnd: {kind: trace.ThreadEnd},
}

// event translates event i of a thread to the common model.
func (d *decoder) event(s *scope, t *Thread, i int) (in eventInfo, err error) {
	e := &t.Events[i]
	in = eventInfo{ref: trace.NoRef, rank: uint64(NoRef), comm: uint64(NoRef)}
	v, ok := e.Record.Values(e.Payload)
	if !ok || e.Record == Invalid {
		in.kind, in.payload = d.kind(e.Record), e.Payload
		d.attribute(&d.payload, payloadName, trace.Bytes)
		return in, nil
	}
	if d.restorer != nil {
		var err error
		if v, err = d.carriedOps(e.Record, v); err != nil {
			if err := d.opt.Defect(&trace.Defect{Rule: "pallas.carried", Severity: trace.Error,
				Position: t.eventPosition(i), Found: err.Error(),
				Expected: "the data that weft wrote; the operand is unknown"}); err != nil {
				return in, err
			}
		}
	}
	comm := func(r uint64) uint64 {
		if d.restorer != nil {
			return r
		}
		if i, ok := lookUp(s, scopeComms, Ref(r)); ok {
			return uint64(i)
		}
		if r != uint64(NoRef) {
			in.comm = r
			d.attribute(&d.comm, commName, trace.Uint32)
		}
		return trace.Undefined
	}
	message := func() []uint64 {
		if d.restorer != nil {
			return v
		}
		p := d.peer(s, Ref(v[1]), v[0])
		if p == trace.Undefined {
			in.rank = v[0]
			d.attribute(&d.rank, rankName, trace.Uint32)
		}
		tag := v[2]
		if tag == uint64(NoRef) {
			tag = math.MaxUint64 // −1 stands for any tag
		}
		return append([]uint64{p, comm(v[1]), tag}, v[3:]...)
	}
	k := &recordKinds[e.Record]
	switch in.kind = k.kind; in.kind {
	case trace.Enter, trace.Leave:
		defined := false
		if in.ref, defined = d.region(s, Ref(v[0])); !defined {
			err = d.opt.Defect(&trace.Defect{Rule: "pallas.undefined", Severity: trace.Warning,
				Position: t.eventPosition(i),
				Found:    fmt.Sprintf("event %d with the region %d", i, v[0]),
				Expected: "one that the trace defines; weft uses a stand-in"})
		}
	case trace.Send, trace.SendBegin, trace.Recv, trace.RecvComplete:
		in.ops = message()
	case trace.CollectiveEnd:
		root := v[2]
		if root == uint64(NoRef) {
			root = trace.Undefined
		}
		in.ops = []uint64{v[0], comm(v[1]), root, v[3], v[4]}
	case trace.Generic:
		if i, ok := lookUp(s, scopeStrings, Ref(v[0])); ok {
			in.ref = i
		}
	default:
		in.ops = slices.Concat(k.before, v, k.after)
	}
	return in, err
}

// kindName returns the name of a kind for a record, made from the record's name.
func kindName(r Record) string {
	return strings.NewReplacer("_", "-", " ", "-").Replace(strings.ToLower(r.String()))
}

// value translates an attribute's value to the common model.
func (m *model) value(s *scope, v Value) (key uint32, out trace.Value, size int) {
	n := v.Uint()
	i := m.attr(s, v.Attribute)
	m.mu.Lock()
	defer m.mu.Unlock()
	out = trace.Value{Num: n, Type: m.defs.Attributes.At(i).Type}
	size = sizeOf(out.Type)
	ref := func(i uint32, ok bool) {
		if out.Num = uint64(i); !ok {
			out.Num, out.Type = n, trace.Uint32 // the ref has no definition
		}
	}
	if x, known, ok := s.d.scalar(out.Type, v); known {
		if out = x; !ok {
			out = trace.Value{Num: n, Type: trace.Uint32}
		}
		return i, out, size
	}
	switch out.Type {
	case trace.None:
	case trace.LocationRef:
		l, ok := m.anyID[uint32(n)]
		ref(l, ok)
	case trace.RegionRef:
		ref(lookUp(s, scopeRegions, Ref(n)))
	case trace.GroupRef:
		ref(lookUp(s, scopeSets, Ref(n)))
	case trace.CommRef:
		ref(lookUp(s, scopeComms, Ref(n)))
	case trace.AttributeRef:
		ref(lookUp(s, scopeAttributes, Ref(n)))
	case trace.LocationGroupRef:
		g, ok := m.groups[uint32(n)]
		ref(g, ok)
	default:
		if out.Type = trace.Uint32; len(v.Bytes) != 4 {
			out = trace.Value{Type: trace.Bytes, Str: string(v.Bytes)}
		}
	}
	return i, out, size
}

// sizeOf returns the number of bytes of a value of a type. Values of undefined attributes have any number, for which
// the result is -1.
func sizeOf(t trace.Type) int {
	switch t {
	case trace.Bytes:
		return -1
	case trace.None:
		return 0
	case trace.Uint8, trace.Int8:
		return 1
	case trace.Uint16, trace.Int16:
		return 2
	case trace.Uint64, trace.Int64, trace.Float64:
		return 8
	}
	return 4 // other numbers, and refs
}

// scalar returns a value that is a number or a text. known is false for other types. ok is false for a text that is
// not defined.
func (d *Definitions) scalar(t trace.Type, v Value) (out trace.Value, known, ok bool) {
	if t == trace.String {
		text, ok := d.Text(Ref(v.Uint()))
		return trace.Value{Type: t, Str: text}, true, ok
	}
	n, known := number(t, v.Uint())
	return trace.Value{Type: t, Num: n}, known, known
}

// number returns the value of a type of numbers whose lower bytes, as many as the type has, are those of n. ok is false
// for other types.
func number(t trace.Type, n uint64) (value uint64, ok bool) {
	switch t {
	case trace.Int8:
		return uint64(int8(n)), true
	case trace.Int16:
		return uint64(int16(n)), true
	case trace.Int32:
		return uint64(int32(n)), true
	case trace.Uint8:
		return uint64(uint8(n)), true
	case trace.Uint16:
		return uint64(uint16(n)), true
	case trace.Uint32, trace.Float32:
		return uint64(uint32(n)), true
	case trace.Uint64, trace.Int64, trace.Float64:
		return n, true
	}
	return 0, false
}
