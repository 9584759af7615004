package pallas

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/tracetest"
)

// checkRules returns the rules that reading and checking a trace report.
func checkRules(t *testing.T, name string) (rules []string) {
	t.Helper()
	for _, r := range checked(t, format.FileSource(name)).Rules() {
		rules = append(rules, r.Rule)
	}
	slices.Sort(rules)
	return rules
}

// checked reads and checks a trace, and returns the defects. Several workers check threads while they read them, and a
// single one does it afterwards. checked fails if the defects differ.
func checked(t *testing.T, src format.Source) *format.Report {
	t.Helper()
	scan := func(workers int) *format.Report {
		t.Helper()
		opt := &format.ReadOptions{Report: format.NewReport(), Workers: workers}
		d, err := (Format{}).Open(t.Context(), src, opt)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		c := d.NewChecker()
		if workers > 1 {
			err = d.ScanParallel(t.Context(), trace.Everything(), func() func(int) format.Sink {
				return func(int) format.Sink { return format.SinkFuncs{} }
			})
		} else {
			err = d.Scan(t.Context(), trace.Everything(), format.PerLocation, c)
		}
		if err == nil {
			err = c.Finish(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		return opt.Report
	}
	after, during := scan(1), scan(2)
	if a, d := fmt.Sprint(after.Rules()), fmt.Sprint(during.Rules()); a != d {
		t.Errorf("after reading, found %s; during it, found %s", a, d)
	}
	return during
}

// count returns the number of defects of a rule.
func count(r *format.Report, rule string) (n int) {
	for _, x := range r.Rules() {
		if x.Rule == rule {
			n += int(x.Count)
		}
	}
	return n
}

// TestCheckMissingTimes checks that a missing file of times is reported once, whether or not the reader needs it. It
// does not need it for vectors of one or two times.
func TestCheckMissingTimes(t *testing.T) {
	for _, calls := range []uint64{1, 2, 3} {
		list := []inputEvent{{0, Enter, region(1), nil}}
		for i := range calls {
			list = append(list, inputEvent{10 * i, Enter, region(2), nil}, inputEvent{10*i + 3, Leave, region(2), nil})
		}
		list = append(list, inputEvent{100, Leave, region(1), nil})
		name := filepath.FromSlash(recorded(t, list, nil).Archive.Trace.src.Path)
		if err := os.Remove(filepath.Join(filepath.Dir(name), "archive_3/thread_7/event_durations.dat")); err != nil {
			t.Fatal(err)
		}
		if n := count(checked(t, format.FileSource(name)), "pallas.missing-file"); n != 1 {
			t.Errorf("%d calls: found %d missing files, expected 1", calls, n)
		}
	}
}

// TestSummaryMissingFiles checks that a summary reports each missing file of a thread with times or durations, and that
// it has the same sums without the file: 3 visits of 3 ns.
func TestSummaryMissingFiles(t *testing.T) {
	for _, file := range []string{"", "event_durations.dat", "sequence_durations.dat"} {
		list := []inputEvent{{0, Enter, region(1), nil}}
		for i := range uint64(3) {
			list = append(list, inputEvent{10 * i, Enter, region(2), nil}, inputEvent{10*i + 3, Leave, region(2), nil})
		}
		list = append(list, inputEvent{100, Leave, region(1), nil})
		name := filepath.FromSlash(recorded(t, list, nil).Archive.Trace.src.Path)
		path, want := filepath.Join(filepath.Dir(name), "archive_3/thread_7", file), 0
		if file != "" {
			want = 1
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
		rep := format.NewReport()
		d := tracetest.Open(t, Format{}, format.FileSource(name), &format.ReadOptions{Report: rep})
		s, err := d.Summary(t.Context())
		if err != nil || s == nil {
			t.Fatalf("without %q: found no summary, error %v", file, err)
		}
		if len(s.Regions) != 2 || s.Regions[1].Count != 3 || s.Regions[1].Inclusive != 9 {
			t.Errorf("without %q: found the sums %+v, expected 3 visits of 9 ns", file, s.Regions)
		}
		if l := rep.Rules(); len(l) != want || want == 1 && (l[0].Rule != "pallas.missing-file" || l[0].Count != 1 ||
			filepath.FromSlash(l[0].First[0].Position.File) != path) {
			t.Errorf("without %q: found %v, expected the file", file, l)
		}
	}
}

// changeFirst returns a function that replaces the first occurrence of a number of 64 bits.
func changeFirst(from, to uint64) func(b []byte) []byte {
	return func(b []byte) []byte { return bytes.Replace(b, le64(nil, from), le64(nil, to), 1) }
}

// changeSums returns a function that changes one of the means of durations of 3 to 7 ns: first comes that of the whole
// vector, and then those of its blocks.
func changeSums(number int) func(b []byte) []byte {
	return func(b []byte) []byte {
		sums := le64(le64(le64(nil, 3), 7), 5)
		at := 0
		for range number + 1 {
			at += bytes.Index(b[at:], sums) + 1
		}
		b[at+15]++
		return b
	}
}

// TestCheckBlocks changes the last value of each block of durations and times of sequences. The checker finds each
// change: in files of ABI 16 too, whose writer stored exclusive durations that do not follow from the events.
func TestCheckBlocks(t *testing.T) {
	list := []inputEvent{{0, Enter, region(2), nil}}
	for i := range uint64(1200) {
		list = append(list, inputEvent{10 * i, Enter, region(1), nil}, inputEvent{10*i + 3 + i%5, Leave, region(1), nil})
	}
	list = append(list, inputEvent{12_000, Leave, region(2), nil})
	names := []string{filepath.FromSlash(recorded(t, list, &WriterOptions{Plain: true}).Archive.Trace.src.Path)}
	for _, dir := range folders(t) {
		if strings.Contains(filepath.Base(dir), "abi16") {
			copied := t.TempDir()
			if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			names = append(names, mainFile(t, copied))
		}
	}
	for _, name := range names {
		d := tracetest.Open(t, Format{}, format.FileSource(name), nil).(*decoder)
		th, err := d.thread(d.threads[0], wholeThread)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(filepath.Dir(name), filepath.FromSlash(th.durations.name))
		sound, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i := range th.Sequences {
			s := &th.Sequences[i]
			for k, v := range []*Vector{&s.Timestamps, &s.Durations, &s.Exclusive} {
				for n, x := range v.Blocks {
					b := slices.Clone(sound)
					size := binary.LittleEndian.Uint64(b[x.Offset:])
					b[x.Offset+8+size-1] ^= 1
					if err := os.WriteFile(file, b, 0o666); err != nil {
						t.Fatal(err)
					}
					if len(checkRules(t, name)) == 0 {
						t.Errorf("%s: found no defect in block %d of vector %d of sequence %d", name, n, k, i)
					}
				}
			}
		}
	}
}

// TestCheck checks that the checker finds defects that no event depends on, and none in sound
// traces.
func TestCheck(t *testing.T) {
	var list []inputEvent
	for i := range uint64(1200) {
		list = append(list, inputEvent{10 * i, Enter, region(1), nil}, inputEvent{10*i + 3 + i%5, Leave, region(1), nil})
	}
	const thread, archive = "archive_3/thread_7/thread.pallas", "archive_3/archive.pallas"
	change := func(file string, f func(b []byte) []byte) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			name := filepath.Join(dir, file)
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, f(b), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	number := func(at int, n uint32) func(b []byte) []byte {
		return func(b []byte) []byte { binary.LittleEndian.PutUint32(b[at:], n); return b }
	}
	remove := func(file string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			if err := os.RemoveAll(filepath.Join(dir, file)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, x := range []struct {
		name   string
		damage func(t *testing.T, dir string)
		want   []string
	}{
		{"sound", func(*testing.T, string) {}, nil},
		{"thread's number", change(thread, number(0, 8)), []string{"pallas.ids"}},
		{"thread's archive", change(thread, number(4, 8)), []string{"pallas.ids"}},
		{"archive's number", change(archive, number(0, 8)), []string{"pallas.ids"}},
		{"archive's threads", change(archive, number(4, 2)), []string{"pallas.missing-file"}},
		{"archive's threads, too few", change(archive, number(4, 0)), []string{"pallas.ids"}},
		{"a folder of an archive that the main file does not list", func(t *testing.T, dir string) {
			if err := os.CopyFS(filepath.Join(dir, "archive_9"), os.DirFS(filepath.Join(dir, "archive_3"))); err != nil {
				t.Fatal(err)
			}
		}, []string{"pallas.ids"}},
		{"a folder of a thread that the archive does not list", func(t *testing.T, dir string) {
			archive := filepath.Join(dir, "archive_3")
			if err := os.CopyFS(filepath.Join(archive, "thread_9"), os.DirFS(filepath.Join(archive, "thread_7"))); err != nil {
				t.Fatal(err)
			}
		}, []string{"pallas.ids"}},
		{"no archive", remove("archive_3"), []string{"pallas.missing-file"}},
		{"no file of durations", remove("archive_3/thread_7/sequence_durations.dat"), []string{"pallas.missing-file"}},
		{"half a file of durations",
			change("archive_3/thread_7/sequence_durations.dat", func(b []byte) []byte { return b[:len(b)/2] }),
			[]string{"pallas.damaged"}},
		{"no file of times", remove("archive_3/thread_7/event_durations.dat"), []string{"pallas.missing-file"}},
		{"another duration", change("archive_3/thread_7/sequence_durations.dat",
			func(b []byte) []byte { b[8] = 200; return b }), []string{"pallas.sums"}},
		{"another first time", change("archive_3/thread_7/event_durations.dat",
			func(b []byte) []byte { b[8] = 1; return b }), []string{"pallas.sums"}},
		{"a time that goes back",
			change("archive_3/thread_7/event_durations.dat", func(b []byte) []byte { b[8+8*50] = 0; return b }),
			[]string{"pallas.sums", "pallas.time-order"}},
		{"another last time in the head of a block", change(thread, changeFirst(9990, 9991)), []string{"pallas.sums"}},
		{"another mean of all durations", change(thread, changeSums(0)), []string{"pallas.sums"}},
		{"another mean of the first durations", change(thread, changeSums(1)), []string{"pallas.sums"}},
		{"another mean of the last durations", change(thread, changeSums(2)), []string{"pallas.sums"}},
		{"a loop too short", change(thread, func(b []byte) []byte {
			at := bytes.LastIndex(b, le32(nil, 1200))
			return number(at, 1100)(b)
		}), []string{"pallas.lost-events"}},
		{"a payload of another record", change(thread, func(b []byte) []byte { return number(44, uint32(MPISend))(b) }),
			[]string{"pallas.payload"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			name := filepath.FromSlash(recorded(t, list, &WriterOptions{Plain: true}).Archive.Trace.src.Path)
			x.damage(t, filepath.Dir(name))
			if got := checkRules(t, name); !slices.Equal(got, x.want) {
				t.Errorf("%v, want %v", got, x.want)
			}
		})
	}
	for _, dir := range folders(t) {
		var want []string
		if strings.HasSuffix(dir, "attrs") { // the last event has a value of attribute 555, which nothing defines
			want = []string{"pallas.undefined"}
		}
		if got := checkRules(t, mainFile(t, dir)); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", filepath.Base(dir), got, want)
		}
	}
}
