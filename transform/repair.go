package transform

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/bylocation"
	"github.com/weft-trace/weft/internal/openset"
	"github.com/weft-trace/weft/trace"
)

// RepairAttribute is added to events that [Repair] inserts. Its value describes the defect.
const RepairAttribute = "repair"

// RepairOptions are the settings of [Repair].
type RepairOptions struct {
	// Enter makes Repair insert an enter for each region that is left without an enter, at the first event of
	// the location. Traces that begin late have such leaves. Without Enter, Repair drops such leaves.
	Enter bool
	// Nest makes Repair close all regions inside of a region when the region is left. Without Nest, regions
	// may overlap, as in PICL.
	Nest bool
	// Report receives each change as a defect. It must not be nil.
	Report *format.Report
	// Path is the name of the trace in reports.
	Path string
}

// Repair makes a trace consistent if its regions or claims contradict each other. The reader of a format
// repairs defects of the file, such as times out of order, wrong lengths and counts, and missing definitions.
// It reports these defects when it delivers the events.
//
// Prepare reads the trace once. Repair uses 24 bytes per open region, 112 bytes per open claim, one bit per id of a
// claim or mark, about 60 bytes per id that it changes and, with Enter, 4 bytes for each leave without an enter.
func Repair(d format.Events, r RepairOptions) format.Events {
	x := &repair{sameDefinitions: interleaved(d), how: r}
	own := newRewritten(transformed{x}, x.define)
	own.definer.into.whole = true
	own.Defs().Native, own.Defs().Retimed, own.Defs().Repaired = d.Defs().Native, d.Defs().Retimed, true
	own.Defs().Dropped = d.Defs().Dropped
	return transformed{&definedTrace{rewritten: own, repair: x}}
}

// repair is the state of a repaired trace, without the fields that concern missing definitions.
type repair struct {
	sameDefinitions
	how      RepairOptions
	prepared bool
	intact   bool   // no event needs a repair
	mark     uint32 // index of the attribute that marks repaired events
	unknown  uint32 // region of visits without a region; NoRef until it is needed
	ends     bylocation.List[locationEnd]
	// newIDs holds the new ids of claims and of marks whose ids are already in use. The first pass determines them, so
	// that they are the same in all scans, in whatever order these deliver the locations.
	newIDs [2]map[eventRow]int64
	// resourceUses holds the use of each undefined resource, by resource.
	resourceUses map[uint64]*resourceUse
	// tracing states for each region whether its visits enclose the traced time of a process, like the visits
	// of PICL's event type -901.
	tracing []bool
	// unnamed is the key that attributes without a key get. hasUnnamed is set if the trace has such
	// attributes.
	unnamed    string
	hasUnnamed bool
}

// resourceUse adds up the claims of an undefined resource.
type resourceUse struct {
	// offset is set if a claim has an offset.
	offset    bool
	now, most float64 // the amount in use now, and the greatest amount so far
}

// locationEnd holds the results of the first pass for a location.
type locationEnd struct {
	rows    int64
	orphans []uint32        // regions that are left without an enter, in the order of their leaves
	ends    map[int64]int64 // new ends of fragments; indexed by the number of the fragment
	// traced is the number of the row in which tracing ends. unendedEnters contains the numbers of
	// earlier rows with an enter whose leave is missing.
	traced        int64
	unendedEnters map[int64]bool
}

// Prepare reads the trace to determine where each location ends.
func (r *repair) Prepare(ctx context.Context) error {
	if r.prepared {
		return nil
	}
	if err := r.inner.Prepare(ctx); err != nil {
		return err
	}
	d := r.Defs()
	r.mark = attribute(d, RepairAttribute, "this was added to mend the trace: what was wrong")
	r.unknown = trace.NoRef
	if r.tracing = make([]bool, d.Regions.Len()); d.Conventions.EventTypes {
		for i := range r.tracing {
			r.tracing[i] = d.RoleOf(uint32(i)) == trace.TracingRole
		}
	}
	ok, err := r.isSound(ctx)
	if err != nil {
		return err
	}
	if r.intact, r.prepared = ok, true; ok {
		return nil
	}
	m := &repairScan{repair: r, surveyOnly: true}
	nothing := format.SinkFuncs{}
	// Of several claims with an id, the first one in the order of time keeps it.
	err = r.inner.Scan(ctx, trace.Events(), format.GlobalOrder,
		format.SinkFuncs{OnBatch: func(b *trace.Batch) error { return m.processBatch(b, nothing) }})
	if err != nil {
		r.prepared = false
		return err
	}
	for loc, l := range m.locs {
		if l != nil {
			e := r.ends.At(uint32(loc))
			e.rows, e.orphans, e.ends, e.traced = l.rows, l.orphans, l.ends, l.traced
			for i, v := range l.open {
				if v.row < l.traced && !l.among.Gap(i) {
					setElement(&e.unendedEnters, v.row, true)
				}
			}
		}
	}
	for set, rows := range m.sameIDs {
		for _, row := range rows {
			setElement(&r.newIDs[set], row, m.usedIDs[set].addNew())
		}
	}
	return nil
}

