package pallas

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/weft-trace/weft/format"
)

// TestFileWindow reads the blocks of a file of several sections, in the order of the file, from several places in turn
// and at random. Blocks have all sizes up to that of the greatest block of Pallas' writers, and some are greater.
func TestFileWindow(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var file []byte
	var offsets []uint64
	for len(file) < 12*sectionBytes {
		size := r.IntN(8001)
		if r.IntN(50) == 0 {
			size = sectionBytes + r.IntN(sectionBytes)
		}
		offsets = append(offsets, uint64(len(file)))
		file = binary.LittleEndian.AppendUint64(file, uint64(size))
		for range size {
			file = append(file, byte(r.Uint32()))
		}
	}
	path := filepath.Join(t.TempDir(), "blocks.dat")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	w := &fileWindow{d: newDataFile(format.FileSource(path), filepath.Base(path), path)}
	defer w.d.handle.Close()
	read := func(i int) {
		t.Helper()
		at := offsets[i]
		size := binary.LittleEndian.Uint64(file[at:])
		if b, err := w.block(&Block{Offset: at}); err != nil || !bytes.Equal(b, file[at+8:at+8+size]) {
			t.Fatalf("block at 0x%x: found %d bytes, %v, expected the %d bytes of the file", at, len(b), err, size)
		}
	}
	for i := range offsets {
		read(i)
	}
	third := len(offsets) / 3
	for i := range third {
		read(i)
		read(i + 2*third)
		read(i + third)
	}
	for range 2000 {
		read(r.IntN(len(offsets)))
	}
	for _, at := range []uint64{uint64(len(file)), uint64(len(file)) - 7, 1 << 62, 1<<64 - 1} {
		if _, err := w.block(&Block{Offset: at}); err == nil {
			t.Errorf("block at 0x%x: found no error, expected one: the file has %d bytes", at, len(file))
		}
	}
}
