package transform

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// AddedSignal is a signal that [AddSignals] adds to a trace.
type AddedSignal struct {
	Name, Unit string
	Pieces     []AddedPiece // in time order
	// Counter adds the signal as a counter with a value at the begin of each piece, for formats without fragments.
	Counter bool
}

// HasSteps reports whether the signal is constant in each piece. As a counter it then has the same value at all times.
func (s *AddedSignal) HasSteps() bool {
	return !slices.ContainsFunc(s.Pieces, func(p AddedPiece) bool { return p.Start != p.End })
}

// AddedPiece is a linear piece of a signal. The signal has the value Start at time From, and approaches the
// value End at time To. Times are in ticks.
type AddedPiece struct {
	From, To   int64
	Start, End float64
}

// AddSignals adds signals to a trace, each with a location of its own. It adds the signals to the definitions
// of the trace, which must be complete. Therefore the trace must have been scanned before. At equal times, the
// added fragments come after all other events except values of counters.
func AddSignals(d format.Events, list []AddedSignal) format.Events {
	x := &signalAdder{sameDefinitions: sameDefinitions{d}}
	defs := d.Defs()
	unit := defs.Clock.UnitTicks()
	id := int64(0)
	taken := map[string]bool{}
	for _, l := range defs.Locations.All() {
		taken[l.ID] = true
	}
	for _, m := range defs.Metrics.All() {
		if n, err := strconv.ParseInt(m.ID, 10, 64); err == nil && n < math.MaxInt64 {
			id = max(id, n+1)
		}
	}
	for _, s := range list {
		for taken["S"+strconv.FormatInt(id, 10)] {
			id++
		}
		m := trace.MetricDef{ID: strconv.FormatInt(id, 10), Name: s.Name, Unit: s.Unit, Kind: trace.SignalMetric,
			Type: trace.Float64, Attrs: []trace.Attr{{Key: "name", Value: trace.StringValue(s.Name)}}}
		if s.Unit != "" {
			m.Attrs = append(m.Attrs, trace.Attr{Key: "unit", Value: trace.StringValue(s.Unit)})
		}
		if s.Counter {
			m.Kind, m.Mode, m.Attrs = trace.CounterMetric, "ABSOLUTE_POINT", nil
			if s.HasSteps() { // a value holds until the next one
				m.Mode = "ABSOLUTE_NEXT"
			}
		}
		m.Location = defs.Locations.Add(trace.Location{ID: "S" + m.ID, Name: s.Name, Kind: trace.SignalLocation,
			Group: trace.NoRef})
		id++
		ref := defs.Metrics.Add(m)
		for i, p := range s.Pieces {
			if s.Counter {
				x.rows = append(x.rows, addedRow{m.Location, ref, p.From, trace.Metric, counterOperands(p.Start)})
				if i == len(s.Pieces)-1 && p.End != p.Start {
					x.rows = append(x.rows, addedRow{m.Location, ref, p.To, trace.Metric, counterOperands(p.End)})
				}
				continue
			}
			slope := (p.End - p.Start) / (float64(p.To-p.From) / unit)
			x.rows = append(x.rows, addedRow{m.Location, ref, p.From, trace.Fragment, []uint64{uint64(p.To),
				math.Float64bits(p.Start), math.Float64bits(slope), 0}})
		}
	}
	return transformed{x}
}

// counterOperands returns the operands of a metric event with a single value.
func counterOperands(v float64) []uint64 { return []uint64{math.Float64bits(v), 0} }

// signalAdder is a trace after [AddSignals].
type signalAdder struct {
	sameDefinitions
	rows []addedRow // in the order of location and time
}

// addedRow is a fragment of a signal, or a value of a counter.
type addedRow struct {
	location, metric uint32
	time             int64
	kind             trace.Kind
	ops              []uint64
}

func (a *signalAdder) begin(sel trace.Selection, order format.Order, _ format.Sink) (stage, trace.Selection, error) {
	s := &addScan{rows: a.rows}
	if sel.NoEvents {
		s.rows = nil
	}
	if order == format.GlobalOrder {
		s.merge = true
		s.rows = slices.Clone(s.rows)
		slices.SortStableFunc(s.rows, func(a, b addedRow) int { return cmp.Compare(a.time, b.time) })
	}
	return s, sel, nil
}

// addScan is one scan of a trace with added signals.
type addScan struct {
	rows  []addedRow // rows that have not been delivered yet
	merge bool       // deliver the events in the order of time
	out   trace.Batch
}

func (s *addScan) processBatch(b *trace.Batch, out format.Sink) error {
	if !s.merge || b.Len() == 0 || len(s.rows) == 0 || s.rows[0].time > b.Time[b.Len()-1] {
		return out.Batch(b)
	}
	s.out.Reset(trace.MixedLoc)
	c := b.Cursor()
	for c.Next() {
		t, k := c.Time(), c.Kind()
		last := k == trace.Metric || k == trace.SampleRange
		for len(s.rows) > 0 && (s.rows[0].time < t || last && s.rows[0].time == t) {
			s.addRow()
		}
		s.out.AppendRow(&c)
	}
	return out.Batch(&s.out)
}

// addRow moves the first of the remaining rows to the batch.
func (s *addScan) addRow() {
	r := &s.rows[0]
	s.out.Add(r.location, r.time, r.kind, r.metric)
	s.out.AddOps(r.ops...)
	s.rows = s.rows[1:]
}

func (s *addScan) flush(_ context.Context, out format.Sink) error {
	for len(s.rows) > 0 {
		at := s.rows[0].location
		if s.merge {
			at = trace.MixedLoc
		}
		s.out.Reset(at)
		for len(s.rows) > 0 && s.out.Len() < trace.BatchRows && (s.merge || s.rows[0].location == at) {
			s.addRow()
		}
		if err := out.Batch(&s.out); err != nil {
			return err
		}
	}
	return nil
}

func (s *addScan) links(l []trace.Link) []trace.Link { return l }