// addUse adds a claim of an undefined resource. It removes the claim if sign is -1.
func (r *repair) addUse(resource uint64, ops []uint64, sign float64) {
	if d := r.Defs(); resource >= uint64(d.Resources.Len()) || !d.Resources.At(uint32(resource)).Undefined {
		return
	}
	if r.resourceUses == nil {
		r.resourceUses = map[uint64]*resourceUse{}
	}
	h := r.resourceUses[resource]
	if h == nil {
		h = &resourceUse{}
		r.resourceUses[resource] = h
	}
	if len(ops) < 3 {
		return
	}
	amount := math.Float64frombits(ops[2])
	if h.now += sign * amount; len(ops) > 3 {
		h.offset = true
		h.most = max(h.most, math.Float64frombits(ops[3])+amount)
	}
	h.most = max(h.most, h.now)
}

// begin begins a scan of all times.
func (r *repair) begin(sel trace.Selection, _ format.Order, _ format.Sink) (stage, trace.Selection, error) {
	r.beginPass()
	m := &repairScan{repair: r}
	if r.intact {
		return &soundScan{m}, everything(sel), nil
	}
	return m, everything(sel), nil
}

// repairScan is one pass over a trace that is repaired.
type repairScan struct {
	passThrough
	*repair
	surveyOnly bool // set in the first pass, which does not change the trace
	changes    bool // set in the first pass if a row needs a repair
	placed     bool // the rows of the current batch have positions
	locs       bylocation.List[repairState]
	out        trace.Batch
	// usedIDs holds the ids in use, separately for claims, marks and links. Those of claims and marks are set only in the
	// first pass, and so are sameIDs, the rows whose ids earlier rows have.
	usedIDs [3]ids
	sameIDs [2][]eventRow
	// moved maps positions of claims and marks in the file to their new ids.
	moved map[int64]int64
}

// repairState is the state of a location. Times are in ticks.
type repairState struct {
	begun   bool
	rows    int64
	last    int64
	open    []unclosedVisit
	among   openset.Index[visitKey]
	claims  map[int64]openset.Queue[unclosedClaim, claimKey] // open claims by their original ids
	seq     int64
	orphans []uint32
	// curves holds the last fragment of each signal.
	curves map[uint32]fragment
	number int64           // number of fragments so far
	ends   map[int64]int64 // new ends of fragments; indexed by the number of the fragment
	traced int64           // row number of the last leave of tracing
}

// unclosedVisit is a visit that has not been left so far.
type unclosedVisit struct {
	ref  uint32
	kind trace.Kind // Enter or ContextEnter
	time int64
	row  int64 // row number of the enter; -1 if the enter was inserted
}

// fragment is a fragment of a signal: its number at the location, and its end in ticks.
type fragment struct{ number, end int64 }

// claimKey distinguishes claims with the same id: by position in the file, or by resource and activity.
type claimKey struct {
	pos      int64
	resource uint64
	ref      uint32
	isUse    bool // the key consists of resource and activity
}

// useKey returns the key that consists of resource and activity.
func useKey(ref uint32, resource uint64) claimKey {
	return claimKey{ref: ref, resource: resource, isUse: true}
}

// unclosedClaim is a claim that has not ended so far.
type unclosedClaim struct {
	id       int64 // the claim's new id
	ref      uint32
	resource uint64
	seq      int64    // number of the claim's begin at the location
	ops      []uint64 // operands of the claim's begin; set only in the first pass
}

