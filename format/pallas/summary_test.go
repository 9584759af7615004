package pallas

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/generate"
	"github.com/weft-trace/weft/internal/effort"
	"github.com/weft-trace/weft/trace"
)

// details is a table of [format.File.Details] in memory.
type details struct {
	Key, Title string
	Columns    []string
	rows       [][]any
}

func detailsOf(d format.File) (list []details, err error) {
	tables, err := d.Details(context.Background())
	for _, x := range tables {
		y := details{Key: x.Key, Title: x.Title, Columns: x.Columns}
		for r, err := range x.Rows() {
			if err != nil {
				return nil, err
			}
			y.rows = append(y.rows, slices.Clone(r))
		}
		x.Close()
		list = append(list, y)
	}
	return list, err
}

// TestDetails compares the details with the output of pallas_info for sequences and loops.
func TestDetails(t *testing.T) {
	compared := 0
	for _, dir := range folders(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			tr, err := Open(format.FileSource(mainFile(t, dir)))
			if err != nil {
				t.Fatal(err)
			}
			if c := tr.Compression; tr.ABI != MaxABI || c == Histogram || c == ZSTDHistogram ||
				strings.HasPrefix(filepath.Base(dir), "synced_") {
				t.Skip("the tool has it otherwise")
			}
			text := filepath.Join(dir, "info_full.txt.gz")
			if _, err := os.Stat(text); err != nil {
				t.Skip("the tool's output is not kept")
			}
			want := map[string]int{} // lines of the table, without columns that only concern the layout
			for s := bufio.NewScanner(strings.NewReader(unzip(t, text))); s.Scan(); {
				f := strings.Fields(s.Text())
				if len(f) < 4 || len(f[0]) < 2 {
					continue
				}
				if _, err := strconv.Atoi(f[0][1:]); err != nil || f[0][0] != 'S' && f[0][0] != 'L' {
					continue
				}
				if i := len(f) - 1; strings.HasSuffix(f[i], "nan") {
					f[i] = "0" // value of a thread without duration
				}
				want[strings.Join(f, " ")]++
			}
			if len(want) == 0 {
				t.Skip("the tool died")
			}
			d, err := (Format{}).Open(t.Context(), format.FileSource(mainFile(t, dir)), &format.ReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			tables, err := detailsOf(d)
			if err != nil {
				t.Fatal(err)
			}
			seconds := func(v any) string { return fmt.Sprintf("%.6g", float64(v.(int64))/1e9) }
			for _, x := range tables {
				for _, r := range x.rows {
					var line string
					switch x.Key {
					case "sequences":
						if r[4] == int64(0) {
							continue // the tool prints a wrong mean
						}
						line = fmt.Sprintf("%v %v %v %s %s %s %s %s %v %.6g", r[2], r[3], r[4], seconds(r[5]), seconds(r[6]),
							seconds(r[7]), seconds(r[8]), seconds(r[9]), r[10], float64(r[11].(trace.Real)))
					case "loops":
						line = fmt.Sprintf("%v %v %v %v %v", r[2], r[3], r[4], r[5], r[6])
					default:
						continue
					}
					if want[line] == 0 {
						t.Errorf("the tool does not say %q", line)
					}
					compared++
				}
			}
		})
	}
	if compared == 0 {
		t.Error("nothing was compared")
	}
	t.Logf("%d lines", compared)
}

