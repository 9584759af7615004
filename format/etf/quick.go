package etf

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"strings"

	"github.com/weft-trace/weft/internal/digits"
	"github.com/weft-trace/weft/trace"
)

// quickInteger reads an integer and the blank after it. next is the index at which the next field begins, or 0
// if the slow path must read the number.
func quickInteger(data []byte, i int) (v int64, next int) {
	if i+1 < len(data) && data[i+1] == ' ' { // most ids of resources and dependency types have one digit
		if d := data[i] - '0'; d <= 9 {
			return int64(d), i + 2
		}
	}
	if len(data)-i >= 8 {
		x := binary.LittleEndian.Uint64(data[i:])
		if n := digits.Count(x); n > 0 && n < 8 && data[i+n] == ' ' {
			return int64(digits.Number(x, n)), i + n + 1
		}
	}
	v, scale, i := digits.Decimal(data, i, ' ')
	if scale != 0 {
		return 0, 0
	}
	return v, i
}

// skipInteger skips an integer. It is fast for less than eight digits, and calls quickInteger for more.
func skipInteger(data []byte, i int) (next int) {
	if len(data)-i >= 8 {
		if n := digits.Count(binary.LittleEndian.Uint64(data[i:])); n < 8 {
			if n == 0 || data[i+n] != ' ' {
				return 0
			}
			return i + n + 1
		}
	}
	_, i = quickInteger(data, i)
	return i
}

// skipSemicolon skips ";" and a blank before it.
func skipSemicolon(data []byte, i int) (next int) {
	if data[i] == ' ' {
		i++
	}
	if data[i] != ';' {
		return 0
	}
	return i + 1
}

// exactFloat converts a decimal number to a float64. ok is false if the result would not be exact.
func exactFloat(v int64, scale int32) (float64, bool) {
	if v > 1<<53 || v < -1<<53 {
		return 0, false
	}
	return trace.Decimal{Coef: v, Scale: scale}.Float(), true
}

// amounts caches the float64 values of numbers with less than eight characters. Traces have few
// different amounts and offsets, and parsing them costs mispredicted branches, because their lengths
// vary.
type amounts [256]struct {
	text  uint64 // the number's characters and the blank after them, as eight bytes
	value float64
}

// amount reads a number and the blank after it. next is 0 if the number is not exact as a float64.
func (p *blockParser) amount(data []byte, i int) (v float64, next int) {
	if len(data)-i < 8 {
		return 0, 0
	}
	x := binary.LittleEndian.Uint64(data[i:])
	y := x ^ 0x2020202020202020
	// sets the highest bit of the first byte that is a blank; bytes after the first blank may be wrong
	blank := (y - 0x0101010101010101) &^ y & 0x8080808080808080
	x &= blank ^ (blank - 1)
	known := &p.amounts[x*0x9e3779b97f4a7c15>>56]
	if known.text == x && blank != 0 {
		return known.value, i + bits.TrailingZeros64(blank)>>3 + 1
	}
	n, scale, next := digits.Decimal(data, i, ' ')
	v, ok := exactFloat(n, scale)
	if next == 0 || !ok {
		return 0, 0
	}
	if blank != 0 {
		known.text, known.value = x, v
	}
	return v, next
}

