package otf2

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/weft-trace/weft/format"
)

// TestSnapshotCounts checks that the number of records that the begin of a snapshot announces is compared with
// the number of records until the end of the snapshot.
func TestSnapshotCounts(t *testing.T) {
	const begin, end, measurement = 10, 11, 12 // the records that docs/formats/otf2.md, "Snapshots", describes
	for _, x := range []struct {
		name string
		ids  []uint8
		// announced are the numbers of records that the begins of snapshots announce.
		announced []uint64
		want      string
	}{
		{"good", []uint8{begin, measurement, measurement, end, begin, end, begin, measurement, end}, []uint64{2, 0, 1}, ""},
		{"more", []uint8{begin, measurement, measurement, end}, []uint64{1}, "otf2.counts 1 "},
		{"fewer", []uint8{begin, measurement, end, begin, end}, []uint64{2, 1 << 40}, "otf2.counts 2 "},
		{"no end", []uint8{begin, measurement, begin, measurement, end, begin}, []uint64{1, 1, 0}, "otf2.counts 2 "},
	} {
		path := filepath.Join(t.TempDir(), "x.otf2")
		out, err := format.CreateFile(path)
		if err != nil {
			t.Fatal(err)
		}
		w, err := NewWriter(out, Anchor{})
		if err != nil {
			t.Fatal(err)
		}
		must := func(err error) {
			if err != nil {
				t.Fatal(err)
			}
		}
		must(w.Define(&Record{ID: defClock, Values: []uint64{1000, 0, 10, undefined64}}))
		must(w.Define(&Record{ID: defString, Values: []uint64{0, 0}, Texts: []string{""}}))
		must(w.Define(&Record{ID: defTreeNode, Values: []uint64{0, 0, 0, undefined32}}))
		must(w.Define(&Record{ID: defLocationGroup, Values: []uint64{0, 0, 1, 0, undefined32}}))
		must(w.Define(&Record{ID: defLocation, Values: []uint64{0, 0, 1, 0, 0}}))
		s, announced := w.Snapshots(0), x.announced
		for _, id := range x.ids {
			v := []uint64{0}
			switch id {
			case begin:
				v[0], announced = announced[0], announced[1:]
			case measurement:
				v = []uint64{0, 1}
			}
			must(s.Write(&Event{Time: 1, Record: Record{ID: id, Values: v}}))
		}
		must(errors.Join(w.Close(), out.Commit()))
		if got := checked(t, format.FileSource(path)); got != x.want {
			t.Errorf("%s: found %q, expected %q", x.name, got, x.want)
		}
	}
}
