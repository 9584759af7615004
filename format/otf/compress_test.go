package otf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/klauspost/compress/flate"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/effort"
	"github.com/weft-trace/weft/trace"
)

// samples returns texts of traces, and bytes that do not compress, of sizes around the size of a piece.
// otfcompress loses data of some samples.
func samples() map[string][]byte {
	rng := rand.New(rand.NewPCG(5, 5))
	out := map[string][]byte{}
	const job = 100 * 10240 // CompressFile compresses so much text at once
	sizes := []int{0, 1, 10239, 10240, 10241, 20480, job - 1, job, job + 1, 3*job + 12345}
	if effort.Race {
		sizes = []int{1, 3*job + 12345}
	}
	for _, n := range sizes {
		noise := make([]byte, n)
		for i := range noise {
			noise[i] = byte(rng.Uint32())
		}
		out[fmt.Sprintf("noise %d", n)] = noise
		var text []byte
		for t := uint64(0); len(text) < n; t += rng.Uint64N(100) {
			text = append(appendHex(text, t), "\n*1\nE"...)
			text = append(appendHex(text, rng.Uint64N(50)), '\n')
		}
		out[fmt.Sprintf("text %d", n)] = text[:n]
	}
	return out
}

// TestCompress checks that decompressing restores any compressed file, that each piece can be
// decompressed independently, and that no other files remain.
func TestCompress(t *testing.T) {
	ctx := context.Background()
	for name, want := range samples() {
		for _, x := range []struct {
			level, workers int
			head           string
		}{{0, 1, "\x78\x5e"}, {1, 3, "\x78\x01"}, {9, 2, "\x78\xda"}} {
			if effort.Race && x.workers != 3 {
				continue
			}
			path := filepath.Join(t.TempDir(), "x.1.events")
			if err := os.WriteFile(path, want, 0o600); err != nil {
				t.Fatal(err)
			}
			size, err := CompressFile(ctx, path, Compression{Level: x.level, Workers: x.workers})
			if err != nil {
				t.Fatal(err)
			}
			z, err := os.ReadFile(path + ".z")
			if err != nil || exists(path) || size != int64(len(z)) {
				t.Fatalf("%s: %d bytes, said %d (%v), the original is still there: %t", name, len(z), size, err, exists(path))
			}
			if !bytes.HasPrefix(z, []byte(x.head)) || !bytes.HasSuffix(z, flushEnd) {
				t.Errorf("%s: begins % x, ends % x", name, z[:2], z[len(z)-4:])
			}
			if !bytes.Equal(inflated(t, path+".z"), want) {
				t.Errorf("%s level %d: other text", name, x.level)
			}
			if x.level == 0 {
				checkPieces(t, name, z, want)
			}
			if _, err := DecompressFile(ctx, path+".z", Compression{}); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(path)
			if err != nil || !bytes.Equal(got, want) || exists(path+".z") {
				t.Errorf("%s level %d: %d bytes came back, want %d (%v)", name, x.level, len(got), len(want), err)
			}
			if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
				t.Errorf("permissions %v, want those of the original (%v)", st.Mode(), err)
			}
			if l, _ := os.ReadDir(filepath.Dir(path)); len(l) != 1 {
				t.Errorf("left behind: %v", l)
			}
		}
	}
}

// checkPieces decompresses the file from each restart point. otfcompress writes one after each 10240 bytes of text
// (otf.md, section 11).
func checkPieces(t *testing.T, name string, z, text []byte) {
	t.Helper()
	found := map[int]bool{}
	for i := 0; ; {
		k := bytes.Index(z[i:], flushEnd)
		if k < 0 {
			break
		}
		i += k + len(flushEnd)
		at := 10240 * (len(found) + 1)
		got := make([]byte, min(max(len(text)-at, 0), 20000)) // the text of this piece and of the next one
		if _, err := io.ReadFull(flate.NewReader(bytes.NewReader(z[i:])), got); err == nil && len(got) > 0 &&
			bytes.HasPrefix(text[at:], got) {
			found[at] = true
		}
	}
	for off := 10240; off < len(text); off += 10240 {
		if !found[off] {
			t.Errorf("%s: the text from %d on cannot be read by itself", name, off)
		}
	}
}

