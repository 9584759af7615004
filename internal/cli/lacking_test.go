package cli

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestWindowsOfLackingTraces checks that commands fail for windows of traces that lack what the analysis needs, as they
// do for the whole trace. If only the window lacks it, they succeed.
func TestWindowsOfLackingTraces(t *testing.T) {
	const hand, claims = waitsTraces + "hand/traces.otf2", "../../examples/odse.etf"
	calls, bare := filepath.Join(t.TempDir(), "calls.otf2"), filepath.Join(t.TempDir(), "bare.otf2")
	weft(t, 0, "filter", "-q", "--allow-loss", "--kind", "enter", "--region", "MPI_Send,MPI_Recv", hand, calls)
	weft(t, 0, "filter", "-q", "--allow-loss", "--kind", "message", hand, bare)
	for _, test := range []struct {
		command, path string
		code          int
	}{
		{"waits", calls, 1}, {"waits", claims, 1}, {"waits", hand, 0},
		{"path", bare, 1}, {"path", calls, 0},
		{"efficiency", claims, 1}, {"efficiency", hand, 0},
		{"explain", bare, 1}, {"explain", claims, 1}, {"explain", hand, 0},
	} {
		for _, window := range [][]string{{"--window", "5%..10%"}, {"--window", "5%..10%", "--json"}} {
			weft(t, test.code, append(append([]string{test.command}, window...), test.path)...)
		}
	}
}

// TestWhatIfOfClaims checks that path refuses changes of regions for a trace of claims, whose times it does not compute
// again.
func TestWhatIfOfClaims(t *testing.T) {
	weft(t, 2, "path", "--what-if", "A=0.5", "../../examples/odse.etf")
}

// TestWindowOfUnjudgedCalls checks the message for a window with calls that cannot be judged: the receive of rank 1
// from 300 to 640, without its send. Other calls of the trace can be judged.
func TestWindowOfUnjudgedCalls(t *testing.T) {
	part := filepath.Join(t.TempDir(), "part.otf2")
	weft(t, 0, "filter", "-q", "--allow-loss", "--kind", "enter", "--kind", "collective-begin",
		waitsTraces+"hand/traces.otf2", part)
	_, err := mustRun(t, "waits", "--window", "@250..@350", part)
	if !strings.Contains(err, "found no call that can be judged") {
		t.Errorf("found %q, expected that no call can be judged", err)
	}
}
