package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// machine describes the computer on which the benchmark ran.
type machine struct {
	cpu       string
	cores     int
	goVersion string
	load      string // load average of the minute before the start
}

// generatedFile is the size in bytes of a generated file, and the number of events that was
// requested.
type generatedFile struct{ bytes, events int64 }

// round holds a run of each program on the same file.
type round struct {
	one, two usage // weft convert --to null, with -j 1 and with -j 2
	mawk, wc usage // zero if the program is missing
	near     time.Duration
	// near is the mean CPU time of runs on the small file that were made just before this round.
}

// commandResult is a command of weft with its runs on a large file.
type commandResult struct {
	command string
	runs    []usage
}

// highest returns the highest peak of some runs.
func highest(list []usage) (peak int64) {
	for _, u := range list {
		peak = max(peak, u.peak)
	}
	return peak
}

// highestOf returns the highest peak of all runs of some commands.
func highestOf(list []commandResult) (peak int64) {
	for _, c := range list {
		peak = max(peak, highest(c.runs))
	}
	return peak
}

// cells returns the cells of the table row of a command.
func (c commandResult) cells() []string {
	return []string{"`" + c.command + "`", seconds(statOver(c.runs, cpu)), seconds(statOver(c.runs, wall)), peak(c.runs)}
}

// peak formats the highest peak of some runs.
func peak(list []usage) string { return fmt.Sprintf("%.1f MiB", mib(highest(list))) }

// commands appends a table with commands and their measurements.
func (p *page) commands(list []commandResult) {
	var rows [][]string
	for _, c := range list {
		rows = append(rows, c.cells())
	}
	p.table([]string{"Command", "CPU", "Wall", "Peak"}, rows)
}

// encodeRound holds the runs from which the time of an encoder is calculated.
type encodeRound struct {
	generate    usage // weft generate
	generator   usage // weft generate without output
	decode      usage // weft convert --to null
	convert     usage // weft convert of the same file to another format
	decodeOther usage // weft convert --to null of the file that convert wrote
}

// encode returns the user time of the encoder in seconds: the difference of the times of generating
// a file and of generating without output.
func (e encodeRound) encode() float64 { return (e.generate.user - e.generator.user).Seconds() }

// perDecode returns the ratio of the encoder's user time to the decoder's.
func (e encodeRound) perDecode() float64 { return e.encode() / e.decode.user.Seconds() }

// wholePerDecode is like perDecode, for CPU times. CPU times include system time.
func (e encodeRound) wholePerDecode() float64 {
	return (e.generate.cpu - e.generator.cpu).Seconds() / e.decode.cpu.Seconds()
}

// orderResult holds the result of checking the output of weft print --json for a shuffled file.
type orderResult struct {
	events     int64
	late       int64 // number of events out of order
	lateSorted int64 // number of events out of order for the file before it was shuffled
	same       bool  // both outputs have the same lines
}

// fileResult holds the measurements of a kind of file.
type fileResult struct {
	subject
	small, large      generatedFile
	open              int64 // largest number of regions or claims that are open at the same time
	smallRounds       []round
	rounds            []round
	memory            []commandResult
	smallEncodeRounds []encodeRound
	encodeRounds      []encodeRound
	otherSize         int64
	shuffledRuns      []commandResult
	order             *orderResult
}

// report holds the measurements of the part text, and writes its document.
type report struct {
	result
	otfPage          string // name of the document of the part otf
	mawk, wc         string // versions; "" if a program is missing
	mawkPath, wcPath string
	smallRuns        int
	startUp          stat // CPU seconds of `weft version`
	files            []*fileResult
}

// The project's limits.
const (
	maxMawk      = 1.0
	minTwoCores  = 1.6
	maxLinear    = 1.15
	plainMemory  = 64 << 20
	openMemory   = 64 // bytes for each open claim or region
	sortedMemory = 256 << 20
	maxEncode    = 1.0
)

// perMawk returns the ratio of the CPU time of weft to the CPU time of mawk.
func perMawk(q round) float64 { return q.one.cpu.Seconds() / q.mawk.cpu.Seconds() }

