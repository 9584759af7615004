package cli

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestNoteOfManyFiles checks the note about the number of files. A conversion prints it if the output has more
// than 10 000 files.
func TestNoteOfManyFiles(t *testing.T) {
	for _, x := range []struct {
		locations int
		ext, note string
	}{
		{5001, ".otf2", "note: 5001 locations, and Open Trace Format 2 (OTF2) has 2 files for each: about 10002 files"},
		{3334, ".pallas", "note: 3334 locations, and Pallas has 3 files for each: about 10002 files"},
		{3334, ".otf2", ""},
		{5001, ".otf", ""},
	} {
		var b strings.Builder
		for i := range x.locations {
			fmt.Fprintf(&b, "R %d 1 false ;\n", i)
		}
		b.WriteString("C 0 0 1 0 1 ;\n")
		code, _, errs := runWeft(t, "convert", textFile(t, "in.etf", b.String()), filepath.Join(t.TempDir(), "out"+x.ext))
		if code != 0 || strings.Contains(errs, "note: ") != (x.note != "") || !strings.Contains(errs, x.note) {
			t.Errorf("%d locations, %s: exit code %d, found %q, expected %q", x.locations, x.ext, code, errs, x.note)
		}
	}
}
