package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weft-trace/weft/analysis/verify"
)

// TestVerifySpecs checks that each row's specification is valid and has as many operators as the row says.
func TestVerifySpecs(t *testing.T) {
	used := 0
	for _, row := range verifyRows() {
		for _, word := range row.args {
			text, ok := verifySpecs[word]
			if !ok {
				continue
			}
			used++
			if _, err := verify.Parse(word, []byte(text)); err != nil {
				t.Fatalf("%s: %v", word, err)
			}
			_, formula, _ := strings.Cut(text, "check c :")
			formula = " " + strings.NewReplacer("(", " ", ")", " ").Replace(formula) + " "
			n := int64(0)
			for _, operator := range []string{"globally", "finally", "if", "and", "or", "not"} {
				n += int64(strings.Count(formula, " "+operator+" "))
			}
			if n != row.operators {
				t.Errorf("%s: found %d operators in %s, expected %d", word, n, formula, row.operators)
			}
		}
	}
	if used != len(verifySpecs) {
		t.Errorf("found rows for %d specifications, expected %d", used, len(verifySpecs))
	}
}

// TestSideBySide checks the file of claims side by side: two that start at 0, and two that start when those have ended.
func TestSideBySide(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.etf")
	if err := writeSideBySide(path, 4, 3); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := "TU ms\nR 0 4 false ; name=CPU\nC 0 0 10 0 1 ; name=T0\nC 1 0 10 0 1 ; name=T1\nC 2 20 30 0 1 ; name=T2\n"
	if string(b) != want {
		t.Errorf("found %s, expected %s", b, want)
	}
}

// TestVerifyAcceptances checks the verdicts on measurements. 4 s of CPU for 10^7 events and 3 operators, less 1 s for
// decoding, are 100 ns for each event and operator.
func TestVerifyAcceptances(t *testing.T) {
	r := &verifyReport{rows: verifyRows(), claims: 1_000_000}
	r.events = 10_000_000
	used := func(row int, cpu time.Duration, peak int64) {
		r.rows[row].runs = []usage{{cpu: cpu, peak: peak}}
	}
	used(rowEvents, time.Second, 1)
	used(rowUnboundedFormula, 4*time.Second, 300<<20)
	used(rowBoundedFormula, 5*time.Second, 1)
	used(rowSame, 6*time.Second, 1)
	for _, a := range r.acceptances() {
		pass, known := map[string]bool{
			"Untimed MTL, CPU beyond decoding":              true,
			"Timed MTL, CPU beyond decoding":                false,
			"Distance of two traces of 1000000 claims, CPU": false,
		}[a.text]
		if known != (a.worst != "") || known && pass != a.pass {
			t.Errorf("found %+v, expected known %t, pass %t", a, known, pass)
		}
	}
	if text := string(r.document()); !strings.Contains(text, "| 100.00 | pass |") || !strings.Contains(text, "**fail**") {
		t.Errorf("found %s", text)
	}
}
