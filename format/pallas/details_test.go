package pallas

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/format"
)

// TestSummaryAfterDetails checks that Summary returns the same result before and after a call of Details,
// which reads the threads.
func TestSummaryAfterDetails(t *testing.T) {
	files, err := filepath.Glob("testdata/ok/*/trace/*.pallas")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	some := false
	for _, path := range files {
		open := func() format.File {
			d, err := (Format{}).Open(t.Context(), format.FileSource(path), &format.ReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		want, err := open().Summary(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		d := open()
		tables, err := d.Details(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range tables {
			x.Close()
		}
		got, err := d.Summary(t.Context())
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", path, err, diff)
		}
		some = some || want != nil
	}
	if !some {
		t.Error("found no trace with a summary")
	}
}
