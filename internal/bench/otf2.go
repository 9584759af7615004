package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/otf2"
)

// otf2Events is how many events the archive has, unless the flag says otherwise.
const otf2Events = 16_000_000

// otf2Locations is how many locations they are at.
const otf2Locations = 4

// otf2Result is what was measured of OTF2.
type otf2Result struct {
	page
	machine
	quick, few  bool
	runs        int
	events      int64
	bytes       int64
	tool        string
	write       []usage
	one, two    []usage // decoding
	alone       []usage // decoding the same number of events at one location, on two cores
	aloneSilent []usage // otf2-print --silent of these
	silent      []usage // otf2-print --silent
	text, print []usage // print --compat, otf2-print -A
	window      []usage
	part        []usage // otf2-print -A --time
	floor       int64
	problems    []problem
}

// otf2Archive measures OTF2 and writes its document.
func (b *session) otf2Archive(here machine) error {
	r := &otf2Result{machine: here, quick: b.quick, runs: b.runs, events: b.otf2Events, few: b.otf2Events < otf2Events}
	if err := b.try(&r.problems, "archive", "OTF2", func() error { return b.otf2(r) }); err != nil {
		return err
	}
	r.floor = ownPeak()
	return writeDocument(beside(b.out, "otf2"), r.document(), r.problems)
}

