package otf2

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// TestClockOffsetsAtOneTime checks several clock offsets of one location at the same time. The first one
// counts, a defect names the time, and all events are kept (docs/formats/otf2.md, "Clock correction").
func TestClockOffsetsAtOneTime(t *testing.T) {
	for _, x := range []struct {
		offsets []ClockOffset
		want    []int64 // corrected times of events at 100, 150 and 200
		defects []string
	}{
		{[]ClockOffset{{Time: 100, Offset: 0}, {Time: 200, Offset: 10}}, []int64{100, 155, 210}, nil},
		{[]ClockOffset{{Time: 100, Offset: 0}, {Time: 100, Offset: 90}, {Time: 200, Offset: 10}}, []int64{100, 155, 210},
			[]string{"a second clock offset at 100"}},
		{[]ClockOffset{{Time: 100, Offset: 0}, {Time: 200, Offset: 10}, {Time: 200, Offset: 90}}, []int64{100, 155, 210},
			[]string{"a second clock offset at 200"}},
		{[]ClockOffset{{Time: 100, Offset: 0}, {Time: 90, Offset: 90}, {Time: 200, Offset: 10}}, []int64{100, 155, 210},
			[]string{"a clock offset at 90 after one at 100"}},
		{[]ClockOffset{{Time: 100, Offset: 5}, {Time: 100, Offset: 5}}, []int64{100, 150, 200},
			[]string{"a second clock offset at 100"}},
	} {
		path := filepath.Join(t.TempDir(), "c.otf2")
		dst, err := format.CreateFile(path)
		if err != nil {
			t.Fatal(err)
		}
		w, err := NewWriter(dst, Anchor{})
		if err != nil {
			t.Fatal(err)
		}
		l := w.Location(0)
		for _, o := range x.offsets {
			if err := l.Clock(o); err != nil {
				t.Fatal(err)
			}
		}
		for _, at := range []uint64{100, 150, 200} {
			if err := l.Write(&Event{Time: at, Record: Record{ID: 17, Values: []uint64{at}}}); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(w.Define(&Record{ID: defClock, Values: []uint64{1, 0, 1000, undefined64}}),
			w.Define(&Record{ID: defLocation, Values: []uint64{0, undefined32, 1, 3, undefined32}}),
			w.Close(), dst.Commit()); err != nil {
			t.Fatal(err)
		}
		report := format.NewReport()
		d, err := Format{}.Open(context.Background(), format.FileSource(path), &format.ReadOptions{Report: report})
		if err != nil {
			t.Fatal(err)
		}
		var times []int64
		if err := d.Scan(context.Background(), trace.Everything(), format.PerLocation,
			format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
				times = append(times, b.Time...)
				return nil
			}}); err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, rule := range report.Rules() {
			for _, d := range rule.First {
				found = append(found, d.Found)
			}
		}
		if !slices.Equal(times, x.want) || !slices.Equal(found, x.defects) {
			t.Errorf("%v: found times %v, defects %q, expected %v, %q", x.offsets, times, found, x.want, x.defects)
		}
		if rules := checked(t, format.FileSource(path)); rules != fmt.Sprintf("otf2.damaged %d ", len(x.defects)) &&
			(rules != "" || x.defects != nil) {
			t.Errorf("%v: check finds %q", x.offsets, rules)
		}
	}
}

// TestAnchorOfAnotherArchive checks that an archive that is written with the anchor of another one states its
// own numbers of definitions and locations, and not the sums.
func TestAnchorOfAnotherArchive(t *testing.T) {
	a, err := Open(format.FileSource("testdata/ok/ring/eztrace_log.otf2"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "c.otf2")
	dst, err := format.CreateFile(path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewWriter(dst, a.Anchor)
	if err != nil {
		t.Fatal(err)
	}
	definitions, locations := uint64(0), uint64(0)
	err = a.Definitions(func(_ int64, r *Record) error {
		definitions++
		if r.ID == defLocation {
			locations++
		}
		return w.Define(r)
	})
	if err := errors.Join(err, w.Close(), dst.Commit()); err != nil {
		t.Fatal(err)
	}
	b, err := Open(format.FileSource(path))
	if err != nil {
		t.Fatal(err)
	}
	if b.Anchor.Definitions != definitions || b.Anchor.Locations != locations {
		t.Errorf("found %d definitions and %d locations, expected %d and %d", b.Anchor.Definitions, b.Anchor.Locations,
			definitions, locations)
	}
}

// TestNewWriterNeedsExtension checks that the name of an anchor file must end with ".otf2". The folder of the
// events has this name without the extension. So an anchor file without it would have the same name as the folder.
func TestNewWriterNeedsExtension(t *testing.T) {
	for _, name := range []string{"a", "a.OTF2", "a.foo"} {
		out, err := format.CreateFile(filepath.Join(t.TempDir(), name))
		if err != nil {
			t.Fatal(err)
		}
		_, err = NewWriter(out, Anchor{})
		if err == nil || !strings.Contains(err.Error(), "expected that of an anchor file") {
			t.Errorf("%s: found error %v, expected one about the name", name, err)
		}
		out.Abort()
	}
}
