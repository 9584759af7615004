package format

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"unicode/utf8"
)

// folder is a folder in the file system of the machine. Unlike in [os.DirFS], names of files can be
// invalid UTF-8, which most file systems allow.
type folder struct {
	fs   fs.FS
	path string
}

// nonUTF8Path returns the path of a file whose name is invalid UTF-8. It returns "" for all other
// names, which os.DirFS handles.
func (f folder) nonUTF8Path(name string) string {
	if utf8.ValidString(name) || !filepath.IsLocal(filepath.FromSlash(name)) {
		return ""
	}
	return filepath.Join(f.path, filepath.FromSlash(name))
}

// Open opens a file of the folder.
func (f folder) Open(name string) (fs.File, error) {
	if path := f.nonUTF8Path(name); path != "" {
		return os.Open(path)
	}
	return f.fs.Open(name)
}

// OpenRegular opens a file or a folder. It refuses pipes and devices.
func (f folder) OpenRegular(name string) (fs.File, error) {
	path := f.nonUTF8Path(name)
	if path == "" {
		local, err := filepath.Localize(name)
		if err != nil {
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
		}
		path = filepath.Join(f.path, local)
	}
	x, err := os.OpenFile(path, os.O_RDONLY|noWait, 0)
	if err != nil {
		return nil, err
	}
	st, err := x.Stat()
	if err == nil {
		err = checkRegular(name, st)
	}
	if err != nil {
		x.Close()
		return nil, err
	}
	return x, nil
}

// OpenRegular opens a file or a folder of a file system. It refuses pipes and devices, since
// reading these can block forever or never end. A file system that can do this without a call of
// Stat has a method of this name.
func OpenRegular(f fs.FS, name string) (fs.File, error) {
	if f, ok := f.(interface {
		OpenRegular(name string) (fs.File, error)
	}); ok {
		return f.OpenRegular(name)
	}
	st, err := fs.Stat(f, name)
	if err == nil {
		err = checkRegular(name, st)
	}
	if err != nil {
		return nil, err
	}
	return f.Open(name)
}

// checkRegular returns an error unless st describes a file or a folder.
func checkRegular(name string, st fs.FileInfo) error {
	if st.Mode().IsRegular() || st.IsDir() {
		return nil
	}
	return fmt.Errorf("found a pipe or device as %s, expected a file", name)
}

// Stat returns information about a file.
func (f folder) Stat(name string) (fs.FileInfo, error) {
	if path := f.nonUTF8Path(name); path != "" {
		return os.Stat(path)
	}
	return fs.Stat(f.fs, name)
}

// ReadDir returns the entries of a folder.
func (f folder) ReadDir(name string) ([]fs.DirEntry, error) {
	if path := f.nonUTF8Path(name); path != "" {
		return os.ReadDir(path)
	}
	return fs.ReadDir(f.fs, name)
}
