package serve

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"

	"github.com/weft-trace/weft/analysis"
	"github.com/weft-trace/weft/analysis/usage"
	"github.com/weft-trace/weft/analysis/verify"
	"github.com/weft-trace/weft/timeline/curve"
	"github.com/weft-trace/weft/trace"
)

// longestObjects is the largest number of objects that an answer lists. maxPieces is the largest number of
// pieces of a signal that are kept. For a longer signal, only the extremes in keptColumns columns are kept.
const (
	longestObjects = 1000
	maxPieces      = 200_000
	keptColumns    = 1 << 16
)

// flowAnswer holds the statistics of the objects that go through a system.
type flowAnswer struct {
	// Missing is the reason why there are no statistics, or "".
	Missing    string       `json:"missing"`
	Objects    int          `json:"objects"`
	Instant    int64        `json:"instant"`
	Incomplete int64        `json:"incomplete"`
	First      ticks        `json:"first"`
	Last       ticks        `json:"last"`
	Latencies  *latencyFact `json:"latencies,omitempty"`
	Signals    []signalFact `json:"signals"`
	Longest    []objectFact `json:"longest"` // the objects that stay in the system for the longest time
}

// latencyFact holds statistics of latencies. Its histogram counts the latencies in each bucket.
type latencyFact struct {
	Min       ticks        `json:"min"`
	Mean      float64      `json:"mean"` // mean latency in ticks
	Median    ticks        `json:"median"`
	P90       ticks        `json:"p90"`
	P99       ticks        `json:"p99"`
	Max       ticks        `json:"max"`
	Histogram []bucketFact `json:"histogram"`
}

// bucketFact is a bucket of a histogram: the number of latencies from From to To.
type bucketFact struct {
	From  ticks `json:"from"`
	To    ticks `json:"to"`
	Count int64 `json:"count"`
}

// signalFact holds the statistics of a signal, such as the throughput.
type signalFact struct {
	Name string  `json:"name"`
	Unit string  `json:"unit"`
	Mean float64 `json:"mean"`
	Min  float64 `json:"min"`
	Max  float64 `json:"max"`
	// Low and High are the extremes of the curve. The curve is 0 while no object is in the system.
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	pieces usage.Signal
}

// objectFact is an object with the interval during which it is in the system.
type objectFact struct {
	Object string `json:"object"`
	From   ticks  `json:"from"`
	To     ticks  `json:"to"`
}

