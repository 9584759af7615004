package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-trace/weft/tracetest"
)

const sample = "1 a > main\n2 b > main\n3 a > work\n7 a < work\n8 a < main\n9 b < main\n"

func write(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "trace.toy")
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestConformance runs the suite that every format runs.
func TestConformance(t *testing.T) {
	tracetest.Run(t, Toy{}, tracetest.Options{Files: []string{write(t, sample)}})
}

func TestConvert(t *testing.T) {
	to := filepath.Join(t.TempDir(), "trace.etf")
	if err := convert(write(t, sample), to); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(to)
	if err != nil || strings.Count(string(b), "\nC ") != 3 {
		t.Errorf("found %v and\n%s, want three claims", err, b)
	}
	if err := convert(write(t, "1 a > main\nnonsense\n"), to); err == nil ||
		!strings.Contains(err.Error(), `trace.toy:2: found "nonsense"`) {
		t.Errorf("found the error %v", err)
	}
}
