package cli

import (
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// TestMarkersOfTheWholeTrace converts a trace of OTF with a marker of the whole trace (process 0), one of a process
// group and one of a process to each format and back. otfprint must print the same markers and processes.
func TestMarkersOfTheWholeTrace(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.otf")
	writeText(t, path, "1:1,2\n")
	writeText(t, filepath.Join(dir, "a.0.def"), "DTR3e8\nDP1NM\"one\"\nDP2NM\"two\"\nDPG3e9M1,2,NM\"both\"\n"+
		"DFG1NM\"g\"\nDF1G1NM\"main\"\n")
	writeText(t, filepath.Join(dir, "a.1.events"), "1\n*1\nE1\n2\n*2\nE1\n3\n*2\nL1\n4\n*1\nL1\n4\n*1\n")
	writeText(t, filepath.Join(dir, "a.0.marker"),
		"MD1NM\"hint\"Y3\nMS1T1P3e9V\"of both\"\nMS1T2P2V\"of two\"\nMS1T3P0V\"of all\"\n")
	want := []string{`DefProcess: stream 0, process 1, name "one"`, `DefProcess: stream 0, process 2, name "two"`,
		`Marker: ID 1, process 1001, text "of both"`, `Marker: ID 1, process 2, text "of two"`,
		`Marker: ID 1, process 0, text "of all"`}
	record := regexp.MustCompile(`DefProcess: stream 0, process \d+, name "[^"]*"|Marker: ID 1, process .*? text "[^"]*"`)
	for _, to := range []string{"otf2", "pallas", "etf", "trf"} {
		for _, plain := range []string{"--plain=false", "--plain"} {
			other, back := filepath.Join(t.TempDir(), "b."+to), filepath.Join(t.TempDir(), "c.otf")
			weft(t, exitGood, "convert", "-q", path, other)
			weft(t, exitGood, "convert", "-q", plain, "--allow-loss", other, back)
			printed, _ := runTool(t, back, "otfprint")
			if printed == nil {
				t.Skip("otfprint is not installed")
			}
			var got []string
			for _, m := range record.FindAll(printed, -1) {
				got = append(got, string(m))
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s and back, %s: otfprint prints %q, expected %q", to, plain, got, want)
			}
			a, b := weft(t, exitGood, "print", "-q", path), weft(t, exitGood, "print", "-q", back)
			if plain != "--plain" && a != b {
				t.Errorf("%s and back: weft print shows\n%s\nexpected\n%s", to, b, a)
			}
		}
	}
}
