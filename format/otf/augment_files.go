package otf

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/commit"
)

// writeDefinitions writes the file of the global definitions if it changes.
func (a *augmenter) writeDefinitions() error {
	added, ranged := a.newDefinitions()
	s, err := a.r.withoutReport().open(0, Definitions)
	if err != nil || s == nil && len(added) == 0 {
		return err
	}
	opt := WriterOptions{Buffer: defaultBuffer}
	if s != nil {
		defer s.t.Close()
		if s.t.zip != nil {
			opt.Level = zippedLevel
		}
	}
	w := NewStreamWriter(a.newStub(), 0, &opt)
	defer w.Abort()
	out, err := w.create(Definitions)
	if err != nil {
		return err
	}
	dropped, err := a.copyDefinitions(s, out, added, ranged)
	if err != nil || len(added) == 0 && !dropped {
		return err
	}
	if err := w.Close(); err != nil || s == nil {
		return err
	}
	if st, err := os.Stat(s.t.name); err == nil {
		os.Chmod(out.name, st.Mode().Perm()) // an error is ignored: the file then keeps the permissions of a new file
	}
	return nil
}

// newDefinitions returns the lines of the new definitions. ranged is set if the new definitions include a time
// range, which replaces existing time ranges.
func (a *augmenter) newDefinitions() (text []byte, ranged bool) {
	if len(a.hasEvents) > 0 {
		x := a.events
		for _, d := range a.defined {
			x.First, x.Last = min(x.First, d.First), max(x.Last, d.Last)
		}
		if ranged = len(a.defined) != 1 || a.defined[0].First != x.First || a.defined[0].Last != x.Last; ranged {
			text = (&Record{Type: DefTimeRange, MinTime: x.First, MaxTime: x.Last}).Append(text, a.long)
		}
	}
	for _, p := range a.points {
		// Summaries come first, as in otfaux.
		if p.summary {
			text = (&Record{Type: DefAuxSamplePoint, SampleTime: p.time, Kind: summaryPoint}).Append(text, a.long)
		}
		if p.snapshot {
			text = (&Record{Type: DefAuxSamplePoint, SampleTime: p.time, Kind: snapshotPoint}).Append(text, a.long)
		}
	}
	return text, ranged
}

// copyDefinitions copies the definitions except those that are replaced, and adds the new lines after the last
// complete line. Text after that line lacks a line end. It is not a record and must not become part of one.
func (a *augmenter) copyDefinitions(s *stream, out *partWriter, added []byte, ranged bool) (dropped bool, err error) {
	if s == nil {
		out.buf = append(out.buf, added...)
		return false, nil
	}
	var pairs []byte // lines of key-value pairs, which belong to the next record
	for {
		if err := a.ctx.Err(); err != nil {
			return false, err
		}
		l, _, whole, _, err := s.t.line()
		switch {
		case err != nil:
			return false, err
		case s.t.bad != nil:
			return false, fmt.Errorf("%s: %w", s.t.name, s.t.bad)
		case s.t.long > 0:
			return false, fmt.Errorf("%s: found a line of more than %d bytes, expected a shorter line (option otf.max-line)",
				s.t.name, s.t.max)
		case !whole:
			out.buf = append(append(append(out.buf, pairs...), added...), l...)
			return dropped, nil
		}
		l = l[:len(l)+1] // l includes the line end from here on
		switch {
		case bytes.HasPrefix(bytes.TrimLeft(l, " \t"), []byte("K")) && len(pairs) < s.t.max:
			pairs = append(pairs, l...)
			continue
		case a.replaces(l, ranged):
			pairs, dropped = pairs[:0], true
			continue
		}
		out.buf = append(append(out.buf, pairs...), l...)
		if pairs = pairs[:0]; len(out.buf) >= defaultBuffer {
			if err := out.flush(); err != nil {
				return false, err
			}
		}
	}
}

