package picl

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/internal/digits"
	"github.com/weft-trace/weft/internal/lines"
	"github.com/weft-trace/weft/trace"
)

// Record types (docs/formats/picl.md, "Record types").
const (
	TypeMark         = -2
	TypeEntry        = -3
	TypeExit         = -4
	TypeLabel        = -5
	TypeDescriptor   = -6
	TypeMessage      = -7
	TypeTimes        = -101 // seconds by event type
	TypeCounts       = -102
	TypeVolumes      = -103 // MPICL: volume sent
	TypeRecvVolumes  = -104 // MPICL
	TypeSizeVolumes  = -105 // MPICL
	TypeProcessorSet = -201
	TypeProcessSet   = -202
	TypeEventSet     = -203
)

// Host is the processor number of the host.
const Host = 32767

// Record is one PICL record.
type Record struct {
	Type      int64         // record type
	Event     int64         // event type, -1 for all, < -1 also subsets
	Time      trace.Decimal // seconds
	Processor int64         // -1 all, < -1 subset, Host
	Process   int64         // -1 all or not known
	// Fields is the number of data fields as the file states it.
	Fields int64
	// Values are the data, decoded by the descriptor: Int32, Int64, Float32,
	// Float64, and String for words and for character data.
	Values []trace.Value
	// Text is the number of data fields, the descriptor and the data as the file has them,
	// where Values alone would be written in another form. Append writes it in place of
	// Values, so whoever changes Values empties it.
	Text string
	// Line is the number of the record's line, from 1.
	Line int64
	// defect says that Text may have more than Values tell.
	defect bool
}

// head holds the first six fields of a record; field 2, the time, is the
// coefficient of a decimal.
type head struct {
	f     [6]int64
	scale int32
	exact bool
}

var fieldNames = [6]string{"record type", "event type", "timestamp", "processor", "process", "number of data fields"}

// parse reads the first n fields of a line and returns where it stopped. bad
// is the number of the field that is missing or malformed, -1 if all are good.
func (h *head) parse(l []byte, n int) (i, bad int) {
	h.exact = true
	for f := range n {
		for i < len(l) && (l[i] == ' ' || l[i] == '\t') {
			i++
		}
		if f == 2 {
			d, k, exact := trace.ParseDecimal(l[i:])
			if k == 0 || i+k < len(l) && !blank(l[i+k]) {
				return i, 2
			}
			h.f[2], h.scale, h.exact = d.Coef, d.Scale, exact
			i += k
			continue
		}
		j := i
		neg := j < len(l) && l[j] == '-'
		if neg || j < len(l) && l[j] == '+' {
			j++
		}
		for j+1 < len(l) && l[j] == '0' && l[j+1]-'0' <= 9 {
			j++
		}
		v, next := digits.Integer(l, j)
		if next < 0 || l[j] == '-' || next < len(l) && !blank(l[next]) {
			return i, f
		}
		if neg {
			v = -v
		}
		h.f[f] = v
		i = next
	}
	return i, -1
}

// counts reads the number of data fields, too; it is false if there is none.
func (h *head) counts(l []byte) bool {
	_, bad := h.parse(l, 6)
	return bad < 0
}

// quick reads the head of the line that data begins with if it is spelled in
// the usual way: single blanks, a decimal time, no exponents. It returns where
// the head ends, or -1 if the line needs parse. data must end in a line end.
func (h *head) quick(data []byte) int {
	typ, i := int64(0), 0
	if len(data) > 8 && data[0] == '-' && data[1]-'0' <= 9 && data[2] == ' ' {
		typ, i = -int64(data[1]-'0'), 2
	} else {
		typ, i = digits.Integer(data, 0)
	}
	event, i := short(data, follow(data, i))
	i = h.quickTime(data, follow(data, i))
	processor, i := short(data, follow(data, i))
	process, i := short(data, follow(data, i))
	fields, i := short(data, follow(data, i))
	if i < 0 || data[i] != ' ' && data[i] != '\n' {
		return -1
	}
	h.f[0], h.f[1], h.f[3], h.f[4], h.f[5] = typ, event, processor, process, fields
	h.exact = true
	return i
}

