//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package cache

import (
	"errors"
	"os"
	"syscall"
)

// openLock opens a file and locks it until the file is closed. If another process holds the lock, it returns
// errHeld immediately, without a file. If the system cannot lock the file, it returns both the file and an
// error.
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

// removeLock removes the file, and then unlocks it. This order ensures that no other process locks a file that
// is about to be removed.
func removeLock(path string, f *os.File) {
	os.Remove(path)
	f.Close()
}
