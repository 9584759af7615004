package states

import (
	"context"
	"math"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// Read returns a part that has processed the events of a trace. With a window, these are the events up to the
// end of the window, and one later event of each location that has one. If the trace has snapshots, Read
// begins at a snapshot before the window. Without a window, or if the trace has tracing regions, these are all
// events.
func Read(ctx context.Context, events format.Events, opt Options) (*Part, error) {
	d := events.Defs()
	p := New(d, opt)
	counted := trace.Selection{From: math.MinInt64, To: math.MaxInt64}
	if opt.Window != nil && !p.bracketed {
		// The scan delivers the regions that are open at the begin of the window, and the processors that have
		// begun. They replace all earlier events.
		counted.From, counted.To, counted.LocationBegins = opt.Window.From, opt.Window.To, true
	}
	err := format.ScanReduced(ctx, events, counted.Surrounding(), Reduction(d, opt), p)
	if err == nil && counted.To < math.MaxInt64 {
		err = p.readLater(ctx, events, counted.To)
	}
	return p, err
}

// readLater adds the processors that have events only after the time from. These processors are idle up to
// this time.
func (p *Part) readLater(ctx context.Context, events format.Events, from int64) error {
	missing := map[uint32]bool{}
	for i := range p.defs.Locations.Len() {
		if loc := uint32(i); (i >= len(p.hasEvent) || !p.hasEvent[i]) && p.number(loc) != none {
			missing[loc] = true
		}
	}
	if len(missing) == 0 {
		return nil
	}
	later := trace.Selection{From: from, To: math.MaxInt64, NoStates: true,
		Location: func(loc uint32) bool { return missing[loc] }}
	found := map[uint32]int64{}
	for b, err := range format.Batches(ctx, events, later, format.PerLocation) {
		if err != nil {
			return err
		}
		for i, k := range b.Kind {
			loc := b.Location(i)
			if _, known := found[loc]; known || !missing[loc] || !k.IsActivity() {
				continue
			}
			if found[loc] = b.Time[i]; len(found) == len(missing) {
				break
			}
		}
		if len(found) == len(missing) {
			break
		}
	}
	for loc := range p.defs.Locations.Len() {
		t, ok := found[uint32(loc)]
		if !ok {
			continue
		}
		if err := p.addLocation(uint32(loc)); err != nil {
			return err
		}
		if number := p.numbers[loc]; p.engine.any {
			p.engine.processor(number)
		} else {
			p.engine.take(change{time: t, location: uint32(loc)}, number, class{state: Busy})
		}
	}
	return nil
}
