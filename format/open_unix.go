//go:build unix

package format

import "syscall"

// noWait makes open return for a pipe that has no writer.
const noWait = syscall.O_NONBLOCK
