package otf2

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/effort"
	"github.com/weft-trace/weft/trace"
)

// scanned returns the number of events of a trace by kind, the rules of its defects, and its definitions.
func scanned(t testing.TB, src format.Source, values map[string]string) (n map[string]int, rules string,
	defs *trace.Definitions) {
	t.Helper()
	rep := format.NewReport()
	d, err := (Format{}).Open(context.Background(), src, &format.ReadOptions{Report: rep, Values: values})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	fresh := func() func(int) format.Sink {
		n = map[string]int{}
		return func(int) format.Sink {
			return format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
				mu.Lock()
				defer mu.Unlock()
				for _, k := range b.Kind {
					n[d.Defs().Spec(k).Name]++
				}
				return nil
			}}
		}
	}
	if err := d.ScanParallel(context.Background(), trace.Everything(), fresh); err != nil {
		t.Fatal(err)
	}
	for _, r := range rep.Rules() {
		rules += fmt.Sprintf("%s %d ", r.Rule, r.Count)
	}
	return n, rules, d.Defs()
}

// TestCounts checks that every event that otf2-print prints becomes one event of the model, and a
// metric one event per value.
func TestCounts(t *testing.T) {
	for _, name := range []string{"ring/eztrace_log", "heat2d-mt/traces", "omp/eztrace_log"} {
		anchor := "testdata/ok/" + name + ".otf2"
		printed := map[string]int{}
		values := 0
		_, events, _ := bytes.Cut(compat(t, anchor), []byte("=== Events ==="))
		for _, l := range strings.Split(string(events), "\n") {
			if f := strings.Fields(l); len(f) > 0 && !strings.HasPrefix(l, " ") && !strings.HasPrefix(l, "-") &&
				f[0] != "Event" && !strings.HasPrefix(l, "=") {
				printed[f[0]]++
				if f[0] == "METRIC" {
					values += strings.Count(l, ";") / 2
				}
			}
		}
		n, rules, _ := scanned(t, format.FileSource(anchor), nil)
		if rules != "" {
			t.Errorf("%s: %s", name, rules)
		}
		for word, kind := range map[string]string{"ENTER": "enter", "LEAVE": "leave", "MPI_SEND": "send", "MPI_RECV": "recv",
			"MPI_ISEND": "send-begin", "MPI_IRECV": "recv-complete", "MPI_ISEND_COMPLETE": "send-complete",
			"MPI_IRECV_REQUEST": "recv-begin", "MPI_COLLECTIVE_BEGIN": "collective-begin",
			"MPI_COLLECTIVE_END": "collective-end", "THREAD_BEGIN": "thread-begin", "THREAD_TEAM_BEGIN": "thread-team-begin",
			"PROGRAM_BEGIN": "program-begin", "PARAMETER_INT64": "parameter"} {
			if n[kind] != printed[word] {
				t.Errorf("%s: %d events %s, printed %d %s", name, n[kind], kind, printed[word], word)
			}
		}
		if n["metric"] != values {
			t.Errorf("%s: %d values, printed %d", name, n["metric"], values)
		}
	}
}

// TestProperties checks that values of properties of all types equal the values that otf2-print shows.
func TestProperties(t *testing.T) {
	const anchor = "testdata/ok/propvals/traces.otf2"
	_, _, defs := scanned(t, format.FileSource(anchor), nil)
	var got, want []string
	for _, l := range defs.Locations.All() {
		for _, a := range l.Attrs {
			got = append(got, a.Key+"="+a.Value.String())
		}
	}
	for _, l := range strings.Split(string(compat(t, anchor)), "\n") {
		if !strings.HasPrefix(l, "LOCATION_PROPERTY") {
			continue
		}
		_, rest, _ := strings.Cut(l, `Name: "`)
		name, rest, _ := strings.Cut(rest, `"`)
		_, value, _ := strings.Cut(rest, "Value: ")
		if text, _, ok := strings.Cut(strings.TrimPrefix(value, `"`), `" <`); ok {
			value = text
		}
		want = append(want, name+"="+value)
	}
	if !slices.Equal(got, want) || len(want) < 10 {
		t.Errorf("%q, want %q", got, want)
	}
}

