package commit

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"testing"
)

// tree creates a folder with files, given by their names and contents. A name that ends in / is the name of a
// folder.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if name[len(name)-1] == '/' {
			if err := os.MkdirAll(path, 0o777); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// files returns the contents of the files below a folder, by name.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		b, err := os.ReadFile(path)
		all[filepath.ToSlash(name)] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// set returns a Set with a step of every type in a folder.
func set(dir string) *Set {
	at := func(name string) string { return filepath.Join(dir, name) }
	s := &Set{}
	s.Rename(at("new/folder"), at("folder")) // replaces another folder
	s.Rename(at("new/a"), at("a"))           // replaces another file
	s.Rename(at("new/b"), at("b"))           // does not replace a file
	s.Remove(at("c"))
	s.Remove(at("not there"))
	s.RemoveFolder(at("d"))
	s.Rename(at("new/e"), at("e"))
	return s
}

var filesBefore = map[string]string{"folder/1": "old", "a": "old", "c": "old", "d/2": "old", "e": "old",
	"new/folder/3": "new", "new/a": "new", "new/b": "new", "new/e": "new"}

func TestCommit(t *testing.T) {
	dir := tree(t, filesBefore)
	if err := set(dir).Commit(); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"folder/3": "new", "a": "new", "b": "new", "e": "new"}
	if got := files(t, dir); !maps.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
}

// TestUndo checks that after a failure of any step, all files are as they were before.
func TestUndo(t *testing.T) {
	for fail := 1; fail <= 7; fail++ {
		dir := tree(t, filesBefore)
		s := set(dir)
		s.FailAt = fail
		if err := s.Commit(); !errors.Is(err, ErrFailAt) {
			t.Fatalf("step %d: %v", fail, err)
		}
		if got := files(t, dir); !maps.Equal(got, filesBefore) {
			t.Errorf("step %d: found %v, want %v", fail, got, filesBefore)
		}
	}
}

// TestRefused checks that Commit returns an error for a step that cannot succeed before it performs any step.
func TestRefused(t *testing.T) {
	for _, block := range []string{"b/", "a/x", "c/x", "folder"} {
		have := maps.Clone(filesBefore)
		delete(have, "a")
		delete(have, "c")
		delete(have, "folder/1")
		have[block] = "in the way"
		dir := tree(t, have)
		now := files(t, dir)
		if err := set(dir).Commit(); err == nil {
			t.Errorf("%s: no error", block)
		}
		if got := files(t, dir); !maps.Equal(got, now) {
			t.Errorf("%s: found %v, want %v", block, got, now)
		}
	}
}

// TestMissing checks that a missing source is an error, and that all files are as they were before.
func TestMissing(t *testing.T) {
	have := maps.Clone(filesBefore)
	delete(have, "new/e")
	dir := tree(t, have)
	if err := set(dir).Commit(); err == nil {
		t.Error("no error")
	}
	if got := files(t, dir); !maps.Equal(got, have) {
		t.Errorf("found %v, want %v", got, have)
	}
}
