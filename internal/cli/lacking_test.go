package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-trace/weft/trace"
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

// TestWindowOfTraceWithoutCalls checks that the factors of a window are missing if the trace has no calls at all, even
// if it defines regions. With one call behind the window, the time in the window is outside of calls.
func TestWindowOfTraceWithoutCalls(t *testing.T) {
	for _, code := range []int{1, 0} {
		r := trace.NewRecorder(trace.TicksPerSecond(1000))
		loc, work := r.Location("rank 0"), r.Region("work")
		other := r.Location("rank 1")
		for time := int64(0); time <= 100; time += 50 {
			r.Send(loc, time, other, 0, 8)
			r.Recv(other, time+5, loc, 0, 8)
		}
		if code == 0 {
			r.Enter(loc, 120, work)
			r.Leave(loc, 130, work)
		}
		path := filepath.Join(t.TempDir(), "x.otf2")
		writeRecorded(t, r, path)
		for _, command := range []string{"efficiency", "explain"} {
			weft(t, code, command, "--window", "@0..@100", path)
			weft(t, code, command, "--window", "@0..@100", "--json", path)
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
