package otf

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/flate"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/commit"
)

// definitionText is the file of the global definitions as text.
type definitionText struct {
	*bufio.Reader
	file  format.DataFile
	name  string // in the trace
	path  string // for messages
	level int    // of its compression
	max   int    // the longest line
	buf   []byte
}

// openDefinitions opens the file of the global definitions; nil if there is none.
func (a *augmenter) openDefinitions() (*definitionText, error) {
	for _, z := range []string{"", ".z"} {
		name := fileName(a.r.stub, 0, Definitions) + z
		f, _, err := a.src.OpenName(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		t := &definitionText{file: f, name: name, path: a.r.path(name), max: a.r.maxLine}
		text := io.Reader(f)
		if z != "" {
			var head [2]byte
			if _, err := io.ReadFull(f, head[:]); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				f.Close()
				return nil, fmt.Errorf("%s: %w", t.path, err)
			}
			t.level = zippedLevel
			text = flate.NewReader(bufio.NewReader(f))
		}
		t.Reader = bufio.NewReaderSize(text, 64<<10)
		return t, nil
	}
	return nil, nil
}

// line reads a line with its end. The last one may lack the end, or be empty. It is
// valid until the next call.
func (t *definitionText) line() ([]byte, error) {
	t.buf = t.buf[:0]
	for {
		l, err := t.ReadSlice('\n')
		t.buf = append(t.buf, l...)
		switch {
		case err == nil, err == io.EOF, t.level > 0 && errors.Is(err, io.ErrUnexpectedEOF):
			return t.buf, nil // compressed files have no other end
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, fmt.Errorf("%s: %w", t.path, err)
		case len(t.buf) > t.max:
			return nil, fmt.Errorf("%s: found a line of more than %d bytes, expected at most that (option otf.max-line)", t.path, t.max)
		}
	}
}

// spelling tells whether the definitions are in the long one.
func (a *augmenter) spelling() (long bool, err error) {
	t, err := a.openDefinitions()
	if err != nil || t == nil {
		return false, err
	}
	defer t.file.Close()
	l, err := t.line()
	return bytes.HasPrefix(l, []byte("DEF")), err
}

// definitions writes the file of the global definitions, if it changes.
func (a *augmenter) definitions() error {
	added, ranged := a.added()
	t, err := a.openDefinitions()
	if err != nil {
		return err
	}
	if t == nil {
		if len(added) == 0 {
			return nil
		}
		empty := bufio.NewReader(strings.NewReader(""))
		t = &definitionText{Reader: empty, name: fileName(a.r.stub, 0, Definitions)}
	} else {
		defer t.file.Close()
	}
	path := a.stub() + strings.TrimPrefix(t.name, a.r.stub)
	f, err := os.Create(path)
	if err != nil {
		return cause(path, err)
	}
	defer f.Close()
	out := definitionWriter{to: f}
	if t.file != nil {
		if st, err := os.Stat(t.path); err == nil {
			f.Chmod(st.Mode().Perm()) // as far as that is allowed
		}
	}
	if t.level > 0 {
		if out.zip, err = flate.NewWriter(f, t.level); err != nil {
			return err
		}
		if _, err := f.Write(zlibHeader(t.level)); err != nil {
			return cause(path, err)
		}
	}
	dropped, err := a.keep(t, &out, added, ranged)
	if err != nil {
		return err
	}
	if err := out.Flush(); err != nil {
		return cause(path, err)
	}
	if err := f.Close(); err != nil {
		return cause(path, err)
	}
	if len(added) == 0 && !dropped {
		return os.Remove(path)
	}
	return nil
}

// added are the definitions that the trace gets. ranged tells whether there is a time
// range among them, which replaces those that there are.
func (a *augmenter) added() (text []byte, ranged bool) {
	if len(a.seen) > 0 {
		x := a.events
		for _, d := range a.defined {
			x.First, x.Last = min(x.First, d.First), max(x.Last, d.Last)
		}
		if ranged = len(a.defined) != 1 || a.defined[0].First != x.First || a.defined[0].Last != x.Last; ranged {
			text = (&Record{Type: DefTimeRange, MinTime: x.First, MaxTime: x.Last}).Append(text, a.long)
		}
	}
	for _, p := range a.points {
		// Summaries first, as otfaux has them.
		if p.summary {
			text = (&Record{Type: DefAuxSamplePoint, SampleTime: p.time, Kind: summaryPoint}).Append(text, a.long)
		}
		if p.snapshot {
			text = (&Record{Type: DefAuxSamplePoint, SampleTime: p.time, Kind: snapshotPoint}).Append(text, a.long)
		}
	}
	return text, ranged
}

