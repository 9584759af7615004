package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestFolder checks that a folder only appears when it is complete, and that it replaces an older
// release but no other folder.
func TestFolder(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "dist")
	begin := func(content string) *folder {
		t.Helper()
		d, err := newFolder(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.write("a/b", []byte(content)); err != nil {
			t.Fatal(err)
		}
		return d
	}
	holds := func(want string) {
		t.Helper()
		got, _ := os.ReadFile(filepath.Join(name, "a", "b"))
		if string(got) != want {
			t.Errorf("the folder holds %q, expected %q", got, want)
		}
	}
	begin("dropped").discard()
	holds("")
	d := begin("abc")
	holds("")
	if err := d.commit(); err != nil {
		t.Fatal(err)
	}
	d.discard()
	holds("abc")
	// The checksum was computed with printf abc | sha256sum.
	const sum = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  a/b\n"
	if got, _ := os.ReadFile(filepath.Join(name, sumsName)); string(got) != sum {
		t.Errorf("%s holds %q, expected %q", sumsName, got, sum)
	}
	begin("dropped").discard()
	holds("abc")
	if err := begin("new").commit(); err != nil {
		t.Fatal(err)
	}
	holds("new")
	if err := os.Remove(filepath.Join(name, sumsName)); err != nil {
		t.Fatal(err)
	}
	if _, err := newFolder(name); err == nil {
		t.Error("a folder that is no release would be replaced")
	}
	if list, _ := os.ReadDir(dir); len(list) != 1 {
		t.Errorf("found %v, expected nothing beside dist", list)
	}
}
