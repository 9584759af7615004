package structure

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-trace/weft/analysis"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/grammar"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
)

// Loop is the loop in which a run spends its time.
type Loop struct {
	// Steps holds the names of the steps of an iteration. For a call, this is the name of the region; for
	// other events, the name of the kind.
	Steps []string
	// Iterations holds a window for each iteration, from its earliest begin at any location to the earliest begin of the
	// next one. The last window ends with the latest event of an iteration.
	Iterations []trace.Window
}

// NoLoopError reports that a trace has no loop that all its locations share.
type NoLoopError struct{ Reason string }

// Error returns the reason.
func (e *NoLoopError) Error() string { return e.Reason }

// FindLoop returns the outermost loop of a trace: the first step that repeats on the way from the begin of a
// location into the calls that take the longest. If no step repeats, the result is the longest loop next to
// one of these calls. If locations have several such loops, the one in which all locations together spend the most time
// counts. Locations without a loop do not count. All other locations must have the same number of iterations;
// otherwise the error is a [NoLoopError]. FindLoop reads the trace twice, and uses 16 bytes per
// iteration and location besides the memory of two parts.
func FindLoop(ctx context.Context, events format.Events, rows *trace.Rows) (*Loop, error) {
	d := events.Defs()
	p, err := analysis.Run(ctx, events, trace.Events(), func() *Part { return NewRows(d, rows) })
	if err != nil {
		return nil, err
	}
	loop := &Loop{}
	var wanted []uint32
	m := merger{p: p, regions: d.RegionNames(rows)}
	if wanted, loop.Steps, err = m.commonLoop(); err != nil {
		return nil, err
	}
	if loop.Steps == nil {
		return nil, &NoLoopError{"found no calls or events that repeat in succession, expected a loop"}
	}
	p, err = analysis.Run(ctx, events, trace.Events(), func() *Part {
		p := NewRows(d, rows)
		p.wanted = wanted
		return p
	})
	if err != nil {
		return nil, err
	}
	first := -1
	for i, l := range p.locations {
		if l == nil || wanted[i] == 0 {
			continue
		}
		if err := l.finish(); err != nil {
			return nil, err
		}
		slices.SortFunc(l.iterations, func(a, b trace.Window) int { return cmp.Compare(a.From, b.From) })
		if first < 0 {
			first = i
			loop.Iterations = l.iterations
			continue
		}
		if n := len(l.iterations); n != len(loop.Iterations) {
			names := d.FullNames()
			return nil, &NoLoopError{fmt.Sprintf("found loops of %s in %s and of %d in %s, expected one number",
				plural.Of(len(loop.Iterations), "iteration"), names[first], n, names[i])}
		}
		for k, w := range l.iterations {
			x := &loop.Iterations[k]
			x.From, x.To = min(x.From, w.From), max(x.To, w.To)
		}
	}
	for k := 1; k < len(loop.Iterations); k++ {
		loop.Iterations[k-1].To = loop.Iterations[k].From
	}
	return loop, nil
}

// commonLoop returns for each location the sequence that its outermost loop repeats, or 0, and the names of its steps.
// In a location that waits little, another loop can be the longest. Therefore each location that has the loop in which
// all locations together spend the most time has that one.
func (m *merger) commonLoop() (wanted []uint32, steps []string, err error) {
	locations := m.p.locations
	wanted = make([]uint32, len(locations))
	key := func(l *location, s uint32) string { return strings.Join(m.stepNames(l, s), "\x00") }
	sums := map[string]trace.Ticks{}
	most := ""
	for i, l := range locations {
		if l == nil {
			continue
		}
		if err := l.finish(); err != nil {
			return nil, nil, err
		}
		if wanted[i] = l.outermostLoop(func(uint32) bool { return false }); wanted[i] == 0 {
			continue
		}
		k := key(l, wanted[i])
		sums[k] = sums[k].Plus(l.time(wanted[i]))
		if steps == nil || sums[k].Cmp(sums[most]) > 0 {
			most, steps = k, m.stepNames(l, wanted[i])
		}
	}
	for i, l := range locations {
		if wanted[i] == 0 || key(l, wanted[i]) == most {
			continue
		}
		if s := l.outermostLoop(func(s uint32) bool { return key(l, s) == most }); key(l, s) == most {
			wanted[i] = s
		}
	}
	return wanted, steps, nil
}

// time returns the sum of the times of a sequence.
func (l *location) time(s uint32) trace.Ticks {
	if int(s) < len(l.total) {
		return l.total[s].Sum
	}
	return trace.Ticks{}
}

// outermostLoop returns the sequence that the outermost loop of a finished location repeats, or 0 if there is none. A
// loop for which preferred returns true is taken even if another loop, or a call next to it, takes longer.
func (l *location) outermostLoop(preferred func(sequence uint32) bool) uint32 {
	passed := uint32(0) // the longest loop that is next to a call that takes longer
	// This loop ends, because no sequence contains itself.
	for s := uint32(0); ; {
		var call, loop uint32 // the call and the loop that take the longest
		for _, k := range l.sequences[s].Tokens {
			switch k.Type() {
			case grammar.Sequence:
				if i := k.ID(); call == 0 || l.time(i).Cmp(l.time(call)) > 0 {
					call = i
				}
			case grammar.Loop:
				i := l.loops[k.ID()].Sequence
				if preferred(i) {
					return i
				}
				if loop == 0 || l.time(i).Cmp(l.time(loop)) > 0 {
					loop = i
				}
			}
		}
		if loop > 0 && (call == 0 || l.time(loop).Cmp(l.time(call)) >= 0) {
			return loop
		}
		if loop > 0 && (passed == 0 || l.time(loop).Cmp(l.time(passed)) > 0) {
			passed = loop
		}
		if call == 0 {
			return passed
		}
		s = call
	}
}

// stepNames returns the names of the steps of a sequence.
func (m *merger) stepNames(l *location, s uint32) []string {
	if l.sequences[s].Block { // a call that repeats
		return []string{m.name(l.events[l.sequences[s].Tokens[0].ID()])}
	}
	names := []string{}
	for _, k := range l.sequences[s].Tokens {
		name := ""
		for inner := m.sequenceOf(l, k); inner > 0; inner = m.sequenceOf(l, k) {
			k = l.sequences[inner].Tokens[0]
		}
		e := l.events[k.ID()]
		if name = m.name(e); name == "" {
			name = m.p.defs.Spec(e.kind).Name
		}
		names = append(names, name)
	}
	return names
}
