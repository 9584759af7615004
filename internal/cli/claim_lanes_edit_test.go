package cli

import (
	"bytes"
	"path/filepath"
	"slices"
	"testing"
)

// TestEditsOfConvertedArchives checks that a verb that changes nothing keeps an archive of OTF2 that weft wrote from
// another format: otf2-print prints the same lines. The numbers of lanes of claims and of strings stay.
func TestEditsOfConvertedArchives(t *testing.T) {
	for _, path := range []string{"../../examples/odse.etf", "../../format/otf/testdata/ok/mpi4/mpi4.otf"} {
		dir := t.TempDir()
		archive := filepath.Join(dir, "a.otf2")
		weft(t, exitGood, "convert", "-q", path, archive)
		lines := func(path string) [][]byte {
			out, _ := runTool(t, path, "otf2-print", "-A")
			if out == nil {
				t.Skip("otf2-print is not installed")
			}
			list := bytes.Split(out, []byte("\n"))
			slices.SortFunc(list, bytes.Compare)
			return list
		}
		want := lines(archive)
		for _, verb := range [][]string{{"filter", "--min-duration", "0"}, {"cut", "--to", "100%"}, {"repair"}, {"merge"}} {
			out := filepath.Join(dir, verb[0]+".otf2")
			weft(t, exitGood, append(verb, "-q", archive, out)...)
			if got := lines(out); !slices.EqualFunc(got, want, bytes.Equal) {
				i := 0
				for i < min(len(got), len(want))-1 && bytes.Equal(got[i], want[i]) {
					i++
				}
				t.Errorf("%s of %s: found %d lines, first difference %s, expected %d lines and %s", verb[0], path,
					len(got), got[i], len(want), want[i])
			}
		}
	}
}
