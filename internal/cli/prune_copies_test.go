package cli

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestPruneInCopies checks --prune in verbs that copy the definitions before definitions are left out. The tool of OTF2
// must show the same archive as from weft filter, which does not copy them, and no undefined region.
func TestPruneInCopies(t *testing.T) {
	lines := func(verb string) []string {
		out := filepath.Join(t.TempDir(), "a.otf2")
		weft(t, exitGood, verb, "-q", "--prune", realTraces["otf2"], out)
		text, _ := runTool(t, out, "otf2-print", "-A")
		list := strings.Split(string(text), "\n")
		slices.Sort(list)
		return list
	}
	want := lines("filter")
	for _, verb := range []string{"repair", "merge"} {
		if got := lines(verb); !slices.Equal(got, want) {
			t.Errorf("%s --prune: otf2-print shows %d lines, after filter --prune %d; the first is %q, expected %q", verb,
				len(got), len(want), firstOf(got, want), firstOf(want, got))
		}
	}
	text := strings.Join(lines("anonymize"), "\n")
	if got := strings.Count(text, "Region: \"region "); strings.Contains(text, "INVALID") ||
		len(want) > 1 && got+strings.Count(text, "Region: \"MPI_") < 3000 {
		t.Errorf("anonymize --prune: otf2-print shows %d visits and\n%.2000s", got, text)
	}
}

// firstOf returns the first line that other lines do not contain.
func firstOf(list, others []string) string {
	for _, l := range list {
		if !slices.Contains(others, l) {
			return l
		}
	}
	return ""
}
