package cli

import (
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"fmt"
	"io"
	"math/bits"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/weft-trace/weft/internal/spool"
)

// This file converts text of a trace to text for a terminal. Names can contain characters that move the
// cursor, end a line or change the writing direction.

// plain returns s with all characters that could affect the terminal, and all bytes that are not UTF-8,
// replaced by Go's escape sequences, such as \n, \x1b and \u202e.
func plain(s string) string {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return string(appendPlain(make([]byte, 0, len(s)+8), []byte(s)))
		}
	}
	return s
}

// appendPlain appends text to b after converting it to plain text.
func appendPlain(b, text []byte) []byte {
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		switch {
		case isPlainRune(r, n):
			b = append(b, text[i:i+n]...)
		case r == utf8.RuneError:
			b = fmt.Appendf(b, `\x%02x`, text[i])
		default:
			q := strconv.QuoteRuneToASCII(r)
			b = append(b, q[1:len(q)-1]...)
		}
		i += n
	}
	return b
}

// plainLines returns plain text, but keeps the ends of lines. It is used for messages of several lines.
func plainLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = plain(lines[i])
	}
	return strings.Join(lines, "\n")
}

// plainTail converts the bytes of b after from to plain text.
func plainTail(b []byte, from int) []byte {
	if isPlain(b[from:]) {
		return b
	}
	return appendPlain(b[:from], bytes.Clone(b[from:]))
}

// isPlain reports whether a text is plain, so that appendPlain would not change it.
func isPlain(text []byte) bool {
	for len(text) > 0 {
		if len(text) >= 8 {
			// The lowest byte of this number that is not zero belongs to the first byte below ' ' or above '~'.
			const ones = 0x0101010101010101
			w := binary.LittleEndian.Uint64(text)
			special := (w | (w + ones*(0x80-'~'-1)) | ^(w + ones*(0x80-' '))) & (ones * 0x80)
			if special == 0 {
				text = text[8:]
				continue
			}
			text = text[bits.TrailingZeros64(special)/8:]
		}
		r, n := utf8.DecodeRune(text)
		if !isPlainRune(r, n) {
			return false
		}
		text = text[n:]
	}
	return true
}

// isPlainRune reports whether a character that was decoded from n bytes may occur in plain text.
func isPlainRune(r rune, n int) bool {
	const firstDirection = 0x61c // the first character that controls the direction of text
	switch {
	case r < firstDirection:
		return !unicode.IsControl(r)
	case r == utf8.RuneError:
		return n > 1
	}
	return !unicode.Is(unicode.Bidi_Control, r)
}

// plainValue returns a value unchanged, or as plain text if its text is not plain.
func plainValue(v any) any {
	switch x := v.(type) {
	case string:
		return plain(x)
	case int, int64, uint64, float64:
		return v
	}
	s := fmt.Sprint(v)
	if p := plain(s); p != s {
		return p
	}
	return v
}

// printf calls fmt.Fprintf with plain values. The format itself may contain line ends.
func printf(w io.Writer, format string, values ...any) error {
	text := make([]any, len(values))
	for i, v := range values {
		text[i] = plainValue(v)
	}
	_, err := fmt.Fprintf(w, format, text...)
	return err
}

// plainRows is a table of plain values.
type plainRows struct{ table.Writer }

// AppendRow adds a row of plain values.
func (t plainRows) AppendRow(row table.Row, config ...table.RowConfig) {
	text := make(table.Row, len(row))
	for i, v := range row {
		text[i] = plainValue(v)
	}
	t.Writer.AppendRow(text, config...)
}

// printTable prints a table of n rows, or of the first top rows if top is not 0. It returns the
// number of omitted rows.
func printTable(w io.Writer, header table.Row, n, top int, row func(i int) table.Row) (more int) {
	t := newTable(w)
	t.AppendHeader(header)
	shown := n
	if top > 0 {
		shown = min(n, top)
	}
	for i := range shown {
		t.AppendRow(row(i))
	}
	t.Render()
	return n - shown
}

// printCSV prints a header and rows as comma-separated values. rows calls write for each row.
func printCSV(w io.Writer, header []string, rows func(write func(cells ...string))) error {
	c := csv.NewWriter(w)
	c.Write(header) // c keeps the first error
	rows(func(cells ...string) { c.Write(cells) })
	c.Flush()
	return c.Error()
}

// newTable returns a table in the style of all commands, without lines. Rows are added with
// AppendRow.
func newTable(w io.Writer) table.Writer {
	t := table.NewWriter()
	t.SetOutputMirror(w)
	s := table.StyleDefault
	s.Options = table.OptionsNoBordersAndSeparators
	s.Box.PaddingLeft = ""
	s.Box.PaddingRight = "  "
	t.SetStyle(s)
	return plainRows{t}
}

// spooledTable prints the same text as printTable. Its rows are texts, and wait in a temporary file until the widths of
// all columns are known.
type spooledTable struct {
	widths []int
	rows   spool.Spool // the header and the rows; each cell ends with a tab, which no plain text contains
}

func newSpooledTable(header ...string) *spooledTable {
	t := &spooledTable{widths: make([]int, len(header))}
	for i, h := range header {
		header[i] = text.FormatUpper.Apply(h)
	}
	t.add(header...) // a short text is not stored in a file
	return t
}

// add adds a row.
func (t *spooledTable) add(row ...string) error {
	b := t.rows.Line()
	for i, cell := range row {
		cell = plain(cell)
		t.widths[i] = max(t.widths[i], text.LongestLineLen(cell))
		b = append(append(b, cell...), '\t')
	}
	return t.rows.Done(b)
}

// print prints the table.
func (t *spooledTable) print(w io.Writer) error {
	return t.rows.CopyTo(&alignedCells{w: w, widths: t.widths})
}

// alignedCells writes cells that end with a tab as a table.
type alignedCells struct {
	w      io.Writer
	widths []int
	column int
	line   []byte // the line so far
	cell   []byte // the begin of the current cell
}

// Write implements io.Writer.
func (t *alignedCells) Write(p []byte) (int, error) {
	for rest := p; ; {
		cell, after, ended := bytes.Cut(rest, []byte{'\t'})
		t.cell = append(t.cell, cell...)
		if !ended {
			return len(p), nil
		}
		t.line = append(append(t.line, text.AlignLeft.Apply(string(t.cell), t.widths[t.column])...), "  "...)
		t.cell, rest = t.cell[:0], after
		if t.column++; t.column < len(t.widths) {
			continue
		}
		if _, err := t.w.Write(append(t.line, '\n')); err != nil {
			return 0, err
		}
		t.line, t.column = t.line[:0], 0
	}
}
