package otf

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/lines"
	"github.com/weft-trace/weft/trace"
)

// Options are the settings of a [Reader]. The zero value reads everything.
type Options struct {
	// Read sets how defects are treated and reported; nil is lenient.
	Read *format.ReadOptions
	// Files limits the number of open files; nil sets no limit.
	Files *FileManager
	// From and To bound the time of events, snapshots and statistics: From ≤ time < To. A To of 0
	// means no bound. The reader searches for the beginning and stops at the end, so the files must be
	// in the order of time.
	From, To uint64
	// Processes reports whether the records of a process are selected; nil selects all. Its answer for
	// a process must not change while a cursor is read.
	Processes func(process uint64) bool
	// OneByOne delivers the records stream after stream instead of merging the streams by time.
	OneByOne bool
	// Buffer is the number of bytes that are read at once from each file, at least 4096. The default 0
	// means 256 KiB, or less where many streams are read together. The buffer grows to hold the
	// longest line.
	Buffer int
	// AsLibrary reads as libotf does where libotf is less tolerant than this package. Records of
	// processes that the master file does not name are left out, a malformed record ends all reading
	// of its part, and simultaneous records of several streams come in the order of libotf's heap.
	AsLibrary bool

	printing bool // set by PrintCompat
}

// Reader reads a trace (docs/formats/otf.md). Several goroutines may call its methods at once, except
// [Reader.Select]. A [Cursor] serves one goroutine at a time.
type Reader struct {
	src      format.Source
	stub     string
	opt      Options
	master   *MasterControl
	maxLine  int
	progress *progress // set by a decoder
	listed   *listed
}

// Open opens a trace by its master file, whose name may lack ".otf". If the writer of a trace was
// killed, src may name one of its unfinished files, such as .NAME.1.events.PID.tmp. Open then reads
// all unfinished files of that trace and needs no master file.
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
	if r.opt.AsLibrary && len(r.master.process) == 0 {
		if r.empty() {
			return nil, format.EmptyError(src)
		}
		return nil, fmt.Errorf("%s: found no process, expected one at least", src.Path)
	}
	return r, nil
}

// empty reports whether the master file is empty and no file of global definitions exists.
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
	r := &Reader{src: src, stub: stub, listed: &listed{}}
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

// Select changes what cursors that begin from now on deliver: the times of events, snapshots and
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
		return nil, fmt.Errorf("%s: found a master file of %d bytes, expected at most %d", src.Path, size, maxMaster)
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

// OpenStream opens the stream with the number id, 0 for the global definitions and markers. The name
// of src is the common beginning of the names of the trace's files.
func OpenStream(src format.Source, id uint32, opt *Options) (*StreamReader, error) {
	r, err := newReader(src, src.Name, opt)
	if err != nil {
		return nil, err
	}
	return &StreamReader{r, id}, nil
}

// Select changes what cursors that begin from now on deliver, as [Reader.Select] does.
func (s *StreamReader) Select(from, to uint64, processes func(process uint64) bool) {
	s.r.Select(from, to, processes)
}

