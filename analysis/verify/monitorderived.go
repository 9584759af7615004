package verify

import (
	"fmt"
	"math"

	"github.com/weft-trace/weft/analysis/internal/signals"
	"github.com/weft-trace/weft/trace"
)

// growth computes derived signals and response times while a trace grows. The recorder calls it for
// claims, objects and propositions.
type growth struct {
	*recorder
	idle      func(c trace.Clock) (int64, error) // see [Monitor.SetIdleTime]
	idleLimit *int64                             // the result of idle for the current clock; nil if it is not known yet
	signals   []*grownSignal                     // indexed by index of the signal; nil for signals of the trace
	responses map[*Responses]*grownResponses
	watches   bool // growth must be called for the states at which propositions hold
	resources int  // number of resources when updateResourceUsages was last called
}

// grownSignal is a derived signal of a trace that grows.
type grownSignal struct {
	*Signal
	*signals.Growing
	lines      []signals.Line
	factor     int64 // number of ticks of the lines in a tick of the trace
	known      int64 // the signal is known before this time
	rate       eventRate
	ofResource bool // the signal counts claims of resources
	counted    bool // the signal has counted claims by their own attributes, not by those of resources
}

func newGrowth(r *recorder) *growth {
	g := &growth{recorder: r, signals: make([]*grownSignal, len(r.spec.signals)),
		responses: map[*Responses]*grownResponses{}}
	for i, s := range r.spec.signals {
		if s.Kind != TraceSignal {
			g.signals[i] = &grownSignal{Signal: s, factor: 1}
			g.watches = g.watches || s.Kind == Throughput
		}
	}
	for _, f := range r.spec.formulas {
		if f.Op == Percentile {
			g.watches = true
			g.responses[f.Responses] = &grownResponses{responses: f.Responses, spans: map[string]grownSpan{}}
		}
	}
	return g
}

// startSignals starts the computation of the signals. It is called at the first event.
func (g *growth) startSignals() {
	for _, s := range g.signals {
		if s != nil {
			s.Growing, s.known = g.newGrowing(s.Signal), g.first
		}
	}
}

// addState adds a state to signals and response times, given the propositions that hold there and the objects of
// the event.
func (g *growth) addState(list []int32, objects []claimObject) {
	for _, p := range list {
		for _, s := range g.signals {
			if s != nil && s.Kind == Throughput && s.prop != nil && s.prop.index == int(p) {
				s.rate.unit = g.defs.Clock.UnitTicks()
				s.rate.addEvent(s.Growing, g.time[len(g.time)-1])
			}
		}
	}
	g.removeIdle(objects, g.now)
	for _, x := range g.responses {
		x.addState(g.recorder, list, objects)
	}
}

// usageClaims returns the usage signals that count a claim, as indexes of derived.usages.
func (g *growth) usageClaims(x *openClaim) (list []int) {
	for i, u := range g.derived.usages {
		s := g.signals[u.signal.index]
		if g.countsClaim(s, x) {
			s.counted = s.counted || !s.ofResource
			list = append(list, i)
		}
	}
	return list
}

// countsClaim reports whether a usage signal counts a claim.
func (g *growth) countsClaim(s *grownSignal, x *openClaim) bool {
	if !s.ofResource {
		for _, p := range x.holds {
			if int(p) == s.prop.index {
				return true
			}
		}
		return false
	}
	return g.defs.Resources.Has(x.resource) && hasAll(g.defs.Resources.At(x.resource), s.Attributes)
}

// updateResourceUsages determines which usage signals count the claims of resources. It is called again after
// further resources have been defined.
func (g *growth) updateResourceUsages() error {
	n := g.defs.Resources.Len()
	for ; g.resources < n; g.resources++ {
		res := g.defs.Resources.At(uint32(g.resources))
		for _, u := range g.derived.usages {
			s := g.signals[u.signal.index]
			if s.ofResource || !hasAll(res, s.Attributes) {
				continue
			}
			if s.ofResource = true; s.counted {
				return fmt.Errorf("found a resource with %s after claims with these attributes, expected it before them, because "+
					"the trace is not read as a whole", attributesString(s.Attributes))
			}
		}
	}
	return nil
}

// beginClaim adds the begin of a claim to the signals.
func (g *growth) beginClaim(x *openClaim) error {
	if err := g.updateResourceUsages(); err != nil {
		return err
	}
	g.removeIdle(x.objects, x.start)
	for _, o := range x.objects {
		o.record.extendStay(o.object, x.start, 1)
	}
	x.usages = g.usageClaims(x)
	for _, i := range x.usages {
		g.eachUsage(i, x, func(s *grownSignal, v float64) { s.Begin(x.start, v) })
	}
	return nil
}

// eachUsage calls f for each usage signal that counts a claim.
func (g *growth) eachUsage(i int, x *openClaim, f func(s *grownSignal, v float64)) {
	s := g.signals[g.derived.usages[i].signal.index]
	v := 1.0
	if s.Amount {
		v = x.amount
	}
	f(s, v)
}

// endClaim adds the end of a claim to the signals.
func (g *growth) endClaim(x *openClaim, t int64) {
	for _, o := range x.objects {
		o.record.extendStay(o.object, t, -1)
	}
	for _, i := range x.usages {
		g.eachUsage(i, x, func(s *grownSignal, v float64) { s.End(x.start, t, v) })
	}
}

