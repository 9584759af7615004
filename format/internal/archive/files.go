package archive

import (
	"container/list"
	"io"
	"sync"

	"github.com/weft-trace/weft/format"
)

// FileManager limits the number of files that are open at the same time. It closes files that are
// not in use to stay within the limit, and opens them again when they are needed. Several traces
// and goroutines, readers and writers, can share a FileManager. A nil FileManager sets no limit.
type FileManager struct {
	mu    sync.Mutex
	freed *sync.Cond
	max   int
	open  int
	idle  list.List // of *Handle, the least recently used first
}

// mostOpen returns the number of files that should be open at the same time: most, or a quarter of
// the process's limit if that is less.
func mostOpen(most int) int {
	if l := openLimit(); l > 0 {
		most = int(min(uint64(most), max(1, l/4)))
	}
	return most
}

// maxShared is the greatest number of files that the shared manager keeps open.
const maxShared = 128

// Shared returns the manager of all traces that have no other one. It keeps at most 128 files open,
// or a quarter of the process's limit if that is less. So a command that reads many traces at once
// stays within the limit too.
func Shared() *FileManager { return shared() }

var shared = sync.OnceValue(func() *FileManager { return NewFileManager(mostOpen(maxShared)) })

// NewFileManager returns a manager that keeps at most max files open; less than 1 means 1. A
// goroutine that needs a file beyond the limit waits until another file is no longer in use.
func NewFileManager(max int) *FileManager {
	m := &FileManager{max: max}
	if max < 1 {
		m.max = 1
	}
	m.freed = sync.NewCond(&m.mu)
	return m
}

// Handle is a file that a manager can close between uses. Without a manager the file stays open.
type Handle struct {
	m    *FileManager
	open func() (io.Closer, error)
	file io.Closer
	// use is the number of uses that have begun and not ended.
	use int
	at  *list.Element // element of the manager's list while the file is open and not in use
}

// NewHandle returns a handle of the file that function open opens.
func NewHandle(m *FileManager, open func() (io.Closer, error)) Handle {
	return Handle{m: m, open: open}
}

// With calls f with the file, which it opens if needed. f must not keep the file.
func (h *Handle) With(f func(io.Closer) error) error {
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

// acquire begins a use of the file, which it opens if needed.
func (h *Handle) acquire() error {
	m := h.m
	m.mu.Lock()
	defer m.mu.Unlock()
	for h.file == nil && m.open >= m.max && m.idle.Len() == 0 {
		m.freed.Wait()
	}
	if h.file == nil {
		if m.open >= m.max {
			if err := m.drop(m.idle.Front().Value.(*Handle)); err != nil {
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

// release ends a use of the file that acquire has begun.
func (h *Handle) release() {
	m := h.m
	m.mu.Lock()
	defer m.mu.Unlock()
	if h.use--; h.use == 0 {
		h.at = m.idle.PushBack(h)
		m.freed.Signal()
	}
}

// drop closes a file that is not in use.
func (m *FileManager) drop(h *Handle) error {
	if h.at != nil {
		m.idle.Remove(h.at)
		h.at = nil
	}
	err := h.file.Close()
	h.file = nil
	m.open--
	return err
}

// Close closes the file. If the file is in use, it stays open until its manager needs the room for another file.
func (h *Handle) Close() error {
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
	if h.file == nil || h.use > 0 {
		return nil
	}
	err := m.drop(h)
	m.freed.Signal()
	return err
}

// Input is a file of a trace that is open for reading.
type Input struct {
	Handle
	Size int64
}

// Find opens a file of a trace. If the file does not exist, the error wraps [fs.ErrNotExist].
func (m *FileManager) Find(src format.Source, name string) (*Input, error) {
	in := &Input{}
	in.Handle = Handle{m: m, open: func() (io.Closer, error) {
		f, size, err := src.OpenName(name)
		if err != nil {
			return nil, err
		}
		in.Size = size
		return f, nil
	}}
	if err := in.With(func(io.Closer) error { return nil }); err != nil {
		return nil, err
	}
	return in, nil
}

// ReadAt reads from the file, and opens it if necessary.
func (in *Input) ReadAt(p []byte, off int64) (n int, err error) {
	err = in.With(func(f io.Closer) error {
		var err error
		n, err = f.(format.DataFile).ReadAt(p, off)
		return err
	})
	return n, err
}
