package etf

import (
	"bytes"
	"math"

	"github.com/weft-trace/weft/internal/lines"
	"github.com/weft-trace/weft/trace"
)

// quick reads the numbers of claims that are spelled in the usual way: one
// blank between fields, no exponents. Nearly all lines of large files are such
// lines; everything else goes through Record.parse.
type quick struct {
	v [6]int64 // id, start, end, resource, offset or amount, amount
	s [6]int32 // digits after the point
	n int
}

// claim reads up to limit numbers of the claim that data begins with, "C "
// included, and returns where it stopped: behind the ";", or for a limit of 3
// behind the last number. It returns -1 if the line needs Record.parse. data
// must end in a line end.
func (q *quick) claim(data []byte, limit int) int {
	return q.numbers(data, limit, 5)
}

// bare as the least number of numbers means that all of them must be there and
// that the line ends behind them, without a ";".
const bare = 100

// numbers reads up to limit numbers from data[2:] on, of which at least least
// must be there; the ";" must follow unless the limit is 3.
func (q *quick) numbers(data []byte, limit, least int) int {
	i := 2
	for f := range limit {
		if uint(i) >= uint(len(data)) {
			return -1
		}
		c := data[i]
		if f >= least && c == ';' {
			q.n = f
			return i + 1
		}
		neg := c == '-'
		if neg {
			i++
			if uint(i) >= uint(len(data)) {
				return -1
			}
			c = data[i]
		}
		v := int64(c - '0')
		if v > 9 {
			return -1
		}
		start := i
		for i++; uint(i) < uint(len(data)); i++ {
			c = data[i]
			d := c - '0'
			if d > 9 {
				break
			}
			v = v*10 + int64(d)
		}
		scale := 0
		if c == '.' {
			point := i
			for i++; uint(i) < uint(len(data)); i++ {
				c = data[i]
				d := c - '0'
				if d > 9 {
					break
				}
				v = v*10 + int64(d)
			}
			scale = i - point - 1
			if scale == 0 {
				return -1
			}
		}
		if i-start > 18 {
			return -1
		}
		if neg {
			v = -v
		}
		q.v[f], q.s[f] = v, int32(scale)
		switch {
		case c == ' ':
			i++
		case c == ';' && f >= least-1:
			q.n = f + 1
			return i + 1
		case c == '\n' && least == bare && f == limit-1:
			q.n = limit
			return i + 1
		default:
			return -1
		}
	}
	if limit != 3 {
		if uint(i) < uint(len(data)) && data[i] == ';' {
			q.n = limit
			return i + 1
		}
		return -1
	}
	return i
}

func (q *quick) decimal(f int) trace.Decimal { return trace.Decimal{Coef: q.v[f], Scale: q.s[f]} }

func (q *quick) real(f int) (float64, bool) {
	v := q.v[f]
	if v > 1<<53 || v < -1<<53 {
		return 0, false
	}
	if q.s[f] == 0 {
		return float64(v), true
	}
	return q.decimal(f).Float(), true
}

// plain reports whether the lines of a block can be read by quick.
func plain(f *lines.File, b *lines.Block) bool {
	return !f.Numbered && len(b.Numbers) == 0 && len(b.Data) > 0 && b.Data[len(b.Data)-1] == '\n'
}

// quickClaim makes an item of the claim that rest begins with. It returns the
// length of the line with its end, or 0 if the line is anything but a usual and
// faultless claim.
func (p *parsed) quickClaim(rest []byte, number int64) int {
	var q quick
	d := p.d
	i := q.claim(rest, 6)
	if i < 0 {
		return 0
	}
	res, ok := d.resourceOf(q.v[3])
	if !ok || q.s[0] != 0 || q.s[3] != 0 {
		return 0
	}
	r := d.model.Resources.At(int(res))
	it := item{kind: C, pos: number, id: q.v[0], res: res, loc: r.Location, ref: trace.NoRef, t0: q.v[1], t1: q.v[2], y: math.NaN()}
	if q.s[1] != d.digits {
		if it.t0, ok = exactTicks(q.decimal(1), d.digits); !ok {
			return 0
		}
	}
	if q.s[2] != d.digits {
		if it.t1, ok = exactTicks(q.decimal(2), d.digits); !ok {
			return 0
		}
	}
	if it.t1 <= it.t0 || it.t0 < 0 || d.defined[res] > number || r.UsesOffset != (q.n == 6) {
		return 0
	}
	if it.x, ok = q.real(q.n - 1); !ok {
		return 0
	}
	if r.UsesOffset {
		if it.y, ok = q.real(4); !ok || it.y < 0 || it.y+it.x > r.Capacity {
			return 0
		}
	}
	if it.x > r.Capacity {
		return 0
	}
	end, ok := p.quickAttributes(rest, i, &it, &p.recent[0])
	if !ok {
		return 0
	}
	it.attrs, it.values = int32(len(p.keys)), int32(len(p.values))
	p.items = append(p.items, it)
	return end
}