// Cursor begins to read a part of the stream. A part without a file has no records.
func (s *StreamReader) Cursor(ctx context.Context, part Part) (*Cursor, error) {
	r := *s.r // with the current selection
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

// wanted reports whether the records of a process are selected.
func (r *Reader) wanted(process uint64) bool {
	if r.opt.AsLibrary && r.master != nil {
		if _, ok := r.master.Stream(uint32(process)); !ok || process == noProcess {
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
		s := &stream{r: r, id: id, reported: id, part: part, t: openText(h, r.path(name), z != "", r.maxLine, r.opt.Buffer)}
		s.t.progress = r.progress
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
			s.t.few = 4 * window
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

// manyStreams is the number of streams from which on the directory is listed. Listing it then costs
// less than trying to open each file that may exist.
const manyStreams = 64

// listed holds the names of the files in the directory of a trace once it has been listed.
type listed struct {
	once  sync.Once
	names map[string]bool // nil if the directory cannot be listed
}

// mayExist reports whether a file may exist. It returns false only if the directory has been listed
// without the file.
func (r *Reader) mayExist(name string) bool {
	if r.listed == nil || r.master == nil || r.master.Len() < manyStreams {
		return true
	}
	r.listed.once.Do(func() {
		l, err := fs.ReadDir(r.src.FS, path.Dir(r.stub))
		if err != nil {
			return
		}
		r.listed.names = make(map[string]bool, len(l))
		for _, x := range l {
			r.listed.names[x.Name()] = true
		}
	})
	return r.listed.names == nil || r.listed.names[path.Base(name)]
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

// Cursor reads the records of a part of a trace one after another. The caller must close it.
type Cursor struct {
	ctx     context.Context
	r       *Reader
	part    Part
	list    []head    // streams that have a record, as a heap; list[0] has the next one
	wait    []*stream // streams that are read one by one, after list
	all     []*stream
	cur     *stream
	err     error
	merged  bool // records are delivered in the order of time
	n       int64
	bound   uint64 // for line: the next record is one of cur while its time is less
	stopped bool   // AsLibrary: a malformed record has ended reading
}

// Cursor begins to read a part of the trace. Definitions and markers are delivered file by file,
// beginning with the file of stream 0. The other parts are merged in the order of time, and at equal
// times in the order of the streams, unless the options say otherwise. A stream without the file has
// no records of the part; a missing file of events is reported.
func (r *Reader) Cursor(ctx context.Context, part Part) (*Cursor, error) {
	return r.cursor(ctx, part, r.master.Streams())
}

// cursor is like Cursor, for the given streams only.
func (r *Reader) cursor(ctx context.Context, part Part, ids []uint32) (*Cursor, error) {
	own := *r // with the current selection
	r = &own
	c := &Cursor{ctx: ctx, r: r, part: part}
	if !part.timed() {
		ids = append([]uint32{0}, ids...)
	}
	shared := shareAhead(len(ids))
	place := 0 // index of the stream in libotf's list
	for _, id := range ids {
		if (part.timed() || r.opt.AsLibrary && id != 0) && !r.anyWanted(id) {
			continue
		}
		s, err := r.open(id, part)
		if err != nil {
			c.Close()
			return nil, err
		}
		if id != 0 || s != nil {
			place++
		}
		if s != nil {
			if r.opt.AsLibrary && !part.timed() {
				// libotf numbers the streams by their place, and omitted streams or a missing global
				// file shift it.
				s.reported = ids[place-1]
			}
			s.c = c
			if s.ahead.aheadShared = shared; r.opt.Buffer == 0 {
				s.t.chunk = shared.chunk
			}
			c.all = append(c.all, s)
			continue
		}
		if err := r.reportMissing(id, part); err != nil {
			c.Close()
			return nil, err
		}
		if r.opt.AsLibrary && part == Events {
			c.stopped = true
		}
	}
	if c.stopped {
		c.finish()
		return c, nil
	}
	if !part.timed() || r.opt.OneByOne {
		c.wait = slices.Clone(c.all)
		return c, nil
	}
	c.merged = true
	for _, s := range c.all {
		if err := c.first(s); err != nil {
			c.Close()
			return nil, err
		}
	}
	if c.stopped {
		c.list = nil
	}
	for i := (len(c.list) - 1) / 2; i >= 0 && len(c.list) > 0; i-- {
		c.sift(i)
	}
	return c, nil
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
	return r.opt.Read.Defect(&trace.Defect{Rule: "otf.missing-file", Severity: trace.Error,
		Position: trace.Position{File: r.path(fileName(r.stub, id, part))}, Found: "no such file, nor one with .z",
		Expected: expected})
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

func (r *Reader) anyWanted(id uint32) bool {
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

// first advances a stream to its first record.
func (c *Cursor) first(s *stream) error {
	ok, err := c.advance(s)
	if err != nil {
		return err
	}
	if ok {
		c.list = append(c.list, c.head(s))
	} else if c.r.opt.AsLibrary && !s.begun {
		c.stopped = true // libotf then reads no stream at all
	}
	return nil
}

// advance advances a stream to its next record in the selected time.
func (c *Cursor) advance(s *stream) (bool, error) {
	for {
		ok, err := s.next(c.ctx)
		if !ok || err != nil || !c.part.timed() || s.silent {
			return ok, err
		}
		if s.rec.Time >= c.r.opt.To {
			s.end, s.ahead.at = true, len(s.ahead.list)
			return false, nil
		}
		if s.rec.Time >= c.r.opt.From {
			return true, nil
		}
	}
}

// head is a stream with the sort key of its current record.
type head struct {
	time uint64
	tie  uint32 // number of the stream; 0 if libotf's heap decides
	s    *stream
}

func (c *Cursor) head(s *stream) head {
	h := head{s.rec.Time, s.id, s}
	if c.r.opt.AsLibrary {
		h.tie = 0
	}
	return h
}

func (h *head) less(o *head) bool { return h.time < o.time || h.time == o.time && h.tie < o.tie }

// sift restores the heap below i. It orders equal records as libotf does.
func (c *Cursor) sift(i int) {
	l := c.list
	x := l[i]
	for {
		k := 2*i + 1
		if k >= len(l) {
			break
		}
		if k+1 < len(l) && l[k+1].less(&l[k]) {
			k++
		}
		if x.less(&l[k]) {
			break
		}
		l[i] = l[k]
		i = k
	}
	l[i] = x
}

// Next advances to the next record and reports whether one exists. When it returns false, Err returns
// the reason.
func (c *Cursor) Next() bool {
	if c.err != nil {
		return false
	}
	ok, err := c.next()
	for ok && err == nil && c.cur.silent {
		ok, err = c.next()
	}
	if err != nil {
		c.err = err
	}
	if !ok || err != nil {
		c.cur = nil
		return false
	}
	if !c.cur.cut {
		c.n++
	}
	return true
}

func (c *Cursor) next() (bool, error) {
	c.bound = 0
	if c.cur != nil && c.merged {
		// The last record came from the first stream.
		s := c.list[0].s
		ok, err := c.advance(s)
		if err != nil {
			return false, err
		}
		if !ok {
			n := len(c.list) - 1
			c.list[0] = c.list[n]
			c.list = c.list[:n]
		}
		if c.stopped {
			c.list = nil
		}
		if ok && s.cut && c.r.opt.AsLibrary {
			c.cur = s // libotf delivers a last line without end as soon as it reads it
			return true, nil
		}
		if ok && len(c.list) > 0 {
			c.list[0].time = s.rec.Time
		}
		if len(c.list) > 0 {
			c.sift(0)
		}
	}
	if c.merged {
		if len(c.list) == 0 {
			return false, nil
		}
		if c.cur = c.list[0].s; c.cur.needsFill() {
			c.cur.fill()
		}
		if c.cur.failed {
			c.stopped, c.list = true, nil // here libotf reads the malformed record
			return false, nil
		}
		return true, nil
	}
	for len(c.wait) > 0 && !c.stopped {
		s := c.wait[0]
		ok, err := c.advance(s)
		if ok || err != nil {
			c.cur = s
			return ok, err
		}
		s.t.Close()
		c.wait = c.wait[1:]
	}
	return false, nil
}

// line advances to the next record if its line is a frequent one, without filling a Record. If it
// returns nil, Next must be called. It ignores the selected time.
func (c *Cursor) line() *aheadRecord {
	if s := c.cur; s != nil && s.ahead.at < len(s.ahead.list) {
		if x := &s.ahead.list[s.ahead.at]; x.time < c.bound {
			s.ahead.at++
			c.n++
			return x
		}
	}
	return c.otherLine()
}

// otherLine does the work of line when the next record may be one of another stream.
//
//go:noinline
func (c *Cursor) otherLine() *aheadRecord {
	if c.cur != nil {
		if !c.cur.advance() {
			return nil
		}
		l := c.list
		if l[0].time = c.cur.current().time; len(l) == 2 {
			if !l[0].less(&l[1]) {
				l[0], l[1] = l[1], l[0]
			}
		} else {
			c.sift(0)
		}
	}
	if len(c.list) == 0 || !c.list[0].s.stepped {
		c.cur = nil
		return nil
	}
	first := &c.list[0]
	bound := uint64(math.MaxUint64)
	for i := 1; i < min(3, len(c.list)); i++ {
		if o := &c.list[i]; o.time < bound {
			bound = o.time
			if first.tie < o.tie {
				bound++
			}
		}
	}
	c.cur, c.bound = first.s, bound
	c.n++
	return c.cur.current()
}

// Record returns the current record, which is valid until the next call of Next.
func (c *Cursor) Record() *Record { return &c.cur.rec }

// Err returns the error that ended reading, or nil at the end of the trace.
func (c *Cursor) Err() error { return c.err }

// Count returns the number of records so far. A last line without end does not count.
func (c *Cursor) Count() int64 { return c.n }

// Progress describes how far a cursor has read.
type Progress struct {
	// Read and Size are bytes of the files of the part, as stored.
	Read, Size int64
	// Time is the time of the current record, 0 before the first.
	Time uint64
}

// Progress returns how far the cursor has read.
func (c *Cursor) Progress() Progress {
	var p Progress
	for _, s := range c.all {
		p.Read += s.t.read
		p.Size += s.t.h.Size
	}
	if c.cur != nil {
		p.Time = c.cur.rec.Time
	}
	return p
}

func (c *Cursor) finish() { c.list, c.wait = nil, nil }

// Close closes the files of the cursor.
func (c *Cursor) Close() {
	for _, s := range c.all {
		s.t.Close()
	}
	c.finish()
}

// Handlers has a function for each record type; types whose function is nil are ignored. A record is
// valid only during the call.
type Handlers [NumTypes]func(*Record) error

// Each calls the handlers with the next records: at most limit of them, or all if limit is less than
// 1. The next call continues after them. Each returns the number of records it read, handled or not.
// It stops at the first error of a handler.
func (c *Cursor) Each(h *Handlers, limit int64) (n int64, err error) {
	for (limit < 1 || n < limit) && c.Next() {
		n++
		r := c.Record()
		if f := h[r.Type]; f != nil {
			if err := f(r); err != nil {
				return n, err
			}
		}
	}
	return n, c.Err()
}

// Clone returns a deep copy of a record.
func (r *Record) Clone() *Record {
	c := *r
	c.byKey = nil
	c.Text, c.Name, c.Unit = strings.Clone(r.Text), strings.Clone(r.Name), strings.Clone(r.Unit)
	c.Members = slices.Clone(r.Members)
	c.KeyValues = slices.Clone(r.KeyValues)
	for i := range c.KeyValues {
		c.KeyValues[i].Bytes = slices.Clone(c.KeyValues[i].Bytes)
	}
	return &c
}
