package transform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/collective"
	"github.com/weft-trace/weft/trace"
)

// MergeOptions are the settings of [Merge].
type MergeOptions struct {
	// Zero holds a time for each trace, in ticks of the trace's own clock. All these times stand for the same
	// moment. In the merged trace, the time of this moment is the time that it has in the first trace. Nil
	// means tick 0 of each trace.
	Zero []int64
	// Wall aligns the traces by the time of day. In that case, Zero has no effect, and all traces must have an
	// epoch. The common clock is chosen such that each epoch is at a whole tick.
	Wall bool
	// Unify makes one entry of the locations, groups, communicators, windows, calling contexts, handles, resources
	// and metrics of different traces that have the same id and name. Without Unify, the entries of different traces
	// stay separate. Signals become one signal only if the fragments of one trace begin where the fragments of
	// another trace end.
	Unify bool
}

// Merge puts traces on one time line. Equal regions, attributes, parameters, files and other names become one
// entry. Locations, communicators and all other definitions that belong to a run stay separate, unless Unify
// is set. An id that is in use is replaced by the next number.
//
// Clocks with different ticks become one clock that has the ticks of all. Traces with different epochs need a
// clock on which the difference between the epochs is a whole number of ticks. If that clock would exceed
// 10^15 ticks a second, or if times of a trace would not fit it, the common clock has picoseconds or, if these
// do not fit either, the shortest ticks of all traces. Times are then rounded, and [MergedTrace.Rounded]
// counts them. If clocks or epochs differ, Merge needs the extent of each trace, for which it has to read
// traces of some formats.
//
// If several traces have claims or marks with ids, Merge makes the ids different. With n traces, an id becomes
// id × n + the number of its trace. [MergedTrace.Lost] reports ids for which the result does not fit 64 bits.
//
// Traces of PICL have data that refer to processors, event types and subsets by number. They keep these
// numbers if possible. Otherwise the numbers in the data change too, as far as possible ([MergedTrace.Lost]).
// Merge reads such traces once to find the numbers. If no two traces have records of the same processor, or if
// Unify is set, the traces are regarded as parts of one run.
//
// Events with equal times come in the order of the traces. Merge holds one batch of each trace in memory,
// besides the memory of its reader.
func Merge(ctx context.Context, list []format.Events, m MergeOptions) (*MergedTrace, error) {
	if len(list) == 0 {
		return nil, errors.New("merge: found no trace, expected at least one")
	}
	if m.Zero != nil && len(m.Zero) != len(list) {
		return nil, fmt.Errorf("merge: found %d simultaneous times, expected %d", len(m.Zero), len(list))
	}
	x := &MergedTrace{}
	to := &target{defs: &x.defs, same: m.mergeKey}
	first := list[0].Defs()
	var apart []int64 // nanoseconds from the epoch of the first trace to the epoch of each trace; indexed by trace
	if m.Wall {
		m.Zero = nil
		var err error
		if apart, err = epochDistances(list); err != nil {
			return nil, err
		}
	}
	zero := func(i int) int64 {
		if m.Zero == nil {
			return 0
		}
		return m.Zero[i]
	}
	var base []int64 // times in the merged trace that correspond to the times in Zero
	var err error
	if x.defs.Clock, base, err = commonClock(ctx, list, zero, apart); err != nil {
		return nil, err
	}
	x.defs.Clock.Epoch, x.defs.Clock.HasEpoch = first.Clock.Epoch, first.Clock.HasEpoch
	x.defs.Format, x.defs.Origin, x.defs.Conventions = first.Format, first.Origin, first.Conventions
	x.defs.ClaimLines, x.defs.Layout = first.ClaimLines && len(list) == 1, first.Layout
	if len(list) == 1 {
		to.same, to.whole = nil, true // keep entries of the same trace separate even if they are equal
		if zero(0) == 0 {
			x.defs.Native, x.defs.Retimed, x.defs.Repaired = first.Native, first.Retimed, first.Repaired
			x.defs.Dropped, x.defs.ByLocation = first.Dropped, first.ByLocation
		}
	}
	for _, d := range list {
		if err := d.Prepare(ctx); err != nil {
			return nil, err
		}
	}
	if x.numbers, err = newNumbering(ctx, list, m.Unify, &x.defs); err != nil {
		return nil, err
	}
	if x.numbers != nil {
		to.same, to.whole = m.sameNumber, true
	}
	for i, d := range list {
		src := d.Defs()
		if src.Origin != x.defs.Origin {
			x.defs.Origin, x.defs.Conventions = "", trace.Conventions{}
		}
		if src.Format != x.defs.Format {
			x.defs.Format = ""
		}
		if src.Layout != x.defs.Layout {
			x.defs.Layout = ""
		}
		p := &mergeInput{inner: d, number: i, inputs: len(list), clock: src.Clock, to: x.defs.Clock, zero: zero(i),
			base:    base[i],
			rounded: &x.Rounded, large: &x.largeIDs,
			definer: newDefiner(src, to)}
		p.definer.variants = map[entryKey]int{}
		units := unitSeconds(x.defs.Clock)
		units.Quo(units, unitSeconds(src.Clock))
		p.more, _ = new(big.Float).SetInt(units.Num()).Float64()
		p.less, _ = new(big.Float).SetInt(units.Denom()).Float64()
		x.list = append(x.list, p)
		if x.numbers == nil {
			continue
		}
		p.numbers = x.numbers[i]
		p.definer.edit = p.numbers.edit
		for j := range src.Locations.Len() {
			// The record of the other trace has more information about the location.
			if src.Locations.At(uint32(j)).Kind != trace.PeerLocation {
				p.definer.lookup(locations, uint32(j))
			}
		}
	}
	if m.Unify {
		if err := x.chainSignals(ctx); err != nil {
			return nil, err
		}
	}
	x.copyGlobals()
	if len(list) > 1 {
		return x, x.join(ctx)
	}
	return x, nil
}

