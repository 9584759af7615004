package otf2

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/internal/archive"
	"github.com/weft-trace/weft/internal/plural"
)

// chunkReader reads a file of chunks and buffers a part of it (docs/formats/otf2.md, "Chunked
// files").
type chunkReader struct {
	f     *archive.Input
	path  string
	size  int64 // size of the file
	chunk int64 // size of a chunk
	end   int64 // end of the current chunk, as an offset in the file
	base  int64 // offset of part in the file
	part  []byte
	at    int // position in part
	room  []byte
	big   bool   // whether the byte order of the chunk is big-endian
	first uint64 // number of the chunk's first event
	last  uint64
}

const (
	headerSize = 18
	partSize   = 64 << 10
)

// openChunks opens a file of chunks.
func openChunks(files *archive.FileManager, src format.Source, name, path string, chunk uint64) (*chunkReader, error) {
	f, err := files.Find(src, name)
	if err != nil {
		return nil, &missingFile{Path: path, Err: err}
	}
	return &chunkReader{f: f, path: path, size: f.Size, chunk: int64(chunk)}, nil
}

// offset returns the current offset in the file.
func (c *chunkReader) offset() int64 { return c.base + int64(c.at) }

// errorAt returns an error for a defect at an offset.
func (c *chunkReader) errorAt(at int64, expected, found string, args ...any) *FileError {
	return archive.Damaged(c.path, at, fmt.Sprintf(found, args...), expected)
}

// begin moves to the first record of chunk k. It returns io.EOF if there is no such chunk.
func (c *chunkReader) begin(k int64) error {
	from := k * c.chunk
	c.base, c.at, c.part = from, 0, c.part[:0]
	c.end = min(from+c.chunk, c.size)
	if from >= c.size && k > 0 {
		return io.EOF
	}
	b, err := c.peek(headerSize)
	if err != nil {
		return err
	}
	switch {
	case len(b) == 0:
		return c.errorAt(c.size, "a chunk's header of 18 bytes", "an empty file")
	case len(b) < headerSize:
		return c.errorAt(c.size, "a chunk's header of 18 bytes", "the end of the file after %d", len(b))
	case b[0] != chunkHeader:
		return c.errorAt(from, "3, the first byte of a chunk", "0x%02x", b[0])
	case b[1] != littleEndian && b[1] != bigEndian:
		return c.errorAt(from+1, "0x42 or 0x23, the byte order", "0x%02x", b[1])
	}
	if c.big = b[1] == bigEndian; c.big {
		c.first, c.last = binary.BigEndian.Uint64(b[2:]), binary.BigEndian.Uint64(b[10:])
	} else {
		c.first, c.last = binary.LittleEndian.Uint64(b[2:]), binary.LittleEndian.Uint64(b[10:])
	}
	c.at += headerSize
	return nil
}

// chunkNumber returns the number of the current chunk.
func (c *chunkReader) chunkNumber() int64 { return (c.end - 1) / c.chunk }

// peek returns the bytes that follow in the chunk: at least n, or all that remain.
func (c *chunkReader) peek(n int) ([]byte, error) {
	if len(c.part)-c.at >= n || c.base+int64(len(c.part)) == c.end {
		return c.part[c.at:], nil
	}
	at := c.offset()
	size := int(min(int64(max(n, partSize)), c.end-at))
	if cap(c.room) < size {
		// The size is rounded up to a power of two because the next file, which may reuse the
		// buffer, may be a little longer.
		c.room = make([]byte, size, 1<<bits.Len(uint(size-1)))
	}
	c.base, c.at, c.part = at, 0, c.room[:size]
	if k, err := c.f.ReadAt(c.part, at); k < size {
		c.part = c.part[:0]
		if err == io.EOF {
			return nil, c.errorAt(at+int64(k), "the rest of the file", "its end, because the file has become shorter")
		}
		return nil, fmt.Errorf("%s: %w", c.path, err)
	}
	return c.part, nil
}

// seek moves to an offset in the current chunk.
func (c *chunkReader) seek(at int64) {
	if n := at - c.base; n >= 0 && n <= int64(len(c.part)) {
		c.at = int(n)
		return
	}
	c.base, c.at, c.part = at, 0, c.part[:0]
}

