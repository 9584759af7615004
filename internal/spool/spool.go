// Package spool holds text that can be written out only later: in memory while it is small, and
// beyond that in a temporary file.
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

// memoryLimit is the number of bytes that a spool holds in memory. More would not be faster: fresh
// memory costs as much as the file.
const memoryLimit = 1 << 20

// pendLimit is the number of bytes that are collected before they go to memory or disk. It is large
// enough for few system calls, and small enough to be in the cache when the system copies it.
const pendLimit = 128 << 10

// Spool is an append-only text into which pieces can be inserted afterwards. The zero Spool is
// empty and ready to use.
type Spool struct {
	pend    []byte // the newest text
	buf     []byte // older text, while it fits in memory
	file    *os.File
	base    int64  // offset of the text in the file
	lent    string // the name of a file that the spool does not own
	size    int64  // without pend
	inserts []insert
	late    *Spool
}

type insert struct {
	at   int64 // insert before this byte of the spool
	from int64 // offset in late
	n    int
}

// AppendTo makes an empty spool append its text to file, whose end then belongs to the spool. Close
// does not close the file. Errors call it name.
func (s *Spool) AppendTo(file *os.File, name string) error {
	base, err := file.Seek(0, io.SeekEnd)
	*s = Spool{file: file, base: base, lent: name}
	return err
}

// Whole reports whether the whole text is in its file, without insertions.
func (s *Spool) Whole() (bool, error) {
	err := s.flush()
	return s.lent != "" && s.late == nil, err
}

// Line returns the end of the text for appending. Done must follow, and no other call in between.
func (s *Spool) Line() []byte { return s.pend }

// Done takes the result of Line with text appended.
func (s *Spool) Done(b []byte) error {
	s.pend = b
	if len(b) < pendLimit {
		return nil
	}
	return s.flush()
}

// Write appends p.
func (s *Spool) Write(p []byte) (int, error) {
	return len(p), s.Done(append(s.Line(), p...))
}

// Size returns the number of bytes appended so far.
func (s *Spool) Size() int64 { return s.size + int64(len(s.pend)) }

// Insert puts p before byte at when the spool is written out. at must not exceed Size. Pieces for
// the same byte keep their order.
func (s *Spool) Insert(at int64, p []byte) error {
	if s.late == nil {
		s.late = &Spool{}
	}
	s.inserts = append(s.inserts, insert{at, s.late.Size(), len(p)})
	_, err := s.late.Write(p)
	return err
}

// flush moves the newest text to memory or disk.
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
	if s.lent != "" && errors.As(err, &pe) {
		err = fmt.Errorf("%s: %w", s.lent, pe.Err)
	}
	return err
}

// copyRange writes a part of the text, through a buffer of pendLimit bytes if it is short.
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
	// With a plain file the system copies directly.
	if _, err := s.file.Seek(s.base+from, io.SeekStart); err != nil {
		return err
	}
	_, err := io.Copy(w, io.LimitReader(s.file, n))
	return err
}

// CopyTo writes everything out, with the insertions in their places.
func (s *Spool) CopyTo(w io.Writer) error {
	if err := s.flush(); err != nil {
		return err
	}
	buffer := make([]byte, pendLimit)
	at := int64(0)
	if s.late != nil {
		out := bufio.NewWriterSize(w, pendLimit)
		if err := s.late.flush(); err != nil {
			return err
		}
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

// Close removes the temporary files. It does not close a file given to Into.
func (s *Spool) Close() {
	if s.late != nil {
		s.late.Close()
	}
	if s.file != nil && s.lent == "" {
		s.file.Close()
		os.Remove(s.file.Name())
	}
	*s = Spool{}
}
