package index

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/weft-trace/weft/internal/plural"
)

// verifyPiece is the number of bytes that Verify holds at a time.
const verifyPiece = 256 << 10

// Verify reads the whole file and compares all checksums. It needs a buffer of 256 KiB and eight bytes
// for each block. If a checksum is wrong, the error wraps [ErrDamaged]. Open checks only the directory,
// because a check of the whole file takes time in proportion to its size.
func (ix *Index) Verify(ctx context.Context) error {
	buf := make([]byte, verifyPiece)
	for i, b := range ix.dir.blocks() {
		if i%256 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		if err := ix.verify(b, buf); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// verify checks a block against its checksum, using buf to read it.
func (ix *Index) verify(b *blockEntry, buf []byte) error {
	if b.size < 5 || b.at < 0 {
		return fmt.Errorf("%w: a block of %s at 0x%x", ErrDamaged, plural.Of(b.size, "byte"), b.at)
	}
	var want, got uint32
	for done := int64(0); done < int64(b.size); {
		piece := buf[:min(int64(len(buf)), int64(b.size)-done)]
		// ReadAt returns an error for a short read. io.EOF together with all bytes is not an error.
		if n, err := ix.data.ReadAt(piece, b.at+done); n < len(piece) {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return fmt.Errorf("%w: block at 0x%x: %w", ErrDamaged, b.at, err)
		}
		sum := piece
		if done == 0 {
			want, sum = binary.LittleEndian.Uint32(piece), piece[4:]
		}
		got = crc32.Update(got, castagnoli, sum)
		done += int64(len(piece))
	}
	if got != want {
		return fmt.Errorf("%w: wrong checksum of the block at 0x%x", ErrDamaged, b.at)
	}
	return nil
}
