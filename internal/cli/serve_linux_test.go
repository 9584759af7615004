package cli

import (
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestBusySocket checks that a new server does not replace the socket of an overloaded server, but
// does replace a socket without a server.
func TestBusySocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Bind(fd, &syscall.SockaddrUnix{Name: path}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	for n := 0; ; n++ {
		c, err := net.Dial("unix", path)
		if err != nil {
			break
		}
		defer c.Close()
		if n > 100 {
			t.Fatal("nobody answers, but all are let in")
		}
	}
	if l, err := listenUnix(path); err == nil {
		l.Close()
		t.Error("the socket of a busy server was taken")
	}
	if _, err := os.Lstat(path); err != nil {
		t.Error(err)
	}
	syscall.Close(fd)
	l, err := listenUnix(path)
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}
