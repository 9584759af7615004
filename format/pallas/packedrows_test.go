package pallas

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/carrier"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/tracetest"
)

// recordedRows returns a trace with events that records of Pallas hold completely, in part, or not at all, with and
// without attributes.
func recordedRows() *trace.Recorder {
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000_000))
	loc, work := r.Location("rank 0"), r.Region("work")
	metric := r.Defs().Metrics.Add(trace.MetricDef{Name: "load", Type: trace.Uint64, Location: trace.NoRef})
	n, blob := trace.Attr{Key: "n", Value: trace.IntValue(7)}, trace.Attr{Key: "b", Value: trace.Value{Type: trace.Bytes,
		Str: "\x00\x01"}}
	var many []trace.Attr
	for i := range 150 { // Pallas has at most 127
		many = append(many, trace.Attr{Key: fmt.Sprintf("key %d", i), Value: trace.IntValue(int64(i))})
	}
	for i := range int64(40) {
		r.Enter(loc, 10*i, work)
		r.Event(loc, 10*i+1, trace.Metric, metric, []uint64{uint64(i * i)})
		r.Event(loc, 10*i+2, trace.LockAcquire, trace.NoRef, []uint64{3, uint64(i), 2})
		switch i % 3 {
		case 0:
			r.Event(loc, 10*i+3, trace.LockAcquire, trace.NoRef, []uint64{3, uint64(i), 2}, n)
		case 1:
			r.Event(loc, 10*i+3, trace.LockAcquire, trace.NoRef, []uint64{3}, n)
		case 2:
			r.Event(loc, 10*i+3, trace.Mark, work, nil, n, blob)
		}
		r.Leave(loc, 10*i+4, work)
	}
	r.Event(loc, 500, trace.Comment, trace.NoRef, nil, trace.Attr{Key: textName, Value: trace.StringValue("half time")})
	r.Event(loc, 501, trace.Comment, trace.NoRef, nil, trace.Attr{Key: textName,
		Value: trace.StringValue(strings.Repeat("x", 2*maxPackedRow))}, blob)
	r.Enter(loc, 502, work, many...)
	return r
}

// TestPackedRows checks that what only weft reads is in the metadata, and not in attributes of the events, that it is
// restored, also after the events have got other numbers, and that damaged data are reported.
func TestPackedRows(t *testing.T) {
	r := recordedRows()
	want := tracetest.Dump(t, format.Recorded(r), trace.Everything())
	path := filepath.Join(t.TempDir(), "x.pallas")
	tracetest.Encode(t, Format{}, format.Recorded(r), path)
	check := func(path string) {
		t.Helper()
		d := tracetest.Open(t, Format{}, format.FileSource(path), nil)
		if diff := cmp.Diff(want, tracetest.Dump(t, d, trace.Everything())); diff != "" {
			t.Errorf("rows differ:\n%s", diff)
		}
		sel := trace.Everything()
		sel.From, sel.To = 100, 300
		if diff := cmp.Diff(tracetest.Dump(t, format.Recorded(r), sel), tracetest.Dump(t, d, sel)); diff != "" {
			t.Errorf("rows of a window differ:\n%s", diff)
		}
	}
	check(path)
	f, err := Open(format.FileSource(path))
	if err != nil {
		t.Fatal(err)
	}
	a, err := f.Archive(noGroup)
	if err != nil {
		t.Fatal(err)
	}
	thread, err := a.Thread(0)
	if err != nil {
		t.Fatal(err)
	}
	attributes := map[Ref]int{}
	for i := range thread.Events {
		for _, list := range thread.Events[i].Attributes() {
			for _, v := range list {
				attributes[v.Attribute]++
			}
		}
	}
	thread.Close()
	// n, the text of the first comment, and the row that is too long. The marks and the second comment have a value that
	// Pallas cannot represent.
	if diff := cmp.Diff(map[Ref]int{0: 27, 2: 1, longRow: 1}, attributes); diff != "" {
		t.Errorf("attributes of events:\n%s", diff)
	}
	check(copyTrace(t, path, map[string]string{"pallas.unify-tokens": "true", "pallas.compression": "None"}))

	at := slices.IndexFunc(f.Metadata, func(m Metadata) bool { return m.Key == rowsKey+"0" })
	data, err := carrier.FromText(nil, f.Metadata[at].Value)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := carrier.Decompress(data)
	if err != nil {
		t.Fatal(err)
	}
	for n := range rows { // no panic, and no endless loop
		err = (&Thread{Events: slices.Clone(thread.Events)}).addPackedRows(rows[:n])
	}
	if err == nil {
		t.Errorf("%d of %d bytes were read without an error", len(rows)-1, len(rows))
	}
}

