package transform

import (
	"cmp"
	"slices"

	"github.com/weft-trace/weft/trace"
)

// mostLaunches is the largest number of calls whose work has not ended that a piece repeats for a stream, and
// mostEarly the largest number of pieces of work that have ended before the calls that launch them.
const (
	mostLaunches = 1024
	mostEarly    = 16
)

// workQueue identifies kernels, or transfers, in a stream of a device, and the calls that launch them. stream is
// trace.NoRef for calls that name no stream.
type workQueue struct {
	stream    uint32
	transfers bool
}

// endedWork holds the calls for a queue that a thread has ended, or the work that a stream has ended.
type endedWork struct {
	count int64
	last  []endedOperation // the last ones; number i is at index i modulo the largest number of them
}

// deviceWork holds the calls of a thread that launch work on devices, and the work of a stream.
type deviceWork struct {
	ended    map[workQueue]*endedWork
	transfer openRow // the open transfer of a stream outside of regions; its kind is NoKind if there is none
}

// deviceRoles returns the roles of regions. It computes each of them once.
type deviceRoles struct {
	defs  *trace.Definitions
	known []bool
	roles []trace.Role
}

// hasStreams reports whether a trace has streams of devices.
func hasStreams(d *trace.Definitions) bool {
	for i := range d.Locations.Len() {
		if d.IsStream(uint32(i)) {
			return true
		}
	}
	return false
}

// role returns the role of a region.
func (r *deviceRoles) role(region uint32) trace.Role {
	for int64(region) >= int64(len(r.known)) {
		if !r.defs.Regions.Has(region) {
			return trace.UnknownRole
		}
		r.known, r.roles = append(r.known, false), append(r.roles, trace.UnknownRole)
	}
	if !r.known[region] {
		r.known[region], r.roles[region] = true, r.defs.RoleOf(region)
	}
	return r.roles[region]
}

// update processes the begin or the end of a visit, before b.state does.
func (r *deviceRoles) update(b *openBegins, x *trace.Cursor) {
	loc := x.Location()
	stream := r.defs.IsStream(loc)
	role := r.role(x.Ref())
	switch {
	case stream && x.Kind() == trace.Enter:
		if len(b.regions) == 0 && role != trace.WaitingRole {
			b.endTransfer(loc, openRow{trace.RMACompleteBlocking, b.transfer.ref, x.Time(), 0, b.transfer.completion()})
		}
		return
	case x.Kind() == trace.Enter, !stream && role != trace.LaunchRole && role != trace.TransferRole:
		return
	}
	i := b.among.Find(x.Ref(), len(b.regions), func(i int) uint32 { return b.regions[i].ref })
	end := openRow{trace.Leave, x.Ref(), x.Time(), 0, nil}
	switch {
	case i < 0:
	case stream && i == 0 && role != trace.WaitingRole:
		b.endWork(workQueue{loc, role == trace.TransferRole}, mostEarly, loc, &b.regions[i], end)
	case !stream && !r.isPart(b.regions[:i], role):
		b.endWork(r.queueOf(&b.regions[i]), mostLaunches, loc, &b.regions[i], end)
	}
}

// isPart reports whether a call with a role is a part of the innermost call in a list of open visits: a call of the
// driver in a call of the runtime.
func (r *deviceRoles) isPart(open []openRow, role trace.Role) bool {
	for _, o := range slices.Backward(open) {
		switch outer := r.role(o.ref); {
		case outer == role:
			return true
		case outer >= trace.SendRole && outer <= trace.CommunicationRole, outer == trace.LaunchRole,
			outer == trace.TransferRole, outer == trace.DeviceSyncRole:
			return false
		}
	}
	return false
}

// queueOf returns the queue of the work that a call launches.
func (r *deviceRoles) queueOf(call *openRow) workQueue {
	q := workQueue{trace.NoRef, r.role(call.ref) == trace.TransferRole}
	if call.row != nil {
		for _, v := range call.row.vals {
			if stream, ok := r.defs.StreamOf(v); ok {
				q.stream = stream
				break
			}
		}
	}
	return q
}

// endWork notes that a call or a piece of work has ended, and keeps the last ones.
func (w *deviceWork) endWork(q workQueue, most int, loc uint32, begin *openRow, end openRow) {
	e := w.ended[q]
	if e == nil {
		e = &endedWork{}
		setElement(&w.ended, q, e)
	}
	if len(e.last) < most {
		e.last = append(e.last, endedOperation{})
	}
	o := &e.last[int(e.count%int64(most))]
	e.count++
	kept := o.begin.row
	o.loc, o.begin, o.end = loc, *begin, end
	if o.begin.row = nil; begin.row != nil {
		if kept == nil {
			kept = &row{}
		}
		kept.set(begin.row.pos, begin.row.ops, begin.row.keys, begin.row.vals)
		o.begin.row = kept
	}
}

