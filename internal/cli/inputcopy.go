package cli

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/compression"
)

// copyToTemporary copies the uncompressed contents of a stream to a temporary file. It also returns the reader of the
// contents, which has reached the end. It returns when the context is cancelled, even if the stream delivers nothing or
// if no process writes to the pipe.
func copyToTemporary(ctx context.Context, open func() (io.ReadCloser, error)) (format.DataFile, *compression.Reader,
	error) {
	type result struct {
		f   format.DataFile
		r   *compression.Reader
		err error
	}
	done := make(chan result, 1)
	go func() {
		r, err := open()
		if err != nil {
			done <- result{err: err}
			return
		}
		defer r.Close()
		contents, err := compression.NewReader(r)
		if err != nil {
			done <- result{err: err}
			return
		}
		f, _, err := format.Spill(contents)
		done <- result{f, contents, err}
	}()
	select {
	case x := <-done:
		return x.f, x.r, x.err
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
}

// isCompressed reports whether a file is compressed in a way that weft can read.
func isCompressed(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, compression.HeadSize)
	n, _ := io.ReadFull(f, head) // another error than a short file is reported later
	return compression.CanRead(head[:n])
}

// measuredFile is a file that shows on a bar how much of it has been read.
type measuredFile struct {
	*os.File
	read, size int64
	bar        *bar
}

// Read reads the next bytes of the file.
func (f *measuredFile) Read(b []byte) (int, error) {
	n, err := f.File.Read(b)
	f.read += int64(n)
	f.bar.setProgress(f.read, f.size)
	return n, err
}

// singleName is the name of the only file in a [singleFS].
const singleName = "stdin"

// singleFS is a file system with a single file: a temporary copy of standard input, of a pipe or device, or of the
// contents of a compressed file.
type singleFS struct {
	f    format.DataFile
	size int64
}

// Open opens the copy if name is singleName. No other file exists.
func (s singleFS) Open(name string) (fs.File, error) {
	if name != singleName {
		return nil, &fs.PathError{Op: "open", Path: name,
			Err: fmt.Errorf("found only one file, expected %s in its folder: %w", name, fs.ErrNotExist)}
	}
	return &singleFile{SectionReader: io.NewSectionReader(s.f, 0, s.size), size: s.size}, nil
}

// singleFile is an open file of a singleFS.
type singleFile struct {
	*io.SectionReader
	size int64
}

// Close keeps the underlying file open for the next reader.
func (f *singleFile) Close() error { return nil }

// Stat describes the file.
func (f *singleFile) Stat() (fs.FileInfo, error) { return singleInfo{f.size}, nil }

// singleInfo describes the file of a singleFS. Its value is the size.
type singleInfo struct{ size int64 }
