//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package cache

import (
	"errors"
	"os"
)

// openLock opens a file. This system has no locks, so openLock returns both the file and an error.
func openLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	return f, errors.ErrUnsupported
}

// removeLock closes and removes the lock file.
func removeLock(path string, f *os.File) {
	f.Close()
	os.Remove(path)
}
