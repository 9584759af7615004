package otf

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/flate"

	"github.com/weft-trace/weft/format"
)

// copyOf copies a trace into a new directory, with the given options, and returns the name of the copy.
func copyOf(t *testing.T, from string, values map[string]string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), filepath.Base(from))
	out, err := format.CreateFile(name)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Abort()
	if _, err := (Format{}).Copy(context.Background(), format.FileSource(from), &format.ReadOptions{Values: values}, out,
		&format.WriteOptions{Values: values}); err != nil {
		t.Fatal(err)
	}
	if err := out.Commit(); err != nil {
		t.Fatal(err)
	}
	if l, _ := filepath.Glob(filepath.Dir(name) + "/.*"); len(l) > 0 {
		t.Errorf("left behind: %v", l)
	}
	return name
}

// inflated returns the text of a file, which may be compressed.
func inflated(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Ext(name) == ".z" {
		b, _ = io.ReadAll(flate.NewReader(bytes.NewReader(b[2:])))
	}
	return b
}

// TestCopy checks that copies of files that libotf wrote are the same byte for byte.
func TestCopy(t *testing.T) {
	for _, dir := range traces(t) {
		name := filepath.Base(dir)
		m := master(t, dir)
		if m == "" || strings.HasPrefix(name, "hand_") || name == "kv_types" || strings.HasPrefix(name, "unsorted") ||
			name == "string_too_big" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			to := copyOf(t, m, nil)
			files, _ := filepath.Glob(strings.TrimSuffix(m, ".otf") + ".*")
			for _, f := range files {
				if !slices.Contains([]string{".def", ".events", ".snaps", ".stats", ".marker", ".z"}, filepath.Ext(f)) {
					continue
				}
				if g := filepath.Join(filepath.Dir(to), filepath.Base(f)); !bytes.Equal(inflated(t, f), inflated(t, g)) {
					t.Errorf("%s differs", filepath.Base(f))
				}
			}
			if r, _ := os.ReadFile(m); name != "defs_only" && len(r) > 0 {
				if got, _ := os.ReadFile(to); !bytes.Equal(got, r) {
					t.Errorf("master file %q, want %q", got, r)
				}
			}
		})
	}
}

// TestCopyWithoutEvents checks that a file of events that has no events keeps its time and its process, because
// the master file names the stream. Without them, libotf reads no events of the whole trace.
func TestCopyWithoutEvents(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{".otf": "1:1\n2:2\n", ".0.def": "DP1NM\"p\"\nDP2NM\"q\"\nDF1G0NM\"f\"\n",
		".1.events": "1\n*1\nE1\n2\n*1\nL1\n2\n*1\n", ".2.events": "2\n*2\n"} {
		writeFile(t, filepath.Join(dir, "x"+name), text)
	}
	for _, values := range []map[string]string{nil, {"otf.spelling": "long"}, {"otf.streams": "0"}} {
		to := copyOf(t, filepath.Join(dir, "x.otf"), values)
		if got, _ := os.ReadFile(strings.TrimSuffix(to, ".otf") + ".2.events"); string(got) != "2\n*2\n" {
			t.Errorf("%v: found %q", values, got)
		}
		if out, err := exec.Command("otfprint", to).Output(); err == nil && !strings.Contains(string(out), "2 Leave: ") {
			t.Errorf("%v: otfprint prints no events: %s", values, out)
		}
	}
}

