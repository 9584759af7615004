//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// interruptible puts a program into a process group of its own, which is interrupted as a whole
// when the program's context ends.
func interruptible(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGINT) }
}
