package transform

import (
	"context"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// PruneScope selects the definitions that [Prune] removes.
type PruneScope int

// The values of PruneScope.
const (
	PruneAll     PruneScope = iota
	PruneSignals            // only signals, for formats in which each signal must have fragments
)

// Prune removes all definitions to which neither an event of the trace nor a remaining definition refers. It
// reads the trace once to find the references. A location remains if it has events, is the other end of a
// message, or belongs to a remaining communicator. The properties of the trace remain, and so do resources
// whose locations remain. Opaque definitions remain, too, because their meaning is unknown. In traces whose
// data refer to definitions by number, all sets remain, and the labels to which the data refer also remain.
func Prune(ctx context.Context, d format.Events, what PruneScope) (format.Events, error) {
	if err := d.Prepare(ctx); err != nil {
		return nil, err
	}
	used := newDefiner(d.Defs(), &target{defs: &trace.Definitions{}})
	var scratch trace.Batch
	var numbers *dataNumbers
	if d.Defs().Conventions.EventTypes {
		numbers = newDataNumbers(d.Defs())
	}
	sel, sink := trace.Everything(), format.SinkFuncs{
		OnBatch: func(b *trace.Batch) error {
			used.rewrite(b, &scratch)
			used.lookupScopes(b)
			if numbers != nil {
				numbers.addBatch(b)
			}
			return nil
		},
		OnLinks: func(l []trace.Link) error {
			used.links(l)
			return nil
		},
	}
	if what == PruneSignals {
		sel, sink = trace.Events(), format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
			for i, k := range b.Kind {
				if k == trace.Fragment || k == trace.Metric {
					used.lookup(metrics, b.Ref[i])
				}
			}
			return nil
		}}
	}
	if err := d.Scan(ctx, sel, format.PerLocation, sink); err != nil {
		return nil, err
	}
	for i := range d.Defs().Resources.Len() {
		if l := d.Defs().Resources.At(uint32(i)).Location; int(l) < len(used.index[locations]) &&
			used.index[locations][l] != unmapped {
			used.lookup(resources, uint32(i))
		}
	}
	if what == PruneSignals {
		for t := groups; t < tableCount; t++ {
			for i := range used.length(t) {
				if t != metrics || d.Defs().Metrics.At(uint32(i)).Kind != trace.SignalMetric {
					used.lookup(t, uint32(i))
				}
			}
		}
	}
	if isJoinable(d.Defs().Native) {
		used.keepCommunicating()
	}
	p := newRewritten(d, nil)
	if defs := p.definer.into.defs; numbers != nil {
		// The data refer to entries by number, so the numbers must not change.
		p.definer.into.whole = true
		for i := range used.length(sets) {
			used.lookup(sets, uint32(i))
		}
		if what == PruneAll {
			defs.Opaque = trace.Table[trace.Opaque]{}
			numbers.addSets()
			for i, x := range used.index[locations] {
				if p, _, ok := placeOf(d.Defs().Locations.At(uint32(i)).ID); ok && x != unmapped {
					numbers.processors[p] = true
				}
			}
			for _, o := range d.Defs().Opaque.All() {
				if data, ok := numbers.needed(o.Data); ok {
					defs.Opaque.Add(trace.Opaque{Format: o.Format, Type: o.Type, Data: data})
				}
			}
		}
	}
	if src, defs := d.Defs(), p.definer.into.defs; what == PruneSignals || isJoinable(src.Native) {
		// The remaining entries must keep their ids.
		p.definer.into.whole = true
		defs.Native, defs.Rename = p.definer.native(what == PruneAll), src.Rename
		defs.Dropped = src.Dropped
		defs.Retimed, defs.Repaired, defs.Pruned = src.Retimed, src.Repaired, src.Pruned || what == PruneAll
	}
	for t := groups; t < tableCount; t++ {
		for i, x := range used.index[t] {
			if x != unmapped {
				p.definer.lookup(t, uint32(i))
			}
		}
	}
	return transformed{p}, nil
}

// keepCommunicating uses the sets of communicating locations into which the members of used sets are indexes.
func (d *definer) keepCommunicating() {
	for i := range d.length(sets) {
		if s := d.src.Sets.At(uint32(i)); s.Kind == "ranks" && d.index[sets] != nil && d.index[sets][i] != unmapped {
			all := d.members.Communicating(s)
			for k := range d.length(sets) {
				if d.src.Sets.At(uint32(k)) == all {
					d.lookup(sets, uint32(k))
				}
			}
		}
	}
}

// isJoinable reports whether an encoder can leave out records of a native form of definitions.
func isJoinable(native any) bool {
	_, joined := native.(*trace.SourceTraces)
	_, ok := native.(trace.Joinable)
	return ok || joined
}

// rewritten is a trace with other definitions.
type rewritten struct {
	sameDefinitions
	definer *definer
}

// newRewritten returns a trace whose definitions initially contain only the properties of the whole trace. A
// scan adds the other definitions when they are needed. edit changes each definition before it is added.
func newRewritten(d format.Events, edit func(table, any)) *rewritten {
	src := d.Defs()
	defs := &trace.Definitions{Clock: src.Clock, Format: src.Format, Origin: src.Origin,
		ClaimLines: src.ClaimLines, CheapNext: src.CheapNext, ByLocation: src.ByLocation,
		Conventions: src.Conventions, Roles: src.Roles, Layout: src.Layout, Encoding: src.Encoding,
		ValueNames: src.ValueNames}
	for _, a := range src.Properties.All() {
		defs.Properties.Add(a)
	}
	for _, o := range src.Opaque.All() {
		defs.Opaque.Add(o)
	}
	for _, o := range src.Operations.All() {
		defs.Operations.Add(o)
	}
	return &rewritten{sameDefinitions{d}, newDefiner(src, &target{defs: defs, edit: edit})}
}

// Defs returns the remaining definitions.
func (r *rewritten) Defs() *trace.Definitions { return r.definer.into.defs }

// begin begins a scan of the selected times, with translated references.
func (r *rewritten) begin(sel trace.Selection, _ format.Order, _ format.Sink) (stage, trace.Selection, error) {
	return &rewriteScan{definer: r.definer}, r.originalSelection(sel), nil
}

// originalSelection returns the selection for the original trace.
func (r *rewritten) originalSelection(sel trace.Selection) trace.Selection {
	inner := everything(sel)
	inner.Location, inner.From, inner.To, inner.NoEvents = nil, sel.From, sel.To, sel.NoEvents
	return inner
}

// rewriteScan is one scan of a rewritten trace.
type rewriteScan struct {
	passThrough
	*definer
	out       trace.Batch
	edit      func(*trace.Batch) // changes the values in a batch; can be nil
	editLinks func([]trace.Link)
}

func (r *rewriteScan) processBatch(b *trace.Batch, out format.Sink) error {
	if (r.edit == nil || len(b.AttrVal) == 0) && r.isIdentity() {
		return out.Batch(b)
	}
	r.rewrite(b, &r.out)
	if r.edit != nil {
		r.edit(&r.out)
	}
	return out.Batch(&r.out)
}

func (r *rewriteScan) links(l []trace.Link) []trace.Link {
	l = r.definer.links(l)
	if r.editLinks != nil {
		r.editLinks(l)
	}
	return l
}
