package main

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// File names of the traces of the part otf. Commands run in the folder with these files.
const (
	otfPlain  = "plain.otf"
	otfPacked = "packed.otf" // the same events as plain.otf, compressed
	otfMany   = "many.otf"   // a trace with many streams
	otfLevel  = 4            // level of the compression, which is libotf's default
)

// These are the shapes of the traces. The number of rounds is set later.
var (
	otfUsual = otfShape{streams: 8, processesPerStream: 2}
	otfWide  = otfShape{streams: 1024, processesPerStream: 1}
)

const (
	// otfWideEvents is the approximate number of events in the trace with many streams.
	otfWideEvents = 200_000
	// otfHandles is the number of files that a command may have open when it reads the trace with
	// many streams.
	otfHandles = 96
)

// toolComparison is a command of weft with the corresponding command of OTF's own tools. The files
// that they write are named ours.* and theirs.*.
type toolComparison struct {
	name         string  // name of the measurement in problems
	text         string  // description in the document
	ours, theirs string  // command lines; ours has no program name
	cpu          float64 // least ratio of the CPU time of the other tool to the CPU time of weft
	// least ratio of the wall-clock time of the other tool to the wall-clock time of weft on two cores; 0 if
	// there is no limit
	wall float64
}

// tool returns the program with which weft is compared.
func (t toolComparison) tool() string {
	name, _, _ := strings.Cut(t.theirs, " ")
	return name
}

// comparisons returns the comparisons for a trace of a shape.
func comparisons(shape otfShape) []toolComparison {
	from := otfStart + (shape.ticks()-otfStart)/2
	to := from + (shape.ticks()-otfStart)/100
	return []toolComparison{
		{"decode", "Decoding", "convert -q -j 2 --to null plain.otf -", "otfprint -s plain.otf", 6, 10},
		{"print", "Printing everything", "print -q -j 2 --compat plain.otf", "otfprint plain.otf", 3, 0},
		{"merge", "Writing 4 streams instead of 8", "convert -q -j 2 --option otf.streams=4 plain.otf ours.otf",
			"otfmerge -n 4 -o theirs plain.otf", 3, 0},
		{"profile", "The profile", "profile -q -j 2 --csv plain.otf", "otfprofile -i plain.otf --csv --notex -o theirs", 6,
			0},
		{"window", "Printing 1 % of the time", fmt.Sprintf("print -q -j 2 --compat --from @%d --to @%d plain.otf", from, to),
			fmt.Sprintf("otfprint --time %d %d plain.otf", from, to), 1, 0},
	}
}

// otfPair holds a run of weft and a run of the other program.
type otfPair struct {
	ours   usage
	theirs usage // zero if the other program is missing
}

// otfComparison is a comparison with its measurements.
type otfComparison struct {
	toolComparison
	missing bool // the other program is missing
	rounds  []otfPair
}

// otfWriteRound holds a run of each program that writes the trace.
type otfWriteRound struct {
	libotf usage // zero if the program cannot be compiled
	one    usage // one goroutine writes all streams
	two    usage // each of two goroutines writes half of the streams
	half   usage // one goroutine writes half of the trace, while no other goroutine writes
}

// Names of the measurements of OTF, for problems.
const (
	partWrite = "writing"
	partMany  = "many streams"
	partZ     = "compressed"
)

