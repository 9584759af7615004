package etf

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/internal/digits"
	"github.com/weft-trace/weft/internal/lines"
	"github.com/weft-trace/weft/internal/linetrace"
	"github.com/weft-trace/weft/trace"
)

// timedLines records whether the lines of one kind are in the order of time.
type timedLines struct {
	any         bool
	first, last trace.Decimal
	unsorted    bool
}

func (a *timedLines) add(t trace.Decimal) {
	if !a.any {
		a.first, a.any = t, true
	} else if linetrace.Compare(t, a.last) < 0 {
		a.unsorted = true
	}
	a.last = t
}

// appendPiece adds the lines of the next piece of the file.
func (a *timedLines) appendPiece(b *timedLines) {
	switch {
	case !b.any:
	case !a.any:
		*a = *b
	default:
		a.unsorted = a.unsorted || b.unsorted || linetrace.Compare(b.first, a.last) < 0
		a.last = b.last
	}
}

// scanResult holds the result of the first pass for a chunk.
type scanResult struct {
	linetrace.Times
	encodings linetrace.EncodingCounts
	record    int64 // line of the first readable event or dependency, 0 for none
	deps      int64
	blank     int64 // number of blank lines
	events    bool
	changes   []linetrace.Run // places where claims follow events or events follow claims
	kind      [2]Keyword      // keyword of the first and of the last claim or event
	claims    timedLines
	points    timedLines                // order of the events
	curves    map[seriesKey]*timedLines // order of fragments (S) and samples (TSS)
	// lastSignal is the signal of the last fragment that quickFragment read; signalLines is its entry in curves.
	lastSignal  int64
	signalLines *timedLines
	defs        []defLine
}

// defLine is the text of a line that is neither an event nor a dependency.
type defLine struct {
	text  []byte
	line  int64
	other bool // the line is a comment or has an unknown keyword
}

// countEncodings counts the lines of a text that have characters beyond ASCII.
func countEncodings(text []byte) (n linetrace.EncodingCounts) {
	at := 0
	for at+8 <= len(text) && binary.LittleEndian.Uint64(text[at:])&0x8080808080808080 == 0 {
		at += 8
	}
	text = text[bytes.LastIndexByte(text[:at], '\n')+1:]
	for l := range bytes.Lines(text) {
		n.Add(l)
	}
	return n
}

// maxKept limits the total size of the lines in Definitions.Opaque, in bytes.
const maxKept = 4 << 20

// reserveOpaque reserves space for a line that only this format understands. It returns false if the
// space is exhausted.
func (d *decoder) reserveOpaque(x *defLine) bool {
	size := len(x.text) + 100
	if d.keptSize+size > maxKept {
		d.dropped++
		return false
	}
	d.keptSize += size
	return true
}

// keepOpaque adds a line without effect to the definitions. A repeated definition becomes a comment.
func (d *decoder) keepOpaque(x *defLine) {
	text := strings.TrimRight(string(x.text), "\r")
	if !x.other {
		text = "# " + text
	}
	if d.first > 0 && x.line > d.first {
		d.moved++
	}
	d.Model.Opaque.Add(trace.Opaque{Format: "etf", Type: "comment", Data: trace.ToUTF8(text)})
	d.opaqueAt = append(d.opaqueAt, x.line)
}

// firstRecord returns the number of the first line with a readable event or dependency, or 0 if there
// is none.
func firstRecord(w lines.Walker) int64 {
	var r Record
	for l, number, ok := w.Next(); ok; l, number, ok = w.Next() {
		if k, i, _ := parseKeyword(l); !k.isDefinition() && r.valid(k, l, i) {
			return number
		}
	}
	return 0
}

// isDefinition reports whether lines with the keyword are neither events nor dependencies.
func (k Keyword) isDefinition() bool {
	switch k {
	case C, E, F, D, TSP, TSR:
		return false
	}
	return true
}

