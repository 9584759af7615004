package pallas

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// Details returns tables of threads, events, sequences and loops, like the tables of the tool pallas_info. It
// reads only grammars, and not the blocks of times. Times and durations are in nanoseconds. Details keeps one
// thread at a time in memory. A later call of Summary does not read the threads again. If no summary is
// possible, Details keeps the grammars for scans, as far as maxKeptBytes allows.
func (d *decoder) Details(ctx context.Context) (tables []*format.Table, err error) {
	tables = []*format.Table{
		{Key: "threads", Title: "Threads", Columns: []string{"thread", "archive", "name", "first", "last", "events",
			"distinctEvents", "sequences", "loops"}},
		{Key: "events", Title: "Events", Columns: []string{"thread", "archive", "event", "name", "count"}},
		{Key: "sequences", Title: "Sequences (totals are counts times means, and too small by less than 1 ns a visit)",
			Columns: []string{"thread", "archive", "sequence", "name", "count", "min", "max", "mean", "total", "exclusive",
				"tokens", "contention"}},
		{Key: "loops", Title: "Loops", Columns: []string{"thread", "archive", "loop", "sequence", "name", "iterations",
			"count"}},
	}
	defer func() {
		tables = slices.DeleteFunc(tables, func(x *format.Table) bool {
			if none := x.Len() == 0 || err != nil; none {
				x.Close()
				return true
			}
			return false
		})
	}()
	sums := d.newSummaryBuilder() // does not report defects, because reading the trace reports them
	summed := !d.hasLinks()
	for _, id := range d.threads {
		if err := ctx.Err(); err != nil {
			return tables, err
		}
		t, err := sums.d.thread(id, threadSums)
		if err != nil {
			return tables, err
		}
		if t == nil {
			continue
		}
		t.Close()
		if summed = summed && sums.hasNoDefects(); summed {
			if summed, err = sums.addThread(t, d.location[id]); err != nil {
				return tables, err
			}
		}
		if !summed { // if there is no summary, the caller reads the events
			d.keepGrammar(id, t.withoutSequences())
		}
		row := func(i int, values ...any) {
			err = cmp.Or(err, tables[i].Add(append([]any{int64(id.id), int64(id.archive)}, values...)...))
		}
		loops := 0
		for i, k := range t.LoopTokens() {
			if l := &t.Loops[i]; k != NoToken && l.Sequence != NoToken {
				loops++
				row(3, k.String(), l.Sequence.String(), t.sequenceName(l.Sequence), int64(l.Iterations), int64(l.Occurrences))
			}
		}
		first, last := any(nil), any(nil)
		if t.Count() > 0 {
			first, last = int64(t.Start), int64(t.lastTime())
		}
		row(0, t.Name(), first, last, int64(t.Count()), int64(len(t.Events)), int64(len(t.Sequences)), int64(loops))
		for i, k := range t.EventTokens() {
			e := &t.Events[i]
			row(1, k.String(), t.Archive.Definitions.describe(e), int64(e.Timestamps.Size))
		}
		for i, k := range t.SequenceTokens() {
			s := &t.Sequences[i]
			row(2, k.String(), t.sequenceName(k), int64(s.Durations.Size), int64(s.Durations.Min), int64(s.Durations.Max),
				int64(s.Durations.Mean), int64(s.Durations.Total()), int64(s.Exclusive.Total()),
				int64(len(s.Tokens)), trace.Real(t.Contention(s)))
		}
		if err != nil {
			return tables, err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.summarized = true; summed && sums.hasNoDefects() {
		d.summary, d.missing = sums.summary(), sums.missing
	}
	return tables, nil
}

// lastTime returns the time of the last event in nanoseconds.
func (t *Thread) lastTime() (last uint64) {
	for i := range t.Events {
		if b := t.Events[i].Timestamps.Blocks; len(b) > 0 {
			last = max(last, b[len(b)-1].Last)
		}
	}
	return last
}

// Contention returns the share of the thread's duration by which the occurrences of a sequence exceed the
// shortest occurrence: count × (mean − min) ÷ duration of the thread. If the result would exceed 1, it returns
// −1, which stands for no value.
func (t *Thread) Contention(s *Sequence) float64 {
	v, whole := &s.Durations, t.Duration()
	if whole == 0 || v.Size == 0 {
		return 0
	}
	score := float64(v.Size) * float64(v.Mean-v.Min) / float64(whole)
	if score > 1 {
		return -1
	}
	return score
}

// sequenceName returns the name that pallas_info gives to a sequence: the name of the region that the
// sequence calls.
func (t *Thread) sequenceName(k Token) string {
	s := t.Sequence(k)
	if s == nil {
		return ""
	}
	for _, x := range s.Tokens {
		e := t.Event(x)
		if e == nil {
			continue
		}
		if v, ok := e.Record.Values(e.Payload); ok && e.Record == Enter {
			name, _ := t.Archive.Definitions.RegionName(Ref(v[0]))
			return name
		}
	}
	if e := t.Event(append(s.Tokens, NoToken)[0]); e != nil && (e.Record == ThreadBegin || e.Record == ThreadTeamBegin) {
		return "thread"
	}
	return fmt.Sprintf("Sequence_%d", k.ID())
}
