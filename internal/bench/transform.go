package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// transformEvents is how many events the longer trace has, unless the flag says
// otherwise: about 1 GB of OTF2.
const transformEvents = 66_000_000

// transformPart is the part that the shorter trace is of the longer one.
const transformPart = 10

// transformRow is what was measured of a command on the longer and the shorter trace.
type transformRow struct {
	what        string
	args        []string // TRACE stands for the trace, OUT for the output
	long, short []usage
	shortOnly   bool // what takes long, or holds something of each message
}

// transformResult is what was measured of the commands that write a changed trace.
type transformResult struct {
	page
	machine
	quick, few bool
	runs       int
	events     int64
	bytes      int64
	rows       []transformRow
	floor      int64
	problems   []problem
}

// The rows that lines of the project are about.
const (
	rowDecode = iota
	rowCutFirst
	rowCutMiddle
	rowBare
)

func transformRows() []transformRow {
	row := func(what string, args ...string) transformRow { return transformRow{what: what, args: args} }
	rows := []transformRow{
		row("decoding alone", "convert", "-q", "-j", "1", "--to", "null", "TRACE", "-"),
		row("cut, the second percent", "cut", "-q", "--from", "1%", "--to", "2%", "TRACE", "OUT"),
		row("cut, a percent in the middle", "cut", "-q", "--from", "50%", "--to", "51%", "TRACE", "OUT"),
		row("the same, --borders bare", "cut", "-q", "--from", "50%", "--to", "51%", "--borders", "bare", "TRACE", "OUT"),
		row("filter, all regions of MPI", "filter", "-q", "--region", "MPI_*", "TRACE", "OUT"),
		row("filter, regions of 20 µs and more", "filter", "-q", "--min-duration", "20us", "TRACE", "OUT"),
		row("repair", "repair", "-q", "TRACE", "OUT"),
		row("anonymize", "anonymize", "-q", "TRACE", "OUT"),
		row("merge of the trace with itself", "merge", "-q", "--anchor", "none", "TRACE", "TRACE", "OUT"),
		row("align, the report", "align", "-q", "TRACE"),
		row("align, the trace", "align", "-q", "--always", "TRACE", "OUT"),
	}
	for i := range rows {
		rows[i].shortOnly = i > rowBare+3
	}
	return rows
}

// transforms measures the commands that write a changed trace, and writes their document.
func (b *session) transforms(here machine) error {
	r := &transformResult{machine: here, quick: b.quick, runs: b.runs, events: b.transformEvents, few: b.transformEvents < transformEvents, rows: transformRows()}
	if err := b.try(&r.problems, "transforms", "OTF2", func() error { return b.transform(r) }); err != nil {
		return err
	}
	r.floor = ownPeak()
	return writeDocument(beside(b.out, "transform"), r.document(), r.problems)
}

