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

// TestInterruptedPipe checks that an interrupt ends a command that waits for a pipe: for a writer
// to open it, or for data.
func TestInterruptedPipe(t *testing.T) {
	for _, opened := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "pipe.trf")
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Skip(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- (&app{in: os.Stdin}).findFile(ctx, &input{}, path, &inputFlags{}) }()
		write := func() (*os.File, error) { return os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0) }
		var f *os.File
		if opened {
			await.Until(t, "somebody reads the pipe", func() bool {
				var err error
				f, err = write()
				return err == nil
			})
		}
		cancel()
		if err := await.Receive(t, "the input is given up", ended); !errors.Is(err, context.Canceled) {
			t.Errorf("found %v, expected that it was interrupted", err)
		}
		// The process that has opened the pipe can continue.
		if !opened {
			f, _ = write()
		}
		if f != nil {
			f.Close()
		}
	}
}
