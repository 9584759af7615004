package otf

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/tracetest"
)

// kinds maps record types of OTF to kinds of events of the model.
var kinds = map[string]trace.Kind{
	"NoOp": trace.NoOp, "Enter": trace.Enter, "Leave": trace.Leave, "SendMsg": trace.Send, "RecvMsg": trace.Recv,
	"Counter":             trace.Metric,
	"CollectiveOperation": trace.Collective, "BeginCollectiveOperation": trace.CollectiveBegin,
	"EndCollectiveOperation": trace.CollectiveEnd,
	"EventComment":           trace.Comment, "BeginProcess": trace.ProcessBegin, "EndProcess": trace.ProcessEnd,
	"FileOperation":      trace.FileOperation,
	"BeginFileOperation": trace.FileOperationBegin, "EndFileOperation": trace.FileOperationEnd, "RMAPut": trace.RMAPut,
	"RMAPutRemoteEnd": trace.RMAPutRemoteEnd,
	"RMAGet":          trace.RMAGet, "RMAEnd": trace.RMAEnd, "SummaryComment": trace.Comment,
	"FunctionSummary":      trace.RegionSummary,
	"FunctionGroupSummary": trace.RegionGroupSummary, "MessageSummary": trace.MessageSummary,
	"CollopSummary":        trace.CollectiveSummary,
	"FileOperationSummary": trace.FileSummary, "FileGroupOperationSummary": trace.FileGroupSummary,
	"SnapshotComment": trace.Comment,
	"EnterSnapshot":   trace.EnterSnapshot, "SendSnapshot": trace.SendSnapshot, "OpenFileSnapshot": trace.OpenFileSnapshot,
	"BeginCollopSnapshot": trace.CollectiveSnapshot, "BeginFileOpSnapshot": trace.FileOperationSnapshot,
	"CollopCountSnapshot": trace.CollectiveCountSnapshot,
	"CounterSnapshot":     trace.MetricSnapshot, "Marker": trace.Marker,
}

// TestDecode checks that the model has as many events of each kind as libotf delivers records, that these are
// in the order of time, and that both orders of delivery give the same events.
func TestDecode(t *testing.T) {
	for _, dir := range traces(t) {
		name := filepath.Base(dir)
		m := master(t, dir)
		if m == "" || strings.HasPrefix(name, "hand_") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			want := map[trace.Kind]int{}
			for _, l := range bytes.Split(gunzip(t, filepath.Join(dir, "expected/libdump.txt.gz")), []byte("\n")) {
				word, _, _ := strings.Cut(string(l), "\t")
				if k, ok := kinds[word]; ok {
					want[k]++
				}
			}
			d := tracetest.Open(t, Format{}, format.FileSource(m), nil)
			defer d.Close()
			for _, ordered := range []bool{true, false} {
				got := map[trace.Kind]int{}
				last := map[uint32]int64{}
				sink := format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
					c := b.Cursor()
					for c.Next() {
						got[c.Kind()]++
						loc := c.Location()
						if ordered {
							loc = 0
						}
						if x, ok := last[loc]; ok && c.Time() < x {
							t.Errorf("time %d after %d", c.Time(), x)
						}
						last[loc] = c.Time()
					}
					return nil
				}}
				var err error
				if ordered {
					err = d.Scan(context.Background(), trace.Everything(), format.GlobalOrder, sink)
				} else {
					err = d.Scan(context.Background(), trace.Everything(), format.PerLocation, sink)
				}
				if err != nil {
					t.Fatal(err)
				}
				// libotf loses records of the traces empty_stream and tokens, and the model loses records of
				// the trace bigtime.
				if name != "empty_stream" && name != "tokens" && name != "bigtime" && !maps.Equal(got, want) {
					t.Errorf("ordered %t: %v, want %v", ordered, got, want)
				}
			}
		})
	}
}

// TestRows checks the operands of an event of each kind.
func TestRows(t *testing.T) {
	d := tracetest.Open(t, Format{}, format.FileSource("testdata/ok/all_short/all_short.otf"), nil)
	defer d.Close()
	dump := tracetest.Dump(t, d, trace.Everything())
	for _, part := range []string{"main", "MPI_Send", "4096", "event comment", "an error happened here"} {
		if !slices.ContainsFunc(dump, func(l string) bool { return strings.Contains(l, part) }) {
			t.Errorf("no row has %q", part)
		}
	}
	defs := d.Defs()
	if c := defs.Clock; c.Num != 1_000_000_000 {
		t.Errorf("clock %+v", c)
	}
	for _, r := range defs.Regions.All() {
		if r.Name == "main" && (r.File != "/src/main.c" || r.Line != 1234 || r.Group != "Application") {
			t.Errorf("region %+v", r)
		}
	}
	if l := defs.Locations.All(); l[2].Kind != trace.ThreadLocation || l[2].Name != "thread 1:1" ||
		defs.Groups.At(l[2].Group).Name != "Process 2" {
		t.Errorf("location %+v", l[2])
	}
}

