package cli

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestOpenMPRecords checks that events of OpenMP keep their types of records when an archive is written again:
// otf2-print must print the same. The archive has events of old versions of OTF2 and newer events with the same
// contents. OTF2's own writer has written it (testdata/programs/openmp.py).
func TestOpenMPRecords(t *testing.T) {
	python, dir := pythonOTF2(t), t.TempDir()
	path := filepath.Join(dir, "in", "traces.otf2")
	if out, err := exec.Command(python, "testdata/programs/openmp.py", filepath.Dir(path)).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want, _ := runTool(t, path, "otf2-print")
	for _, record := range []string{"OMP_FORK", "THREAD_FORK", "OMP_JOIN", "THREAD_JOIN", "OMP_TASK_SWITCH"} {
		if want != nil && !strings.Contains(string(want), "\n"+record+" ") {
			t.Fatalf("the archive has no %s:\n%s", record, want)
		}
	}
	for _, verb := range [][]string{{"repair"}, {"filter", "--min-duration", "0"}, {"cut", "--to", "100%"}, {"merge"},
		{"anonymize"}, {"convert"}} {
		out := filepath.Join(t.TempDir(), "x.otf2")
		weft(t, 0, append(verb, "-q", path, out)...)
		got, _ := runTool(t, out, "otf2-print")
		if a, b := eventLines(want), eventLines(got); a != b {
			t.Errorf("%s: otf2-print prints\n%s\nexpected\n%s", verb[0], b, a)
		}
	}
}

// eventLines returns those lines of otf2-print that show events. It cuts off the names, which anonymize replaces.
func eventLines(text []byte) string {
	var b strings.Builder
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "OMP_") || strings.HasPrefix(line, "THREAD_") {
			line, _, _ = strings.Cut(line, `"`)
			b.WriteString(strings.TrimSpace(line) + "\n")
		}
	}
	return b.String()
}