// perWc returns the ratio of the CPU time of weft to the CPU time of wc.
func perWc(q round) float64 { return q.one.cpu.Seconds() / q.wc.cpu.Seconds() }

// speedUp returns the wall-clock time on one core divided by the wall-clock time on two cores.
func speedUp(q round) float64 { return q.one.wall.Seconds() / q.two.wall.Seconds() }

// linear returns the CPU time per byte for the large file, divided by the CPU time per byte for the small
// file. Both are without the time that weft needs to start.
func (r *report) linear(x *fileResult) stat {
	return statOver(x.rounds, func(q round) float64 {
		large := (q.one.cpu.Seconds() - r.startUp.median) / float64(x.large.bytes)
		small := (q.near.Seconds() - r.startUp.median) / float64(x.small.bytes)
		return large / small
	})
}

// judge returns the verdict on the values that f returns for each file. If more is set, a value above bound is
// bad; otherwise a value below bound is bad. f returns the value, its bound, and a text for the value; the
// text is "" if the value is unknown. part is the name of the measurement in problems.
func (r *report) judge(part, text, limit string, more bool,
	f func(x *fileResult) (value, bound float64, show string)) acceptance {
	a := acceptance{text: text, limit: limit, pass: true, partial: r.failed(part, partGenerate)}
	var worst float64
	for _, x := range r.files {
		v, bound, show := f(x)
		if show == "" {
			continue
		}
		if more && v > bound || !more && v < bound {
			a.pass = false
		}
		if a.worst == "" || more && v-bound > worst || !more && bound-v > worst {
			a.worst = x.name() + ": " + show
			worst = v - bound
			if !more {
				worst = -worst
			}
		}
	}
	return a
}

// medianAndBound returns the results that the parameter f of judge needs: the median of s, the bound, and the ratio as
// a text. Without values it returns zeros.
func medianAndBound(s stat, bound float64) (float64, float64, string) {
	if s.n == 0 {
		return 0, 0, ""
	}
	return s.median, bound, ratio(s)
}

// acceptances evaluates the project's limits.
func (r *report) acceptances() []acceptance {
	return []acceptance{
		r.judge(partDecode, "Decoding takes no more CPU time than mawk counting fields", "≤ 1.00 × mawk", true,
			func(x *fileResult) (float64, float64, string) {
				if r.mawk == "" {
					return 0, 0, ""
				}
				return medianAndBound(slowerOf(statOver(x.smallRounds, perMawk), statOver(x.rounds, perMawk)), maxMawk)
			}),
		r.judge(partDecode, "Two cores decode faster than one", "≥ 1.60 ×", false,
			func(x *fileResult) (float64, float64, string) {
				if r.cores < 2 {
					return 0, 0, ""
				}
				return medianAndBound(statOver(x.rounds, speedUp), minTwoCores)
			}),
		r.judge(partDecode, "Time is linear in the size", "≤ 1.15 × per byte", true,
			func(x *fileResult) (float64, float64, string) {
				return medianAndBound(r.linear(x), maxLinear)
			}),
		r.judge(partMemory, "`check` and `info` hold little", "≤ 64 MiB + definitions + 64 B an open claim or region", true,
			func(x *fileResult) (float64, float64, string) {
				p := highestOf(x.memory)
				if p == 0 {
					return 0, 0, ""
				}
				return float64(p), float64(x.plainLimit()), fmt.Sprintf("%.1f MiB", mib(p))
			}),
		r.judge(partShuffled, "A shuffled file comes in order, with bounded memory", "all events in order, ≤ 256 MiB", true,
			func(x *fileResult) (float64, float64, string) {
				if x.order == nil {
					return 0, 0, ""
				}
				p := highestOf(x.shuffledRuns)
				show := fmt.Sprintf("%.1f MiB, %s", mib(p), x.order)
				if !x.order.ordered() {
					p = sortedMemory * 1e6
				}
				return float64(p), sortedMemory, show
			}),
		r.judge(partEncode, "Encoding takes no more time than decoding", "≤ 1.00 × the same file decoded", true,
			func(x *fileResult) (float64, float64, string) {
				return medianAndBound(slowerOf(statOver(x.smallEncodeRounds, encodeRound.wholePerDecode),
					statOver(x.encodeRounds, encodeRound.perDecode)), maxEncode)
			}),
	}
}

