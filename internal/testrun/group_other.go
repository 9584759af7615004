//go:build !unix

package main

import "os/exec"

// interruptible does nothing. On this system, a program is killed when its context ends.
func interruptible(*exec.Cmd) {}
