// Package chunks stores chunks of bytes that are read again later. It keeps them in memory up to a limit, and
// all others in a temporary file. A store with a file uses up to 700 KiB more, because it writes and reads small
// chunks together.
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
	size  int64        // size of the file in bytes, with the bytes in unwritten
	// unwritten holds the last bytes of the file, which Keep has not written yet.
	unwritten []byte
	blocks    [8]block // blocks of the file in memory
	uses      uint64   // number of uses of blocks
	// missed is a ring. For each of the last chunks that were read from the file alone, it has 1 plus the number of the
	// chunk's block.
	missed [32]int64
	misses int
}

// block is a part of the file in memory: the blockSize bytes at a multiple of blockSize, and some more, so that all
// small chunks that begin in the block are complete.
type block struct {
	number int64
	data   []byte // as much as the file had; empty if the block is not in use
	used   uint64 // value of Store.uses at its last use
}

const (
	blockSize  = 64 << 10
	smallChunk = 16 << 10 // largest size of a chunk that is read with a block
)

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
	c = Chunk{at: s.size, size: len(b)}
	s.unwritten = append(s.unwritten, b...)
	s.size += n
	if len(s.unwritten) < blockSize {
		return c, false, nil
	}
	if _, err := s.file.WriteAt(s.unwritten, s.written()); err != nil {
		return Chunk{}, false, err
	}
	s.unwritten = s.unwritten[:0]
	return c, false, nil
}

// written returns the number of bytes of the file that have been written.
func (s *Store) written() int64 { return s.size - int64(len(s.unwritten)) }

// Read returns the bytes of a chunk. If the store has the bytes in memory, the result shares this memory, and
// the caller must not change it. Otherwise the bytes are read into *room, which is enlarged as needed, and the
// result is valid as long as the caller does not use *room for something else.
func (s *Store) Read(c Chunk, room *[]byte) ([]byte, error) {
	if c.memory != nil || c.size == 0 {
		return c.memory, nil
	}
	*room = slices.Grow((*room)[:0], c.size)[:c.size]
	if found, err := s.copy(*room, c.at); found || err != nil {
		return *room, err
	}
	_, err := s.file.ReadAt(*room, c.at)
	return *room, err
}

// copy copies the bytes of a chunk from memory to b, if they have not been written yet, or if their block is in memory.
// It reads the block if other chunks of it were read lately.
func (s *Store) copy(b []byte, at int64) (found bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.written(); at >= w {
		copy(b, s.unwritten[at-w:])
		return true, nil
	}
	if len(b) > smallChunk {
		return false, nil
	}
	number, from := at/blockSize, int(at%blockSize)
	s.uses++
	oldest := &s.blocks[0]
	for i := range s.blocks {
		x := &s.blocks[i]
		if x.number == number && from+len(b) <= len(x.data) {
			x.used = s.uses
			copy(b, x.data[from:])
			return true, nil
		}
		if x.used < oldest.used {
			oldest = x
		}
	}
	if !slices.Contains(s.missed[:], number+1) {
		s.missed[s.misses%len(s.missed)] = number + 1
		s.misses++
		return false, nil
	}
	oldest.number, oldest.used = number, s.uses
	// After Clear, the file has old bytes after those that have been written.
	size := int(min(blockSize+smallChunk, s.written()-number*blockSize))
	oldest.data = slices.Grow(oldest.data[:0], blockSize+smallChunk)[:size]
	n, err := s.file.ReadAt(oldest.data, number*blockSize)
	oldest.data = oldest.data[:n]
	if err != nil {
		return false, err
	}
	copy(b, oldest.data[from:])
	return true, nil
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
	s.mu.Lock()
	defer s.mu.Unlock()
	s.size, s.unwritten = 0, s.unwritten[:0]
	s.missed = [len(s.missed)]int64{}
	for i := range s.blocks {
		s.blocks[i].data = s.blocks[i].data[:0]
	}
}

// Close removes the temporary file. The store must not be used afterwards.
func (s *Store) Close() {
	if s.file != nil {
		s.file.Close()
		os.Remove(s.file.Name())
		s.file, s.unwritten, s.blocks = nil, nil, [len(s.blocks)]block{}
	}
}
