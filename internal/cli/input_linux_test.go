package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// An interrupt ends what waits for somebody to write to a pipe.
func TestInterruptedPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe.trf")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- (&app{in: os.Stdin}).locate(ctx, &input{}, path) }()
	cancel()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("found %v, expected that it was interrupted", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("it still waits")
	}
	// Whoever has opened the pipe is let go.
	if f, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
		f.Close()
	}
}
