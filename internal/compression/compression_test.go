package compression

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// bzip2File is the text "abc\n", compressed by bzip2 1.0.8.
const bzip2File = "425a6839314159265359ad6755d6000000c100001038002000219a68334d133c5dc914e14242b59d5758"

// pzstdFile is the text "abc\n", compressed by pzstd 1.5.4. It begins with a skippable frame.
const pzstdFile = "502a4d18040000001100000028b52ffd04582100006162630a2d6e4c82"

// decodeHex decodes a file.
func decodeHex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// gzipped returns a text compressed by gzip.
func gzipped(text string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	io.WriteString(w, text)
	w.Close()
	return b.Bytes()
}

// TestReader reads compressed and other streams.
func TestReader(t *testing.T) {
	var z bytes.Buffer
	w, err := zstd.NewWriter(&z)
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(w, "abc\n")
	w.Close()
	for _, c := range []struct {
		name string
		file []byte
		want string
	}{
		{"", nil, ""},
		{"", []byte("a"), "a"},
		{"", []byte("PK\x03\x04rest"), "PK\x03\x04rest"}, // an archive is no stream
		{"gzip", gzipped("abc\n"), "abc\n"},
		{"gzip", append(gzipped("ab"), gzipped("c\n")...), "abc\n"},
		{"gzip", gzipped(""), ""},
		{"gzip", append(gzipped("abc\n"), make([]byte, 200000)...), "abc\n"}, // the end of a block of a tape
		{"zstd", z.Bytes(), "abc\n"},
		{"zstd", decodeHex(t, pzstdFile), "abc\n"},
		{"bzip2", decodeHex(t, bzip2File), "abc\n"},
	} {
		r, err := NewReader(iotest.OneByteReader(bytes.NewReader(c.file)))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if string(got) != c.want || err != nil || r.Name != c.name || r.Damage != nil || r.Size != int64(len(c.want)) {
			t.Errorf("%q: found %q, %v, %+v", c.file, got, err, r)
		}
		if CanRead(c.file) != (c.name != "") {
			t.Errorf("%q: found %v", c.file, CanRead(c.file))
		}
	}
}

// TestDamage checks that the contents before damage are read, and that errors of the stream itself are not damage.
func TestDamage(t *testing.T) {
	text := strings.Repeat("a line that repeats\n", 1000)
	whole := gzipped(text)
	flipped := bytes.Clone(whole)
	flipped[len(flipped)-5] ^= 1 // of the checksum
	for _, file := range [][]byte{whole[:len(whole)-9], whole[:5], flipped, append(bytes.Clone(whole), "tail"...),
		slices.Concat(whole, make([]byte, 9), whole)} {
		r, err := NewReader(bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if err != nil || r.Damage == nil || !strings.HasPrefix(text, string(got)) || r.Size != int64(len(got)) {
			t.Errorf("found %d bytes, %v, %v", len(got), err, r.Damage)
		}
		if len(file) > 5 && len(got) == 0 {
			t.Errorf("found nothing in %d of %d bytes", len(file), len(whole))
		}
	}
	broken := errors.New("broken disk")
	for n := range len(whole) {
		r, err := NewReader(io.MultiReader(bytes.NewReader(whole[:n]), iotest.ErrReader(broken)))
		if err == nil {
			_, err = io.ReadAll(r)
		}
		if !errors.Is(err, broken) {
			t.Fatalf("%d bytes: found %v", n, err)
		}
	}
}

// TestNameOf names files that the programs of these names have written.
func TestNameOf(t *testing.T) {
	tar := make([]byte, 512)
	copy(tar[257:], "ustar  ")
	for want, head := range map[string][]byte{
		"":      []byte("TU NANOSECONDS\n"),
		"bzip2": decodeHex(t, bzip2File),
		"xz":    decodeHex(t, "fd377a585a000004e6d6b4460200210116000000742fe5a30100036162630a"),
		"zip":   decodeHex(t, "504b03042d00080008000692"),
		"lz4":   decodeHex(t, "04224d186440a7"),
		"tar":   tar,
	} {
		if got := NameOf(head); got != want || CanRead(head) != (want == "bzip2") {
			t.Errorf("%q: found %q, expected %q", head, got, want)
		}
	}
}

// TestWriterFor writes compressed files and reads them again. The script compressed.txtar reads such files with gzip
// and zstd.
func TestWriterFor(t *testing.T) {
	for name, want := range map[string]string{"a.etf.gz": ".gz", "a.trf.zst": ".zst", "a.bz2": "", "a.etf": ""} {
		ext, pack := WriterFor(name)
		if (pack != nil) != (want != "") || pack != nil && ext != want {
			t.Fatalf("%s: found %s, %v", name, ext, pack != nil)
		}
		if pack == nil {
			continue
		}
		var b bytes.Buffer
		w, err := pack(&b)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(w, "abc\n")
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		r, err := NewReader(&b)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); string(got) != "abc\n" || err != nil || r.Damage != nil || r.Name == "" {
			t.Errorf("%s: found %q, %v, %v", name, got, err, r.Damage)
		}
	}
	for name, want := range map[string]string{"a.etf.gz": "a.etf", "b.trf.bz2": "b.trf", "c.etf": "c.etf"} {
		if got := PlainName(name); got != want {
			t.Errorf("%s: found %s, expected %s", name, got, want)
		}
	}
}
