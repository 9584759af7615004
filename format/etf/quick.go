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

// integer reads a number without a decimal point, and the blank after it.
func integer(data []byte, i int) (v int64, next int) {
	if i+1 < len(data) && data[i+1] == ' ' { // resources and types are small
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

// skipInteger skips an integer of less than eight digits, or a longer one that integer reads.
func skipInteger(data []byte, i int) (next int) {
	if len(data)-i >= 8 {
		if n := digits.Count(binary.LittleEndian.Uint64(data[i:])); n < 8 {
			if n == 0 || data[i+n] != ' ' {
				return 0
			}
			return i + n + 1
		}
	}
	_, i = integer(data, i)
	return i
}

// semicolon skips ";" and a blank before it.
func semicolon(data []byte, i int) (next int) {
	if data[i] == ' ' {
		i++
	}
	if data[i] != ';' {
		return 0
	}
	return i + 1
}

// real converts a number to a float64 if that is exact.
func real(v int64, scale int32) (float64, bool) {
	if v > 1<<53 || v < -1<<53 {
		return 0, false
	}
	return trace.Decimal{Coef: v, Scale: scale}.Float(), true
}

// amounts caches the values of numbers with a text of less than eight bytes. There are few
// different amounts and offsets, and their varying lengths cause branch mispredictions.
type amounts [256]struct {
	text  uint64 // with the blank after it
	value float64
}

// amount reads a number that is exact as a float64, and the blank after it.
func (p *parsed) amount(data []byte, i int) (v float64, next int) {
	if len(data)-i < 8 {
		return 0, 0
	}
	x := binary.LittleEndian.Uint64(data[i:])
	y := x ^ 0x2020202020202020
	blank := (y - 0x0101010101010101) &^ y & 0x8080808080808080 // the lowest set bit is correct
	x &= blank ^ (blank - 1)
	known := &p.amounts[x*0x9e3779b97f4a7c15>>56]
	if known.text == x && blank != 0 {
		return known.value, i + bits.TrailingZeros64(blank)>>3 + 1
	}
	n, scale, next := digits.Decimal(data, i, ' ')
	v, ok := real(n, scale)
	if next == 0 || !ok {
		return 0, 0
	}
	if blank != 0 {
		known.text, known.value = x, v
	}
	return v, next
}

// quickClaim adds the claim at the start of rest. It returns the length of the line with its end,
// or 0 if the line is not a common and faultless claim: no exponents, single blanks, the same
// attributes as the claim before. Nearly all lines of large files are common.
func (p *parsed) quickClaim(rest []byte, line int64) int {
	d := p.d
	id, i := integer(rest, 2)
	t0, scale0, i := digits.Decimal(rest, i, ' ')
	t1, scale1, i := digits.Decimal(rest, i, ' ')
	resource, i := integer(rest, i)
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
		if x, ok = real(v, scale); next == 0 || !ok {
			return 0
		}
	}
	if i = semicolon(rest, next); i == 0 || x < 0 || x > r.Capacity || y+x > r.Capacity {
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
	l := p.lane(r.Location)
	l.room(1, 4, len(p.recent[0].list))
	l.release(t0, line)
	ref, end := p.quickAttributes(rest, i, &l.columns, &p.recent[0])
	if end > 0 {
		p.claim(l, r.Location, ref, res, line, t0, t1, id, x, y)
	}
	return end
}

// quickEvent adds the event at the start of rest, like quickClaim.
func (p *parsed) quickEvent(rest []byte, line int64) int {
	id, i := integer(rest, 2)
	t, scale, i := digits.Decimal(rest, i, digits.AnyByte)
	if i == 0 {
		return 0
	}
	if i = semicolon(rest, i); i == 0 || t < 0 {
		return 0
	}
	t, ok := exactTicks(trace.Decimal{Coef: t, Scale: scale}, p.d.Digits)
	if !ok {
		return 0
	}
	l := p.lane(p.d.events)
	l.room(1, 1, len(p.recent[1].list))
	l.release(t, line)
	ref, end := p.quickAttributes(rest, i, &l.columns, &p.recent[1])
	if end > 0 {
		p.event(l, ref, line, t, id)
	}
	return end
}

// quickDependency takes the dependency at the start of rest, like quickClaim.
func (p *parsed) quickDependency(rest []byte, line int64) int {
	_, i := integer(rest, 2)
	typ, i := integer(rest, i)
	src, i := integer(rest, i)
	dst, scale, i := digits.Decimal(rest, i, digits.AnyByte)
	if i == 0 || scale != 0 || typ < 0 || typ > 8 || src == dst {
		return 0
	}
	if i = semicolon(rest, i); i == 0 {
		return 0
	}
	n := &p.discarded
	n.columns.attrs = 0
	n.room(0, 0, len(p.recent[2].list))
	_, end := p.quickAttributes(rest, i, &n.columns, &p.recent[2])
	if end > 0 && p.links {
		p.deps = append(p.deps, dependency{line, typ, src, dst, rest[:end-1]})
	}
	return end
}

// quickFragment adds the fragment at the start of rest, like quickClaim.
func (p *parsed) quickFragment(rest []byte, line int64) int {
	d := p.d
	id, i := integer(rest, 2)
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
	if !ok || int(m) >= len(d.drawn) || d.drawn[m] > line {
		return 0
	}
	it := item{kind: F, pos: line, ref: m, loc: d.Model.Metrics.At(m).Location}
	var ok0, ok1, okC, okB, okA bool
	it.t0, ok0 = exactTicks(trace.Decimal{Coef: t0, Scale: scale0}, d.Digits)
	it.t1, ok1 = exactTicks(trace.Decimal{Coef: t1, Scale: scale1}, d.Digits)
	it.x, okC = real(c, scaleC)
	it.y, okB = real(b, scaleB)
	it.z, okA = real(a, scaleA)
	if !ok0 || !ok1 || !okC || !okB || !okA || it.t0 < 0 || it.t1 <= it.t0 {
		return 0
	}
	p.keys, p.vals = p.keys[:0], p.vals[:0]
	p.add(&it)
	return i + 1
}

func exactTicks(t trace.Decimal, digits int32) (int64, bool) {
	v, exact, ok := t.Ticks(digits)
	return v, exact && ok
}

// recentKeys has the keys of the last line of a kind.
type recentKeys struct {
	list      []recentKey
	irregular bool // a key is repeated, empty, or written with escapes
}

// recentKey is the key of the last line at the same place of its list.
type recentKey struct {
	name       string
	word, mask uint64 // "name=" as eight bytes, if it fits
	key        uint32
	activity   int8 // position in the list of keys that name the activity, from 1
}

// put sets the key at place n.
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
		// The text of a key with an escape differs from its name.
		name := r.list[i].name
		r.irregular = r.irregular || name == "" || strings.ContainsAny(name, `,=\`) || strings.Trim(name, " \t\r") != name
		for j := range i {
			r.irregular = r.irregular || r.list[i].key == r.list[j].key
		}
	}
}

// valueEnd has the bytes that end a value, or that need the slow path.
var valueEnd = [256]bool{',': true, '\n': true, '\\': true, '\r': true, '=': true}

// quickAttributes reads attributes with the same keys as in the previous line, without escapes, and
// adds them to the next row, which must have room for them. It returns the region that they name
// and where the next line begins. It returns 0 for the latter, and adds nothing, if the list is
// different.
func (p *parsed) quickAttributes(data []byte, i int, c *columns, recent *recentKeys) (ref uint32, end int) {
	ref = trace.NoRef
	rank := int8(math.MaxInt8)
	for n := 0; ; n++ {
		for data[i] == ' ' {
			i++
		}
		if data[i] == '\n' {
			c.attrs += n
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
		for !valueEnd[data[i]] {
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
		c.attribute(n, r.key, value)
		if r.activity > 0 && r.activity <= rank {
			rank = r.activity
			ref = p.region(value)
		}
		if mark == ',' {
			i++
		}
	}
	return trace.NoRef, 0
}

// skipLine returns the length of the first line of data, including its end.
func skipLine(data []byte) int { return bytes.IndexByte(data, '\n') + 1 }
