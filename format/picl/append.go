package picl

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/internal/digits"
	"github.com/weft-trace/weft/trace"
)

// Append appends the record to b as one line, without a line end. The time has at least the given
// number of decimals.
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
		// The control string may contain blanks, so it stands in quotes.
		b = append(b, ` 1 "%d%s" `...)
		b = r.Values[0].Append(b)
		return append(append(b, ' '), r.Values[1].Str...)
	}
	return r.appendData(b, least)
}

// appendData appends the number of data fields, the descriptor and the data of the record's values.
func (r *Record) appendData(b []byte, least int) []byte {
	if r.Type <= TypeTimes && r.Type >= TypeSizeVolumes && len(r.Values) > 0 && len(r.Values)%2 == 0 {
		return appendPairs(b, r.Values, least)
	}
	return appendData(b, r.Values)
}

// appendPairs appends the data of a statistics record in the form that PICL writes: pairs of an event
// type and a value. Times in seconds have at least the given number of decimals.
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
		if bytes.ContainsAny(b[from:], "eNI") || least == 0 { // an exponent, NaN or Inf
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

// appendData appends the number of data fields, the descriptor and the data. If all values have the
// same type, each is a field. If not, the descriptor is the shortest control string that describes the
// values by repetition.
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
	if slices.ContainsFunc(vals, hasBlanks) || strings.HasSuffix(vals[n-1].Str, `\`) {
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

// appendValue appends a single value. The caller writes the blanks between values.
func appendValue(b []byte, v trace.Value) []byte {
	switch v.Type {
	case trace.String:
		return appendWord(b, v.Str)
	case trace.Float32, trace.Float64:
		return appendFloat(b, v)
	}
	return v.Append(b)
}

// maxWidth limits the width of a conversion in a control string.
const maxWidth = 1 << 20

// hasBlanks reports whether a value is a text of at most maxWidth bytes that contains blanks. The
// conversion %s cannot read such a text.
func hasBlanks(v trace.Value) bool {
	return v.Type == trace.String && strings.ContainsAny(v.Str, " \t\n\v\f\r") && len(v.Str) <= maxWidth
}

// appendStructure appends the number of data fields, the descriptor and the data, where all values are
// parts of a single field. A text with blanks is written as a fixed number of characters, such as %5c.
func appendStructure(b []byte, vals []trace.Value) []byte {
	b = append(b, `1 "`...)
	var data []byte
	for i, v := range vals {
		if !hasBlanks(v) && (i < len(vals)-1 || !strings.HasSuffix(v.Str, `\`)) {
			b = append(b, predefined[descriptorOf(v.Type)].text...)
			data = appendValue(append(data, ' '), v)
			continue
		}
		// The conversion %c reads directly after the previous value, without skipping blanks. A blank in the
		// control string before %c makes it skip blanks.
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
	// A reader drops blanks and a backslash at the end of a line, so a semicolon ends the line.
	if c := data[len(data)-1]; blank(c) || c == '\\' {
		b, data = append(b, ';'), append(data, ';')
	}
	return append(append(b, '"'), data...)
}

// textChange describes how a text changes when it is written as one of n data fields. It returns "" if
// the text does not change.
func textChange(text string, n int) string {
	switch {
	case text == "" && n == 1:
		return "an empty text is left out"
	case text == "":
		return "an empty text among other values was replaced by -"
	case strings.ContainsAny(text, "\n\r"):
		return "a line end was replaced by a blank"
	case n == 1 && strings.HasSuffix(strings.TrimRight(text, " \t"), "\\"):
		return "a backslash at the end was replaced by a slash"
	case n > 1 && len(text) > maxWidth && strings.ContainsAny(text, " \t\v\f"):
		return "blanks in a text above 1 MiB were replaced by _"
	}
	return ""
}

// appendText appends character data. The format has no form for line ends, nor for backslashes at the
// end of the text. appendText replaces the former by blanks, and the latter by slashes.
func appendText(b []byte, s string) []byte {
	for i := range len(s) {
		c := s[i]
		if c == '\n' || c == '\r' {
			c = ' '
		}
		b = append(b, c)
	}
	// A backslash at the end of a line would join the next line to it.
	for i := len(b) - 1; i >= 0 && (b[i] == '\\' || b[i] == ' ' || b[i] == '\t'); i-- {
		if b[i] == '\\' {
			b[i] = '/'
		}
	}
	return b
}

// appendWord appends a word that %s can read. Such a word must not be empty or contain white space:
// appendWord replaces white space by _, and writes - for an empty word.
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

// period returns the smallest p for which the types of vals repeat every p values.
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
