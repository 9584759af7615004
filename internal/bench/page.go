package main

import (
	"bytes"
	"fmt"
	"strings"
)

// page is a document in Markdown that is being written.
type page struct{ text bytes.Buffer }

// printf adds to the document.
func (p *page) printf(format string, args ...any) { fmt.Fprintf(&p.text, format, args...) }

// table adds a table. The first column is text, the others are numbers unless
// their header begins with a space.
func (p *page) table(header []string, rows [][]string) {
	line := func(cells []string) {
		p.printf("|")
		for _, c := range cells {
			p.printf(" %s |", strings.ReplaceAll(strings.TrimSpace(c), "|", `\|`))
		}
		p.printf("\n")
	}
	line(header)
	for i, h := range header {
		if i == 0 || strings.HasPrefix(h, " ") {
			p.printf("|---")
		} else {
			p.printf("|--:")
		}
	}
	p.printf("|\n")
	for _, row := range rows {
		line(row)
	}
	p.printf("\n")
}

// place tells where the measurements were made.
func (p *page) place(m machine) {
	p.printf("- Machine: %s, %d cores", m.cpu, m.cores)
	if m.load != "" {
		p.printf(", load %s before the start", m.load)
	}
	p.printf("\n")
}

// acceptance is one line of the project's acceptance and its worst measurement.
type acceptance struct {
	text, limit string
	worst       string // "" when not measured
	why         string // why it was not, if that is known
	pass        bool
	partial     bool // some of what it needs could not be measured
}

// verdicts adds the table of the acceptance; measured heads the measurements.
func (p *page) verdicts(measured string, list []acceptance) {
	var rows [][]string
	for _, a := range list {
		verdict := "pass"
		switch {
		case a.worst == "":
			verdict, a.worst = "not measured", "–"
			if a.why != "" {
				a.worst = a.why
			}
		case !a.pass:
			verdict = "**fail**"
		case a.partial:
			verdict = "**incomplete**"
		}
		rows = append(rows, []string{a.text, a.limit, a.worst, verdict})
	}
	p.table([]string{"What", " Limit", " " + measured, " Verdict"}, rows)
}

// problem is a part that failed.
type problem struct{ file, part, message string }

// failures lists the parts that failed, if any.
func (p *page) failures(list []problem) {
	if len(list) == 0 {
		return
	}
	p.printf("These parts failed; what they measure is missing or incomplete:\n\n")
	for _, x := range list {
		p.printf("- %s, %s: %s\n", x.file, x.part, strings.Join(strings.Fields(strings.ReplaceAll(x.message, "\n", "; ")), " "))
	}
	p.printf("\n")
}
