package otf

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/weft-trace/weft/format"
)

// traces returns the directories of real traces with dumps of libotf. The traces are in the repository and, if
// it exists, in a directory next to the repository.
func traces(t *testing.T) []string {
	t.Helper()
	var dirs []string
	for _, pattern := range []string{"testdata/ok/*/expected", "../../../shared/traces/otf/*/expected"} {
		l, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range l {
			dirs = append(dirs, filepath.Dir(x))
		}
	}
	if len(dirs) == 0 {
		t.Skip("no traces")
	}
	return dirs
}

func gunzip(t *testing.T, name string) []byte {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// master returns the master file in the directory of a trace.
func master(t *testing.T, dir string) string {
	t.Helper()
	l, err := filepath.Glob(dir + "/*.otf")
	if err != nil {
		t.Fatal(err)
	}
	if len(l) != 1 {
		return ""
	}
	return l[0]
}

// eachTrace runs a test for each trace that libotf reads correctly.
func eachTrace(t *testing.T, test func(t *testing.T, dir, master string)) {
	differs := map[string]string{
		"hand_iofsl":      "refused with a clear word",
		"hand_z_finished": "libotf loses data",
		"kv_types":        "libotf reads characters wrongly",
	}
	for _, dir := range traces(t) {
		name := filepath.Base(dir)
		t.Run(name, func(t *testing.T) {
			if why, ok := differs[name]; ok {
				t.Skip(why)
			}
			m := master(t, dir)
			if m == "" {
				t.Skip("no master file")
			}
			test(t, dir, m)
		})
	}
}

// TestPrintCompat checks that weft prints the same as otfprint, except for cases in which libotf or otfprint
// is wrong.
func TestPrintCompat(t *testing.T) {
	eachTrace(t, func(t *testing.T, dir, m string) {
		want := gunzip(t, filepath.Join(dir, "expected/otfprint_fullkv.txt.gz"))
		var got bytes.Buffer
		err := PrintCompat(context.Background(), format.FileSource(m), nil, nil, &got)
		if bytes.Equal(got.Bytes(), want) {
			return
		}
		a, b := bytes.Split(got.Bytes(), []byte("\n")), bytes.Split(want, []byte("\n"))
		for i := range max(len(a), len(b)) {
			var x, y []byte
			if i < len(a) {
				x = a[i]
			}
			if i < len(b) {
				y = b[i]
			}
			if !bytes.Equal(x, y) {
				t.Fatalf("line %d of %d (want %d):\n got %.300q\nwant %.300q (error %v)", i+1, len(a), len(b), x, y, err)
			}
		}
	})
}

// TestRewrite checks that files that libotf wrote stay the same, byte for byte, when they are read and written
// again.
func TestRewrite(t *testing.T) {
	for _, dir := range traces(t) {
		name := filepath.Base(dir)
		if len(name) > 5 && name[:5] == "hand_" {
			continue // another writer than libotf wrote this trace
		}
		m := master(t, dir)
		if m == "" || name == "kv_types" { // libotf cannot read bytes of a single digit, which this trace has
			continue
		}
		t.Run(name, func(t *testing.T) {
			rewrite(t, m)
		})
	}
}

func rewrite(t *testing.T, m string) {
	ctx := context.Background()
	r, err := Open(ctx, format.FileSource(m), nil)
	if err != nil {
		t.Fatal(err)
	}
	for part := range numParts {
		for _, id := range append([]uint32{0}, r.Master().Streams()...) {
			s, err := r.open(id, part)
			if err != nil {
				t.Fatal(err)
			}
			if s == nil {
				continue
			}
			want := inflated(t, s.t.name)
			long := bytes.Contains(want, []byte("DEFPROCESS ")) || bytes.Contains(want, []byte("ENTER ")) ||
				bytes.Contains(want, []byte("DEFVERSION ")) || bytes.Contains(want, []byte("MARKERDEF ")) ||
				bytes.Contains(want, []byte("SUMFUNCTION "))
			stub := filepath.Join(t.TempDir(), "x")
			w := NewStreamWriter(stub, id, &WriterOptions{Long: long, ZeroTokens: true})
			for {
				ok, err := s.next(ctx)
				if err != nil {
					t.Fatal(err)
				}
				if !ok {
					break
				}
				if err := w.WritePart(&s.rec, part); err != nil {
					t.Fatal(err)
				}
			}
			s.t.Close()
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(fileName(stub, id, part))
			if err != nil && len(want) > 0 {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				a, b := bytes.Split(got, []byte("\n")), bytes.Split(want, []byte("\n"))
				for i := range min(len(a), len(b)) {
					if !bytes.Equal(a[i], b[i]) {
						t.Fatalf("%s line %d: got %.200q want %.200q", s.t.name, i+1, a[i], b[i])
					}
				}
				t.Fatalf("%s: %d lines, want %d", s.t.name, len(a), len(b))
			}
		}
	}
}
