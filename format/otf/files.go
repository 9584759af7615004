package otf

import (
	"fmt"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/internal/archive"
)

// FileManager limits the number of files that are open at the same time, however many streams a trace has. It
// closes files to make room for others and opens them again when they are needed. One FileManager may serve
// several traces and goroutines, readers and writers. A nil FileManager sets no limit.
type FileManager = archive.FileManager

// FilesOption is the name of the option that limits the number of files of a trace that are open at the same
// time. A copy may have the same number of files open for writing in addition.
const FilesOption = "otf.files"

// FileManagerOf returns a file manager with the limit that the option otf.files in values sets. By default,
// all traces of the program share one file manager. Its limit is 128 files, or a quarter of the number of
// files that the program may have open, if that is less.
func FileManagerOf(values map[string]string) (*FileManager, error) {
	n, err := (&format.ReadOptions{Values: values}).Int(FilesOption, 0)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return archive.Shared(), nil
	}
	return NewFileManager(int(min(n, 1<<20))), nil
}

// NewFileManager returns a manager that keeps at most max files open; less than 1 means 1. Goroutines
// that need more files at once wait for each other.
func NewFileManager(max int) *FileManager { return archive.NewFileManager(max) }

// fileName returns the name of the file of a part of a stream, without ".z".
func fileName(stub string, stream uint32, part Part) string {
	return fmt.Sprintf("%s.%x%s", stub, stream, suffixes[part])
}
