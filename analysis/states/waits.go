package states

import (
	"context"

	"github.com/weft-trace/weft/analysis/internal/synclog"
	"github.com/weft-trace/weft/analysis/internal/waitstate"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// FindWaits returns the times in which the locations of a trace wait for others (docs/analyses/waits.md), and those
// in which threads sleep between teams or before and after them (docs/analyses/efficiency.md). The
// result has the waits that affect the states in the window. A nil window means the whole trace. The time in a
// collective operation after all members have begun does not count as a wait. FindWaits uses the memory of the
// result and of a log of calls. The error comes from the scan, the temporary file or the context.
func FindWaits(ctx context.Context, events format.Events, window *trace.Window) (*Waits, error) {
	w := &Waits{}
	// Outside of calls, only collective operations can wait, and their members are those of a communicator.
	if d := events.Defs(); !synclog.HasCalls(d) && d.Communicator.Len() == 0 {
		return w, nil
	}
	log, err := synclog.Read(ctx, events, synclog.Options{Rows: trace.NewRows(events.Defs()), Window: window,
		Rests: true})
	if err != nil {
		return nil, err
	}
	defer log.Close()
	counts, err := waitstate.Run(ctx, log, waitstate.Hooks{Wait: func(x *waitstate.Wait) {
		// Reductions are not among the results of package waits, but EarlyReduce is.
		if _, part := x.Pattern.PartOf(); !part && x.Pattern.Waits() && !x.Pattern.Explains() {
			x.Each(func(begin, end int64) { w.add(x.Place.Location, begin, end) })
		}
	}})
	if err != nil {
		return nil, err
	}
	for i := range log.Defs.Locations.Len() {
		for _, x := range log.Rests(uint32(i)) {
			w.add(uint32(i), x.From, x.To)
		}
	}
	w.finish()
	w.Violations = counts.Violations
	return w, nil
}

// waitRegion is the index of an artificial region that is open while a location waits.
const waitRegion = trace.NoRef - 1

// waitsUpTo applies the begins and ends of waits up to time t.
func (p *Part) waitsUpTo(t int64) error {
	for len(p.waits) > 0 && p.waits[0].time <= t {
		x := &p.waits[0]
		if int(x.location) >= len(p.numbers) || !p.hasEvent[x.location] {
			if err := p.addLocation(x.location); err != nil {
				return err
			}
		}
		if p.numbers[x.location] != none {
			c := change{time: x.time, location: x.location, region: waitRegion, kind: enter}
			if x.ends {
				c.kind = leave
			}
			p.engine.take(c, p.numbers[x.location], class{state: Idle, known: true})
		}
		p.waits.advance()
	}
	return nil
}
