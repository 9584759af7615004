// Package spool collects a text that can only be written later. A short text stays in memory, and a long text
// is stored in a temporary file.
package spool

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// memoryLimit is the largest number of bytes that a spool keeps in memory. A higher limit would not
// be faster, because new memory costs as much as the file.
const memoryLimit = 1 << 20

// pendLimit is the number of bytes that are collected before they are moved to memory or to the
// file. It is large enough for few system calls, and small enough for the processor's cache.
const pendLimit = 128 << 10

// Spool is a text to which bytes are appended, and into which pieces can be inserted later. The
// zero Spool is empty and ready to use.
type Spool struct {
	pend         []byte // the end of the text
	buf          []byte // the text before pend, if it fits in memory
	file         *os.File
	base         int64  // offset in the file at which the text begins
	borrowedName string // name of the file if the spool does not own it; otherwise ""
	size         int64  // size of the text without pend
	inserts      []insert
	late         *Spool
}

// insert is a piece of text that is inserted when the text is copied.
type insert struct {
	at   int64 // offset in the text before which the piece is inserted
	from int64 // offset of the piece in the file late
	n    int
}

// AppendTo makes an empty spool store its text at the end of file. From then on, only the spool may append to
// the file. Close does not close the file. name is the file's name in errors.
func (s *Spool) AppendTo(file *os.File, name string) error {
	base, err := file.Seek(0, io.SeekEnd)
	*s = Spool{file: file, base: base, borrowedName: name}
	return err
}

// Whole writes buffered text to the file. It then reports whether the file that AppendTo named is complete: the
// spool appends to such a file, and has no pieces to insert.
func (s *Spool) Whole() (bool, error) {
	err := s.flush()
	return s.borrowedName != "" && s.late == nil, err
}

// Line returns the end of the text. The caller appends to the returned slice, and passes the result to Done
// before calling any other method.
func (s *Spool) Line() []byte { return s.pend }

// Done takes the result of Line, to which text has been appended.
func (s *Spool) Done(b []byte) error {
	s.pend = b
	if len(b) < pendLimit {
		return nil
	}
	return s.flush()
}

// Write appends p to the text.
func (s *Spool) Write(p []byte) (int, error) {
	return len(p), s.Done(append(s.Line(), p...))
}

// Size returns the number of bytes that were appended so far. Inserted pieces do not count.
func (s *Spool) Size() int64 { return s.size + int64(len(s.pend)) }

// Insert inserts the piece p before the byte at offset at, which must not be greater than Size.
// Pieces for the same offset keep their order.
func (s *Spool) Insert(at int64, p []byte) error {
	if s.late == nil {
		s.late = &Spool{}
	}
	s.inserts = append(s.inserts, insert{at, s.late.Size(), len(p)})
	_, err := s.late.Write(p)
	return err
}

// flush moves pend to buf or to the file.
func (s *Spool) flush() error {
	p := s.pend
	s.pend = s.pend[:0]
	s.size += int64(len(p))
	if s.file == nil {
		if n := len(s.buf) + len(p); n <= memoryLimit {
			if n > cap(s.buf) {
				s.buf = slices.Grow(s.buf, min(4*n, memoryLimit)-len(s.buf))
			}
			s.buf = append(s.buf, p...)
			return nil
		}
		f, err := os.CreateTemp("", "weft-out-*")
		if err != nil {
			return fmt.Errorf("cannot make a temporary file: %w", err)
		}
		os.Remove(f.Name())
		s.file = f
		if _, err := f.Write(s.buf); err != nil {
			return err
		}
		s.buf = nil
	}
	_, err := s.file.Write(p)
	var pe *os.PathError
	if s.borrowedName != "" && errors.As(err, &pe) {
		err = fmt.Errorf("%s: %w", s.borrowedName, pe.Err)
	}
	return err
}

// copyRange writes n bytes of the text, from offset from on, to w. If n is less than pendLimit, copyRange
// reads the bytes of a file into buffer, which must have room for them. Otherwise the operating system
// copies them.
func (s *Spool) copyRange(w io.Writer, from, n int64, buffer []byte) error {
	if n == 0 {
		return nil
	}
	if s.file == nil {
		_, err := w.Write(s.buf[from : from+n])
		return err
	}
	if n < pendLimit {
		if _, err := s.file.ReadAt(buffer[:n], s.base+from); err != nil {
			return err
		}
		_, err := w.Write(buffer[:n])
		return err
	}
	// If w is a file, the operating system copies the bytes directly.
	if _, err := s.file.Seek(s.base+from, io.SeekStart); err != nil {
		return err
	}
	_, err := io.Copy(w, io.LimitReader(s.file, n))
	return err
}

// CopyTo writes the whole text to w, with all pieces inserted.
func (s *Spool) CopyTo(w io.Writer) error {
	if err := s.flush(); err != nil {
		return err
	}
	size := s.size
	if s.late != nil {
		if err := s.late.flush(); err != nil {
			return err
		}
		size += s.late.size
	}
	buffer := make([]byte, min(size, pendLimit)) // there may be very many small spools
	at := int64(0)
	if s.late != nil {
		out := bufio.NewWriterSize(w, len(buffer))
		slices.SortStableFunc(s.inserts, func(a, b insert) int { return cmp.Compare(a.at, b.at) })
		for _, x := range s.inserts {
			if err := s.copyRange(out, at, x.at-at, buffer); err != nil {
				return err
			}
			at = x.at
			if err := s.late.copyRange(out, x.from, int64(x.n), buffer); err != nil {
				return err
			}
		}
		if err := out.Flush(); err != nil {
			return err
		}
	}
	return s.copyRange(w, at, s.size-at, buffer)
}

// Close removes the temporary files and empties the spool. It does not close the file that was passed to
// AppendTo.
func (s *Spool) Close() {
	if s.late != nil {
		s.late.Close()
	}
	if s.file != nil && s.borrowedName == "" {
		s.file.Close()
		os.Remove(s.file.Name())
	}
	*s = Spool{}
}
