package otf

import (
	"testing"

	"github.com/weft-trace/weft/format"
)

// TestExtentFromEnds checks the time range that a reader finds at the ends of files. It must equal the time
// range of the whole files, if the files are in the order of time.
func TestExtentFromEnds(t *testing.T) {
	eachTrace(t, func(t *testing.T, dir, m string) {
		report := format.NewReport()
		all, err := Format{}.Open(t.Context(), format.FileSource(m), &format.ReadOptions{Report: report})
		if err != nil {
			t.Skip(err)
		}
		defer all.Close()
		quick, err := Format{}.Open(t.Context(), format.FileSource(m), &format.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer quick.Close()
		if err := all.(*decoder).survey(t.Context()); err != nil {
			t.Fatal(err)
		}
		first, last, ok, err := all.Extent(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range report.Rules() {
			if r.Rule == "otf.unsorted" {
				t.Skip("not in the order of time")
			}
		}
		a, b, there, err := quick.Extent(t.Context())
		if a != first || b != last || there != ok || err != nil {
			t.Errorf("got %d to %d %v, error %v, want %d to %d %v", a, b, there, err, first, last, ok)
		}
	})
}