// short does what integer does, with less work for one or two digits.
func short(data []byte, i int) (v int64, next int) {
	if uint(i) < uint(len(data)) && len(data)-i > 2 {
		a, b, c := data[i]-'0', data[i+1], data[i+2]
		if a <= 9 {
			if b <= ' ' {
				return int64(a), i + 1
			}
			if b -= '0'; b <= 9 && c <= ' ' {
				return int64(a)*10 + int64(b), i + 2
			}
		}
	}
	return digits.Integer(data, i)
}

// follow passes over the single blank at i, or returns -1.
func follow(data []byte, i int) int {
	if uint(i) >= uint(len(data)) || data[i] != ' ' {
		return -1
	}
	return i + 1
}

// quickTime reads a time without exponent and returns where it stops, or -1.
func (h *head) quickTime(data []byte, i int) int {
	var v int64
	var end int
	if i >= 0 && len(data)-i > 2 && data[i+1] == '.' && data[i]-'0' <= 9 {
		v, end = int64(data[i]-'0'), i+1
	} else {
		v, end = digits.Integer(data, i)
		h.f[2], h.scale = v, 0
		if end < 0 || data[end] != '.' {
			return end
		}
	}
	neg := data[i] == '-'
	if neg {
		v = -v
		i++
	}
	j := end + 1
	if len(data)-j > 8 {
		if x := binary.LittleEndian.Uint64(data[j:]); digits.Count(x) == 8 {
			v = v*1e8 + int64(digits.Number(x, 8))
			j += 8
		}
	}
	for ; uint(j) < uint(len(data)); j++ {
		d := data[j] - '0'
		if d > 9 {
			break
		}
		v = v*10 + int64(d)
	}
	if j-i > 19 { // with the point
		return -1
	}
	if neg {
		v = -v
	}
	h.f[2], h.scale = v, int32(j-end-1)
	return j
}

// integers reads n values of the descriptor 2 ("%d") that are spelled in the
// usual way; ok is false if they are not, or not as many.
func integers(l []byte, n int64, vals []trace.Value) (out []trace.Value, ok bool) {
	i := 0
	for range n {
		v, next := digits.Integer(l, follow(l, i))
		if next < 0 || next-i > 11 {
			return vals, false
		}
		vals = append(vals, intValue(v))
		i = next
	}
	return vals, i == len(l)
}

// shortList reads integers that are spelled in the usual way, as integers does,
// as many as out has room for. next is where they end, -1 if they are spelled
// otherwise.
func shortList(data []byte, i int, out []int64) (next int) {
	for k := range out {
		if len(data)-i > 8 && data[i] == ' ' {
			x := binary.LittleEndian.Uint64(data[i+1:])
			if n := digits.Count(x); n > 0 && n < 8 {
				out[k] = int64(digits.Number(x, n))
				i += n + 1
				continue
			}
		}
		if out[k], next = digits.Integer(data, follow(data, i)); next < 0 || next-i > 11 {
			return -1
		}
		i = next
	}
	return i
}

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' }

func (h *head) time() trace.Decimal { return trace.Decimal{Coef: h.f[2], Scale: h.scale} }

// predefined are the control strings that integers name unless a record of
// type -6 says otherwise.
var predefined = [6]*control{
	mustControl("%c"), mustControl("%s"), mustControl("%d"), mustControl("%ld"), mustControl("%f"), mustControl("%lf"),
}

func mustControl(s string) *control {
	c, err := parseControl(s)
	if err != nil {
		panic(err)
	}
	return c
}

// dataProblem says what was wrong with a record's data; empty fields mean that
// all was well.
type dataProblem struct {
	rule, found, expected string
	severity              trace.Severity
}

// resolver finds the control string that an integer descriptor names for a
// record.
type resolver interface {
	control(n int64, h *head, line int64) *control
	inline(text string) (*control, error)
}