// report reports a change to a row. If x is nil, the change is at time t.
func (rs *repairScan) report(rule string, loc uint32, x *trace.Cursor, t int64, found, expected string) {
	if rs.changes = true; rs.surveyOnly {
		return
	}
	pos := int64(0)
	if x != nil {
		pos = x.Pos()
	}
	d := rs.Defs()
	rs.how.Report.Add(&trace.Defect{Rule: rule, Severity: trace.Warning,
		Position: trace.Position{File: rs.how.Path, Line: pos},
		Record:   "location " + d.Locations.At(loc).ID + " at " + d.Clock.FormatSeconds(t) + " s", Found: found,
		Expected: expected})
}

// region returns the name of the region of a visit, for messages.
func (rs *repairScan) region(k trace.Kind, ref uint32) string {
	if ref == trace.NoRef {
		return "nothing"
	}
	if k == trace.ContextEnter || k == trace.ContextLeave {
		return rs.Defs().Contexts.At(ref).Name
	}
	return rs.Defs().Regions.At(ref).Name
}

// regionOrUnknown returns the region of a visit. For a visit without a region, it returns the region named
// unknown, which it defines if necessary.
func (rs *repairScan) regionOrUnknown(ref uint32) uint32 {
	if ref != trace.NoRef || rs.surveyOnly {
		return ref
	}
	if rs.unknown == trace.NoRef {
		rs.unknown = rs.Defs().Regions.Add(trace.Region{Name: "unknown"})
	}
	return rs.unknown
}

// add inserts a missing row. why becomes the value of its RepairAttribute.
func (rs *repairScan) add(loc uint32, t int64, k trace.Kind, ref uint32, why string, ops ...uint64) {
	rs.out.Add(loc, t, k, ref)
	if len(ops) > 0 {
		rs.out.AddOps(ops...)
	}
	rs.out.AddAttr(rs.mark, trace.StringValue(why))
	if rs.placed {
		rs.out.Pos = append(rs.out.Pos, 0)
	}
}

// leaveOf returns the kind that ends visits of kind k.
func leaveOf(k trace.Kind) trace.Kind {
	if k == trace.ContextEnter {
		return trace.ContextLeave
	}
	return trace.Leave
}

// processBatch delivers the repaired events of a batch.
func (rs *repairScan) processBatch(b *trace.Batch, out format.Sink) error {
	rs.out.Reset(b.Loc)
	rs.placed = len(b.Pos) > 0
	x := b.Cursor()
	for x.Next() {
		loc := x.Location()
		l := rs.locs.At(loc)
		if !l.begun {
			l.begun = true
			l.last = x.Time()
			if e := rs.ends.Get(loc); e != nil && rs.how.Enter && !rs.surveyOnly {
				for i := len(e.orphans) - 1; i >= 0; i-- {
					rs.add(loc, x.Time(), trace.Enter, rs.regionOrUnknown(e.orphans[i]), "not entered")
					rs.report("repair.entered-region", loc, &x, x.Time(),
						"a leave of "+rs.region(trace.Leave, e.orphans[i])+" further on", "an enter before it; repair adds it here")
					l.among.Open(visitKey{trace.Enter, e.orphans[i]}, len(l.open))
					l.open = append(l.open, unclosedVisit{e.orphans[i], trace.Enter, x.Time(), -1})
				}
			}
		}
		rs.repairRow(l, loc, &x)
		l.rows++
		if e := rs.ends.Get(loc); e != nil && l.rows == e.rows && !rs.surveyOnly {
			rs.end(l, loc)
		}
	}
	if rs.out.Len() == 0 || rs.surveyOnly {
		return nil
	}
	return out.Batch(&rs.out)
}