// TestCopyChanged checks that a copy with other streams, spelling and compression has the same
// records.
func TestCopyChanged(t *testing.T) {
	lines := func(name string) []string {
		var b bytes.Buffer
		if err := PrintCompat(context.Background(), format.FileSource(name), nil, nil, &b); err != nil {
			t.Fatal(err)
		}
		l := strings.Split(b.String(), "\n")
		for i := range l {
			// remove the numbers of the lines, which change if simultaneous records change places
			_, l[i], _ = strings.Cut(l[i], "\t")
		}
		slices.Sort(l)
		return l
	}
	from := "testdata/ok/mpi4/mpi4.otf"
	want := lines(from)
	for _, x := range []struct {
		values  map[string]string
		streams int
	}{{map[string]string{"otf.streams": "1"}, 1}, {map[string]string{"otf.streams": "3", "otf.spelling": "long"}, 3},
		{map[string]string{"otf.streams": "0", "otf.level": "9"}, 4}, {map[string]string{"otf.level": "1"}, 4}} {
		to := copyOf(t, from, x.values)
		if got := lines(to); !slices.Equal(got, want) {
			t.Errorf("%v: other records", x.values)
		}
		m, err := ReadMaster(format.FileSource(to), nil)
		if err != nil || m.Len() != x.streams {
			t.Errorf("%v: %d streams, want %d (%v)", x.values, m.Len(), x.streams, err)
		}
	}
	// The expected text is of the same trace after otfmerge made one stream of it.
	if merged := "../../../shared/traces/otf/merge_mpi4_n1/expected/otfprint_fullkv.txt.gz"; exists(merged) {
		var theirs []string
		for _, l := range strings.Split(string(gunzip(t, merged)), "\n") {
			_, l, _ = strings.Cut(l, "\t")
			if !strings.HasPrefix(l, "DefUniqueId") {
				theirs = append(theirs, l)
			}
		}
		slices.Sort(theirs)
		ours := slices.DeleteFunc(want, func(l string) bool { return strings.HasPrefix(l, "DefUniqueId") })
		if !slices.Equal(ours, theirs) {
			t.Errorf("otfmerge has other records: %d, not %d", len(theirs), len(ours))
		}
	}
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// TestCopyOver checks copies over an older trace. A file that is not in order is sorted. An incomplete last
// line does not become a record. Files of the older trace are removed. An aborted copy leaves no files.
func TestCopyOver(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "a.otf"), filepath.Join(dir, "b.otf")
	writeFile(t, from, "1:1\n")
	writeFile(t, filepath.Join(dir, "a.1.events"), "9\n*1\nL1\n4\n*1\nE1\nE2") // the last line has no line end
	writeFile(t, to, "1:7\n2:8\n")
	writeFile(t, filepath.Join(dir, "b.1.events"), "1\n*7\nE1\n")
	writeFile(t, filepath.Join(dir, "b.1.stats"), "1\n*7\nSF1N1E1I1\n")
	run := func(commit bool) {
		out, err := format.CreateFile(to)
		if err != nil {
			t.Fatal(err)
		}
		defer out.Abort()
		if _, err := (Format{}).Copy(context.Background(), format.FileSource(from), &format.ReadOptions{}, out,
			&format.WriteOptions{Values: map[string]string{"otf.level": "4"}}); err != nil {
			t.Fatal(err)
		}
		if commit {
			if err := out.Commit(); err != nil {
				t.Fatal(err)
			}
		}
	}
	run(false)
	if b, _ := os.ReadFile(to); string(b) != "1:7\n2:8\n" || !exists(filepath.Join(dir, "b.1.stats")) {
		t.Errorf("an aborted copy changed the old trace: %q", b)
	}
	run(true)
	if exists(filepath.Join(dir, "b.1.events")) || exists(filepath.Join(dir, "b.1.stats")) {
		t.Error("files of the old trace hide the new ones")
	}
	if got := string(inflated(t, filepath.Join(dir, "b.1.events.z"))); got != "4\n*1\nE1\n9\n*1\nL1\n9\n*1\n" {
		t.Errorf("%q", got)
	}
	if l, _ := filepath.Glob(dir + "/.*"); len(l) > 0 {
		t.Errorf("left behind: %v", l)
	}
}

