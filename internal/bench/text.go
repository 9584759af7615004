package main

import (
	"fmt"
	"hash/maphash"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// Names of the measurements of a file, for problems.
const (
	partGenerate = "generating"
	partDecode   = "decoding"
	partMemory   = "check and info"
	partEncode   = "encoding"
	partShuffled = "shuffled"
)

// measure takes all measurements of TRACE and PICL.
func (r *report) measure(b *session) (err error) {
	r.smallRuns, r.otfPage = b.smallRuns, "performance-otf.md"
	if b.out != "" {
		r.otfPage = filepath.Base(documentPath(b.out, "otf"))
	}
	if r.mawkPath, err = exec.LookPath("mawk"); err == nil {
		r.mawk = firstLine(b.ctx, r.mawkPath, "-W", "version")
	}
	if r.wcPath, err = exec.LookPath("wc"); err == nil {
		r.wc = firstLine(b.ctx, r.wcPath, "--version")
	}
	var start []usage
	if err := b.inTurn(10, command{&start, b.weft, []string{"version"}}); err != nil {
		return err
	}
	r.startUp = statOver(start, cpu)
	for _, s := range b.config.files {
		if err := r.file(b, s); err != nil {
			return err
		}
	}
	return nil
}

// file takes all measurements of a kind of file, and removes the files.
func (r *report) file(b *session, s subject) error {
	small, large := b.path("small."+s.name()), b.path("large."+s.name())
	x := &fileResult{subject: s}
	if ok, err := b.try(&r.problems, s.name(),
		task{partGenerate, func() error { return b.generate(x, small, large) }}); !ok {
		return err
	}
	r.files = append(r.files, x)
	steps := []task{
		{partDecode, func() error { return r.decode(b, x, small, large) }},
		{partMemory, func() error { return b.each(&x.memory, b.runs, []string{"check -q", "info -q"}, large) }},
		{partEncode, func() error { return b.encode(x, small, large) }},
	}
	if s.shuffled {
		steps = append(steps, task{partShuffled, func() error { return b.shuffled(x, large) }})
	}
	if _, err := b.try(&r.problems, s.name(), steps...); err != nil {
		return err
	}
	b.remove(small, large)
	return nil
}

// generate writes the small and the large file in several steps. From the bytes per event of each written
// file, it calculates the number of events of the next larger file.
func (b *session) generate(x *fileResult, small, large string) error {
	probe := b.path("probe." + x.name())
	defer os.Remove(probe)
	next := generatedFile{events: 10_000}
	for _, step := range []struct {
		path string
		size int64 // size in bytes of the file of the next step
		file *generatedFile
	}{
		{probe, int64(b.small), &generatedFile{}},
		{small, int64(b.large), &x.small},
		{large, 0, &x.large},
	} {
		if _, err := b.weftRun("generate", "--workload", x.workload, "--events", strconv.FormatInt(next.events, 10), "--to",
			x.format, step.path); err != nil {
			return err
		}
		next.bytes = b.sizeOf(filepath.Base(step.path))
		if next.bytes == 0 {
			return fmt.Errorf("%s is empty", filepath.Base(step.path))
		}
		*step.file = next
		next.events = max(1, int64(float64(step.size)*float64(next.events)/float64(next.bytes)))
	}
	n, err := b.childNumber("open", x.workload, strconv.FormatInt(x.large.events, 10))
	x.open = n
	return err
}

// round runs each program once on a file.
func (r *report) round(b *session, path string) (q round, err error) {
	t := sequence{runner: b.runner}
	t.run(&q.one, b.weft, decodeArgs(1, path)...)
	t.run(&q.mawk, r.mawkPath, "{n+=NF} END{print n}", path)
	t.run(&q.wc, r.wcPath, "-l", path)
	t.run(&q.two, b.weft, decodeArgs(2, path)...)
	return q, t.err
}

// decode measures reading: with weft, mawk and wc; on one core and on two cores; and for the small and the
// large file.
func (r *report) decode(b *session, x *fileResult, small, large string) (err error) {
	x.smallRounds, err = measureWarm(b.smallRuns, func() (round, error) { return r.round(b, small) })
	if err != nil {
		return err
	}
	x.rounds, err = measureWarm(pairs*b.runs, func() (round, error) {
		var near []usage
		if err := b.inTurn(b.smallRuns, command{&near, b.weft, decodeArgs(1, small)}); err != nil {
			return round{}, err
		}
		q, err := r.round(b, large)
		for _, u := range near {
			q.near += u.cpu
		}
		q.near /= time.Duration(b.smallRuns)
		return q, err
	})
	return err
}

// pairs is the factor for the number of rounds of decoding and encoding. The verdicts about them depend on
// ratios near the limits, and therefore need more measurements.
const pairs = 3

// encode measures writing: generating a file, and converting a file to another format.
func (b *session) encode(x *fileResult, small, large string) (err error) {
	x.smallEncodeRounds, err = measureWarm(b.smallRuns,
		func() (encodeRound, error) { return b.encodeRound(x, x.small.events, small, false) })
	if err != nil {
		return err
	}
	for i := range pairs * b.runs {
		q, err := b.encodeRound(x, x.large.events, large, b.convert && i < b.runs)
		if err != nil {
			return err
		}
		x.encodeRounds = append(x.encodeRounds, q)
	}
	return nil
}

// encodeRound measures generating events to a file and without output, and decoding an existing file. If
// convert is set, it also measures converting the existing file.
func (b *session) encodeRound(x *fileResult, events int64, file string, convert bool) (q encodeRound, err error) {
	same, other := b.path("encoded."+x.extension), b.path("converted."+x.other)
	defer b.remove(same)
	workload := []string{"generate", "--workload", x.workload, "--events", strconv.FormatInt(events, 10), "-j", "1"}
	// Otherwise the encoder's time would include freeing the space of the replaced file.
	os.Remove(same)
	t := sequence{runner: b.runner}
	t.run(&q.generate, b.weft, append(workload, same)...)
	t.run(&q.generator, b.weft, append(workload, "--to", "null", "-")...)
	t.run(&q.decode, b.weft, decodeArgs(1, file)...)
	if convert {
		defer b.remove(other)
		t.run(&q.convert, b.weft, "convert", "-q", "--allow-loss", "-j", "1", file, other)
		t.run(&q.decodeOther, b.weft, decodeArgs(1, other)...)
		x.otherSize = b.sizeOf(filepath.Base(other))
	}
	return q, t.err
}

// shuffled measures commands on the file with its lines in random order.
func (b *session) shuffled(x *fileResult, large string) error {
	path := b.path("shuffled." + x.extension)
	defer b.remove(path)
	if _, err := b.childRun(nil, "shuffle", large, path); err != nil {
		return err
	}
	commands := []string{"print -q --json --limit 1", "print -q"}
	if x.ordered != "" {
		commands = append(commands, x.ordered)
	}
	if err := b.each(&x.shuffledRuns, 1, commands, path); err != nil {
		return err
	}
	seed := maphash.MakeSeed()
	check := func(path string) (*orderChecker, usage, error) {
		o := &orderChecker{seed: seed}
		u, err := b.run(o, b.weft, "print", "-q", "--json", path)
		if err == nil {
			err = o.finish()
		}
		return o, u, err
	}
	got, u, err := check(path)
	if err != nil {
		return err
	}
	x.shuffledRuns = append(x.shuffledRuns, commandResult{"weft print -q --json", []usage{u}})
	want, _, err := check(large)
	if err != nil {
		return err
	}
	x.order = &orderResult{events: got.events, late: got.late, lateSorted: want.late, same: got.equal(want)}
	return nil
}
