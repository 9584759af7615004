//go:build !unix

package main

import "os/exec"

// interruptible leaves a program to be killed when its context ends.
func interruptible(*exec.Cmd) {}
