package pallas

import (
	"encoding/binary"
	"fmt"
	"math"
	"sync"
	"unsafe"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/internal/archive"
	"github.com/weft-trace/weft/internal/plural"
)

// FileError reports a part of a file that does not follow the format.
type FileError = archive.FileError

// missingFile reports a file that cannot be opened.
type missingFile = archive.MissingFile

// source reads a file from start to end. After the first defect that prevents further reading, all
// reads return 0. A source keeps only a part of a long file in memory.
type source struct {
	path  string
	f     format.DataFile // nil if b holds the whole file
	size  int             // size of the file
	b     []byte          // the part of the file that is in memory
	base  int             // offset of b in the file
	at    int             // current offset in the file
	err   *FileError
	minor *FileError // the first defect after which reading could continue
	order *FileError // the first entry of a table that is not in the order of the format
}

// load returns a source that holds a whole file in memory.
func load(src format.Source, name, path string) (*source, error) {
	b, err := archive.Load(src, name, path, maxFile)
	if err != nil {
		return nil, err
	}
	return &source{path: path, b: b, size: len(b)}, nil
}

// openInParts returns a source that reads a file in parts. The caller must close f.
func openInParts(src format.Source, name, path string) (*source, error) {
	f, size, err := src.OpenName(name)
	if err != nil {
		return nil, &missingFile{Path: path, Err: err}
	}
	return &source{path: path, f: f, size: int(size)}, nil
}

// maxFile is the largest size of a file that load accepts.
const maxFile = math.MaxInt32

// partSize is the usual size of a part, in bytes.
const partSize = 256 << 10

// left returns the number of bytes after the current offset.
func (s *source) left() int { return s.size - s.at }

// peek returns the next n bytes without moving past them, or nil if fewer bytes are left. The bytes are valid
// until the next read.
func (s *source) peek(n int) []byte {
	if n < 0 || n > s.left() {
		return nil
	}
	if n == 0 {
		return []byte{}
	}
	from := s.at - s.base
	if from+n <= len(s.b) {
		return s.b[from : from+n]
	}
	if !s.fill(n) {
		return nil
	}
	return s.b[:n]
}

// fill reads the next part, of at least n bytes, into memory.
func (s *source) fill(n int) bool {
	size := min(max(n, partSize), s.left())
	if cap(s.b) < size {
		s.b = make([]byte, size)
	}
	s.b, s.base = s.b[:size], s.at
	if k, err := s.f.ReadAt(s.b, int64(s.at)); k < size {
		s.b = nil
		s.fail(s.at, fmt.Sprintf("%s more", plural.Of(size, "byte")), "%v", err)
		return false
	}
	return true
}

// fail stores a defect at an offset, and ends reading.
func (s *source) fail(at int, expected, found string, args ...any) {
	if s.err == nil {
		s.err = archive.Damaged(s.path, int64(at), fmt.Sprintf(found, args...), expected)
		s.at = s.size
	}
}

// note stores a defect at an offset after which reading goes on, unless there is one already.
func (s *source) note(at int, expected, found string) {
	if s.minor == nil {
		s.minor = archive.Damaged(s.path, int64(at), found, expected)
	}
}

// defect returns the first defect, or nil.
func (s *source) defect() *FileError {
	if s.minor != nil {
		return s.minor
	}
	return s.err
}

// take returns the next n bytes and moves past them. It returns nil if fewer bytes are left. The bytes are
// valid until the next read.
func (s *source) take(n int) []byte {
	b := s.peek(n)
	if b == nil {
		s.fail(s.at, fmt.Sprintf("%s more", plural.Of(n, "byte")), "%s", plural.Of(s.left(), "byte"))
		return nil
	}
	s.at += n
	return b
}

func (s *source) u8() uint8 {
	if b := s.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (s *source) u32() uint32 {
	if b := s.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (s *source) u64() uint64 {
	if b := s.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// count reads the number of items that follow. Each item has at least size bytes, which limits the
// number.
func (s *source) count(what string, size int) int {
	at := s.at
	n := s.u64()
	if left := uint64(s.left()); n > left/uint64(size) {
		s.fail(at, fmt.Sprintf("at most %d, because the file has no room for more", left/uint64(size)), "%d %s", n, what)
		return 0
	}
	return int(n)
}

// table reads the number of entries of a table, which have size bytes each. at is the position of the first one.
func (s *source) table(what string, size int) (n int, at int64) {
	n = s.count(what, size)
	return n, int64(s.at)
}

// inOrder checks the order of a table of definitions. ref is the ref of the entry at an offset. last is the ref
// of the entry before it, or -1, and becomes ref.
func (s *source) inOrder(what string, at int, last *int64, ref Ref) {
	if int64(ref) <= *last && s.err == nil && s.order == nil {
		s.order = archive.Damaged(s.path, int64(at), fmt.Sprintf("%s %d after %d", what, ref, *last),
			"refs in ascending order, each once; weft uses the first definition of a ref")
	}
	*last = int64(ref)
}

// text reads a string of n bytes. The last byte must be 0. The string shares the memory of a file that is in memory as
// a whole, because a trace may have as many strings as events, and packed rows of many megabytes.
func (s *source) text(n uint64) string {
	at := s.at
	if n == 0 || n > uint64(s.left()) {
		s.fail(at, "a text that ends in the file", "a text of %s", plural.Of(n, "byte"))
		return ""
	}
	b := s.take(int(n))
	if b[n-1] != 0 {
		// the length alone determines where the text ends
		s.note(at+int(n)-1, "0 at the end of a text", fmt.Sprintf("0x%02x", b[n-1]))
	} else {
		b = b[:n-1]
	}
	if s.f != nil {
		return string(b) // the next part takes the place of b
	}
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// smallFiles keeps the contents of thread files that were read to find the extent of the trace, until
// they are read again for their events.
type smallFiles struct {
	mu   sync.Mutex
	data map[string][]byte
	size int
}

// smallBytes limits the number of bytes that smallFiles keeps.
const smallBytes = 4 << 20

// keep stores the contents of s, if s holds the whole file.
func (k *smallFiles) keep(name string, s *source) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if s.base > 0 || len(s.b) < s.size || k.size+s.size > smallBytes {
		return
	}
	if k.data == nil {
		k.data = map[string][]byte{}
	}
	if k.data[name] == nil {
		k.data[name] = s.b
		k.size += s.size
	}
}

// take returns the file with a name, and removes it. It returns nil if the file is not in k.
func (k *smallFiles) take(name, path string) *source {
	k.mu.Lock()
	defer k.mu.Unlock()
	b := k.data[name]
	if b == nil {
		return nil
	}
	delete(k.data, name)
	k.size -= len(b)
	return &source{path: path, b: b, size: len(b)}
}