// parseData decodes the data of a record, whose number of fields is n, from
// what follows its head. Values are appended to vals; text aliases l.
func parseData(l []byte, n int64, h *head, line int64, res resolver, vals []trace.Value) ([]trace.Value, dataProblem) {
	i := 0
	for i < len(l) && blank(l[i]) {
		i++
	}
	if n == 0 {
		if rest := bytes.TrimRight(l[i:], " \t\r"); len(rest) > 0 {
			return vals,
				dataProblem{"picl.extra-data", quote(rest), "nothing, since the number of data fields is 0", trace.Warning}
		}
		return vals, dataProblem{}
	}
	if n < 0 {
		return words(l[i:], vals),
			dataProblem{"picl.malformed-record", fmt.Sprintf("%d data fields", n), "a number ≥ 0", trace.Error}
	}
	if i == len(l) {
		return vals, dataProblem{"picl.data-missing", fmt.Sprintf("%d data fields but no descriptor", n),
			"a descriptor and data", trace.Warning}
	}
	var c *control
	if l[i] == '"' {
		j := closingQuote(l[i:])
		if j < 0 {
			return words(l[i:], vals),
				dataProblem{"picl.malformed-record", quote(l[i:]), "a closing quote of the control string", trace.Error}
		}
		var err error
		if c, err = res.inline(string(l[i+1 : i+j])); err != nil {
			return words(l[i+j+1:], vals), dataProblem{"picl.descriptor", err.Error(), "a scanf control string", trace.Warning}
		}
		i += j + 1
	} else {
		j := i
		for j < len(l) && !blank(l[j]) {
			j++
		}
		d, err := strconv.ParseInt(string(l[i:j]), 10, 64)
		if err != nil {
			return words(l[i:], vals), dataProblem{"picl.malformed-record", "data descriptor " + quote(l[i:j]),
				"an integer or a quoted control string", trace.Error}
		}
		if c = res.control(d, h, line); c == nil {
			return words(l[j:], vals), dataProblem{"picl.unknown-descriptor", fmt.Sprintf("descriptor %d", d),
				"0 to 5 or one defined by a record of type -6", trace.Warning}
		}
		i = j
	}
	return c.values(l[i:], n, vals)
}

func quote(b []byte) string { return lines.Quote(b, 40) }

// words keeps all that is left of a line whose data cannot be told apart otherwise.
func words(l []byte, vals []trace.Value) []trace.Value {
	for _, w := range bytes.Fields(l) {
		vals = append(vals, trace.StringValue(alias(w)))
	}
	return vals
}

// values decodes n repetitions of the control string from l.
func (c *control) values(l []byte, n int64, vals []trace.Value) ([]trace.Value, dataProblem) {
	switch {
	case c.characters:
		return text(l, n, vals)
	case c.simple == nil:
		return c.scan(l, n, vals)
	}
	k := int64(len(c.simple))
	want := n * k
	if n > int64(len(l)) {
		// Not even one byte for each field: do not trust the count.
		want = math.MaxInt64
	}
	got := int64(0)
	i := 0
	var problem dataProblem
	for {
		for i < len(l) && blank(l[i]) {
			i++
		}
		if i >= len(l) || got == want {
			break
		}
		// Fast way: a plain decimal integer.
		typ := c.simple[0]
		if k > 1 {
			typ = c.simple[got%k]
		}
		j := i
		if typ == trace.Int32 || typ == trace.Int64 {
			if v, next := digits.Integer(l, i); next > 0 && (next == len(l) || blank(l[next])) {
				if int64(int32(v)) != v {
					typ = trace.Int64
				}
				vals = append(vals, trace.Value{Num: uint64(v), Type: typ})
				got++
				i = next
				continue
			}
		}
		for j < len(l) && !blank(l[j]) {
			j++
		}
		v, ok := parseValue(typ, l[i:j])
		if !ok && problem.rule == "" {
			problem = c.mismatch(l[i:j])
		}
		vals = append(vals, v)
		got++
		i = j
	}
	if problem.rule == "" {
		problem = complete(l[i:], got, n, k, want)
	}
	return vals, problem
}