// slowerOf returns the statistic with the larger median.
func slowerOf(a, b stat) stat {
	if b.n == 0 || a.n > 0 && a.median > b.median {
		return a
	}
	return b
}

// plainLimit returns the memory limit of check and info in bytes. It ignores the memory for definitions,
// because these traces have few definitions.
func (f *fileResult) plainLimit() int64 { return plainMemory + openMemory*f.open }

// ordered reports whether weft printed the events of the shuffled file in the right order.
func (o *orderResult) ordered() bool { return o.late == 0 && o.lateSorted == 0 && o.same }

// String describes the defects of the output, or states that there are none.
func (o *orderResult) String() string {
	var bad []string
	if o.late > 0 {
		bad = append(bad, fmt.Sprintf("%d events too late", o.late))
	}
	if o.lateSorted > 0 {
		bad = append(bad, fmt.Sprintf("%d events too late without shuffling", o.lateSorted))
	}
	if !o.same {
		bad = append(bad, "not the events of the sorted file")
	}
	if len(bad) == 0 {
		return "in order"
	}
	return strings.Join(bad, ", ")
}

// ratio formats the median, the minimum and the maximum of a statistic.
func ratio(s stat) string {
	switch s.n {
	case 0:
		return "–"
	case 1:
		return fmt.Sprintf("%.2f", s.median)
	}
	return fmt.Sprintf("%.2f (%.2f–%.2f)", s.median, s.min, s.max)
}

// speed formats the speed of processing bytes in some seconds, in MB/s.
func speed(bytes int64, seconds float64) string {
	if seconds <= 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f", float64(bytes)/1e6/seconds)
}

// size formats a number of bytes in MB. Small numbers get one more decimal place.
func size(bytes int64) string {
	if mb := float64(bytes) / 1e6; mb < 100 {
		return fmt.Sprintf("%.1f MB", mb)
	}
	return fmt.Sprintf("%.0f MB", float64(bytes)/1e6)
}

// seconds formats the median of a statistic, in seconds.
func seconds(s stat) string {
	if s.n == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f s", s.median)
}

// cpu and wall return the CPU time and the wall-clock time in seconds, for use with statOver.
func cpu(u usage) float64  { return u.cpu.Seconds() }
func wall(u usage) float64 { return u.wall.Seconds() }

// document returns the report as Markdown.
func (r *report) document() []byte {
	r.text.Reset()
	r.printf("# Performance\n\n")
	r.printf("`make bench` writes this page. It measures whole processes. CPU time is the user and\n"+
		"system time of all threads. Memory is the peak of the resident memory. Look at the\n"+
		"ratios first: both sides of a ratio were measured in the same run, one directly after\n"+
		"the other, on the same file, which was in the cache of the system. Seconds and MB/s are\n"+
		"only valid for this machine. A ratio is the median of its pairs, with the least and the\n"+
		"greatest in brackets. 1 MB is 10⁶ bytes of the text of the trace, and 1 MiB is 2²⁰\n"+
		"bytes. The measurements of the Open Trace Format are on\n[another page](%s).\n\n", r.otfPage)
	if r.quick {
		r.noteTrialRun("small files and few runs (`-quick`). The numbers mean nothing")
	}
	r.place()
	r.printf("- weft built with %s; compared with %s and %s\n", r.goVersion, orMissing("mawk", r.mawk),
		orMissing("wc", r.wc))
	r.printf("- Runs: %d on large files (%d pairs of decoding and encoding), %d on small ones\n\n", r.runs, pairs*r.runs,
		r.smallRuns)
	r.verdicts("The worst file decides, small or large.\n\n", "Worst", r.acceptances())

	r.printf("## Files\n\n`weft generate` has generated all files, with the default number of locations and seed\n" +
		"1.\n\n")
	var rows [][]string
	for _, x := range r.files {
		rows = append(rows, []string{x.name(), "`--workload " + x.workload + "`", size(x.small.bytes),
			fmt.Sprint(x.small.events), size(x.large.bytes), fmt.Sprint(x.large.events), fmt.Sprint(x.open)})
	}
	r.table([]string{"File", " Workload", "Small", "Events, about", "Large", "Events, about", "Open at most"}, rows)

	r.writeDecoding()
	r.writeMemory()
	r.writeEncoding()
	return r.text.Bytes()
}