// join sets the native form of the merged definitions, if the native forms of the traces can be joined.
func (mt *MergedTrace) join(ctx context.Context) error {
	if mt.defs.Format == "" {
		return nil
	}
	parts := &trace.SourceTraces{First: math.MaxInt64}
	for _, p := range mt.list {
		native, ok := p.src.Native.(trace.Joinable)
		if !ok || p.src.Repaired || !native.Joinable() && mt.shared() {
			return nil
		}
		first, _, ok, err := format.Extent(ctx, p.inner)
		if err != nil {
			return err
		}
		if at, _, fits := p.onCommonClock(first); ok && fits {
			parts.First = min(parts.First, at)
		}
		parts.List = append(parts.List, trace.SourceTrace{Defs: p.src, Retimed: !p.keepsTimes() || p.src.Retimed,
			Index: p.definer.mappedIndex, Time: func(t int64) (int64, bool) {
				t, _, ok := p.onCommonClock(t)
				return t, ok
			}, Operation: p.operation})
	}
	mt.defs.Native = parts
	return nil
}

// epochDistances returns the number of nanoseconds from the epoch of the first trace to the epoch of each
// trace.
func epochDistances(list []format.Events) (apart []int64, err error) {
	first := list[0].Defs().Clock
	for i, d := range list {
		c := d.Defs().Clock
		if !c.HasEpoch {
			return nil, fmt.Errorf("merge: trace %d has no time of day of its recording", i+1)
		}
		ns := c.Epoch - first.Epoch
		if (c.Epoch < first.Epoch) != (ns < 0) {
			return nil, clockRangeError(i)
		}
		apart = append(apart, ns)
	}
	return apart, nil
}

// copyGlobals copies the properties, the opaque definitions and the collective operations of all
// traces.
func (mt *MergedTrace) copyGlobals() {
	for i, p := range mt.list {
		src := p.src
		p.definer.copyAll()
		mt.copyProperties(src, i+1)
		switch {
		case mt.defs.Encoding == trace.UnknownEncoding:
			mt.defs.Encoding = src.Encoding
		case src.Encoding != trace.UnknownEncoding && src.Encoding != mt.defs.Encoding:
			mt.defs.Encoding = trace.UTF8 // UTF-8 can represent all characters
		}
		for v, name := range src.ValueNames {
			mt.defs.NameValue(v, name)
		}
		for _, o := range src.Opaque.All() {
			keep := true
			// opaque definitions refer to definitions by number, and to positions among the records
			if mt.numbers != nil {
				o.Data, keep = mt.numbers[i].definition(o.Data)
			}
			if keep {
				mt.defs.Opaque.Add(o)
			}
		}
		mt.copyOperations(p)
	}
	mt.keepUndefinedOperations()
}

