package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestUniqueID checks that commands keep the unique id of an OTF trace: otfprint must show the same line. Traces
// without a unique id get none.
func TestUniqueID(t *testing.T) {
	dir := "../../format/otf/testdata/ok/"
	for _, name := range []string{"mpi4", "localdefs", "hand_markers"} {
		path := dir + name + "/" + name + ".otf"
		want := uniqueID(t, path)
		if want == "" && name == "mpi4" {
			t.Skip("otfprint is not installed")
		}
		for _, way := range [][]string{{"repair"}, {"repair", "--option", "otf.streams=2"}, {"filter", "--min-duration", "0"},
			{"merge"}, {"merge", "--unify"}, {"sort"}} {
			out := filepath.Join(t.TempDir(), "x.otf")
			weft(t, 0, append(way, "-q", path, out)...)
			if got := uniqueID(t, out); got != want {
				t.Errorf("%s of %s: found %q, expected %q", way, name, got, want)
			}
		}
		between, back := filepath.Join(t.TempDir(), "x.otf2"), filepath.Join(t.TempDir(), "y.otf")
		weft(t, 0, "convert", "-q", path, between)
		weft(t, 0, "convert", "-q", between, back)
		if got := uniqueID(t, back); got != want {
			t.Errorf("%s by way of OTF2: found %q, expected %q", name, got, want)
		}
	}
}

// uniqueID returns the lines of otfprint with a unique id.
func uniqueID(t *testing.T, path string) string {
	text, _ := runTool(t, path, "otfprint")
	return string(regexp.MustCompile(`DefUniqueId:.*`).Find(text))
}

// TestSameBytes checks that the bytes of a converted trace do not depend on its name.
func TestSameBytes(t *testing.T) {
	for _, verb := range [][]string{{"convert", "-q", "../../format/otf2/testdata/ok/ring/eztrace_log.otf2"},
		{"generate", "--workload", "ring"}} {
		dir := t.TempDir()
		for _, name := range []string{"a.otf", "b.otf"} {
			weft(t, 0, append(verb, filepath.Join(dir, name))...)
		}
		files, err := filepath.Glob(filepath.Join(dir, "a.*"))
		if err != nil || len(files) < 3 {
			t.Fatalf("found %q, %v", files, err)
		}
		for _, a := range files {
			x, _ := os.ReadFile(a)
			y, err := os.ReadFile(filepath.Join(dir, "b"+filepath.Base(a)[1:]))
			if err != nil || string(x) != string(y) {
				t.Errorf("%s: %s differs from the file of another name (%v)", verb[0], filepath.Base(a), err)
			}
		}
	}
}
