package cli

import (
	"encoding/json"
	"io"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/weft-trace/weft/trace"
)

// writeJSON writes v as indented JSON.
func (a *app) writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// hexDigits are the digits of escape sequences.
const hexDigits = "0123456789abcdef"

// appendJSONString appends a JSON string. Bytes that are not UTF-8 are taken as Latin-1.
func appendJSONString(b []byte, s string) []byte {
	b = append(b, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			switch {
			case c == '"' || c == '\\':
				b = append(b, '\\', c)
			case c == '\n':
				b = append(b, '\\', 'n')
			case c == '\t':
				b = append(b, '\\', 't')
			case c < ' ' || c == 0x7f:
				b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			default:
				b = append(b, c)
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			r = rune(c)
		}
		b = utf8.AppendRune(b, r)
		i += n
	}
	return append(b, '"')
}

// appendJSONFloat appends a number. Infinities and NaN, which JSON lacks, become strings.
func appendJSONFloat(b []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(strconv.AppendFloat(append(b, '"'), f, 'g', -1, 64), '"')
	}
	format := byte('f')
	if x := math.Abs(f); x != 0 && (x < 1e-6 || x >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(b, f, format, -1, 64)
}

// appendJSONValue appends the value of an attribute.
func appendJSONValue(b []byte, v *trace.Value) []byte {
	switch v.Type {
	case trace.None:
		return append(b, "null"...)
	case trace.String:
		return appendJSONString(b, v.Str)
	case trace.Bytes:
		return appendJSONString(b, v.String())
	case trace.Float32:
		f := v.Float()
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return appendJSONFloat(b, f)
		}
		return strconv.AppendFloat(b, f, 'g', -1, 32)
	case trace.Float64:
		return appendJSONFloat(b, v.Float())
	}
	return v.Append(b)
}
