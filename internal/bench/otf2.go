package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/otf2"
)

// otf2Locations is the number of locations in the archive.
const otf2Locations = 4

// otf2Report holds the measurements of the part otf2, and writes its document.
type otf2Report struct {
	result
	bytes int64
	tool  string
	rows  []*otf2Row
}

// otf2Row is a command with its measurements: a row in the table.
type otf2Row struct {
	what string
	args []string // PATH stands for the archive, and ALONE for an archive with a single location
	runs []usage
}

// Indexes of the rows in the table.
const (
	rowOTF2Write = iota
	rowOTF2One
	rowOTF2Two
	rowOTF2Silent
	rowOTF2Alone
	rowOTF2AloneSilent
	rowOTF2Text
	rowOTF2Print
)

func otf2Rows() []*otf2Row {
	return []*otf2Row{
		rowOTF2Write:       {what: "writing"},
		rowOTF2One:         {what: "decoding, one core", args: decodeArgs(1, "PATH")},
		rowOTF2Two:         {what: "decoding, two cores", args: decodeArgs(2, "PATH")},
		rowOTF2Silent:      {what: "otf2-print --silent", args: []string{"--silent", "PATH"}},
		rowOTF2Alone:       {what: "decoding one location, two cores", args: decodeArgs(2, "ALONE")},
		rowOTF2AloneSilent: {what: "otf2-print --silent, one location", args: []string{"--silent", "ALONE"}},
		rowOTF2Text:        {what: "print --compat", args: []string{"print", "--compat", "PATH"}},
		rowOTF2Print:       {what: "otf2-print -A", args: []string{"-A", "PATH"}},
		{what: "print --compat, 10 ms", args: []string{"print", "--compat", "--from", "@1000000000", "--to", "@1010000000",
			"PATH"}},
		{what: "otf2-print -A --time, 10 ms", args: []string{"-A", "--time", "1000000000", "1009999999", "PATH"}},
	}
}

// measure takes all measurements of OTF2.
func (r *otf2Report) measure(b *session) error {
	r.rows = otf2Rows()
	_, err := b.try(&r.problems, "archive", task{"OTF2", func() error { return r.archive(b) }})
	return err
}

func (r *otf2Report) archive(b *session) error {
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
	paths := map[string]string{"PATH": dir + "/traces.otf2", "ALONE": dir + "/alone.otf2"}
	write := func(to *[]usage, path string, locations int) command {
		return command{to, b.self, []string{childMode, "otf2", path, strconv.FormatInt(r.events, 10),
			strconv.Itoa(locations)}}
	}
	if err := b.inTurn(pairs*b.runs, write(&r.rows[rowOTF2Write].runs, paths["PATH"], otf2Locations)); err != nil {
		return err
	}
	r.bytes = bytesIn(dir)
	if err := b.inTurn(1, write(new([]usage), paths["ALONE"], 1)); err != nil {
		return err
	}
	var list []command
	for _, x := range r.rows[rowOTF2One:] {
		program := b.weft
		if x.args[0][0] == '-' {
			program = tool
		}
		list = append(list, command{&x.runs, program, replaceWords(x.args, paths)})
	}
	return b.inTurn(pairs*b.runs, list...)
}

// acceptances compares the measurements with the project's limits.
func (r *otf2Report) acceptances() (list []acceptance) {
	against := func(text string, limit float64, ours, theirs int, f func(usage) float64) {
		a, b := statOver(r.rows[ours].runs, f), statOver(r.rows[theirs].runs, f)
		list = append(list, verdict(text, fmt.Sprintf("≤ %.2f ×", limit), fmt.Sprintf("%.2f ×", a.median/b.median),
			a.n > 0 &&
				b.n > 0, a.median <= limit*b.median))
	}
	against("Decoding on one core, CPU, compared with otf2-print --silent", 0.6, rowOTF2One, rowOTF2Silent, cpu)
	against("Decoding on two cores, wall, compared with otf2-print --silent", 0.35, rowOTF2Two, rowOTF2Silent, wall)
	against("The same for one location", 0.35, rowOTF2Alone, rowOTF2AloneSilent, wall)
	against("`print --compat`, CPU, compared with otf2-print -A", 0.5, rowOTF2Text, rowOTF2Print, cpu)
	rate := float64(r.events) / statOver(r.rows[rowOTF2One].runs, cpu).median / 1e6
	peak := max(highest(r.rows[rowOTF2One].runs), highest(r.rows[rowOTF2Two].runs), highest(r.rows[rowOTF2Alone].runs))
	w := perEventOf(r.rows[rowOTF2Write].runs, r.events, wall)
	return append(list,
		verdict("Decoding, events per second of CPU time", "≥ 16 million",
			fmt.Sprintf("%.1f million", rate), true, rate >= 16),
		verdict("Memory of decoding", "≤ 64 MiB", fmt.Sprintf("%.0f MiB", mib(peak)), true, peak <= 64<<20),
		verdict("Writing, including the generation of the events", "≤ 60 ns per event", ratio(w), true, w.median <= 60))
}

// document returns the report as Markdown.
func (r *otf2Report) document() []byte {
	r.begin("otf2", "OTF2", "a small archive",
		"It measures whole processes, as [performance.md](performance.md) does, and the tool of\n"+
			"OTF2 in the same run.")
	r.printf("\n- %s\n- Runs: %d\n\n", r.tool, pairs*r.runs)
	r.verdicts("", "Measured", r.acceptances())
	r.printf("## Archive\n\n%d events at %d locations, random calls of 50 functions and some messages, %.1f "+
		"MB,\nwritten with the package format/otf2. One location has the same number of events in an\n"+
		"archive of its own.\n\n", r.events, otf2Locations, float64(r.bytes)/1e6)
	var rows [][]string
	for _, x := range r.rows {
		rows = append(rows, append([]string{x.what}, perEventCells(x.runs, r.events)...))
	}
	r.table([]string{"What", "CPU, ns per event", "wall, ns per event", "Peak"}, rows)
	return r.text.Bytes()
}

// writeOTF2 writes an archive with some events and locations.
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
	// Numbers of record types (docs/formats/otf2.md).
	const clock, paradigm, text, node, group, location, region, set, comm, enter, leave, send = 5, 6, 10, 12, 13, 14, 15,
		18, 22, 12, 13, 14
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