// mismatch says that text does not fit a conversion.
func (c *control) mismatch(text []byte) dataProblem {
	return dataProblem{"picl.data-type", quote(text), "a value for " + strconv.Quote(c.text), trace.Warning}
}

// complete says what is wrong with the number of values that were found: n structures of k
// were announced, rest is what follows the values.
func complete(rest []byte, got, n, k, want int64) dataProblem {
	switch {
	case got == want:
		if rest = bytes.TrimSpace(rest); len(rest) > 0 {
			return dataProblem{"picl.extra-data", quote(rest), fmt.Sprintf("%d values", want), trace.Warning}
		}
		return dataProblem{}
	case got == k && k > 1:
		return dataProblem{"picl.one-structure", fmt.Sprintf("%d values", got),
			fmt.Sprintf("%d × %d; taken as one structure", n, k), trace.Warning}
	}
	return dataProblem{"picl.data-missing", fmt.Sprintf("%d values", got), fmt.Sprintf("%d × %d", n, k), trace.Warning}
}

// parseValue decodes one token; a token of another type is kept as a word.
func parseValue(typ trace.Type, tok []byte) (trace.Value, bool) {
	switch typ {
	case trace.Int32, trace.Int64:
		if v, err := strconv.ParseInt(string(tok), 10, 64); err == nil {
			if typ == trace.Int32 && int64(int32(v)) != v {
				typ = trace.Int64
			}
			return trace.Value{Num: uint64(v), Type: typ}, true
		}
	case trace.Float32, trace.Float64:
		if d, n, exact := trace.ParseDecimal(tok); n == len(tok) && exact && typ == trace.Float64 {
			return trace.FloatValue(d.Float()), true
		}
		bits := 64
		if typ == trace.Float32 {
			bits = 32
		}
		// scanf knows hexadecimal numbers too, but not Go's blanks in numbers.
		if v, err := strconv.ParseFloat(string(tok), bits); err == nil && bytes.IndexByte(tok, '_') < 0 {
			if typ == trace.Float32 {
				return trace.Value{Num: uint64(math.Float32bits(float32(v))), Type: typ}, true
			}
			return trace.FloatValue(v), true
		}
	case trace.String, trace.Char:
		return trace.StringValue(alias(tok)), true
	}
	return trace.StringValue(alias(tok)), false
}

// text decodes n characters (specification section 2, rule 2).
func text(l []byte, n int64, vals []trace.Value) ([]trace.Value, dataProblem) {
	if len(l) > 0 && blank(l[0]) {
		l = l[1:]
	}
	trimmed := bytes.TrimRight(l, "\r\n")
	if n < int64(len(trimmed)) {
		trimmed = bytes.TrimRight(trimmed, " \t\r")
	}
	if int64(len(trimmed)) == n {
		return append(vals, trace.StringValue(alias(trimmed))), dataProblem{}
	}
	words := bytes.Fields(trimmed)
	single := int64(len(words)) == n
	for _, w := range words {
		single = single && len(w) == 1
	}
	if single {
		return append(vals, trace.StringValue(string(bytes.Join(words, nil)))), dataProblem{}
	}
	if len(trimmed) == 0 {
		return vals, dataProblem{"picl.data-missing", "no characters", fmt.Sprintf("%d characters", n), trace.Warning}
	}
	return append(vals, trace.StringValue(alias(trimmed))),
		dataProblem{"picl.text-length", fmt.Sprintf("%d characters", len(trimmed)), fmt.Sprintf("%d characters", n),
			trace.Warning}
}

