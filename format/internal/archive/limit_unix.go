//go:build unix

package archive

import "golang.org/x/sys/unix"

// openLimit returns the number of files that the process may have open, or 0 if that is unknown.
func openLimit() uint64 {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) != nil {
		return 0
	}
	return uint64(l.Cur)
}
