package picl

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
)

// directive is an element of a scanf control string: white space, a literal byte or a conversion such as %d.
type directive struct {
	verb    byte       // ' ' for white space, 0 for a literal byte, % for %%, else one of the letters d i o x f s c [
	typ     trace.Type // type of the value: Int32, Int64, Float32, Float64 or String
	literal byte
	skip    bool     // %*: scanf reads the value and discards it
	width   int32    // the width of the conversion; 0 if it has none
	set     *byteSet // the bytes that %[ accepts; few directives have one, and there may be millions
}

// byteSet is a set of bytes.
type byteSet [4]uint64

func (s *byteSet) add(b byte)      { s[b>>6] |= 1 << (b & 63) }
func (s *byteSet) has(b byte) bool { return s[b>>6]>>(b&63)&1 != 0 }

// control is a parsed scanf control string.
type control struct {
	text       string
	directives []directive
	// convs is the number of values that one use of the control string produces. It is 0 if all
	// conversions discard their values.
	convs int64
	// characters is set for the control string "%c", with which all data fields together form one text.
	characters bool
	// simpleTypes lists the types of the values if all values are separated by blanks. It is nil for other
	// control strings.
	simpleTypes []trace.Type
}

// closingQuote returns the index of the quote that ends the quoted string at the start of b, or -1 if
// there is none. A backslash escapes a quote.
func closingQuote(b []byte) int {
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return -1
}

// unescape replaces the escape sequences of the C language by the bytes that they stand for.
func unescape(s string) []byte {
	var b []byte
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '\\' && i+1 < len(s) {
			i++
			switch c = s[i]; c {
			case 'n':
				c = '\n'
			case 't':
				c = '\t'
			case 'r':
				c = '\r'
			}
		}
		b = append(b, c)
	}
	return b
}

// parseControl parses a scanf control string.
func parseControl(text string) (*control, error) {
	c := &control{text: text}
	s := unescape(text)
	for len(s) > 0 {
		switch {
		case isSpace(s[0]):
			c.directives = append(c.directives, directive{verb: ' '})
			s = s[1:]
		case s[0] != '%':
			c.directives = append(c.directives, directive{literal: s[0]})
			s = s[1:]
		default:
			d, n, bad := parseConversion(s[1:])
			if bad != "" {
				return nil, fmt.Errorf("control string %q %s", text, bad)
			}
			s = s[1+n:]
			if d.verb == 'n' { // scanf reads nothing, and does not count the conversion
				continue
			}
			c.directives = append(c.directives, d)
			if d.verb != '%' && !d.skip {
				c.convs++
			}
		}
	}
	if !slices.ContainsFunc(c.directives, func(d directive) bool { return d.isConversion() }) {
		return nil, fmt.Errorf("control string %q has no conversion", text)
	}
	c.characters = len(c.directives) == 1 && c.directives[0].verb == 'c' && c.directives[0].width == 0
	c.simpleTypes = simpleTypes(c.directives)
	return c, nil
}

// parseConversion parses the text of a conversion after its %. It returns the length of the text. If
// the conversion is invalid, bad describes the defect.
func parseConversion(s []byte) (d directive, n int, bad string) {
	if len(s) > 0 && s[0] == '*' {
		d.skip = true
		n++
	}
	for n < len(s) && s[n]-'0' <= 9 {
		d.width = min(d.width*10+int32(s[n]-'0'), maxWidth)
		n++
	}
	long := false
	for n < len(s) && bytes.IndexByte([]byte("hlLqjzt"), s[n]) >= 0 {
		long = long || s[n] != 'h'
		n++
	}
	if n == len(s) {
		return d, n, "ends in a conversion"
	}
	d.verb, d.typ = s[n], trace.String
	integer, real := trace.Int32, trace.Float32
	if long {
		integer, real = trace.Int64, trace.Float64
	}
	n++
	switch d.verb {
	case '%':
		return directive{verb: '%', literal: '%'}, n, ""
	case 'c', 's', 'n':
	case '[':
		k := d.parseSet(s[n:])
		if k < 0 {
			return d, n, "has a set without ]"
		}
		n += k
	case 'd', 'u':
		d.verb, d.typ = 'd', integer
	case 'i', 'o':
		d.typ = integer
	case 'x', 'X', 'p':
		d.verb, d.typ = 'x', integer
	case 'f', 'e', 'g', 'a', 'F', 'E', 'G', 'A':
		d.verb, d.typ = 'f', real
	default:
		return d, n, fmt.Sprintf("has the unknown conversion %%%c", d.verb)
	}
	return d, n, ""
}

