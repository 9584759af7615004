package main

import (
	"bytes"
	"fmt"
)

// pallasReport is what the document about Pallas says.
type pallasReport struct {
	page
	machine
	quick    bool
	few      bool // the traces are smaller than usual
	runs     int
	results  []*pallasResult
	long     pallasResult // ten times as long
	floor    int64
	problems []problem
}

// What Pallas' own library takes, of version 0.20, in ns an event, which was measured on a
// machine like this one: it is in no distribution. On irregular input its cost grows with
// the length of the trace.
const (
	pinnedRecord    = "230 to 275"
	pinnedIrregular = "5500 to 10700"
	pinnedRead      = "300 to 2300"
	pinnedInfo      = "1.2 to 12 ms"

	pinnedFast = 5500 // the least of these
)

// limits of the project for Pallas.
const (
	recordRegular   = 200 // ns an event
	recordIrregular = 500
	readRegular     = 30
	readIrregular   = 60
	infoTime        = 0.010 // seconds
	longerCost      = 1.25  // an event of a trace that is ten times as long
	recordMemory    = 64<<20 + 64<<10
)

// perEventOf is the wall-clock time or CPU time of runs in ns an event.
func perEventOf(list []usage, events int64, f func(usage) float64) stat {
	return over(list, func(u usage) float64 { return perEvent(f(u), events) })
}

func (r *pallasReport) verdict(text, limit, measured string, s stat, pass bool) acceptance {
	a := acceptance{text: text, limit: limit, pass: pass}
	if s.n > 0 {
		a.worst = measured
	}
	return a
}

// acceptances judges the lines of the project.
func (r *pallasReport) acceptances() []acceptance {
	var list []acceptance
	ns := func(text string, limit float64, s stat) {
		list = append(list, r.verdict(text, fmt.Sprintf("≤ %.0f ns an event", limit), ratio(s), s, s.median <= limit))
	}
	for _, x := range r.results {
		record, read := float64(recordRegular), float64(readRegular)
		if x.irregular {
			record, read = recordIrregular, readIrregular
		}
		ns("Recording, "+x.name, record, perEventOf(x.record, x.events, wall))
		if x.irregular {
			ns("Recording in the compatible way, "+x.name+": a fifth of the library's", pinnedFast/5, perEventOf(x.compatible, x.events, wall))
			s := over(x.compatible, cpu)
			t := over(x.short, cpu)
			growth := s.median / t.median / 10
			list = append(list, r.verdict("The same: an event of ten times as many costs as much", fmt.Sprintf("≤ %.2f ×", longerCost), fmt.Sprintf("%.2f ×", growth), s, growth <= longerCost))
		}
		ns("Reading on one core, "+x.name, read, perEventOf(x.one, x.events, cpu))
	}
	if len(r.results) == 0 {
		return list
	}
	x := r.results[0]
	s := over(x.info, wall)
	list = append(list, r.verdict("`info`, "+x.name, fmt.Sprintf("≤ %.0f ms", 1000*infoTime), fmt.Sprintf("%.1f ms", 1000*s.median), s, s.median <= infoTime))
	a, b := perEventOf(r.long.one, r.long.events, cpu), perEventOf(x.one, x.events, cpu)
	list = append(list, r.verdict("Reading an event of a trace ten times as long", fmt.Sprintf("≤ %.2f ×", longerCost), fmt.Sprintf("%.2f ×", a.median/b.median), a, a.median <= longerCost*b.median))
	for _, x := range r.results {
		peak := highest(x.record)
		list = append(list, r.verdict("Memory of recording, "+x.name, fmt.Sprintf("≤ %.0f MiB, of which the grammar has %.0f", mib(recordMemory+x.grammar), mib(x.grammar)), fmt.Sprintf("%.0f MiB", mib(peak)), over(x.record, wall), peak <= recordMemory+x.grammar))
	}
	return list
}

func highest(list []usage) (peak int64) {
	for _, u := range list {
		peak = max(peak, u.peak)
	}
	return peak
}

// document writes the report as Markdown.
func (r *pallasReport) document() []byte {
	r.text.Reset()
	r.printf("# Performance: Pallas\n\n`make bench` writes this page, `go run ./internal/bench -part pallas` only this one.\nIt measures whole processes as [the other page](performance.md) does. Pallas' own\nlibrary is in no distribution: its figures were measured once, on a machine like this\none, and are written down here; all of weft's are from this run.\n\n")
	switch {
	case r.quick:
		r.printf("**A trial with small traces and few runs (`-quick`). The numbers mean nothing.**\n\n")
	case r.few:
		r.printf("**A trial with small traces (`-pallas-events`): starting the programs counts for much.**\n\n")
	}
	r.place(r.machine)
	r.printf("- weft built with %s\n- Runs: %d, of reading %d\n\n## Acceptance\n\n", r.goVersion, r.runs, pairs*r.runs)
	r.verdicts("Measured", r.acceptances())
	r.failures(r.problems)
	r.printf("## Traces\n\nOne thread of %d events, enters and leaves:\n\n", r.results[0].events)
	for _, x := range r.results {
		r.printf("- %s: %s\n", x.name, x.text)
	}
	r.printf("\n## Recording\n\nA program in Go makes the events as it goes and records them with the package\nformat/pallas, compression and flush included. Wall-clock time: blocks are compressed\non the other core. The compatible way finds what Pallas' own library finds, of which\nthe times are %s ns an event on regular programs, %s on irregular ones.\n\n", pinnedRecord, pinnedIrregular)
	var rows [][]string
	for _, x := range r.results {
		rows = append(rows, []string{x.name, ratio(perEventOf(x.record, x.events, wall)), ratio(perEventOf(x.record, x.events, cpu)), ratio(perEventOf(x.compatible, x.events, wall)),
			ratio(perEventOf(x.compatible, x.events, cpu)), fmt.Sprintf("%.1f MiB", mib(highest(x.record))), fmt.Sprintf("%.2f", float64(x.bytes)/float64(x.events)), fmt.Sprintf("%.2f", float64(x.grammar)/float64(x.events))})
	}
	r.table([]string{"Pattern", "ns an event", "CPU, ns an event", "compatible, ns", "its CPU, ns", "Peak", "bytes an event", "of them grammar"}, rows)
	r.printf("## Reading\n\n`weft convert --to null` decodes all events. Pallas' own tools take %s ns an event,\nand %s for `pallas_info`.\n\n", pinnedRead, pinnedInfo)
	rows = nil
	for _, x := range append(r.results, &r.long) {
		name := x.name
		if x == &r.long {
			name = fmt.Sprintf("%s, %d events", name, x.events)
		}
		two, info := "–", "–"
		if len(x.two) > 0 {
			two, info = ratio(perEventOf(x.two, x.events, wall)), fmt.Sprintf("%.1f ms", 1000*over(x.info, wall).median)
		}
		rows = append(rows, []string{name, ratio(perEventOf(x.one, x.events, cpu)), ratio(perEventOf(x.one, x.events, wall)), two, fmt.Sprintf("%.1f MiB", mib(highest(x.one))), info})
	}
	r.table([]string{"Pattern", "one core, CPU ns an event", "wall", "two cores, wall", "Peak", "`info`"}, rows)
	return bytes.Clone(r.text.Bytes())
}