// TestUnify checks that equal definitions of several streams become one global definition.
func TestUnify(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"x.otf": "1:1\n2:2\n", "x.0.def": "DTR3e8\nDP1NM\"a\"\nDP2NM\"b\"\n",
		"x.1.def":    "DFG9NM\"g\"\nDF5G9NM\"same\"\nDF6G9NM\"one\"\n",
		"x.2.def":    "DFG3NM\"g\"\nDF8G3NM\"same\"\nDF5G3NM\"two\"\n",
		"x.1.events": "1\n*1\nE5\nE6\n2\n*1\nL6\nL5\n2\n*1\n", "x.2.events": "1\n*2\nE8\nE5\n3\n*2\nL5\nL8\n3\n*2\n",
	} {
		writeFile(t, filepath.Join(dir, name), text)
	}
	out := copyOf(t, filepath.Join(dir, "x.otf"), map[string]string{unifyOption: "true"})
	var b bytes.Buffer
	if err := PrintCompat(context.Background(), format.FileSource(out), nil, nil, &b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	// Function "two" has token 5 in its stream, but in the copy "same" has token 5. "two" gets the first token
	// after the greatest one, which is 8.
	for _, want := range []string{"1 Enter: function 5, process 1", "1 Enter: function 5, process 2",
		"1 Enter: function 6, process 1", "1 Enter: function 9, process 2",
		`function 5, name "same"`, `function 6, name "one"`, `function 9, name "two"`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if exists(strings.TrimSuffix(out, ".otf") + ".1.def") {
		t.Error("there are definitions of a stream alone")
	}
}

// TestCopySpread checks that simultaneous records that change places are counted. Streams without events get a
// file, because libotf reads no events at all if the file of a stream is missing.
func TestCopySpread(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "t.otf")
	writeFile(t, name, "1:1,2,3\n")
	writeFile(t, filepath.Join(dir, "t.0.def"), "DTR3e8\nDP1NM\"a\"\nDP2NM\"b\"\nDP3NM\"c\"\nDF1G0NM\"f\"\n")
	writeFile(t, filepath.Join(dir, "t.1.events"), "a\n*2\nE1\n*1\nE1\nb\n*1\nL1\n*2\nL1\nb\n*2\n")
	for streams, want := range map[string]int64{"1": 0, "2": 0, "3": 1, "0": 1, "keep": 0} {
		out, err := format.CreateFile(filepath.Join(t.TempDir(), "o.otf"))
		if err != nil {
			t.Fatal(err)
		}
		loss, err := (Format{}).Copy(context.Background(), format.FileSource(name), &format.ReadOptions{}, out,
			&format.WriteOptions{Values: map[string]string{"otf.streams": streams}})
		if err == nil {
			err = out.Commit()
		}
		if err != nil {
			t.Fatal(err)
		}
		moved := int64(0)
		for _, r := range loss.Rows() {
			if r.Field != "order" {
				t.Errorf("%s streams: %v", streams, r)
			}
			moved += r.Count
		}
		if moved != want {
			t.Errorf("%s streams: %d records changed places, want %d", streams, moved, want)
		}
		m, err := ReadMaster(format.FileSource(out.Path), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range m.Streams() {
			if events := fileName(strings.TrimSuffix(out.Path, ".otf"), id, Events); !exists(events) {
				t.Errorf("%s streams: %s is missing", streams, events)
			}
		}
	}
}

// TestCopyReportsNoState checks that a copy reports a file of summaries without a time line and a process line, at
// which libotf stops, and that strict reading stops there.
func TestCopyReportsNoState(t *testing.T) {
	m := filepath.Join(t.TempDir(), "x.otf")
	stub := strings.TrimSuffix(m, ".otf")
	writeFile(t, m, "1:1\n")
	writeFile(t, fileName(stub, 0, Definitions), "DTR1\n")
	writeFile(t, fileName(stub, 1, Events), "1\n*1\nE1\n1\n*1\n")
	writeFile(t, fileName(stub, 1, Statistics), "")
	for _, values := range []map[string]string{nil, {"otf.streams": "1"}} {
		for _, strict := range []bool{false, true} {
			rep := format.NewReport()
			out, err := format.CreateFile(filepath.Join(t.TempDir(), "y.otf"))
			if err != nil {
				t.Fatal(err)
			}
			_, err = Format{}.Copy(t.Context(), format.FileSource(m), &format.ReadOptions{Report: rep, Strict: strict}, out,
				&format.WriteOptions{Values: values})
			out.Abort()
			n := 0
			for _, x := range rep.Rules() {
				n += int(x.Count)
			}
			if !strict && n != 1 || (err != nil) != strict {
				t.Errorf("%v, strict %v: found %d defects and error %v, expected 1, and an error only if strict", values, strict,
					n, err)
			}
		}
	}
}
