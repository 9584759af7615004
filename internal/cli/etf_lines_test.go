package cli

import (
	"path/filepath"
	"strings"
	"testing"
)

// etfVerb is what a verb makes of a TRACE file, and what it prints.
func etfVerb(t *testing.T, text string, args ...string) (written, printed string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out.etf")
	code, stdout, stderr := runWeft(t, append(args, textFile(t, "in.etf", text), out)...)
	if code != 0 {
		t.Fatalf("%q: exit code %d: %s%s", args, code, stdout, stderr)
	}
	return textOf(t, out), stdout + stderr
}

// A backslash before a blank inside of a value is warned of, and stays.
func TestTRACEBackslashBeforeBlank(t *testing.T) {
	const text = "TU SECONDS\nE 0 1 ; path=C:\\ docs, a\\ b=c\n"
	for _, verb := range []string{"convert", "filter"} {
		got, printed := etfVerb(t, text, verb)
		if got != text {
			t.Errorf("%s: found %q, expected %q", verb, got, text)
		}
		if !strings.Contains(printed, "2 warnings") {
			t.Errorf("%s: found no warnings in %s", verb, printed)
		}
	}
}
