package otf

import (
	"fmt"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/internal/archive"
)

// FileManager limits how many files are open at once, whatever the number of
// streams. Files that must make room are opened again when they are needed. One
// FileManager may serve several traces and goroutines, readers and writers. A nil
// FileManager sets no limit.
type FileManager = archive.FileManager

// maxOpenFiles is how many files of a trace the decoder, the printer and copies
// have open at once at most, and copies as many again for writing.
const maxOpenFiles = 32

// FilesOption is the option that says how many files of a trace are open at once.
const FilesOption = "otf.files"

// FewFiles makes a manager that keeps as many files open as the option otf.files of values says. Without
// it, these are 32, or a quarter of what the process may have open, if that is less.
func FewFiles(values map[string]string) (*FileManager, error) {
	n, err := (&format.ReadOptions{Values: values}).Int(FilesOption, 0)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return NewFileManager(archive.MostOpen(maxOpenFiles)), nil
	}
	return NewFileManager(int(min(n, 1<<20))), nil
}

// NewFileManager makes a manager that keeps at most max files open; less than 1
// means 1. Goroutines that need more at once wait for each other.
func NewFileManager(max int) *FileManager { return archive.NewFileManager(max) }

// fileName is the name of a stream's file without ".z".
func fileName(stub string, stream uint32, part Part) string {
	return fmt.Sprintf("%s.%x%s", stub, stream, suffixes[part])
}
