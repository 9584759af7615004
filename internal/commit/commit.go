// Package commit renames the files of a trace to their final names: all of them, or none.
package commit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Set is a list of files and folders that are renamed together. The zero Set is empty and ready to
// use.
type Set struct {
	// FailAt is the number of a step, counted from 1, that fails with [ErrFailAt], for tests. 0 means
	// none.
	FailAt int
	steps  []step
}

// ErrFailAt is the error of the step in [Set.FailAt].
var ErrFailAt = errors.New("commit: this step is to fail")

// step is one renaming or removal.
type step struct {
	from, to string // if from is "", to is removed
	folder   bool   // to is a folder, to be removed
	// backup is the name of what was at to until all steps are done, or "" if to did not exist.
	backup string
	done   bool // from has been renamed
}

// Rename adds the renaming of the file or folder from to to, which may exist if it is of the same
// type. Both must be in one file system.
func (s *Set) Rename(from, to string) { s.steps = append(s.steps, step{from: from, to: to}) }

// Remove adds the removal of a file, which need not exist.
func (s *Set) Remove(path string) { s.steps = append(s.steps, step{to: path}) }

// RemoveFolder adds the removal of a folder with its content, which need not exist.
func (s *Set) RemoveFolder(path string) { s.steps = append(s.steps, step{to: path, folder: true}) }

// Commit performs the steps in the order in which they were added. If one fails, it undoes those
// before, and returns an error that names the step. Replaced files are kept under other names until
// all steps are done, and then removed.
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
			os.RemoveAll(b) // best effort, as the trace is complete
		}
	}
	return nil
}

// Each calls f for each name that Commit would give or remove, whether or not a file or folder has it, up to
// the first error.
func (s *Set) Each(f func(path string) error) error {
	for i := range s.steps {
		if err := f(s.steps[i].to); err != nil {
			return err
		}
	}
	return nil
}

// Names returns the final names of files and folders.
func (s *Set) Names() []string {
	var names []string
	for i := range s.steps {
		if s.steps[i].from != "" {
			names = append(names, s.steps[i].to)
		}
	}
	return names
}

// check returns an error if a step cannot succeed, before any is performed.
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

// do performs the step.
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

// keep gives what is at to a second name. A file also keeps its own name, if the file system
// supports that: readers see it until the new one has replaced it.
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
			continue // left by a process that was killed
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

// undo reverts the step.
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
