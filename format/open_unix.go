//go:build unix

package format

import "syscall"

// noWait is the flag with which opening a pipe that has no writer does not block.
const noWait = syscall.O_NONBLOCK
