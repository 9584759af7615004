package otf

import (
	"context"
	"math"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// resume delivers, stream after stream, what was open at the time of the latest
// snapshots that are not after sel.From, as enters at the times of those, and the
// events from there on. The definitions must list the time of the
// snapshots (DefAuxSamplePoint): so all processes have one then, and one that has no
// record there has nothing open. Of a trace of another format that counts where OTF's own records
// say all of what is open.
func (d *decoder) resume(ctx context.Context, sel trace.Selection, sink func(int) format.Sink) (ok bool, err error) {
	from, ok := d.clock.file(sel.From)
	if !ok || sel.From < 0 || d.marked || d.carriesOpen() || len(d.async) > 0 {
		return false, nil
	}
	at, ok, err := d.snapshotsAt(ctx, from)
	if !ok || err != nil {
		return false, err
	}
	// What is open at the snapshots comes from these: the events before them are not read.
	ask := sel
	ask.From, ask.Stacks = math.MinInt64, false
	behind := trace.Selection{From: d.clock.from(at), To: math.MaxInt64, Links: trace.AllLinks}
	return d.attempt(ctx, ask, func(w int) format.Sink {
		s := sink(w)
		return &resumed{Sink: format.Trim(d.defs, behind, s), whole: s}
	}, &at)
}

// carriesOpen tells whether what is open depends on what weft added to a trace of another format: on
// claims, or on enters and leaves that OTF's own records do not say.
func (d *decoder) carriesOpen() bool {
	return d.carried && d.restorer.Packs(trace.Enter, trace.Leave, trace.ClaimBegin, trace.ClaimEnd)
}

// snapshotsAt is the latest time of snapshots that is not after t.
func (d *decoder) snapshotsAt(ctx context.Context, t uint64) (at uint64, ok bool, err error) {
	err = d.r.definitions(ctx, func(r *Record) {
		if r.Stream == 0 && r.Type == DefAuxSamplePoint && r.Kind == snapshotPoint && r.SampleTime <= t {
			at, ok = max(at, r.SampleTime), true
		}
	})
	return at, ok, err
}

// resumed is a sink for events from a time on, and for what was open then.
type resumed struct {
	format.Sink
	whole format.Sink
}

// open delivers the enters of the snapshots of a stream at a time. found is false if
// there are none.
func (x *bulk) open(ctx context.Context, stream uint32, at uint64) (found bool, err error) {
	s, err := x.d.r.open(stream, Snapshots)
	if s == nil || err != nil {
		return false, err
	}
	defer s.t.Close()
	if err := s.t.search(at); err != nil {
		return false, err
	}
	sink := x.sink.(*resumed).whole
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
		if l := x.d.location(r.Process); b.Len() == 0 || b.Loc != l {
			if err := deliver(sink, &b); err != nil {
				return false, err
			}
			b.Reset(l)
		}
		b.Add(b.Loc, x.d.clock.model(r.OriginalTime), trace.Enter, x.d.region(s.shown, r.Function))
	}
}

// deliver hands on a batch that is not empty.
func deliver(sink format.Sink, b *trace.Batch) error {
	if b.Len() == 0 {
		return nil
	}
	return sink.Batch(b)
}