// Append writes the record as one line, without line end. least is the least
// number of digits after the point of the time stamp.
func (r *Record) Append(b []byte, least int) []byte {
	b = digits.AppendInt(b, r.Type)
	b = append(b, ' ')
	b = digits.AppendInt(b, r.Event)
	b = append(b, ' ')
	b = r.Time.AppendLeast(b, least)
	b = append(b, ' ')
	b = digits.AppendInt(b, r.Processor)
	b = append(b, ' ')
	b = digits.AppendInt(b, r.Process)
	if r.Text != "" {
		return appendText(append(b, ' '), r.Text)
	}
	if r.Type == TypeDescriptor && len(r.Values) == 2 {
		// The control string may contain blanks and bears its own quotes.
		b = append(b, ` 1 "%d%s" `...)
		b = r.Values[0].Append(b)
		return append(append(b, ' '), r.Values[1].Str...)
	}
	return r.appendData(b, least)
}

// appendData writes the number of fields, the descriptor and the data that the values get.
func (r *Record) appendData(b []byte, least int) []byte {
	if r.Type <= TypeTimes && r.Type >= TypeSizeVolumes && len(r.Values) > 0 && len(r.Values)%2 == 0 {
		return appendPairs(b, r.Values, least)
	}
	return appendData(b, r.Values)
}

// appendPairs writes the data of a statistics record as PICL does: pairs of an
// event type and a figure, seconds with at least the given number of digits after the point.
func appendPairs(b []byte, vals []trace.Value, least int) []byte {
	p := period(vals)
	if p > 2 {
		return appendData(b, vals)
	}
	b = append(b, ' ')
	b = digits.AppendInt(b, int64(len(vals)/2))
	b = append(b, ` "`...)
	for _, v := range vals[:2] {
		b = append(b, predefined[descriptorOf(v.Type)].text...)
	}
	b = append(b, '"')
	for _, v := range vals {
		b = append(b, ' ')
		if v.Type != trace.Float64 && v.Type != trace.Float32 {
			b = v.Append(b)
			continue
		}
		from := len(b)
		b = appendFloat(b, v)
		point := bytes.IndexByte(b[from:], '.')
		if bytes.IndexByte(b[from:], 'e') >= 0 || least == 0 {
			continue
		}
		if point < 0 {
			point = len(b) - from
			b = append(b, '.')
		}
		for len(b)-from-point-1 < least {
			b = append(b, '0')
		}
	}
	return b
}