// repairRow appends a repaired event to a batch, or leaves it out.
func (rs *repairScan) repairRow(l *repairState, loc uint32, x *trace.Cursor) {
	t, k, ref := x.Time(), x.Kind(), x.Ref()
	if t < l.last {
		rs.report("repair.time", loc, x, t, "an event that is earlier than the event before it",
			"at least "+rs.Defs().Clock.FormatSeconds(l.last)+" s; repair sets this time")
		t = l.last
	}
	l.last = t
	keep := true
	switch k {
	case trace.Enter, trace.ContextEnter:
		l.among.Open(visitKey{k, ref}, len(l.open))
		l.open = append(l.open, unclosedVisit{ref, k, t, l.rows})
	case trace.Leave, trace.ContextLeave:
		if k == trace.Leave && int(ref) < len(rs.tracing) && rs.tracing[ref] {
			rs.endTracing(l, loc, x, t)
		}
		keep = rs.leave(l, loc, x, t)
	case trace.ClaimBegin:
		rs.beginClaim(l, loc, x, t)
		return
	case trace.ClaimEnd:
		rs.leaveClaim(l, loc, x, t)
		return
	case trace.Mark:
		if id := x.Op(0); id != trace.Undefined {
			if ops := rs.renumber(1, loc, x, t, "mark"); ops != nil {
				rs.keep(x, t, ref, ops)
				return
			}
		}
	case trace.Fragment:
		if ops, drop := rs.fragment(l, loc, x, t); ops != nil || drop {
			if !drop {
				rs.keep(x, t, ref, ops)
			}
			return
		}
	}
	if !keep {
		return
	}
	if ref == trace.NoRef && (k == trace.Enter || k == trace.Leave) {
		rs.report("repair.named-region", loc, x, t, "a visit without a region", "a region; repair names it unknown")
		ref = rs.regionOrUnknown(ref)
	}
	rs.keep(x, t, ref, x.Ops())
}

// keep delivers a row with the given time, reference and operands.
func (rs *repairScan) keep(x *trace.Cursor, t int64, ref uint32, ops []uint64) {
	if rs.surveyOnly {
		return
	}
	rs.out.Add(x.Location(), t, x.Kind(), ref)
	if ops != nil {
		rs.out.AddOps(ops...)
	}
	keys, vals := x.Attrs()
	for i, k := range keys {
		rs.out.AddAttr(k, vals[i])
	}
	if x.Derived() {
		rs.out.MarkDerived()
	}
	if rs.placed {
		rs.out.Pos = append(rs.out.Pos, x.Pos())
	}
}

// renumber returns the operands of a claim or mark with a new id, if the id of the claim or mark is already in
// use. Otherwise it returns nil. set is the index in usedIDs.
func (rs *repairScan) renumber(set int, loc uint32, x *trace.Cursor, t int64, what string) []uint64 {
	id := int64(x.Op(0))
	row := eventRow{loc, rs.locs.At(loc).rows}
	if rs.surveyOnly {
		if rs.usedIDs[set].has(id) {
			rs.sameIDs[set] = append(rs.sameIDs[set], row)
		}
		rs.usedIDs[set].add(id)
		return nil
	}
	now, ok := rs.newIDs[set][row]
	if !ok {
		return nil
	}
	rs.report("repair.renumbered", loc, x, t, fmt.Sprintf("another %s %d", what, id),
		fmt.Sprintf("another id; repair uses %d", now))
	ops := slices.Clone(x.Ops())
	ops[0] = uint64(now)
	if x.Pos() > 0 {
		setElement(&rs.moved, x.Pos(), now)
	}
	return ops
}

// beginClaim opens a claim, and delivers its begin.
func (rs *repairScan) beginClaim(l *repairState, loc uint32, x *trace.Cursor, t int64) {
	ops := x.Ops()
	if len(ops) == 0 {
		rs.keep(x, t, x.Ref(), ops)
		return
	}
	if o := rs.renumber(0, loc, x, t, "claim"); o != nil {
		ops = o
	}
	if d := rs.Defs(); len(ops) > 1 && ops[1] < uint64(d.Resources.Len()) {
		if rs.surveyOnly {
			rs.addUse(ops[1], ops, 1)
		}
		switch r := d.Resources.At(uint32(ops[1])); {
		case r.Undefined && (rs.resourceUses[ops[1]] == nil || !rs.resourceUses[ops[1]].offset || len(ops) > 3):
		case (r.UsesOffset || r.Undefined) && len(ops) == 3:
			rs.report("repair.claim-offset", loc, x, t, "a claim of "+r.Label()+" without offset", "an offset; repair adds 0")
			ops = append(slices.Clone(ops), 0)
		case !r.UsesOffset && len(ops) > 3:
			rs.report("repair.claim-offset", loc, x, t, "a claim of "+r.Label()+" with an offset", "none; repair removes it")
			ops = ops[:3]
		}
	}
	if l.claims == nil {
		l.claims = map[int64]openset.Queue[unclosedClaim, claimKey]{}
	}
	l.seq++
	c := unclosedClaim{id: int64(ops[0]), ref: x.Ref(), resource: trace.Undefined, seq: l.seq}
	if rs.surveyOnly {
		c.ops = slices.Clone(ops)
	}
	if len(ops) > 1 {
		c.resource = ops[1]
	}
	open := l.claims[int64(x.Op(0))]
	open.Open(c, [2]claimKey{{pos: x.Pos()}, useKey(c.ref, c.resource)})
	l.claims[int64(x.Op(0))] = open
	rs.keep(x, t, x.Ref(), ops)
}

