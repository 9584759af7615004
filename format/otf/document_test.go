package otf

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/tracetest"
)

// The tests of this file are named after the sections of the specification of 2007
// (docs/formats/otf.md, "The document, sentence by sentence").

// memoryTrace returns the trace x.otf with the given files.
func memoryTrace(files map[string]string) format.Source {
	m := fstest.MapFS{}
	for name, text := range files {
		m[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return format.Source{FS: m, Name: "x.otf", Path: "x.otf"}
}

// oneStreamTrace returns a trace of the processes 1 and 2 whose only stream has one file of the given
// part.
func oneStreamTrace(part Part, text string) format.Source {
	return memoryTrace(map[string]string{"x.otf": "1:1,2\n", "x.1" + suffixes[part]: text})
}

// recordsOf returns the records of a part and the rules of the defects. A record has the form "time *process
// text" with decimal numbers, or "stream: text". A record of several lines has its lines joined by " | ".
func recordsOf(t *testing.T, src format.Source, part Part, opt *Options) (list, rules []string) {
	t.Helper()
	o, rep := Options{}, format.NewReport()
	if opt != nil {
		o = *opt
	}
	o.Read = &format.ReadOptions{Report: rep}
	r, err := Open(t.Context(), src, &o)
	if err != nil {
		return []string{err.Error()}, nil
	}
	c, err := r.Cursor(t.Context(), part)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for c.Next() {
		list = append(list, recordText(c.Record(), part))
	}
	if c.Err() != nil {
		t.Fatal(c.Err())
	}
	for _, x := range rep.Rules() {
		rules = append(rules, x.Rule)
	}
	slices.Sort(rules)
	return list, rules
}

func recordText(r *Record, part Part) string {
	text := strings.ReplaceAll(strings.TrimSuffix(string(r.Append(nil, false)), "\n"), "\n", " | ")
	if part.timed() {
		return fmt.Sprintf("%d *%d %s", r.Time, r.Process, text)
	}
	return fmt.Sprintf("%x: %s", r.Stream, text)
}

// sameRecords compares the records of a part with the wanted records.
func sameRecords(t *testing.T, src format.Source, part Part, opt *Options, want ...string) (rules []string) {
	t.Helper()
	got, rules := recordsOf(t, src, part, opt)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", part, diff)
	}
	return rules
}

// writtenFiles writes records and returns the files by their names without the leading "x".
func writtenFiles(t *testing.T, opt *WriterOptions, records ...Record) map[string]string {
	t.Helper()
	dir := t.TempDir()
	w := Create(filepath.Join(dir, "x"), opt)
	for i := range records {
		if err := w.Write(&records[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for name, text := range contents(t, dir) {
		files[strings.TrimPrefix(name, "x")] = text
	}
	return files
}

// filledRecord returns a record of a type in which each field has a value. Numbers have the greatest value.
func filledRecord(typ Type) Record {
	r := Record{Type: typ}
	for _, f := range specs[typ].fields {
		switch {
		case f.bits > 0:
			*r.number(f.f) = math.MaxUint64 >> (64 - f.bits)
		case f.f == fieldMembers:
			r.Members = []uint32{1, math.MaxUint32}
		default:
			*r.text(f.f) = "text of ABC \t\\"
		}
	}
	return r
}

// eachType calls a function for all record types.
func eachType(f func(Type)) {
	for typ := range Type(NumTypes) {
		if specs[typ].name != "" {
			f(typ)
		}
	}
}

// allValueTypes returns one key-value pair of each value type.
func allValueTypes() (l []KeyValue) {
	for v := Char; v < Bytes; v++ {
		l = append(l, KeyValue{Key: uint32(v) + 1, Type: v, Bits: math.MaxUint64 >> (64 - v.bits())})
	}
	return append(l, KeyValue{Key: 99, Type: Bytes, Bytes: []byte{0, 10, 34, 127, 255}})
}

func TestDocument_2_1(t *testing.T) {
	t.Run("2.1 ASCII", func(t *testing.T) {
		eachType(func(typ Type) {
			for _, long := range []bool{false, true} {
				r := filledRecord(typ)
				r.KeyValues = allValueTypes()
				text := r.Append(nil, long)
				if i := bytes.IndexFunc(text, func(c rune) bool { return c > '~' || c < ' ' && c != '\n' && c != '\t' }); i >= 0 {
					t.Errorf("%s: found the byte %x in %q, expected ASCII", typ, text[i], text)
				}
			}
		})
	})
	t.Run("2.1 hexadecimal, no prefix, no leading zeros", func(t *testing.T) {
		files := writtenFiles(t, &WriterOptions{UniqueID: 0xfedcba9876543210},
			Record{Type: DefTimerResolution, TicksPerSecond: 1_000_000_000},
			Record{Type: DefFunction, Token: 26, Name: "f"},
			Record{Type: Enter, Time: 0, Process: 171, Function: 26},
			Record{Type: Leave, Time: math.MaxUint64 - 1, Process: 171, Function: 26})
		want := map[string]string{
			".otf": "1:ab\n", ".0.def": "DV1.c.5\"salmon\"\nDUIfedcba9876543210\nDTR3b9aca00\nDF1aG0NM\"f\"\n",
			".1.events": "0\n*ab\nE1a\nfffffffffffffffe\n*ab\nL1a\nfffffffffffffffe\n*ab\n",
		}
		if diff := cmp.Diff(want, files); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("2.1 leading zeros can be there", func(t *testing.T) {
		sameRecords(t, oneStreamTrace(Events, "000a\n*0001\nE0002\nS00000000001L02T03C0004X005\n"), Events, nil, "10 *1 E2",
			"10 *1 S1L2T3C4X5")
	})
	t.Run("2.1 byte order", func(t *testing.T) {
		// The values 1.0, -2 and 0x01020304 have different bytes on different machines. A file contains the
		// values as text, which is the same on all machines.
		r := Record{Type: NoOp, KeyValues: []KeyValue{{Key: 1, Type: Float64, Bits: math.Float64bits(1)},
			{Key: 2, Type: Int32, Bits: 0xfffffffe}, {Key: 3, Type: Uint32, Bits: 0x01020304}}}
		if got, want := string(r.Append(nil, false)), "K1YaV3ff0000000000000\nK2Y5Vfffffffe\nK3Y6V1020304\n"+
			"N\n"; got != want {
			t.Errorf("found %q, expected %q", got, want)
		}
	})
}

func TestDocument_2_2(t *testing.T) {
	t.Run("2.2 names of files", func(t *testing.T) {
		// A file name consists of an arbitrary prefix, the stream number in hexadecimal, and a suffix for the
		// part.
		for _, prefix := range []string{"x", "my trace.v2", "größe", "a.1.events", "x.otf.otf"} {
			dir := t.TempDir()
			var m MasterControl
			m.Assign(5, 0xab)
			w := Create(filepath.Join(dir, prefix+".otf"), &WriterOptions{Master: &m})
			for _, r := range []Record{
				{Type: DefFunction, Token: 1}, {Type: DefFunction, Stream: 0xab, Token: 2}, {Type: Enter, Process: 5, Function: 1},
				{Type: EnterSnapshot, Process: 5, Function: 1}, {Type: FunctionSummary, Process: 5, Function: 1},
				{Type: DefMarker, Token: 1},
			} {
				if err := w.Write(&r); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			var got []string
			for name := range contents(t, dir) {
				got = append(got, strings.TrimPrefix(name, prefix))
			}
			slices.Sort(got)
			want := []string{".0.def", ".0.marker", ".ab.def", ".ab.events", ".ab.snaps", ".ab.stats", ".otf"}
			if !slices.Equal(got, want) {
				t.Errorf("%s: found %q, expected %q", prefix, got, want)
			}
			if got, _ := recordsOf(t, format.FileSource(filepath.Join(dir, prefix+".otf")), Events, nil); !slices.Equal(got,
				[]string{"0 *5 E1"}) {
				t.Errorf("%s: found %q", prefix, got)
			}
		}
	})
	t.Run("2.2 definitions, events, status and summaries separately", func(t *testing.T) {
		eachType(func(typ Type) {
			r := filledRecord(typ)
			r.Process, r.Stream = 3, 0
			files := writtenFiles(t, nil, r)
			var got []string
			for name, text := range files {
				if strings.Contains(text, string(r.Append(nil, false))) {
					got = append(got, name)
				}
			}
			part := typ.Part()
			want := ".0" + suffixes[part]
			if part.timed() {
				want = ".1" + suffixes[part]
			}
			if !slices.Equal(got, []string{want}) {
				t.Errorf("%s: found it in %q, expected it in %s", typ, got, want)
			}
		})
	})
	t.Run("2.2 local definitions, snapshots and statistics are optional", func(t *testing.T) {
		src := memoryTrace(map[string]string{"x.otf": "1:1\n", "x.0.def": "DTR1\n", "x.1.events": "1\n*1\nE1\n1\n*1\n"})
		for part, want := range map[Part][]string{Definitions: {"0: DTR1"}, Events: {"1 *1 E1"}, Snapshots: nil,
			Statistics: nil, Markers: nil} {
			if rules := sameRecords(t, src, part, nil, want...); len(rules) > 0 {
				t.Errorf("%s: found %q, expected no defect", part, rules)
			}
		}
	})
}

func TestDocument_2_2_processes(t *testing.T) {
	t.Run("2.2 a process belongs to one stream", func(t *testing.T) {
		var m MasterControl
		if !m.Assign(7, 1) || m.Assign(7, 2) || m.Assign(7, 1) {
			t.Error("a process could be assigned twice")
		}
		// Several processes share a stream, and each has all its records in that stream.
		var records []Record
		for i := range uint64(20) {
			records = append(records, Record{Type: Enter, Time: i, Process: i%5 + 1, Function: i%5 + 1},
				Record{Type: EnterSnapshot, Time: i, Process: i%5 + 1, Function: i%5 + 1})
		}
		files := writtenFiles(t, &WriterOptions{Streams: 2}, records...)
		if got, want := files[".otf"], "1:1,3,5\n2:2,4\n"; got != want {
			t.Errorf("found the master file %q, expected %q", got, want)
		}
		for _, x := range []struct{ stream, function string }{{"2", "1"}, {"1", "2"}, {"2", "3"}, {"1", "4"}, {"2", "5"}} {
			if strings.Contains(files["."+x.stream+".events"], "\nE"+x.function+"\n") ||
				strings.Contains(files["."+x.stream+".snaps"], "\nTE"+x.function+"O") {
				t.Errorf("process %s has records in stream %s", x.function, x.stream)
			}
		}
	})
	t.Run("2.2 deleting single files makes the trace invalid", func(t *testing.T) {
		files := map[string]string{"x.otf": "1:1\n2:2\n", "x.0.def": "DTR1\nDP1NM\"a\"\nDP2NM\"b\"\nDF1G0NM\"f\"\n",
			"x.1.events": "1\n*1\nE1\n1\n*1\n", "x.2.events": "2\n*2\nE1\n2\n*2\n"}
		for name, want := range map[string]string{"": "", "x.0.def": "otf.missing-file x.0.def",
			"x.2.events": "otf.missing-file x.2.events"} {
			some := map[string]string{}
			for k, v := range files {
				if k != name {
					some[k] = v
				}
			}
			rep := format.NewReport()
			d := tracetest.Open(t, Format{}, memoryTrace(some), &format.ReadOptions{Report: rep})
			tracetest.Dump(t, d, trace.Everything())
			d.Close()
			got := ""
			for _, r := range rep.Rules() {
				if x := r.First[0]; x.Severity == trace.Error {
					got += x.Rule + " " + x.Position.File
				}
			}
			if got != want {
				t.Errorf("without %q: found %q, expected %q", name, got, want)
			}
		}
	})
	t.Run("2.2 copying takes all files into account", func(t *testing.T) {
		dir := t.TempDir()
		all := map[string]string{"otf": "1:1\n2:2\n", "0.def": "DTR1\nDP1NM\"a\"\nDP2NM\"b\"\nDF1G0NM\"f\"\n",
			"1.def": "DF2G0NM\"g\"\n", "1.events": "1\n*1\nE1\n1\n*1\n", "2.events": "2\n*2\nE1\n2\n*2\n",
			"1.snaps": "1\n*1\nTE1O0\n1\n*1\n", "2.stats": "2\n*2\nSF1N1E0I0\n2\n*2\n", "0.marker": "MD1NM\"m\"Y1\n",
			"thumb": "0:2,2\n1:0,1,\n2:0,1,\n"}
		old := []string{"1.events.z", "2.snaps", "3.events", "2.marker", "thumb"}
		for name, text := range all {
			writeFile(t, filepath.Join(dir, "x."+name), text)
		}
		for _, name := range old { // these files belong to the trace that is replaced
			writeFile(t, filepath.Join(dir, "y."+name), "old")
		}
		writeFile(t, filepath.Join(dir, "y.otf"), "1:1\n3:3\n")
		convert := func(from, to string, values map[string]string) map[string]string {
			out, err := format.CreateFile(filepath.Join(dir, to))
			if err != nil {
				t.Fatal(err)
			}
			defer out.Abort()
			src := format.FileSource(filepath.Join(dir, from))
			_, err = Format{}.Copy(t.Context(), src, &format.ReadOptions{Values: values}, out, &format.WriteOptions{})
			if err == nil {
				err = out.Commit()
			}
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for name, text := range contents(t, dir) {
				if rest, ok := strings.CutPrefix(name, "y."); ok {
					got[rest] = text
				} else if !strings.HasPrefix(name, "x.") {
					t.Errorf("left behind: %s", name)
				}
			}
			return got
		}
		if diff := cmp.Diff(all, convert("x.otf", "y.otf", nil)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		// A thumbnail is removed if the copy gives other numbers to its functions.
		if _, ok := convert("x.otf", "y.otf", map[string]string{unifyOption: "true"})["thumb"]; ok {
			t.Error("the thumbnail of the trace that was replaced is still there")
		}
	})
}

func TestDocument_2_2_partitions(t *testing.T) {
	t.Run("2.2 partitions are transparent", func(t *testing.T) {
		var records []Record
		var want []string
		for i := range uint64(200) {
			r := Record{Type: Enter, Time: 3 * i, Process: i*i%7 + 1, Function: i%3 + 1}
			records, want = append(records, r), append(want, recordText(&r, Events))
		}
		// A program can query and change the number of streams and the streams of the processes.
		var explicit MasterControl
		explicit.Assign(1, 9)
		explicit.Assign(2, 0xfffffffe)
		for name, x := range map[string]struct {
			opt  WriterOptions
			want string
		}{
			"one":      {WriterOptions{Streams: 1}, "1:1,2,3,5\n"},
			"two":      {WriterOptions{Streams: 2}, "1:1,5\n2:2,3\n"},
			"each":     {WriterOptions{}, "1:1\n2:2\n3:5\n4:3\n"},
			"explicit": {WriterOptions{Streams: 2, Master: &explicit}, "9:1,5\nfffffffe:2,3\n"},
		} {
			files := writtenFiles(t, &x.opt, records...)
			in := map[string]string{}
			for k, v := range files {
				in["x"+k] = v
			}
			sameRecords(t, memoryTrace(in), Events, nil, want...)
			if m, err := ReadMaster(memoryTrace(in), nil); err != nil || string(m.AppendTo(nil)) != x.want {
				t.Errorf("%s: found %q, expected %q (%v)", name, m.AppendTo(nil), x.want, err)
			}
		}
	})
	t.Run("2.2 n files by m descriptors", func(t *testing.T) {
		const streams = 12
		files, want := map[string]string{}, []string(nil)
		for s := 1; s <= streams; s++ {
			files["x.otf"] += fmt.Sprintf("%x:%x\n", s, s)
			for i := range 400 {
				files[fmt.Sprintf("x.%x.events", s)] += fmt.Sprintf("%x\n*%x\nE%x\n", i*streams+s, s, i+1)
			}
		}
		for i := range 400 * streams {
			want = append(want, fmt.Sprintf("%d *%d E%x", i+1, i%streams+1, i/streams+1))
		}
		for m := 1; m < streams; m++ {
			src := memoryTrace(files)
			watch := &watchedFS{FS: src.FS}
			src.FS = watch
			sameRecords(t, src, Events, &Options{Files: NewFileManager(m)}, want...)
			if watch.most > m || watch.open != 0 {
				t.Errorf("%d descriptors: found %d files open at once, and %d at the end", m, watch.most, watch.open)
			}
		}
	})
	t.Run("2.2 n files by m descriptors, writing", func(t *testing.T) {
		dir, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.ReadDir("/proc/self/fd"); err != nil {
			t.Skip("the system does not tell which files are open")
		}
		w := Create(filepath.Join(dir, "x"), &WriterOptions{Files: NewFileManager(2), Buffer: 1})
		for i := range uint64(100) {
			if err := w.Write(&Record{Type: Enter, Time: i, Process: i%10 + 1, Function: 1}); err != nil {
				t.Fatal(err)
			}
			fds, _ := os.ReadDir("/proc/self/fd")
			n := 0
			for _, fd := range fds {
				if name, err := os.Readlink("/proc/self/fd/" + fd.Name()); err == nil && strings.HasPrefix(name, dir) {
					n++
				}
			}
			if n > 2 {
				t.Fatalf("found %d files open, expected at most 2", n)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if got := contents(t, dir)["x.a.events"]; !strings.HasPrefix(got, "9\n*a\nE1\n13\n*a\nE1\n1d\n") {
			t.Errorf("found %.40q", got)
		}
	})
}

// watchedFS counts open files and the bytes that are read.
type watchedFS struct {
	fs.FS
	mutex      sync.Mutex
	open, most int
	read       int64
	names      []string // names of the files that were opened
}

func (w *watchedFS) Open(name string) (fs.File, error) {
	f, err := w.FS.Open(name)
	if err != nil {
		return nil, err
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.open++
	w.most = max(w.most, w.open)
	w.names = append(w.names, name)
	return &watchedFile{f, w}, nil
}

type watchedFile struct {
	fs.File
	w *watchedFS
}

func (f *watchedFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.File.(io.ReaderAt).ReadAt(p, off)
	f.w.mutex.Lock()
	f.w.read += int64(n)
	f.w.mutex.Unlock()
	return n, err
}

func (f *watchedFile) Close() error {
	f.w.mutex.Lock()
	f.w.open--
	f.w.mutex.Unlock()
	return f.File.Close()
}