// orMissing returns the version of a program, or a text if the program is missing.
func orMissing(name, version string) string {
	if version == "" {
		return name + " (not installed: its columns are empty)"
	}
	return version
}

// writeDecoding writes the sections about reading.
func (r *report) writeDecoding() {
	r.printf("## Decoding\n\n`weft convert --to null -j 1 FILE -` decodes every event and writes nothing; `mawk\n" +
		"'{n+=NF} END{print n}' FILE` splits every line into fields; `wc -l FILE` only counts the\n" +
		"lines. Speeds are MB of text per second of CPU time.\n\n")
	var rows [][]string
	for _, x := range r.files {
		for _, y := range []struct {
			size   int64
			rounds []round
		}{{x.small.bytes, x.smallRounds}, {x.large.bytes, x.rounds}} {
			seconds := func(f func(round) usage) float64 {
				return statOver(y.rounds, func(q round) float64 { return cpu(f(q)) }).median
			}
			one := seconds(func(q round) usage { return q.one })
			rows = append(rows, []string{x.name(), size(y.size), fmt.Sprintf("%.3f s", one), speed(y.size, one),
				speed(y.size, seconds(func(q round) usage { return q.mawk })),
				speed(y.size, seconds(func(q round) usage { return q.wc })),
				ratio(statOver(y.rounds, perMawk)), ratio(statOver(y.rounds, perWc))})
		}
	}
	r.table([]string{"File", "Size", "weft CPU", "weft MB/s", "mawk MB/s", "wc MB/s", "weft / mawk", "weft / wc"}, rows)

	r.printf("## Two cores\n\nDecoding of the large files with `-j 2`, in wall-clock time. The last column is the\n" +
		"ratio of the CPU times with two cores and with one core.\n\n")
	rows = nil
	for _, x := range r.files {
		rows = append(rows, []string{x.name(),
			seconds(statOver(x.rounds, func(q round) float64 { return wall(q.one) })),
			seconds(statOver(x.rounds, func(q round) float64 { return wall(q.two) })),
			ratio(statOver(x.rounds, speedUp)),
			ratio(statOver(x.rounds, func(q round) float64 { return cpu(q.two) / cpu(q.one) }))})
	}
	r.table([]string{"File", "-j 1", "-j 2", "Speed-up", "CPU -j 2 / -j 1"}, rows)

	r.printf("## Size\n\nCPU time per byte of the large file, divided by CPU time per byte of the small file. The\n"+
		"runs alternate between the files. The %.0f ms that weft takes to start (`weft version`)\n"+
		"are subtracted from both times.\n\n",
		1000*r.startUp.median)
	rows = nil
	for _, x := range r.files {
		rows = append(rows, []string{x.name(), size(x.small.bytes), size(x.large.bytes), ratio(r.linear(x))})
	}
	r.table([]string{"File", "Small", "Large", "Large / small"}, rows)
}

