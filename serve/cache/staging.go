package cache

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// StagingDir is a temporary folder in which a file is written before it gets its final name in the
// parent folder. Its lock file is locked while the program runs. If the program is killed, the
// system releases the lock, and the next Sweep removes the folder with its content.
//
// On a shared file system, a lock may be invisible to other machines. The name of the folder
// therefore identifies the machine. Folders of other machines, and folders on systems without
// locks, are removed when they have not changed for a day.
type StagingDir struct {
	dir  string
	lock *os.File
}

// The names of staging folders and of their lock file.
const (
	stagingPrefix = unfinishedPrefix + "weft-build-"
	lockName      = "lock"
)

// errHeld reports that another process holds a lock.
var errHeld = errors.New("the lock is held")

// createAttempts limits the number of times that NewStagingDir tries to create a folder. An attempt fails if
// Sweep removes the new folder.
const createAttempts = 100

// NewStagingDir creates a staging folder in parent.
func NewStagingDir(parent string) (*StagingDir, error) {
	for range createAttempts {
		dir, err := os.MkdirTemp(parent, machinePrefix()+"*")
		if err != nil {
			return nil, err
		}
		// A concurrent Sweep may remove the new folder before it is locked.
		lock, err := takeLock(dir)
		if lock != nil {
			return &StagingDir{dir, lock}, nil
		}
		os.RemoveAll(dir)
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errHeld) {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%s: found that another program removes new folders, expected them to stay", parent)
}

// takeLock locks a staging folder that is to be used or removed. It succeeds only if the locked file is still
// in the folder, because another process may have removed or replaced the file before. If the system has no
// locks, takeLock returns both the file and an error. The caller then decides by the age of the folder.
func takeLock(dir string) (*os.File, error) {
	path := filepath.Join(dir, lockName)
	f, unlocked := openLock(path)
	if f == nil {
		return nil, unlocked
	}
	ours, err := f.Stat()
	if err == nil {
		var there fs.FileInfo
		if there, err = os.Stat(path); err == nil && !os.SameFile(ours, there) {
			err = errHeld
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, unlocked
}

// machinePrefix returns the prefix of the staging folders of this machine.
func machinePrefix() string {
	// Machines without a known name share one prefix.
	name, _ := os.Hostname()
	h := sha256.Sum256([]byte(name))
	return stagingPrefix + hex.EncodeToString(h[:4]) + "-"
}

// Path returns the path of a file in the folder.
func (s *StagingDir) Path(name string) string { return filepath.Join(s.dir, name) }

// Close removes the folder and its content.
func (s *StagingDir) Close() error {
	err := removeContent(s.dir)
	removeDir(s.dir, s.lock)
	return err
}

// removeContent removes everything in a staging folder except its lock file.
func removeContent(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, x := range entries {
		if x.Name() != lockName {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, x.Name())))
		}
	}
	return err
}

// removeDir removes a staging folder whose content has been removed. Once its lock file is removed, another
// process may lock the folder, to use it or to remove it.
func removeDir(dir string, lock *os.File) {
	removeLock(filepath.Join(dir, lockName), lock)
	os.Remove(dir)
}

// Sweep removes the staging folders in parent whose programs have ended.
func Sweep(parent string) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	for _, x := range entries {
		if x.IsDir() && strings.HasPrefix(x.Name(), stagingPrefix) {
			sweepDir(filepath.Join(parent, x.Name()))
		}
	}
}

func sweepDir(dir string) {
	lock, err := takeLock(dir)
	if lock == nil {
		return // the folder is in use, or cannot be removed
	}
	locked := err == nil && strings.HasPrefix(filepath.Base(dir), machinePrefix())
	if (locked || time.Since(lastChange(dir)) > staleAge) && removeContent(dir) == nil {
		removeDir(dir, lock)
		return
	}
	lock.Close()
}

// lastChange returns the time of the last change in a staging folder.
func lastChange(dir string) (t time.Time) {
	if st, err := os.Stat(dir); err == nil {
		t = st.ModTime()
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return time.Now()
	}
	for _, x := range entries {
		if st, err := x.Info(); err == nil && st.ModTime().After(t) {
			t = st.ModTime()
		}
	}
	return t
}