// TestCompressedWindowPeers checks that otfprint finds a window in files that CompressFile and a Writer compress, also
// if they are small. otfprint finds no window that begins before the first restart point of a file.
func TestCompressedWindowPeers(t *testing.T) {
	otfprint := tool(t, "otfprint")
	write := func(name string, level int) string {
		path := filepath.Join(t.TempDir(), name)
		w := Create(path+".otf", &WriterOptions{Streams: 1, Level: level})
		if err := w.Write(&Record{Type: DefProcess, Token: 1, Name: "p"}); err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(4, 4))
		for i := range uint64(30_000) {
			r := &Record{Type: Enter, Time: i * 10, Process: 1, Function: rng.Uint64N(1 << 20)}
			if err := w.Write(r); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return path
	}
	compressed := write("x", 0)
	if _, err := CompressFile(context.Background(), compressed+".1.events", Compression{}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{compressed, write("y", 0), write("z", 4)} {
		out, err := exec.Command(otfprint, "--nodef", "--time", "200000", "201000", path+".otf").Output()
		if n := bytes.Count(out, []byte("Enter")); err != nil || n != 100 {
			t.Errorf("%s: found %d records and %v, expected 100", filepath.Base(path), n, err)
		}
	}
}

// TestCompressPeers checks that libotf's own programs read the compressed files.
func TestCompressPeers(t *testing.T) {
	otfdecompress, otfprint := tool(t, "otfdecompress"), tool(t, "otfprint")
	ctx := context.Background()
	for name, want := range samples() {
		if len(want) == 0 {
			continue
		}
		path := filepath.Join(t.TempDir(), "x.1.events")
		writeFile(t, path, string(want))
		if _, err := CompressFile(ctx, path, Compression{Level: 6, Workers: 2}); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(otfdecompress, path+".z").CombinedOutput(); err != nil {
			t.Fatalf("%s: otfdecompress: %v %s", name, err, out)
		}
		got, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: otfdecompress gives %d bytes, want %d (%v)", name, len(got), len(want), err)
		}
	}
	// Some versions of otfprint cannot read compressed files of more than 4 KiB.
	dir := t.TempDir()
	files, err := filepath.Glob("testdata/ok/mpi4/mpi4.*")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(dir, filepath.Base(f)), string(b))
	}
	trace := filepath.Join(dir, "mpi4.otf")
	print := func() []byte {
		out, err := exec.Command(otfprint, trace).Output()
		if err != nil {
			t.Fatal(err)
		}
		return out[:bytes.LastIndex(out, []byte("processing time"))]
	}
	want := print()
	r, err := Open(ctx, format.FileSource(trace), nil)
	if err != nil {
		t.Fatal(err)
	}
	l, err := r.Files()
	if err != nil || len(l) != 5 {
		t.Fatalf("%d files, want 5 (%v)", len(l), err)
	}
	for _, f := range l {
		if size, err := CompressFile(ctx, f.Path, Compression{}); err != nil || size > 4096 {
			t.Fatalf("%s: %d bytes (%v)", f.Path, size, err)
		}
	}
	if got := print(); !bytes.Equal(got, want) {
		t.Error("otfprint shows something else of the compressed trace")
	}
	l, err = r.Files()
	if err != nil || slices.ContainsFunc(l, func(f File) bool { return !f.Compressed }) || len(l) != 5 {
		t.Errorf("files of the compressed trace: %v (%v)", l, err)
	}
}

// TestDecompressBad checks that decompressing loses no data. Truncated or damaged files stay. An existing
// plain file is not overwritten, because readers prefer the plain file.
func TestDecompressBad(t *testing.T) {
	effort.Sequential(t)
	ctx := context.Background()
	dir := t.TempDir()
	path := filepath.Join(dir, "x.1.events")
	text := samples()["text 3158073"]
	writeFile(t, path, string(text))
	if _, err := CompressFile(ctx, path, Compression{Keep: true}); err != nil || !exists(path) {
		t.Fatalf("kept: %t (%v)", exists(path), err)
	}
	if _, err := DecompressFile(ctx, path+".z", Compression{}); err == nil || !exists(path+".z") {
		t.Error("a plain file was written over")
	}
	z, err := os.ReadFile(path + ".z")
	if err != nil {
		t.Fatal(err)
	}
	os.Remove(path)
	damaged := bytes.Clone(z)
	damaged[2] = 0xff // an invalid block type
	for name, bad := range map[string][]byte{"cut off": z[:len(z)-1], "half": z[:len(z)/2], "empty": nil,
		"no header": append([]byte("ab"), z[2:]...), "damaged": damaged} {
		writeFile(t, path+".z", string(bad))
		_, err := DecompressFile(ctx, path+".z", Compression{})
		var d *trace.Defect
		if !errors.As(err, &d) || exists(path) {
			t.Errorf("%s: %v, written: %t", name, err, exists(path))
		}
		if b, _ := os.ReadFile(path + ".z"); !bytes.Equal(b, bad) {
			t.Errorf("%s: the original was changed", name)
		}
		_, err = DecompressFile(ctx, path+".z", Compression{Keep: true})
		b, e := os.ReadFile(path)
		if !errors.As(err, &d) || e != nil || !exists(path+".z") || name == "half" &&
			(len(b) < len(text)/3 || !bytes.HasPrefix(text, b)) {
			t.Errorf("%s kept: %v, %d bytes (%v)", name, err, len(b), e)
		}
		os.Remove(path)
	}
	// The compressed data has an end marker, so libotf would lose all data after the marker.
	var b bytes.Buffer
	w, _ := flate.NewWriter(&b, 4)
	w.Write(text)
	w.Close()
	writeFile(t, path+".z", "\x78\x5e"+b.String()+"\x00\x00\x00\x00")
	if _, err := DecompressFile(ctx, path+".z", Compression{}); err != nil {
		t.Error(err)
	}
	if got, _ := os.ReadFile(path); !bytes.Equal(got, text) {
		t.Errorf("a finished stream: %d bytes, want %d", len(got), len(text))
	}
	os.Remove(path)
	writeFile(t, path+".z", "\x78\x5e"+b.String()+"\x00\x00\x00\x00"+"\x78\x5e"+b.String())
	var d *trace.Defect
	if _, err := DecompressFile(ctx, path+".z", Compression{}); !errors.As(err, &d) || !exists(path+".z") {
		t.Errorf("two finished streams: %v", err)
	}
	os.Remove(path + ".z")
	writeFile(t, path, string(text))
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := CompressFile(canceled, path, Compression{}); !errors.Is(err, context.Canceled) || !exists(path) ||
		exists(path+".z") {
		t.Errorf("cancelled: %v", err)
	}
	for _, level := range []int{-1, 10} {
		if _, err := CompressFile(ctx, path, Compression{Level: level}); err == nil {
			t.Errorf("level %d is taken", level)
		}
	}
	if _, err := CompressFile(ctx, dir, Compression{}); err == nil {
		t.Error("a directory is taken")
	}
	if l, _ := os.ReadDir(dir); len(l) != 1 {
		t.Errorf("left behind: %v", l)
	}
}