// mapped returns an archive in memory with a changed file. If change returns nil, the file is
// missing.
func mapped(t testing.TB, anchor, name string, change func(b []byte) []byte) format.Source {
	t.Helper()
	m := fstest.MapFS{}
	dir := filepath.Dir(anchor)
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if rel = filepath.ToSlash(rel); rel == name {
			if b = change(b); b == nil {
				return nil
			}
		}
		m[rel] = &fstest.MapFile{Data: b}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return format.Source{FS: m, Name: filepath.Base(anchor), Path: filepath.Base(anchor)}
}

// TestDamage checks that each sort of damage breaks a rule, and that the rest of the archive is read.
func TestDamage(t *testing.T) {
	const anchor = "testdata/ok/ring/eztrace_log.otf2"
	whole, _, _ := scanned(t, format.FileSource(anchor), nil)
	total := func(n map[string]int) (sum int) {
		for _, k := range n {
			sum += k
		}
		return sum
	}
	one, _, _ := scanned(t, mapped(t, anchor, "eztrace_log/0.evt", func([]byte) []byte { return nil }), nil)
	for _, x := range []struct {
		what, file, rules string
		change            func(b []byte) []byte
		events            int
	}{
		{"no file of events", "eztrace_log/0.evt", "otf2.missing-file 1 ", func([]byte) []byte { return nil }, total(one)},
		{"an empty one", "eztrace_log/0.evt", "otf2.damaged 1 ", func([]byte) []byte { return []byte{} }, total(one)},
		{"cut in the header", "eztrace_log/0.evt", "otf2.damaged 1 ", func(b []byte) []byte { return b[:10] }, total(one)},
		{"no mark of the end", "eztrace_log/0.evt", "otf2.damaged 1 ", func(b []byte) []byte { return b[:len(b)-2] },
			total(whole)},
		{"another record at the end", "eztrace_log/0.evt", "otf2.damaged 1 ",
			func(b []byte) []byte { return append(b[:len(b)-2:len(b)-2], 9) }, total(whole)},
		{"record 3 with a length", "eztrace_log/0.evt", "otf2.damaged 1 ",
			func(b []byte) []byte { return append(b[:len(b)-2:len(b)-2], 3, 2, 1, 2, 22, 0, 2, 1) }, total(whole) + 2},
		{"records 4, 7, 8 and 9", "eztrace_log/0.evt", "otf2.damaged 4 ", func(b []byte) []byte {
			return append(b[:len(b)-2:len(b)-2], 4, 1, 9, 7, 0, 8, 1, 9, 9, 2, 9, 9, 22, 0, 2, 1)
		}, total(whole) + 5},
		{"an unknown record", "eztrace_log/0.evt", "otf2.unknown-record 1 ",
			func(b []byte) []byte { return append(b[:len(b)-2:len(b)-2], 200, 3, 1, 2, 3, 2, 1) }, total(whole) + 1},
		{"an unknown region", "eztrace_log/0.evt", "otf2.undefined 1 ",
			func(b []byte) []byte { return append(b[:len(b)-2:len(b)-2], 12, 3, 1, 2, 3, 2, 1) }, total(whole) + 1},
		{"a time before", "eztrace_log/0.evt", "otf2.time-order 1 ", func(b []byte) []byte {
			return append(b[:len(b)-2:len(b)-2], 5, 1, 0, 0, 0, 0, 0, 0, 0, 22, 0, 2, 1)
		}, total(whole) + 1},
		{"a time of 2⁶⁴−2", "eztrace_log/0.evt", "otf2.time-range 1 ", func(b []byte) []byte {
			return append(b[:len(b)-2:len(b)-2], 5, 254, 255, 255, 255, 255, 255, 255, 255, 22, 0, 2, 1)
		}, total(whole)},
		{"no local definitions", "eztrace_log/0.def", "otf2.missing-definitions 1 ",
			func([]byte) []byte { return nil }, total(whole)},
		{"damaged local definitions", "eztrace_log/0.def", "otf2.damaged 1 ", func(b []byte) []byte { return b[:5] },
			total(whole)},
		{"definitions without an end", "eztrace_log.def", "otf2.damaged 1 ", func(b []byte) []byte { return b[:len(b)-2] },
			total(whole)},
	} {
		n, rules, _ := scanned(t, mapped(t, anchor, x.file, x.change), nil)
		if rules != x.rules || total(n) != x.events {
			t.Errorf("%s: %d events, %s; want %d, %s", x.what, total(n), rules, x.events, x.rules)
		}
	}
}

