package main

import (
	"fmt"
	"slices"
)

// pallasReport is what the document about Pallas says.
type pallasReport struct {
	result
	results []*pallasResult
	threads []*pallasThreads
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
	threadMemory    = 100 << 10   // more for each thread that is recorded
	valueBytes      = 8*1000 + 64 // a block as it is without compression, and its length

	// recordScale is how many times faster two goroutines record than one, for which blocks are
	// compressed on the other core, too.
	recordScale = 1.2
)

// perEventOf returns the wall-clock time or CPU time of runs in ns an event.
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
	all := append(slices.Clip(r.results), &r.long)
	x := r.results[0]
	s := over(x.info, wall)
	add("`info`, "+x.name, fmt.Sprintf("≤ %.0f ms", 1000*infoTime), fmt.Sprintf("%.1f ms", 1000*s.median), s, s.median <= infoTime)
	for _, y := range []struct {
		what      string
		long, one []usage
	}{{"Reading", r.long.one, x.one}, {"Recording", r.long.record, x.record}} {
		long := perEventOf(y.long, r.long.events, cpu)
		times(y.what+" an event of a trace ten times as long", long.median/perEventOf(y.one, x.events, cpu).median, long)
	}
	long := statOf(r.long.many.ns)
	times("Looking a value up in a trace ten times as long", long.median/statOf(x.many.ns).median, long)
	for _, x := range all {
		s := x.first.bytes(x.opening)
		add("Looking one value up reads its block, "+x.name, fmt.Sprintf("≤ %d bytes", valueBytes),
			fmt.Sprintf("%.0f bytes", s.median), s, s.median <= valueBytes)
	}
	for _, x := range r.results {
		s := over(x.exact, cpu)
		part := over(x.info, cpu).median / s.median
		add("`info` from sums, CPU beside --exact, "+x.name, "≤ 1.00 ×", fmt.Sprintf("%.2f ×", part), s, part <= 1)
		s = bytesOf(x.info, nil)
		part = s.median / float64(x.bytes-x.data)
		add("`info` reads no times, "+x.name, fmt.Sprintf("≤ %.2f × the files without times", readsLimit),
			fmt.Sprintf("%.2f ×", part), s, part <= readsLimit)
	}
	for i, x := range r.threads {
		name := fmt.Sprintf("%d threads", x.threads)
		faster := func(text string, limit float64, one, two []usage) {
			s := over(two, wall)
			v := over(one, wall).median / s.median
			add(text+", "+name, fmt.Sprintf("≥ %.2f ×", limit), fmt.Sprintf("%.2f ×", v), s, v >= limit)
		}
		if i == 0 && r.cores >= 2 { // where there are many threads, making their files counts for much
			faster("Two goroutines record faster than one", recordScale, x.record, x.both)
			faster("Two cores read faster than one", minTwoCores, x.one, x.two)
		}
		memory := func(what string, limit int64, runs ...[]usage) {
			list := slices.Concat(runs...)
			peak := highest(list)
			add("Memory of "+what+", "+name, fmt.Sprintf("≤ %.0f MiB", mib(limit)), fmt.Sprintf("%.0f MiB", mib(peak)),
				over(list, wall), peak <= limit)
		}
		memory("recording", recordMemory+int64(x.threads)*threadMemory+x.grammar, x.record, x.both)
		memory("reading", plainMemory, x.one, x.two)
	}
	for _, x := range all {
		peak := highest(x.record)
		add("Memory of recording, "+x.name, fmt.Sprintf("≤ %.0f MiB, of which the grammar has %.0f", mib(recordMemory+x.grammar), mib(x.grammar)), fmt.Sprintf("%.0f MiB", mib(peak)), over(x.record, wall), peak <= recordMemory+x.grammar)
	}
	return list
}

// bytes are those that lookups read for a value, beyond those of opening the trace; none where the
// system does not count them.
func (l lookups) bytes(opening lookups) stat {
	return bytesOf(l.runs, opening.runs)
}

