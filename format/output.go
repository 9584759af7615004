package format

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/weft-trace/weft/internal/spool"
)

// Output is where an encoder writes: a file or stream that gets all or nothing.
// Who makes an Output commits or aborts it; encoders only write.
type Output struct {
	// Path is the name of the file, for messages and for formats that write
	// several files; "-" for a stream.
	Path   string
	target string // Path behind links
	w      *bufio.Writer
	file   *os.File // under its temporary name
	stream io.Writer
	held   spool.Spool // what the stream gets when it is committed
	done   bool
	beside []beside
}

// beside is what is to appear with the output.
type beside struct {
	commit func() error
	abort  func()
}

// Beside adds what belongs to the output, such as the other files of a trace:
// commit is called when the output is committed, before it appears itself, and
// abort when it is not, or when that fails.
func (o *Output) Beside(commit func() error, abort func()) {
	o.beside = append(o.beside, beside{commit, abort})
}

// CreateFile makes an output that appears under path when it is committed.
// Until then it has a temporary name in the same directory. It keeps the
// permissions of a file that it replaces.
func CreateFile(path string) (*Output, error) {
	st, err := os.Stat(path)
	if err == nil && !st.Mode().IsRegular() {
		if st.IsDir() {
			return nil, fmt.Errorf("%s: is a directory, expected the name of a file", path)
		}
		// A device or pipe cannot be replaced: write to it.
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		return StreamOutput(f), nil
	}
	target := path
	if err == nil {
		// What a link names is replaced, not the link.
		if target, err = filepath.EvalSymlinks(path); err != nil {
			return nil, err
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
		f.Chmod(st.Mode().Perm()) // as far as that is allowed
	}
	return &Output{Path: path, target: target, w: bufio.NewWriterSize(f, 256<<10), file: f}, nil
}

// createTemp makes a file beside path with the permissions of an ordinary new
// file, which os.CreateTemp would not give it.
func createTemp(path string) (*os.File, error) {
	for i := 0; ; i++ {
		name := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.%d.%d.tmp", filepath.Base(path), os.Getpid(), i))
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		if err == nil || !errors.Is(err, fs.ErrExist) || i > 1000 {
			return f, err
		}
	}
}

// StreamOutput makes an output whose text goes to w when it is committed.
func StreamOutput(w io.Writer) *Output {
	o := &Output{Path: "-", stream: w}
	o.w = bufio.NewWriterSize(&o.held, 256<<10)
	return o
}

// Write appends to the output.
func (o *Output) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if err != nil {
		err = fmt.Errorf("%s: %w", o.Path, err)
	}
	return n, err
}

// ReadFrom appends what r gives.
func (o *Output) ReadFrom(r io.Reader) (int64, error) {
	if o.file == nil {
		return o.w.ReadFrom(r)
	}
	if err := o.w.Flush(); err != nil {
		return 0, err
	}
	return o.file.ReadFrom(r)
}

// Commit gives the file its name or the stream its text.
func (o *Output) Commit() error {
	if o.done {
		return nil
	}
	o.done = true
	err := o.w.Flush()
	for i := 0; i < len(o.beside) && err == nil; i++ {
		err = o.beside[i].commit()
	}
	if err != nil {
		for _, x := range o.beside {
			x.abort()
		}
	}
	if o.stream != nil {
		defer o.held.Close()
		if err == nil {
			err = o.held.CopyTo(o.stream)
		}
		return err
	}
	if e := o.file.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(o.file.Name(), o.target)
	}
	if err != nil {
		os.Remove(o.file.Name())
		return fmt.Errorf("%s: %w", o.Path, err)
	}
	return nil
}

// Abort removes what was written to a file so far. It does nothing after
// Commit.
func (o *Output) Abort() {
	if o.done {
		return
	}
	o.done = true
	for _, x := range o.beside {
		x.abort()
	}
	o.held.Close()
	if o.file != nil {
		o.file.Close()
		os.Remove(o.file.Name())
	}
}
