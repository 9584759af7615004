package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// transformPart is the ratio of the numbers of events of the longer and the shorter trace.
const transformPart = 10

// transformRow is a command with its measurements on both traces.
type transformRow struct {
	what        string
	args        []string // TRACE stands for the trace, OUT for the output
	long, short []usage
	shortOnly   bool // only measured on the shorter trace: it takes long, or needs memory for each message
	restored    bool // measured on the shorter trace with the data from which weft restores it
}

// transformReport holds the measurements of commands that write a changed trace, and writes their document.
type transformReport struct {
	result
	bytes int64
	rows  []transformRow
}

// Indexes of the rows for which the project has limits.
const (
	rowDecode = iota
	rowCutFirst
	rowCutMiddle
	rowBare
	rowAlign = rowBare + 4 // the row after two rows of filter and one of repair; later rows have shortOnly set
)

func transformRows() []transformRow {
	row := func(what string, args ...string) transformRow { return transformRow{what: what, args: args} }
	rows := []transformRow{
		row("decoding only", "convert", "-q", "-j", "1", "--to", "null", "TRACE", "-"),
		row("cut, the second percent", "cut", "-q", "--from", "1%", "--to", "2%", "TRACE", "OUT"),
		row("cut, a percent in the middle", "cut", "-q", "--from", "50%", "--to", "51%", "TRACE", "OUT"),
		row("the same, with --borders bare",
			"cut", "-q", "--from", "50%", "--to", "51%", "--borders", "bare", "TRACE", "OUT"),
		row("filter, all regions of MPI", "filter", "-q", "--region", "MPI_*", "TRACE", "OUT"),
		row("filter, regions of 20 µs and more", "filter", "-q", "--min-duration", "20us", "TRACE", "OUT"),
		row("repair", "repair", "-q", "TRACE", "OUT"),
		row("align, the report", "align", "-q", "TRACE"),
		row("anonymize", "anonymize", "-q", "TRACE", "OUT"),
		row("merge of the trace with itself", "merge", "-q", "--anchor", "none", "TRACE", "TRACE", "OUT"),
		row("align, the trace", "align", "-q", "--always", "TRACE", "OUT"),
	}
	for i := range rows {
		rows[i].shortOnly = i > rowAlign
	}
	filter := row("filter, all regions of MPI, of an archive that weft restores", rows[rowBare+1].args...)
	filter.shortOnly, filter.restored = true, true
	return append(rows, filter)
}

// measure measures the commands that write a changed trace.
func (r *transformReport) measure(b *session) error {
	r.rows = transformRows()
	_, err := b.try(&r.problems, "transforms", task{"OTF2", func() error { return r.transform(b) }})
	return err
}

func (r *transformReport) transform(b *session) error {
	dir, err := os.MkdirTemp(b.dir, "transform-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	long, short, out := dir+"/long/traces.otf2", dir+"/short/traces.otf2", dir+"/out/traces.otf2"
	restored := dir + "/restored/traces.otf2"
	folder := func(path string) error { return os.Mkdir(filepath.Dir(path), 0o777) }
	// generate writes the trace restored, and a plain copy to path.
	generate := func(path string, events int64) error {
		if err := errors.Join(os.RemoveAll(filepath.Dir(restored)), folder(restored), folder(path)); err != nil {
			return err
		}
		_, err := b.weftRun("generate", "--workload", "stencil", "--events", strconv.FormatInt(events, 10), "--seed", "1",
			restored)
		if err == nil {
			_, err = b.weftRun("convert", "-q", "--plain", restored, path)
		}
		return err
	}
	if err := generate(long, r.events); err != nil {
		return err
	}
	r.bytes = bytesIn(filepath.Dir(long))
	if err := generate(short, r.events/transformPart); err != nil {
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
				path := x.path
				if row.restored {
					path = restored
				}
				if err := folder(out); err != nil {
					return err
				}
				if err := b.inTurn(1, command{x.to, b.weft,
					replaceWords(row.args, map[string]string{"TRACE": path, "OUT": out})}); err != nil {
					return err
				}
				if err := os.RemoveAll(filepath.Dir(out)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// acceptances evaluates the project's limits.
func (r *transformReport) acceptances() (list []acceptance) {
	whole := statOver(r.rows[rowDecode].long, cpu)
	share := func(text string, limit float64, row int) {
		s := statOver(r.rows[row].long, cpu)
		list = append(list, verdict(text, fmt.Sprintf("≤ %.2f ×", limit), fmt.Sprintf("%.3f ×", s.median/whole.median),
			s.n > 0 && whole.n > 0, s.median <= limit*whole.median))
	}
	share("Cutting 1 % near the begin, CPU, compared with decoding the whole trace", 0.15, rowCutFirst)
	share("Cutting 1 % in the middle, CPU, compared with decoding the whole trace", 1.25, rowCutMiddle)
	share("The same with bare borders", 0.1, rowBare)
	peak, grows := int64(0), int64(0)
	for i, x := range r.rows {
		if x.shortOnly || i == rowAlign {
			continue
		}
		peak = max(peak, highest(x.long))
		grows = max(grows, highest(x.long)-highest(x.short))
	}
	list = append(list,
		verdict("Memory of cut and filter", "≤ 64 MiB", fmt.Sprintf("%.0f MiB", mib(peak)), true, peak <= 64<<20),
		verdict("Additional memory for a trace that is ten times as long",
			"≤ 16 MiB", fmt.Sprintf("%.0f MiB", mib(grows)), true,
			grows <= 16<<20))
	peak = highest(r.rows[rowAlign].long)
	return append(list,
		verdict("Memory of align", "≤ 128 MiB", fmt.Sprintf("%.0f MiB", mib(peak)), true, peak <= 128<<20))
}

// document returns the report as Markdown.
func (r *transformReport) document() []byte {
	r.begin("transform", "cut, filter, merge, repair, align, anonymize", "a small trace",
		"It measures whole processes, as [performance.md](performance.md) does. No other tool\n"+
			"offers these operations for OTF2, so they are compared with decoding the trace.")
	r.printf("\n- Runs: %d\n\n", r.runs)
	r.verdicts("", "Measured", r.acceptances())
	r.printf("## Commands\n\nA stencil of `weft generate` with %d events and messages, %.1f MB of OTF2, and one with\n"+
		"a %dth of it. Both are written with --plain, like archives of other recorders. The archive of\n"+
		"the last row has the data from which weft restores a trace; one goroutine writes it again.\n\n"+
		"The output is OTF2. cut must know the regions and messages that are open\n"+
		"at the begin of the piece. OTF2 does not store them, so cut reads all events before the\n"+
		"piece. With --borders bare, it reads only the piece. align stores the data that it needs\n"+
		"in at most 40 MiB of memory, and the rest in temporary files.\n\n", r.events, float64(r.bytes)/1e6, transformPart)
	var rows [][]string
	for _, x := range r.rows {
		long := []string{"", "", ""}
		if len(x.long) > 0 {
			long = perEventCells(x.long, r.events)
		}
		rows = append(rows, slices.Concat([]string{x.what}, long, perEventCells(x.short, r.events/transformPart)))
	}
	r.table([]string{"What", "CPU, ns per event", "wall, ns per event", "Peak", "a tenth: CPU", "wall", "Peak"}, rows)
	return r.text.Bytes()
}
