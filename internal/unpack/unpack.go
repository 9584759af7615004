// Package unpack makes traces readable that have no random access: it copies standard input, pipes and the contents of
// compressed files to temporary files.
package unpack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/compression"
)

// Copy is a temporary file with the uncompressed contents of a stream.
type Copy struct {
	*compression.Reader // has reached the end
	// Source is the source of a trace that consists of the contents only.
	Source format.Source
	file   format.DataFile
}

// Close removes the temporary file.
func (c *Copy) Close() error { return c.file.Close() }

// Stream copies the uncompressed contents of a stream, which open opens, to a temporary file. path is the name of the
// stream in messages. Before it copies more than the first [format.HeadSize] bytes, Stream calls accept with a source
// that consists of these only. If accept returns an error, Stream returns it and reads no more. Stream also returns
// when the context is cancelled, even if the stream delivers nothing or if no process writes to the pipe.
func Stream(ctx context.Context, path string, open func() (io.ReadCloser, error),
	accept func(head format.Source) error) (*Copy, error) {
	type result struct {
		c   *Copy
		err error
	}
	done := make(chan result)
	go func() {
		c, err := copyStream(path, open, accept)
		select {
		case done <- result{c, err}:
		case <-ctx.Done():
			if err == nil {
				c.Close()
			}
		}
	}()
	select {
	case x := <-done:
		return x.c, x.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// copyStream is [Stream] without a context.
func copyStream(path string, open func() (io.ReadCloser, error), accept func(format.Source) error) (*Copy, error) {
	r, err := open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	contents, err := compression.NewReader(r)
	if err != nil {
		return nil, err
	}
	head := make([]byte, format.HeadSize)
	n, err := io.ReadFull(contents, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	head = head[:n]
	if n > 0 || contents.Damage == nil { // else Damage says more
		if err := accept(singleSource(bytes.NewReader(head), int64(n), path)); err != nil {
			return nil, err
		}
	}
	f, size, err := format.Spill(io.MultiReader(bytes.NewReader(head), contents))
	if err != nil {
		return nil, err
	}
	return &Copy{Reader: contents, Source: singleSource(f, size, path), file: f}, nil
}

// singleSource returns the source of a trace that consists of one file with a size. path is its name in messages.
func singleSource(f io.ReaderAt, size int64, path string) format.Source {
	return format.Source{FS: singleFS{f, size}, Name: singleName, Path: path}
}

// IsCopy reports whether src is the source of a [Copy].
func IsCopy(src format.Source) bool {
	_, ok := src.FS.(singleFS)
	return ok
}

// IsCompressed reports whether the main file of a trace is compressed in a way that weft can read.
func IsCompressed(src format.Source) bool {
	f, err := format.OpenRegular(src.FS, src.Name)
	if err != nil {
		return false // reported later
	}
	defer f.Close()
	head := make([]byte, compression.HeadSize)
	n, _ := io.ReadFull(f, head) // another error than a short file is reported later
	return compression.CanRead(head[:n])
}

// singleName is the name of the only file in a [singleFS].
const singleName = "stdin"

// singleFS is a file system with a single file: a temporary copy of standard input, of a pipe or device, or of the
// contents of a compressed file.
type singleFS struct {
	f    io.ReaderAt
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

func (i singleInfo) Name() string       { return singleName }
func (i singleInfo) Size() int64        { return i.size }
func (i singleInfo) Mode() fs.FileMode  { return 0o444 }
func (i singleInfo) ModTime() time.Time { return time.Time{} }
func (i singleInfo) IsDir() bool        { return false }
func (i singleInfo) Sys() any           { return nil }
