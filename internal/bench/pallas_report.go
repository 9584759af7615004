package main

import (
	"fmt"
	"slices"
)

// pallasReport holds the measurements of the part pallas, and writes its document.
type pallasReport struct {
	result
	results []*pallasResult
	threads []*pallasThreads
	long    pallasResult // measurements of a trace that is ten times as long
}

// The cost of Pallas' own library, version 0.20, in ns per event. It was measured on a similar
// machine, because no distribution contains the library. For irregular input, its cost per event
// grows with the length of the trace.
const (
	pinnedRecord    = "230 to 275"
	pinnedIrregular = "5500 to 10700"
	pinnedRead      = "300 to 2300"
	pinnedInfo      = "1.2 to 12 ms"

	pinnedFast = 5500 // fastest run on irregular input
)

// The project's limits for Pallas.
const (
	recordRegular   = 200 // ns per event
	recordIrregular = 500
	readRegular     = 30
	readIrregular   = 60
	infoTime        = 0.010 // seconds
	longerCost      = 1.25  // largest ratio of costs per event: a trace ten times as long to the usual one
	recordMemory    = 64<<20 + 64<<10
	threadMemory    = 100 << 10   // bytes for each further recorded thread
	valueBytes      = 8*1000 + 64 // size of an uncompressed block and of its length

	// recordScale is the least speed-up of recording by a second goroutine. It is low because a single
	// goroutine already has its blocks compressed on the other core.
	recordScale = 1.2
)

// perEventOf returns statistics of the time f of runs, in ns per event.
func perEventOf(list []usage, events int64, f func(usage) float64) stat {
	return statOver(list, func(u usage) float64 { return perEvent(f(u), events) })
}

// perEventCells returns table cells with CPU time and wall-clock time per event, and the peak.
func perEventCells(list []usage, events int64) []string {
	return []string{ratio(perEventOf(list, events, cpu)), ratio(perEventOf(list, events, wall)), peak(list)}
}

// acceptances evaluates the project's limits.
func (r *pallasReport) acceptances() []acceptance {
	var list []acceptance
	add := func(text, limit, measured string, s stat, pass bool) {
		list = append(list, verdict(text, limit, measured, s.n > 0, pass))
	}
	ns := func(text string, limit float64, s stat) {
		add(text, fmt.Sprintf("≤ %.0f ns per event", limit), ratio(s), s, s.median <= limit)
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
			ns("Recording with the compatible method, "+x.name+": a fifth of the library's time", pinnedFast/5,
				perEventOf(x.compatible, x.events, wall))
			s := statOver(x.compatible, cpu)
			times("The same: time per event for ten times as many events", s.median/statOver(x.short, cpu).median/10, s)
		}
		ns("Reading on one core, "+x.name, read, perEventOf(x.one, x.events, cpu))
	}
	if len(r.results) == 0 {
		return list
	}
	all := append(slices.Clip(r.results), &r.long)
	x := r.results[0]
	s := statOver(x.info, wall)
	add("`info`, "+x.name, fmt.Sprintf("≤ %.0f ms", 1000*infoTime), fmt.Sprintf("%.1f ms", 1000*s.median), s,
		s.median <= infoTime)
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
		s := statOver(x.exact, cpu)
		part := statOver(x.info, cpu).median / s.median
		add("`info` from sums, CPU beside --exact, "+x.name, "≤ 1.00 ×", fmt.Sprintf("%.2f ×", part), s, part <= 1)
		s = bytesOf(x.info, nil)
		part = s.median / float64(x.bytes-x.data)
		add("`info` reads no times, "+x.name, fmt.Sprintf("≤ %.2f × the files without times", readsLimit),
			fmt.Sprintf("%.2f ×", part), s, part <= readsLimit)
	}
	for i, x := range r.threads {
		name := fmt.Sprintf("%d threads", x.threads)
		faster := func(text string, limit float64, one, two []usage) {
			s := statOver(two, wall)
			v := statOver(one, wall).median / s.median
			add(text+", "+name, fmt.Sprintf("≥ %.2f ×", limit), fmt.Sprintf("%.2f ×", v), s, v >= limit)
		}
		if i == 0 && r.cores >= 2 { // with many threads, much of the time goes into creating their files
			faster("Two goroutines record faster than one", recordScale, x.record, x.both)
			faster("Two cores read faster than one", minTwoCores, x.one, x.two)
		}
		memory := func(what string, limit int64, runs ...[]usage) {
			list := slices.Concat(runs...)
			peak := highest(list)
			add("Memory of "+what+", "+name, fmt.Sprintf("≤ %.0f MiB", mib(limit)), fmt.Sprintf("%.0f MiB", mib(peak)),
				statOver(list, wall), peak <= limit)
		}
		memory("recording", recordMemory+int64(x.threads)*threadMemory+x.grammar, x.record, x.both)
		memory("reading", plainMemory, x.one, x.two)
	}
	for _, x := range all {
		peak := highest(x.record)
		add("Memory of recording, "+x.name, fmt.Sprintf("≤ %.0f MiB, of which the grammar has %.0f",
			mib(recordMemory+x.grammar), mib(x.grammar)), fmt.Sprintf("%.0f MiB", mib(peak)), statOver(x.record, wall),
			peak <= recordMemory+x.grammar)
	}
	return list
}

