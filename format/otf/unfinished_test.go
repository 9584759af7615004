package otf

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// killedWriter is the environment variable with the name of the trace that the killed process writes.
const killedWriter = "WEFT_TEST_KILLED"

// TestKilledWriter is not a test by itself: TestUnfinishedFiles runs it in a process that it kills.
func TestKilledWriter(t *testing.T) {
	name := os.Getenv(killedWriter)
	if name == "" {
		t.Skip("it is run by TestUnfinishedFiles")
	}
	w := NewStreamWriter(name, 1, nil)
	for i := range uint64(10) {
		if err := w.Write(&Record{Type: Enter, Time: i + 1, Process: 7, Function: i}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	// this record is lost when the process is killed
	if err := w.Write(&Record{Type: Enter, Time: 99, Process: 7, Function: 99}); err != nil {
		t.Fatal(err)
	}
	fmt.Println("flushed")
	time.Sleep(time.Minute)
}

// functionsOf returns a function that returns the numbers of the functions of all events of a cursor.
func functionsOf(t *testing.T) func(c *Cursor, err error) []uint64 {
	t.Helper()
	return func(c *Cursor, err error) (l []uint64) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for c.Next() {
			l = append(l, c.Record().Function)
		}
		if c.Err() != nil {
			t.Fatal(c.Err())
		}
		return l
	}
}

// functionsIn returns the numbers of the functions of all events of a trace.
func functionsIn(t *testing.T, src format.Source) []uint64 {
	t.Helper()
	r, err := Open(t.Context(), src, nil)
	if err != nil {
		t.Fatal(err)
	}
	return functionsOf(t)(r.Cursor(t.Context(), Events))
}

// TestUnfinishedFiles checks that the records that a killed writer has flushed can be read if the caller opens
// an unfinished file by its name.
func TestUnfinishedFiles(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilledWriter$", "-test.v")
	cmd.Env = append(os.Environ(), killedWriter+"="+filepath.Join(dir, "x"))
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var text []byte
	for buf := make([]byte, 100); !strings.Contains(string(text), "flushed"); {
		n, err := out.Read(buf)
		if err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		text = append(text, buf[:n]...)
	}
	cmd.Process.Kill()
	cmd.Wait()
	all, _ := filepath.Glob(dir + "/*")
	hidden, _ := filepath.Glob(dir + "/.x.1.events.*.tmp")
	if len(all) != 1 || len(hidden) != 1 {
		t.Fatalf("found %v, want one left file", all)
	}
	src := format.FileSource(hidden[0])
	if got := functionsIn(t, src); !slices.Equal(got, []uint64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}) {
		t.Errorf("got functions %d, want 0 to 9", got)
	}
	if f, err := format.Detect([]format.Format{Format{}}, src); err != nil || f.About().Name != "otf" {
		t.Errorf("got format %v, error %v, want otf", f, err)
	}
}

// TestUnfinishedFilesTogether checks that all unfinished files of a trace are read together. If there are
// several unfinished files of one stream, the file of the named process counts, or the latest file if no
// process is named. Files that were already closed are read as well.
func TestUnfinishedFilesTogether(t *testing.T) {
	event := func(process, function int) string { return fmt.Sprintf("%x\n*%x\nE%x\n", function, process, function) }
	dir := t.TempDir()
	for name, text := range map[string]string{
		".x.1.events.100.tmp": event(1, 1), ".x.1.events.101.tmp": event(1, 2),
		".x.2.events.102.tmp": event(2, 3), "x.2.events": event(2, 9), "x.2.events.z": "hidden by what was left",
		"x.3.events": event(3, 4), "x.otf": "9:9\n", ".x.0.def.100.tmp": "DTR3e8\n", ".x.y.1.events.100.tmp": event(5, 5),
		".x.01.events.100.tmp": event(6, 6), "x.4.snaps": "5\n*4\nTE1O1\n",
	} {
		writeFile(t, filepath.Join(dir, name), text)
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(dir, ".x.1.events.100.tmp"), old, old); err != nil {
		t.Fatal(err)
	}
	for named, want := range map[string][]uint64{
		".x.1.events.100.tmp": {1, 3, 4}, ".x.1.events.101.tmp": {2, 3, 4}, ".x.2.events.102.tmp": {2, 3, 4},
		".x.y.1.events.100.tmp": {5},
	} {
		if got := functionsIn(t, format.FileSource(filepath.Join(dir, named))); !slices.Equal(got, want) {
			t.Errorf("%s: got functions %d, want %d", named, got, want)
		}
	}
	r, err := Open(t.Context(), format.FileSource(filepath.Join(dir, ".x.1.events.101.tmp")), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(r.Master().AppendTo(nil)), "1:1\n2:2\n3:3\n4:4\n"; got != want {
		t.Errorf("got the master file %q, want %q", got, want)
	}
	files, err := r.Files()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, filepath.Base(f.Path))
	}
	want := []string{".x.0.def.100.tmp", ".x.1.events.101.tmp", ".x.2.events.102.tmp", "x.3.events", "x.4.snaps"}
	if !slices.Equal(names, want) {
		t.Errorf("got the files %q, want %q", names, want)
	}
	// The error names a missing file.
	_, err = Open(t.Context(), format.FileSource(filepath.Join(dir, "z.otf")), nil)
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want that there is no such file", err)
	}
}

// TestMissingFileLeftUnfinished checks that the report of a missing file names the file that an interrupted writer has
// left for it.
func TestMissingFileLeftUnfinished(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"x.otf": "1:1\n2:2\n3:3\n", "x.0.def": "DTR3e8\n", "x.1.events": "1\n*1\nE1\n",
		".x.2.events.100.tmp": "1\n*2\nE1\n", ".y.3.events.100.tmp": "1\n*3\nE1\n",
	} {
		writeFile(t, filepath.Join(dir, name), text)
	}
	var found []string
	opt := &format.ReadOptions{Report: format.NewReport()}
	opt.Report.Only = func(d *trace.Defect) bool {
		found = append(found, d.Rule+": "+d.Found)
		return true
	}
	d, err := Format{}.Open(t.Context(), format.FileSource(filepath.Join(dir, "x.otf")), opt)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := d.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"otf.missing-file: no such file, but .x.2.events.100.tmp of an interrupted writer, which weft repair reads " +
			"if it is given this name",
		"otf.missing-file: no such file, nor one with .z",
	}
	slices.Sort(found)
	if found = slices.Compact(found); !slices.Equal(found, want) {
		t.Errorf("found %q, expected %q", found, want)
	}
}
