package cache

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/weft-trace/weft/format"
)

// Settings are what makes an index what it is beside the trace itself.
type Settings struct {
	Version    int    // of the layout of indexes
	Format     string // name of the trace's format
	Strict     bool
	Values     map[string]string // options of formats
	Correction []byte            // content of the file of a clock correction, nil without one
	Color      string            // attribute that spans are named by, "" for none
}

func (s *Settings) write(h hash.Hash) {
	fmt.Fprintf(h, "weft index\n%d\n%q\n%t\n", s.Version, s.Format, s.Strict)
	for _, k := range slices.Sorted(maps.Keys(s.Values)) {
		fmt.Fprintf(h, "%q=%q\n", k, s.Values[k])
	}
	fmt.Fprintf(h, "%x\n%q\n", sha256.Sum256(s.Correction), s.Color)
}

// How much of a file is looked at. A file up to whole bytes is hashed as it is, of a
// longer one the first and the last block, and some between at equal distances. Of all
// files together no more than budget bytes are read; of further files name, length and
// time must do.
const (
	whole   = 4 << 20
	block   = 64 << 10
	between = 14
	budget  = 64 << 20
)

// identity hashes what tells the files of a trace from other ones: for each its name,
// length and time of change, and a part of its content. So it sees every change that
// changes the length or the time, and of those that set the time back (restored
// copies, "touch") all in files up to 4 MiB, and in longer ones those in the blocks that
// it reads. A file that is missing, or a folder, is hashed as that: a file that comes
// later makes another identity, and so does a change in the list of a folder that was
// asked for.
type identity struct {
	src  format.Source
	h    hash.Hash
	left int64
	buf  []byte
}

func newIdentity(src format.Source, s *Settings) *identity {
	x := &identity{src: src, h: sha256.New(), left: budget, buf: make([]byte, block)}
	s.write(x.h)
	return x
}

// notesKey is the identity of the main file, whatever the settings. It must stay what it is:
// notes are found by it.
func notesKey(src format.Source) (string, error) {
	if _, err := fs.Stat(src.FS, src.Name); err != nil {
		return "", err
	}
	x := &identity{src: src, h: sha256.New(), left: budget, buf: make([]byte, block)}
	fmt.Fprintf(x.h, "weft notes\n")
	if err := x.add(src.Name); err != nil {
		return "", err
	}
	return x.sum(), nil
}

func (x *identity) sum() string { return hex.EncodeToString(x.h.Sum(nil)) }

// add looks at a file.
func (x *identity) add(name string) error {
	f, err := format.OpenRegular(x.src.FS, name)
	if errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(x.h, "%q missing\n", name)
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", x.src.Path, err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return fmt.Errorf("%s: %w", x.src.Path, err)
	}
	if st.IsDir() {
		return x.folder(name)
	}
	fmt.Fprintf(x.h, "%q %d %d\n", name, st.Size(), st.ModTime().UnixNano())
	r, ok := f.(io.ReaderAt)
	if !ok || st.Size() == 0 {
		return nil
	}
	if st.Size() <= min(whole, x.left) {
		x.left -= st.Size()
		_, err := io.Copy(x.h, io.NewSectionReader(r, 0, st.Size()))
		return err
	}
	for i := range int64(between + 2) {
		if x.left < block || st.Size() <= whole && i > 0 {
			break
		}
		x.left -= block
		at := (st.Size() - block) / (between + 1) * i
		if i == between+1 {
			at = st.Size() - block
		}
		n, err := r.ReadAt(x.buf, max(0, at))
		if err != nil && err != io.EOF {
			return fmt.Errorf("%s: %w", x.src.Path, err)
		}
		x.h.Write(x.buf[:n])
	}
	return nil
}

// folder hashes a list of names. That of the folder of the trace itself is left out:
// what people put beside a trace is seldom a part of it.
func (x *identity) folder(name string) error {
	if name == "." {
		return nil
	}
	list, err := fs.ReadDir(x.src.FS, name)
	if err != nil {
		return fmt.Errorf("%s: %w", x.src.Path, err)
	}
	fmt.Fprintf(x.h, "%q folder\n", name)
	for _, e := range list {
		fmt.Fprintf(x.h, "%q\n", e.Name())
	}
	return nil
}

// Key is the identity of a trace that consists of a list of files, relative to the
// folder of the main one, under some settings. The list need not be in order.
func Key(src format.Source, files []string, s *Settings) (string, error) {
	x := newIdentity(src, s)
	for _, name := range slices.Compact(slices.Sorted(slices.Values(files))) {
		if err := x.add(name); err != nil {
			return "", err
		}
	}
	return x.sum(), nil
}

// Recorder is the file system of a trace that keeps the names of all files that were
// asked for: the files that the trace consists of, whatever its format.
type Recorder struct {
	fs    fs.FS
	mu    sync.Mutex
	names map[string]stamp
}

// stamp is what a file was like when it was opened first.
type stamp struct {
	size int64
	time time.Time
	file bool
}

// Record puts a recorder around the file system of a trace.
func Record(src format.Source) (format.Source, *Recorder) {
	r := &Recorder{fs: src.FS, names: map[string]stamp{}}
	src.FS = r
	return src, r
}

// note keeps a name, and what the file was like when it came first.
func (r *Recorder) note(name string, st fs.FileInfo) {
	r.mu.Lock()
	defer r.mu.Unlock()
	name = path.Clean(name)
	if old, ok := r.names[name]; ok && (old.file || st == nil) {
		return
	}
	var s stamp
	if st != nil && st.Mode().IsRegular() {
		s = stamp{st.Size(), st.ModTime(), true}
	}
	r.names[name] = s
}

// Open opens a file.
func (r *Recorder) Open(name string) (fs.File, error) { return r.open(name, r.fs.Open) }

// OpenRegular is [format.OpenRegular].
func (r *Recorder) OpenRegular(name string) (fs.File, error) {
	return r.open(name, func(name string) (fs.File, error) { return format.OpenRegular(r.fs, name) })
}

func (r *Recorder) open(name string, open func(string) (fs.File, error)) (fs.File, error) {
	f, err := open(name)
	if err != nil {
		if fs.ValidPath(name) {
			r.note(name, nil)
		}
		return nil, err
	}
	st, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	r.note(name, st)
	return f, nil
}

// Stat describes a file.
func (r *Recorder) Stat(name string) (fs.FileInfo, error) {
	st, err := fs.Stat(r.fs, name)
	if fs.ValidPath(name) {
		r.note(name, st)
	}
	return st, err
}

// ReadDir lists a folder.
func (r *Recorder) ReadDir(name string) ([]fs.DirEntry, error) {
	l, err := fs.ReadDir(r.fs, name)
	if err == nil {
		r.note(name, nil)
	}
	return l, err
}

// Files are the names so far, in order.
func (r *Recorder) Files() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.names))
}

// Size is the bytes of all files that were opened.
func (r *Recorder) Size() (n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.names {
		n += s.size
	}
	return n
}

// Changed names a file that is not what it was when it was opened, "" if there is none.
func (r *Recorder) Changed() string {
	for _, name := range r.Files() {
		r.mu.Lock()
		s := r.names[name]
		r.mu.Unlock()
		if !s.file {
			continue
		}
		st, err := fs.Stat(r.fs, name)
		if err != nil || st.Size() != s.size || !st.ModTime().Equal(s.time) {
			return name
		}
	}
	return ""
}
