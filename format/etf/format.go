package etf

import (
	"bytes"
	"context"
	"io"
	"strings"

	"github.com/weft-trace/weft/format"
)

// Format implements format.Format for the trace files of Eclipse TRACE4CPS.
type Format struct{ format.Unsupported }

// About returns the name and properties of the format.
func (Format) About() format.About { return about }

// Raw prints the lines of the file.
func (Format) Raw(ctx context.Context, src format.Source, _ *format.ReadOptions, w io.Writer) error {
	return format.CopyText(ctx, src, w)
}

var about = format.About{
	Mapping:    mapping,
	Name:       "etf",
	Title:      "Eclipse TRACE4CPS",
	Extensions: []string{".etf"},
	SingleText: true,
	Follows:    true,
	Reads:      "all lines; dialect V0.1",
	Writes:     "all lines, canonically",
	Seeks:      "time windows by chunk",
	Options: []format.Option{
		{Name: "etf.max-line", Default: "16M",
			Doc: "Longest line that weft reads. weft skips longer lines and reports them."},
		{Name: "etf.activity", Default: "name,task,activity",
			Doc: "Attributes that name the activity (region) of a claim or event. weft uses the first one that is present."},
	},
	Rules: rules,
}

// looksLike reports whether the first line of a text begins with a keyword of TRACE.
func looksLike(text []byte) bool {
	k, _, _ := parseKeyword(bytes.TrimLeft(text, "\r\n"))
	return k != NoKeyword
}

// Probe returns the confidence, from 0 to 100, that a file has this format. It recognises TRACE files by their lines,
// because other formats use the extension .etf as well.
func (Format) Probe(name string, text []byte) int {
	if isLegacy(text) {
		return 95
	}
	good, bad := 0, 0
	for l := range bytes.Lines(text) {
		if good+bad >= 50 || good+bad > 0 && l[len(l)-1] != '\n' {
			break // head may end in the middle of its last line
		}
		l = bytes.TrimSuffix(l, []byte{'\n'})
		k, i, isBlank := parseKeyword(l)
		if isBlank {
			continue
		}
		var r Record
		switch {
		case k == NoKeyword:
			bad++
		case k == TU:
			good += 3
		default:
			// A keyword of one letter is weak evidence, so the fields of the line must be valid, too.
			if _, p := r.parse(k, l, i); p.rule == "" || p.rule == "etf.semicolon" || k == O {
				good++
			} else {
				bad++
			}
		}
	}
	named := strings.HasSuffix(name, ".etf")
	switch {
	case good > 0 && bad == 0:
		return 90
	case good > 2*bad:
		return 70
	case good > 0 && named:
		return 55
	case named && bad > 0 && bytes.IndexByte(text, 0) < 0 && looksLike(text):
		return 25 // no line can be read, but the text begins like a TRACE file
	case named && good+bad == 0 && bytes.IndexByte(text, 0) < 0 && len(text) > 0:
		return 30 // the file has only comments
	}
	return 0
}