// extendSignals extends each signal up to the time before which it is known. ended is set at the end of the
// trace.
func (g *growth) extendSignals(ended bool) error {
	if !g.any {
		return nil
	}
	// An open claim lasts at least until the last event of its location. If each claim is a line of the file,
	// its end is known.
	open := g.now
	if len(g.derived.usages) > 0 && !g.defs.ClaimLines {
		g.recorder.open.Each(func(location uint32, x *openClaim) {
			if len(x.usages) > 0 {
				open = min(open, g.derived.last[location].at)
			}
		})
	}
	objects := map[string]int64{} // indexed by attribute: the time from which on objects may still change
	for _, o := range g.derived.objects {
		from, err := g.removeDeparted(o, ended)
		if err != nil {
			return err
		}
		objects[o.attribute] = from
	}
	for _, x := range g.responses {
		x.countExceeding(g.recorder)
	}
	for _, s := range g.signals {
		if s == nil {
			continue
		}
		known := g.now
		switch {
		case ended:
			if known = g.last; s.Kind == Throughput && s.Object == "" {
				s.rate.addLastRate(s.Growing)
			}
		case s.Kind == Usage:
			known = open
		case s.Object != "":
			known = objects[s.Object]
		case s.rate.count > 0:
			known = s.rate.t
		}
		if _, exact := g.averagingTicks(s.Signal); !exact {
			if !ended {
				continue // wait, because the ticks may become shorter with later events
			}
			if s.factor == 1 {
				var over int64
				s.factor, over = g.finerTicks(s.Signal)
				s.ScaleTimes(s.factor, over)
			}
		}
		s.known = s.Until(max(known, s.known)*s.factor, ended, s.addLine) / s.factor
	}
	return nil
}

// removeDeparted counts the objects that have left the system, and removes them. It returns the time after
// which further objects may come or change.
func (g *growth) removeDeparted(o *objectRecord, ended bool) (from int64, err error) {
	if g.idle == nil && !ended {
		return g.first, nil
	}
	from = g.now
	for name, s := range o.stays {
		idle := ended
		if !ended {
			if idle, err = g.isIdle(s, g.now); err != nil {
				return 0, err
			}
		}
		if idle {
			g.remove(o, name, s)
		} else {
			from = min(from, s.From)
		}
	}
	return from, nil
}

// removeIdle removes those of the given objects that have left the system before time t, because an event at that time
// belongs to another object with the same name. removeDeparted reports errors of idle.
func (g *growth) removeIdle(objects []claimObject, t int64) {
	if g.idle == nil {
		return
	}
	for _, x := range objects {
		if s, ok := x.record.stays[x.object]; ok {
			if idle, err := g.isIdle(s, t); err == nil && idle {
				g.remove(x.record, x.object, s)
			}
		}
	}
}

// isIdle reports whether an object has left the system before time t, because it has had no events for long enough.
func (g *growth) isIdle(s objectStay, t int64) (bool, error) {
	if g.idleLimit == nil {
		limit, err := g.idle(g.defs.Clock)
		if err != nil {
			return false, err
		}
		g.idleLimit = &limit
	}
	return s.open <= 0 && uint64(t)-uint64(s.To) > uint64(*g.idleLimit), nil
}

// remove counts an object that has left the system, and removes it.
func (g *growth) remove(o *objectRecord, name string, s objectStay) {
	for _, x := range g.signals {
		if x != nil && x.Object == o.attribute {
			addStay(x.Growing, s, g.defs.Clock.UnitTicks())
		}
	}
	for _, x := range g.responses {
		if x.responses.By == o.attribute {
			x.removeDeparted(g.recorder, name)
		}
	}
	delete(o.stays, name)
}

// addLine adds a line to a signal. If the last line was incomplete, the new line replaces it.
func (s *grownSignal) addLine(x signals.Line) {
	if n := len(s.lines); n > 0 && s.lines[n-1].From == x.From {
		s.lines[n-1] = x
		return
	}
	s.lines = append(s.lines, x)
}

// scaleTimes multiplies all times by a factor.
func (g *growth) scaleTimes(factor int64) {
	g.idleLimit = nil
	for _, s := range g.signals {
		if s == nil || s.Growing == nil {
			continue
		}
		s.known, s.rate.t = s.known*factor, s.rate.t*factor
		over, _ := g.averagingTicks(s.Signal)
		s.ScaleTimes(factor, over)
		for i := range s.lines {
			x := &s.lines[i]
			x.From, x.To, x.Per = x.From*factor, x.To*factor, x.Per*factor
		}
	}
	for _, o := range g.derived.objects {
		for name, s := range o.stays {
			s.From, s.To = s.From*factor, s.To*factor
			o.stays[name] = s
		}
	}
	for location, t := range g.derived.last {
		g.derived.last[location] = lastEvent{t.at * factor, t.end * factor}
	}
	g.recorder.open.Each(func(_ uint32, x *openClaim) { x.start *= factor })
	for _, x := range g.responses {
		x.scaleTimes(factor)
	}
}

// signalPieces returns the lines of a derived signal as pieces.
func (g *growth) signalPieces(e *evaluator, s *grownSignal, ended bool) (list []piece) {
	for _, x := range s.lines {
		list = append(list, e.linePiece(x, s.factor))
	}
	if n := len(list); ended && n > 0 {
		list[n-1].last = true
	} else if ended {
		list = []piece{{last: true}} // all events have the same time
	}
	return list
}

// signalsKnown returns the time before which the signals of an expression are known.
func (g *growth) signalsKnown(e *SignalExpr) int64 {
	t := int64(math.MaxInt64)
	if e.Op == "signal" {
		t = g.now
		if s := g.signals[e.Signal.index]; s != nil {
			t = s.known
		}
	}
	for _, a := range e.Args {
		t = min(t, g.signalsKnown(a))
	}
	return t
}