// TestDetailsBounds checks totals of durations. A total is too small by less than 1 ns for
// each visit, as the title of the table states.
func TestDetailsBounds(t *testing.T) {
	effort.Sequential(t)
	names := []string{filepath.FromSlash(recorded(t, irregular(2, 5000), nil).Archive.Trace.src.Path)}
	for _, dir := range folders(t) {
		names = append(names, mainFile(t, dir))
	}
	compared, short := 0, 0
	for _, name := range names {
		d, err := (Format{}).Open(t.Context(), format.FileSource(name), &format.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		tables, err := detailsOf(d)
		if err != nil {
			t.Fatal(err)
		}
		rows := map[string][]any{}
		for _, x := range tables {
			if x.Key != "sequences" {
				continue
			}
			if !strings.Contains(x.Title, "too small by less than 1 ns a visit") {
				t.Errorf("%s: the title %q tells no bound", name, x.Title)
			}
			for _, r := range x.rows {
				rows[fmt.Sprint(r[:3]...)] = r
			}
		}
		for _, th := range threads(t, name) {
			if th.Archive.Trace.Compression.Lossy() {
				continue // the codec changes the durations of this trace
			}
			for i, k := range th.SequenceTokens() {
				s := &th.Sequences[i]
				r := rows[fmt.Sprint(int64(th.ID), int64(th.Archive.ID), k.String())]
				for c, v := range map[int]*Vector{8: &s.Durations, 9: &s.Exclusive} {
					l, err := th.Values(nil, v)
					if err != nil {
						t.Fatal(err)
					}
					sum := int64(0)
					for _, n := range l {
						sum += int64(n)
					}
					if missing := sum - r[c].(int64); missing < 0 || missing >= max(1, int64(v.Size)) {
						t.Errorf("%s: %s of sequence %v is %v, too small by %d for %d visits", name, tables[2].Columns[c], k,
							r[c], missing, v.Size)
					} else if missing > 0 {
						short++
					}
					compared++
				}
			}
		}
	}
	if short == 0 || compared < 100 {
		t.Errorf("compared %d totals, of which %d are too small", compared, short)
	}
}

// visits holds sums over the visits of a region, in ns except for count. The test computes them from the
// events.
type visits struct{ count, inclusive, exclusive, outermost, min, max int64 }

// scanVisits reads a trace whose calls nest. It returns the number of events of each kind, the sums
// of the visits of each region that end, and whether any region is visited inside of itself.
func scanVisits(t *testing.T, d format.Events) (kinds map[trace.Kind]int64, regions map[uint32]*visits,
	recursive bool) {
	t.Helper()
	kinds, regions = map[trace.Kind]int64{}, map[uint32]*visits{}
	type call struct {
		region       uint32
		start, inner int64
	}
	stacks := map[uint32][]call{}
	if err := d.Scan(t.Context(), trace.Everything(), format.PerLocation,
		format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
			for i, k := range b.Kind {
				kinds[k]++
				loc := b.Location(i)
				stack := stacks[loc]
				switch k {
				case trace.Enter:
					for _, c := range stack {
						recursive = recursive || c.region == b.Ref[i]
					}
					stack = append(stack, call{b.Ref[i], b.Time[i], 0})
				case trace.Leave:
					c := stack[len(stack)-1]
					stack = stack[:len(stack)-1]
					long := b.Time[i] - c.start
					if len(stack) > 0 {
						stack[len(stack)-1].inner += long
					}
					r := regions[c.region]
					if r == nil {
						r = &visits{min: long}
						regions[c.region] = r
					}
					r.count++
					r.inclusive += long
					if !slices.ContainsFunc(stack, func(o call) bool { return o.region == c.region }) {
						r.outermost += long
					}
					r.exclusive += long - c.inner
					r.min, r.max = min(r.min, long), max(r.max, long)
				}
				stacks[loc] = stack
			}
			return nil
		}}); err != nil {
		t.Fatal(err)
	}
	return kinds, regions, recursive
}

