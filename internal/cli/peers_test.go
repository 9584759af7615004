package cli

import (
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