// quickDependency takes the dependency that rest begins with. It returns the
// length of the line, or 0 if the line is anything but usual and faultless.
func (p *parsed) quickDependency(rest []byte, number int64) int {
	var q quick
	i := q.numbers(rest, 4, 4)
	if i < 0 || q.s[0]|q.s[1]|q.s[2]|q.s[3] != 0 || q.v[1] < 0 || q.v[1] > 8 || q.v[2] == q.v[3] {
		return 0
	}
	var it item
	keys := len(p.keys)
	end, ok := p.quickAttributes(rest, i, &it, &p.recent[2])
	if !ok {
		return 0
	}
	p.keys, p.vals = p.keys[:keys], p.vals[:keys]
	if p.links {
		p.deps = append(p.deps, dependency{number, q.v[1], q.v[2], q.v[3], rest[:end-1]})
	}
	return end
}

// quickFragment makes an item of the fragment that rest begins with, as
// quickClaim does of a claim.
func (p *parsed) quickFragment(rest []byte, number int64) int {
	var q quick
	d := p.d
	end := q.numbers(rest, 6, bare)
	if end < 0 || q.s[0] != 0 {
		return 0
	}
	d.growing.Lock()
	m, ok := d.signals[q.v[0]]
	d.growing.Unlock()
	if !ok || int(m) >= len(d.drawn) || d.drawn[m] > number {
		return 0
	}
	it := item{kind: F, pos: number, ref: m, loc: d.model.Metrics.At(int(m)).Location, attrs: int32(len(p.keys)), values: int32(len(p.values))}
	var ok0, ok1, okC, okB, okA bool
	it.t0, ok0 = exactTicks(q.decimal(1), d.digits)
	it.t1, ok1 = exactTicks(q.decimal(2), d.digits)
	it.x, okC = q.real(3)
	it.y, okB = q.real(4)
	it.z, okA = q.real(5)
	if !ok0 || !ok1 || !okC || !okB || !okA || it.t0 < 0 || it.t1 <= it.t0 {
		return 0
	}
	it.id = q.v[0]
	p.items = append(p.items, it)
	return end
}

// quickEvent makes an item of the event that rest begins with, as quickClaim
// does of a claim.
func (p *parsed) quickEvent(rest []byte, number int64) int {
	var q quick
	i := q.numbers(rest, 2, 2)
	if i < 0 || q.s[0] != 0 || q.v[1] < 0 {
		return 0
	}
	it := item{kind: E, pos: number, id: q.v[0], loc: p.d.events, ref: trace.NoRef, t0: q.v[1]}
	if q.s[1] != p.d.digits {
		var ok bool
		if it.t0, ok = exactTicks(q.decimal(1), p.d.digits); !ok {
			return 0
		}
	}
	it.t1 = it.t0
	end, ok := p.quickAttributes(rest, i, &it, &p.recent[1])
	if !ok {
		return 0
	}
	it.attrs, it.values = int32(len(p.keys)), int32(len(p.values))
	p.items = append(p.items, it)
	return end
}

func exactTicks(t trace.Decimal, digits int32) (int64, bool) {
	v, exact, ok := t.Ticks(digits)
	return v, exact && ok
}

// quickAttributes reads attributes with the same keys as those of the line
// before, without escapes. It returns where the next line begins; ok is false,
// and nothing is added, if the list is of another kind.
func (p *parsed) quickAttributes(data []byte, i int, it *item, recent *[]recentKey) (end int, ok bool) {
	from := len(p.keys)
	rank := int8(math.MaxInt8)
	for n := 0; ; n++ {
		for uint(i) < uint(len(data)) && data[i] == ' ' {
			i++
		}
		if uint(i) >= uint(len(data)) {
			break
		}
		if data[i] == '\n' {
			return i + 1, true
		}
		if n >= len(*recent) {
			break
		}
		r := &(*recent)[n]
		k := len(r.name)
		if len(data)-i <= k || data[i+k] != '=' || string(data[i:i+k]) != r.name {
			break
		}
		i += k + 1
		for data[i] == ' ' {
			i++
		}
		start := i
		c := byte(0)
		for ; uint(i) < uint(len(data)); i++ {
			if c = data[i]; c == ',' || c == '\n' || c == '\\' || c == '\r' {
				break
			}
		}
		if c == '\\' || c == '\r' {
			break
		}
		stop := i
		for stop > start && (data[stop-1] == ' ' || data[stop-1] == '\t') {
			stop--
		}
		for _, x := range p.keys[from:] {
			if x == r.key {
				c = 0
			}
		}
		if c == 0 || start < stop && data[start] == '\t' {
			break
		}
		value := trace.Value{Str: str(data[start:stop]), Type: trace.String}
		p.keys = append(p.keys, r.key)
		p.vals = append(p.vals, value)
		if r.activity > 0 && r.activity <= rank {
			rank = r.activity
			it.ref = p.region(value.Str)
		}
		if c == ',' {
			i++
		}
	}
	p.keys, p.vals = p.keys[:from], p.vals[:from]
	return 0, false
}

// skipLine is the length of the line that data begins with, its end included.
func skipLine(data []byte) int { return bytes.IndexByte(data, '\n') + 1 }
