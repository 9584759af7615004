package cli

import (
	"strings"
	"testing"
)

// TestWaitsInsideOfWindow checks a window in which a part of a wait lies, and no wait begins: rank 1 of the trace waits
// in MPI_Recv from 300 to 600, and rank 2 from 400 to 700.
func TestWaitsInsideOfWindow(t *testing.T) {
	for window, expected := range map[string]string{"@450..@460": "Waiting    20 µs", "@200..@210": "found no wait"} {
		out, err := mustRun(t, "waits", "--window", window, "../../analysis/waits/testdata/hand/traces.otf2")
		if !strings.Contains(out+err, expected) || strings.Contains(err, "found no wait") != (window == "@200..@210") {
			t.Errorf("%s: found %q and %q, expected %q", window, out, err, expected)
		}
	}
}