// measure takes all measurements of OTF.
func (r *otfReport) measure(b *session) error {
	shape := otfUsual.withEvents(r.events)
	name := strings.TrimSuffix(otfPlain, ".otf")
	if ok, err := b.try(&r.problems, name, task{partGenerate, func() (err error) {
		if r.events, err = b.writeTrace(otfPlain, shape, 0); err == nil {
			_, err = b.writeTrace(otfPacked, shape, otfLevel)
		}
		r.plain, r.packed = b.sizeOf("plain.*"), b.sizeOf("packed.*")
		return err
	}}); !ok {
		return err
	}
	r.otfprint = firstLine(b.ctx, "otfprint", "-V")
	var steps []task
	for _, v := range comparisons(shape) {
		c := &otfComparison{toolComparison: v}
		r.comparisons = append(r.comparisons, c)
		steps = append(steps, task{v.name, func() error { return b.compare(c) }})
	}
	memory := []string{"convert -q --to null plain.otf -", "check -q plain.otf", "info -q plain.otf"}
	steps = append(steps,
		task{partZ, func() error { return b.packed(r) }},
		task{partMemory, func() error { return b.each(&r.memory, b.runs, memory) }},
		task{partMany, func() error { return b.manyStreams(r) }},
		task{partWrite, func() error { return b.writers(r, shape) }})
	if _, err := b.try(&r.problems, name, steps...); err != nil {
		return err
	}
	if !b.keep {
		b.clear("plain.*", "packed.*", "many.*")
	}
	return nil
}

// writeTrace writes a trace in a child process, and returns the number of its events.
func (b *session) writeTrace(file string, shape otfShape, level int) (int64, error) {
	return b.childNumber(otfWriteArgs(strings.TrimSuffix(file, ".otf"), shape, 1, level)...)
}

// otfWriteArgs returns the arguments for the child mode that writes a trace.
func otfWriteArgs(name string, shape otfShape, goroutines, level int) []string {
	args := []string{"otf", name}
	for _, n := range []int{shape.streams, shape.processesPerStream, shape.rounds, goroutines, level} {
		args = append(args, strconv.Itoa(n))
	}
	return args
}

// matching returns the paths of the files in the temporary directory that match a pattern.
func (b *session) matching(pattern string) []string {
	list, _ := filepath.Glob(b.path(pattern)) // Glob cannot fail, because the patterns are valid constants
	return list
}

// sizeOf returns the total size of the files that match pattern.
func (b *session) sizeOf(pattern string) (n int64) {
	for _, name := range b.matching(pattern) {
		if st, err := os.Stat(name); err == nil {
			n += st.Size()
		}
	}
	return n
}

// clear removes the files in the temporary directory that match patterns.
func (b *session) clear(patterns ...string) {
	for _, pattern := range patterns {
		for _, name := range b.matching(pattern) {
			os.Remove(name)
		}
	}
}

// clearOutput removes the files that compared commands have written. Otherwise, the next command would spend
// time on freeing the space of these files.
func (b *session) clearOutput() { b.clear("ours.*", "theirs.*") }

// compare measures both programs of a comparison, in turn.
func (b *session) compare(c *otfComparison) (err error) {
	tool, err := exec.LookPath(c.tool())
	c.missing = err != nil
	defer b.clearOutput()
	c.rounds, err = measureWarm(pairs*b.runs, func() (p otfPair, err error) {
		b.clearOutput()
		t := sequence{runner: b.runner}
		t.run(&p.ours, b.weft, strings.Fields(c.ours)...)
		t.run(&p.theirs, tool, strings.Fields(c.theirs)[1:]...)
		return p, t.err
	})
	return err
}

// packed measures how long weft takes to decode the compressed trace and the plain trace.
func (b *session) packed(r *otfReport) (err error) {
	r.compressed, err = measureWarm(pairs*b.runs, func() (p otfPair, err error) {
		t := sequence{runner: b.runner}
		t.run(&p.ours, b.weft, decodeArgs(2, otfPacked)...)
		t.run(&p.theirs, b.weft, decodeArgs(2, otfPlain)...)
		return p, t.err
	})
	return err
}

// manyStreams measures commands that read the trace with many streams, with a low limit for the number of open
// files. A command that does not read all data may report this as a defect of the trace and still end
// normally. Therefore manyStreams counts the events that print and convert write.
func (b *session) manyStreams(r *otfReport) error {
	defer b.clearOutput()
	shape := otfWide.withEvents(min(otfWideEvents, *b.events["otf"]))
	var err error
	if r.manyEvents, err = b.writeTrace(otfMany, shape, 0); err != nil {
		return err
	}
	var errs []error
	for _, command := range []string{"info many.otf", "check many.otf", "print many.otf", "convert many.otf ours.otf"} {
		u, err := b.fewHandles(command, r.manyEvents)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		r.many = append(r.many, commandResult{"weft " + command, []usage{u}})
	}
	return errors.Join(errs...)
}

