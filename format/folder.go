package format

import (
	"io/fs"
	"os"
	"path/filepath"
	"unicode/utf8"
)

// folder is a folder of the machine's file system. Unlike those of [os.DirFS] its files may
// have names that are no UTF-8, as they may on most machines.
type folder struct {
	fs   fs.FS
	path string
}

func newFolder(path string) folder { return folder{os.DirFS(path), path} }

// odd is the path of a file with such a name, "" for others.
func (f folder) odd(name string) string {
	if utf8.ValidString(name) || !filepath.IsLocal(filepath.FromSlash(name)) {
		return ""
	}
	return filepath.Join(f.path, filepath.FromSlash(name))
}

// Open opens a file.
func (f folder) Open(name string) (fs.File, error) {
	if path := f.odd(name); path != "" {
		return os.Open(path)
	}
	return f.fs.Open(name)
}

// Stat describes a file.
func (f folder) Stat(name string) (fs.FileInfo, error) {
	if path := f.odd(name); path != "" {
		return os.Stat(path)
	}
	return fs.Stat(f.fs, name)
}

// ReadDir lists a folder.
func (f folder) ReadDir(name string) ([]fs.DirEntry, error) {
	if path := f.odd(name); path != "" {
		return os.ReadDir(path)
	}
	return fs.ReadDir(f.fs, name)
}