func (b *session) otf2(r *otf2Result) error {
	tool, err := exec.LookPath("otf2-print")
	if err == nil {
		r.tool = firstLine(b.ctx, tool, "--version")
	} else {
		r.problems = append(r.problems, problem{"archive", "OTF2", "otf2-print is not installed"})
	}
	dir, err := os.MkdirTemp(b.dir, "otf2-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path := dir + "/traces.otf2"
	measure := func(to *[]usage, u usage, err error) error {
		*to = append(*to, u)
		return err
	}
	for range pairs * b.runs {
		u, err := b.childRun(nil, "otf2", path, strconv.FormatInt(r.events, 10), strconv.Itoa(otf2Locations))
		if err := measure(&r.write, u, err); err != nil {
			return err
		}
	}
	r.bytes = bytesIn(dir)
	alone := dir + "/alone.otf2"
	if _, err := b.childRun(nil, "otf2", alone, strconv.FormatInt(r.events, 10), "1"); err != nil {
		return err
	}
	for range pairs * b.runs {
		for _, x := range []struct {
			to   *[]usage
			tool bool
			args []string
		}{
			{&r.one, false, []string{"convert", "-q", "-j", "1", "--to", "null", path, "-"}},
			{&r.two, false, []string{"convert", "-q", "-j", "2", "--to", "null", path, "-"}},
			{&r.silent, true, []string{"--silent", path}},
			{&r.alone, false, []string{"convert", "-q", "-j", "2", "--to", "null", alone, "-"}},
			{&r.aloneSilent, true, []string{"--silent", alone}},
			{&r.text, false, []string{"print", "--compat", path}},
			{&r.print, true, []string{"-A", path}},
			{&r.window, false, []string{"print", "--compat", "--from", "@1000000000", "--to", "@1010000000", path}},
			{&r.part, true, []string{"-A", "--time", "1000000000", "1009999999", path}},
		} {
			program := b.weft
			if x.tool {
				if program = tool; tool == "" {
					continue
				}
			}
			u, err := b.run(nil, program, x.args...)
			if err := measure(x.to, u, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// acceptances judges the lines of the project.
func (r *otf2Result) acceptances() (list []acceptance) {
	against := func(text string, limit float64, ours, theirs []usage, f func(usage) float64) {
		a, b := over(ours, f), over(theirs, f)
		x := acceptance{text: text, limit: fmt.Sprintf("≤ %.2f ×", limit), pass: a.median <= limit*b.median}
		if a.n > 0 && b.n > 0 {
			x.worst = fmt.Sprintf("%.2f ×", a.median/b.median)
		}
		list = append(list, x)
	}
	against("Decoding on one core, CPU, beside otf2-print --silent", 0.6, r.one, r.silent, cpu)
	against("Decoding on two cores, wall, beside otf2-print --silent", 0.35, r.two, r.silent, wall)
	against("The same of one location", 0.35, r.alone, r.aloneSilent, wall)
	against("`print --compat`, CPU, beside otf2-print -A", 0.5, r.text, r.print, cpu)
	a := over(r.one, cpu)
	rate := float64(r.events) / a.median / 1e6
	list = append(list, acceptance{text: "Decoding, events in a second of CPU", limit: "≥ 16 million", worst: fmt.Sprintf("%.1f million", rate), pass: rate >= 16})
	peak := max(highest(r.one), highest(r.two), highest(r.alone))
	list = append(list, acceptance{text: "Memory of decoding", limit: "≤ 64 MiB", worst: fmt.Sprintf("%.0f MiB", mib(peak)), pass: peak <= 64<<20})
	w := perEventOf(r.write, r.events, wall)
	list = append(list, acceptance{text: "Writing, the making of the events included", limit: "≤ 60 ns an event", worst: ratio(w), pass: w.median <= 60})
	return list
}

// document writes the report as Markdown.
func (r *otf2Result) document() []byte {
	r.page.text.Reset()
	r.printf("# Performance: OTF2\n\n`make bench` writes this page, `go run ./internal/bench -part otf2` only this one.\nIt measures whole processes as [the other page](performance.md) does, beside the tool of\nOTF2 in the same run.\n\n")
	switch {
	case r.quick:
		r.printf("**A trial with a small archive and few runs (`-quick`). The numbers mean nothing.**\n\n")
	case r.few:
		r.printf("**A trial with a small archive (`-otf2-events`): starting the programs counts for much.**\n\n")
	}
	r.place(r.machine)
	r.printf("- weft built with %s\n- %s\n- Runs: %d\n\n## Acceptance\n\n", r.goVersion, r.tool, pairs*r.runs)
	r.verdicts("Measured", r.acceptances())
	r.failures(r.problems)
	r.printf("## Archive\n\n%d events at %d locations, random calls of 50 functions and some messages, %.1f MB,\nwritten with the package format/otf2. One location has the same number of events in an\narchive of its own.\n\n", r.events, otf2Locations, float64(r.bytes)/1e6)
	var rows [][]string
	for _, x := range []struct {
		what string
		l    []usage
	}{{"writing", r.write}, {"decoding, one core", r.one}, {"decoding, two cores", r.two}, {"otf2-print --silent", r.silent}, {"decoding one location, two cores", r.alone}, {"otf2-print --silent, one location", r.aloneSilent}, {"print --compat", r.text}, {"otf2-print -A", r.print}, {"print --compat, 10 ms", r.window}, {"otf2-print -A --time, 10 ms", r.part}} {
		rows = append(rows, []string{x.what, ratio(perEventOf(x.l, r.events, cpu)), ratio(perEventOf(x.l, r.events, wall)), fmt.Sprintf("%.1f MiB", mib(highest(x.l)))})
	}
	r.table([]string{"What", "CPU, ns an event", "wall, ns an event", "Peak"}, rows)
	return bytes.Clone(r.page.text.Bytes())
}

// writeOTF2 writes an archive.
func writeOTF2(path string, events, locations int) error {
	dst, err := format.CreateFile(path)
	if err != nil {
		return err
	}
	defer dst.Abort()
	w, err := otf2.NewWriter(dst, otf2.Anchor{EventChunk: 1 << 20})
	if err != nil {
		return err
	}
	// Ids of records, see docs/formats/otf2.md.
	const clock, paradigm, text, node, group, location, region, set, comm, enter, leave, send = 5, 6, 10, 12, 13, 14, 15, 18, 22, 12, 13, 14
	const none = 1<<32 - 1
	define := func(id uint8, values ...uint64) {
		if err == nil {
			err = w.Define(&otf2.Record{ID: id, Values: values})
		}
	}
	define(clock, 1_000_000_000, 0, 1<<40, 1<<64-1)
	const functions = 50
	for i := range uint64(functions) {
		if err == nil {
			err = w.Define(&otf2.Record{ID: text, Values: []uint64{i, 0}, Texts: []string{fmt.Sprint("f", i)}})
		}
	}
	define(node, 0, 0, 1, none)
	define(group, 0, 0, 1, 0, none)
	for i := range uint64(functions) {
		define(region, i, i, none, 0, none, 0, 0, i, 1, 2, 0)
	}
	const mpi, communicating, ranks = 4, 4, 5
	define(paradigm, mpi, 0, 0)
	members := []uint64{uint64(locations)}
	for i := range uint64(locations) {
		members = append(members, i)
	}
	define(set, slices.Concat([]uint64{0, 0, 0}, members, []uint64{communicating, mpi, 0})...)
	define(set, slices.Concat([]uint64{1, 0, 0}, members, []uint64{ranks, mpi, 0})...)
	define(comm, 0, 0, 1, none, 0)
	for i := range uint64(locations) {
		e := w.Location(i)
		rng := rand.New(rand.NewPCG(i, 1))
		var stack []uint64
		var x otf2.Event
		for range events / locations {
			x.Time += rng.Uint64N(1000)
			switch k := len(stack); {
			case k > 0 && (k > 12 || rng.IntN(2) == 0):
				x.ID, x.Values = leave, stack[k-1:k]
				stack = stack[:k-1]
			case rng.IntN(20) == 0:
				x.ID, x.Values = send, []uint64{rng.Uint64N(uint64(locations)), 0, 5, 1024}
			default:
				stack = append(stack, rng.Uint64N(functions))
				x.ID, x.Values = enter, stack[k:]
			}
			if err := e.Write(&x); err != nil {
				return err
			}
		}
		define(location, i, i, 1, e.Count, 0)
	}
	if err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return dst.Commit()
}
