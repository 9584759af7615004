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

// Settings holds the settings on which an index depends, in addition to the trace itself.
type Settings struct {
	Version    int    // version of the index layout
	Format     string // name of the trace's format
	Strict     bool
	Values     map[string]string // options of formats
	Correction []byte            // content of the file with the clock correction; nil if there is no correction
	Color      string            // attribute whose values take the place of regions; "" if regions are used
	Label      string            // attribute that names spans; "" if there is none
	Rows       string            // attribute whose values are rows; "" if there is none
	// values of an attribute that spans must have, NAME=VALUE,…; "" if all spans are shown
	Only string
}

func (s *Settings) write(h hash.Hash) {
	fmt.Fprintf(h, "weft index\n%d\n%q\n%t\n", s.Version, s.Format, s.Strict)
	for _, k := range slices.Sorted(maps.Keys(s.Values)) {
		fmt.Fprintf(h, "%q=%q\n", k, s.Values[k])
	}
	fmt.Fprintf(h, "%x\n%q\n", sha256.Sum256(s.Correction), s.Color)
	if s.Label != "" || s.Rows != "" {
		fmt.Fprintf(h, "%q\n%q\n", s.Label, s.Rows)
	}
	if s.Only != "" {
		fmt.Fprintf(h, "only %q\n", s.Only)
	}
}

// These constants limit the hashed part of the files. Files of at most wholeSize bytes are hashed completely.
// For larger files, the first and the last block are hashed, and innerBlocks blocks in between, at equal
// distances. All files together contribute at most readBudget bytes of content. For further files, only the
// name, length and time are hashed.
const (
	wholeSize   = 4 << 20
	blockSize   = 64 << 10
	innerBlocks = 14
	readBudget  = 64 << 20
)

// identity computes a hash that identifies the files of a trace. For each file it covers the name, the length,
// the modification time, and a part of the content. Therefore the hash changes if the length or time of a file
// changes. If a time is set back, as in restored copies or by touch, the hash still changes with the content
// of files of up to 4 MiB, and with the hashed blocks of larger files. Missing files and the lists of folders
// are also covered, so that a new file changes the hash.
type identity struct {
	src      format.Source
	h        hash.Hash
	readLeft int64
	buf      []byte
}

func newIdentity(src format.Source, s *Settings) *identity {
	x := &identity{src: src, h: sha256.New(), readLeft: readBudget, buf: make([]byte, blockSize)}
	s.write(x.h)
	return x
}

// notesKey returns a hash of the main file that does not depend on settings. The hash is the name of the file
// with the notes. Therefore its definition must not change.
func notesKey(src format.Source) (string, error) {
	if _, err := fs.Stat(src.FS, src.Name); err != nil {
		return "", err
	}
	x := &identity{src: src, h: sha256.New(), readLeft: readBudget, buf: make([]byte, blockSize)}
	fmt.Fprintf(x.h, "weft notes\n")
	if err := x.addFile(src.Name); err != nil {
		return "", err
	}
	return x.sum(), nil
}

func (ident *identity) sum() string { return hex.EncodeToString(ident.h.Sum(nil)) }

// addFile adds the state of a file to the hash. A missing file has a state of its own.
func (ident *identity) addFile(name string) error {
	f, err := format.OpenRegular(ident.src.FS, name)
	if errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(ident.h, "%q missing\n", name)
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", ident.src.Path, err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return fmt.Errorf("%s: %w", ident.src.Path, err)
	}
	if st.IsDir() {
		return ident.addFolder(name)
	}
	fmt.Fprintf(ident.h, "%q %d %d\n", name, st.Size(), st.ModTime().UnixNano())
	r, ok := f.(io.ReaderAt)
	if !ok || st.Size() == 0 {
		return nil
	}
	if st.Size() <= min(wholeSize, ident.readLeft) {
		ident.readLeft -= st.Size()
		_, err := io.Copy(ident.h, io.NewSectionReader(r, 0, st.Size()))
		return err
	}
	for i := range int64(innerBlocks + 2) {
		if ident.readLeft < blockSize || st.Size() <= wholeSize && i > 0 {
			break
		}
		ident.readLeft -= blockSize
		at := (st.Size() - blockSize) / (innerBlocks + 1) * i
		if i == innerBlocks+1 {
			at = st.Size() - blockSize
		}
		n, err := r.ReadAt(ident.buf, max(0, at))
		if err != nil && err != io.EOF {
			return fmt.Errorf("%s: %w", ident.src.Path, err)
		}
		ident.h.Write(ident.buf[:n])
	}
	return nil
}