// updateTransfer processes a row of one-sided communication of a stream. Score-P records transfers of a stream in this
// way, outside of regions.
func (w *deviceWork) updateTransfer(x *trace.Cursor) {
	end := openRow{x.Kind(), x.Ref(), x.Time(), 0, nil}
	switch x.Kind() {
	case trace.RMAPut, trace.RMAGet:
		end.kind, end.row = trace.RMACompleteBlocking, w.transfer.completion()
		w.endTransfer(x.Location(), end)
		w.transfer = openRow{x.Kind(), x.Ref(), x.Time(), 0, copyRow(x)}
	case trace.RMACompleteBlocking, trace.RMACompleteNonBlocking:
		end.row = copyRow(x)
		w.endTransfer(x.Location(), end)
	}
}

// endTransfer ends the open transfer of a stream, if there is one.
func (w *deviceWork) endTransfer(loc uint32, end openRow) {
	if w.transfer.kind != trace.NoKind {
		w.endWork(workQueue{loc, true}, mostEarly, loc, &w.transfer, end)
	}
	w.transfer = openRow{}
}

// closing returns the kind and the operands of the row that ends an interval at the end of a piece.
func (o *openRow) closing() (trace.Kind, []uint64) {
	if k := pairOf(o.kind).close; k != trace.NoKind {
		return k, o.row.operands()
	}
	return trace.RMACompleteBlocking, o.completion().operands() // a transfer of a stream
}

// completion returns the operands of a row that completes an access to remote memory: the number of the access.
func (o *openRow) completion() *row {
	ops := o.row.operands()
	if len(ops) < 3 {
		return nil
	}
	return &row{ops: []uint64{ops[2]}}
}

// findDeviceWork finds the calls that the piece repeats because the work that they launch ends in the piece, and the
// work that it repeats because the call that launches it ends in the piece. The n-th call for a queue belongs to the
// n-th piece of work in it.
func (c *cut) findDeviceWork() {
	if !c.streams {
		return
	}
	d := c.Defs()
	roles, streams := &deviceRoles{defs: d}, d.Streams()
	type calls struct {
		ended int64
		last  []endedOperation
		open  int64 // number of open calls
	}
	queues := map[workQueue]*calls{}
	at := func(q workQueue, loc uint32) *calls {
		if list := streams.Of(loc); q.stream == trace.NoRef && len(list) == 1 {
			q.stream = list[0]
		}
		if queues[q] == nil {
			queues[q] = &calls{}
		}
		return queues[q]
	}
	for n, l := range c.openBegins {
		loc := uint32(n)
		if l == nil || d.IsStream(loc) {
			continue
		}
		for q, e := range l.ended {
			x := at(q, loc)
			x.ended += e.count
			x.last = append(x.last, e.last...)
		}
		for i := range l.regions {
			role := roles.role(l.regions[i].ref)
			if (role == trace.LaunchRole || role == trace.TransferRole) && !l.among.Gap(i) &&
				!roles.isPart(l.regions[:i], role) {
				at(roles.queueOf(&l.regions[i]), loc).open++
			}
		}
	}
	var repeated []endedOperation
	for q, x := range queues {
		if !d.IsStream(q.stream) || c.flows.wanted != nil && !c.flows.wanted(q.stream) {
			continue
		}
		work := &endedWork{}
		if s := c.openBegins.Get(q.stream); s != nil && s.ended[q] != nil {
			work = s.ended[q]
		}
		switch ahead := x.ended - work.count; {
		case ahead > 0 && ahead <= min(mostLaunches, int64(len(x.last))):
			repeated = append(repeated, latest(x.last, int(ahead))...)
		case ahead < 0 && -ahead <= min(x.open, int64(len(work.last))):
			repeated = append(repeated, latest(work.last, int(-ahead))...)
		}
	}
	for _, x := range latest(repeated, len(repeated)) {
		l := c.openBegins.At(x.loc)
		l.operations = append(l.operations, x)
	}
}

// latest sorts operations by their ends, and returns the last n of them.
func latest(list []endedOperation, n int) []endedOperation {
	slices.SortFunc(list, func(a, b endedOperation) int {
		return cmp.Or(cmp.Compare(a.end.time, b.end.time), cmp.Compare(a.loc, b.loc), cmp.Compare(a.begin.seq, b.begin.seq))
	})
	return list[len(list)-n:]
}
