package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// verifyReport holds the measurements of the part verify: properties of traces, and the order and the flow of claims.
type verifyReport struct {
	result
	claims int64 // number of claims in each of the traces of claims
	rows   []verifyRow
}

// verifyRow is a command that reads a trace.
type verifyRow struct {
	what, trace string
	// number of counted objects in the trace: events, samples or claims
	units func(r *verifyReport) int64
	// number of operators in the formula; 0 for commands without one
	operators int64
	args      []string
	runs      []usage
}

// Numbers of rows in verifyRows.
const (
	rowEvents = iota
	rowUnboundedFormula
	rowBoundedFormula
	rowNested
	rowSamples
	rowSTL
	rowDerivative
	rowClaims
	rowFlow
	rowUsage
	rowBehaviour
	rowSame
	rowSide
)

// File names of the traces of the part verify.
const (
	eventsTrace = "events.etf"
	signalTrace = "signal.etf"
	claimsTrace = "claims.etf"
	sideTrace   = "side.etf"
	sideLess    = "less.etf"
)

// claimsPart is the number of events of the longest trace, divided by the number of claims of a trace of
// claims.
const claimsPart = 10

// objectEvents is the mean number of events (with fragments of the signal) per object, times 10. objectClaims
// is the mean number of claims per object, times 10. Both hold for the workload cps with a period of 8 ms.
const objectEvents, objectClaims = 260, 116

// verifyRows returns the commands that are measured. All properties in them hold, because weft verify would
// otherwise exit with an error.
func verifyRows() []verifyRow {
	events := func(r *verifyReport) int64 { return r.events }
	claims := func(r *verifyReport) int64 { return r.claims }
	decode := func() []string { return []string{"convert", "-q", "--to", "null", "-j", "1", "TRACE", "-"} }
	check := func(spec string) []string { return []string{"verify", "-q", spec, "TRACE"} }
	return []verifyRow{
		rowEvents:           {"decoding only", eventsTrace, events, 0, decode(), nil},
		rowUnboundedFormula: {"verify: globally if A then finally G", eventsTrace, events, 3, check("UNTIMED"), nil},
		rowBoundedFormula:   {"verify: globally if A then finally by 60 ms G", eventsTrace, events, 3, check("TIMED"), nil},
		rowNested:           {"verify: 10 operators, 3 of them with bounds", eventsTrace, events, 10, check("NESTED"), nil},
		rowSamples:          {"decoding only", signalTrace, events, 0, decode(), nil},
		rowSTL: {"verify: a signal, 5 operators, 2 of them with bounds", signalTrace, events, 5,
			check("SIGNAL"), nil},
		rowDerivative: {"verify: its derivative, 6 operators", signalTrace, events, 6,
			check("DERIVATIVE"), nil},
		rowClaims: {"decoding only", claimsTrace, claims, 0, decode(), nil},
		rowFlow:   {"flow --by id", claimsTrace, claims, 0, []string{"flow", "-q", "-j", "1", "--by", "id", "TRACE"}, nil},
		rowUsage:  {"usage", claimsTrace, claims, 0, []string{"usage", "-q", "-j", "1", "TRACE"}, nil},
		rowBehaviour: {"behaviour --by id", claimsTrace, claims, 0, []string{"behaviour", "-q", "--by", "id", "TRACE"},
			nil},
		rowSame: {"distance from itself", claimsTrace, claims, 0, []string{"distance", "-q", "TRACE", "TRACE"}, nil},
		rowSide: {"distance, half of the claims concurrent and before the others", sideTrace, claims, 0,
			[]string{"distance", "-q", "TRACE", "LESS"}, nil},
	}
}

// verifySpecs are specifications for traces of the workload cps.
var verifySpecs = map[string]string{
	"UNTIMED": "check c : globally if start {'name' = 'A'} then finally end {'name' = 'G'}",
	"TIMED":   "check c : globally if start {'name' = 'A'} then finally by 60 ms end {'name' = 'G'}",
	"NESTED": `def a : start {'name' = 'A'}
def g : end {'name' = 'G'}
check c : globally (if a then finally by 60 ms g and if g then (not a or (finally by 80 ms g and finally by 70 ms a)))`,
	"SIGNAL": `signal t : {'name' = 'temperature'}
check c : finally (t >= 45 and (globally by 1 s t >= 41 and finally by 2 s t >= 45))`,
	"DERIVATIVE": `signal t : {'name' = 'temperature'}
check c : finally (derivative(t) > 0 and (globally by 10 ms t >= 40 and not finally by 1 ms derivative(t) < 0))`,
}

// measure measures the commands.
func (r *verifyReport) measure(b *session) error {
	r.claims = r.events / claimsPart
	r.rows = verifyRows()
	_, err := b.try(&r.problems, "verify", task{"TRACE", func() error { return r.verify(b) }})
	return err
}

