// Package linetrace has the common parts of formats with one record on each line: opening a text
// and reading it record by record, choosing the tick that fits all its times, and scanning its
// events in the order of time.
package linetrace

import (
	"cmp"
	"context"
	"maps"
	"math"
	"sync"
	"unsafe"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/carrier"
	"github.com/weft-trace/weft/internal/lines"
	"github.com/weft-trace/weft/internal/pipeline"
	"github.com/weft-trace/weft/trace"
)

// MaxRuns is the largest number of sorted pieces of a file that are merged by reading them in
// parallel. A file with more pieces is sorted with temporary files.
const MaxRuns = 64

// Text is a trace with one record on each line, and the results of opening it. Decoders embed it.
type Text struct {
	format.EventsOnly
	Opt    *format.ReadOptions
	File   *lines.File
	Model  *trace.Definitions
	Chunks []lines.Chunk
	Runs   []Run // pieces of the file in time order; nil if there are too many
	Lanes  bool  // each location is in time order
	Digits int32 // a tick is 10^-Digits of the text's time unit
	// Clock counts the file's own ticks.
	Clock trace.Clock
	// Restore restores the events of another format's trace. It is nil if the text carries none.
	Restore *carrier.Restorer
	Rescale bool       // the restored trace has another clock than the file
	Scanned bool       // a scan has reported the defects
	Growing sync.Mutex // guards tables that grow while blocks are parsed

	spans []span // of the chunks
	close func() error
}

type span struct{ min, max int64 }

// Run is a piece of the file, in whole lines.
type Run struct {
	From, To int64
	Line     int64 // number of its first line
}

// NewText returns a text that has not been read yet.
func NewText(opt *format.ReadOptions, f *lines.File, close func() error) Text {
	return Text{Opt: opt, File: f, close: close}
}

// Defs returns the definitions; some tables may grow during scans.
func (t *Text) Defs() *trace.Definitions { return t.Model }

// Prepare does nothing, because opening has read the whole text.
func (t *Text) Prepare(context.Context) error { return nil }

// Close closes the file.
func (t *Text) Close() error { return t.close() }

// Extent returns the time of the first event, and the time at which the last one ends.
func (t *Text) Extent(context.Context) (first, last int64, ok bool, err error) {
	first, last = math.MaxInt64, math.MinInt64
	for _, s := range t.spans {
		first, last = min(first, s.min), max(last, s.max)
	}
	if first > last {
		return 0, 0, false, nil
	}
	if t.Restore == nil {
		return first, last, true, nil
	}
	first, _, ok1 := t.Clock.Rescale(first, t.Model.Clock)
	last, _, ok2 := t.Clock.Rescale(last, t.Model.Clock)
	return first, last, ok1 && ok2, nil
}

// RestoreFrom reads the definitions of another format's trace that the text carries, if there are
// any. pieces are the texts of [carrier.Texts], by their numbers. Definitions that cannot be read
// are reported; where describes the records that carry them.
func (t *Text) RestoreFrom(pieces map[string]string, name, where string) error {
	if len(pieces) == 0 {
		return nil
	}
	m := &trace.Definitions{Format: name}
	var r *carrier.Restorer
	pairs, err := carrier.UnpackTexts(maps.All(pieces), "")
	if err == nil {
		r, err = carrier.NewRestorer(m, pairs)
	}
	if err != nil {
		return t.Opt.Defect(&trace.Defect{Rule: name + ".carrier", Severity: trace.Warning,
			Position: trace.Position{File: t.File.Name},
			Found:    err.Error(), Expected: "definitions that weft wrote into " + where + "; they are ignored"})
	}
	m.Clock = r.Clock
	t.Restore, t.Model = r, m
	t.Rescale = m.Clock.Num != t.Clock.Num || m.Clock.Den != t.Clock.Den
	return nil
}

// Times has the times of a chunk, collected in one pass.
type Times struct {
	Any         bool
	First, Last trace.Decimal
	Min, Max    trace.Decimal
	Scale       int32 // most digits after the point, without trailing zeros
	Breaks      []Run // the first places where time decreases; the first piece begins at the start of the chunk
	Unsorted    int64 // number of such places
	more        bool  // there were more breaks than fit
}

// Add adds a line with a start time, and an end that may be later. l is the line's place in the
// block.
func (r *Times) Add(b *lines.Block, l []byte, number int64, t, end trace.Decimal) {
	if t.Scale > r.Scale {
		r.Scale = max(r.Scale, t.Trim().Scale)
	}
	if end.Scale > r.Scale {
		r.Scale = max(r.Scale, end.Trim().Scale)
	}
	if !r.Any {
		r.Any, r.First, r.Min, r.Max = true, t, t, end
	} else {
		if Compare(t, r.Last) < 0 {
			r.Unsorted++
			r.Longest()
			if off, ok := LineStart(b.Data, l); ok && len(r.Breaks) < MaxRuns {
				r.Breaks = append(r.Breaks, Run{From: off, Line: number})
			} else {
				r.more = true
			}
			if Compare(t, r.Min) < 0 {
				r.Min = t
			}
		}
		if Compare(end, r.Max) > 0 {
			r.Max = end
		}
	}
	r.Last = t
}

