//go:build unix

package format_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/await"
)

// TestPipeBeside checks that a pipe among the files of a trace is refused, because reading a pipe may never
// end. The test opens the trace in the file system of the machine and in other file systems.
func TestPipeBeside(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"x.trace", "x.part"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("text"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "x.pipe"), 0o644); err != nil {
		t.Skip(err)
	}
	src := format.FileSource(filepath.Join(dir, "x.trace"))
	other := src
	other.FS = os.DirFS(dir)
	for _, s := range []format.Source{src, other} {
		f, size, err := s.OpenName("x.part")
		if err != nil || size != 4 {
			t.Fatalf("found %d bytes, %v", size, err)
		}
		f.Close()
		done := make(chan error, 1)
		go func() {
			_, _, err := s.OpenName("x.pipe")
			done <- err
		}()
		if err := await.Receive(t, "a pipe is refused", done); err == nil || !strings.Contains(err.Error(), "x.pipe") {
			t.Errorf("a pipe is opened with the error %v", err)
		}
	}
}
