package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// page is a Markdown document that is being written.
type page struct{ text bytes.Buffer }

// printf appends to the document.
func (p *page) printf(format string, args ...any) { fmt.Fprintf(&p.text, format, args...) }

// table appends a table. The first column is aligned to the left like texts, and the other columns
// to the right like numbers, unless their header begins with a space.
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

// begin writes the beginning of the document of a part other than text. small describes the files of a
// trial run.
func (r *result) begin(part, title, small, intro string) {
	r.text.Reset()
	r.printf("# Performance: %s\n\n`make bench` writes all performance pages.\n"+
		"`go run ./internal/bench -part %s` writes only this page.\n%s\n\n", title, part, intro)
	switch {
	case r.quick:
		r.noteTrialRun(small + " and few runs (`-quick`). The numbers mean nothing")
	case r.few && part == "viewer":
		r.noteTrialRun(small + " (`-viewer-events`)")
	case r.few:
		r.noteTrialRun(small + " (`-" + part + "-events`): starting the programs counts for much")
	}
	r.place()
	r.printf("- weft built with %s", r.goVersion)
}

func (r *result) noteTrialRun(what string) { r.printf("**A trial with %s.**\n\n", what) }

// place writes a description of the machine that was measured.
func (r *result) place() {
	r.printf("- Machine: %s, %d cores", r.cpu, r.cores)
	if r.load != "" {
		r.printf(", load %s before the start", r.load)
	}
	r.printf("\n")
}

// leastPeak writes the lowest peak that can be measured, if it is known.
func (r *result) leastPeak() {
	if r.floor > 0 {
		r.printf("No peak is below %.0f MiB: the kernel passes on the peak of the harness to the processes\n"+
			"that it starts.\n\n", mib(r.floor))
	}
}

// acceptance is the verdict on a limit of the project, with the worst measurement for it.
type acceptance struct {
	text, limit string
	worst       string // worst measurement; "" if there is none
	why         string // reason why nothing was measured, if known
	pass        bool
	partial     bool // set if some of the measurements failed
}

// verdict returns the verdict on a measurement. known is set if anything was measured.
func verdict(text, limit, measured string, known, pass bool) acceptance {
	a := acceptance{text: text, limit: limit, pass: pass}
	if known {
		a.worst = measured
	}
	return a
}

// failed reports whether one of the named measurements is among the problems.
func (r *result) failed(parts ...string) bool {
	return slices.ContainsFunc(r.problems, func(p problem) bool { return slices.Contains(parts, p.part) })
}

// verdicts writes the section about limits and the list of problems. measured is the header of the
// column with measurements.
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
	r.printf("These parts failed; their measurements are missing or incomplete:\n\n")
	for _, x := range r.problems {
		r.printf("- %s, %s: %s\n", x.file, x.part,
			strings.Join(strings.Fields(strings.ReplaceAll(x.message, "\n", "; ")), " "))
	}
	r.printf("\n")
}

// problem is a measurement that failed.
type problem struct{ file, part, message string }
