package picl

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"github.com/weft-trace/weft/internal/digits"
	"github.com/weft-trace/weft/internal/lines"
	"github.com/weft-trace/weft/internal/plural"
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
	TypeTimes        = -101 // seconds for each event type
	TypeCounts       = -102
	TypeVolumes      = -103 // MPICL: sent volume
	TypeRecvVolumes  = -104 // MPICL: received volume
	TypeSizeVolumes  = -105 // MPICL
	TypeProcessorSet = -201
	TypeProcessSet   = -202
	TypeEventSet     = -203
)

// Host is the number that stands for the host in the field processor.
const Host = 32767

// Record is a record of a PICL file: a line with six numbers and a list of values.
type Record struct {
	Type      int64         // record type
	Event     int64         // -1 stands for all event types; numbers below -1 may be subsets
	Time      trace.Decimal // in seconds
	Processor int64         // -1 stands for all processors, numbers below -1 for subsets
	Process   int64         // -1 stands for all processes, or for an unknown one
	// Fields is the number of data fields that the record in the file states. Append and Writer do not use it.
	Fields int64
	// Values holds the decoded data. Its types are Int32, Int64, Float32 and Float64, and String for
	// words and character data.
	Values []trace.Value
	// Text holds the number of data fields, the descriptor and the data as they are in the file. Text is set
	// only if Append would write Values in another form. Append writes Text instead of Values, so code that
	// changes Values must clear Text.
	Text string
	// Line is the number of the record's line, counted from 1.
	Line int64
	// saysMore is set if Text may contain more than Values, because of a defect or because the control
	// string skips data.
	saysMore bool
}

// head holds the first six fields of a record. f[2], the time, is the coefficient of a decimal number.
type head struct {
	f     [6]int64
	scale int32
	exact bool
}

var fieldNames = [6]string{"record type", "event type", "timestamp", "processor", "process", "number of data fields"}

// parse parses the first n fields of a line and returns the position after them. bad is the number of
// the field that is missing or malformed, or -1 if all are valid.
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

// parseCount parses the number of data fields, in addition to the other fields. It returns false if
// there is none.
func (h *head) parseCount(l []byte) bool {
	_, bad := h.parse(l, 6)
	return bad < 0
}

// parseFast parses the head of the line at the start of data if the head has the usual spelling: single
// blanks, and a decimal time without exponent. It returns the end of the head. It returns -1 if parse
// must parse the line. data must end in a line end.
func (h *head) parseFast(data []byte) int {
	typ, i := int64(0), 0
	if len(data) > 8 && data[0] == '-' && data[1]-'0' <= 9 && data[2] == ' ' {
		typ, i = -int64(data[1]-'0'), 2
	} else {
		typ, i = digits.Integer(data, 0)
	}
	event, i := shortInteger(data, skipBlank(data, i))
	i = h.parseFastTime(data, skipBlank(data, i))
	processor, i := shortInteger(data, skipBlank(data, i))
	process, i := shortInteger(data, skipBlank(data, i))
	fields, i := shortInteger(data, skipBlank(data, i))
	if i < 0 || data[i] != ' ' && data[i] != '\n' {
		return -1
	}
	h.f[0], h.f[1], h.f[3], h.f[4], h.f[5] = typ, event, processor, process, fields
	h.exact = true
	return i
}

// shortInteger does the same as integer. It is faster for one or two digits.
func shortInteger(data []byte, i int) (v int64, next int) {
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

// skipBlank returns the index after the single blank at i, or -1 if there is no single blank.
func skipBlank(data []byte, i int) int {
	if uint(i) >= uint(len(data)) || data[i] != ' ' {
		return -1
	}
	return i + 1
}

// parseFastTime parses a time without exponent. It returns the end of the time, or -1.
func (h *head) parseFastTime(data []byte, i int) int {
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
	if j-i > 19 { // 18 digits and the decimal point
		return -1
	}
	if neg {
		v = -v
	}
	h.f[2], h.scale = v, int32(j-end-1)
	return j
}

// parseIntegers parses n values with the descriptor 2 ("%d") in the usual spelling. ok is false if the values
// have another spelling or need more than 32 bits, or if their number is not n.
func parseIntegers(l []byte, n int64, vals []trace.Value) (out []trace.Value, ok bool) {
	i := 0
	for range n {
		v, next := digits.Integer(l, skipBlank(l, i))
		if next < 0 || next-i > 11 || v != int64(int32(v)) {
			return vals, false
		}
		vals = append(vals, intValue(v))
		i = next
	}
	return vals, i == len(l)
}

// parseIntegerList parses len(out) integers in the usual spelling. next is the position after the list,
// or -1 if the spelling is another one.
func parseIntegerList(data []byte, i int, out []int64) (next int) {
	for k := range out {
		if len(data)-i > 8 && data[i] == ' ' {
			x := binary.LittleEndian.Uint64(data[i+1:])
			if n := digits.Count(x); n > 0 && n < 8 {
				out[k] = int64(digits.Number(x, n))
				i += n + 1
				continue
			}
		}
		if out[k], next = digits.Integer(data, skipBlank(data, i)); next < 0 || next-i > 11 {
			return -1
		}
		i = next
	}
	return i
}

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' }

func (h *head) time() trace.Decimal { return trace.Decimal{Coef: h.f[2], Scale: h.scale} }

// predefined holds the control strings of the integer descriptors. They apply unless a record of type -6
// changes them.
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

// dataProblem describes a problem in a record's data. It is empty if there is no problem.
type dataProblem struct {
	rule, found, expected string
	severity              trace.Severity
}

// resolver finds the control string that an integer descriptor stands for in a record.
type resolver interface {
	control(n int64, h *head, line int64) *control
	inline(text string) (*control, error)
}

// parseData decodes the data of a record with n data fields from l, the text after the head. It appends
// the values to vals. Values that are texts share the memory of l.
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
		return decodeWords(l[i:], vals),
			dataProblem{"picl.malformed-record", plural.Of(n, "data field"), "a number ≥ 0", trace.Error}
	}
	if i == len(l) {
		return vals, dataProblem{"picl.data-missing", fmt.Sprintf("%s but no descriptor", plural.Of(n, "data field")),
			"a descriptor and data", trace.Warning}
	}
	var c *control
	if l[i] == '"' {
		j := closingQuote(l[i:])
		if j < 0 {
			return decodeWords(l[i:], vals),
				dataProblem{"picl.malformed-record", quote(l[i:]), "a closing quote of the control string", trace.Error}
		}
		var err error
		if c, err = res.inline(string(l[i+1 : i+j])); err != nil {
			return decodeWords(l[i+j+1:], vals),
				dataProblem{"picl.descriptor", err.Error(), "a scanf control string", trace.Warning}
		}
		i += j + 1
	} else {
		j := i
		for j < len(l) && !blank(l[j]) {
			j++
		}
		d, err := strconv.ParseInt(string(l[i:j]), 10, 64)
		if err != nil {
			return decodeWords(l[i:], vals), dataProblem{"picl.malformed-record", "data descriptor " + quote(l[i:j]),
				"an integer or a quoted control string", trace.Error}
		}
		if c = res.control(d, h, line); c == nil {
			return decodeWords(l[j:], vals), unknownDescriptor(d)
		}
		i = j
	}
	return c.decodeValues(l[i:], n, vals)
}

