package archive

import (
	"container/list"
	"io"
	"sync"

	"github.com/weft-trace/weft/format"
)

// FileManager limits how many files are open at once, for any number of streams. Files that were
// closed to stay within the limit are opened again when they are needed. One FileManager may serve
// several traces and goroutines, readers and writers. A nil FileManager sets no limit.
type FileManager struct {
	mu    sync.Mutex
	freed *sync.Cond
	max   int
	open  int
	idle  list.List // of *Handle, the least recently used first
}

// MostOpen returns how many files should be open at once: most, or a quarter of the process's limit, if
// that is less.
func MostOpen(most int) int {
	if l := openLimit(); l > 0 {
		most = int(min(uint64(most), max(1, l/4)))
	}
	return most
}

// maxShared is the largest number of files that the shared manager keeps open.
const maxShared = 128

// Shared returns the manager of all traces that have no other one. It keeps 128 files open, or a quarter
// of what the process may have open, if that is less. Commands that read many traces at once thus stay
// within the limit, too.
func Shared() *FileManager { return shared() }

var shared = sync.OnceValue(func() *FileManager { return NewFileManager(MostOpen(maxShared)) })

// NewFileManager returns a manager that keeps at most max files open; less than 1 means 1.
// Goroutines that need more at once wait for each other.
func NewFileManager(max int) *FileManager {
	m := &FileManager{max: max}
	if max < 1 {
		m.max = 1
	}
	m.freed = sync.NewCond(&m.mu)
	return m
}

// Handle is a file that a manager may close between uses. A file without a manager stays open.
type Handle struct {
	m    *FileManager
	open func() (io.Closer, error)
	file io.Closer
	use  int
	at   *list.Element // in the manager's list while it is idle and open
}

// NewHandle returns a handle of a file that open opens.
func NewHandle(m *FileManager, open func() (io.Closer, error)) Handle {
	return Handle{m: m, open: open}
}

// With opens the file if necessary and calls f with it.
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

func (h *Handle) release() {
	m := h.m
	m.mu.Lock()
	defer m.mu.Unlock()
	if h.use--; h.use == 0 {
		h.at = m.idle.PushBack(h)
		m.freed.Signal()
	}
}

// drop closes an idle file.
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

// Close closes the file, which must not be in use.
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
	if h.file == nil {
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

// Find opens a file of a trace. The error shows whether the file exists.
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
