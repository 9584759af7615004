package otf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"os/exec"
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

// inMemory is the trace x.otf of these files.
func inMemory(files map[string]string) format.Source {
	m := fstest.MapFS{}
	for name, text := range files {
		m[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return format.Source{FS: m, Name: "x.otf", Path: "x.otf"}
}

// inOneStream is a trace of the processes 1 and 2, whose only stream has this file.
func inOneStream(part Part, text string) format.Source {
	return inMemory(map[string]string{"x.otf": "1:1,2\n", "x.1" + suffixes[part]: text})
}

// recordsOf are the records of a part, as "time *process text" with decimal numbers or
// "stream: text", and the rules of the defects. The lines of a record are joined by " | ".
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

// sameRecords compares the records of a part.
func sameRecords(t *testing.T, src format.Source, part Part, opt *Options, want ...string) (rules []string) {
	t.Helper()
	got, rules := recordsOf(t, src, part, opt)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", part, diff)
	}
	return rules
}

// written writes records and returns the files, by the ends of their names behind "x".
func written(t *testing.T, opt *WriterOptions, records ...Record) map[string]string {
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

// filled is a record of a type all of whose fields have a value, numbers the largest.
func filled(typ Type) Record {
	r := Record{Type: typ}
	for _, f := range specs[typ].fields {
		switch {
		case f.bits > 0:
			*r.number(f.f) = math.MaxUint64 >> (64 - f.bits)
		case f.f == fMembers:
			r.Members = []uint32{1, math.MaxUint32}
		default:
			*r.text(f.f) = "text of ABC \t\\"
		}
	}
	return r
}

// eachType calls a function for all types of records.
func eachType(f func(Type)) {
	for typ := range Type(NumTypes) {
		if specs[typ].name != "" {
			f(typ)
		}
	}
}

// allValueTypes is a pair of each type of value.
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
				r := filled(typ)
				r.KeyValues = allValueTypes()
				text := r.Append(nil, long)
				if i := bytes.IndexFunc(text, func(c rune) bool { return c > '~' || c < ' ' && c != '\n' && c != '\t' }); i >= 0 {
					t.Errorf("%s: found the byte %x in %q, expected ASCII", typ, text[i], text)
				}
			}
		})
	})
	t.Run("2.1 hexadecimal, no prefix, no leading zeros", func(t *testing.T) {
		files := written(t, &WriterOptions{UniqueID: 0xfedcba9876543210},
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
		sameRecords(t, inOneStream(Events, "000a\n*0001\nE0002\nS00000000001L02T03C0004X005\n"), Events, nil, "10 *1 E2",
			"10 *1 S1L2T3C4X5")
	})
	t.Run("2.1 byte order", func(t *testing.T) {
		// What differs in its bytes between machines is written as a number: 1.0, -2 and 0x01020304.
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
		// An arbitrary prefix, the stream in hexadecimal, a suffix by the sort of file.
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
			r := filled(typ)
			r.Process, r.Stream = 3, 0
			files := written(t, nil, r)
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
		src := inMemory(map[string]string{"x.otf": "1:1\n", "x.0.def": "DTR1\n", "x.1.events": "1\n*1\nE1\n1\n*1\n"})
		for part, want := range map[Part][]string{Definitions: {"0: DTR1"}, Events: {"1 *1 E1"}, Snapshots: nil,
			Statistics: nil, Markers: nil} {
			if rules := sameRecords(t, src, part, nil, want...); len(rules) > 0 {
				t.Errorf("%s: found %q, expected no defect", part, rules)
			}
		}
	})
	t.Run("2.2 a process belongs to one stream", func(t *testing.T) {
		var m MasterControl
		if !m.Assign(7, 1) || m.Assign(7, 2) || m.Assign(7, 1) {
			t.Error("a process could be assigned twice")
		}
		// Several processes in a stream, each with all that it has in that stream alone.
		var records []Record
		for i := range uint64(20) {
			records = append(records, Record{Type: Enter, Time: i, Process: i%5 + 1, Function: i%5 + 1},
				Record{Type: EnterSnapshot, Time: i, Process: i%5 + 1, Function: i%5 + 1})
		}
		files := written(t, &WriterOptions{Streams: 2}, records...)
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
			d := tracetest.Open(t, Format{}, inMemory(some), &format.ReadOptions{Report: rep})
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
		for _, name := range old { // of a trace that is replaced
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
		// A picture of functions that have other numbers now does not stay.
		if _, ok := convert("x.otf", "y.otf", map[string]string{unifyOption: "true"})["thumb"]; ok {
			t.Error("the thumbnail of the trace that was replaced is still there")
		}
	})
	t.Run("2.2 partitions are transparent", func(t *testing.T) {
		var records []Record
		var want []string
		for i := range uint64(200) {
			r := Record{Type: Enter, Time: 3 * i, Process: i*i%7 + 1, Function: i%3 + 1}
			records, want = append(records, r), append(want, recordText(&r, Events))
		}
		// Queried and altered: how many streams there are, and which processes are in which.
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
			files := written(t, &x.opt, records...)
			in := map[string]string{}
			for k, v := range files {
				in["x"+k] = v
			}
			sameRecords(t, inMemory(in), Events, nil, want...)
			if m, err := ReadMaster(inMemory(in), nil); err != nil || string(m.AppendTo(nil)) != x.want {
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
			src := inMemory(files)
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

// watchedFS counts the files that are open, and the bytes that are read.
type watchedFS struct {
	fs.FS
	mutex      sync.Mutex
	open, most int
	read       int64
	names      []string // of the files that were opened
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

func TestDocument_2_3(t *testing.T) {
	t.Run("2.3 single lines of text", func(t *testing.T) {
		eachType(func(typ Type) {
			r := filled(typ)
			for _, f := range specs[typ].fields {
				if f.bits == 0 && f.f != fMembers {
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
			if got := written(t, &WriterOptions{Streams: 1}, records...)[".1.events"]; got != x.want {
				t.Errorf("%s: found %q, expected %q", x.name, got, x.want)
			}
		}
	})
	t.Run("2.3 valid until reassigned", func(t *testing.T) {
		for _, part := range []Part{Events, Snapshots, Statistics} {
			record := map[Part]string{Events: "N", Snapshots: "TC\"\"", Statistics: "SC\"\""}[part]
			text := strings.ReplaceAll("1\n*1\nR\nR\n2\nR\n*2\nR\n3\n*1\n4\n*2\nR\n*1\n*2\n*1\nR\n", "R", record)
			sameRecords(t, inOneStream(part, text), part, nil, "1 *1 "+record, "1 *1 "+record, "2 *1 "+record, "2 *2 "+record,
				"4 *2 "+record, "4 *1 "+record)
		}
	})
	t.Run("2.3 handlers get time and process of every record", func(t *testing.T) {
		eachType(func(typ Type) {
			part := typ.Part()
			if !part.timed() {
				return
			}
			r := filled(typ)
			text := fmt.Sprintf("7\n*2\n%s9\n*1\n%s*2\n%s", r.Append(nil, false), r.Append(nil, true), r.Append(nil, false))
			reader, err := Open(t.Context(), inOneStream(part, text), nil)
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

// "Unsorted files are regarded invalid": no writer makes one, and reading reports it.
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
			d := tracetest.Open(t, Format{}, inMemory(files), &format.ReadOptions{Report: rep})
			tracetest.Dump(t, d, trace.Everything()) // which is in the order of time
			d.Close()
			if l := rep.Rules(); len(l) != 1 || l[0].Rule != "otf.unsorted" || l[0].Count != 1 {
				t.Errorf("%s: found %v, expected otf.unsorted", part, l)
			}
		}
	})
}

// A time is found by looking at few places of a file.
func TestDocument_2_5(t *testing.T) {
	for _, part := range []Part{Events, Snapshots, Statistics} {
		t.Run("2.5 time search, "+part.String(), func(t *testing.T) {
			// Texts of records that look like lines of another kind do not mislead the search.
			record := map[Part]string{Events: "#\"*1 5 E1\"", Snapshots: "TC\"*1 5 E1\"", Statistics: "SC\"*1 5 E1\""}[part]
			var b strings.Builder
			const n = 200_000
			for i := range n {
				fmt.Fprintf(&b, "%x\n*%x\n%s\n", 10*i+10, i%2+1, record)
			}
			src := inOneStream(part, b.String())
			for _, at := range []int{10, 20, 99_990, 1_000_000, 1_234_560, 10 * n} {
				watch := &watchedFS{FS: src.FS}
				w := src
				w.FS = watch
				want := fmt.Sprintf("%d *%d %s", at, (at/10+1)%2+1, record)
				for from := at - 9; from <= at; from += 9 { // between two times, and at one
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

// namedEvents are the events with the names of what they refer to.
func namedEvents(t *testing.T, files map[string]string) (list []string) {
	t.Helper()
	d := tracetest.Open(t, Format{}, inMemory(files), nil)
	defer d.Close()
	err := d.Scan(t.Context(), trace.Everything(), format.GlobalOrder,
		format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
			for c := b.Cursor(); c.Next(); {
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
			d := tracetest.Open(t, Format{}, inMemory(map[string]string{"x.otf": "1:1\n", "x.0.def": text,
				"x.1.events": "1\n*1\nN\n"}), nil)
			if c := d.Defs().Clock; c.Num != want {
				t.Errorf("%q: found %d ticks a second, expected %d", text, c.Num, want)
			}
			d.Close()
		}
	})
	t.Run("2.6 a separate file for definitions", func(t *testing.T) {
		src := inMemory(map[string]string{"x.otf": "1:1\n", "x.0.def": "E1\nDF1G0NM\"f\"\n",
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
		// The writer takes them at any time; events stay in order, and have the names.
		files := written(t, &WriterOptions{UniqueID: 1},
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
		// Each says its scope.
		sameRecords(t, inMemory(in), Definitions, nil, "0: DV1.c.5\"salmon\"", "0: DUI1", "0: DF7G0NM\"global\"",
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
				r := filled(typ)
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

// handSnapshots is a trace of two processes with snapshots and summaries, and other files of all sorts.
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

// "Because they live in a separate file, it is possible to add, manipulate, replace and delete snapshots of a
// stream without affecting event data"; "like snapshots, summaries" too; neither is made without being asked for.
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
		to := copied(t, m, nil)
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
			{AugmentOptions{Snapshots: true, Points: at(5, 205)}, 2, 0},                     // added
			{AugmentOptions{Summaries: true, Points: at(5, 205)}, 2, 2},                     // added
			{AugmentOptions{Snapshots: true, Points: at(5, 17, 18, 19, 100, 400)}, 2, 2},    // replaced
			{AugmentOptions{Summaries: true, Points: at(5, 17, 18, 19, 100, 400)}, 2, 2},    // replaced
			{AugmentOptions{Summaries: true, Remove: true}, 2, 0},                           // deleted
			{AugmentOptions{Snapshots: true, Remove: true}, 0, 0},                           // deleted
			{AugmentOptions{Points: Every(37)}, 2, 2}, {AugmentOptions{Remove: true}, 0, 0}, // both
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

// "p([a, b]) := p(b) − p(a)": any two points in time with values give the sums between them, and events
// are not asked for.
func TestDocument_2_9(t *testing.T) {
	values := []struct{ time, count, exclusive, inclusive uint64 }{{10, 1, 3, 4}, {20, 1, 5, 9}, {35, 6, 11, 25},
		{70, 9, 30, 31}}
	files := map[string]string{"x.otf": "1:1\n", "x.0.def": "DTR1\nDP1NM\"p\"\nDFG1NM\"g\"\nDF1G1NM\"f\"\n"}
	for _, v := range values {
		files["x.1.stats"] += fmt.Sprintf("%x\n*1\nSF1N%xE%xI%x\nSG1N%xE%xI%x\n", v.time, v.count, v.exclusive, v.inclusive,
			v.count, v.exclusive, v.inclusive)
	}
	r, err := Open(t.Context(), inMemory(files), nil)
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

// interfaces builds testdata/interfaces.c with libotf, and gives what runs one of its parts in a directory.
func interfaces(t *testing.T) func(t *testing.T, part, dir string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "interfaces")
	out, err := exec.Command(tool(t, "gcc"), "-w", "-I/usr/include/open-trace-format", "-o", program,
		"testdata/interfaces.c", "-lopen-trace-format", "-lz").CombinedOutput()
	if err != nil {
		t.Skipf("libotf is not installed: %s", out)
	}
	return func(t *testing.T, part, dir string) string {
		t.Helper()
		cmd := exec.Command(program, part)
		cmd.Dir = dir
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("interfaces %s: %v", part, err)
		}
		return string(out)
	}
}

// The interfaces of section 3, used with the real library and with the package: the same files, and
// the same records.
func TestDocument_3(t *testing.T) {
	libotf := interfaces(t)
	must := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	opt := func() *Options { return &Options{Files: NewFileManager(8)} }
	written := func(t *testing.T, id uint64) (dir string) {
		dir = t.TempDir()
		w := Create(filepath.Join(dir, "written"), &WriterOptions{Streams: 1, Files: NewFileManager(8), UniqueID: id})
		for _, r := range []Record{{Type: DefTimerResolution, TicksPerSecond: 250}, {Type: DefProcess, Token: 3, Name: "rank 3"},
			{Type: DefFunctionGroup, Token: 20, Name: "user code"}, {Type: DefFunction, Token: 7, Name: "solve", Group: 20},
			{Type: Enter, Time: 500, Process: 3, Function: 7}, {Type: Leave, Time: 725, Process: 3, Function: 7}} {
			must(t, w.Write(&r))
		}
		must(t, w.Close())
		return dir
	}
	each := func(t *testing.T, c *Cursor, err error, h *Handlers) {
		t.Helper()
		must(t, err)
		defer c.Close()
		_, err = c.Each(h, 0)
		must(t, err)
	}
	t.Run("3.1.1 global write interface", func(t *testing.T) {
		theirs := t.TempDir()
		libotf(t, "write", theirs)
		id := uint64(0) // the library's own
		for l := range strings.Lines(contents(t, theirs)["written.0.def"]) {
			fmt.Sscanf(l, "DUI%x", &id)
		}
		sameFiles(t, "3.1.1", contents(t, written(t, id)), contents(t, theirs))
	})
	t.Run("3.1.2 stream write interface", func(t *testing.T) {
		theirs, ours := t.TempDir(), t.TempDir()
		libotf(t, "write-stream", theirs)
		w := NewStreamWriter(filepath.Join(ours, "written"), 0, &WriterOptions{Files: NewFileManager(8)})
		must(t, w.Write(&Record{Type: DefTimerResolution, TicksPerSecond: 250}))
		must(t, w.Write(&Record{Type: DefProcess, Token: 3, Name: "rank 3"}))
		must(t, w.Close())
		sameFiles(t, "3.1.2", contents(t, ours), contents(t, theirs))
	})
	// What the library reads, the package has written.
	t.Run("3.2.1 global read interface", func(t *testing.T) {
		dir, got := written(t, 1), ""
		want := libotf(t, "read", dir)
		r, err := Open(t.Context(), format.FileSource(filepath.Join(dir, "written")), opt())
		must(t, err)
		c, err := r.Cursor(t.Context(), Events)
		say := func(what string) func(r *Record) error {
			return func(r *Record) error {
				got += fmt.Sprintf("%d: %d %s %d\n", r.Time, r.Process, what, r.Function)
				return nil
			}
		}
		each(t, c, err, &Handlers{Enter: say("enters"), Leave: say("leaves")})
		if got != want || got != "500: 3 enters 7\n725: 3 leaves 7\n" {
			t.Errorf("found %q, libotf says %q", got, want)
		}
	})
	t.Run("3.2.2 stream read interface", func(t *testing.T) {
		dir, got := written(t, 1), ""
		want := libotf(t, "read-stream", dir)
		s, err := OpenStream(format.FileSource(filepath.Join(dir, "written")), 0, opt())
		must(t, err)
		c, err := s.Cursor(t.Context(), Definitions)
		each(t, c, err, &Handlers{DefProcess: func(r *Record) error {
			got += fmt.Sprintf("process %d of stream %d: %s\n", r.Token, r.Stream, r.Name)
			return nil
		}})
		if got != want || got != "process 3 of stream 0: rank 3\n" {
			t.Errorf("found %q, libotf says %q", got, want)
		}
	})
	t.Run("3.3 stream management interface", func(t *testing.T) {
		theirs, ours, got := t.TempDir(), t.TempDir(), ""
		want := libotf(t, "master", theirs)
		var m MasterControl
		for p := uint32(10); p < 15; p++ {
			m.Assign(p, 1+p%2)
		}
		must(t, WriteMaster(filepath.Join(ours, "written"), &m))
		again, err := ReadMaster(format.FileSource(filepath.Join(ours, "written")), nil)
		must(t, err)
		for _, s := range again.Streams() {
			for _, p := range again.Processes(s) {
				got += fmt.Sprintf("stream %d: process %d\n", s, p)
				if home, ok := again.Stream(p); !ok || home != s {
					t.Errorf("found process %d in stream %d, expected %d", p, home, s)
				}
			}
		}
		sameFiles(t, "3.3", contents(t, ours), contents(t, theirs))
		if got != want || !strings.HasSuffix(got, "stream 2: process 11\nstream 2: process 13\n") {
			t.Errorf("found %q, libotf says %q", got, want)
		}
	})
}

// tracedRun is what section 4.1 describes: each process writes a stream of its own, with definitions in the
// beginning, during the run and at the end, one of them the global definitions and the master file.
func tracedRun(t *testing.T, processes uint32) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "run.otf")
	var m MasterControl
	var wait sync.WaitGroup
	for p := uint32(1); p <= processes; p++ {
		m.Assign(p, p)
		wait.Go(func() {
			w := NewStreamWriter(strings.TrimSuffix(name, ".otf"), p, &WriterOptions{Buffer: 64})
			fail := func(err error) {
				if err != nil {
					t.Error(err)
				}
			}
			fail(w.Write(&Record{Type: DefFunction, Token: 1, Name: "early"}))
			for i := range uint64(100) {
				if i == 50 {
					fail(w.Write(&Record{Type: DefFunction, Token: 2, Name: "between"}))
				}
				fail(w.Write(&Record{Type: Enter, Time: 10*i + uint64(p), Process: uint64(p), Function: i%3 + 1}))
				fail(w.Write(&Record{Type: Leave, Time: 10*i + uint64(p), Process: uint64(p), Function: i%3 + 1}))
			}
			fail(w.Write(&Record{Type: DefFunction, Token: 3, Name: "late"}))
			fail(w.Close())
		})
	}
	wait.Wait()
	w := NewStreamWriter(strings.TrimSuffix(name, ".otf"), 0, nil)
	list := []Record{{Type: DefTimerResolution, TicksPerSecond: 1000}}
	for p := uint64(1); p <= uint64(processes); p++ {
		list = append(list, Record{Type: DefProcess, Token: p, Name: fmt.Sprint("process ", p)})
	}
	for i := range list {
		if err := w.Write(&list[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), WriteMaster(name, &m)); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestDocument_4(t *testing.T) {
	const processes = 6
	m := tracedRun(t, processes)
	want, _ := recordsOf(t, format.FileSource(m), Events, nil)
	if len(want) != 200*processes {
		t.Fatalf("found %d events, expected %d", len(want), 200*processes)
	}
	t.Run("4.1 a valid trace without merging", func(t *testing.T) {
		rep := format.NewReport()
		d := tracetest.Open(t, Format{}, format.FileSource(m), &format.ReadOptions{Report: rep})
		defer d.Close()
		c := d.NewChecker()
		if err := errors.Join(d.Scan(t.Context(), trace.Everything(), format.PerLocation, c),
			c.Finish(t.Context())); err != nil {
			t.Fatal(err)
		}
		for _, r := range rep.Rules() {
			t.Errorf("found %v, expected no defect", r.First[0])
		}
	})
	t.Run("4.1 the real tool reads it", func(t *testing.T) {
		out, err := exec.Command(tool(t, "otfprint"), m).Output()
		if n := bytes.Count(out, []byte("Enter: function")); err != nil || n != 100*processes {
			t.Errorf("otfprint has %d enters (%v), expected %d", n, err, 100*processes)
		}
	})
	t.Run("4.1 stream 0 is reserved", func(t *testing.T) {
		var c MasterControl
		if c.Assign(1, 0) || c.AddStream(0) {
			t.Error("a process could be assigned to stream 0")
		}
	})
	copyAll := func(t *testing.T, r *Reader, w *Writer) {
		t.Helper()
		for part := range numParts {
			c, err := r.Cursor(t.Context(), part)
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.Each(w.Handlers(), 0)
			if c.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	open := func(t *testing.T, name string, opt *Options) *Reader {
		t.Helper()
		r, err := Open(t.Context(), format.FileSource(name), opt)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	t.Run("4.2 M streams of N processes", func(t *testing.T) {
		var pairs MasterControl // or a fixed number of processes in each
		for p := uint32(1); p <= processes; p++ {
			pairs.Assign(p, (p+1)/2)
		}
		for text, opt := range map[string]*WriterOptions{
			"1:1,2,3,4,5,6\n": {Streams: 1}, "1:1,5\n2:2,6\n3:3\n4:4\n": {Streams: 4}, "1:1,2\n2:3,4\n" +
				"3:5,6\n": {Master: &pairs},
		} {
			out := filepath.Join(t.TempDir(), "out.otf")
			copyAll(t, open(t, m, nil), Create(out, opt))
			if b, err := os.ReadFile(out); err != nil || string(b) != text {
				t.Errorf("found the master file %q (%v), expected %q", b, err, text)
			}
			if got, _ := recordsOf(t, format.FileSource(out), Events, nil); !slices.Equal(got, want) {
				t.Errorf("%q: the copy has other events", text)
			}
		}
	})
	t.Run("4.2 filtering with handlers of one's own", func(t *testing.T) {
		out := filepath.Join(t.TempDir(), "out.otf")
		w := Create(out, &WriterOptions{Streams: 1})
		c, err := open(t, m, nil).Cursor(t.Context(), Events)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		translated := func(r *Record) error {
			if r.Function == 1 {
				return nil
			}
			r.Function += 100
			return w.Write(r)
		}
		if _, err := c.Each(&Handlers{Enter: translated, Leave: translated}, 0); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		var some []string
		for _, l := range want {
			if !strings.HasSuffix(l, " E1") && !strings.HasSuffix(l, " L1") {
				some = append(some, l[:len(l)-1]+fmt.Sprintf("%x", 100+l[len(l)-1]-'0'))
			}
		}
		sameRecords(t, format.FileSource(out), Events, nil, some...)
	})
	t.Run("4.2 merging in parallel", func(t *testing.T) {
		out := filepath.Join(t.TempDir(), "out.otf")
		var half MasterControl
		for p := uint32(1); p <= processes; p++ {
			half.Assign(p, (p-1)/3+1)
		}
		w := Create(out, &WriterOptions{Master: &half})
		r := open(t, m, nil)
		streams := []*StreamWriter{w.Stream(1), w.Stream(2)}
		var wait sync.WaitGroup
		for i, s := range streams {
			wait.Go(func() {
				r, err := Open(context.Background(), format.FileSource(m),
					&Options{Processes: func(p uint64) bool { return (p-1)/3 == uint64(i) }})
				if err != nil {
					t.Error(err)
					return
				}
				c, err := r.Cursor(context.Background(), Events)
				if err != nil {
					t.Error(err)
					return
				}
				defer c.Close()
				for c.Next() {
					if err := s.Write(c.Record()); err != nil {
						t.Error(err)
					}
				}
				if c.Err() != nil {
					t.Error(c.Err())
				}
			})
		}
		wait.Wait()
		c, err := r.Cursor(t.Context(), Definitions)
		if err != nil {
			t.Fatal(err)
		}
		for c.Next() {
			if err := w.Write(c.Record()); err != nil {
				t.Fatal(err)
			}
		}
		c.Close()
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if got, _ := recordsOf(t, format.FileSource(out), Events, nil); !slices.Equal(got, want) {
			t.Error("the merged trace has other events")
		}
	})
	t.Run("4.3 all definitions, global and local", func(t *testing.T) {
		all, _ := recordsOf(t, format.FileSource(m), Definitions, nil)
		n := map[string]int{}
		for _, l := range all {
			n[l[:2]]++
		}
		if n["0:"] != processes+1 || n["1:"] != 3 || n["6:"] != 3 || len(all) != processes+1+3*processes ||
			!strings.HasPrefix(all[0], "0:") {
			t.Errorf("found %q", all)
		}
	})
	t.Run("4.3 the fewest streams", func(t *testing.T) {
		src := format.FileSource(m)
		watch := &watchedFS{FS: src.FS}
		src.FS = watch
		got, _ := recordsOf(t, src, Events, &Options{Processes: func(p uint64) bool { return p == 2 || p == 5 }})
		if len(got) != 400 || slices.ContainsFunc(got, func(l string) bool {
			return !strings.Contains(l, "*2") &&
				!strings.Contains(l, "*5")
		}) {
			t.Errorf("found %d events", len(got))
		}
		if want := []string{"run.2.events", "run.5.events",
			"run.otf"}; !slices.Equal(slices.Compact(slices.Sorted(slices.Values(watch.names))), want) {
			t.Errorf("found the files %q, expected %q", watch.names, want)
		}
	})
	t.Run("4.3 from the latest snapshot on", func(t *testing.T) {
		// t* is the latest snapshot before the interval; with what it says is open, and the events from
		// t* on, the interval is known.
		x := duplicate(t, m)
		augment(t, x, &AugmentOptions{Snapshots: true, Points: at(101, 305, 602, 903)})
		for _, q := range []struct{ from, latest uint64 }{{101, 101}, {304, 101}, {305, 305}, {306, 305}, {999, 903}} {
			d := tracetest.Open(t, Format{}, format.FileSource(x), nil)
			latest, ok, err := d.(*decoder).snapshotsAt(t.Context(), q.from)
			if d.Close(); err != nil || latest != q.latest {
				t.Errorf("from %d: found snapshots at %d (%v, %v), expected %d", q.from, latest, ok, err, q.latest)
			}
		}
	})
	t.Run("4.3 many searches, one after the other and in parallel", func(t *testing.T) {
		var wait sync.WaitGroup
		for from := range uint64(20) {
			wait.Go(func() {
				for k := range uint64(5) {
					lo, hi := 40*from+k, 40*from+60+k
					var some []string
					for _, l := range want {
						var time uint64
						fmt.Sscan(l, &time)
						if time >= lo && time < hi {
							some = append(some, l)
						}
					}
					sameRecords(t, format.FileSource(m), Events, &Options{From: lo, To: hi}, some...)
				}
			})
		}
		wait.Wait()
	})
}
