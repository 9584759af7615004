//go:build unix

package format

import "syscall"

// noWait opens a pipe although nobody writes to it.
const noWait = syscall.O_NONBLOCK
