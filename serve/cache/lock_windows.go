package cache

import (
	"errors"
	"os"
	"syscall"
)

// errSharing is ERROR_SHARING_VIOLATION: another process has opened the file.
const errSharing syscall.Errno = 32

// openLock opens a file exclusively. If another process has opened it, it returns errHeld and no
// file.
func openLock(path string) (*os.File, error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	h, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, 0, nil, syscall.OPEN_ALWAYS,
		syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if errors.Is(err, errSharing) {
		return nil, errHeld
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(h), path), nil
}

// removeLock closes the file, and then removes it, because Windows cannot remove an open file. If another
// process opens the file in the meantime, the file stays.
func removeLock(path string, f *os.File) {
	f.Close()
	os.Remove(path)
}