// restart prepares a scan of all traces.
func (mt *MergedTrace) restart() {
	mt.Rounded, mt.largeIDs, mt.operations = 0, 0, &format.Loss{}
	for _, x := range mt.list {
		x.loss = mt.operations
		x.startCalls()
	}
}

// startCalls prepares the translation of collective operations, if the trace numbers them itself and the merged
// trace does not.
func (m *mergeInput) startCalls() {
	if m.calls = nil; m.src.Conventions.OwnOperations && !m.definer.into.defs.Conventions.OwnOperations {
		m.calls = collective.NewCalls(m.src, m.loss, true, nil)
	}
}

// mergeKey returns a key that is equal for entries that become one entry. It returns "" for entries that stay
// separate.
func (m *MergeOptions) mergeKey(t table, v any) string {
	text := func(parts ...any) string {
		b, err := json.Marshal(parts)
		if err != nil {
			return ""
		}
		return string(b)
	}
	switch x := v.(type) {
	case *string:
		return "s" + *x
	case *trace.Region:
		return text(x.Name, x.Group, x.Role, x.File, x.Line, x.End, x.Attrs)
	case *trace.AttributeDef:
		return text(x.Name, x.Type)
	case *trace.KindDef:
		return text(x.Format, x.Name, x.Operands)
	case *trace.Named:
		if t == parameters || t == files || t == markers {
			return text(x.Name, x.Attrs)
		}
		if m.Unify {
			return text(x.ID, x.Name)
		}
	case *trace.MetricDef:
		if m.Unify {
			return text(x.ID, x.Name, x.Unit, x.Kind, x.Mode, x.Type, x.Location)
		}
	case *trace.Location:
		if m.Unify {
			return text(x.ID, x.Name, x.Kind)
		}
	case *trace.LocationGroup:
		if m.Unify {
			return text(x.ID, x.Name, x.Kind)
		}
	case *trace.Communicator:
		if m.Unify {
			return text(x.ID, x.Name)
		}
	case *trace.Set:
		if m.Unify {
			return text(x.ID, x.Name, x.Kind, x.Members)
		}
	case *trace.Resource:
		if m.Unify {
			return text(x.ID, x.Name, x.Unit, x.Capacity, x.UsesOffset)
		}
	}
	return ""
}

// MergedTrace delivers the events of several traces as one trace.
type MergedTrace struct {
	// Rounded is the number of times in the last scan that were rounded to a tick of the common
	// clock.
	Rounded         int64
	renamed         int64 // number of properties with a new key
	unjoinedSignals int64 // number of signals that Unify does not join
	largeIDs        int64 // number of ids in the last scan that are too large to be made different
	defs            trace.Definitions
	list            []*mergeInput
	operations      *format.Loss // of the last scan, in the translation of collective operations
	numbers         []*ownNumbers
}

// Lost returns the losses of the last scan: numbers that no longer refer to the right entry, and properties
// with new keys.
func (mt *MergedTrace) Lost() *format.Loss {
	loss := &format.Loss{}
	loss.Add("property", "key", format.Degraded,
		"another trace has another value; the number of the trace is added to the key", mt.renamed)
	loss.Add("signal", "id", format.Degraded,
		"its fragments do not begin where those of the same signal in another trace end, or end where these begin; it stays "+
			"a signal of its own", mt.unjoinedSignals)
	loss.Add("event", "id", format.Degraded,
		"too large to be changed; it may be equal to an id of another trace", mt.largeIDs)
	for _, x := range mt.numbers {
		x.countLost(loss)
	}
	if mt.operations != nil {
		for _, r := range mt.operations.Rows() {
			loss.Add(r.Kind, r.Field, r.How, r.Reason, r.Count)
		}
	}
	return loss
}

// Defs returns the merged definitions.
func (mt *MergedTrace) Defs() *trace.Definitions { return &mt.defs }

// Prepare does nothing, since Merge has prepared all traces.
func (mt *MergedTrace) Prepare(context.Context) error { return nil }

// Scan delivers the events in the order of time, or, with order [format.PerLocation], one trace after the
// other and each trace location by location.
func (mt *MergedTrace) Scan(ctx context.Context, sel trace.Selection, order format.Order, sink format.Sink) error {
	_, sink = format.ExactScan(&mt.defs, sel, sink)
	for _, x := range mt.numbers {
		x.unknown = 0
	}
	if !sel.NoEvents {
		mt.restart()
		if err := mt.deliverEvents(ctx, order, sink); err != nil {
			return err
		}
	}
	if sel.Links == trace.NoLinks {
		return nil
	}
	return mt.deliverLinks(ctx, sink)
}