// valid reports whether a line can be read and its numbers agree with each other.
func (r *Record) valid(k Keyword, l []byte, i int) bool {
	if _, p := r.parse(k, l, i); p.rule != "" && p.severity == trace.Error {
		return false
	}
	return k != D && k.isInterval(r.Start, r.End) || k == D && r.Type >= 0 && r.Type <= 8
}

// isInterval reports whether a line with the keyword may have the given start and end.
func (k Keyword) isInterval(start, end trace.Decimal) bool {
	switch k {
	case C, TSR:
		return linetrace.Compare(start, end) <= 0
	case F:
		return linetrace.Compare(start, end) < 0
	}
	return true
}

// unit returns the time unit of a TU line. ok is false for other lines and for unknown units.
func (d *defLine) unit() (name string, ok bool) {
	k, i, _ := parseKeyword(d.text)
	if k != TU {
		return "", false
	}
	name = strings.TrimSpace(string(d.text[i:]))
	_, _, ok = unitOf(name)
	return name, ok
}

// index reads the file once. It finds the tick, the order of the lines and all definitions.
func (d *decoder) index(ctx context.Context) error {
	var all []*scanResult
	var defs []defLine
	events := false
	err := linetrace.Index(ctx, &d.Text, "etf", d.scan, func(r *scanResult, shift int64) error {
		r.shift(shift)
		if d.first == 0 && r.record > 0 {
			d.first = r.record + shift
		}
		for _, x := range r.defs {
			if x.other && !d.reserveOpaque(&x) {
				continue
			}
			defs = append(defs, x)
		}
		r.defs = nil
		events = events || r.events
		d.encodings.Merge(r.encodings)
		all = append(all, r)
		d.deps += r.deps
		d.blank += r.blank
		return nil
	})
	if err != nil {
		return err
	}
	// Find the time unit first, because it limits how many digits times may have.
	if i := slices.IndexFunc(defs, func(x defLine) bool { _, ok := x.unit(); return ok }); i >= 0 {
		d.unit, _ = defs[i].unit()
	}
	carried := false
	for _, x := range defs {
		carried = carried || bytes.Contains(x.text, []byte(carryPrefix))
	}
	d.order(all, carried)
	if err := d.ReportSpan("etf.long-span"); err != nil {
		return err
	}
	return d.define(defs, events)
}

// scan makes the first pass over a chunk.
func (d *decoder) scan(b *lines.Block) *scanResult {
	w := d.File.Walk(b)
	all, r := w, &scanResult{encodings: countEncodings(b.Data)}
	var rec Record
	usual := w.Plain()
	for {
		if rest := w.Rest(); usual && len(rest) > 2 && rest[1] == ' ' {
			n := 0
			switch rest[0] {
			case 'C':
				n = r.quickClaim(b, rest, w.Number())
			case 'D':
				r.deps++
				n = skipLine(rest)
			case 'E':
				n = r.quickEvent(b, rest, w.Number())
			case 'F':
				n = r.quickFragment(b, rest, w.Number())
			}
			if n > 0 {
				w.Skip(n)
				continue
			}
		}
		l, number, ok := w.Next()
		if !ok {
			if r.Any || r.deps > 0 {
				r.record = all.Number()
			}
			if len(r.defs) > 0 { // a repeated unit or offset has no effect
				r.record = firstRecord(all)
			}
			return r
		}
		k, i, isBlank := parseKeyword(l)
		if isBlank && i == len(l) {
			r.blank++
			continue
		}
		switch k {
		case D:
			r.deps++
			continue
		case C, E, F, TSP, TSR:
		default:
			r.defs = append(r.defs, defLine{append([]byte(nil), l...), number, k == NoKeyword})
			continue
		}
		t, end, ok := rec.times(k, l, i)
		if !ok && rec.hasNoSamples(k, l, i) {
			r.defs = append(r.defs, defLine{append([]byte(nil), l...), number, true})
		}
		if !ok || !k.isInterval(t, end) {
			continue
		}
		switch k {
		case C:
			r.claims.add(t)
			r.noteChange(b, l, number, k)
		case E:
			r.points.add(t)
			r.events = true
			r.noteChange(b, l, number, k)
		case TSP:
			c := r.curve(seriesKey{TSS, rec.ID, rec.Series})
			for _, x := range rec.Times {
				c.add(x)
				r.Scale = max(r.Scale, x.Trim().Scale)
			}
		default:
			key := seriesKey{kind: S, group: rec.ID}
			if k == TSR {
				key.kind, key.series = TSS, rec.Series
			}
			r.curve(key).add(t)
		}
		r.Add(b, l, number, t, end)
	}
}

