package archive

import (
	"io"
	"testing"
)

// countedCloser counts how often it is closed.
type countedCloser struct{ closed *int }

func (c countedCloser) Close() error {
	*c.closed++
	return nil
}

// TestCloseInUse checks that Close leaves a file open that is in use, and that the manager closes it later to open
// another file.
func TestCloseInUse(t *testing.T) {
	m := NewFileManager(1)
	var closed [2]int
	var handles [2]Handle
	for i := range handles {
		handles[i] = NewHandle(m, func() (io.Closer, error) { return countedCloser{&closed[i]}, nil })
	}
	if err := handles[0].With(func(io.Closer) error { return handles[0].Close() }); err != nil || closed[0] != 0 {
		t.Errorf("Close during a use: error %v, closed %d times, expected 0", err, closed[0])
	}
	if err := handles[1].With(func(io.Closer) error { return nil }); err != nil || closed[0] != 1 {
		t.Errorf("opening another file: error %v, the first one was closed %d times, expected 1", err, closed[0])
	}
	if err := handles[1].Close(); err != nil || closed[1] != 1 {
		t.Errorf("Close after a use: error %v, closed %d times, expected 1", err, closed[1])
	}
}
