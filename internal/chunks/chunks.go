// Package chunks keeps pieces of bytes that are read again later: in memory up to a limit, and
// beyond that in a temporary file.
package chunks

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
)

// Store holds chunks. Several goroutines may call Keep, and several may call Read, side by side.
type Store struct {
	limit int64        // bytes that may be kept in memory
	used  atomic.Int64 // bytes kept in memory
	mu    sync.Mutex   // guards the fields below
	file  *os.File     // nil until it is needed
	size  int64        // of the file
}

// Chunk is a piece of a store.
type Chunk struct {
	memory []byte // nil if it is in the file
	at     int64
	size   int
}

// New returns an empty store that keeps up to limit bytes in memory.
func New(limit int64) *Store { return &Store{limit: limit} }

// Keep stores a chunk. taken reports whether the store now owns b; otherwise the caller can use b
// again.
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
		os.Remove(s.file.Name()) // succeeds where open files can be removed
	}
	at := s.size
	if _, err := s.file.WriteAt(b, at); err != nil {
		return Chunk{}, false, err
	}
	s.size += n
	return Chunk{at: at, size: len(b)}, false, nil
}

// Read returns the bytes of a chunk. They are in memory, or in room, which grows if necessary.
func (s *Store) Read(c Chunk, room *[]byte) ([]byte, error) {
	if c.memory != nil || c.size == 0 {
		return c.memory, nil
	}
	*room = slices.Grow((*room)[:0], c.size)[:c.size]
	_, err := s.file.ReadAt(*room, c.at)
	return *room, err
}

// Drop frees the memory of a chunk, which must not be read again.
func (s *Store) Drop(c *Chunk) {
	if c.memory != nil {
		s.used.Add(-int64(c.size))
	}
	*c = Chunk{}
}

// Clear drops all chunks.
func (s *Store) Clear() {
	s.used.Store(0)
	s.size = 0
}

// Close removes the temporary file.
func (s *Store) Close() {
	if s.file != nil {
		s.file.Close()
		os.Remove(s.file.Name())
		s.file = nil
	}
}