// leaveClaim ends a claim. If several open claims have the id, it ends the claim from the same line of the
// file. If there is no such claim, it ends the first claim with the same activity and resource, and otherwise
// the first claim.
func (rs *repairScan) leaveClaim(l *repairState, loc uint32, x *trace.Cursor, t int64) {
	id := int64(x.Op(0))
	open := l.claims[id]
	if open.Len() == 0 {
		rs.report("repair.dropped-claim-end", loc, x, t, fmt.Sprintf("an end of claim %d", id),
			"its begin before it; repair removes the end")
		return
	}
	i := open.Find(claimKey{pos: x.Pos()})
	if i < 0 {
		i = open.Find(useKey(x.Ref(), x.Op(1)))
	}
	if i < 0 {
		i = open.First()
	}
	c := open.At(i)
	if open.Close(i); open.Len() == 0 {
		delete(l.claims, id)
	} else {
		l.claims[id] = open
	}
	if rs.surveyOnly {
		rs.addUse(c.resource, c.ops, -1)
	}
	ops := slices.Clone(x.Ops())
	ops[0] = uint64(c.id)
	rs.keep(x, t, x.Ref(), ops)
}

// fragment returns the operands of a fragment whose end must change. It returns nil for other
// fragments. drop is set if nothing of the fragment remains.
func (rs *repairScan) fragment(l *repairState, loc uint32, x *trace.Cursor, t int64) (ops []uint64, drop bool) {
	l.number++
	if len(x.Ops()) == 0 {
		return nil, false
	}
	if rs.surveyOnly {
		if l.curves == nil {
			l.curves = map[uint32]fragment{}
		}
		if before, ok := l.curves[x.Ref()]; ok && before.end != t {
			setElement(&l.ends, before.number, t)
		}
		l.curves[x.Ref()] = fragment{l.number, int64(x.Op(0))}
		return nil, false
	}
	e := rs.ends.Get(loc)
	if e == nil {
		return nil, false
	}
	end, ok := e.ends[l.number]
	if !ok {
		return nil, false
	}
	seconds := rs.Defs().Clock.FormatSeconds
	if end <= t {
		rs.report("repair.signal", loc, x, t, "another fragment that begins at the same time or before",
			"a later fragment; repair removes this one")
		return nil, true
	}
	rs.report("repair.signal", loc, x, t, "an end at "+seconds(int64(x.Op(0)))+" s",
		"the begin of the next fragment, "+seconds(end)+" s; repair ends it there")
	ops = slices.Clone(x.Ops())
	ops[0] = uint64(end)
	return ops, false
}

// leave closes the region that a row leaves and, with Nest, the regions inside of it. It returns false
// if the row must be dropped.
func (rs *repairScan) leave(l *repairState, loc uint32, x *trace.Cursor, t int64) bool {
	ref, begin := x.Ref(), trace.Enter
	if x.Kind() == trace.ContextLeave {
		begin = trace.ContextEnter
	}
	key := visitKey{begin, ref}
	i := l.among.Find(key, len(l.open), func(i int) visitKey { return visitKey{l.open[i].kind, l.open[i].ref} })
	if i < 0 {
		if rs.surveyOnly && begin == trace.Enter {
			l.orphans = append(l.orphans, ref)
		}
		rs.report("repair.dropped-leave", loc, x, t, "a leave of "+rs.region(x.Kind(), ref),
			"an enter before it; repair removes the leave")
		return false
	}
	if !rs.how.Nest {
		l.open = openset.Close(&l.among, l.open, i, key)
		return true
	}
	for j := len(l.open) - 1; j > i; j-- {
		v := l.open[j]
		l.open = openset.Close(&l.among, l.open, j, visitKey{v.kind, v.ref})
		rs.add(loc, t, leaveOf(v.kind), rs.regionOrUnknown(v.ref), "left inside of another region")
		rs.report("repair.closed-inner-region", loc, x, t,
			rs.region(v.kind, v.ref)+" open inside of "+rs.region(begin, ref)+", which is left",
			"its leave before; repair adds it here")
	}
	l.open = openset.Close(&l.among, l.open, i, key)
	return true
}