// bytes returns statistics of the bytes that the lookups read. Bytes that are read for opening the trace do
// not count. The statistics are empty if the system does not count bytes.
func (l lookups) bytes(opening lookups) stat {
	return bytesOf(l.runs, opening.runs)
}

// document returns the report as Markdown.
func (r *pallasReport) document() []byte {
	all := append(slices.Clip(r.results), &r.long)
	r.begin("pallas", "Pallas", "small traces",
		"It measures whole processes, as [performance.md](performance.md) does. No distribution\n"+
			"contains Pallas' own library. Its figures were measured once, on a similar machine; all\n"+
			"figures of weft are from this run.")
	r.printf("\n- Runs: %d of recording, %d of reading\n\n", r.runs, pairs*r.runs)
	r.verdicts("", "Measured", r.acceptances())
	r.printf("## Traces\n\nOne thread of %d events, enters and leaves:\n\n", r.results[0].events)
	for _, x := range r.results {
		r.printf("- %s: %s\n", x.name, x.text)
	}
	r.printf("\n## Recording\n\n"+
		"A Go program generates the events and records them with the package format/pallas. Times\n"+
		"are wall-clock times and include compression and flush; another core compresses the\n"+
		"blocks. The compatible method finds the same repetitions as Pallas' own library, which\n"+
		"takes %s ns per event for regular programs, and %s for irregular ones.\n\n", pinnedRecord, pinnedIrregular)
	var rows [][]string
	for _, x := range all {
		ns := func(l []usage, f func(usage) float64) string { return ratio(perEventOf(l, x.events, f)) }
		rows = append(rows, []string{x.name, ns(x.record, wall), ns(x.record, cpu), ns(x.compatible, wall),
			ns(x.compatible, cpu), peak(x.record),
			fmt.Sprintf("%.2f", float64(x.bytes)/float64(x.events)), fmt.Sprintf("%.2f", float64(x.grammar)/float64(x.events))})
	}
	r.table([]string{"Pattern", "ns per event", "CPU, ns per event", "compatible, ns", "its CPU, ns", "Peak",
		"bytes per event", "of these, grammar"}, rows)
	r.printf("## Reading\n\n`weft convert --to null` decodes all events. Pallas' own tools take %s ns per\n"+
		"event, and `pallas_info` takes %s.\n\n", pinnedRead, pinnedInfo)
	rows = nil
	for _, x := range all {
		two, info := "–", "–"
		if len(x.two) > 0 {
			two, info = ratio(perEventOf(x.two, x.events, wall)), fmt.Sprintf("%.1f ms", 1000*statOver(x.info, wall).median)
		}
		cells := perEventCells(x.one, x.events)
		rows = append(rows, []string{x.name, cells[0], cells[1], two, cells[2], info})
	}
	r.table([]string{"Pattern", "one core, CPU ns per event", "wall", "two cores, wall", "Peak", "`info`"}, rows)
	r.sums()
	r.values(all)
	r.manyThreads()
	return r.text.Bytes()
}

// sums writes the section about sums stored in the trace.
func (r *pallasReport) sums() {
	r.printf("## Sums\n\nThe trace has sums of times in addition to the grammar: `info` does not read the times,\n" +
		"and `info --exact` reads all events.\n\n")
	var rows [][]string
	for _, x := range r.results {
		rows = append(rows, []string{
			x.name, smallSeconds(x.info, cpu), smallSeconds(x.exact, cpu), megabytes(x.info), megabytes(x.exact), size(x.bytes),
		})
	}
	r.table([]string{"Pattern", "`info`, CPU", "`info --exact`", "`info`, read", "`info --exact`", "Trace"}, rows)
}

// values writes the section about looking up values.
func (r *pallasReport) values(list []*pallasResult) {
	r.printf("## Values on demand\n\nA program opens the trace and a thread, and reads the times of randomly chosen\n"+
		"occurrences of events (`Thread.Value`): none, one, and %d. Opening reads the grammar;\n"+
		"its time includes the start of the program. The program caches up to 8 MB of blocks.\n\n", pallasLookups)
	var rows [][]string
	for _, x := range list {
		rows = append(rows, []string{
			x.name, smallSeconds(x.opening.runs, wall), megabytes(x.opening.runs), x.first.microseconds(1),
			x.first.each(x.opening, 1),
			x.many.microseconds(pallasLookups), x.many.each(x.opening, pallasLookups),
		})
	}
	r.table([]string{"Pattern", "opening", "read", "first value, µs", "bytes", "1000 values, µs each", "bytes each"},
		rows)
}

// microseconds formats the mean duration of a lookup, for runs of count lookups.
func (l lookups) microseconds(count float64) string {
	return ratio(statOver(l.ns, func(ns float64) float64 { return ns / 1000 / count }))
}

// each formats the mean number of bytes that a lookup reads, for runs of count lookups.
func (l lookups) each(opening lookups, count float64) string {
	if s := l.bytes(opening); s.n > 0 {
		return fmt.Sprintf("%.0f", s.median/count)
	}
	return "–"
}

// megabytes formats the number of bytes that the processes have read.
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
Wall-clock time, ns per event, the making of the files included. Of one goroutine, too,
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
		"reading, one", "two", "Peak, one", "two", "bytes per event", "of these, grammar"}, rows)
	r.printf("[performance-workloads.md](performance-workloads.md) compares the bytes per event with\n" +
		"OTF2 and OTF, for each workload of `weft generate`.\n")
}
