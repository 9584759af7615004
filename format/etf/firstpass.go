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
	"unicode/utf8"

	"github.com/weft-trace/weft/internal/digits"
	"github.com/weft-trace/weft/internal/lines"
	"github.com/weft-trace/weft/internal/linetrace"
	"github.com/weft-trace/weft/trace"
)

// timedLines tracks the order of the lines of one kind.
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

// follow appends the lines of a later piece.
func (a *timedLines) follow(b *timedLines) {
	switch {
	case !b.any:
	case !a.any:
		*a = *b
	default:
		a.unsorted = a.unsorted || b.unsorted || linetrace.Compare(b.first, a.last) < 0
		a.last = b.last
	}
}

// scanResult is the result of the first pass over a chunk.
type scanResult struct {
	linetrace.Times
	coded
	record  int64 // line of the first readable event or dependency, 0 for none
	deps    int64
	events  bool
	changes []linetrace.Run // places where claims change to events or back
	kind    [2]Keyword      // keyword of the first and of the last claim or event
	claims  timedLines
	points  timedLines                // events
	curves  map[seriesKey]*timedLines // fragments (S) and samples (TSS)
	signal  int64                     // signal of the last fragment on the fast path
	drawn   *timedLines               // curve of that signal
	defs    []defLine
}

// defLine is a line that is neither an event nor a dependency.
type defLine struct {
	text  []byte
	line  int64
	other bool // a comment or an unknown keyword
}

// coded counts the lines with characters beyond ASCII.
type coded struct {
	utf8, other int64
}

// codedOf counts the lines of a text that have characters beyond ASCII.
func codedOf(text []byte) (n coded) {
	at := 0
	for at+8 <= len(text) && binary.LittleEndian.Uint64(text[at:])&0x8080808080808080 == 0 {
		at += 8
	}
	text = text[bytes.LastIndexByte(text[:at], '\n')+1:]
	for l := range bytes.Lines(text) {
		switch {
		case isASCII(l):
		case utf8.Valid(l):
			n.utf8++
		default:
			n.other++
		}
	}
	return n
}

// encoding returns the encoding of the lines. Where it differs between them, it is UTF-8, which has
// all characters.
func (n coded) encoding() trace.Encoding {
	switch {
	case n.utf8 > 0:
		return trace.UTF8
	case n.other > 0:
		return trace.Latin1
	}
	return trace.UnknownEncoding
}

func isASCII[T string | []byte](text T) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// maxKept limits the bytes of lines in Definitions.Opaque.
const maxKept = 4 << 20

// keep reserves space for a line that only this format understands. It returns false if there are
// too many.
func (d *decoder) keep(x *defLine) bool {
	size := len(x.text) + 100
	if d.keptSize+size > maxKept {
		d.dropped++
		return false
	}
	d.keptSize += size
	return true
}

// opaque keeps a line without effect, as a comment unless it is not a definition.
func (d *decoder) opaque(x *defLine) {
	text := strings.TrimRight(string(x.text), "\r")
	if !x.other {
		text = "# " + text
	}
	if d.first > 0 && x.line > d.first {
		d.moved++
	}
	d.Model.Opaque.Add(trace.Opaque{Format: "etf", Data: trace.Text(text)})
	d.opaqueAt = append(d.opaqueAt, x.line)
}

// firstRecord returns the number of the first line with a readable event or dependency, or 0.
func firstRecord(w lines.Walker) int64 {
	var r Record
	for l, number, ok := w.Next(); ok; l, number, ok = w.Next() {
		if k, i, _ := keyword(l); !k.isDefinition() && r.valid(k, l, i) {
			return number
		}
	}
	return 0
}

// isDefinition reports whether a line is neither an event nor a dependency.
func (k Keyword) isDefinition() bool {
	switch k {
	case C, E, F, D, TSP, TSR:
		return false
	}
	return true
}

// valid reports whether a line can be read and its numbers are consistent.
func (r *Record) valid(k Keyword, l []byte, i int) bool {
	if _, p := r.parse(k, l, i); p.rule != "" && p.severity == trace.Error {
		return false
	}
	return k != D && k.isInterval(r.Start, r.End) || k == D && r.Type >= 0 && r.Type <= 8
}

// isInterval reports whether lines with a keyword may have these two times.
func (k Keyword) isInterval(start, end trace.Decimal) bool {
	switch k {
	case C, TSR:
		return linetrace.Compare(start, end) <= 0
	case F:
		return linetrace.Compare(start, end) < 0
	}
	return true
}

// unit returns the unit of a TU line. ok is false for other lines and unknown units.
func (x *defLine) unit() (name string, ok bool) {
	k, i, _ := keyword(x.text)
	if k != TU {
		return "", false
	}
	name = strings.TrimSpace(string(x.text[i:]))
	_, _, ok = unitOf(name)
	return name, ok
}

