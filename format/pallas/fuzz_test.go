package pallas

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/klauspost/compress/zstd"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/effort"
	"github.com/weft-trace/weft/trace"
)

// inMemory returns the files of a folder.
func inMemory(t testing.TB, dir string) fstest.MapFS {
	t.Helper()
	m := fstest.MapFS{}
	root := filepath.Join(dir, "trace")
	if err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		name, _ := filepath.Rel(root, path)
		m[filepath.ToSlash(name)] = &fstest.MapFile{Data: b}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return m
}

// readAll reads a trace in all ways that the package offers. Reading must not panic for any trace.
func readAll(t testing.TB, m fstest.MapFS) (events int) {
	src := format.Source{FS: m, Name: "main.pallas", Path: "main.pallas"}
	d, err := (Format{}).Open(context.Background(), src, &format.ReadOptions{Workers: 2, Report: format.NewReport()})
	if err != nil {
		return 0
	}
	rows := format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
		for i, t := range b.Time {
			if i > 0 && t < b.Time[i-1] {
				return io.ErrUnexpectedEOF
			}
		}
		return nil
	}}
	if err := d.Scan(context.Background(), trace.Everything(), format.PerLocation, rows); err != nil {
		t.Fatalf("scan: %v", err)
	}
	if err := d.Scan(context.Background(), trace.Everything(), format.GlobalOrder,
		format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
			events += b.Len()
			return nil
		}}); err != nil {
		t.Fatalf("ordered: %v", err)
	}
	if err := (Format{}).Compat(context.Background(), src, &format.ReadOptions{},
		format.Printing{Selection: trace.Everything()}, io.Discard); err != nil {
		t.Fatalf("print: %v", err)
	}
	return events
}

// FuzzThread reads traces with damaged files of a thread.
func FuzzThread(f *testing.F) {
	for _, name := range []string{"nested", "attrs", "cfg_Histogram_None", "edited_bigts_ZFP", "abi16_loops",
		"abi17_allrecords"} {
		m := inMemory(f, filepath.Join("testdata", "ok", name))
		thread, times := m["archive_0/thread_0/thread.pallas"], m["archive_0/thread_0/event_durations.dat"]
		if thread == nil || times == nil {
			f.Fatal(name)
		}
		f.Add(m["main.pallas"].Data[:33], thread.Data, times.Data)
	}
	base := inMemory(f, filepath.Join("testdata", "ok", "nested"))
	f.Fuzz(func(t *testing.T, head, thread, times []byte) {
		m := fstest.MapFS{}
		for k, v := range base {
			m[k] = v
		}
		if len(head) == 33 {
			m["main.pallas"] = &fstest.MapFile{Data: append(head[:33:33], base["main.pallas"].Data[33:]...)}
		}
		m["archive_0/thread_0/thread.pallas"] = &fstest.MapFile{Data: thread}
		m["archive_0/thread_0/event_durations.dat"] = &fstest.MapFile{Data: times}
		readAll(t, m)
	})
}

// FuzzMain reads traces with damaged definitions.
func FuzzMain(f *testing.F) {
	for _, name := range []string{"allrecords", "abi18_mpi", "abi16_attrs", "sparse_ids", "abi17_metadata"} {
		m := inMemory(f, filepath.Join("testdata", "ok", name))
		archive := ""
		for k := range m {
			if strings.HasSuffix(k, "archive.pallas") {
				archive = k
			}
		}
		f.Add(m["main.pallas"].Data, m[archive].Data)
	}
	base := inMemory(f, filepath.Join("testdata", "ok", "allrecords"))
	f.Fuzz(func(t *testing.T, main, archive []byte) {
		m := fstest.MapFS{}
		for k, v := range base {
			m[k] = v
		}
		m["main.pallas"] = &fstest.MapFile{Data: main}
		m["archive_0/archive.pallas"] = &fstest.MapFile{Data: archive}
		readAll(t, m)
	})
}

// TestTruncated checks that each file of a trace may end anywhere or be missing. The reader must read the part
// before the end.
func TestTruncated(t *testing.T) {
	effort.Sequential(t)
	whole := inMemory(t, filepath.Join("testdata", "ok", "abi18_mpi"))
	all := readAll(t, whole)
	for name, file := range whole {
		for n := 0; n <= len(file.Data); n += effort.Step(len(file.Data), 40) {
			m := fstest.MapFS{}
			for k, v := range whole {
				m[k] = v
			}
			if n > 0 || name == "main.pallas" {
				m[name] = &fstest.MapFile{Data: file.Data[:n]}
			} else {
				delete(m, name)
			}
			if got := readAll(t, m); got > all || strings.Contains(name, "sequence") && got != all {
				t.Errorf("%s with %d bytes: %d events of %d", name, n, got, all)
			}
		}
	}
}

// FuzzFrame checks frames that weft decodes as stride frames. zstd must decode them to the same values.
func FuzzFrame(f *testing.F) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{4, 40, 300} {
		for _, width := range []uint64{200, 60_000, 1 << 20} {
			v := make([]uint64, n)
			last := rng.Uint64() >> 20
			for i := range v {
				last += rng.Uint64N(width)
				v[i] = last
			}
			var room packBuffers
			room.strides.compute(v)
			f.Add(uint16(n), appendStrideFrame(nil, v, &room.strides, &room))
		}
	}
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		f.Fatal(err)
	}
	defer z.Close()
	var r strideReader
	f.Fuzz(func(t *testing.T, n uint16, b []byte) {
		v := make([]uint64, n%maxStride)
		if !r.read(v, b) {
			return
		}
		if plain, err := z.DecodeAll(b, nil); err != nil || !bytes.Equal(plain, le64(nil, v...)) {
			t.Errorf("%d values: zstd says %v and %d bytes", len(v), err, len(plain))
		}
	})
}