// replaces reports whether the definition in a line is replaced or removed. This is the case for sample points
// of the selected kinds, and for a time range if there is a new one.
func (a *augmenter) replaces(l []byte, ranged bool) bool {
	keyword, rest := cutKeyword(l)
	switch keyword {
	case "DTRG", "DEFTIMERANGE":
		return ranged
	case "DAUX", "DEFAUXSAMPLEPOINT":
		_, rest = cutNumber(rest)
		if keyword, rest = cutKeyword(rest); keyword != "Y" && keyword != "TYPE" {
			return false
		}
		digits, _ := cutNumber(rest)
		kind, err := strconv.ParseUint(digits, 16, 32)
		return err == nil && (kind == snapshotPoint && a.opt.Snapshots || kind == summaryPoint && a.opt.Summaries)
	}
	return false
}

// cutKeyword splits off the capital letters at the beginning of a line, after blanks.
func cutKeyword(l []byte) (keyword string, rest []byte) {
	l = bytes.TrimLeft(l, " \t")
	rest = bytes.TrimLeftFunc(l, func(r rune) bool { return 'A' <= r && r <= 'Z' })
	return string(l[:len(l)-len(rest)]), rest
}

// cutNumber splits off the hexadecimal digits at the beginning of a line, after blanks.
func cutNumber(l []byte) (digits string, rest []byte) {
	l = bytes.TrimLeft(l, " \t")
	rest = bytes.TrimLeft(l, hexDigits)
	return string(l[:len(l)-len(rest)]), rest
}

// traceFile is a file that a trace may have.
type traceFile struct {
	suffix   string // end of the name, after the common beginning
	replaced bool   // the file is replaced or removed
}

// files returns the files that the trace may have, the master file last.
func (a *augmenter) files() []traceFile {
	var list []traceFile
	for _, id := range append([]uint32{0}, a.r.master.Streams()...) {
		for part := range numParts {
			replaced := (a.opt.Remove || a.hasEvents[id]) &&
				(part == Snapshots && a.opt.Snapshots || part == Statistics && a.opt.Summaries)
			name := fileName("", id, part)
			list = append(list, traceFile{name, replaced}, traceFile{name + ".z", replaced})
		}
	}
	return append(list, traceFile{thumbnailSuffix, false}, traceFile{".otf", false})
}

// copyUnchanged copies the files that stay unchanged.
func (a *augmenter) copyUnchanged() error {
	for _, x := range a.files() {
		path := a.newStub() + x.suffix
		if _, err := os.Lstat(path); x.replaced || err == nil {
			continue
		}
		from := format.Source{FS: a.src.FS, Name: a.r.stub + x.suffix, Path: a.r.path(a.r.stub + x.suffix)}
		in, _, err := from.Open()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		in.Close()
		f, err := os.Create(path)
		if err != nil {
			return fileError(path, err)
		}
		err = format.CopyText(a.ctx, from, f)
		if e := f.Close(); err == nil {
			err = e
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// commit gives the new files their names and removes the files they replace. The definitions and the master
// file come last, because they refer to the other files.
func (a *augmenter) commit() error {
	if err := a.ctx.Err(); err != nil {
		return err
	}
	files := a.files()
	rank := func(x traceFile) int {
		switch {
		case x.suffix == ".otf":
			return 2
		case strings.Contains(x.suffix, suffixes[Definitions]):
			return 1
		}
		return 0
	}
	slices.SortStableFunc(files, func(x, y traceFile) int { return rank(x) - rank(y) })
	var n commit.Set
	for _, x := range files {
		from, to := a.newStub()+x.suffix, a.target+x.suffix
		if _, err := os.Lstat(from); err == nil {
			n.Rename(from, to)
		} else if x.replaced || a.opt.Output != "" {
			n.Remove(to)
		}
	}
	if a.opt.Output == "" {
		return n.Commit()
	}
	if a.opt.Guard != nil {
		if err := n.Each(a.opt.Guard); err != nil {
			return err
		}
	}
	err := n.Commit()
	if err == nil && a.opt.Written != nil {
		a.opt.Written(n.Names())
	}
	return err
}

// newStub returns the common beginning of the names of the new files.
func (a *augmenter) newStub() string { return filepath.Join(a.temp, "new") }