// parseSet parses the bytes of a %[ conversion. It returns the index of the closing bracket, or -1 if
// there is none.
func (d *directive) parseSet(s []byte) int {
	i, not := 0, false
	d.set = &byteSet{}
	if len(s) > 0 && s[0] == '^' {
		not = true
		i++
	}
	for first := i; ; i++ {
		switch {
		case i >= len(s):
			return -1
		case s[i] == ']' && i > first:
			for i, word := range d.set {
				if not {
					d.set[i] = ^word
				}
			}
			return i + 1
		case s[i] == '-' && i > first && i+1 < len(s) && s[i+1] != ']':
			for b := int(s[i-1]); b <= int(s[i+1]); b++ {
				d.set.add(byte(b))
			}
			i++
		default:
			d.set.add(s[i])
		}
	}
}

// simpleTypes returns the types of the values if blanks always separate all values, and nil otherwise.
func simpleTypes(all []directive) (types []trace.Type) {
	var last byte
	for i := range all {
		d := &all[i]
		switch {
		case d.verb == ' ':
		case d.skip || d.width > 0 || d.verb != 'd' && d.verb != 'f' && d.verb != 's':
			return nil
		case d.verb == 's' && last != 0 && last != 's':
			return nil // without a blank, a word may directly follow the number
		default:
			types = append(types, d.typ)
		}
		last = d.verb
	}
	return types
}

// isConversion reports whether the directive reads a value.
func (d *directive) isConversion() bool { return d.verb != ' ' && d.verb != 0 && d.verb != '%' }

// isNumber reports whether the directive reads a number.
func (d *directive) isNumber() bool {
	switch d.verb {
	case 'd', 'i', 'o', 'x', 'f':
		return true
	}
	return false
}

// scan decodes n uses of the control string from l, as scanf does, with two exceptions. A value that
// does not fit its conversion becomes a word, or the rest of the line if the conversion is %c. If a
// literal is missing, or has blanks before it (which scanf does not skip), decoding continues with the
// next directive.
func (c *control) scan(l []byte, n int64, vals []trace.Value) ([]trace.Value, dataProblem) {
	var problem dataProblem
	l = bytes.TrimSuffix(l, []byte("\r")) // a carriage return belongs to the line end
	got, i := int64(0), 0
	used := int64(0) // number of uses of the control string that have read data
	ended := false   // the line ended before a literal
	if v := c.directives[0].verb; len(l) > 0 && blank(l[0]) && (v == 'c' || v == '[') {
		i++ // skip the blank between the descriptor and the data
	}
	for rep := int64(0); rep < n; rep++ {
		from := i
		for k := range c.directives {
			d := &c.directives[k]
			// each use of the control string begins after blanks
			if v := d.verb; v != 'c' && v != '[' && (v != 0 || k == 0) {
				i = skipBlanks(l, i)
			}
			if d.verb == ' ' {
				continue
			}
			if !d.isConversion() {
				if i == len(l) {
					ended = ended || i > from
					continue
				}
				if l[i] != d.literal {
					if problem.rule == "" {
						problem = c.mismatch(l[i:])
					}
					if j := skipBlanks(l, i); j < len(l) && l[j] == d.literal {
						i = j + 1
					}
					continue
				}
				i++
				continue
			}
			if i >= len(l) {
				break
			}
			v, length, ok := d.readValue(l[i:])
			if !ok || !c.mayEnd(k, rep == n-1, length, l[i+length:]) {
				if d.verb == 'c' { // the line ends inside the characters
					v, length = trace.StringValue(alias(l[i:])), len(l)-i
				} else {
					i = skipBlanks(l, i)
					v, length = readWord(l[i:])
				}
				if problem.rule == "" {
					problem = c.mismatch(l[i : i+length])
				}
			}
			i += length
			if !d.skip {
				vals = append(vals, v)
				got++
			}
		}
		if i > from {
			used++
		}
		if i == from || i >= len(l) {
			break
		}
	}
	want := int64(math.MaxInt64)
	if n <= int64(len(l)) {
		want = n * c.convs
	}
	count := countProblem(l[i:], got, n, c.convs, want)
	if c.convs == 0 && used < n { // no value is kept, so their number does not show that some are missing
		count = dataProblem{"picl.data-missing", plural.Of(used, "data field"), plural.Of(n, "data field"), trace.Warning}
	}
	switch {
	case problem.rule == "":
		problem = count
	case count.rule == "picl.extra-data": // this text is lost, and the other one is kept
		count.found += ", and " + problem.found + " in place of " + problem.expected
		problem = count
	}
	if problem.rule == "" && ended {
		problem = c.mismatch(nil)
		problem.found = "the end of the line"
	}
	return vals, problem
}

// skipBlanks returns the index of the first byte from i on that is not blank.
func skipBlanks(l []byte, i int) int {
	for i < len(l) && blank(l[i]) {
		i++
	}
	return i
}

// mayEnd reports whether the text of directive k may end before rest, where length is the length of
// that text. A number may end at its width, before a blank, or where the text of the next directive can
// begin. last is set in the last use of the control string.
func (c *control) mayEnd(k int, last bool, length int, rest []byte) bool {
	d := &c.directives[k]
	if !d.isNumber() || length == int(d.width) || len(rest) == 0 || blank(rest[0]) {
		return true
	}
	for {
		if k++; k == len(c.directives) {
			if last {
				return false
			}
			k, last = 0, true
		}
		if d = &c.directives[k]; d.verb != ' ' {
			return !d.isNumber() || d.numberLength(d.within(rest)) > 0
		}
	}
}

