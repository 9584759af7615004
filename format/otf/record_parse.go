package otf

import (
	"bytes"
	"fmt"
	"strings"
	"unsafe"

	"github.com/weft-trace/weft/trace"
)

// ParseRecord parses the text of one record of a part, in the form that [Record.Append] writes: the lines of
// its key-value pairs, then the line of the record. Lines before it may set its time and process, as in a
// file. The last line may lack its line end, and a string may contain line ends. The strings of the record
// refer to text.
//
// The error is a [trace.Defect] with an offset into text. It reports what a reader would report, and also a
// text without a record or with more text after the record. In two cases ParseRecord returns the record
// together with the error: an unknown keyword makes a record of type Unknown, and a line that has more bytes
// of an array than libotf reads makes a normal record (otf.long-array).
func ParseRecord(text string, part Part) (*Record, error) {
	if part >= numParts {
		return nil, fmt.Errorf("otf: found part %d, expected one of Definitions to Markers", part)
	}
	r := &Record{in: part}
	var defect error // a defect that does not prevent reading the record
	for at := 0; at < len(text); {
		l := unsafe.Slice(unsafe.StringData(text), len(text))[at:]
		size := bytes.IndexByte(l, '\n')
		if size < 0 {
			size = len(l)
		}
		kind, i := lineType(l[:size])
		s := scanner{l: l[:size], i: i + 1}
		switch kind {
		case timeLine:
			s.i = i
			r.Time = s.hex()
		case processLine:
			if s.skip(); s.i == size || hexValue[l[s.i]] > 15 {
				return nil, lineDefect(problem{"otf.malformed", "process line: " + s.rest(), "a number", trace.Error}, at)
			}
			r.Process = s.hex() & noProcess
		case pairLine:
			if bad := r.pair(l[:size], i, false); bad.severity == trace.Error && bad.rule != "" {
				return nil, lineDefect(bad, at)
			} else if bad.rule != "" && defect == nil {
				defect = lineDefect(bad, at)
			}
		case recordLine:
			return r.parseLast(l, i, size, part, at, defect)
		}
		at += size + 1
	}
	return nil, lineDefect(problem{"otf.malformed", "no record", "the line of one", trace.Error}, len(text))
}

// parseLast parses the line of a record. The line is l[i:size]. It reports an error if another record follows.
func (r *Record) parseLast(l []byte, i, size int, part Part, at int, defect error) (*Record, error) {
	bad := r.parse(l[:size], i, part, false)
	for bad.expected == noQuote && size < len(l) {
		quote := bytes.IndexByte(l[size:], '"')
		if quote < 0 {
			break
		}
		size += quote
		if n := bytes.IndexByte(l[size:], '\n'); n >= 0 {
			size += n
		} else {
			size = len(l)
		}
		bad = r.parse(l[:size], i, part, false)
	}
	switch rest := bytes.TrimLeft(l[min(size+1, len(l)):], " \t\r\n"); {
	case bad.rule != "" && bad.severity == trace.Error:
		return nil, lineDefect(bad, at)
	case len(rest) > 0:
		bad = problem{"otf.malformed", fmt.Sprintf("%.40q after the record", rest), "one record", trace.Error}
		return nil, lineDefect(bad, at+len(l)-len(rest))
	case bad.rule != "":
		return r, lineDefect(bad, at)
	}
	return r, defect
}

// lineDefect returns the defect for a problem in a text that is not from a file.
func lineDefect(p problem, at int) error {
	// The text after the semicolon describes how a reader treats a line of a file.
	expected, _, _ := strings.Cut(p.expected, ";")
	return &trace.Defect{Rule: p.rule, Severity: p.severity, Found: p.found, Expected: expected,
		Position: trace.Position{File: "record", Offset: int64(at), Binary: true}}
}
