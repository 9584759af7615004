// Package chunks stores chunks of bytes that are read again later. It keeps them in memory up to a limit, and
// all others in a temporary file.
package chunks

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
)

// Store holds chunks. Keep and Read may be called by several goroutines at the same time.
type Store struct {
	limit int64        // largest number of bytes in memory
	used  atomic.Int64 // number of bytes in memory
	mu    sync.Mutex   // guards the fields below
	file  *os.File     // the temporary file; nil until it is needed
	size  int64        // size of the file in bytes
}

// Chunk identifies the bytes that a Store keeps. It is valid until Drop, Clear or Close.
type Chunk struct {
	memory []byte // the bytes; nil if they are in the file
	at     int64
	size   int
}

// New returns an empty store that keeps up to limit bytes in memory.
func New(limit int64) *Store { return &Store{limit: limit} }

// Keep stores the bytes b and returns their handle. taken reports whether the store has taken over
// b, so that the caller must not change it; otherwise it has copied b.
func (s *Store) Keep(b []byte) (c Chunk, taken bool, err error) {
	n := int64(len(b))
	if s.used.Add(n) <= s.limit {
		return Chunk{memory: b, size: len(b)}, true, nil
	}
	s.used.Add(-n)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		if s.file, err = os.CreateTemp("", "weft-events-*"); err != nil {
			return Chunk{}, false, fmt.Errorf("cannot make a temporary file: %w", err)
		}
		os.Remove(s.file.Name()) // succeeds on systems that can remove open files
	}
	at := s.size
	if _, err := s.file.WriteAt(b, at); err != nil {
		return Chunk{}, false, err
	}
	s.size += n
	return Chunk{at: at, size: len(b)}, false, nil
}

// Read returns the bytes of a chunk. If the store has the bytes in memory, the result shares this memory, and
// the caller must not change it. Otherwise the bytes are read into *room, which is enlarged as needed, and the
// result is valid as long as the caller does not use *room for something else.
func (s *Store) Read(c Chunk, room *[]byte) ([]byte, error) {
	if c.memory != nil || c.size == 0 {
		return c.memory, nil
	}
	*room = slices.Grow((*room)[:0], c.size)[:c.size]
	_, err := s.file.ReadAt(*room, c.at)
	return *room, err
}

// Drop removes the bytes of a chunk from the store and clears the handle.
func (s *Store) Drop(c *Chunk) {
	if c.memory != nil {
		s.used.Add(-int64(c.size))
	}
	*c = Chunk{}
}

// Clear removes the bytes of all chunks from the store. Their handles become invalid.
func (s *Store) Clear() {
	s.used.Store(0)
	s.size = 0
}

// Close removes the temporary file. The store must not be used afterwards.
func (s *Store) Close() {
	if s.file != nil {
		s.file.Close()
		os.Remove(s.file.Name())
		s.file = nil
	}
}
