// Package linetrace is the common part of formats that have a record on each line. It opens a text
// and reads its records, chooses a tick that is fine enough for all of its times, and scans its
// events in time order.
package linetrace

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"strings"
	"sync"
	"unicode/utf8"
	"unsafe"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/carrier"
	"github.com/weft-trace/weft/internal/lines"
	"github.com/weft-trace/weft/internal/pipeline"
	"github.com/weft-trace/weft/trace"
)

// MaxRuns is the largest number of sorted runs in a file with which a scan reads all runs in parallel and
// merges them. If a file has more runs, its lines are sorted in temporary files.
const MaxRuns = 64

// Text is an open trace with a record on each line. Decoders embed it.
type Text struct {
	format.EventsOnly
	Opt    *format.ReadOptions
	File   *lines.File
	Model  *trace.Definitions
	Chunks []lines.Chunk
	Runs   []Run // runs of the file that are in time order; nil if there are more than MaxRuns
	Lanes  bool  // within each location, the events are in time order
	Digits int32 // a tick is 10^-Digits of the text's time unit
	// Clock is the clock of the times in the file.
	Clock trace.Clock
	// Restore restores the events of another format's trace from texts in this trace. It is nil if
	// there are no such texts.
	Restore *carrier.Restorer
	Rescale bool       // the restored trace has a different clock from that of the file
	Scanned bool       // a scan has already reported the defects
	Growing sync.Mutex // guards the tables to which parsing adds entries

	spans []span // least and greatest time of each chunk; indexed by chunk
	close func() error
}

type span struct{ min, max int64 }

// Run is a run of complete lines in a file whose times do not decrease.
type Run struct {
	From, To int64
	Line     int64 // number of the run's first line
}

// NewText returns a Text for a file that has not been indexed. close closes the file.
func NewText(opt *format.ReadOptions, f *lines.File, close func() error) Text {
	return Text{Opt: opt, File: f, close: close}
}

// Defs returns the definitions. Scans may add entries to some tables.
func (t *Text) Defs() *trace.Definitions { return t.Model }

// Prepare does nothing, because the whole text was read when it was opened.
func (t *Text) Prepare(context.Context) error { return nil }

// Close closes the file.
func (t *Text) Close() error { return t.close() }

// extent returns the time of the first event, and the latest end of an event, in ticks of the text. If there are no
// events, first is greater than last.
func (t *Text) extent() (first, last int64) {
	first, last = math.MaxInt64, math.MinInt64
	for _, s := range t.spans {
		first, last = min(first, s.min), max(last, s.max)
	}
	return first, last
}

// Extent returns the time of the first event, and the latest end of an event.
func (t *Text) Extent(context.Context) (first, last int64, ok bool, err error) {
	first, last = t.extent()
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

// ReportSpan reports a trace whose duration does not fit int64. rule is the rule of the defect. Order must
// have been called before.
func (t *Text) ReportSpan(rule string) error {
	first, last := t.extent()
	if first > last || uint64(last)-uint64(first) <= math.MaxInt64 {
		return nil
	}
	return t.Opt.Defect(&trace.Defect{Rule: rule, Severity: trace.Error, Position: trace.Position{File: t.File.Name},
		Found:    fmt.Sprintf("ticks from %d to %d", first, last),
		Expected: "at most 2^63 - 1 ticks from the first to the last"})
}

// RestoreFrom reads definitions of another format, if the text contains them. pieces maps
// the numbers of [carrier.Texts] to texts. It reports definitions that cannot be read; where is the
// name of the records with the definitions, for the messages.
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
			Found:    err.Error(), Expected: "definitions that weft wrote into " + where + "; weft ignores them"})
	}
	m.Clock = r.Clock
	t.Restore, t.Model = r, m
	t.Rescale = m.Clock.Num != t.Clock.Num || m.Clock.Den != t.Clock.Den
	return nil
}

// Times holds properties of the times in a chunk, which are collected in one pass.
type Times struct {
	Any         bool
	First, Last trace.Decimal
	Min, Max    trace.Decimal
	Scale       int32 // largest number of decimals, not counting trailing zeros
	Breaks      []Run // places where a run begins because time decreases; the first run begins with the chunk
	Unsorted    int64 // number of places where time decreases
	more        bool  // Breaks does not contain all of these places
}

// Add adds a line. t is the time of its event, and end the time at which the event ends. l is the line,
// as a part of the block's text.
func (ti *Times) Add(b *lines.Block, l []byte, number int64, t, end trace.Decimal) {
	if t.Scale > ti.Scale {
		ti.Scale = max(ti.Scale, t.Trim().Scale)
	}
	if end.Scale > ti.Scale {
		ti.Scale = max(ti.Scale, end.Trim().Scale)
	}
	if !ti.Any {
		ti.Any, ti.First, ti.Min, ti.Max = true, t, t, end
	} else {
		if Compare(t, ti.Last) < 0 {
			ti.Unsorted++
			ti.ExtendMax()
			if off, ok := LineStart(b.Data, l); ok && len(ti.Breaks) < MaxRuns {
				ti.Breaks = append(ti.Breaks, Run{From: off, Line: number})
			} else {
				ti.more = true
			}
			if Compare(t, ti.Min) < 0 {
				ti.Min = t
			}
		}
		if Compare(end, ti.Max) > 0 {
			ti.Max = end
		}
	}
	ti.Last = t
}

