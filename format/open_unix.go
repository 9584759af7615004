//go:build unix

package format

import "syscall"

// noWait is the flag by which opening a pipe without a writer does not block.
const noWait = syscall.O_NONBLOCK
