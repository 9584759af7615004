package otf

import (
	"os"
	"path/filepath"
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

// TestExtentIncludesMarkers checks that the markers before the first event and after the last event belong to the time
// range of a trace, as [format.Extent] demands: weft cut from 0 to 100 % must keep them.
func TestExtentIncludesMarkers(t *testing.T) {
	for _, c := range []struct {
		events      string
		first, last int64
	}{{"*5\n*1\nE1\n9\nL1\n", 2, 12}, {"1\n*1\nE1\n11\nL1\n", 1, 17}, {"", 2, 12}} {
		dir := t.TempDir()
		for name, text := range map[string]string{"x.otf": "1:1\n", "x.0.def": "DTR1\nDP1NM\"p\"\nDF1G0NM\"f\"\n",
			"x.1.events": c.events, "x.0.marker": "MD1NM\"m\"Y1\nMS1T2P1V\"a\"\nMS1TcP1V\"b\"\n"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		f, err := Format{}.Open(t.Context(), format.FileSource(filepath.Join(dir, "x.otf")), &format.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		first, last, ok, err := f.Extent(t.Context())
		if first != c.first || last != c.last || !ok || err != nil {
			t.Errorf("%q: found %d to %d (%v, %v), expected %d to %d", c.events, first, last, ok, err, c.first, c.last)
		}
	}
}
