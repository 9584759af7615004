package pallas

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/weft-trace/weft/format"
)

// FileError is something in a file that is not what the format says.
type FileError struct {
	Path            string // as the user would write it
	Offset          int64  // in bytes
	Found, Expected string
}

// Error says it in one line.
func (e *FileError) Error() string {
	return fmt.Sprintf("%s:0x%x: found %s, expected %s", e.Path, e.Offset, e.Found, e.Expected)
}

// source goes through a file from its beginning. The first thing that is wrong ends
// it: what is read after that is 0.
type source struct {
	path string
	b    []byte
	at   int
	err  *FileError
	odd  *FileError // the first thing that is wrong but ends nothing

	tokens []Token // room for those of a thread
}

// load reads a whole file.
func load(src format.Source, name, path string) (*source, error) {
	f, size, err := src.OpenName(name)
	if err != nil {
		return nil, &missing{path, err}
	}
	defer f.Close()
	if size > maxFile {
		return nil, &FileError{path, 0, fmt.Sprintf("%d bytes", size), fmt.Sprintf("at most %d", int64(maxFile))}
	}
	b := make([]byte, size)
	if _, err := f.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &source{path: path, b: b}, nil
}

// maxFile bounds what is read whole: everything but times and durations.
const maxFile = math.MaxInt32

// missing is a file that cannot be opened.
type missing struct {
	path string
	err  error
}

func (e *missing) Error() string {
	err := e.err
	if u := errors.Unwrap(err); u != nil {
		err = u
	}
	return fmt.Sprintf("%s: %v", e.path, err)
}

func (e *missing) Unwrap() error { return e.err }

// bad notes what is wrong at an offset.
func (s *source) bad(at int, expected, found string, args ...any) {
	if s.err == nil {
		s.err = &FileError{s.path, int64(at), fmt.Sprintf(found, args...), expected}
		s.at = len(s.b)
	}
}

// wrong is the first thing that is, nil if nothing.
func (s *source) wrong() *FileError {
	if s.odd != nil {
		return s.odd
	}
	return s.err
}

// take is the next n bytes, nil if there are less.
func (s *source) take(n int) []byte {
	if n < 0 || n > len(s.b)-s.at {
		s.bad(s.at, fmt.Sprintf("%d bytes more", n), "%d bytes", len(s.b)-s.at)
		return nil
	}
	s.at += n
	return s.b[s.at-n : s.at]
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
	if left := uint64(len(s.b) - s.at); n > left/uint64(size) {
		s.bad(at, fmt.Sprintf("at most %d, which is what the file has room for", left/uint64(size)), "%d %s", n, what)
		return 0
	}
	return int(n)
}

// text reads a string of n bytes, the last of which is 0.
func (s *source) text(n uint64) string {
	at := s.at
	if n == 0 || n > uint64(len(s.b)-at) {
		s.bad(at, "a text that ends in the file", "a text of %d bytes", n)
		return ""
	}
	b := s.take(int(n))
	if b[n-1] != 0 {
		if s.odd == nil { // its length tells all the same
			s.odd = &FileError{s.path, int64(at) + int64(n) - 1, fmt.Sprintf("0x%02x", b[n-1]), "0 at the end of a text"}
		}
		return string(b)
	}
	return string(b[:n-1])
}
