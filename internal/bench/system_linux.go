package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// endWithParent makes the kernel kill a program when the thread that has started it ends. main locks its
// goroutine to this thread, so that the thread ends together with the harness.
func endWithParent(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// peakMemory returns the peak memory of a program in bytes.
func peakMemory(s *os.ProcessState) int64 {
	if ru, ok := s.SysUsage().(*syscall.Rusage); ok {
		return ru.Maxrss << 10
	}
	return 0
}

// freeSpace returns the number of bytes that may be written on the disk of a folder.
func freeSpace(dir string) (int64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, fmt.Errorf("%s: %w", dir, err)
	}
	return int64(st.Bavail) * st.Bsize, nil
}

// bytesRead waits until a program has ended. It returns the number of bytes that the program has
// read with read and similar calls, from files and pipes; mapped files do not count. The kernel
// only has this number until the caller waits for the program.
func bytesRead(pid int) (n int64) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err == nil {
			break
		}
		if err != unix.EINTR {
			return 0
		}
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if k, _ := fmt.Sscanf(line, "rchar: %d", &n); k == 1 {
			break
		}
	}
	return n
}
