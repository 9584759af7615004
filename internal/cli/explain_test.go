package cli

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestExplainWithoutRegions explains a trace that has collective operations, but no visits of regions.
func TestExplainWithoutRegions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.otf2")
	mustRun(t, "filter", "--allow-loss", "--not-kind", "enter", "../../analysis/waits/testdata/hand/traces.otf2", path)
	out, _ := mustRun(t, "explain", path)
	const run = "3 processes with 3 threads ran for 1.055 ms. Waits take "
	const regions = " of the time. No region has any time.\n"
	if !strings.Contains(out, run) || !strings.Contains(out, regions) {
		t.Errorf("found %q, expected %q and %q", out, run, regions)
	}
}
