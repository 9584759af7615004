package pallas

import (
	"encoding/binary"
	"fmt"
	"math"
	"sync"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/internal/archive"
)

// FileError is something in a file that is not what the format says.
type FileError = archive.FileError

// missing is a file that cannot be opened.
type missing = archive.Missing

// source goes through a file from its beginning. The first thing that is wrong ends
// it: what is read after that is 0. Of files that may be long it has a part.
type source struct {
	path string
	f    format.DataFile // nil if the whole file is there
	size int             // of the file
	b    []byte          // what is there of it,
	base int             // from here on
	at   int             // in the file
	err  *FileError
	odd  *FileError // the first thing that is wrong but ends nothing
}

// load reads a whole file.
func load(src format.Source, name, path string) (*source, error) {
	b, err := archive.Load(src, name, path, maxFile)
	if err != nil {
		return nil, err
	}
	return &source{path: path, b: b, size: len(b)}, nil
}

// stream opens a file that is to be read part by part; f is to be closed.
func stream(src format.Source, name, path string) (*source, error) {
	f, size, err := src.OpenName(name)
	if err != nil {
		return nil, &missing{Path: path, Err: err}
	}
	return &source{path: path, f: f, size: int(size)}, nil
}

// maxFile bounds what is read whole.
const maxFile = math.MaxInt32

// partSize is how much of a file is there usually.
const partSize = 256 << 10

// left is how many bytes follow.
func (s *source) left() int { return s.size - s.at }

// peek is the next n bytes, until more are read; nil if there are less.
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

// fill has what follows be there, n bytes at least.
func (s *source) fill(n int) bool {
	size := min(max(n, partSize), s.left())
	if cap(s.b) < size {
		s.b = make([]byte, size)
	}
	s.b, s.base = s.b[:size], s.at
	if k, err := s.f.ReadAt(s.b, int64(s.at)); k < size {
		s.b = nil
		s.bad(s.at, fmt.Sprintf("%d bytes more", size), "%v", err)
		return false
	}
	return true
}

// bad notes what is wrong at an offset.
func (s *source) bad(at int, expected, found string, args ...any) {
	if s.err == nil {
		s.err = archive.Damaged(s.path, int64(at), fmt.Sprintf(found, args...), expected)
		s.at = s.size
	}
}

// wrong is the first thing that is, nil if nothing.
func (s *source) wrong() *FileError {
	if s.odd != nil {
		return s.odd
	}
	return s.err
}

// take is the next n bytes, until more are read; nil if there are less.
func (s *source) take(n int) []byte {
	b := s.peek(n)
	if b == nil {
		s.bad(s.at, fmt.Sprintf("%d bytes more", n), "%d bytes", s.left())
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

// count reads how many items follow, which have size bytes at least.
func (s *source) count(what string, size int) int {
	at := s.at
	n := s.u64()
	if left := uint64(s.left()); n > left/uint64(size) {
		s.bad(at, fmt.Sprintf("at most %d, which is what the file has room for", left/uint64(size)), "%d %s", n, what)
		return 0
	}
	return int(n)
}

// text reads a string of n bytes, the last of which is 0.
func (s *source) text(n uint64) string {
	at := s.at
	if n == 0 || n > uint64(s.left()) {
		s.bad(at, "a text that ends in the file", "a text of %d bytes", n)
		return ""
	}
	b := s.take(int(n))
	if b[n-1] != 0 {
		if s.odd == nil { // its length tells all the same
			s.odd = archive.Damaged(s.path, int64(at)+int64(n)-1, fmt.Sprintf("0x%02x", b[n-1]), "0 at the end of a text")
		}
		return string(b)
	}
	return string(b[:n-1])
}

// smallFiles keeps files of a thread's events that were read as a whole until they are read again:
// the extent of a trace is looked for before its events are read.
type smallFiles struct {
	mu   sync.Mutex
	data map[string][]byte
	size int
}

// smallBytes is how many bytes smallFiles keeps at most.
const smallBytes = 4 << 20

// keep keeps the file of s if all of it is there.
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

// take returns the file of this name, which is kept no longer; nil if it is not there.
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
