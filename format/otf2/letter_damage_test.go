package otf2

import (
	"io/fs"
	"slices"
	"testing"
	"testing/fstest"
)

// TestLetter_0_directory checks that a directory in place of a file is a defect of that file, and costs no other file.
func TestLetter_0_directory(t *testing.T) {
	for name, want := range map[string][]string{"t/0.evt": letterEvents[4:], "t/0.def": letterEvents,
		"t.marker": letterEvents} {
		m := letterArchive(letterDefinitions()...)
		m[name] = &fstest.MapFile{Mode: fs.ModeDir}
		events, defects := letterRead(t, m)
		wrong := name + ":0x0 otf2.damaged: found a directory, expected a file of the archive"
		if !slices.Equal(events, want) || !slices.Contains(defects, wrong) {
			t.Errorf("%s: events %q, defects %q; want %q, %q", name, events, defects, want, wrong)
		}
	}
}
