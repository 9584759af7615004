package cli

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/weft-trace/weft/format/all"
	"github.com/weft-trace/weft/internal/await"
	"github.com/weft-trace/weft/internal/written"
)

// TestFollowPipeWithoutWriter checks that an interrupt ends weft verify --follow of a named pipe that no program has
// opened to write.
func TestFollowPipeWithoutWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe.etf")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	var out, errs bytes.Buffer
	a := &app{in: strings.NewReader(""), out: &out, err: &errs, formats: all.Formats(), garbage: new(gcTuning),
		ownFiles: new(written.List)}
	root := a.root()
	root.SetArgs([]string{"verify", "--follow", "--never", "X", path})
	code := make(chan int, 1)
	go func() { code <- a.exitCode(ctx, root.ExecuteContext(ctx)) }()
	interrupt()
	if c := await.Receive(t, "the exit code", code); c != exitCanceled {
		t.Errorf("exit %d, expected %d: %s%s", c, exitCanceled, &out, &errs)
	}
}
