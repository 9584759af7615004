package transform

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// RepairAttribute is the attribute of events that [Repair] has added: what was wrong.
const RepairAttribute = "repair"

// RepairRules are the changes that [Repair] makes.
var RepairRules = []format.Rule{
	{ID: "repair.closed-region", Severity: trace.Warning, Doc: "A region that is never left is left at the last event of its location.", Example: "enter main at 1 s; the last event of the location is at 9 s: main is left at 9 s"},
	{ID: "repair.dropped-leave", Severity: trace.Warning, Doc: "A leave of a region that is not open is left away.", Example: "leave f where f is not open"},
	{ID: "repair.entered-region", Severity: trace.Warning, Doc: "A region that is left but never entered is entered at the first event of its location.", Example: "with --orphans enter: the first event of a location is leave f at 3 s: f is entered at 3 s"},
	{ID: "repair.closed-inner-region", Severity: trace.Warning, Doc: "A region inside of one that is left is left with it.", Example: "enter f, enter g, leave f: g is left ahead of f"},
	{ID: "repair.closed-claim", Severity: trace.Warning, Doc: "A claim that never ends, or begins again, is ended.", Example: "claim 5 begins at 2 s and never ends: it ends at the last event"},
	{ID: "repair.dropped-claim-end", Severity: trace.Warning, Doc: "An end of a claim that has not begun is left away.", Example: "the end of claim 5, of which there was no begin"},
	{ID: "repair.time", Severity: trace.Warning, Doc: "An event before the one ahead of it at its location gets that one's time.", Example: "an event at 4 s behind one at 5 s: it gets 5 s"},
	{ID: "repair.named-region", Severity: trace.Warning, Doc: "A visit of nothing becomes one of a region named unknown.", Example: "an enter without a region, as of OTF2's undefined"},
}

// Repairing says how a trace is mended.
type Repairing struct {
	// Enter enters regions that are left and were never entered at the first event of their
	// location, as in traces that begin late; without it such leaves are left away.
	Enter bool
	// Nest closes what is open inside of a region that is left. Without it regions may
	// overlap, as in PICL.
	Nest bool
	// Report gets every change; it must not be nil.
	Report *format.Report
	// Path names the trace in reports.
	Path string
}

// Repair makes a sound trace of one whose regions and claims contradict each other. What
// its format gets wrong, such as times out of order, lengths, counts and missing
// definitions, its decoder has mended, and reports, when it delivers the events.
//
// Prepare reads the trace once. Memory is 16 bytes an open region and 48 bytes an open
// claim, and with Enter 4 bytes for each leave without an enter.
func Repair(d format.Decoder, r Repairing) format.Decoder {
	return &repair{around: around{d}, how: r}
}

type repair struct {
	around
	how      Repairing
	prepared bool
	mark     uint32 // attribute
	unknown  uint32 // region, NoRef until it is needed
	ends     byLocation[ending]
}

// ending is what is known of a location before the second pass.
type ending struct {
	rows    int64
	orphans []uint32 // regions left without enter, in their order
}

// Prepare finds out where each location ends.
func (r *repair) Prepare(ctx context.Context) error {
	if r.prepared {
		return nil
	}
	if err := format.Prepare(ctx, r.inner); err != nil {
		return err
	}
	d := r.Defs()
	r.mark = attribute(d, RepairAttribute, "this was added to mend the trace: what was wrong")
	r.unknown = trace.NoRef
	m := &mending{repair: r, quiet: true}
	sel := trace.Everything()
	sel.Links = false
	nothing := format.SinkFuncs{}
	err := r.inner.Scan(ctx, sel, func(int) format.Sink {
		return format.SinkFuncs{OnBatch: func(b *trace.Batch) error { return m.batch(b, nothing) }}
	})
	if err != nil {
		return err
	}
	for loc, l := range m.locs {
		if l != nil {
			e := r.ends.at(uint32(loc))
			e.rows, e.orphans = l.rows, l.orphans
		}
	}
	r.prepared = true
	return nil
}

// Scan delivers location by location.
func (r *repair) Scan(ctx context.Context, sel trace.Selection, sink func(int) format.Sink) error {
	return r.scan(ctx, sink(0), func(p format.Sink) error {
		return r.inner.Scan(ctx, r.selection(sel), func(int) format.Sink { return p })
	})
}