// TestSorted checks that the reader sorts events whose times go back, on request. It must deliver all events
// in order, with their own times.
func TestSorted(t *testing.T) {
	const anchor = "testdata/ok/ring/eztrace_log.otf2"
	late := func(b []byte) []byte { // late appends events at 1 ns and 2 ns to the file, after all others
		return append(b[:len(b)-2:len(b)-2], 5, 1, 0, 0, 0, 0, 0, 0, 0, 22, 0, 5, 2, 0, 0, 0, 0, 0, 0, 0, 22, 0, 2, 1)
	}
	times := func(src format.Source, values map[string]string, ordered bool) (l []int64, rules []format.RuleCount) {
		report := format.NewReport()
		d, err := Format{}.Open(context.Background(), src, &format.ReadOptions{Report: report, Values: values})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		if err := d.Prepare(context.Background()); err != nil {
			t.Fatal(err)
		}
		sink := format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
			for i, x := range b.Time {
				if d.Defs().Locations.At(b.Location(i)).ID == "0" {
					l = append(l, x)
				}
			}
			return nil
		}}
		if ordered {
			err = d.Scan(context.Background(), trace.Everything(), format.GlobalOrder, sink)
		} else {
			err = d.Scan(context.Background(), trace.Everything(), format.PerLocation, sink)
		}
		if err != nil {
			t.Fatal(err)
		}
		return l, report.Rules()
	}
	whole, _ := times(format.FileSource(anchor), nil, false)
	base := whole[0] // EZTrace's clock begins at the first event
	for _, ordered := range []bool{false, true} {
		got, rules := times(mapped(t, anchor, "eztrace_log/0.evt", late), map[string]string{"otf2.order": "sort"}, ordered)
		if len(got) != len(whole)+2 || !slices.IsSorted(got) || !slices.Equal(got[2:], whole) || got[1]-got[0] != 1 ||
			got[1] >= base {
			t.Errorf("found %d events, the first at %v, expected %d, the first two before the others", len(got), got[:3],
				len(whole)+2)
		}
		if len(rules) != 1 || rules[0].Rule != "otf2.time-order" || rules[0].Count != 2 {
			t.Errorf("found %v, expected otf2.time-order twice", rules)
		}
	}
	raised, _ := times(mapped(t, anchor, "eztrace_log/0.evt", late), nil, false)
	if n := len(raised); n != len(whole)+2 || raised[n-1] != whole[len(whole)-1] {
		t.Errorf("found %d events, expected %d, the last two at the latest time", n, len(whole)+2)
	}
}

// TestRefused checks that unreadable archives are rejected with an explanation.
func TestRefused(t *testing.T) {
	const anchor = "testdata/ok/ring/eztrace_log.otf2"
	b, err := os.ReadFile(anchor)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		at   int
		to   byte
		want string
	}{{0, 4, "expected 3"}, {1, 0, "expected 0x42 or 0x23"}, {2, 'X', `expected "OTF2"`}, {28, 2, "SIONlib"},
		{29, 2, "zlib"}, {14, 1, "expected a chunk size"}} {
		src := mapped(t, anchor, "eztrace_log.otf2", func(b []byte) []byte {
			b = bytes.Clone(b)
			b[x.at] = x.to
			return b
		})
		if _, err := Open(src); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("byte %d: %v, want %s", x.at, err, x.want)
		}
	}
	for n := range b {
		if _, err := Open(mapped(t, anchor, "eztrace_log.otf2", func(b []byte) []byte { return b[:n] })); err == nil {
			t.Errorf("%d bytes are an anchor file", n)
		}
	}
}

