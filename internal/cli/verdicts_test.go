package cli

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/weft-trace/weft/analysis/verify"
)

// TestVerdictsMemory checks that the results of very many checks are not held in memory until they are printed: each
// may take 5 bytes, for its number among the violated checks. The text of a result has more than 200 bytes.
func TestVerdictsMemory(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	const n, each, fixed = 100_000, 5, 3 << 20 // a spool holds up to 1 MiB; the table has one of its own
	for name, flags := range map[string]verifyFlags{"text": {}, "json": {asJSON: true}, "junit": {junit: true},
		"compat": {compat: true}} {
		v := newVerdicts("trace.etf", &flags, false)
		before := liveBytes()
		for i := range n {
			c := &verify.CheckResult{Name: fmt.Sprint("c", i), Formula: strings.Repeat("f", 100), Verdict: verify.Bad,
				Reasons: []verify.Reason{{Text: fmt.Sprint(i, strings.Repeat("t", 100))}}}
			if err := v.add(c); err != nil {
				t.Fatal(err)
			}
		}
		if got := liveBytes() - before; got > n*each+fixed {
			t.Errorf("%s: %d bytes are held, expected at most %d", name, got, n*each+fixed)
		}
		if err := v.print(io.Discard); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		v.close()
	}
}

// liveBytes returns the number of bytes in use after a collection.
func liveBytes() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestVerdictsJSON checks that the verdicts have the form of writeJSON, for lists of several lengths.
func TestVerdictsJSON(t *testing.T) {
	for n := range 3 {
		answer := &traceVerdicts{heading: heading{Path: "\"checks\": [],\n"}, ReadErrors: int64(n), Result: &verify.Result{
			States: 5, Violated: n, Checks: []verify.CheckResult{}, Warnings: make([]verify.Warning, n)}}
		flags := &verifyFlags{asJSON: true}
		v := &verified{answer: answer, verdicts: newVerdicts("trace.etf", flags, false)}
		for i := range n {
			c := verify.CheckResult{Name: fmt.Sprint("c", i), Formula: "<a> & b", Verdict: verify.Bad,
				Reasons: make([]verify.Reason, i)}
			answer.Checks = append(answer.Checks, c)
			if err := v.verdicts.add(&c); err != nil {
				t.Fatal(err)
			}
		}
		var got, want bytes.Buffer
		a := &app{out: &got}
		if err := a.writeJSON(&want, answer); err != nil {
			t.Fatal(err)
		}
		if err := a.printJSON(v); err != nil {
			t.Fatal(err)
		}
		if got.String() != want.String() {
			t.Errorf("%d checks: found\n%s\nexpected\n%s", n, &got, &want)
		}
		v.verdicts.close()
	}
}

// TestSpooledTable checks that a spooled table, in memory and in a file, has the text of printTable.
func TestSpooledTable(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for _, n := range []int{0, 1, 3, 50_000} {
		row := func(i int) []string {
			return []string{fmt.Sprint("c", i), []string{"good", "", "n\ta\nm\xffe\u202e", "世界 é"}[i%4],
				strings.Repeat("f", i%60)}
		}
		var got, want bytes.Buffer
		printTable(&want, table.Row{"check", "verdict", "formula"}, n, 0, func(i int) table.Row {
			r := row(i)
			return table.Row{r[0], r[1], r[2]}
		})
		s := newSpooledTable("check", "verdict", "formula")
		for i := range n {
			if err := s.add(row(i)...); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.print(&got); err != nil {
			t.Fatal(err)
		}
		s.rows.Close()
		if got.String() != want.String() {
			t.Errorf("%d rows: the texts differ", n)
		}
	}
}