// quickClaim adds the claim at the start of rest. It returns the length of the line including its end. It
// returns 0 if the line needs the slow path: if it has a defect, an exponent, repeated blanks, or other
// attribute keys than the claim before it. In large files, few lines need it.
func (p *blockParser) quickClaim(rest []byte, line int64) int {
	d := p.d
	id, i := quickInteger(rest, 2)
	t0, scale0, i := digits.Decimal(rest, i, ' ')
	t1, scale1, i := digits.Decimal(rest, i, ' ')
	resource, i := quickInteger(rest, i)
	if i == 0 {
		return 0
	}
	res, ok := d.resourceOf(resource)
	if !ok || d.defined[res] > line {
		return 0
	}
	r := d.Model.Resources.At(res)
	y := math.NaN()
	if r.UsesOffset {
		if y, i = p.amount(rest, i); i == 0 || y < 0 {
			return 0
		}
	}
	x, next := p.amount(rest, i)
	if next == 0 {
		var v int64
		var scale int32
		v, scale, next = digits.Decimal(rest, i, digits.AnyByte)
		if x, ok = exactFloat(v, scale); next == 0 || !ok {
			return 0
		}
	}
	if i = skipSemicolon(rest, next); i == 0 || x < 0 || x > r.Capacity || y+x > r.Capacity {
		return 0
	}
	at, to := sameScale(t0, scale0, d.Digits), sameScale(t1, scale1, d.Digits)
	if at.Scale != d.Digits || to.Scale != d.Digits {
		var ok0, ok1 bool
		at.Coef, ok0 = exactTicks(at, d.Digits)
		to.Coef, ok1 = exactTicks(to, d.Digits)
		if !ok0 || !ok1 {
			return 0
		}
	}
	t0, t1 = at.Coef, to.Coef
	if t1 <= t0 || t0 < 0 {
		return 0
	}
	l := p.eventsOf(r.Location)
	l.reserve(1, 4, len(p.recent[0].list))
	l.release(t0, line)
	ref, end := p.quickAttributes(rest, i, &l.columns, &p.recent[0])
	if end > 0 {
		p.addClaim(l, r.Location, ref, res, line, t0, t1, id, x, y)
	}
	return end
}

// quickEvent processes the line of an event in the same way as quickClaim processes that of a claim.
func (p *blockParser) quickEvent(rest []byte, line int64) int {
	id, i := quickInteger(rest, 2)
	t, scale, i := digits.Decimal(rest, i, digits.AnyByte)
	if i == 0 {
		return 0
	}
	if i = skipSemicolon(rest, i); i == 0 || t < 0 {
		return 0
	}
	t, ok := exactTicks(trace.Decimal{Coef: t, Scale: scale}, p.d.Digits)
	if !ok {
		return 0
	}
	l := p.eventsOf(p.d.events)
	l.reserve(1, 1, len(p.recent[1].list))
	l.release(t, line)
	ref, end := p.quickAttributes(rest, i, &l.columns, &p.recent[1])
	if end > 0 {
		p.addEvent(l, ref, line, t, id)
	}
	return end
}

// quickDependency processes the line of a dependency in the same way as quickClaim processes that of a claim.
func (p *blockParser) quickDependency(rest []byte, line int64) int {
	id, i := quickInteger(rest, 2)
	typ, i := quickInteger(rest, i)
	src, i := quickInteger(rest, i)
	dst, scale, i := digits.Decimal(rest, i, digits.AnyByte)
	if i == 0 || scale != 0 || typ < 0 || typ > 8 || src == dst {
		return 0
	}
	if i = skipSemicolon(rest, i); i == 0 {
		return 0
	}
	if !p.links && len(p.unusedAttrs) > 0 && bytes.HasPrefix(rest[i:], p.unusedAttrs) {
		return i + len(p.unusedAttrs)
	}
	_, end := p.quickAttributes(rest, i, nil, &p.recent[2])
	if end > 0 && !p.links {
		p.unusedAttrs = append(p.unusedAttrs[:0], rest[i:end]...)
	}
	if end > 0 && p.links {
		p.deps = append(p.deps, dependency{line, id, typ, src, dst, rest[i : end-1]})
	}
	return end
}

// quickFragment processes the line of a fragment in the same way as quickClaim processes that of a claim.
func (p *blockParser) quickFragment(rest []byte, line int64) int {
	d := p.d
	id, i := quickInteger(rest, 2)
	t0, scale0, i := digits.Decimal(rest, i, ' ')
	t1, scale1, i := digits.Decimal(rest, i, ' ')
	c, scaleC, i := digits.Decimal(rest, i, ' ')
	b, scaleB, i := digits.Decimal(rest, i, ' ')
	a, scaleA, i := digits.Decimal(rest, i, digits.AnyByte)
	if i == 0 || rest[i] != '\n' {
		return 0
	}
	d.Growing.Lock()
	m, ok := d.metrics[seriesKey{kind: S, group: id}]
	d.Growing.Unlock()
	if !ok || int(m) >= len(d.signalDefs) || d.signalDefs[m] > line {
		return 0
	}
	it := timedLine{kind: F, pos: line, ref: m, loc: d.Model.Metrics.At(m).Location}
	var ok0, ok1, okC, okB, okA bool
	it.t0, ok0 = exactTicks(trace.Decimal{Coef: t0, Scale: scale0}, d.Digits)
	it.t1, ok1 = exactTicks(trace.Decimal{Coef: t1, Scale: scale1}, d.Digits)
	it.x, okC = exactFloat(c, scaleC)
	it.y, okB = exactFloat(b, scaleB)
	it.z, okA = exactFloat(a, scaleA)
	if !ok0 || !ok1 || !okC || !okB || !okA || it.t0 < 0 || it.t1 <= it.t0 {
		return 0
	}
	p.keys, p.vals = p.keys[:0], p.vals[:0]
	p.addLine(&it)
	return i + 1
}

