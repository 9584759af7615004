package otf

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/internal/archive"
)

// A writer gives its files their final names when it is closed. If it is killed before that, its files keep
// their temporary names. Any of these files can be passed to [Open], which then reads all of them. libotf
// writes its files under their final names, and the master file last. If there is no master file, any of the
// other files can be passed to [Open].

// parseUnfinishedName splits the name of an unfinished file: .NAME.STREAM.PART.PROCESS.tmp. It returns the
// name of the trace, the final name of the file and the number of the process that wrote it.
func parseUnfinishedName(name string) (trace, file, process string, ok bool) {
	name, hidden := strings.CutPrefix(name, ".")
	name, temporary := strings.CutSuffix(name, ".tmp")
	i := strings.LastIndexByte(name, '.')
	if !hidden || !temporary || i < 0 || !archive.ConsistsOf(name[i+1:], "0123456789") {
		return "", "", "", false
	}
	file, process = name[:i], name[i+1:]
	trace, stream, ok := parsePartName(file)
	if !ok {
		return "", "", "", false
	}
	if id, err := strconv.ParseUint(stream, 16, 32); err != nil || strconv.FormatUint(id, 16) != stream {
		return "", "", "", false
	}
	return trace, file, process, true
}

// parsePartName splits the name of a file of a trace other than the master file: NAME.STREAM.PART or
// NAME.STREAM.PART.z. It returns the name of the trace and the number of the stream in hexadecimal.
func parsePartName(file string) (trace, stream string, ok bool) {
	file = strings.TrimSuffix(file, ".z")
	i := strings.LastIndexByte(file, '.')
	if i < 0 {
		return "", "", false
	}
	switch file[i+1:] {
	case "def", "events", "snaps", "stats", "marker":
	default:
		return "", "", false
	}
	file = file[:i]
	i = strings.LastIndexByte(file, '.')
	if i < 1 || !archive.ConsistsOf(file[i+1:], "0123456789abcdef") {
		return "", "", false
	}
	return file[:i], file[i+1:], true
}

// unfinishedFS is a file system that shows unfinished files under their final names. It also shows a master
// file for them.
type unfinishedFS struct {
	fs.FS
	prefix string            // prefix of the paths in messages, which stands before the name in FS
	files  map[string]string // existing file for each final name; "" hides a file
	master string
	text   []byte // text of the master file
}

// openUnfinished returns the source of a trace if src is one of its unfinished files, or a file of a trace
// without a master file. Otherwise it returns src. Of several files with the same final name, openUnfinished
// takes the file that the process of src wrote. Failing that, it takes the unfinished file that was changed
// last, and failing that, the file that already has the final name. It makes a master file from the processes
// that have records.
func openUnfinished(ctx context.Context, src format.Source, opt *Options) (format.Source, error) {
	dir, base := path.Split(src.Name)
	name, _, process, ok := parseUnfinishedName(base)
	if !ok {
		return openWithoutMaster(ctx, src, opt)
	}
	l, err := fs.ReadDir(src.FS, path.Clean("./"+dir))
	if err != nil {
		return src, fmt.Errorf("%s: %w", src.Path, err)
	}
	f := &unfinishedFS{FS: src.FS, prefix: strings.TrimSuffix(src.Path, src.Name), files: map[string]string{},
		master: dir + name + ".otf"}
	written := map[string]time.Time{}
	for _, x := range l {
		n, file, by, ok := parseUnfinishedName(x.Name())
		if !ok || n != name {
			continue
		}
		info, err := x.Info()
		if err != nil {
			continue // another process has removed the file
		}
		at := info.ModTime()
		if by == process {
			at = time.Unix(1<<40, 0)
		}
		if old, there := written[file]; !there || at.After(old) {
			written[file], f.files[dir+file] = at, dir+x.Name()
		}
	}
	// An unfinished compressed file hides a plain file of the same name, because the plain file belongs to
	// another trace. For the same reason, an unfinished plain file hides a compressed file.
	for file := range f.files {
		if plain, z := strings.CutSuffix(file, ".z"); z {
			f.hide(plain)
		} else {
			f.hide(file + ".z")
		}
	}
	out := format.Source{FS: f, Name: f.master, Path: src.Path}
	return out, f.makeMaster(ctx, out, opt)
}

// openWithoutMaster returns the source of a trace if src is a file of a trace that has no master file.
// Otherwise it returns src. It makes a master file from the processes that have records.
func openWithoutMaster(ctx context.Context, src format.Source, opt *Options) (format.Source, error) {
	dir, base := path.Split(src.Name)
	name, _, ok := parsePartName(base)
	if !ok {
		return src, nil
	}
	f := &unfinishedFS{FS: src.FS, prefix: strings.TrimSuffix(src.Path, src.Name), master: dir + name + ".otf"}
	if _, err := fs.Stat(src.FS, f.master); err == nil {
		return src, fmt.Errorf("%s: found a file of a trace, expected its master file %s", src.Path, f.prefix+f.master)
	}
	out := format.Source{FS: f, Name: f.master, Path: src.Path}
	return out, f.makeMaster(ctx, out, opt)
}

// hide makes a file invisible, unless it is an unfinished file.
func (f *unfinishedFS) hide(file string) {
	if _, ok := f.files[file]; !ok {
		f.files[file] = ""
	}
}

// makeMaster computes the missing master file from the files of the streams.
func (f *unfinishedFS) makeMaster(ctx context.Context, src format.Source, opt *Options) error {
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
	m, err := r.masterOfFiles(ctx)
	if err != nil {
		return err
	}
	f.text = m.AppendTo(nil)
	return nil
}

// masterOfFiles returns a map of the processes that have records in the files of the trace.
func (r *Reader) masterOfFiles(ctx context.Context) (*MasterControl, error) {
	m := &MasterControl{}
	r = r.withoutReport()
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
				return nil, err
			}
			for c.Next() {
				m.Assign(uint32(c.Record().Process), x.stream)
			}
			err = c.Err()
			c.Close()
			if err != nil {
				return nil, err
			}
		}
	}
	return m, nil
}

// FileBeside serves traces whose master file is missing. It returns the path of another file of the trace
// whose master file src names, or "" if there is no such file.
func FileBeside(src format.Source) string {
	stub, named := strings.CutSuffix(src.Name, ".otf")
	r := &Reader{src: src, stub: stub}
	if l := r.partFiles(); named && len(l) > 0 {
		return r.path(l[0].name)
	}
	return ""
}

// realName returns the existing name of a file of the trace.
func (f *unfinishedFS) realName(name string) string {
	if x := f.files[name]; x != "" {
		return x
	}
	return name
}

// Open opens a file of the trace by its final name.
func (f *unfinishedFS) Open(name string) (fs.File, error) {
	if name == f.master {
		return memoryFile{bytes.NewReader(f.text), path.Base(name)}, nil
	}
	if x, ok := f.files[name]; ok && x == "" {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return format.OpenRegular(f.FS, f.realName(name))
}

// ReadDir lists the files of a directory, with unfinished files under their final names.
func (f *unfinishedFS) ReadDir(dir string) ([]fs.DirEntry, error) {
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
			out = append(out, renamedEntry{x, path.Base(file)})
		} else if !replaced {
			out = append(out, x)
		}
	}
	slices.SortFunc(out, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return out, nil
}

// renamedEntry is a directory entry that is shown under another name.
type renamedEntry struct {
	fs.DirEntry
	name string
}

// Name returns the name under which the file is shown.
func (r renamedEntry) Name() string { return r.name }

// memoryFile is a file whose content is in memory.
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
