package trace

import (
	"fmt"
	"strings"
)

// Severity of a defect.
type Severity uint8

// Severities, from harmless to grave.
const (
	Note Severity = iota
	Warning
	Error
)

// String is the severity's name in JSON and texts.
func (s Severity) String() string { return [...]string{"note", "warning", "error"}[s%3] }

// Position is a place in a trace's file: a line for texts, a byte offset for
// binary formats. The zero Position means the file as a whole.
type Position struct {
	File   string
	Line   int64 // from 1; 0 when the file has no lines
	Offset int64 // bytes from the start, used when Line is 0 and Binary is set
	Binary bool
}

// String is "file:line" or "file:0x offset".
func (p Position) String() string {
	switch {
	case p.Line > 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	case p.Binary:
		return fmt.Sprintf("%s:0x%x", p.File, p.Offset)
	}
	return p.File
}

// Defect is one thing that is wrong with a trace: what rule it breaks, where,
// what was found and what was expected. It is an error, so that strict reading
// can return it.
type Defect struct {
	Rule     string // stable id such as "etf.unknown-resource"
	Severity Severity
	Position Position
	Record   string // the record or field that is concerned
	Found    string
	Expected string
	Count    int64 // how many times in all, when more than this one were found
	Event    Where // of the event that is concerned, as far as it is known
}

// Where is a place in a trace, whatever its files. The zero Where is none.
type Where struct {
	Location    uint32 // index into the definitions
	HasLocation bool
	Time        int64 // ticks
	HasTime     bool
}

// Error is the defect in one line.
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

// Message is what was found and what was expected, without place, severity and rule.
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
