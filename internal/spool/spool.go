// Package spool keeps text that can be written out only later: in memory while
// it is small, in a temporary file beyond that.
package spool

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
)

// memoryLimit is how much a spool keeps in memory.
const memoryLimit = 4 << 20

// pendLimit is how much is collected before it goes to memory or disk.
const pendLimit = 64 << 10

// Spool is an append-only text into which pieces can be inserted afterwards.
// The zero Spool is empty and ready.
type Spool struct {
	pend    []byte // the newest text
	buf     []byte // older text, while it is little
	file    *os.File
	size    int64 // of all but pend
	inserts []insert
	late    *Spool
}

type insert struct {
	at   int64 // before this byte of the spool
	from int64 // in late
	n    int
}

// Line gives the end of the text to append to; Done takes it back. Between the
// two nothing else may be done with the spool.
func (s *Spool) Line() []byte { return s.pend }

// Done takes back what Line gave, with text appended.
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

// Size is the number of bytes appended so far.
func (s *Spool) Size() int64 { return s.size + int64(len(s.pend)) }

// Insert puts p before byte at when the spool is written out; at must not
// exceed Size. Pieces for the same byte keep their order.
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
		if len(s.buf)+len(p) <= memoryLimit {
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
	return err
}

func (s *Spool) copyRange(w io.Writer, from, n int64) error {
	if n == 0 {
		return nil
	}
	if s.file == nil {
		_, err := w.Write(s.buf[from : from+n])
		return err
	}
	if n < pendLimit {
		_, err := io.Copy(w, io.NewSectionReader(s.file, from, n))
		return err
	}
	// A plain file lets the system copy without us.
	if _, err := s.file.Seek(from, io.SeekStart); err != nil {
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
	at := int64(0)
	if s.late != nil {
		if err := s.late.flush(); err != nil {
			return err
		}
		slices.SortStableFunc(s.inserts, func(a, b insert) int { return cmp.Compare(a.at, b.at) })
		for _, x := range s.inserts {
			if err := s.copyRange(w, at, x.at-at); err != nil {
				return err
			}
			at = x.at
			if err := s.late.copyRange(w, x.from, int64(x.n)); err != nil {
				return err
			}
		}
	}
	return s.copyRange(w, at, s.size-at)
}

// Close frees the temporary files.
func (s *Spool) Close() {
	if s.late != nil {
		s.late.Close()
	}
	if s.file != nil {
		s.file.Close()
		os.Remove(s.file.Name())
	}
	*s = Spool{}
}
