//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// interruptible puts a program into a group of its own, all of which is interrupted when its
// context ends.
func interruptible(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGINT) }
}