// deliverEvents delivers all events without links.
func (mt *MergedTrace) deliverEvents(ctx context.Context, order format.Order, sink format.Sink) error {
	all := trace.Events()
	if order == format.PerLocation {
		if mt.shared() {
			r := format.Regroup(sink, 1<<16)
			if err := mt.deliverEvents(ctx, format.GlobalOrder, r); err != nil {
				return err
			}
			return r.Flush()
		}
		for _, x := range mt.list {
			err := x.inner.Scan(ctx, all, order,
				format.SinkFuncs{OnBatch: func(b *trace.Batch) error { return sink.Batch(x.change(b)) }})
			if err != nil {
				return err
			}
		}
		return nil
	}
	var streams []format.Stream
	for _, x := range mt.list {
		next, stop := iter.Pull2(format.Batches(ctx, x.inner, all, order))
		defer stop()
		streams = append(streams, (&mergedStream{next, x}).nextBatch)
	}
	return format.Merge(ctx, streams, sink)
}

// shared reports whether several traces have events of the same location.
func (mt *MergedTrace) shared() bool {
	n := 0
	for _, x := range mt.list {
		n += x.src.Locations.Len()
	}
	return n > mt.defs.Locations.Len()
}

// deliverLinks delivers the links of all traces, after all events.
func (mt *MergedTrace) deliverLinks(ctx context.Context, sink format.Sink) error {
	only := trace.Everything()
	only.NoEvents, only.Links = true, trace.AllLinks
	for _, x := range mt.list {
		err := x.inner.Scan(ctx, only, format.PerLocation,
			format.SinkFuncs{OnLinks: func(l []trace.Link) error { return sink.Links(x.links(l)) }})
		if err != nil {
			return err
		}
	}
	return nil
}

// mergedStream is the stream of translated events of one trace.
type mergedStream struct {
	next func() (*trace.Batch, error, bool)
	x    *mergeInput
}

// nextBatch returns the next batch of an input, with the times and definitions of the merged trace.
func (s *mergedStream) nextBatch(context.Context) (*trace.Batch, error) {
	b, err, ok := s.next()
	if !ok || err != nil {
		return nil, err
	}
	return s.x.change(b), nil
}

// mergeInput translates the batches of one of the merged traces.
type mergeInput struct {
	*definer
	numbers        *ownNumbers // nil unless the trace refers to processors and event types by number
	inner          format.Events
	number, inputs int
	clock, to      trace.Clock
	zero, base     int64
	// more / less is the time unit of fragments in the merged trace, divided by the time unit in this trace.
	more, less float64
	// operations maps the numbers of the trace's collective operations to those of the merged trace. It is nil if
	// no number changes.
	operations map[uint64]uint64
	undefined  map[uint64]uint64 // new numbers of operations that only other traces define
	calls      *collective.Calls // nil unless the merged trace does not number operations as this one does
	numbered   map[uint64]bool   // numbers of locations of the merged trace; nil until a root has no location
	rounded    *int64
	large      *int64
	loss       *format.Loss
	out        trace.Batch
	times      []int64
}

// time converts a time to the common clock. If the time was rounded, time counts it as rounded.
func (m *mergeInput) time(t int64) int64 {
	s, exact, ok := m.onCommonClock(t)
	switch {
	case !ok && t < m.zero:
		s = math.MinInt64
	case !ok:
		s = math.MaxInt64
	}
	if !exact || !ok {
		*m.rounded++
	}
	return s
}

// keepsTimes reports whether all times stay the same.
func (m *mergeInput) keepsTimes() bool {
	return m.clock.Num == m.to.Num && m.clock.Den == m.to.Den && m.zero == m.base
}

// onCommonClock converts a time to the common clock. exact is false if the time was rounded, and ok is false
// if the time does not fit.
func (m *mergeInput) onCommonClock(t int64) (s int64, exact, ok bool) {
	d := t - m.zero
	if (t < m.zero) != (d < 0) {
		return 0, false, false
	}
	d, exact, ok = m.clock.Rescale(d, m.to)
	s = d + m.base
	return s, exact, ok && (s < d) == (m.base < 0)
}

