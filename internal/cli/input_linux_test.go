package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/weft-trace/weft/internal/await"
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
	if err := await.Receive(t, "the input is given up", ended); !errors.Is(err, context.Canceled) {
		t.Errorf("found %v, expected that it was interrupted", err)
	}
	// Whoever has opened the pipe is let go.
	if f, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
		f.Close()
	}
}