// index reads the file once: it determines the tick, the order of the lines and all definitions.
func (d *decoder) index(ctx context.Context) error {
	var all []*scanResult
	var defs []defLine
	events := false
	err := linetrace.Index(ctx, &d.Text, d.scan, func(r *scanResult, shift int64) error {
		r.shift(shift)
		if d.first == 0 && r.record > 0 {
			d.first = r.record + shift
		}
		for _, x := range r.defs {
			if x.other && !d.keep(&x) {
				continue
			}
			defs = append(defs, x)
		}
		r.defs = nil
		events = events || r.events
		d.coded.other += r.coded.other
		d.coded.utf8 += r.coded.utf8
		all = append(all, r)
		d.deps += r.deps
		return nil
	})
	if err != nil {
		return err
	}
	// Find the time unit first, because it limits the number of digits of times.
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

// scan is the first pass over a chunk.
func (d *decoder) scan(b *lines.Block) *scanResult {
	w := d.File.Walk(b)
	all, r := w, &scanResult{coded: codedOf(b.Data)}
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
			if len(r.defs) > 0 { // some of these lines may be ignored
				r.record = firstRecord(all)
			}
			return r
		}
		k, i, isBlank := keyword(l)
		if isBlank && i == len(l) {
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
		if !ok && rec.noSamples(k, l, i) {
			r.defs = append(r.defs, defLine{append([]byte(nil), l...), number, true})
		}
		if !ok || !k.isInterval(t, end) {
			continue
		}
		switch k {
		case C:
			r.claims.add(t)
			r.change(b, l, number, k)
		case E:
			r.points.add(t)
			r.events = true
			r.change(b, l, number, k)
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

// noSamples reports whether a line is a legal one of samples without any. It has no effect, as a comment.
func (r *Record) noSamples(k Keyword, l []byte, i int) bool {
	if k != TSP {
		return false
	}
	_, p := r.parse(k, l, i)
	return len(r.Times) == 0 && (p.rule == "" || p.severity != trace.Error)
}

// times returns the start and the end of a line. ok is false for lines without times.
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

// shift adds n to the line numbers.
func (r *scanResult) shift(n int64) {
	for i := range r.defs {
		r.defs[i].line += n
	}
	r.ShiftBreaks(n)
	for i := range r.changes {
		r.changes[i].Line += n
	}
}

// quickClaim updates the result with the claim whose line is at the start of rest. It returns the length
// of the line, or 0 if its numbers are not written in the common way.
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
		r.change(b, rest, line, C)
	}
	c := &r.claims
	t, end := sameScale(t0, scale0, c.last.Scale), sameScale(t1, scale1, r.Max.Scale)
	if c.any && r.Last == c.last && t.Scale == c.last.Scale && t.Coef >= c.last.Coef &&
		t.Scale <= r.Scale && end.Scale == r.Max.Scale && end.Scale <= r.Scale {
		// The previous line is a claim that does not begin later. This is the short form of the other
		// branch.
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

// sameScale converts a number to a scale in which it is easy to compare, if that is cheap.
func sameScale(v int64, scale, wanted int32) trace.Decimal {
	if more := wanted - scale; uint32(more) < 4 && uint64(v) < 1e15 {
		return trace.Decimal{Coef: v * [...]int64{1, 10, 100, 1000}[more], Scale: wanted}
	}
	return trace.Decimal{Coef: v, Scale: scale}
}

// quickEvent is like quickClaim, for an event.
func (r *scanResult) quickEvent(b *lines.Block, rest []byte, line int64) int {
	t, scale, i := digits.Decimal(rest, skipInteger(rest, 2), digits.AnyByte)
	if i == 0 || semicolon(rest, i) == 0 {
		return 0
	}
	if r.kind[1] != E {
		r.change(b, rest, line, E)
	}
	r.events = true
	at := trace.Decimal{Coef: t, Scale: scale}
	r.points.add(at)
	r.Add(b, rest, line, at, at)
	return i + skipLine(rest[i:])
}

// quickFragment is like quickClaim, for a fragment.
func (r *scanResult) quickFragment(b *lines.Block, rest []byte, line int64) int {
	id, i := integer(rest, 2)
	t0, scale0, i := digits.Decimal(rest, i, ' ')
	t1, scale1, i := digits.Decimal(rest, i, ' ')
	if i == 0 {
		return 0
	}
	at, end := trace.Decimal{Coef: t0, Scale: scale0}, trace.Decimal{Coef: t1, Scale: scale1}
	if !F.isInterval(at, end) {
		return i + skipLine(rest[i:])
	}
	if r.drawn == nil || r.signal != id {
		r.signal, r.drawn = id, r.curve(seriesKey{kind: S, group: id})
	}
	r.drawn.add(at)
	r.Add(b, rest, line, at, end)
	return i + skipLine(rest[i:])
}

// change records that a line is a claim and the previous one an event, or vice versa.
func (r *scanResult) change(b *lines.Block, l []byte, number int64, k Keyword) {
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

// order chooses the tick and finds the sorted pieces of the file.
func (d *decoder) order(all []*scanResult, carried bool) {
	var claims, points timedLines
	curves := map[seriesKey]*timedLines{}
	times := make([]*linetrace.Times, len(all))
	kind := NoKeyword
	for i, r := range all {
		if carried {
			// The rank of carried events counts across sections, so each section is a piece of its own.
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
		claims.follow(&r.claims)
		points.follow(&r.points)
		for k, c := range r.curves {
			if x := curves[k]; x != nil {
				x.follow(c)
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

// MostDigits returns the greatest number of digits behind the point of a time. Ticks per second must fit 64 bits.
func (d *decoder) MostDigits() int32 {
	_, den, _ := unitOf(d.unit)
	return int32(min(18, len(strconv.FormatInt(math.MaxInt64/den, 10))-1))
}
