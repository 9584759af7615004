package format

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/weft-trace/weft/internal/commit"
	"github.com/weft-trace/weft/internal/spool"
)

// Output is the destination of an encoder: a file or stream that receives a complete trace or nothing.
// The code that creates an Output commits or aborts it. Encoders only write. If a format has several
// files, the encoder writes the others under temporary names, and registers their final names with
// Rename.
type Output struct {
	// Path is the name of the file, for messages and for formats that write
	// several files; "-" for a stream.
	Path   string
	target string // Path with links resolved
	w      *bufio.Writer
	packer io.WriteCloser // compresses the text, or nil
	size   int64          // number of bytes that Write and ReadFrom have got
	file   *os.File       // has a temporary name; nil for a stream
	stream io.Writer
	held   spool.Spool // text for a stream, until the commit
	done   bool
	// committed is set when all files have their final names.
	committed bool
	names     commit.Set
	guard     func(path string) error
	before    []func() error
	end       []func()
}

// Rename registers a file or folder of the trace. Commit gives it its final name, and replaces an
// existing file or folder of that name.
func (o *Output) Rename(from, to string) { o.names.Rename(from, to) }

// Remove registers a file that a reader would take for a part of the trace. Commit removes it if it
// exists.
func (o *Output) Remove(path string) { o.names.Remove(path) }

// RemoveFolder is like Remove, for a folder with its content.
func (o *Output) RemoveFolder(path string) { o.names.RemoveFolder(path) }

// Guard makes Commit call f for each name that it is about to give or remove, whether or not it
// exists. If f returns an error, Commit returns it and changes nothing.
func (o *Output) Guard(f func(path string) error) { o.guard = f }

// Names returns the files and folders to which Commit has given names.
func (o *Output) Names() []string {
	if !o.committed {
		return nil
	}
	return o.names.Names()
}

// FailCommit makes Commit fail at its n-th change of a name, from 1. Tests use it to check that a
// failed commit leaves an older trace unchanged.
func (o *Output) FailCommit(n int) { o.names.FailAt = n }

// BeforeCommit registers a function that Commit calls first, for example to complete files and
// register their names. If it fails, Commit fails.
func (o *Output) BeforeCommit(f func() error) { o.before = append(o.before, f) }

// AtEnd registers a function that is called after the output has been committed or aborted, for
// example to remove temporary files. The functions are called in reverse order.
func (o *Output) AtEnd(f func()) { o.end = append(o.end, f) }

// CreateFile returns an output for a file that gets its name, path, when it is committed. Until
// then it has a temporary name in the same directory. It keeps the permissions of a file that it
// replaces.
func CreateFile(path string) (*Output, error) {
	st, err := os.Stat(path)
	if err == nil && !st.Mode().IsRegular() {
		if st.IsDir() {
			return nil, fmt.Errorf("%s: is a directory, expected the name of a file", path)
		}
		// A device or pipe cannot be replaced, so it is written directly.
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		return StreamOutput(f), nil
	}
	target := path
	// Replace the target of a link instead of the link.
	if err == nil {
		if target, err = filepath.EvalSymlinks(path); err != nil {
			return nil, err
		}
	} else if link, err := os.Readlink(path); err == nil { // the target does not exist
		if target = link; !filepath.IsAbs(link) {
			target = filepath.Join(filepath.Dir(path), link)
		}
	}
	f, err := createTemp(target)
	if err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return nil, fmt.Errorf("%s: cannot create: %w", path, err)
	}
	if st != nil {
		f.Chmod(st.Mode().Perm()) // an error is ignored: the file then keeps the permissions of a new file
	}
	return &Output{Path: path, target: target, w: bufio.NewWriterSize(f, 256<<10), file: f}, nil
}

// createTemp creates a file in the folder of path. Unlike os.CreateTemp, it gives the file the permissions of
// an ordinary new file.
func createTemp(path string) (*os.File, error) {
	for i := 0; ; i++ {
		name := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.%d.%d.tmp", filepath.Base(path), os.Getpid(), i))
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		if err == nil || !errors.Is(err, fs.ErrExist) || i > 1000 {
			return f, err
		}
	}
}

// StreamOutput returns an output whose text goes to w when it is committed.
func StreamOutput(w io.Writer) *Output {
	o := &Output{Path: "-", stream: w}
	o.w = bufio.NewWriterSize(&o.held, 256<<10)
	return o
}

// Compress makes the output compress its text with the writer that pack returns. It must be called before the first
// call of Write.
func (o *Output) Compress(pack func(io.Writer) (io.WriteCloser, error)) (err error) {
	to := io.Writer(&o.held)
	if o.file != nil {
		to = o.file
	}
	if o.packer, err = pack(to); err == nil {
		o.w.Reset(o.packer)
	}
	return err
}

// Write appends p to the output.
func (o *Output) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	o.size += int64(n)
	if err != nil {
		err = fmt.Errorf("%s: %w", o.Path, err)
	}
	return n, err
}

// Empty reports whether nothing has been written to the file itself, or to the stream.
func (o *Output) Empty() bool {
	switch {
	case o.packer != nil:
		return o.size == 0
	case o.w.Buffered() > 0:
		return false
	case o.file == nil:
		return o.held.Size() == 0
	}
	st, err := o.file.Stat()
	return err == nil && st.Size() == 0
}

// ReadFrom appends all data of r.
func (o *Output) ReadFrom(r io.Reader) (n int64, err error) {
	defer func() { o.size += n }()
	if o.file == nil || o.packer != nil {
		return o.w.ReadFrom(r)
	}
	if err := o.w.Flush(); err != nil {
		return 0, err
	}
	return o.file.ReadFrom(r)
}

// Commit gives the file, and the files registered with Rename, their names, or writes the text to the stream.
// If Commit fails, all files are as they were before.
func (o *Output) Commit() error {
	if o.done {
		return nil
	}
	err := o.w.Flush()
	if o.packer != nil && err == nil {
		err = o.packer.Close()
	}
	for i := 0; i < len(o.before) && err == nil; i++ {
		err = o.before[i]()
	}
	if o.file != nil {
		if e := o.file.Close(); err == nil {
			err = e
		}
		o.names.Rename(o.file.Name(), o.target)
	}
	if err == nil && o.guard != nil {
		err = o.names.Each(o.guard)
	}
	if err == nil {
		err = o.names.Commit()
		o.committed = err == nil
	}
	if o.stream != nil && err == nil {
		err = o.held.CopyTo(o.stream)
	}
	o.Abort() // removes the rest
	if err != nil && o.file != nil {
		err = fmt.Errorf("%s: %w", o.Path, err)
	}
	return err
}

// Abort removes all files that have been written. It has no effect after Commit.
func (o *Output) Abort() {
	if o.done {
		return
	}
	o.done = true
	o.held.Close()
	if o.file != nil {
		o.file.Close()
		os.Remove(o.file.Name())
	}
	for _, f := range slices.Backward(o.end) {
		f()
	}
}