// appendData writes the number of fields, the descriptor and the data. Values
// of one type are that many fields; values of several types use the shortest
// control string that repeats.
func appendData(b []byte, vals []trace.Value) []byte {
	b = append(b, ' ')
	n := len(vals)
	if n == 0 {
		return append(b, '0')
	}
	if n == 1 && vals[0].Type == trace.String {
		s := vals[0].Str
		if s == "" {
			return append(b, '0')
		}
		b = digits.AppendInt(b, int64(len(s)))
		b = append(b, ' ', '0', ' ')
		return appendText(b, s)
	}
	if slices.ContainsFunc(vals, spaced) || strings.HasSuffix(vals[n-1].Str, `\`) {
		return appendStructure(b, vals)
	}
	p := period(vals)
	b = digits.AppendInt(b, int64(n/p))
	if d := descriptorOf(vals[0].Type); p == 1 {
		b = append(b, ' ', '0'+d)
	} else {
		b = append(b, ' ', '"')
		for _, v := range vals[:p] {
			b = append(b, predefined[descriptorOf(v.Type)].text...)
		}
		b = append(b, '"')
	}
	for _, v := range vals {
		b = appendValue(append(b, ' '), v)
	}
	return b
}

// appendValue writes a value that blanks separate from others.
func appendValue(b []byte, v trace.Value) []byte {
	switch v.Type {
	case trace.String:
		return appendWord(b, v.Str)
	case trace.Float32, trace.Float64:
		return appendFloat(b, v)
	}
	return v.Append(b)
}

// maxWidth is the largest width of a conversion.
const maxWidth = 1 << 20

// spaced reports whether a value is a text with blanks, which %s cannot read.
func spaced(v trace.Value) bool {
	return v.Type == trace.String && strings.ContainsAny(v.Str, " \t\n\v\f\r") && len(v.Str) <= maxWidth
}

// appendStructure writes the number of fields, the descriptor and the data as one field, where
// texts with blanks are characters (%5c) among other values.
func appendStructure(b []byte, vals []trace.Value) []byte {
	b = append(b, `1 "`...)
	var data []byte
	for i, v := range vals {
		if !spaced(v) && (i < len(vals)-1 || !strings.HasSuffix(v.Str, `\`)) {
			b = append(b, predefined[descriptorOf(v.Type)].text...)
			data = appendValue(append(data, ' '), v)
			continue
		}
		// Characters begin right behind what is before them, unless a blank in the control
		// string skips the blanks there.
		if own := blank(v.Str[0]); i == 0 {
			data = append(data, ' ')
		} else if !own {
			b, data = append(b, ' '), append(data, ' ')
		}
		b = append(strconv.AppendInt(append(b, '%'), int64(len(v.Str)), 10), 'c')
		for _, c := range []byte(v.Str) {
			if c == '\n' || c == '\r' {
				c = ' '
			}
			data = append(data, c)
		}
	}
	// Blanks and a backslash at the end of a line are no data.
	if c := data[len(data)-1]; blank(c) || c == '\\' {
		b, data = append(b, ';'), append(data, ';')
	}
	return append(append(b, '"'), data...)
}

// changed says what writing a text as one of n data fields makes of it, "" if it stays.
func changed(text string, n int) string {
	switch {
	case text == "" && n == 1:
		return "an empty text is left out"
	case text == "":
		return "an empty text among other values became -"
	case strings.ContainsAny(text, "\n\r"):
		return "a line end became a blank"
	case n == 1 && strings.HasSuffix(strings.TrimRight(text, " \t"), "\\"):
		return "a backslash at the end became a slash"
	case n > 1 && len(text) > maxWidth && strings.ContainsAny(text, " \t\v\f"):
		return "blanks of a text above 1 MiB became _"
	}
	return ""
}

// appendText writes character data; line ends and a backslash at the end cannot
// be represented.
func appendText(b []byte, s string) []byte {
	for i := range len(s) {
		c := s[i]
		if c == '\n' || c == '\r' {
			c = ' '
		}
		b = append(b, c)
	}
	// A backslash at the end of a line joins it to the next one.
	for i := len(b) - 1; i >= 0 && (b[i] == '\\' || b[i] == ' ' || b[i] == '\t'); i-- {
		if b[i] == '\\' {
			b[i] = '/'
		}
	}
	return b
}

// appendWord writes a word for %s, which must not contain what scanf takes for
// blanks.
func appendWord(b []byte, s string) []byte {
	if s == "" {
		return append(b, '-')
	}
	for i := range len(s) {
		c := s[i]
		if c == ' ' || c >= '\t' && c <= '\r' {
			c = '_'
		}
		b = append(b, c)
	}
	return b
}

func appendFloat(b []byte, v trace.Value) []byte {
	f := v.Float()
	if a := math.Abs(f); a != 0 && (a < 1e-15 || a >= 1e18) || math.IsNaN(f) {
		return v.Append(b)
	}
	if v.Type == trace.Float32 {
		return strconv.AppendFloat(b, f, 'f', -1, 32)
	}
	return digits.AppendReal(b, f)
}

func descriptorOf(t trace.Type) byte {
	switch t {
	case trace.String, trace.Bytes, trace.None:
		return 1
	case trace.Int8, trace.Int16, trace.Int32, trace.Uint8, trace.Uint16, trace.Char, trace.Bool:
		return 2
	case trace.Float32:
		return 4
	case trace.Float64:
		return 5
	}
	return 3
}

// period is the smallest p such that the types of vals repeat with it.
func period(vals []trace.Value) int {
	n := len(vals)
next:
	for p := 1; p < n; p++ {
		if n%p != 0 {
			continue
		}
		for i := p; i < n; i++ {
			if descriptorOf(vals[i].Type) != descriptorOf(vals[i-p].Type) {
				continue next
			}
		}
		return p
	}
	return n
}
