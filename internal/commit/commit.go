// Package commit gives the files of a trace their names: all of them, or none.
package commit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Set is a list of files and folders that are to get their names together. The zero Set is
// empty and ready.
type Set struct {
	// FailAt is the number of a step, from 1, that fails with [ErrFailAt], for tests; 0 for none.
	FailAt int
	steps  []step
}

// ErrFailAt is the error of the step that [Set.FailAt] names.
var ErrFailAt = errors.New("commit: this step is to fail")

// step is one change of a name.
type step struct {
	from, to string // from "" removes what is at to
	folder   bool   // what is removed is a folder
	// backup is where what was at to is until all is done, "" if nothing was there.
	backup string
	done   bool // from has its name
}

// Rename adds that the file or folder from is to be named to, in the place of one of the same
// sort that may be there. Both must be in one file system.
func (s *Set) Rename(from, to string) { s.steps = append(s.steps, step{from: from, to: to}) }

// Remove adds that no file is to be named path.
func (s *Set) Remove(path string) { s.steps = append(s.steps, step{to: path}) }

// RemoveFolder adds that no folder is to be named path. What is in it goes with it.
func (s *Set) RemoveFolder(path string) { s.steps = append(s.steps, step{to: path, folder: true}) }

// Commit makes the changes in the order in which they were added. If one fails, those before it
// are undone, and the error says which one it was. What was replaced is kept under another name
// until all changes are made, and removed then.
func (s *Set) Commit() error {
	for i := range s.steps {
		if err := s.steps[i].check(); err != nil {
			return err
		}
	}
	for i := range s.steps {
		err := s.steps[i].do()
		if err == nil && i+1 == s.FailAt {
			err = ErrFailAt
		}
		if err != nil {
			for k := i; k >= 0; k-- {
				err = errors.Join(err, s.steps[k].undo())
			}
			return err
		}
	}
	for i := range s.steps {
		if b := s.steps[i].backup; b != "" {
			os.RemoveAll(b) // as far as that is allowed: the trace is whole
		}
	}
	return nil
}

// Replaced calls f for each file and folder that is there and that Commit would replace or remove,
// up to the first error.
func (s *Set) Replaced(f func(path string) error) error {
	for i := range s.steps {
		to := s.steps[i].to
		if _, err := os.Lstat(to); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := f(to); err != nil {
			return err
		}
	}
	return nil
}

// Names returns the names that files and folders get.
func (s *Set) Names() []string {
	var names []string
	for i := range s.steps {
		if s.steps[i].from != "" {
			names = append(names, s.steps[i].to)
		}
	}
	return names
}

// check reports why a step cannot succeed, before any is made.
func (x *step) check() error {
	old, err := os.Lstat(x.to)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if x.from == "" {
		if old.IsDir() && !x.folder {
			return fmt.Errorf("%s: found a folder, expected a file or nothing", x.to)
		}
		return nil
	}
	st, err := os.Lstat(x.from)
	if err != nil {
		return err
	}
	switch {
	case old.IsDir() && !st.IsDir():
		return fmt.Errorf("%s: found a folder, expected a file or nothing", x.to)
	case !old.IsDir() && st.IsDir():
		return fmt.Errorf("%s: found a file, expected a folder or nothing", x.to)
	}
	return nil
}

// do makes the change.
func (x *step) do() error {
	if err := x.keep(); err != nil {
		return err
	}
	if x.from == "" {
		if x.backup == "" {
			return nil
		}
		if err := os.Remove(x.to); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		x.done = true
		return nil
	}
	err := os.Rename(x.from, x.to)
	x.done = err == nil
	return err
}

// keep gives what is at the name another name, too. A file keeps the one that it has, where the
// file system can do so: its readers see it until the new one has taken its place.
func (x *step) keep() error {
	st, err := os.Lstat(x.to)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		name := filepath.Join(filepath.Dir(x.to), fmt.Sprintf(".%s.%d.%d.old", filepath.Base(x.to), os.Getpid(), i))
		if _, err := os.Lstat(name); err == nil {
			continue // of a process that was killed
		}
		if st.Mode().IsRegular() && os.Link(x.to, name) == nil {
			x.backup = name
			return nil
		}
		if err := os.Rename(x.to, name); err != nil {
			return err
		}
		x.backup = name
		return nil
	}
}

// undo takes the change back.
func (x *step) undo() error {
	if x.done && x.from != "" {
		if err := os.Rename(x.to, x.from); err != nil {
			return err
		}
	}
	if x.backup == "" {
		return nil
	}
	if _, err := os.Lstat(x.to); err == nil {
		return os.Remove(x.backup) // it has kept its name
	}
	return os.Rename(x.backup, x.to)
}
