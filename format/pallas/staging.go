package pallas

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weft-trace/weft/format"
)

// staging holds the files of a trace in a temporary folder until the trace is complete.
type staging struct {
	out  *format.Output
	w    *Writer
	temp string   // the temporary folder
	old  []uint32 // archives of the trace that the new one replaces
	done bool
}

// withExtension appends .pallas to names that do not end in it.
var withExtension = format.WithExtension(".pallas")

// mainFileName returns the name for the main file of a trace that is written to path. It ends in .pallas, unless the
// trace replaces one with another name. The names of archives do not contain the name of the trace. Therefore a second
// trace in the same folder gets a folder of its own.
func mainFileName(path string) string {
	existing, folder := []string{path, withExtension(path)}, strings.HasSuffix(path, string(filepath.Separator))
	if st, err := os.Stat(path); folder || err == nil && st.IsDir() {
		folder = true
		existing = []string{filepath.Join(path, withExtension(filepath.Base(path)))} // made for a trace by mainFileName
	}
	for _, name := range existing {
		if _, err := Open(format.FileSource(name)); err == nil {
			return name // the new trace replaces an existing trace
		}
	}
	if folder {
		return filepath.Join(path, "main.pallas")
	}
	path = withExtension(path)
	dir, base := filepath.Split(path)
	if l, _ := filepath.Glob(filepath.Join(dir, "archive_*")); len(l) == 0 {
		return path
	}
	return filepath.Join(dir, strings.TrimSuffix(base, filepath.Ext(base)), base)
}

// newStaging returns the temporary folder for a trace that is written to out. Its files get their final names
// together with the main file.
func newStaging(out *format.Output, o *WriterOptions) (*staging, error) {
	if out.Path == "-" {
		return nil, errors.New("-: found standard output, expected the name of a main file: a Pallas trace has several files")
	}
	dir := filepath.Dir(out.Path)
	s := &staging{out: out, temp: filepath.Join(dir, fmt.Sprintf(".%s.%d.tmp.d", filepath.Base(out.Path), os.Getpid()))}
	// The names of archives do not contain the name of the trace, and the archives of another trace must not
	// be overwritten.
	if t, err := Open(format.FileSource(out.Path)); err == nil {
		s.old = t.ArchiveIDs()
	} else if l, _ := filepath.Glob(filepath.Join(dir, "archive_*")); len(l) > 0 {
		return nil, fmt.Errorf("%s: found %s of another trace in the folder, expected a folder without one", out.Path,
			filepath.Base(l[0]))
	}
	var err error
	if s.w, err = Create(filepath.Join(s.temp, "main.pallas"), o); err != nil {
		return nil, err
	}
	s.w.nested = true
	out.BeforeCommit(s.renameArchives)
	out.AtEnd(s.Abort)
	return s, nil
}

// Abort removes the temporary files.
func (s *staging) Abort() {
	if !s.done {
		s.done = true
		s.w.waitForBlocks()
		os.RemoveAll(s.temp)
	}
}

// finish writes the archives and the main file.
func (s *staging) finish() error {
	if err := s.w.Close(); err != nil {
		return err
	}
	_, err := s.out.Write(s.w.mainFile())
	return err
}

// renameArchives gives the archives their final names. It removes the archives of the replaced trace that the
// new trace does not have.
func (s *staging) renameArchives() error {
	dir := filepath.Dir(s.out.Path)
	for _, a := range s.w.archives {
		name := fmt.Sprintf("archive_%d", a.id)
		s.out.Rename(filepath.Join(s.temp, name), filepath.Join(dir, name))
	}
	for _, id := range s.old {
		if name := fmt.Sprintf("archive_%d", id); !slices.ContainsFunc(s.w.archives,
			func(a *ArchiveWriter) bool { return a.id == id }) {
			s.out.RemoveFolder(filepath.Join(dir, name))
		}
	}
	return nil
}
