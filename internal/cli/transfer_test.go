package cli

import (
	"strings"
	"testing"
)

// TestTransferWithoutMessages checks that an ideal network does not make a run without communication shorter. In this
// trace, threads execute tasks inside of their barriers.
func TestTransferWithoutMessages(t *testing.T) {
	out := weft(t, 0, "efficiency", "-q", "--json", "../../format/otf2/testdata/ok/omp/eztrace_log.otf2")
	if !strings.Contains(strings.Join(strings.Fields(out), ""), `"transfer":1}`) {
		t.Errorf("found a transfer efficiency other than 1: %s", out)
	}
}
