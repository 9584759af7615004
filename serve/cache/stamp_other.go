//go:build !linux

package cache

import (
	"io/fs"
	"time"
)

// changeOf returns ok false, because the change time of a file is unknown on this system.
func changeOf(fs.FileInfo) (t time.Time, number uint64, ok bool) { return t, 0, false }
