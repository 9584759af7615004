//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package cache

import (
	"errors"
	"os"
	"syscall"
)

// openLock opens a file and locks it, for as long as it is open. It does not wait: the error
// is errHeld, without a file, if somebody else has the lock. A file with an error is one that
// cannot be locked.
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

// removeLock removes the file before it is unlocked, so that nobody can lock it in between.
func removeLock(path string, f *os.File) {
	os.Remove(path)
	f.Close()
}
