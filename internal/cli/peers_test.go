package cli

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestPrintNamesPeers checks that text has the names of the locations of messages, and JSON their
// ids.
func TestPrintNamesPeers(t *testing.T) {
	for flags, want := range map[string]string{
		"--kind send":        " receiver=MPI Rank 2 · Master thread  communicator=cart  tag=1 ",
		"--kind recv":        " sender=MPI Rank 2 · Master thread  communicator=cart  tag=0 ",
		"--kind send --json": `,"receiver":"2",`,
		"--kind recv --json": `,"sender":"2",`,
	} {
		_, out, errs := runWeft(t, append(append([]string{"print"}, strings.Fields(flags)...), realTraces["otf2"])...)
		if !strings.Contains(out, want) {
			t.Errorf("print %s: found %.200q, %s, expected %q in it", flags, out, errs, want)
		}
	}
}

// TestAlignClocksOfProcesses checks that the location of an archive's markers has no clock, but
// each of the four processes has one.
func TestAlignClocksOfProcesses(t *testing.T) {
	_, out, errs := runWeft(t, "align", realTraces["otf2"])
	if !strings.Contains(out, "\nClocks       4\n") || strings.Contains(out, "markers") ||
		strings.Contains(out, "Nothing ties") {
		t.Errorf("found %s%s, expected 4 clocks, tied to each other", out, errs)
	}
}

// TestPlainMessages checks that traces that are written with --plain keep messages without a communicator. These
// are messages of OTF's communicator 0, and messages that follow from PICL's records of sends and receives, which
// have no request. Each message has a tag of its own.
func TestPlainMessages(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"u.otf": "1:1\n2:2\n", "u.0.def": "DTR3e8\nDP1NM\"a\"\nDP2NM\"b\"\nDFG1NM\"app\"\nDF1G1NM\"main\"\n",
		"u.1.events": "1\n*1\nE1\n2\n*1\nS2L8T5C0\n9\n*1\nL1\n", "u.2.events": "1\n*2\nE1\n5\n*2\nR1L8T5C0\n9\n*2\nL1\n",
	} {
		writeText(t, filepath.Join(dir, name), text)
	}
	for in, messages := range map[string][]string{
		filepath.Join(dir, "u.otf"): {" a           send            receiver=b ", " b           recv            sender=a "},
		"../../format/picl/testdata/ok/feature-coverage.trf": {" node 0      send            receiver=1/0 ",
			" 1/0         recv            sender=node 0 ", " 1/0         send-begin      receiver=node 0 ",
			" node 0      recv-complete    sender=1/0 "},
	} {
		for _, format := range []string{"pallas", "otf2", "otf"} {
			out := filepath.Join(t.TempDir(), "out."+format)
			weft(t, exitGood, "convert", "--plain", "--option", "picl.marks=messages", in, out)
			if code, found, _ := runWeft(t, "check", out); code != exitGood || !strings.Contains(found, ", 0 warnings, ") {
				t.Errorf("%s as %s: found exit code %d and defects, expected none: %s", in, format, code, found)
			}
			_, found, _ := runWeft(t, "print", "--kind", "send,recv", out)
			if n := strings.Count(found, "\n"); n != len(messages) {
				t.Errorf("%s as %s: found %d sends and receives, expected %d:\n%s", in, format, n, len(messages), found)
			}
			for _, want := range messages {
				if format == "otf" { // OTF has only blocking messages
					want = strings.NewReplacer("send-begin", "send      ", "recv-complete    ", "recv            ").Replace(want)
				}
				if !strings.Contains(found, want) {
					t.Errorf("%s as %s: found no %q:\n%s", in, format, want, found)
				}
			}
		}
	}
}
