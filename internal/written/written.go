// Package written records which files weft has written. Weft replaces these files without asking the user.
package written

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// maxSize is the largest size of the list in bytes. If the list exceeds it, the older half is
// dropped.
const maxSize = 1 << 20

// List is a list of files and folders, in the state in which weft has written them. It is stored as a file
// with a line for each entry. All processes of a user append to it, and a List reads it once. The zero List is
// for a user without a cache folder: it is empty, and Add does nothing.
type List struct {
	path string
	read sync.Once
	set  map[string]bool // the lines of the list, as a set
}

// Default returns the list of the user. Its file is in the folder that the environment variable WEFT_CACHE
// names, or by default in the folder weft of the user's cache folder.
func Default() *List {
	dir := os.Getenv("WEFT_CACHE")
	if dir == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return &List{}
		}
		dir = filepath.Join(base, "weft")
	}
	return &List{path: filepath.Join(dir, "written")}
}

// Has reports whether weft has written the file or folder at path, and whether its state has not changed since
// then.
func (l *List) Has(path string) bool {
	line, err := entry(path)
	if err != nil || l.path == "" {
		return false
	}
	l.read.Do(func() {
		text, _ := os.ReadFile(l.path)
		l.set = map[string]bool{}
		for line := range bytes.Lines(text) {
			l.set[string(line)] = true
		}
	})
	return l.set[string(line)]
}

// Add adds files and folders in their present state. If it cannot add an entry, the list lacks the entry, and
// Add reports no error.
func (l *List) Add(paths []string) {
	var lines []byte
	for _, path := range paths {
		if line, err := entry(path); err == nil {
			lines = append(lines, line...)
			if l.set != nil {
				l.set[string(line)] = true
			}
		}
	}
	if l.path == "" || len(lines) == 0 || os.MkdirAll(filepath.Dir(l.path), 0o700) != nil {
		return
	}
	f, err := os.OpenFile(l.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return
	}
	_, err = f.Write(lines)
	f.Close()
	if err == nil {
		l.shorten()
	}
}

// shorten drops the older half of the list if it exceeds maxSize.
func (l *List) shorten() {
	st, err := os.Stat(l.path)
	if err != nil || st.Size() <= maxSize {
		return
	}
	text, err := os.ReadFile(l.path)
	if err != nil {
		return
	}
	text = text[len(text)/2:]
	text = text[bytes.IndexByte(text, '\n')+1:]
	name := fmt.Sprintf("%s.%d", l.path, os.Getpid())
	if os.WriteFile(name, text, 0o600) != nil || os.Rename(name, l.path) != nil {
		os.Remove(name)
	}
}

// entry returns the line for a file or folder in its present state. For a folder, the state is a checksum of
// the names, sizes and times of all files in it.
func entry(path string) ([]byte, error) {
	path, err := filepath.EvalSymlinks(path) // the path may go through symbolic links
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return nil, err
	}
	st, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !st.IsDir() {
		return fmt.Appendf(nil, "%q %d %d\n", path, st.Size(), st.ModTime().UnixNano()), nil
	}
	sum := sha256.New()
	err = filepath.WalkDir(path, func(name string, x fs.DirEntry, err error) error {
		if err != nil || x.IsDir() {
			return err
		}
		st, err := x.Info()
		if err == nil {
			fmt.Fprintf(sum, "%q %d %d\n", name, st.Size(), st.ModTime().UnixNano())
		}
		return err
	})
	return fmt.Appendf(nil, "%q %x\n", path, sum.Sum(nil)), err
}