// hasNoSamples reports whether a line is a valid TSP line that contains no sample. Such a line has no
// effect, like a comment.
func (r *Record) hasNoSamples(k Keyword, l []byte, i int) bool {
	if k != TSP {
		return false
	}
	_, p := r.parse(k, l, i)
	return len(r.Times) == 0 && (p.rule == "" || p.severity != trace.Error)
}

// times returns the start and the end time of a line. ok is false for lines without times.
func (r *Record) times(k Keyword, l []byte, i int) (t, end trace.Decimal, ok bool) {
	s := scanner{l: l, i: i}
	switch k {
	case C, F:
		r.ID, t, end = s.integer(""), s.decimal(""), s.decimal("")
	case E:
		r.ID, t = s.integer(""), s.decimal("")
		end = t
	case TSR:
		_, s.bad = r.parse(k, l, i)
		t, end = r.Start, r.End
	case TSP:
		if _, s.bad = r.parse(k, l, i); len(r.Times) > 0 {
			t, end = slices.MinFunc(r.Times, linetrace.Compare), slices.MaxFunc(r.Times, linetrace.Compare)
			break
		}
		fallthrough
	default:
		return t, end, false
	}
	return t, end, s.bad.severity != trace.Error
}

// shift adds n to all line numbers of the result.
func (r *scanResult) shift(n int64) {
	for i := range r.defs {
		r.defs[i].line += n
	}
	r.ShiftBreaks(n)
	for i := range r.changes {
		r.changes[i].Line += n
	}
}

// quickClaim updates the result with the claim at the start of rest. It returns the length of the
// claim's line, or 0 if the line's numbers need the slower general parser.
func (r *scanResult) quickClaim(b *lines.Block, rest []byte, line int64) int {
	i := skipInteger(rest, 2)
	t0, scale0, i := digits.Decimal(rest, i, ' ')
	t1, scale1, i := digits.Decimal(rest, i, ' ')
	if i == 0 {
		return 0
	}
	if !C.isInterval(trace.Decimal{Coef: t0, Scale: scale0}, trace.Decimal{Coef: t1, Scale: scale1}) {
		return i + skipLine(rest[i:])
	}
	if r.kind[1] != C {
		r.noteChange(b, rest, line, C)
	}
	c := &r.claims
	t, end := sameScale(t0, scale0, c.last.Scale), sameScale(t1, scale1, r.Max.Scale)
	if c.any && r.Last == c.last && t.Scale == c.last.Scale && t.Coef >= c.last.Coef &&
		t.Scale <= r.Scale && end.Scale == r.Max.Scale && end.Scale <= r.Scale {
		// The previous line is a claim that does not begin later. This short path has the same effect
		// as the other branch.
		c.last, r.Last = t, t
		if end.Coef > r.Max.Coef {
			r.Max = end
		}
	} else {
		c.add(t)
		r.Add(b, rest, line, t, end)
	}
	return i + skipLine(rest[i:])
}

// sameScale converts a number to the wanted scale if that is cheap. Numbers of the same scale are easy
// to compare.
func sameScale(v int64, scale, wanted int32) trace.Decimal {
	if more := wanted - scale; uint32(more) < 4 && uint64(v) < 1e15 {
		return trace.Decimal{Coef: v * [...]int64{1, 10, 100, 1000}[more], Scale: wanted}
	}
	return trace.Decimal{Coef: v, Scale: scale}
}

