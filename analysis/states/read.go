package states

import (
	"context"
	"math"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// Read returns a part that has handled the events of a trace up to the end of the window of the options, or those
// from a snapshot before the window on, and one later event of each location that has one. Without a window, or if
// the trace has tracing regions, it has handled all events.
func Read(ctx context.Context, events format.Events, opt Options) (*Part, error) {
	d := events.Defs()
	p := New(d, opt)
	counted := trace.Selection{From: math.MinInt64, To: math.MaxInt64}
	if opt.Window != nil && !p.bracketed {
		// What is open when the window begins, and which processors have begun, replaces all earlier events.
		counted.From, counted.To, counted.Begun = opt.Window.From, opt.Window.To, true
	}
	err := format.ScanReduced(ctx, events, counted.Surrounding(), Reduction(d, opt), p)
	if err == nil && counted.To < math.MaxInt64 {
		err = p.readLater(ctx, events, counted.To)
	}
	return p, err
}

// readLater adds the processors that have events only after a time. They are idle up to that time.
func (p *Part) readLater(ctx context.Context, events format.Events, from int64) error {
	missing := map[uint32]bool{}
	for i := range p.defs.Locations.Len() {
		if loc := uint32(i); (i >= len(p.met) || !p.met[i]) && p.number(loc) != none {
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
		if err := p.meet(uint32(loc)); err != nil {
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
