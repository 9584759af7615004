package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// TestGroupsNamedAsLocations converts a trace of OTF with a process that has a thread. The process and its group of
// locations have the same name in weft's model. They must not have it in OTF2, because ViTE aborts then.
func TestGroupsNamedAsLocations(t *testing.T) {
	for _, plain := range []string{"--plain=false", "--plain"} {
		dir := t.TempDir()
		path, archive := filepath.Join(dir, "a.otf"), filepath.Join(dir, "b.otf2")
		writeText(t, path, "1:1,2,3\n")
		writeText(t, filepath.Join(dir, "a.0.def"),
			"DTR3e8\nDP1NM\"rank 0\"\nDP2NM\"child\"PT1\nDP3NM\"grandchild\"PT2\nDFG1NM\"g\"\nDF1G1NM\"main\"\n")
		writeText(t, filepath.Join(dir, "a.1.events"), "1\n*1\nE1\n2\n*2\nE1\n3\n*2\nL1\n4\n*1\nL1\n4\n*1\n")
		weft(t, exitGood, "convert", "-q", plain, "--allow-loss", path, archive)
		printed, _ := runTool(t, archive, "otf2-print", "-G")
		if printed != nil && (!regexp.MustCompile(`LOCATION +0 +Name: "rank 0"`).Match(printed) ||
			regexp.MustCompile(`LOCATION_GROUP +\d+ +Name: "(rank 0|child)"`).Match(printed)) {
			t.Errorf("%s: otf2-print shows\n%s", plain, printed)
		}
		if _, err := exec.LookPath("vite"); err == nil {
			c := exec.Command("vite", "-e", filepath.Join(dir, "out.svg"), archive)
			c.Env = append(os.Environ(), "QT_QPA_PLATFORM=offscreen")
			if out, err := c.CombinedOutput(); err != nil {
				t.Errorf("%s: vite: %v: %s", plain, err, out)
			}
		}
		if plain == "--plain" {
			continue
		}
		back := filepath.Join(dir, "c.otf")
		weft(t, exitGood, "convert", "-q", archive, back)
		text := weft(t, exitGood, "info", "--definitions", back)
		if regexp.MustCompile(`process (rank 0|child)`).MatchString(text) {
			t.Errorf("weft info shows\n%s\nexpected the names of processes", text)
		}
	}
}