// id returns the id that a claim or mark has in the merged trace.
func (m *mergeInput) id(id int64) int64 {
	if m.inputs == 1 {
		return id
	}
	if n := int64(m.inputs); id > (math.MaxInt64-int64(m.number))/n || id < math.MinInt64/n {
		*m.large++
	}
	return id*int64(m.inputs) + int64(m.number)
}

// scope converts the scope of an OTF2 marker, such as a location, to the number of the definition in the
// merged trace. It returns Undefined if the merged trace has no such definition.
func (m *mergeInput) scope(kind, number uint64) uint64 {
	t, i, ok := m.scopeEntry(kind, number)
	switch {
	case t == noTable:
		return number
	case !ok:
		return trace.Undefined
	}
	id := strings.TrimPrefix(idOf(m.into.defs, t, m.lookup(t, i)), nodePrefix)
	if number, err := strconv.ParseUint(id, 10, 64); err == nil {
		return number
	}
	return trace.Undefined
}

// operation returns the number of a collective operation in the merged trace.
func (m *mergeInput) operation(n uint64) uint64 {
	if to, ok := m.operations[n]; ok {
		return to
	}
	if to, ok := m.undefined[n]; ok {
		return to
	}
	return n
}

// change returns a batch with the times and references of the merged trace. It is valid until the next
// call.
func (m *mergeInput) change(b *trace.Batch) *trace.Batch {
	m.rewrite(b, &m.out)
	o := &m.out
	if m.numbers != nil {
		m.numbers.replaceValues(b, o, m.src)
	}
	o.Order = nil // the order within one file is not valid across several files
	if !m.keepsTimes() {
		m.times = m.times[:0]
		for _, t := range b.Time {
			m.times = append(m.times, m.time(t))
		}
		o.Time = m.times
	}
	if m.calls != nil {
		m.changeOperations(b, o)
	}
	at := uint32(0)
	for i, row := range b.OpRow {
		k := b.Kind[row]
		ops := o.Op[at:o.OpEnd[i]]
		at = o.OpEnd[i]
		switch k {
		case trace.Marker:
			if len(ops) == 3 && m.inputs > 1 {
				ops[2] = m.scope(ops[1], ops[2])
			}
		case trace.ClaimBegin, trace.ClaimEnd, trace.Mark:
			// In traces with signed ids, -1 is a valid id.
			if len(ops) > 0 && (ops[0] != trace.Undefined || m.src.Conventions.SignedIDs) {
				ops[0] = uint64(m.id(int64(ops[0])))
			}
		case trace.Fragment:
			if m.more != m.less {
				for j, more, less := 2, m.more, m.less; j < min(4, len(ops)); j++ {
					ops[j] = math.Float64bits(math.Float64frombits(ops[j]) * more / less)
					more, less = more*more, less*less
				}
			}
		}
		if m.namesRoots(k) && len(ops) > rootOperand && ops[rootOperand] != trace.Undefined {
			ops[rootOperand] = m.root(ops[rootOperand])
		}
		if len(ops) > 0 && m.operations != nil {
			switch k {
			case trace.Collective, trace.CollectiveBegin, trace.CollectiveEnd, trace.CollectiveComplete,
				trace.CollectiveSnapshot, trace.CollectiveSummary:
				ops[0] = m.operation(ops[0])
			}
		}
		spec := m.src.Spec(k)
		for j := range min(len(ops), len(spec.Operands)) {
			switch typ := spec.Operands[j].Type; {
			case ops[j] == trace.Undefined:
			case typ == trace.OpTime:
				ops[j] = uint64(m.time(int64(ops[j])))
			case typ == trace.OpDuration:
				d, exact, ok := m.clock.Rescale(int64(ops[j]), m.to)
				if !exact || !ok {
					*m.rounded++
				}
				ops[j] = uint64(d)
			}
		}
	}
	return o
}

// links returns links with times and references of the merged trace.
func (m *mergeInput) links(l []trace.Link) []trace.Link {
	l = m.definer.links(l)
	for i := range l {
		l[i].ID = m.id(l[i].ID)
		for _, e := range []*trace.End{&l[i].Src, &l[i].Dst} {
			if e.Kind != trace.AtLocation {
				e.ID = m.id(e.ID)
			}
			e.Time = m.time(e.Time)
			if m.inputs > 1 {
				e.Pos = 0 // positions in different files may be equal
			}
		}
	}
	return l
}