// flow returns the flow of objects through the system. The stored answer has the statistics in its
// head, followed by the pieces of all signals.
func flow(p *params) storedAnswer {
	opt := usage.LittleOptions{Attribute: p.values.Get("by")}
	visits := p.values.Get("visits")
	opt.Messages = p.choice("messages", "0", "1") == "1"
	objects := 0
	for _, chosen := range []bool{opt.Attribute != "", visits != "", opt.Messages} {
		if chosen {
			objects++
		}
	}
	if objects != 1 {
		p.setError("by", "one of by, visits and messages")
	}
	opt.Begin, opt.End, opt.Events = p.eventFilter("begin"), p.eventFilter("end"), p.eventFilter("events")
	per := p.choice("per", "s", "ns", "us", "ms", "min", "h")
	unit, err := trace.TicksPerSecond(1e9).ParseDuration("1" + per)
	if err != nil {
		p.setError("per", "a time unit")
	}
	length := cmp.Or(p.values.Get("average"), "0")
	average, expected := usage.ParseAverage(p.x.clock, length)
	if expected != "" {
		p.setError("average", expected)
	}
	shorten := p.choice("shorten", "0", "1") == "1"
	// for this answer, the parameters from and to select the columns of /flow/signals
	window := p.selectedBetween("since", "until")
	begin, end := p.values.Get("begin"), p.values.Get("end")
	if opt.Messages && begin+end != "" {
		p.setError("messages", "0 with begin or end, because messages begin and end with their send and receive")
	}
	name := fmt.Sprintf("flow %q %q %t %q %q %q %s %s %t", opt.Attribute, visits, opt.Messages, begin, end,
		p.values.Get("events"), length, per, shorten)
	if window != nil {
		name += fmt.Sprintf(" %d %d", window.From, window.To)
	}
	return storedAnswer{name, func(ctx context.Context, e *entry, v *traceView) ([]byte, error) {
		var a *flowAnswer
		err := e.readers.useReader(ctx, func(d *reader) error {
			opt := opt
			if visits != "" {
				wanted := regionsNamed(d.Defs(), visits)
				opt.Visits = func(r uint32) bool { return wanted[r] }
			}
			piece, err := cutWindow(ctx, d, window)
			if err != nil {
				return err
			}
			part, err := analysis.Run(ctx, piece, opt.Selection(),
				func() *usage.Little { return usage.NewLittle(piece.Defs(), opt) })
			if err != nil {
				return err
			}
			clock := d.Defs().Clock
			inTicks := float64(unit) / 1e9 * clock.PerSecond()
			r := part.Result(usage.ResultOptions{Window: average, Unit: inTicks, Shorten: shorten})
			a = newFlowAnswer(v, r, per)
			switch {
			case len(r.Objects) > 0:
			case r.Incomplete > 0:
				a.Missing = fmt.Sprintf("found no complete objects among %d", r.Incomplete)
			case opt.Messages:
				a.Missing = "found no messages"
			case visits != "":
				a.Missing = fmt.Sprintf("found no visits of the region %q", visits)
			default:
				a.Missing = fmt.Sprintf("found no objects with the attribute %q", opt.Attribute) +
					attributeHint(d.Defs(), opt.Attribute)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		return storedSignals(v, a)
	}}
}

// eventFilter reads a proposition that selects events. It returns nil if the parameter is missing.
func (p *params) eventFilter(name string) *usage.EventFilter {
	text := p.values.Get(name)
	if text == "" {
		return nil
	}
	x, err := verify.ParseProposition(text)
	if err != nil {
		if p.err == nil {
			p.err = badRequest(name + ": " + err.Error())
		}
		return nil
	}
	filter := &usage.EventFilter{Attributes: map[string]string{}, Starts: x.Event != verify.EndEvent,
		Ends: x.Event != verify.StartEvent, Marks: x.Event == verify.AnyEvent}
	for _, a := range x.Attributes {
		filter.Attributes[a.Key] = a.Value
	}
	return filter
}

func newFlowAnswer(v *traceView, r *usage.LittleResult, per string) *flowAnswer {
	a := &flowAnswer{Objects: len(r.Objects), Instant: r.Instant, Incomplete: r.Incomplete, Signals: []signalFact{},
		Longest: []objectFact{}}
	if len(r.Objects) == 0 {
		return a
	}
	first, last := r.Objects[0].First, r.Objects[0].Last
	for _, o := range r.Objects {
		last = max(last, o.Last)
	}
	a.First, a.Last = v.jsonTime(first), v.jsonTime(last)
	l := r.Latencies
	a.Latencies = &latencyFact{ticks(l.Min), l.Mean, ticks(l.Median), ticks(l.P90), ticks(l.P99), ticks(l.Max),
		[]bucketFact{}}
	for _, b := range l.Histogram {
		a.Latencies.Histogram = append(a.Latencies.Histogram, bucketFact{ticks(b.From), ticks(b.To), b.Count})
	}
	add := func(name, unit string, s usage.Signal, nonzero bool) {
		counted, all := s.Statistics(nonzero), s.Statistics(false)
		a.Signals = append(a.Signals, signalFact{Name: name, Unit: unit, Mean: finiteOrZero(counted.Mean),
			Min: finiteOrZero(counted.Min), Max: finiteOrZero(counted.Max),
			Low: finiteOrZero(all.Min), High: finiteOrZero(all.Max), pieces: s})
	}
	add("throughput", "per "+per, r.Throughput, false)
	add("work in progress", "", r.WIP, false)
	add("latency", per, r.Latency, true)
	if len(r.Events) > 0 {
		add("events", "per "+per, r.Events, false)
	}
	for _, o := range r.Longest(longestObjects) {
		a.Longest = append(a.Longest, objectFact{o.Value, v.jsonTime(o.First), v.jsonTime(o.Last)})
	}
	return a
}

// pieceBytes is the size of a piece of a signal in a stored answer.
const pieceBytes = 32

// storedSignals encodes a stored answer: the statistics as its head, then the number of pieces of each signal,
// and then the pieces. The times in the pieces are on the clock of the trace.
func storedSignals(v *traceView, a *flowAnswer) ([]byte, error) {
	b, err := storedIntervals(a, nil)
	if err != nil {
		return nil, err
	}
	for _, s := range a.Signals {
		pieces := s.pieces
		if len(pieces) > maxPieces {
			pieces = envelope(pieces, v.first, trace.Add(v.last, 1))
		}
		b = binary.LittleEndian.AppendUint64(b, uint64(len(pieces)))
		for _, x := range pieces {
			for _, n := range []uint64{uint64(x.From), uint64(x.To), math.Float64bits(x.Start), math.Float64bits(x.End)} {
				b = binary.LittleEndian.AppendUint64(b, n)
			}
		}
	}
	return b, nil
}

// envelope returns one piece for each column. The piece extends from the least to the greatest value in the
// column.
func envelope(s usage.Signal, from, to int64) usage.Signal {
	width := min(keptColumns, int(min(uint64(to)-uint64(from), keptColumns)))
	c := plotSignal(s, from, to, width)
	columns := columns{0, int64(uint64(to) - uint64(from)), width}
	var out usage.Signal
	for i := range c.Min {
		if c.Min[i] == c.Min[i] {
			out = append(out, usage.Piece{From: from + columns.startOf(i), To: from + columns.startOf(i+1), Start: c.Min[i],
				End: c.Max[i]})
		}
	}
	return out
}

// plotSignal returns the values of a signal in columns of a window.
func plotSignal(s usage.Signal, from, to int64, width int) *curve.Curve {
	p := curve.NewPlotter(curve.Smooth, from, to, width)
	for _, x := range s {
		length := float64(x.To - x.From)
		p.Fragment(x.From, x.To, x.Start, (x.End-x.Start)/length, 0, 1)
	}
	return p.Curve()
}

// curvesAnswer holds the values of signals in the columns of a window.
type curvesAnswer struct {
	From    ticks       `json:"from"`
	To      ticks       `json:"to"`
	Signals []curveFact `json:"signals"`
}

// curveFact holds the least and the greatest value of each column, or null for a column without a
// value.
type curveFact struct {
	Name string     `json:"name"`
	Min  []*float64 `json:"min"`
	Max  []*float64 `json:"max"`
}

// flowSignals returns the signals of a stored flow in the columns of a window.
func flowSignals(stored []byte, p *params) (any, error) {
	from, to, _ := p.window()
	width := int(p.number("width", 1, maxWidth, 1000))
	var head struct{ Signals []signalFact }
	if err := json.Unmarshal(headOf(stored), &head); err != nil || p.err != nil {
		return nil, err
	}
	a := &curvesAnswer{p.x.jsonTime(from), p.x.jsonTime(to), []curveFact{}}
	b := stored[8+len(headOf(stored)):]
	next := func() uint64 {
		n := binary.LittleEndian.Uint64(b)
		b = b[8:]
		return n
	}
	for _, s := range head.Signals {
		pieces := make(usage.Signal, 0, len(b)/pieceBytes)
		for n := next(); n > 0; n-- {
			x := usage.Piece{From: int64(next()), To: int64(next())}
			x.Start, x.End = math.Float64frombits(next()), math.Float64frombits(next())
			if trace.Before(x.From, to) && x.To >= from {
				pieces = append(pieces, x)
			}
		}
		c := plotSignal(pieces, from, to, width)
		a.Signals = append(a.Signals, curveFact{s.Name, nanAsNil(c.Min), nanAsNil(c.Max)})
	}
	return a, nil
}

// nanAsNil returns a copy of the list in which NaN is replaced by nil.
func nanAsNil(list []float64) []*float64 {
	out := make([]*float64, len(list))
	for i := range list {
		if list[i] == list[i] {
			out[i] = &list[i]
		}
	}
	return out
}
