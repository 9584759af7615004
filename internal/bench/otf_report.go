package main

import (
	"fmt"
	"math"
)

// otfReport holds the measurements of the part otf, and writes its document.
type otfReport struct {
	result
	otfprint      string // version of otfprint; "" if it is missing
	plain, packed int64  // sizes of both traces in bytes
	comparisons   []*otfComparison
	compressed    []otfPair // runs with the compressed trace (ours) and with the plain one (theirs)
	memory        []commandResult
	manyEvents    int64
	many          []commandResult
	writes        []otfWriteRound
	noLibotf      string // reason why the program that uses libotf cannot be compiled
}

// The project's limits for OTF.
const (
	otfStreamMemory = 1 << 20 // bytes for each stream, in addition to plainMemory
	otfWriteTime    = 60      // ns per event
	otfManyCommands = 4       // number of commands that must work with few open files
)

// plainLimit returns the memory limit, in bytes, of a command that reads the plain trace.
func (r *otfReport) plainLimit() int64 {
	return plainMemory + int64(otfUsual.streams)*otfStreamMemory
}

// cpuSpeedUp returns the ratio of the CPU time of the other tool to the CPU time of weft.
func (p otfPair) cpuSpeedUp() float64 { return p.theirs.cpu.Seconds() / p.ours.cpu.Seconds() }

// wallSpeedUp returns the ratio of the wall-clock time of the other tool to the wall-clock time of weft.
func (p otfPair) wallSpeedUp() float64 { return p.theirs.wall.Seconds() / p.ours.wall.Seconds() }

// against returns the statistics of f over the runs. The statistics are empty if the other program is missing.
func (c *otfComparison) against(f func(otfPair) float64) stat {
	if c.missing {
		return stat{}
	}
	return statOver(c.rounds, f)
}

// perEvent converts seconds for a number of events to ns per event. It returns NaN if nothing was
// measured.
func perEvent(seconds float64, events int64) float64 {
	if seconds == 0 {
		return math.NaN()
	}
	return seconds * 1e9 / float64(events)
}

// judge returns the verdict on a measurement. part is the name of the measurement in problems.
func (r *otfReport) judge(part, text, limit, why string, s stat, good bool) acceptance {
	a := verdict(text, limit, ratio(s), s.n > 0, good)
	a.why, a.partial = why, r.failed(part)
	return a
}

// acceptances compares the measurements with the project's limits.
func (r *otfReport) acceptances() []acceptance {
	var list []acceptance
	for _, c := range r.comparisons {
		why := ""
		if c.missing {
			why = c.tool() + " is not installed"
		}
		times := func(unit string, limit float64, s stat, why string) {
			list = append(list, r.judge(c.name, fmt.Sprintf("%s: less %s than %s", c.text, unit, c.tool()),
				fmt.Sprintf("≥ %.2f ×", limit), why, s, s.median >= limit))
		}
		times("CPU time", c.cpu, c.against(otfPair.cpuSpeedUp), why)
		if c.wall > 0 {
			s := c.against(otfPair.wallSpeedUp)
			if r.cores < 2 {
				s, why = stat{}, "needs two cores"
			}
			times("wall-clock time", c.wall, s, why)
		}
	}
	one := statOver(r.writes, func(q otfWriteRound) float64 { return perEvent(cpu(q.one), r.events) })
	list = append(list, r.judge(partWrite, "Writing, one goroutine, 8 streams: CPU time per event",
		fmt.Sprintf("≤ %d ns", otfWriteTime), "", one, one.median <= otfWriteTime))
	scale, why := statOver(r.writes, scaling), ""
	if r.cores < 2 {
		scale, why = stat{}, "needs two cores"
	}
	list = append(list, r.judge(partWrite, "Writing: two goroutines write faster than one",
		fmt.Sprintf("≥ %.2f ×", minTwoCores), why, scale, scale.median >= minTwoCores))
	return append(list, r.memoryVerdict(), r.manyVerdict())
}

// scaling returns the speed-up by a second goroutine: the ratio of the time that one goroutine
// needs for both halves of the trace to the time that two goroutines need.
func scaling(q otfWriteRound) float64 { return 2 * q.half.wall.Seconds() / q.two.wall.Seconds() }

// memoryVerdict compares the peaks of commands on the plain trace with their limit.
func (r *otfReport) memoryVerdict() acceptance {
	peak := highestOf(r.memory)
	a := r.judge(partMemory, "Memory of decoding, `check` and `info`", "≤ 64 MiB + 1 MiB per stream", "", stat{},
		peak <= r.plainLimit())
	if peak > 0 {
		a.worst = fmt.Sprintf("%.1f MiB", mib(peak))
	}
	return a
}

// manyVerdict returns the verdict on whether all commands work with few open files.
func (r *otfReport) manyVerdict() acceptance {
	a := r.judge(partMany, fmt.Sprintf("%d streams with %d open files", otfWide.streams, otfHandles),
		fmt.Sprintf("%d commands work", otfManyCommands), "", stat{}, len(r.many) == otfManyCommands)
	if len(r.many) > 0 || a.partial {
		a.worst = fmt.Sprintf("%d work", len(r.many))
	}
	return a
}