// ScanOrdered delivers in the order of time.
func (r *repair) ScanOrdered(ctx context.Context, sel trace.Selection, sink format.Sink) error {
	return r.scan(ctx, sink, func(p format.Sink) error { return r.inner.ScanOrdered(ctx, r.selection(sel), p) })
}

func (r *repair) selection(sel trace.Selection) trace.Selection {
	all := trace.Everything()
	all.Location, all.Links = sel.Location, sel.Links
	return all
}

func (r *repair) scan(ctx context.Context, sink format.Sink, scan func(format.Sink) error) error {
	if err := r.Prepare(ctx); err != nil {
		return err
	}
	return staged(ctx, &mending{repair: r}, sink, scan)
}

// mending is one scan.
type mending struct {
	*repair
	quiet bool // it only looks
	locs  byLocation[mended]
	out   trace.Batch
}

// mended is the state of a location.
type mended struct {
	begun   bool
	rows    int64
	last    int64
	open    []visited
	claims  map[int64]claimed // open ones by id
	seq     int64
	orphans []uint32
}

type visited struct {
	ref  uint32
	kind trace.Kind // Enter or ContextEnter
	time int64
}

type claimed struct {
	ref      uint32
	resource uint64
	seq      int64 // order of beginning
}

func (m *mending) report(rule string, loc uint32, x *trace.Cursor, t int64, found, expected string) {
	if m.quiet {
		return
	}
	pos := int64(0)
	if x != nil {
		pos = x.Pos()
	}
	d := m.Defs()
	m.how.Report.Add(&trace.Defect{Rule: rule, Severity: trace.Warning, Position: trace.Position{File: m.how.Path, Line: pos},
		Record: "location " + d.Locations.At(int(loc)).ID + " at " + d.Clock.FormatSeconds(t) + " s", Found: found, Expected: expected})
}

func (m *mending) region(k trace.Kind, ref uint32) string {
	if ref == trace.NoRef {
		return "nothing"
	}
	if k == trace.ContextEnter || k == trace.ContextLeave {
		return m.Defs().Contexts.At(int(ref)).Name
	}
	return m.Defs().Regions.At(int(ref)).Name
}

// named is the region of a visit of nothing.
func (m *mending) named(ref uint32) uint32 {
	if ref != trace.NoRef || m.quiet {
		return ref
	}
	if m.unknown == trace.NoRef {
		m.unknown = m.Defs().Regions.Add(trace.Region{Name: "unknown"})
	}
	return m.unknown
}

// add adds a row that was missing.
func (m *mending) add(loc uint32, t int64, k trace.Kind, ref uint32, why string, ops ...uint64) {
	m.out.Add(loc, t, k, ref)
	if len(ops) > 0 {
		m.out.AddOps(ops...)
	}
	m.out.AddAttr(m.mark, trace.StringValue(why))
}

func leaveOf(k trace.Kind) trace.Kind {
	if k == trace.ContextEnter {
		return trace.ContextLeave
	}
	return trace.Leave
}

// batch mends a batch.
func (m *mending) batch(b *trace.Batch, out format.Sink) error {
	m.out.Reset(b.Loc)
	x := b.Cursor()
	for x.Next() {
		loc := x.Location()
		l := m.locs.at(loc)
		if !l.begun {
			l.begun = true
			l.last = x.Time()
			if e := m.ends.get(loc); e != nil && m.how.Enter && !m.quiet {
				for i := len(e.orphans) - 1; i >= 0; i-- {
					m.add(loc, x.Time(), trace.Enter, m.named(e.orphans[i]), "not entered")
					m.report("repair.entered-region", loc, &x, x.Time(), "a leave of "+m.region(trace.Leave, e.orphans[i])+" further on", "an enter before it; it is added here")
					l.open = append(l.open, visited{e.orphans[i], trace.Enter, x.Time()})
				}
			}
		}
		m.row(l, loc, &x, b)
		l.rows++
		if e := m.ends.get(loc); e != nil && l.rows == e.rows && !m.quiet {
			m.end(l, loc)
		}
	}
	if m.out.Len() == 0 || m.quiet {
		return nil
	}
	return out.Batch(&m.out)
}

