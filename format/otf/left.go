package otf

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weft-trace/weft/format"
)

// A writer that is killed leaves its files under the names that they had until it was to be
// closed. Who names one of them reads the trace: see [Open].

// leftPattern is what a left file is called: .NAME.STREAM.PART.PROCESS.tmp.
var leftPattern = regexp.MustCompile(`^\.(.+)\.([0-9a-f]+)\.(def|events|snaps|stats|marker)(\.z)?\.([0-9]+)\.tmp$`)

// leftName tells of a left file what the trace's name is, what the file should have been
// called, and which process wrote it.
func leftName(name string) (trace, file, process string, ok bool) {
	m := leftPattern.FindStringSubmatch(name)
	if m == nil {
		return "", "", "", false
	}
	id, err := strconv.ParseUint(m[2], 16, 32)
	if err != nil || strconv.FormatUint(id, 16) != m[2] {
		return "", "", "", false
	}
	return m[1], m[1] + "." + m[2] + "." + m[3] + m[4], m[5], true
}

// leftFolder shows left files under the names that they should have been given.
type leftFolder struct {
	fs.FS
	prefix string            // of the user's names for its files
	files  map[string]string // what there is, by the names that it should have
	master string
	text   []byte // of the master file
}

// left is the source of the trace of which src names a left file; others stay as they are.
// Of each file of the trace the one of the same process is taken, else the latest that was
// left, else the one that has its name. The master file is made of the processes that have
// records.
func left(ctx context.Context, src format.Source, opt *Options) (format.Source, error) {
	dir, base := path.Split(src.Name)
	name, _, process, ok := leftName(base)
	if !ok {
		return src, nil
	}
	l, err := fs.ReadDir(src.FS, path.Clean("./"+dir))
	if err != nil {
		return src, fmt.Errorf("%s: %w", src.Path, err)
	}
	f := &leftFolder{FS: src.FS, prefix: strings.TrimSuffix(src.Path, src.Name), files: map[string]string{},
		master: dir + name + ".otf"}
	written := map[string]time.Time{}
	for _, x := range l {
		n, file, by, ok := leftName(x.Name())
		if !ok || n != name {
			continue
		}
		info, err := x.Info()
		if err != nil {
			continue // it is gone
		}
		at := info.ModTime()
		if by == process {
			at = time.Unix(1<<40, 0)
		}
		if old, there := written[file]; !there || at.After(old) {
			written[file], f.files[dir+file] = at, dir+x.Name()
		}
	}
	// Where a compressed file was left, a plain one of that name is another trace's, and the
	// other way round.
	for file := range f.files {
		if plain, z := strings.CutSuffix(file, ".z"); z {
			f.hide(plain)
		} else {
			f.hide(file + ".z")
		}
	}
	out := format.Source{FS: f, Name: f.master, Path: src.Path}
	return out, f.find(ctx, out, opt)
}

// hide makes a file one that is not there, unless it was left.
func (f *leftFolder) hide(file string) {
	if _, ok := f.files[file]; !ok {
		f.files[file] = ""
	}
}

// find makes the master file.
func (f *leftFolder) find(ctx context.Context, src format.Source, opt *Options) error {
	var o Options
	if opt != nil {
		o.Files = opt.Files
		if opt.Read != nil {
			o.Read = &format.ReadOptions{Values: opt.Read.Values}
		}
	}
	r, err := newReader(src, strings.TrimSuffix(f.master, ".otf"), &o)
	if err != nil {
		return err
	}
	var m MasterControl
	seen := map[uint32]bool{}
	for _, x := range r.partFiles() {
		if seen[x.stream] {
			continue
		}
		seen[x.stream] = true
		s := StreamReader{r, x.stream}
		for _, part := range []Part{Events, Snapshots, Statistics} {
			c, err := s.Cursor(ctx, part)
			if err != nil {
				return err
			}
			for c.Next() {
				m.Assign(uint32(c.Record().Process), x.stream)
			}
			err = c.Err()
			c.Close()
			if err != nil {
				return err
			}
		}
	}
	f.text = m.AppendTo(nil)
	return nil
}

// real is what a file of the trace is called.
func (f *leftFolder) real(name string) string {
	if x := f.files[name]; x != "" {
		return x
	}
	return name
}

// Open opens a file of the trace.
func (f *leftFolder) Open(name string) (fs.File, error) {
	if name == f.master {
		return memoryFile{bytes.NewReader(f.text), path.Base(name)}, nil
	}
	if x, ok := f.files[name]; ok && x == "" {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return format.OpenRegular(f.FS, f.real(name))
}

// ReadDir lists the files of a folder, those that were left by the names that they should have.
func (f *leftFolder) ReadDir(dir string) ([]fs.DirEntry, error) {
	l, err := fs.ReadDir(f.FS, dir)
	if err != nil {
		return nil, err
	}
	left := map[string]string{}
	for file, x := range f.files {
		left[x] = file
	}
	var out []fs.DirEntry
	for _, x := range l {
		name := path.Join(dir, x.Name())
		file, taken := left[name]
		if _, replaced := f.files[name]; taken {
			out = append(out, renamed{x, path.Base(file)})
		} else if !replaced {
			out = append(out, x)
		}
	}
	slices.SortFunc(out, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return out, nil
}

// renamed is an entry of a folder with another name.
type renamed struct {
	fs.DirEntry
	name string
}

// Name is the other name.
func (x renamed) Name() string { return x.name }

// memoryFile is a file that is in memory.
type memoryFile struct {
	*bytes.Reader
	name string
}

func (f memoryFile) Stat() (fs.FileInfo, error) { return f, nil }
func (f memoryFile) Close() error               { return nil }
func (f memoryFile) Name() string               { return f.name }
func (f memoryFile) Mode() fs.FileMode          { return 0o444 }
func (f memoryFile) ModTime() time.Time         { return time.Time{} }
func (f memoryFile) IsDir() bool                { return false }
func (f memoryFile) Sys() any                   { return nil }