// addFolder adds the names in a folder to the hash. It ignores the trace's own folder, because other
// files there rarely belong to the trace.
func (ident *identity) addFolder(name string) error {
	if name == "." {
		return nil
	}
	list, err := fs.ReadDir(ident.src.FS, name)
	if err != nil {
		return fmt.Errorf("%s: %w", ident.src.Path, err)
	}
	fmt.Fprintf(ident.h, "%q folder\n", name)
	for _, e := range list {
		fmt.Fprintf(ident.h, "%q\n", e.Name())
	}
	return nil
}

// Key returns the hash of the files of a trace and of the settings. The names are relative to the
// folder of the main file; their order does not matter.
func Key(src format.Source, files []string, s *Settings) (string, error) {
	x := newIdentity(src, s)
	for _, name := range slices.Compact(slices.Sorted(slices.Values(files))) {
		if err := x.addFile(name); err != nil {
			return "", err
		}
	}
	return x.sum(), nil
}

// Recorder is a file system that records the names of the files that a decoder opens, lists or examines. For
// every format, these are the files of the trace.
type Recorder struct {
	fs    fs.FS
	mu    sync.Mutex
	names map[string]fileStamp
}

// fileStamp holds the size and the modification time of a file when it was first opened.
type fileStamp struct {
	size int64
	time time.Time
	file bool
}

// Record returns a recorder, and a source like src. The file system of the new source notes each opened file
// in the recorder.
func Record(src format.Source) (format.Source, *Recorder) {
	r := &Recorder{fs: src.FS, names: map[string]fileStamp{}}
	src.FS = r
	return src, r
}

// recordFile records a name. For a new name, it also records the state of the file.
func (r *Recorder) recordFile(name string, st fs.FileInfo) {
	r.mu.Lock()
	defer r.mu.Unlock()
	name = path.Clean(name)
	if old, ok := r.names[name]; ok && (old.file || st == nil) {
		return
	}
	var s fileStamp
	if st != nil && st.Mode().IsRegular() {
		s = fileStamp{st.Size(), st.ModTime(), true}
	}
	r.names[name] = s
}

// Open implements [fs.FS].
func (r *Recorder) Open(name string) (fs.File, error) { return r.open(name, r.fs.Open) }

// OpenRegular implements [format.OpenRegular].
func (r *Recorder) OpenRegular(name string) (fs.File, error) {
	return r.open(name, func(name string) (fs.File, error) { return format.OpenRegular(r.fs, name) })
}

func (r *Recorder) open(name string, open func(string) (fs.File, error)) (fs.File, error) {
	f, err := open(name)
	if err != nil {
		if fs.ValidPath(name) {
			r.recordFile(name, nil)
		}
		return nil, err
	}
	st, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	r.recordFile(name, st)
	return f, nil
}

// Stat implements [fs.StatFS].
func (r *Recorder) Stat(name string) (fs.FileInfo, error) {
	st, err := fs.Stat(r.fs, name)
	if fs.ValidPath(name) {
		r.recordFile(name, st)
	}
	return st, err
}

// ReadDir implements [fs.ReadDirFS].
func (r *Recorder) ReadDir(name string) ([]fs.DirEntry, error) {
	l, err := fs.ReadDir(r.fs, name)
	if err == nil {
		r.recordFile(name, nil)
	}
	return l, err
}

// Files returns the recorded names in order.
func (r *Recorder) Files() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.names))
}

// Size returns the sum of the sizes of all opened files, in bytes.
func (r *Recorder) Size() (n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.names {
		n += s.size
	}
	return n
}

// Changed returns the name of a file that has changed since it was opened, or "".
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