func (b *session) transform(r *transformResult) error {
	dir, err := os.MkdirTemp(b.dir, "transform-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	make := func(name string, events int64) (string, error) {
		if err := os.Mkdir(dir+"/"+name, 0o777); err != nil {
			return "", err
		}
		path := dir + "/" + name + "/traces.otf2"
		_, err := b.run(nil, b.weft, "generate", "--workload", "stencil", "--events", strconv.FormatInt(events, 10), "--seed", "1", path)
		return path, err
	}
	long, err := make("long", r.events)
	if err != nil {
		return err
	}
	r.bytes = bytesIn(dir)
	short, err := make("short", r.events/transformPart)
	if err != nil {
		return err
	}
	for range b.runs {
		for i := range r.rows {
			row := &r.rows[i]
			for _, x := range []struct {
				path string
				to   *[]usage
			}{{long, &row.long}, {short, &row.short}} {
				if row.shortOnly && x.path == long {
					continue
				}
				out := dir + "/out"
				if err := os.Mkdir(out, 0o777); err != nil {
					return err
				}
				args := append([]string{}, row.args...)
				for k, a := range args {
					switch a {
					case "TRACE":
						args[k] = x.path
					case "OUT":
						args[k] = out + "/traces.otf2"
					}
				}
				u, err := b.run(nil, b.weft, args...)
				if err != nil {
					return err
				}
				*x.to = append(*x.to, u)
				if err := os.RemoveAll(out); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// acceptances judges the lines of the project.
func (r *transformResult) acceptances() (list []acceptance) {
	whole := over(r.rows[rowDecode].long, cpu)
	share := func(text string, limit float64, row int) {
		s := over(r.rows[row].long, cpu)
		x := acceptance{text: text, limit: fmt.Sprintf("≤ %.2f ×", limit), pass: s.median <= limit*whole.median}
		if s.n > 0 && whole.n > 0 {
			x.worst = fmt.Sprintf("%.3f ×", s.median/whole.median)
		}
		list = append(list, x)
	}
	share("Cutting 1 % near the begin, CPU, beside decoding the whole", 0.15, rowCutFirst)
	share("Cutting 1 % in the middle, CPU, beside decoding the whole", 1.25, rowCutMiddle)
	share("The same with bare borders", 0.1, rowBare)
	peak, grows := int64(0), int64(0)
	for _, x := range r.rows {
		if x.shortOnly {
			continue
		}
		peak = max(peak, highest(x.long))
		grows = max(grows, highest(x.long)-highest(x.short))
	}
	list = append(list,
		acceptance{text: "Memory of cut and filter", limit: "≤ 64 MiB", worst: fmt.Sprintf("%.0f MiB", mib(peak)), pass: peak <= 64<<20},
		acceptance{text: "More of it on a trace that is ten times as long", limit: "≤ 16 MiB", worst: fmt.Sprintf("%.0f MiB", mib(grows)), pass: grows <= 16<<20})
	return list
}

// document writes the report as Markdown.
func (r *transformResult) document() []byte {
	r.page.text.Reset()
	r.printf("# Performance: cut, filter, merge, repair, align, anonymize\n\n`make bench` writes this page, `go run ./internal/bench -part transform` only this one.\nIt measures whole processes as [the other page](performance.md) does. No other tool does\nthese things with OTF2, so they stand beside decoding the trace.\n\n")
	switch {
	case r.quick:
		r.printf("**A trial with a small trace and few runs (`-quick`). The numbers mean nothing.**\n\n")
	case r.few:
		r.printf("**A trial with a small trace (`-transform-events`): starting the programs counts for much.**\n\n")
	}
	r.place(r.machine)
	r.printf("- weft built with %s\n- Runs: %d\n\n## Acceptance\n\n", r.goVersion, r.runs)
	r.verdicts("Measured", r.acceptances())
	r.failures(r.problems)
	r.printf("## Commands\n\nA stencil of `weft generate` with %d events and messages, %.1f MB of OTF2, and one with a\n%dth of it. The output is OTF2. Cutting has to find out what is open where the piece begins,\nwhich is written nowhere in OTF2: it reads what is before the piece, but writes only the\npiece; with --borders bare it reads the piece alone. Aligning holds something of each message.\n\n", r.events, float64(r.bytes)/1e6, transformPart)
	var rows [][]string
	for _, x := range r.rows {
		cells := []string{x.what}
		for _, l := range []struct {
			list   []usage
			events int64
		}{{x.long, r.events}, {x.short, r.events / transformPart}} {
			if len(l.list) == 0 {
				cells = append(cells, "", "", "")
				continue
			}
			cells = append(cells, ratio(perEventOf(l.list, l.events, cpu)), ratio(perEventOf(l.list, l.events, wall)), fmt.Sprintf("%.1f MiB", mib(highest(l.list))))
		}
		rows = append(rows, cells)
	}
	r.table([]string{"What", "CPU, ns an event", "wall, ns an event", "Peak", "a tenth: CPU", "wall", "Peak"}, rows)
	return bytes.Clone(r.page.text.Bytes())
}