// peekAt moves to an offset in the current chunk and returns the next n bytes, or all that remain. It returns
// no bytes if the file cannot be read. The next read at that offset then returns the error.
func (c *chunkReader) peekAt(at int64, n int) []byte {
	c.seek(at)
	b, err := c.peek(n)
	if err != nil {
		return nil
	}
	return b[:min(n, len(b))]
}

// recordHead holds the id and the bytes of a record. The id is endOfFile if no record follows.
type recordHead struct {
	id   uint8
	at   int64  // offset of the id in the file
	body []byte // valid until the next call
}

// next reads a record with a length. All records except events have a length. At the end of a chunk, next
// moves to the next chunk. A record that extends beyond its chunk is an error, and so is an end mark before other
// bytes. Valid records may follow such a damaged record, whose offset is h.at then.
func (c *chunkReader) next() (h recordHead, err error) {
	for {
		b, err := c.peek(10)
		if err != nil {
			return recordHead{}, err
		}
		h = recordHead{at: c.offset()}
		if len(b) == 0 && c.end == c.size {
			return recordHead{}, c.missingEnd()
		}
		if len(b) > 0 && b[0] <= endOfFile && !padding(b) && (b[0] < endOfFile || c.size-h.at > 2) {
			if h.id = b[0]; h.id == endOfFile && !c.followed() {
				return h, c.bytesAfterEnd(h.at)
			}
			return h, c.errorAt(h.at, "a record", "record %d", h.id)
		}
		if len(b) > 0 && b[0] == endOfFile {
			if c.followed() {
				return recordHead{}, c.earlyEnd(h.at)
			}
			h.id = endOfFile
			return h, nil
		}
		if len(b) == 0 || b[0] == endOfChunk || b[0] == endOfBuffer {
			if err := c.begin(c.chunkNumber() + 1); err != nil {
				if err == io.EOF {
					err = c.missingEnd()
				}
				return recordHead{}, err
			}
			continue
		}
		h.id = b[0]
		c.at++
		h.body, err = c.body()
		return h, err
	}
}

// followed reports whether another chunk follows the current one.
func (c *chunkReader) followed() bool {
	var b [2]byte
	if c.end >= c.size {
		return false
	}
	_, err := c.f.ReadAt(b[:], c.end)
	return err == nil && b[0] == chunkHeader && (b[1] == littleEndian || b[1] == bigEndian)
}

// bytesAfterEnd returns an error for the end-of-file mark at an offset that other bytes follow.
func (c *chunkReader) bytesAfterEnd(at int64) *FileError {
	return c.errorAt(at+2, "the end of the file", "%s after the end-of-file mark", plural.Of(c.size-at-2, "byte"))
}

// earlyEnd returns an error for the end mark of a file in a chunk that another chunk follows.
func (c *chunkReader) earlyEnd(at int64) *FileError {
	return c.errorAt(at, fmt.Sprintf("0, the end of a chunk, because a chunk follows at 0x%x; weft reads it", c.end),
		"2, the end of a file")
}

// missingEnd returns an error for a file without an end mark.
func (c *chunkReader) missingEnd() *FileError {
	c.end = c.size
	return c.errorAt(c.size, "2, the end of a file", "the end of the file")
}

// body reads the length and the bytes of a record.
func (c *chunkReader) body() ([]byte, error) {
	at := c.offset()
	b, err := c.peek(9)
	if err != nil {
		return nil, err
	}
	cur := cursor{b: b, big: c.big}
	n := cur.length()
	if left := c.end - at - int64(cur.at); cur.bad || n > uint64(left) {
		return nil, c.errorAt(at, fmt.Sprintf("at most %d, the number of bytes in the chunk", max(left, 0)),
			"a record of %s", plural.Of(n, "byte"))
	}
	c.at += cur.at
	if b, err = c.peek(int(n)); err != nil {
		return nil, err
	}
	c.at += int(n)
	return b[:n], nil
}

// close closes the file.
func (c *chunkReader) close() { c.f.Close() }
