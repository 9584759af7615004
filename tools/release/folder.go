package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/weft-trace/weft/internal/commit"
)

// sumsName is the name of the file with the checksums, in the format of sha256sum.
const sumsName = "sha256sums"

// folder is the folder of a release that is being written. It has a temporary name until commit.
type folder struct {
	name string
	temp string
	sums map[string]string // checksums by path, with slashes
}

// newFolder begins a folder that commit will rename to name. If a folder of that name exists and is
// not empty, it must contain a release; otherwise newFolder returns an error.
func newFolder(name string) (*folder, error) {
	name, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	if list, err := os.ReadDir(name); err == nil && len(list) > 0 {
		if _, err := os.Stat(filepath.Join(name, sumsName)); err != nil {
			return nil, fmt.Errorf("%s: found files that are no release, expected %s or an empty folder", name, sumsName)
		}
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	temp, err := os.MkdirTemp(filepath.Dir(name), "."+filepath.Base(name)+"-")
	if err != nil {
		return nil, err
	}
	return &folder{name: name, temp: temp, sums: map[string]string{}}, os.Chmod(temp, 0o755)
}

// write adds a file. The path has slashes and is relative to the folder.
func (d *folder) write(path string, data []byte) error {
	name := filepath.Join(d.temp, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	d.sums[path] = hex.EncodeToString(sum[:])
	return os.WriteFile(name, data, 0o644)
}

// commit writes the file of checksums and renames the folder to its final name.
func (d *folder) commit() error {
	var b bytes.Buffer
	for _, path := range slices.Sorted(maps.Keys(d.sums)) {
		fmt.Fprintf(&b, "%s  %s\n", d.sums[path], path)
	}
	if err := os.WriteFile(filepath.Join(d.temp, sumsName), b.Bytes(), 0o644); err != nil {
		return err
	}
	var s commit.Set
	s.Rename(d.temp, d.name)
	return s.Commit()
}

// discard removes the folder unless it was committed.
func (d *folder) discard() { os.RemoveAll(d.temp) }
