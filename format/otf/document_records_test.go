package otf

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/tracetest"
)

// The tests of this file check sections 2.3 to 2.9 of the specification. document_test.go describes the names
// of the tests.

func TestDocument_2_3(t *testing.T) {
	t.Run("2.3 single lines of text", func(t *testing.T) {
		eachType(func(typ Type) {
			r := filledRecord(typ)
			for _, f := range specs[typ].fields {
				if f.bits == 0 && f.f != fieldMembers {
					*r.text(f.f) = "of\ntwo \"lines\"\n"
				}
			}
			for _, long := range []bool{false, true} {
				text := string(r.Append(nil, long))
				if strings.Count(text, "\n") != 1 || !strings.HasSuffix(text, "\n") {
					t.Errorf("%s: found %q, expected one line", typ, text)
				}
			}
		})
	})
	t.Run("2.3 state of the writer", func(t *testing.T) {
		type at struct{ time, process uint64 }
		for _, x := range []struct {
			name string
			at   []at
			want string
		}{
			{"a time once for many records", []at{{5, 1}, {5, 1}, {5, 1}}, "5\n*1\nE1\nE1\nE1\n5\n*1\n"},
			{"a process once", []at{{5, 1}, {5, 2}, {5, 2}, {5, 1}}, "5\n*1\nE1\n*2\nE1\nE1\n*1\nE1\n5\n*1\n"},
			{"a new time", []at{{5, 1}, {6, 1}}, "5\n*1\nE1\n6\n*1\nE1\n6\n*1\n"},
			{"time 0", []at{{0, 1}, {0, 1}}, "0\n*1\nE1\n0\n*1\nE1\n0\n*1\n"},
		} {
			var records []Record
			for _, a := range x.at {
				records = append(records, Record{Type: Enter, Time: a.time, Process: a.process, Function: 1})
			}
			if got := writtenFiles(t, &WriterOptions{Streams: 1}, records...)[".1.events"]; got != x.want {
				t.Errorf("%s: found %q, expected %q", x.name, got, x.want)
			}
		}
	})
	t.Run("2.3 valid until reassigned", func(t *testing.T) {
		for _, part := range []Part{Events, Snapshots, Statistics} {
			record := map[Part]string{Events: "N", Snapshots: "TC\"\"", Statistics: "SC\"\""}[part]
			text := strings.ReplaceAll("1\n*1\nR\nR\n2\nR\n*2\nR\n3\n*1\n4\n*2\nR\n*1\n*2\n*1\nR\n", "R", record)
			sameRecords(t, oneStreamTrace(part, text), part, nil, "1 *1 "+record, "1 *1 "+record, "2 *1 "+record, "2 *2 "+record,
				"4 *2 "+record, "4 *1 "+record)
		}
	})
	t.Run("2.3 handlers get time and process of every record", func(t *testing.T) {
		eachType(func(typ Type) {
			part := typ.Part()
			if !part.timed() {
				return
			}
			r := filledRecord(typ)
			text := fmt.Sprintf("7\n*2\n%s9\n*1\n%s*2\n%s", r.Append(nil, false), r.Append(nil, true), r.Append(nil, false))
			reader, err := Open(t.Context(), oneStreamTrace(part, text), nil)
			if err != nil {
				t.Fatal(err)
			}
			c, err := reader.Cursor(t.Context(), part)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			got := ""
			h := Handlers{}
			h[typ] = func(r *Record) error {
				got += fmt.Sprintf("%d *%d ", r.Time, r.Process)
				return nil
			}
			if _, err := c.Each(&h, 0); err != nil || got != "7 *2 9 *1 9 *2 " {
				t.Errorf("%s: found %q (%v)", typ, got, err)
			}
		})
	})
}

