package main

import "fmt"

// pallasReport is what the document about Pallas says.
type pallasReport struct {
	result
	results []*pallasResult
	long    pallasResult // ten times as long
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

// perEventCells shows CPU time and wall-clock time of an event, and the peak.
func perEventCells(list []usage, events int64) []string {
	return []string{ratio(perEventOf(list, events, cpu)), ratio(perEventOf(list, events, wall)), peak(list)}
}

// acceptances judges the lines of the project.
func (r *pallasReport) acceptances() []acceptance {
	var list []acceptance
	add := func(text, limit, measured string, s stat, pass bool) {
		list = append(list, verdict(text, limit, measured, s.n > 0, pass))
	}
	ns := func(text string, limit float64, s stat) {
		add(text, fmt.Sprintf("≤ %.0f ns an event", limit), ratio(s), s, s.median <= limit)
	}
	times := func(text string, growth float64, s stat) {
		add(text, fmt.Sprintf("≤ %.2f ×", longerCost), fmt.Sprintf("%.2f ×", growth), s, growth <= longerCost)
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
			times("The same: an event of ten times as many costs as much", s.median/over(x.short, cpu).median/10, s)
		}
		ns("Reading on one core, "+x.name, read, perEventOf(x.one, x.events, cpu))
	}
	if len(r.results) == 0 {
		return list
	}
	x := r.results[0]
	s := over(x.info, wall)
	add("`info`, "+x.name, fmt.Sprintf("≤ %.0f ms", 1000*infoTime), fmt.Sprintf("%.1f ms", 1000*s.median), s, s.median <= infoTime)
	long := perEventOf(r.long.one, r.long.events, cpu)
	times("Reading an event of a trace ten times as long", long.median/perEventOf(x.one, x.events, cpu).median, long)
	for _, x := range r.results {
		peak := highest(x.record)
		add("Memory of recording, "+x.name, fmt.Sprintf("≤ %.0f MiB, of which the grammar has %.0f", mib(recordMemory+x.grammar), mib(x.grammar)), fmt.Sprintf("%.0f MiB", mib(peak)), over(x.record, wall), peak <= recordMemory+x.grammar)
	}
	return list
}

// document writes the report as Markdown.
func (r *pallasReport) document() []byte {
	r.begin("pallas", "Pallas", "small traces", "It measures whole processes as [the other page](performance.md) does. Pallas' own\nlibrary is in no distribution: its figures were measured once, on a machine like this\none, and are written down here; all of weft's are from this run.")
	r.printf("\n- Runs: %d, of reading %d\n\n", r.runs, pairs*r.runs)
	r.verdicts("", "Measured", r.acceptances())
	r.printf("## Traces\n\nOne thread of %d events, enters and leaves:\n\n", r.results[0].events)
	for _, x := range r.results {
		r.printf("- %s: %s\n", x.name, x.text)
	}
	r.printf("\n## Recording\n\nA program in Go makes the events as it goes and records them with the package\nformat/pallas, compression and flush included. Wall-clock time: blocks are compressed\non the other core. The compatible way finds what Pallas' own library finds, of which\nthe times are %s ns an event on regular programs, %s on irregular ones.\n\n", pinnedRecord, pinnedIrregular)
	var rows [][]string
	for _, x := range r.results {
		rows = append(rows, []string{x.name, ratio(perEventOf(x.record, x.events, wall)), ratio(perEventOf(x.record, x.events, cpu)), ratio(perEventOf(x.compatible, x.events, wall)),
			ratio(perEventOf(x.compatible, x.events, cpu)), peak(x.record), fmt.Sprintf("%.2f", float64(x.bytes)/float64(x.events)), fmt.Sprintf("%.2f", float64(x.grammar)/float64(x.events))})
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
		cells := perEventCells(x.one, x.events)
		rows = append(rows, []string{name, cells[0], cells[1], two, cells[2], info})
	}
	r.table([]string{"Pattern", "one core, CPU ns an event", "wall", "two cores, wall", "Peak", "`info`"}, rows)
	return r.text.Bytes()
}
