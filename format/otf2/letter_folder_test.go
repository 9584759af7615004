package otf2

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// TestLetter_0_folder checks that a file in place of the folder of an archive costs the files of the folder, and
// nothing else.
func TestLetter_0_folder(t *testing.T) {
	dir := t.TempDir()
	for name, f := range letterArchive(letterDefinitions()...) {
		if path := filepath.Join(dir, name); !strings.Contains(name, "/") {
			if err := os.WriteFile(path, f.Data, 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "t"), []byte("no folder"), 0o666); err != nil {
		t.Fatal(err)
	}
	opt := &format.ReadOptions{Report: format.NewReport()}
	d, err := Format{}.Open(t.Context(), format.FileSource(filepath.Join(dir, "t.otf2")), opt)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if d.Defs().Locations.Len() == 0 {
		t.Error("found no locations, expected those of the definition file")
	}
	if err := d.Scan(t.Context(), trace.Everything(), format.GlobalOrder, format.SinkFuncs{}); err != nil {
		t.Fatal(err)
	}
	for _, r := range opt.Report.Rules() {
		if r.Rule != "otf2.missing-file" || r.First[0].Found != "no such file" {
			t.Errorf("found %+v, expected only missing files", r)
		}
	}
	if len(opt.Report.Rules()) != 1 {
		t.Errorf("found %d rules, expected missing files", len(opt.Report.Rules()))
	}
}