// unknownDescriptor returns the problem of an integer that is no descriptor.
func unknownDescriptor(n int64) dataProblem {
	return dataProblem{"picl.unknown-descriptor", fmt.Sprintf("descriptor %d", n),
		"0 to 5 or one defined by a record of type -6", trace.Warning}
}

func quote(b []byte) string { return lines.Quote(b, 40) }

// decodeWords returns the rest of a line as words. It serves data that cannot be decoded otherwise.
func decodeWords(l []byte, vals []trace.Value) []trace.Value {
	for _, w := range bytes.Fields(l) {
		vals = append(vals, trace.StringValue(alias(w)))
	}
	return vals
}

// decodeValues decodes n uses of the control string from l.
func (c *control) decodeValues(l []byte, n int64, vals []trace.Value) ([]trace.Value, dataProblem) {
	switch {
	case c.characters:
		return decodeText(l, n, vals)
	case c.simpleTypes == nil:
		return c.scan(l, n, vals)
	}
	k := int64(len(c.simpleTypes))
	want := n * k
	if n > int64(len(l)) {
		// There is less than one byte per field, so the count is wrong.
		want = math.MaxInt64
	}
	got := int64(0)
	i, before := 0, len(vals)
	for {
		for i < len(l) && blank(l[i]) {
			i++
		}
		if i >= len(l) || got == want {
			break
		}
		// A plain decimal integer takes the fast path.
		typ := c.simpleTypes[0]
		if k > 1 {
			typ = c.simpleTypes[got%k]
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
		if !ok {
			return c.scan(l, n, vals[:before]) // no blank separates two numbers, or the line contains other text
		}
		vals = append(vals, v)
		got++
		i = j
	}
	return vals, countProblem(l[i:], got, n, k, want)
}

// mismatch returns the problem that a text does not fit its conversion.
func (c *control) mismatch(text []byte) dataProblem {
	return dataProblem{"picl.data-type", quote(text), "a value for " + strconv.Quote(c.text), trace.Warning}
}

// countProblem returns the problem of a wrong number of values. The record announces n structures of k
// values each, which makes want values. got values were found, and rest is the text after them.
func countProblem(rest []byte, got, n, k, want int64) dataProblem {
	switch {
	case got == want:
		if rest = bytes.TrimSpace(rest); len(rest) > 0 {
			return dataProblem{"picl.extra-data", quote(rest), plural.Of(want, "value"), trace.Warning}
		}
		return dataProblem{}
	case got == k && k > 1:
		return dataProblem{"picl.one-structure", plural.Of(got, "value"),
			fmt.Sprintf("%d × %d; weft reads the values as one structure", n, k), trace.Warning}
	}
	return dataProblem{"picl.data-missing", plural.Of(got, "value"), fmt.Sprintf("%d × %d", n, k), trace.Warning}
}

// parseValue decodes one word as a value of the given type. If the word does not have the type, it
// returns the word as a text, and false.
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
		// A decimal has no negative zero.
		if d, n, exact := trace.ParseDecimal(tok); n == len(tok) && exact && typ == trace.Float64 &&
			(tok[0] != '-' || d.Float() != 0) {
			return trace.FloatValue(d.Float()), true
		}
		bits := 64
		if typ == trace.Float32 {
			bits = 32
		}
		// scanf also accepts hexadecimal numbers, with or without an exponent. Unlike Go, it does not
		// accept underscores.
		text := string(tok)
		if bytes.ContainsAny(tok, "xX") && !bytes.ContainsAny(tok, "pP") {
			text += "p0"
		}
		if v, err := strconv.ParseFloat(text, bits); err == nil && bytes.IndexByte(tok, '_') < 0 {
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

// decodeText decodes n characters (specification section 2, rule 2).
func decodeText(l []byte, n int64, vals []trace.Value) ([]trace.Value, dataProblem) {
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
		return vals, dataProblem{"picl.data-missing", "no characters", plural.Of(n, "character"), trace.Warning}
	}
	return append(vals, trace.StringValue(alias(trimmed))),
		dataProblem{"picl.text-length", plural.Of(len(trimmed), "character"), plural.Of(n, "character"),
			trace.Warning}
}
