package otf2

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/internal/archive"
)

// chunkReader goes through a file of chunks, of which it has a part in memory
// (docs/formats/otf2.md, "Chunked files").
type chunkReader struct {
	f     *archive.Input
	path  string
	size  int64 // of the file
	chunk int64 // size of a chunk
	end   int64 // of the chunk in hand, in the file
	base  int64 // of the part
	part  []byte
	at    int // in the part
	room  []byte
	big   bool   // byte order of the chunk
	first uint64 // number of its first event
	last  uint64
}

const (
	headerSize = 18
	partSize   = 64 << 10
)

// openChunks opens a file.
func openChunks(files *archive.FileManager, src format.Source, name, path string, chunk uint64) (*chunkReader, error) {
	f, err := files.Find(src, name)
	if err != nil {
		return nil, &missing{Path: path, Err: err}
	}
	return &chunkReader{f: f, path: path, size: f.Size, chunk: int64(chunk)}, nil
}

// offset is the place in the file.
func (c *chunkReader) offset() int64 { return c.base + int64(c.at) }

// bad is something wrong at an offset.
func (c *chunkReader) bad(at int64, expected, found string, args ...any) *FileError {
	return archive.Damaged(c.path, at, fmt.Sprintf(found, args...), expected)
}

// begin goes to chunk number k, behind its header; io.EOF if there is none.
func (c *chunkReader) begin(k int64) error {
	from := k * c.chunk
	c.base, c.at, c.part = from, 0, c.part[:0]
	c.end = min(from+c.chunk, c.size)
	if from >= c.size {
		return io.EOF
	}
	b, err := c.peek(headerSize)
	if err != nil {
		return err
	}
	switch {
	case len(b) < headerSize:
		return c.bad(c.size, "a chunk's header of 18 bytes", "the end of the file after %d", len(b))
	case b[0] != chunkHeader:
		return c.bad(from, "3, which a chunk begins with", "0x%02x", b[0])
	case b[1] != littleEndian && b[1] != bigEndian:
		return c.bad(from+1, "0x42 or 0x23, the byte order", "0x%02x", b[1])
	}
	if c.big = b[1] == bigEndian; c.big {
		c.first, c.last = binary.BigEndian.Uint64(b[2:]), binary.BigEndian.Uint64(b[10:])
	} else {
		c.first, c.last = binary.LittleEndian.Uint64(b[2:]), binary.LittleEndian.Uint64(b[10:])
	}
	c.at += headerSize
	return nil
}

// number is that of the chunk in hand.
func (c *chunkReader) number() int64 { return (c.end - 1) / c.chunk }

// peek is the bytes that follow in the chunk: n at least, or all that there are.
func (c *chunkReader) peek(n int) ([]byte, error) {
	if len(c.part)-c.at >= n || c.base+int64(len(c.part)) == c.end {
		return c.part[c.at:], nil
	}
	at := c.offset()
	size := int(min(int64(max(n, partSize)), c.end-at))
	if cap(c.room) < size {
		// A power of two: the next file, which may get it, may be longer by a little.
		c.room = make([]byte, size, 1<<bits.Len(uint(size-1)))
	}
	c.base, c.at, c.part = at, 0, c.room[:size]
	if k, err := c.f.ReadAt(c.part, at); k < size {
		c.part = c.part[:0]
		if err == io.EOF {
			return nil, c.bad(at+int64(k), "the rest of the file", "its end: it has become shorter")
		}
		return nil, fmt.Errorf("%s: %w", c.path, err)
	}
	return c.part, nil
}

// seek goes to a place in the chunk in hand.
func (c *chunkReader) seek(at int64) {
	if n := at - c.base; n >= 0 && n <= int64(len(c.part)) {
		c.at = int(n)
		return
	}
	c.base, c.at, c.part = at, 0, c.part[:0]
}

// look goes to a place in the chunk in hand, and is the n bytes there, or all that there are. A file that
// cannot be read has none there: who reads on there meets the error.
func (c *chunkReader) look(at int64, n int) []byte {
	c.seek(at)
	b, err := c.peek(n)
	if err != nil {
		return nil
	}
	return b[:min(n, len(b))]
}

// head is a record's id and bytes. The id is endOfFile where no record follows.
type head struct {
	id   uint8
	at   int64  // of the id, in the file
	body []byte // valid until the next call
}

// next reads a record that has a length, as all have but events, and goes to the next
// chunk where one ends. A record that its chunk ends before is an error, behind which
// the next chunk follows.
func (c *chunkReader) next() (h head, err error) {
	for {
		b, err := c.peek(10)
		if err != nil {
			return head{}, err
		}
		h = head{at: c.offset()}
		if len(b) == 0 && c.end == c.size {
			return head{}, c.lacking()
		}
		if len(b) > 0 && b[0] == endOfFile {
			h.id = endOfFile
			return h, nil
		}
		if len(b) == 0 || b[0] == endOfChunk || b[0] == endOfBuffer {
			if err := c.begin(c.number() + 1); err != nil {
				if err == io.EOF {
					err = c.lacking()
				}
				return head{}, err
			}
			continue
		}
		h.id = b[0]
		c.at++
		if h.body, err = c.body(); err != nil {
			return head{}, err
		}
		return h, nil
	}
}

// lacking is that the mark of the end is not there.
func (c *chunkReader) lacking() *FileError {
	c.end = c.size
	return c.bad(c.size, "2, which ends a file", "the end of the file")
}

// body reads the length of a record and what it says.
func (c *chunkReader) body() ([]byte, error) {
	at := c.offset()
	b, err := c.peek(9)
	if err != nil {
		return nil, err
	}
	cur := cursor{b: b, big: c.big}
	n := cur.length()
	if left := c.end - at - int64(cur.at); cur.bad || n > uint64(left) {
		return nil, c.bad(at, fmt.Sprintf("at most %d, which is what the chunk has", max(left, 0)), "a record of %d bytes", n)
	}
	c.at += cur.at
	if b, err = c.peek(int(n)); err != nil {
		return nil, err
	}
	c.at += int(n)
	return b[:n], nil
}

// close frees the file.
func (c *chunkReader) close() { c.f.Close() }