// readWord returns the text up to the next blank, and its length.
func readWord(l []byte) (trace.Value, int) {
	n := 0
	for n < len(l) && !blank(l[n]) {
		n++
	}
	return trace.StringValue(alias(l[:n])), n
}

// within returns l, truncated to the width of the directive.
func (d *directive) within(l []byte) []byte {
	if d.width > 0 {
		return l[:min(len(l), int(d.width))]
	}
	return l
}

// readValue reads one value at the start of l. It returns the value and the length of its text. ok is false if
// l does not begin with a value of that kind.
func (d *directive) readValue(l []byte) (v trace.Value, n int, ok bool) {
	limit := len(d.within(l))
	switch d.verb {
	case 'c':
		n = max(1, int(d.width))
		if n > len(l) {
			return v, 0, false
		}
	case '[':
		for n < limit && d.set.has(l[n]) {
			n++
		}
	case 's':
		for n < limit && !blank(l[n]) {
			n++
		}
	default:
		n = d.numberLength(l[:limit])
		v, ok = d.parseNumber(l[:n])
		return v, n, ok
	}
	return trace.StringValue(alias(l[:n])), n, n > 0
}

// numberLength returns the length of the number at the start of l.
func (d *directive) numberLength(l []byte) int {
	i := 0
	if i < len(l) && (l[i] == '-' || l[i] == '+') {
		i++
	}
	if d.verb == 'f' {
		if n := realLength(l[i:]); n > 0 {
			return i + n
		}
		return 0
	}
	base := d.base(l[i:])
	if base == 16 && len(l)-i > 2 && l[i] == '0' && l[i+1]|0x20 == 'x' && digitValue(l[i+2]) < 16 {
		i += 2
	}
	from := i
	for i < len(l) && digitValue(l[i]) < base {
		i++
	}
	if i == from {
		return 0
	}
	return i
}

// base returns the base of the unsigned integer at the start of l.
func (d *directive) base(l []byte) int {
	switch {
	case d.verb == 'o':
		return 8
	case d.verb == 'x' || d.verb == 'i' && len(l) > 2 && l[0] == '0' && l[1]|0x20 == 'x':
		return 16
	case d.verb == 'i' && len(l) > 0 && l[0] == '0':
		return 8
	}
	return 10
}

// digitValue returns the value of a hexadecimal digit, or 99 for other bytes.
func digitValue(b byte) int {
	switch {
	case b-'0' <= 9:
		return int(b - '0')
	case b|0x20 >= 'a' && b|0x20 <= 'f':
		return int(b|0x20-'a') + 10
	}
	return 99
}

// realLength returns the length of the unsigned real number at the start of l.
func realLength(l []byte) int {
	for _, w := range []string{"infinity", "inf", "nan"} {
		if len(l) >= len(w) && bytes.EqualFold(l[:len(w)], []byte(w)) {
			return len(w)
		}
	}
	i, seen, base, exp := 0, 0, 10, byte('e')
	if len(l) > 2 && l[0] == '0' && l[1]|0x20 == 'x' {
		i, base, exp = 2, 16, 'p'
	}
	for point := false; i < len(l) && (digitValue(l[i]) < base || l[i] == '.' && !point); i++ {
		if l[i] == '.' {
			point = true
		} else {
			seen++
		}
	}
	if seen == 0 {
		return 0
	}
	if i < len(l) && l[i]|0x20 == exp {
		j := i + 1
		if j < len(l) && (l[j] == '-' || l[j] == '+') {
			j++
		}
		for j < len(l) && l[j]-'0' <= 9 {
			j++
			i = j
		}
	}
	return i
}

// parseNumber parses a number. ok is false if the number does not fit 64 bits.
func (d *directive) parseNumber(s []byte) (trace.Value, bool) {
	if d.verb == 'd' || d.verb == 'f' {
		return parseValue(d.typ, s)
	}
	i := 0
	if len(s) > 0 && (s[0] == '-' || s[0] == '+') {
		i = 1
	}
	base := d.base(s[i:])
	t := s[i:]
	if base == 16 && len(t) > 2 && t[1]|0x20 == 'x' {
		t = t[2:]
	}
	v, err := strconv.ParseInt(string(s[:i])+string(t), base, 64)
	if err != nil {
		return trace.Value{}, false
	}
	typ := d.typ
	if int64(int32(v)) != v {
		typ = trace.Int64
	}
	return trace.Value{Num: uint64(v), Type: typ}, true
}

// isSpace reports whether b is white space in a control string.
func isSpace(b byte) bool { return b == ' ' || b >= '\t' && b <= '\r' }