// keep copies the definitions but those that are dropped, and puts what is added behind
// the last whole line. What stands there without a line end is no record, and must not
// become one.
func (a *augmenter) keep(t *definitionText, out io.Writer, added []byte, ranged bool) (dropped bool, err error) {
	var pairs []byte // lines of key-values, which belong to the record behind them
	for {
		if err := a.ctx.Err(); err != nil {
			return false, err
		}
		l, err := t.line()
		if err != nil {
			return false, err
		}
		last := !bytes.HasSuffix(l, []byte("\n"))
		switch {
		case last:
			l = append(slices.Clip(added), l...)
		case isPairLine(l) && len(pairs) < t.max:
			pairs = append(pairs, l...)
			continue
		case a.replaces(l, ranged):
			pairs, dropped = pairs[:0], true
			continue
		}
		if _, err := out.Write(append(pairs, l...)); err != nil {
			return false, fmt.Errorf("%s: %w", t.path, err)
		}
		if last {
			return dropped, nil
		}
		pairs = pairs[:0]
	}
}

// isPairLine tells whether a line of a file of definitions is a key-value.
func isPairLine(l []byte) bool { return bytes.HasPrefix(bytes.TrimLeft(l, " \t"), []byte("K")) }

// replaces tells whether a definition is dropped: a time range if there is a new one,
// and sample points of the kinds that are written or removed.
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

// cutKeyword takes the capital letters at the beginning of a line, behind blanks.
func cutKeyword(l []byte) (keyword string, rest []byte) {
	l = bytes.TrimLeft(l, " \t")
	rest = bytes.TrimLeftFunc(l, func(r rune) bool { return 'A' <= r && r <= 'Z' })
	return string(l[:len(l)-len(rest)]), rest
}

// cutNumber takes the hexadecimal digits at the beginning of a line, behind blanks.
func cutNumber(l []byte) (digits string, rest []byte) {
	l = bytes.TrimLeft(l, " \t")
	rest = bytes.TrimLeft(l, hexDigits)
	return string(l[:len(l)-len(rest)]), rest
}

// definitionWriter writes a text, which it compresses as a [StreamWriter] does if zip is
// there.
type definitionWriter struct {
	to  io.Writer
	zip *flate.Writer
	buf []byte
}

// Write collects text.
func (w *definitionWriter) Write(p []byte) (int, error) {
	w.buf = append(w.buf, p...)
	if len(w.buf) < defaultBuffer {
		return len(p), nil
	}
	return len(p), w.Flush()
}

// Flush hands on the text.
func (w *definitionWriter) Flush() (err error) {
	if w.zip == nil {
		_, err = w.to.Write(w.buf)
	} else {
		w.zip.Reset(w.to)
		if _, err = w.zip.Write(w.buf); err == nil {
			err = w.zip.Flush()
		}
	}
	w.buf = w.buf[:0]
	return err
}

// traceFile is the name of a file that a trace may have.
type traceFile struct {
	suffix   string // behind the stub
	replaced bool   // by what is written or removed
}

// files are those that the trace may have, the master file last.
func (a *augmenter) files() []traceFile {
	var list []traceFile
	for _, id := range append([]uint32{0}, a.r.master.Streams()...) {
		for part := range numParts {
			replaced := (a.opt.Remove || a.seen[id]) && (part == Snapshots && a.opt.Snapshots || part == Statistics && a.opt.Summaries)
			name := fileName("", id, part)
			list = append(list, traceFile{name, replaced}, traceFile{name + ".z", replaced})
		}
	}
	return append(list, traceFile{".thumb", false}, traceFile{".otf", false})
}

// copy copies the files that do not change.
func (a *augmenter) copy() error {
	for _, x := range a.files() {
		path := a.stub() + x.suffix
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
			return cause(path, err)
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

// commit gives the new files their names, and removes what they replace. Definitions
// and master file, which say what else there is, come last.
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
		from, to := a.stub()+x.suffix, a.target+x.suffix
		if _, err := os.Lstat(from); err == nil {
			n.Rename(from, to)
		} else if x.replaced || a.opt.Output != "" {
			n.Remove(to)
		}
	}
	return n.Commit()
}

// stub is what the names of the new files begin with.
func (a *augmenter) stub() string { return filepath.Join(a.temp, "new") }
