// Package commit gives the files of a trace their final names: either all files get them, or none.
package commit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Set is a list of files and folders that are renamed or removed together. The zero Set is empty
// and ready to use.
type Set struct {
	// FailAt makes a step fail with [ErrFailAt], in tests. It is the number of the step, counted from 1; 0
	// means that no step fails.
	FailAt int
	steps  []step
}

// ErrFailAt is the error of the step in [Set.FailAt].
var ErrFailAt = errors.New("commit: this step is to fail")

// step is a renaming or a removal.
type step struct {
	from, to string // if from is "", the step removes to
	folder   bool   // the step removes to as a folder, with its content
	// backup is the path of a copy of the previous file or folder at to, until all steps are done. It is "" if
	// to does not exist.
	backup string
	done   bool // from has been renamed
}

// Rename adds a step that renames a file or folder. to may exist if it is of the same type as from.
// Both must be in the same file system.
func (s *Set) Rename(from, to string) { s.steps = append(s.steps, step{from: from, to: to}) }

// Remove adds a step that removes a file, if it exists.
func (s *Set) Remove(path string) { s.steps = append(s.steps, step{to: path}) }

// RemoveFolder adds a step that removes a folder with its content, if it exists.
func (s *Set) RemoveFolder(path string) { s.steps = append(s.steps, step{to: path, folder: true}) }

// Commit performs the steps in the order in which they were added. If a step fails, Commit undoes the steps
// before it, and returns an error that names the path. Until all steps are done, Commit keeps replaced files
// under other names. Then it removes them.
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
			os.RemoveAll(b) // an error is ignored, because the trace is complete
		}
	}
	return nil
}

// Each calls f for each path that Commit creates, replaces or removes, whether or not it exists. It
// ends at the first error and returns it.
func (s *Set) Each(f func(path string) error) error {
	for i := range s.steps {
		if err := f(s.steps[i].to); err != nil {
			return err
		}
	}
	return nil
}

// Names returns the paths that files and folders will have after Commit.
func (s *Set) Names() []string {
	var names []string
	for i := range s.steps {
		if s.steps[i].from != "" {
			names = append(names, s.steps[i].to)
		}
	}
	return names
}

// check returns an error if the step would certainly fail.
func (s *step) check() error {
	old, err := os.Lstat(s.to)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if s.from == "" {
		if old.IsDir() && !s.folder {
			return fmt.Errorf("%s: found a folder, expected a file or nothing", s.to)
		}
		return nil
	}
	st, err := os.Lstat(s.from)
	if err != nil {
		return err
	}
	switch {
	case old.IsDir() && !st.IsDir():
		return fmt.Errorf("%s: found a folder, expected a file or nothing", s.to)
	case !old.IsDir() && st.IsDir():
		return fmt.Errorf("%s: found a file, expected a folder or nothing", s.to)
	}
	return nil
}

// do performs the step and remembers it for undo.
func (s *step) do() error {
	if err := s.keep(); err != nil {
		return err
	}
	if s.from == "" {
		if s.backup == "" {
			return nil
		}
		if err := os.Remove(s.to); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		s.done = true
		return nil
	}
	err := os.Rename(s.from, s.to)
	s.done = err == nil
	return err
}

// keep gives a second name to the file or folder at to. If the file system supports hard links, a
// file also keeps its first name, so that readers find it until the new file replaces it.
func (s *step) keep() error {
	st, err := os.Lstat(s.to)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		name := filepath.Join(filepath.Dir(s.to), fmt.Sprintf(".%s.%d.%d.old", filepath.Base(s.to), os.Getpid(), i))
		if _, err := os.Lstat(name); err == nil {
			continue // a process that was killed has left a file of this name
		}
		if st.Mode().IsRegular() && os.Link(s.to, name) == nil {
			s.backup = name
			return nil
		}
		if err := os.Rename(s.to, name); err != nil {
			return err
		}
		s.backup = name
		return nil
	}
}

// undo restores the file or folder that was at to before the step.
func (s *step) undo() error {
	if s.done && s.from != "" {
		if err := os.Rename(s.to, s.from); err != nil {
			return err
		}
	}
	if s.backup == "" {
		return nil
	}
	if _, err := os.Lstat(s.to); err == nil {
		return os.Remove(s.backup) // the file is still also at its original path
	}
	return os.Rename(s.backup, s.to)
}