func exactTicks(t trace.Decimal, digits int32) (int64, bool) {
	v, exact, ok := t.Ticks(digits)
	return v, exact && ok
}

// recentKeys holds the attribute keys of the last line of a kind.
type recentKeys struct {
	list      []recentKey
	irregular bool // some key is repeated, empty, or written with escapes
}

// recentKey is one key of recentKeys.
type recentKey struct {
	name       string
	word, mask uint64 // the characters "name=" as eight bytes, if they fit; word is masked by mask
	key        uint32
	activity   int8 // position among the keys that name the activity, from 1; 0 for other keys
	wanted     bool // the attribute is part of events
}

// put sets the key at position n of the list.
func (r *recentKeys) put(n int, k recentKey) {
	if len(k.name) < 8 {
		var b [8]byte
		copy(b[:], k.name)
		b[len(k.name)] = '='
		k.word, k.mask = binary.LittleEndian.Uint64(b[:]), ^uint64(0)>>(56-8*len(k.name))
	}
	if n == len(r.list) {
		r.list = append(r.list, k)
	}
	r.list[n] = k
	r.irregular = false
	for i := range r.list {
		// A key with an escape is spelled differently from its name.
		name := r.list[i].name
		r.irregular = r.irregular || name == "" || strings.ContainsAny(name, `,=\`) || strings.Trim(name, " \t\r") != name
		for j := range i {
			r.irregular = r.irregular || r.list[i].key == r.list[j].key
		}
	}
}

// endsValue is set for bytes that end a value or that need the slow path.
var endsValue = [256]bool{',': true, '\n': true, '\\': true, '\r': true, '=': true}

// quickAttributes reads an attribute list with the same keys as in the previous line and without escapes. It
// adds the wanted attributes to the next row, which must have room for them; c can be nil if none is wanted. It
// returns the region that the attributes name and the position of the next line. If the list is different, it
// adds nothing and returns the position 0.
func (p *blockParser) quickAttributes(data []byte, i int, c *columns, recent *recentKeys) (ref uint32, end int) {
	ref = trace.NoRef
	rank := int8(math.MaxInt8)
	added := 0
	for n := 0; ; n++ {
		for data[i] == ' ' {
			i++
		}
		if data[i] == '\n' {
			if added > 0 {
				c.attrs += added
			}
			return ref, i + 1
		}
		if n >= len(recent.list) || recent.irregular || len(data)-i < 8 {
			break
		}
		r := &recent.list[n]
		k := len(r.name)
		if binary.LittleEndian.Uint64(data[i:])&r.mask != r.word {
			break
		}
		if r.mask == 0 && (len(data)-i <= k || data[i+k] != '=' || string(data[i:i+k]) != r.name) {
			break
		}
		i += k + 1
		for data[i] == ' ' {
			i++
		}
		start := i
		for !endsValue[data[i]] {
			i++
		}
		mark := data[i]
		if mark != ',' && mark != '\n' {
			break
		}
		stop := i
		for stop > start && (data[stop-1] == ' ' || data[stop-1] == '\t') {
			stop--
		}
		if start < stop && data[start] == '\t' {
			break
		}
		value := stringOf(data[start:stop])
		if r.wanted {
			c.setAttribute(added, r.key, value)
			added++
		}
		if r.activity > 0 && r.activity <= rank {
			rank = r.activity
			ref = p.region(value)
		}
		if mark == ',' {
			for i++; data[i] == ' '; i++ {
			}
			if data[i] == '\n' {
				break // a "," at the end, which the slow path reports
			}
		}
	}
	return trace.NoRef, 0
}

// skipLine returns the length of the first line of data, including the line end.
func skipLine(data []byte) int { return bytes.IndexByte(data, '\n') + 1 }
