package otf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/tracetest"
)

// The tests of this file check sections 3 and 4 of the specification. document_test.go describes the names of
// the tests.

// interfaces builds testdata/interfaces.c with libotf. It returns a function that runs one part of the
// program in a directory.
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

// TestDocument_3 calls the functions of section 3 in the library and in this package. The files and the
// records must be the same.
func TestDocument_3(t *testing.T) {
	libotf := interfaces(t)
	t.Run("3.1.1 global write interface", func(t *testing.T) {
		theirs := t.TempDir()
		libotf(t, "write", theirs)
		id := uint64(0) // the id is 0, because the library chooses its own
		for l := range strings.Lines(contents(t, theirs)["written.0.def"]) {
			fmt.Sscanf(l, "DUI%x", &id)
		}
		sameFiles(t, "3.1.1", contents(t, writeCalls(t, id)), contents(t, theirs))
	})
	t.Run("3.1.2 stream write interface", func(t *testing.T) {
		theirs, ours := t.TempDir(), t.TempDir()
		libotf(t, "write-stream", theirs)
		w := NewStreamWriter(filepath.Join(ours, "written"), 0, &WriterOptions{Files: NewFileManager(8)})
		noError(t, w.Write(&Record{Type: DefTimerResolution, TicksPerSecond: 250}))
		noError(t, w.Write(&Record{Type: DefProcess, Token: 3, Name: "rank 3"}))
		noError(t, w.Close())
		sameFiles(t, "3.1.2", contents(t, ours), contents(t, theirs))
	})
	// The library reads the files that this package has written.
	t.Run("3.2.1 global read interface", func(t *testing.T) {
		dir, got := writeCalls(t, 1), ""
		want := libotf(t, "read", dir)
		r, err := Open(t.Context(), format.FileSource(filepath.Join(dir, "written")), fewFiles())
		noError(t, err)
		c, err := r.Cursor(t.Context(), Events)
		say := func(what string) func(r *Record) error {
			return func(r *Record) error {
				got += fmt.Sprintf("%d: %d %s %d\n", r.Time, r.Process, what, r.Function)
				return nil
			}
		}
		readAll(t, c, err, &Handlers{Enter: say("enters"), Leave: say("leaves")})
		if got != want || got != "500: 3 enters 7\n725: 3 leaves 7\n" {
			t.Errorf("found %q, libotf says %q", got, want)
		}
	})
	t.Run("3.2.2 stream read interface", func(t *testing.T) {
		dir, got := writeCalls(t, 1), ""
		want := libotf(t, "read-stream", dir)
		s, err := OpenStream(format.FileSource(filepath.Join(dir, "written")), 0, fewFiles())
		noError(t, err)
		c, err := s.Cursor(t.Context(), Definitions)
		readAll(t, c, err, &Handlers{DefProcess: func(r *Record) error {
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
		noError(t, WriteMaster(filepath.Join(ours, "written"), &m))
		again, err := ReadMaster(format.FileSource(filepath.Join(ours, "written")), nil)
		noError(t, err)
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

// noError ends the test if err is not nil.
func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fewFiles returns options with few open files.
func fewFiles() *Options { return &Options{Files: NewFileManager(8)} }

// writeCalls writes the trace of testdata/interfaces.c, and returns its folder.
func writeCalls(t *testing.T, id uint64) (dir string) {
	dir = t.TempDir()
	w := Create(filepath.Join(dir, "written"), &WriterOptions{Streams: 1, Files: NewFileManager(8), UniqueID: id})
	for _, r := range []Record{{Type: DefTimerResolution, TicksPerSecond: 250},
		{Type: DefProcess, Token: 3, Name: "rank 3"},
		{Type: DefFunctionGroup, Token: 20, Name: "user code"}, {Type: DefFunction, Token: 7, Name: "solve", Group: 20},
		{Type: Enter, Time: 500, Process: 3, Function: 7}, {Type: Leave, Time: 725, Process: 3, Function: 7}} {
		noError(t, w.Write(&r))
	}
	noError(t, w.Close())
	return dir
}

// readAll calls handlers with the records of a cursor, and closes it.
func readAll(t *testing.T, c *Cursor, err error, h *Handlers) {
	t.Helper()
	noError(t, err)
	defer c.Close()
	_, err = c.Each(h, 0)
	noError(t, err)
}

// tracedRun writes a trace as section 4.1 describes: each process writes a stream of its own, with definitions
// at the beginning, during the run and at the end. One process writes the global definitions and the master
// file.
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

// tracedProcesses is the number of processes of the traces of the tests of section 4.
const tracedProcesses = 6

// copyRecords copies all records of a trace and closes the writer.
func copyRecords(t *testing.T, r *Reader, w *Writer) {
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

// openTrace opens the trace with the given master file.
func openTrace(t *testing.T, name string, opt *Options) *Reader {
	t.Helper()
	r, err := Open(t.Context(), format.FileSource(name), opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestDocument_4(t *testing.T) {
	m := tracedRun(t, tracedProcesses)
	want, _ := recordsOf(t, format.FileSource(m), Events, nil)
	if len(want) != 200*tracedProcesses {
		t.Fatalf("found %d events, expected %d", len(want), 200*tracedProcesses)
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
		if n := bytes.Count(out, []byte("Enter: function")); err != nil || n != 100*tracedProcesses {
			t.Errorf("otfprint has %d enters (%v), expected %d", n, err, 100*tracedProcesses)
		}
	})
	t.Run("4.1 stream 0 is reserved", func(t *testing.T) {
		var c MasterControl
		if c.Assign(1, 0) || c.AddStream(0) {
			t.Error("a process could be assigned to stream 0")
		}
	})
}

func TestDocument_4_2(t *testing.T) {
	m := tracedRun(t, tracedProcesses)
	want, _ := recordsOf(t, format.FileSource(m), Events, nil)
	t.Run("4.2 M streams of N processes", func(t *testing.T) {
		var pairs MasterControl // the control assigns a fixed number of processes to each stream
		for p := uint32(1); p <= tracedProcesses; p++ {
			pairs.Assign(p, (p+1)/2)
		}
		for text, opt := range map[string]*WriterOptions{
			"1:1,2,3,4,5,6\n": {Streams: 1}, "1:1,5\n2:2,6\n3:3\n4:4\n": {Streams: 4}, "1:1,2\n2:3,4\n" +
				"3:5,6\n": {Master: &pairs},
		} {
			out := filepath.Join(t.TempDir(), "out.otf")
			copyRecords(t, openTrace(t, m, nil), Create(out, opt))
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
		c, err := openTrace(t, m, nil).Cursor(t.Context(), Events)
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
		out := copyInParallel(t, m)
		if got, _ := recordsOf(t, format.FileSource(out), Events, nil); !slices.Equal(got, want) {
			t.Error("the merged trace has other events")
		}
	})
}

// copyInParallel copies a trace with a goroutine for each half of its processes, and returns the path of
// the copy.
func copyInParallel(t *testing.T, m string) string {
	out := filepath.Join(t.TempDir(), "out.otf")
	var half MasterControl
	for p := uint32(1); p <= tracedProcesses; p++ {
		half.Assign(p, (p-1)/3+1)
	}
	w := Create(out, &WriterOptions{Master: &half})
	r := openTrace(t, m, nil)
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
	return out
}

func TestDocument_4_3(t *testing.T) {
	m := tracedRun(t, tracedProcesses)
	want, _ := recordsOf(t, format.FileSource(m), Events, nil)
	t.Run("4.3 all definitions, global and local", func(t *testing.T) {
		all, _ := recordsOf(t, format.FileSource(m), Definitions, nil)
		n := map[string]int{}
		for _, l := range all {
			n[l[:2]]++
		}
		if n["0:"] != tracedProcesses+1 || n["1:"] != 3 || n["6:"] != 3 || len(all) != tracedProcesses+1+3*tracedProcesses ||
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
		// The specification calls the latest snapshot before the interval t*. The open calls of t* and the
		// events from t* on are sufficient for the interval.
		x := duplicate(t, m)
		augment(t, x, &AugmentOptions{Snapshots: true, Points: pointsAt(101, 305, 602, 903)})
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
