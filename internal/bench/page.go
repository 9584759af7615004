package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// page is a Markdown document in progress.
type page struct{ text bytes.Buffer }

// printf appends to the document.
func (p *page) printf(format string, args ...any) { fmt.Fprintf(&p.text, format, args...) }

// table appends a table. The first column is text, the others are numbers unless their header
// begins with a space.
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

// begin begins the document of a part other than text. small describes what is smaller in a trial.
func (r *result) begin(part, title, small, intro string) {
	r.text.Reset()
	r.printf("# Performance: %s\n\n`make bench` writes this page, "+
		"`go run ./internal/bench -part %s` only this one.\n%s\n\n", title, part, intro)
	switch {
	case r.quick:
		r.trial(small + " and few runs (`-quick`). The numbers mean nothing")
	case r.few && part == "viewer":
		r.trial(small + " (`-viewer-events`)")
	case r.few:
		r.trial(small + " (`-" + part + "-events`): starting the programs counts for much")
	}
	r.place()
	r.printf("- weft built with %s", r.goVersion)
}

func (r *result) trial(what string) { r.printf("**A trial with %s.**\n\n", what) }

// place describes where the measurements were made.
func (r *result) place() {
	r.printf("- Machine: %s, %d cores", r.cpu, r.cores)
	if r.load != "" {
		r.printf(", load %s before the start", r.load)
	}
	r.printf("\n")
}

// leastPeak writes the lower limit of all peaks, if it is known.
func (r *result) leastPeak() {
	if r.floor > 0 {
		r.printf("No peak is below %.0f MiB, the harness's own, which the kernel hands on to the\nprocesses that it "+
			"starts.\n\n", mib(r.floor))
	}
}

// acceptance is one limit of the project and the worst measurement for it.
type acceptance struct {
	text, limit string
	worst       string // "" when not measured
	why         string // why it was not measured, if known
	pass        bool
	partial     bool // some of the measurements failed
}

// verdict evaluates a measurement, if it is known.
func verdict(text, limit, measured string, known, pass bool) acceptance {
	a := acceptance{text: text, limit: limit, pass: pass}
	if known {
		a.worst = measured
	}
	return a
}

// failed reports whether one of the parts is among the problems.
func (r *result) failed(parts ...string) bool {
	return slices.ContainsFunc(r.problems, func(p problem) bool { return slices.Contains(parts, p.part) })
}

// verdicts appends the section about the limits, and lists the parts that failed. measured is the
// header of the measurements.
func (r *result) verdicts(intro, measured string, list []acceptance) {
	r.printf("## Acceptance\n\n%s", intro)
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
	r.table([]string{"What", " Limit", " " + measured, " Verdict"}, rows)
	if len(r.problems) == 0 {
		return
	}
	r.printf("These parts failed; what they measure is missing or incomplete:\n\n")
	for _, x := range r.problems {
		r.printf("- %s, %s: %s\n", x.file, x.part,
			strings.Join(strings.Fields(strings.ReplaceAll(x.message, "\n", "; ")), " "))
	}
	r.printf("\n")
}

// problem is a part that failed.
type problem struct{ file, part, message string }
