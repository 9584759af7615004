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

// Traces that are merged by the time of day have the times that their offsets say, exactly.
func TestMergeOfTRACEByWallClock(t *testing.T) {
	for _, x := range []struct{ a, b, want string }{
		{"O 1500\nE 0 1 ; name=a\n", "O 1100\nE 0 1 ; name=b\n", "TU SECONDS\nO 1500\nE 1 0.6 ; name=b\nE 0 1 ; name=a\n"},
		{"O 1500\nE 0 1.0005 ; name=a\n", "O 1100\nE 0 1 ; name=b\n", "TU SECONDS\nO 1500\nE 1 0.6 ; name=b\nE 0 1.0005 ; name=a\n"},
		{"O 5000\nE 0 1 ; name=a\n", "TU MINUTES\nO 2000\nE 0 1 ; name=b\n", "TU SECONDS\nO 5000\nE 0 1 ; name=a\nE 1 57 ; name=b\n"},
		{"TU MINUTES\nO 2000\nS 0 ;\nF 0 1 2 5 60 0\n", "TU MINUTES\nO 5000\nE 0 1 ;\n", "TU SECONDS\nO 2000\nE 1 63 ;\nS 0 ;\nF 0 60 120 5 1 0\n"},
	} {
		got, _ := etfVerb(t, x.b, "merge", "--anchor", "wall", textFile(t, "a.etf", x.a))
		if got != x.want {
			t.Errorf("%q and %q: found %q, expected %q", x.a, x.b, got, x.want)
		}
	}
}