// ExtendMax extends Max to Last. A caller that sets Last itself, to a time that is not earlier than the
// previous Last, must call ExtendMax at the end.
func (ti *Times) ExtendMax() {
	if ti.Any && Compare(ti.Last, ti.Max) > 0 {
		ti.Max = ti.Last
	}
}

// ShiftBreaks adds n to the line numbers in Breaks.
func (ti *Times) ShiftBreaks(n int64) {
	for i := range ti.Breaks {
		ti.Breaks[i].Line += n
	}
}

// Compare compares two times: -1, 0 or +1. It is fast if both have the same scale, as most times of
// a text have.
func Compare(a, b trace.Decimal) int {
	if a.Scale == b.Scale {
		return cmp.Compare(a.Coef, b.Coef)
	}
	return a.Cmp(b)
}

// LineStart returns the offset in data of the line to which l belongs. ok is false if l is not part of data,
// because the line was joined from several lines.
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

// Index reads the text once, and calls scan for each chunk, on several cores. It passes the results to done in
// the order of the file, together with the number that must be added to the line numbers in them. It reports signs of
// damage; name is the name of the format, as it occurs in the names of rules.
func Index[R any](ctx context.Context, t *Text, name string, scan func(*lines.Block) R,
	done func(r R, shift int64) error) (err error) {
	type result struct {
		r    R
		zero []oddLine
		cut  []oddLine
	}
	read := int64(0)
	work := func(b *lines.Block) result {
		zero, cut := t.signsOfDamage(b)
		return result{scan(b), zero, cut}
	}
	t.Chunks, err = lines.Index(ctx, t.File, t.Opt.Cores(), work, func(c lines.Chunk, x result) error {
		shift := t.File.Shift(c)
		if err := done(x.r, shift); err != nil {
			return err
		}
		if err := t.reportLines(x.zero, shift, trace.Defect{Rule: name + ".zero-byte", Severity: trace.Warning,
			Found: "a byte 0", Expected: "text"}); err != nil {
			return err
		}
		if err := t.reportLines(x.cut, shift, trace.Defect{Rule: name + ".cut-off", Severity: trace.Note,
			Found: "no line end", Expected: "a line end, unless the line is complete"}); err != nil {
			return err
		}
		if read += int64(c.Len); t.Opt.Progress != nil {
			t.Opt.Progress(read/2, t.File.Size)
		}
		return nil
	})
	return err
}

// oddLine is a line that shows that a file may be damaged.
type oddLine struct {
	text   string
	number int64
}

// signsOfDamage returns the lines of a block that have a byte 0, and the last line if it has no line end and is not
// blank. The program that wrote the file may have been interrupted, or the system may have lost a part of the file.
func (t *Text) signsOfDamage(b *lines.Block) (zero, cut []oddLine) {
	open := len(b.Data) > 0 && b.Data[len(b.Data)-1] != '\n'
	if bytes.IndexByte(b.Data, 0) < 0 && !open {
		return nil, nil
	}
	var last oddLine
	w := t.File.Walk(b)
	for {
		l, number, ok := w.Next()
		if !ok {
			break
		}
		last = oddLine{string(l[:min(len(l), 100)]), number}
		if bytes.IndexByte(l, 0) >= 0 {
			zero = append(zero, last)
		}
	}
	if open && strings.TrimSpace(last.text) != "" {
		cut = append(cut, last)
	}
	return zero, cut
}

// reportLines reports the same defect for several lines. shift is added to their numbers.
func (t *Text) reportLines(list []oddLine, shift int64, x trace.Defect) error {
	for _, l := range list {
		d := x
		d.Position, d.Record = trace.Position{File: t.File.Name, Line: l.number + shift}, l.text
		if err := t.Opt.Defect(&d); err != nil {
			return err
		}
	}
	return nil
}

// Order chooses the tick, which has at most the given number of digits, and finds the runs of the file. It
// returns the number of places where time decreases, and the line of the first such place.
func (t *Text) Order(all []*Times, digits int32) (breaks, where int64) {
	var least, most trace.Decimal // least and greatest of all times, including the time 0
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

// Place is the position of a block among the blocks of its scan.
type Place struct {
	turn *pipeline.Turn // nil if blocks are parsed one after another
	seq  int
}

// Wait waits until all earlier blocks have been parsed. Definitions that are added afterwards get the same
// numbers for any number of workers.
func (p Place) Wait() {
	if p.turn != nil {
		p.turn.Wait(p.seq)
	}
}

// Define returns the number of k in a table to which parsing adds entries. If k is new, Define waits until all
// blocks before at have been parsed, and then calls add, which returns the number.
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

// EncodingCounts counts lines with characters beyond ASCII, by whether these are valid UTF-8.
type EncodingCounts struct{ UTF8, Other int64 }

// Add counts a line by the encoding of its text.
func (n *EncodingCounts) Add(l []byte) {
	switch {
	case IsASCII(l):
	case utf8.Valid(l):
		n.UTF8++
	default:
		n.Other++
	}
}

// Merge adds the counts of other lines.
func (n *EncodingCounts) Merge(o EncodingCounts) { n.UTF8, n.Other = n.UTF8+o.UTF8, n.Other+o.Other }

// Encoding returns the encoding to use for all lines. If the encodings of lines differ, the result is UTF-8,
// which can represent all characters.
func (n EncodingCounts) Encoding() trace.Encoding {
	switch {
	case n.UTF8 > 0:
		return trace.UTF8
	case n.Other > 0:
		return trace.Latin1
	}
	return trace.UnknownEncoding
}

// IsASCII reports whether a text has no characters beyond ASCII.
func IsASCII[T string | []byte](text T) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