// writeMemory writes the sections about memory.
func (r *report) writeMemory() {
	r.printf("## Memory\n\nPeaks of the resident memory, for the large files, with all cores. Time is the median of\n" +
		"the runs, memory the maximum. The definitions of these traces are small; the limit\n" +
		"ignores them.\n\n")
	r.leastPeak()
	var rows [][]string
	for _, x := range r.files {
		for _, m := range x.memory {
			rows = append(rows, slices.Concat([]string{x.name()}, m.cells(),
				[]string{fmt.Sprintf("%.1f MiB", mib(x.plainLimit()))}))
		}
	}
	r.table([]string{"File", " Command", "CPU", "Wall", "Peak", "Limit"}, rows)

	r.printf("## Shuffled files\n\n" +
		"The large files with all lines, including definitions, in random order. weft sorts them\n" +
		"with temporary files. The benchmark compares the output with the output for the sorted\n" +
		"file: the times of events must never decrease, and the lines must be the same.\n\n")
	rows = nil
	for _, x := range r.files {
		for _, m := range x.shuffledRuns {
			verdict := ""
			if m.command == "weft print -q --json" && x.order != nil {
				verdict = x.order.String()
				if x.order.ordered() {
					verdict = fmt.Sprintf("%d events in order, the same", x.order.events)
				}
			}
			rows = append(rows, slices.Concat([]string{x.name()}, m.cells(),
				[]string{fmt.Sprintf("%d MiB", sortedMemory>>20), verdict}))
		}
	}
	r.table([]string{"File", " Command", "CPU", "Wall", "Peak", "Limit", " Order"}, rows)
}

// writeEncoding writes the section about writing.
func (r *report) writeEncoding() {
	r.printf("## Encoding\n\nThe time of an encoder is the difference of two times: of `weft generate -j 1` to a\n" +
		"file, and of the same command with `--to null`. It is compared with the time of decoding\n" +
		"the same file (`weft convert --to null -j 1`). For the small file, the CPU time in the\n" +
		"last column decides. For the large file, the user time decides: all programs that write\n" +
		"a large new file need the same system time, and on a virtual machine this time can be\n" +
		"ten times as long if the host must first provide the memory. The other columns are user\n" +
		"times.\n\n")
	var rows [][]string
	for _, x := range r.files {
		for _, part := range []struct {
			bytes  int64
			rounds []encodeRound
		}{{x.small.bytes, x.smallEncodeRounds}, {x.large.bytes, x.encodeRounds}} {
			if len(part.rounds) == 0 {
				continue
			}
			e := statOver(part.rounds, encodeRound.encode)
			user := func(f func(q encodeRound) usage) stat {
				return statOver(part.rounds, func(q encodeRound) float64 { return f(q).user.Seconds() })
			}
			generator := func(q encodeRound) usage { return q.generator }
			decode := user(func(q encodeRound) usage { return q.decode })
			rows = append(rows, []string{x.name(), size(part.bytes),
				seconds(user(func(q encodeRound) usage { return q.generate })), seconds(user(generator)), seconds(e),
				speed(part.bytes, e.median), speed(part.bytes, decode.median), ratio(statOver(part.rounds, encodeRound.perDecode)),
				ratio(statOver(part.rounds, encodeRound.wholePerDecode))})
		}
	}
	r.table([]string{"File", "Size", "Generate", "Generate to null", "Encoder", "Encoder MB/s", "Decoder MB/s",
		"Encode / decode", "With the system"}, rows)
	rows = nil
	for _, x := range r.files {
		if x.otherSize == 0 {
			continue // the user has not requested the conversion
		}
		add := func(f func(q encodeRound) usage) string {
			// Only the first rounds also measure conversions.
			return seconds(statOver(x.encodeRounds[:min(len(x.encodeRounds), r.runs)],
				func(q encodeRound) float64 { return cpu(f(q)) }))
		}
		rows = append(rows, []string{x.name(), x.other, size(x.otherSize),
			add(func(q encodeRound) usage { return q.convert }), add(func(q encodeRound) usage { return q.decode }),
			add(func(q encodeRound) usage { return q.decodeOther })})
	}
	if len(rows) > 0 {
		r.printf("Conversion from one format to the other, `weft convert -j 1`, in CPU time:\n\n")
		r.table([]string{"File", " To", "Written", "Convert", "Decode", "Decode what was written"}, rows)
	}
}
