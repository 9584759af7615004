package cli

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestMarksAreMarkers checks that otf2-marker prints the marks of a TRACE trace that weft converts to OTF2, also with
// --plain, and that weft restores the marks. Only the attribute that a marker cannot hold is lost.
func TestMarksAreMarkers(t *testing.T) {
	marks := "E 0 1.5 ; name=start\nE 1 1.5\nE 2 4.5 ; name=stop, cause=door\n"
	path := filepath.Join(t.TempDir(), "x.etf")
	writeText(t, path, "TU s\nR 0 1 true ; name=cpu\nC 0 1 5 0 1 ; name=a\n"+marks)
	for _, flags := range [][]string{nil, {"--plain"}} {
		archive, back := filepath.Join(t.TempDir(), "a.otf2"), filepath.Join(t.TempDir(), "b.etf")
		args := append([]string{"convert", "-q", "--json", "--allow-loss", path, archive}, flags...)
		_, loss, _ := runWeft(t, args...)
		if n := strings.Count(loss, `"kind": "mark"`); n != 1 || !strings.Contains(loss, `"field": "attributes"`) {
			t.Errorf("%v: found %s\nexpected the attributes of a mark", flags, loss)
		}
		out, _ := runTool(t, archive, "otf2-marker")
		var texts []string
		for line := range strings.Lines(string(out)) {
			if at, text, ok := strings.Cut(line, "Text: "); ok && strings.Contains(at, "Scope: LOCATION:") {
				_, time, _ := strings.Cut(at, "Time: ")
				time, _, _ = strings.Cut(time, ",")
				texts = append(texts, time+" "+strings.TrimSpace(text))
			}
		}
		if got := strings.Join(texts, "; "); out != nil && got != `15 "start"; 15 ""; 45 "stop"` {
			t.Errorf("%v: otf2-marker prints %s", flags, out)
		}
		if flags == nil {
			weft(t, 0, "convert", "-q", archive, back)
			for line := range strings.Lines(marks) {
				if line = strings.TrimSuffix(line, "\n"); !strings.Contains(readText(t, back), "\n"+line) {
					t.Errorf("found %s\nexpected %s", readText(t, back), line)
				}
			}
		}
	}
}