// endTracing closes the visits without a leave at the last leave of tracing, because later events are not
// traced.
func (rs *repairScan) endTracing(l *repairState, loc uint32, x *trace.Cursor, t int64) {
	if rs.surveyOnly {
		l.traced = l.rows
		return
	}
	e := rs.ends.Get(loc)
	if e == nil || e.traced != l.rows {
		return
	}
	for i := len(l.open) - 1; i >= 0; i-- {
		if i >= len(l.open) || l.among.Gap(i) || !e.unendedEnters[l.open[i].row] || l.open[i].ref == x.Ref() {
			continue // closeVisit has moved the following visits to lower indexes
		}
		v := l.open[i]
		key := visitKey{v.kind, v.ref}
		latest := l.among.Find(key, len(l.open), func(i int) visitKey { return visitKey{l.open[i].kind, l.open[i].ref} })
		if latest != i {
			continue // only the last visit of a region can be closed
		}
		l.open = openset.Close(&l.among, l.open, i, key)
		rs.closeVisit(loc, v, t)
	}
}

// closeVisit inserts the missing leave of a visit.
func (rs *repairScan) closeVisit(loc uint32, v unclosedVisit, t int64) {
	rs.add(loc, t, leaveOf(v.kind), rs.regionOrUnknown(v.ref), "not left")
	rs.report("repair.closed-region", loc, nil, t,
		rs.region(v.kind, v.ref)+", entered at "+rs.Defs().Clock.FormatSeconds(v.time)+" s, open",
		"its leave; repair adds it here")
}

// end closes all visits, claims and other intervals that are open after the last row of a location.
func (rs *repairScan) end(l *repairState, loc uint32) {
	var open []unclosedClaim
	for _, list := range l.claims {
		open = append(open, list.All()...)
	}
	slices.SortFunc(open, func(a, b unclosedClaim) int { return cmp.Compare(b.seq, a.seq) })
	for _, c := range open {
		rs.add(loc, l.last, trace.ClaimEnd, c.ref, "not ended", uint64(c.id), c.resource)
		rs.report("repair.closed-claim", loc, nil, l.last, fmt.Sprintf("claim %d open", c.id),
			"its end before; repair adds it here")
	}
	l.claims = nil
	for i := len(l.open) - 1; i >= 0; i-- {
		v := l.open[i]
		if l.among.Gap(i) {
			continue
		}
		rs.closeVisit(loc, v, l.last)
	}
	l.open = nil
	l.among.Reset()
}

// links drops links with an end that does not exist in the trace.
func (rs *repairScan) links(l []trace.Link) []trace.Link {
	var keep []trace.Link
	report := func(rule string, x *trace.Link, found, expected string) {
		rs.how.Report.Add(&trace.Defect{Rule: rule, Severity: trace.Warning,
			Position: trace.Position{File: rs.how.Path, Line: x.Pos}, Record: fmt.Sprint("link ", x.ID), Found: found,
			Expected: expected})
	}
	for _, x := range l {
		if x.Src.Location == trace.NoRef || x.Dst.Location == trace.NoRef {
			report("repair.dropped-link", &x, "an end that is not in the trace",
				"two ends in the trace; repair removes the link")
			continue
		}
		for _, e := range []*trace.End{&x.Src, &x.Dst} {
			if id, ok := rs.moved[e.Pos]; ok && e.Pos > 0 {
				e.ID = id
			}
		}
		if !rs.usedIDs[2].has(x.ID) {
			rs.usedIDs[2].add(x.ID)
		} else {
			id := rs.usedIDs[2].addNew()
			report("repair.renumbered", &x, fmt.Sprint("another link ", x.ID), fmt.Sprint("another id; repair uses ", id))
			x.ID = id
		}
		if rs.unnamed != "" && slices.ContainsFunc(x.Attrs, func(a trace.Attr) bool { return a.Key == "" }) {
			rs.reportUnnamed()
			x.Attrs = slices.Clone(x.Attrs)
			for i := range x.Attrs {
				x.Attrs[i].Key = cmp.Or(x.Attrs[i].Key, rs.unnamed)
			}
		}
		keep = append(keep, x)
	}
	return keep
}
