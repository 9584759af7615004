package cache

import (
	"io/fs"
	"syscall"
	"time"
)

// changeOf returns the inode change time of a file, which users cannot set, and the inode number.
func changeOf(st fs.FileInfo) (t time.Time, number uint64, ok bool) {
	s, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return t, 0, false
	}
	return time.Unix(s.Ctim.Unix()), s.Ino, true
}
