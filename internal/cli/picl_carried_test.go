package cli

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestMergedPICLKeepsMessages checks that a merged trace of PICL and another format keeps the messages of PICL's
// records when it is written as PICL: the two sends and the receive.
func TestMergedPICLKeepsMessages(t *testing.T) {
	in := textFile(t, "a.trf", "-3 -21 1 0 0 3 2 10 5 1\n-4 -21 1.1 0 0 0\n-3 -51 1.2 1 0 1 2 5\n-4 -51 1.3 1 0 3 2 10 "+
		"5 0\n"+
		"-3 -21 1.4 0 0 3 2 30 6 1\n-4 -21 1.5 0 0 0\n-3 -913 1.6 0 0 0\n-4 -913 1.7 0 0 0\n")
	other := textFile(t, "b.etf", "TU SECONDS\nR 0 4 false ; name=cpu\nC 0 0 2 0 1 ; name=t\n")
	printed := map[string]string{}
	for _, ext := range []string{".trf", ".etf"} {
		out := filepath.Join(t.TempDir(), "out"+ext)
		weft(t, 0, "merge", in, other, out)
		const want = "Sent       2 messages, 40 bytes\nReceived   1 message, 10 bytes\n"
		if got := weft(t, 0, "messages", out); !strings.Contains(got, want) {
			t.Errorf("%s: %s", ext, got)
		}
		printed[ext] = weft(t, 0, "print", "--json", out)
	}
	if printed[".trf"] != printed[".etf"] {
		t.Errorf("found\n%s\nexpected\n%s", printed[".trf"], printed[".etf"])
	}
}

// TestBracketsOfCarriedMarks checks that marks and messages of another format's trace are restored from PICL
// even if they were written with picl.brackets=entry-exit.
func TestBracketsOfCarriedMarks(t *testing.T) {
	in := textFile(t, "in.etf", "TU SECONDS\nR 0 4 false ; name=cpu\nC 0 0 2 0 1 ; name=t\nE 0 2.5 ; name=e\n")
	for _, in := range []string{in, "../../format/otf2/testdata/ok/ring/eztrace_log.otf2"} {
		out := filepath.Join(t.TempDir(), "out.trf")
		weft(t, 0, "convert", "--option", "picl.brackets=entry-exit", in, out)
		for l := range strings.Lines(readText(t, out)) {
			if strings.HasPrefix(l, "-2 ") {
				t.Errorf("%s: found the mark %s", in, l)
			}
		}
		if got, want := weft(t, 0, "print", out), weft(t, 0, "print", in); got != want {
			t.Errorf("%s: found\n%.2000s\nexpected\n%.2000s", in, got, want)
		}
	}
}