// row mends a row.
func (m *mending) row(l *mended, loc uint32, x *trace.Cursor, b *trace.Batch) {
	t, k, ref := x.Time(), x.Kind(), x.Ref()
	if t < l.last {
		m.report("repair.time", loc, x, t, "an event before the one ahead of it", "a time not before "+m.Defs().Clock.FormatSeconds(l.last)+" s, which it gets")
		t = l.last
	}
	l.last = t
	keep := true
	switch k {
	case trace.Enter, trace.ContextEnter:
		l.open = append(l.open, visited{ref, k, t})
	case trace.Leave, trace.ContextLeave:
		keep = m.leave(l, loc, x, t)
	case trace.ClaimBegin:
		id := int64(x.Op(0))
		if _, again := l.claims[id]; again {
			m.endClaim(l, loc, t, id, x)
		}
		if l.claims == nil {
			l.claims = map[int64]claimed{}
		}
		l.seq++
		l.claims[id] = claimed{ref, x.Op(1), l.seq}
	case trace.ClaimEnd:
		id := int64(x.Op(0))
		if _, keep = l.claims[id]; keep {
			delete(l.claims, id)
		} else {
			m.report("repair.dropped-claim-end", loc, x, t, fmt.Sprintf("an end of claim %d", id), "its begin before it; the end is left away")
		}
	}
	if !keep || m.quiet {
		return
	}
	m.out.AppendRow(x)
	n := m.out.Len() - 1
	m.out.Time[n] = t
	if ref == trace.NoRef && (k == trace.Enter || k == trace.Leave) {
		m.report("repair.named-region", loc, x, t, "a visit of nothing", "a region; it is called unknown")
		m.out.Ref[n] = m.named(ref)
	}
	// Rows that are added have no position or order, so the others cannot have any.
	m.out.Pos, m.out.Order = m.out.Pos[:0], m.out.Order[:0]
}

// leave closes the region that is left, and what is open inside of it; false drops it.
func (m *mending) leave(l *mended, loc uint32, x *trace.Cursor, t int64) bool {
	ref, begin := x.Ref(), trace.Enter
	if x.Kind() == trace.ContextLeave {
		begin = trace.ContextEnter
	}
	i := len(l.open) - 1
	for i >= 0 && (l.open[i].ref != ref || l.open[i].kind != begin) {
		i--
	}
	if i < 0 {
		if m.quiet && begin == trace.Enter {
			l.orphans = append(l.orphans, ref)
		}
		m.report("repair.dropped-leave", loc, x, t, "a leave of "+m.region(x.Kind(), ref), "an enter before it; the leave is left away")
		return false
	}
	if !m.how.Nest {
		l.open = append(l.open[:i], l.open[i+1:]...)
		return true
	}
	for j := len(l.open) - 1; j > i; j-- {
		v := l.open[j]
		m.add(loc, t, leaveOf(v.kind), m.named(v.ref), "left inside of another region")
		m.report("repair.closed-inner-region", loc, x, t, m.region(v.kind, v.ref)+" open inside of "+m.region(begin, ref)+", which is left", "its leave before; it is left here")
	}
	l.open = l.open[:i]
	return true
}

// endClaim ends an open claim.
func (m *mending) endClaim(l *mended, loc uint32, t, id int64, x *trace.Cursor) {
	c := l.claims[id]
	m.add(loc, t, trace.ClaimEnd, c.ref, "not ended", uint64(id), c.resource)
	m.report("repair.closed-claim", loc, x, t, fmt.Sprintf("claim %d open", id), "its end before; it is ended here")
	delete(l.claims, id)
}

// end closes what is open behind the last row of a location.
func (m *mending) end(l *mended, loc uint32) {
	ids := slices.SortedFunc(maps.Keys(l.claims), func(a, b int64) int { return cmp.Compare(l.claims[b].seq, l.claims[a].seq) })
	for _, id := range ids {
		m.endClaim(l, loc, l.last, id, nil)
	}
	for i := len(l.open) - 1; i >= 0; i-- {
		v := l.open[i]
		m.add(loc, l.last, leaveOf(v.kind), m.named(v.ref), "not left")
		m.report("repair.closed-region", loc, nil, l.last, m.region(v.kind, v.ref)+", entered at "+m.Defs().Clock.FormatSeconds(v.time)+" s, open", "its leave; it is left here")
	}
	l.open = nil
	if m.out.Len() > 0 {
		m.out.Pos, m.out.Order = m.out.Pos[:0], m.out.Order[:0]
	}
}

func (m *mending) flush(context.Context, format.Sink) error { return nil }

func (m *mending) links(l []trace.Link) []trace.Link { return l }
