// Package archive has code for formats whose traces consist of many binary files: errors with file
// and position, and the list of the files.
package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
)

// FileError reports a place in a file that violates the format.
type FileError struct {
	Path            string // as a user would write it
	Offset          int64  // in bytes
	Found, Expected string
}

// Damaged returns a FileError.
func Damaged(path string, offset int64, found, expected string) *FileError {
	return &FileError{path, offset, found, expected}
}

// Error returns the error in one line.
func (e *FileError) Error() string {
	return fmt.Sprintf("%s:0x%x: found %s, expected %s", e.Path, e.Offset, e.Found, e.Expected)
}

// Is reports whether target is [format.ErrDamaged], which every FileError wraps.
func (e *FileError) Is(target error) bool { return target == format.ErrDamaged }

// Defect returns the error as a defect of the given rule and severity.
func (e *FileError) Defect(rule string, severity trace.Severity) *trace.Defect {
	return &trace.Defect{Rule: rule, Severity: severity,
		Position: trace.Position{File: e.Path, Offset: e.Offset, Binary: true}, Found: e.Found, Expected: e.Expected}
}

// MissingFile is the error for a file that cannot be opened.
type MissingFile struct {
	Path string
	Err  error
}

// Error returns the error in one line.
func (m *MissingFile) Error() string {
	err := m.Err
	if u := errors.Unwrap(err); u != nil {
		err = u
	}
	return fmt.Sprintf("%s: %v", m.Path, err)
}

// Unwrap returns Err.
func (m *MissingFile) Unwrap() error { return m.Err }

// IsMissing reports whether an error is caused by a file that does not exist, also because another file is in place of
// its folder.
func IsMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// ReportDefect reports a [FileError] as a defect of the rule damaged. It reports a [MissingFile] as a defect
// of the rule missing, or of the rule damaged if a directory is in place of the file, with expected as the text of what
// was expected. It returns any other error.
func ReportDefect(opt *format.ReadOptions, err error, damaged, missing, expected string) error {
	var f *FileError
	var m *MissingFile
	switch {
	case errors.As(err, &f):
		return opt.Defect(f.Defect(damaged, trace.Error))
	case IsMissing(err) && errors.As(err, &m):
		return opt.Defect(&trace.Defect{Rule: missing, Severity: trace.Error, Position: trace.Position{File: m.Path},
			Found: "no such file", Expected: expected})
	case errors.Is(err, format.ErrDirectory) && errors.As(err, &m):
		return opt.Defect(&trace.Defect{Rule: damaged, Severity: trace.Error, Position: trace.Position{File: m.Path},
			Found: "a directory", Expected: expected})
	}
	return err
}

// ConsistsOf reports whether s is not empty and holds only characters of set. It serves for the parts of file
// names.
func ConsistsOf(s, set string) bool { return s != "" && strings.Trim(s, set) == "" }

// Load returns the content of a file of a trace. It returns an error if the file has more than most bytes.
func Load(src format.Source, name, path string, most int64) ([]byte, error) {
	f, size, err := src.OpenName(name)
	if err != nil {
		return nil, &MissingFile{path, err}
	}
	defer f.Close()
	if size > most {
		return nil, Damaged(path, 0, plural.Of(size, "byte"), fmt.Sprintf("at most %d", most))
	}
	b := make([]byte, size)
	if _, err := f.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return b, nil
}

// Files returns the main file of a trace and those of the named files that exist. begin is put before each
// name to find the file, and shown is put before each name in the result.
func Files(src format.Source, begin, shown string, names []string) (list []format.TraceFile, err error) {
	add := func(name, path string) {
		st, e := fs.Stat(src.FS, name)
		if e == nil {
			list = append(list, format.TraceFile{Path: path, Size: st.Size()})
		} else if err == nil && !IsMissing(e) {
			err = e
		}
	}
	add(src.Name, src.Path)
	for _, name := range names {
		add(begin+name, shown+name)
	}
	return list, err
}

// Copy copies a file of a trace to the path to. The error is a [MissingFile] if the file cannot be opened.
func Copy(ctx context.Context, src format.Source, name, path, to string) error {
	f, size, err := src.OpenName(name)
	if err != nil {
		return &MissingFile{path, err}
	}
	defer f.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	const piece = 8 << 20
	for at := int64(0); at < size && err == nil; at += piece {
		if err = ctx.Err(); err == nil {
			_, err = io.Copy(out, io.NewSectionReader(f, at, min(piece, size-at)))
		}
	}
	return errors.Join(err, out.Close())
}
