package otf2

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
)

// TestPartInsteadOfAnchor checks the error for another file of an archive in place of the anchor file.
func TestPartInsteadOfAnchor(t *testing.T) {
	const dir = "testdata/ok/snapshots"
	for name, want := range map[string]string{"all.def": "/all.otf2", "all/7.evt": "/all.otf2", "all/7.def": "/all.otf2",
		"all/7.snap": "/all.otf2", "all.marker": "/all.otf2", "all.1.thumb": "/all.otf2"} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		head, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if (Format{}).Probe(filepath.Base(path), head) == 0 {
			t.Errorf("%s: found an unknown format", name)
		}
		if _, err := Open(format.FileSource(path)); err == nil || !strings.HasSuffix(err.Error(), filepath.FromSlash(want)) {
			t.Errorf("%s: found %v, expected %s", name, err, want)
		}
	}
	if (Format{}).Probe("a.def", []byte("DTR3e8\n")) > 0 {
		t.Error("a file of another format counts as a file of OTF2")
	}
	if _, err := Open(format.FileSource(filepath.Join(dir, "all.otf2"))); err != nil {
		t.Error(err)
	}
}
