// Package spill keeps chunks of bytes in memory up to a limit, and further ones in a temporary file.
package spill

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
)

// Store holds chunks. Several goroutines may store and load chunks. Close releases the memory and
// removes the file.
type Store struct {
	chunk  int          // preferred bytes of a chunk
	memory int64        // bytes that may be kept in memory
	used   atomic.Int64 // bytes kept in memory
	mu     sync.Mutex   // guards the fields below
	file   *os.File     // nil until it is needed
	size   int64        // of the file
}

// Chunk is a stored chunk. Its zero value is an empty chunk.
type Chunk struct {
	memory []byte // nil if it is in the file
	at     int64
	size   int
}

// New returns a store that keeps the given number of bytes in memory. writers is the number of
// writers that fill a chunk each at the same time; it determines the size of chunks.
func New(memory int64, writers int) *Store {
	return &Store{memory: memory, chunk: min(max(int(memory)/max(writers, 1), 512), 16<<10)}
}

// ChunkSize returns the number of bytes at which a chunk should be stored, from 512 to 16 KiB.
func (s *Store) ChunkSize() int { return s.chunk }

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

// Keep stores a chunk. It returns a buffer with no bytes for the writer's next chunk: that of b, if
// the chunk is in the file, or a new one, as the store owns b then.
func (s *Store) Keep(b []byte) (c Chunk, buffer []byte, err error) {
	n := int64(len(b))
	if s.used.Add(n) <= s.memory {
		return Chunk{memory: b, size: len(b)}, make([]byte, 0, min(cap(b), s.chunk+64)), nil
	}
	s.used.Add(-n)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		if s.file, err = os.CreateTemp("", "weft-events-*"); err != nil {
			return Chunk{}, nil, fmt.Errorf("cannot make a temporary file: %w", err)
		}
		os.Remove(s.file.Name()) // succeeds where open files can be removed
	}
	at := s.size
	if _, err := s.file.WriteAt(b, at); err != nil {
		return Chunk{}, nil, err
	}
	s.size += n
	return Chunk{at: at, size: len(b)}, b[:0], nil
}

// Load returns the bytes of a chunk, which are valid until the next use of *buffer. It reads chunks
// in the file into *buffer, which it may grow.
func (s *Store) Load(c Chunk, buffer *[]byte) ([]byte, error) {
	if c.memory != nil || c.size == 0 {
		return c.memory, nil
	}
	b := slices.Grow((*buffer)[:0], c.size)[:c.size]
	*buffer = b
	if _, err := s.file.ReadAt(b, c.at); err != nil {
		return nil, err
	}
	return b, nil
}
