package unpack

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
)

// endless is a stream of the same byte without an end. It counts the bytes that have been read.
type endless struct{ read int }

func (e *endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	e.read += len(b)
	return len(b), nil
}

// accept accepts every stream.
func accept(format.Source) error { return nil }

// opener returns a function that opens r.
func opener(r io.Reader) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return io.NopCloser(r), nil }
}

// contentsOf returns the contents of the main file of a source.
func contentsOf(t *testing.T, src format.Source) string {
	t.Helper()
	f, size, err := src.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil || int64(len(b)) != size {
		t.Errorf("found %d bytes, %v, expected %d", len(b), err, size)
	}
	return string(b)
}

// packed returns a text compressed by gzip.
func packed(text string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	io.WriteString(w, text)
	w.Close()
	return b.Bytes()
}

// TestRefusedStream checks that a stream without end, plain or compressed, ends if its first bytes are refused, and
// that no more of it is read than the head and a buffer.
func TestRefusedStream(t *testing.T) {
	no := errors.New("no trace")
	var in endless
	_, err := Stream(t.Context(), "a", opener(&in), func(src format.Source) error {
		if got := contentsOf(t, src); got != strings.Repeat("x", 65536) {
			t.Errorf("found %d bytes, expected 65536 of x", len(got))
		}
		return no
	})
	if err != no || in.read > 2*65536 {
		t.Errorf("found %v after %d bytes", err, in.read)
	}
	r, w := io.Pipe()
	defer r.Close()
	go func() {
		z := gzip.NewWriter(w)
		for _, err := z.Write(make([]byte, 1<<20)); err == nil; _, err = z.Write(make([]byte, 1<<20)) {
		}
	}()
	if _, err := Stream(t.Context(), "a", opener(r), func(format.Source) error { return no }); err != no {
		t.Errorf("found %v", err)
	}
}

// TestStream checks that a copy has the contents of the stream, of each length near that of the head.
func TestStream(t *testing.T) {
	for _, n := range []int{0, 1, 65535, 65536, 65537, 300000} {
		text := strings.Repeat("y", n)
		for _, file := range [][]byte{[]byte(text), packed(text)} {
			c, err := Stream(t.Context(), "a", opener(bytes.NewReader(file)), accept)
			if err != nil {
				t.Fatal(err)
			}
			if got := contentsOf(t, c.Source); got != text || c.Size != int64(n) || c.Damage != nil || !IsCopy(c.Source) {
				t.Errorf("%d bytes: found %d, %d, %v", n, len(got), c.Size, c.Damage)
			}
			if _, err := c.Source.FS.Open("b"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("found %v for another file", err)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestDamagedStream checks that the bytes before damage are copied, and that a stream with none of them is not judged
// by accept.
func TestDamagedStream(t *testing.T) {
	file := packed("some text")
	c, err := Stream(t.Context(), "a", opener(bytes.NewReader(file[:len(file)-4])), accept)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got := contentsOf(t, c.Source); got != "some text" || c.Damage == nil || c.Name != "gzip" {
		t.Errorf("found %q, %v of %s", got, c.Damage, c.Name)
	}
	c, err = Stream(t.Context(), "a", opener(bytes.NewReader(file[:3])), func(format.Source) error {
		t.Error("accept was called without a head")
		return nil
	})
	if err != nil || c.Damage == nil || c.Size != 0 {
		t.Errorf("found %v, %+v", err, c)
	}
}

// TestStreamErrors checks that errors of the stream are returned, and that a cancelled context ends the copying.
func TestStreamErrors(t *testing.T) {
	broken := errors.New("broken")
	if _, err := Stream(t.Context(), "a", func() (io.ReadCloser, error) { return nil, broken }, accept); err != broken {
		t.Errorf("found %v, expected the error of opening", err)
	}
	for _, n := range []int64{0, 1000, 100000} {
		r := io.MultiReader(io.LimitReader(&endless{}, n), &failing{broken})
		if _, err := Stream(t.Context(), "a", opener(r), accept); !errors.Is(err, broken) {
			t.Errorf("after %d bytes: found %v, expected the error of reading", n, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, w := io.Pipe()
	defer w.Close()
	if _, err := Stream(ctx, "a", opener(r), accept); !errors.Is(err, context.Canceled) {
		t.Errorf("found %v, expected that it was cancelled", err)
	}
}

// failing is a stream that cannot be read.
type failing struct{ err error }

func (f *failing) Read([]byte) (int, error) { return 0, f.err }

// TestIsCompressed checks which files are recognised as compressed ones that can be read.
func TestIsCompressed(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		file []byte
		want bool
	}{
		"gzip":  {packed("a"), true},
		"plain": {[]byte("a"), false},
		"empty": {nil, false},
		"zip":   {[]byte("PK\x03\x04"), false},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), c.file, 0o600); err != nil {
			t.Fatal(err)
		}
		src := format.FileSource(filepath.Join(dir, name))
		if got := IsCompressed(src); got != c.want || IsCopy(src) {
			t.Errorf("%s: found %v, %v", name, got, IsCopy(src))
		}
	}
	if IsCompressed(format.FileSource(filepath.Join(dir, "missing"))) {
		t.Error("found a missing file compressed")
	}
}
