package pallas

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/effort"
)

// recordAgain records the events of a thread with the settings of its trace.
func recordAgain(t testing.TB, th *Thread, a *ArchiveWriter) {
	t.Helper()
	r, err := a.Record(th.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	lists := make([]map[uint64][]Value, len(th.Events))
	for i := range th.Events {
		e := &th.Events[i]
		lists[i] = map[uint64][]Value{}
		for occurrence, values := range e.Attributes() {
			lists[i][occurrence] = slices.Clone(values)
		}
	}
	seen := make([]uint64, len(th.Events))
	if err := th.Replay(context.Background(), func(events []uint32, times []uint64) error {
		for i, e := range events {
			x := &th.Events[e]
			if err := r.Record(times[i], x.Record, x.Payload, lists[e][seen[e]]); err != nil {
				return err
			}
			seen[e]++
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// plainBlocks returns a block file without compression. places maps the offset of each block in the compressed
// file to the number of the block.
func plainBlocks(t testing.TB, compression Compression, file []byte) (plain []byte, places map[uint64]uint64) {
	t.Helper()
	z, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	places = map[uint64]uint64{}
	for at := uint64(0); at < uint64(len(file)); {
		places[at] = uint64(len(places))
		size := binary.LittleEndian.Uint64(file[at:])
		b := file[at+8 : at+8+size]
		if compression == ZSTD {
			if b, err = z.DecodeAll(b, nil); err != nil {
				t.Fatal(err)
			}
		}
		plain = append(binary.LittleEndian.AppendUint64(plain, uint64(len(b))), b...)
		at += 8 + size
	}
	return plain, places
}

// withPlaces returns a thread.pallas in which the numbers of blocks replace their offsets
// (formats/pallas.md, sections 6 and 7).
func withPlaces(b []byte, events, sequences map[uint64]uint64) []byte {
	at := 0
	word := func() uint64 { at += 8; return binary.LittleEndian.Uint64(b[at-8:]) }
	vector := func(length bool, places map[uint64]uint64) {
		size, n := word(), word()
		if size == 0 {
			return
		}
		if length {
			at += 24
		}
		for range n {
			at += 24
			if length {
				at += 8
			}
			binary.LittleEndian.PutUint64(b[at:], places[binary.LittleEndian.Uint64(b[at:])])
			at += 8
		}
	}
	at = 8
	n, m := word(), word()
	at = 44
	for range n {
		at += int(b[at+4])
		at += int(binary.LittleEndian.Uint64(b[at:])) + 8
		vector(false, events)
	}
	at += 8 + 4*int(n)
	for range m {
		at += 4
		if k := word(); k > 0 {
			at += 4 * int(k)
			vector(true, sequences)
			vector(true, sequences)
			vector(false, sequences)
		}
	}
	return b
}

// TestCompatible checks that threads written with the option Compatible have the same bytes as the threads of
// Pallas' own library.
func TestCompatible(t *testing.T) {
	effort.Sequential(t)
	compared := 0
	for _, dir := range folders(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			name := mainFile(t, dir)
			tr, err := Open(format.FileSource(name))
			if err != nil {
				t.Fatal(err)
			}
			if tr.ABI != MaxABI || tr.Compression > ZSTD || strings.HasPrefix(filepath.Base(dir), "synced_") {
				t.Skip("not of this ABI, lossy, or changed by pallas_sync")
			}
			out := t.TempDir()
			w, err := Create(filepath.Join(out, "main.pallas"),
				&WriterOptions{Plain: tr.Compression == NoCompression, Encoding: tr.Encoding, Level: int(tr.ZSTDLevel),
					MaxLoopLength: int(tr.MaxLoopLength), Compatible: true, LoopFinding: &tr.LoopFinding})
			if err != nil {
				t.Fatal(err)
			}
			for _, th := range threads(t, name) {
				recordAgain(t, th, w.Archive(th.Archive.ID))
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			for _, a := range w.archives {
				for _, th := range a.threads {
					var file [2][3][]byte
					folder := fmt.Sprintf("archive_%d/thread_%d", a.id, th.id)
					for i, dir := range []string{filepath.Dir(name), out} {
						var places [2]map[uint64]uint64
						for k, f := range []string{"event_durations.dat", "sequence_durations.dat", "thread.pallas"} {
							b, err := os.ReadFile(filepath.Join(dir, folder, f))
							if err != nil {
								t.Fatal(err)
							}
							if k < 2 {
								b, places[k] = plainBlocks(t, tr.Compression, b)
							} else if tr.Compression == ZSTD {
								b = withPlaces(b, places[0], places[1])
							}
							file[i][k] = b
						}
					}
					for k := range file[0] {
						if !bytes.Equal(file[0][k], file[1][k]) {
							t.Errorf("%s: file %d differs: %d bytes, expected %d", folder, k, len(file[1][k]), len(file[0][k]))
						}
					}
					compared++
				}
			}
		})
	}
	t.Logf("%d threads", compared)
	if compared == 0 {
		t.Error("nothing was compared")
	}
}