// quickEvent updates the result with the event at the start of rest. It returns the length of the
// event's line, or 0 if the line's numbers need the slower general parser.
func (r *scanResult) quickEvent(b *lines.Block, rest []byte, line int64) int {
	t, scale, i := digits.Decimal(rest, skipInteger(rest, 2), digits.AnyByte)
	if i == 0 || skipSemicolon(rest, i) == 0 {
		return 0
	}
	if r.kind[1] != E {
		r.noteChange(b, rest, line, E)
	}
	r.events = true
	at := trace.Decimal{Coef: t, Scale: scale}
	r.points.add(at)
	r.Add(b, rest, line, at, at)
	return i + skipLine(rest[i:])
}

// quickFragment processes the line of a fragment in the same way as quickClaim processes that of a claim.
func (r *scanResult) quickFragment(b *lines.Block, rest []byte, line int64) int {
	id, i := quickInteger(rest, 2)
	t0, scale0, i := digits.Decimal(rest, i, ' ')
	t1, scale1, i := digits.Decimal(rest, i, ' ')
	if i == 0 {
		return 0
	}
	at, end := trace.Decimal{Coef: t0, Scale: scale0}, trace.Decimal{Coef: t1, Scale: scale1}
	if !F.isInterval(at, end) {
		return i + skipLine(rest[i:])
	}
	if r.signalLines == nil || r.lastSignal != id {
		r.lastSignal, r.signalLines = id, r.curve(seriesKey{kind: S, group: id})
	}
	r.signalLines.add(at)
	r.Add(b, rest, line, at, end)
	return i + skipLine(rest[i:])
}

// noteChange records a place where a claim follows an event or an event follows a claim.
func (r *scanResult) noteChange(b *lines.Block, l []byte, number int64, k Keyword) {
	if r.kind[1] == k {
		return
	}
	if r.kind[0] == NoKeyword {
		r.kind[0] = k
	} else if off, ok := linetrace.LineStart(b.Data, l); ok && len(r.changes) < linetrace.MaxRuns {
		r.changes = append(r.changes, linetrace.Run{From: off, Line: number})
	}
	r.kind[1] = k
}

func (r *scanResult) curve(k seriesKey) *timedLines {
	if r.curves == nil {
		r.curves = map[seriesKey]*timedLines{}
	}
	c := r.curves[k]
	if c == nil {
		c = &timedLines{}
		r.curves[k] = c
	}
	return c
}

// order chooses the tick and splits the file into sorted pieces.
func (d *decoder) order(all []*scanResult, carried bool) {
	var claims, points timedLines
	curves := map[seriesKey]*timedLines{}
	times := make([]*linetrace.Times, len(all))
	kind := NoKeyword
	for i, r := range all {
		if carried {
			// The order numbers of carried events continue across sections, so each section becomes a
			// piece of its own.
			if kind != NoKeyword && r.kind[0] != NoKeyword && r.kind[0] != kind {
				r.Breaks = append(r.Breaks, linetrace.Run{From: 0, Line: d.Chunks[i].Line})
			}
			r.Breaks = append(r.Breaks, r.changes...)
			slices.SortFunc(r.Breaks, func(a, b linetrace.Run) int { return cmp.Compare(a.From, b.From) })
			if r.kind[1] != NoKeyword {
				kind = r.kind[1]
			}
		}
		times[i] = &r.Times
		claims.appendPiece(&r.claims)
		points.appendPiece(&r.points)
		for k, c := range r.curves {
			if x := curves[k]; x != nil {
				x.appendPiece(c)
			} else {
				curves[k] = c
			}
		}
	}
	d.Order(times, d.MostDigits())
	d.Lanes = !claims.unsorted && !points.unsorted
	for _, c := range curves {
		d.Lanes = d.Lanes && !c.unsorted
	}
}

// MostDigits returns the greatest number of decimals of a time. It is limited so that the ticks per
// second fit 64 bits.
func (d *decoder) MostDigits() int32 {
	_, den, _ := unitOf(d.unit)
	return int32(min(18, len(strconv.FormatInt(math.MaxInt64/den, 10))-1))
}
