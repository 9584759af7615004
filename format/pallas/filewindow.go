package pallas

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/internal/archive"
	"github.com/weft-trace/weft/internal/plural"
)

// fileWindow holds sections of a block file in memory. Most blocks are near blocks that were read before: the blocks of
// sequences have the order in which the sequences ended first, so that there are several series of blocks.
type fileWindow struct {
	d        *dataFile
	missing  bool // the file is missing, and has already been reported as missing
	sections [8]section
	uses     uint64 // number of uses of sections
	loads    int64  // number of sections that were read
	side     []byte // bytes of a block that is too large for a section
}

// section is a part of a block file: the bytes from number*sectionBytes on.
type section struct {
	number uint64
	b      []byte // empty if the section is not in use
	used   uint64 // value of fileWindow.uses at its last use
}

const (
	// sectionBytes is the distance between the begins of sections.
	sectionBytes = 120 << 10
	// overlapBytes is the number of bytes by which a section reaches into the next one. Blocks of up to this size that
	// begin in a section are complete. The greatest block of Pallas' writers has 8000 bytes.
	overlapBytes = 8 << 10
)

// block returns the stored bytes of a block. They are valid until the next call.
func (w *fileWindow) block(x *Block) ([]byte, error) {
	head, err := w.bytes(x.Offset, 8, x.Offset)
	if err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint64(head)
	if n > 64*maxBlock {
		return nil, archive.Damaged(w.d.path, int64(x.Offset), fmt.Sprintf("a block of %s", plural.Of(n, "byte")),
			fmt.Sprintf("at most %d", 64*maxBlock))
	}
	return w.bytes(x.Offset+8, n, x.Offset)
}

// held returns the stored bytes of a block if a section has them. They are valid until the next call.
func (w *fileWindow) held(x *Block) []byte {
	if head := w.find(x.Offset, 8); head != nil {
		return w.find(x.Offset+8, binary.LittleEndian.Uint64(head))
	}
	return nil
}

// sectionsOf returns the number of sections of the file.
func (w *fileWindow) sectionsOf() (n int64) {
	w.d.withFile(func(_ format.DataFile, size int64) error {
		n = (size + sectionBytes - 1) / sectionBytes
		return nil
	}) // bytes reports a file that cannot be opened
	return n
}

// find returns the n bytes of the file at offset at if a section has them, or else nil.
func (w *fileWindow) find(at, n uint64) []byte {
	number, from := at/sectionBytes, at%sectionBytes
	for i := range w.sections {
		x := &w.sections[i]
		if size := uint64(len(x.b)); x.number == number && from < size && n <= size-from {
			w.uses++
			x.used = w.uses
			return x.b[from : from+n]
		}
	}
	return nil
}

// bytes returns the n bytes of the file at offset at. They are valid until the next call. block is the offset
// of the block that contains these bytes, for error messages.
func (w *fileWindow) bytes(at, n, block uint64) ([]byte, error) {
	b := w.find(at, n)
	if b != nil {
		return b, nil
	}
	number, from := at/sectionBytes, at%sectionBytes
	w.uses++
	oldest := &w.sections[0]
	for i := range w.sections {
		if x := &w.sections[i]; x.used < oldest.used {
			oldest = x
		}
	}
	err := w.d.withFile(func(f format.DataFile, size int64) error {
		if at > uint64(size) || n > uint64(size)-at {
			return missingBlock(w.d.path, size, block)
		}
		if n > overlapBytes {
			w.side = slices.Grow(w.side[:0], int(n))[:n]
			b = w.side
			return readAt(f, b, at)
		}
		have := min(sectionBytes+overlapBytes, uint64(size)-number*sectionBytes)
		w.loads++
		oldest.number, oldest.used = number, w.uses
		oldest.b = slices.Grow(oldest.b[:0], int(have))[:have]
		err := readAt(f, oldest.b, number*sectionBytes)
		if err != nil {
			oldest.b = oldest.b[:0]
			return err
		}
		b = oldest.b[from : from+n]
		return nil
	})
	return b, err
}

// readAt fills b with the bytes of a file from an offset on. A file that has become shorter gives no error.
func readAt(f format.DataFile, b []byte, offset uint64) error {
	_, err := f.ReadAt(b, int64(offset))
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
