package main

import (
	"archive/zip"
	"bytes"
	"os/exec"
	"strings"
	"testing"
	"time"
)

var someFiles = []file{
	{path: "share/b", data: []byte("bb"), mode: 0o644},
	{path: "bin/a", data: []byte("aaa"), mode: 0o755},
}

// TestTar checks that tar lists the entries of an archive in sorted order, with root as the owner
// and the given time.
func TestTar(t *testing.T) {
	if _, err := exec.LookPath("tar"); err != nil {
		t.Skip("tar is not installed")
	}
	data, ext, err := encodeArchive(platform{"darwin", "arm64"}, "weft-1", someFiles, time.Unix(testSeconds, 0))
	if err != nil || ext != ".tar.gz" {
		t.Fatal(ext, err)
	}
	c := exec.Command("tar", "--utc", "--full-time", "-tvzf", "-")
	c.Stdin = bytes.NewReader(data)
	got := strings.Join(strings.Fields(mustRun(t, c)), " ")
	const at = "2023-11-14 22:13:20 weft-1/"
	want := "drwxr-xr-x 0/0 0 " + at + " drwxr-xr-x 0/0 0 " + at + "bin/ -rwxr-xr-x 0/0 3 " + at + "bin/a " +
		"drwxr-xr-x 0/0 0 " + at + "share/ -rw-r--r-- 0/0 2 " + at + "share/b"
	if got != want {
		t.Errorf("tar lists\n%s\nexpected\n%s", got, want)
	}
}

// TestZip checks that the archive for Windows has its entries in sorted order, with the given time.
func TestZip(t *testing.T) {
	data, ext, err := encodeArchive(platform{"windows", "amd64"}, "weft-1", someFiles, time.Unix(testSeconds, 0).UTC())
	if err != nil || ext != ".zip" {
		t.Fatal(ext, err)
	}
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range z.File {
		names = append(names, f.Name)
		if f.Modified.Unix() != testSeconds {
			t.Errorf("%s: the time is %s", f.Name, f.Modified)
		}
	}
	if got := strings.Join(names, " "); got != "weft-1/bin/a weft-1/share/b" {
		t.Errorf("the archive holds %s", got)
	}
}