// TestDocument_2_4 checks the sentence "Unsorted files are regarded invalid". No writer makes such a file, and
// reading reports the defect.
func TestDocument_2_4(t *testing.T) {
	t.Run("2.4 writing", func(t *testing.T) {
		for _, typ := range []Type{Enter, EnterSnapshot, FunctionSummary} {
			for name, opt := range map[string]*WriterOptions{"short": nil, "long": {Long: true},
				"inline": {InlineSnapshots: true}} {
				w := NewStreamWriter(filepath.Join(t.TempDir(), "x"), 1, opt)
				if err := w.Write(&Record{Type: typ, Time: 6, Process: 1, Function: 1}); err != nil {
					t.Fatal(err)
				}
				var o *OrderError
				if err := w.Write(&Record{Type: typ, Time: 5, Process: 1, Function: 1}); !errors.As(err, &o) || o.Time != 5 ||
					o.Last != 6 {
					t.Errorf("%s, %s: found %v, expected an OrderError", typ, name, err)
				}
				w.Abort()
			}
		}
	})
	t.Run("2.4 reading", func(t *testing.T) {
		for _, part := range []Part{Events, Snapshots, Statistics} {
			record := map[Part]string{Events: "E1", Snapshots: "TE1O0", Statistics: "SF1N1E1I1"}[part]
			files := map[string]string{"x.otf": "1:1\n", "x.0.def": "DTR1\nDP1NM\"a\"\nDF1G0NM\"f\"\n",
				"x.1.events": "1\n*1\nN\n1\n*1\n"}
			files["x.1"+suffixes[part]] = strings.ReplaceAll("5\n*1\nR\n4\n*1\nR\n6\n*1\nR\n6\n*1\n", "R", record)
			rep := format.NewReport()
			d := tracetest.Open(t, Format{}, memoryTrace(files), &format.ReadOptions{Report: rep})
			tracetest.Dump(t, d, trace.Everything()) // Dump expects events in the order of time
			d.Close()
			if l := rep.Rules(); len(l) != 1 || l[0].Rule != "otf.unsorted" || l[0].Count != 1 {
				t.Errorf("%s: found %v, expected otf.unsorted", part, l)
			}
		}
	})
}

// TestDocument_2_5 checks that the search for a time reads few places of a file.
func TestDocument_2_5(t *testing.T) {
	for _, part := range []Part{Events, Snapshots, Statistics} {
		t.Run("2.5 time search, "+part.String(), func(t *testing.T) {
			// The text of a record may look like another kind of line. Such texts do not mislead the search.
			record := map[Part]string{Events: "#\"*1 5 E1\"", Snapshots: "TC\"*1 5 E1\"", Statistics: "SC\"*1 5 E1\""}[part]
			var b strings.Builder
			const n = 200_000
			for i := range n {
				fmt.Fprintf(&b, "%x\n*%x\n%s\n", 10*i+10, i%2+1, record)
			}
			src := oneStreamTrace(part, b.String())
			for _, at := range []int{10, 20, 99_990, 1_000_000, 1_234_560, 10 * n} {
				watch := &watchedFS{FS: src.FS}
				w := src
				w.FS = watch
				want := fmt.Sprintf("%d *%d %s", at, (at/10+1)%2+1, record)
				for from := at - 9; from <= at; from += 9 { // between two times, and exactly at a time
					sameRecords(t, w, part, &Options{From: uint64(from), To: uint64(at) + 1}, want)
				}
				if size := int64(b.Len()); watch.read/2 > size/10 {
					t.Errorf("time %d: found %d bytes read, expected few of %d", at, watch.read/2, size)
				}
			}
			sameRecords(t, src, part, &Options{From: 10*n + 1})
		})
	}
}

