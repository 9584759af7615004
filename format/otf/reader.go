package otf

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/lines"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
)

// Options are the settings of a [Reader]. The zero value reads everything.
type Options struct {
	// Read sets how defects are treated and reported; nil means lenient reading.
	Read *format.ReadOptions
	// Files limits the number of open files; nil sets no limit.
	Files *FileManager
	// From and To bound the time of events, snapshots and statistics: From ≤ time < To. A To of 0
	// means no bound. The reader searches for the beginning and stops at the end, so the files must be
	// in the order of time.
	From, To uint64
	// Processes reports whether the records of a process are selected; nil selects all. It must give
	// the same answer for a process as long as a cursor is read.
	Processes func(process uint64) bool
	// OneByOne delivers the records stream after stream instead of merging the streams by time.
	OneByOne bool
	// Buffer is the number of bytes that are read at once from each file, at least 4096. The default 0 means
	// 256 KiB, or less if many streams are read together. The buffer grows to hold the longest line.
	Buffer int
	// AsLibrary makes the reader behave like libotf where libotf is less tolerant than this package. The
	// reader then leaves out records of processes that the master file does not name. A malformed record ends
	// all reading of its part. Simultaneous records of several streams come in the order of libotf's heap.
	AsLibrary bool

	printing   bool // the trace is read for PrintCompat
	checkPairs bool // key-value pairs are checked
}

// Reader reads a trace (docs/formats/otf.md). Several goroutines may call its methods at once, except
// [Reader.Select]. A [Cursor] serves one goroutine at a time.
type Reader struct {
	src      format.Source
	stub     string
	opt      Options
	master   *MasterControl
	maxLine  int
	progress *progress // a decoder sets this field
	listed   *directoryListing
	probes   *probes
	cut      *cutLines
}

// Open opens a trace by its master file, whose name may lack ".otf". If the writer of a trace was
// killed, src may name one of its unfinished files, such as .NAME.1.events.PID.tmp. Open then reads
// all unfinished files of that trace and needs no master file. If the master file is missing, src may
// name any other file of the trace, such as NAME.1.events.
func Open(ctx context.Context, src format.Source, opt *Options) (*Reader, error) {
	src, err := openUnfinished(ctx, src, opt)
	if err != nil {
		return nil, err
	}
	r, err := newReader(src, strings.TrimSuffix(src.Name, ".otf"), opt)
	if err != nil {
		return nil, err
	}
	if r.master, err = readMaster(src, r.opt.Read, r.opt.AsLibrary); err != nil {
		return nil, err
	}
	if !r.opt.AsLibrary && len(r.master.process) == 0 {
		if err := r.fillMaster(ctx); err != nil {
			return nil, err
		}
	}
	if r.opt.AsLibrary && len(r.master.process) == 0 {
		if r.empty() {
			return nil, format.EmptyError(src)
		}
		return nil, fmt.Errorf("%s: %w: found no process, expected at least one", src.Path, format.ErrDamaged)
	}
	return r, nil
}

// fillMaster takes the processes from the files of the streams if the master file names none. A writer
// that was killed may leave such a master file.
func (r *Reader) fillMaster(ctx context.Context) error {
	m, err := r.masterOfFiles(ctx)
	if err != nil || m.Len() == 0 {
		return err
	}
	r.master = m
	return r.opt.Read.Defect(&trace.Defect{Rule: "otf.master", Severity: trace.Warning,
		Position: trace.Position{File: r.src.Path}, Found: "no process",
		Expected: "stream:process,process,…; weft takes the processes from the other files"})
}

// empty reports whether the master file is empty and there is no file of global definitions.
func (r *Reader) empty() bool {
	size := func(name string) int64 {
		st, err := fs.Stat(r.src.FS, name)
		if err != nil {
			return -1
		}
		return st.Size()
	}
	definitions := fileName(r.stub, 0, Definitions)
	return size(r.src.Name) == 0 && size(definitions) < 0 && size(definitions+".z") < 0
}

func newReader(src format.Source, stub string, opt *Options) (*Reader, error) {
	r := &Reader{src: src, stub: stub, listed: &directoryListing{}, probes: &probes{}, cut: &cutLines{}}
	if opt != nil {
		r.opt = *opt
	}
	if r.opt.Read == nil {
		r.opt.Read = &format.ReadOptions{}
	}
	r.Select(r.opt.From, r.opt.To, r.opt.Processes)
	if r.opt.Buffer > 0 {
		r.opt.Buffer = max(r.opt.Buffer, window)
	}
	max, err := r.opt.Read.Int("otf.max-line", lines.DefaultMaxLine)
	if err != nil {
		return nil, err
	}
	r.maxLine = int(min(max, 1<<30))
	return r, nil
}