// TestLenient checks how the reader treats deviations. A definition of a stream replaces the global one. A
// leave without a function closes the innermost function. A file that is not in order is sorted. A process
// that the master file does not list is read.
func TestLenient(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) {
		t.Helper()
		writeFile(t, filepath.Join(dir, name), text)
	}
	file("x.otf", "1:1\n2:2\n3:4\n")
	file("x.0.def", "DTR3e8\nDP1NM\"a\"\nDP2NM\"b\"\nDF1G0NM\"global\"\nDF2G0NM\"inner\"\n")
	file("x.2.def", "DF1G0NM\"local\"\n")
	file("x.1.events", "1\n*1\nE1\nE2\n2\n*1\nL\n3\n*1\nL\n3\n*9\nE1\nE63\n")
	file("x.2.events", "9\n*2\nL1\n4\n*2\nE1\n")
	rep := format.NewReport()
	d := tracetest.Open(t, Format{}, format.FileSource(filepath.Join(dir, "x.otf")), &format.ReadOptions{Report: rep})
	defer d.Close()
	var got []string
	err := d.Scan(context.Background(), trace.Everything(), format.GlobalOrder,
		format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
			c := b.Cursor()
			for c.Next() {
				name := "-"
				if c.Ref() != trace.NoRef {
					name = d.Defs().Regions.At(c.Ref()).Name
				}
				got = append(got, strings.Join([]string{d.Defs().Locations.At(c.Location()).ID, d.Defs().Spec(c.Kind()).Name, name},
					" "))
			}
			return nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"1 enter global", "1 enter inner", "1 leave inner", "1 leave global", "9 enter global",
		"9 enter undefined function 99", "2 enter local", "2 leave local"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	var rules []string
	for _, r := range rep.Rules() {
		rules = append(rules, r.Rule)
	}
	slices.Sort(rules)
	if want := []string{"otf.missing-file", "otf.undefined", "otf.unlisted-process", "otf.unsorted"}; !slices.Equal(rules,
		want) {
		t.Errorf("%q, want %q", rules, want)
	}
}

// TestStringOverLines checks that a string may contain line ends, as in libotf, and that a string
// without an end invalidates only its own line.
func TestStringOverLines(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"x.otf": "1:1,2\n", "x.0.def": "DP1NM\"two\nlines\"\nDP2NM\"b\nDTR3e8\n",
		"x.1.events": "1\n*1\nN\n1\n*1\n"} {
		writeFile(t, filepath.Join(dir, name), text)
	}
	rep := format.NewReport()
	d := tracetest.Open(t, Format{}, format.FileSource(filepath.Join(dir, "x.otf")), &format.ReadOptions{Report: rep})
	defer d.Close()
	defs := d.Defs()
	if l := defs.Locations.All(); len(l) != 2 || l[0].Name != "two\nlines" || l[1].Name != "undefined process 2" ||
		defs.Clock.Num != 1000 {
		t.Errorf("locations %+v, clock %+v", l, defs.Clock)
	}
	if r := rep.Rules(); len(r) != 1 || r[0].Rule != "otf.malformed" || r[0].Count != 1 {
		t.Errorf("defects %+v", r)
	}
}

// TestAsyncTimes checks the option that gives counters the times at which VampirTrace measured them.
func TestAsyncTimes(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "t.otf")
	writeFile(t, name, "1:1\n")
	writeFile(t, filepath.Join(dir, "t.0.def"),
		"DTR3e8\nDP1NM\"a\"\nDF1G0NM\"f\"\nDCNT2G0NM\"power\"P0U\"W\"\nDK5Y8NM\"__ASYNC_SOURCE__power\"T\"\"\n")
	writeFile(t, filepath.Join(dir, "t.1.events"),
		"a\n*1\nE1\n14\n*1\nK5Y8V10\nCNT2V1\nK5Y8Vc\nCNT2V2\nCNT2V3\n1e\n*1\nL1\n1e\n*1\n")
	for option, want := range map[string]string{"false": "enter@10 metric@20 metric@20 metric@20 leave@30 ",
		"true": "enter@10 metric@12 metric@16 metric@20 leave@30 "} {
		for _, ordered := range []bool{false, true} {
			d, err := (Format{}).Open(context.Background(), format.FileSource(name),
				&format.ReadOptions{Values: map[string]string{"otf.async-times": option}})
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			sink := format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
				for i, at := range b.Time {
					got += fmt.Sprintf("%s@%d ", d.Defs().Spec(b.Kind[i]).Name, at)
				}
				return nil
			}}
			if ordered {
				err = d.Scan(context.Background(), trace.Everything(), format.GlobalOrder, sink)
			} else {
				err = d.ScanParallel(context.Background(), trace.Everything(),
					func() func(int) format.Sink { return func(int) format.Sink { return sink } })
			}
			if err != nil || got != want {
				t.Errorf("%s, ordered %t: %s, %v; want %s", option, ordered, got, err, want)
			}
		}
	}
}

// TestManySamplePoints checks that the reader keeps sample points in memory only as text, because a trace may
// have millions of them.
func TestManySamplePoints(t *testing.T) {
	const n = 100_000
	var defs strings.Builder
	defs.WriteString("DTR3e8\nDP1NM\"p\"\n")
	for i := range n {
		fmt.Fprintf(&defs, "DAUX%xY1\n", i)
	}
	files := fstest.MapFS{"x.otf": {Data: []byte("1:1\n")}, "x.0.def": {Data: []byte(defs.String())},
		"x.1.events": {Data: []byte("1\n*1\nN\n1\n*1\n")}}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	d, err := Format{}.Open(t.Context(), format.Source{FS: files, Name: "x.otf", Path: "x.otf"}, &format.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / n; each > 400 {
		t.Errorf("found %d bytes allocated a sample point, expected 400 at most", each)
	}
	if got := d.Defs().Opaque.Len(); got != n || d.Defs().Opaque.At(n-1).Data != "DAUX1869fY1" {
		t.Errorf("found %d opaque definitions, the last one %q", got, d.Defs().Opaque.At(uint32(got-1)).Data)
	}
}