// document returns the report as Markdown.
func (r *otfReport) document() []byte {
	r.begin("otf", "OTF", "a small trace",
		"It measures whole processes, as [performance.md](performance.md) does. CPU time is the\n"+
			"user and system time of all threads. Memory is the peak of the resident memory. The two\n"+
			"sides of a ratio ran one after the other, on the same trace, which was in the cache of\n"+
			"the system. A ratio is the median of its pairs, with the least and the greatest in\n"+
			"brackets. It is the time of the other tool divided by the time of weft.")
	if r.otfprint == "" {
		r.printf("; OTF's tools are not installed\n")
	} else {
		r.printf("; compared with OTF's tools %s\n", r.otfprint)
	}
	r.printf("- Runs: %d pairs\n\n", pairs*r.runs)
	r.verdicts("", "Measured", r.acceptances())
	r.printf("## Trace\n\n%d events of %d processes in %d streams: 85 %% enter or leave %d functions, nested at\n"+
		"most %d deep, 5 %% send a message, 5 %% receive one, 5 %% are values of a counter. Times\n"+
		"grow by 0 to %d ticks from one event of a stream to the next.\n",
		r.events, otfUsual.processes(), otfUsual.streams, otfFunctions, otfDepth,
		otfStep)
	r.printf("Its size is %s uncompressed, and compressed (level %d) %s.\n\n", size(r.plain), otfLevel, size(r.packed))
	r.writeReading()
	r.writeEncoding()
	r.writeMemory()
	return r.text.Bytes()
}

// writeReading writes the sections about reading.
func (r *otfReport) writeReading() {
	r.printf("## Compared with OTF's tools\n\n" +
		"Standard output is the null device. The window is 1 %% of the time, in the middle of the\n" +
		"trace.\n\n")
	var rows [][]string
	for _, c := range r.comparisons {
		rows = append(rows, []string{"`weft " + c.ours + "`", "`" + c.theirs + "`"})
	}
	r.table([]string{"weft", " OTF's tool"}, rows)
	rows = nil
	for _, c := range r.comparisons {
		row := []string{c.text}
		for _, x := range []struct {
			value func(usage) float64
			less  func(otfPair) float64
		}{{cpu, otfPair.cpuSpeedUp}, {wall, otfPair.wallSpeedUp}} {
			theirs := smallSeconds(c.rounds, func(p otfPair) float64 { return x.value(p.theirs) })
			if c.missing {
				theirs = "–"
			}
			row = append(row, smallSeconds(c.rounds, func(p otfPair) float64 { return x.value(p.ours) }), theirs,
				ratio(c.against(x.less)))
		}
		rows = append(rows, row)
	}
	r.table([]string{"What", "weft CPU", "tool CPU", "CPU, times less", "weft wall", "tool wall", "Wall, times less"},
		rows)
	r.printf("Current versions of OTF's tools cannot read compressed traces of more than 4 KiB. weft\n"+
		"decodes the compressed trace (`convert --to null`) in %s of CPU time, and the\n"+
		"uncompressed one in %s: a factor of %s.\n\n",
		smallSeconds(r.compressed, func(p otfPair) float64 { return cpu(p.ours) }),
		smallSeconds(r.compressed, func(p otfPair) float64 { return cpu(p.theirs) }),
		ratio(statOver(r.compressed, func(p otfPair) float64 { return 1 / p.cpuSpeedUp() })))
}

// smallSeconds formats the median of f in seconds, or in a smaller unit if it is small.
func smallSeconds[T any](list []T, f func(T) float64) string {
	s := statOver(list, f)
	if s.n == 0 {
		return "–"
	}
	return fmt.Sprintf("%.3f s", s.median)
}

// writeEncoding writes the section that compares programs that write traces.
func (r *otfReport) writeEncoding() {
	r.printf("## Writing\n\nTwo programs generate the events of the trace and write them to files: a Go program with\n" +
		"the package format/otf, in which each goroutine has separate streams, and a C program\n" +
		"with libotf. Both use buffers of 1 MiB. Numbers are ns per event and include the\n" +
		"generation of the events.\n")
	switch {
	case r.noLibotf != "":
		r.printf("The C program was not measured: %s.\n", r.noLibotf)
	case len(r.writes) > 0:
		r.printf("Both programs wrote the same event files, byte for byte.\n")
	}
	r.printf("\n")
	var rows [][]string
	for _, x := range []struct {
		name   string
		by     func(q otfWriteRound) usage
		events int64
	}{
		{"libotf, 8 streams", func(q otfWriteRound) usage { return q.libotf }, r.events},
		{"one goroutine, 8 streams", func(q otfWriteRound) usage { return q.one }, r.events},
		{"two goroutines, 4 streams each", func(q otfWriteRound) usage { return q.two }, r.events},
		{"one goroutine, 4 streams", func(q otfWriteRound) usage { return q.half }, r.events / 2},
	} {
		ns := func(f func(u usage) float64) string {
			return ratio(statOver(r.writes, func(q otfWriteRound) float64 { return perEvent(f(x.by(q)), x.events) }))
		}
		rows = append(rows, []string{x.name, ns(cpu), ns(func(u usage) float64 { return u.user.Seconds() }), ns(wall)})
	}
	r.table([]string{"Writer", "CPU, ns per event", "User time", "Wall, ns per event"}, rows)
}

// writeMemory writes the sections about memory.
func (r *otfReport) writeMemory() {
	r.printf("## Memory\n\nPeaks of the resident memory, for the uncompressed trace, with all cores. Time is the\n" +
		"median of the runs, memory the maximum.\n\n")
	r.leastPeak()
	r.commands(r.memory)
	r.printf("## Many streams\n\nA trace of %d events in %d streams, with at most %d open files (`ulimit -n`).\n"+
		"The test counts the events that `print` prints, for the trace and for the output of\n"+
		"`convert`.\n\n", r.manyEvents,
		otfWide.streams, otfHandles)
	r.commands(r.many)
}