// Select changes the selection of the cursors that begin from now on: the times of events, snapshots and
// statistics, and the processes (Options.From, To and Processes). Cursors that have begun keep their
// selection. No other goroutine may use the reader during the call.
func (r *Reader) Select(from, to uint64, processes func(process uint64) bool) {
	if to == 0 {
		to = math.MaxUint64
	}
	r.opt.From, r.opt.To, r.opt.Processes = from, to, processes
}

// ReadMaster reads a master file, whose name may lack ".otf". It reports faulty lines to opt, which
// may be nil, and skips them.
func ReadMaster(src format.Source, opt *format.ReadOptions) (*MasterControl, error) {
	return readMaster(src, opt, false)
}

func readMaster(src format.Source, opt *format.ReadOptions, library bool) (*MasterControl, error) {
	if opt == nil {
		opt = &format.ReadOptions{}
	}
	f, size, err := src.OpenName(strings.TrimSuffix(src.Name, ".otf") + ".otf")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if size > maxMaster {
		return nil, fmt.Errorf("%s: found a master file of %s, expected at most %d", src.Path, plural.Of(size, "byte"),
			maxMaster)
	}
	text := make([]byte, size)
	if _, err := f.ReadAt(text, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %w", src.Path, err)
	}
	m, err := parseMaster(text, library, func(line int64, p problem) error {
		return opt.Defect(&trace.Defect{Rule: p.rule, Severity: p.severity,
			Position: trace.Position{File: src.Path, Line: line}, Found: p.found, Expected: p.expected})
	})
	if errors.Is(err, errMultiplexed) {
		err = fmt.Errorf("%s: %w", src.Path, err)
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

// StreamReader reads one stream of a trace. It needs no master file.
type StreamReader struct {
	r  *Reader
	id uint32
}

// records iterates over the records of some parts, one part after the other. A record is valid until the next one. An
// error is the last element.
func (r *Reader) records(ctx context.Context, parts ...Part) iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) {
		for _, part := range parts {
			c, err := r.Cursor(ctx, part)
			if err != nil {
				yield(nil, err)
				return
			}
			for c.Next() {
				if !yield(c.Record(), nil) {
					c.Close()
					return
				}
			}
			c.Close()
			if c.Err() != nil {
				yield(nil, c.Err())
				return
			}
		}
	}
}

// OpenStream opens the stream with the number id, 0 for the global definitions and markers. The name
// of src is the common beginning of the names of the trace's files.
func OpenStream(src format.Source, id uint32, opt *Options) (*StreamReader, error) {
	r, err := newReader(src, src.Name, opt)
	if err != nil {
		return nil, err
	}
	return &StreamReader{r, id}, nil
}

// Select changes the selection of the cursors that begin from now on, as [Reader.Select] does.
func (s *StreamReader) Select(from, to uint64, processes func(process uint64) bool) {
	s.r.Select(from, to, processes)
}

// Cursor begins to read a part of the stream. A part without a file has no records.
func (s *StreamReader) Cursor(ctx context.Context, part Part) (*Cursor, error) {
	r := *s.r // a copy with the current selection
	c := &Cursor{ctx: ctx, r: &r, part: part}
	x, err := r.open(s.id, part)
	if err != nil {
		return nil, err
	}
	if x != nil {
		x.c = c
		c.all, c.wait = []*stream{x}, []*stream{x}
	}
	return c, nil
}

// maxMaster limits the size of the master file in bytes. A million processes need 10 MB.
const maxMaster = 256 << 20

// Master returns the map of processes to streams. It belongs to the reader.
func (r *Reader) Master() *MasterControl { return r.master }

// selects reports whether the records of a process are selected.
func (r *Reader) selects(process uint64) bool {
	if r.opt.AsLibrary && r.master != nil {
		if _, ok := r.master.Stream(uint32(process)); !ok {
			return false
		}
	}
	return r.opt.Processes == nil || r.opt.Processes(process)
}

// path returns the name of a file of the trace as the user would write it.
func (r *Reader) path(name string) string {
	if f, ok := r.src.FS.(*unfinishedFS); ok {
		return f.prefix + f.realName(name)
	}
	return strings.TrimSuffix(r.src.Path, r.src.Name) + name
}