func (r *verifyReport) verify(b *session) error {
	dir, err := os.MkdirTemp(b.dir, "verify-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path := func(name string) string { return filepath.Join(dir, name) }
	generate := func(name, period string, events int64) error {
		_, err := b.weftRun("generate", "--workload", "cps", "--period", period, "--events",
			strconv.FormatInt(max(1, events), 10), path(name))
		return err
	}
	words := map[string]string{"LESS": path(sideLess)}
	for name, spec := range verifySpecs {
		words[name] = path(name + ".etl")
		if err := os.WriteFile(words[name], []byte(spec), 0o666); err != nil {
			return err
		}
	}
	for _, step := range []func() error{
		func() error { return generate(eventsTrace, "8ms", r.events) },
		func() error { return generate(signalTrace, "10s", r.events) }, // nearly all events are samples
		func() error { return generate(claimsTrace, "8ms", r.claims*objectEvents/objectClaims) },
		func() error { return writeSideBySide(path(sideTrace), r.claims, r.claims) },
		func() error { return writeSideBySide(path(sideLess), r.claims, r.claims-1) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	for range b.runs {
		for i := range r.rows {
			row := &r.rows[i]
			words["TRACE"] = path(row.trace)
			if err := b.inTurn(1, command{&row.runs, b.weft, replaceWords(row.args, words)}); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeSideBySide writes the first n claims of a series of `all` claims. The claims in the first half of the
// series run at the same time. The claims in the second half also run at the same time, after the first half.
func writeSideBySide(path string, all, n int64) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
	}()
	w := bufio.NewWriter(f)
	fmt.Fprintf(w, "TU ms\nR 0 %d false ; name=CPU\n", all)
	for i := range n {
		from := 0
		if i >= all/2 {
			from = 20
		}
		fmt.Fprintf(w, "C %d %d %d 0 1 ; name=T%d\n", i, from, from+10, i%1000)
	}
	return w.Flush()
}

// additionalTime returns the additional CPU time of a row compared with another row, in ns per unit and
// operator.
func (r *verifyReport) additionalTime(row, decode int) stat {
	x := &r.rows[row]
	base := statOver(r.rows[decode].runs, cpu).median
	return statOver(x.runs, func(u usage) float64 {
		return (cpu(u) - base) * 1e9 / float64(x.units(r)) / float64(max(1, x.operators))
	})
}

// acceptances evaluates the project's limits.
func (r *verifyReport) acceptances() (list []acceptance) {
	ns := func(text string, limit float64, unit string, row, decode int) {
		s := r.additionalTime(row, decode)
		list = append(list, verdict(text, fmt.Sprintf("≤ %.0f ns %s", limit, unit), ratio(s), s.n > 0, s.median <= limit))
	}
	memory := func(text string, rows ...int) {
		most, known := int64(0), true
		for _, i := range rows {
			most, known = max(most, highest(r.rows[i].runs)), known && len(r.rows[i].runs) > 0
		}
		list = append(list, verdict(text, "≤ 256 MiB", fmt.Sprintf("%.0f MiB", mib(most)), known, most <= 256<<20))
	}
	time := func(text string, row int) {
		s := statOver(r.rows[row].runs, cpu)
		list = append(list, verdict(text, "≤ 5 s", seconds(s), s.n > 0, s.median <= 5))
	}
	const operator = "per event and operator"
	ns("Untimed MTL, CPU beyond decoding", 100, operator, rowUnboundedFormula, rowEvents)
	ns("Timed MTL, CPU beyond decoding", 100, operator, rowBoundedFormula, rowEvents)
	ns("Timed MTL with 10 operators, CPU beyond decoding", 100, operator, rowNested, rowEvents)
	ns("STL, CPU beyond decoding", 100, "per sample and operator", rowSTL, rowSamples)
	ns("STL with a derivative, CPU beyond decoding", 100, "per sample and operator", rowDerivative, rowSamples)
	memory(fmt.Sprintf("Memory of MTL on %d events", r.events), rowUnboundedFormula, rowBoundedFormula, rowNested)
	memory(fmt.Sprintf("Memory of STL on %d samples", r.events), rowSTL, rowDerivative)
	time(fmt.Sprintf("Behaviour of objects with %d claims, CPU", r.claims), rowBehaviour)
	time(fmt.Sprintf("Distance of two traces of %d claims, CPU", r.claims), rowSame)
	time("The same with half of the claims concurrent", rowSide)
	ns("flow, CPU beyond decoding", 50, "per claim", rowFlow, rowClaims)
	ns("usage, CPU beyond decoding", 50, "per claim", rowUsage, rowClaims)
	return list
}

// document returns the report as Markdown.
func (r *verifyReport) document() []byte {
	r.begin("verify", "verify, flow, usage, distance, behaviour", "small traces",
		"It measures whole processes, as [performance.md](performance.md) does, on traces in TRACE.")
	r.printf("\n- Runs: %d\n\n", r.runs)
	r.verdicts("", "Measured", r.acceptances())
	r.printf("## Commands\n\nTraces of `weft generate --workload cps`: one of %d events with `--period 8ms`, one with\n"+
		"`--period 10s`, whose events are nearly all samples of a signal, one of %d claims, and\n"+
		"one of concurrent claims. Propositions and comparisons do not count as operators of a\n"+
		"formula. Decoding, flow and usage use one core.\n\n",
		r.events, r.claims)
	var rows [][]string
	for i := range r.rows {
		x := &r.rows[i]
		cells := []string{x.what, seconds(statOver(x.runs, cpu)), seconds(statOver(x.runs, wall)), "", ""}
		if len(x.runs) > 0 {
			per := statOver(x.runs, func(u usage) float64 { return cpu(u) * 1e9 / float64(x.units(r)) })
			cells[3], cells[4] = ratio(per), peak(x.runs)
		}
		rows = append(rows, cells)
	}
	r.table([]string{"What", "CPU", "wall", "CPU, ns per event, sample or claim", "Peak"}, rows)
	return r.text.Bytes()
}
