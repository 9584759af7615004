package format

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Source identifies a trace by its main file in a file system.
type Source struct {
	FS   fs.FS
	Name string // path within FS
	Path string // as the user wrote it, for messages
}

// FileSource returns the source of a trace in the machine's own file system.
func FileSource(path string) Source {
	return Source{FS: folder{os.DirFS(filepath.Dir(path)), filepath.Dir(path)}, Name: filepath.Base(path), Path: path}
}

// ErrDirectory is the error of [Source.OpenName] for a directory. The error of OpenName wraps it.
var ErrDirectory = errors.New("found a directory, expected a trace file")

// Open opens the main file for random access. It copies a file without random access, such as a
// pipe, to a temporary file. It also returns the size in bytes.
func (s Source) Open() (DataFile, int64, error) {
	return s.OpenName(s.Name)
}

// OpenName opens a file of the trace. Only the main file can be a pipe.
func (s Source) OpenName(name string) (DataFile, int64, error) {
	open := s.FS.Open
	if name != s.Name {
		open = func(name string) (fs.File, error) { return OpenRegular(s.FS, name) }
	}
	f, err := open(name)
	if err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return nil, 0, fmt.Errorf("%s: %w", s.Path, err)
	}
	st, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, 0, fmt.Errorf("%s: %w", s.Path, err)
	}
	if st.IsDir() {
		f.Close()
		return nil, 0, fmt.Errorf("%s: %w", s.Path, ErrDirectory)
	}
	if r, ok := f.(DataFile); ok && st.Mode().IsRegular() {
		return r, st.Size(), nil
	}
	defer f.Close()
	return Spill(f)
}

// CopyText copies the main file of a trace that is a single text to w, unchanged.
func CopyText(ctx context.Context, src Source, w io.Writer) error {
	f, _, err := src.Open()
	if err != nil {
		return err
	}
	defer f.Close()
	buf := make([]byte, 256<<10)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := f.Read(buf)
		if _, e := w.Write(buf[:n]); e != nil {
			return e
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", src.Path, err)
		}
	}
}

// DataFile is an open file with random access.
type DataFile interface {
	io.Reader
	io.ReaderAt
	io.Closer
}

// Spill copies a stream to a temporary file, which is removed when it is closed. It also returns
// the size in bytes.
func Spill(r io.Reader) (DataFile, int64, error) {
	f, err := os.CreateTemp("", "weft-in-*")
	if err != nil {
		return nil, 0, fmt.Errorf("cannot make a temporary file: %w", err)
	}
	os.Remove(f.Name())
	n, err := io.Copy(f, r)
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		f.Close()
		return nil, 0, err
	}
	return &temporaryFile{f}, n, nil
}

// temporaryFile is a file that is removed when it is closed.
type temporaryFile struct{ *os.File }

// Close removes the file.
func (t *temporaryFile) Close() error {
	err := t.File.Close()
	os.Remove(t.File.Name()) // needed on systems where an open file cannot be removed
	return err
}
