package main

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// endWithParent has the kernel kill a program when this one ends. main holds its thread, or
// the kernel would kill the program with the thread that started it.
func endWithParent(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// peakMemory returns the most memory that a program held, in bytes.
func peakMemory(s *os.ProcessState) int64 {
	if ru, ok := s.SysUsage().(*syscall.Rusage); ok {
		return ru.Maxrss << 10
	}
	return 0
}

// freeSpace returns the bytes that may be written on the disk of a folder.
func freeSpace(dir string) (int64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, fmt.Errorf("%s: %w", dir, err)
	}
	return int64(st.Bavail) * st.Bsize, nil
}
