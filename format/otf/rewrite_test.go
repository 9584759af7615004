package otf

import (
	"os"
	"path/filepath"
	"testing"
)

// TestRewriteComments checks that comments stay as they are when a trace is written again, also if they
// are empty.
func TestRewriteComments(t *testing.T) {
	folder := t.TempDir()
	files := map[string]string{
		".0.def":    "DTR3e8\nDP1NM\"p\"\n",
		".1.events": "1\n*1\n#\"\"\n2\n*1\n#\"\"\n#\"comment\"\n2\n*1\n",
	}
	writeFile(t, filepath.Join(folder, "x.otf"), "1:1\n")
	for part, text := range files {
		writeFile(t, filepath.Join(folder, "x"+part), text)
	}
	d, _, _ := readCounts(t, filepath.Join(folder, "x.otf"))
	loss := writeAgain(t, d, filepath.Join(folder, "y.otf"))
	if n := len(loss.Rows()); n > 0 {
		t.Errorf("found %v, expected no loss", loss.Rows())
	}
	for part, want := range files {
		if got, _ := os.ReadFile(filepath.Join(folder, "y"+part)); string(got) != want {
			t.Errorf("%s: found %q, expected %q", part, got, want)
		}
	}
}
