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

// Room is a folder in another one in which a file is made before it gets its name. It has a
// file that is locked as long as the program that made it runs: when that is killed the
// system unlocks it, and the next one that looks removes the room with all that is in it.
//
// A lock in a folder that machines share may hold on one machine alone. So the name of the
// room tells the machine; rooms of others, and those on systems without locks, are removed
// when nothing in them has changed for a day.
type Room struct {
	dir  string
	lock *os.File
}

// Names of rooms and of what is in them.
const (
	roomPrefix = unfinished + "weft-build-"
	lockName   = "lock"
)

// errHeld says that a lock is held by somebody else.
var errHeld = errors.New("the lock is held")

// roomAttempts is how often another room is tried, if those before are taken away at once.
const roomAttempts = 100

// NewRoom makes a room in a folder.
func NewRoom(parent string) (*Room, error) {
	for range roomAttempts {
		dir, err := os.MkdirTemp(parent, machineRooms()+"*")
		if err != nil {
			return nil, err
		}
		// Somebody who removes rooms may come before us.
		lock, err := take(dir)
		if lock != nil {
			return &Room{dir, lock}, nil
		}
		os.RemoveAll(dir)
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errHeld) {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%s: found that somebody removes new folders, expected that they stay", parent)
}

// take locks a room, for its maker or for who removes it. Whoever has the lock of the file
// that is there may remove that; so a lock that is got late may be that of a file that is
// gone, and counts for nothing. A lock with an error is one that says nothing, as there are
// none: the room goes by its age.
func take(dir string) (*os.File, error) {
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

// machineRooms is how the names of the rooms of this machine begin.
func machineRooms() string {
	// Where the name is not known all such machines are one.
	name, _ := os.Hostname()
	h := sha256.Sum256([]byte(name))
	return roomPrefix + hex.EncodeToString(h[:4]) + "-"
}

// Path is the place of a file in the room.
func (r *Room) Path(name string) string { return filepath.Join(r.dir, name) }

// Close removes the room and what is in it.
func (r *Room) Close() error {
	err := empty(r.dir)
	leave(r.dir, r.lock)
	return err
}

// empty removes all that is in a room but its lock.
func empty(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, x := range entries {
		if x.Name() != lockName {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, x.Name())))
		}
	}
	return err
}

// leave removes an empty room. Somebody may lock it again as soon as the lock is gone: then it
// is his, to use or to remove.
func leave(dir string, lock *os.File) {
	removeLock(filepath.Join(dir, lockName), lock)
	os.Remove(dir)
}

// Sweep removes the rooms in a folder whose programs have ended.
func Sweep(parent string) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	for _, x := range entries {
		if x.IsDir() && strings.HasPrefix(x.Name(), roomPrefix) {
			sweepRoom(filepath.Join(parent, x.Name()))
		}
	}
}

func sweepRoom(dir string) {
	lock, err := take(dir)
	if lock == nil {
		return // held, or not ours to remove
	}
	locked := err == nil && strings.HasPrefix(filepath.Base(dir), machineRooms())
	if (locked || time.Since(changed(dir)) > old) && empty(dir) == nil {
		leave(dir, lock)
		return
	}
	lock.Close()
}

// changed is when something in a room has changed last.
func changed(dir string) (t time.Time) {
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
