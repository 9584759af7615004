//go:build !linux

package cache

import (
	"io/fs"
	"time"
)

// changeOf returns ok false, because this system has no change time of a file that users cannot set.
func changeOf(fs.FileInfo) (t time.Time, number uint64, ok bool) { return t, 0, false }