// document writes the report as Markdown.
func (r *pallasReport) document() []byte {
	all := append(slices.Clip(r.results), &r.long)
	r.begin("pallas", "Pallas", "small traces", "It measures whole processes as [the other page](performance.md) does. Pallas' own\nlibrary is in no distribution: its figures were measured once, on a machine like this\none, and are written down here; all of weft's are from this run.")
	r.printf("\n- Runs: %d, of reading %d\n\n", r.runs, pairs*r.runs)
	r.verdicts("", "Measured", r.acceptances())
	r.printf("## Traces\n\nOne thread of %d events, enters and leaves:\n\n", r.results[0].events)
	for _, x := range r.results {
		r.printf("- %s: %s\n", x.name, x.text)
	}
	r.printf("\n## Recording\n\nA program in Go makes the events as it goes and records them with the package\nformat/pallas, compression and flush included. Wall-clock time: blocks are compressed\non the other core. The compatible way finds what Pallas' own library finds, of which\nthe times are %s ns an event on regular programs, %s on irregular\nones.\n\n", pinnedRecord, pinnedIrregular)
	var rows [][]string
	for _, x := range all {
		ns := func(l []usage, f func(usage) float64) string { return ratio(perEventOf(l, x.events, f)) }
		rows = append(rows, []string{x.name, ns(x.record, wall), ns(x.record, cpu), ns(x.compatible, wall), ns(x.compatible, cpu), peak(x.record),
			fmt.Sprintf("%.2f", float64(x.bytes)/float64(x.events)), fmt.Sprintf("%.2f", float64(x.grammar)/float64(x.events))})
	}
	r.table([]string{"Pattern", "ns an event", "CPU, ns an event", "compatible, ns", "its CPU, ns", "Peak", "bytes an event", "of them grammar"}, rows)
	r.printf("## Reading\n\n`weft convert --to null` decodes all events. Pallas' own tools take %s ns an\nevent, and %s for `pallas_info`.\n\n", pinnedRead, pinnedInfo)
	rows = nil
	for _, x := range all {
		two, info := "–", "–"
		if len(x.two) > 0 {
			two, info = ratio(perEventOf(x.two, x.events, wall)), fmt.Sprintf("%.1f ms", 1000*over(x.info, wall).median)
		}
		cells := perEventCells(x.one, x.events)
		rows = append(rows, []string{x.name, cells[0], cells[1], two, cells[2], info})
	}
	r.table([]string{"Pattern", "one core, CPU ns an event", "wall", "two cores, wall", "Peak", "`info`"}, rows)
	r.sums()
	r.values(all)
	r.manyThreads()
	return r.text.Bytes()
}

// sums writes the section about sums.
func (r *pallasReport) sums() {
	r.printf("## Sums\n\nThe grammar has sums of times beside it: `info` needs no look at the times,\n" +
		"`info --exact` reads all events.\n\n")
	var rows [][]string
	for _, x := range r.results {
		rows = append(rows, []string{
			x.name, fine(x.info, cpu), fine(x.exact, cpu), megabytes(x.info), megabytes(x.exact), size(x.bytes),
		})
	}
	r.table([]string{"Pattern", "`info`, CPU", "`info --exact`", "`info`, read", "`info --exact`", "Trace"}, rows)
}

// values writes the section about values on demand.
func (r *pallasReport) values(list []*pallasResult) {
	r.printf("## Values on demand\n\nA program opens the trace and a thread, and asks for the times of occurrences of events,\n"+
		"drawn by lot (`Thread.Value`): for none, for one and for %d. Opening reads the grammar;\n"+
		"its time has the start of the program in it. Blocks that were read are kept, up to 8 MB.\n\n", pallasLookups)
	var rows [][]string
	for _, x := range list {
		rows = append(rows, []string{
			x.name, fine(x.opening.runs, wall), megabytes(x.opening.runs), x.first.microseconds(1), x.first.each(x.opening, 1),
			x.many.microseconds(pallasLookups), x.many.each(x.opening, pallasLookups),
		})
	}
	r.table([]string{"Pattern", "opening", "read", "first value, µs", "bytes", "1000 values, µs each", "bytes each"}, rows)
}

// microseconds is how long a lookup takes, of so many.
func (l lookups) microseconds(count float64) string {
	return ratio(over(l.ns, func(ns float64) float64 { return ns / 1000 / count }))
}

// each is how many bytes a lookup reads, of so many.
func (l lookups) each(opening lookups, count float64) string {
	if s := l.bytes(opening); s.n > 0 {
		return fmt.Sprintf("%.0f", s.median/count)
	}
	return "–"
}

// megabytes is what processes read.
func megabytes(list []usage) string {
	if s := bytesOf(list, nil); s.n > 0 {
		return fmt.Sprintf("%.2f MB", s.median/1e6)
	}
	return "–"
}

// manyThreads writes the section about several threads.
func (r *pallasReport) manyThreads() {
	r.printf(`## Threads

%d events of the pattern %s, in threads that are all open until the last one
has its events, recorded by one goroutine and by two, and read on one core and on two.
Wall-clock time, ns an event, the making of the files included. Of one goroutine, too,
blocks are compressed on the other core.

`, r.events, pallasThreadsPattern)
	each := func(bytes int64) string { return fmt.Sprintf("%.2f", float64(bytes)/float64(r.events)) }
	var rows [][]string
	for _, x := range r.threads {
		ns := func(l []usage) string { return ratio(perEventOf(l, r.events, wall)) }
		rows = append(rows, []string{
			fmt.Sprint(x.threads), ns(x.record), ns(x.both), peak(x.record), peak(x.both),
			ns(x.one), ns(x.two), peak(x.one), peak(x.two), each(x.bytes), each(x.grammar),
		})
	}
	r.table([]string{"Threads", "recording, one", "two", "Peak, one", "two",
		"reading, one", "two", "Peak, one", "two", "bytes an event", "of them grammar"}, rows)
	r.printf("Bytes an event of each workload of `weft generate`, beside OTF2 and OTF, are on\n[a page of their own](performance-workloads.md).\n")
}