// fewHandles runs a command of weft that may only have few files open. It returns an error if the
// command does not write the given number of events.
func (b *session) fewHandles(command string, events int64) (usage, error) {
	var lines lineCounter
	u, err := b.run(&lines, "sh", "-c", fmt.Sprintf(`ulimit -n %d && exec "$0" %s`, otfHandles, command), b.weft)
	if err == nil && strings.HasPrefix(command, "print") {
		err = lines.expect(events)
	}
	if err == nil && strings.HasPrefix(command, "convert") {
		lines = lineCounter{}
		if _, err = b.run(&lines, b.weft, "print", "ours.otf"); err == nil {
			err = lines.expect(events)
		}
	}
	return u, err
}

// lineCounter is an io.Writer that counts lines.
type lineCounter struct{ n int64 }

// Write implements [io.Writer].
func (l *lineCounter) Write(p []byte) (int, error) {
	l.n += int64(bytes.Count(p, []byte{'\n'}))
	return len(p), nil
}

// expect returns an error if the number of lines is not n.
func (l *lineCounter) expect(n int64) error {
	if l.n != n {
		return fmt.Errorf("found %d events, expected %d", l.n, n)
	}
	return nil
}

//go:embed testdata/libotf.c
var libotfSource []byte

// compileLibotf compiles the program that writes the events with libotf, and returns its path. It
// returns an error if the compiler or the library is missing.
func (b *session) compileLibotf() (string, error) {
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		return "", errors.New("gcc is not installed")
	}
	source, program := b.path("libotf.c"), b.path("libotf")
	if err := os.WriteFile(source, libotfSource, 0o666); err != nil {
		return "", err
	}
	if out, err := exec.CommandContext(b.ctx, gcc, "-O2", "-o", program, source, "-lopen-trace-format",
		"-lz").CombinedOutput(); err != nil {
		line, _, _ := bytes.Cut(out, []byte{'\n'})
		return "", fmt.Errorf("libotf cannot be compiled with: %s", withoutDirectories(string(line)))
	}
	return program, nil
}

// writers measures writing the same events with libotf, and with weft in one goroutine and in two.
func (b *session) writers(r *otfReport, shape otfShape) error {
	defer b.clearOutput()
	program, err := b.compileLibotf()
	if err != nil {
		r.noLibotf = err.Error()
	}
	half := shape
	half.streams /= 2
	first := true
	r.writes, err = measureWarm(pairs*b.runs, func() (q otfWriteRound, err error) {
		t := sequence{runner: b.runner}
		write := func(u *usage, shape otfShape, goroutines int) {
			b.clear("ours.*")
			t.run(u, b.self, append([]string{childMode}, otfWriteArgs("ours", shape, goroutines, 0)...)...)
		}
		b.clearOutput()
		t.run(&q.libotf, program, "theirs",
			strconv.Itoa(shape.streams), strconv.Itoa(shape.processesPerStream), strconv.Itoa(shape.rounds))
		write(&q.half, half, 1)
		write(&q.two, shape, 2)
		write(&q.one, shape, 1)
		if t.err == nil && first && program != "" {
			t.err = b.sameEvents(shape)
		}
		first = false
		return q, t.err
	})
	return err
}

// sameEvents returns an error if the files of events that libotf and weft have written differ.
func (b *session) sameEvents(shape otfShape) error {
	for i := range shape.streams {
		name := fmt.Sprintf("%x.events", i+1)
		if out, err := exec.CommandContext(b.ctx, "cmp", b.path("ours."+name),
			b.path("theirs."+name)).CombinedOutput(); err != nil {
			return fmt.Errorf("found other events than libotf: %w: %s", err, bytes.TrimSpace(out))
		}
	}
	return nil
}
