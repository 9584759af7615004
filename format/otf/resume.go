package otf

import (
	"context"
	"math"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// scanFromSnapshots scans the streams one after another. It begins each stream at the last snapshots at or
// before sel.From. First it delivers the calls that are open at these snapshots, as enters with their original
// times. Then it delivers the events after the snapshots. The definitions must list the time of the snapshots
// (DefAuxSamplePoint). In that case, all processes have a snapshot at that time, and a process without records
// there has no open calls. ok is false if the trace cannot be read in this way. An example is a trace
// converted from another format, if OTF's own records do not contain all enters and leaves.
func (d *decoder) scanFromSnapshots(ctx context.Context, sel trace.Selection, sink func(int) format.Sink) (ok bool,
	err error) {
	from, ok := d.clock.toFile(sel.From)
	if !ok || sel.From < 0 || d.marks.any || d.carriesOpen() || len(d.async) > 0 ||
		d.carried && sel.Links != trace.NoLinks {
		return false, nil
	}
	at, ok, err := d.snapshotsAt(ctx, from)
	if !ok || err != nil {
		return false, err
	}
	// The snapshots contain the open calls, so the events before the snapshots are not needed.
	ask := sel
	ask.From, ask.Stacks = math.MinInt64, false
	after := trace.Selection{From: d.clock.firstFrom(at), To: math.MaxInt64, Links: trace.AllLinks}
	return d.scanStreams(ctx, ask, func(w int) format.Sink {
		s := sink(w)
		return &snapshotSink{Sink: format.Trim(d.defs, after, s), whole: s}
	}, &at, nil)
}

// carriesOpen reports whether some open calls are known only from the data that weft carries for a trace of
// another format. This data consists of claims and gaps, and of enters and leaves that OTF's own records do
// not contain.
func (d *decoder) carriesOpen() bool {
	return d.carried && d.restorer.Packs(trace.Enter, trace.Leave, trace.ClaimBegin, trace.ClaimEnd, trace.Gap)
}

// snapshotsAt returns the time of the last snapshots that are not after t. ok is false if there are
// none.
func (d *decoder) snapshotsAt(ctx context.Context, t uint64) (at uint64, ok bool, err error) {
	err = d.r.eachDefinition(ctx, func(r *Record) {
		if r.Stream == 0 && r.Type == DefAuxSamplePoint && r.Kind == snapshotPoint && r.SampleTime <= t {
			at, ok = max(at, r.SampleTime), true
		}
	})
	return at, ok, err
}

// snapshotSink is a sink for the events after the snapshots. Its field whole receives the calls that
// were open at the snapshots.
type snapshotSink struct {
	format.Sink
	whole format.Sink
}

// deliverOpen delivers the enters of the snapshots of a stream at time at. found is false if the
// stream has no snapshots at that time.
func (br *bulkReader) deliverOpen(ctx context.Context, stream uint32, at uint64) (found bool, err error) {
	s, err := br.d.r.open(stream, Snapshots)
	if s == nil || err != nil {
		return false, err
	}
	defer s.t.Close()
	if err := s.t.search(at); err != nil {
		return false, err
	}
	sink := br.sink.(*snapshotSink).whole
	br.earlier = br.earlier[:0]
	if br.begun {
		if good, err := br.deliverLocationBegins(ctx, stream, at, sink); !good || err != nil {
			return false, err
		}
	}
	var b trace.Batch
	for {
		ok, err := s.next(ctx)
		if err != nil {
			return false, err
		}
		r := &s.rec
		if ok && r.Time < at {
			continue
		}
		if ok = ok && r.Time == at; !ok {
			return found, deliver(sink, &b)
		}
		found = true
		if r.Type != EnterSnapshot {
			continue
		}
		if l := br.d.location(r.Process); b.Len() == 0 || b.Loc != l {
			if err := deliver(sink, &b); err != nil {
				return false, err
			}
			br.earlier = append(br.earlier, r.Process)
			b.Reset(l)
		}
		b.Add(b.Loc, br.d.clock.toModel(r.OriginalTime), trace.Enter, br.d.region(s.reported, r.Function))
	}
}

// deliver passes on a batch unless it is empty.
func deliver(sink format.Sink, b *trace.Batch) error {
	if b.Len() == 0 {
		return nil
	}
	return sink.Batch(b)
}

// deliverLocationBegins delivers the first event of each location in a stream before time at (see
// [trace.Selection.LocationBegins]). It reads the stream from the beginning until all its processes have had an
// event. good is false if the trace must be surveyed first.
func (br *bulkReader) deliverLocationBegins(ctx context.Context, stream uint32, at uint64, sink format.Sink) (good bool,
	err error) {
	d := br.d
	f, err := d.stream(ctx, &survey{id: stream, part: Events}, trace.Selection{From: math.MinInt64,
		To: d.clock.firstFrom(at)}, d.opt.SortMemory())
	if f == nil || err != nil {
		return false, err
	}
	defer f.close()
	missing := map[uint32]uint64{} // missing processes; indexed by location
	for _, p := range d.r.master.Processes(stream) {
		missing[d.location(uint64(p))] = uint64(p)
	}
	var out trace.Batch
	commented := map[uint32]bool{}
	for len(missing) > 0 {
		b, err := f.Next(ctx)
		if b == nil || err != nil || d.needsDefinition {
			return err == nil && !d.needsDefinition, err
		}
		for i, k := range b.Kind {
			loc := b.Location(i)
			first := trace.NoOp
			p, ok := missing[loc]
			switch {
			case !ok || !k.IsEvent():
				continue
			case k.IsActivity():
				br.earlier = append(br.earlier, p)
				delete(missing, loc)
			case commented[loc]:
				continue
			default:
				first, commented[loc] = trace.Comment, true
			}
			out.Reset(loc)
			out.Add(loc, b.Time[i], first, trace.NoRef)
			if err := sink.Batch(&out); err != nil {
				return false, err
			}
		}
	}
	return true, nil
}
