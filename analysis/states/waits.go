package states

import (
	"cmp"
	"context"
	"slices"

	"github.com/weft-trace/weft/analysis/internal/synclog"
	"github.com/weft-trace/weft/analysis/internal/waitstate"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// Waits holds the times in which locations wait for others in calls, for use in Options.Waits.
type Waits struct {
	changes []waitChange // in the order of time
}

// waitChange is the begin or the end of a wait.
type waitChange struct {
	time     int64
	location uint32
	ends     bool
}

// FindWaits returns the times in which the locations of a trace wait for others (docs/analyses/waits.md). The
// result has the waits that affect the states in the window. A nil window means the whole trace. The time in a
// collective operation after all members have begun does not count as a wait. FindWaits uses 32 bytes per
// wait, and the memory of a log of calls. The error comes from the scan, the temporary file or the context.
func FindWaits(ctx context.Context, events format.Events, window *trace.Window) (*Waits, error) {
	log, err := synclog.Read(ctx, events, synclog.Options{Rows: trace.NewRows(events.Defs()), Window: window})
	if err != nil {
		return nil, err
	}
	defer log.Close()
	w := &Waits{}
	_, err = waitstate.Run(ctx, log, waitstate.Hooks{Wait: func(x *waitstate.Wait) {
		// Reductions are not among the results of package waits, but EarlyReduce is.
		if _, part := x.Pattern.PartOf(); !part && x.Pattern.Waits() && x.Pattern != waitstate.Reduction {
			w.changes = append(w.changes, waitChange{x.Begin, x.Place.Location, false},
				waitChange{x.Begin + x.Length, x.Place.Location, true})
		}
	}})
	slices.SortStableFunc(w.changes, func(a, b waitChange) int { return cmp.Compare(a.time, b.time) })
	return w, err
}

// waitRegion is the index of an artificial region that is open while a location waits.
const waitRegion = trace.NoRef - 1

// waitsUpTo applies the begins and ends of waits up to time t.
func (p *Part) waitsUpTo(t int64) error {
	for ; len(p.waits) > 0 && p.waits[0].time <= t; p.waits = p.waits[1:] {
		x := p.waits[0]
		if int(x.location) >= len(p.numbers) || !p.hasEvent[x.location] {
			if err := p.addLocation(x.location); err != nil {
				return err
			}
		}
		if p.numbers[x.location] == none {
			continue
		}
		c := change{time: x.time, location: x.location, region: waitRegion, kind: enter}
		if x.ends {
			c.kind = leave
		}
		p.engine.take(c, p.numbers[x.location], class{state: Idle, known: true})
	}
	return nil
}