// TestRowAttributes checks that weft reads rows of earlier versions, which are attributes of the events.
func TestRowAttributes(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000_000))
	loc := r.Location("rank 0")
	cpu, work := r.Resource("CPU", 1, ""), r.Region("work")
	r.Event(loc, 1, trace.LockAcquire, trace.NoRef, []uint64{3, 7, 2})
	r.Event(loc, 2, trace.ClaimBegin, work, []uint64{9, uint64(cpu), 5})
	d := r.Defs()
	path := filepath.Join(t.TempDir(), "main.pallas")
	w, err := Create(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.Definitions.Strings = []String{{0, "rank 0"}, {1, "claim-begin work"}}
	w.LocationGroups = []LocationGroup{{noGroup, 0, NoRef}}
	w.Definitions.Attributes = []Attribute{{shortRow, 0, NoRef, Uint64Value}, {longRow, 0, NoRef, StringValue},
		{claimID, 0, NoRef, Int64Value}}
	thread, err := w.Archive(noGroup).Record(loc, 0)
	if err != nil {
		t.Fatal(err)
	}
	var rows carrier.Rows
	for b, err := range format.Batches(t.Context(), format.Recorded(r), trace.Everything(), format.GlobalOrder) {
		if err != nil {
			t.Fatal(err)
		}
		for c := b.Cursor(); c.Next() && err == nil; {
			claim := carrier.HasClaim(&c)
			row := rows.AppendWhole(nil, d, &c, claim, nil)
			if !claim {
				number, _ := carrier.Number(row)
				err = thread.Record(1, ThreadAcquireLock, le32(nil, 3), []Value{{shortRow, le64(nil, number)}})
				continue
			}
			w.Definitions.Strings = append(w.Definitions.Strings, String{2, carrier.Text(row)})
			err = thread.Record(2, Generic, le32(nil, 1), []Value{{claimID, le64(nil, c.Op(0))}, {longRow, le32(nil, 2)}})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	packed, _ := carrier.Pack(d, &rows, carrier.Pair{Key: timeKey, Value: `{"scale":1,"base":0}`})
	for _, p := range carrier.Texts(packed, definitionKey) {
		w.Metadata = append(w.Metadata, Metadata{p.Key, p.Value})
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	back := tracetest.Open(t, Format{}, format.FileSource(path), nil)
	want := tracetest.Dump(t, format.Recorded(r), trace.Everything())
	if diff := cmp.Diff(want, tracetest.Dump(t, back, trace.Everything())); diff != "" {
		t.Errorf("rows differ:\n%s", diff)
	}
}

// TestPackedRowsOfNothing checks that packed rows of occurrences that an event does not have, and a second list of rows
// of an event, are reported and take no memory.
func TestPackedRowsOfNothing(t *testing.T) {
	// record 3, no payload; then the number of rows; for each, the skipped occurrences, the length and the bytes
	for _, tt := range []struct {
		name string
		data string
		rows int // rows that remain
	}{
		{"good", "\x03\x00\x02\x00\x01a\x00\x01b", 2},
		{"too many", "\x03\x00\x03\x00\x00\x00\x00\x00\x00", 0},
		{"too late", "\x03\x00\x01\x02\x01a", 0},
		{"back", "\x03\x00\x02\x01\x01a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x01b", 0},
		{"again", "\x03\x00\x01\x00\x01a\x03\x00\x01\x00\x01b", 1},
	} {
		thread := &Thread{Events: []Event{{Record: 3, Timestamps: Vector{Size: 2}}}}
		err := thread.addPackedRows([]byte(tt.data))
		if (err == nil) != (tt.name == "good") {
			t.Errorf("%s: %v", tt.name, err)
		}
		rows := 0
		for _, list := range thread.Events[0].Attributes() {
			rows += len(list)
		}
		if rows != tt.rows {
			t.Errorf("%s: %d rows, expected %d", tt.name, rows, tt.rows)
		}
	}
}

// TestRowsOfOtherThreads checks that packed rows of threads that the trace does not have, and a second text with rows
// of a thread, are reported, and that the rows of the other texts are read.
func TestRowsOfOtherThreads(t *testing.T) {
	r := recordedRows()
	path := filepath.Join(t.TempDir(), "x.pallas")
	tracetest.Encode(t, Format{}, format.Recorded(r), path)
	f, err := Open(format.FileSource(path))
	if err != nil {
		t.Fatal(err)
	}
	opt := &format.ReadOptions{Report: format.NewReport()}
	f.Metadata = append(f.Metadata, Metadata{rowsKey + "0", "b"}, Metadata{rowsKey + "1", "c"}, Metadata{rowsKey, "d"})
	m := &model{t: f, defs: r.Defs()}
	if err := m.findRows(opt); err != nil {
		t.Fatal(err)
	}
	if len(m.rows) != 1 || len(m.rows[0]) < 10 {
		t.Errorf("rows of %d threads, %q for the first; expected its first text", len(m.rows), m.rows[0])
	}
	found := int64(0)
	for _, x := range opt.Report.Rules() {
		found += x.Count
	}
	if found != 3 {
		t.Errorf("%d texts were reported, expected 3", found)
	}
}

// TestPackedRowsWithoutThread checks that a thread that is missing or cannot be read is reported, and has no events,
// although the metadata have packed rows for it.
func TestPackedRowsWithoutThread(t *testing.T) {
	for _, damage := range []func(string) error{
		os.Remove,
		func(name string) error { return os.WriteFile(name, []byte("no thread"), 0o600) },
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "x.pallas")
		tracetest.Encode(t, Format{}, format.Recorded(recordedRows()), path)
		files, err := filepath.Glob(filepath.Join(dir, "archive_*", "thread_0", "thread.pallas"))
		if err != nil || len(files) != 1 {
			t.Fatalf("found %v (%v), expected one thread", files, err)
		}
		if err := damage(files[0]); err != nil {
			t.Fatal(err)
		}
		report := format.NewReport()
		d := tracetest.Open(t, Format{}, format.FileSource(path), &format.ReadOptions{Report: report})
		if rows := tracetest.Dump(t, d, trace.Everything()); len(rows) > 0 {
			t.Errorf("found %d events, expected none", len(rows))
		}
		if len(report.Rules()) == 0 {
			t.Error("no error was reported")
		}
	}
}
