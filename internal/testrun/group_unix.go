//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// interruptible starts a program in its own process group. When the program's context ends, the
// whole group is interrupted.
func interruptible(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGINT) }
}
