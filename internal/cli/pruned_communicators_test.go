package cli

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestPrunedCommunicators checks that communicators of OTF2 keep their members if a command prunes the trace and writes
// it as OTF. In the archive, otf2-print shows the members as ranks: 3 and 1 in ODD, and 0 to 3 in MPI_COMM_WORLD.
// Process 1 has rank 0.
func TestPrunedCommunicators(t *testing.T) {
	for archive, want := range map[string]string{"rma": `name "ODD", procs 4, 2`,
		"heat2d-mt": `name "MPI_COMM_WORLD", procs 1, 2, 3, 4`} {
		in, out := "../../format/otf2/testdata/ok/"+archive+"/traces.otf2", filepath.Join(t.TempDir(), "x.otf")
		for _, args := range [][]string{{"filter", "--min-duration", "0"}, {"cut", "--window", "10%..90%"}} {
			weft(t, 0, append(args, "-q", "--prune", in, out)...)
			if text, _ := runTool(t, out, "otfprint"); text != nil && !strings.Contains(string(text), want+"\n") {
				t.Errorf("%s %s: otfprint does not show %s:\n%s", args[0], archive, want, text)
			}
		}
	}
}
