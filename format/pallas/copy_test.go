package pallas

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
)

// copyTrace copies a trace and returns the copy's main file.
func copyTrace(t testing.TB, name string, values map[string]string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), filepath.Base(name))
	out, err := format.CreateFile(to)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Abort()
	ro := &format.ReadOptions{Report: format.NewReport()}
	loss, err := (Format{}).Copy(t.Context(), format.FileSource(name), ro, out, &format.WriteOptions{Values: values})
	if err != nil {
		t.Fatal(err)
	}
	if len(loss.Rows()) > 0 {
		t.Errorf("%s: lost %v", name, loss.Rows())
	}
	if err := out.Commit(); err != nil {
		t.Fatal(err)
	}
	return to
}

// eventTexts returns the events of all threads of a trace.
func eventTexts(t testing.TB, name string) (l []string) {
	t.Helper()
	for _, th := range threads(t, name) {
		l = append(append(l, fmt.Sprint(th.Archive.ID, th.ID, th.Name())), threadText(t, th)...)
	}
	return l
}

// withoutTimes returns events without their times.
func withoutTimes(l []string) (out []string) {
	for _, s := range l {
		f := strings.Fields(s)
		f[1] = ""
		out = append(out, strings.Join(f, " "))
	}
	return out
}

// TestCopy checks that copies of traces of the current ABI have the same bytes, and that copies of traces of
// older ABIs have the same content.
func TestCopy(t *testing.T) {
	for _, dir := range folders(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			name := mainFile(t, dir)
			main, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			to := copyTrace(t, name, nil)
			if main[0] == MaxABI {
				files := 0
				err = filepath.WalkDir(filepath.Dir(name), func(path string, d fs.DirEntry, err error) error {
					if err != nil || d.IsDir() {
						return err
					}
					want, err := os.ReadFile(path)
					if err != nil {
						return err
					}
					rel, _ := filepath.Rel(filepath.Dir(name), path)
					if got, err := os.ReadFile(filepath.Join(filepath.Dir(to), rel)); err != nil || !bytes.Equal(got, want) {
						t.Errorf("%s differs (%v)", rel, err)
					}
					files++
					return nil
				})
				if err != nil || files == 0 {
					t.Fatal(files, err)
				}
			}
			want := eventTexts(t, name)
			for _, values := range []map[string]string{nil, {"pallas.compression": "None"},
				{"pallas.compression": "ZSTD", "pallas.encoding": "Masking"}, {"pallas.grammar": "fast"},
				{"pallas.grammar": "compatible"}} {
				got, want := eventTexts(t, copyTrace(t, name, values)), want
				if tr, err := Open(format.FileSource(name)); err != nil {
					t.Fatal(err)
				} else if tr.Compression.Lossy() && values != nil {
					// lossy codecs let times go back, and the copy corrects such times
					got, want = withoutTimes(got), withoutTimes(want)
				}
				if !slices.Equal(got, want) {
					t.Errorf("%v: %d lines, want %d", values, len(got), len(want))
				}
			}
		})
	}
}

// TestCopyUnsound checks that a copy computes a new grammar for a thread if the thread's grammar lacks events.
func TestCopyUnsound(t *testing.T) {
	var list []inputEvent
	for i := range uint64(40) {
		list = append(list, inputEvent{10 * i, Enter, region(1), nil},
			inputEvent{10*i + 3, Leave, region(1), []Value{{3, region(9)}}})
	}
	name := filepath.FromSlash(recorded(t, list, &WriterOptions{Plain: true}).Archive.Trace.src.Path)
	file := filepath.Join(filepath.Dir(name), "archive_3/thread_7/thread.pallas")
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	// The file has only one loop, with 40 iterations.
	at := bytes.LastIndex(b, []byte{40, 0, 0, 0})
	b[at] = 30
	if err := os.WriteFile(file, b, 0o666); err != nil {
		t.Fatal(err)
	}
	th := threads(t, copyTrace(t, name, nil))[0]
	if g := newOutline(th); !g.countsMatch() || g.total != 80 {
		t.Errorf("sound %v, %d events", g.countsMatch(), g.total)
	}
	if th.Name() != "name" {
		t.Errorf("name %q", th.Name())
	}
}
