package otf

import (
	"container/list"
	"fmt"
	"io"
	"sync"

	"github.com/weft-trace/weft/format"
)

// FileManager limits how many files are open at once, whatever the number of
// streams. Files that must make room are opened again when they are needed. One
// FileManager may serve several traces and goroutines, readers and writers. A nil
// FileManager sets no limit.
type FileManager struct {
	mu    sync.Mutex
	freed *sync.Cond
	max   int
	open  int
	idle  list.List // of *handle, the one used longest ago first
}

// maxOpenFiles is how many files of a trace the decoder, the printer and copies
// have open at once, and copies as many again for writing.
const maxOpenFiles = 32

// NewFileManager makes a manager that keeps at most max files open; less than 1
// means 1. Goroutines that need more at once wait for each other.
func NewFileManager(max int) *FileManager {
	m := &FileManager{max: max}
	if max < 1 {
		m.max = 1
	}
	m.freed = sync.NewCond(&m.mu)
	return m
}

// handle is a file that a manager may close between uses. One without manager
// stays open.
type handle struct {
	m    *FileManager
	open func() (io.Closer, error)
	file io.Closer
	use  int
	at   *list.Element // in the manager's list while it is idle and open
}

// with opens the file if need be and calls f with it.
func (h *handle) with(f func(io.Closer) error) error {
	if h.m == nil {
		if h.file == nil {
			x, err := h.open()
			if err != nil {
				return err
			}
			h.file = x
		}
		return f(h.file)
	}
	if err := h.acquire(); err != nil {
		return err
	}
	defer h.release()
	return f(h.file)
}

func (h *handle) acquire() error {
	m := h.m
	m.mu.Lock()
	defer m.mu.Unlock()
	for h.file == nil && m.open >= m.max && m.idle.Len() == 0 {
		m.freed.Wait()
	}
	if h.file == nil {
		if m.open >= m.max {
			if err := m.drop(m.idle.Front().Value.(*handle)); err != nil {
				return err
			}
		}
		f, err := h.open()
		if err != nil {
			return err
		}
		h.file = f
		m.open++
	}
	if h.at != nil {
		m.idle.Remove(h.at)
		h.at = nil
	}
	h.use++
	return nil
}

func (h *handle) release() {
	m := h.m
	m.mu.Lock()
	defer m.mu.Unlock()
	if h.use--; h.use == 0 {
		h.at = m.idle.PushBack(h)
		m.freed.Signal()
	}
}

// drop closes an idle file.
func (m *FileManager) drop(h *handle) error {
	if h.at != nil {
		m.idle.Remove(h.at)
		h.at = nil
	}
	err := h.file.Close()
	h.file = nil
	m.open--
	return err
}

// Close closes the file, which nobody may be using.
func (h *handle) Close() error {
	m := h.m
	if m == nil {
		if h.file == nil {
			return nil
		}
		err := h.file.Close()
		h.file = nil
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if h.file == nil {
		return nil
	}
	err := m.drop(h)
	m.freed.Signal()
	return err
}

// input is a file of a trace that is read.
type input struct {
	handle
	size int64
}

// find opens a file of a trace; the error says whether it exists.
func (m *FileManager) find(src format.Source, name string) (*input, error) {
	in := &input{}
	in.handle = handle{m: m, open: func() (io.Closer, error) {
		f, size, err := src.OpenName(name)
		if err != nil {
			return nil, err
		}
		in.size = size
		return f, nil
	}}
	if err := in.with(func(io.Closer) error { return nil }); err != nil {
		return nil, err
	}
	return in, nil
}

// ReadAt reads from the file, which it opens if need be.
func (in *input) ReadAt(p []byte, off int64) (n int, err error) {
	err = in.with(func(f io.Closer) error {
		var err error
		n, err = f.(format.DataFile).ReadAt(p, off)
		return err
	})
	return n, err
}

// fileName is the name of a stream's file without ".z".
func fileName(stub string, stream uint32, part Part) string {
	return fmt.Sprintf("%s.%x%s", stub, stream, suffixes[part])
}