// open opens a part of a stream. It returns nil if the file does not exist.
func (r *Reader) open(id uint32, part Part) (*stream, error) {
	for _, z := range []string{"", ".z"} {
		name := fileName(r.stub, id, part) + z
		if !r.mayExist(name) {
			continue
		}
		h, err := r.opt.Files.Find(r.src, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		s := &stream{r: r, id: id, reported: id, part: part, t: openLines(h, r.path(name), z != "", r.maxLine, r.opt.Buffer)}
		s.t.progress, s.t.probes = r.progress, r.probes
		if r.opt.checkPairs {
			s.pairs = &pairChecker{}
		}
		if z != "" && h.Size > 0 {
			var head [2]byte
			if _, err := h.ReadAt(head[:], 0); err != nil && !errors.Is(err, io.EOF) {
				s.t.Close()
				return nil, fmt.Errorf("%s: %w", s.t.name, err)
			}
			if head[0]&15 != 8 || (int(head[0])<<8|int(head[1]))%31 != 0 {
				err := s.report(problem{"otf.corrupt", fmt.Sprintf("the bytes % x", head[:]), "the header of compressed data",
					trace.Error}, 0)
				if err != nil {
					s.t.Close()
					return nil, err
				}
			}
		}
		if part.timed() && (r.opt.From > 0 || r.opt.To < math.MaxUint64) {
			s.t.expectFew()
		}
		if part.timed() && r.opt.From > 0 {
			if err := s.t.search(r.opt.From); err != nil {
				s.t.Close()
				return nil, err
			}
		}
		return s, nil
	}
	return nil, nil
}

// manyStreams is the number of streams above which the directory is listed. For so many streams, a listing
// costs less than an attempt to open each file that may exist.
const manyStreams = 64

// directoryListing holds the names of the files in the directory of a trace once it has been listed.
type directoryListing struct {
	once  sync.Once
	names map[string]bool // names of the existing files; nil if the directory cannot be listed
	// unfinished holds the names of the files of writers that were killed, by the final names.
	unfinished map[string]string
}

// listing returns the listing of the directory of the trace.
func (r *Reader) listing() *directoryListing {
	l := r.listed
	l.once.Do(func() {
		entries, err := fs.ReadDir(r.src.FS, path.Dir(r.stub))
		if err != nil {
			return
		}
		l.names, l.unfinished = make(map[string]bool, len(entries)), map[string]string{}
		for _, x := range entries {
			l.names[x.Name()] = true
			if _, file, _, ok := parseUnfinishedName(x.Name()); ok {
				l.unfinished[file] = x.Name()
			}
		}
	})
	return l
}

// mayExist reports whether a file may exist. It returns false only if the directory has been listed
// without the file.
func (r *Reader) mayExist(name string) bool {
	if r.listed == nil || r.master == nil || r.master.Len() < manyStreams {
		return true
	}
	l := r.listing()
	return l.names == nil || l.names[path.Base(name)]
}

// size returns the size on disk of all files of the given parts.
func (r *Reader) size(parts ...Part) (size int64, err error) {
	q := r.withoutReport()
	for _, id := range r.master.Streams() {
		for _, part := range parts {
			s, err := q.open(id, part)
			if err != nil {
				return 0, err
			}
			if s != nil {
				size += s.t.h.Size
				s.t.Close()
			}
		}
	}
	return size, nil
}

// reportMissing reports a missing file, if every trace needs it or the master file names its stream.
func (r *Reader) reportMissing(id uint32, part Part) error {
	expected := "the events of a stream that the master file names"
	switch {
	case part == Definitions && id == 0:
		expected = "the definitions of the trace; without them times are in ticks of an unknown length"
	case part != Events || id == 0:
		return nil
	}
	name, found := fileName(r.stub, id, part), "no such file, nor one with .z"
	if r.listed != nil {
		for _, suffix := range []string{"", ".z"} {
			if left, ok := r.listing().unfinished[path.Base(name)+suffix]; ok {
				found = fmt.Sprintf("no such file, but %s of an interrupted writer, which weft repair reads if "+
					"it is given this name", left)
			}
		}
	}
	return r.opt.Read.Defect(&trace.Defect{Rule: "otf.missing-file", Severity: trace.Error,
		Position: trace.Position{File: r.path(name)}, Found: found, Expected: expected})
}

// checkExists reports a file that is needed and does not exist.
func (r *Reader) checkExists(id uint32, part Part) error {
	s, err := r.open(id, part)
	if s == nil && err == nil {
		return r.reportMissing(id, part)
	}
	if s != nil {
		s.t.Close()
	}
	return err
}

func (r *Reader) selectsAny(id uint32) bool {
	if r.opt.Processes == nil {
		return true
	}
	for _, p := range r.master.Processes(id) {
		if r.opt.Processes(uint64(p)) {
			return true
		}
	}
	return len(r.master.Processes(id)) == 0
}

// Clone returns a deep copy of a record. Texts and members that its type does not have are left out, because a reader
// does not clear those of earlier records.
func (r *Record) Clone() *Record {
	c := *r
	c.keys = nil
	c.Text, c.Name, c.Unit, c.Members = "", "", "", nil
	if r.Type == Unknown {
		c.Text = strings.Clone(r.Text)
	}
	for i := range specs[r.Type].fields {
		switch f := &specs[r.Type].fields[i]; {
		case f.f == fieldMembers:
			c.Members = slices.Clone(r.Members)
		case f.bits == 0:
			*c.text(f.f) = strings.Clone(*r.text(f.f))
		}
	}
	c.KeyValues = slices.Clone(r.KeyValues)
	for i := range c.KeyValues {
		c.KeyValues[i].Bytes = slices.Clone(c.KeyValues[i].Bytes)
	}
	return &c
}