// TestSummarize compares summaries with the sums of all events.
func TestSummarize(t *testing.T) {
	summed, within := 0, 0
	for seed := range uint64(60) {
		p := program{rng: rand.New(rand.NewPCG(seed, 21))}
		for range 1 + seed%3 {
			p.body(int(seed % 5))
		}
		for i := range p.list {
			f := &p.list[i]
			if f.attributes = nil; f.record == MPISend {
				f.record, f.payload = Generic, region(0)
			}
		}
		if len(p.list) == 0 {
			continue
		}
		th := recorded(t, p.list, nil)
		d, err := (Format{}).Open(t.Context(), th.Archive.Trace.src, &format.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		s, err := d.Summary(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		kinds, regions, recursive := scanVisits(t, d)
		if s == nil {
			if !recursive {
				t.Errorf("seed %d: no summary", seed)
			}
			continue
		}
		summed++
		if recursive {
			within++
		}
		for _, k := range s.Kinds {
			if kinds[k.Kind] != k.Events {
				t.Errorf("seed %d: %d of kind %d, want %d", seed, k.Events, k.Kind, kinds[k.Kind])
			}
			delete(kinds, k.Kind)
		}
		if len(kinds) > 0 || len(s.Regions) != len(regions) || len(s.Locations) != 1 ||
			s.Locations[0].First != int64(p.list[0].time) || s.Locations[0].Last != int64(p.list[len(p.list)-1].time) ||
			s.Locations[0].Events != int64(len(p.list)) {
			t.Errorf("seed %d: %+v, kinds %v, regions %v", seed, s, kinds, regions)
			continue
		}
		for _, x := range s.Regions {
			r := regions[x.Region]
			short, excl, sum := r.outermost-x.Inclusive, r.exclusive-x.Exclusive, r.inclusive-x.Sum
			if sum < 0 || sum > x.Missing || x.Count != r.count || x.Min != r.min || x.Max != r.max || short < 0 ||
				short > x.Missing || excl < 0 || excl > x.Missing || x.Missing >= max(1, x.Count) {
				t.Errorf("seed %d: %+v, want %+v", seed, x, *r)
			}
		}
	}
	if summed < 10 || within < 5 {
		t.Errorf("%d summaries, %d of calls inside of calls of the same region", summed, within)
	}
}

// openCounter is a file system that counts how often each file is opened.
type openCounter struct {
	fs.FS
	n map[string]int
}

// Open counts the file.
func (o openCounter) Open(name string) (fs.File, error) {
	o.n[name]++
	return o.FS.Open(name)
}

// Stat does not count the file.
func (o openCounter) Stat(name string) (fs.FileInfo, error) { return fs.Stat(o.FS, name) }

// TestSummaryGivenUp checks that Summary reads no further thread after a thread that prevents a summary. A
// thread prevents a summary if the same calls occur both inside and outside of a visit of their region.
func TestSummaryGivenUp(t *testing.T) {
	for _, x := range []struct {
		name   string
		visits [3][2]Ref // outer and inner region of each thread
		read   int
	}{
		{"no recursion", [3][2]Ref{{1, 2}, {2, 3}, {1, 3}}, 3},
		{"in the first thread", [3][2]Ref{{1, 1}, {2, 3}, {1, 3}}, 1},
		{"in the second thread", [3][2]Ref{{1, 2}, {2, 2}, {1, 3}}, 2},
		{"no recursion in any thread", [3][2]Ref{{1, 2}, {2, 1}, {1, 3}}, 3},
	} {
		t.Run(x.name, func(t *testing.T) {
			w, err := Create(filepath.Join(t.TempDir(), "main"), nil)
			if err != nil {
				t.Fatal(err)
			}
			w.LocationGroups = []LocationGroup{{ID: 0, Name: NoRef, Parent: NoRef}}
			for id, v := range x.visits {
				r, err := w.Archive(0).Record(uint32(id), NoRef)
				if err != nil {
					t.Fatal(err)
				}
				if err := errors.Join(r.Enter(1, v[0]), r.Enter(2, v[1]), r.Leave(3, v[1]), r.Leave(4, v[0]),
					r.Enter(5, v[1]), r.Leave(6, v[1])); err != nil {
					t.Fatal(err)
				}
			}
			for id := range Ref(4) {
				w.Definitions.Strings = append(w.Definitions.Strings, String{id, fmt.Sprint("region ", id)})
				w.Definitions.Regions = append(w.Definitions.Regions, Region{id, id})
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			src := format.FileSource(w.path)
			files := openCounter{src.FS, map[string]int{}}
			src.FS = files
			d, err := (Format{}).Open(t.Context(), src, &format.ReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			s, err := d.Summary(t.Context())
			if err != nil || (s != nil) != strings.HasPrefix(x.name, "no recursion") {
				t.Errorf("found the summary %v, %v", s, err)
			}
			read := 0
			for name, n := range files.n {
				if strings.HasSuffix(name, "thread.pallas") {
					read += n
				}
			}
			if read != x.read {
				t.Errorf("read %d threads, expected %d", read, x.read)
			}
		})
	}
}

// openWithSummary opens a trace until the test ends, and returns it with its summary.
func openWithSummary(t *testing.T, path string) (format.File, *format.Summary) {
	t.Helper()
	d, err := (Format{}).Open(t.Context(), format.FileSource(path), &format.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	s, err := d.Summary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return d, s
}

// TestSummaryOfOneName checks the sums of regions of the same name. In 4 of 7 visits of region 1, which last 10 ns,
// region 2 lies inside of region 1 for 6 ns. A row of both is open for 70 ns, the regions are for 70 and 24 ns.
// If region 2 is also called outside of region 1 in the same way, there is no summary.
func TestSummaryOfOneName(t *testing.T) {
	for _, name := range []string{"inside", "inside and outside"} {
		w, err := Create(filepath.Join(t.TempDir(), "main"), nil)
		if err != nil {
			t.Fatal(err)
		}
		w.LocationGroups = []LocationGroup{{ID: 0, Name: NoRef, Parent: NoRef}}
		w.Definitions.Strings, w.Definitions.Regions = []String{{1, "f"}}, []Region{{1, 1}, {2, 1}}
		r, err := w.Archive(0).Record(0, NoRef)
		if err != nil {
			t.Fatal(err)
		}
		for i := range uint64(7) {
			at := 20 * i
			if err = r.Enter(at, 1); err == nil && i%2 == 0 {
				err = errors.Join(r.Enter(at+2, 2), r.Leave(at+8, 2))
			}
			if err = errors.Join(err, r.Leave(at+10, 1)); err != nil {
				t.Fatal(err)
			}
			if name != "inside" {
				if err := errors.Join(r.Enter(at+12, 2), r.Leave(at+18, 2)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		_, s := openWithSummary(t, w.path)
		if name != "inside" {
			if s != nil {
				t.Errorf("%s: found %+v, expected no summary", name, s)
			}
			continue
		}
		want := []format.RegionSummary{{Region: 0, Count: 7, Inclusive: 70, Exclusive: 46, Sum: 70, Min: 10, Max: 10},
			{Region: 1, Count: 4, Inclusive: 24, Exclusive: 24, Sum: 24, Nested: 24, Min: 6, Max: 6}}
		if s == nil || !slices.Equal(s.Regions, want) {
			t.Errorf("%s: found %+v, expected %+v", name, s, want)
		}
	}
}

// TestSummaryOverflow checks that there is no summary if a sum overflows: three calls of 4·10^18 ns last
// 1.2·10^19 ns, more than the maximum of 2^63-1 ns.
func TestSummaryOverflow(t *testing.T) {
	effort.Sequential(t)
	for threads, want := range map[int]string{1: "4000000000000000000", 2: "8000000000000000000", 3: "", 5: ""} {
		w, err := Create(filepath.Join(t.TempDir(), "main"), nil)
		if err != nil {
			t.Fatal(err)
		}
		w.LocationGroups = []LocationGroup{{ID: 0, Name: NoRef, Parent: NoRef}}
		for id := range uint32(threads) {
			r, err := w.Archive(0).Record(id, NoRef)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(r.Enter(0, 1), r.Leave(4e18, 1)); err != nil {
				t.Fatal(err)
			}
		}
		w.Definitions.Strings, w.Definitions.Regions = []String{{1, "long"}}, []Region{{1, 1}}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		d, s := openWithSummary(t, w.path)
		v, err := d.Preview(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		sum, preview := "", ""
		if s != nil {
			sum = fmt.Sprint(s.Regions[0].Inclusive)
		}
		if v != nil {
			preview = fmt.Sprint(v.Regions[0].Inclusive)
		}
		if sum != want || preview != want {
			t.Errorf("%d threads: found the sums %q and %q, expected %q", threads, sum, preview, want)
		}
	}
}

// TestPreview checks that a preview exists even if regions call themselves, and if events have attributes or
// are messages. The preview must have all visits except visits that do not end.
func TestPreview(t *testing.T) {
	recursions, without := 0, 0
	for seed := range uint64(60) {
		p := program{rng: rand.New(rand.NewPCG(seed, 22))}
		for range 1 + seed%3 {
			p.body(int(seed % 6))
		}
		if len(p.list) == 0 {
			continue
		}
		// In every third trace the last call does not end.
		if seed%3 == 0 && p.list[len(p.list)-1].record == Leave {
			p.list = p.list[:len(p.list)-1]
		}
		th := recorded(t, p.list, nil)
		d, err := (Format{}).Open(t.Context(), th.Archive.Trace.src, &format.ReadOptions{Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		v, err := d.Preview(t.Context())
		if err != nil || v == nil {
			t.Errorf("seed %d: found none, %v, expected a preview", seed, err)
			continue
		}
		if s, _ := d.Summary(t.Context()); s == nil {
			without++
		}
		kinds, regions, recursive := scanVisits(t, d)
		if recursive {
			recursions++
		}
		if last := int64(p.list[len(p.list)-1].time); v.To != last {
			t.Errorf("seed %d: found the time %d, want that of the last event, %d", seed, v.To, last)
		}
		if len(v.Locations) != 1 || v.Locations[0].Count != kinds[trace.Enter] ||
			v.Locations[0].Sent != kinds[trace.Send]+kinds[trace.SendBegin] ||
			v.Locations[0].Received != kinds[trace.Recv]+kinds[trace.RecvComplete] {
			t.Errorf("seed %d: found %+v, want the counts of %v", seed, v.Locations, kinds)
		}
		for _, x := range v.Regions {
			r := regions[x.Region]
			if r == nil {
				t.Errorf("seed %d: found %+v, of a region that is not visited", seed, x)
				continue
			}
			// Mean durations in blocks are rounded down.
			near := func(a, b int64) bool { return max(a-b, b-a) < max(1, r.count) }
			if x.Count != r.count || !near(x.Inclusive, r.inclusive) || !near(x.Exclusive, r.exclusive) {
				t.Errorf("seed %d: found %+v, want %+v", seed, x, *r)
			}
			delete(regions, x.Region)
		}
		if len(regions) > 0 {
			t.Errorf("seed %d: %d regions are missing", seed, len(regions))
		}
	}
	if recursions < 10 || without < 20 {
		t.Errorf("%d traces with recursion, %d without a summary", recursions, without)
	}
}

// writeGenerated writes a generated trace, and returns the path of its main file.
func writeGenerated(t *testing.T, opt generate.Options) string {
	t.Helper()
	events, err := generate.New(opt)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "main.pallas")
	out, err := format.CreateFile(path)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Abort()
	e, err := (Format{}).Create(out, &format.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := format.Convert(t.Context(), events, trace.Everything(), e); err != nil {
		t.Fatal(err)
	}
	if err := out.Commit(); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestSummaryOfCarriedEvents checks that an MPI trace that weft wrote has a summary, although its events carry
// attributes. A trace with values of counters has no summary, because only the events contain the values.
func TestSummaryOfCarriedEvents(t *testing.T) {
	for workload, want := range map[string]bool{"stencil": true, "loops": false} {
		path := writeGenerated(t, generate.Options{Workload: workload, Locations: 3, Events: 3000})
		files := openCounter{os.DirFS(filepath.Dir(path)), map[string]int{}}
		src := format.Source{FS: files, Name: filepath.Base(path), Path: path}
		d, err := (Format{}).Open(t.Context(), src, &format.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		s, err := d.Summary(t.Context())
		if err != nil || (s != nil) != want {
			t.Fatalf("%s: found the summary %v, %v", workload, s, err)
		}
		for name := range files.n {
			if strings.HasSuffix(name, ".dat") {
				t.Errorf("%s: %s is read", workload, name)
			}
		}
		if s == nil {
			continue
		}
		kinds, _, _ := scanVisits(t, d)
		for _, k := range s.Kinds {
			if kinds[k.Kind] != k.Events {
				t.Errorf("%d of %v, want %d", k.Events, k.Kind, kinds[k.Kind])
			}
			delete(kinds, k.Kind)
		}
		if len(kinds) > 0 {
			t.Errorf("kinds that are missing: %v", kinds)
		}
	}
}