// Longest extends the range of times to the last one. Callers that set Last without Add, to a time
// that is not earlier, call it at the end.
func (r *Times) Longest() {
	if r.Any && Compare(r.Last, r.Max) > 0 {
		r.Max = r.Last
	}
}

// ShiftBreaks adds n to the line numbers.
func (r *Times) ShiftBreaks(n int64) {
	for i := range r.Breaks {
		r.Breaks[i].Line += n
	}
}

// Compare compares two times. It is fast if they have the same scale, like most times of a text.
func Compare(a, b trace.Decimal) int {
	if a.Scale == b.Scale {
		return cmp.Compare(a.Coef, b.Coef)
	}
	return a.Cmp(b)
}

// LineStart returns where the line that contains l begins in data. ok is false if the line is not
// in data because it was joined.
func LineStart(data, l []byte) (off int64, ok bool) {
	if len(l) == 0 {
		return 0, false
	}
	off = int64(uintptr(unsafe.Pointer(&l[0]))) - int64(uintptr(unsafe.Pointer(&data[0])))
	if off < 0 || off >= int64(len(data)) {
		return 0, false
	}
	for off > 0 && data[off-1] != '\n' {
		off--
	}
	return off, true
}

// Index reads the text once. scan is called for each chunk, on several cores. done receives the
// results in the order of the file, with the number to add to their line numbers.
func Index[R any](ctx context.Context, t *Text, scan func(*lines.Block) R,
	done func(r R, shift int64) error) (err error) {
	read := int64(0)
	t.Chunks, err = lines.Index(ctx, t.File, t.Opt.Cores(), scan, func(c lines.Chunk, r R) error {
		if err := done(r, t.File.Shift(c)); err != nil {
			return err
		}
		if read += int64(c.Len); t.Opt.Progress != nil {
			t.Opt.Progress(read/2, t.File.Size)
		}
		return nil
	})
	return err
}

// Order chooses the tick, with at most the given number of digits, and finds the sorted pieces of
// the file. It returns the number of places where time decreases, and the line of the first one.
func (t *Text) Order(all []*Times, digits int32) (breaks, where int64) {
	var least, most trace.Decimal // at most 0, at least 0
	for _, r := range all {
		if t.Digits = max(t.Digits, r.Scale); !r.Any {
			continue
		}
		if r.Min.Cmp(least) < 0 {
			least = r.Min
		}
		if r.Max.Cmp(most) > 0 {
			most = r.Max
		}
	}
	for t.Digits = min(t.Digits, digits); t.Digits > 0; t.Digits-- {
		_, _, fits := least.Ticks(t.Digits)
		if _, _, ok := most.Ticks(t.Digits); ok && fits {
			break
		}
	}
	t.Runs = []Run{{t.File.Begin, t.File.Size, 1}}
	var last trace.Decimal
	any, more := false, false
	cut := func(off, line int64) {
		before := &t.Runs[len(t.Runs)-1]
		switch {
		case off <= before.From:
		case len(t.Runs) >= MaxRuns:
			more = true
		default:
			before.To = off
			t.Runs = append(t.Runs, Run{off, t.File.Size, line})
		}
	}
	for i, r := range all {
		s, c := span{math.MaxInt64, math.MinInt64}, t.Chunks[i]
		if r.Any {
			s.min, _, _ = r.Min.Ticks(t.Digits)
			s.max, _, _ = r.Max.Ticks(t.Digits)
			breaks += r.Unsorted
			if any && Compare(r.First, last) < 0 {
				breaks++
				cut(c.Off, c.Line)
			}
			for _, b := range r.Breaks {
				cut(c.Off+b.From, b.Line)
			}
			more = more || r.more
			last, any = r.Last, true
		}
		t.spans = append(t.spans, s)
	}
	if len(t.Runs) > 1 {
		where = t.Runs[1].Line
	}
	if more {
		t.Runs = nil
	}
	return breaks, where
}

// Place is the place of a block among those of its scan.
type Place struct {
	turn *pipeline.Turn // nil when blocks are parsed one after another
	seq  int
}

// Wait returns when all blocks before this one are parsed, so that definitions get the same numbers
// for any number of workers.
func (p Place) Wait() {
	if p.turn != nil {
		p.turn.Wait(p.seq)
	}
}

// Define returns the number of k in a table that grows while blocks are parsed, and adds k if it is
// new.
func Define[K comparable](t *Text, at Place, table map[K]uint32, k K, add func() (uint32, error)) (uint32, error) {
	t.Growing.Lock()
	x, ok := table[k]
	t.Growing.Unlock()
	if ok {
		return x, nil
	}
	at.Wait()
	t.Growing.Lock()
	defer t.Growing.Unlock()
	if x, ok = table[k]; ok {
		return x, nil
	}
	x, err := add()
	if err == nil {
		table[k] = x
	}
	return x, err
}
