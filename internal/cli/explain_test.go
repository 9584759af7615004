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
	expected := "3 processes with 3 threads ran for 1.055 ms. No region has any time.\n"
	if !strings.Contains(out, expected) {
		t.Errorf("found %q, expected %q", out, expected)
	}
}
