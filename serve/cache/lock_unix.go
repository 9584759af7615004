//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package cache

import (
	"errors"
	"os"
	"syscall"
)

// openLock opens a file and locks it for as long as the file is open. It does not wait: if another
// process has the lock, it returns errHeld without a file. It returns the file with an error if the
// file cannot be locked.
func openLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		f.Close()
		return nil, errHeld
	}
	return f, err
}

// removeLock removes the file before it unlocks it, so that no other process can lock it in
// between.
func removeLock(path string, f *os.File) {
	os.Remove(path)
	f.Close()
}
