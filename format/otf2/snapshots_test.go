package otf2

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/weft-trace/weft/format"
)

// records returns the records of a location's snapshots as lines, and the number of errors.
func records(t *testing.T, a *Archive, location uint64) (l []string, errs int) {
	t.Helper()
	s, err := a.Snapshots(location)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for {
		e, err := s.Next()
		if err == io.EOF {
			return l, errs
		}
		if err != nil {
			errs++
			continue
		}
		l = append(l, fmt.Sprint(e.Time, e.ID, e.Values, e.Attributes))
	}
}

// TestSnapshotWriter checks that the reader returns the snapshots that the writer wrote. Locations without
// snapshots get a file without records, because OTF2's own library requires such a file.
func TestSnapshotWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "made.otf2")
	dst, err := format.CreateFile(path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewWriter(dst, Anchor{})
	if err != nil {
		t.Fatal(err)
	}
	for id := range uint64(2) {
		if err := w.Location(id).Write(&Event{Time: 1, Record: Record{ID: enter, Values: []uint64{0}}}); err != nil {
			t.Fatal(err)
		}
		if err := w.Define(&Record{ID: defLocation, Values: []uint64{id, undefined32, 1, 1, undefined32}}); err != nil {
			t.Fatal(err)
		}
	}
	s := w.Snapshots(1)
	for _, e := range []Event{
		{Time: 5, Record: Record{ID: snapshotStart, Values: []uint64{2}}},
		{Time: 5, Record: Record{ID: 13, Values: []uint64{1, 0}}, Attributes: []Attribute{{3, typeInt8, 9}}},
		{Time: 5, Record: Record{ID: 26, Values: []uint64{2, 7, 2, typeUint64, 10, typeDouble, 11}}},
		{Time: 5, Record: Record{ID: snapshotEnd, Values: []uint64{1}}},
	} {
		if err := s.Write(&e); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Write(&Event{Time: 4, Record: Record{ID: snapshotStart, Values: []uint64{0}}}); err == nil {
		t.Error("a snapshot before the one before it")
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := dst.Commit(); err != nil {
		t.Fatal(err)
	}
	a, err := Open(format.FileSource(path))
	if err != nil {
		t.Fatal(err)
	}
	if a.Anchor.Snapshots != 1 {
		t.Errorf("%d snapshots", a.Anchor.Snapshots)
	}
	want := []string{"5 10 [2] []", "5 13 [1 0] [{3 5 9}]", "5 26 [2 7 2 4 10 10 11] []", "5 11 [1] []"}
	if got, errs := records(t, a, 1); !slices.Equal(got, want) || errs > 0 {
		t.Errorf("%q, want %q", got, want)
	}
	if got, errs := records(t, a, 0); len(got) > 0 || errs > 0 {
		t.Errorf("location 0 has %q", got)
	}
}

// TestSnapshotValues checks that the fields and attributes of the records of snapshots are checked like the
// fields and attributes of events. The archive defines location 0, region 0, attribute 0, of type UINT8, and a
// metric of one value of type INT64.
func TestSnapshotValues(t *testing.T) {
	enters := func(region uint64, attributes ...Attribute) []Event {
		return []Event{{Record: Record{ID: 13, Values: []uint64{3, region}}, Attributes: attributes}}
	}
	insert := func(after []byte, more ...byte) func(b []byte) []byte {
		return func(b []byte) []byte {
			i := bytes.Index(b, after) + len(after)
			return slices.Concat(b[:i], more, b[i:])
		}
	}
	list := []byte{attributeRecord, 5, 1, 1, 0, typeUint8, 7} // a list of one attribute
	for _, x := range []struct {
		what, rules string
		records     []Event
		change      func(b []byte) []byte
	}{
		{"sound records", "", append(enters(0, Attribute{0, typeUint8, 7}),
			Event{Record: Record{ID: 26, Values: []uint64{3, 0, 1, typeInt64, 9}}},
			Event{Record: Record{ID: 12, Values: []uint64{3, 1}}}), nil},
		{"an undefined region", "otf2.undefined 1 ", enters(8), nil},
		{"an undefined attribute", "otf2.undefined 1 ", enters(0, Attribute{5, typeUint8, 7}), nil},
		{"an attribute of another type", "otf2.value 1 ", enters(0, Attribute{0, typeInt64, 7}), nil},
		{"a metric's value of another type", "otf2.value 1 ",
			[]Event{{Record: Record{ID: 26, Values: []uint64{3, 0, 1, typeDouble, 9}}}}, nil},
		{"a metric without values", "otf2.value 1 ", []Event{{Record: Record{ID: 26, Values: []uint64{3, 0, 0}}}}, nil},
		{"a mode that does not exist", "otf2.value 1 ", []Event{{Record: Record{ID: 12, Values: []uint64{3, 9}}}}, nil},
		{"a list with a byte more", "otf2.record-bytes 1 ", enters(0, Attribute{0, typeUint8, 7}), func(b []byte) []byte {
			b = insert(list, 0)(b)
			b[bytes.Index(b, list)+1]++
			return b
		}},
		{"a list that says too many", "otf2.damaged 1 ", enters(0, Attribute{0, typeUint8, 7}), func(b []byte) []byte {
			b[bytes.Index(b, list)+3]++
			return b
		}},
		{"a list without a record", "otf2.damaged 1 ", enters(0), func(b []byte) []byte {
			return slices.Concat(b[:len(b)-2], list, b[len(b)-2:])
		}},
	} {
		path := filepath.Join(t.TempDir(), "made.otf2")
		dst, err := format.CreateFile(path)
		if err != nil {
			t.Fatal(err)
		}
		w, err := NewWriter(dst, Anchor{})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range []*Record{
			{ID: defClock, Values: []uint64{1000, 0, 10, undefined64}},
			{ID: defString, Values: []uint64{0, 0}, Texts: []string{"a"}},
			{ID: defRegion, Values: make([]uint64, 11)},
			{ID: defAttribute, Values: []uint64{0, 0, typeUint8, 0}},
			{ID: defMetricMember, Values: []uint64{0, 0, 0, 0, 0, typeInt64, 0, 0, 0}},
			{ID: defMetricClass, Values: []uint64{0, 1, 0, 0, 0}},
			{ID: defLocationGroup, Values: []uint64{0, 0, 1, undefined32, undefined32}},
			{ID: defLocation, Values: []uint64{0, 0, 1, 1, 0}},
		} {
			if err := w.Define(r); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Location(0).Write(&Event{Time: 3, Record: Record{ID: enter, Values: []uint64{0}}}); err != nil {
			t.Fatal(err)
		}
		n := uint64(len(x.records))
		for _, e := range slices.Concat([]Event{{Record: Record{ID: snapshotStart, Values: []uint64{n}}}}, x.records,
			[]Event{{Record: Record{ID: snapshotEnd, Values: []uint64{2}}}}) {
			e.Time = 5
			if err := w.Snapshots(0).Write(&e); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(w.Close(), dst.Commit()); err != nil {
			t.Fatal(err)
		}
		src := format.FileSource(path)
		if x.change != nil {
			src = mapped(t, path, "made/0.snap", x.change)
		}
		if rules := checked(t, src); rules != x.rules {
			t.Errorf("%s: found %s, expected %s", x.what, rules, x.rules)
		}
	}
}

// TestSnapshotDamage checks that damage in snapshots and thumbnails breaks a rule and that the rest of the
// archive is read.
func TestSnapshotDamage(t *testing.T) {
	end := func(b []byte, more ...byte) []byte { return append(append(bytes.Clone(b[:len(b)-2]), more...), 2, 1) }
	// The values of events and records are random.
	random := regexp.MustCompile(`otf2\.(time-order|time-range|undefined|value) \d+ `)
	whole, _ := records(t, must(t, format.FileSource(snapshots)), 1)
	for _, x := range []struct {
		what, file, rules string
		change            func(b []byte) []byte
		records           int // number of records of location 1
	}{
		{"nothing", "all/1.snap", "", bytes.Clone, len(whole)},
		{"a missing file", "all/7.snap", "otf2.missing-file 1 ", func([]byte) []byte { return nil }, len(whole)},
		{"no end", "all/1.snap", "otf2.damaged 1 ", func(b []byte) []byte { return b[:len(b)-2] }, len(whole)},
		{"a file cut in its header", "all/1.snap", "otf2.damaged 1 ", func(b []byte) []byte { return b[:10] }, 0},
		{"a file cut in its first time", "all/1.snap", "otf2.damaged 1 ", func(b []byte) []byte { return b[:25] }, 0},
		{"an unknown record", "all/1.snap", "otf2.chunk-numbers 1 otf2.unknown-record 1 ",
			func(b []byte) []byte { return end(b, 200, 1, 7) }, len(whole) + 1},
		{"a record that ends too early", "all/1.snap", "otf2.damaged 1 ",
			func(b []byte) []byte { return end(b, 13, 3, 1, 1, 1) }, len(whole)},
		{"attributes that end too early", "all/1.snap", "otf2.damaged 1 ",
			func(b []byte) []byte { return end(b, 6, 2, 1, 9) }, len(whole)},
		{"record 4", "all/1.snap", "otf2.chunk-numbers 1 otf2.unknown-record 1 ",
			func(b []byte) []byte { return end(b, 4, 1, 7) }, len(whole) + 1},
		{"record 3 without a length", "all/1.snap", "otf2.damaged 1 ", func(b []byte) []byte { return end(b, 3) },
			len(whole)},
		{"another number in the header", "all/1.snap", "otf2.chunk-numbers 1 ", func(b []byte) []byte {
			b = bytes.Clone(b)
			b[10]++
			return b
		}, len(whole)},
		{"a missing thumbnail", "all.1.thumb", "otf2.missing-file 1 ", func([]byte) []byte { return nil }, len(whole)},
		{"a thumbnail cut", "all.1.thumb", "otf2.damaged 1 ", func(b []byte) []byte { return b[:60] }, len(whole)},
		{"a sample more", "all.1.thumb", "otf2.counts 2 ", func(b []byte) []byte { return end(b, 11, 2, 0, 0) }, len(whole)},
	} {
		src := mapped(t, snapshots, x.file, x.change)
		if got, _ := records(t, must(t, src), 1); len(got) != x.records {
			t.Errorf("%s: %d records, want %d", x.what, len(got), x.records)
		}
		if rules := random.ReplaceAllString(checked(t, src), ""); rules != x.rules {
			t.Errorf("%s: %s, want %s", x.what, rules, x.rules)
		}
	}
}

func must(t *testing.T, src format.Source) *Archive {
	t.Helper()
	a, err := Open(src)
	if err != nil {
		t.Fatal(err)
	}
	return a
}
