package trace

import (
	"fmt"
	"strings"
)

// Severity is the severity of a defect.
type Severity uint8

// The severities, from least to most severe.
const (
	Note Severity = iota
	Warning
	Error
)

// String returns the severity's name in JSON and texts.
func (s Severity) String() string { return [...]string{"note", "warning", "error"}[s%3] }

// Position is a place in a file of a trace: a line in text formats, or a byte offset in binary
// formats. The Position with only a File means the file as a whole.
type Position struct {
	File   string
	Line   int64 // from 1; 0 if the file has no lines
	Offset int64 // bytes from the beginning; used if Line is 0 and Binary is set
	Binary bool
}

// String returns "FILE:LINE", "FILE:0xOFFSET" or "FILE".
func (p Position) String() string {
	switch {
	case p.Line > 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	case p.Binary:
		return fmt.Sprintf("%s:0x%x", p.File, p.Offset)
	}
	return p.File
}

// Defect is a defect of a trace: the rule that the trace breaks, where it does, what was found
// there and what was expected. Defect implements error, because strict reading returns it.
type Defect struct {
	Rule     string // name of the rule, such as "etf.unknown-resource"; it never changes
	Severity Severity
	Position Position
	Record   string // record or field with the defect
	Found    string
	Expected string
	Count    int64 // number of occurrences; 0 means one
	Event    Place // place of the event with the defect, if known
}

// Place is a location and a time of a trace. The zero Place stands for an unknown place.
type Place struct {
	Location    uint32 // index into the definitions
	HasLocation bool
	Time        int64 // ticks
	HasTime     bool
}

// Error returns position, severity, rule and message in one line.
func (d *Defect) Error() string {
	s := fmt.Sprintf("%s: %s: %s", d.Position, d.Severity, d.Rule)
	if m := d.Message(); m != "" {
		s += ": " + m
	}
	if d.Count > 1 {
		s += fmt.Sprintf(" (%d times)", d.Count)
	}
	return s
}

// Message returns what was found and what was expected, in one line.
func (d *Defect) Message() string {
	var b strings.Builder
	b.WriteString(d.Record)
	if d.Found != "" {
		if b.Len() > 0 {
			b.WriteString(": ")
		}
		b.WriteString("found " + d.Found)
	}
	if d.Expected != "" {
		if b.Len() > 0 {
			b.WriteString(", ")
		}
		b.WriteString("expected " + d.Expected)
	}
	return b.String()
}
