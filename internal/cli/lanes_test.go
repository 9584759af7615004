package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLanesInSeveralStreams checks that claims of a resource keep their order if the lanes of the resource are
// distributed to streams, as otfmerge does. The claims overlap, so they have two lanes: one is in use from 0 s to 2 s
// and from 3 s to 4 s, and the other one from 1 s to 3 s.
func TestLanesInSeveralStreams(t *testing.T) {
	dir := t.TempDir()
	path, one, several := filepath.Join(dir, "a.etf"), filepath.Join(dir, "one.otf"), filepath.Join(dir, "several.otf")
	text := "TU SECONDS\nR 0 2 false ; name=CPU\nC 0 0 2 0 1 ; name=A\nC 1 1 3 0 1 ; name=B\nC 2 3 4 0 1 ; name=A\n"
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	weft(t, 0, "convert", "-q", path, one)
	weft(t, 0, "convert", "-q", "--option", "otf.streams=1:1,f0000000;2:f0000001", one, several)
	if master, err := os.ReadFile(several); err != nil || string(master) != "1:1,f0000000\n2:f0000001\n" {
		t.Fatalf("found the streams %q", master)
	}
	if text := weft(t, 0, "check", several); !strings.Contains(text, " 0 errors") {
		t.Errorf("check: %s", text)
	}
	back := filepath.Join(dir, "b.etf")
	weft(t, 0, "convert", "-q", several, back)
	claims := []string{}
	lines, err := os.ReadFile(back)
	if err != nil {
		t.Fatal(err)
	}
	for l := range strings.Lines(string(lines)) {
		if f := strings.Fields(l); f[0] == "C" {
			claims = append(claims, strings.Join(f[2:4], "-"))
		}
	}
	if got := strings.Join(claims, " "); got != "0-2 1-3 3-4" {
		t.Errorf("found claims %s, expected 0-2 1-3 3-4", got)
	}
}