// TestRandom checks that random archives with many undefined ids are read in full, with the same result on one
// core and on several cores.
func TestRandom(t *testing.T) {
	for seed := range uint64(5) {
		path := random(t, seed, 400)
		one, rules, _ := scanned(t, format.FileSource(path), nil)
		if strings.Contains(rules, "damaged") || strings.Contains(rules, "missing") {
			t.Errorf("seed %d: %s", seed, rules)
		}
		a, err := Open(format.FileSource(path))
		if err != nil {
			t.Fatal(err)
		}
		ids, err := a.LocationIDs()
		if err != nil {
			t.Fatal(err)
		}
		if len(ids) != 6 || one["enter"] == 0 || one["communicator-destroy"] == 0 {
			t.Errorf("seed %d: %d locations, %v", seed, len(ids), one)
		}
	}
}

// TestWindow checks that windows of archives with many chunks have the events that the whole archive has in
// this window, with one interval of clock offsets and with several intervals.
func TestWindow(t *testing.T) {
	effort.Sequential(t)
	for seed := range uint64(3) {
		path := filepath.Join(t.TempDir(), "long.otf2")
		dst, err := format.CreateFile(path)
		if err != nil {
			t.Fatal(err)
		}
		w, err := NewWriter(dst, Anchor{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range uint64(2) {
			e := w.Location(i)
			for k := range seed + 1 {
				if err := e.Clock(ClockOffset{k * 300_000, int64(1000 + 7*k*i), 0}); err != nil {
					t.Fatal(err)
				}
			}
			time := uint64(0)
			for k := range uint64(100_000) {
				time += (k + i) % 7
				if err := e.Write(&Event{Time: time, Record: Record{ID: 17, Values: []uint64{k}}}); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Define(&Record{ID: defLocation, Values: []uint64{i, 0, 1, e.Count, 0}}); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(w.Close(), dst.Commit()); err != nil {
			t.Fatal(err)
		}
		rows := func(from, to int64) (l []string) {
			d, err := (Format{}).Open(context.Background(), format.FileSource(path), &format.ReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			sel := trace.Everything()
			sel.From, sel.To = from, to
			if err := d.Scan(context.Background(), sel, format.GlobalOrder,
				format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
					c := b.Cursor()
					for c.Next() {
						l = append(l, fmt.Sprint(c.Time(), c.Location(), c.Ops()))
					}
					return nil
				}}); err != nil {
				t.Fatal(err)
			}
			return l
		}
		all := rows(math.MinInt64, math.MaxInt64)
		if len(all) != 200_000 {
			t.Fatalf("%d events", len(all))
		}
		for _, x := range [][2]int64{{0, 1010}, {150_000, 150_500}, {299_990, 301_050}, {301_000, math.MaxInt64}, {1, 2}} {
			var want []string
			for _, l := range all {
				var at int64
				fmt.Sscan(l, &at)
				if at >= x[0] && at < x[1] {
					want = append(want, l)
				}
			}
			if got := rows(x[0], x[1]); !slices.Equal(got, want) {
				t.Errorf("seed %d, window %v: %d events, want %d", seed, x, len(got), len(want))
			}
		}
	}
}

// checked returns the rules that a check of an archive reports.
func checked(t testing.TB, src format.Source) (rules string) {
	t.Helper()
	rep := format.NewReport()
	opt := &format.ReadOptions{Report: rep}
	d, err := (Format{}).Open(context.Background(), src, opt)
	if err != nil {
		t.Fatal(err)
	}
	c := d.NewChecker()
	if err := d.Scan(context.Background(), trace.Everything(), format.PerLocation, c); err != nil {
		t.Fatal(err)
	}
	if err := c.Finish(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, r := range rep.Rules() {
		rules += fmt.Sprintf("%s %d ", r.Rule, r.Count)
	}
	return rules
}

// TestCheck checks defects that reading does not report, and only a check reports.
func TestCheck(t *testing.T) {
	const anchor = "testdata/ok/heat2d-mt/traces.otf2"
	if rules := checked(t, format.FileSource(anchor)); rules != "" {
		t.Errorf("a sound archive: %s", rules)
	}
	for _, x := range []struct {
		what, file, rules string
		change            func(b []byte) []byte
	}{
		{"no local definitions", "traces/1.def", "otf2.missing-definitions 1 ", func([]byte) []byte { return nil }},
		// The last event, ProgramEnd, is removed.
		{"an event less", "traces/2.evt", "otf2.chunk-numbers 1 otf2.counts 1 ", func(b []byte) []byte {
			i := bytes.LastIndexByte(b[:len(b)-2], 84)
			return append(bytes.Clone(b[:i]), 2, 1)
		}},
		{"an event more", "traces/2.evt", "otf2.chunk-numbers 1 ",
			func(b []byte) []byte { return append(bytes.Clone(b[:len(b)-2]), 22, 0, 2, 1) }},
		{"another number of definitions", "traces.otf2", "otf2.counts 1 ", func(b []byte) []byte {
			b = bytes.Clone(b)
			b[38]++
			return b
		}},
		{"an anchor file without its end", "traces.otf2", "otf2.damaged 1 ", func(b []byte) []byte { return b[:len(b)-3] }},
		{"another number of locations", "traces.otf2", "otf2.counts 1 ", func(b []byte) []byte {
			b = bytes.Clone(b)
			b[30]++
			return b
		}},
	} {
		if rules := checked(t, mapped(t, anchor, x.file, x.change)); rules != x.rules {
			t.Errorf("%s: %s, want %s", x.what, rules, x.rules)
		}
	}
	src := mapped(t, anchor, "", nil)
	files := src.FS.(fstest.MapFS)
	files["traces/4.evt"] = files["traces/3.evt"] // the trace has the locations 0 to 3
	if rules := checked(t, src); rules != "otf2.unlisted-location 1 " {
		t.Errorf("a location without a definition: %s", rules)
	}
	rules := checked(t, format.FileSource("testdata/ok/ring/eztrace_log.otf2"))
	if rules != "otf2.counts 4 otf2.duplicate 1 " {
		t.Errorf("EZTrace's archive: %s", rules)
	}
}

// TestCheckRefused changes bytes so that otf2-print 3.0.2 rejects the archive, and requires that a check
// reports an error.
func TestCheckRefused(t *testing.T) {
	const anchor = "testdata/ok/heat2d-mt/traces.otf2"
	for _, x := range []struct {
		what, file, rules string
		at                int
		to                byte
	}{
		{"the name of a property without ::", "traces.otf2", "otf2.damaged 1 ", 0x65, ';'},
		{"a definition more announced", "traces.otf2", "otf2.counts 1 ", 0x26, 84},
		{"a clock offset before another", "traces/1.def", "otf2.damaged 1 ", 0x57, 0x71},
		{"a clock offset that is called a file", "traces/1.def", "otf2.damaged 1 ", 0x36, 38},
		{"the mode of a mapping table", "traces/0.def", "otf2.damaged 1 ", 0x17, 0x80},
		{"a mapping table of no ids", "traces/0.def", "otf2.damaged 1 ", 0x16, 0},
		{"a Region without its last field", "traces.def", "otf2.damaged 1 ", 0x1e4, 2},
		{"a LocationGroupProperty without its last field but two", "traces.def", "otf2.damaged 1 ", 0xb4, 28},
	} {
		src := mapped(t, anchor, x.file, func(b []byte) []byte {
			b = bytes.Clone(b)
			if b[x.at] == x.to {
				t.Fatalf("%s: the byte at 0x%x is 0x%x already", x.what, x.at, x.to)
			}
			b[x.at] = x.to
			return b
		})
		if rules := checked(t, src); !strings.Contains(rules, x.rules) {
			t.Errorf("%s: found %q, expected %s", x.what, rules, x.rules)
		}
	}
}

// TestDefinitionIDs checks that a definition with a damaged id is skipped by its length and
// reported, and that the definitions that refer to it are reported.
func TestDefinitionIDs(t *testing.T) {
	const anchor = "testdata/ok/heat2d-mt/traces.otf2"
	a, err := Open(format.FileSource(anchor))
	if err != nil {
		t.Fatal(err)
	}
	// places maps the id of each string to its offset. names maps the id to the number of regions that have
	// the string as name.
	places, names := map[uint64]int64{}, map[uint64]int{}
	if err := a.Definitions(func(at int64, r *Record) error {
		switch r.ID {
		case defString:
			places[r.Values[0]] = at
		case defRegion:
			names[r.Values[1]]++
			names[r.Values[7]]++
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	name := a.nameOf(t, "MPI_Isend")
	for _, id := range []byte{4, 9, 238} {
		rules := checked(t, mapped(t, anchor, "traces.def", func(b []byte) []byte {
			b = bytes.Clone(b)
			b[places[name]] = id
			return b
		}))
		if want := fmt.Sprintf("otf2.undefined %d otf2.unknown-record 1 ", names[name]); rules != want {
			t.Errorf("id %d: found %q, expected %q", id, rules, want)
		}
	}
}

// nameOf returns the id of a string.
func (a *Archive) nameOf(t *testing.T, text string) (id uint64) {
	t.Helper()
	id = undefined32
	if err := a.Definitions(func(_ int64, r *Record) error {
		if r.ID == defString && r.Texts[0] == text {
			id = r.Values[0]
		}
		return nil
	}); err != nil || id == undefined32 {
		t.Fatalf("string %q: %v", text, err)
	}
	return id
}

// TestMarkers checks that markers become events of a location of their own. The expected values
// were read from the bytes of the file.
func TestMarkers(t *testing.T) {
	d, err := (Format{}).Open(context.Background(), format.FileSource("testdata/ok/heat2d-mt/traces.otf2"),
		&format.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	if err := d.Scan(context.Background(), trace.Everything(), format.GlobalOrder,
		format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
			c := b.Cursor()
			for c.Next() {
				if c.Kind() == trace.Marker {
					_, values := c.Attrs()
					got = append(got, fmt.Sprint(c.Time(), " ", d.Defs().Locations.At(c.Location()).ID, " ",
						d.Defs().Markers.At(c.Ref()).Name, " ", c.Ops(), " ", values[0].Str))
				}
			}
			return nil
		}}); err != nil {
		t.Fatal(err)
	}
	want := []string{"1037599272449 markers phase [2762190 0 0] first half",
		"1037599276449 markers phase [0 1 1] rank 1 here"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestThumbnail checks that thumbnails are read record by record. OTF2's own library wrote the records of this
// archive.
func TestThumbnail(t *testing.T) {
	a, err := Open(format.FileSource("testdata/ok/thumbnails/t.otf2"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	if err := a.Thumbnail(0, func(_ int64, r *Record) error {
		got = append(got, fmt.Sprint(r.ID, r.Values, r.Texts))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"10 [0 1 0 2 3 4 5 1099511627776] [a thumb descr]", "11 [10 3 1 2 3] []",
		"11 [20 3 1 2 3] []"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestWindowUndefined checks that events with an undefined id are the same in a window as in the whole
// archive, regardless of earlier reads. The undefined ids are a region of an event and later an attribute.
func TestWindowUndefined(t *testing.T) {
	path := filepath.Join(t.TempDir(), "made.otf2")
	dst, err := format.CreateFile(path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewWriter(dst, Anchor{})
	if err != nil {
		t.Fatal(err)
	}
	const requestTest, region = 20, 77
	e := w.Location(0)
	err = errors.Join(w.Define(&Record{ID: defAttribute, Values: []uint64{0, undefined32, 14, undefined32}}),
		e.Write(&Event{Time: 1, Record: Record{ID: enter, Values: []uint64{region}}}),
		e.Write(&Event{Time: 10, Record: Record{ID: requestTest, Values: []uint64{1}},
			Attributes: []Attribute{{0, 14, region}}}),
		w.Define(&Record{ID: defLocation, Values: []uint64{0, undefined32, 1, e.Count, undefined32}}), w.Close(),
		dst.Commit())
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range []int64{0, 5} {
		d, err := (Format{}).Open(context.Background(), format.FileSource(path), &format.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		sel := trace.Everything()
		sel.From = from
		var got []trace.Value
		if err := d.Scan(context.Background(), sel, format.GlobalOrder, format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
			got = append(got, b.AttrVal...)
			return nil
		}}); err != nil {
			t.Fatal(err)
		}
		if want := []trace.Value{{Type: trace.Uint64, Num: region}}; !slices.Equal(got, want) {
			t.Errorf("from %d: %v, want %v", from, got, want)
		}
	}
}

// TestTags checks that tags are numbers of 32 bits, as otf2-print shows them. 2³²−1 is a valid tag. A message
// with an unknown tag keeps an unknown tag in an archive.
func TestTags(t *testing.T) {
	tags := []uint64{0, 5, 1 << 31, 1<<32 - 2, 1<<32 - 1}
	read := func(src format.Source) (got []uint64) {
		d, err := Format{}.Open(context.Background(), src, &format.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		if err := d.Scan(context.Background(), trace.Everything(), format.PerLocation,
			format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
				c := b.Cursor()
				for c.Next() {
					if c.Kind() == trace.Send {
						got = append(got, c.Op(2))
					}
				}
				return nil
			}}); err != nil {
			t.Fatal(err)
		}
		return got
	}
	path := filepath.Join(t.TempDir(), "written.otf2")
	dst, err := format.CreateFile(path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewWriter(dst, Anchor{})
	if err != nil {
		t.Fatal(err)
	}
	const send = 14
	for _, tag := range tags {
		err = errors.Join(err,
			w.Location(0).Write(&Event{Time: 1, Record: Record{ID: send, Values: []uint64{0, undefined32, tag, 8}}}))
	}
	if err := errors.Join(err, w.Define(&Record{ID: defLocation,
		Values: []uint64{0, undefined32, 1, uint64(len(tags)), undefined32}}), w.Close(), dst.Commit()); err != nil {
		t.Fatal(err)
	}
	if got := read(format.FileSource(path)); !slices.Equal(got, tags) {
		t.Errorf("found tags %d, expected %d", got, tags)
	}
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000_000))
	a := r.Location("a")
	for i, tag := range append(slices.Clone(tags), trace.Undefined) {
		r.Send(a, int64(i), a, int64(tag), 8)
	}
	path = filepath.Join(t.TempDir(), "tags.otf2")
	if err := format.Save(t.Context(), path, Format{}, r); err != nil {
		t.Fatal(err)
	}
	if got := read(format.FileSource(path)); !slices.Equal(got, append(tags, trace.Undefined)) {
		t.Errorf("found tags %d, expected %d and an unknown one", got, tags)
	}
	// The tag occurs twice, because otf2-print shows the unknown tag like the valid tag 2³²−1.
	if n := strings.Count(string(compat(t, path)), "Tag: 4294967295, "); n != 2 {
		t.Errorf("found tag 4294967295 %d times in what otf2-print prints, expected 2", n)
	}
}