// namedEvents returns the events with the names of the definitions they refer to.
func namedEvents(t *testing.T, files map[string]string) (list []string) {
	t.Helper()
	d := tracetest.Open(t, Format{}, memoryTrace(files), nil)
	defer d.Close()
	err := d.Scan(t.Context(), trace.Everything(), format.GlobalOrder,
		format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
			c := b.Cursor()
			for c.Next() {
				name, defs := "", d.Defs()
				if spec := defs.Spec(c.Kind()); spec.Ref == trace.RefRegion {
					name = defs.Regions.At(c.Ref()).Name
				} else if c.Ref() != trace.NoRef {
					name = defs.Metrics.At(c.Ref()).Name
				}
				list = append(list, fmt.Sprintf("%d %s %s %s", c.Time(), defs.Locations.At(c.Location()).Name,
					defs.Spec(c.Kind()).Name, name))
			}
			return nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestDocument_2_6(t *testing.T) {
	t.Run("2.6 timer resolution", func(t *testing.T) {
		for text, want := range map[string]int64{"DTR3e8\n": 1000, "DTR3b9aca00\n": 1_000_000_000, "DTR1\n": 1,
			"DP1NM\"a\"\n": 1_000_000} {
			d := tracetest.Open(t, Format{}, memoryTrace(map[string]string{"x.otf": "1:1\n", "x.0.def": text,
				"x.1.events": "1\n*1\nN\n"}), nil)
			if c := d.Defs().Clock; c.Num != want {
				t.Errorf("%q: found %d ticks a second, expected %d", text, c.Num, want)
			}
			d.Close()
		}
	})
	t.Run("2.6 a separate file for definitions", func(t *testing.T) {
		src := memoryTrace(map[string]string{"x.otf": "1:1\n", "x.0.def": "E1\nDF1G0NM\"f\"\n",
			"x.1.events": "1\n*1\nDF2G0NM\"g\"\nE1\n"})
		reader, err := Open(t.Context(), src, nil)
		if err != nil {
			t.Fatal(err)
		}
		for part, want := range map[Part][]Type{Definitions: {Unknown, DefFunction}, Events: {Unknown, Enter}} {
			c, err := reader.Cursor(t.Context(), part)
			if err != nil {
				t.Fatal(err)
			}
			var got []Type
			for c.Next() {
				got = append(got, c.Record().Type)
			}
			c.Close()
			if !slices.Equal(got, want) {
				t.Errorf("%s: found %v, expected %v", part, got, want)
			}
		}
	})
	t.Run("2.6 late, local and global definitions", func(t *testing.T) {
		// The writer accepts definitions at any time. The events stay in order and have the names from the
		// definitions.
		files := writtenFiles(t, &WriterOptions{UniqueID: 1},
			Record{Type: Enter, Time: 5, Process: 1, Function: 7}, Record{Type: Enter, Time: 6, Process: 2, Function: 7},
			Record{Type: DefFunction, Token: 7, Name: "global"}, Record{Type: Leave, Time: 7, Process: 1, Function: 7},
			Record{Type: DefFunction, Stream: 2, Token: 7, Name: "local"}, Record{Type: DefProcess, Token: 1, Name: "a"},
			Record{Type: DefProcess, Token: 2, Name: "b"})
		in := map[string]string{}
		for k, v := range files {
			in["x"+k] = v
		}
		if got, want := namedEvents(t, in), []string{"5 a enter global", "6 b enter local",
			"7 a leave global"}; !slices.Equal(got, want) {
			t.Errorf("found %q, expected %q", got, want)
		}
		// Each definition is valid for the streams to which its file belongs.
		sameRecords(t, memoryTrace(in), Definitions, nil, "0: DV1.c.5\"salmon\"", "0: DUI1", "0: DF7G0NM\"global\"",
			"0: DP1NM\"a\"", "0: DP2NM\"b\"", "2: DF7G0NM\"local\"")
	})
	t.Run("2.6 tokens are compared, and are no indices", func(t *testing.T) {
		make := func(p, q, f, g, c uint32) map[string]string {
			return map[string]string{"x.otf": fmt.Sprintf("1:%x\n2:%x\n", p, q),
				"x.0.def": fmt.Sprintf("DTR1\nDP%xNM\"p\"\nDP%xNM\"q\"\nDF%xG0NM\"f\"\nDF%xG0NM\"g\"\nDCNT%xG0NM\"c\"P0U\"\"\n",
					p, q, f, g, c),
				"x.1.events": fmt.Sprintf("1\n*%x\nE%x\nE%x\n2\n*%x\nCNT%xV5\nL%x\n", p, f, g, p, c, g),
				"x.2.events": fmt.Sprintf("3\n*%x\nE%x\n", q, f)}
		}
		want := []string{"1 p enter f", "1 p enter g", "2 p metric c", "2 p leave g", "3 q enter f"}
		for _, x := range [][5]uint32{{1, 2, 1, 2, 1}, {2, 1, 2, 1, 5}, {0xfffffffe, 0x80000000, 0xffffffff, 0x7fffffff,
			0xfffffffd}, {77, 1 << 20, 3, 1 << 30, 1 << 31}} {
			if got := namedEvents(t, make(x[0], x[1], x[2], x[3], x[4])); !slices.Equal(got, want) {
				t.Errorf("%x: found %q, expected %q", x, got, want)
			}
		}
	})
	t.Run("2.6 tokens have 32 bits", func(t *testing.T) {
		eachType(func(typ Type) {
			for _, f := range specs[typ].fields {
				if f.bits != 32 {
					continue
				}
				r := filledRecord(typ)
				*r.number(f.f) = 1 << 32
				w := NewStreamWriter(filepath.Join(t.TempDir(), "x"), 1, nil)
				if err := w.Write(&r); err == nil {
					t.Errorf("%s: a field of 33 bits is written", typ)
				}
				w.Abort()
			}
		})
		w := Create(filepath.Join(t.TempDir(), "x"), nil)
		if err := w.Write(&Record{Type: Enter, Process: 1 << 32, Function: 1}); err == nil {
			t.Error("a process of 33 bits is written")
		}
		w.Abort()
	})
}

// handSnapshots writes a trace of two processes with snapshots, summaries and files of all other
// parts.
func handSnapshots(t *testing.T, level int) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "x.otf")
	w := Create(name, &WriterOptions{Level: level, UniqueID: 1})
	records := []Record{{Type: DefTimerResolution, TicksPerSecond: 1}, {Type: DefProcess, Token: 1, Name: "p"},
		{Type: DefProcess, Token: 2, Name: "q"},
		{Type: DefFunction, Token: 1, Name: "f"}, {Type: DefFunction, Stream: 2, Token: 2, Name: "g"},
		{Type: DefMarker, Token: 1, Name: "m"}}
	for i := range uint64(50) {
		typ := Enter
		if i%2 == 1 {
			typ = Leave
		}
		records = append(records, Record{Type: typ, Time: 10 * i, Process: 1, Function: 1},
			Record{Type: typ, Time: 10*i + 1, Process: 2, Function: 2})
	}
	for i := range records {
		if err := w.Write(&records[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestDocument_2_8 checks the sentence "Because they live in a separate file, it is possible to add,
// manipulate, replace and delete snapshots of a stream without affecting event data". The same holds for
// summaries. Augmenting makes snapshots or summaries only on request.
func TestDocument_2_8(t *testing.T) {
	for level := range 2 {
		m := handSnapshots(t, level)
		here := func() map[string]string { return contents(t, filepath.Dir(m)) }
		before := here()
		for name := range before {
			if strings.Contains(name, ".snaps") || strings.Contains(name, ".stats") {
				t.Errorf("2.8 not generated: found %s, expected no snapshots and summaries", name)
			}
		}
		to := copyOf(t, m, nil)
		if l, _ := filepath.Glob(filepath.Dir(to) + "/*.s*"); len(l) > 0 {
			t.Errorf("2.8 not generated: a copy has %q", l)
		}
		snaps := func() int {
			l, _ := filepath.Glob(filepath.Dir(m) + "/*.snaps*")
			return len(l)
		}
		stats := func() int {
			l, _ := filepath.Glob(filepath.Dir(m) + "/*.stats*")
			return len(l)
		}
		for i, x := range []struct {
			opt          AugmentOptions
			snaps, stats int
		}{
			// adds the files of snapshots
			{AugmentOptions{Snapshots: true, Points: pointsAt(5, 205)}, 2, 0},
			// adds the files of summaries
			{AugmentOptions{Summaries: true, Points: pointsAt(5, 205)}, 2, 2},
			// replaces the files of snapshots
			{AugmentOptions{Snapshots: true, Points: pointsAt(5, 17, 18, 19, 100, 400)}, 2, 2},
			// replaces the files of summaries
			{AugmentOptions{Summaries: true, Points: pointsAt(5, 17, 18, 19, 100, 400)}, 2, 2},
			// deletes the files of summaries
			{AugmentOptions{Summaries: true, Remove: true}, 2, 0},
			// deletes the files of snapshots
			{AugmentOptions{Snapshots: true, Remove: true}, 0, 0},
			// adds and deletes files of both kinds
			{AugmentOptions{Points: PointsEvery(37)}, 2, 2}, {AugmentOptions{Remove: true}, 0, 0},
		} {
			augment(t, m, &x.opt)
			if snaps() != x.snaps || stats() != x.stats {
				t.Errorf("2.8 step %d: found %d files of snapshots and %d of summaries, expected %d and %d", i, snaps(), stats(),
					x.snaps, x.stats)
			}
			for name, text := range here() {
				if strings.Contains(name, ".events") || strings.Contains(name, ".2.def") || strings.Contains(name, ".marker") ||
					strings.HasSuffix(name, ".otf") {
					if text != before[name] {
						t.Errorf("2.8 step %d: %s has changed", i, name)
					}
				}
			}
		}
	}
}

// TestDocument_2_9 checks the equation "p([a, b]) := p(b) − p(a)". Any two points in time with statistics give
// the sums between them, without reading events.
func TestDocument_2_9(t *testing.T) {
	values := []struct{ time, count, exclusive, inclusive uint64 }{{10, 1, 3, 4}, {20, 1, 5, 9}, {35, 6, 11, 25},
		{70, 9, 30, 31}}
	files := map[string]string{"x.otf": "1:1\n", "x.0.def": "DTR1\nDP1NM\"p\"\nDFG1NM\"g\"\nDF1G1NM\"f\"\n"}
	for _, v := range values {
		files["x.1.stats"] += fmt.Sprintf("%x\n*1\nSF1N%xE%xI%x\nSG1N%xE%xI%x\n", v.time, v.count, v.exclusive, v.inclusive,
			v.count, v.exclusive, v.inclusive)
	}
	r, err := Open(t.Context(), memoryTrace(files), nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range values {
		for _, b := range values[i:] {
			var got, want []string
			list, err := r.Summary(t.Context(), 1, a.time, b.time)
			if err != nil {
				t.Fatal(err)
			}
			for k := range list {
				got = append(got, recordText(&list[k], Statistics))
			}
			for _, what := range []string{"SF", "SG"} {
				if a != b {
					want = append(want, fmt.Sprintf("%d *1 %s1N%xE%xI%x", b.time, what, b.count-a.count, b.exclusive-a.exclusive,
						b.inclusive-a.inclusive))
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("2.9 [%d, %d]: found %q, expected %q", a.time, b.time, got, want)
			}
		}
	}
	if _, err := r.Summary(t.Context(), 1, 20, 10); err == nil {
		t.Error("2.9: found sums of an interval that ends before it begins, expected an error")
	}
}
