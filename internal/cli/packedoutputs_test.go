package cli

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// unpacked returns the contents of a file that gzip or zstd has compressed, as its extension demands.
func unpacked(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var r io.Reader
	if filepath.Ext(path) == ".gz" {
		r, err = gzip.NewReader(bytes.NewReader(b))
	} else {
		r, err = zstd.NewReader(bytes.NewReader(b))
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if b, err = io.ReadAll(r); err != nil {
		t.Errorf("%s: %v", path, err)
	}
	return string(b)
}

// TestCompressedOutputs writes outputs other than traces under names that stand for a compression.
func TestCompressedOutputs(t *testing.T) {
	dir, in := t.TempDir(), realTraces["picl"]
	for name, c := range map[string]struct{ args, begin string }{
		"a.html.gz":  {"report -o", "<!DOCTYPE html>"},
		"a.html.zst": {"report -o", "<!DOCTYPE html>"},
		"a.svg.gz":   {"plot -o", "<svg "},
		"a.png.gz":   {"plot -o", "\x89PNG\r\n"},
		"b.svg.gz":   {"plot --index -o", "<svg "},
	} {
		path := filepath.Join(dir, name)
		code, out, errs := runWeft(t, append(strings.Fields(c.args), path, in)...)
		if code != 0 {
			t.Errorf("%s: exit %d, %s%s", name, code, out, errs)
		} else if text := unpacked(t, path); !strings.HasPrefix(text, c.begin) {
			t.Errorf("%s: found %.40q, expected %q at its beginning", name, text, c.begin)
		}
	}
	names := filepath.Join(dir, "names.csv.gz")
	code, out, errs := runWeft(t, "anonymize", "--names", names, in, filepath.Join(dir, "a.trf"))
	if text := unpacked(t, names); code != 0 || !strings.HasPrefix(text, "written,name\n") {
		t.Errorf("anonymize: exit %d, %s%s, found %.40q", code, out, errs, text)
	}
}

// TestOutputsWithoutCompression checks that the names of a compression are refused where nothing would uncompress the
// file, and where weft cannot compress. pprof defines that its files are compressed once.
func TestOutputsWithoutCompression(t *testing.T) {
	dir, in := t.TempDir(), realTraces["picl"]
	for _, args := range []string{"profile --cube a.cubex.gz", "waits --cube a.cubex.zst", "align --correction a.json.gz",
		"index -o a.weftidx.gz", "report -o a.html.xz", "plot -o a.svg.bz2"} {
		f := strings.Fields(args)
		path := filepath.Join(dir, f[2])
		code, _, errs := runWeft(t, f[0], f[1], path, in)
		if _, err := os.Stat(path); code != exitUsage || err == nil || !strings.Contains(errs, "found the extension .") {
			t.Errorf("%s: exit %d, %v, %s", args, code, err, errs)
		}
	}
	path := filepath.Join(dir, "a.pb.gz")
	if code, _, errs := runWeft(t, "profile", "--pprof", path, in); code != 0 || unpacked(t, path)[0] == '\x1f' {
		t.Errorf("--pprof: exit %d, %s", code, errs)
	}
}

// TestStreamThatIsNoTrace gives a stream without end to commands. They read no more than its beginning.
func TestStreamThatIsNoTrace(t *testing.T) {
	for _, args := range []string{"info", "check", "profile", "plot -o x.svg", "index", "view"} {
		var in endlessZeros
		var out, errs bytes.Buffer
		code := Main(append(strings.Fields(args), "-"), &in, &out, &errs)
		if code != exitDefects || in > 1<<20 || !strings.Contains(errs.String(), "stdin: no known trace format: found") {
			t.Errorf("%s: exit %d after %d bytes, %s%s", args, code, in, &out, &errs)
		}
	}
}

// endlessZeros is a stream of bytes 0 without an end. Its value is the number of bytes that have been read.
type endlessZeros int

func (z *endlessZeros) Read(b []byte) (int, error) {
	clear(b)
	*z += endlessZeros(len(b))
	return len(b), nil
}
